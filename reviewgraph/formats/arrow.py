"""Tables by Arrow: large delimited text without quotes, and Parquet."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from reviewgraph.errors import InputError
from reviewgraph.formats.limits import COLUMNS
from reviewgraph.formats.tables import Column, Rows, Table

if TYPE_CHECKING:
    from reviewgraph.formats.problems import Problems

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_BLOCK = 1 << 24


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
    start = next(islice(_NEWLINE.finditer(data), header_lines - 1, None)).end() if header_lines else 0
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
                include_columns=wanted, column_types=dict.fromkeys(wanted, pa.large_string()), check_utf8=False
            ),
        )
    except pa.ArrowException:
        return None
    # Arrow passes over blank lines; where it did, its rows do not tell their lines, which messages need.
    if table.num_rows != _count_lines(data, start):
        return None
    return [_encoded(table.column(name)) for name in wanted]


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
    """Return a column of Arrow in dictionary form, nulls as empty text."""
    whole = column.combine_chunks().dictionary_encode()
    values = _texts(whole.dictionary)
    if not whole.null_count:
        # Not to_numpy, which imports pandas where it is installed and so would triple the time of a small table.
        codes = np.frombuffer(whole.indices.buffers()[1], np.int32, len(whole), 4 * whole.indices.offset)
        return Column(codes.astype(np.int64), values)
    if "" not in values:
        values.append("")
    empty = values.index("")
    return Column(np.array([empty if code is None else code for code in whole.indices.to_pylist()], np.int64), values)


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
        self.name = name
        try:
            self.file = pyarrow.parquet.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
        except (pa.ArrowException, OSError) as error:
            raise InputError(say_unreadable(name, error)) from error
        self.header: list[str] = list(self.file.schema_arrow.names)
        COLUMNS.expect(name, len(self.header))

    def place(self, line: int) -> str:
        """Return how a message names a row."""
        return f"{self.name}: row {line}"

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions."""
        try:
            table = self.file.read(columns=[self.header[place] for place in positions])
            columns = [self._text(table.column(self.header[place]), self.header[place]) for place in positions]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(say_unreadable(self.name, error)) from error
        return Rows(columns, range(1, table.num_rows + 1))

    def _text(self, column: Any, header: str) -> Column:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = kind.value_type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
            column = column.cast(pa.large_string())
        elif not any(
            is_kind(kind)
            for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
        ):
            message = f"{self.name}: column {header!r}: expected text or numbers, found {kind}"
            raise InputError(message)
        return _encoded(column)


def say_unreadable(name: str, error: Exception) -> str:
    """Return what to say of a Parquet file that Arrow cannot read."""
    lines = str(error).splitlines()
    return f"{name}: the Parquet file cannot be read ({lines[0] if lines else 'damaged'}); write it anew, or use CSV"
