"""The Newton system of the fast solver: its product with a vector, its diagonal, conjugate gradients."""

from __future__ import annotations

import numpy as np

from lsc._tables import IDLE, LINEAR, MONOTONE, Common, Face, Table
from reviewgraph._compile import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray


def _common_line(common: Common, x: FloatArray, gradient: FloatArray) -> tuple[float, bool]:
    """Squared distance of all qualities from one line in the raw scores, and whether its slope is free.

    ::

        T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper

    Writes half the gradient. O(N).
    """
    mean, slope = 0.0, 0.0
    for i in range(len(x)):
        mean += common.degree[i] * x[i]
        slope += common.tilt[i] * x[i]
    mean /= common.reviews
    moment = slope
    slope = slope / common.spread if common.spread > 0.0 else common.lower
    free = common.spread > 0.0 and common.lower < slope < common.upper
    slope = min(max(slope, common.lower), common.upper)
    distance = slope * (slope * common.spread - 2.0 * moment)
    for i in range(len(x)):
        distance += common.degree[i] * (x[i] - mean) * (x[i] - mean)
        gradient[i] = common.degree[i] * (x[i] - mean) - slope * common.tilt[i]
    return distance, free


common_line = Kernel(_common_line, always=True)


@kernel
def _multiply(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    fixed: BoolArray,
    v: FloatArray,
    out: FloatArray,
    nodes: FloatArray,
) -> None:
    """Multiply the Newton matrix, the sum over reviewers of identity minus projector on her face, by ``v``."""
    starts, item, score, unit, norms, kinds, lowers, uppers, tied = table
    order, place, sloped, ends, bends, node, share, count, pivot, link = face
    mean, slope = 0.0, 0.0
    for i in range(len(v)):
        mean += common.degree[i] * v[i]
        slope += common.tilt[i] * v[i]
    mean /= common.reviews
    slope = slope / common.spread if common_free else 0.0
    for i in range(len(v)):
        out[i] = common_weight * (common.degree[i] * (v[i] - mean) - slope * common.tilt[i])
    for j in range(len(kinds)):
        kind, start, end = kinds[j], starts[j], starts[j + 1]
        if kind == IDLE:
            continue
        weight = 1.0 if kind == LINEAR else line_weight
        if weight > 0.0:
            mean, slope = 0.0, 0.0
            for r in range(start, end):
                value = v[item[r]]
                mean += value
                slope += unit[r] * value
            mean /= end - start
            if kind == LINEAR and not sloped[j]:
                slope = 0.0
            for r in range(start, end):
                i = item[r]
                out[i] += weight * (v[i] - mean - slope * unit[r])
        if kind == MONOTONE:
            left = start
            while left < end:
                right = ends[left]
                if right - left > 1:
                    mean = 0.0
                    for r in range(left, right):
                        mean += v[order[r]]
                    mean /= right - left
                    for r in range(left, right):
                        i = order[r]
                        out[i] += v[i] - mean
                left = right
        elif kind != LINEAR:
            _multiply_bent(start, end, count[j], item, node, share, pivot, link, v, out, nodes)
    for i in range(len(v)):
        if fixed[i]:
            out[i] = 0.0


@kernel
def _multiply_bent(
    start: int,
    end: int,
    n: int,
    item: IntArray,
    node: IntArray,
    share: FloatArray,
    pivot: FloatArray,
    link: FloatArray,
    v: FloatArray,
    out: FloatArray,
    value: FloatArray,
) -> None:
    """Add v minus its fit by the broken line with the nodes of this reviewer."""
    value[0 : n + 1] = 0.0
    for r in range(start, end):
        k, s = node[r], share[r]
        if k >= 0:
            value[k] += (1.0 - s) * v[item[r]]
            value[k + 1] += s * v[item[r]]
    for k in range(n - 1):
        value[k + 1] -= link[start + k] * value[k]
    value[n - 1] /= pivot[start + n - 1]
    for k in range(n - 2, -1, -1):
        value[k] = value[k] / pivot[start + k] - link[start + k] * value[k + 1]
    value[n] = 0.0
    for r in range(start, end):
        k, s = node[r], share[r]
        if k >= 0:
            out[item[r]] += v[item[r]] - (1.0 - s) * value[k] - s * value[k + 1]


@kernel
def _diagonal(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    out: FloatArray,
    inverse: FloatArray,
) -> None:
    """Write the diagonal of the Newton matrix; 1 where it vanishes."""
    starts, item, score, unit, norms, kinds, lowers, uppers, tied = table
    order, place, sloped, ends, bends, node, share, count, pivot, link = face
    for i in range(len(out)):
        out[i] = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
        if common_free:
            out[i] -= common.tilt[i] * common.tilt[i] / common.spread
        out[i] *= common_weight
    for j in range(len(kinds)):
        kind, start, end = kinds[j], starts[j], starts[j + 1]
        if kind == IDLE:
            continue
        weight = 1.0 if kind == LINEAR else line_weight
        part = 1.0 / (end - start)
        if weight > 0.0:
            free = kind != LINEAR or sloped[j]
            for r in range(start, end):
                u = unit[r] if free else 0.0
                out[item[r]] += weight * (1.0 - part - u * u)
        if kind == MONOTONE:
            left = start
            while left < end:
                right = ends[left]
                for r in range(left, right):
                    out[order[r]] += 1.0 - 1.0 / (right - left)
                left = right
        elif kind != LINEAR:
            # The inverse of L D L', its diagonal and the entries beside it, from the last node back.
            n = count[j]
            inverse[n - 1] = 1.0 / pivot[start + n - 1]
            for k in range(n - 2, -1, -1):
                inverse[k] = 1.0 / pivot[start + k] + link[start + k] * link[start + k] * inverse[k + 1]
            for r in range(start, end):
                k, s = node[r], share[r]
                if k < 0:
                    continue
                part = (1.0 - s) * (1.0 - s) * inverse[k]
                if s > 0.0:
                    part += s * s * inverse[k + 1] - 2.0 * s * (1.0 - s) * link[start + k] * inverse[k + 1]
                out[item[r]] += 1.0 - part
    for i in range(len(out)):
        if out[i] <= 0.0:
            out[i] = 1.0


def _newton_direction(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    fixed: BoolArray,
    gradient: FloatArray,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
) -> tuple[int, float]:
    """Solve the Newton system by conjugate gradients, preconditioned with its diagonal.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E).
    """
    n = len(gradient)
    longest = 0
    for j in range(len(table.kind)):
        longest = max(longest, table.start[j + 1] - table.start[j])
    nodes = np.empty(longest + 2)
    inverse = np.empty(n)
    _diagonal(table, face, common, common_free, line_weight, common_weight, inverse, nodes)
    residual = np.empty(n)
    p = np.empty(n)
    image = np.empty(n)
    rho = 0.0
    for i in range(n):
        inverse[i] = 1.0 / inverse[i]
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i] = 0.0
        p[i] = inverse[i] * residual[i]
        rho += residual[i] * p[i]
    step = 0
    while step < max_steps and rho > tolerance * tolerance:
        _multiply(table, face, common, common_free, line_weight, common_weight, fixed, p, image, nodes)
        curvature = 0.0
        for i in range(n):
            curvature += p[i] * image[i]
        if curvature <= 0.0:
            break
        alpha = rho / curvature
        fresh = 0.0
        for i in range(n):
            direction[i] += alpha * p[i]
            residual[i] -= alpha * image[i]
            fresh += residual[i] * residual[i] * inverse[i]
        beta = fresh / rho
        rho = fresh
        for i in range(n):
            p[i] = inverse[i] * residual[i] + beta * p[i]
        step += 1
    return step, np.sqrt(rho)


newton_direction = Kernel(_newton_direction, always=True)
