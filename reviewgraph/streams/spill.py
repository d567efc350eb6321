"""Temporary files of rows: written in any order, read in pieces, gone when they are closed, whatever happens."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reviewgraph.arrays import IntArray
from reviewgraph.errors import InputError


class Spill:
    """An array in a temporary file.

    Where the system allows, the file has no name, so that nothing is left of it even where the process is killed.

    Parameters
    ----------
    dtype
        Of an entry.

    Examples
    --------
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
            raise _no_room(error) from error

    def __enter__(self) -> Spill:
        """Return the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and so delete the file."""
        self.close()

    def close(self) -> None:
        """Delete the file."""
        try:
            self.file.close()
        except OSError:  # what was not written yet has no room, and is not wanted any more
            self.file.close()

    def __len__(self) -> int:
        """Return the number of entries."""
        return self.size

    def append(self, entries: npt.NDArray[Any]) -> None:
        """Write entries at the end."""
        self.write(self.size, entries)

    def write(self, at: int, entries: npt.NDArray[Any]) -> None:
        """Write entries from a place on.

        Raises
        ------
        InputError
            If the disk is full.
        """
        try:
            self.file.seek(at * self.dtype.itemsize)
            self.file.write(np.ascontiguousarray(entries, self.dtype).view(np.uint8).data)
        except OSError as error:
            raise _no_room(error) from error
        self.size = max(self.size, at + len(entries))

    def read(self, first: int, last: int, into: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return the entries from ``first`` to before ``last``, in the beginning of an array that is given, if any."""
        size = max(0, last - first)
        found = np.empty(size, self.dtype) if into is None else into[:size]
        if size:
            try:
                self.file.seek(first * self.dtype.itemsize)
                self.file.readinto(found.view(np.uint8).data)
            except OSError as error:
                raise _no_room(error) from error
        return found

    def parts(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        """Read all entries, so many at a time."""
        for first in range(0, self.size, rows):
            yield self.read(first, min(first + rows, self.size))


def _no_room(error: OSError) -> InputError:
    return InputError(
        f"{tempfile.gettempdir()}: the temporary file cannot be written ({error.strerror or error}); a table read by "
        "batches needs about 45 bytes a row on disk, its posterior 300: set TMPDIR to a folder with room"
    )


def ranges(start: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Cut sorted rows into ranges of whole reviewers, of at most so many rows unless one reviewer has more.

    >>> list(ranges(np.array([0, 2, 3, 9, 9]), 3))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, size = 0, start.size - 1
    while first < size:
        last = int(np.searchsorted(start, start[first] + rows, "right")) - 1
        last = min(max(last, first + 1), size)
        yield first, last
        first = last
