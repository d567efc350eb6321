"""How far means are from convergence, estimated from the last sweeps of an optimisation that ran out of sweeps."""

from __future__ import annotations

import numpy as np

from reviewgraph._base import FloatArray

#: Number of last sweeps observed, and the largest ratio of the ranges of their halves that is extrapolated.
OBSERVED, MAX_RATIO = 12, 0.9


class Track:
    """The ranges of means over two halves of the last sweeps of an optimisation of at most ``max_sweeps``.

    Means that swing converge to a value within their range; means that drifted by d have ``d q / (1 - q)`` before them
    where q is the ratio of the ranges. The larger of both bounds the distance unless means drift ever slower.

    >>> track = Track(60)
    >>> for sweep in range(1, 61):
    ...     track.add(sweep, np.array([0.8**sweep, 1.0]))
    >>> bool(0.5 < track.distance(np.ones(2)) / 0.8**60 < 5.0)
    True
    """

    def __init__(self, max_sweeps: int) -> None:
        self.first = max(max_sweeps - OBSERVED, 1)
        self.middle = max(max_sweeps - OBSERVED // 2, self.first + 1)
        self.ranges: list[tuple[FloatArray, FloatArray]] = []
        self.half = self.last = np.empty(0)

    def add(self, sweep: int, mean: FloatArray) -> None:
        """Add the means of a sweep, counted from 1; the sweep in the middle belongs to both halves."""
        if sweep < self.first:
            return
        self.last = mean
        if not self.ranges:
            self.ranges.append((mean.copy(), mean.copy()))
        low, high = self.ranges[-1]
        np.minimum(low, mean, out=low)
        np.maximum(high, mean, out=high)
        if sweep >= self.middle and len(self.ranges) == 1:
            self.half = mean
            self.ranges.append((mean.copy(), mean.copy()))

    def distance(self, variance: FloatArray) -> float:
        """Return the largest distance of a mean from its converged value, in standard errors; inf if unknown."""
        if len(self.ranges) < 2:
            return np.inf
        sd, (_, (low, high)) = np.sqrt(variance), self.ranges
        before, now = (float(((top - bottom) / sd).max()) for bottom, top in self.ranges)
        ratio = min(now / before, MAX_RATIO) if before > 0 else MAX_RATIO
        swing, drift = np.maximum(high - self.last, self.last - low), np.abs(self.last - self.half)
        return float((np.maximum(swing, drift * ratio / (1 - ratio)) / sd).max())
