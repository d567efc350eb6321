"""One score per review from the target and the other criteria of the review, as far as they predict the target.

Scores of one review share a halo, so criteria are not independent reviews. With z_ij the standardised scores of a
review, reviewers' offsets removed::

    z_ij = u_i + e_ij,   u_i ~ N(0, G) by paper,   e_ij ~ N(0, S) by review

the best linear estimate of the target's u_i0 from k reviews is a common combination w = (G + S / k)^-1 G_0 of the
criteria of each review, and the inference takes that one score per review. Its offset and slope are the reviewer's:
severity and halo of the criteria are not separated. w is scaled such that w'G w = w'G_0: the combination then is in
units of the target, and what it leaves unknown of the target, G_00 - w'G w, is the same for all papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.table import Reviews

#: Folds of reviews of the comparison with the target alone, and the smallest number of predicted reviews.
FOLDS, MIN_PREDICTED = 5, 20
#: Shares of the way from the target alone to the best combination; 0 is not to use the criteria.
SHARES = (0.5, 1.0)
#: Standard errors by which the held-out gain must exceed 0.
SIGNIFICANT = 1.0
#: Papers at which correlations of papers are shrunk halfway to their common mean; the same for reviews.
PRIOR_ITEMS, PRIOR_REVIEWS = 30.0, 30.0
#: Smallest variances, largest correlation, and smallest eigenvalue of a matrix of correlations.
LEAST, MOST, FLOOR = 0.02, 0.98, 0.02
#: Passes and prior numbers of scores of the fit of papers and offsets.
PASSES, OF_ITEM, OF_REVIEWER = 8, 1.0, 3.0
#: A criterion with fewer scores is left out.
LEAST_SCORES = 20
#: Gain in log evidence from which confidence is used, if nothing is said of it.
EVIDENCE = 2.0


class Confidence(NamedTuple):
    """Whether the confidence of the reviews is used as weights, and by how much it raises the log evidence."""

    used: bool
    gain: float


def weights_of(confidence: FloatArray) -> FloatArray | None:
    """Return positive weights, 1 on average in logarithms and where missing; None if all are equal.

    Only their order and distances matter: an exponent is learned.

    >>> weights_of(np.array([1.0, np.nan, 3.0])).round(2).tolist()
    [0.37, 1.0, 2.72]
    """
    known = np.isfinite(confidence)
    if not known.any() or np.ptp(confidence[known]) <= 0:
        return None
    spread = (confidence - confidence[known].mean()) / confidence[known].std()
    return np.asarray(np.exp(np.where(known, spread, 0.0)))


class Joined(NamedTuple):
    """Scores of the reviews joined from their criteria.

    Attributes
    ----------
    score
        Shape (E,): the score of each review, in units of the target; the target itself if the criteria do not help.
    parts
        Shape (E, C): the contribution of each criterion; their sum with ``target`` is ``score``.
    target
        Shape (E,): the contribution of the target and of the means.
    names, weights
        The criteria, and points of the score per standard deviation of each, in a review with all of them.
    own
        Variance of what the criteria do not show of the target's quality, in squared points.
    gain, gain_error
        Relative decrease of the squared error in predicting held-out scores of the target, and its standard error;
        NaN where there are too few.
    """

    score: FloatArray
    parts: FloatArray
    target: FloatArray
    names: tuple[str, ...]
    weights: FloatArray
    own: float
    gain: float
    gain_error: float

    @property
    def used(self) -> bool:
        """Whether the criteria are used."""
        return bool((self.weights != 0).any())

    def moves(self, reviews: Reviews) -> dict[str, FloatArray]:
        """Return the points by which each criterion moves the scores of the reviews, the target's own weight first."""
        if not self.used:
            return {}
        columns = dict(zip(self.names, self.parts.T, strict=True))
        own = reviews.target or "score"
        return {own: self.target - reviews.score[reviews.scored], **columns}

    def to_dict(self, target: str | None) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of the criteria."""
        gain, error = (None if np.isnan(value) else value for value in (self.gain, self.gain_error))
        weights = [
            {"criterion": name, "weight": weight}
            for name, weight in zip(self.names, self.weights.tolist(), strict=True)
        ]
        return {
            "used": self.used,
            "target": target,
            "weights": weights,
            "own_variance": self.own,
            "gain": gain,
            "gain_error": error,
        }


class Moments(NamedTuple):
    """Covariances of papers, G, and of reviews of one paper, S, shapes (C + 1, C + 1), and scores per paper, k."""

    paper: FloatArray
    review: FloatArray
    k: float


def join(
    reviewer: IntArray, item: IntArray, target: FloatArray, criteria: Mapping[str, FloatArray], seed: int = 0
) -> Joined:
    """Join criteria with the target as far as they help to predict it; O(E C^2).

    The share of the criteria is that of least squared error on held-out reviews, if it is below that of the target
    alone by more than its standard error; the covariances are estimated from the other reviews.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,).
    target
        Shape (E,), finite.
    criteria
        Shapes (E,), NaN where missing.
    seed
        Of the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> item, reviewer = np.repeat(np.arange(100), 3), np.arange(300) % 37
    >>> truth = rng.standard_normal(100)[item]
    >>> joined = join(reviewer, item, truth + rng.standard_normal(300), {"clear": truth + rng.standard_normal(300)})
    >>> joined.used, bool(joined.gain > 0)
    (True, True)
    """
    names = tuple(
        name
        for name, value in criteria.items()
        if np.isfinite(value).sum() >= LEAST_SCORES and np.nanstd(value) > 0 and np.std(target) > 0
    )
    alone = Joined(target, np.zeros((target.size, 0)), target, (), np.zeros(0), 0.0, np.nan, np.nan)
    if not names:
        return alone
    columns = np.column_stack([target, *(criteria[name] for name in names)])
    centre, spread = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)
    standard = (columns - centre) / spread
    # The order of rows and of criteria must not matter to the folds.
    order = np.lexsort((item, reviewer))
    fold = np.empty(item.size, np.int64)
    fold[order] = np.random.default_rng(seed).permutation(item.size) % FOLDS
    share, gain, error = _best_share(reviewer, item, standard, fold)
    weights, own = np.zeros(len(names)), 0.0
    parts, rest = np.zeros((target.size, len(names))), target
    if share:
        found = moments(reviewer, item, standard)
        by_row = _combination(found, np.isfinite(standard), share)
        product = spread[0] * np.where(np.isfinite(standard), by_row * standard, 0.0)
        parts, rest = product[:, 1:], centre[0] + product[:, 0]
        full = _weights(found, np.ones(len(names) + 1, bool), share)
        weights, own = spread[0] * full[1:], float(spread[0] ** 2 * max(_unknown(found, full), 0.0))
    score = rest + parts.sum(axis=1) if share else target
    return Joined(score, parts, rest, names, weights, own, gain, error)


def moments(reviewer: IntArray, item: IntArray, standard: FloatArray) -> Moments:
    """Estimate both covariances from products of scores of one paper by two reviewers, and by one.

    Correlations are shrunk to their common mean, with criteria that fall with the target turned round.
    """
    there = np.isfinite(standard)
    _, item = np.unique(item, return_inverse=True)
    _, reviewer = np.unique(reviewer, return_inverse=True)
    value = np.where(there, standard - _offsets(reviewer, item, standard), 0.0)
    # Products of two reviewers of a paper: those of sums less those of one review. A paper weighs as its scores.
    count = np.bincount(item)
    weight = 1.0 / np.maximum(count - 1.0, 1.0)
    sums, known = _by_code(item, value), _by_code(item, there.astype(np.float64))
    each = weight[item][:, None]
    pairs = (known * weight[:, None]).T @ known - (there * each).T @ there
    between = (sums * weight[:, None]).T @ sums - (value * each).T @ value
    between = between / np.maximum(pairs, 1.0)
    present = there.T.astype(np.float64) @ there
    total = value.T @ value / np.maximum(present, 1.0)
    # Papers vary at least a little, and so do reviews.
    whole = np.maximum(np.diag(total), LEAST)
    variance = np.clip(np.diag(between), LEAST * whole, (1.0 - LEAST) * whole)
    sign = np.where(between[0] < 0, -1.0, 1.0)
    paper = _shrunk(between, variance, sign, pairs, PRIOR_ITEMS * 2)
    review = _shrunk(total - between, whole - variance, sign, present, PRIOR_REVIEWS)
    several = count[count > 0]
    return Moments(paper, review, float(several.mean()))


def _shrunk(covariance: FloatArray, variance: FloatArray, sign: FloatArray, n: FloatArray, prior: float) -> FloatArray:
    """Return a covariance of these variances, its correlations shrunk to their mean, positive definite."""
    deviation = np.sqrt(variance) * sign
    correlation = np.clip(covariance / np.outer(deviation, deviation), -MOST, MOST)
    off = ~np.eye(variance.size, dtype=bool)
    mean = float(correlation[off].mean()) if off.any() else 0.0
    correlation = np.where(off, (n * correlation + prior * mean) / (n + prior), 1.0)
    level, vector = np.linalg.eigh(correlation)
    correlation = (vector * np.maximum(level, FLOOR)) @ vector.T
    size = np.sqrt(np.diag(correlation))
    return np.asarray(correlation / np.outer(size, size) * np.outer(deviation, deviation))


def _by_code(code: IntArray, value: FloatArray, size: int = 0) -> FloatArray:
    """Sum columns by code, shape (N, C)."""
    return np.column_stack([np.bincount(code, column, size) for column in value.T])


def _offsets(reviewer: IntArray, item: IntArray, standard: FloatArray) -> FloatArray:
    """Return the offset of the reviewer of each score, shape (E, C), from a shrunken additive fit."""
    there = np.isfinite(standard)
    value, mask = np.where(there, standard, 0.0), there.astype(np.float64)
    of_item, of_reviewer = _by_code(item, mask) + OF_ITEM, _by_code(reviewer, mask) + OF_REVIEWER
    offset = np.zeros_like(value)
    for _ in range(PASSES):
        quality = (_by_code(item, (value - offset) * mask) / of_item)[item]
        offset = (_by_code(reviewer, (value - quality) * mask) / of_reviewer)[reviewer]
    return np.asarray(offset)


def _weights(found: Moments, there: BoolArray, share: float) -> FloatArray:
    """Return the weights of the criteria of a review that has those ``there``, shape (C + 1,)."""
    paper, review = found.paper[np.ix_(there, there)], found.review[np.ix_(there, there)]
    best = np.linalg.solve(paper + review / found.k, paper[0])
    alone = np.zeros(best.size)
    alone[0] = 1.0
    mixed = share * best / _unit(best, paper) + (1.0 - share) * alone
    weights = np.zeros(there.size)
    weights[there] = mixed / _unit(mixed, paper)
    return weights


def _unit(weights: FloatArray, paper: FloatArray) -> float:
    """Return by what to divide weights w for w'G w = w'G_0, the units of the target."""
    return float(weights @ paper @ weights / max(weights @ paper[0], LEAST * paper[0, 0]))


def _unknown(found: Moments, weights: FloatArray) -> float:
    """Return the variance of the target's quality that the combination leaves unknown."""
    return float(found.paper[0, 0] - weights @ found.paper @ weights)


def _combination(found: Moments, there: BoolArray, share: float) -> FloatArray:
    """Return the weights of each review, shape (E, C + 1): one combination for each set of criteria."""
    # Sets are numbered by the criteria that some review lacks, one after another: faster than sorting rows.
    code = np.zeros(len(there), np.int64)
    for column in there.T[~there.all(axis=0)]:
        code = np.unique(2 * code + column, return_inverse=True)[1]
    _, first = np.unique(code, return_index=True)
    weights = np.array([_weights(found, pattern, share) for pattern in there[first]])
    return np.asarray(weights[code])


def _best_share(reviewer: IntArray, item: IntArray, standard: FloatArray, fold: IntArray) -> tuple[float, float, float]:
    """Return the share of the criteria, 0 if they do not help, and the held-out gain of the best with its error."""
    squares = np.full((1 + len(SHARES), item.size), np.nan)
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        seen = np.bincount(item[train], minlength=item.max() + 1)[item] > 0
        test &= seen
        if not test.any() or train.sum() < LEAST_SCORES:
            continue
        found = moments(reviewer[train], item[train], standard[train])
        for row, share in enumerate((0.0, *SHARES)):
            by_row = _combination(found, np.isfinite(standard[train]), share)
            score = np.where(np.isfinite(standard[train]), by_row * standard[train], 0.0).sum(axis=1)
            predicted = _predict(reviewer, item, standard[:, 0], train, test, score, found)
            squares[row, test] = (standard[test, 0] - predicted) ** 2
    known = np.isfinite(squares[0])
    if known.sum() < MIN_PREDICTED:
        return 0.0, np.nan, np.nan
    total = squares[:, known].sum(axis=1)
    best = 1 + int(np.argmin(total[1:]))
    # The error is clustered by paper, whose held-out scores share an estimate.
    difference = np.bincount(item[known], squares[0, known] - squares[best, known])
    error = float(np.sqrt((difference**2).sum())) / total[0]
    gain = 1.0 - float(total[best] / total[0])
    return (SHARES[best - 1] if gain > SIGNIFICANT * error else 0.0), gain, error


def _predict(
    reviewer: IntArray,
    item: IntArray,
    target: FloatArray,
    train: BoolArray,
    test: BoolArray,
    score: FloatArray,
    found: Moments,
) -> FloatArray:
    """Predict held-out scores of the target by qualities from ``score`` and offsets of reviewers, both shrunken."""
    who, what = reviewer[train], item[train]
    known = _scalar(who, what, score)
    n_items, n_reviewers = int(item.max()) + 1, int(reviewer.max()) + 1
    of_item = np.bincount(what, minlength=n_items) + known[1] / known[0]
    of_reviewer = np.bincount(who, minlength=n_reviewers) + OF_REVIEWER
    offset, quality = np.zeros(n_reviewers), np.zeros(n_items)
    for _ in range(PASSES):
        quality = np.bincount(what, score - offset[who], n_items) / of_item
        offset = np.bincount(who, score - quality[what], n_reviewers) / of_reviewer
    severity = np.bincount(who, target[train] - quality[what], n_reviewers) / of_reviewer
    return np.asarray(quality[item[test]] + severity[reviewer[test]])


def _scalar(reviewer: IntArray, item: IntArray, score: FloatArray) -> tuple[float, float]:
    """Return the variances of papers and of reviews of one score."""
    found = moments(reviewer, item, score[:, None])
    return float(found.paper[0, 0]), float(found.review[0, 0])
