"""Parquet files as batches of three columns: reviewer, item and score, the rows numbered through."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from reviewgraph.arrays import FloatArray, IntArray
from reviewgraph.errors import InputError
from reviewgraph.formats.arrow import refused
from reviewgraph.formats.headers import ITEM, REVIEWER, SCORE, columns_of, locate, require_named
from reviewgraph.formats.problems import Problems, quote
from reviewgraph.formats.values import say_bad_score
from reviewgraph.provenance import FileRead

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path

ROLES = (REVIEWER, ITEM, SCORE)
LABELS = (REVIEWER.name, ITEM.name)
#: Bytes of a column that are read at once.
BUFFER = 1 << 20


class Batch(NamedTuple):
    """Rows that stand one after the other: labels as Arrow has them, scores with NaN where a review is planned.

    ``no_number`` are the rows, from 0, whose score in the file is NaN, which is no way to say that there is none.
    """

    labels: Mapping[str, Any]
    score: FloatArray
    no_number: IntArray


class Source:
    """Parquet files that are read batch by batch, as often as is needed.

    Parameters
    ----------
    paths
        The files.
    columns
        Names of columns by role, as :func:`reviewgraph.read_reviews` takes them.
    note
        Told what a person should know about the files.

    Raises
    ------
    InputError
        If a file is no Parquet file, or a column is missing, ambiguous or of a type that is not read by batches.
    """

    def __init__(self, paths: Sequence[Path], columns: Mapping[str, str], note: Callable[[str], object]) -> None:
        self.names = list(map(str, paths))
        self.files = list(map(_opened, self.names))
        headers = [list(file.schema_arrow.names) for file in self.files]
        require_named(headers, ROLES, columns)
        self.places = [
            locate(header, ROLES, columns_of(columns, name), name, note)
            for name, header in zip(self.names, headers, strict=True)
        ]
        self.stamps = list(map(_stamp, self.names))
        self.starts = np.cumsum([0, *(file.metadata.num_rows for file in self.files)]).tolist()
        self.kinds = {role: self._kind(role) for role in LABELS}
        self._expect_numbers()

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return int(self.starts[-1])

    @property
    def has_scores(self) -> bool:
        """Whether some file has a score column."""
        return any(SCORE.name in places for places in self.places)

    def file_of(self, row: int) -> int:
        """Return the number of the file that holds a row; rows are counted from 0 through all files."""
        return bisect_right(self.starts, row) - 1

    def place(self, row: int) -> str:
        """Return how a message names a row, counted from 0 through all files."""
        file = self.file_of(row)
        return f"{self.names[file]}: row {row - self.starts[file] + 1}"

    def files_read(self, scored: Sequence[int]) -> tuple[FileRead, ...]:
        """Return the files as they were read, given how many rows of each have a score.

        Arrow reads pieces of a file in an order of its own, so SHA-256 takes a pass over its bytes.

        Raises
        ------
        InputError
            If a file was written to since it was opened.
        """
        found = []
        for name, file, count in zip(self.names, self.files, scored, strict=True):
            with refused(name), open(name, "rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            header = tuple(file.schema_arrow.names)
            found.append(FileRead(name, (), file.metadata.num_rows, int(count), (), digest, None, header))
        for name, stamp in zip(self.names, self.stamps, strict=True):
            if _stamp(name) != stamp:
                message = f"{name}: expected a file that stays as it is, found it changed while it was read; read it "
                message += "again once it is complete"
                raise InputError(message)
        return tuple(found)

    def batches(self, rows: int) -> Iterator[Batch]:
        """Read all files, so many rows at a time.

        Raises
        ------
        InputError
            If Arrow cannot read on.
        """
        for name, file, places in zip(self.names, self.files, self.places, strict=True):
            names = {role: file.schema_arrow.names[place] for role, place in places.items()}
            with refused(name):
                for part in file.iter_batches(rows, columns=list(dict.fromkeys(names.values()))):
                    part.validate(full=True)  # texts in UTF-8, among others, which nobody looks at later
                    labels = {role: _cast(part.column(names[role]), self.kinds[role]) for role in LABELS}
                    yield Batch(labels, *_scores(part, names.get(SCORE.name)))
        pa.default_memory_pool().release_unused()

    def expect_whole(self, batch: Batch, first: int, problems: Problems) -> None:
        """Note the rows of a batch, which begins at a row, that lack a label or have a score that is none."""
        for role, labels in batch.labels.items():
            empty = pc.is_null(labels)
            if self.kinds[role] == pa.large_string():
                empty = pc.or_(empty, pc.equal(pc.utf8_trim_whitespace(labels), "").fill_null(True))
            at = (first + np.flatnonzero(empty.to_numpy(zero_copy_only=False))).tolist()
            self._note(at, f"the {role} is empty", problems)
            if at:
                problems.hint(f"If the {role} stands in another column, name it with --columns {role}=NAME")
        for text, bad in (
            ("nan", batch.no_number),
            ("inf", np.flatnonzero(batch.score == np.inf)),
            ("-inf", np.flatnonzero(batch.score == -np.inf)),
        ):
            self._note((first + bad).tolist(), say_bad_score(text, (), False), problems)

    def _note(self, rows: list[int], what: str, problems: Problems) -> None:
        if rows:  # all of one file
            file = self.file_of(rows[0])
            lines = [row - self.starts[file] + 1 for row in rows]
            problems.add_rows(file, lines, lambda n: f"{self.place(rows[n])}: {what}")

    def _types(self, role: str) -> Iterator[tuple[str, str, Any]]:
        for name, file, places in zip(self.names, self.files, self.places, strict=True):
            if role in places:
                column = file.schema_arrow.field(places[role])
                kind = column.type
                yield name, column.name, kind.value_type if pa.types.is_dictionary(kind) else kind

    def _kind(self, role: str) -> Any:
        """Return the type that the labels of a role are read as: whole numbers if all files have these, else text."""
        numbers = True
        for name, header, kind in self._types(role):
            text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            if not text and not pa.types.is_integer(kind):
                message = (
                    f"{name}: column {quote(header)}: expected text or whole numbers in a table read by batches, "
                    f"found {kind}; write the column as text, or leave out --stream"
                )
                raise InputError(message)
            numbers = numbers and not text
        unsigned = all(pa.types.is_unsigned_integer(kind) for _, _, kind in self._types(role))
        return (pa.uint64() if unsigned else pa.int64()) if numbers else pa.large_string()

    def _expect_numbers(self) -> None:
        for name, header, kind in self._types(SCORE.name):
            if not any(check(kind) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)):
                message = (
                    f"{name}: column {quote(header)}: expected numbers as scores in a table read by batches, found "
                    f"{kind}; write the column as numbers, or leave out --stream"
                )
                raise InputError(message)


def _stamp(name: str) -> tuple[int, int, int]:
    """Return what changes when a file is written to or replaced."""
    with refused(name):
        found = os.stat(name)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(name: str) -> Any:
    with refused(name):
        with open(name, "rb") as file:
            magic = file.read(4)
        if magic != b"PAR1":
            message = f"{name}: expected a Parquet file, the one format that is read by batches; leave out --stream"
            raise InputError(message)
        # As Arrow opens files, it holds all that it has read of one until the end.
        return pyarrow.parquet.ParquetFile(name, pre_buffer=False, buffer_size=BUFFER)


def _cast(column: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(kind)


def _scores(part: Any, name: str | None) -> tuple[FloatArray, IntArray]:
    """Return scores, NaN where there is none, and the rows whose score is NaN in the file."""
    if name is None:
        return np.full(part.num_rows, np.nan), np.empty(0, np.int64)
    column = part.column(name).cast(pa.float64())
    found = np.array(column.to_numpy(zero_copy_only=False), np.float64)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    no_number = np.flatnonzero(np.isnan(found) & ~missing)
    found[missing] = np.nan
    return found, no_number
