"""The Newton system where all reviewers are linear: conjugate gradients by passes over the reviews."""

from __future__ import annotations

import numpy as np

from lsc.model.hypotheses import LINEAR
from lsc.solver.tables import ELEMENT, Common, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.reviews import BoolArray, FloatArray


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
        squares = 0.0  # summed up by reviewer: one sum over all reviews would wait for each addition
        for r in range(start, end):
            i = item[r]
            gap = pair[i, 0] - mean - slope * unit[r]
            pair[i, 1] += gap
            squares += gap * gap
        total += squares
    return total


@kernel
def begin_descent(
    fixed: BoolArray,
    gradient: FloatArray,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    direction: FloatArray,
    first: int,
    last: int,
) -> float:
    """Begin conjugate gradients at 0 with the diagonal in ``inverse``; returns the square of the residual's norm.

    The residual is the gradient turned round, entries of fixed items stay 0; a diagonal that vanishes counts as 1. This
    kernel, :func:`aim` and :func:`advance` see to the items ``first`` to ``last - 1``.
    """
    rho = 0.0
    for i in range(first, last):
        inverse[i] = 0.0 if fixed[i] else (1.0 / inverse[i] if inverse[i] > 0.0 else 1.0)
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i], heading[i] = 0.0, 0.0
        rho += residual[i] * inverse[i] * residual[i]
    return rho


@kernel
def aim(
    common: Common,
    common_weight: float,
    beta: float,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    image: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float]:
    """Write the next step's heading, and the diagonal part of its image under the common line's part.

    Returns the sums that :func:`common_image` takes.
    """
    squares, mean, slope = 0.0, 0.0, 0.0
    for i in range(first, last):
        value = inverse[i] * residual[i] + beta * heading[i]
        part = common.degree[i] * value
        heading[i], image[i] = value, common_weight * part
        mean += part
        slope += common.tilt[i] * value
        squares += part * value
    return squares, mean, slope


@kernel
def common_image(
    common: Common, common_free: bool, common_weight: float, squares: float, mean: float, slope: float
) -> tuple[float, float, float]:
    """Return the curvature of the common line's part, and what its part of rank two multiplies degrees and tilts by."""
    mean /= common.reviews
    slope_weight = common_weight / common.spread if common_free else 0.0
    curvature = common_weight * (squares - mean * mean * common.reviews) - slope_weight * slope * slope
    return curvature, common_weight * mean, slope_weight * slope


@kernel
def advance(
    common: Common,
    alpha: float,
    mean: float,
    slope: float,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    image: FloatArray,
    direction: FloatArray,
    first: int,
    last: int,
) -> float:
    """Step to the minimum along the direction; returns the square of the new residual's norm."""
    fresh = 0.0
    for i in range(first, last):
        direction[i] += alpha * heading[i]
        left = residual[i] - alpha * (image[i] - mean * common.degree[i] - slope * common.tilt[i])
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
    pair, inverse, residual = vectors[: 2 * n].reshape((n, 2)), vectors[2 * n : 3 * n], vectors[3 * n :]
    heading, image = pair[:, 0], pair[:, 1]
    common_diagonal(common, common_free, common_weight, inverse)
    add_diagonal(table, sloped, inverse)
    rho, beta, step = begin_descent(fixed, gradient, inverse, residual, heading, direction, 0, n), 0.0, 0
    while step < max_steps and rho > tolerance * tolerance:
        squares, mean, slope = aim(common, common_weight, beta, inverse, residual, heading, image, 0, n)
        curvature, mean, slope = common_image(common, common_free, common_weight, squares, mean, slope)
        curvature += multiply_lines(table, sloped, pair)
        if curvature <= 0.0:
            break
        fresh = advance(common, rho / curvature, mean, slope, inverse, residual, heading, image, direction, 0, n)
        beta, rho = fresh / rho, fresh
        step += 1
    return step, np.sqrt(rho)


lines_direction = Kernel(_lines_direction, element=ELEMENT)
