"""The step of expectation propagation for one reviewer, compiled.

::

    y_e   = b_j + a_j x_i + e,     e ~ N(0, s_j^2 exp(2 rho (log a_j - mu)) u_e^-gamma)
    log a ~ two-piece normal, mode mu, scales tau_left and tau_right;   b | a ~ N(g0 + g1 a, omega^2)

Given the slope a the model is linear and normal, so papers and offset are integrated out in closed form; the slope is
integrated on nodes around its posterior. With the cavity N(m, v) of each paper, noise variance s at a node, and
W = 1 / (a^2 v + s), r = y - a m, the offset given the node has precision P = 1 / omega^2 + sum W and mean
B = ((g0 + g1 a) / omega^2 + sum W r) / P. The tilted mean of a paper is m + v a W (r - B), its second central moment
at the node v (s W + a^2 v W^2 / P) + (v a W (r - B))^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from reviewgraph._base import CodeArray, FloatArray, IntArray
from reviewgraph.graph import kernel

#: Half the width of 90 % intervals in standard deviations.
WIDTH = 1.6448536269514722
#: Nodes of the log slope: number, distance of the outer ones from the centre and spacing, in spreads.
NODES = 11
REACH = 4.0
SPACING = 2 * REACH / (NODES - 1)
#: Factors of a product before its logarithm is taken: the product stays within the range of numbers.
PRODUCT = 8
#: Bounds of site precisions; least share of the prior precision that a cavity keeps.
LEAST_PRECISION = 1e-8
MOST_PRECISION = 1e6
LEAST_CAVITY = 0.05
#: Bounds of the spread of the nodes.
LEAST_SPREAD = 0.02
MOST_SPREAD = 1.2
#: Seconds per review in plain Python.
ELEMENT = 50e-6


class Part(NamedTuple):
    """Reviews of some of the reviewers, sorted by reviewer.

    ``start`` (m + 1,): first review of each reviewer; ``item``, ``score`` (E,): code of the paper and standardised
    score; ``log_weight`` (E,): standardised logarithm of the weight, or empty.
    """

    start: IntArray
    item: CodeArray
    score: FloatArray
    log_weight: FloatArray


class Sites(NamedTuple):
    """Site parameters of reviews, shapes (E,); those of the similarity of papers are empty where there is none."""

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray


class Nodes(NamedTuple):
    """Of each reviewer, shapes (m,): centre and spread of the nodes, noise variance, and expected offset."""

    centre: FloatArray
    spread: FloatArray
    noise: FloatArray
    offset: FloatArray


class Moments(NamedTuple):
    """Posterior moments of each reviewer, shapes (m,); 0 before a step.

    ``log_slope``, ``slope``, ``offset`` and their squares, and ``product``, of slope and offset; ``below``,
    ``below_sum``, ``below_square``: probability of a log slope below the mode, and there its expectation and squared
    distance from the mode; ``squares``: expected sum of squared residuals, in units of the noise of the node and weight
    relative to that of the reviewer; ``information``: what they say about the log of the noise, as a number of scores.
    ``rho``, ``rho_curvature``, ``gamma``, ``gamma_curvature``: derivatives of the expected log density by the exponents
    of the noise, for gamma twice; ``evidence``: log evidence of the scores given the cavities, with the potentials of
    these.
    """

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


class Quadrature(NamedTuple):
    """Reviewers at their nodes, shapes (m, G): probability, slope, noise variance, mean and variance of the offset."""

    share: FloatArray
    slope: FloatArray
    noise: FloatArray
    offset: FloatArray
    offset_variance: FloatArray


class Hyper(NamedTuple):
    """Hyperparameters as kernels take them.

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


class Gauge(NamedTuple):
    """A change of the scale of qualities to ``(x - centre) / spread`` that sites and nodes have not seen yet."""

    centre: float = 0.0
    spread: float = 1.0


class Items(NamedTuple):
    """Precision and shift of the posterior of each paper, shapes (N,), after the gauge."""

    precision: FloatArray
    shift: FloatArray


class Work(NamedTuple):
    """Workspace for one reviewer: by node, (G,), by review, (k,), and by both, (k, G).

    ``mean`` and ``variance`` are B and 1 / P of the offset, ``weight`` W. ``residual`` is r, and W (r - B) once B is
    known; ``exponent`` and ``product`` sum up a density, and are then share times slope, and times its square.
    """

    log_slope: FloatArray
    slope: FloatArray
    noise: FloatArray
    share: FloatArray
    mean: FloatArray
    variance: FloatArray
    exponent: FloatArray
    product: FloatArray
    squares: FloatArray
    information: FloatArray
    trace: FloatArray
    score: FloatArray
    cavity_mean: FloatArray
    cavity_variance: FloatArray
    factor: FloatArray
    weight: FloatArray
    residual: FloatArray


def workspace(load: int) -> Work:
    """Return a workspace for reviewers of up to ``load`` reviews."""
    by_node = np.zeros((11, NODES))
    by_review = np.zeros((4, load))
    by_both = np.zeros((2, load, NODES))
    return Work(*by_node, *by_review, *by_both)


@kernel(element=ELEMENT, vectorised=True)
def read_reviewer(
    work: Work, part: Part, sites: Sites, items: Items, gauge: Gauge, hyper: Hyper, offset: float, first: int, k: int
) -> float:
    """Copy scores, cavities and weights of a reviewer; return the potential of the cavities less that of the papers.

    The potential of N(h / p, 1 / p) is 1/2 (h^2 / p - log p).
    """
    potential = 0.0
    ratio = 1.0
    for i in range(k):
        at = first + i
        paper = part.item[at]
        precision = sites.precision[at] * gauge.spread * gauge.spread
        shift = (sites.shift[at] - sites.precision[at] * gauge.centre) * gauge.spread
        total = items.precision[paper]
        cavity = max(total - precision, LEAST_CAVITY * hyper.prior)
        pull = items.shift[paper] - shift
        work.score[i] = part.score[at] - offset
        work.cavity_mean[i] = pull / cavity
        work.cavity_variance[i] = 1.0 / cavity
        work.factor[i] = 1.0
        if len(part.log_weight) > 0:
            work.factor[i] = math.exp(-hyper.gamma * part.log_weight[at])
        potential += pull * pull / cavity - items.shift[paper] * items.shift[paper] / total
        ratio *= total / cavity
        if i % PRODUCT == PRODUCT - 1:
            potential += math.log(ratio)
            ratio = 1.0
    return 0.5 * (potential + math.log(ratio))


@kernel(element=ELEMENT, vectorised=True)
def place_nodes(work: Work, hyper: Hyper, centre: float, spread: float, noise: float) -> None:
    """Write log slopes, slopes, noise and log density of each node, which are evenly spaced."""
    constant = math.log(2.0 * SPACING * spread / ((hyper.tau_left + hyper.tau_right) * math.sqrt(2.0 * math.pi)))
    by_left = 0.5 / (hyper.tau_left * hyper.tau_left)
    by_right = 0.5 / (hyper.tau_right * hyper.tau_right)
    lowest = centre - REACH * spread
    slope = math.exp(lowest)
    level = noise * math.exp(2.0 * hyper.rho * (lowest - hyper.mu))
    steeper = math.exp(SPACING * spread)
    noisier = math.exp(2.0 * hyper.rho * SPACING * spread)
    for g in range(NODES):
        work.slope[g] = slope
        work.noise[g] = level
        slope *= steeper
        level *= noisier
    for g in range(NODES):
        log_slope = lowest + g * SPACING * spread
        deviation = log_slope - hyper.mu
        work.log_slope[g] = log_slope
        work.share[g] = constant - (by_left if deviation < 0.0 else by_right) * deviation * deviation


@kernel(element=ELEMENT, vectorised=True)
def weigh_nodes(work: Work, hyper: Hyper, k: int) -> float:
    """Integrate papers and offset at each node; log densities become probabilities. Return the log evidence."""
    prior = 1.0 / hyper.omega_square
    precision = work.variance
    mean = work.mean
    for g in range(NODES):
        precision[g] = prior
        mean[g] = prior * (hyper.g0 + hyper.g1 * work.slope[g])
        work.product[g] = hyper.omega_square
        work.exponent[g] = 0.0

    # Precision and mean of the offset, and the product of all variances, whose root normalises.
    for i in range(k):
        weight = work.weight[i]
        residual = work.residual[i]
        for g in range(NODES):
            total = work.slope[g] * work.slope[g] * work.cavity_variance[i]
            total += work.noise[g] * work.factor[i] + hyper.rounding
            weight[g] = 1.0 / total
            residual[g] = work.score[i] - work.slope[g] * work.cavity_mean[i]
            precision[g] += weight[g]
            mean[g] += weight[g] * residual[g]
            work.product[g] *= total
        if i % PRODUCT == PRODUCT - 1:
            for g in range(NODES):
                work.exponent[g] += math.log(work.product[g])
                work.product[g] = 1.0
    for g in range(NODES):
        work.product[g] = math.log(work.product[g] * precision[g])
        work.variance[g] = 1.0 / precision[g]
        mean[g] *= work.variance[g]

    # Squares about the mean of the offset; residuals become W (r - B).
    for g in range(NODES):
        deviation = mean[g] - hyper.g0 - hyper.g1 * work.slope[g]
        work.exponent[g] += work.product[g] + prior * deviation * deviation
    for i in range(k):
        weight = work.weight[i]
        residual = work.residual[i]
        for g in range(NODES):
            deviation = residual[g] - mean[g]
            residual[g] = weight[g] * deviation
            work.exponent[g] += residual[g] * deviation

    top = -math.inf
    for g in range(NODES):
        work.share[g] -= 0.5 * work.exponent[g]
        top = max(top, work.share[g])
    total_share = 0.0
    for g in range(NODES):
        work.share[g] = math.exp(work.share[g] - top)
        total_share += work.share[g]
    for g in range(NODES):
        work.share[g] /= total_share
    return float(top + math.log(total_share) - 0.5 * math.log(2.0 * math.pi) * k)


@kernel(element=ELEMENT, vectorised=True)
def tilt_papers(
    work: Work,
    part: Part,
    sites: Sites,
    gauge: Gauge,
    hyper: Hyper,
    damping: float,
    sums: Items,
    moments: Moments,
    first: int,
    k: int,
    j: int,
) -> None:
    """Divide the tilted moments of papers by their cavities; move the sites, and add them up by paper.

    The expected square of the noise without rounding, relative to its variance s, is 1 - s W + s Q with
    Q = (W (r - B))^2 + W^2 / P. Its sums by node go to the workspace, and twice the Fisher information on log s: with
    V^-1 = diag(W) - W W' / P it is tr (s V^-1)^2 = sum (s W)^2 (1 - 2 W / P) + (sum s W^2 / P)^2, the last sum in
    ``trace``.
    """
    by_weight = 0.0
    by_weight_square = 0.0
    for g in range(NODES):
        work.squares[g] = 0.0
        work.information[g] = 0.0
        work.trace[g] = 0.0
        work.exponent[g] = work.share[g] * work.slope[g]
        work.product[g] = work.share[g] * work.slope[g] * work.slope[g]
    for i in range(k):
        weight = work.weight[i]
        residual = work.residual[i]
        v = work.cavity_variance[i]
        factor = work.factor[i]
        mean = 0.0
        by_noise = 0.0
        by_slope = 0.0
        of_review = 0.0
        for g in range(NODES):
            in_offset = weight[g] * work.variance[g]
            squares = weight[g] * in_offset + residual[g] * residual[g]
            noise = work.noise[g] * factor
            relative = noise * weight[g]
            ratio = 1.0 - relative + noise * squares
            mean += work.exponent[g] * residual[g]
            by_noise += work.share[g] * (relative + hyper.rounding * weight[g])
            by_slope += work.product[g] * squares
            of_review += work.share[g] * ratio
            work.squares[g] += ratio
            work.information[g] += relative * relative * (1.0 - 2.0 * in_offset)
            work.trace[g] += relative * in_offset
        mean *= v
        variance = max(v * (by_noise + v * by_slope) - mean * mean, 1e-9 * v)
        precision = min(max(1.0 / variance - 1.0 / v, LEAST_PRECISION), MOST_PRECISION)
        shift = mean / v + (work.cavity_mean[i] + mean) * precision
        at = first + i
        old_precision = sites.precision[at] * gauge.spread * gauge.spread
        old_shift = (sites.shift[at] - sites.precision[at] * gauge.centre) * gauge.spread
        precision = old_precision + damping * (precision - old_precision)
        shift = old_shift + damping * (shift - old_shift)
        sites.precision[at] = precision
        sites.shift[at] = shift
        paper = part.item[at]
        sums.precision[paper] += precision
        sums.shift[paper] += shift
        if len(part.log_weight) > 0:
            log_weight = part.log_weight[at]
            by_weight -= (of_review - 1.0) * log_weight
            by_weight_square += of_review * log_weight * log_weight
    moments.gamma[j] = by_weight
    moments.gamma_curvature[j] = by_weight_square


@kernel(element=ELEMENT, vectorised=True)
def write_moments(work: Work, hyper: Hyper, noise: float, moments: Moments, k: int, j: int) -> None:
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
    # A node stands for the slopes around it: where the mode is among them it is below the mode in part.
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


@kernel(element=ELEMENT)
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
    work: Work,
) -> None:
    """Update sites and nodes of all reviewers of a part, from the papers before the step; add the sites to ``sums``."""
    for j in range(len(part.start) - 1):
        first = part.start[j]
        k = part.start[j + 1] - first
        if k == 0:
            continue
        potential = read_reviewer(work, part, sites, items, gauge, hyper, nodes.offset[j], first, k)
        centre = nodes.centre[j] + math.log(gauge.spread)
        place_nodes(work, hyper, centre, nodes.spread[j], nodes.noise[j])
        moments.evidence[j] = weigh_nodes(work, hyper, k) + potential
        tilt_papers(work, part, sites, gauge, hyper, damping, sums, moments, first, k, j)
        write_moments(work, hyper, nodes.noise[j], moments, k, j)
        # The next nodes lie around the posterior of the slope, wide enough to reach as far again as it has moved.
        variance = moments.log_slope_square[j] - moments.log_slope[j] * moments.log_slope[j]
        lag = 0.5 * (moments.log_slope[j] - centre)
        spread = math.sqrt(max(variance, lag * lag))
        nodes.centre[j] = moments.log_slope[j]
        nodes.spread[j] = min(max(spread, LEAST_SPREAD), MOST_SPREAD)


@kernel(element=ELEMENT)
def describe_reviewers(
    part: Part, sites: Sites, nodes: Nodes, items: Items, hyper: Hyper, gauge: Gauge, at: Quadrature, work: Work
) -> None:
    """Write what is known of each reviewer with reviews at the nodes."""
    for j in range(len(part.start) - 1):
        first = part.start[j]
        k = part.start[j + 1] - first
        if k == 0:
            continue
        read_reviewer(work, part, sites, items, gauge, hyper, nodes.offset[j], first, k)
        place_nodes(work, hyper, nodes.centre[j], nodes.spread[j], nodes.noise[j])
        weigh_nodes(work, hyper, k)
        for g in range(NODES):
            at.share[j, g] = work.share[g]
            at.slope[j, g] = work.slope[g]
            at.noise[j, g] = work.noise[g]
            at.offset[j, g] = work.mean[g]
            at.offset_variance[j, g] = work.variance[g]
