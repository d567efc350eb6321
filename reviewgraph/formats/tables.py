"""What a table in a file is, whatever its format: a header, and columns of text in dictionary form."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reviewgraph.arrays import IntArray

if TYPE_CHECKING:
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


class Source(NamedTuple):
    """What a table was taken for.

    Parameters
    ----------
    system
        The name of the conference system, as ``--format`` takes it.
    what
        What messages call the file.
    kind
        What it serves for here, such as "reviews".
    extras
        Normalised names of its columns that hold no scores.
    explained
        What stands behind short names of columns that may hold scores; where there are any, no others do.
    """

    system: str
    what: str
    kind: str
    extras: Collection[str] = ()
    explained: Mapping[str, str] = MappingProxyType({})


class Table(Protocol):
    """An open table; where its system is known, ``source`` says it and ``columns`` names columns by role."""

    name: str
    header: list[str]
    decimal_comma: bool
    columns: Mapping[str, str] = MappingProxyType({})
    source: Source | None = None
    #: Once the table is read, the papers of which it says that they are none, such as withdrawn ones.
    gone: Collection[str] = ()

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        ...

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions; ragged rows are left out and noted as problems."""
        ...

    def idle(self, position: int) -> list[str]:
        """Return the papers that were listed in rows left out, from the column that was read at a position."""
        return []
