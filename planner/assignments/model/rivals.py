"""Rivals: pairs that may not both be assigned, in rows by pair, and the couples that an authors' file makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from planner.assignments.model.authors import Written
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Rivals(NamedTuple):
    """The rivals of pair x are ``rival[start[x]:start[x + 1]]``, shapes (P + 1,) and (R,); every couple stands twice.

    Parameters
    ----------
    start, rival
        Rows by pair, in order.
    """

    start: IntArray
    rival: IntArray

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.rival.size)

    def count_among(self, chosen: BoolArray) -> IntArray:
        """Count the chosen rivals of each pair, shape (P,)."""
        before = np.zeros(self.rival.size + 1, np.int64)
        np.cumsum(chosen[self.rival], out=before[1:])
        return before[self.start[1:]] - before[self.start[:-1]]

    def couples_among(self, chosen: BoolArray) -> IntArray:
        """Couples of rivals that are both chosen, x < y, shape (K, 2).

        >>> rivals_of(3, np.array([[2, 0], [0, 1]])).couples_among(np.array([True, False, True])).tolist()
        [[0, 2]]
        """
        held = np.flatnonzero(chosen & (self.start[1:] > self.start[:-1]))
        size = self.start[held + 1] - self.start[held]
        first, second = np.repeat(held, size), self.rival[spread(self.start[held], size)]
        both = chosen[second] & (first < second)
        return np.column_stack([first[both], second[both]]).astype(np.int64)

    def among(self, pairs: IntArray) -> Rivals:
        """Return the rivals within some of the pairs, given as ascending codes, by their places.

        >>> rivals_of(3, np.array([[2, 0], [0, 1]])).among(np.array([0, 2])).rival.tolist()
        [1, 0]
        """
        chosen = np.zeros(self.start.size - 1, np.bool_)
        chosen[pairs] = True
        return rivals_of(pairs.size, (np.cumsum(chosen) - 1)[self.couples_among(chosen)])


def rivals_of(n_pairs: int, couples: IntArray) -> Rivals:
    """Rows by pair of distinct couples, shape (K, 2), in O(P + K)."""
    from scipy.sparse import coo_array

    # Sorted by counting; the transpose of rows of x < y holds those of x > y, in order.
    low, high = couples.min(axis=1), couples.max(axis=1)
    rows = coo_array((np.ones(low.size, np.int8), (low, high)), shape=(n_pairs, n_pairs)).tocsr()
    rows = (rows + rows.T).tocsr()
    return Rivals(rows.indptr.astype(np.int64), rows.indices.astype(np.int64))


def cycles_of_two(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Couples of pairs (q, a) and (p, b) where a is an author of p and b of q, shape (K, 2).

    Takes O(A log A) for A pairs, each counted once for every author of its paper, and the couples themselves.
    """
    # Entry (q, a) by b says: a may review a paper of b. Sorted by {a, b}, both directions stand beside each other.
    size = wrote.n_authors[item]
    pair = np.repeat(np.arange(item.size), size)
    by = wrote.author[spread(wrote.start[item], size)]
    judge = reviewer[pair]
    fine = (by < wrote.n_reviewers) & wrote.writes[judge] & (by != judge)
    pair, by, judge = pair[fine], by[fine], judge[fine]
    low, high = np.minimum(by, judge), np.maximum(by, judge)
    order = np.argsort(((low * wrote.n_reviewers + high) << 1) | (judge > by), kind="stable")
    two, up = (low * wrote.n_reviewers + high)[order], (judge > by)[order]
    edge = np.flatnonzero(np.append(True, two[1:] != two[:-1])) if two.size else np.zeros(0, np.int64)
    length = np.diff(np.append(edge, two.size))
    n_up = np.add.reduceat(up.astype(np.int64), edge) if edge.size else length
    return _products(pair[order], edge, length - n_up, n_up)


def _products(pair: IntArray, first: IntArray, n_left: IntArray, n_right: IntArray) -> IntArray:
    """Every left one with every right one of each group; the right ones follow the left ones."""
    number = n_left * n_right
    at = spread(np.zeros_like(number), number)
    width, begin = np.repeat(n_right, number), np.repeat(first, number)
    left = pair[begin + at // np.maximum(width, 1)]
    right = pair[begin + np.repeat(n_left, number) + at % np.maximum(width, 1)]
    return np.column_stack([left, right])


def coauthors_together(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Couples of pairs (p, a) and (p, b) where a and b are authors of one paper, shape (K, 2).

    Pairs are sorted by (item, reviewer). Takes O(C log P) for C co-authors, each counted once for every pair.
    """
    shares = wrote.coauthors()
    start, other = shares.indptr.astype(np.int64), shares.indices.astype(np.int64)
    size = start[reviewer + 1] - start[reviewer]
    first = np.repeat(np.arange(item.size), size)
    other = other[spread(start[reviewer], size)]
    upper = other > reviewer[first]
    first, other = first[upper], other[upper]
    key = item * wrote.n_reviewers + reviewer
    wanted = item[first] * wrote.n_reviewers + other
    second = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    both = key[second] == wanted if key.size else np.zeros(0, np.bool_)
    return np.column_stack([first[both], second[both]])


def spread(start: IntArray, size: IntArray) -> IntArray:
    """Count up from each start, as many numbers as the size says.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before: IntArray = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)
