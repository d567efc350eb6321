"""Baselines of calibration: the average, the corrections of conference systems, and the methods of earlier papers.

Every method takes reviews and returns an :class:`~lsc.estimate.Estimate`; reviews without a score are ignored.
"""

from __future__ import annotations

__all__ = [
    "BayesianEstimate",
    "average",
    "bayesian",
    "centring",
    "mixed_model",
    "quadratic_programme",
    "z_score",
]

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._inference.joint import conjugate_gradients
from lsc.errors import SolverFailed, UndeterminedWarning
from lsc.estimate import Estimate, average_by_item, best_first, plain_averages
from lsc.evidence.support import groups_of
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray, checked, warn
from reviewgraph.table import Reviews, ReviewsLike, as_reviews

#: Number of random probes of a trace; with at most this number of reviewers the trace is exact.
PROBES = 64
#: Relative change at which variances have converged, and maximum number of steps.
SETTLED = 1e-5
MOST_STEPS = 500
#: Lower bound of variances, relative to the variance of all scores, against division by zero.
LEAST_VARIANCE = 1e-9
#: Variance of items, relative to that of all scores, that counts as 0: estimates near 0 go on falling slowly.
VANISHED = 1e-6
#: Relative accuracy of the linear systems, far below the noise of sampling and of the probes.
ACCURACY = 1e-6
#: Draws from the posterior: the standard error of an acceptance frequency is at most 1.6 percentage points.
SAMPLES = 1000
#: Draws held in memory at a time.
BATCH = 100
#: Bounds of the programme in the code of [Tan21]_, which the programme of [Roos11]_ does not have.
QUALITY_BOUNDS = (0.0, 100.0)
LEAST_OFFSET = -10.0
#: Maximum absolute score with bounds: the solver begins to fail at a hundred times it.
LARGEST = 1e6


def average(reviews: ReviewsLike) -> Estimate:
    """Return the plain average of each item's scores.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.

    Returns
    -------
    Estimate
        In points of the scores.

    Examples
    --------
    >>> reviews = Reviews([("ann", "p1", 1.0), ("bob", "p1", 3.0), ("bob", "p2", 4.0)])
    >>> average(reviews).quality.tolist()
    [2.0, 4.0]
    """
    reviews = as_reviews(reviews)
    return Estimate(reviews, plain_averages(reviews), "average")


def centring(reviews: ReviewsLike) -> Estimate:
    """Average the differences between scores and their reviewer's mean score; add the mean of all scores.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.

    Returns
    -------
    Estimate
        In points of the scores.

    Examples
    --------
    >>> reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> centring(reviews).quality.tolist()
    [4.0, 5.5, 5.0]
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    mean, _ = _mean_and_deviation(scored, scored.score)
    corrected = scored.score - mean[scored.reviewer] + _grand_mean(scored)
    return Estimate(reviews, average_by_item(scored.item, corrected, reviews.n_items), "centring")


def z_score(reviews: ReviewsLike) -> Estimate:
    """Average the z-scores of each reviewer, rescaled to the mean and standard deviation of all scores.

    Scores of a reviewer with one score, or with equal scores, count as 0.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.

    Returns
    -------
    Estimate
        In standard deviations.

    Examples
    --------
    >>> reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> z_score(reviews).ranking()
    ['p2', 'p3', 'p1']
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    mean, deviation = _mean_and_deviation(scored, scored.score)
    off = scored.score - mean[scored.reviewer]
    spread = deviation[scored.reviewer]
    z = np.divide(off, spread, out=np.zeros_like(off), where=spread > 0)
    scale = float(scored.score.std()) if scored.n_reviews else 0.0
    return Estimate(reviews, average_by_item(scored.item, z * scale + _grand_mean(scored), reviews.n_items), "z-score")


def _mean_and_deviation(scored: Reviews, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (divisor k - 1; 0 below two) of ``score`` (E,) by reviewer, shapes (M,)."""
    size = scored.n_reviewers
    count = scored.loads
    mean = np.bincount(scored.reviewer, score, size) / np.maximum(count, 1)
    squares = np.bincount(scored.reviewer, (score - mean[scored.reviewer]) ** 2, size)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    # The deviation of equal scores is near 1e-16 of their size, by rounding.
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def _grand_mean(scored: Reviews) -> float:
    return float(scored.score.mean()) if scored.n_reviews else 0.0


class Variances(NamedTuple):
    """Variance components of scores: papers, reviewers, and residual noise."""

    item: float
    reviewer: float
    noise: float


class _AdditiveModel:
    """The additive model of scores, paper effect plus reviewer effect plus noise, with given variance ratios.

    ::

        y_ij = f_i + b_j + e_ij,    f_i ~ N(0, s_f),  b_j ~ N(0, s_b),  e_ij ~ N(0, s_e)

    Given the ratios s_e / s_f and s_e / s_b the expected effects solve a linear system. Eliminating f leaves M
    equations,

        (K + r_b I - A' (D + r_f I)^-1 A) b = rhs,

    K and D the numbers of reviews of each reviewer and item and A (N, M) the incidence matrix, r_f = ``item_ratio`` and
    r_b = ``reviewer_ratio`` (0 for free effects). Conjugate gradients need one pass over the reviews per step, so that
    20,000 papers take seconds, where factors would fill in. ``scored`` are reviews that all have a score.
    """

    def __init__(self, scored: Reviews, item_ratio: float, reviewer_ratio: float) -> None:
        from scipy import sparse

        rows = np.arange(scored.n_reviews)
        ones = np.ones(rows.size)
        self.of_item = sparse.csr_array((ones, (scored.item, rows)), (scored.n_items, rows.size))
        self.of_reviewer = sparse.csr_array((ones, (scored.reviewer, rows)), (scored.n_reviewers, rows.size))
        self.reviewed = sparse.csr_array(self.of_item @ self.of_reviewer.T)
        self.reviewing = sparse.csr_array(self.reviewed.T)
        weight = scored.reviews_per_item + item_ratio
        self.item_weight = np.where(weight > 0, weight, 1.0)[:, None]
        self.reviewer_weight = (scored.loads + reviewer_ratio)[:, None]
        diagonal = self.reviewer_weight - (self.reviewing @ (1.0 / self.item_weight))
        self.diagonal = np.where(diagonal > 1e-12, diagonal, 1.0)[:, 0]

    def __matmul__(self, effects: FloatArray) -> FloatArray:
        """Return the reduced matrix times reviewer effects, shape (M, S)."""
        through_items: FloatArray = self.reviewing @ ((self.reviewed @ effects) / self.item_weight)
        return self.reviewer_weight * effects - through_items

    def reviewer_effects(self, residual: FloatArray, accuracy: float) -> FloatArray:
        """Return the expected reviewer effects (M, S) of centred scores (E, S)."""
        explained = self.reviewing @ ((self.of_item @ residual) / self.item_weight)
        return self.solve(self.of_reviewer @ residual - explained, accuracy)

    def item_effects(self, residual: FloatArray, reviewer_effects: FloatArray) -> FloatArray:
        """Return the expected item effects (N, S) of centred scores, given the reviewer effects."""
        effects: FloatArray = (self.of_item @ residual - self.reviewed @ reviewer_effects) / self.item_weight
        return effects

    def solve(self, rhs: FloatArray, accuracy: float) -> FloatArray:
        """Solve for all columns at once, by conjugate gradients."""
        return conjugate_gradients(self.__matmul__, rhs, self.diagonal, accuracy)


def mixed_model(reviews: ReviewsLike, *, seed: int | np.random.Generator = 0) -> Estimate:
    """Estimate qualities by a mixed model: random effects of papers and reviewers, variances by marginal likelihood.

    ::

        quality_i = mu + E[f_i | scores],  mu the mean of all scores

    ``seed`` (default 0) is used with more than 64 reviewers, for random probes. With a fixed weight of the offsets this
    is the regression of [PlattBurges12]_.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    seed
        Seed or generator of the random probes.

    Returns
    -------
    Estimate
        In points of the scores. Where the variance of papers is estimated as 0, all have one expected effect: the plain
        averages are returned then.

    Warns
    -----
    UndeterminedWarning
        If the variance of papers is estimated as 0.

    Examples
    --------
    >>> rows = [(j, i, i + 2.0 * j) for j in range(4) for i in range(5)]
    >>> mixed_model(Reviews(rows)).quality.round(3).tolist()
    [3.0, 4.0, 5.0, 6.0, 7.0]
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    average = plain_averages(reviews)
    if not scored.n_reviews:
        return Estimate(reviews, average, "additive")
    mean = float(scored.score.mean())
    variances = _marginal_variances(scored, seed)
    if variances.item <= VANISHED * float(scored.score.var()):
        message = (
            "additive: the variance of papers is estimated as 0, so that the model gives all papers one quality; these "
            "are the plain averages instead. The scores hardly tell papers apart"
        )
        warn(message, UndeterminedWarning)
        return Estimate(reviews, average, "additive")
    model = _AdditiveModel(scored, variances.noise / variances.item, variances.noise / variances.reviewer)
    residual = (scored.score - mean)[:, None]
    effect = model.item_effects(residual, model.reviewer_effects(residual, ACCURACY))[:, 0]
    return Estimate(reviews, np.where(np.isfinite(average), mean + effect, np.nan), "additive")


def _marginal_variances(scored: Reviews, seed: int | np.random.Generator = 0) -> Variances:
    """Return the variances that maximise the marginal likelihood of the scores, given their mean.

    At a maximum each variance is the sum of squared expected effects over the number of parameters that the data
    determine: ``s_f = |f|^2 / (N - r_f tr C_ff)``, and likewise for the others, C the posterior covariance over s_e
    [MacKay92]_. These equations are iterated. Traces are exact for at most 64 reviewers, otherwise estimated with
    random probes.
    """
    rng = np.random.default_rng(seed)
    residual = scored.score - scored.score.mean()
    least = max(LEAST_VARIANCE * float(residual.var()), np.finfo(float).tiny)
    size = scored.n_reviewers
    exact = size <= PROBES
    probes = np.eye(size) if exact else rng.choice([-1.0, 1.0], (size, PROBES))
    columns = 1 if exact else PROBES
    now = np.full(3, max(float(residual.var()) / 3.0, least))
    for _ in range(MOST_STEPS):
        # Expected effects, and the traces of their posterior covariances, at the present variances.
        item_ratio = now[2] / now[0]
        reviewer_ratio = now[2] / now[1]
        model = _AdditiveModel(scored, item_ratio, reviewer_ratio)
        reviewer = model.reviewer_effects(residual[:, None], ACCURACY)
        item = model.item_effects(residual[:, None], reviewer)
        rest = residual - item[scored.item, 0] - reviewer[scored.reviewer, 0]
        solved = model.solve(probes, ACCURACY)
        through_items = model.reviewing @ ((model.reviewed @ probes) / model.item_weight**2)
        reviewer_trace = float((probes * solved).sum()) / columns
        item_trace = float((1.0 / model.item_weight).sum()) + float((through_items * solved).sum()) / columns
        # Sums of squares over the numbers of determined parameters.
        items = max(scored.n_items - item_ratio * item_trace, 1e-9)
        reviewers = max(scored.n_reviewers - reviewer_ratio * reviewer_trace, 1e-9)
        freedom = np.array([items, reviewers, max(residual.size - items - reviewers, 1e-9)])
        squares = np.array([float((effects**2).sum()) for effects in (item, reviewer, rest)])
        fresh = np.maximum(squares / freedom, least)
        change = np.abs(np.log(fresh / now))
        now = fresh
        if change[now > least].max(initial=0.0) <= SETTLED:
            break
    return Variances(*now.tolist())


@dataclass(frozen=True, eq=False, repr=False)
class BayesianEstimate(Estimate):
    """The estimate of the Bayesian model.

    ``quality`` is the sampled probability of being in the top n, where the ``posterior_mean`` (N,), on the scale of the
    scores, breaks ties by less than one sample's weight.
    """

    posterior_mean: FloatArray
    variances: Variances


@checked
def bayesian(
    reviews: ReviewsLike,
    n_selected: int | None = None,
    *,
    seed: int | np.random.Generator = 0,
) -> BayesianEstimate:
    """Rank items by the probability of being among the best n [Ge13]_.

    ::

        y_ij = mu + f_i + b_j + e_ij,   f_i ~ N(0, s_f),  b_j ~ N(0, s_b),  e_ij ~ N(0, s_e)

    mu is the mean of all scores, the variances maximise the marginal likelihood, and the posterior is sampled. The
    quality of an item is the average of ``f_i + e_ij`` over its reviews, that is of the scores less the reviewers'
    effects, as in the code of [Tan21]_.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    n_selected
        Number of items to select; half of them by default.
    seed
        An integer (default 0) or a generator.

    Returns
    -------
    BayesianEstimate
        With the posterior means and the variances.

    Raises
    ------
    InputError
        If ``n_selected`` is not between 0 and N.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [(j, i, i + 2.0 * j) for j in range(4) for i in range(5)]
    >>> bayesian(Reviews(rows), 2).ranking()
    [4, 3, 2, 1, 0]
    """
    reviews = as_reviews(reviews)
    n = reviews.n_items // 2 if n_selected is None else n_selected
    if not 0 <= n <= reviews.n_items:
        raise InputError(f"n_selected: expected 0 to {reviews.n_items} items to select, found {n}")
    rng = np.random.default_rng(seed)
    scored = reviews.only_scored()
    average = plain_averages(reviews)
    has_score = np.isfinite(average)
    if not scored.n_reviews:
        return BayesianEstimate(reviews, average, "bayesian", average, Variances(0.0, 0.0, 0.0))
    mean = float(scored.score.mean())
    residual = scored.score - mean
    variances = _marginal_variances(scored, rng)
    model = _AdditiveModel(scored, variances.noise / variances.item, variances.noise / variances.reviewer)
    count = scored.reviews_per_item[:, None]

    def quality(score: FloatArray, bias: FloatArray | float = 0.0) -> FloatArray:
        """Averages (N, S) of the scores less ``bias`` and the expected effects of reviewers given ``score`` (E, S)."""
        effects = model.reviewer_effects(score, ACCURACY)
        total = model.of_item @ residual[:, None] - model.reviewed @ (bias + effects)
        return np.asarray(total / np.maximum(count, 1))

    # Matheron: draw effects and scores, and add the posterior mean given the difference to the observed scores.
    wins = np.zeros(reviews.n_items)
    for first in range(0, SAMPLES, BATCH):
        size = min(BATCH, SAMPLES - first)
        item = rng.normal(0.0, np.sqrt(variances.item), (reviews.n_items, size))
        reviewer = rng.normal(0.0, np.sqrt(variances.reviewer), (reviews.n_reviewers, size))
        noise = rng.normal(0.0, np.sqrt(variances.noise), (residual.size, size))
        simulated = item[scored.item] + reviewer[scored.reviewer] + noise
        drawn = np.where(has_score[:, None], quality(residual[:, None] - simulated, reviewer), -np.inf)
        if places := min(n, int(has_score.sum())):
            best = np.argpartition(-drawn, places - 1, axis=0)[:places]
            wins += np.bincount(best.ravel(), minlength=reviews.n_items)
    expected = np.where(has_score, mean + quality(residual[:, None])[:, 0], np.nan)
    # Below one sample's weight, the rank of the posterior mean breaks ties.
    order = best_first(expected)
    place = np.full(expected.size, np.nan)
    place[order] = np.arange(order.size, 0, -1) / (order.size + 1)
    frequency = np.asarray((wins + place) / (SAMPLES + 1))
    return BayesianEstimate(reviews, frequency, "bayesian", expected, variances)


class _Scaled(NamedTuple):
    """Scores in units of the largest distance from a reviewer's mean.

    ``score`` (E',) less the reviewer's mean; ``mean`` (M,) of reviewers; ``alike`` (M,), whether a reviewer has at most
    one distinct score; ``unit``, in points of the scores.
    """

    score: FloatArray
    mean: FloatArray
    alike: BoolArray
    unit: float


def quadratic_programme(reviews: ReviewsLike, *, bounded: bool = False) -> Estimate:
    """Estimate a scale and an offset per reviewer by the quadratic programme of [Roos11]_.

    ::

        minimise    sum_ij (p_j y_ij - q_j - x_i)^2
        subject to  p_j >= 0,  sum_j p_j = M
        (bounded)   0 <= x_i <= 100,  q_j >= -10

    A reviewer whose scores are all equal has ``p_j = 1``, and the sum of each connected group is its number of
    reviewers: otherwise such a reviewer, or a group with little noise, would take the whole scale at no cost. Without
    bounds x has a free shift; each group gets the mean of its plain averages.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    bounded
        Add the bounds of the code of [Tan21]_, which its text does not have, for scores of about 0 to 10 (off by
        default). Without them noiseless linear scores are fitted exactly; they explain the 97.1 % of Table 1.

    Returns
    -------
    Estimate
        In points of the scores.

    Raises
    ------
    InputError
        If ``bounded`` and a score is more than a million points away from 0.
    SolverFailed
        If the solver ends without a solution.

    Notes
    -----
    Solved by an interior point method, whose factors fill in: about a second at N = M = 1000, k = 5, and not feasible
    for tens of thousands of items. A reviewer who shares at most one item with the others still takes the whole scale
    of the group, at no cost: the qualities of items that they have not reviewed are then equal up to rounding.

    Examples
    --------
    >>> rows = [("ann", p, float(p)) for p in range(4)] + [("bob", p, 3.0 * p + 1.0) for p in range(4)]
    >>> quality = quadratic_programme(Reviews(rows)).quality
    >>> (np.diff(quality) / np.diff(quality).mean()).round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    average = plain_averages(reviews)
    if not scored.n_reviews:
        return Estimate(reviews, average, "qp")
    group = groups_of(scored)
    scaled = _in_units(scored)
    if bounded and (largest := float(np.abs(scored.score).max())) > LARGEST:
        raise InputError(
            f"bounded: expected scores of about 0 to 10, at most {LARGEST:g} away from 0, found {largest:g}; "
            "rescale them, or omit the bounds"
        )
    quality = scaled.unit * _solve(scored, scaled, group, bounded)
    if bounded:
        quality = np.clip(quality, *QUALITY_BOUNDS)
    else:
        # Shift the qualities of each group to the mean of its plain averages.
        place = group - 1
        has_score = np.isfinite(average)
        count = np.maximum(np.bincount(place[has_score], minlength=group.max()), 1)
        quality = quality + (np.bincount(place[has_score], (average - quality)[has_score], group.max()) / count)[place]
    return Estimate(reviews, np.where(np.isfinite(average), quality, np.nan), "qp")


def _in_units(scored: Reviews) -> _Scaled:
    """Return the scores less the mean of their reviewer, in units in which the largest is 1."""
    # Squares of scores beyond 1e154 would overflow, those below 1e-154 vanish.
    largest = float(np.abs(scored.score).max()) or 1.0
    score = scored.score / largest
    mean, deviation = _mean_and_deviation(scored, score)
    alike = deviation == 0
    off = np.where(alike[scored.reviewer], 0.0, score - mean[scored.reviewer])
    width = float(np.abs(off).max()) or 1.0
    return _Scaled(off / width, mean / width, alike, largest * width)


def _solve(scored: Reviews, scaled: _Scaled, group: IntArray, bounded: bool) -> FloatArray:
    """Return x in these units, shape (N,), from 2 M + N unknowns: the residuals are eliminated."""
    import cvxpy as cp
    from scipy import sparse

    n_reviewers = scored.n_reviewers
    n_items = scored.n_items
    n_scores = scored.n_reviews
    unknown = cp.Variable(2 * n_reviewers + n_items)
    # With scores less their reviewer's mean m the offset is q - p m, of moderate size for scores of any size.
    scale = cp.vec(unknown[:n_reviewers], "C")
    centred = unknown[n_reviewers:-n_items]
    quality = unknown[-n_items:]
    varied = np.flatnonzero(~scaled.alike)
    constraints = [scale >= 0]
    if varied.size:
        # The sum of the scales of each group is its number of reviewers.
        groups, place = np.unique(group[scored.item[scored.reviewer_start[varied]]], return_inverse=True)
        home = sparse.csr_array((np.ones(varied.size), (place, varied)), (groups.size, n_reviewers))
        constraints.append(home @ scale == home.sum(axis=1))
    if scaled.alike.any():
        constraints.append(scale[np.flatnonzero(scaled.alike)] == 1)
    if bounded:
        low, high = np.array(QUALITY_BOUNDS) / scaled.unit
        offset = centred + cp.multiply(scaled.mean, scale)
        constraints += [quality >= low, quality <= high, offset >= LEAST_OFFSET / scaled.unit]
    # The design takes scales, offsets and qualities to residuals.
    row = np.arange(n_scores)
    ones = np.ones(n_scores)
    blocks = (
        (scaled.score, scored.reviewer, n_reviewers),
        (-ones, scored.reviewer, n_reviewers),
        (-ones, scored.item, n_items),
    )
    columns = [sparse.csr_array((value, (row, place)), (n_scores, size)) for value, place, size in blocks]
    design = sparse.csc_array(sparse.hstack(columns))
    problem = cp.Problem(cp.Minimize(cp.quad_form(unknown, cp.psd_wrap(design.T @ design))), constraints)
    status = "the solver failed"
    with suppress(cp.error.SolverError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # reduced accuracy: near 1e-5, and only the order matters
        problem.solve(solver=cp.CLARABEL)
        status = problem.status
    if unknown.value is None:
        raise SolverFailed(
            f"quadratic programme: expected a solution, found none ({status}); scores may differ too much in size: "
            "rescale those of each reviewer, or use another method"
        )
    return np.asarray(quality.value)


def __dir__() -> list[str]:
    return __all__
