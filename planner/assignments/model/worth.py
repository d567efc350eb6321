"""What the search maximises for each pair: its affinity, less what it costs to be new or below a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from planner.assignments.findings.changed import Dropped
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: By how much a pair of one kind outweighs one of the next at first, and affinity.
AHEAD = 8.0


class Concerns(NamedTuple):
    """Pairs that are to be few: those below the threshold before those that change, and both before affinity.

    Parameters
    ----------
    below
        Pairs of an affinity below the threshold, shape (P,).
    changed
        Pairs that the previous assignment does not have, shape (P,). As demands are exact, pairs come as others go.
    per_change
        Affinity that a changed pair must be worth; None puts fewer changes before any affinity.
    min_affinity
        The threshold; None if there is none.
    gone
        Pairs of the previous assignment that may not be assigned any more; None if there is no such assignment.
    """

    below: BoolArray
    changed: BoolArray
    per_change: float | None = None
    min_affinity: float | None = None
    gone: tuple[Dropped, ...] | None = None

    @property
    def kinds(self) -> tuple[BoolArray, ...]:
        """The kinds of pairs whose number comes before affinity, first things first."""
        return (self.below,) if self.per_change is not None else (self.below, self.changed)

    def first_weights(self, affinity: FloatArray) -> tuple[float, ...]:
        """Return what a pair of each kind costs to begin with.

        >>> concerns = Concerns(np.array([True, False]), np.array([False, True]))
        >>> concerns.first_weights(np.array([0.0, 2.0]))
        (128.0, 16.0)
        """
        span = float(np.ptp(affinity)) if affinity.size else 0.0
        unit = max(span, self.per_change or 0.0) or 1.0
        return tuple(unit * AHEAD**power for power in range(len(self.kinds), 0, -1))

    def worth(self, affinity: FloatArray, weights: tuple[float, ...]) -> FloatArray:
        """Return affinity less what the kinds that each pair belongs to cost, shape (P,)."""
        worth = affinity - (self.per_change or 0.0) * self.changed
        for weight, kind in zip(weights, self.kinds, strict=True):
            worth = worth - weight * kind
        return worth

    def ranks(self, reviews: int) -> IntArray:
        """Whole costs, shape (P,): one pair of a kind costs more than so many reviews of the next kind.

        >>> Concerns(np.array([True, False]), np.array([True, True])).ranks(3).tolist()
        [5, 1]
        """
        rank = np.zeros(self.below.size, np.int64)
        for kind in self.kinds:
            rank = rank * (reviews + 1) + kind
        return rank

    def among(self, kept: BoolArray | IntArray) -> Concerns:
        """Return the concerns of some of the pairs, marked in shape (P,), or given as codes."""
        return self._replace(below=self.below[kept], changed=self.changed[kept])

    def counts(self, chosen: BoolArray) -> tuple[int, ...]:
        """How many pairs of each kind are chosen."""
        return tuple(int((kind & chosen).sum()) for kind in self.kinds)
