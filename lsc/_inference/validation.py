"""Validation of the posterior: prediction of held-out reviewers, and reviewers who contradict the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Member, Posterior
from lsc._inference.categories import normal_scores, predict_items
from lsc._inference.inferring import fit_averages
from lsc._inference.mixture import straightened
from lsc._inference.model import GAMMA, LOG_OWN, LOG_S_R, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, NU, RHO
from lsc._inference.scale_users import ranked
from lsc._inference.states import MIN_NOISE, Rows, equal_scores, initial_state, prepare, unit_of
from lsc._inference.sweeps import run_sweeps
from reviewgraph._base import BoolArray, FloatArray, IntArray, snapped

#: Number of folds of reviewers, and number of predicted reviews from which no further fold begins.
FOLDS, MAX_PREDICTED = 5, 20_000
#: Minimum number of reviewers with two predicted scores for a standard error.
MIN_REVIEWERS = 5
#: Sweeps with fixed hyperparameters: messages then have converged to a tenth of the standard error of the gain.
SWEEPS = 8


class Gain(NamedTuple):
    """The numbers of :class:`lsc.predictions.HeldOutGain`, which explains them."""

    relative: float
    standard_error: float
    error: float
    average_error: float
    reviews: int


class HeldOut(NamedTuple):
    """Held-out reviews, shapes (E',): reviewer, score, and quality and average of the item from the other reviewers."""

    reviewer: IntArray
    score: FloatArray
    quality: FloatArray
    average: FloatArray


def held_out_gain(
    posterior: Posterior, score: FloatArray, *, weight: FloatArray | None = None, seed: int | np.random.Generator = 0
) -> Gain:
    """Hold out reviewers in folds and compare how qualities and averages from the others predict their scores.

    Whole reviewers are held out, because a score also depends on the severity of its reviewer, which one or two other
    scores barely determine: predicting single scores would mostly measure that. Both methods get the same calibration
    of the held-out reviewers (their level, and one common slope); compared is the variance within reviewers explained.
    Ranks replace scores and qualities: papers are selected by rank, and a scale that ends at its best score bends the
    rest.

    Averages are shrunk as far as the scores require, as the posterior is. Hyperparameters are those of all reviews; at
    most about 20,000 reviews are predicted. ``score`` and ``weight`` are those passed to
    :func:`lsc._inference.inferring.infer`. O(E); eight sweeps per fold.
    """
    predictions = _predict(posterior, score, weight, np.random.default_rng(seed))
    who, code = np.unique(predictions.reviewer, return_inverse=True)
    if who.size < MIN_REVIEWERS:
        return Gain(np.nan, np.nan, np.nan, np.nan, predictions.score.size)
    truth = centred_ranks(predictions.score, code)
    ours = squared_errors(truth, centred_ranks(predictions.quality, code))
    theirs = squared_errors(truth, centred_ranks(predictions.average, code))
    error, average_error = float(np.sqrt(ours.mean())), float(np.sqrt(theirs.mean()))
    total = float(theirs.sum())
    if total <= 0:
        return Gain(np.nan, np.nan, error, average_error, ours.size)
    # The error is clustered by reviewer. Where two reviewers of an item agree by chance, both are predicted too well:
    # it enters the sum twice, which doubles the variance between reviewers.
    relative = 1.0 - float(ours.sum()) / total
    deviation = np.bincount(code, theirs - ours - relative * theirs)
    variance = 2.0 * (deviation**2).sum() * deviation.size / (deviation.size - 1)
    return Gain(relative, float(np.sqrt(variance)) / total, error, average_error, ours.size)


def _predict(posterior: Posterior, score: FloatArray, weight: FloatArray | None, rng: np.random.Generator) -> HeldOut:
    """Hold out the reviewers with at least two used scores in turn; keep what is comparable within a reviewer."""
    used = posterior.precision > 0
    load = np.bincount(posterior.reviewer[used], minlength=posterior.slope.size)
    fold = folds_of(load, rng)
    parts = [HeldOut(np.empty(0, np.int64), *np.empty((3, 0)))]
    for number in range(FOLDS):
        test = fold[posterior.reviewer] == number
        scored = np.bincount(posterior.item[~test], minlength=posterior.mean.size) > 0
        predicted = test & used & scored[posterior.item]
        predicted &= (np.bincount(posterior.reviewer[predicted], minlength=load.size) > 1)[posterior.reviewer]
        if predicted.any():
            quality = average = _averages(posterior, score, ~test)
            if posterior.signal:
                rows = Rows(posterior.reviewer, posterior.item, score, weight)
                quality = _qualities(posterior, rows.only(used), rows.only(~test & used))
            item = posterior.item[predicted]
            parts.append(HeldOut(posterior.reviewer[predicted], score[predicted], quality[item], average[item]))
        if sum(part.score.size for part in parts) >= MAX_PREDICTED:
            break
    return HeldOut(*map(np.concatenate, zip(*parts, strict=True)))


def folds_of(load: IntArray, rng: np.random.Generator, folds: int = FOLDS) -> IntArray:
    """Return the fold of each reviewer, shape (M,); those with fewer than two reviews are in none: ``folds``.

    >>> folds_of(np.array([1, 2, 3]), np.random.default_rng(0), 2).tolist()[0]
    2
    """
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, folds)
    fold[several] = rng.permutation(several.size) % folds
    return fold


def _qualities(posterior: Posterior, every: Rows, kept: Rows) -> FloatArray:
    """Infer qualities from the reviews kept, shape (N,), with the hyperparameters of all reviews."""
    if posterior.members:
        return np.asarray(sum(m.weight * _qualities(m.posterior, *_scored(m, every, kept)) for m in posterior.members))
    sizes = posterior.slope.size, posterior.mean.size
    if posterior.extent.ordinal:
        return predict_items(kept, sizes, every.score, posterior.fitted, SWEEPS)
    # Hyperparameters are relative to the unit of all scores.
    expected = posterior.expected
    if expected is not None:
        # The gain is that of the correction of reviewers: nothing is expected of papers.
        expected = expected._replace(quality=0 * expected.quality)
    problem = prepare(kept, *sizes, unit=prepare(every, *sizes).unit, expected=expected).problem
    return run_sweeps(problem, initial_state(problem, posterior.theta, posterior.extent), SWEEPS).mean[:-1]


def _scored(member: Member, every: Rows, kept: Rows) -> tuple[Rows, Rows]:
    """Return the rows with the scores that a member of a mixture models."""
    if not member.straightened:
        return every, kept
    value = straightened(every.score)
    place = np.searchsorted(np.unique(every.score), kept.score)
    by_level = np.unique(value)
    return every._replace(score=value), kept._replace(score=by_level[place])


def _averages(posterior: Posterior, score: FloatArray, kept: BoolArray) -> FloatArray:
    """Average of each item over the reviews kept, shrunk towards the mean, shape (N,)."""
    items, size = posterior.item[kept], posterior.mean.size
    null = fit_averages(items, score[kept], MIN_NOISE * max(float(score.var()), MIN_NOISE))
    ratio = null.slope**2 / null.noise
    weight = ratio / (1.0 + ratio * np.bincount(items, minlength=size))
    return np.asarray(null.mean + weight * np.bincount(items, score[kept] - null.mean, size))


def centred_ranks(value: FloatArray, code: IntArray) -> FloatArray:
    """Share of all values below each, ties counted half, minus the mean of the reviewer."""
    spread = float(value.std()) or 1.0
    _, place, count = np.unique(snapped(value, spread), return_inverse=True, return_counts=True)
    rank = ((np.cumsum(count) - 0.5 * count) / value.size)[place]
    return centred(rank, code)


def centred(value: FloatArray, code: IntArray) -> FloatArray:
    """Return values minus the mean of their reviewer, given by code 0, 1, ... without gaps.

    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    return np.asarray(value - (np.bincount(code, value) / np.bincount(code))[code])


def best_multiple(truth: FloatArray, prediction: FloatArray) -> float:
    """Return the non-negative multiple of the prediction with the least squared error; 0 for a constant 0."""
    square = float(prediction @ prediction)
    return max(float(prediction @ truth) / square, 0.0) if square > 0 else 0.0


def squared_errors(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    """Squared errors of the best non-negative multiple of the prediction."""
    return np.asarray((truth - best_multiple(truth, prediction) * prediction) ** 2)


# Whether a reviewer's scores contradict those of the others beyond noise.
#
# Each reviewer is compared with the cavity distributions of their papers, mean m and variance v. Under the model, with
# slope a and noise s^2 from the population of reviewers,
#
#     y = b + a x + e,   x ~ N(m, v),   e ~ N(0, s^2)
#
# two statistics have known distributions given a and s^2. With weights w = 1 / (a0^2 v + s0^2), a0 and s0 those of a
# typical reviewer, and y', m' centred with these weights over the reviewer's papers (the offset b is free):
#
# * agreement T = sum w m' y' / a0 sum w m'^2: 1 for a typical reviewer, 0 for scores unrelated to those of the others,
#   negative for reversed ones; normal, lower tail.
# * mean square Q = sum w (y' - a0 m')^2 / (k - 1): 1 is expected of a typical reviewer; approximately noncentral chi^2
#   with k - 1 degrees of freedom, upper tail.
#
# Both tail probabilities are averaged over the population of slopes and noises.

#: Quadrature nodes of slope and of own noise, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Significance level of the corrected p-values. The population is an estimate: of tables simulated from the model 1 to
#: 3 in 100 have a significant reviewer (tests/benchmarks/misfit.py).
SIGNIFICANCE = 0.02
#: Quadrature of a standard normal distribution.
NORMAL_NODES, NORMAL_WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
NORMAL_WEIGHTS = NORMAL_WEIGHTS / NORMAL_WEIGHTS.sum()
#: Weighted mean square of differences between papers that is rounding.
NEGLIGIBLE = 1e-12
#: Noncentrality from which the noncentral chi^2 is approximated by a normal distribution.
NORMAL_FROM = 1e4


class Misfit(NamedTuple):
    """How each reviewer's scores fit those of the others, shapes (M,); NaN below two used scores.

    Of reviewers who are probably ordinal the ranks are compared.

    Attributes
    ----------
    mean_square
        Of the standardised residuals from the predictions of the others: 1 is expected of a typical reviewer. Of an
        ordinal one, of the ranks: squared differences from the expected ranks, over their expectation.
    agreement
        Slope of the scores on these predictions, relative to a typical reviewer: 1 is expected, 0 is none, negative
        means reversed. Of an ordinal one, of the ranks on the expected ranks. NaN where the others do not distinguish
        the papers.
    p_value
        Twice the smaller of the probabilities of so large a mean square and of so low an agreement under the model. Of
        an ordinal reviewer, the probability of so low an agreement, at least that of the observed ranking.
    """

    mean_square: FloatArray
    agreement: FloatArray
    p_value: FloatArray

    @property
    def corrected(self) -> FloatArray:
        """Shape (M,): p-values times the number of reviewers tested, 1 at most (Bonferroni)."""
        return np.asarray(np.minimum(self.p_value * np.isfinite(self.p_value).sum(), 1.0))

    @property
    def contradicts(self) -> BoolArray:
        """Shape (M,): whose scores contradict those of the others beyond noise."""
        significant: BoolArray = self.corrected < SIGNIFICANCE
        return significant


class UsedReviews(NamedTuple):
    """Reviews, shapes (E,): reviewer, standardised score, cavity mean and variance of the paper, noise factor."""

    reviewer: IntArray
    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    factor: FloatArray


class Statistics(NamedTuple):
    """Mean square and agreement of each reviewer, and the probabilities of worse ones, shapes (M,)."""

    mean_square: FloatArray
    agreement: FloatArray
    too_large: FloatArray
    too_low: FloatArray


class Population(NamedTuple):
    """Nodes of slope and noise, shapes (G,), with weights that sum to 1; a typical reviewer; rounding variance."""

    weight: FloatArray
    slope: FloatArray
    noise: FloatArray
    typical_slope: float
    typical_noise: float
    rounding: float


def misfit_of(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> Misfit:
    """Compare each reviewer with all others; O(E). ``score`` and ``weight`` are those passed to ``infer``.

    >>> from lsc._inference.inferring import infer
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.divmod(np.arange(400), 20)
    >>> score = np.sin(item) + 0.3 * rng.standard_normal(400)
    >>> score[reviewer == 7] *= -1
    >>> misfit = misfit_of(infer(reviewer, item, score, 20, 20), score)
    >>> np.flatnonzero(misfit.contradicts).tolist(), bool(misfit.agreement[7] < -0.5)
    ([7], True)
    """
    used = posterior.precision > 0
    if not used.any():
        return Misfit(*np.full((3, posterior.slope.size), np.nan))
    who, what, scores = posterior.reviewer[used], posterior.item[used], score[used]
    if posterior.extent.ordinal:
        standard, rounding = normal_scores(scores)
    else:
        unit = unit_of(lambda: [scores], equal_scores(scores))
        standard, rounding = unit.standardised(scores), unit.rounding
    # Cavity distributions: without the reviewer's sites, those of the assortment prior included.
    precision = 1.0 / posterior.variance[what] - posterior.precision[used] - posterior.likeness_precision[used]
    shift = posterior.mean[what] / posterior.variance[what] - posterior.shift[used] - posterior.likeness_shift[used]
    factor = np.ones(who.size)
    if weight is not None and np.ptp(weight[used]) > 0 and posterior.signal:
        logs = np.log(weight[used])
        factor = np.exp(-posterior.theta[GAMMA] * (logs - logs.mean()) / logs.std())
    rows = UsedReviews(who, standard, shift / precision, posterior.loops[what] / precision, factor)
    statistics = compute_statistics(rows, population_of(posterior, rounding), posterior.slope.size)
    p_value = np.minimum(2.0 * np.minimum(statistics.too_large, statistics.too_low), 1.0)
    misfit = np.array([statistics.mean_square, statistics.agreement, p_value])
    # Distances between the scores of an ordinal reviewer carry no information.
    ordinal = np.flatnonzero(np.nan_to_num(posterior.reviewers.orders) > 0.5)
    if ordinal.size:
        perception = float(np.exp(2 * posterior.theta[LOG_S_R]))
        for code, reviews, observed in orders(rows, ordinal[np.isfinite(misfit[0, ordinal])], perception):
            of_reviewer = rows.score[reviews], rows.mean[reviews], rows.variance[reviews]
            misfit[:, code] = rank_statistics(*of_reviewer, perception, observed)
    return Misfit(*misfit)


#: Reviews whose order is evaluated at once.
AT_ONCE = 20_000


def orders(rows: UsedReviews, reviewers: IntArray, perception: float) -> Iterator[tuple[int, IntArray, float]]:
    """Yield reviewers, their reviews by score and then mean, and the probability of that order; many of a load at once.

    ``O(E log E)``.
    """
    load = np.bincount(rows.reviewer)
    by_score, start = np.lexsort((rows.mean, rows.score, rows.reviewer)), np.cumsum(load) - load
    for size in np.unique(load[reviewers]).tolist():
        those = reviewers[load[reviewers] == size]
        for part in np.array_split(those, -(-those.size * size // AT_ONCE)):
            reviews = by_score[start[part] + np.arange(size)[:, None]]
            order = ranked(rows.mean[reviews], rows.variance[reviews] + perception, np.ones(reviews.shape))
            yield from zip(part.tolist(), reviews.T, np.exp(order.log_probability).tolist(), strict=True)


class RankStatistics(NamedTuple):
    """Mean square and agreement of the ranks of one reviewer, and the probability of so low an agreement."""

    mean_square: float
    agreement: float
    too_low: float


def rank_statistics(
    score: FloatArray, mean: FloatArray, variance: FloatArray, perception: float, observed: float
) -> RankStatistics:
    """Compare the ranks of the scores with those of the perceived qualities z ~ N(mean, variance + perception).

    With e the expected ranks and c those centred, ``S = sum c_i R_i`` is the sum over pairs i < j of (c_i - c_j)
    1[z_j < z_i], up to a constant: its mean is sum c^2, and its variance that of the parts that z_i and z_j contribute
    alone, plus that of the rest, which is uncorrelated (Hoeffding). Ties are taken as average ranks of a finer order.
    """
    from scipy.special import gammaincc, ndtr

    size, total = score.size, variance + perception
    # P(z_j < z_i) given z_i at the nodes, shape (node, i, j), with mean and variance over the nodes.
    z = mean + NORMAL_NODES[:, None] * np.sqrt(total)
    below = ndtr((z[..., None] - mean) / np.sqrt(total))
    below[:, np.arange(size), np.arange(size)] = 0.0
    better = np.tensordot(NORMAL_WEIGHTS, below, 1)
    alone = np.tensordot(NORMAL_WEIGHTS, (below - better) ** 2, 1)
    expected = better.sum(axis=1) - 0.5 * (size - 1)
    difference = expected[:, None] - expected
    own = ((difference * below).sum(axis=2) - (difference * better).sum(axis=1)) ** 2
    rest = np.maximum(better * (1 - better) - alone - alone.T, 0.0)
    spread = float((NORMAL_WEIGHTS @ own).sum() + 0.5 * (difference**2 * rest).sum())
    # Average ranks of equal scores, whose squares are smaller by the share of ties.
    ordered = np.sort(score)
    left, right = np.searchsorted(ordered, score, "left"), np.searchsorted(ordered, score, "right")
    rank = 0.5 * (left + right - size)
    untied = 12.0 * float((rank**2).sum()) / (size**3 - size)
    square = float((expected**2).sum())
    if untied <= 0 or square <= NEGLIGIBLE * size:
        return RankStatistics(float("nan") if untied <= 0 else 1.0, float("nan"), 1.0)
    cross = float(expected @ rank)
    likely = float((rank**2).sum() - 2 * untied * square + square)
    # The distance to the largest value of S is about gamma distributed.
    largest, variance_of = float(np.sort(expected) @ np.sort(rank)), max(untied * spread, NEGLIGIBLE)
    distance = max(largest - untied * square, NEGLIGIBLE)
    tail = float(gammaincc(distance**2 / variance_of, max(largest - cross, 0.0) * distance / variance_of))
    # A few ranks are far from normal: the probability of those observed is a lower bound.
    return RankStatistics(
        (likely + 2 * (untied * square - cross)) / likely, cross / (untied * square), max(tail, observed)
    )


def population_of(posterior: Posterior, rounding: float) -> Population:
    """Return the fitted population of slopes and noises."""
    if not posterior.signal:
        common = float(np.nanmean(posterior.slope)), float(np.nanmean(posterior.noise_variance))
        return Population(np.ones(1), np.array(common[:1]), np.array(common[1:]), common[0], common[1], 0.0)
    theta = posterior.theta
    side = np.exp(np.where(NODES < 0, theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT]))
    density = np.exp(-0.5 * NODES**2)
    deviation, share = side * NODES, density * side / (density * side).sum()
    slope, noise = np.exp(theta[MU] + deviation), np.exp(2.0 * (theta[NU] + theta[RHO] * deviation))
    typical_slope, typical_noise = float(share @ slope), float(np.exp(2.0 * theta[NU]))
    if posterior.extent.own:
        own = np.exp(np.exp(theta[LOG_OWN]) * NODES)
        share = np.outer(share, density / density.sum()).ravel()
        slope, noise = np.repeat(slope, own.size), np.outer(noise, own).ravel()
    return Population(share, slope, noise, typical_slope, typical_noise, rounding)


def compute_statistics(rows: UsedReviews, population: Population, n_reviewers: int) -> Statistics:
    """Return mean square and agreement of each reviewer, and the probabilities of worse ones, shapes (M,)."""
    from scipy.special import ndtr

    who, count = rows.reviewer, np.bincount(rows.reviewer, minlength=n_reviewers)
    weight = 1.0 / (
        population.typical_slope**2 * rows.variance + population.typical_noise * rows.factor + population.rounding
    )
    total = np.bincount(who, weight, n_reviewers)

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, n_reviewers))

    def within(value: FloatArray) -> FloatArray:
        return np.asarray(value - (summed(weight * value) / np.where(count, total, 1.0))[who])

    # Both statistics, of deviations from the weighted means of each reviewer.
    score, mean = within(rows.score), within(rows.mean)
    square = summed(weight * (score - population.typical_slope * mean) ** 2)
    spread, cross = summed(weight * mean**2), summed(weight * mean * score)
    distinguished = spread > NEGLIGIBLE * count
    # Variances of cross and square given slope and noise: sums of those of papers, of noise, and of rounding.
    parts = (rows.variance, rows.factor, np.ones(who.size))
    of_cross = [summed((weight * mean) ** 2 * part) for part in parts]
    freedom = np.maximum(count - 1.0, 1.0)
    residual_weight = weight * (1.0 - weight / total[who])
    of_square = [summed(residual_weight * part) / freedom for part in parts]
    # Tail probabilities, averaged over the nodes of the population.
    too_large, too_low = np.zeros((2, n_reviewers))
    for share, slope, noise in zip(population.weight, population.slope, population.noise, strict=True):
        terms = slope**2, noise, population.rounding
        scale = sum(term * part for term, part in zip(terms, of_square, strict=True)) + (count < 2)
        error = np.sqrt(sum(term * part for term, part in zip(terms, of_cross, strict=True)))
        noncentrality = (slope - population.typical_slope) ** 2 * spread / scale
        too_large += share * _upper_tail(square / scale, freedom, noncentrality)
        # Agreement is undefined where the others do not distinguish the papers.
        standardised = np.divide(cross - slope * spread, error, out=np.zeros(n_reviewers), where=distinguished)
        too_low += share * np.where(distinguished, ndtr(standardised), 1.0)
    agreement = np.divide(
        cross, population.typical_slope * spread, out=np.full(n_reviewers, np.nan), where=distinguished
    )
    statistics = square / freedom, agreement, too_large, too_low
    return Statistics(*(np.where(count > 1, value, np.nan) for value in statistics))


def _upper_tail(value: FloatArray, freedom: FloatArray, noncentrality: FloatArray) -> FloatArray:
    """Return the probability that a noncentral chi^2 exceeds a value."""
    from scipy.special import chndtr, ndtr

    near = 1.0 - chndtr(value, freedom, np.minimum(noncentrality, NORMAL_FROM))
    normal = ndtr((freedom + noncentrality - value) / np.sqrt(2.0 * (freedom + 2.0 * noncentrality)))
    return np.asarray(np.clip(np.where(noncentrality < NORMAL_FROM, near, normal), 0.0, 1.0))
