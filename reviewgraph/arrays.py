"""Names for the arrays that go from room to room, and what several rooms do with them."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a contiguous view that cannot be written to; the array itself stays writable.

    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    view: npt.NDArray[Scalar] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def starts(codes: IntArray, size: int) -> IntArray:
    """Return where each code begins among sorted codes, and where the last ends, shape (size + 1,).

    >>> starts(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=size), out=start[1:])
    return start
