"""Tables of a report: columns of plain values, which a small script sorts, filters and searches in the browser."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number", "choice"]

#: Rows that stand on the page at a time.
SHOWN = 25
#: Rows that are printed, where scripts may run.
PRINTED = 500


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    name
        Its heading.
    values
        A cell a row: text, numbers, or None where there is none.
    kind
        ``"text"`` is searched, ``"number"`` has a least and a most, ``"choice"`` is one of a few words.
    digits
        After the point, for numbers.
    """

    name: str
    values: Sequence[Any]
    kind: Kind = "text"
    digits: int = 0

    def shown(self, value: Any) -> str:
        """Return a cell as text, as the script writes it.

        >>> Column("error", [], "number", 2).shown(1234.5), Column("error", [], "number").shown(None)
        ('1,234.50', '-')
        """
        if value is None or value == "":
            return "-"
        return f"{value:,.{self.digits}f}" if self.kind == "number" else str(value)

    @property
    def cells(self) -> list[Any]:
        """The values, numbers rounded to what is shown, those that are not finite None."""
        if self.kind != "number":
            return [None if value is None else str(value) for value in self.values]
        known = [None if value is None or not math.isfinite(value) else value for value in self.values]
        return [value if value is None else round(value, self.digits) + 0 for value in known]


@dataclass(frozen=True)
class Table:
    """A table; the first column names the row.

    Parameters
    ----------
    name
        An identifier, unlike that of any other table of the page.
    caption
        What it holds.
    columns
        Its columns, rows in the order in which they stand first.
    noun
        What a row is, in the plural: "papers".
    links
        Identifiers to which the rows' names lead; none by default.
    live
        Whether a reader can sort, filter and search; a table of a few rows needs none of that.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    noun: str = "rows"
    links: Sequence[str] = ()
    live: bool = True
    template: ClassVar[str] = "table"

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def first_rows(self) -> list[list[str]]:
        """The rows that stand there before the script runs, and where none does."""
        cells = [column.cells[: SHOWN if self.live else None] for column in self.columns]
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in zip(*cells, strict=True)
        ]

    @property
    def data(self) -> str:
        """Everything, for the script; no cell can end the element that holds it."""
        found = {
            "noun": self.noun,
            "shown": SHOWN,
            "printed": PRINTED,
            "links": list(self.links),
            "columns": [{"name": each.name, "kind": each.kind, "digits": each.digits} for each in self.columns],
            "cells": [column.cells for column in self.columns],
        }
        return safe_json(found)


def safe_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element, whatever its text says.

    >>> safe_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
