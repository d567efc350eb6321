"""Side files on reviewers: loads, institutions, who is senior or willing, any attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import REVIEWER, normalise
from reviewgraph.formats.problems import Problems, quote
from reviewgraph.formats.side.reading import (
    HYPOTHESIS,
    INSTITUTION,
    LOAD,
    MIN_LOAD,
    PERSON,
    PROBABILITY,
    SENIOR,
    SPARE,
    WILLING,
    Options,
    by_label,
    coded_of,
    decoded,
    distinct_rows,
    expect_rows,
    open_side,
    read_rows,
)
from reviewgraph.formats.values import BLANK, parse_flag

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Column, Path, Table

_CHOSEN = {field.role.name: field for field in (SENIOR, WILLING)}
_FIELDS = (PERSON, LOAD, MIN_LOAD, INSTITUTION, SENIOR)
_SYNONYMOUS = (INSTITUTION.role, SENIOR.role)


class Reviewer(NamedTuple):
    """A reviewer: most and fewest reviews (None: as all others), institution, senior or not."""

    load: int | None
    min_load: int | None
    institution: str
    senior: bool


class Roster(NamedTuple):
    """The reviewers of a file, and attributes by reviewer."""

    reviewers: dict[str, Reviewer]
    attributes: dict[str, dict[str, Any]]


def read_reviewers(path: Path, **options: Unpack[Options]) -> dict[str, Reviewer]:
    """Return the reviewers of a file ``reviewer[,load,min_load,institution,senior]``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice or has a ``min_load`` above the ``load``, or there is
        none.
    """
    table, places = open_side(path, [field.role for field in _FIELDS], "reviewers", options)
    return _reviewers(path, table, places, options)


def read_roster(path: Path, **options: Unpack[Options]) -> Roster:
    """Return the reviewers of a file and what it says of each, read once.

    Raises
    ------
    InputError
        As :func:`read_reviewers` and :func:`read_attributes`.
    """
    table, places = open_side(path, [field.role for field in _FIELDS], "reviewers", options)
    return Roster(_reviewers(path, table, places, options), _attributes(path, table, places[REVIEWER.name], options))


def _reviewers(path: Path, table: Table, places: Mapping[str, int], options: Options) -> dict[str, Reviewer]:
    rows = decoded(coded_of(table, places, _FIELDS, options, key=("reviewer",), kind="reviewers"))
    expect_rows(path, rows["reviewer"], "reviewer")
    found = {
        label: Reviewer(load, least, institution or "", bool(senior))
        for label, load, least, institution, senior in zip(*(rows[field.role.name] for field in _FIELDS), strict=True)
    }
    for label, entry in found.items():
        if entry.load is not None and entry.min_load is not None and entry.min_load > entry.load:
            message = f"{path}: reviewer {quote(label)}: min_load {entry.min_load} is above load {entry.load}"
            raise InputError(message)
    return found


def read_attributes(path: Path, **options: Unpack[Options]) -> dict[str, dict[str, Any]]:
    """Return what a file says of each reviewer: for each column its text, or several in a list where ; parts them.

    A column of nothing but yes and no gives True and False. Empty cells are left out. Columns are named as in the file,
    and ``institution`` and ``senior`` by these names, too, where the file has a synonym. Of an export with many rows a
    reviewer, such as one of bids, columns in which these differ say nothing of reviewers.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or there is none.
    """
    table, places = open_side(path, [REVIEWER], "reviewers", options)
    return _attributes(path, table, places[REVIEWER.name], options)


def _attributes(path: Path, table: Table, place: int, options: Options) -> dict[str, dict[str, Any]]:
    problems = Problems()
    rows = read_rows(table, range(len(table.header)), problems, options)
    # A recognised export has rows for what it is about; in a table of one's own a second row is a slip.
    kept = distinct_rows(table, rows.lines, [rows.columns[place]], not table.source, problems)
    problems.raise_any()
    labels = [rows.columns[place].values[code] for code in rows.columns[place].codes[kept].tolist()]
    expect_rows(path, labels, "reviewer")
    found: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for number, header in enumerate(table.header):
        if number == place or (table.source and not _settled(rows.columns[place], rows.columns[number])):
            continue
        same = [role.name for role in _SYNONYMOUS if normalise(header) in map(normalise, role.names)]
        meaning, names = _meanings(rows.columns[number].values, flag="senior" in same), [header.strip(), *same]
        for label, code in zip(labels, rows.columns[number].codes[kept].tolist(), strict=True):
            if meaning[code] is not None:
                found[label].update(dict.fromkeys(names, meaning[code]))
    return found


def _settled(key: Column, column: Column) -> bool:
    """Whether all rows of one key say the same in a column."""
    pairs = np.unique(np.stack([key.codes, column.codes]), axis=1)
    return bool(pairs.shape[1] == np.unique(key.codes).size)


def _meanings(cells: Sequence[str], *, flag: bool) -> list[Any]:
    """Return what the cells of a column mean: yes and no where all do, else text, or several; None where empty."""
    cells = ["" if cell.strip() in BLANK else cell for cell in cells]
    words = {cell.strip().casefold() for cell in cells} - {""}
    # Letters alone may be names; only together they are yes and no.
    if flag or words == {"y", "n"} or (words and words <= {"yes", "no", "true", "false", "1", "0"}):
        return [parse_flag(cell) if cell.strip() else None for cell in cells]
    texts = [[part.strip() for part in cell.split(";") if part.strip()] for cell in cells]
    return [(several if len(several) > 1 else several[0]) if several else None for several in texts]


def read_institutions(path: Path, **options: Unpack[Options]) -> dict[str, str]:
    """Return institution by reviewer, from a file ``reviewer,institution``; who has none is left out.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or nobody has an institution.
    """
    found = by_label(path, PERSON, INSTITUTION, kind="reviewers", **options)
    known = {label: institution for label, institution in found.items() if institution}
    if not known:
        message = f"{path}: expected a column institution with names in it, found none"
        raise InputError(message)
    return known


def read_chosen(path: Path, name: str, **options: Unpack[Options]) -> list[str]:
    """Return some reviewers, from a file ``reviewer[,senior]`` or ``reviewer[,willing]``.

    Those with a yes in the column ``name``; all that are listed, where no cell of it says yes or no.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or there is none.
    """
    found = by_label(path, PERSON, _CHOSEN[name], kind="reviewers", **options)
    expect_rows(path, list(found), "reviewer")
    said = any(flag is not None for flag in found.values())
    return [label for label, flag in found.items() if flag or not said]


def read_capacity(path: Path, **options: Unpack[Options]) -> dict[str, int]:
    """Return spare load by reviewer, from a file ``reviewer,spare``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return by_label(path, PERSON, SPARE, kind="reviewers", **options)


def read_missing(path: Path, **options: Unpack[Options]) -> dict[str, float]:
    """Return how likely each review of a reviewer fails to arrive, from a file ``reviewer,probability``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return by_label(path, PERSON, PROBABILITY, **options)


def read_hypotheses(path: Path, **options: Unpack[Options]) -> dict[str, str]:
    """Return the name of a hypothesis by reviewer, from a file ``reviewer,hypothesis``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return by_label(path, PERSON, HYPOTHESIS, **options)
