"""Tables by Arrow: large delimited text without quotes, and Parquet."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from reviewgraph.arrays import IntArray
from reviewgraph.errors import InputError
from reviewgraph.formats.limits import COLUMNS, PARQUET, TIMES
from reviewgraph.formats.problems import cut, quote
from reviewgraph.formats.tables import Column, Rows, Table

if TYPE_CHECKING:
    from reviewgraph.formats.problems import Problems

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_BLOCK = 1 << 24
#: Encoded while it is read: to encode afterwards needs the compute functions of Arrow, which take longer to load.
_ENCODED = pa.dictionary(pa.int32(), pa.large_string())


def read_plain(
    data: bytes, delimiter: str, width: int, positions: Sequence[int], header_lines: int
) -> list[Column] | None:
    """Return columns of delimited text that has no quotes, or None where a line is ragged, blank or otherwise odd.

    Parameters
    ----------
    data
        The file in UTF-8.
    delimiter, width
        What stands between cells, and how many a row has.
    positions
        Which columns to return.
    header_lines
        Lines to pass over.
    """
    ends = islice(_NEWLINE.finditer(data), header_lines - 1, None) if header_lines else iter(())
    start = next((end.end() for end in ends), len(data) if header_lines else 0)
    if header_lines and data.startswith(codecs.BOM_UTF8, start):
        return None  # Arrow would take it for the mark of the file; it is part of the first label
    names = [f"c{place}" for place in range(width)]
    wanted = [names[place] for place in positions]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(memoryview(data)[start:])),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, _ENCODED), check_utf8=False
            ),
        )
    except pa.ArrowException:
        return None
    # Arrow passes over blank lines; where it did, its rows do not tell their lines, which messages need.
    if table.num_rows != _count_lines(data, start):
        return None
    return [_column(table.column(name).unify_dictionaries()) for name in wanted]


def _count_lines(data: bytes, start: int) -> int:
    """Count the lines from ``start`` on, blank ones at the end left out; -1 where line ends are of several kinds."""
    end = len(data)
    while end > start and data[end - 1] in b"\r\n":
        end -= 1
    returns, feeds = data.count(b"\r", start, end), data.count(b"\n", start, end)
    if returns and returns != data.count(b"\r\n", start, end):
        return -1
    return feeds + 1 if end > start else 0


def _encoded(column: Any) -> Column:
    """Return a column of a file in dictionary form, nulls as empty text."""
    stored = pa.types.is_dictionary(column.type)
    return _column(column.unify_dictionaries() if stored else column.dictionary_encode(), compact=stored)


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
    """Return a column whose values are distinct and each in use, which those that stand in a file need not be."""
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
    found = np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)
    return found.astype(np.int64)


def _texts(values: Any) -> list[str]:
    if pa.types.is_large_string(values.type) or pa.types.is_string(values.type):
        return list(values.to_pylist())
    if pa.types.is_boolean(values.type):
        return [str(value).lower() for value in values.to_pylist()]
    return [str(value).removesuffix(".0") for value in values.to_pylist()]


class Parquet(Table):
    """A Parquet file; numbers become text, whole ones without a point, nulls empty cells.

    Raises
    ------
    InputError
        If Arrow cannot read the file, or it has more columns than a table may have.
    """

    decimal_comma = False

    def __init__(self, name: str, data: bytes) -> None:
        from pyarrow.parquet import ParquetFile  # not where text is read

        self.name, self.data = name, data
        with refused(name):
            file = ParquetFile(pa.BufferReader(pa.py_buffer(data)))
            self.schema = file.schema_arrow
            self.header: list[str] = list(self.schema.names)
            # Texts stay in the dictionaries that the file has: a long one that stands in many rows is held once.
            texts = [field.name for field in self.schema if _is_text(field.type)]
            self.file = ParquetFile(pa.BufferReader(pa.py_buffer(data)), metadata=file.metadata, read_dictionary=texts)
        COLUMNS.expect(name, len(self.header))

    def place(self, line: int) -> str:
        """Return how a message names a row."""
        return f"{self.name}: row {line}"

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions."""
        for place in positions:
            self._expect_text_or_number(self.schema.field(place))
        with refused(self.name):
            self._expect_bounded(positions)
            table = self.file.read(columns=[self.header[place] for place in positions])
            columns = [_encoded(_plain(table.column(self.header[place]))) for place in positions]
        return Rows(columns, range(1, table.num_rows + 1))

    def _expect_text_or_number(self, field: Any) -> None:
        if _is_text(field.type) or any(
            is_kind(field.type)
            for is_kind in (
                *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean),
                pa.types.is_null,
            )
        ):
            return
        message = f"{self.name}: column {quote(field.name)}: expected text or numbers, found {field.type}"
        raise InputError(message)

    def _expect_bounded(self, positions: Sequence[int]) -> None:
        """Refuse what would take far more memory than the file has bytes: by what it says of itself, undecoded."""
        # What it says of each column is looked at by Arrow alone: asked for it from here, damaged ones end the process.
        found = self.file.metadata
        unpacked = sum(found.row_group(number).total_byte_size for number in range(found.num_row_groups))
        # A cell takes eight bytes here, however few it has in the file.
        most = max(PARQUET.most, TIMES * len(self.data))
        PARQUET._replace(most=most).expect(self.name, max(unpacked, 8 * len(positions) * found.num_rows))


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: Any) -> Any:
    """Return a column without a dictionary of numbers, and one of nothing as text."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind):
        return column.cast(kind.value_type)
    return column.cast(pa.large_string()) if pa.types.is_null(kind) else column


@contextlib.contextmanager
def refused(name: str) -> Iterator[None]:
    """Refuse a damaged file, which surfaces as whatever the code that meets it raises."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        message = f"{name}: the Parquet file cannot be read ({cut(error)}); write it anew, or use CSV"
        raise InputError(message) from error
