"""The Newton system of the fast solver: its product with a vector, its diagonal, conjugate gradients."""

from __future__ import annotations

import numpy as np

from lsc._tables import IDLE, LINEAR, MONOTONE, PATIENCE, Common, Face, Groups, ItemArray, Table
from reviewgraph._compile import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Reviewers with at most this many reviews enter the Newton matrix as dense blocks: fewer branches than their faces.
SMALL = 12


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


common_line = Kernel(_common_line, compile_after=PATIENCE)


@kernel
def _multiply_reviewer(
    kind: int,
    start: int,
    size: int,
    line_weight: float,
    unit: FloatArray,
    end: IntArray,
    node: IntArray,
    share: FloatArray,
    nodes: int,
    pivot: FloatArray,
    link: FloatArray,
    v: FloatArray,
    out: FloatArray,
    value: FloatArray,
) -> None:
    """Multiply one reviewer's part, identity minus the projector on her face, and the distance from lines, by ``v``.

    ``v`` and ``out`` are her reviews alone, in the order of the face.
    """
    mean, slope = 0.0, 0.0
    for r in range(size):
        mean += v[r]
        slope += unit[start + r] * v[r]
    mean /= size
    for r in range(size):
        out[r] = line_weight * (v[r] - mean - slope * unit[start + r])
    if kind == MONOTONE:
        left = 0
        while left < size:
            right = end[start + left] - start
            mean = 0.0
            for r in range(left, right):
                mean += v[r]
            mean /= right - left
            for r in range(left, right):
                out[r] += v[r] - mean
            left = right
        return
    for k in range(nodes + 1):
        value[k] = 0.0
    for r in range(size):
        k, s = node[start + r], share[start + r]
        if k >= 0:
            value[k] += (1.0 - s) * v[r]
            value[k + 1] += s * v[r]
    for k in range(nodes - 1):
        value[k + 1] -= link[start + k] * value[k]
    value[nodes - 1] /= pivot[start + nodes - 1]
    for k in range(nodes - 2, -1, -1):
        value[k] = value[k] / pivot[start + k] - link[start + k] * value[k + 1]
    value[nodes] = 0.0
    for r in range(size):
        k, s = node[start + r], share[start + r]
        if k >= 0:
            out[r] += v[r] - (1.0 - s) * value[k] - s * value[k + 1]


@kernel
def _assemble_block(
    at: int,
    kind: int,
    start: int,
    size: int,
    line_weight: float,
    unit: FloatArray,
    end: IntArray,
    node: IntArray,
    share: FloatArray,
    nodes: int,
    pivot: FloatArray,
    link: FloatArray,
    blocks: FloatArray,
    room: FloatArray,
) -> None:
    """Write one reviewer's part of the Newton matrix, what :func:`_multiply_reviewer` multiplies by, as a matrix."""
    for r in range(size):
        for c in range(size):
            blocks[at + r * size + c] = -line_weight * (1.0 / size + unit[start + r] * unit[start + c])
        free = kind != MONOTONE and node[start + r] < 0
        blocks[at + r * (size + 1)] += line_weight if free else 1.0 + line_weight
    if kind == MONOTONE:
        left = 0
        while left < size:
            right = end[start + left] - start
            for r in range(left, right):
                for c in range(left, right):
                    blocks[at + r * size + c] -= 1.0 / (right - left)
            left = right
        return
    for k in range(nodes):  # columns of the inverse of L times the weights on the nodes
        for r in range(size):
            mine, s = node[start + r], share[start + r]
            room[k, r] = -link[start + k - 1] * room[k - 1, r] if k > 0 else 0.0
            if mine == k:
                room[k, r] += 1.0 - s
            elif mine == k - 1 and mine >= 0:
                room[k, r] += s
        for r in range(size):
            part = room[k, r] / pivot[start + k]
            for c in range(size):
                blocks[at + r * size + c] -= part * room[k, c]


@kernel
def _assemble(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    blocks: FloatArray,
    groups: Groups,
    diagonal: FloatArray,
    room: FloatArray,
) -> None:
    """Write the matrices of reviewers with few reviews, one after the other, and the diagonal of the whole.

    Where distances from lines have no weight, monotone reviewers are only their blocks of two reviews or more: these
    go to ``groups``. The diagonal is exact but for reviewers with many reviews, and 1 where it vanishes.
    """
    starts, _, _, unit, _, kinds, _, _, _ = table
    order, _, sloped, ends, _, node, share, count, pivot, link = face
    for i in range(len(diagonal)):
        diagonal[i] = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
        if common_free:
            diagonal[i] -= common.tilt[i] * common.tilt[i] / common.spread
        diagonal[i] *= common_weight
    at, number, members = 0, 0, 0
    for j in range(len(kinds)):
        kind, start, size = kinds[j], starts[j], starts[j + 1] - starts[j]
        if kind == IDLE:
            continue
        if kind == MONOTONE and line_weight == 0.0:
            left = start
            while left < start + size:
                right = ends[left]
                if right - left > 1:
                    for r in range(left, right):
                        groups.member[members] = order[r]
                        diagonal[order[r]] += 1.0 - 1.0 / (right - left)
                        members += 1
                    groups.stop[number] = members
                    number += 1
                left = right
            continue
        if kind == LINEAR:
            for r in range(start, start + size):
                u = unit[r] if sloped[j] else 0.0
                diagonal[order[r]] += 1.0 - 1.0 / size - u * u
        elif size <= SMALL:
            _assemble_block(
                at, kind, start, size, line_weight, unit, ends, node, share, count[j], pivot, link, blocks, room
            )
            for r in range(size):
                diagonal[order[start + r]] += blocks[at + r * (size + 1)]
            at += size * size
        else:
            dimension = float(count[j])
            if kind == MONOTONE:
                left, dimension = start, 0.0
                while left < start + size:
                    left, dimension = ends[left], dimension + 1.0
            for r in range(start, start + size):
                diagonal[order[r]] += (1.0 - dimension / size) + line_weight * (1.0 - 2.0 / size)
    groups.number[0] = number
    for i in range(len(diagonal)):
        if diagonal[i] <= 0.0:
            diagonal[i] = 1.0


@kernel
def _multiply_groups(number: int, member: ItemArray, stop: IntArray, v: FloatArray, out: FloatArray) -> None:
    """Add to ``out`` the deviations of ``v`` from its means over groups of items: the Laplacian of one clique each."""
    left = 0
    for group in range(number):
        right = stop[group]
        mean = 0.0
        for r in range(left, right):
            mean += v[member[r]]
        mean /= right - left
        for r in range(left, right):
            out[member[r]] += v[member[r]] - mean
        left = right


@kernel
def _multiply(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    blocks: FloatArray,
    groups: Groups,
    fixed: BoolArray,
    v: FloatArray,
    out: FloatArray,
    room: FloatArray,
) -> None:
    """Multiply the Newton matrix, the sum over reviewers of identity minus projector on her face, by ``v``."""
    starts, _, _, unit, _, kinds, _, _, _ = table
    order, _, sloped, ends, _, node, share, count, pivot, link = face
    mine, image, value = room[0], room[1], room[2]
    mean, slope = 0.0, 0.0
    for i in range(len(v)):
        mean += common.degree[i] * v[i]
        slope += common.tilt[i] * v[i]
    mean /= common.reviews
    slope = slope / common.spread if common_free else 0.0
    for i in range(len(v)):
        out[i] = common_weight * (common.degree[i] * (v[i] - mean) - slope * common.tilt[i])
    _multiply_groups(groups.number[0], groups.member, groups.stop, v, out)
    at = 0
    for j in range(len(kinds)):
        kind, start, size = kinds[j], starts[j], starts[j + 1] - starts[j]
        if kind == IDLE or (kind == MONOTONE and line_weight == 0.0):
            continue
        if kind == LINEAR:
            mean, slope = 0.0, 0.0
            for r in range(start, start + size):
                mean += v[order[r]]
                slope += unit[r] * v[order[r]]
            mean /= size
            if not sloped[j]:
                slope = 0.0
            for r in range(start, start + size):
                i = order[r]
                out[i] += v[i] - mean - slope * unit[r]
            continue
        for r in range(size):
            mine[r] = v[order[start + r]]
        if size <= SMALL:
            for r in range(size):
                total = 0.0
                for k in range(size):
                    total += blocks[at + k] * mine[k]
                out[order[start + r]] += total
                at += size
        else:
            _multiply_reviewer(
                kind, start, size, line_weight, unit, ends, node, share, count[j], pivot, link, mine, image, value
            )
            for r in range(size):
                out[order[start + r]] += image[r]
    for i in range(len(v)):
        if fixed[i]:
            out[i] = 0.0


def _newton_direction(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    blocks: FloatArray,
    groups: Groups,
    fixed: BoolArray,
    gradient: FloatArray,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
    vectors: FloatArray,
) -> tuple[int, float]:
    """Solve the Newton system by conjugate gradients, preconditioned with its diagonal.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E). ``blocks`` and ``groups`` are room for the
    matrix, ``vectors`` (4N,) for the iteration: a product reads and writes at the same items, each in one cache line.
    """
    n = len(gradient)
    longest = 0
    for j in range(len(table.kind)):
        longest = max(longest, table.start[j + 1] - table.start[j])
    room = np.empty((SMALL, longest + 2))
    pair = vectors[: 2 * n].reshape((n, 2))
    p, image, inverse, residual = pair[:, 0], pair[:, 1], vectors[2 * n : 3 * n], vectors[3 * n :]
    _assemble(table, face, common, common_free, line_weight, common_weight, blocks, groups, inverse, room)
    rho = 0.0
    for i in range(n):
        inverse[i] = 1.0 / inverse[i]
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i] = 0.0
        p[i] = inverse[i] * residual[i]
        rho += residual[i] * p[i]
    step = 0
    while step < max_steps and rho > tolerance * tolerance:
        _multiply(table, face, common, common_free, line_weight, common_weight, blocks, groups, fixed, p, image, room)
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


newton_direction = Kernel(_newton_direction, compile_after=PATIENCE)
