"""An ordinal likelihood: a score is the level of a latent score between thresholds.

::

    z_ij = b_j + a_j x_i + e_ij,    score_ij = level l  where  threshold_l < z_ij < threshold_l+1

Expectation propagation inside expectation propagation: the interval of each review is replaced by a Gaussian
pseudo-observation of the latent score, matched to the moments of the normal distribution of z, as the paper and the
reviewer predict it without this review, truncated to the interval. Sweeps then run as for numbers, with a
pseudo-score per review and its variance in place of that of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Fitted
from lsc._inference.model import (
    GAMMA,
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOGIT_W,
    NU,
    SIZE,
    START,
    Block,
    Track,
    ascend,
    initial_step,
)
from lsc._inference.scale_users import Cavity, Nodes, offsets_given, slopes_at
from lsc._inference.states import (
    Problem,
    Rows,
    Scores,
    State,
    Unit,
    initial_state,
    item_posterior,
    parts_with_messages,
    prepare,
)
from lsc._inference.sweeps import (
    NEGLIGIBLE,
    Fit,
    block_inputs,
    share_of_the_way,
    standardised,
    sweep,
    with_hyperparameters,
)
from reviewgraph._base import BoolArray, FloatArray, IntArray

#: Bounds of the variance of a pseudo-observation, and of the share of variance that an interval leaves.
LEAST_VARIANCE, MOST_VARIANCE, MOST_SHARE = 1e-4, 1e6, 1 - 1e-7
#: Converged: changes of means in standard errors, and the predicted gain of a step in nats, are below these.
TOLERANCE, GAIN_TOLERANCE = 2e-3, 1e-2
MAX_SWEEPS, WARM_UP = 150, 2
#: Number of levels that one threshold separates.
ONE_THRESHOLD = 2


class Levels(NamedTuple):
    """The levels of a table, shapes (L,), ascending: values, and latent thresholds below and above each."""

    value: FloatArray
    below: FloatArray
    above: FloatArray

    @property
    def unit(self) -> Unit:
        """Points of the scores per latent unit: the best line from latent scores, N(0, 1), to scores.

        Rounding is the mean variance of a latent score within its level.
        """
        moments = truncated(self.below, self.above)
        share = np.exp(moments.log_probability)
        spread = float(share @ (self.value * moments.mean))
        return Unit(float(share @ self.value), spread, float(share @ moments.variance))


def levels_of(score: FloatArray) -> tuple[Levels, IntArray]:
    """Return the levels, with thresholds at the normal quantiles of the cumulative shares, and that of each score."""
    from scipy.special import ndtri

    value, level, count = np.unique(score, return_inverse=True, return_counts=True)
    threshold = ndtri(np.cumsum(count)[:-1] / score.size)
    below, above = np.append(-np.inf, threshold), np.append(threshold, np.inf)
    return Levels(value, below, above), level


class Truncated(NamedTuple):
    """Moments of standard normal distributions truncated to intervals: log probability, mean and variance."""

    log_probability: FloatArray
    mean: FloatArray
    variance: FloatArray


def truncated(low: FloatArray, high: FloatArray) -> Truncated:
    """Return the moments between ``low`` and ``high``, of any shape, accurate in the tails."""
    from scipy.special import log_ndtr

    # In the lower tail differences of probabilities keep their digits.
    flip = high > -low
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high, log_low = log_ndtr(b), log_ndtr(a)
    log_probability = log_high + np.log1p(-np.exp(np.minimum(log_low - log_high, -1e-12)))

    def relative_density(x: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * x**2 - 0.5 * np.log(2 * np.pi) - log_probability))

    at_low, at_high = relative_density(a), relative_density(b)
    mean = at_low - at_high
    ends = np.where(np.isfinite(a), a, 0.0) * at_low - np.where(np.isfinite(b), b, 0.0) * at_high
    return Truncated(log_probability, np.where(flip, -mean, mean), 1 + ends - mean**2)


def normal_scores(score: FloatArray) -> tuple[FloatArray, float]:
    """Return the expected latent score of each score, (E,), if all are N(0, 1), and the mean variance about them.

    >>> expected, variance = normal_scores(np.array([0.0, 0.0, 1.0, 1.0]))
    >>> expected.round(2).tolist(), round(variance, 2)
    ([-0.8, -0.8, 0.8, 0.8], 0.36)
    """
    levels, level = levels_of(score)
    return truncated(levels.below, levels.above).mean[level], levels.unit.rounding


@dataclass(frozen=True, eq=False)
class Discrete:
    """Distributions over levels: their values, ascending, shape (L,), and probabilities, shape (..., L)."""

    value: FloatArray
    probability: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Means, shape (...)."""
        return np.asarray(self.probability @ self.value)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations, shape (...)."""
        square = (self.value - self.mean[..., None]) ** 2
        return np.asarray(np.sqrt((self.probability * square).sum(axis=-1)))

    def cdf(self, value: FloatArray) -> FloatArray:
        """Return the probability of a value of at most ``value``, both of shape (...)."""
        return np.asarray((self.probability * (self.value <= np.asarray(value)[..., None])).sum(axis=-1))

    def quantile(self, probability: float) -> FloatArray:
        """Return the lowest level of which that or a lower one has at least this probability, shape (...)."""
        below = np.cumsum(self.probability, axis=-1)[..., :-1] < probability * (1 - 1e-12)
        return np.asarray(self.value[below.sum(axis=-1)])

    def mapped(self, location: float, scale: float) -> Discrete:
        """Return the distributions of ``location + scale y``; the scale may be negative."""
        turn = slice(None, None, -1 if scale < 0 else 1)
        return Discrete((location + scale * self.value)[turn], self.probability[..., turn])

    @property
    def first(self) -> Discrete:
        """The first of several."""
        return Discrete(self.value, self.probability[0])

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw values, shape (n, ...)."""
        below = np.cumsum(self.probability, axis=-1)[..., :-1]
        return np.asarray(self.value[(rng.random((n, *self.mean.shape, 1)) > below).sum(axis=-1)])


class Predictions(NamedTuple):
    """Mean and variance of latent scores without their own reviews, shapes (k, m)."""

    mean: FloatArray
    variance: FloatArray


def predict(
    block: Block, cavity: Cavity, nodes: Nodes, factor: FloatArray, rounding: FloatArray, theta: FloatArray
) -> Predictions:
    """Predict each latent score from its paper and the reviewer's other reviews; ``rounding`` has shape (k, 1, m)."""
    at = slopes_at(nodes, theta)
    variance = at.noise * factor[:, None] + rounding
    offsets = offsets_given(block, cavity, at, variance, float(np.exp(2 * theta[LOG_OMEGA])))
    # Given the slope: remove the review from the offset, and its density from the weight of the node.
    weight = np.where(block.used[:, None] > 0, offsets.weight, 1.0)
    others = np.maximum(offsets.precision - offsets.weight, 1e-12)
    residual = offsets.weighted / weight * offsets.precision / others
    spread = 1 / weight + 1 / others
    log_weight = offsets.log_weight + 0.5 * (np.log(spread) + residual**2 / spread)
    share = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    expected = block.score[:, None] - residual
    mean = (share * expected).sum(axis=1)
    inside = (share * (spread - rounding + (expected - mean[:, None]) ** 2)).sum(axis=1)
    return Predictions(mean, np.maximum(inside, 1e-10))


def _pseudo_variance(spread: FloatArray | float, share: FloatArray) -> FloatArray:
    """Return the variance of an observation that leaves a share of the variance ``spread``."""
    share = np.clip(share, 0.0, MOST_SHARE)
    return np.asarray(np.clip(spread * share / (1 - share), LEAST_VARIANCE, MOST_VARIANCE))


class Observed(NamedTuple):
    """The problem with pseudo-observations, and what their intervals add to the log evidence of pseudo-scores."""

    problem: Problem
    evidence: float


def observe(problem: Problem, state: State, low: FloatArray, high: FloatArray, damping: float) -> Observed:
    """Update the pseudo-observations; ``low`` and ``high`` (S,) are the interval of each slot.

    The evidence belongs to the pseudo-observations before, those of the problem; ``damping`` 0 leaves these as they
    are.
    """
    posterior, evidence = item_posterior(problem, state), 0.0
    [(part, messages)] = parts_with_messages(problem, state)
    old_variance = np.asarray(problem.rounding)
    score, variance = part.layout.score.copy(), old_variance.copy()
    for block, cavity, nodes, factor, _ in block_inputs(part, messages, posterior, state):
        slots, shape = slice(block.first, block.last), block.shape
        before = old_variance[slots].reshape(shape)
        mean, spread = predict(block, cavity, nodes, factor, before[:, None], state.theta)
        sd = np.sqrt(spread)
        moments = truncated((low[slots].reshape(shape) - mean) / sd, (high[slots].reshape(shape) - mean) / sd)
        # log P(interval) in place of the density of the pseudo-score.
        total = spread + before
        density = -0.5 * (np.log(2 * np.pi * total) + (block.score - mean) ** 2 / total)
        evidence += float((block.used * (moments.log_probability - density)).sum())
        after = _pseudo_variance(spread, moments.variance)
        pseudo = mean + sd * moments.mean * (1 + after / spread)
        # Damped in natural parameters.
        precision = damping / after + (1 - damping) / before
        shift = damping * pseudo / after + (1 - damping) * block.score / before
        score[slots] = (block.used * shift / precision).ravel()
        variance[slots] = np.where(block.used > 0, 1 / precision, 1.0).ravel()
    part = part._replace(layout=part.layout._replace(score=score))
    return Observed(replace(problem, parts=(part,), rounding=variance), evidence)


def intervals(levels: Levels, level: IntArray, scores: Scores, reviewer: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the interval of each slot less the offset expected of its reviewer, shapes (S,); empty slots have none."""
    [part] = scores.problem.parts
    expected = scores.problem.expected
    offset = 0.0 if expected is None else expected.offset[reviewer]
    low, high = np.full(part.layout.item.size, -np.inf), np.full(part.layout.item.size, np.inf)
    low[scores.slot], high[scores.slot] = levels.below[level] - offset, levels.above[level] - offset
    return low, high


def observations(scores: Scores) -> FloatArray:
    """Return the pseudo-score of each review and its variance, shape (2, E), of a problem with pseudo-observations."""
    [part] = scores.problem.parts
    return np.array([part.layout.score[scores.slot], np.asarray(scores.problem.rounding)[scores.slot]])


def initial_problem(problem: Problem, low: FloatArray, high: FloatArray) -> Problem:
    """Return the problem with pseudo-observations as if latent scores were independent, N(0, 1)."""
    moments = truncated(low, high)
    variance = _pseudo_variance(1.0, moments.variance)
    [part] = problem.parts
    part = part._replace(layout=part.layout._replace(score=moments.mean * (1 + variance)))
    return replace(problem, parts=(part,), rounding=variance, compiled=False)


# Alternating updates of pseudo-observations, messages and hyperparameters.

#: Damping of pseudo-observations, and its decay per sweep once the hyperparameters have converged.
DAMPING, DECAY = 0.7, 0.1


class OrdinalFit(NamedTuple):
    """Result of the optimisation, whose evidence is the log probability of the scores; the problem it ended with."""

    fit: Fit
    problem: Problem


def optimise_levels(
    problem: Problem,
    state: State,
    low: FloatArray,
    high: FloatArray,
    free: BoolArray,
    max_sweeps: int = MAX_SWEEPS,
    warm_up: int = WARM_UP + 1,
) -> OrdinalFit:
    """Alternate updates of pseudo-observations, sweeps and steps of the ``free`` hyperparameters until convergence."""
    step, previous, n_converged, converged = initial_step(state.theta), None, 0, False
    count, track = 0, Track(max_sweeps)
    while count < max_sweeps and not converged:
        count += 1
        learn = bool(free.any()) and count > warm_up
        problem = observe(problem, state, low, high, DAMPING / (1 + DECAY * n_converged)).problem
        share = share_of_the_way(count)
        last = sweep(problem, state, learn=learn, n_converged=n_converged, share=share)
        state = last.state
        # Without a step of the hyperparameters nothing rescales qualities.
        if learn:
            step = ascend(state.theta, last.gradient, problem.n_reviewers, problem.n_reviews, free, step, share)
            state = standardised(problem, with_hyperparameters(state, step.theta))
        n_converged = n_converged + 1 if count > warm_up and (not learn or step.gain < GAIN_TOLERANCE) else 0
        if n_converged and previous is not None:
            converged = bool((np.abs(last.mean - previous) <= share * TOLERANCE * np.sqrt(last.variance)).all())
        previous = last.mean
        track.add(count, previous)
    # Evidence of the final pseudo-observations, with the intervals in their place.
    final = sweep(problem, state, learn=False)
    evidence = final.evidence + observe(problem, state, low, high, 0.0).evidence
    off = 0.0 if converged else track.distance(final.variance)
    off = off if off > NEGLIGIBLE else 0.0
    return OrdinalFit(Fit(state, evidence, final.mean, count, off == 0.0, step.information, off), problem)


# Which tables have ordinal scores.

#: An ordinal likelihood is tried up to this number of levels and of reviews; it is kept where the evidence is higher by
#: more than this, thresholds deducted.
MAX_LEVELS, MAX_REVIEWS, MIN_GAIN = 7, 40_000, 2.0
#: Thresholds that numbers have, too: a mean and a standard deviation.
OF_NUMBERS = 2
#: Grid of qualities, over which the null model is integrated.
QUALITIES = np.linspace(-8.0, 8.0, 801)


def may_be_ordinal(score: FloatArray) -> bool:
    """Whether scores have few levels.

    >>> may_be_ordinal(np.arange(20.0)), may_be_ordinal(np.arange(20.0) % 3), may_be_ordinal(np.ones(20))
    (False, True, False)
    """
    return 1 < np.unique(score).size <= MAX_LEVELS


def fit_levels(rows: Rows, scores: Scores, plain: Fit) -> OrdinalFit:
    """Fit the ordinal likelihood, from the hyperparameters and the extensions of the fit of numbers."""
    levels, level = levels_of(rows.score)
    low, high = intervals(levels, level, scores, rows.reviewer)
    theta, free = plain.state.theta.copy(), np.ones(SIZE, bool)
    extent = plain.state.extent._replace(orders=False, ordinal=True)
    free[[LOGIT_W, LOG_S_R]] = False
    free[GAMMA], free[LOG_OWN] = scores.problem.weighted, extent.own
    # One threshold leaves the unit of the latent score free: noise keeps its initial value.
    if levels.value.size == ONE_THRESHOLD:
        free[NU], theta[NU] = False, START[NU]
    problem = initial_problem(scores.problem, low, high)
    return optimise_levels(problem, initial_state(problem, theta, extent), low, high, free)


def evidence_of_numbers(rows: Rows, scores: Scores, plain: Fit) -> float:
    """Return the log probability of the scores under the fit of numbers, each the interval halfway to its neighbours.

    The end levels are open, as ceilings are.
    """
    levels, level = levels_of(rows.score)
    middle = scores.unit.standardised(0.5 * (levels.value[1:] + levels.value[:-1]))
    levels = levels._replace(below=np.append(-np.inf, middle), above=np.append(middle, np.inf))
    [part] = scores.problem.parts
    problem = replace(scores.problem, rounding=np.full(part.layout.item.size, scores.unit.rounding))
    return (
        plain.evidence + observe(problem, plain.state, *intervals(levels, level, scores, rows.reviewer), 0.0).evidence
    )


class Averages(NamedTuple):
    """Estimates of the null model: mean g, slope a, noise variance s^2, and the log evidence."""

    mean: float
    slope: float
    noise: float
    evidence: float


def evidence_of_averages(rows: Rows, scores: Scores, averages: Averages) -> float:
    """Return the log probability of the scores under the null model, each the interval halfway to its neighbours."""
    from scipy.special import logsumexp

    levels, level = levels_of(rows.score)
    middle = scores.unit.standardised(0.5 * (levels.value[1:] + levels.value[:-1]))
    edge = np.concatenate([[-np.inf], middle, [np.inf]])[:, None]
    bound = (edge - averages.mean - averages.slope * QUALITIES) / np.sqrt(averages.noise)
    log_probability = truncated(bound[:-1], bound[1:]).log_probability
    # Papers with the same number of scores of each level have the same probability.
    _, code = np.unique(rows.item, return_inverse=True)
    size = levels.value.size
    count = np.bincount(code * size + level, minlength=(code.max() + 1) * size).reshape(-1, size)
    pattern, number = np.unique(count, axis=0, return_counts=True)
    prior = -0.5 * (QUALITIES**2 + np.log(2 * np.pi)) + np.log(QUALITIES[1] - QUALITIES[0])
    return float(number @ logsumexp(pattern @ log_probability + prior, axis=1))


def is_preferred(fit: Fit, numbers: float, rows: Rows) -> bool:
    """Whether the evidence for levels exceeds that for numbers, half a log of the reviews deducted per threshold."""
    thresholds = np.unique(rows.score).size - 1
    deducted = 0.5 * max(thresholds - OF_NUMBERS, 0) * float(np.log(rows.score.size))
    return fit.evidence > numbers + MIN_GAIN + deducted


def predict_items(rows: Rows, sizes: tuple[int, int], score: FloatArray, state: Fitted, sweeps: int) -> FloatArray:
    """Return posterior means, shape (N,), from some of the reviews, thresholds from all ``score``."""
    scores = prepare(rows, *sizes)
    levels, _ = levels_of(score)
    low, high = intervals(levels, np.searchsorted(levels.value, rows.score), scores, rows.reviewer)
    problem = initial_problem(scores.problem, low, high)
    fixed = np.zeros(SIZE, bool)
    return optimise_levels(
        problem, initial_state(problem, state.theta, state.extent), low, high, fixed, sweeps
    ).fit.mean[:-1]
