"""Delimited text: CSV, TSV, semicolons. The standard library reads it line by line, DuckDB where it is large."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import IO, Any, Self

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import unguarded
from reviewgraph.formats.columns import recognised
from reviewgraph.formats.files import COLUMNS, Problems, find_encoding, quote
from reviewgraph.formats.systems.system import LOOKED_AT, Wanted, filled, find_header, whole_header
from reviewgraph.formats.tables import Column, Line, Rows, Table

DELIMITERS = (",", "\t", ";", "|")
#: The line by which a spreadsheet program is told the delimiter.
_DELIMITER = re.compile(r"sep=(?P<delimiter>[^\w\"\r\n])\s*", re.IGNORECASE)

#: A cell below a header of Qualtrics, in the row after the texts of the questions.
_DESCRIBES = re.compile(r'\s*\{\s*"ImportId"')

#: A cell of the line below a header in Markdown.
_RULED = re.compile(r"\s*(?::?-{2,}:?\s*)?")

#: Bytes from which loading DuckDB (a tenth of a second) is repaid; the csv module reads about 10 MB a second.
LARGE = 1_500_000
#: Start of a cell that :func:`~reviewgraph._base.storing.guarded` may have written.
_GUARD = re.compile(rb"'[=+\-@\t\r]")
#: Rows held as text at a time.
CHUNK = 50_000


class Delimited(Table):
    """A text file with one row per line, its delimiter inferred from the header, or as a first line ``sep=;`` says.

    Rows without any content do not count, and a title may be above the header.
    """

    def __init__(self, name: str, data: bytes, wanted: Wanted) -> None:
        self.name = name
        self.data = data
        self.open: Callable[[], IO[bytes]] = partial(io.BytesIO, data)
        self.encoding = find_encoding(data, name, wanted.note)
        self.header_lines = 0
        self.delimiter, rows = self._first_rows(wanted)
        cells = [row for _, row in rows]
        place, joined = whole_header(cells, find_header(cells, wanted))
        self.header_lines = rows[place][0]
        self.header = cells[place] if joined is None else joined
        if any(filled(row) > 1 for row in cells[: place - (joined is not None)]):
            wanted.note(f"{name}: the header is in line {self.header_lines}; the rows above it are not read")
        if joined is not None:
            wanted.note(f"{name}: two rows are read as the header, as in {quote(joined[-1])}")
        # Spreadsheets leave delimiters without cells at the ends of rows.
        while len(self.header) > 1 and not self.header[-1].strip():
            self.header.pop()
        described = [line for line, row in rows[place + 1 :] if any(_DESCRIBES.match(cell) for cell in row)]
        described += [line for line, row in rows[place + 1 : place + 2] if all(map(_RULED.fullmatch, row))]
        if described:
            self.header_lines = described[-1]
            wanted.note(f"{name}: the rows below the header that describe the columns are not read")
        self.decimal_comma = self.delimiter != ","
        COLUMNS.expect(name, len(self.header))

    def place(self, line: int) -> str:
        return f"{self.name}:{line}"

    def leniently(self) -> Self:
        table = super().leniently()
        if table._has_blanks:
            with contextlib.suppress(csv.Error), table._text() as text:
                reader = table._reader(text)
                table.header = next(row for row in reader if reader.line_num == self.header_lines)
        return table

    def rows_below(self) -> Iterator[Line]:
        for line, cells in self.numbered_rows(Problems()):
            yield Line(cells, f"line {line}")

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        if len(self.data) >= LARGE and not self._has_blanks and b'"' not in self.data and not _GUARD.search(self.data):
            data = self.data if self.encoding == "utf-8-sig" else self.data.decode(self.encoding).encode()
            from reviewgraph.formats.engine import read_plain

            columns = read_plain(data, self.delimiter, len(self.header), positions, self.header_lines)
            # Every row is on a line of its own and has the right width; rows that may be empty are looked at as text.
            if columns is not None and not _any_empty(columns):
                first = self.header_lines + 1
                return Rows(columns, range(first, first + columns[0].codes.size))
        return self._read_lines(positions, problems)

    def _read_lines(self, positions: Sequence[int], problems: Problems) -> Rows:
        width = len(self.header)
        numbered = self.numbered_rows(problems)
        # One dictionary per column turns cells into codes, chunk by chunk; no row is kept.
        lines: array[int] = array("q")
        seen: list[dict[str, int]] = [{} for _ in positions]
        codes: list[list[IntArray]] = [[] for _ in positions]
        ragged: list[tuple[int, int]] = []
        while rows := list(islice(numbered, CHUNK)):
            if self.lenient:
                rows = [(line, row + [""] * (width - len(row))) for line, row in rows]
            if any(len(row) != width for _, row in rows):
                # Delimiters at the end of a row, which spreadsheets leave behind, are no cells.
                rows = [(line, row if any(row[width:]) else row[:width]) for line, row in rows]
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
            [line for line, _ in ragged],
            lambda n: f"{self.place(ragged[n][0])}: expected {width} cells as in the header, found {ragged[n][1]}",
        )
        nothing = np.empty(0, np.int64)
        columns = [
            Column(np.concatenate([nothing, *parts]), list(known)) for known, parts in zip(seen, codes, strict=True)
        ]
        return Rows(columns, lines)

    def numbered_rows(self, problems: Problems) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the header that are not empty, each with the line on which it begins."""
        with self._text() as text:
            reader = self._reader(text)
            last = 0
            try:
                for row in reader:
                    if last >= self.header_lines and any(map(str.strip, row)):
                        yield last + 1, row
                    last = reader.line_num
            except csv.Error as error:
                problems.add(last + 1, f"{self.place(last + 1)}: {say_quoting(error)}")

    def _first_rows(self, wanted: Wanted) -> tuple[str, list[_Row]]:
        """Return the delimiter and the first rows that are not empty, with the lines on which they end."""
        declared = _DELIMITER.fullmatch(self._text().readline())
        # The delimiter that gives most recognised columns wins; among equals, the one with most columns.
        best: tuple[tuple[int, bool, int], str, list[_Row]] | None = None
        failure = ""
        for delimiter in (declared["delimiter"],) if declared else DELIMITERS:
            reader = csv.reader(self._text(), delimiter=delimiter, strict=True)
            rows: list[_Row] = []
            try:
                for cells in reader:
                    if any(map(str.strip, cells)) and not (declared and reader.line_num == 1):
                        rows.append((reader.line_num, cells))
                    if len(rows) == LOOKED_AT:
                        break
            except csv.Error as error:
                failure = failure if rows or failure else say_quoting(error)
            if rows:
                counts = [recognised(cells, wanted.roles, wanted.columns) for _, cells in rows]
                top = counts.index(max(counts))
                merit = (counts[top], top == 0, len(rows[top][1]))
                if best is None or merit > best[0]:
                    best = (merit, delimiter, rows)
        if best is None or (failure and len(best[2][0][1]) == 1):
            raise InputError(f"{self.place(1)}: the header cannot be read: {failure or say_quoting(StopIteration())}")
        return best[1:]

    @property
    def _has_blanks(self) -> bool:
        return self.lenient and f"{self.delimiter} ".encode() in self.data

    def _reader(self, text: Iterable[str]) -> Any:
        return csv.reader(text, delimiter=self.delimiter, strict=True, skipinitialspace=self.lenient)

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.open(), encoding=self.encoding, newline="")


#: The line on which a row ends, and its cells.
_Row = tuple[int, list[str]]


def _any_empty(columns: Sequence[Column]) -> bool:
    empty = np.ones(columns[0].codes.size, np.bool_)
    for column in columns:
        blank = np.array([not value.strip() for value in column.values], np.bool_)
        if not blank.any():
            return False
        empty &= blank[column.codes]
    return bool(empty.any())


def say_quoting(error: Exception) -> str:
    text = str(error)
    if "field larger" in text:
        return "a cell that begins in this row is very long; is a closing quote missing?"
    if "unexpected end" in text:
        return "a quoted cell that begins in this row never ends; is a closing quote missing?"
    if "expected after" in text:
        return "text follows a closing quote; write a quote inside a quoted cell twice"
    return text or "there is none"
