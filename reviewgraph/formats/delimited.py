"""Delimited text: CSV, TSV, semicolons. The standard library reads it line by line, Arrow where it is large.

Arrow takes half a second to load, so that the functions that need it import it.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import unguarded
from reviewgraph.formats.columns import recognised
from reviewgraph.formats.files import COLUMNS, PARQUET, TIMES, Problems, cut, find_encoding, quote
from reviewgraph.formats.systems.system import LOOKED_AT, filled, find_header, whole_header
from reviewgraph.formats.tables import Column, Line, Rows, Table

if TYPE_CHECKING:
    from reviewgraph.formats.columns import Role
    from reviewgraph.formats.systems.system import Export

DELIMITERS = (",", "\t", ";", "|")
#: The line by which a spreadsheet program is told the delimiter.
_DELIMITER = re.compile(r"sep=(?P<delimiter>[^\w\"\r\n])\s*", re.IGNORECASE)

#: A cell below a header of Qualtrics, in the row after the texts of the questions.
_DESCRIBES = re.compile(r'\s*\{\s*"ImportId"')

#: Bytes from which loading Arrow (half a second) is repaid; the csv module reads about 10 MB a second.
LARGE = 1_500_000
#: Start of a cell that :func:`~reviewgraph._base.storing.guarded` may have written.
_GUARD = re.compile(rb"'[=+\-@\t\r]")
#: Rows held as text at a time.
CHUNK = 50_000


class Delimited(Table):
    """A text file with one row per line, its delimiter inferred from the header, or as a first line ``sep=;`` says.

    Rows without any content do not count, and a title may be above the header.
    """

    def __init__(
        self,
        name: str,
        data: bytes,
        roles: Sequence[Role],
        columns: Mapping[str, str],
        note: Callable[[str], object],
        exports: Sequence[Export] = (),
    ) -> None:
        self.name = name
        self.data = data
        self.encoding = find_encoding(data, name, note)
        self.header_lines = 0
        self.delimiter, rows = self._first_rows(roles, columns)
        cells = [row for _, row in rows]
        place, joined = whole_header(cells, find_header(cells, roles, columns, exports))
        self.header_lines = rows[place][0]
        self.header = cells[place] if joined is None else joined
        if any(filled(row) > 1 for row in cells[: place - (joined is not None)]):
            note(f"{name}: the header is in line {self.header_lines}; the rows above it are not read")
        if joined is not None:
            note(f"{name}: two rows are read as the header, as in {quote(joined[-1])}")
        # Spreadsheets leave delimiters without cells at the ends of rows.
        while len(self.header) > 1 and not self.header[-1].strip():
            self.header.pop()
        described = [line for line, row in rows[place + 1 :] if any(_DESCRIBES.match(cell) for cell in row)]
        if described:
            self.header_lines = described[-1]
            note(f"{name}: the rows below the header that describe the columns are not read")
        self.decimal_comma = self.delimiter != ","
        COLUMNS.expect(name, len(self.header))

    def place(self, line: int) -> str:
        return f"{self.name}:{line}"

    def leniently(self) -> Self:
        table = super().leniently()
        if table._has_blanks:
            reader = table._reader()
            with contextlib.suppress(csv.Error):
                table.header = next(row for row in reader if reader.line_num == self.header_lines)
        return table

    def rows_below(self) -> Iterator[Line]:
        for line, cells in self._rows_after_header(Problems(), 0):
            yield Line(cells, f"line {line}")

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        if len(self.data) >= LARGE and not self._has_blanks and b'"' not in self.data and not _GUARD.search(self.data):
            data = self.data if self.encoding == "utf-8-sig" else self.data.decode(self.encoding).encode()
            columns = read_plain(data, self.delimiter, len(self.header), positions, self.header_lines)
            # Every row is on a line of its own and has the right width; rows that may be empty are looked at as text.
            if columns is not None and not _any_empty(columns):
                first = self.header_lines + 1
                return Rows(columns, range(first, first + columns[0].codes.size))
        return self._read_lines(positions, problems, file)

    def _read_lines(self, positions: Sequence[int], problems: Problems, file: int) -> Rows:
        width = len(self.header)
        numbered = self._rows_after_header(problems, file)
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
        reader = self._reader()
        last = 0
        try:
            for row in reader:
                if last >= self.header_lines and any(map(str.strip, row)):
                    yield last + 1, row
                last = reader.line_num
        except csv.Error as error:
            problems.add(file, last + 1, f"{self.place(last + 1)}: {say_quoting(error)}")

    def _first_rows(self, roles: Sequence[Role], columns: Mapping[str, str]) -> tuple[str, list[_Row]]:
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
                counts = [recognised(cells, roles, columns) for _, cells in rows]
                top = counts.index(max(counts))
                merit = (counts[top], top == 0, len(rows[top][1]))
                if best is None or merit > best[0]:
                    best = (merit, delimiter, rows)
        if best is None or (failure and len(best[2][0][1]) == 1):
            message = f"{self.place(1)}: the header cannot be read: {failure or say_quoting(StopIteration())}"
            raise InputError(message)
        return best[1:]

    @property
    def _has_blanks(self) -> bool:
        return self.lenient and f"{self.delimiter} ".encode() in self.data

    def _reader(self) -> Any:
        return csv.reader(self._text(), delimiter=self.delimiter, strict=True, skipinitialspace=self.lenient)

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding, newline="")


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


# Tables by Arrow: large delimited text without quotes, and Parquet.

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_BLOCK = 1 << 24


def read_plain(
    data: bytes, delimiter: str, width: int, positions: Sequence[int], header_lines: int
) -> list[Column] | None:
    """Return the columns at ``positions`` of delimited UTF-8 text without quotes, whose rows have ``width`` cells.

    None if a line is ragged, blank or otherwise unusual.
    """
    import pyarrow as pa
    import pyarrow.csv

    ends = islice(_NEWLINE.finditer(data), header_lines - 1, None) if header_lines else iter(())
    start = next((end.end() for end in ends), len(data) if header_lines else 0)
    if header_lines and data.startswith(codecs.BOM_UTF8, start):
        return None  # Arrow would skip the byte order mark, which is part of the first label
    names = [f"c{place}" for place in range(width)]
    # One column may serve two purposes, as when titles name the papers.
    wanted = [names[place] for place in dict.fromkeys(positions)]
    # Encoding while reading avoids the compute functions of Arrow, which take longer to load.
    encoded = pa.dictionary(pa.int32(), pa.large_string())
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(memoryview(data)[start:])),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, encoded), check_utf8=False
            ),
        )
    except pa.ArrowException:
        return None
    # Arrow skips blank lines; then the line numbers, which messages need, are lost.
    if table.num_rows != _count_lines(data, start):
        return None
    columns = {name: _column(table.column(name).unify_dictionaries()) for name in wanted}
    return [columns[names[place]] for place in positions]


def _count_lines(data: bytes, start: int) -> int:
    """Count the lines from ``start`` on without blank ones at the end; -1 if line ends are of several kinds."""
    end = len(data)
    while end > start and data[end - 1] in b"\r\n":
        end -= 1
    returns = data.count(b"\r", start, end)
    feeds = data.count(b"\n", start, end)
    if returns and returns != data.count(b"\r\n", start, end):
        return -1
    return feeds + 1 if end > start else 0


def _column(encoded: Any, *, compact: bool = False) -> Column:
    """Return a column of Arrow that has one dictionary, ``compact`` where that may hold a value twice or unused."""
    if not len(encoded):  # which Arrow before 26 cannot combine
        return Column(np.empty(0, np.int64), [])
    whole = encoded.combine_chunks()
    values = _texts(whole.dictionary)
    if compact or whole.null_count:
        return _compact(whole.indices.fill_null(len(values)), [*values, ""])
    return Column(_numbers(whole.indices), values)


def _compact(indices: Any, values: Sequence[str]) -> Column:
    """Return a column whose values are distinct and used, which need not hold in a file."""
    codes = _numbers(indices)
    used = np.flatnonzero(np.bincount(codes, minlength=len(values))).tolist()
    index: dict[str, int] = {}
    place = np.zeros(len(values), np.int64)
    place[used] = [index.setdefault(values[code], len(index)) for code in used]
    return Column(place[codes], list(index))


def _numbers(indices: Any) -> IntArray:
    # Not to_numpy, which imports pandas where it is installed and so would triple the time of a small table.
    if not len(indices):
        return np.empty(0, np.int64)
    codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)
    return codes.astype(np.int64)


def _texts(values: Any) -> list[str]:
    import pyarrow as pa

    if pa.types.is_large_string(values.type) or pa.types.is_string(values.type):
        return list(values.to_pylist())
    if pa.types.is_boolean(values.type):
        return [str(value).lower() for value in values.to_pylist()]
    return [str(value).removesuffix(".0") for value in values.to_pylist()]


class Parquet(Table):
    """A Parquet file; numbers become text, whole ones without a point, nulls empty cells."""

    decimal_comma = False

    def __init__(self, name: str, data: bytes) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile  # not where text is read

        self.name = name
        self.data = data
        with refused(name):
            file = ParquetFile(pa.BufferReader(pa.py_buffer(data)))
            self.schema = file.schema_arrow
            self.header: list[str] = list(self.schema.names)
            # Texts keep the dictionaries of the file: a long one in many rows is held once.
            texts = [field.name for field in self.schema if _is_text(field.type)]
            self.file = ParquetFile(pa.BufferReader(pa.py_buffer(data)), metadata=file.metadata, read_dictionary=texts)
        COLUMNS.expect(name, len(self.header))
        self.unread = [place for place, field in enumerate(self.schema) if not _is_read(field.type)]

    def place(self, line: int) -> str:
        return f"{self.name}: row {line}"

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        for field in map(self.schema.field, positions):
            if not _is_read(field.type):
                message = f"{self.name}: column {quote(field.name)}: expected text or numbers, found {field.type}"
                raise InputError(message)
        with refused(self.name):
            self._expect_bounded(positions)
            table = self.file.read(columns=list(dict.fromkeys(self.header[place] for place in positions)))
            columns = [_encoded(table.column(self.header[place])) for place in positions]
        return Rows(columns, range(1, table.num_rows + 1))

    def _expect_bounded(self, positions: Sequence[int]) -> None:
        """Refuse a file that would take far more memory than it has bytes, by its metadata."""
        # Only totals are read: reading the metadata of single columns from here crashes the process if it is damaged.
        metadata = self.file.metadata
        unpacked = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        # A cell takes eight bytes in memory, however few in the file.
        most = max(PARQUET.most, TIMES * len(self.data))
        PARQUET._replace(most=most).expect(self.name, max(unpacked, 8 * len(positions) * metadata.num_rows))


def _is_read(kind: Any) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return _is_text(kind) or any(is_kind(kind) for is_kind in kinds)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _encoded(column: Any) -> Column:
    """Return a column of a file, dictionaries of numbers decoded, nulls as empty text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_null(kind):
        column = column.cast(pa.large_string())
    stored = pa.types.is_dictionary(column.type)
    return _column(column.unify_dictionaries() if stored else column.dictionary_encode(), compact=stored)


@contextlib.contextmanager
def refused(name: str) -> Iterator[None]:
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        message = f"{name}: the Parquet file cannot be read ({cut(error)}); write it anew, or use CSV"
        raise InputError(message) from error
