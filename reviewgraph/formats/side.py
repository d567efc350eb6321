"""The tables that stand beside the reviews: items, reviewers, affinities, conflicts, capacities, costs and the like.

Every reader takes a file with a header, finds columns by name under the synonyms of :mod:`reviewgraph.formats.headers`,
reports malformed rows as :func:`reviewgraph.read_reviews` does, and returns plain dictionaries keyed by label. Pairs
are (reviewer, item), in the order of the rows; where there may be millions they stay codes, as
:class:`~reviewgraph.columns.Columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.formats.bids import EXPECTED, parse_bid
from reviewgraph.formats.headers import ITEM, REVIEWER, TITLE, Role, locate, normalise
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.problems import Problems, quote
from reviewgraph.formats.tables import Column, Path, Table
from reviewgraph.formats.values import parse_flag, parse_number, parse_whole

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray

Note = Callable[[str], object]


class Item(NamedTuple):
    """An item: how many reviews it needs (None: as all others), and its title."""

    demand: int | None
    title: str


class Reviewer(NamedTuple):
    """A reviewer: most and fewest reviews (None: as all others), institution, senior or not."""

    load: int | None
    min_load: int | None
    institution: str
    senior: bool


class Coded(NamedTuple):
    """A column of values: ``values[codes[row]]`` is that of a row."""

    codes: IntArray
    values: list[Any]


class Field(NamedTuple):
    """A column of a side file: its role, what its cells mean, and what is expected, for messages."""

    role: Role
    parse: Callable[[str], Any]
    expected: str


def _whole(name: str, *synonyms: str, required: bool = False) -> Field:
    return Field(Role(name, synonyms, required=required), parse_whole, "a whole number, 0 or more")


def _number(name: str, *synonyms: str) -> Field:
    return Field(Role(name, synonyms, ranked=False), parse_number, "a finite number")


def _text(role: Role) -> Field:
    return Field(role, str.strip, "text")


def read_columns(
    path: Path, fields: Sequence[Field], *, key: Sequence[str], unique: bool = True, note: Note | None = None
) -> dict[str, list[Any]]:
    """Return the columns of a side file, as values.

    Parameters
    ----------
    path
        The file.
    fields
        Its columns; an empty cell of an optional one, and a missing one, gives None.
    key
        The label columns that make a row.
    unique
        Refuse a key that stands twice; otherwise keep its first row.
    note
        Told what a person should know; by default nothing is said.

    Raises
    ------
    InputError
        If the file cannot be read, a required column is missing, or rows are malformed; up to ten are named.
    """
    coded = _read_coded(path, fields, key, unique, note)
    return {name: list(map(column.values.__getitem__, column.codes.tolist())) for name, column in coded.items()}


def _read_coded(
    path: Path, fields: Sequence[Field], key: Sequence[str], unique: bool, note: Note | None
) -> dict[str, Coded]:
    """Return the columns of :func:`read_columns` as codes of distinct values."""
    say = note or _say_nothing
    roles = [field.role for field in fields]
    table = open_table(path, roles, {}, say)
    found = locate(table.header, roles, {}, table.name, say, by_option=False)
    problems = Problems()
    rows = table.read(list(found.values()), problems)
    columns = dict(zip(found, rows.columns, strict=True))
    named = [field for field in fields if field.role.name in columns]
    values = {field.role.name: _values(table, rows.lines, columns[field.role.name], field, problems) for field in named}
    kept = _distinct(table, rows.lines, [columns[name] for name in key], unique, problems)
    problems.raise_any()
    nothing = Coded(np.zeros(kept.size, np.int64), [None])
    return {
        role.name: Coded(columns[role.name].codes[kept], values[role.name]) if role.name in columns else nothing
        for role in roles
    }


def _values(table: Table, lines: Sequence[int], column: Column, field: Field, problems: Problems) -> list[Any]:
    """Return what each distinct cell means, noting the rows whose cell means nothing."""
    # Each distinct cell is parsed once; rows take the meaning of their cell.
    blank = [not cell.strip() for cell in column.values]
    meaning = [None if empty else field.parse(cell) for cell, empty in zip(column.values, blank, strict=True)]
    wrong = [code for code, value in enumerate(meaning) if value is None and (field.role.required or not blank[code])]
    if wrong:
        at = np.flatnonzero(np.isin(column.codes, wrong)).tolist()

        def say(n: int) -> str:
            cell, place = column.values[int(column.codes[at[n]])], table.place(int(lines[at[n]]))
            if not cell.strip():
                return f"{place}: the {field.role.name} is empty"
            return f"{place}: {field.role.name}: expected {field.expected}, found {quote(cell)}"

        problems.add_rows(0, [lines[row] for row in at], say)
    return meaning


def _distinct(table: Table, lines: Sequence[int], key: Sequence[Column], unique: bool, problems: Problems) -> IntArray:
    """Return the rows that are the first of their key, noting the others where keys must be unique."""
    number = np.zeros(len(lines), np.int64)
    for column in key:
        number = number * max(len(column.values), 1) + column.codes
    _, kept, group = np.unique(number, return_index=True, return_inverse=True)
    first = kept[group]
    again = np.flatnonzero(first != np.arange(first.size))

    def say(n: int) -> str:
        before, row = table.place(int(lines[int(first[again[n]])])), table.place(int(lines[int(again[n])]))
        labels = " and ".join(quote(column.values[int(column.codes[again[n]])]) for column in key)
        return f"{row}: {labels} stood in {before} already; remove one of the two rows"

    if unique:
        problems.add_rows(0, [lines[row] for row in again.tolist()], say)
    return np.sort(kept)


def _say_nothing(message: str) -> None:
    pass


#: The columns that side files have, beside labels.
DEMAND = _whole("demand", "reviews_needed", "num_reviews", "user_demand")
LOAD = _whole("load", "max_load", "max_papers", "max_reviews", "quota", "maximum")
MIN_LOAD = _whole("min_load", "min_papers", "min_reviews", "minimum")
INSTITUTION = _text(Role("institution", ("affiliation", "organization", "organisation"), required=False))
AFFINITY = _number("affinity", "affinity_score", "similarity", "aggregate_score", "preference", "score", "weight")
BID = Field(Role("bid", ("preference", "label"), required=False), parse_bid, EXPECTED)
SPARE = _whole("spare", "capacity", "spare_capacity", "extra", required=True)
COST = _number("cost", "price")
PROBABILITY = _number("probability", "missing", "chance")
WEIGHT = _number("weight", "confidence", "expertise", "revexp")
HYPOTHESIS = _text(Role("hypothesis", ("class", "hypothesis_class")))
QUALITY = _number("quality", "true_quality", "reference", "truth")
TRUTH = _number("truth", "true_quality", "quality")
SENIOR, WILLING = (Field(Role(name, required=False), parse_flag, "yes or no") for name in ("senior", "willing"))
_CHOSEN = {field.role.name: field for field in (SENIOR, WILLING)}
_SYNONYMOUS = (INSTITUTION.role, SENIOR.role)
_REVIEWER, _ITEM = Field(REVIEWER, str, "a label"), Field(ITEM, str, "a label")


def read_items(path: Path, *, note: Note | None = None) -> dict[str, Item]:
    """Return the items of a file ``item[,demand,title]``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if an item stands twice, or there is none.
    """
    rows = read_columns(path, (_ITEM, DEMAND, _text(TITLE)), key=("item",), note=note)
    _expect_rows(path, rows["item"], "item")
    return {
        item: Item(demand, title or "")
        for item, demand, title in zip(rows["item"], rows["demand"], rows["title"], strict=True)
    }


def read_reviewers(path: Path, *, note: Note | None = None) -> dict[str, Reviewer]:
    """Return the reviewers of a file ``reviewer[,load,min_load,institution,senior]``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice or has a ``min_load`` above the ``load``, or there is
        none.
    """
    fields = (_REVIEWER, LOAD, MIN_LOAD, INSTITUTION, SENIOR)
    rows = read_columns(path, fields, key=("reviewer",), note=note)
    _expect_rows(path, rows["reviewer"], "reviewer")
    found = {
        label: Reviewer(load, least, institution or "", bool(senior))
        for label, load, least, institution, senior in zip(*(rows[field.role.name] for field in fields), strict=True)
    }
    for label, entry in found.items():
        if entry.load is not None and entry.min_load is not None and entry.min_load > entry.load:
            message = f"{path}: reviewer {quote(label)}: min_load {entry.min_load} is above load {entry.load}"
            raise InputError(message)
    return found


def read_attributes(path: Path, *, note: Note | None = None) -> dict[str, dict[str, Any]]:
    """Return what a file says of each reviewer: for each column its text, or several in a list where ; parts them.

    A column of nothing but yes and no gives True and False. Empty cells are left out. Columns are named as in the file,
    and ``institution`` and ``senior`` by these names, too, where the file has a synonym.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or there is none.
    """
    say = note or _say_nothing
    table, problems = open_table(path, [REVIEWER], {}, say), Problems()
    place = locate(table.header, [REVIEWER], {}, table.name, say, by_option=False)[REVIEWER.name]
    rows = table.read(range(len(table.header)), problems)
    kept = _distinct(table, rows.lines, [rows.columns[place]], True, problems)
    problems.raise_any()
    labels = [rows.columns[place].values[code] for code in rows.columns[place].codes[kept].tolist()]
    _expect_rows(path, labels, "reviewer")
    found: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for number, header in enumerate(table.header):
        if number == place:
            continue
        same = [role.name for role in _SYNONYMOUS if normalise(header) in map(normalise, role.names)]
        meaning, names = _meanings(rows.columns[number].values, flag="senior" in same), [header.strip(), *same]
        for label, code in zip(labels, rows.columns[number].codes[kept].tolist(), strict=True):
            if meaning[code] is not None:
                found[label].update(dict.fromkeys(names, meaning[code]))
    return found


def _meanings(cells: Sequence[str], *, flag: bool) -> list[Any]:
    """Return what the cells of a column mean: yes and no where all do, else text, or several; None where empty."""
    words = {cell.strip().casefold() for cell in cells} - {""}
    # Letters alone may be names; only together they are yes and no.
    if flag or words == {"y", "n"} or (words and words <= {"yes", "no", "true", "false", "1", "0"}):
        return [parse_flag(cell) if cell.strip() else None for cell in cells]
    texts = [[part.strip() for part in cell.split(";") if part.strip()] for cell in cells]
    return [(several if len(several) > 1 else several[0]) if several else None for several in texts]


def read_institutions(path: Path, *, note: Note | None = None) -> dict[str, str]:
    """Return institution by reviewer, from a file ``reviewer,institution``; who has none is left out.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or nobody has an institution.
    """
    found = _by_label(path, _REVIEWER, INSTITUTION, note)
    known = {label: institution for label, institution in found.items() if institution}
    if not known:
        message = f"{path}: expected a column institution with names in it, found none"
        raise InputError(message)
    return known


def read_chosen(path: Path, name: str, *, note: Note | None = None) -> list[str]:
    """Return some reviewers, from a file ``reviewer[,senior]`` or ``reviewer[,willing]``.

    Those with a yes in the column ``name``; all that are listed, where no cell of it says yes or no.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice, or there is none.
    """
    found = _by_label(path, _REVIEWER, _CHOSEN[name], note)
    _expect_rows(path, list(found), "reviewer")
    said = any(flag is not None for flag in found.values())
    return [label for label, flag in found.items() if flag or not said]


def read_affinity(path: Path, *, note: Note | None = None) -> Columns:
    """Return affinities as codes, from a file ``item,reviewer,affinity``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, AFFINITY, note)


def read_probabilities(path: Path, *, note: Note | None = None) -> Columns:
    """Return probabilities as codes, from a file ``item,reviewer,probability``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, PROBABILITY, note)


class Bids(NamedTuple):
    """Bids as a table of pairs with numbers from -1 to 1, and the pairs that bid a conflict."""

    table: Columns
    conflicts: Columns


def read_bids(path: Path, *, note: Note | None = None) -> Bids:
    """Return the bids of a file ``item,reviewer,bid``, in the words of :data:`reviewgraph.formats.bids.WORDS`.

    A row whose bid is empty says nothing.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice, or nobody bids.
    """
    columns = _read_coded(path, (_REVIEWER, _ITEM, BID), ("reviewer", "item"), True, note)
    bid, pairs = columns["bid"], _pairs(columns)
    if not any(bid.values):
        message = f"{path}: expected a column bid with {EXPECTED} in it, found none"
        raise InputError(message)
    value = np.array([np.nan if one is None or one.conflict else one.value for one in bid.values], np.float64)
    barred = np.array([one is not None and one.conflict for one in bid.values], np.bool_)[bid.codes]
    conflicts = replace(pairs, reviewer=pairs.reviewer[barred], item=pairs.item[barred])
    return Bids(replace(pairs, score=value[bid.codes]), conflicts)


def read_cost(path: Path, *, note: Note | None = None) -> Columns:
    """Return costs as codes, from a file ``item,reviewer,cost``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, COST, note)


def read_weights(path: Path, *, note: Note | None = None) -> Columns:
    """Return what a review may be worth (a confidence, an expertise) as codes, from a file ``item,reviewer,weight``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, WEIGHT, note)


def read_pair_codes(path: Path, *, note: Note | None = None) -> Columns:
    """Return the distinct pairs of a file ``item,reviewer`` as codes: conflicts, or fixed reviews.

    Raises
    ------
    InputError
        As :func:`read_columns`.
    """
    return _pairs(_read_coded(path, (_REVIEWER, _ITEM), ("reviewer", "item"), False, note))


def read_capacity(path: Path, *, note: Note | None = None) -> dict[str, int]:
    """Return spare load by reviewer, from a file ``reviewer,spare``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return _by_label(path, _REVIEWER, SPARE, note)


def read_missing(path: Path, *, note: Note | None = None) -> dict[str, float]:
    """Return how likely each review of a reviewer fails to arrive, from a file ``reviewer,probability``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return _by_label(path, _REVIEWER, PROBABILITY, note)


def read_hypotheses(path: Path, *, note: Note | None = None) -> dict[str, str]:
    """Return the name of a hypothesis by reviewer, from a file ``reviewer,hypothesis``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a reviewer stands twice.
    """
    return _by_label(path, _REVIEWER, HYPOTHESIS, note)


def read_references(path: Path, *, note: Note | None = None) -> dict[str, float]:
    """Return known quality by item, from a file ``item,quality``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if an item stands twice.
    """
    return _by_label(path, _ITEM, QUALITY, note)


def read_truth(path: Path, *, note: Note | None = None) -> dict[str, float]:
    """Return true quality by item, from a file ``item,truth``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if an item stands twice.
    """
    return _by_label(path, _ITEM, TRUTH, note)


def _pairs(columns: dict[str, Coded]) -> Columns:
    reviewer, item = columns["reviewer"], columns["item"]
    return Columns(reviewer.codes, item.codes, reviewer.values, item.values)


def _scored_pairs(path: Path, field: Field, note: Note | None) -> Columns:
    """Return pairs with a number each, NaN where its cell is empty."""
    columns = _read_coded(path, (_REVIEWER, _ITEM, field), ("reviewer", "item"), True, note)
    value = columns[field.role.name]
    numbers = np.array([np.nan if number is None else number for number in value.values], np.float64)
    return replace(_pairs(columns), score=numbers[value.codes])


def _expect_rows(path: Path, labels: Sequence[str], role: str) -> None:
    if not labels:
        message = f"{path}: a header but no {role}s below it; expected one row for each {role}"
        raise InputError(message)


def _by_label(path: Path, label: Field, value: Field, note: Note | None) -> dict[str, Any]:
    rows = read_columns(path, (label, value), key=(label.role.name,), note=note)
    return dict(zip(rows[label.role.name], rows[value.role.name], strict=True))
