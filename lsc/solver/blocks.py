"""The Newton system of reviewers who need not be linear: conjugate gradients on clusters of closely tied items.

The eigenvectors of small eigenvalues live on a few items each, tied to each other and hardly to the rest. So items
are gathered into clusters along their strongest ties, and the blocks of the matrix on clusters, inverted, precondition
it: what is left has eigenvalues of the order of one. Numbers of products fall by five to ten against the diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.model.shapes import IDLE
from lsc.solver.matrix import Pattern, assemble, multiply_heavy
from lsc.solver.tables import ELEMENT, Common, Face, ItemArray, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.kernels.union_find import find
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Ties weaker than this part of the diagonal do not make clusters, and clusters have at most this many items.
WEAK, LARGEST = 0.1, 16
#: Ties are sorted into this many classes of strength.
CLASSES = 64
#: A pivot below this part of the diagonal is rounding: the item is left to the diagonal.
ROUNDING = 1e-13
#: Entries up to this are what rounding left of 0.
NOTHING = 1e-16


class System(NamedTuple):
    """Room for a Newton system over N items, made once.

    ``value``, the entries of the pattern; the same matrix with items cluster by cluster, ``first``, ``column`` and
    ``entry``; the ``inverse`` blocks on clusters; the item in each row, ``order``, and the row of each, ``position``;
    the forest of clusters, ``parent``; where clusters ``stop``; ``vectors`` (10, N); and room for ``sorting`` ties.
    """

    value: FloatArray
    first: ItemArray
    column: ItemArray
    entry: FloatArray
    inverse: FloatArray
    order: IntArray
    position: IntArray
    parent: IntArray
    stop: IntArray
    vectors: FloatArray
    sorting: ItemArray


def system_of(pattern: Pattern) -> System:
    """Make room for systems of a pattern."""
    n, entries = len(pattern.first) - 1, len(pattern.column)
    return System(
        value=np.zeros(entries),
        first=np.zeros(n + 1, dtype=np.uint32),
        column=np.zeros(entries, dtype=np.uint32),
        entry=np.zeros(entries),
        inverse=np.zeros(LARGEST * n),
        order=np.zeros(n, dtype=np.int64),
        position=np.zeros(n, dtype=np.int64),
        parent=np.zeros(n, dtype=np.int64),
        stop=np.zeros(n, dtype=np.int64),
        vectors=np.zeros((10, n)),
        sorting=np.zeros((3, len(pattern.tie)), dtype=np.uint32),
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
def _compact(
    pattern: Pattern,
    value: FloatArray,
    fixed: BoolArray,
    order: IntArray,
    position: IntArray,
    first: ItemArray,
    column: ItemArray,
    entry: FloatArray,
) -> None:
    """Copy the entries that are not 0 to a matrix whose items stand cluster by cluster; fixed ones have empty rows."""
    total = 0
    for row in range(len(order)):
        i = order[row]
        first[row] = total
        if fixed[i]:
            continue
        for k in range(pattern.first[i], pattern.first[i + 1]):
            if abs(value[k]) > NOTHING:
                column[total], entry[total] = position[pattern.column[k]], value[k]
                total += 1
    first[len(order)] = total


@kernel
def _invert_blocks(
    clusters: int,
    stop: IntArray,
    first: ItemArray,
    column: ItemArray,
    entry: FloatArray,
    diagonal: FloatArray,
    inverse: FloatArray,
) -> None:
    """Write the inverses of the diagonal blocks, one after the other, by eliminating in place (Gauss and Jordan)."""
    block, across = np.empty((LARGEST, LARGEST)), np.empty(LARGEST)
    at, left = 0, 0
    for c in range(clusters):
        right = stop[c]
        # Most clusters are single items.
        size = right - left
        if size == 1:
            inverse[at] = 1.0 / diagonal[left]
            at, left = at + 1, right
            continue
        # Copy the block out of the sparse matrix.
        for row in range(size):
            for k in range(LARGEST):  # whole rows throughout: loops of a known length are the fastest
                block[row, k] = 0.0
            for k in range(first[left + row], first[left + row + 1]):
                other = column[k]
                if left <= other < right:
                    block[row, other - left] = entry[k]
            block[row, row] = diagonal[left + row]
        # Gauss and Jordan without exchanges: the matrix is positive semidefinite, and tiny pivots are replaced.
        for p in range(size):
            pivot = block[p, p]
            if pivot < ROUNDING * diagonal[left + p]:
                pivot = diagonal[left + p]
            block[p, p] = 1.0
            for k in range(LARGEST):
                across[k] = block[p, k] / pivot
            for row in range(size):
                factor = block[row, p]
                block[row, p] = 0.0
                for k in range(LARGEST):
                    block[row, k] -= factor * across[k]
            for k in range(LARGEST):
                block[p, k] = across[k]
        for row in range(size):
            for k in range(size):
                inverse[at + row * size + k] = block[row, k]
        at += size * size
        left = right


@kernel
def _precondition(clusters: int, stop: IntArray, inverse: FloatArray, residual: FloatArray, out: FloatArray) -> float:
    """Multiply the residual by the inverted blocks; returns the inner product of both."""
    at, left, rho = 0, 0, 0.0
    for c in range(clusters):
        right = stop[c]
        size = right - left
        if size == 1:
            out[left] = inverse[at] * residual[left]
        else:
            for row in range(size):
                out[left + row] = 0.0
            for k in range(size):  # blocks are symmetric: rows for columns
                part = residual[left + k]
                for row in range(size):
                    out[left + row] += inverse[at + k * size + row] * part
        for row in range(left, right):
            rho += residual[row] * out[row]
        at += size * size
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
    gradient: FloatArray,
) -> int:
    """Write the matrix, the inverses of its blocks and the vectors, in the order of clusters; returns their number."""
    # Assemble; whole holds the diagonal, loose its inverse at items that may move.
    value, first, column, entry, inverse, order, position, parent, stop, vectors, sorting = system
    residual, scaled, degree, tilt, found = vectors[2], vectors[3], vectors[4], vectors[5], vectors[6]
    whole, loose, diagonal = vectors[7], vectors[8], vectors[9]
    assemble(table, face, common, line_weight, common_weight, pattern, value, whole)
    for i in range(len(gradient)):
        whole[i] += value[pattern.first[i]]
        if whole[i] <= 0.0:
            whole[i] = 1.0
        loose[i] = 0.0 if fixed[i] else 1.0 / whole[i]
    # Cluster, renumber items cluster by cluster, and bring all vectors into that order.
    _gather(pattern, value, loose, parent, sorting)
    clusters = _line_up(parent, order, position, stop)
    _compact(pattern, value, fixed, order, position, first, column, entry)
    for row in range(len(order)):
        i = order[row]
        free = 0.0 if fixed[i] else 1.0
        degree[row], tilt[row] = free * common.degree[i], free * common.tilt[i]
        residual[row], found[row] = -free * gradient[i], 0.0
        diagonal[row], scaled[row] = whole[i], 1.0 / whole[i]
    _invert_blocks(clusters, stop, first, column, entry, diagonal, inverse)
    return clusters


@kernel
def _multiply_rows(first: ItemArray, column: ItemArray, entry: FloatArray, p: FloatArray, image: FloatArray) -> None:
    """Multiply the sparse matrix by ``p``."""
    for row in range(len(p)):
        total = 0.0
        for k in range(first[row], first[row + 1]):
            total += entry[k] * p[column[k]]
        image[row] = total


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
    """Solve the Newton system by conjugate gradients, preconditioned with clusters of items.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E) for reviewers with few reviews each.
    """
    # Conjugate gradients from 0, all vectors in the order of clusters.
    _, first, column, entry, inverse, order, position, _, stop, vectors, _ = system
    p, image, residual, scaled = vectors[0], vectors[1], vectors[2], vectors[3]
    degree, tilt, found = vectors[4], vectors[5], vectors[6]
    n, longest = len(gradient), _heavy_size(table, pattern)
    room = np.empty((3, longest + 2))
    clusters = _set_up(table, face, common, line_weight, common_weight, pattern, system, fixed, gradient)
    slope_weight = common_weight / common.spread if common_free else 0.0
    rho = _precondition(clusters, stop, inverse, residual, p)
    size, mean, slope = 0.0, 0.0, 0.0
    for row in range(n):
        size += residual[row] * residual[row] * scaled[row]
        mean += degree[row] * p[row]
        slope += tilt[row] * p[row]
    step = 0
    while step < max_steps and size > tolerance * tolerance and rho > 0.0:
        _multiply_rows(first, column, entry, p, image)
        # Reviewers with many reviews are not in the sparse matrix: they multiply by their faces.
        if longest > 0:
            multiply_heavy(table, face, line_weight, pattern, position, p, image, room)
            for row in range(n):
                if fixed[order[row]]:
                    image[row] = 0.0
        # The common line is a part of rank two.
        a, b, curvature = common_weight * mean / common.reviews, slope_weight * slope, 0.0
        for row in range(n):
            image[row] -= a * degree[row] + b * tilt[row]
            curvature += p[row] * image[row]
        if curvature <= 0.0:
            break
        # Step, precondition what is left, and turn the direction.
        alpha = rho / curvature
        size = 0.0
        for row in range(n):
            found[row] += alpha * p[row]
            residual[row] -= alpha * image[row]
            size += residual[row] * residual[row] * scaled[row]
        fresh = _precondition(clusters, stop, inverse, residual, image)
        beta, mean, slope = fresh / rho, 0.0, 0.0
        rho = fresh
        for row in range(n):
            p[row] = image[row] + beta * p[row]
            mean += degree[row] * p[row]
            slope += tilt[row] * p[row]
        step += 1
    for row in range(n):
        direction[order[row]] = found[row]
    return step, np.sqrt(size)


clustered_direction = Kernel(_clustered_direction, element=ELEMENT)
