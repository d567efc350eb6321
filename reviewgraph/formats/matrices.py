"""Matrices in files, with a row per paper and a column per reviewer or the other way round, as a row per cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import identity
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, TITLE, Role, locate, normalise, recognised
from reviewgraph.formats.files import Problems, quote, quote_all
from reviewgraph.formats.tables import Column, Rows, Table, Wrapped
from reviewgraph.formats.values import BLANK

if TYPE_CHECKING:
    from reviewgraph._base.labels import Label

#: Signs between the names of the two axes in the first cell, as in ``paper \\ reviewer``.
_BETWEEN_AXES = re.compile(r"[\\/|]|->|\bx\b|\N{MULTIPLICATION SIGN}")
#: The axes in words.
_WORDS = {ITEM.name: "papers", REVIEWER.name: "reviewers"}


class Melted(Wrapped):
    """A matrix with a row for each cell that is not empty: ``item``, ``reviewer`` and a value."""

    def __init__(self, table: Table, rows: Rows, headers: Sequence[str], across: str, value: str) -> None:
        super().__init__(table)
        self.provenance = table.provenance
        self.rows, self.headers, self.across = rows, headers, across
        self.header = [ITEM.name, REVIEWER.name, value]
        self.size = len(rows.lines)

    def place(self, line: int) -> str:
        row, column = divmod(line, len(self.headers))
        return f"{self.table.place(self.rows.lines[row])}, column {quote(self.headers[column])}"

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        labels, *columns = self.rows.columns
        width = len(columns)
        codes: dict[str, int] = {}
        cells = np.empty((self.size, width), np.int64)
        for place, column in enumerate(columns):
            own = np.array([codes.setdefault(value, len(codes)) for value in column.values], np.int64)
            cells[:, place] = own[column.codes] if own.size else 0
        full = np.array([cell.strip() not in BLANK for cell in codes], np.bool_)
        at = np.flatnonzero(full[cells].ravel()) if full.any() else np.empty(0, np.int64)
        down = Column(labels.codes[at // width], labels.values)
        along = _distinct(self.headers, at % width)
        value = Column(cells.ravel()[at], list(codes))
        sides = (along, down) if self.across == ITEM.name else (down, along)
        return Rows([(*sides, value)[place] for place in positions], at.tolist(), self.rows.left_out)


def _distinct(labels: Sequence[str], at: np.ndarray) -> Column:
    """Return a column of labels, of which equal ones have one code."""
    codes: dict[str, int] = {}
    own = np.array([codes.setdefault(label, len(codes)) for label in labels], np.int64)
    return Column(own[at], list(codes))


def melted(
    table: Table,
    names: Mapping[str, str],
    known: Mapping[str, Collection[Label]],
    value: Role,
    parse: Callable[[str], object],
    note: Callable[[str], object],
) -> Melted | None:
    """Return a matrix as a row per cell; None if the table is none.

    ``names`` are the user's names of columns, ``known`` the labels so far, by role; ``parse`` returns None for a cell
    that is no value. Known labels among the headers and in the first column say which axis is which, otherwise the
    header of the first column does.
    """
    roles = [replace(role, required=False) for role in (REVIEWER, ITEM)]
    if table.source is not None or len(table.header) < 2 or recognised(table.header, [value], names):
        return None
    places = locate(table.header, roles, names, table.name, lambda message: None)
    if len(places) == len(roles):
        return None
    first = next(iter(places.values()), 0)
    others = [
        place
        for place, text in enumerate(table.header)
        if place != first and text.strip() and normalise(text) not in TITLE.names
    ]
    problems = Problems()
    rows = table.read([first, *others], problems)
    problems.raise_any()
    labels, *columns = rows.columns
    sides = {role: set(map(identity, some)) for role, some in known.items()}
    headers = [identity(table.header[place]) for place in others]
    named = any(not side.isdisjoint(headers) for side in sides.values())
    valued = [_holds_values(column, parse) for column in columns]
    kept = [k for k, header in enumerate(headers) if valued[k] or any(header in side for side in sides.values())]
    if not (named or (len(others) > 1 and all(valued))):
        return None
    texts = [table.header[others[k]] for k in kept]
    across = _across(table, first, places, sides, (set(map(identity, labels.values)), {headers[k] for k in kept}))
    matrix = Melted(table, rows._replace(columns=[labels, *(columns[k] for k in kept)]), texts, across, value.name)
    entries, cells = len(matrix.read([0], problems).lines), matrix.size * len(kept)
    down = next(role for role in _WORDS if role != across)
    left = [table.header[place] for k, place in enumerate(others) if k not in kept]
    more = f"; left out: {quote_all(left)}" if left else ""
    note(
        f"{table.name}: read as a matrix with {_WORDS[down]} in rows and {_WORDS[across]} in columns, {entries:,} of "
        f"{counted(cells, 'cell')} not empty{more}"
    )
    return matrix


def _holds_values(column: Column, parse: Callable[[str], object]) -> bool:
    return all(cell.strip() in BLANK or parse(cell) is not None for cell in column.values)


def _across(
    table: Table,
    first: int,
    places: Mapping[str, int],
    known: Mapping[str, Collection[str]],
    axes: tuple[Collection[str], Collection[str]],
) -> str:
    """Return the role of the columns: of known labels, otherwise by the header of the first column, or ask."""
    rows, columns = axes
    people, papers = (known.get(role.name, ()) for role in (REVIEWER, ITEM))

    def fits(down: Collection[str], along: Collection[str]) -> bool:
        return any(label in down for label in rows) and any(label in along for label in columns)

    by_label = {REVIEWER.name: fits(papers, people), ITEM.name: fits(people, papers)}
    if sum(by_label.values()) == 1:
        return next(role for role, fit in by_label.items() if fit)
    if places:
        return ITEM.name if REVIEWER.name in places else REVIEWER.name
    axis = [normalise(part) for part in _BETWEEN_AXES.split(table.header[first])]
    for role, other in ((REVIEWER, ITEM), (ITEM, REVIEWER)):
        if axis[0].removesuffix("s") in other.names and axis[-1].removesuffix("s") in (*role.names, *other.names):
            return role.name
    message = (
        f"{table.name}: a matrix whose rows may be papers and whose columns reviewers, or the other way round; write "
        f"paper or reviewer in the place of {quote(table.header[first])}, above the first column"
    )
    raise InputError(message)
