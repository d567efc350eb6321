"""Kernels that find all pairs of reviewers with two items in common: the 4-cycles of the bipartite graph.

Every 4-cycle is found from its vertex of highest degree, by the order of Chiba and Nishizeki (1985). That costs
the sum over the reviews of the smaller degree at their ends, so that a hub item costs no more than its
reviewers' other items, and a reviewer of everything no more than those items' other reviewers.

With scores, two items count if both reviewers have them on different levels; ``level[r]`` is the first review
of the same reviewer with the score of review r. An empty ``level`` says that all levels differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from reviewgraph.kernels.compiling import kernel, patient_kernel
from reviewgraph.kernels.union_find import union

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray

    RankArray: TypeAlias = npt.NDArray[np.int32]


class Ranked(NamedTuple):
    """The bipartite graph with its vertices renamed by their rank in the order of (degree, index).

    ``vertex[p]`` is the reviewer (0..M-1) or item (M..M+N-1) of rank p; its neighbours' ranks are
    ``neighbour[first[p]:first[p + 1]]``, ascending, and ``level`` holds the levels of those reviews.
    """

    vertex: IntArray
    first: IntArray
    neighbour: RankArray
    level: IntArray


class Reached(NamedTuple):
    """What a top vertex has reached in two steps; arrays of shape (M + N, 2) by the rank of the end.

    ``way`` is the top that last reached an end and the middle of its first way there, ``level`` the levels of that
    middle on the side of the top and of the end, ``only`` the last middle that only the top, or only the end, puts
    on another level than the first.
    """

    way: RankArray
    level: IntArray
    only: RankArray


@patient_kernel
def rank_neighbours(
    start: IntArray, item: IntArray, item_start: IntArray, by_item: IntArray, vertex: IntArray, level: IntArray
) -> Ranked:
    """Write the lists of neighbours in ascending order of rank, vertices given in that order, in linear time."""
    n_reviewers, size = start.size - 1, vertex.size
    rank = np.empty(size, np.int32)
    first = np.zeros(size + 1, np.int64)
    owner = np.empty(item.size, np.int32)
    for p in range(size):
        v = vertex[p]
        rank[v] = p
        if v >= n_reviewers:
            first[p + 1] = first[p] + item_start[v - n_reviewers + 1] - item_start[v - n_reviewers]
        else:
            first[p + 1] = first[p] + start[v + 1] - start[v]
            owner[start[v] : start[v + 1]] = p
    neighbour = np.empty(2 * item.size, np.int32)
    levels = np.empty(2 * level.size, np.int64)
    fill = first[:size].copy()
    for p in range(size):
        v = vertex[p]
        is_item = v >= n_reviewers
        low = item_start[v - n_reviewers] if is_item else start[v]
        for e in range(low, low + first[p + 1] - first[p]):
            r = by_item[e] if is_item else e
            other = owner[r] if is_item else rank[n_reviewers + item[r]]
            neighbour[fill[other]] = p
            if level.size:
                levels[fill[other]] = level[r]
            fill[other] += 1
    return Ranked(vertex, first, neighbour, levels)


@kernel
def second_middle(reached: Reached, top: int, middle: int, end: int, top_level: int, end_level: int) -> int:
    """Note a way from ``top`` over ``middle`` to ``end``; returns the middle of an earlier way, or -1.

    Between two reviewers, both must have the two middles on different levels. If each of them has some item on
    another level than the first item they share, such a pair exists: the items that only the one and only the
    other has on another level.
    """
    if reached.way[end, 0] != top:
        reached.way[end, 0], reached.way[end, 1] = top, middle
        if reached.level.size:
            reached.level[end, 0], reached.level[end, 1] = top_level, end_level
            reached.only[end, 0] = reached.only[end, 1] = -1
        return -1
    if reached.level.size == 0:
        return reached.way[end, 1]
    top_differs = reached.level[end, 0] != top_level
    end_differs = reached.level[end, 1] != end_level
    if top_differs and end_differs:
        return reached.way[end, 1]
    if top_differs:
        reached.only[end, 0] = middle
        return reached.only[end, 1]
    if end_differs:
        reached.only[end, 1] = middle
        return reached.only[end, 0]
    return -1


@kernel
def record(merges: IntArray, row: int, a: int, b: int, u: int, v: int) -> None:
    """Write one step of a certificate: the reviewers (or their components) a and b share the items u and v."""
    merges[row, 0], merges[row, 1] = min(a, b), max(a, b)
    merges[row, 2], merges[row, 3] = min(u, v), max(u, v)


@patient_kernel
def merge_pairs(graph: Ranked, n_reviewers: int, parent: IntArray, merges: IntArray) -> int:
    """Join reviewers with two items in common; returns the number of merges, written to the rows of ``merges``."""
    vertex, first, neighbour, level = graph.vertex, graph.first, graph.neighbour, graph.level
    size, scored, count, upper, lower = vertex.size, level.size > 0, 0, 0, 0
    plain = Reached(np.full((size, 2), -1, np.int32), np.empty((0, 2), np.int64), np.empty((0, 2), np.int32))
    reached = plain
    if scored:
        reached = Reached(plain.way, np.empty((size, 2), np.int64), np.empty((size, 2), np.int32))
    for top in range(size - 1, -1, -1):
        top_is_item = vertex[top] >= n_reviewers
        for e in range(first[top], first[top + 1]):
            middle = neighbour[e]
            if middle > top:
                break
            for f in range(first[middle], first[middle + 1]):
                end = neighbour[f]
                if end >= top:
                    break
                if scored:
                    upper, lower = level[e], level[f]
                if not top_is_item:
                    other = second_middle(reached, top, middle, end, upper, lower)
                elif scored and upper == lower:
                    continue
                else:
                    other = second_middle(plain, top, middle, end, 0, 0)
                if other < 0:
                    continue
                a, b, u, v = (middle, other, top, end) if top_is_item else (top, end, middle, other)
                if union(parent, vertex[a], vertex[b]):
                    record(merges, count, vertex[a], vertex[b], vertex[u] - n_reviewers, vertex[v] - n_reviewers)
                    count += 1
                    if count == n_reviewers - 1:
                        return count
    return count
