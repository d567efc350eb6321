"""The Newton system of reviewers who need not be linear: conjugate gradients on clusters of closely tied items.

The eigenvectors of small eigenvalues live on a few items each, tied to each other and hardly to the rest. So items
are gathered into clusters along their strongest ties, and the blocks of the matrix on clusters, inverted, precondition
it: what is left has eigenvalues of the order of one. Numbers of products fall by five to ten against the diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._model.hypotheses import IDLE, LINEAR, MONOTONE
from lsc._solver.projections import ELEMENT, SMALL, Common, Face, ItemArray, Table, pairs_of
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.graph.kernels.compiling import Kernel, kernel
from reviewgraph.graph.kernels.union_find import find

# The Newton matrix of reviewers who need not be linear, as a sparse matrix over items.
#
# It is the sum over reviewers of identity minus the projector on the face that holds her projection. Which items meet
# does not change, so the pattern is laid out once; reviewers with many reviews are multiplied by their faces instead.


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


#: Ties weaker than this part of the diagonal do not make clusters, and clusters have at most this many items.
WEAK, LARGEST = 0.1, 16
#: Clusters are made once the diagonal alone would take more than so many steps, and from then on.
FEW = 20
#: Ties are sorted into this many classes of strength.
CLASSES = 64
#: A pivot below this part of the diagonal is rounding: the item is left to the diagonal.
ROUNDING = 1e-13


class System(NamedTuple):
    """Room for a Newton system over N items, made once.

    ``value``, the entries of the pattern, and what of them is ``written`` for each reviewer; the ``inverse`` blocks on
    clusters; the items cluster by cluster, ``order``, and the place of each there, ``position``; the forest of
    clusters, ``parent``; where clusters ``stop``; ``vectors`` (5, N); room for ``sorting`` ties; and a ``memory`` of
    both weights that the entries are written with, and of whether clusters are needed.
    """

    value: FloatArray
    written: FloatArray
    inverse: FloatArray
    order: IntArray
    position: IntArray
    parent: IntArray
    stop: IntArray
    vectors: FloatArray
    sorting: ItemArray
    memory: FloatArray


def system_of(pattern: Pattern) -> System:
    """Make room for systems of a pattern."""
    n = len(pattern.first) - 1
    return System(
        value=np.zeros(len(pattern.column)),
        written=np.zeros(len(pattern.slot)),
        inverse=np.zeros(LARGEST * n),
        order=np.zeros(n, dtype=np.int64),
        position=np.zeros(n, dtype=np.int64),
        parent=np.zeros(n, dtype=np.int64),
        stop=np.zeros(n, dtype=np.int64),
        vectors=np.zeros((5, n)),
        sorting=np.zeros((3, len(pattern.tie)), dtype=np.uint32),
        memory=np.array([np.nan, np.nan, 0.0]),
    )


@kernel
def _gather(pattern: Pattern, value: FloatArray, inverse: FloatArray, parent: IntArray, room: ItemArray) -> None:
    """Join items along their ties, the strongest first, while clusters stay small: ``parent`` is a forest.

    ``inverse`` holds one through the diagonal, 0 for items to be left alone. Ties are compared by the square of their
    entry over the product of both diagonals, in classes; those of one class come in the order of items.
    """
    n, ties = len(parent), 0
    count = np.zeros(CLASSES + 1, np.int64)
    left, right, tie = pattern.left, pattern.right, pattern.tie
    grade, chosen, ordered = room[0], room[1], room[2]
    # Strength of each tie, weak ones left out; count how many fall into each class.
    for e in range(len(tie)):
        entry = value[tie[e]]
        part = entry * entry * inverse[left[e]] * inverse[right[e]]
        if part >= WEAK * WEAK:
            c = max(0, CLASSES - 1 - int(CLASSES * part))
            grade[ties], chosen[ties] = c, e
            count[c + 1] += 1
            ties += 1
    # Counting sort: the strongest class first.
    for c in range(CLASSES):
        count[c + 1] += count[c]
    for k in range(ties):
        c = grade[k]
        ordered[count[c]] = chosen[k]
        count[c] += 1
    # Kruskal's order: join the clusters at both ends of a tie unless the union is too large.
    size = np.ones(n, np.uint8)
    for i in range(n):
        parent[i] = i
    for k in range(ties):
        e = ordered[k]
        a, b = find(parent, left[e]), find(parent, right[e])
        if a != b and size[a] + size[b] <= LARGEST:
            parent[b] = a
            size[a] += size[b]


@kernel
def _line_up(parent: IntArray, order: IntArray, place: IntArray, stop: IntArray) -> int:
    """Give items rows, cluster by cluster; write where each cluster ends and return how many there are."""
    n = len(parent)
    # Number the roots; count the items of each cluster, and lay the clusters out one after the other.
    number = np.empty(n, np.int64)
    clusters = 0
    for i in range(n):
        if parent[i] == i:
            number[i] = clusters
            stop[clusters] = 0
            clusters += 1
    for i in range(n):
        stop[number[find(parent, i)]] += 1
    total = 0
    for c in range(clusters):
        stop[c], total = total, total + stop[c]
    for i in range(n):
        c = number[find(parent, i)]
        order[stop[c]], place[i] = i, stop[c]
        stop[c] += 1
    return clusters


@kernel
def _invert_blocks(
    clusters: int,
    pattern: Pattern,
    value: FloatArray,
    whole: FloatArray,
    loose: FloatArray,
    order: IntArray,
    position: IntArray,
    stop: IntArray,
    inverse: FloatArray,
) -> None:
    """Write the inverses of the diagonal blocks, one after the other, by eliminating in place (Gauss and Jordan)."""
    first, column = pattern.first, pattern.column
    block, across = np.empty((LARGEST, LARGEST)), np.empty(LARGEST)
    at, left = 0, 0
    for c in range(clusters):
        right = stop[c]
        # Most clusters are single items.
        size = right - left
        if size == 1:
            inverse[at] = loose[order[left]]
            at, left = at + 1, right
            continue
        # Copy the block out of the sparse matrix.
        for row in range(size):
            i = order[left + row]
            for k in range(size):
                block[row, k] = 0.0
            for k in range(first[i] + 1, first[i + 1]):
                other = position[column[k]]
                if left <= other < right:
                    block[row, other - left] = value[k]
            block[row, row] = whole[i]
        # Gauss and Jordan without exchanges: the matrix is positive semidefinite, and tiny pivots are replaced.
        for p in range(size):
            pivot, least = block[p, p], whole[order[left + p]]
            if pivot < ROUNDING * least:
                pivot = least
            block[p, p] = 1.0
            for k in range(size):
                across[k] = block[p, k] / pivot
            for row in range(size):
                factor = block[row, p]
                if factor != 0.0:
                    block[row, p] = 0.0
                    for k in range(size):
                        block[row, k] -= factor * across[k]
            for k in range(size):
                block[p, k] = across[k]
        for row in range(size):
            for k in range(size):
                inverse[at + row * size + k] = block[row, k]
        at += size * size
        left = right


@kernel
def _precondition(
    clusters: int,
    stop: IntArray,
    order: IntArray,
    inverse: FloatArray,
    residual: FloatArray,
    out: FloatArray,
    room: FloatArray,
) -> float:
    """Multiply the residual by the inverted blocks; returns the inner product of both."""
    at, left, rho = 0, 0, 0.0
    for c in range(clusters):
        right = stop[c]
        size = right - left
        if size == 1:
            i = order[left]
            out[i] = inverse[at] * residual[i]
            rho += residual[i] * out[i]
            at += 1
        else:
            for k in range(size):
                room[k] = residual[order[left + k]]
            for row in range(size):
                total = 0.0
                for k in range(size):
                    total += inverse[at + k] * room[k]
                out[order[left + row]] = total
                rho += room[row] * total
                at += size
        left = right
    return rho


@kernel
def _heavy_size(table: Table, pattern: Pattern) -> int:
    """Most reviews of a reviewer who is not in the sparse matrix; 0 where all are."""
    longest = 0
    for j in range(len(table.kind)):
        if table.kind[j] != IDLE and pattern.begin[j + 1] == pattern.begin[j]:
            longest = max(longest, table.start[j + 1] - table.start[j])
    return longest


@kernel
def _set_up(
    table: Table,
    face: Face,
    common: Common,
    line_weight: float,
    common_weight: float,
    pattern: Pattern,
    system: System,
    fixed: BoolArray,
) -> None:
    """Write the matrix and its diagonal, and the inverse of this, which is 0 at fixed items."""
    value, memory, whole, loose = system.value, system.memory, system.vectors[3], system.vectors[4]
    anew = memory[0] != line_weight or memory[1] != common_weight
    memory[0], memory[1] = line_weight, common_weight
    assemble(table, face, common, line_weight, common_weight, pattern, anew, value, system.written, whole)
    for i in range(len(fixed)):
        whole[i] += value[pattern.first[i]]
        if whole[i] <= 0.0:
            whole[i] = 1.0
        loose[i] = 0.0 if fixed[i] else 1.0 / whole[i]


@kernel
def _make_clusters(pattern: Pattern, system: System, alone: bool) -> int:
    """Gather items into clusters, or leave each ``alone``, and invert their blocks; returns how many there are."""
    value, _, inverse, order, position, parent, stop, vectors, sorting, _ = system
    whole, loose = vectors[3], vectors[4]
    if alone:
        for i in range(len(parent)):
            parent[i] = i
    else:
        _gather(pattern, value, loose, parent, sorting)
    clusters = _line_up(parent, order, position, stop)
    _invert_blocks(clusters, pattern, value, whole, loose, order, position, stop, inverse)
    return clusters


@kernel
def _add_product(first: ItemArray, column: ItemArray, value: FloatArray, p: FloatArray, image: FloatArray) -> float:
    """Add the product of the sparse matrix with ``p`` to the image; returns the inner product of both."""
    curvature = 0.0
    for i in range(len(p)):
        total = image[i]
        for k in range(first[i], first[i + 1]):
            total += value[k] * p[column[k]]
        image[i] = total
        curvature += p[i] * total
    return curvature


@kernel
def _descend(
    table: Table,
    face: Face,
    common: Common,
    line_weight: float,
    common_weight: float,
    slope_weight: float,
    pattern: Pattern,
    system: System,
    clusters: int,
    longest: int,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
) -> tuple[int, float]:
    """Take steps of conjugate gradients from where the direction and its residual are, with one preconditioner."""
    order, stop, inverse, vectors = system.order, system.stop, system.inverse, system.vectors
    p, image, residual, loose = vectors[0], vectors[1], vectors[2], vectors[4]
    degree, tilt, n = common.degree, common.tilt, len(direction)
    room, few = np.empty((3, longest + 2)), np.empty(LARGEST)
    rho = _precondition(clusters, stop, order, inverse, residual, p, few)
    size, mean, slope = 0.0, 0.0, 0.0
    for i in range(n):
        size += residual[i] * residual[i] * loose[i]
        mean += degree[i] * p[i]
        slope += tilt[i] * p[i]
    step = 0
    while step < max_steps and size > tolerance * tolerance and rho > 0.0:
        # The common line is a part of rank two, reviewers with many reviews multiply by their faces.
        a, b = common_weight * mean / common.reviews, slope_weight * slope
        for i in range(n):
            image[i] = -a * degree[i] - b * tilt[i]
        if longest > 0:
            multiply_heavy(table, face, line_weight, pattern, p, image, room)
        curvature = _add_product(pattern.first, pattern.column, system.value, p, image)
        if curvature <= 0.0:
            break
        # Step, precondition what is left, and turn the direction.
        alpha = rho / curvature
        size = 0.0
        for i in range(n):
            direction[i] += alpha * p[i]
            residual[i] -= alpha * image[i]
            size += residual[i] * residual[i] * loose[i]
        fresh = _precondition(clusters, stop, order, inverse, residual, image, few)
        beta, mean, slope = fresh / rho, 0.0, 0.0
        rho = fresh
        for i in range(n):
            p[i] = image[i] + beta * p[i]
            mean += degree[i] * p[i]
            slope += tilt[i] * p[i]
        step += 1
    return step, np.sqrt(size)


def _clustered_direction(
    table: Table,
    face: Face,
    common: Common,
    common_free: bool,
    line_weight: float,
    common_weight: float,
    pattern: Pattern,
    system: System,
    fixed: BoolArray,
    gradient: FloatArray,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
) -> tuple[int, float]:
    """Solve the Newton system by conjugate gradients, preconditioned with clusters of items where that is needed.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E) for reviewers with few reviews each. Fixed items
    have no part in it: preconditioned, their residual is 0.
    """
    _set_up(table, face, common, line_weight, common_weight, pattern, system, fixed)
    slope_weight = common_weight / common.spread if common_free else 0.0
    residual, memory, longest = system.vectors[2], system.memory, _heavy_size(table, pattern)
    for i in range(len(gradient)):
        residual[i], direction[i] = -gradient[i], 0.0
    # The diagonal alone does where the matrix is well-conditioned, as it is in the first stages; clusters go on then.
    step, size = 0, np.inf
    if memory[2] == 0.0:
        clusters = _make_clusters(pattern, system, True)
        step, size = _descend(
            table, face, common, line_weight, common_weight, slope_weight, pattern, system, clusters, longest,
            tolerance, min(FEW, max_steps), direction,
        )  # fmt: skip
    if size > tolerance and step < max_steps:
        memory[2] = 1.0
        clusters = _make_clusters(pattern, system, False)
        more, size = _descend(
            table, face, common, line_weight, common_weight, slope_weight, pattern, system, clusters, longest,
            tolerance, max_steps - step, direction,
        )  # fmt: skip
        step += more
    return step, size


clustered_direction = Kernel(_clustered_direction, element=ELEMENT)
