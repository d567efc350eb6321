"""Distances from the lines of linear reviewers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray


@dataclass(eq=False, repr=False)
class Common:
    """One line in the raw scores for all reviews; the distance from it selects among several minimisers."""

    degree: FloatArray  # Reviews of an item, shape (N,)
    tilt: FloatArray  # Sums of its centred raw scores, (N,)
    spread: float  # Sum of squares of all centred scores
    reviews: float  # Their number
    lower: float  # Bounds on the slope
    upper: float


@dataclass(eq=False, repr=False)
class Lines:
    """The reviews of some linear reviewers, ascending in score: those of number j are ``start[j]:start[j + 1]``."""

    start: IntArray
    item: CodeArray
    unit: FloatArray  # Unit scores
    floor: FloatArray  # Bounds on slopes for unit scores, both 0 if constant
    ceiling: FloatArray
    slope_free: BoolArray  # Which slopes are free, now
    diagonal_free: BoolArray  # and when the diagonal was last computed

    def __reduce__(self) -> tuple[Any, ...]:
        """Parts go to workers, their arrays as NumPy's."""
        return type(self), tuple(np.asarray(getattr(self, name)) for name in self.__dataclass_fields__)


def line_residuals(lines: Lines, fit: bool, x: FloatArray, out: FloatArray) -> float:
    """Add the items' residuals from the lines of their reviewers to ``out`` (N,); returns the squares. O(E).

    With ``fit`` x are qualities: slopes are clipped to their bounds, and ``slope_free`` is written; otherwise a
    direction, along which only free slopes change.
    """
    starts = lines.start
    item = lines.item
    unit = lines.unit
    slope_free = lines.slope_free
    total = 0.0
    with cython.nogil:
        for j in range(len(starts) - 1):
            start = starts[j]
            end = starts[j + 1]
            if start == end:
                continue
            mean = 0.0
            slope = 0.0
            for r in range(start, end):
                value = x[item[r]]
                mean += value
                slope += unit[r] * value
            mean /= end - start
            if fit:
                # A clipped or fixed slope is not free in the face.
                clipped = min(max(slope, lines.floor[j]), lines.ceiling[j])
                slope_free[j] = slope == clipped and lines.floor[j] < lines.ceiling[j]
                slope = clipped
            elif not slope_free[j]:
                slope = 0.0
            squares = 0.0  # per reviewer: one sum over all reviews would be a long chain of additions
            for r in range(start, end):
                i = item[r]
                gap = x[i] - mean - slope * unit[r]
                out[i] += gap
                squares += gap * gap
            total += squares
    return total
