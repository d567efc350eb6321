"""The scale on which qualities are reported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Deviations below this part of that of the scores are rounding: solvers agree to 1e-9 and better.
FLAT = 1e-8


class ReportingScale(NamedTuple):
    """``reported = slope * quality + offset``, shapes (G,), or the same number for all of a group that is ``flat``.

    ``known`` says which groups are on the scale of their references.
    """

    slope: FloatArray
    offset: FloatArray
    flat: BoolArray
    known: BoolArray

    def apply(self, quality: FloatArray, group: IntArray) -> FloatArray:
        """Move qualities of items in these groups (from 1) to the reported scale."""
        place = group - 1
        return np.where(self.flat, 0.0, self.slope)[place] * quality + self.offset[place]


def reporting_scale(
    quality: FloatArray,
    average: FloatArray,
    spread: FloatArray,
    group: IntArray,
    is_reference: BoolArray,
    max_slope: float,
    fixed: BoolArray | None = None,
) -> ReportingScale:
    """Give each group the mean and standard deviation of its plain averages, or leave it on that of its references.

    A group whose unit is fixed keeps it: it is only shifted to the mean of its plain averages, or with one reference
    not at all.

    Parameters
    ----------
    quality, average
        Shape (N,); items without a score have the average NaN and do not count.
    spread
        Shape (G,): standard deviation of the scores of each group, which stands in where its averages are all alike.
    group
        Shape (N,), from 1.
    is_reference
        Shape (N,); two references or more in a group set its scale.
    max_slope
        C: qualities of a group that differ by less than ``FLAT * spread / C`` do not differ.
    fixed
        Shape (G,): whether a point of quality is a point of score there; nowhere by default.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> scale = reporting_scale(np.array([0.0, 0.1]), np.array([4.0, 6.0]), np.ones(1), one, np.zeros(2, bool), 10.0)
    >>> scale.apply(np.array([0.0, 0.1]), one).tolist()
    [4.0, 6.0]
    """
    groups = int(group.max(initial=0))
    counts = np.isfinite(average)
    places = group[counts] - 1
    middle, width = _moments(quality[counts], places, groups)
    mean, deviation = _moments(average[counts], places, groups)
    deviation = np.where(deviation > FLAT * spread, deviation, spread)
    kept = np.zeros(groups, np.bool_) if fixed is None else fixed
    flat = (width <= FLAT * spread / max_slope) & ~kept
    own = np.bincount(group - 1, is_reference, groups) >= np.where(kept, 1, 2)
    stretched = ~(own | kept)
    slope = np.divide(deviation, width, out=np.full(groups, max_slope), where=stretched & ~flat)
    slope[~stretched] = 1.0
    offset = np.where(own, 0.0, mean - np.where(flat, 0.0, slope * middle))
    return ReportingScale(slope, offset, flat & ~own, own)


def _moments(value: FloatArray, place: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation by place."""
    count = np.maximum(np.bincount(place, minlength=size), 1)
    mean = np.bincount(place, value, size) / count
    off = value - mean[place]
    return mean, np.sqrt(np.bincount(place, off * off, size) / count)
