"""Rivals: pairs that may not both be assigned, in rows by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.arrays import spread

if TYPE_CHECKING:
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
    if not len(couples):
        return Rivals(np.zeros(n_pairs + 1, np.int64), np.empty(0, np.int64))
    from scipy.sparse import coo_array

    # Sorted by counting; the transpose of rows of x < y holds those of x > y, in order.
    low, high = couples.min(axis=1), couples.max(axis=1)
    rows = coo_array((np.ones(low.size, np.int8), (low, high)), shape=(n_pairs, n_pairs)).tocsr()
    rows = (rows + rows.T).tocsr()
    return Rivals(rows.indptr.astype(np.int64), rows.indices.astype(np.int64))
