"""The step of expectation propagation for one reviewer.

::

    y_e   = b_j + a_j x_i + e,     e ~ N(0, s_j^2 exp(2 rho (log a_j - mu)) u_e^-gamma)
    log a ~ two-piece normal, mode mu, scales tau_left and tau_right;   b | a ~ N(g0 + g1 a, omega^2)

Given the slope a the model is linear and normal, so papers and offset are integrated out in closed form; the slope is
integrated on nodes around its posterior. With the cavity N(m, v) of each paper, noise variance s at a node, and
W = 1 / (a^2 v + s), r = y - a m, the offset given the node has precision P = 1 / omega^2 + sum W and mean
B = ((g0 + g1 a) / omega^2 + sum W r) / P. The tilted mean of a paper is m + v a W (r - B), its second central moment
at the node v (s W + a^2 v W^2 / P) + (v a W (r - B))^2.

Loops over nodes run over twelve, a whole number of vectors of any processor; the last has probability 0. Sums over
nodes that cost time are added up in four lanes, in the same order everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

from lsc._inference.step import REACH

if TYPE_CHECKING:
    from lsc._inference.step import Gauge, Items, Moments, Nodes, Part, Quadrature, Sites
    from reviewgraph._base import CodeArray, FloatArray, IntArray

if not cython.compiled:
    from math import exp, log, pi, sqrt

    from lsc._inference.step import NODES
    from reviewgraph.graph.kernels.signals import heed

    # Nodes and one of probability 0, and lanes of sums over them.
    PADDED = 12
    LANES = 4
    # Factors of a product before its logarithm is taken: the product stays within the range of numbers.
    PRODUCT = 8

#: Distance of neighbouring nodes, in spreads.
SPACING = 2.0 * REACH / (NODES - 1)
#: Bounds of site precisions; least share of the prior precision that a cavity keeps.
LEAST_PRECISION = 1e-8
MOST_PRECISION = 1e6
LEAST_CAVITY = 0.05
#: Bounds of the spread of the nodes.
LEAST_SPREAD = 0.02
MOST_SPREAD = 1.2


@dataclass(eq=False, repr=False)
class Hyper:
    """Hyperparameters.

    ``rounding``: variance of rounding, part of the noise; ``prior``: prior precision of a paper, 1 - kappa.
    """

    mu: float
    tau_left: float
    tau_right: float
    g0: float
    g1: float
    omega_square: float
    rho: float
    gamma: float
    rounding: float
    prior: float


@dataclass(eq=False, repr=False)
class State:
    """What a step starts from, and changes in place: the fields of part, sites, nodes, items and gauge in order."""

    # Reviews by reviewer, and their sites
    start: IntArray
    item: CodeArray
    score: FloatArray
    log_weight: FloatArray
    precision: FloatArray
    shift: FloatArray
    # Nodes of each reviewer
    centre: FloatArray
    spread: FloatArray
    noise: FloatArray
    # Papers before the step, and the gauge that sites and nodes have not seen
    item_precision: FloatArray
    item_shift: FloatArray
    gauge_centre: float
    gauge_spread: float


@dataclass(eq=False, repr=False)
class Sums:
    """Sums of the sites by paper."""

    precision: FloatArray
    shift: FloatArray


@dataclass(eq=False, repr=False)
class Columns:
    """The arrays of :class:`lsc._inference.step.Moments`."""

    log_slope: FloatArray
    log_slope_square: FloatArray
    slope: FloatArray
    slope_square: FloatArray
    offset: FloatArray
    offset_square: FloatArray
    product: FloatArray
    below: FloatArray
    below_sum: FloatArray
    below_square: FloatArray
    squares: FloatArray
    information: FloatArray
    rho: FloatArray
    rho_curvature: FloatArray
    gamma: FloatArray
    gamma_curvature: FloatArray
    evidence: FloatArray


@dataclass(eq=False, repr=False)
class Work:
    """Workspace for one reviewer, in the header arrays of fixed size by node, which the compiler knows apart."""

    # By review; ``cavity`` is the precision of a cavity
    score: FloatArray
    factor: FloatArray
    cavity: FloatArray
    cavity_mean: FloatArray
    cavity_variance: FloatArray
    # By review and node: W, and r, which is W (r - B) once B is known
    weight: FloatArray
    residual: FloatArray
    # By node; ``mean`` and ``variance`` are B and 1 / P of the offset
    log_slope: FloatArray
    slope: FloatArray
    noise: FloatArray
    share: FloatArray
    mean: FloatArray
    variance: FloatArray
    # These two sum up a density, and are then share times slope, and times its square
    exponent: FloatArray
    product: FloatArray
    # Sums over reviews, see :func:`tilt_papers`
    squares: FloatArray
    information: FloatArray
    trace: FloatArray
    # Terms of sums
    of_mean: FloatArray
    of_noise: FloatArray
    of_slope: FloatArray
    of_ratio: FloatArray


def workspace(load: int) -> Work:
    """Allocate a workspace for reviewers of up to ``load`` reviews."""
    return Work(*np.zeros((5, load)), *np.zeros((2, load, PADDED)), *np.zeros((15, PADDED)))


def summed(term: FloatArray) -> float:
    """Sum of terms by node, which are overwritten: four lanes, then these in pairs."""
    for lane in range(LANES):
        term[lane] += term[lane + LANES] + term[lane + 2 * LANES]
    total: float = (term[0] + term[2]) + (term[1] + term[3])
    return total


def read_reviewer(work: Work, state: State, hyper: Hyper, first: int, k: int) -> float:
    """Copy scores, cavities and weights of a reviewer; return the potential of the cavities less that of the papers.

    The potential of N(h / p, 1 / p) is 1/2 (h^2 / p - log p).
    """
    potential = 0.0
    ratio = 1.0
    weighted = len(state.log_weight) > 0
    for i in range(k):
        at = first + i
        paper = state.item[at]
        precision = state.precision[at] * state.gauge_spread * state.gauge_spread
        shift = (state.shift[at] - state.precision[at] * state.gauge_centre) * state.gauge_spread
        total = state.item_precision[paper]
        pull = state.item_shift[paper]
        cavity = max(total - precision, LEAST_CAVITY * hyper.prior)
        variance = 1.0 / cavity
        mean = (pull - shift) * variance
        work.score[i] = state.score[at]
        work.cavity[i] = cavity
        work.cavity_mean[i] = mean
        work.cavity_variance[i] = variance
        work.factor[i] = 1.0
        if weighted:
            work.factor[i] = exp(-hyper.gamma * state.log_weight[at])
        potential += (pull - shift) * mean - pull * pull / total
        ratio *= total * variance
        if i % PRODUCT == PRODUCT - 1:
            potential += log(ratio)
            ratio = 1.0
    return 0.5 * (potential + log(ratio))


def place_nodes(work: Work, hyper: Hyper, centre: float, spread: float, noise: float) -> None:
    """Write log slopes, slopes, noise and log density of each node, which are evenly spaced."""
    constant = log(2.0 * SPACING * spread / ((hyper.tau_left + hyper.tau_right) * sqrt(2.0 * pi)))
    by_left = 0.5 / (hyper.tau_left * hyper.tau_left)
    by_right = 0.5 / (hyper.tau_right * hyper.tau_right)
    lowest = centre - REACH * spread
    slope = exp(lowest)
    level = noise * exp(2.0 * hyper.rho * (lowest - hyper.mu))
    steeper = exp(SPACING * spread)
    noisier = exp(2.0 * hyper.rho * SPACING * spread)
    for g in range(PADDED):
        work.slope[g] = slope
        work.noise[g] = level
        slope *= steeper
        level *= noisier
    for g in range(PADDED):
        log_slope = lowest + g * SPACING * spread
        deviation = log_slope - hyper.mu
        work.log_slope[g] = log_slope
        work.share[g] = constant - (by_left if deviation < 0.0 else by_right) * deviation * deviation


def weigh_nodes(work: Work, hyper: Hyper, k: int) -> float:
    """Integrate papers and offset at each node; log densities become probabilities. Return the log evidence."""
    prior = 1.0 / hyper.omega_square
    for g in range(PADDED):
        work.variance[g] = prior
        work.mean[g] = prior * (hyper.g0 + hyper.g1 * work.slope[g])
        work.product[g] = hyper.omega_square
        work.exponent[g] = 0.0

    # Precision and mean of the offset, and the product of all variances, whose root normalises.
    for i in range(k):
        score = work.score[i]
        factor = work.factor[i]
        cavity_mean = work.cavity_mean[i]
        cavity_variance = work.cavity_variance[i]
        for g in range(PADDED):
            variance = work.slope[g] * work.slope[g] * cavity_variance + work.noise[g] * factor + hyper.rounding
            weight = 1.0 / variance
            residual = score - work.slope[g] * cavity_mean
            work.weight[i, g] = weight
            work.residual[i, g] = residual
            work.variance[g] += weight
            work.mean[g] += weight * residual
            work.product[g] *= variance
        if i % PRODUCT == PRODUCT - 1:
            for g in range(NODES):
                work.exponent[g] += log(work.product[g])
            for g in range(PADDED):
                work.product[g] = 1.0
    for g in range(PADDED):
        work.product[g] = sqrt(work.product[g] * work.variance[g])
        work.variance[g] = 1.0 / work.variance[g]
        work.mean[g] *= work.variance[g]

    # Squares about the mean of the offset; residuals become W (r - B).
    for g in range(PADDED):
        deviation = work.mean[g] - hyper.g0 - hyper.g1 * work.slope[g]
        work.exponent[g] += prior * deviation * deviation
    for i in range(k):
        for g in range(PADDED):
            deviation = work.residual[i, g] - work.mean[g]
            residual = work.weight[i, g] * deviation
            work.residual[i, g] = residual
            work.exponent[g] += residual * deviation

    # The root of the product, which has few factors left, divides the densities once they are scaled.
    top: float = work.share[0] - 0.5 * work.exponent[0]
    for g in range(NODES):
        work.share[g] -= 0.5 * work.exponent[g]
        top = max(top, work.share[g])
    for g in range(NODES):
        work.share[g] = exp(work.share[g] - top)
    for g in range(NODES, PADDED):
        work.share[g] = 0.0
    total = 0.0
    for g in range(PADDED):
        work.share[g] /= work.product[g]
        total += work.share[g]
    for g in range(PADDED):
        work.share[g] /= total
    return top + log(total) - 0.5 * log(2.0 * pi) * k


def tilt_papers(
    work: Work, state: State, hyper: Hyper, damping: float, sums: Sums, moments: Columns, first: int, k: int, j: int
) -> None:
    """Divide the tilted moments of papers by their cavities; move the sites, and add them up by paper.

    The expected square of the noise without rounding, relative to its variance s, is 1 - s W + s Q with
    Q = (W (r - B))^2 + W^2 / P. Its sums by node go to the workspace, and twice the Fisher information on log s: with
    V^-1 = diag(W) - W W' / P it is tr (s V^-1)^2 = sum (s W)^2 (1 - 2 W / P) + (sum s W^2 / P)^2, the last sum in
    ``trace``.
    """
    by_weight = 0.0
    by_weight_square = 0.0
    weighted = len(state.log_weight) > 0
    for g in range(PADDED):
        work.squares[g] = 0.0
        work.information[g] = 0.0
        work.trace[g] = 0.0
        work.exponent[g] = work.share[g] * work.slope[g]
        work.product[g] = work.share[g] * work.slope[g] * work.slope[g]
    for i in range(k):
        factor = work.factor[i]
        for g in range(PADDED):
            weight = work.weight[i, g]
            residual = work.residual[i, g]
            in_offset = weight * work.variance[g]
            squares = weight * in_offset + residual * residual
            noise = work.noise[g] * factor
            relative = noise * weight
            ratio = 1.0 - relative + noise * squares
            work.of_mean[g] = work.exponent[g] * residual
            work.of_noise[g] = work.share[g] * (relative + hyper.rounding * weight)
            work.of_slope[g] = work.product[g] * squares
            work.of_ratio[g] = work.share[g] * ratio
            work.squares[g] += ratio
            work.information[g] += relative * relative * (1.0 - 2.0 * in_offset)
            work.trace[g] += relative * in_offset
        v = work.cavity_variance[i]
        mean = v * summed(work.of_mean)
        variance = max(v * (summed(work.of_noise) + v * summed(work.of_slope)) - mean * mean, 1e-9 * v)
        precision = min(max(1.0 / variance - work.cavity[i], LEAST_PRECISION), MOST_PRECISION)
        shift = mean * work.cavity[i] + (work.cavity_mean[i] + mean) * precision
        at = first + i
        old_precision = state.precision[at] * state.gauge_spread * state.gauge_spread
        old_shift = (state.shift[at] - state.precision[at] * state.gauge_centre) * state.gauge_spread
        precision = old_precision + damping * (precision - old_precision)
        shift = old_shift + damping * (shift - old_shift)
        state.precision[at] = precision
        state.shift[at] = shift
        paper = state.item[at]
        sums.precision[paper] += precision
        sums.shift[paper] += shift
        if weighted:
            log_weight = state.log_weight[at]
            ratio = summed(work.of_ratio)
            by_weight -= (ratio - 1.0) * log_weight
            by_weight_square += ratio * log_weight * log_weight
    moments.gamma[j] = by_weight
    moments.gamma_curvature[j] = by_weight_square


def write_moments(work: Work, hyper: Hyper, noise: float, moments: Columns, k: int, j: int) -> None:
    """Write the posterior moments of a reviewer."""
    log_slope = 0.0
    log_slope_square = 0.0
    slope = 0.0
    slope_square = 0.0
    offset = 0.0
    offset_square = 0.0
    product = 0.0
    below = 0.0
    below_sum = 0.0
    below_square = 0.0
    squares = 0.0
    information = 0.0
    rho = 0.0
    curvature = 0.0
    # A node represents a range of slopes. If the mode is in that range, a part of the node's share is below the mode.
    width = work.log_slope[1] - work.log_slope[0]
    for g in range(NODES):
        share = work.share[g]
        a = work.slope[g]
        b = work.mean[g]
        deviation = work.log_slope[g] - hyper.mu
        log_slope += share * work.log_slope[g]
        log_slope_square += share * work.log_slope[g] * work.log_slope[g]
        slope += share * a
        slope_square += share * a * a
        offset += share * b
        offset_square += share * (b * b + work.variance[g])
        product += share * a * b
        lower = share * min(max(0.5 - deviation / width, 0.0), 1.0)
        below += lower
        below_sum += lower * work.log_slope[g]
        below_square += lower * deviation * deviation
        squares += share * work.squares[g]
        information += share * (work.information[g] + work.trace[g] * work.trace[g])
        rho += share * (work.squares[g] - k) * deviation
        curvature += share * 2.0 * work.squares[g] * deviation * deviation
    moments.log_slope[j] = log_slope
    moments.log_slope_square[j] = log_slope_square
    moments.slope[j] = slope
    moments.slope_square[j] = slope_square
    moments.offset[j] = offset
    moments.offset_square[j] = offset_square
    moments.product[j] = product
    moments.below[j] = below
    moments.below_sum[j] = below_sum
    moments.below_square[j] = below_square
    moments.squares[j] = squares * noise
    moments.information[j] = information
    moments.rho[j] = rho
    moments.rho_curvature[j] = curvature


def step_reviewers(
    part: Part,
    sites: Sites,
    nodes: Nodes,
    items: Items,
    hyper: Hyper,
    gauge: Gauge,
    damping: float,
    sums: Items,
    moments: Moments,
) -> None:
    """Update sites and nodes of all reviewers of a part, from the papers before the step; add the sites to ``sums``."""
    state = State(*part, *sites[:2], *nodes, *items, *gauge)
    totals = Sums(*sums)
    columns = Columns(*moments)
    work = workspace(np.diff(part.start).max(initial=0))
    with cython.nogil:
        moved = log(state.gauge_spread)
        for j in range(len(state.start) - 1):
            heed(j)
            first = state.start[j]
            k = state.start[j + 1] - first
            if k == 0:
                continue
            potential = read_reviewer(work, state, hyper, first, k)
            centre = state.centre[j] + moved
            place_nodes(work, hyper, centre, state.spread[j], state.noise[j])
            columns.evidence[j] = weigh_nodes(work, hyper, k) + potential
            tilt_papers(work, state, hyper, damping, totals, columns, first, k, j)
            write_moments(work, hyper, state.noise[j], columns, k, j)
            # The next nodes lie around the posterior of the slope, wide enough to reach as far again as it has moved.
            log_slope = columns.log_slope[j]
            variance = columns.log_slope_square[j] - log_slope * log_slope
            lag = 0.5 * (log_slope - centre)
            spread = sqrt(max(variance, lag * lag))
            state.centre[j] = log_slope
            state.spread[j] = min(max(spread, LEAST_SPREAD), MOST_SPREAD)


def describe_reviewers(
    part: Part, sites: Sites, nodes: Nodes, items: Items, hyper: Hyper, gauge: Gauge, at: Quadrature
) -> None:
    """Write what is known of each reviewer with reviews at the nodes."""
    state = State(*part, *sites[:2], *nodes, *items, *gauge)
    work = workspace(np.diff(part.start).max(initial=0))
    share = at.share
    slope = at.slope
    noise = at.noise
    offset = at.offset
    offset_variance = at.offset_variance
    with cython.nogil:
        for j in range(len(state.start) - 1):
            first = state.start[j]
            k = state.start[j + 1] - first
            if k == 0:
                continue
            read_reviewer(work, state, hyper, first, k)
            place_nodes(work, hyper, state.centre[j], state.spread[j], state.noise[j])
            weigh_nodes(work, hyper, k)
            for g in range(NODES):
                share[j, g] = work.share[g]
                slope[j, g] = work.slope[g]
                noise[j, g] = work.noise[g]
                offset[j, g] = work.mean[g]
                offset_variance[j, g] = work.variance[g]
