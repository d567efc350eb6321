"""Kernels that find all pairs of reviewers with two items in common: the 4-cycles of the bipartite graph.

Every 4-cycle is found from its vertex of highest degree, by the order of Chiba and Nishizeki (1985). That costs
the sum over the reviews of the smaller degree at their ends, so that a hub item costs no more than its
reviewers' other items, and a reviewer of everything no more than those items' other reviewers.

With scores, two items count if both reviewers have them on different levels; ``level[r]`` is the first review
of the same reviewer with the score of review r. An empty ``level`` says that all levels differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.union_find import union

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


class Ranked(NamedTuple):
    """The bipartite graph with its vertices renamed by their rank in the order of (degree, index).

    Parameters
    ----------
    vertex
        The reviewer (0..M-1) or item (M..M+N-1) of each rank, shape (M + N,).
    first
        The neighbours of rank p are ``neighbour[first[p]:first[p + 1]]``, shape (M + N + 1,).
    neighbour
        Ranks, ascending for each vertex, shape (2 E,).
    level
        The levels of the reviews between them, or empty.
    """

    vertex: IntArray
    first: IntArray
    neighbour: IntArray
    level: IntArray


class Reached(NamedTuple):
    """What a top vertex has reached in two steps, by the rank of the end; all but the first two empty without scores.

    Parameters
    ----------
    last_top
        The top that reached the end last, or -1.
    first_middle
        The middle of its first way there.
    top_level, end_level
        The levels of that middle on the side of the top and of the end.
    only_top, only_end
        The last middle that only the top, or only the end, puts on another level than the first; -1 for none.
    """

    last_top: IntArray
    first_middle: IntArray
    top_level: IntArray
    end_level: IntArray
    only_top: IntArray
    only_end: IntArray


class Merges(NamedTuple):
    """A certificate, step by step: the components of reviewers a < b share the items u < v; all of shape (M - 1,)."""

    a: IntArray
    b: IntArray
    u: IntArray
    v: IntArray


def rank_neighbours(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, level: IntArray) -> Ranked:
    """Order the vertices by degree and their lists of neighbours by rank; takes O(E log E)."""
    size, n_reviews = n_reviewers + n_items, reviewer.size
    degree = np.bincount(np.concatenate([reviewer, n_reviewers + item]), minlength=size)
    vertex = np.argsort(degree, kind="stable")
    rank = np.empty(size, np.int64)
    rank[vertex] = np.arange(size)
    first = np.zeros(size + 1, np.int64)
    np.cumsum(degree[vertex], out=first[1:])
    # One number for each end of each review sorts by owner, then by neighbour.
    left, right = rank[reviewer], rank[n_reviewers + item]
    key = np.concatenate([left * size + right, right * size + left])
    if not level.size:
        key.sort()
        return Ranked(vertex, first, key % max(size, 1), level)
    order = np.argsort(key)
    return Ranked(vertex, first, key[order] % max(size, 1), level[order % max(n_reviews, 1)])


def ranks_within(graph: Ranked, ways: int) -> int:
    """Return the rank from which on vertices, as tops of cycles, have about so many ways of two steps in all."""
    degree = np.diff(graph.first)
    steps = np.concatenate([[0], np.cumsum(degree[graph.neighbour])])
    of_top = steps[graph.first[1:]] - steps[graph.first[:-1]]
    passed = np.cumsum(of_top[::-1])
    return int(max(of_top.size - 1 - np.searchsorted(passed, ways), 0))


def nothing_reached(size: int, *, scored: bool) -> Reached:
    """No way found yet, for ``size`` vertices."""
    last_top, first_middle = np.full((2, size), -1, np.int64)
    return Reached(last_top, first_middle, *np.full((4, size if scored else 0), -1, np.int64))


def no_merges(n_reviewers: int) -> Merges:
    """Room for the merges of so many reviewers."""
    return Merges(*np.zeros((4, max(n_reviewers - 1, 0)), np.int64))


@kernel
def second_middle(reached: Reached, middle: int, end: int, top_level: int, end_level: int) -> int:
    """Note a further way between two reviewers; returns a middle that makes two items with it, or -1.

    Both must have the two middles on different levels. If each of them has some item on another level than the
    first item they share, such a pair exists: the items that only the one and only the other has on another level.
    """
    top_differs = reached.top_level[end] != top_level
    end_differs = reached.end_level[end] != end_level
    if top_differs and end_differs:
        return reached.first_middle[end]
    # One of them ties this item with the first: the item only the other ties it with would be the second.
    if top_differs:
        reached.only_top[end] = middle
        return reached.only_end[end]
    if end_differs:
        reached.only_end[end] = middle
        return reached.only_top[end]
    return -1


@kernel
def record(merges: Merges, row: int, a: int, b: int, u: int, v: int) -> None:
    """Write one step of a certificate: the reviewers (or their components) a and b share the items u and v."""
    merges.a[row], merges.b[row] = min(a, b), max(a, b)
    merges.u[row], merges.v[row] = min(u, v), max(u, v)


@kernel(in_lists=True)
def merge_pairs(
    graph: Ranked, reached: Reached, n_reviewers: int, parent: IntArray, merges: Merges, count: int, high: int, low: int
) -> int:
    """Join reviewers with two items in common, by the cycles whose tops have ranks from ``high`` - 1 down to ``low``.

    The first ``count`` merges are continued; returns the number of merges. Ranks from all down to 0, at once or one
    stretch after the other, find all merges; once all reviewers are joined there are no more.
    """
    vertex, first, neighbour, level = graph.vertex, graph.first, graph.neighbour, graph.level
    last_top, first_middle = reached.last_top, reached.first_middle
    scored, upper, lower = len(level) > 0, 0, 0
    for top in range(high - 1, low - 1, -1):
        top_is_item = vertex[top] >= n_reviewers
        heeds_levels = scored and not top_is_item
        # All ways top - middle - end downwards in rank: the cycle's other vertices rank below its top.
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
                    # Between two items the middle is a reviewer, who must tell them apart.
                    if top_is_item and upper == lower:
                        continue
                if last_top[end] != top:
                    last_top[end], first_middle[end] = top, middle
                    if heeds_levels:
                        reached.top_level[end], reached.end_level[end] = upper, lower
                        reached.only_top[end] = reached.only_end[end] = -1
                    continue
                # The second way closes a cycle with the first.
                other = first_middle[end]
                if heeds_levels:
                    other = second_middle(reached, middle, end, upper, lower)
                    if other < 0:
                        continue
                a, b, u, v = (middle, other, top, end) if top_is_item else (top, end, middle, other)
                if union(parent, vertex[a], vertex[b]):
                    record(merges, count, vertex[a], vertex[b], vertex[u] - n_reviewers, vertex[v] - n_reviewers)
                    count += 1
                    if count == n_reviewers - 1:
                        return count
    return count
