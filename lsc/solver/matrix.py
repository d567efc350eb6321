"""The Newton matrix of reviewers who need not be linear, as a sparse matrix over items.

It is the sum over reviewers of identity minus the projector on the face that holds her projection. Which items meet
does not change, so the pattern is laid out once; reviewers with many reviews are multiplied by their faces instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.model.hypotheses import IDLE, LINEAR, MONOTONE
from lsc.solver.tables import ELEMENT, SMALL, Common, Face, ItemArray, Table, pairs_of
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray


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
    begin = pairs_of(table, table.kind != IDLE)
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
def _write_line(start: int, size: int, weight: float, slope: float, unit: FloatArray, block: FloatArray) -> None:
    """Write a weight times identity minus the projector on lines; ``slope`` is 0 if slopes are not free."""
    share = weight / size
    for a in range(size):
        steep = weight * slope * unit[start + a]
        for b in range(size):
            block[a * size + b] = -share - steep * unit[start + b]
        block[a * (size + 1)] += weight


@kernel
def _add_chain(start: int, size: int, end: IntArray, place: IntArray, block: FloatArray) -> None:
    """Add the blocks of a monotone reviewer: the Laplacian of a clique each."""
    left = start
    while left < start + size:
        right = end[left]
        if right - left > 1:
            share = 1.0 / (right - left)
            for r in range(left, right):
                a = (place[r] - start) * size - start
                block[a + place[r]] += 1.0
                for s in range(left, right):
                    block[a + place[s]] -= share
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
    anew: bool,
    value: FloatArray,
    written: FloatArray,
    extra: FloatArray,
) -> None:
    """Write the matrix of reviewers with few reviews, and the diagonal of common distances, into ``value``.

    Unless ``anew``, only of those whose faces have moved. ``written`` is what each has in it, by slot. ``extra`` (N,)
    receives about the diagonal of the others.
    """
    starts, _, _, unit, _, kinds, _, _, _ = table
    first, _, slot, begin, _, _, _ = pattern
    block = np.empty(SMALL * SMALL)
    if anew:
        value[:] = 0.0
        written[:] = 0.0
        for i in range(len(extra)):
            value[first[i]] = common_weight * common.degree[i]
    extra[:] = 0.0
    for j in range(len(kinds)):
        kind, start, size, at = kinds[j], starts[j], starts[j + 1] - starts[j], begin[j]
        if kind == IDLE:
            continue
        if begin[j + 1] == at:
            _heavy_diagonal(j, table, face, line_weight, extra)
            continue
        if not (anew or face.moved[j]):
            continue
        linear = kind == LINEAR
        slope = 0.0 if linear and not face.sloped[j] else 1.0
        _write_line(start, size, 1.0 if linear else line_weight, slope, unit, block)
        if kind == MONOTONE:
            _add_chain(start, size, face.end, face.place, block)
        elif not linear:
            bent = face.begin[j]
            for k in range(size * size):
                block[k] += face.block[bent + k]
        for k in range(size * size):
            change = block[k] - written[at + k]
            if change != 0.0:
                value[slot[at + k]] += change
                written[at + k] = block[k]
    face.moved[:] = False


@kernel
def multiply_heavy(
    table: Table,
    face: Face,
    line_weight: float,
    pattern: Pattern,
    v: FloatArray,
    out: FloatArray,
    room: FloatArray,
) -> None:
    """Add the product of ``v`` with the matrices of reviewers with many reviews to ``out``.

    ``room`` has three rows of the longest such reviewer.
    """
    starts, _, _, unit, _, kinds, _, _, _ = table
    order, _, sloped, ends, _, node, share, count, pivot, link, _, _, _, _, _ = face
    mine, image, value = room[0], room[1], room[2]
    for j in range(len(kinds)):
        kind, start, size = kinds[j], starts[j], starts[j + 1] - starts[j]
        # Reviewers with few reviews stand in the matrix already.
        if kind == IDLE or pattern.begin[j + 1] > pattern.begin[j] or size == 0:
            continue
        for r in range(size):
            mine[r] = v[order[start + r]]
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
            out[order[start + r]] += image[r]
