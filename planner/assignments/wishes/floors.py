"""What no paper shall fall below: the sum of its reviewers' affinities, or the best of them; in whole units."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Bits of the largest affinity in whole units: sums of them are exact, and are compared without rounding.
VALUE_BITS = 36

#: Below every sum of affinities.
NO_FLOOR = -(1 << 62)


class Floors(NamedTuple):
    """Least sum of the affinities of a paper's reviewers, and least affinity of its best one; None asks for nothing."""

    total: float | None = None
    best: float | None = None

    @property
    def asked(self) -> bool:
        """Whether there is any."""
        return self.total is not None or self.best is not None


#: Nothing is asked for.
NO_FLOORS = Floors()


def unit_of(affinity: FloatArray) -> float:
    """One unit, in affinity."""
    largest = float(np.abs(affinity).max(initial=0.0))
    return (largest if largest > 0 else 1.0) * 2.0**-VALUE_BITS


def whole_values(affinity: FloatArray) -> IntArray:
    """Affinities in whole units, each with an error of half a unit.

    >>> whole_values(np.array([1.0, 0.5, -0.25])) / 2**VALUE_BITS
    array([ 1.  ,  0.5 , -0.25])
    """
    return np.asarray(np.rint(affinity / unit_of(affinity)), np.int64)


def whole_floor(floor: float | None, affinity: FloatArray, most: int) -> int:
    """Return a floor in whole units, less what rounding may take from a sum of so many affinities."""
    if floor is None:
        return NO_FLOOR
    units = np.floor(np.clip(floor / unit_of(affinity), NO_FLOOR // 2, -(NO_FLOOR // 2)))
    return int(units) - most
