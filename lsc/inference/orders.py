"""The step of expectation propagation for reviewers who only put papers in order.

Such a reviewer perceives ``z_i = x_i + s_R eps_i`` and her scores say only how the z are ordered. Given the cavities
the z are independent and normal, and the probability of their order, with the moments of each, comes from one pass
forwards and one backwards over the ordered papers, on a grid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.layout import Block
from lsc.inference.model import LOG_S_R, LOGIT_W
from lsc.inference.scale_users import Cavity, Nodes, Step, step
from reviewgraph.reviews import FloatArray

#: Papers of a reviewer up to which the grid holds their order: of a thousand, it seems likelier than it is.
LONGEST = 200
#: Points of the grid, and standard deviations that it reaches beyond the extreme papers.
POINTS, REACH = 48, 4.0
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
    low = np.where(used > 0, mean - REACH * sd, np.inf).min(axis=0)
    high = np.where(used > 0, mean + REACH * sd, -np.inf).max(axis=0)
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
    """A step as of :class:`lsc.inference.scale_users.Step`, with nodes as rows and two more entries.

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
