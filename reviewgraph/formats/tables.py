"""A table in a file, whatever its format: a header, and columns of text in dictionary form."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reviewgraph.formats.encodings import read_bytes
from reviewgraph.labels import IntArray

if TYPE_CHECKING:
    from reviewgraph.formats.headers import Role
    from reviewgraph.formats.problems import Problems

Path = str | os.PathLike[str]


class Column(NamedTuple):
    """A column of text: ``values[codes[row]]`` is the cell of the row; the values are distinct."""

    codes: IntArray
    values: list[str]


class Rows(NamedTuple):
    """Some columns of a table, and the line (in Parquet the row, from 1) that each row begins on."""

    columns: list[Column]
    lines: Sequence[int]


class Table(Protocol):
    """An open table."""

    name: str
    header: list[str]
    decimal_comma: bool

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        ...

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions; ragged rows are left out and noted as problems."""
        ...


def open_table(path: Path, roles: Sequence[Role], columns: Mapping[str, str], note: Callable[[str], object]) -> Table:
    """Open a file and read its header.

    Parameters
    ----------
    path
        CSV, TSV, semicolon-separated or Parquet, told apart by what is in it.
    roles, columns
        What will be looked for, and the user's names for it: they help to find the delimiter.
    note
        Told what a person should know about the file.

    Raises
    ------
    InputError
        If the file is missing, empty or not a table.
    """
    data = read_bytes(path)
    if data.startswith(b"PAR1"):
        from reviewgraph.formats.arrow import Parquet

        return Parquet(os.fspath(path), data)
    from reviewgraph.formats.delimited import Delimited

    return Delimited(os.fspath(path), data, roles, columns, note)
