"""Delimited text: CSV, TSV, semicolons. The standard library reads it line by line, Arrow where it is large."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.files import find_encoding
from reviewgraph.formats.headers import recognised
from reviewgraph.formats.limits import COLUMNS
from reviewgraph.formats.tables import Column, Rows, Table
from reviewgraph.formats.writing import unguarded

if TYPE_CHECKING:
    from reviewgraph.formats.headers import Role
    from reviewgraph.formats.problems import Problems
    from reviewgraph.labels import IntArray

DELIMITERS = (",", "\t", ";", "|")

#: Bytes from which loading Arrow (half a second) is repaid; the csv module reads about 10 MB a second.
LARGE = 1_500_000
#: What may be a cell that :func:`~reviewgraph.formats.writing.guarded` has written.
_GUARD = re.compile(rb"'[=+\-@\t\r]")
#: Rows that are held as text at a time.
CHUNK = 50_000


class Delimited(Table):
    """A text file with one row a line, its delimiter found from the header.

    Raises
    ------
    InputError
        If the file is not text, its header cannot be read, or it has more columns than a table may have.
    """

    def __init__(
        self,
        name: str,
        data: bytes,
        roles: Sequence[Role],
        columns: Mapping[str, str],
        note: Callable[[str], object],
    ) -> None:
        self.name = name
        self.data = data
        self.encoding = find_encoding(data, name, note)
        self.delimiter, self.header, self.header_lines = self._find_header(roles, columns)
        self.decimal_comma = self.delimiter != ","
        COLUMNS.expect(name, len(self.header))

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        return f"{self.name}:{line}"

    def leniently(self) -> Self:
        """Return the table with empty cells at the end of rows that are too short, and no blanks before cells."""
        found = super().leniently()
        if found._has_blanks:
            with contextlib.suppress(csv.Error):
                found.header = next(row for row in found._reader() if row)
        return found

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions; ragged rows are left out and noted as problems."""
        if len(self.data) >= LARGE and not self._has_blanks and b'"' not in self.data and not _GUARD.search(self.data):
            from reviewgraph.formats.arrow import read_plain

            data = self.data if self.encoding == "utf-8-sig" else self.data.decode(self.encoding).encode()
            columns = read_plain(data, self.delimiter, len(self.header), positions, self.header_lines)
            if columns is not None:  # every row stands on a line of its own and has the right width
                first = self.header_lines + 1
                return Rows(columns, range(first, first + columns[0].codes.size))
        return self._read_lines(positions, problems, file)

    def _read_lines(self, positions: Sequence[int], problems: Problems, file: int) -> Rows:
        width, numbered = len(self.header), self._rows_after_header(problems, file)
        # One dictionary a column turns cells into codes, a chunk of rows at a time; no row is kept.
        lines: array[int] = array("q")
        seen: list[dict[str, int]] = [{} for _ in positions]
        codes: list[list[IntArray]] = [[] for _ in positions]
        ragged: list[tuple[int, int]] = []
        while rows := list(islice(numbered, CHUNK)):
            if self.lenient:
                rows = [(line, row + [""] * (width - len(row))) for line, row in rows]
            if any(len(row) != width for _, row in rows):
                ragged += [(line, len(row)) for line, row in rows if len(row) != width]
                rows = [(line, row) for line, row in rows if len(row) == width]
            lines.extend([line for line, _ in rows])
            for place, known, parts in zip(positions, seen, codes, strict=True):
                cells = [row[place] for _, row in rows]
                if any(cell[:1] == "'" for cell in dict.fromkeys(cells)):
                    cells = list(map(unguarded, cells))
                for cell in dict.fromkeys(cells):
                    known.setdefault(cell, len(known))
                parts.append(np.fromiter(map(known.__getitem__, cells), np.int64, len(cells)))
        problems.add_rows(
            file,
            [line for line, _ in ragged],
            lambda n: f"{self.place(ragged[n][0])}: expected {width} cells as in the header, found {ragged[n][1]}",
        )
        nothing = np.empty(0, np.int64)
        columns = [
            Column(np.concatenate([nothing, *parts]), list(known)) for known, parts in zip(seen, codes, strict=True)
        ]
        return Rows(columns, lines)

    def _rows_after_header(self, problems: Problems, file: int) -> Iterator[tuple[int, list[str]]]:
        reader, last = self._reader(), 0
        try:
            for row in reader:
                if row and last >= self.header_lines:
                    yield last + 1, row
                last = reader.line_num
        except csv.Error as error:
            problems.add(file, last + 1, f"{self.place(last + 1)}: {_say_quoting(error)}")

    def _find_header(self, roles: Sequence[Role], columns: Mapping[str, str]) -> tuple[str, list[str], int]:
        # The delimiter under which most columns have names that we know wins; among equals, the one with most columns.
        best: tuple[tuple[int, int], str, list[str], int] | None = None
        failure = ""
        for delimiter in DELIMITERS:
            reader = csv.reader(self._text(), delimiter=delimiter, strict=True)
            try:
                header = next(row for row in reader if row)
            except (csv.Error, StopIteration) as error:
                failure = failure or _say_quoting(error)
                continue
            merit = (recognised(header, roles, columns), len(header))
            if best is None or merit > best[0]:
                best = (merit, delimiter, header, reader.line_num)
        if best is None or (failure and len(best[2]) == 1):
            message = f"{self.place(1)}: the header cannot be read: {failure}"
            raise InputError(message)
        return best[1:]

    @property
    def _has_blanks(self) -> bool:
        """Whether blanks stand before cells where they do not count."""
        return self.lenient and f"{self.delimiter} ".encode() in self.data

    def _reader(self) -> Any:
        return csv.reader(self._text(), delimiter=self.delimiter, strict=True, skipinitialspace=self.lenient)

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding, newline="")


def _say_quoting(error: Exception) -> str:
    text = str(error)
    if "field larger" in text:
        return "a cell that begins in this row is very long; is a closing quote missing?"
    if "unexpected end" in text:
        return "a quoted cell that begins in this row never ends; is a closing quote missing?"
    if "expected after" in text:
        return "text follows a closing quote; write a quote inside a quoted cell twice"
    return text or "there is none"
