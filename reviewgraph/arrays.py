"""Names for the arrays that go from room to room, and what several rooms do with them."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: Codes of 32 bits, where there are many: half of what a pass over them reads.
CodeArray: TypeAlias = npt.NDArray[np.uint32]

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a contiguous view that cannot be written to; the array itself stays writable.

    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    view: npt.NDArray[Scalar] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def distinct(*parts: IntArray) -> IntArray:
    """Return what occurs in some arrays, ascending; by sorting, which takes a fiftieth of numpy's hashing for millions.

    >>> distinct(np.array([3, 1, 3]), np.array([2])).tolist()
    [1, 2, 3]
    """
    found = np.sort(np.concatenate(parts))
    new = np.ones(found.size, np.bool_)
    new[1:] = found[1:] != found[:-1]
    return found[new]


def occurs(values: IntArray, ascending: IntArray) -> BoolArray:
    """Return which values occur in an ascending array.

    >>> occurs(np.array([3, 1]), np.array([1, 2])).tolist()
    [False, True]
    """
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
    """Count up from each start, as many numbers as the size says.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before: IntArray = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


def ranks(group: IntArray, value: npt.NDArray[Any]) -> IntArray:
    """Rank each entry within its group, from 0 for the largest value; equal values stand in the order of entries.

    >>> ranks(np.array([1, 0, 1, 1]), np.array([2.0, 5.0, 3.0, 2.0])).tolist()
    [1, 0, 0, 2]
    """
    order = np.lexsort((-value, group))
    place = np.arange(order.size) - np.searchsorted(group[order], group[order])
    rank = np.empty(order.size, np.int64)
    rank[order] = place
    return rank
