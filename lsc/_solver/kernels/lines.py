"""Distances from the lines of linear reviewers, and extrapolation along them to items with a single review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np

if not cython.compiled:
    from math import inf

    INFINITY = inf

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


def line_diagonal(lines: Lines, out: FloatArray) -> None:
    """Add the diagonal of the reviewers' matrices: 1 - 1 / k_j, minus the squared unit score of a free slope."""
    with cython.nogil:
        for j in range(len(lines.start) - 1):
            start = lines.start[j]
            end = lines.start[j + 1]
            if start == end:
                continue
            share = 1.0 - 1.0 / (end - start)
            steep = 1.0 if lines.slope_free[j] else 0.0
            for r in range(start, end):
                out[lines.item[r]] += share - steep * lines.unit[r] * lines.unit[r]


# A step of conjugate gradients, in units in which the diagonal of the matrix is 1, and ``unit`` is 0 at fixed items.


def turn(
    beta: float, common: Common, unit: FloatArray, residual: FloatArray, search: FloatArray, along: FloatArray
) -> tuple[float, float]:
    """Update the search direction, and write it to ``along`` in units of qualities; returns its sums over the reviews.

    That is the sums of qualities along it, and of these times the centred raw scores.
    """
    mean = 0.0
    slope = 0.0
    with cython.nogil:
        for i in range(len(search)):
            search[i] = residual[i] + beta * search[i]
            along[i] = unit[i] * search[i]
            mean += common.degree[i] * along[i]
            slope += common.tilt[i] * along[i]
    return mean, slope


def add_common(
    weight: float, mean: float, slope: float, common: Common, unit: FloatArray, along: FloatArray, image: FloatArray
) -> float:
    """Add the term of the common line to the image of the search direction, and return the curvature.

    The line takes ``mean`` from qualities along the direction, and ``slope`` times the centred raw scores.
    """
    curvature = 0.0
    with cython.nogil:
        for i in range(len(image)):
            image[i] += weight * (common.degree[i] * (along[i] - mean) - slope * common.tilt[i])
            curvature += along[i] * image[i]
            image[i] *= unit[i]
    return curvature


def advance(step: float, search: FloatArray, image: FloatArray, direction: FloatArray, residual: FloatArray) -> float:
    """Step along the search direction; returns the squared norm of the new residual."""
    squares = 0.0
    with cython.nogil:
        for i in range(len(search)):
            direction[i] += step * search[i]
            residual[i] -= step * image[i]
            squares += residual[i] * residual[i]
    return squares


# Items with a single review.


def keep_shared(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, degree: IntArray, keep: BoolArray, first: IntArray
) -> None:
    """Write which reviews remain, all true before, and where those of each reviewer begin then."""
    with cython.nogil:
        for j in range(len(start) - 1):
            singles = 0
            low = INFINITY
            high = -INFINITY
            for r in range(start[j], start[j + 1]):
                if degree[item[r]] == 1:
                    singles += 1
                else:
                    low = min(low, score[r])
                    high = max(high, score[r])
            first[j + 1] = first[j] + start[j + 1] - start[j]
            if singles > 0 and low < high:
                first[j + 1] -= singles
                for r in range(start[j], start[j + 1]):
                    keep[r] = degree[item[r]] != 1


def extrapolate_singles(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, keep: BoolArray, lower: FloatArray,
    upper: FloatArray, quality: FloatArray,
) -> None:  # fmt: skip
    """Write the qualities of removed items: on the regression line through those kept, its slope clipped."""
    with cython.nogil:
        for j in range(len(start) - 1):
            first = start[j]
            last = start[j + 1]
            count = 0
            mean = 0.0
            mean_rise = 0.0
            for r in range(first, last):
                if keep[r]:
                    count += 1
                    mean += quality[item[r]]
                    mean_rise += score[r] - score[first]
            if count == last - first:
                continue
            mean /= count
            mean_rise /= count
            squares = 0.0
            product = 0.0
            for r in range(first, last):
                if keep[r]:
                    rise = score[r] - score[first] - mean_rise
                    squares += rise * rise
                    product += rise * quality[item[r]]
            slope = min(max(product / squares, lower[j]), upper[j])
            for r in range(first, last):
                if not keep[r]:
                    quality[item[r]] = mean + slope * (score[r] - score[first] - mean_rise)
