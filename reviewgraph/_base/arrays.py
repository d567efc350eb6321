"""Types of arrays and operations on them that several packages share."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from reviewgraph._base.errors import InputError

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: Codes of 32 bits, which halve memory traffic in large tables.
CodeArray: TypeAlias = npt.NDArray[np.uint32]

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a contiguous read-only view; the array itself stays writable."""
    view: npt.NDArray[Scalar] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def distinct(*parts: IntArray) -> IntArray:
    """Return the distinct values of some arrays, ascending; for millions by sorting, 50 times as fast as np.unique."""
    ordered = np.sort(np.concatenate(parts))
    new = np.ones(ordered.size, np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def occurs(values: IntArray, ascending: IntArray) -> BoolArray:
    """Return a mask of the values that occur in an ascending array."""
    if not ascending.size:
        return np.zeros(values.size, np.bool_)
    place = np.minimum(np.searchsorted(ascending, values), ascending.size - 1)
    return np.asarray(ascending[place] == values)


def starts(codes: IntArray, size: int) -> IntArray:
    """Return where each code begins among sorted codes, and where the last ends, shape (size + 1,).

    >>> starts(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=size), out=start[1:])
    return start


def spread(start: IntArray, size: IntArray) -> IntArray:
    """Return the concatenated ranges of some starts and sizes.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before: IntArray = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


def ranks(group: IntArray, value: npt.NDArray[Any]) -> IntArray:
    """Rank each entry within its group, from 0 for the largest value; ties break by index.

    >>> ranks(np.array([1, 0, 1, 1]), np.array([2.0, 5.0, 3.0, 2.0])).tolist()
    [1, 0, 0, 2]
    """
    order = np.lexsort((-value, group))
    place = np.arange(order.size) - np.searchsorted(group[order], group[order])
    rank = np.empty(order.size, np.int64)
    rank[order] = place
    return rank


# The standard normal distribution; small arrays need no SciPy, which takes longer to load than to use.

#: Maximum elements for the standard library: a few milliseconds.
SMALL = 10_000


def cdf(x: FloatArray) -> FloatArray:
    """Return the standard normal distribution function of each value."""
    if x.size > SMALL:
        from scipy.special import ndtr

        return np.asarray(ndtr(x))
    below = [0.5 * math.erfc(-value) for value in (x / math.sqrt(2.0)).ravel().tolist()]
    return np.array(below).reshape(x.shape)


def quantile(p: FloatArray) -> FloatArray:
    """Return the standard normal quantile of each probability, above 0 and below 1."""
    if p.size > SMALL:
        from scipy.special import ndtri

        return np.asarray(ndtri(p))
    inverse = NormalDist().inv_cdf
    return np.array([inverse(value) for value in p.ravel().tolist()]).reshape(p.shape)


# Ties between computed numbers. The last digits of these depend on the machine: on the order in which its matrix
# products add up, and on fused operations. Where numbers are equal in theory, a comparison would be decided by these
# digits. So whatever ranks, selects or compares computed numbers takes close ones as equal, and ties break by index.

#: Maximum difference of tied numbers, relative to the largest: far above rounding errors, and below what anybody reads.
TIE = 1e-9


def snapped(values: FloatArray, scale: float | FloatArray | None = None) -> FloatArray:
    """Make ties along the last axis exactly equal, so that what sorts or selects values breaks them by index.

    A value that is tied with the next smaller one takes its value, and so on; those tied with 0 become 0. ``scale`` is
    the magnitude of the numbers that the values were computed from, by default the largest value.

    >>> snapped(np.array([0.1 + 0.2, 0.3, 5.0, -1e-16])).tolist()
    [0.3, 0.3, 5.0, 0.0]
    >>> snapped(np.array([1e-16, -1e-16]), scale=1.0).tolist()
    [0.0, 0.0]
    """
    if scale is None:
        scale = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=-1, initial=0.0, keepdims=True)
    whole = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
    order = np.argsort(whole, axis=-1)
    ascending = np.take_along_axis(whole, order, axis=-1)
    apart = np.ones(whole.shape, np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        apart[..., 1:] = ~(np.diff(ascending, axis=-1) <= TIE * scale)
    level = np.maximum.accumulate(np.where(apart, ascending, -np.inf), axis=-1)
    np.put_along_axis(whole, order, level, axis=-1)
    tied: FloatArray = whole[..., :-1]
    return np.where(tied == whole[..., -1:], 0.0, tied)


def order_of(values: FloatArray) -> IntArray:
    """Return the places of the values along the last axis, ascending; ties break by index."""
    return np.argsort(snapped(values), kind="stable")


def reaches(value: float, bound: float, scale: float | None = None) -> bool:
    """Return whether a number is at least a bound, or tied with it; ``scale`` as in :func:`snapped`.

    >>> reaches(0.3, 0.1 + 0.2), reaches(0.29, 0.3), reaches(-1e-16, 0.0, scale=1.0)
    (True, False, True)
    """
    return value - bound >= -TIE * (max(abs(value), abs(bound)) if scale is None else scale)


def largest(values: FloatArray, scale: float | None = None) -> int:
    """Return the place of the largest value, of ties the first; ``scale`` as in :func:`snapped`.

    >>> largest(np.array([0.2, 0.3, 0.1 + 0.2]))
    1
    """
    most = values.max()
    close = TIE * (np.abs(np.where(np.isfinite(values), values, 0.0)).max() if scale is None else scale)
    return int(np.argmax(values >= most - close))


def smallest(values: FloatArray, count: int, scale: float | None = None) -> IntArray:
    """Return the places of the smallest values, ascending; ties at the last of them break by index. Linear.

    >>> smallest(np.array([5.0, 0.1 + 0.2, 0.3, 0.0]), 2).tolist()
    [1, 3]
    """
    if not 0 < count < values.size:
        return np.arange(min(count, values.size))
    last = np.partition(values, count - 1)[count - 1]
    close = TIE * (float(np.abs(values).max()) if scale is None else scale)
    below = np.flatnonzero(values < last - close)
    tied = np.flatnonzero(np.abs(values - last) <= close)
    return np.sort(np.concatenate([below, tied[: count - below.size]]))


# Probabilities of being among the best n, and the cut that separates these from the rest.

#: Maximum steps towards the cut: bisection alone makes it exact to the last digit.
STEPS = 240
#: Relative tolerance of n.
SETTLED = 1e-12
#: Standard errors beyond the extreme items that bracket the cut.
BEYOND = 40.0
#: Minimum standard error, relative to the largest mean.
TRIFLE = 1e-12


def probability_in_top(mean: FloatArray, sd: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best n, shape (N,); 0 where the mean is NaN. Linear in N.

    ``Phi((mean_i - t) / sd_i)`` with the cut t at which they sum to n: exact but for the uncertainty of t, which is
    small beside that of a single item where there are many. Of twelve items, one of them known ten times as precisely
    as the others, its probability may be off by 0.21.

    >>> probability_in_top(np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0]), 1).round(2).tolist()
    [0.66, 0.28, 0.06]
    """
    if not 0 <= n <= mean.size:
        raise InputError(f"n: expected 0 to {mean.size} items to select, found {n}")
    known = np.isfinite(mean)
    probability = np.zeros(mean.size)
    centre = mean[known]
    spread = least_spread(mean, sd)[known]
    probability[known] = cdf((centre - cut_of(centre, spread, n)) / spread)
    return probability


def cut_of(mean: FloatArray, sd: FloatArray, n: float) -> float:
    """Return the cut t above which n items are expected: where ``Phi((mean_i - t) / sd_i)`` sums to n. Linear in N.

    Means and standard errors (N,) are finite, errors above 0; the cut is infinite for n <= 0 and n >= N.
    """
    if n <= 0 or n >= mean.size:
        return np.inf if n <= 0 else -np.inf
    low = float((mean - BEYOND * sd).min())
    high = float((mean + BEYOND * sd).max())
    cut = 0.5 * (low + high)
    before = np.inf
    for _ in range(STEPS):
        above = (mean - cut) / sd
        excess = float(cdf(above).sum()) - n
        if abs(excess) <= SETTLED * n:
            break
        low, high = (cut, high) if excess > 0 else (low, cut)
        # Newton's step if it stays between the bounds and the last step halved the excess; else bisection, as where
        # errors near 0 make steps.
        slope = float((np.exp(-0.5 * above * above) / sd).sum()) / math.sqrt(2.0 * math.pi)
        step = cut + excess / slope if slope > 0 else np.inf
        cut = step if low < step < high and abs(excess) < 0.5 * before else 0.5 * (low + high)
        before = abs(excess)
    return cut


def or_none(values: FloatArray) -> list[float | None]:
    """Return a list with None for numbers that are not finite."""
    return [value if finite else None for value, finite in zip(values.tolist(), np.isfinite(values), strict=True)]


def least_spread(mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Return standard errors bounded below by a trifle, so that certainty is a limit."""
    return np.maximum(sd, TRIFLE * max(1.0, float(np.abs(mean[np.isfinite(mean)]).max(initial=0.0))))
