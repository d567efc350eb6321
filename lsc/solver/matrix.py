"""The Newton matrix of reviewers who need not be linear, as a sparse matrix over items.

It is the sum over reviewers of identity minus the projector on the face that holds her projection. Which items meet
does not change, so the pattern is laid out once; reviewers with many reviews are multiplied by their faces instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.model.shapes import IDLE, LINEAR, MONOTONE
from lsc.solver.tables import ELEMENT, Common, Face, ItemArray, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Reviewers with at most this many reviews enter the sparse matrix.
SMALL = 12


class Pattern(NamedTuple):
    """Which items meet in the reviews of a reviewer with few: the rows of a symmetric matrix over items.

    Row i has its entries, the diagonal first, at ``first[i]`` to ``first[i + 1] - 1``, with the items ``column``. The
    entry of her reviews a and b is at ``slot[begin[j] + a * size + b]``; a reviewer who is not in it has no slots.
    ``left``, ``right`` and ``tie`` list the pairs of items that meet, the smaller one first, and their entries.
    """

    first: ItemArray
    column: ItemArray
    slot: ItemArray
    begin: IntArray
    left: ItemArray
    right: ItemArray
    tie: ItemArray


def pattern_of(table: Table, n_items: int) -> Pattern:
    """Lay out the matrix over items: room first, then the entries."""
    size = np.diff(table.start)
    pairs = np.where((size <= SMALL) & (table.kind != IDLE), size * size, 0)
    begin = np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)
    slot = np.zeros(int(begin[-1]), dtype=np.uint32)
    column = np.zeros(n_items + len(slot), dtype=np.uint32)
    first = np.zeros(n_items + 1, dtype=np.uint32)
    entries = lay_out(table, begin, first, column, slot)
    column = column[:entries].copy()
    row = np.repeat(np.arange(n_items, dtype=np.uint32), first[1:] - first[:-1])
    tie = np.flatnonzero(row < column).astype(np.uint32)
    return Pattern(first, column, slot, begin, row[tie], column[tie], tie)


def _lay_out(table: Table, begin: IntArray, first: ItemArray, column: ItemArray, slot: ItemArray) -> int:
    """Write the pattern; returns the number of entries. O(sum of squares of the small reviewers' sizes)."""
    starts, item = table.start, table.item
    n = len(first) - 1
    # Reviews by item (counting sort): stop[i] ends up where those of the next item begin.
    stop = np.zeros(n + 1, np.int64)
    for r in range(len(item)):
        stop[item[r] + 1] += 1
    for i in range(n):
        stop[i + 1] += stop[i]
    review, owner = np.empty(len(item), np.int64), np.empty(len(item), np.int64)
    for j in range(len(starts) - 1):
        for r in range(starts[j], starts[j + 1]):
            i = item[r]
            review[stop[i]], owner[stop[i]] = r, j
            stop[i] += 1  # ends up where the reviews of the next item begin
    # Row by row: every item that shares a small reviewer with item i gets one entry, however often they meet.
    where = np.full(n, -1, np.int64)  # the entry of this column in the present row, if not before the row
    entries, left = 0, 0
    for i in range(n):
        first[i] = entries
        column[entries], where[i] = i, entries
        entries += 1
        for k in range(left, stop[i]):
            j, r = owner[k], review[k]
            start, size = starts[j], starts[j + 1] - starts[j]
            if begin[j + 1] == begin[j]:
                continue
            at = begin[j] + (r - start) * size
            for b in range(size):
                other = item[start + b]
                if where[other] < first[i]:
                    column[entries], where[other] = other, entries
                    entries += 1
                slot[at + b] = where[other]
        left = stop[i]
    first[n] = entries
    return entries


lay_out = Kernel(_lay_out, element=ELEMENT)


@kernel
def _project_bent(
    start: int,
    size: int,
    node: IntArray,
    share: FloatArray,
    nodes: int,
    pivot: FloatArray,
    link: FloatArray,
    block: FloatArray,
    room: FloatArray,
) -> None:
    """Write identity minus the projector on one reviewer's broken lines as a matrix."""
    # Identity, but for reviews that are free and so move nothing.
    for r in range(size):
        for c in range(size):
            block[r * size + c] = 0.0
        block[r * (size + 1)] = 0.0 if node[start + r] < 0 else 1.0
    # The projector is W (L D L')^-1 W', W the weights on the nodes: subtract it node by node.
    for r in range(size):
        room[r] = 0.0
    for k in range(nodes):  # row k of the inverse of L times the weights on the nodes
        before = link[start + k - 1] if k > 0 else 0.0
        scale = 1.0 / pivot[start + k]
        for r in range(size):
            mine, s = node[start + r], share[start + r]
            part = -before * room[r]
            if mine == k:
                part += 1.0 - s
            elif mine == k - 1 and k > 0:
                part += s
            room[r] = part
        for r in range(size):
            if room[r] != 0.0:
                part = scale * room[r]
                for c in range(size):
                    block[r * size + c] -= part * room[c]


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
    # Her distance from lines, with its weight.
    mean, slope = 0.0, 0.0
    for r in range(size):
        mean += v[r]
        slope += unit[start + r] * v[r]
    mean /= size
    for r in range(size):
        out[r] = line_weight * (v[r] - mean - slope * unit[start + r])
    # A chain projects on blocks: subtract the mean of each.
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
    # A broken line: bring v to the nodes, solve the factored normal equations, and come back.
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
def _scatter_line(
    start: int, size: int, weight: float, unit: FloatArray, at: int, slot: ItemArray, value: FloatArray
) -> None:
    """Add a weight times identity minus the projector on lines to the matrix; ``unit`` is 0 if slopes are not free."""
    share = weight / size
    for a in range(size):
        value[slot[at + a * size + a]] += weight
        steep = weight * unit[start + a]
        for b in range(size):
            value[slot[at + a * size + b]] -= share + steep * unit[start + b]


@kernel
def _scatter_chain(
    start: int, size: int, end: IntArray, place: IntArray, at: int, slot: ItemArray, value: FloatArray
) -> None:
    """Add the blocks of a monotone reviewer to the matrix: the Laplacian of a clique each."""
    left = start
    while left < start + size:
        right = end[left]
        if right - left > 1:
            share = 1.0 / (right - left)
            for r in range(left, right):
                a = at + (place[r] - start) * size - start
                value[slot[a + place[r]]] += 1.0
                for s in range(left, right):
                    value[slot[a + place[s]]] -= share
        left = right


@kernel
def _heavy_diagonal(j: int, table: Table, face: Face, line_weight: float, extra: FloatArray) -> None:
    """Add about the diagonal of the matrix of a reviewer with many reviews to ``extra``."""
    start, size = table.start[j], table.start[j + 1] - table.start[j]
    dimension = float(face.nodes[j])
    if table.kind[j] == MONOTONE:
        left, dimension = start, 0.0
        while left < start + size:
            left, dimension = face.end[left], dimension + 1.0
    for r in range(start, start + size):
        if table.kind[j] == LINEAR:
            slope = table.unit[r] if face.sloped[j] else 0.0
            extra[face.item[r]] += 1.0 - 1.0 / size - slope * slope
        else:
            extra[face.item[r]] += max(0.0, 1.0 - dimension / size) + line_weight * (1.0 - 2.0 / size)


@kernel
def assemble(
    table: Table,
    face: Face,
    common: Common,
    line_weight: float,
    common_weight: float,
    pattern: Pattern,
    value: FloatArray,
    extra: FloatArray,
) -> None:
    """Write the matrix of reviewers with few reviews, and the diagonal of common distances, into ``value``.

    ``extra`` (N,) receives about the diagonal of the others.
    """
    starts, _, _, unit, _, kinds, _, _, _ = table
    _, place, sloped, ends, _, node, share, count, pivot, link = face
    first, _, slot, begin, _, _, _ = pattern
    # The common line's diagonal first, then reviewer by reviewer.
    block, room, flat = np.empty(SMALL * SMALL), np.empty(SMALL), np.zeros(SMALL)
    value[:] = 0.0
    extra[:] = 0.0
    for i in range(len(extra)):
        value[first[i]] = common_weight * common.degree[i]
    for j in range(len(kinds)):
        kind, start, size, at = kinds[j], starts[j], starts[j + 1] - starts[j], begin[j]
        if kind == IDLE:
            continue
        if begin[j + 1] == at:
            _heavy_diagonal(j, table, face, line_weight, extra)
        elif kind == LINEAR:
            if sloped[j]:
                _scatter_line(start, size, 1.0, unit, at, slot, value)
            else:
                _scatter_line(0, size, 1.0, flat, at, slot, value)
        else:
            if line_weight > 0.0:
                _scatter_line(start, size, line_weight, unit, at, slot, value)
            if kind == MONOTONE:
                _scatter_chain(start, size, ends, place, at, slot, value)
            else:
                _project_bent(start, size, node, share, count[j], pivot, link, block, room)
                for k in range(size * size):
                    value[slot[at + k]] += block[k]


@kernel
def multiply_heavy(
    table: Table,
    face: Face,
    line_weight: float,
    pattern: Pattern,
    position: IntArray,
    v: FloatArray,
    out: FloatArray,
    room: FloatArray,
) -> None:
    """Add the product of ``v`` with the matrices of reviewers with many reviews to ``out``, item i at ``position[i]``.

    ``room`` has three rows of the longest such reviewer.
    """
    starts, _, _, unit, _, kinds, _, _, _ = table
    order, _, sloped, ends, _, node, share, count, pivot, link = face
    mine, image, value = room[0], room[1], room[2]
    for j in range(len(kinds)):
        kind, start, size = kinds[j], starts[j], starts[j + 1] - starts[j]
        # Reviewers with few reviews stand in the matrix already.
        if kind == IDLE or pattern.begin[j + 1] > pattern.begin[j] or size == 0:
            continue
        for r in range(size):
            mine[r] = v[position[order[start + r]]]
        if kind == LINEAR:
            # Identity minus the projector on the span of one and her unit scores.
            mean, slope = 0.0, 0.0
            for r in range(size):
                mean += mine[r]
                slope += unit[start + r] * mine[r]
            mean /= size
            if not sloped[j]:
                slope = 0.0
            for r in range(size):
                image[r] = mine[r] - mean - slope * unit[start + r]
        else:
            _multiply_reviewer(
                kind, start, size, line_weight, unit, ends, node, share, count[j], pivot, link, mine, image, value
            )
        for r in range(size):
            out[position[order[start + r]]] += image[r]
