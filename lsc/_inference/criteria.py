"""One score per review from the target and the other criteria of the review, as far as they predict the target.

Scores of one review share a halo, so criteria are not independent reviews. With z_ij the standardised scores of a
review, reviewers' offsets removed::

    z_ij = u_i + e_ij,   u_i ~ N(0, G) by paper,   e_ij ~ N(0, S) by review

the best linear estimate of the target's u_i0 from k reviews is a common combination w = (G + S / k)^-1 G_0 of the
criteria of each review, and the inference takes that one score per review. w is scaled such that w'G w = w'G_0: the
combination then is in units of the target, and what it leaves unknown of the target, G_00 - w'G w, is the same for all
papers.

The offset and slope of that score are the reviewer's, with the severity and halo of all criteria in them. A review that
lacks criteria has other weights, hence another offset: it gets that of a review with all criteria, by the reviewer's
offset on each.

For display, a Gaussian mixed model gives the severity of each reviewer on each criterion::

    z_ij = u_i + b_j + e_ij    b_j ~ N(0, B) by reviewer

with B from products of the scores of two papers by one reviewer, as G from those of two reviewers of one paper. The
conditional mean of b_j shrinks the severity on each criterion to that on the others, as far as severities correlate
over reviewers, and to 0, as far as they are small. Means are exact. Variances come from messages: papers and reviewers
learn of each other's uncertainty, but not of loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior
from reviewgraph._base import BoolArray, FloatArray, IntArray, Label, Result, counted, reaches, snapped
from reviewgraph.table import Reviews

#: Folds of reviews of the comparison with the target alone, and the smallest number of predicted reviews.
FOLDS, MIN_PREDICTED = 5, 20
#: Shares of the way from the target alone to the best combination; 0 is not to use the criteria.
SHARES = (0.5, 1.0)
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
    """Whether the confidence of the reviews is used as weights, and by how much it raises the log evidence.

    ``rejected`` is the posterior of the other choice.
    """

    used: bool
    gain: float
    rejected: Posterior

    def __repr__(self) -> str:
        """Return whether it is used, and the gain."""
        return f"<Confidence: {'used' if self.used else 'not used'}, log evidence {self.gain:+.1f}>"


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
        Shape (E,): the contribution of the target, of the means, and of levelled offsets.
    tried, weights
        The criteria that were tried, and points of the score per standard deviation of each, in a review with all of
        them: all 0 where they do not help.
    own
        Variance of what the criteria do not show of the target's quality, in squared points.
    gain, gain_error
        Relative decrease of the squared error in predicting held-out scores of the target, and its standard error;
        NaN where there are too few.
    untried
        Criteria with too few scores to try them, or with the same one everywhere.
    """

    score: FloatArray
    parts: FloatArray
    target: FloatArray
    tried: tuple[str, ...]
    weights: FloatArray
    own: float
    gain: float
    gain_error: float
    untried: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return which criteria are joined with the score, which are not, and the gain."""
        gain = f", gain {self.gain:.1%}" if np.isfinite(self.gain) else ""
        return f"<Joined: {self.words}{gain}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The criteria that are joined with the score; none where they do not help."""
        return self.tried if self.used else ()

    @property
    def rejected(self) -> tuple[str, ...]:
        """The criteria that are not joined with the score."""
        return (*(() if self.used else self.tried), *self.untried)

    @property
    def words(self) -> str:
        """Which criteria are used, and which are not."""
        sides = (("used", self.names), ("not used", self.rejected))
        said = [f"criteria {verb}: {', '.join(map(repr, names))}" for verb, names in sides if names]
        return "; ".join(said)

    @property
    def used(self) -> bool:
        """Whether the criteria are used."""
        return bool((self.weights != 0).any())

    def moves(self, reviews: Reviews) -> dict[str, FloatArray]:
        """Return the points by which each criterion moves the scores of the reviews, the target's own weight first."""
        if not self.used:
            return {}
        columns = dict(zip(self.tried, self.parts.T, strict=True))
        own = reviews.target or "score"
        return {own: self.target - reviews.score[reviews.scored], **columns}

    def with_names(self, names: Mapping[str, str]) -> Joined:
        """Return the same with other names of the criteria."""
        tried, untried = (tuple(names[name] for name in group) for group in (self.tried, self.untried))
        return self._replace(tried=tried, untried=untried)

    def to_dict(self, target: str | None) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of the criteria."""
        gain, error = (None if np.isnan(value) else value for value in (self.gain, self.gain_error))
        weights = [
            {"criterion": name, "weight": weight}
            for name, weight in zip(self.tried, self.weights.tolist(), strict=True)
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

    The share of the criteria is that of least squared error on held-out reviews, 0 included; the covariances are
    estimated from the other reviews.

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
    untried = tuple(name for name in criteria if name not in names)
    alone = Joined(target, np.zeros((target.size, 0)), target, (), np.zeros(0), 0.0, np.nan, np.nan, untried)
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
        offset = _offsets_to_level(reviewer, item, standard)
        found = moments(reviewer, item, standard, offset)
        by_row, level = _combination(found, np.isfinite(standard), share, offset)
        product = spread[0] * np.where(np.isfinite(standard), by_row * standard, 0.0)
        parts, rest = product[:, 1:], centre[0] + product[:, 0] + spread[0] * level
        full = _weights(found, np.ones(len(names) + 1, bool), share)
        weights, own = spread[0] * full[1:], float(spread[0] ** 2 * max(_unknown(found, full), 0.0))
    # Reviews with the same scores have the same combination.
    score = snapped(rest + parts.sum(axis=1)) if share else target
    return Joined(score, parts, rest, names, weights, own, gain, error, untried)


def moments(
    reviewer: IntArray,
    item: IntArray,
    standard: FloatArray,
    offset: FloatArray | None = None,
    sign: FloatArray | None = None,
) -> Moments:
    """Estimate both covariances from products of scores of one paper by two reviewers, and by one.

    Correlations are shrunk to their common mean, with criteria that fall with the target turned round: those whose
    ``sign`` is negative, by default that of the covariance of papers. ``offset`` is computed if it is not passed.
    """
    there = np.isfinite(standard)
    _, item = np.unique(item, return_inverse=True)
    _, reviewer = np.unique(reviewer, return_inverse=True)
    value = np.where(there, standard - (_offsets(reviewer, item, standard) if offset is None else offset), 0.0)
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
    sign = np.where(between[0] < 0, -1.0, 1.0) if sign is None else sign
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


def _offsets_to_level(reviewer: IntArray, item: IntArray, standard: FloatArray) -> FloatArray | None:
    """Return the offsets of the reviewer of each score, None if no review lacks a criterion: nothing to level."""
    return None if np.isfinite(standard).all() else _offsets(reviewer, item, standard)


def _combination(
    found: Moments, there: BoolArray, share: float, offset: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of each review, shape (E, C + 1), and what levels its offset, shape (E,).

    There is one combination for each set of criteria. With weights w of the review and v of one with all criteria, the
    reviewer's offset b is w'b in its score; it becomes v'b.
    """
    # Sets are numbered by the criteria that some review lacks, one after another: faster than sorting rows.
    code = np.zeros(len(there), np.int64)
    for column in there.T[~there.all(axis=0)]:
        code = np.unique(2 * code + column, return_inverse=True)[1]
    _, first = np.unique(code, return_index=True)
    weights = np.array([_weights(found, pattern, share) for pattern in there[first]])[code]
    if offset is None:
        return weights, np.zeros(len(there))
    full = _weights(found, np.ones(there.shape[1], bool), share)
    return weights, ((full - weights) * offset).sum(axis=1)


def _best_share(reviewer: IntArray, item: IntArray, standard: FloatArray, fold: IntArray) -> tuple[float, float, float]:
    """Return the share of the criteria, 0 if they do not help, and the held-out gain of the best with its error."""
    squares = np.full((1 + len(SHARES), item.size), np.nan)
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        seen = np.bincount(item[train], minlength=item.max() + 1)[item] > 0
        test &= seen
        if not test.any() or train.sum() < LEAST_SCORES:
            continue
        kept = standard[train]
        offset = _offsets_to_level(reviewer[train], item[train], kept)
        found = moments(reviewer[train], item[train], kept, offset)
        for row, share in enumerate((0.0, *SHARES)):
            by_row, level = _combination(found, np.isfinite(kept), share, offset)
            score = np.where(np.isfinite(kept), by_row * kept, 0.0).sum(axis=1) + level
            predicted = _predict(reviewer, item, standard[:, 0], train, test, score, found)
            squares[row, test] = (standard[test, 0] - predicted) ** 2
    known = np.isfinite(squares[0])
    if known.sum() < MIN_PREDICTED:
        return 0.0, np.nan, np.nan
    total = squares[:, known].sum(axis=1)
    best = 1 + int(np.argmin(snapped(total[1:])))
    # The error is clustered by paper, whose held-out scores share an estimate.
    difference = np.bincount(item[known], squares[0, known] - squares[best, known])
    error = float(np.sqrt((difference**2).sum())) / total[0]
    gain = 1.0 - float(total[best] / total[0])
    return (0.0 if reaches(total[best], total[0]) else SHARES[best - 1]), gain, error


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


# Severity of each reviewer on each criterion.

#: Passes over papers and reviewers, the change of a severity in standard deviations that ends them, and those of
#: variances.
MAX_PASSES, TOLERANCE, VARIANCE_PASSES = 500, 1e-4, 3
#: Correlation with the target, negated, from which a criterion falls with it.
TURNED = 0.1
#: Normal quantiles .95, of intervals, and .995: a reviewer is severe on a criterion of their own if 0 lies beyond.
WIDTH, NOTABLE = 1.6448536269514722, 2.5758293035489004


class Effects(NamedTuple):
    """Conditional means and covariances of the reviewers, shapes (M, C + 1) and (M, C + 1, C + 1), and B."""

    mean: FloatArray
    covariance: FloatArray
    population: FloatArray


def effects(
    reviewer: IntArray, item: IntArray, standard: FloatArray, found: Moments, population: FloatArray
) -> Effects:
    """Return the distribution of the effects of reviewers given all scores, O(E C^2) per pass.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,).
    standard
        Shape (E, C + 1), NaN where missing.
    found
        Covariances G of papers and S of reviews.
    population
        Covariance B of reviewers.
    """
    there = np.isfinite(standard)
    n_items, n_reviewers = int(item.max()) + 1, int(reviewer.max()) + 1
    of_paper, of_reviewer = _inverse(found.paper), _inverse(population)
    weight = _inverse_of_known(np.broadcast_to(found.review, (len(there), *found.review.shape)), there)
    shift = _times(weight, np.where(there, standard, 0.0))
    paper = _inverse(of_paper + _sums(item, weight, n_items))
    person = _inverse(of_reviewer + _sums(reviewer, weight, n_reviewers))
    mean = np.zeros((n_reviewers, there.shape[1]))
    for _ in range(MAX_PASSES):
        quality = _times(paper, _sums(item, shift - _times(weight, mean[reviewer]), n_items))
        before, mean = mean, _times(person, _sums(reviewer, shift - _times(weight, quality[item]), n_reviewers))
        if np.abs(mean - before).max() < TOLERANCE:
            break
    # A paper is known as well as the other reviews of it say, with the uncertainty of their reviewers; and so on.
    covariance = person
    for _ in range(VARIANCE_PASSES):
        told = _inverse_of_known(found.review + covariance[reviewer], there)
        others = _inverse((of_paper + _sums(item, told, n_items))[item] - told)
        told = _inverse_of_known(found.review + others, there)
        covariance = _inverse(of_reviewer + _sums(reviewer, told, n_reviewers))
    return Effects(mean, covariance, population)


def _inverse(matrices: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrices), np.float64)


def _inverse_of_known(matrices: FloatArray, there: BoolArray) -> FloatArray:
    """Return the inverses of the blocks of known criteria, 0 elsewhere, shapes (E, C + 1, C + 1)."""
    both = there[:, :, None] & there[:, None, :]
    inverse = _inverse(np.where(both, matrices, np.eye(there.shape[1])))
    return np.asarray(np.where(both, inverse, 0.0))


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _sums(code: IntArray, value: FloatArray, size: int) -> FloatArray:
    """Sum arrays by code, shape (size, ...)."""
    flat = value.reshape(len(value), -1)
    sums = np.column_stack([np.bincount(code, column, size) for column in flat.T])
    return np.asarray(sums.reshape(size, *value.shape[1:]), np.float64)


class Severities(NamedTuple):
    """Severities in points of each criterion, shapes (M, C + 1); NaN where a reviewer has no score of it.

    Attributes
    ----------
    mean, sd
        By how much the reviewer scores lower than a typical one, and its standard deviation.
    own, own_sd
        By how much more severe the reviewer is on this criterion than on theirs on average.
    """

    mean: FloatArray
    sd: FloatArray
    own: FloatArray
    own_sd: FloatArray


def severities(reviewer: IntArray, item: IntArray, columns: FloatArray) -> Severities:
    """Estimate severities from the columns of scores, shape (E, C + 1), the target first, NaN where missing.

    On criteria that fall with the target a reviewer is severe who scores high: there ``own`` compares in the direction
    of the target, but is in points of the criterion like ``mean``.
    """
    there = np.isfinite(columns)
    spread = np.nanstd(columns, axis=0)
    standard = (columns - np.nanmean(columns, axis=0)) / spread
    found = moments(reviewer, item, standard)
    # Directions by the scores of all papers and reviews together: those of papers alone may be near 0.
    together = found.paper + found.review
    size = np.sqrt(np.diag(together))
    sign = np.where(together[0] < -TURNED * size[0] * size, -1.0, 1.0)
    # Roles exchanged: the products of two papers of a reviewer.
    population = moments(item, reviewer, standard, sign=sign).paper
    mean, covariance, _ = effects(reviewer, item, standard, found, population)
    known = _sums(reviewer, there.astype(np.float64), len(mean)) > 0
    # A typical reviewer is the average over scores.
    typical = (np.where(there, mean[reviewer], 0.0)).sum(axis=0) / there.sum(axis=0)
    against = known * sign / np.maximum(known.sum(axis=1, keepdims=True), 1)
    contrast = np.eye(there.shape[1]) - sign[:, None] * against[:, None, :]
    variance = np.einsum("mci,mij,mcj->mc", contrast, covariance, contrast)
    own = np.einsum("mci,mi->mc", contrast, mean - typical)
    sd = np.sqrt(np.einsum("mcc->mc", covariance))
    values = (typical - mean, sd, -own, np.sqrt(np.maximum(variance, 0.0)))
    return Severities(*(np.where(known, spread * value, np.nan) for value in values))


@dataclass(frozen=True, eq=False, repr=False)
class CriterionSeverities(Result):
    """Severity of each reviewer on each score of the form, a row each: ``to_frame()``, ``to_dict()``.

    Attributes
    ----------
    reviewers, criteria
        Labels, and names of the scores, the target first.
    values
        Arrays of shape (M, C + 1).
    """

    reviewers: Sequence[Label]
    criteria: tuple[str, ...]
    values: Severities = field(repr=False)

    @property
    def notable(self) -> BoolArray:
        """Whether a reviewer is more or less severe on a criterion than on theirs on average: 99 % interval."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.values.own) > NOTABLE * self.values.own_sd)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return reviewer, criterion, severity with its 90 % interval, and the part beyond the reviewer's average."""
        who, what = (code.tolist() for code in np.nonzero(np.isfinite(self.values.mean)))
        mean, sd, own, own_sd = (value[who, what] for value in self.values)
        numbers = {
            "severity": mean,
            "interval_low": mean - WIDTH * sd,
            "interval_high": mean + WIDTH * sd,
            "own": own,
            "own_low": own - WIDTH * own_sd,
            "own_high": own + WIDTH * own_sd,
        }
        labels: dict[str, list[Any]] = {
            "reviewer": [self.reviewers[j] for j in who],
            "criterion": [self.criteria[c] for c in what],
        }
        return labels | {name: value.tolist() for name, value in numbers.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return a list of objects, intervals as pairs."""
        columns = self.to_columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row in rows:
            row["interval"] = [row.pop("interval_low"), row.pop("interval_high")]
            row["own_interval"] = [row.pop("own_low"), row.pop("own_high")]
        return {"severities": rows}

    def headline(self) -> str:
        """Return the number of reviewers who are unusual on one criterion."""
        unusual = int(self.notable.any(axis=1).sum())
        scores = counted(len(self.criteria), "criterion", "criteria")
        return f"{scores}, {counted(unusual, 'reviewer')} more severe or lenient on one than on the others"
