"""What the reviews connect: which items the graph puts on one scale, whatever a solver returns for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reviewgraph.labels import IntArray
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import BoolArray, Reviews


@dataclass(frozen=True, eq=False)
class Support:
    """What the graph of scored reviews supports.

    Parameters
    ----------
    degrees_of_freedom
        Missing links of the whole table; 0 means that almost every vector of qualities can be recovered.
    main_block
        Shape (G,): the recoverable block that covers most items of each group, -1 where no reviewer links two items.
    block
        Shape (M,): the recoverable block of each reviewer, -1 for those with fewer than two scores.
    determined
        Shape (N,): whether the item lies in the main block of its group or is alone in it; False without a score.
    """

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


def support_of(reviews: Reviews, group: IntArray) -> Support:
    """Return what reviews, all with scores, support; ``group`` (N,) are the connected components, from 1.

    Takes the time of :func:`reviewgraph.recoverability`.

    Examples
    --------
    >>> rows = [("ann", 1, 5.0), ("ann", 2, 6.0), ("bob", 1, 5.0), ("bob", 2, 7.0), ("bob", 3, 8.0), ("cleo", 3, 1.0)]
    >>> support = support_of(Reviews.from_pairs([*rows, ("cleo", 4, 2.0)]), np.ones(4, np.int64))
    >>> support.degrees_of_freedom, support.determined.tolist()
    (1, [True, True, True, False])
    """
    found = recoverability(reviews)
    covers = found.block_covers
    sizes = np.array([cover.size for cover in covers], np.int64)
    home = np.array([group[cover[0]] - 1 for cover in covers], np.int64)
    main = np.full(int(group.max(initial=0)), -1, np.int64)
    order = np.lexsort((-np.arange(sizes.size), sizes, home))  # of each group the largest comes last, ties: the first
    main[home[order]] = order
    determined = (np.bincount(group - 1)[group - 1] == 1) & (reviews.reviews_per_item > 0)
    for block in main[main >= 0].tolist():
        determined[covers[block]] = True
    return Support(found.degrees_of_freedom, main, found.block_labels, determined)
