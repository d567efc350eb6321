"""The step of expectation propagation for reviewers who use the scale, a whole block of reviewers at a time.

A reviewer's scores are ``y = b + a x + e``. Given her slope a everything is Gaussian; the slope is integrated on nodes
``log a = centre + spread t`` around its last posterior. Arrays have the axes (slot, node, reviewer).
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
from reviewgraph._base.arrays import FloatArray

#: Nodes of the slope, in standard deviations: for a normal density a spacing of 1 would do, but the two-piece prior has
#: a bend at its mode; at 0.8 a narrow side can hide between nodes, and the climb then never ends.
SPACING, REACH = 0.6, 4.2
#: Nodes of own noise beside each node of the slope: Gauss and Hermite's rule, exact to the fifth power.
HERMITE, HERMITE_WEIGHT = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)]), np.array([1 / 6, 2 / 3, 1 / 6])
#: A message never says less than nothing: precisions stay positive, so that every cavity is proper.
LEAST_PRECISION = 1e-8
#: Nodes keep a distance: the variance of what they are placed around is at least this.
LEAST_SQUARE = 1e-8
#: Nodes reach so far as the posterior moved in the last sweep, in parts of the way, and are no more than so many times
#: narrower than they were: a slope known to a thousandth would else be followed by thousandths.
BEHIND, NARROWER = 0.5, 0.2
#: A message without precision moves a paper by so many standard deviations of the prior at most.
FURTHEST = 3.0
#: Slots whose variances are multiplied before a logarithm is taken of the product.
PRODUCT = 16


class Cavity(NamedTuple):
    """What is believed of the papers of a block without its reviewers, shapes (k, m)."""

    mean: FloatArray
    variance: FloatArray


class Nodes(NamedTuple):
    """Where a block's reviewers are, shapes (m,): mean and spread of log slopes, and of logs of their own noise.

    ``own_spread`` is None where there is no own noise.
    """

    centre: FloatArray
    spread: FloatArray
    own: FloatArray
    own_spread: FloatArray | None

    def grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log slopes and logs of own noise at the nodes, shape (G, m), and the area that a node stands for, (G, m)."""
        line = self.centre + LINE * self.spread
        if self.own_spread is None:
            return line, np.zeros((1, 1)), (self.spread * SPACING)[None]
        own = (self.own + HERMITE[:, None] * self.own_spread)[:, None] + 0 * line
        # Weights of the rule hold the standard normal density, which the integrand does not: divide by it.
        part = HERMITE_WEIGHT * np.sqrt(2 * np.pi) * np.exp(0.5 * HERMITE**2)
        area = part[:, None, None] * self.own_spread * self.spread * SPACING + 0 * line
        columns = own.shape[2]
        return (line + 0 * own).reshape(-1, columns), own.reshape(-1, columns), area.reshape(-1, columns)


LINE = np.arange(-REACH, REACH + SPACING / 2, SPACING)[:, None]


class Step(NamedTuple):
    """What a step finds.

    Parameters
    ----------
    mean, second
        Shape (k, m): mean and mean square of papers less their cavity means, once the scores are known.
    nodes
        Posterior mean and standard deviation of log slopes: the next nodes.
    log_evidence
        Shape (m,): log probability of each reviewer's scores given the cavities.
    gradient
        Shape (P, m): its derivative by the hyperparameters.
    """

    mean: FloatArray
    second: FloatArray
    nodes: Nodes
    log_evidence: FloatArray
    gradient: FloatArray


class Slopes(NamedTuple):
    """Reviewers at the nodes: log slope, log own noise, slope, noise variance, offset expected, log density."""

    log_slope: FloatArray
    log_own: FloatArray
    slope: FloatArray
    noise: FloatArray
    offset: FloatArray
    log_density: FloatArray


class Offsets(NamedTuple):
    """Given the slope: W, W (r - B) and W^2 E (r - b)^2 of each review, shapes (k, G, m), r its residual.

    And P and B, the precision and mean of each reviewer's offset, and the log probability of her scores times density.
    """

    weight: FloatArray
    told: FloatArray
    square: FloatArray
    precision: FloatArray
    mean: FloatArray
    log_weight: FloatArray


def slopes_at(nodes: Nodes, theta: FloatArray) -> Slopes:
    """Evaluate everything that depends on the reviewer alone, shapes (G, m); the density holds the nodes' area."""
    z, own, area = nodes.grid()
    off = z - theta[MU]
    left, right = np.exp(theta[LOG_TAU_LEFT]), np.exp(theta[LOG_TAU_RIGHT])
    density = -0.5 * (off / np.where(off < 0, left, right)) ** 2
    density += np.log(2 / (np.sqrt(2 * np.pi) * (left + right)) * area)
    if nodes.own_spread is not None:
        density -= 0.5 * (own * np.exp(-theta[LOG_OWN])) ** 2 + theta[LOG_OWN] + 0.5 * np.log(2 * np.pi)
    slope = np.exp(z)
    noise = np.exp(2 * (theta[NU] + theta[RHO] * off) + own)
    return Slopes(z, own, slope, noise, theta[G0] + theta[G1] * slope, density)


def offsets_given(block: Block, cavity: Cavity, at: Slopes, variance: FloatArray, omega_square: float) -> Offsets:
    """Integrate papers and offset out given the slope: steps 1 and 2 of the section on the algorithm.

    ``variance`` is that of the noise, shape (1 or k, G, m).
    """
    total = at.slope**2 * cavity.variance[:, None]
    total += variance
    weight = block.used[:, None] / total
    if not block.full:
        # Empty slots: no weight, a variance whose logarithm is 0.
        total[np.broadcast_to(block.used[:, None] == 0, total.shape)] = 1.0
    whole = len(total) - len(total) % PRODUCT
    log_total = np.log(np.prod(total[whole:], axis=0))
    if whole:
        log_total += np.log(np.prod(total[:whole].reshape(-1, PRODUCT, *total.shape[1:]), axis=1)).sum(axis=0)
    apart = np.multiply(at.slope, -cavity.mean[:, None], out=total)
    apart += block.score[:, None]
    precision = 1 / omega_square + weight.sum(axis=0)
    mean = (at.offset / omega_square + np.einsum("kgm,kgm->gm", weight, apart)) / precision
    apart -= mean
    told = weight * apart
    squares = (mean - at.offset) ** 2 / omega_square + np.einsum("kgm,kgm->gm", told, apart)
    log_weight = -0.5 * (log_total + np.log(omega_square * precision) + squares)
    log_weight += at.log_density - 0.5 * np.log(2 * np.pi) * block.load
    square = np.multiply(weight, weight, out=apart)
    square /= precision
    square += told * told
    return Offsets(weight, told, square, precision, mean, log_weight)


def step(
    block: Block,
    cavity: Cavity,
    nodes: Nodes,
    theta: FloatArray,
    factor: FloatArray,
    log_weight: FloatArray | None,
    rounding: float,
    *,
    learn: bool = True,
    papers: bool = True,
) -> Step:
    """Do one step of expectation propagation for every reviewer of a block.

    Parameters
    ----------
    factor
        Shape (1 or k, m): by which each review's noise variance differs from the common one.
    log_weight
        Shape (k, m): logarithms of the weights of reviews, where there are any.
    rounding
        Variance r^2 of rounding.
    learn, papers
        Whether gradients and papers' moments are asked for; without, they are 0.
    """
    at = slopes_at(nodes, theta)
    variance = at.noise * factor[:, None] + rounding
    omega_square = np.exp(2 * theta[LOG_OMEGA])
    found = offsets_given(block, cavity, at, variance, omega_square)
    # Responsibilities of the nodes.
    top = found.log_weight.max(axis=0)
    share = np.exp(found.log_weight - top)
    total = share.sum(axis=0)
    share /= total
    mean = second = np.zeros((1, block.reviewer.size))
    if papers:
        mean, second = _papers_given(cavity, at, variance, found, share)
    gradient = np.zeros((SIZE, block.reviewer.size))
    if learn:
        gradient = _gradient(at, found, share, theta, factor, log_weight)
    return Step(mean, second, _recentred(nodes, at, share), top + np.log(total), gradient)


def _recentred(nodes: Nodes, at: Slopes, share: FloatArray) -> Nodes:
    """Put nodes where the posterior is."""
    centre, spread = _followed(nodes.centre, nodes.spread, share, at.log_slope)
    if nodes.own_spread is None:
        return Nodes(centre, spread, nodes.own, None)
    return Nodes(centre, spread, *_followed(nodes.own, nodes.own_spread, share, at.log_own))


def _followed(
    centre: FloatArray, spread: FloatArray, share: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the posterior, the latter not so small that nodes lose sight of it."""
    mean = np.einsum("gm,gm->m", share, value)
    square = np.einsum("gm,gm->m", share, (value - mean) ** 2)
    least = np.maximum((BEHIND * (mean - centre)) ** 2, (NARROWER * spread) ** 2)
    return mean, np.sqrt(np.maximum(np.maximum(square, least), LEAST_SQUARE))


def _papers_given(
    cavity: Cavity, at: Slopes, variance: FloatArray, found: Offsets, share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and mean square of papers less their cavity means, mixed over nodes: steps 3 and 4.

    Without the review itself the offset has the precision P_ = P - W and the mean B_ = (P B - W r) / P_. From these,
    D (r - B_) / (v (s^2 + 1 / P_)) = W (r - B) and D / v = s^2 W + a^2 v W^2 / P: nothing is divided, or subtracted.
    """
    rising = share * at.slope
    mean = np.einsum("gm,kgm->km", rising, found.told)
    kept = np.einsum("kgm,kgm->km", variance * share, found.weight)
    moved = np.einsum("gm,kgm->km", rising * at.slope, found.square)
    v = cavity.variance
    return v * mean, v * (kept + v * moved)


class Message(NamedTuple):
    """Natural parameters of what reviews say of their papers, shapes (k, m)."""

    precision: FloatArray
    shift: FloatArray


def message(cavity: Cavity, mean: FloatArray, second: FloatArray) -> Message:
    """Divide tilted moments by the cavity; the precision is kept positive and the tilted mean then as it is."""
    variance = np.maximum(second - mean**2, 1e-12 * cavity.variance)
    precision = np.maximum(1 / variance - 1 / cavity.variance, LEAST_PRECISION)
    return Message(precision, mean / cavity.variance + (cavity.mean + mean) * precision)


def _gradient(
    at: Slopes,
    found: Offsets,
    share: FloatArray,
    theta: FloatArray,
    factor: FloatArray,
    log_weight: FloatArray | None,
) -> FloatArray:
    """Differentiate each reviewer's log evidence, by Fisher's identity: expected derivatives of the log density."""
    off = at.log_slope - theta[MU]
    left, right = np.exp(theta[LOG_TAU_LEFT]), np.exp(theta[LOG_TAU_RIGHT])
    below, omega_square = off < 0, np.exp(2 * theta[LOG_OMEGA])
    square = (off / np.where(below, left, right)) ** 2
    pull = _noise_pull(found, factor)
    by_noise = 0.5 * share * at.noise * pull
    drift = share * (found.mean - at.offset) / omega_square
    off_share = share * off
    gradient = np.empty((SIZE, share.shape[1]))
    gradient[MU] = (off_share / np.where(below, left, right) ** 2 - 2 * theta[RHO] * by_noise).sum(axis=0)
    gradient[LOG_TAU_LEFT] = (share * below * square).sum(axis=0) - left / (left + right)
    gradient[LOG_TAU_RIGHT] = (share * ~below * square).sum(axis=0) - right / (left + right)
    gradient[G0] = drift.sum(axis=0)
    gradient[G1] = (drift * at.slope).sum(axis=0)
    spread = 1 / found.precision + (found.mean - at.offset) ** 2
    gradient[LOG_OMEGA] = (share * spread).sum(axis=0) / omega_square - 1
    gradient[NU] = 2 * by_noise.sum(axis=0)
    gradient[RHO] = 2 * (by_noise * off).sum(axis=0)
    gradient[LOG_OWN] = (share * at.log_own**2).sum(axis=0) * np.exp(-2 * theta[LOG_OWN]) - 1
    gradient[GAMMA] = gradient[LOGIT_W] = gradient[LOG_S_R] = 0.0
    if log_weight is not None:
        gradient[GAMMA] = -0.5 * (share * at.noise * _noise_pull(found, factor * log_weight)).sum(axis=0)
    return gradient


def _noise_pull(found: Offsets, factor: FloatArray) -> FloatArray:
    """Return sum_k (W^2 E (r - b)^2 - W) c_k, shape (G, m): twice the derivative by the noise variances of reviews."""
    if factor.shape[0] == 1:
        return np.asarray(factor * (found.square.sum(axis=0) - found.weight.sum(axis=0)))
    return np.asarray(np.einsum("kgm,km->gm", found.square - found.weight, factor))


# The step of expectation propagation for reviewers who only put papers in order.
#
# Such a reviewer perceives ``z_i = x_i + s_R eps_i`` and her scores say only how the z are ordered. Given the cavities
# the z are independent and normal, and the probability of their order, with the moments of each, comes from one pass
# forwards and one backwards over the ordered papers, on a grid.

#: Papers of a reviewer up to which the grid holds their order: of a thousand, it seems likelier than it is.
LONGEST = 200
#: Points of the grid, and standard deviations that it reaches beyond the extreme papers.
POINTS, ORDER_REACH = 48, 4.0
#: Rises of a logarithm below which an exponential is straight, and the least part of a probability that counts.
STRAIGHT, NOTHING = 1e-6, 1e-250


class Order(NamedTuple):
    """What an order says.

    Parameters
    ----------
    mean, second
        Shape (k, m): mean and mean square of papers less their cavity means, given the order.
    log_probability
        Shape (m,): of the order, times the number of orders that tell the scores apart: k! / prod t!.
    by_noise
        Shape (m,): its derivative by log s_R.
    """

    mean: FloatArray
    second: FloatArray
    log_probability: FloatArray
    by_noise: FloatArray


def order_step(block: Block, cavity: Cavity, perception: float) -> Order:
    """Find what the order of each reviewer's scores says of her papers, equal scores in the order of cavity means.

    Parameters
    ----------
    perception
        s_R^2, variance of what she perceives about quality.
    """
    # Ascending by score, then by cavity mean; empty slots last.
    order = np.lexsort((cavity.mean, block.score, 1 - block.used), axis=0)
    total = np.take_along_axis(cavity.variance, order, axis=0) + perception
    mean = np.take_along_axis(cavity.mean, order, axis=0)
    used = np.take_along_axis(block.used, order, axis=0)
    grid, log_density = _densities(mean, total, used)
    marginal, log_probability = _marginals(log_density, used)
    # Moments of z, and from them those of x: x | z is normal about m + v / (v + s_R^2) (z - m).
    off = grid - mean[:, None]
    first, square = (marginal * off).sum(axis=1), (marginal * off**2).sum(axis=1)
    part = (total - perception) / total
    back = np.argsort(order, axis=0)
    moved = np.take_along_axis(part * first, back, axis=0)
    second = np.take_along_axis(part**2 * square + part * perception, back, axis=0)
    # E (z - x)^2 / s_R^2 - 1, summed over papers.
    by_noise = (used * (perception * square / total**2 + part - 1.0)).sum(axis=0)
    return Order(moved, second, log_probability + _arrangements(block), by_noise)


def _densities(mean: FloatArray, variance: FloatArray, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Grid of each reviewer, shape (points, m), and the log density of each paper on it, shape (k, points, m)."""
    sd = np.sqrt(variance)
    low = np.where(used > 0, mean - ORDER_REACH * sd, np.inf).min(axis=0)
    high = np.where(used > 0, mean + ORDER_REACH * sd, -np.inf).max(axis=0)
    grid = low + np.linspace(0.0, 1.0, POINTS)[:, None] * (high - low)
    log_density = -0.5 * ((grid - mean[:, None]) / sd[:, None]) ** 2
    # The unit is the spacing of the grid; each density is brought to the sum 1 that the rule below gives it.
    whole = _pieces(log_density).sum(axis=1, keepdims=True)
    return grid, log_density - np.log(whole)


def _pieces(log_value: FloatArray) -> FloatArray:
    """Integrals between neighbours of the grid (axis -2), of what is exponential between them.

    The probability that many papers are in order rises too steeply for straight lines: by them a reviewer of twenty
    papers would seem to keep their order better than she does.
    """
    value = np.exp(log_value)
    rise = log_value[..., 1:, :] - log_value[..., :-1, :]
    step = value[..., 1:, :] - value[..., :-1, :]
    mean = 0.5 * (value[..., 1:, :] + value[..., :-1, :])
    return np.asarray(np.divide(step, rise, out=mean, where=np.abs(rise) > STRAIGHT))


def _marginals(log_density: FloatArray, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights of each paper given the order, and the log probability of the order.

    Forwards, A_l(t) = P(first l papers in order, the l-th at most t); backwards likewise from above. Empty slots come
    last and follow in any case. Each step is scaled to its total, which is the probability of one more in order.
    """
    slots = log_density.shape[0]
    before, after = np.zeros_like(log_density), np.zeros_like(log_density)
    log_total = np.zeros(log_density.shape[2])
    for place in range(slots):
        mass = _pieces(log_density[place] + before[place])
        part = np.maximum(mass.sum(axis=0), NOTHING)
        log_total += np.log(part)
        if place + 1 < slots:
            so_far = np.log(np.maximum(np.cumsum(mass, axis=0) / part, NOTHING))
            before[place + 1, 1:] = np.where(used[place + 1] > 0, so_far, 0.0)
            before[place + 1, 0] = np.where(used[place + 1] > 0, np.log(NOTHING), 0.0)
    for place in range(slots - 1, 0, -1):
        mass = _pieces(log_density[place] + after[place])
        part = np.maximum(mass.sum(axis=0), NOTHING)
        to_come = np.log(np.maximum(np.cumsum(mass[::-1], axis=0)[::-1] / part, NOTHING))
        after[place - 1, :-1] = np.where(used[place] > 0, to_come, 0.0)
        after[place - 1, -1] = np.where(used[place] > 0, np.log(NOTHING), 0.0)
    marginal = log_density + before + after
    marginal = np.exp(marginal - marginal.max(axis=1, keepdims=True))
    marginal /= marginal.sum(axis=1, keepdims=True)
    return marginal, log_total


def _arrangements(block: Block) -> FloatArray:
    """Return log k! / prod t!, t the sizes of groups of equal scores, shape (m,)."""
    ranked = np.sort(np.where(block.used > 0, block.score, np.inf), axis=0)
    place = np.arange(1, ranked.shape[0] + 1)[:, None]
    valid = place <= block.load
    log_place = np.where(valid, np.log(place), 0.0)
    # Position within its group of equal scores: log t! is the sum of logs of positions.
    same = np.zeros(ranked.shape)
    same[0] = 1.0
    for row in range(1, ranked.shape[0]):
        same[row] = np.where(ranked[row] == ranked[row - 1], same[row - 1] + 1.0, 1.0)
    return np.asarray((log_place - np.where(valid, np.log(same), 0.0)).sum(axis=0))


class Mixed(NamedTuple):
    """A step as of :class:`lsc._inference.scale_users.Step`, with nodes as rows and two more entries.

    Parameters
    ----------
    mean, second, nodes, log_evidence, gradient
        As there.
    fresh
        Rows of the nodes given fresh papers.
    orders
        Shape (m,): probability that the reviewer only orders.
    """

    mean: FloatArray
    second: FloatArray
    nodes: FloatArray
    fresh: FloatArray
    log_evidence: FloatArray
    gradient: FloatArray
    orders: FloatArray


def mixed_step(
    block: Block,
    cavity: Cavity,
    uses: Step,
    nodes: Nodes,
    theta: FloatArray,
    factor: FloatArray,
    rounding: float,
    *,
    learn: bool = True,
) -> Mixed:
    """Mix the two kinds by their probabilities given the scores.

    Whoever only orders has the same distribution of scores as anyone, times the probability of the order over that
    of any order: a distribution of another shape would be preferred for its shape alone.

    Parameters
    ----------
    uses
        The step for reviewers who use the scale.
    nodes
        Nodes given fresh papers.
    learn
        Whether gradients are asked for.
    """
    ones = np.ones(block.shape)
    fresh = step(block, Cavity(0 * ones, ones), nodes, theta, factor, None, rounding, learn=learn, papers=False)
    order = order_step(block, cavity, float(np.exp(2 * theta[LOG_S_R])))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    scale = np.log1p(-share) + uses.log_evidence
    orders = np.log(share) + fresh.log_evidence + order.log_probability
    total = np.logaddexp(scale, orders)
    part = np.exp(orders - total)
    gradient = (1 - part) * uses.gradient + part * fresh.gradient
    gradient[LOGIT_W] = part - share
    gradient[LOG_S_R] = part * order.by_noise
    return Mixed(
        (1 - part) * uses.mean + part * order.mean,
        (1 - part) * uses.second + part * order.second,
        rows(uses.nodes),
        rows(fresh.nodes),
        total,
        gradient,
        part,
    )


def rows(nodes: Nodes) -> FloatArray:
    """Nodes as rows of the state: those of the slope, and of own noise where there is any."""
    return np.array(nodes[:2] if nodes.own_spread is None else nodes)
