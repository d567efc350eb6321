"""What the search maximises for each pair: its affinity, less what it costs to be new or below a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: First weights that put one concern before the next, in units of the one that follows, and by how much a weight is
#: raised that was too small.
AHEAD, RAISED = 8.0, 8.0


class Concerns(NamedTuple):
    """Pairs that are to be few, the first kind before the second and both before affinity.

    Parameters
    ----------
    below
        Pairs of an affinity below the threshold, shape (P,).
    changed
        Pairs that no previous assignment has, shape (P,). As demands are exact, each pair dropped is one changed.
    per_change
        Affinity that a changed pair must be worth; None puts fewer changes before any affinity.
    """

    below: BoolArray
    changed: BoolArray
    per_change: float | None = None

    @property
    def counted(self) -> tuple[BoolArray, ...]:
        """The kinds of pairs whose number comes before affinity, first things first."""
        return (self.below,) if self.per_change is not None else (self.below, self.changed)

    def first_weights(self, affinity: FloatArray) -> tuple[float, ...]:
        """Weights to begin with: a pair of one kind outweighs a few of the next, and those a few of any affinity.

        >>> concerns = Concerns(np.array([True, False]), np.array([False, True]))
        >>> concerns.first_weights(np.array([0.0, 2.0]))
        (128.0, 16.0)
        """
        span = float(np.ptp(affinity)) if affinity.size else 0.0
        unit = max(span, self.per_change or 0.0) or 1.0
        kinds = len(self.counted)
        return tuple(unit * AHEAD ** (kinds - place) for place in range(kinds))

    def worth(self, affinity: FloatArray, weights: tuple[float, ...]) -> FloatArray:
        """Affinity less the weights of the kinds that each pair belongs to, shape (P,)."""
        worth = affinity - (self.per_change or 0.0) * self.changed
        for weight, kind in zip(weights, self.counted, strict=True):
            worth = worth - weight * kind
        return np.asarray(worth, np.float64)

    def ranks(self, reviews: int) -> IntArray:
        """Whole costs by which fewest pairs of the first kind come before fewest of the second, shape (P,).

        One pair of a kind costs more than so many reviews of the next can.
        """
        rank = np.zeros(self.below.size, np.int64)
        for kind in self.counted:
            rank = rank * (reviews + 1) + kind
        return rank

    def counts(self, chosen: BoolArray) -> tuple[int, ...]:
        """How many pairs of each kind are chosen."""
        return tuple(int((kind & chosen).sum()) for kind in self.counted)
