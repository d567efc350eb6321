"""The scores that the posterior uses: joined from the criteria of each review, weighed, standardised; the null model.

Recomputed from the table alone. With z the standardised scores of a review less offsets of its reviewer, of which
``z = u + e``, u ~ N(0, G) by paper and e ~ N(0, S) by review, criteria count with weights ``w = (G + S / k)^-1 G_0``,
scaled to the units of the target. Five folds of reviews decide whether they count, and how much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph._base.arrays import reaches, snapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.graphs import Pair, Table


# Criteria: moments of the scores of papers and of reviews, and the best combination.

#: Folds of reviews, held-out reviews needed, shares of the way to the best combination, and errors that a gain exceeds.
FOLDS, FEWEST_HELD_OUT, SHARES = 5, 20, (0.5, 1.0)
#: Scores of a criterion needed; scores to which counts of correlations of papers and of reviews are compared.
ENOUGH, OF_PAPERS, OF_REVIEWS = 20, 60.0, 30.0
#: Least share of a variance, largest correlation, and least eigenvalue of correlations.
LEAST, MOST, FLOOR = 0.02, 0.98, 0.02
#: Passes of the additive fit, and scores to which those of an item, and of a reviewer, are compared.
ROUNDS, ITEM_PRIOR, REVIEWER_PRIOR = 8, 1.0, 3.0


class Joined(NamedTuple):
    """Scores joined from criteria: ``score`` (E,), and the points that each adds, by name, the target's first.

    ``weights`` are points per standard deviation of each criterion, ``own`` the variance of the target's quality that
    they do not show, ``gain`` and ``gain_error`` those of the held-out prediction, None where there are too few scores.
    """

    score: FloatArray
    moves: dict[str, FloatArray]
    weights: dict[str, float]
    own: float
    gain: float | None
    gain_error: float | None


class Moments(NamedTuple):
    """Covariances G of papers and S of reviews, shapes (C, C), and the mean number k of reviews per paper."""

    paper: FloatArray
    review: FloatArray
    k: float

    def weights(self, there: BoolArray, share: float) -> FloatArray:
        """Return the weights of a review that has the scores ``there``, on the way from the target alone, (C,)."""
        paper, review = self.paper[there][:, there], self.review[there][:, there]
        target = np.eye(there.sum())[0]
        best = np.linalg.inv(paper + review / self.k) @ paper[0]

        def in_units_of_target(weights: FloatArray) -> FloatArray:
            shown = max(float(weights @ paper[0]), LEAST * float(paper[0, 0]))
            return np.asarray(weights * shown / float(weights @ paper @ weights))

        weights = np.zeros(there.size)
        weights[there] = in_units_of_target(share * in_units_of_target(best) + (1 - share) * target)
        return weights

    def combined(self, standard: FloatArray, offset: FloatArray, share: float) -> FloatArray:
        """Return what each score adds to the combination of its review, shape (E, C), 0 where it is missing.

        A review that lacks criteria gets the offset that its reviewer would have in a review with all of them, given
        the ``offset`` on each, shape (E, C): this is in the column of the target.
        """
        added, known = np.zeros(standard.shape), np.isfinite(standard)
        full = self.weights(np.ones(standard.shape[1], np.bool_), share)
        for there in np.unique(known, axis=0):
            rows, weights = (known == there).all(axis=1), self.weights(there, share)
            added[rows] = np.where(there, standard[rows] * weights, 0.0)
            added[rows, 0] += offset[rows] @ (full - weights)
        return added


def joined_scores(who: IntArray, what: IntArray, target: FloatArray, table: Table) -> Joined:
    """Join the criteria of a table with the scores of the target, higher is better, shape (E,), in its order."""
    pairs = list(table.score)
    columns = {name: np.array([own.get(pair, np.nan) for pair in pairs]) for name, own in table.criteria.items()}
    columns = {
        name: value
        for name, value in columns.items()
        if np.isfinite(value).sum() >= ENOUGH and np.nanstd(value) > 0 and target.std() > 0
    }
    alone = Joined(target, {}, dict.fromkeys(columns, 0.0), 0.0, None, None)
    if not columns:
        return alone
    values = np.array([target, *columns.values()]).T
    centre, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    standard = (values - centre) / spread
    share, gain, error = _best_share(who, what, standard)
    alone = alone._replace(gain=gain, gain_error=error)
    if not share:
        return alone
    moments = _moments(who, what, standard)
    points = spread[0] * moments.combined(standard, _offsets(who, what, standard), share)
    own = centre[0] + points[:, 0] - target
    full = moments.weights(np.ones(len(columns) + 1, np.bool_), share)
    unknown = float(moments.paper[0, 0] - full @ moments.paper @ full)
    return Joined(
        snapped(centre[0] + points[:, 0] + points[:, 1:].sum(axis=1)),
        {table.target or "score": own, **dict(zip(columns, points[:, 1:].T, strict=True))},
        dict(zip(columns, (spread[0] * full[1:]).tolist(), strict=True)),
        float(spread[0] ** 2) * max(unknown, 0.0),
        gain,
        error,
    )


def _sums(code: IntArray, columns: FloatArray, size: int = 0) -> FloatArray:
    """Sum columns, shape (E, C), by code, shape (size, C)."""
    sums = np.zeros((max(size, int(code.max()) + 1), columns.shape[1]))
    np.add.at(sums, code, columns)
    return sums


def _offsets(who: IntArray, what: IntArray, standard: FloatArray) -> FloatArray:
    """Return the offset of the reviewer of each score, shape (E, C), from a shrunken additive fit per criterion."""
    known = np.isfinite(standard)
    there, value = known.astype(np.float64), np.where(known, standard, 0.0)
    offset = np.zeros(value.shape)
    for _ in range(ROUNDS):
        quality = _sums(what, (value - offset) * there) / (_sums(what, there) + ITEM_PRIOR)
        offset = (_sums(who, (value - quality[what]) * there) / (_sums(who, there) + REVIEWER_PRIOR))[who]
    return np.asarray(offset)


def _moments(who: IntArray, what: IntArray, standard: FloatArray) -> Moments:
    """Estimate both covariances from products of scores of one paper: of two reviews, and of one."""
    known = np.isfinite(standard)
    there = known.astype(np.float64)
    value = np.where(known, standard - _offsets(who, what, standard), 0.0)
    # Ordered pairs of different reviews of a paper; papers of n reviews have n - 1 for each of its scores.
    count = np.bincount(what)
    weight = 1 / np.maximum(count - 1.0, 1.0)

    def of_two(column: FloatArray) -> FloatArray:
        both = _sums(what, column)
        each = np.einsum("ec,ed,e->cd", column, column, weight[what])
        return np.asarray(np.einsum("ic,id,i->cd", both, both, weight) - each)

    pairs, one = of_two(there), there.T @ there
    between, total = of_two(value) / np.maximum(pairs, 1.0), value.T @ value / np.maximum(one, 1.0)
    whole = np.maximum(np.diag(total), LEAST)
    variance = np.minimum(np.maximum(np.diag(between), LEAST * whole), (1 - LEAST) * whole)
    sign = np.where(between[0] < 0, -1.0, 1.0)
    paper = _shrunk(between, sign * np.sqrt(variance), pairs, OF_PAPERS)
    review = _shrunk(total - between, sign * np.sqrt(whole - variance), one, OF_REVIEWS)
    return Moments(paper, review, who.size / np.count_nonzero(count))


def _shrunk(covariance: FloatArray, deviation: FloatArray, count: FloatArray, prior: float) -> FloatArray:
    """Return a covariance with these signed deviations, correlations shrunk to their mean, positive definite."""
    size, scale = deviation.size, deviation[:, None] * deviation
    correlation = np.clip(covariance / scale, -MOST, MOST)
    np.fill_diagonal(correlation, 0.0)
    mean = correlation.sum() / max(size * (size - 1), 1)
    correlation = (count * correlation + prior * mean) / (count + prior)
    np.fill_diagonal(correlation, 1.0)
    value, vector = np.linalg.eigh(correlation)
    correlation = vector @ np.diag(np.maximum(value, FLOOR)) @ vector.T
    unit = np.sqrt(np.diag(correlation))
    return np.asarray(correlation / unit[:, None] / unit * scale)


def _best_share(who: IntArray, what: IntArray, standard: FloatArray) -> tuple[float, float | None, float | None]:
    """Return the share of the criteria, 0 where they do not help, the held-out gain of the best, and its error."""
    fold = np.empty(who.size, np.int64)
    fold[np.lexsort((what, who))] = np.random.default_rng(0).permutation(who.size) % FOLDS
    square = np.full((1 + len(SHARES), who.size), np.nan)
    for number in range(FOLDS):
        train = fold != number
        test = ~train & np.isin(what, what[train])
        if not test.any() or np.count_nonzero(train) < ENOUGH:
            continue
        moments = _moments(who[train], what[train], standard[train])
        offset = _offsets(who[train], what[train], standard[train])
        for row, share in enumerate((0.0, *SHARES)):
            score = moments.combined(standard[train], offset, share).sum(axis=1)
            predicted = _predicted(who, what, standard[:, 0], train, score)
            square[row, test] = (standard[test, 0] - predicted[test]) ** 2
    tested = np.isfinite(square[0])
    if np.count_nonzero(tested) < FEWEST_HELD_OUT:
        return 0.0, None, None
    total = square[:, tested].sum(axis=1)
    best = 1 + int(np.argmin(snapped(total[1:])))
    gain = 1 - float(total[best] / total[0])
    by_paper = np.bincount(what[tested], square[0, tested] - square[best, tested])
    error = float(np.linalg.norm(by_paper) / total[0])
    return (0.0 if reaches(total[best], total[0]) else SHARES[best - 1]), gain, error


def _predicted(who: IntArray, what: IntArray, target: FloatArray, train: BoolArray, score: FloatArray) -> FloatArray:
    """Predict all scores of the target from ``score`` of the training reviews: a quality and an offset, shrunken."""
    j, i = who[train], what[train]
    moments = _moments(j, i, score[:, None])
    of_item = np.bincount(i, minlength=int(what.max()) + 1) + float(moments.review[0, 0] / moments.paper[0, 0])
    of_reviewer = np.bincount(j, minlength=int(who.max()) + 1) + REVIEWER_PRIOR
    quality, offset = np.zeros(of_item.size), np.zeros(of_reviewer.size)
    for _ in range(ROUNDS):
        quality = np.bincount(i, score - offset[j], of_item.size) / of_item
        offset = np.bincount(j, score - quality[i], of_reviewer.size) / of_reviewer
    offset = np.bincount(j, target[train] - quality[i], of_reviewer.size) / of_reviewer
    return np.asarray(quality[what] + offset[who])


# Weights of reviews.


def log_confidence(table: Table) -> FloatArray | None:
    """Return the logarithm of the weight that the confidence of each review gives it, in the order of the scores.

    It is the standardised confidence, 0 where it is missing. None where reviews are not of different confidence.
    """
    if table.confidence is None:
        return None
    sure = np.array([table.confidence.get(pair, np.nan) for pair in table.score])
    known = sure[np.isfinite(sure)]
    if not known.size or known.min() == known.max():
        return None
    return np.where(np.isfinite(sure), (sure - known.mean()) / known.std(), 0.0)


def log_weights(table: Table, weights: Mapping[Pair, float] | None) -> FloatArray | None:
    """Return the logarithms of reliability weights in the order of the scores, 0 where missing; None without any."""
    return None if weights is None else np.log([weights.get(pair, 1.0) for pair in table.score])


# Scores as arrays, standardised.

#: Maximum size of the arrays of a block of reviewers.
AT_ONCE = 300_000
#: Minimum noise variance of standardised scores.
LEAST_NOISE = 1e-4
#: Reviewers whose equal scores had a smaller probability are left out, if at most one in ten is like that.
BY_CHANCE, IDLE_ONE_IN = 0.01, 10


class Problem(NamedTuple):
    """Scores that inference uses: codes and standardised scores of reviews, shapes (E,), and their scale.

    ``log_noise`` is what weights add to the log noise variance per unit of ``-gamma``; ``unit`` holds mean and standard
    deviation of the scores; ``references`` precisions and shifts of items from references, shape (2, N). Where scores
    are levels, ``interval`` (2, E) holds the thresholds of each, ``score`` the pseudo-scores and ``rounding`` (E,)
    their variances.
    """

    who: IntArray
    what: IntArray
    score: FloatArray
    log_noise: FloatArray
    unit: tuple[float, float]
    rounding: float | FloatArray
    sizes: tuple[int, int]
    references: FloatArray
    interval: FloatArray | None = None

    @property
    def load(self) -> IntArray:
        """Reviews per reviewer."""
        return np.bincount(self.who, minlength=self.sizes[0])

    @property
    def counts(self) -> IntArray:
        """Reviews per item."""
        return np.bincount(self.what, minlength=self.sizes[1])

    @property
    def is_ranking(self) -> bool:
        """Whether reviewers of as many papers, several, all give the same scores in another order, as ranks are."""
        order = np.lexsort((self.score, self.who, self.load[self.who]))
        sorted_, load = self.score[order], self.load[self.who[order]]
        tables = [sorted_[load == k].reshape(-1, k) for k in np.unique(load[load > 1]).tolist()]
        enough = sum(map(len, tables)) >= max(3 * len(tables), 1)
        return enough and all(bool((np.ptp(table, axis=0) < 1e-9).all()) for table in tables)

    def rounding_of(self, rows: IntArray) -> float | FloatArray:
        """Variance of rounding of reviews, shape (k, m): a number, or with an axis for nodes, shape (k, 1, m)."""
        return self.rounding[rows][:, None] if isinstance(self.rounding, np.ndarray) else self.rounding

    def only(self, kept: BoolArray) -> Problem:
        """Return some of the reviews, on the same scale."""
        logs = self.log_noise[kept]
        logs = (logs - logs.mean()) / logs.std() if np.ptp(logs) > 0 else 0 * logs
        return self._replace(
            who=self.who[kept],
            what=self.what[kept],
            score=self.score[kept],
            log_noise=logs,
            rounding=self.rounding[kept] if isinstance(self.rounding, np.ndarray) else self.rounding,
            interval=None if self.interval is None else self.interval[:, kept],
        )

    def blocks(self, nodes: int) -> list[tuple[IntArray, IntArray]]:
        """Return reviewers of equally many reviews, shape (m,), with the places of these, shape (k, m)."""
        order, load = np.lexsort((self.what, self.who)), self.load
        begin, blocks = np.cumsum(load) - load, []
        for k in np.unique(load[load > 0]).tolist():
            mine = np.flatnonzero(load == k)
            for part in np.array_split(mine, -(-mine.size * k * nodes // AT_ONCE)):
                blocks += [(part, order[begin[part] + np.arange(k)[:, None]])] if part.size else []
        return blocks


class Scores(NamedTuple):
    """All scores, higher is better, with codes of reviewers and items, shapes (E,), which are used, and the problem.

    ``raw`` are those of the table times ``sign``, ``score`` those that inference uses, joined from the criteria.
    """

    sign: float
    who: IntArray
    what: IntArray
    raw: FloatArray
    joined: Joined
    kept: BoolArray
    problem: Problem

    @property
    def score(self) -> FloatArray:
        """The scores that inference uses."""
        return self.joined.score

    @property
    def rounding(self) -> float:
        """Variance of rounding, of scores that are numbers."""
        return float(np.min(self.problem.rounding))

    def weighed(self, logs: FloatArray | None) -> Scores:
        """Return the scores with other weights, by their logarithms, shape (E,), or None."""
        kept = np.zeros(int(self.kept.sum())) if logs is None else logs[self.kept]
        every = np.ones(kept.size, np.bool_)
        return self._replace(problem=self.problem._replace(log_noise=kept).only(every))


def scores_used(scored: Table, *, criteria: bool = False) -> Scores:
    """Return the scores of a non-empty table, not weighed, joined with its criteria if these are to be tried."""
    people, papers = ({name: place for place, name in enumerate(names)} for names in (scored.reviewers, scored.items))
    who = np.array([people[reviewer] for reviewer, _ in scored.score])
    what = np.array([papers[item] for _, item in scored.score])
    sign = -1.0 if scored.lower_is_better else 1.0
    raw = sign * np.array(list(scored.score.values()), np.float64)
    joined = joined_scores(who, what, raw, scored) if criteria else Joined(raw, {}, {}, 0.0, None, None)
    score = joined.score
    load = np.bincount(who, minlength=len(people))
    low, high = np.full(len(people), np.inf), np.full(len(people), -np.inf)
    np.minimum.at(low, who, score)
    np.maximum.at(high, who, score)
    # Reviewers whose equal scores are no coincidence are left out, unless there are many of them.
    idle = (load > 1) & (low == high) & (_equal(score) ** np.maximum(load - 1.0, 0.0) < BY_CHANCE)
    kept = ~(idle if idle.sum() * IDLE_ONE_IN <= (load > 0).sum() else np.zeros_like(idle))[who]
    # Standardise; equal scores add rounding noise.
    own = score[kept]
    spread = float(own.std())
    unit = float(own.mean()), 1.0 if spread <= 1e-12 * np.abs(own).max() else spread
    rounding = np.pi / 3 * _equal(own) ** 2 + LEAST_NOISE
    sizes = len(people), len(papers)
    problem = Problem(
        who[kept], what[kept], (own - unit[0]) / unit[1], 0 * own, unit, rounding, sizes, np.zeros((2, sizes[1]))
    )
    return Scores(sign, who, what, raw, joined, kept, problem)


def _equal(score: FloatArray) -> float:
    """Return the probability that two scores are equal."""
    count = np.unique(score, return_counts=True)[1]
    return float((count * (count - 1.0)).sum()) / max(score.size * (score.size - 1.0), 1.0)


#: Papers up to which the determinant is exact.
FEW = 400


def half_log_determinant(problem: Problem, kappa: float) -> float | None:
    """Return half the log determinant of the prior precision of the papers; None for too many."""
    reviewed = np.flatnonzero(problem.counts)
    if not kappa or not (problem.load > 1).any():
        return 0.0
    if reviewed.size > FEW:
        return None
    place = np.zeros(problem.sizes[1], np.int64)
    place[reviewed] = np.arange(reviewed.size)
    shared = np.zeros((reviewed.size, problem.sizes[0]))
    shared[place[problem.what], problem.who] = problem.load[problem.who] ** -0.5
    laplacian = np.diag(problem.counts[reviewed].astype(np.float64)) - shared @ shared.T
    mean = float(np.diag(laplacian).mean())
    matrix = (1 - kappa) * np.eye(reviewed.size) + kappa * laplacian / mean
    return float(np.linalg.slogdet(matrix)[1]) / 2


# The null model without differences between reviewers.


class Averages(NamedTuple):
    """The best fit of ``y = mean + slope x + e``, e of the variance ``noise``, and its log evidence."""

    mean: float
    slope: float
    noise: float
    evidence: float


def fit_averages(what: IntArray, score: FloatArray, least_noise: float) -> Averages:
    """Fit the model in which reviewers do not differ, by a search over the ratio of both variances."""
    total, count = np.bincount(what, score), np.bincount(what)
    count, average = count[count > 0], (total / np.maximum(count, 1))[count > 0]
    within = float((score**2).sum() - (count * average**2).sum())
    # Items of equally many scores go together.
    sizes, kind = np.unique(count, return_inverse=True)
    number, first, second = np.bincount(kind), np.bincount(kind, average), np.bincount(kind, average**2)

    def at(ratio: FloatArray) -> FloatArray:
        precision = sizes / (1 + sizes * ratio[:, None])
        mean = (precision * first).sum(axis=1) / (precision * number).sum(axis=1)
        square = second - 2 * mean[:, None] * first + mean[:, None] ** 2 * number
        squares = within + (precision * square).sum(axis=1)
        noise = np.maximum(squares / score.size, least_noise)
        log = (
            score.size * np.log(2 * np.pi * noise)
            + squares / noise
            + (number * np.log1p(sizes * ratio[:, None])).sum(axis=1)
        )
        return np.array([-log / 2, mean, noise])

    ratio = np.geomspace(1e-4, 1e4, 81)
    for _ in range(6):
        best = int(np.argmax(at(ratio)[0] - (np.log(ratio) / 2) ** 2 / 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = at(ratio)[:, 4].tolist()
    return Averages(mean, float(np.sqrt(ratio[4] * noise)), noise, evidence)


# Levels: each score is an interval of a latent score, for which a Gaussian pseudo-observation may stand.

#: Most levels and reviews for which levels are tried.
MOST_LEVELS, MOST_OF_LEVELS = 7, 40_000
#: Bounds of the variance of a pseudo-observation, and largest share of the variance that an interval leaves.
OBSERVED, MOST_LEFT = (1e-4, 1e6), 1 - 1e-7
#: Grid of qualities, over which averages are integrated.
QUALITIES = np.linspace(-8.0, 8.0, 801)


class Levels(NamedTuple):
    """The scores of all levels but the lowest, and the latent thresholds below them, shapes (L - 1,), ascending.

    ``interval`` (2, E) are the thresholds of each review, ``unit`` location and scale of scores by latent scores.
    """

    score: FloatArray
    above: FloatArray
    interval: FloatArray
    unit: tuple[float, float]


def levels_in(score: FloatArray) -> Levels:
    """Return the levels of scores: latent ones are N(0, 1) over all reviews."""
    from scipy.special import ndtri

    value, level, count = np.unique(score, return_inverse=True, return_counts=True)
    above = ndtri(np.cumsum(count)[:-1] / score.size)
    edge = np.array([-np.inf, *above, np.inf])
    interval = np.array([edge[level], edge[level + 1]])
    latent = within_interval(*interval)[1]
    return Levels(value[1:], above, interval, (float(score.mean()), float((score * latent).mean())))


def within_interval(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log probability of intervals under N(0, 1), and mean and variance within, of any shape."""
    from scipy.special import log_ndtr

    # Turned round into the lower tail, where differences of probabilities are exact.
    turned = low + high > 0
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    of_a, of_b = log_ndtr(a), log_ndtr(b)
    log = of_b + np.log(-np.expm1(np.minimum(of_a - of_b, -1e-12)))
    at_a, at_b = (np.exp(-(edge**2) / 2 - log) / np.sqrt(2 * np.pi) for edge in (a, b))
    mean = at_a - at_b
    # Infinite bounds have no density.
    of_bounds = [np.where(np.isfinite(edge), edge, 0.0) * density for edge, density in ((a, at_a), (b, at_b))]
    return log, np.where(turned, -mean, mean), 1 + of_bounds[0] - of_bounds[1] - mean**2


def observation_of(spread: FloatArray | float, left: FloatArray) -> FloatArray:
    """Return the variance of an observation that leaves a part ``left`` of a variance."""
    left = np.clip(left, 0.0, MOST_LEFT)
    return np.asarray(np.clip(spread * left / (1 - left), *OBSERVED))


def first_observed(problem: Problem) -> Problem:
    """Return the problem with the pseudo-observations of latent scores that are N(0, 1) and independent."""
    _, mean, left = within_interval(*intervals(problem))
    variance = observation_of(1.0, left)
    return problem._replace(score=mean * (1 + variance), rounding=variance)


def intervals(problem: Problem) -> FloatArray:
    """Return the thresholds of each review, shape (2, E), none if scores are numbers."""
    return np.zeros((2, 0)) if problem.interval is None else problem.interval


def evidence_of_averages(problem: Problem, null: Averages, score: FloatArray) -> float:
    """Return the log probability of levels under the null model of numbers, each halfway to its neighbours.

    ``score`` (E,) are those of the problem before levels, standardised.
    """
    from scipy.special import logsumexp

    value, level = np.unique(score, return_inverse=True)
    edge = np.array([-np.inf, *((value[1:] + value[:-1]) / 2), np.inf])[:, None]
    edge = (edge - null.mean - null.slope * QUALITIES) / np.sqrt(null.noise)
    log = within_interval(edge[:-1], edge[1:])[0]
    step = QUALITIES[1] - QUALITIES[0]
    prior = np.log(step / np.sqrt(2 * np.pi)) - QUALITIES**2 / 2
    counts = np.zeros((problem.sizes[1], value.size))
    np.add.at(counts, (problem.what, level), 1.0)
    return float(sum(logsumexp(prior + row @ log) for row in counts[counts.any(axis=1)]))
