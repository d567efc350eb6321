"""The Newton system where all reviewers are linear: conjugate gradients by passes over the reviews."""

from __future__ import annotations

import numpy as np

from lsc.model.shapes import LINEAR
from lsc.solver.tables import ELEMENT, Common, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.reviews import BoolArray, FloatArray

#: Reviewers whose items are looked up together, and the number of items from which that pays.
TOGETHER, FAR = 16, 200_000


def _common_line(common: Common, x: FloatArray, gradient: FloatArray) -> tuple[float, bool]:
    """Squared distance of all qualities from one line in the raw scores, and whether its slope is free.

    ::

        T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper

    Writes half the gradient. O(N).
    """
    # The best line, its slope clipped; scores are centred, so mean and slope do not mix.
    mean, slope = 0.0, 0.0
    for i in range(len(x)):
        mean += common.degree[i] * x[i]
        slope += common.tilt[i] * x[i]
    mean /= common.reviews
    moment = slope
    slope = slope / common.spread if common.spread > 0.0 else common.lower
    free = common.spread > 0.0 and common.lower < slope < common.upper
    slope = min(max(slope, common.lower), common.upper)
    # Squares and gradient: sum of squares about the mean less what the slope explains.
    distance = slope * (slope * common.spread - 2.0 * moment)
    for i in range(len(x)):
        distance += common.degree[i] * (x[i] - mean) * (x[i] - mean)
        gradient[i] = common.degree[i] * (x[i] - mean) - slope * common.tilt[i]
    return distance, free


common_line = Kernel(_common_line, element=ELEMENT)


@kernel
def common_diagonal(common: Common, common_free: bool, common_weight: float, diagonal: FloatArray) -> None:
    """Write the diagonal of the common line's part: identity minus a projector of rank one or two."""
    for i in range(len(diagonal)):
        diagonal[i] = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
        if common_free:
            diagonal[i] -= common.tilt[i] * common.tilt[i] / common.spread
        diagonal[i] *= common_weight


@kernel
def add_diagonal(table: Table, sloped: BoolArray, diagonal: FloatArray) -> None:
    """Add that of each reviewer: 1 - 1 / k_j, less the square of the unit score where her slope is free."""
    starts, item, _, unit, _, kinds, _, _, _ = table
    for j in range(len(kinds)):
        if kinds[j] != LINEAR:
            continue
        share, bent = 1.0 - 1.0 / (starts[j + 1] - starts[j]), 1.0 if sloped[j] else 0.0
        for r in range(starts[j], starts[j + 1]):
            diagonal[item[r]] += share - bent * unit[r] * unit[r]


@kernel
def multiply_lines(table: Table, sloped: BoolArray, pair: FloatArray) -> float:
    """Add the product of ``pair[:, 0]`` with identity minus the projectors on lines to ``pair[:, 1]``.

    Returns the inner product of both. One vector beside the other: an item's two numbers are in one cache line.
    """
    starts, item, _, unit, _, kinds, _, _, _ = table
    total = 0.0
    for j in range(len(kinds)):
        if kinds[j] != LINEAR:
            continue
        start, end = starts[j], starts[j + 1]
        mean, slope = 0.0, 0.0
        for r in range(start, end):
            value = pair[item[r], 0]
            mean += value
            slope += unit[r] * value
        mean /= end - start
        if not sloped[j]:
            slope = 0.0
        for r in range(start, end):
            i = item[r]
            gap = pair[i, 0] - mean - slope * unit[r]
            pair[i, 1] += gap
            total += gap * gap
    return total


@kernel
def multiply_far_lines(table: Table, sloped: BoolArray, pair: FloatArray) -> float:
    """Do what :func:`multiply_lines` does, where items are too many for the processor's cache.

    The items of several reviewers are looked up at once: a processor waits for many far places in memory together.
    """
    starts, item, _, unit, _, kinds, _, _, _ = table
    total, reviewers, longest = 0.0, len(kinds), 0
    for j in range(0, reviewers, TOGETHER):
        # Room for the items of as many reviewers as are looked up together.
        longest = max(longest, starts[min(j + TOGETHER, reviewers)] - starts[j])
    near = np.empty(longest)
    for first in range(0, reviewers, TOGETHER):
        last, base = min(first + TOGETHER, reviewers), starts[first]
        for r in range(base, starts[last]):
            # Nothing here depends on the value before: these reads wait together.
            near[r - base] = pair[item[r], 0]
        for j in range(first, last):
            if kinds[j] != LINEAR:
                continue
            start, end = starts[j], starts[j + 1]
            # From here on as in multiply_lines, from near memory.
            mean, slope = 0.0, 0.0
            for r in range(start, end):
                value = near[r - base]
                mean += value
                slope += unit[r] * value
            mean /= end - start
            if not sloped[j]:
                slope = 0.0
            for r in range(start, end):
                gap = near[r - base] - mean - slope * unit[r]
                pair[item[r], 1] += gap
                total += gap * gap
    return total


@kernel
def rooms(vectors: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Divide room of shape (4n,) into pairs of a direction and its image, inverse diagonal and residual."""
    return vectors[: 2 * n].reshape((n, 2)), vectors[2 * n : 3 * n], vectors[3 * n :]


@kernel
def begin_descent(
    fixed: BoolArray,
    gradient: FloatArray,
    direction: FloatArray,
    inverse: FloatArray,
    residual: FloatArray,
    pair: FloatArray,
) -> float:
    """Begin conjugate gradients at 0 with the diagonal in ``inverse``; returns the square of the residual's norm.

    The residual is the gradient turned round, entries of fixed items stay 0; a diagonal that vanishes counts as 1.
    """
    rho = 0.0
    for i in range(len(gradient)):
        inverse[i] = 0.0 if fixed[i] else (1.0 / inverse[i] if inverse[i] > 0.0 else 1.0)
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i], pair[i, 0] = 0.0, 0.0
        rho += residual[i] * inverse[i] * residual[i]
    return rho


@kernel
def aim(
    common: Common,
    common_free: bool,
    common_weight: float,
    beta: float,
    inverse: FloatArray,
    residual: FloatArray,
    pair: FloatArray,
) -> tuple[float, float, float]:
    """Write the next direction, and the diagonal part of its image under the common line's part.

    Returns the curvature along it so far, and what the part of rank two multiplies degrees and tilts by.
    """
    curvature, mean, slope = 0.0, 0.0, 0.0
    slope_weight = common_weight / common.spread if common_free else 0.0
    for i in range(len(residual)):
        value = inverse[i] * residual[i] + beta * pair[i, 0]
        part = common.degree[i] * value
        pair[i, 0], pair[i, 1] = value, common_weight * part
        mean += part
        slope += common.tilt[i] * value
        curvature += part * value
    mean /= common.reviews
    curvature = common_weight * (curvature - mean * mean * common.reviews) - slope_weight * slope * slope
    return curvature, common_weight * mean, slope_weight * slope


@kernel
def advance(
    common: Common,
    alpha: float,
    mean: float,
    slope: float,
    inverse: FloatArray,
    residual: FloatArray,
    pair: FloatArray,
    direction: FloatArray,
) -> float:
    """Step to the minimum along the direction; returns the square of the new residual's norm."""
    fresh = 0.0
    for i in range(len(residual)):
        direction[i] += alpha * pair[i, 0]
        left = residual[i] - alpha * (pair[i, 1] - mean * common.degree[i] - slope * common.tilt[i])
        residual[i] = left
        fresh += left * left * inverse[i]
    return fresh


def _lines_direction(
    table: Table,
    sloped: BoolArray,
    common: Common,
    common_free: bool,
    common_weight: float,
    fixed: BoolArray,
    gradient: FloatArray,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
    vectors: FloatArray,
) -> tuple[int, float]:
    """Solve the Newton system of linear reviewers by conjugate gradients, preconditioned with its diagonal.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E). ``vectors`` is room, of shape (4N,).
    """
    n = len(gradient)
    pair, inverse, residual = rooms(vectors, n)
    common_diagonal(common, common_free, common_weight, inverse)
    add_diagonal(table, sloped, inverse)
    rho, beta, step = begin_descent(fixed, gradient, direction, inverse, residual, pair), 0.0, 0
    while step < max_steps and rho > tolerance * tolerance:
        curvature, mean, slope = aim(common, common_free, common_weight, beta, inverse, residual, pair)
        if n > FAR:
            curvature += multiply_far_lines(table, sloped, pair)
        else:
            curvature += multiply_lines(table, sloped, pair)
        if curvature <= 0.0:
            break
        fresh = advance(common, rho / curvature, mean, slope, inverse, residual, pair, direction)
        beta, rho = fresh / rho, fresh
        step += 1
    return step, np.sqrt(rho)


lines_direction = Kernel(_lines_direction, element=ELEMENT)
