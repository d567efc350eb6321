"""Arrays in temporary files, read and written in parts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError
from reviewgraph.formats.files import cut


class Spill:
    """An array in a temporary file.

    Where the system allows, the file has no name, so that nothing is left of it even where the process is killed.

    >>> with Spill(np.dtype("f8")) as spill:
    ...     spill.append(np.array([1.0, 2.0]))
    ...     spill.write(1, np.array([3.0, 4.0]))
    ...     len(spill), spill.read(0, 3).tolist()
    (3, [1.0, 3.0, 4.0])
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype, self.size = np.dtype(dtype), 0
        try:
            self.file = tempfile.TemporaryFile(prefix="reviewgraph-")  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise no_room(error) from error

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.file.close()
        except OSError:  # unwritten data has no room and is no longer needed
            self.file.close()

    def __len__(self) -> int:
        return self.size

    def append(self, entries: npt.NDArray[Any]) -> None:
        """Write entries at the end."""
        self.write(self.size, entries)

    def write(self, at: int, entries: npt.NDArray[Any]) -> None:
        try:
            self.file.seek(at * self.dtype.itemsize)
            self.file.write(np.ascontiguousarray(entries, self.dtype).view(np.uint8).data)
        except OSError as error:
            raise no_room(error) from error
        self.size = max(self.size, at + len(entries))

    def read(self, first: int, last: int, into: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        size = max(0, last - first)
        entries = np.empty(size, self.dtype) if into is None else into[:size]
        if size:
            try:
                self.file.seek(first * self.dtype.itemsize)
                self.file.readinto(entries.view(np.uint8).data)
            except OSError as error:
                raise no_room(error) from error
        return entries

    def parts(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        """Read all entries in parts of ``rows``."""
        for first in range(0, self.size, rows):
            yield self.read(first, min(first + rows, self.size))


def no_room(error: object) -> InputError:
    """Return the error of a temporary file that cannot be written."""
    said = getattr(error, "strerror", None) or cut(error)
    return InputError(
        f"{tempfile.gettempdir()}: the temporary file cannot be written ({said}); a table larger than memory "
        "needs about 70 bytes per row on disk, its posterior 300: set TMPDIR to a folder with room"
    )


def ranges(start: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Split sorted rows into ranges of whole reviewers with at most ``rows`` rows, more only for a single reviewer.

    >>> list(ranges(np.array([0, 2, 3, 9, 9]), 3))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, size = 0, start.size - 1
    while first < size:
        last = int(np.searchsorted(start, start[first] + rows, "right")) - 1
        last = min(max(last, first + 1), size)
        yield first, last
        first = last
