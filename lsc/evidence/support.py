"""What the reviews connect: which items the graph puts on one scale, whatever a solver returns for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from lsc.model.hypotheses import CLASSES
from reviewgraph.labels import IntArray
from reviewgraph.levels import Level
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import BoolArray, Reviews


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

    Calibration takes milliseconds, so the components come from SciPy: those of :mod:`reviewgraph.components` take
    longer on tables too small to compile for.

    >>> groups_of(Reviews.from_pairs([("ann", 1), ("bob", 2), ("bob", 3)], items=[4])).tolist()
    [2, 1, 1, 3]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = reviews.n_reviewers + reviews.n_items
    end = np.full(reviews.n_items, reviews.n_reviews)
    start = np.concatenate([reviews.reviewer_start, end])
    ones = np.ones(reviews.n_reviews, np.int8)
    graph = csr_array((ones, reviews.n_reviewers + reviews.item, start), shape=(size, size))
    pieces, piece = connected_components(graph, directed=False)
    if pieces == 1:
        return np.ones(reviews.n_items, np.int64)
    _, first, place, count = np.unique(
        piece[reviews.n_reviewers :], return_index=True, return_inverse=True, return_counts=True
    )
    number = np.empty(first.size, np.int64)
    number[np.lexsort((first, -count))] = np.arange(1, first.size + 1)
    return np.asarray(number[place])


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

for _kind in CLASSES:
    if _kind.level.name not in _BY_LEVEL:
        _message = (
            f"{_kind.__name__}: asks for the level {_kind.level.name}, of which lsc.evidence.support knows nothing"
        )
        raise NotImplementedError(_message)
