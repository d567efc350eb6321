"""The page of a result without one of its own: its headline and first rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from reviewgraph._base.page import ROWS, Column, Page, Table
from reviewgraph._base.results import Result

#: Rows that are shown.
SHOWN = 10


def page_of(result: Result) -> Page:
    """Return the page of a result as its headline and first rows.

    >>> from reviewgraph import Reviews, components
    >>> print(page_of(components(Reviews([("ann", 1), ("bob", 2)]), kind="connected")).text(width=60))
    COMPONENTS: 2, the largest covers 1 of 2 items
      reviewer  component
      ann               0
      bob               1
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(result).__name__)
    columns = result.to_columns()
    rows = first_rows(columns, len(next(iter(columns.values()), ())))
    return Page(words, None, f"{words}:", result._said(), facts=rows)


def first_rows(columns: Mapping[str, Sequence[Any]], total: int) -> list[Table]:
    """Return the first of ``total`` rows as a table; nothing where there are none."""
    if not total:
        return []
    more = f"... and {total - SHOWN:,} more rows; to_frame() has all"
    shown = [_column(name, list(islice(values, SHOWN + 1))) for name, values in columns.items()]
    return [Table(ROWS, "Rows", shown, live=False, shown=SHOWN, more=more)]


def _column(name: str, values: list[Any]) -> Column:
    """Return a column of numbers, with two digits after the point unless all are whole, or of text."""
    known = [value for value in values if value is not None]
    is_label = name in ("item", "reviewer")
    if not known or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return Column(name, values, whole=not is_label)
    digits = 0 if all(float(value).is_integer() for value in known) else 2
    return Column(name, values) if is_label else Column(name, values, "number", digits)
