"""Compiled steps for large tables: a sweep over a part in two threads, half of the reviewers each.

The same step as in :mod:`lsc._inference.scale_users`, one reviewer after another, equal up to rounding: intermediate
values stay in registers and cache, no thread waits for Python, and several nodes are computed by one instruction. Sums
over reviewers are added in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from lsc._inference.model import (
    G0,
    G1,
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
    Gradient,
    Layout,
)
from lsc._inference.scale_users import (
    GRID_REACH,
    LAG,
    LONG,
    MAX_ORDINAL_LOAD,
    MAX_SHIFT,
    MIN_PRECISION,
    MIN_PROBABILITY,
    MIN_SHRINKAGE,
    MIN_VARIANCE,
    MORE_POINTS,
    NARROWEST,
    POINTS,
    PRODUCT,
    REACH,
    SHIFT_PER_PRECISION,
    SPACING,
    STEEP,
)
from lsc._inference.states import ItemPosterior, Messages, State, is_zeros_view
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.graph import kernel

#: Numbers of nodes of the slope, and of own noise at each; distance of the outer ones, in spreads.
SLOPE_NODES, OWN_NODES = round(2 * REACH / SPACING) + 1, 3
SQRT_3 = math.sqrt(3.0)
#: Seconds per review in plain Python.
ELEMENT = 60e-6
R = TypeVar("R")


class Hyperparameters(NamedTuple):
    """Hyperparameters as kernels take them; ``rows`` is 1, or 3 with own noise.

    ``ordinal``: prior probability w of ordinal reviewers, 0 where the model has none; ``perception``: s_R^2.
    """

    mu: float
    left: float
    right: float
    g0: float
    g1: float
    omega_square: float
    nu: float
    rho: float
    log_own: float
    rounding: float
    rows: int
    ordinal: float
    perception: float


class Workspace(NamedTuple):
    """Workspace for one reviewer: by review, shapes (k,), by node, (G,), and by both, (k, G).

    ``noise``: noise variance with that of rounding; ``offset_variance``: of the offset given the node; ``product``,
    ``exponent``: a density as it is computed, the one times exp(-1/2 the other).
    """

    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    tilted_mean: FloatArray
    tilted_square: FloatArray
    log_slope: FloatArray
    log_own: FloatArray
    slope: FloatArray
    noise: FloatArray
    share: FloatArray
    offset_mean: FloatArray
    offset_variance: FloatArray
    product: FloatArray
    exponent: FloatArray
    weight: FloatArray
    weighted: FloatArray
    gradient: FloatArray


def workspace_for(load: int, rows: int) -> Workspace:
    nodes = rows * SLOPE_NODES
    by_review, by_node, by_both = np.zeros((5, load)), np.zeros((9, nodes)), np.zeros((2, load, nodes))
    arrays: list[FloatArray] = [*by_review, *by_node, *by_both, np.zeros(SIZE)]
    return Workspace(*arrays)


@kernel(element=ELEMENT)
def side_of(tau: float, spread: float) -> float:
    """Return the scale of a side of the prior as :func:`lsc._inference.scale_users.sides_of` does."""
    square, distance = tau * tau, (NARROWEST * spread) ** 2
    return math.sqrt(math.sqrt(square * square + distance * distance))


@kernel(element=ELEMENT, vectorised=True)
def place_nodes(work: Workspace, hyper: Hyperparameters, nodes: FloatArray) -> None:
    """Write log slopes, own noise, slopes and noise variances at the nodes, and log densities into ``share``."""
    centre, spread = nodes[0], nodes[1]
    left, right = side_of(hyper.left, spread), side_of(hyper.right, spread)
    by_left, by_right = 0.5 / (left * left), 0.5 / (right * right)
    ratio, noisier = math.exp(SPACING * spread), math.exp(2.0 * hyper.rho * SPACING * spread)
    constant = math.log(2.0 * SPACING * spread / (math.sqrt(2.0 * math.pi) * (left + right)))
    for row in range(hyper.rows):
        level, log_own = constant, 0.0
        if hyper.rows > 1:
            own_spread = nodes[3]
            log_own = nodes[2] + (row - 1) * SQRT_3 * own_spread
            # Gauss-Hermite weights over the normal density, which the integrand includes.
            rule = 2.0 / 3.0 if row == 1 else math.exp(1.5) / 6.0
            level += math.log(rule * own_spread) - 0.5 * (log_own * math.exp(-hyper.log_own)) ** 2 - hyper.log_own
        lowest, first = centre - REACH * spread, row * SLOPE_NODES
        slope = math.exp(lowest)
        noise = math.exp(2.0 * (hyper.nu + hyper.rho * (lowest - hyper.mu)) + log_own)
        for g in range(first, first + SLOPE_NODES):
            work.slope[g], work.noise[g] = slope, noise + hyper.rounding
            slope *= ratio
            noise *= noisier
        for t in range(SLOPE_NODES):
            log_slope = lowest + t * SPACING * spread
            deviation = log_slope - hyper.mu
            work.log_slope[first + t], work.log_own[first + t] = log_slope, log_own
            work.share[first + t] = level - (by_left if deviation < 0.0 else by_right) * deviation * deviation


@kernel(element=ELEMENT, vectorised=True)
def weigh_nodes(work: Workspace, hyper: Hyperparameters, k: int) -> float:
    """Integrate papers and offset out at each node; log densities become probabilities. Returns the log evidence."""
    nodes, prior = hyper.rows * SLOPE_NODES, 1.0 / hyper.omega_square
    slope, noise, share, product, exponent = work.slope, work.noise, work.share, work.product, work.exponent
    # Given the slope: precision and pull of the offset, from its prior and from each paper.
    precision, mean = work.offset_variance, work.offset_mean
    for g in range(nodes):
        precision[g], product[g], exponent[g] = prior, hyper.omega_square, 0.0
        mean[g] = prior * (hyper.g0 + hyper.g1 * slope[g])
    for i in range(k):
        weight, residual = work.weight[i], work.weighted[i]
        for g in range(nodes):
            total = slope[g] * slope[g] * work.variance[i] + noise[g]
            product[g] *= total
            weight[g] = 1.0 / total
        for g in range(nodes):
            residual[g] = work.score[i] - slope[g] * work.mean[i]
        for g in range(nodes):
            precision[g] += weight[g]
        for g in range(nodes):
            mean[g] += weight[g] * residual[g]
        if i % PRODUCT == PRODUCT - 1:
            for g in range(nodes):
                exponent[g] += math.log(product[g])
                product[g] = 1.0
    # Precisions become variances, in place. Normalised: the root of the product of variances; then squares of residuals
    # from the mean of the offset.
    for g in range(nodes):
        product[g] = 1.0 / math.sqrt(product[g] * precision[g])
        precision[g] = 1.0 / precision[g]
        mean[g] *= precision[g]
    for g in range(nodes):
        exponent[g] += prior * (mean[g] - hyper.g0 - hyper.g1 * slope[g]) ** 2
    for i in range(k):
        weight, weighted = work.weight[i], work.weighted[i]
        for g in range(nodes):
            residual = weighted[g] - mean[g]
            weighted[g] = weight[g] * residual
            exponent[g] += weighted[g] * residual
    # Relative to the largest, normalised.
    top, sum_of_shares = -math.inf, 0.0
    for g in range(nodes):
        share[g] -= 0.5 * exponent[g]
        top = max(top, share[g])
    for g in range(nodes):
        share[g] = math.exp(share[g] - top)
    for g in range(nodes):
        share[g] *= product[g]
        sum_of_shares += share[g]
    for g in range(nodes):
        share[g] /= sum_of_shares
    return float(top + math.log(sum_of_shares) - 0.5 * math.log(2.0 * math.pi) * k)


@kernel(element=ELEMENT, vectorised=True)
def tilted_moments(work: Workspace, hyper: Hyperparameters, k: int) -> None:
    """Write tilted mean and mean square of papers minus cavity means, divided by cavity variances."""
    share, slope, noise, offset_variance = work.share, work.slope, work.noise, work.offset_variance
    for i in range(k):
        weight, weighted, mean, square = work.weight[i], work.weighted[i], 0.0, 0.0
        for g in range(hyper.rows * SLOPE_NODES):
            mean += share[g] * slope[g] * weighted[g]
            squares = weight[g] * weight[g] * offset_variance[g] + weighted[g] * weighted[g]
            square += share[g] * (noise[g] * weight[g] + slope[g] * slope[g] * work.variance[i] * squares)
        work.tilted_mean[i], work.tilted_square[i] = mean, square


@kernel(element=ELEMENT, vectorised=True)
def node_moments(work: Workspace, value: FloatArray, nodes: int) -> tuple[float, float]:
    """Return posterior mean and variance of a value given at the nodes."""
    mean, square = 0.0, 0.0
    for g in range(nodes):
        mean += work.share[g] * value[g]
    for g in range(nodes):
        square += work.share[g] * (value[g] - mean) ** 2
    return mean, square


@kernel(element=ELEMENT, vectorised=True)
def differentiate(work: Workspace, hyper: Hyperparameters, spread: float, k: int) -> None:
    """Write the gradient of the log evidence, by Fisher's identity: expected derivatives of the log density."""
    nodes, left, right = hyper.rows * SLOPE_NODES, side_of(hyper.left, spread), side_of(hyper.right, spread)
    share, slope, offset_variance, by_noise = work.share, work.slope, work.offset_variance, work.exponent
    # Derivatives of the log density by the noise.
    for g in range(nodes):
        by_noise[g] = 0.0
    for i in range(k):
        weight, weighted = work.weight[i], work.weighted[i]
        for g in range(nodes):
            by_noise[g] += weight[g] * weight[g] * offset_variance[g] + weighted[g] * weighted[g] - weight[g]
    # Their expectations, and those by the prior of the slope and of the offset.
    nu, rho, mu, below, above = 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(nodes):
        deviation = work.log_slope[g] - hyper.mu
        of_noise = share[g] * (work.noise[g] - hyper.rounding) * by_noise[g]
        nu += of_noise
        rho += of_noise * deviation
        of_left = share[g] * deviation if deviation < 0.0 else 0.0
        of_right = share[g] * deviation - of_left
        mu += of_left / (left * left) + of_right / (right * right)
        below += of_left * deviation / (left * left)
        above += of_right * deviation / (right * right)
    g0, g1, omega, own = 0.0, 0.0, 0.0, 0.0
    for g in range(nodes):
        deviation = work.offset_mean[g] - hyper.g0 - hyper.g1 * slope[g]
        g0 += share[g] * deviation
        g1 += share[g] * deviation * slope[g]
        omega += share[g] * (offset_variance[g] + deviation * deviation)
        own += share[g] * work.log_own[g] ** 2
    gradient = work.gradient
    for p in range(len(gradient)):
        gradient[p] = 0.0
    gradient[MU], gradient[NU], gradient[RHO] = mu - hyper.rho * nu, nu, rho
    gradient[LOG_TAU_LEFT] = (below - left / (left + right)) * (hyper.left / left) ** 4
    gradient[LOG_TAU_RIGHT] = (above - right / (left + right)) * (hyper.right / right) ** 4
    gradient[G0], gradient[G1] = g0 / hyper.omega_square, g1 / hyper.omega_square
    gradient[LOG_OMEGA] = omega / hyper.omega_square - 1.0
    gradient[LOG_OWN] = own * math.exp(-2.0 * hyper.log_own) - 1.0


class Buffers(NamedTuple):
    """Arrays of a half: item posterior, mask of changed items (empty: all), old and new messages and nodes.

    ``fresh``, ``new_fresh``: nodes given fresh papers; ``orders`` (M,): probability that a reviewer is ordinal.
    """

    precision: FloatArray
    shift: FloatArray
    changed: BoolArray
    old_precision: FloatArray
    old_shift: FloatArray
    nodes: FloatArray
    new_precision: FloatArray
    new_shift: FloatArray
    new_nodes: FloatArray
    fresh: FloatArray
    new_fresh: FloatArray
    orders: FloatArray


@kernel(element=ELEMENT)
def read_cavities(work: Workspace, layout: Layout, buffers: Buffers, slot: int, step: int, k: int) -> float:
    """Copy scores and cavities of a reviewer; returns the sum of 1/2 log v + m^2 / 2 v over the cavities."""
    potential, product = 0.0, 1.0
    for i in range(k):
        at = slot + i * step
        item = layout.item[at]
        precision = buffers.precision[item] - buffers.old_precision[at]
        mean = (buffers.shift[item] - buffers.old_shift[at]) / precision
        work.score[i], work.mean[i], work.variance[i] = layout.score[at], mean, 1.0 / precision
        potential += mean * mean * precision
        product *= precision
        if i % PRODUCT == PRODUCT - 1:
            potential -= math.log(product)
            product = 1.0
    return 0.5 * (potential - math.log(product))


@kernel(element=ELEMENT)
def copy_unchanged(layout: Layout, buffers: Buffers, slot: int, step: int, k: int) -> bool:
    """Copy the messages of a reviewer without changed items; returns whether there are none."""
    if len(buffers.changed) == 0:
        return False
    for i in range(k):
        if buffers.changed[layout.item[slot + i * step]]:
            return False
    for i in range(k):
        at = slot + i * step
        buffers.new_precision[at], buffers.new_shift[at] = buffers.old_precision[at], buffers.old_shift[at]
    return True


@kernel(element=ELEMENT)
def write_messages(work: Workspace, buffers: Buffers, slot: int, step: int, k: int) -> None:
    """Divide tilted moments by the cavities, with the damping of :func:`lsc._inference.sweeps.damped`."""
    for i in range(k):
        at, v = slot + i * step, work.variance[i]
        mean = v * work.tilted_mean[i]
        variance = max(v * work.tilted_square[i] - mean * mean, 1e-12 * v)
        precision = max(1.0 / variance - 1.0 / v, MIN_PRECISION)
        shift = mean / v + (work.mean[i] + mean) * precision
        if precision <= MIN_PRECISION:
            shift = 0.5 * (buffers.old_shift[at] + shift)
        largest = MAX_SHIFT + SHIFT_PER_PRECISION * precision
        shift = min(max(shift, -largest), largest)
        buffers.new_precision[at], buffers.new_shift[at] = precision, shift


@kernel(element=ELEMENT, vectorised=True)
def recentre_nodes(work: Workspace, hyper: Hyperparameters, old: FloatArray, new: FloatArray) -> None:
    """Centre the nodes of a reviewer, of the slope and of own noise, on the posterior."""
    size = hyper.rows * SLOPE_NODES
    for row in range(2 if hyper.rows > 1 else 1):
        mean, square = node_moments(work, work.log_own if row else work.log_slope, size)
        change, previous = LAG * (mean - old[2 * row]), MIN_SHRINKAGE * old[2 * row + 1]
        new[2 * row] = mean
        new[2 * row + 1] = math.sqrt(max(square, change * change, previous * previous, MIN_VARIANCE))


class Ranking(NamedTuple):
    """Workspace for the ranking of one reviewer.

    ``rank`` (k,): places of the papers in ascending order; ``density``, ``below`` (k, points): density of each paper on
    the grid, in that order, and the probability that those before it lie in order below; ``above`` (points,): the same
    of those after it; ``rise`` (points,): the derivative of that last written, by points; ``mean``, ``square`` (k,):
    tilted moments minus cavity means, divided by cavity variances.
    """

    rank: IntArray
    density: FloatArray
    below: FloatArray
    above: FloatArray
    rise: FloatArray
    mean: FloatArray
    square: FloatArray


class Spaces(NamedTuple):
    """Workspaces for the cavities of a reviewer, for fresh papers, and for their ranking."""

    work: Workspace
    fresh: Workspace
    order: Ranking


def spaces_for(load: int, rows: int, *, orders: bool) -> Spaces:
    own = min(load, MAX_ORDINAL_LOAD) if orders else 0
    fresh = workspace_for(own, rows)
    fresh.variance[:] = 1.0
    points = POINTS if own <= LONG else MORE_POINTS
    density, below = np.zeros((2, own, points))
    above, rise = np.zeros((2, points))
    mean, square = np.zeros((2, own))
    order = Ranking(np.zeros(own, np.int64), density, below, above, rise, mean, square)
    return Spaces(workspace_for(load, rows), fresh, order)


@kernel(element=ELEMENT)
def mass_between(first: float, up: float, last: float, down: float) -> float:
    """Integrate a function between neighbours, from values and derivatives, as in :mod:`lsc._inference.scale_users`."""
    if first <= 0.0:
        return last * (last / down) if last > 0.0 and down > 0.0 else 0.0
    if last <= 0.0:
        return -first * (first / up) if up < 0.0 else 0.0
    if last < STEEP * first and first < STEEP * last:
        return max(0.5 * (first + last) - (down - up) / 12.0, min(first, last))
    log_ratio, bend = math.log(last) - math.log(first), min(down / last - up / first, 0.0)
    curved = bend / (2.0 * log_ratio * log_ratio) * (log_ratio * (last + first) / (last - first) - 2.0)
    return (last - first) / log_ratio * (1.0 - curved)


@kernel(element=ELEMENT)
def write_density(density: FloatArray, points: int, mean: float, variance: float, low: float, width: float) -> None:
    """Write a normal density at the points of the grid, normalised by the rule that integrates it.

    From the point next to the mean to either side: the ratios of neighbours have a constant ratio themselves.
    """
    bend = -width * width / variance
    ratio_of_ratios = math.exp(bend)
    middle = min(max(int((mean - low) / width + 0.5), 0), points - 1)
    deviation = low + middle * width - mean
    top, mass = math.exp(-0.5 * deviation * deviation / variance), 0.0
    density[middle] = top
    for side in (1, -1):
        # Logarithm's derivative here, by points, and the ratio of the next value to this one.
        rate = -side * width * deviation / variance
        ratio, value, at = math.exp(rate + 0.5 * bend), top, middle + side
        while 0 <= at < points:
            before, value = value, value * ratio
            density[at] = value
            mass += mass_between(before, before * rate, value, value * (rate + bend))
            ratio *= ratio_of_ratios
            rate += bend
            at += side
        if rate < 0.0:
            mass -= value / rate
    mass = 1.0 / mass
    for t in range(points):
        density[t] *= mass


@kernel(element=ELEMENT)
def rank_papers(work: Workspace, order: Ranking, k: int) -> float:
    """Rank papers by score, then by cavity mean; returns log k! / prod t!, t the sizes of groups of equal scores."""
    score, mean, rank = work.score, work.mean, order.rank
    for i in range(k):
        place = i
        while place > 0:
            other = rank[place - 1]
            if score[other] < score[i] or (score[other] == score[i] and mean[other] <= mean[i]):
                break
            rank[place] = other
            place -= 1
        rank[place] = i
    arrangements, tied = 0.0, 1
    for place in range(k):
        tied = tied + 1 if place > 0 and score[rank[place]] == score[rank[place - 1]] else 1
        arrangements += math.log((place + 1.0) / tied)
    return arrangements


@kernel(element=ELEMENT)
def pass_over(
    density: FloatArray, before: FloatArray, rise: FloatArray, after: FloatArray, points: int, rate: float, bend: float,
    upwards: bool,
) -> float:  # fmt: skip
    """Write the share of a paper's mass below each point (or above), and return its mass, where ``before`` holds.

    ``rise``: the derivative of ``before``, then that of ``after``; ``rate``: that of the log density at the first
    point; ``bend``: what each point adds to it.
    """
    here, step = (0, 1) if upwards else (points - 1, -1)
    value = density[here] * before[here]
    growth = value * rate + density[here] * rise[here]
    total = value * (value / growth) if growth > 0.0 else 0.0
    after[here] = total
    for _ in range(1, points):
        here += step
        rate += bend
        last, up = value, growth
        value = density[here] * before[here]
        growth = value * rate + density[here] * rise[here]
        total += mass_between(last, up, value, growth)
        after[here] = total
    if growth < 0.0:
        total -= value * (value / growth)
    mass = max(total, MIN_PROBABILITY)
    inverse = 1.0 / mass
    for t in range(points):
        share = after[t] * inverse
        rise[t] = density[t] * before[t] * inverse if share > MIN_PROBABILITY else 0.0
        after[t] = max(share, MIN_PROBABILITY)
    return mass


@kernel(element=ELEMENT)
def ordinal_moments(work: Workspace, order: Ranking, perception: float, k: int) -> tuple[float, float]:
    """Write tilted moments given the ranking, as :func:`lsc._inference.scale_users.ordinal_step` does.

    Returns the log probability of the ranking and its derivative by log s_R.
    """
    log_probability = rank_papers(work, order, k)
    # The grid covers all papers; the density of each on it is normalised by the rule that integrates it.
    points = POINTS if k <= LONG else MORE_POINTS
    low, high = math.inf, -math.inf
    for i in range(k):
        reach = GRID_REACH * math.sqrt(work.variance[i] + perception)
        low, high = min(low, work.mean[i] - reach), max(high, work.mean[i] + reach)
    width = (high - low) / (points - 1)
    for place in range(k):
        i = order.rank[place]
        write_density(order.density[place], points, work.mean[i], work.variance[i] + perception, low, width)
    # Upwards: the probability that the papers so far are in order, and the last of them below each point.
    for t in range(points):
        order.below[0, t], order.rise[t] = 1.0, 0.0
    for place in range(k):
        i, after = order.rank[place], order.below[place + 1] if place + 1 < k else order.above
        bend = -width * width / (work.variance[i] + perception)
        mass = pass_over(
            order.density[place], order.below[place], order.rise, after, points, bend * (low - work.mean[i]) / width,
            bend, True,
        )  # fmt: skip
        log_probability += math.log(mass)
    # Downwards likewise; density times both is the marginal of a paper.
    for t in range(points):
        order.above[t], order.rise[t] = 1.0, 0.0
    by_noise = 0.0
    for place in range(k - 1, -1, -1):
        i, total, first, square = order.rank[place], 0.0, 0.0, 0.0
        for t in range(points):
            deviation = low + t * width - work.mean[i]
            share = order.density[place, t] * order.below[place, t] * order.above[t]
            total, first, square = total + share, first + share * deviation, square + share * deviation * deviation
        total = 1.0 / max(total, MIN_PROBABILITY)
        first, square = first * total, square * total
        # x given what is perceived, z, is normal with mean m + v / (v + s_R^2) (z - m).
        precision = 1.0 / (work.variance[i] + perception)
        part = work.variance[i] * precision
        order.mean[i] = precision * first
        order.square[i] = precision * (part * square + perception)
        by_noise += perception * square * precision * precision + part - 1.0
        if place > 0:
            for t in range(points):
                order.below[place, t] = order.above[t]
            bend = -width * width * precision
            pass_over(
                order.density[place], order.below[place], order.rise, order.above, points,
                bend * (work.mean[i] - high) / width, bend, False,
            )  # fmt: skip
    return log_probability, by_noise


@kernel(element=ELEMENT)
def mix_ordinal(
    work: Workspace, fresh: Workspace, order: Ranking, hyper: Hyperparameters, buffers: Buffers, who: int, k: int,
    evidence: float, learn: bool,
) -> float:  # fmt: skip
    """Mix the step of a scale user, in ``work``, with that of an ordinal reviewer; returns the log evidence.

    As :func:`lsc._inference.scale_users.mixed_step`: scores as anyone's of fresh papers, in an order of their own.
    """
    nodes = buffers.fresh[:, who]
    for i in range(k):
        fresh.score[i] = work.score[i]
    place_nodes(fresh, hyper, nodes)
    by_order = weigh_nodes(fresh, hyper, k) + math.log(hyper.ordinal)
    recentre_nodes(fresh, hyper, nodes, buffers.new_fresh[:, who])
    log_probability, by_noise = ordinal_moments(work, order, hyper.perception, k)
    by_order += log_probability
    by_scale = evidence + math.log1p(-hyper.ordinal)
    top = max(by_order, by_scale)
    total = top + math.log(math.exp(by_order - top) + math.exp(by_scale - top))
    ordinal = math.exp(by_order - total)
    buffers.orders[who] = ordinal
    for i in range(k):
        work.tilted_mean[i] += ordinal * (order.mean[i] - work.tilted_mean[i])
        work.tilted_square[i] += ordinal * (order.square[i] - work.tilted_square[i])
    if learn and k > 1:
        differentiate(fresh, hyper, nodes[1], k)
        for p in range(SIZE):
            work.gradient[p] += ordinal * (fresh.gradient[p] - work.gradient[p])
        work.gradient[LOGIT_W] = ordinal - hyper.ordinal
        work.gradient[LOG_S_R] = ordinal * by_noise
    return float(total)


@kernel(element=ELEMENT)
def sweep_half(
    layout: Layout, hyper: Hyperparameters, spaces: Spaces, buffers: Buffers, sums: FloatArray, learn: bool,
    low: int, high: int,
) -> None:  # fmt: skip
    """Do the steps of the reviewers of blocks ``low`` to ``high - 1``.

    ``sums`` (P + 1, P + 1): adds g g' of the gradients, g in the last row, and the evidence in the corner.
    """
    work, fresh, order = spaces
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            who, slot = layout.member[begin + j], layout.first[block] + j
            k, nodes = layout.load[who], buffers.nodes[:, who]
            if copy_unchanged(layout, buffers, slot, step, k):
                continue
            # Integrate over slope, offset and papers; then divide by the cavities and move the nodes.
            potential = read_cavities(work, layout, buffers, slot, step, k)
            place_nodes(work, hyper, nodes)
            evidence = weigh_nodes(work, hyper, k)
            tilted_moments(work, hyper, k)
            recentre_nodes(work, hyper, nodes, buffers.new_nodes[:, who])
            # A single score carries no information about slope and offset.
            if learn and k > 1:
                differentiate(work, hyper, nodes[1], k)
            if hyper.ordinal > 0.0 and layout.first[block + 1] - layout.first[block] <= MAX_ORDINAL_LOAD * step:
                evidence = mix_ordinal(work, fresh, order, hyper, buffers, who, k, evidence, learn)
            write_messages(work, buffers, slot, step, k)
            if learn and k > 1:
                for p in range(SIZE):
                    sums[SIZE, p] += work.gradient[p]
                    for q in range(SIZE):
                        sums[p, q] += work.gradient[p] * work.gradient[q]
            sums[SIZE, SIZE] += evidence + potential


@kernel(element=ELEMENT)
def describe_half(
    layout: Layout, hyper: Hyperparameters, work: Workspace, buffers: Buffers, out: FloatArray, low: int, high: int
) -> None:
    """Write rows of :class:`lsc._inference.inferring.ReviewerMoments` for the reviewers of some blocks."""
    size = hyper.rows * SLOPE_NODES
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            who, slot = layout.member[begin + j], layout.first[block] + j
            k = layout.load[who]
            read_cavities(work, layout, buffers, slot, step, k)
            place_nodes(work, hyper, buffers.nodes[:, who])
            weigh_nodes(work, hyper, k)
            out[0, who], out[1, who] = node_moments(work, work.slope, size)
            out[2, who], out[3, who] = node_moments(work, work.offset_mean, size)
            out[4, who], square = node_moments(work, work.log_slope, size)
            out[5, who] = math.sqrt(square)
            for g in range(size):
                out[3, who] += work.share[g] * work.offset_variance[g]
                work.noise[g] = math.log(work.noise[g])
            out[6, who], square = node_moments(work, work.noise, size)
            out[7, who] = math.sqrt(square)


@kernel(element=ELEMENT)
def add_half(
    item: CodeArray, values: tuple[FloatArray, ...], total: tuple[FloatArray, ...], low: int, high: int
) -> None:
    """Add two values per slot to the sums of items ``low`` to ``high - 1``, in the order of the slots."""
    for at in range(len(item)):
        i = item[at]
        if low <= i < high:
            total[0][i] += values[0][at]
            total[1][i] += values[1][at]


class Threads:
    """Context with two threads, started on first use."""

    pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def map_halves(self, work: Callable[[int, int], R], size: int, cut: int) -> list[R]:
        """Call ``work`` on both parts of a range that is split at ``cut``."""
        self.pool = self.pool or ThreadPoolExecutor(2)
        return list(self.pool.map(work, (0, cut), (cut, size)))


def step_halves(
    threads: Threads, layout: Layout, old: Messages, items: ItemPosterior, state: State, new: State, fresh: Messages,
    rounding: float, changed: BoolArray, *, learn: bool,
) -> tuple[float, Gradient]:  # fmt: skip
    """Do the step of every reviewer of a part; returns the evidence and its gradient."""
    hyper, longest, cut = _prepare(layout, state, rounding)
    sites = old[:2]
    if is_zeros_view(old.precision):  # of the type of others, for which the kernel is compiled
        sites = (np.lib.stride_tricks.as_strided(np.zeros(1), old.precision.shape, (0,)),) * 2
    buffers = Buffers(*items, changed, *sites, state.nodes, *fresh[:2], new.nodes, state.fresh, new.fresh, new.orders)
    work = sweep_half.form(ELEMENT * layout.item.size)

    def half(low: int, high: int) -> FloatArray:
        sums = np.zeros((SIZE + 1, SIZE + 1))
        spaces = spaces_for(longest, hyper.rows, orders=hyper.ordinal > 0)
        work(layout, hyper, spaces, buffers, sums, learn, low, high)
        return sums

    sums = np.sum(threads.map_halves(half, *cut), axis=0)
    return float(sums[SIZE, SIZE]), Gradient(sums[SIZE, :SIZE], sums[:SIZE, :SIZE])


def describe_halves(
    threads: Threads, layout: Layout, messages: Messages, items: ItemPosterior, state: State, rounding: float,
    out: FloatArray,
) -> None:  # fmt: skip
    """Write the rows of :class:`lsc._inference.inferring.ReviewerMoments` for the reviewers of a part."""
    hyper, longest, cut = _prepare(layout, state, rounding)
    nodes, fresh = state.nodes, state.fresh
    unchanged = nodes, *messages[:2], nodes, fresh, fresh, state.orders
    buffers = Buffers(*items, np.empty(0, np.bool_), *messages[:2], *unchanged)
    work = describe_half.form(ELEMENT * layout.item.size)
    threads.map_halves(lambda *half: work(layout, hyper, workspace_for(longest, hyper.rows), buffers, out, *half), *cut)


def _prepare(layout: Layout, state: State, rounding: float) -> tuple[Hyperparameters, int, tuple[int, int]]:
    """Return hyperparameters, the largest load, and the number of blocks, of all and in the first half."""
    theta = state.theta
    left, right, omega_square = np.exp([theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT], 2 * theta[LOG_OMEGA]]).tolist()
    mu, g0, g1, nu, rho, log_own = theta[[MU, G0, G1, NU, RHO, LOG_OWN]].tolist()
    rows, ordinal = OWN_NODES if state.extent.own else 1, 1 / (1 + math.exp(-theta[LOGIT_W]))
    mixture = float(ordinal) if state.extent.orders else 0.0, math.exp(2.0 * theta[LOG_S_R])
    hyper = Hyperparameters(mu, left, right, g0, g1, omega_square, nu, rho, log_own, rounding, rows, *mixture)
    longest = int(layout.load[layout.member].max(initial=0))
    cut = layout.first.size - 1, int(np.searchsorted(layout.first, layout.first[-1] // 2))
    return hyper, longest, cut


def add_messages(threads: Threads, item: CodeArray, messages: Messages, total: Messages) -> None:
    """Add messages to their sums by item."""
    size, work = total.precision.size, add_half.form(ELEMENT * item.size)
    for values, sums in ((messages[:2], total[:2]), (messages[2:], total[2:])):
        if not is_zeros_view(sums[0]):
            threads.map_halves(partial(work, item, values, sums), size, size // 2)


@kernel(element=ELEMENT)
def subtract_means(layout: Layout, vectors: FloatArray, image: FloatArray, low: int, high: int) -> None:
    """Subtract the mean of each column over the items of a reviewer from each of these items."""
    mean = np.empty(vectors.shape[1])
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            k, slot = layout.load[layout.member[begin + j]], layout.first[block] + j
            part = 1.0 / k
            for p in range(len(mean)):
                mean[p] = 0.0
            for i in range(k):
                item = layout.item[slot + i * step]
                for p in range(len(mean)):
                    mean[p] += vectors[item, p] * part
            for i in range(k):
                item = layout.item[slot + i * step]
                for p in range(len(mean)):
                    image[item, p] -= mean[p]


def subtract_means_by_halves(
    threads: Threads, layout: Layout, vectors: FloatArray, images: tuple[FloatArray, FloatArray]
) -> None:
    """Do so for all reviewers of a part, half of them in each of two images, which are to be added."""
    work = subtract_means.form(ELEMENT * layout.item.size)
    cut = layout.first.size - 1, int(np.searchsorted(layout.first, layout.first[-1] // 2))
    threads.map_halves(lambda low, high: work(layout, vectors, images[low > 0], low, high), *cut)
