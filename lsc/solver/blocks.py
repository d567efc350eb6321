"""The Newton system of reviewers who need not be linear: conjugate gradients on clusters of closely tied items.

The eigenvectors of small eigenvalues live on a few items each, tied to each other and hardly to the rest. So items
are gathered into clusters along their strongest ties, and the blocks of the matrix on clusters, inverted, precondition
it: what is left has eigenvalues of the order of one. Numbers of products fall by five to ten against the diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.model.hypotheses import IDLE
from lsc.solver.matrix import Pattern, assemble, multiply_heavy
from lsc.solver.tables import ELEMENT, Common, Face, ItemArray, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.kernels.union_find import find
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

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
