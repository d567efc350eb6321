"""Expectation propagation for one block of reviewers: tilted moments by quadrature over the slope.

A reviewer's scores are ``y = b + a x + e``. Given the slope a, everything is Gaussian; the slope is integrated on nodes
``log a = centre + spread t`` around its last posterior. Arrays have the axes (slot, node, reviewer). Reviewers who use
the scale, ordinal reviewers, and the mixture of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._inference.model import (
    G0,
    G1,
    GAMMA,
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    MU,
    NU,
    RHO,
    SIZE,
    Block,
)
from reviewgraph._base import BoolArray, FloatArray

#: Spacing and range of the quadrature nodes of the log slope, in standard deviations. A normal density would allow a
#: spacing of 1, but the two-piece prior has a kink at its mode.
SPACING, REACH = 0.6, 4.2
#: Scale of the narrowest side of the prior that nodes can resolve, in standard deviations: half of their spacing.
NARROWEST = 0.5 * SPACING
SLOPE_GRID = np.arange(-REACH, REACH + SPACING / 2, SPACING)[:, None]
#: Gauss-Hermite nodes of own noise at each node of the slope, exact to degree 5.
HERMITE, HERMITE_WEIGHT = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)]), np.array([1 / 6, 2 / 3, 1 / 6])
#: Minimum site precision: every cavity stays proper.
MIN_PRECISION = 1e-8
#: Minimum variance of the distribution that nodes are centred on.
MIN_VARIANCE = 1e-8
#: The spread of nodes is at least this share of the last change of their centre, and this share of the last spread:
#: otherwise nodes around a precisely estimated slope follow it in tiny steps.
LAG, MIN_SHRINKAGE = 0.5, 0.2
#: Maximum shift of a message without precision, in prior standard deviations, and what each unit of precision adds: a
#: bound for messages without precision alone would be a jump, and papers would swing about it.
MAX_SHIFT, SHIFT_PER_PRECISION = 3.0, 20.0
#: Number of variances multiplied per logarithm.
PRODUCT = 16


class Cavity(NamedTuple):
    """Cavity distributions of the papers of a block, shapes (k, m)."""

    mean: FloatArray
    variance: FloatArray


class Nodes(NamedTuple):
    """Mean and spread of the quadrature nodes of a block, shapes (m,): of log slopes, and of logs of own noise.

    ``own_spread`` is None without own noise.
    """

    centre: FloatArray
    spread: FloatArray
    own: FloatArray
    own_spread: FloatArray | None

    def grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log slopes and logs of own noise at the nodes, and the quadrature weights, shapes (G, m)."""
        line = self.centre + SLOPE_GRID * self.spread
        if self.own_spread is None:
            return line, np.zeros((1, 1)), (self.spread * SPACING)[None]
        own = (self.own + HERMITE[:, None] * self.own_spread)[:, None] + 0 * line
        # Gauss-Hermite weights include the normal density; the integrand has its own, so divide by it.
        part = HERMITE_WEIGHT * np.sqrt(2 * np.pi) * np.exp(0.5 * HERMITE**2)
        area = part[:, None, None] * self.own_spread * self.spread * SPACING + 0 * line
        columns = own.shape[2]
        return (line + 0 * own).reshape(-1, columns), own.reshape(-1, columns), area.reshape(-1, columns)


class Step(NamedTuple):
    """Result of a step.

    ``mean``, ``second`` (k, m): tilted mean and mean square of papers minus their cavity means; ``nodes``: the next
    ones; ``log_evidence`` (m,): log normalising constant of each factor; ``gradient`` (P, m): its derivative by
    hyperparameters. Of the mixture: ``fresh``, the nodes given fresh papers, and ``orders`` (m,), the probability that
    the reviewer is ordinal.
    """

    mean: FloatArray
    second: FloatArray
    nodes: Nodes
    log_evidence: FloatArray
    gradient: FloatArray
    fresh: Nodes | None = None
    orders: FloatArray | float = 0.0


class Slopes(NamedTuple):
    """Values at the nodes: log slope, log own noise, slope, noise variance, expected offset, log density."""

    log_slope: FloatArray
    log_own: FloatArray
    slope: FloatArray
    noise: FloatArray
    offset: FloatArray
    log_density: FloatArray


class Offsets(NamedTuple):
    """Given the slope: W, W (r - B) and W^2 E (r - b)^2 of each review, shapes (k, G, m), r its residual.

    Then P and B, precision and mean of each reviewer's offset, and the log probability of the scores times the density.
    """

    weight: FloatArray
    weighted: FloatArray
    square: FloatArray
    precision: FloatArray
    mean: FloatArray
    log_weight: FloatArray


def slopes_at(nodes: Nodes, theta: FloatArray) -> Slopes:
    """Evaluate what depends on the reviewer alone, shapes (G, m); the density includes the quadrature weights."""
    z, own, area = nodes.grid()
    return points_at(z, own, area, theta, nodes.spread, own=nodes.own_spread is not None)


def sides_of(theta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scales of the prior's two sides, shapes (m,), wide enough for nodes of this spread.

    A side far narrower than the distance of the nodes would fall between them, and the evidence depend on where they
    lie. So tau becomes (tau^4 + d^4)^(1/4), d half of that distance: 1.5 % more where tau equals the distance.
    """
    fourth = (NARROWEST * spread) ** 4
    left, right = (np.sqrt(np.sqrt(np.exp(4 * theta[side]) + fourth)) for side in (LOG_TAU_LEFT, LOG_TAU_RIGHT))
    return left, right


def points_at(
    z: FloatArray, log_own: FloatArray, area: FloatArray, theta: FloatArray, spread: FloatArray, *, own: bool
) -> Slopes:
    """Evaluate it at log slopes and logs of own noise, shapes (G, m), whose cells have an area; ``spread`` (m,)."""
    deviation = z - theta[MU]
    left, right = sides_of(theta, spread)
    density = -0.5 * (deviation / np.where(deviation < 0, left, right)) ** 2
    density += np.log(2 / (np.sqrt(2 * np.pi) * (left + right)) * area)
    if own:
        density -= 0.5 * (log_own * np.exp(-theta[LOG_OWN])) ** 2 + theta[LOG_OWN] + 0.5 * np.log(2 * np.pi)
    slope = np.exp(z)
    noise = np.exp(2 * (theta[NU] + theta[RHO] * deviation) + log_own)
    return Slopes(z, log_own, slope, noise, theta[G0] + theta[G1] * slope, density)


def offsets_given(block: Block, cavity: Cavity, at: Slopes, variance: FloatArray, omega_square: float) -> Offsets:
    """Integrate papers and offset out given the slope; ``variance`` is that of the noise, shape (1 or k, G, m)."""
    total = at.slope**2 * cavity.variance[:, None]
    total += variance
    weight = block.used[:, None] / total
    if not block.full:
        # Empty slots have no weight, and a variance whose logarithm is 0.
        total[np.broadcast_to(block.used[:, None] == 0, total.shape)] = 1.0
    whole = len(total) - len(total) % PRODUCT
    log_total = np.log(np.prod(total[whole:], axis=0))
    if whole:
        log_total += np.log(np.prod(total[:whole].reshape(-1, PRODUCT, *total.shape[1:]), axis=1)).sum(axis=0)
    residual = np.multiply(at.slope, -cavity.mean[:, None], out=total)
    residual += block.score[:, None]
    precision = 1 / omega_square + weight.sum(axis=0)
    mean = (at.offset / omega_square + np.einsum("kgm,kgm->gm", weight, residual)) / precision
    residual -= mean
    weighted = weight * residual
    squares = (mean - at.offset) ** 2 / omega_square + np.einsum("kgm,kgm->gm", weighted, residual)
    log_weight = -0.5 * (log_total + np.log(omega_square * precision) + squares)
    log_weight += at.log_density - 0.5 * np.log(2 * np.pi) * block.load
    square = np.multiply(weight, weight, out=residual)
    square /= precision
    square += weighted * weighted
    return Offsets(weight, weighted, square, precision, mean, log_weight)


def step(
    block: Block,
    cavity: Cavity,
    nodes: Nodes,
    theta: FloatArray,
    factor: FloatArray,
    log_weight: FloatArray | None,
    rounding: float | FloatArray,
    *,
    learn: bool = True,
    papers: bool = True,
) -> Step:
    """Tilted moments and log evidence of every reviewer of a block.

    ``factor`` (1 or k, m) multiplies the noise variance of each review; ``log_weight`` (k, m): logarithms of the
    weights of reviews, or None; ``rounding``: variance r^2, or that of each review, (k, 1, m). Without ``learn``
    gradients, without ``papers`` the moments are 0.
    """
    at = slopes_at(nodes, theta)
    variance = at.noise * factor[:, None] + rounding
    omega_square = np.exp(2 * theta[LOG_OMEGA])
    offsets = offsets_given(block, cavity, at, variance, omega_square)
    # Posterior probabilities of the nodes.
    top = offsets.log_weight.max(axis=0)
    share = np.exp(offsets.log_weight - top)
    total = share.sum(axis=0)
    share /= total
    mean = second = np.zeros((1, block.reviewer.size))
    if papers:
        mean, second = _tilted_moments(cavity, at, variance, offsets, share)
    gradient = np.zeros((SIZE, block.reviewer.size))
    if learn:
        gradient = _gradient(at, offsets, share, theta, nodes.spread, factor, log_weight)
    # The next nodes are centred on the posterior.
    centre, spread = _posterior_moments(nodes.centre, nodes.spread, share, at.log_slope)
    own, own_spread = nodes.own, nodes.own_spread
    if own_spread is not None:
        own, own_spread = _posterior_moments(own, own_spread, share, at.log_own)
    return Step(mean, second, Nodes(centre, spread, own, own_spread), top + np.log(total), gradient)


def _posterior_moments(
    centre: FloatArray, spread: FloatArray, share: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the posterior, the latter bounded from below."""
    mean = np.einsum("gm,gm->m", share, value)
    square = np.einsum("gm,gm->m", share, (value - mean) ** 2)
    least = np.maximum((LAG * (mean - centre)) ** 2, (MIN_SHRINKAGE * spread) ** 2)
    return mean, np.sqrt(np.maximum(np.maximum(square, least), MIN_VARIANCE))


def _tilted_moments(
    cavity: Cavity, at: Slopes, variance: FloatArray, offsets: Offsets, share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Tilted mean and mean square of papers minus their cavity means, mixed over nodes.

    Without the review itself the offset has precision P_ = P - W and mean B_ = (P B - W r) / P_. Hence D (r - B_) / (v
    (s^2 + 1 / P_)) = W (r - B) and D / v = s^2 W + a^2 v W^2 / P, without division or cancellation.
    """
    share_slope = share * at.slope
    mean = np.einsum("gm,kgm->km", share_slope, offsets.weighted)
    noise_part = np.einsum("kgm,kgm->km", variance * share, offsets.weight)
    slope_part = np.einsum("gm,kgm->km", share_slope * at.slope, offsets.square)
    v = cavity.variance
    return v * mean, v * (noise_part + v * slope_part)


class Message(NamedTuple):
    """Site parameters of reviews, shapes (k, m)."""

    precision: FloatArray
    shift: FloatArray


def message(cavity: Cavity, mean: FloatArray, second: FloatArray) -> Message:
    """Divide tilted moments by the cavity; the precision stays positive and the tilted mean exact."""
    variance = np.maximum(second - mean**2, 1e-12 * cavity.variance)
    precision = np.maximum(1 / variance - 1 / cavity.variance, MIN_PRECISION)
    return Message(precision, mean / cavity.variance + (cavity.mean + mean) * precision)


def _gradient(
    at: Slopes,
    offsets: Offsets,
    share: FloatArray,
    theta: FloatArray,
    spread: FloatArray,
    factor: FloatArray,
    log_weight: FloatArray | None,
) -> FloatArray:
    """Gradient of each log evidence by Fisher's identity: expected derivatives of the log density."""
    deviation = at.log_slope - theta[MU]
    left, right = sides_of(theta, spread)
    below, omega_square = deviation < 0, np.exp(2 * theta[LOG_OMEGA])
    square = (deviation / np.where(below, left, right)) ** 2
    noise_gradient = _noise_gradient(offsets, factor)
    by_noise = 0.5 * share * at.noise * noise_gradient
    drift = share * (offsets.mean - at.offset) / omega_square
    weighted_deviation = share * deviation
    gradient = np.empty((SIZE, share.shape[1]))
    gradient[MU] = (weighted_deviation / np.where(below, left, right) ** 2 - 2 * theta[RHO] * by_noise).sum(axis=0)
    by_left = (share * below * square).sum(axis=0) - left / (left + right)
    by_right = (share * ~below * square).sum(axis=0) - right / (left + right)
    gradient[LOG_TAU_LEFT] = by_left * (np.exp(theta[LOG_TAU_LEFT]) / left) ** 4
    gradient[LOG_TAU_RIGHT] = by_right * (np.exp(theta[LOG_TAU_RIGHT]) / right) ** 4
    gradient[G0] = drift.sum(axis=0)
    gradient[G1] = (drift * at.slope).sum(axis=0)
    square = 1 / offsets.precision + (offsets.mean - at.offset) ** 2
    gradient[LOG_OMEGA] = (share * square).sum(axis=0) / omega_square - 1
    gradient[NU] = 2 * by_noise.sum(axis=0)
    gradient[RHO] = 2 * (by_noise * deviation).sum(axis=0)
    gradient[LOG_OWN] = (share * at.log_own**2).sum(axis=0) * np.exp(-2 * theta[LOG_OWN]) - 1
    gradient[GAMMA] = gradient[LOGIT_W] = gradient[LOG_S_R] = 0.0
    if log_weight is not None:
        gradient[GAMMA] = -0.5 * (share * at.noise * _noise_gradient(offsets, factor * log_weight)).sum(axis=0)
    return gradient


def _noise_gradient(offsets: Offsets, factor: FloatArray) -> FloatArray:
    """Return sum_k (W^2 E (r - b)^2 - W) c_k, shape (G, m): twice the derivative by the noise variances."""
    if factor.shape[0] == 1:
        return np.asarray(factor * (offsets.square.sum(axis=0) - offsets.weight.sum(axis=0)))
    return np.asarray(np.einsum("kgm,km->gm", offsets.square - offsets.weight, factor))


# The step for ordinal reviewers.
#
# They perceive ``z_i = x_i + s_R eps_i``, and their scores carry only the ranking of the z. Given the cavities, the z
# are independent and normal; the probability of the ranking and the moments of each z come from a forward and a
# backward pass over the ranked papers, on a grid.

#: Maximum load for which the grid resolves the ranking; of a thousand papers its probability is overestimated.
MAX_ORDINAL_LOAD = 200
#: Ordinal reviewers are tried where the median load is this or more. A ranking of two papers says little, and in large
#: tables of such loads the fit can degenerate: some reviewers without noise, all others without information.
MIN_ORDINAL_LOAD = 3
#: Points of the grid for up to ``LONG`` papers and for more, and its range beyond the extreme papers in standard
#: deviations. What the rule leaves of the log probability: 1e-3 for 10 papers, .01 for 20, .1 for 60, 2 for 200.
POINTS, MORE_POINTS, LONG, GRID_REACH = 32, 64, 10, 4.0
#: Ratio of neighbours from which their logarithms are interpolated and not themselves; minimum probability.
STEEP, MIN_PROBABILITY = 7.5, 1e-250


class OrdinalStep(NamedTuple):
    """Result of a step of ordinal reviewers.

    ``mean``, ``second`` (k, m): tilted mean and mean square of papers minus their cavity means; ``log_probability``
    (m,): of the ranking, times the number of rankings without ties, k! / prod t!; ``by_noise`` (m,): its derivative by
    log s_R.
    """

    mean: FloatArray
    second: FloatArray
    log_probability: FloatArray
    by_noise: FloatArray


def ordinal_step(block: Block, cavity: Cavity, perception: float) -> OrdinalStep:
    """Tilted moments given the ranking of scores, ties ranked by cavity mean; ``perception`` is s_R^2."""
    # Ascending by score, then by cavity mean; empty slots last.
    order = np.lexsort((cavity.mean, block.score, 1 - block.used), axis=0)
    total = np.take_along_axis(cavity.variance, order, axis=0) + perception
    mean = np.take_along_axis(cavity.mean, order, axis=0)
    used = np.take_along_axis(block.used, order, axis=0)
    grid, marginal, log_probability = ranked(mean, total, used)
    # Moments of z give those of x: x | z is normal with mean m + v / (v + s_R^2) (z - m).
    deviation = grid - mean[:, None]
    first, square = (marginal * deviation).sum(axis=1), (marginal * deviation**2).sum(axis=1)
    part = (total - perception) / total
    inverse = np.argsort(order, axis=0)
    mean_shift = np.take_along_axis(part * first, inverse, axis=0)
    second = np.take_along_axis(part**2 * square + part * perception, inverse, axis=0)
    # E (z - x)^2 / s_R^2 - 1, summed over papers.
    by_noise = (used * (perception * square / total**2 + part - 1.0)).sum(axis=0)
    return OrdinalStep(mean_shift, second, log_probability + _log_arrangements(block), by_noise)


class Ranked(NamedTuple):
    """Perceived qualities given their ranking.

    ``grid`` (points, m), ``marginal`` (k, points, m): weights of its points, 0 at those that a reviewer does not use;
    ``log_probability`` (m,): of the ranking.
    """

    grid: FloatArray
    marginal: FloatArray
    log_probability: FloatArray


def ranked(mean: FloatArray, variance: FloatArray, used: FloatArray) -> Ranked:
    """Condition independent normal qualities, shapes (k, m), on ascending ranks; ``used`` is 0 in empty slots, last."""
    slots, size = used.shape
    long = used.sum(axis=0) > LONG
    most = MORE_POINTS if long.any() else POINTS
    found = Ranked(np.zeros((most, size)), np.zeros((slots, most, size)), np.zeros(size))
    for columns, points in ((~long, POINTS), (long, MORE_POINTS)):
        if columns.any():
            part = _ranked(mean[:, columns], variance[:, columns], used[:, columns], points)
            found.grid[:points, columns], found.marginal[:, :points, columns] = part.grid, part.marginal
            found.log_probability[columns] = part.log_probability
    return found


def _ranked(mean: FloatArray, variance: FloatArray, used: FloatArray, points: int) -> Ranked:
    # A grid for each reviewer, (points, m), and on it, (k, points, m), the density of each paper and its derivative, in
    # units of the grid spacing and normalised by the rule that integrates them.
    sd = np.sqrt(variance)
    low = np.where(used > 0, mean - GRID_REACH * sd, np.inf).min(axis=0)
    high = np.where(used > 0, mean + GRID_REACH * sd, -np.inf).max(axis=0)
    grid = low + np.linspace(0.0, 1.0, points)[:, None] * (high - low)
    deviation = grid - mean[:, None]
    density = np.exp(-0.5 * (deviation / sd[:, None]) ** 2)
    rise = -deviation / variance[:, None] * ((high - low) / (points - 1)) * density
    for value in zip(density, rise, strict=True):
        mass = _below(*value)[1]
        for each in value:
            each /= mass
    # A_l(t): the probability that the papers before the l-th are in order and below t; backward likewise. Empty slots
    # come last and always fit. Probabilities of the steps multiply to that of the ranking.
    forward, log_probability = _pass(density, rise, used > 0)
    backward = _pass(density[::-1, ::-1], -rise[::-1, ::-1], used[::-1] > 0)[0][::-1, ::-1]
    marginal = density * forward * backward
    return Ranked(grid, marginal / np.maximum(marginal.sum(axis=1, keepdims=True), MIN_PROBABILITY), log_probability)


def _pass(density: FloatArray, rise: FloatArray, used: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities that papers before each are in order and below each point, and the log probability of the order."""
    before, slope = np.ones_like(density), np.zeros(density.shape[1:])
    log_probability = np.zeros(density.shape[2])
    for place, here in enumerate(used):
        value = density[place] * before[place]
        below, mass = _below(value, rise[place] * before[place] + density[place] * slope)
        log_probability += np.where(here, np.log(mass), 0.0)
        if place + 1 < len(used):
            share = below / mass
            before[place + 1] = np.where(here, np.maximum(share, MIN_PROBABILITY), before[place])
            slope = np.where(here, np.where(share > MIN_PROBABILITY, value / mass, 0.0), slope)
    return before, log_probability


def _below(value: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the integral of a function up to each point of the grid (axis 0), and all of it.

    ``rise`` is its derivative. Both ends continue as exponentials, and so does what lies between two points that differ
    much: of a function whose logarithm is concave, as here, the curvature is that of the derivatives' difference.
    Otherwise it is the cubic with these values and derivatives (corrected trapezoidal rule).
    """
    first, last, up, down = value[:-1], value[1:], rise[:-1], rise[1:]
    between = np.maximum(0.5 * (first + last) - (down - up) / 12, np.minimum(first, last))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tails = np.where(rise == 0, 0.0, value * np.abs(value / rise))
        log_ratio, bend = np.log(last) - np.log(first), np.minimum(down / last - up / first, 0.0)
        curved = bend / (2 * log_ratio**2) * (log_ratio * (last + first) / (last - first) - 2)
        steep = (last - first) / log_ratio * (1 - curved)
    between = np.where((last < STEEP * first) & (first < STEEP * last), between, steep)
    between = np.where(first > 0, between, np.where(down > 0, tails[1:], 0.0))
    between = np.where(last > 0, between, np.where((first > 0) & (up < 0), tails[:-1], 0.0))
    start = np.where(rise[:1] > 0, tails[:1], 0.0)
    below = np.cumsum(np.concatenate([start, between]), axis=0)
    return below, np.maximum(below[-1] + np.where(rise[-1] < 0, tails[-1], 0.0), MIN_PROBABILITY)


def gap_probabilities(
    mean: FloatArray, variance: FloatArray, used: FloatArray, new: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return the probability that a new paper is perceived in each gap of ranked ones, shape (k + 1, P).

    ``mean``, ``variance``, ``used`` (k, P): perceived qualities in the order of their ranks; ``new``: those of the new
    paper, shapes (P,). Gaps are those below each paper and, last, above all.
    """
    from scipy.special import ndtr

    grid, marginal, _ = ranked(mean, variance, used)
    above = (marginal * ndtr((new[0] - grid) / np.sqrt(new[1]))).sum(axis=1) * used
    edge = np.ones((1, used.shape[1]))
    return np.asarray(np.maximum(-np.diff(np.concatenate([edge, above, 0 * edge]), axis=0), 0.0))


def _log_arrangements(block: Block) -> FloatArray:
    """Return log k! / prod t!, t the sizes of groups of equal scores, shape (m,)."""
    ranked = np.sort(np.where(block.used > 0, block.score, np.inf), axis=0)
    rank = np.arange(1, ranked.shape[0] + 1)[:, None]
    valid = rank <= block.load
    log_rank = np.where(valid, np.log(rank), 0.0)
    # Position within the group of equal scores: log t! is the sum of the logs of positions.
    position = np.zeros(ranked.shape)
    position[0] = 1.0
    for row in range(1, ranked.shape[0]):
        position[row] = np.where(ranked[row] == ranked[row - 1], position[row - 1] + 1.0, 1.0)
    return np.asarray((log_rank - np.where(valid, np.log(position), 0.0)).sum(axis=0))


def mixed_step(
    block: Block,
    cavity: Cavity,
    scale_step: Step,
    nodes: Nodes,
    theta: FloatArray,
    factor: FloatArray,
    log_weight: FloatArray | None,
    rounding: float | FloatArray,
    *,
    learn: bool = True,
) -> Step:
    """Mix the steps of scale users and of ordinal reviewers by their posterior probabilities.

    An ordinal reviewer has the same marginal distribution of scores as anyone, times the probability of the ranking
    over that of a random ranking: a marginal of another shape would be preferred for its shape alone. ``nodes`` are
    those given fresh papers.
    """
    ones = np.ones(block.shape)
    prior = Cavity(0 * ones, ones)
    fresh = step(block, prior, nodes, theta, factor, log_weight, rounding, learn=learn, papers=False)
    order = ordinal_step(block, cavity, float(np.exp(2 * theta[LOG_S_R])))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    log_scale = np.log1p(-share) + scale_step.log_evidence
    log_ordinal = np.log(share) + fresh.log_evidence + order.log_probability
    total = np.logaddexp(log_scale, log_ordinal)
    ordinal = np.exp(log_ordinal - total)
    gradient = (1 - ordinal) * scale_step.gradient + ordinal * fresh.gradient
    gradient[LOGIT_W] = ordinal - share
    gradient[LOG_S_R] = ordinal * order.by_noise
    return Step(
        (1 - ordinal) * scale_step.mean + ordinal * order.mean,
        (1 - ordinal) * scale_step.second + ordinal * order.second,
        scale_step.nodes,
        total,
        gradient,
        fresh.nodes,
        ordinal,
    )


def rows(nodes: Nodes) -> FloatArray:
    """Nodes as rows of the state: of the slope, and of own noise if present."""
    return np.array(nodes[:2] if nodes.own_spread is None else nodes)
