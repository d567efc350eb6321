"""When reviews were asked for and submitted, from the exports that know."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import ITEM, REVIEWER, columns_of, locate
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.problems import Problems, quote
from reviewgraph.formats.side.reading import ASKED_AT, SUBMITTED_AT
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Respelled, Spellings
from reviewgraph.formats.systems.aliases import read_names, resolved
from reviewgraph.formats.values import A_MOMENT, parse_moment

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, FloatArray
    from reviewgraph.formats.tables import Column, Path, Rows, Table
    from reviewgraph.labels import Label
    from reviewgraph.reviews import Reviews

_ROLES = (REVIEWER, ITEM, SUBMITTED_AT, ASKED_AT)


class Dates(NamedTuple):
    """What exports say of when: one entry a row.

    Parameters
    ----------
    reviewers, items
        Labels.
    submitted, asked
        Seconds since 1970; NaN where the row has none.
    knows
        Whether the row is of a file that says when, of every review in it.
    """

    reviewers: list[str]
    items: list[str]
    submitted: FloatArray
    asked: FloatArray
    knows: BoolArray

    @property
    def last(self) -> float:
        """When the last review was submitted."""
        return float(np.nanmax(self.submitted))

    @property
    def silent(self) -> int:
        """Rows of files that do not say when."""
        return int((~self.knows).sum())


def read_dates(
    *paths: Path,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 (as the option is called)
    merge: Merge | None = None,
) -> Dates:
    """Read when reviews were asked for and submitted, from the files that :func:`reviewgraph.read_reviews` reads.

    Raises
    ------
    InputError
        If no file has a column of dates, none of them holds a date, or a cell of one is none.
    """
    wanted, problems = dict(columns or {}), Problems()
    given = {path: columns_of(wanted, path) for path in paths}
    files = [open_table(path, _ROLES, own, _quiet, kind="reviews", format=format) for path, own in given.items()]
    tables, names, _ = read_names(files)
    known = Spellings.of(merge)
    parts = [_read(table, columns_of(wanted, table.name), names, problems, known) for table in tables]
    problems.raise_any()
    people, papers, submitted, asked, knows = zip(*parts, strict=True)
    found = Dates([*chain(*people)], [*chain(*papers)], *map(np.concatenate, (submitted, asked, knows)))
    if np.isnan(found.submitted).all():
        message = (
            f"{', '.join(map(str, paths))}: expected a column submitted_at that says when reviews were submitted, as "
            "in HotCRP's reviewcsv or OpenReview's review notes, found no date; name the column with --columns "
            "submitted_at=NAME, or say who is gone with --gone FILE"
        )
        raise InputError(message)
    return found


def _read(
    table: Table, columns: Mapping[str, str], names: Mapping[str, str], problems: Problems, spellings: Spellings
) -> Dates:
    places = locate(table.header, _ROLES, {**table.columns, **columns}, table.name, _quiet)
    spelled = Respelled(table, {PERSON: places[REVIEWER.name], PAPER: places[ITEM.name]}, spellings, _quiet)
    rows = spelled.read(list(places.values()), problems)
    column = dict(zip(places, rows.columns, strict=True))
    submitted, asked = (
        _seconds(table, rows, column.get(role.name), role.name, problems) for role in (SUBMITTED_AT, ASKED_AT)
    )
    dated = SUBMITTED_AT.name in column or ASKED_AT.name in column
    people = resolved(column[REVIEWER.name], names)
    return Dates(_cells(people), _cells(column[ITEM.name]), submitted, asked, np.full(len(rows.lines), dated))


def _cells(column: Column) -> list[str]:
    return [column.values[code] for code in column.codes.tolist()]


def _seconds(table: Table, rows: Rows, column: Column | None, role: str, problems: Problems) -> FloatArray:
    """Return seconds since 1970 by row, noting the cells that hold no date."""
    if column is None:
        return np.full(len(rows.lines), np.nan)
    moments = [parse_moment(cell) for cell in column.values]
    wrong = [code for code, cell in enumerate(column.values) if cell.strip() not in ("", "0") and moments[code] is None]
    at = np.flatnonzero(np.isin(column.codes, wrong)).tolist()

    def say(n: int) -> str:
        cell = column.values[int(column.codes[at[n]])]
        return f"{table.place(int(rows.lines[at[n]]))}: {role}: expected {A_MOMENT}, found {quote(cell)}"

    problems.add_rows(0, [rows.lines[row] for row in at], say)
    return np.array([np.nan if one is None else one.timestamp() for one in moments])[column.codes]


def late_people(reviews: Reviews, dates: Dates, end: float) -> list[Label]:
    """Return who owes a review and has submitted none after a moment, in the order of the reviewers.

    A review is owed where an export says when reviews are submitted, and of this one it does not, though it has no
    score. One that was asked for after the moment is not owed yet.

    Parameters
    ----------
    reviews
        The table.
    dates
        What exports know of when.
    end
        The moment, in seconds since 1970.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> table = Reviews.from_pairs([("ann", "p", 2.0), ("ann", "q"), ("bob", "p")])
    >>> when, never = np.array([5, np.nan, np.nan]), np.full(3, np.nan)
    >>> dates = Dates(["ann", "ann", "bob"], ["p", "q", "p"], when, never, np.full(3, True))
    >>> late_people(table, dates, 9), late_people(table, dates, 4)
    (['ann', 'bob'], ['bob'])
    """
    scored = zip(reviews.reviewer[reviews.scored].tolist(), reviews.item[reviews.scored].tolist(), strict=True)
    there = {(reviews.reviewers[j], reviews.items[i]) for j, i in scored}
    pairs = list(zip(dates.reviewers, dates.items, strict=True))
    delivered = ~np.isnan(dates.submitted)
    there |= {pairs[row] for row in np.flatnonzero(delivered).tolist()}
    owed = dates.knows & ~delivered & ~(dates.asked > end)
    owing = {pairs[row][0] for row in np.flatnonzero(owed).tolist() if pairs[row] not in there}
    active = {dates.reviewers[row] for row in np.flatnonzero(dates.submitted > end).tolist()}
    return [label for label in reviews.reviewers if label in owing and label not in active]


def _quiet(message: str) -> None:
    pass
