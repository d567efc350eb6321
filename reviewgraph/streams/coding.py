"""Labels of a table read by batches: collected in one pass, 32-bit codes in the next."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from reviewgraph._base.arrays import CodeArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import encode, identity, natural_order

KeyArray: TypeAlias = npt.NDArray[np.uint64]

#: Whole numbers are looked up in a table of at most ``ROOM`` places per row of the file, larger ones by bisection.
ROOM, LEAST_ROOM = 2, 1 << 20
#: Labels converted to text at once.
AT_ONCE = 1 << 14


class Labels(Sequence[str]):
    """Labels in natural order, held by Arrow or NumPy and converted to text on access."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(map(str, self.values[place].tolist()))
        label = self.values[place]
        return str(label.as_py() if isinstance(label, pa.Scalar) else label)

    def texts(self) -> Iterator[str]:
        """Iterate over all labels as text."""
        return chain.from_iterable(self[first : first + AT_ONCE] for first in range(0, len(self), AT_ONCE))


class Coder(Protocol):
    """The labels of one role: first :meth:`add` all, then :meth:`settle`, then :meth:`codes` of each batch.

    ``together`` is the number of rows from which coding them at once pays.
    """

    together: int

    def add(self, labels: Any) -> None:
        """Collect the labels of a batch."""
        ...

    def settle(self) -> Labels:
        """Return the distinct labels; none may be added any more."""
        ...

    def codes(self, labels: Any) -> CodeArray:
        """Return the codes of the labels of a batch."""
        ...


class Texts:
    """Codes of text: Arrow's hash tables, built anew for each batch, which should therefore be large."""

    def __init__(self) -> None:
        self.distinct, self.together = pa.array([], pa.large_string()), 1
        self._pending: list[Any] = []

    def add(self, labels: Any) -> None:
        self._pending.append(pc.unique(labels))
        # Merged when they have grown by half, so that each label is processed a logarithmic number of times.
        if sum(map(len, self._pending)) > len(self.distinct):
            self._merge()

    def settle(self) -> Labels:
        self._merge()
        self.distinct = self.distinct.take(pa.array(natural_order(self.distinct.to_pylist())))
        self.together = max(1, len(self.distinct))
        return Labels(self.distinct)

    def codes(self, labels: Any) -> CodeArray:
        return np.asarray(pc.index_in(labels, value_set=self.distinct).to_numpy(), np.uint32)

    def _merge(self) -> None:
        if self._pending:
            self.distinct = pc.unique(pa.chunked_array([self.distinct, *self._pending]))
            self._pending = []


class Joined:
    """Codes of joined labels: those of another coder, translated."""

    def __init__(self, coder: Coder, code: CodeArray) -> None:
        self.coder, self.code, self.together = coder, code, coder.together

    def add(self, labels: Any) -> None:
        self.coder.add(labels)

    def settle(self) -> Labels:
        return self.coder.settle()

    def codes(self, labels: Any) -> CodeArray:
        return self.code[self.coder.codes(labels)]


class Numbers:
    """Codes of whole numbers: by a table if they are dense, otherwise by bisection."""

    def __init__(self, n_rows: int, *, signed: bool) -> None:
        self.room, self.signed, self.together = max(LEAST_ROOM, ROOM * n_rows), signed, 1
        self.seen: npt.NDArray[np.bool_] | None = np.zeros(0, np.bool_)
        self.distinct: KeyArray = np.zeros(0, np.uint64)
        self._pending: list[KeyArray] = []
        self._table: CodeArray = np.zeros(0, np.uint32)

    def add(self, labels: Any) -> None:
        keys = self._keys(labels)
        most = int(keys.max(initial=0)) + 1
        if self.seen is not None and most <= self.room:
            if most > self.seen.size:
                self.seen = np.concatenate([self.seen, np.zeros(2 * most - self.seen.size, np.bool_)])
            self.seen[keys] = True
            return
        if self.seen is not None:
            self._pending, self.seen = [np.flatnonzero(self.seen).astype(np.uint64)], None
        self._pending.append(np.unique(keys))
        if sum(map(len, self._pending)) > self.distinct.size:
            self._merge()

    def settle(self) -> Labels:
        if self.seen is not None:
            self.distinct = np.flatnonzero(self.seen).astype(np.uint64)
            self._table = (np.cumsum(self.seen, dtype=np.uint32) - np.uint32(1)).astype(np.uint32)
        self._merge()
        return Labels(self._numbers(self.distinct))

    def codes(self, labels: Any) -> CodeArray:
        keys = self._keys(labels)
        if self.seen is not None:
            return self._table[keys]
        return np.searchsorted(self.distinct, keys).astype(np.uint32)

    def _merge(self) -> None:
        if self._pending:
            self.distinct = np.unique(np.concatenate([self.distinct, *self._pending]))
            self._pending = []

    def _keys(self, labels: Any) -> KeyArray:
        """Return numbers whose order is the natural order of labels: 0, 1, 2, ..., then -1, -2, ..."""
        values = labels.to_numpy()
        if not self.signed:
            return np.asarray(values, np.uint64)
        # The highest bit is the sign; below it, the inverted bits of a negative number.
        return np.asarray(np.where(values < 0, ~values | np.int64(-(2**63)), values).view(np.uint64))

    def _numbers(self, keys: KeyArray) -> npt.NDArray[Any]:
        if not self.signed:
            return keys
        values = keys.view(np.int64)
        return np.where(values < 0, ~(values & np.int64(2**63 - 1)), values)


def joined(coder: Coder, labels: Labels, spelled: Callable[[list[str]], list[str]]) -> tuple[Coder, Labels]:
    """Return a coder and its labels, similar text labels joined by ``spelled``."""
    if not isinstance(coder, Texts):
        return coder, labels
    # Only labels with equal hashes are converted to text: three numbers per label suffice if none are similar.
    key = np.fromiter((hash(identity(label)) for label in labels.texts()), np.int64, len(labels))
    order = np.argsort(key)
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    some = [labels[place] for place in np.unique(order[np.concatenate([same, same + 1])]).tolist()]
    becomes = dict(zip(some, spelled(some), strict=True))
    if all(label == one for label, one in becomes.items()):
        return coder, labels
    codes, distinct = encode(becomes.get(label, label) for label in labels.texts())
    return Joined(coder, codes.astype(np.uint32)), Labels(pa.array(distinct, pa.large_string()))


def coder_of(kind: Any, n_rows: int) -> Coder:
    """Return the coder for labels of an Arrow type."""
    if pa.types.is_integer(kind):
        return Numbers(n_rows, signed=pa.types.is_signed_integer(kind))
    return Texts()


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
            raise _no_room(error) from error

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
            raise _no_room(error) from error
        self.size = max(self.size, at + len(entries))

    def read(self, first: int, last: int, into: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        size = max(0, last - first)
        entries = np.empty(size, self.dtype) if into is None else into[:size]
        if size:
            try:
                self.file.seek(first * self.dtype.itemsize)
                self.file.readinto(entries.view(np.uint8).data)
            except OSError as error:
                raise _no_room(error) from error
        return entries

    def parts(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        """Read all entries in parts of ``rows``."""
        for first in range(0, self.size, rows):
            yield self.read(first, min(first + rows, self.size))


def _no_room(error: OSError) -> InputError:
    return InputError(
        f"{tempfile.gettempdir()}: the temporary file cannot be written ({error.strerror or error}); a table read by "
        "batches needs about 45 bytes per row on disk, its posterior 300: set TMPDIR to a folder with room"
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
