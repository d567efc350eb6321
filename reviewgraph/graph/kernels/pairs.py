"""Pairs of reviewers with two items in common: the 4-cycles of the bipartite graph.

Every 4-cycle is visited from its vertex of highest degree, in the order of Chiba and Nishizeki (1985). That costs the
sum over the reviews of the smaller degree at their ends, so that a hub item costs no more than its reviewers' other
items, and a reviewer of everything no more than those items' other reviewers.

With scores, two items count if both reviewers have them on different levels; ``level[r]`` is the first review of the
same reviewer with the score of review r. An empty ``level`` means that all levels differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from reviewgraph.graph.kernels.signals import heed
    from reviewgraph.graph.kernels.union_find import unite

if TYPE_CHECKING:
    from reviewgraph._base.arrays import IntArray


@dataclass(eq=False, repr=False)
class Ranked:
    """The bipartite graph with its vertices renamed by their rank in the order of (degree, index)."""

    vertex: IntArray  # The reviewer (0..M-1) or item (M..M+N-1) of each rank, shape (M + N,)
    first: IntArray  # The neighbours of rank p are ``neighbour[first[p]:first[p + 1]]``, shape (M + N + 1,)
    neighbour: IntArray  # Ranks, ascending for each vertex, shape (2 E,)
    level: IntArray  # The levels of the reviews between them, or empty


class Reached:
    """Ends that a top vertex has reached in two steps, by rank; all but the first two are empty without scores."""

    def __init__(self, size: int, *, scored: bool) -> None:
        self.last_top = np.full(size, -1, np.int64)  # The top that reached the end last, or -1
        self.first_middle = np.full(size, -1, np.int64)  # The middle of its first way there
        # The levels of that middle on the side of the top and of the end, and the last middle that only the top, or
        # only the end, puts on another level than the first; -1 for none
        self.top_level, self.end_level, self.only_top, self.only_end = np.full((4, size * scored), -1, np.int64)


def rank_neighbours(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, level: IntArray) -> Ranked:
    """Order the vertices by degree and their lists of neighbours by rank; takes O(E log E)."""
    size = n_reviewers + n_items
    n_reviews = reviewer.size
    degree = np.bincount(np.concatenate([reviewer, n_reviewers + item]), minlength=size)
    vertex = np.argsort(degree, kind="stable")
    rank = np.empty(size, np.int64)
    rank[vertex] = np.arange(size)
    first = np.zeros(size + 1, np.int64)
    np.cumsum(degree[vertex], out=first[1:])
    # One number for each end of each review sorts by owner, then by neighbour.
    left = rank[reviewer]
    right = rank[n_reviewers + item]
    key = np.concatenate([left * size + right, right * size + left])
    if not level.size:
        key.sort()
        return Ranked(vertex, first, key % max(size, 1), level)
    order = np.argsort(key)
    return Ranked(vertex, first, key[order] % max(size, 1), level[order % max(n_reviews, 1)])


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


def merge_pairs(graph: Ranked, reached: Reached, parent: IntArray, merges: IntArray) -> int:
    """Join reviewers with two items in common; returns the number of merges.

    Each is a row of the certificate, (a, b, u, v): the components of reviewers a < b share the items u < v.
    """
    n_reviewers = len(parent)
    count = 0
    vertex = graph.vertex
    first = graph.first
    neighbour = graph.neighbour
    level = graph.level
    last_top = reached.last_top
    first_middle = reached.first_middle
    scored = len(level) > 0
    upper = 0
    lower = 0
    with cython.nogil:
        for top in range(len(vertex) - 1, -1, -1):
            top_is_item = vertex[top] >= n_reviewers
            heeds_levels = scored and not top_is_item
            # All ways top - middle - end downwards in rank: the cycle's other vertices rank below its top.
            for e in range(first[top], first[top + 1]):
                heed(e)
                middle = neighbour[e]
                if middle > top:
                    break
                for f in range(first[middle], first[middle + 1]):
                    end = neighbour[f]
                    if end >= top:
                        break
                    if scored:
                        upper = level[e]
                        lower = level[f]
                        # Between two items the middle is a reviewer, who must tell them apart.
                        if top_is_item and upper == lower:
                            continue
                    if last_top[end] != top:
                        last_top[end] = top
                        first_middle[end] = middle
                        if heeds_levels:
                            reached.top_level[end] = upper
                            reached.end_level[end] = lower
                            reached.only_top[end] = reached.only_end[end] = -1
                        continue
                    # The second way closes a cycle with the first.
                    partner = first_middle[end]
                    if heeds_levels:
                        partner = second_middle(reached, middle, end, upper, lower)
                        if partner < 0:
                            continue
                    if top_is_item:
                        a, b, u, v = middle, partner, top, end
                    else:
                        a, b, u, v = top, end, middle, partner
                    if unite(parent, vertex[a], vertex[b]):
                        merges[count, 0] = min(vertex[a], vertex[b])
                        merges[count, 1] = max(vertex[a], vertex[b])
                        merges[count, 2] = min(vertex[u], vertex[v]) - n_reviewers
                        merges[count, 3] = max(vertex[u], vertex[v]) - n_reviewers
                        count += 1
                        if count == n_reviewers - 1:
                            return count
    return count
