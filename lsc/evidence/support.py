"""What the reviews connect: which items the graph puts on one scale, whatever a solver returns for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reviewgraph.arrays import CodeArray
from reviewgraph.kernels.union_find import point_at_roots, union_chunk
from reviewgraph.labels import IntArray
from reviewgraph.levels import Level
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import BoolArray, Reviews

#: Reviews from which joining them one by one, compiled, is faster than SciPy's search from vertex to vertex.
MANY = 500_000


@dataclass(frozen=True, eq=False)
class Support:
    """What the graph of scored reviews supports, at the level that the hypothesis classes ask for.

    Parameters
    ----------
    level
        That level.
    degrees_of_freedom
        Missing links of the whole table; 0 means that it is at the level.
    main_block
        Shape (G,): the block at the level that covers most items of each group, -1 where no reviewer links two items.
    block
        Shape (M,): the block of each reviewer, -1 for those with fewer than two scores.
    determined
        Shape (N,): whether the item lies in the main block of its group or is alone in it; False without a score.
    """

    level: Level
    degrees_of_freedom: int
    main_block: IntArray
    block: IntArray
    determined: BoolArray


def groups_of(reviews: Reviews) -> IntArray:
    """Return the connected component of each item, shape (N,), numbered from 1, the largest first, ties by first item.

    >>> groups_of(Reviews.from_pairs([("ann", 1), ("bob", 2), ("bob", 3)], items=[4])).tolist()
    [2, 1, 1, 3]
    """
    M = reviews.n_reviewers
    if reviews.n_reviews >= MANY:
        parent = np.arange(M + reviews.n_items, dtype=np.uint32)
        union_chunk(parent, 0, reviews.reviewer_start, M, reviews.item.astype(np.uint32))
        point_at_roots(parent)
        return numbered(parent[M:])
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = M + reviews.n_items
    start = np.concatenate([reviews.reviewer_start, np.full(reviews.n_items, reviews.n_reviews)])
    ones = np.ones(reviews.n_reviews, np.int8)
    graph = csr_array((ones, M + reviews.item, start), shape=(size, size))
    pieces, piece = connected_components(graph, directed=False)
    return np.ones(reviews.n_items, np.int64) if pieces == 1 else numbered(piece[M:])


def numbered(piece: IntArray | CodeArray) -> IntArray:
    """Return the pieces of items, whatever their numbers, numbered from 1: the largest first, ties by first item.

    >>> numbered(np.array([7, 2, 2, 0])).tolist()
    [2, 1, 1, 3]
    """
    count = np.bincount(piece)
    held = np.flatnonzero(count)
    first = np.empty(count.size, np.int64)
    first[piece[::-1]] = np.arange(piece.size)[::-1]  # the last assignment is the first item
    number = np.empty(count.size, np.int64)
    number[held[np.lexsort((first[held], -count[held]))]] = np.arange(1, held.size + 1)
    return number[piece]


def support_of(reviews: Reviews, group: IntArray, level: Level) -> Support:
    """Return what reviews, all with scores, support; ``group`` (N,) are the connected components, from 1.

    Takes the time of :func:`reviewgraph.recoverability` where the level is recoverable, O(E) where it is connected.

    Examples
    --------
    >>> from reviewgraph.levels import level_named
    >>> rows = [("ann", 1, 5.0), ("ann", 2, 6.0), ("bob", 1, 5.0), ("bob", 2, 7.0), ("bob", 3, 8.0), ("cleo", 3, 1.0)]
    >>> reviews, group = Reviews.from_pairs([*rows, ("cleo", 4, 2.0)]), np.ones(4, np.int64)
    >>> support = support_of(reviews, group, level_named("recoverable"))
    >>> support.degrees_of_freedom, support.determined.tolist()
    (1, [True, True, True, False])
    >>> support_of(reviews, group, level_named("connected")).determined.tolist()
    [True, True, True, True]
    """
    if level.name not in _BY_LEVEL:
        message = f"level of a hypothesis class: expected one of {', '.join(_BY_LEVEL)}, found {level.name!r}"
        raise NotImplementedError(message)
    missing, main, block, determined = _BY_LEVEL[level.name](reviews, group)
    alone = np.bincount(group - 1)[group - 1] == 1
    return Support(level, missing, main, block, (determined | alone) & (reviews.reviews_per_item > 0))


def _recoverable(reviews: Reviews, group: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
    """Return missing links, the largest block of each group, each reviewer's block, and the items of the largest."""
    found = recoverability(reviews)
    covers = found.block_covers
    sizes = np.array([cover.size for cover in covers], np.int64)
    home = np.array([group[cover[0]] - 1 for cover in covers], np.int64)
    main = np.full(int(group.max(initial=0)), -1, np.int64)
    order = np.lexsort((-np.arange(sizes.size), sizes, home))  # of each group the largest comes last, ties: the first
    main[home[order]] = order
    determined = np.zeros(group.size, np.bool_)
    for block in main[main >= 0].tolist():
        determined[covers[block]] = True
    return found.degrees_of_freedom, main, found.block_labels, determined


def _connected(reviews: Reviews, group: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
    """Return the same where groups are the blocks."""
    groups = int(group.max(initial=0))
    block = np.full(reviews.n_reviewers, -1, np.int64)
    block[reviews.reviewer] = group[reviews.item] - 1
    block[reviews.loads < 2] = -1
    main = np.full(groups, -1, np.int64)
    main[block[block >= 0]] = block[block >= 0]
    return groups - 1, main, block, np.ones(group.size, np.bool_)


_BY_LEVEL: Mapping[str, Callable[[Reviews, IntArray], tuple[int, IntArray, IntArray, BoolArray]]] = {
    "recoverable": _recoverable,
    "connected": _connected,
}
