"""The Newton system of reviewers who need not be linear, solved by preconditioned conjugate gradients.

The matrix is the sum over reviewers of identity minus the projector on the face of their projection. Its sparsity
pattern is fixed; reviewers with many reviews are multiplied by their faces instead. Eigenvectors of small eigenvalues
are concentrated on few items with strong ties, so items are clustered along these, and the inverted diagonal blocks of
the clusters are the preconditioner: five to ten times fewer products than with the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

from lsc._solver.kernels.projections import SMALL, pairs_of

if not cython.compiled:
    from lsc._model.hypotheses import IDLE, LINEAR, MONOTONE
    from reviewgraph.graph.kernels.union_find import find

if TYPE_CHECKING:
    from lsc._solver.kernels.lines import Common
    from lsc._solver.kernels.projections import Face, Table
    from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray

#: Minimum strength of a tie relative to the diagonal, and maximum number of items of a cluster.
WEAK_TIE = 0.1
MAX_CLUSTER = 16
#: Number of classes of strength that ties are sorted into.
CLASSES = 64
#: Relative size of a pivot below which it is rounding and is replaced by the diagonal.
ROUNDING = 1e-13


@dataclass(eq=False, repr=False)
class System:
    """A Newton system over N items: its sparse matrix, clusters of items, and the vectors of conjugate gradients."""

    # Row i has its entries, the diagonal first, at ``first[i]`` to ``first[i + 1] - 1``, in the columns ``column``: the
    # items that share a reviewer with few reviews
    first: CodeArray
    column: CodeArray
    # The entry of reviews a and b of reviewer j is at ``slot[begin[j] + a * size + b]``; a reviewer outside the matrix
    # has no slots
    begin: IntArray
    slot: CodeArray
    # The pairs of items that share a reviewer, the smaller one first, and their entries
    left: CodeArray
    right: CodeArray
    tie: CodeArray
    # The entries, the share of each reviewer in them, and space for the matrix of one reviewer
    value: FloatArray
    written: FloatArray
    block: FloatArray
    # Space for a reviewer outside the matrix: a direction, its image, and values of nodes
    local: FloatArray
    local_image: FloatArray
    node: FloatArray
    # Clusters: a forest of items; items cluster by cluster, and their places there; ends of clusters, inverted blocks
    parent: IntArray
    order: IntArray
    position: IntArray
    stop: IntArray
    inverse: FloatArray
    cluster: FloatArray  # Space for the residual in one of them
    # Conjugate gradients; the diagonal, and its inverse, 0 at fixed items
    search: FloatArray
    image: FloatArray
    residual: FloatArray
    diagonal: FloatArray
    inverse_diagonal: FloatArray
    # The weights of the present entries, and what goes from one step to the next
    line_weight: float = -1.0
    common_weight: float = -1.0
    clusters: int = 0
    squares: float = 0.0  # Squared norm of the residual by the inverse diagonal,
    rho: float = 0.0  # and by the inverted blocks
    mean: float = 0.0  # Sums of the search direction with the degrees and tilts of items
    slope: float = 0.0


def system_of(table: Table, n_items: int) -> System:
    """Lay out the matrix, and allocate the rest."""
    start = np.asarray(table.start)
    kind = np.asarray(table.kind)
    begin = pairs_of(start, kind != IDLE)
    slot = np.zeros(begin[kind.size], dtype=np.uint32)
    column = np.zeros(n_items + slot.size, dtype=np.uint32)
    first = np.zeros(n_items + 1, dtype=np.uint32)
    entries = lay_out(table, begin, first, column, slot)
    column = column[:entries].copy()
    row = np.repeat(np.arange(n_items, dtype=np.uint32), np.diff(first))
    tie = np.flatnonzero(row < column).astype(np.uint32)
    heavy = (kind != IDLE) & (np.diff(begin) == 0)
    longest = int(np.diff(start)[heavy].max(initial=0))
    return System(
        first=first,
        column=column,
        begin=begin,
        slot=slot,
        left=row[tie],
        right=column[tie],
        tie=tie,
        value=np.zeros(entries),
        written=np.zeros(slot.size),
        block=np.empty(SMALL * SMALL),
        local=np.empty(longest),
        local_image=np.empty(longest),
        node=np.empty(longest + 2),
        parent=np.zeros(n_items, np.int64),
        order=np.zeros(n_items, np.int64),
        position=np.zeros(n_items, np.int64),
        stop=np.zeros(n_items, np.int64),
        inverse=np.zeros(MAX_CLUSTER * n_items),
        cluster=np.empty(MAX_CLUSTER),
        search=np.zeros(n_items),
        image=np.zeros(n_items),
        residual=np.zeros(n_items),
        diagonal=np.zeros(n_items),
        inverse_diagonal=np.zeros(n_items),
    )


def lay_out(table: Table, begin: IntArray, first: CodeArray, column: CodeArray, slot: CodeArray) -> int:
    """Write the pattern; returns the number of entries. O(sum of squares of the small reviewers' loads)."""
    starts = table.start
    item = table.item
    n = len(first) - 1
    stop = np.zeros(n + 1, np.int64)
    review = np.empty(len(item), np.int64)
    owner = np.empty(len(item), np.int64)
    where = np.full(n, -1, np.int64)  # the entry of this column, valid if it is in the present row
    entries = 0
    earlier = 0
    with cython.nogil:
        # Reviews by item (counting sort): stop[i] becomes the first review of the next item.
        for r in range(len(item)):
            stop[item[r] + 1] += 1
        for i in range(n):
            stop[i + 1] += stop[i]
        for j in range(len(starts) - 1):
            for r in range(starts[j], starts[j + 1]):
                k = stop[item[r]]
                review[k] = r
                owner[k] = j
                stop[item[r]] = k + 1
        # Row by row: one entry for every item that shares a small reviewer with item i.
        for i in range(n):
            top = entries
            first[i] = top
            column[top] = i
            where[i] = top
            entries += 1
            for k in range(earlier, stop[i]):
                j = owner[k]
                start = starts[j]
                size = starts[j + 1] - start
                if begin[j + 1] == begin[j]:
                    continue
                at = begin[j] + (review[k] - start) * size
                for b in range(size):
                    neighbour = item[start + b]
                    if where[neighbour] < top:
                        column[entries] = neighbour
                        where[neighbour] = entries
                        entries += 1
                    slot[at + b] = where[neighbour]
            earlier = stop[i]
        first[n] = entries
    return entries


# The matrix.


def write_line(start: int, size: int, weight: float, slope: float, table: Table, system: System) -> None:
    """Write weight times identity minus the projector on lines; ``slope`` is 0 if slopes are not free."""
    share = weight / size
    for a in range(size):
        steep = weight * slope * table.unit[start + a]
        for b in range(size):
            system.block[a * size + b] = -share - steep * table.unit[start + b]
        system.block[a * (size + 1)] += weight


def add_chain(start: int, size: int, face: Face, system: System) -> None:
    """Add the blocks of a monotone reviewer: the normalised Laplacian of a clique each."""
    block_start = start
    while block_start < start + size:
        block_end = face.end[block_start]
        if block_end - block_start > 1:
            share = 1.0 / (block_end - block_start)
            for r in range(block_start - start, block_end - start):
                system.block[r * size + r] += 1.0
                for s in range(block_start - start, block_end - start):
                    system.block[r * size + s] -= share
        block_start = block_end


def add_heavy_diagonal(j: int, table: Table, face: Face, line_weight: float, system: System) -> None:
    """Add an approximate diagonal of the matrix of a reviewer with many reviews."""
    start = table.start[j]
    size = table.start[j + 1] - start
    dimension = face.nodes[j]
    if table.kind[j] == MONOTONE:
        block_start = start
        dimension = 0
        while block_start < start + size:
            block_start = face.end[block_start]
            dimension += 1
    for r in range(start, start + size):
        if table.kind[j] == LINEAR:
            slope = table.unit[r] if face.slope_free[j] else 0.0
            entry = 1.0 - 1.0 / size - slope * slope
        else:
            entry = max(0.0, 1.0 - 1.0 * dimension / size) + line_weight * (1.0 - 2.0 / size)
        system.diagonal[table.item[r]] += entry


def assemble(
    table: Table, face: Face, common: Common, line_weight: float, common_weight: float, system: System,
    fixed: BoolArray,
) -> None:  # fmt: skip
    """Write the matrix, its diagonal, and the reciprocal of this, which is 0 at fixed items.

    The matrix has the reviewers with few reviews and the diagonal of common distances; where the weights are those of
    the last one, only reviewers whose faces have changed are written. Of the others the diagonal has an approximation.
    """
    with cython.nogil:
        rebuild = system.line_weight != line_weight or system.common_weight != common_weight
        system.line_weight = line_weight
        system.common_weight = common_weight
        if rebuild:
            for k in range(len(system.value)):
                system.value[k] = 0.0
            for k in range(len(system.written)):
                system.written[k] = 0.0
            for i in range(len(fixed)):
                system.value[system.first[i]] = common_weight * common.degree[i]
        for i in range(len(fixed)):
            system.diagonal[i] = 0.0
        for j in range(len(table.kind)):
            kind = table.kind[j]
            at = system.begin[j]
            if kind == IDLE:
                continue
            if system.begin[j + 1] == at:
                add_heavy_diagonal(j, table, face, line_weight, system)
                continue
            if not (rebuild or face.changed[j]):
                continue
            start = table.start[j]
            size = table.start[j + 1] - start
            slope = 0.0 if kind == LINEAR and not face.slope_free[j] else 1.0
            weight = 1.0 if kind == LINEAR else line_weight
            write_line(start, size, weight, slope, table, system)
            if kind == MONOTONE:
                add_chain(start, size, face, system)
            elif kind != LINEAR:
                for k in range(size * size):
                    system.block[k] += face.block[face.begin[j] + k]
            for k in range(size * size):
                change = system.block[k] - system.written[at + k]
                if change != 0.0:
                    system.value[system.slot[at + k]] += change
                    system.written[at + k] = system.block[k]
        for j in range(len(face.changed)):
            face.changed[j] = False
        for i in range(len(fixed)):
            entry = system.diagonal[i] + system.value[system.first[i]]
            if entry <= 0.0:
                entry = 1.0
            system.diagonal[i] = entry
            system.inverse_diagonal[i] = 0.0 if fixed[i] else 1.0 / entry


def multiply_reviewer(j: int, table: Table, face: Face, line_weight: float, system: System) -> None:
    """Multiply by the matrix of a reviewer with many reviews, from ``local`` to ``local_image``.

    The matrix is identity minus the projector on the face, and the weighted distance from lines.
    """
    start = table.start[j]
    size = table.start[j + 1] - start
    # The distance from lines: identity minus the projector on the span of ones and unit scores.
    linear = table.kind[j] == LINEAR
    mean = 0.0
    slope = 0.0
    for r in range(size):
        mean += system.local[r]
        slope += table.unit[start + r] * system.local[r]
    mean /= size
    weight = line_weight
    if linear:
        weight = 1.0
        if not face.slope_free[j]:
            slope = 0.0
    for r in range(size):
        system.local_image[r] = weight * (system.local[r] - mean - slope * table.unit[start + r])
    if linear:
        return
    # Monotone: subtract the mean of each block.
    if table.kind[j] == MONOTONE:
        block_start = 0
        while block_start < size:
            block_end = face.end[start + block_start] - start
            mean = 0.0
            for r in range(block_start, block_end):
                mean += system.local[r]
            mean /= block_end - block_start
            for r in range(block_start, block_end):
                system.local_image[r] += system.local[r] - mean
            block_start = block_end
        return
    # Convex or concave: map to the nodes, solve the factored normal equations, and map back.
    nodes = face.nodes[j]
    for k in range(nodes + 1):
        system.node[k] = 0.0
    for r in range(size):
        k = face.node[start + r]
        s = face.share[start + r]
        system.node[k] += (1.0 - s) * system.local[r]
        system.node[k + 1] += s * system.local[r]
    for k in range(nodes - 1):
        system.node[k + 1] -= face.link[start + k] * system.node[k]
    system.node[nodes - 1] /= face.pivot[start + nodes - 1]
    for k in range(nodes - 2, -1, -1):
        system.node[k] = system.node[k] / face.pivot[start + k] - face.link[start + k] * system.node[k + 1]
    system.node[nodes] = 0.0
    for r in range(size):
        k = face.node[start + r]
        s = face.share[start + r]
        system.local_image[r] += system.local[r] - (1.0 - s) * system.node[k] - s * system.node[k + 1]


def multiply_heavy(table: Table, face: Face, line_weight: float, system: System) -> None:
    """Add the product of the search direction with the matrices of reviewers with many reviews to its image."""
    for j in range(len(table.kind)):
        start = table.start[j]
        size = table.start[j + 1] - start
        # Reviewers with few reviews are in the matrix already.
        if table.kind[j] == IDLE or system.begin[j + 1] > system.begin[j] or size == 0:
            continue
        for r in range(size):
            system.local[r] = system.search[table.item[start + r]]
        multiply_reviewer(j, table, face, line_weight, system)
        for r in range(size):
            system.image[table.item[start + r]] += system.local_image[r]


def multiply(system: System) -> float:
    """Add the product of the sparse matrix with the search direction to its image; returns the curvature along it."""
    first = system.first
    column = system.column
    value = system.value
    search = system.search
    image = system.image
    curvature = 0.0
    for i in range(len(search)):
        total = image[i]
        for k in range(first[i], first[i + 1]):
            total += value[k] * search[column[k]]
        image[i] = total
        curvature += search[i] * total
    return curvature


# The preconditioner.


def cluster_items(system: System) -> None:
    """Cluster items along their ties, the strongest first, up to a size (Kruskal's order): ``parent`` is a forest.

    Items whose inverse diagonal is 0 are excluded. The strength of a tie is the square of its entry over the product of
    both diagonals, in classes; within a class ties keep the order of items.
    """
    inverse = system.inverse_diagonal
    left = system.left
    right = system.right
    count = np.zeros(CLASSES + 1, np.int64)
    grade, chosen, ordered = np.empty((3, len(left)), np.uint32)
    size = np.ones(len(inverse), np.uint8)
    ties = 0
    with cython.nogil:
        # Strength of each tie, weak ones left out; count how many fall into each class.
        for e in range(len(left)):
            entry = system.value[system.tie[e]]
            part = entry * entry * inverse[left[e]] * inverse[right[e]]
            if part >= WEAK_TIE * WEAK_TIE:
                c = max(0, CLASSES - 1 - cython.cast(cython.longlong, CLASSES * part))
                grade[ties] = c
                chosen[ties] = e
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
        for k in range(ties):
            a = find(system.parent, left[ordered[k]])
            b = find(system.parent, right[ordered[k]])
            if a != b and size[a] + size[b] <= MAX_CLUSTER:
                system.parent[b] = a
                size[a] += size[b]


def number_clusters(system: System) -> int:
    """Order items by cluster; write the ends of clusters and return their number."""
    n = len(system.parent)
    number = np.empty(n, np.int64)
    clusters = 0
    with cython.nogil:
        # Number the roots; count the items of each cluster, and lay the clusters out one after the other.
        for i in range(n):
            if system.parent[i] == i:
                number[i] = clusters
                system.stop[clusters] = 0
                clusters += 1
        for i in range(n):
            system.stop[number[find(system.parent, i)]] += 1
        total = 0
        for c in range(clusters):
            size = system.stop[c]
            system.stop[c] = total
            total += size
        for i in range(n):
            c = number[find(system.parent, i)]
            k = system.stop[c]
            system.order[k] = i
            system.position[i] = k
            system.stop[c] = k + 1
    return clusters


def invert_blocks(system: System) -> None:
    """Write the inverses of the diagonal blocks by in-place Gauss-Jordan elimination."""
    first = system.first
    column = system.column
    order = system.order
    block = np.empty((MAX_CLUSTER, MAX_CLUSTER))
    row_of_pivot = np.empty(MAX_CLUSTER)
    at = 0
    begin = 0
    with cython.nogil:
        for c in range(system.clusters):
            end = system.stop[c]
            size = end - begin
            # Most clusters have a single item.
            if size == 1:
                system.inverse[at] = system.inverse_diagonal[order[begin]]
                at += 1
                begin = end
                continue
            # Copy the block out of the sparse matrix.
            for row in range(size):
                i = order[begin + row]
                for k in range(size):
                    block[row, k] = 0.0
                for k in range(first[i] + 1, first[i + 1]):
                    neighbour = system.position[column[k]]
                    if begin <= neighbour < end:
                        block[row, neighbour - begin] = system.value[k]
                block[row, row] = system.diagonal[i]
            # Gauss and Jordan without exchanges: the matrix is positive semidefinite, and tiny pivots are replaced.
            for p in range(size):
                pivot = block[p, p]
                entry = system.diagonal[order[begin + p]]
                if pivot < ROUNDING * entry:
                    pivot = entry
                block[p, p] = 1.0
                for k in range(size):
                    row_of_pivot[k] = block[p, k] / pivot
                for row in range(size):
                    factor = block[row, p]
                    if factor != 0.0:
                        block[row, p] = 0.0
                        for k in range(size):
                            block[row, k] -= factor * row_of_pivot[k]
                for k in range(size):
                    block[p, k] = row_of_pivot[k]
            for row in range(size):
                for k in range(size):
                    system.inverse[at + row * size + k] = block[row, k]
            at += size * size
            begin = end


def precondition(system: System, out: FloatArray) -> float:
    """Multiply the residual by the inverted blocks; returns the inner product of both."""
    order = system.order
    inverse = system.inverse
    residual = system.residual
    cluster = system.cluster
    at = 0
    begin = 0
    rho = 0.0
    for c in range(system.clusters):
        end = system.stop[c]
        size = end - begin
        if size == 1:
            i = order[begin]
            out[i] = inverse[at] * residual[i]
            rho += residual[i] * out[i]
            at += 1
        else:
            for k in range(size):
                cluster[k] = residual[order[begin + k]]
            for row in range(size):
                total = 0.0
                for k in range(size):
                    total += inverse[at + k] * cluster[k]
                out[order[begin + row]] = total
                rho += cluster[row] * total
                at += size
        begin = end
    return rho


# Conjugate gradients.


def start_gradients(system: System, common: Common, clustered: bool) -> None:
    """Begin conjugate gradients with the blocks of clusters of items, or with the diagonal, from the residual."""
    n = len(system.residual)
    for i in range(n):
        system.parent[i] = i
    if clustered:
        cluster_items(system)
    system.clusters = number_clusters(system)
    invert_blocks(system)
    with cython.nogil:
        system.rho = precondition(system, system.search)
        squares = 0.0
        mean = 0.0
        slope = 0.0
        for i in range(n):
            squares += system.residual[i] * system.residual[i] * system.inverse_diagonal[i]
            mean += common.degree[i] * system.search[i]
            slope += common.tilt[i] * system.search[i]
        system.squares = squares
        system.mean = mean
        system.slope = slope


def descend_gradients(
    table: Table, face: Face, common: Common, common_free: bool, system: System, tolerance: float, max_steps: int,
    direction: FloatArray,
) -> int:  # fmt: skip
    """Go on with conjugate gradients; returns the number of steps, less than ``max_steps`` at the end.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    A step costs O(E) for reviewers with few reviews each. Fixed items do not take part: their preconditioned residual
    is 0.
    """
    degree = common.degree
    tilt = common.tilt
    search = system.search
    image = system.image
    residual = system.residual
    inverse = system.inverse_diagonal
    n = len(direction)
    step = 0
    with cython.nogil:
        slope_weight = system.common_weight / common.spread if common_free else 0.0
        while step < max_steps and system.squares > tolerance * tolerance and system.rho > 0.0:
            # The common line is a term of rank two; reviewers with many reviews are multiplied by their faces.
            a = system.common_weight * system.mean / common.reviews
            b = slope_weight * system.slope
            for i in range(n):
                image[i] = -a * degree[i] - b * tilt[i]
            if len(system.local) > 0:
                multiply_heavy(table, face, system.line_weight, system)
            curvature = multiply(system)
            if curvature <= 0.0:
                break
            # Step, precondition the residual, and conjugate the direction.
            alpha = system.rho / curvature
            squares = 0.0
            for i in range(n):
                direction[i] += alpha * search[i]
                gap = residual[i] - alpha * image[i]
                residual[i] = gap
                squares += gap * gap * inverse[i]
            rho = precondition(system, image)
            beta = rho / system.rho
            mean = 0.0
            slope = 0.0
            for i in range(n):
                value = image[i] + beta * search[i]
                search[i] = value
                mean += degree[i] * value
                slope += tilt[i] * value
            system.squares = squares
            system.rho = rho
            system.mean = mean
            system.slope = slope
            step += 1
    return step
