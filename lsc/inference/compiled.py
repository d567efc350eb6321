"""The step of :mod:`lsc.inference.scale_users` for large tables: one reviewer after another, compiled.

What whole-array steps read and write many times over stays in registers and the nearest cache here, and nothing has to
wait for Python, so that two threads share the work. Both forms give the same answers but for rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lsc.inference.model import (
    G0,
    G1,
    LOG_OMEGA,
    LOG_OWN,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    MU,
    NU,
    RHO,
    SIZE,
)
from lsc.inference.scale_users import PRODUCT, REACH, SPACING
from reviewgraph.kernels.compiling import kernel
from reviewgraph.reviews import FloatArray

#: Nodes of the slope, and of own noise at each, beside the middle: sqrt 3 spreads off.
LINE, OWN = round(2 * REACH / SPACING) + 1, 3
ROOT = math.sqrt(3.0)
#: What plain Python takes for a review.
ELEMENT = 60e-6


class Law(NamedTuple):
    """Hyperparameters as kernels take them, and which: ``rows`` is 1, or 3 with a noise of her own."""

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


class Room(NamedTuple):
    """Where one reviewer is worked on: by review, shapes (k,), by node, (G,), and by both, (G, k)."""

    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    moved: FloatArray
    square: FloatArray
    log_slope: FloatArray
    log_own: FloatArray
    slope: FloatArray
    noise: FloatArray
    share: FloatArray
    precision: FloatArray
    middle: FloatArray
    weight: FloatArray
    told: FloatArray
    gradient: FloatArray


def law_of(theta: FloatArray, rounding: float, *, own: bool) -> Law:
    """Return hyperparameters as kernels take them."""
    left, right, omega_square = np.exp([theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT], 2 * theta[LOG_OMEGA]]).tolist()
    mu, g0, g1, nu, rho, log_own = theta[[MU, G0, G1, NU, RHO, LOG_OWN]].tolist()
    return Law(mu, left, right, g0, g1, omega_square, nu, rho, log_own, rounding, OWN if own else 1)


def room_for(load: int, rows: int) -> Room:
    """Return room for reviewers of so many reviews at most."""
    nodes = rows * LINE
    by_review, by_node, by_both = np.zeros((5, load)), np.zeros((7, nodes)), np.zeros((2, nodes, load))
    rooms: list[FloatArray] = [*by_review, *by_node, *by_both, np.zeros(SIZE)]
    return Room(*rooms)


@kernel(element=ELEMENT)
def place_nodes(room: Room, law: Law, nodes: FloatArray) -> None:
    """Write log slopes, slopes, own noise and noise variances at the nodes, and the log densities into ``share``."""
    centre, spread = nodes[0], nodes[1]
    ratio, noisier = math.exp(SPACING * spread), math.exp(2.0 * law.rho * SPACING * spread)
    constant = math.log(2.0 * SPACING * spread / (math.sqrt(2.0 * math.pi) * (law.left + law.right)))
    for row in range(law.rows):
        level, c = constant, 0.0
        if law.rows > 1:
            own_spread = nodes[3]
            c = nodes[2] + (row - 1) * ROOT * own_spread
            # Hermite's weights over the normal density, which the integrand holds itself.
            part = 2.0 / 3.0 if row == 1 else math.exp(1.5) / 6.0
            level += math.log(part * own_spread) - 0.5 * (c * math.exp(-law.log_own)) ** 2 - law.log_own
        first = centre - REACH * spread
        slope = math.exp(first)
        noise = math.exp(2.0 * (law.nu + law.rho * (first - law.mu)) + c)
        for t in range(LINE):
            g, z = row * LINE + t, first + t * SPACING * spread
            off = z - law.mu
            off /= law.left if off < 0.0 else law.right
            room.log_slope[g], room.log_own[g], room.slope[g], room.noise[g] = z, c, slope, noise
            room.share[g] = level - 0.5 * off * off
            slope *= ratio
            noise *= noisier


@kernel(element=ELEMENT)
def weigh_nodes(room: Room, law: Law, k: int) -> float:
    """Integrate papers and offset out at each node, and turn log densities into shares; returns the log evidence."""
    top, nodes = -math.inf, law.rows * LINE
    for g in range(nodes):
        slope, noise, offset = room.slope[g], room.noise[g] + law.rounding, law.g0 + law.g1 * room.slope[g]
        weight, told = room.weight[g], room.told[g]
        steep, precision, drawn = slope * slope, 1.0 / law.omega_square, offset / law.omega_square
        log_total, product = 0.0, 1.0
        for i in range(k):
            total = steep * room.variance[i] + noise
            apart = room.score[i] - slope * room.mean[i]
            product *= total
            weight[i] = 1.0 / total
            told[i] = apart
            precision += weight[i]
            drawn += weight[i] * apart
            if i % PRODUCT == PRODUCT - 1:
                log_total += math.log(product)
                product = 1.0
        middle = drawn / precision
        squares = (middle - offset) ** 2 / law.omega_square
        for i in range(k):
            apart = told[i] - middle
            told[i] = weight[i] * apart
            squares += told[i] * apart
        log_total += math.log(product * law.omega_square * precision)
        room.share[g] -= 0.5 * (log_total + squares)
        room.precision[g], room.middle[g] = precision, middle
        top = max(top, room.share[g])
    whole = 0.0
    for g in range(nodes):
        room.share[g] = math.exp(room.share[g] - top)
        whole += room.share[g]
    for g in range(nodes):
        room.share[g] /= whole
    return float(top + math.log(whole) - 0.5 * math.log(2.0 * math.pi) * k)


@kernel(element=ELEMENT)
def mix_papers(room: Room, law: Law, k: int) -> None:
    """Write mean and mean square of papers less their cavity means, over these variances."""
    for i in range(k):
        room.moved[i] = room.square[i] = 0.0
    for g in range(law.rows * LINE):
        share, weight, told = room.share[g], room.weight[g], room.told[g]
        rising = share * room.slope[g]
        steep, doubt = rising * room.slope[g], 1.0 / room.precision[g]
        noise = share * (room.noise[g] + law.rounding)
        for i in range(k):
            room.moved[i] += rising * told[i]
            square = weight[i] * weight[i] * doubt + told[i] * told[i]
            room.square[i] += noise * weight[i] + steep * room.variance[i] * square


@kernel(element=ELEMENT)
def moments(room: Room, value: FloatArray, nodes: int) -> tuple[float, float]:
    """Return mean and variance of what stands at the nodes."""
    mean, square = 0.0, 0.0
    for g in range(nodes):
        mean += room.share[g] * value[g]
    for g in range(nodes):
        square += room.share[g] * (value[g] - mean) ** 2
    return mean, square


@kernel(element=ELEMENT)
def differentiate(room: Room, law: Law, k: int) -> None:
    """Write the derivatives of the log evidence by the hyperparameters, as expected derivatives of the log density."""
    gradient, sides = room.gradient, law.left + law.right
    gradient[:] = 0.0
    for g in range(law.rows * LINE):
        share, slope, off = room.share[g], room.slope[g], room.log_slope[g] - law.mu
        weight, told, doubt, pull = room.weight[g], room.told[g], 1.0 / room.precision[g], 0.0
        for i in range(k):
            pull += weight[i] * weight[i] * doubt + told[i] * told[i] - weight[i]
        by_noise = 0.5 * share * room.noise[g] * pull
        side = law.left if off < 0.0 else law.right
        gradient[MU] += share * off / (side * side) - 2.0 * law.rho * by_noise
        gradient[LOG_TAU_LEFT if off < 0.0 else LOG_TAU_RIGHT] += share * (off / side) ** 2
        gap = room.middle[g] - law.g0 - law.g1 * slope
        gradient[G0] += share * gap / law.omega_square
        gradient[G1] += share * gap * slope / law.omega_square
        gradient[LOG_OMEGA] += share * (doubt + gap * gap) / law.omega_square
        gradient[NU] += 2.0 * by_noise
        gradient[RHO] += 2.0 * by_noise * off
        gradient[LOG_OWN] += share * room.log_own[g] ** 2
    gradient[LOG_TAU_LEFT] -= law.left / sides
    gradient[LOG_TAU_RIGHT] -= law.right / sides
    gradient[LOG_OMEGA] -= 1.0
    gradient[LOG_OWN] = gradient[LOG_OWN] * math.exp(-2.0 * law.log_own) - 1.0
