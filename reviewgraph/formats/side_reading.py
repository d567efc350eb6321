"""The columns of side files: how they are recognised, what their cells mean, and which rows are duplicates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph.formats import spellings
from reviewgraph.formats.columns import FILE, ITEM, REVIEWER, TITLE, Role, columns_of, locate, named, refuse_row_numbers
from reviewgraph.formats.files import Problems, quote, quote_all
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.spellings import Merge, Respelled, Spellings
from reviewgraph.formats.values import A_BID, BLANK, missing_labels, parse_bid, parse_flag, parse_number, parse_whole

if TYPE_CHECKING:
    from reviewgraph._base.arrays import IntArray
    from reviewgraph._base.provenance import FileRead
    from reviewgraph.formats.tables import Column, Path, Rows, Table


Note = Callable[[str], object]


class Field(NamedTuple):
    """A column of a side file: its role, the parser of its cells, and the valid cells, for messages."""

    role: Role
    parse: Callable[[str], Any]
    expected: str


def _whole(name: str, *synonyms: str, required: bool = False) -> Field:
    return Field(Role(name, synonyms, required=required), parse_whole, "a whole number, 0 or more")


def _number(name: str, *synonyms: str) -> Field:
    return Field(Role(name, synonyms, ranked=False), parse_number, "a finite number")


def _text(role: Role) -> Field:
    return Field(role, str.strip, "text")


#: The columns of side files, in addition to labels.
DEMAND = _whole("demand", "reviews_needed", "num_reviews", "user_demand")
LOAD = _whole("load", "max_load", "max_papers", "max_reviews", "quota", "maximum")
MIN_LOAD = _whole("min_load", "min_papers", "min_reviews", "minimum")
INSTITUTION = _text(Role("institution", ("affiliation", "organization", "organisation"), required=False))
AFFINITY = _number(
    "affinity", "affinity_score", "similarity", "aggregate_score", "tpms_score", "preference", "score", "weight"
)
BID = Field(Role("bid", ("preference", "label"), required=False), parse_bid, A_BID)
SPARE = _whole("spare", "capacity", "spare_capacity", "extra", required=True)
COST = _number("cost", "price")
PROBABILITY = _number("probability", "missing", "chance")
WEIGHT = _number("weight", "confidence", "expertise", "revexp")
HYPOTHESIS = _text(Role("hypothesis", ("class", "hypothesis_class")))
QUALITY = _number("quality", "true_quality", "reference", "truth")
TRUTH = _number("truth", "true_quality", "quality")
SENIOR, WILLING = (Field(Role(name, required=False), parse_flag, "yes or no") for name in ("senior", "willing"))
PERSON, PAPER = Field(REVIEWER, str, "a label"), Field(ITEM, str, "a label")

#: The times at which a review was submitted and requested.
SUBMITTED_AT = Role("submitted_at", ("submission_date", "date_submitted"), required=False)
ASKED_AT = Role("asked_at", ("assigned_at",), required=False)

_ON_REVIEWERS = (DEMAND, LOAD, MIN_LOAD, INSTITUTION, SENIOR, WILLING, SPARE)
_NUMBERS = (AFFINITY, BID, COST, PROBABILITY, WEIGHT, HYPOTHESIS, QUALITY, TRUTH)
#: Roles of all side files, in addition to those of reviews.
ROLES = (*(field.role for field in (*_ON_REVIEWERS, *_NUMBERS)), SUBMITTED_AT, ASKED_AT)
#: Roles of files of any kind: a column name given for one of them need not occur in every file.
SHARED = (PERSON.role.name, PAPER.role.name, TITLE.name)


class Options(TypedDict, total=False):
    """Options of every reader of a side file."""

    columns: Mapping[str, str]  #: Names of columns by role, or by ``file:role``, as ``--columns`` takes them.
    note: Note | None  #: Called with notes for the user.
    read: Callable[[FileRead], object]  #: Called with the file once it is read.
    #: Whether similar labels are one, or the spellings of files read before.
    merge: Merge


class Coded(NamedTuple):
    """A column of values: ``values[codes[row]]`` is that of a row."""

    codes: IntArray
    values: list[Any]


def read_columns(
    path: Path,
    fields: Sequence[Field],
    *,
    key: Sequence[str],
    kind: str | None = None,
    unique: bool | None = True,
    **options: Unpack[Options],
) -> dict[str, list[Any]]:
    """Return the columns of a side file as values, None for empty cells of optional columns and for missing columns.

    ``key`` names the label columns that identify a row. A key that occurs twice is refused (``unique``), reduced to its
    first row (False), or kept (None); reviewers may have several equal rows. ``kind`` is the purpose of the file, see
    :func:`reviewgraph.formats.opening.open_table`. Up to ten malformed rows are listed in one error.
    """
    return decoded(read_coded(path, fields, key=key, kind=kind, unique=unique, **options))


def decoded(coded: Mapping[str, Coded]) -> dict[str, list[Any]]:
    return {name: list(map(column.values.__getitem__, column.codes.tolist())) for name, column in coded.items()}


def read_coded(
    path: Path,
    fields: Sequence[Field],
    *,
    key: Sequence[str],
    kind: str | None = None,
    unique: bool | None = True,
    **options: Unpack[Options],
) -> dict[str, Coded]:
    """Return the columns of :func:`read_columns` as codes of distinct values."""
    table, found = open_side(path, [field.role for field in fields], kind, options)
    check = functools.partial(expect_papers, path, table, found, key, options)
    return coded_of(table, found, fields, options, key=key, kind=kind, unique=unique, check=check)


def coded_of(
    table: Table,
    found: Mapping[str, int],
    fields: Sequence[Field],
    options: Options,
    *,
    key: Sequence[str],
    kind: str | None,
    unique: bool | None = True,
    check: Callable[[Mapping[str, Column], int], None] = lambda columns, size: None,
) -> dict[str, Coded]:
    """Return the columns of a table opened by :func:`open_side`; ``check`` may refuse columns of n rows."""
    problems = Problems()
    rows = read_rows(table, list(found.values()), problems, options)
    columns = dict(zip(found, rows.columns, strict=True))
    present = [field for field in fields if field.role.name in columns]
    values = {
        field.role.name: _values(table, rows.lines, columns[field.role.name], field, problems) for field in present
    }
    check(columns, len(rows.lines))
    same = rows.columns if kind == "reviewers" else ()
    kept = distinct_rows(table, rows.lines, [columns[name] for name in key], unique, problems, same)
    problems.raise_any()
    nothing = Coded(np.zeros(kept.size, np.int64), [None])
    return {
        name: Coded(columns[name].codes[kept], values[name]) if name in columns else nothing
        for name in (field.role.name for field in fields)
    }


def read_rows(table: Table, positions: Sequence[int], problems: Problems, options: Options) -> Rows:
    """Return the columns of a table at these positions, and report the file as read."""
    rows = table.read(positions, problems)
    if read := options.get("read"):
        read(table.provenance.with_rows(len(rows.lines), rows.left_out))
    return rows


def open_side(path: Path, roles: Sequence[Role], kind: str | None, options: Options) -> tuple[Table, dict[str, int]]:
    """Open a side file; return it and the positions of its columns by role."""
    say = options.get("note") or (lambda message: None)
    given = columns_of(options.get("columns") or {}, path)
    table = open_table(path, roles, given, say, kind=kind)
    # A name given for this file, or for a role that only files of this kind have, must be that of a column.
    for role in roles:
        name, own = given.get(role.name, "").strip(), f"{path}{FILE}{role.name}" in options.get("columns", {})
        if name and (own or role.name not in SHARED) and not named(table.header, name):
            message = f"{table.name}: there is no column {quote(name)} ({role.name}); found {quote_all(table.header)}"
            raise InputError(message)
    found = locate(table.header, roles, {**table.columns, **given}, table.name, say, prefix=f"{path}{FILE}")
    labels = {PERSON.role.name: spellings.PERSON, PAPER.role.name: spellings.PAPER}
    places = {labels[role]: place for role, place in found.items() if role in labels}
    return Respelled(table, places, Spellings.of(options.get("merge")), options.get("note")), found


def expect_papers(
    path: Path,
    table: Table,
    found: Mapping[str, int],
    key: Sequence[str],
    options: Options,
    columns: Mapping[str, Column],
    size: int,
) -> None:
    """Refuse row numbers as papers; a list of papers may number them if it has each title once."""
    title = columns.get(TITLE.name)
    listed = PERSON.role.name not in key and (title is None or len(title.values) == size)
    if PAPER.role.name in found and not listed:
        chosen = {**table.columns, **columns_of(options.get("columns") or {}, path)}
        labels = columns[PAPER.role.name].values
        refuse_row_numbers(table.header, found, chosen, labels, size, table.name, f"{path}{FILE}")


def _values(table: Table, lines: Sequence[int], column: Column, field: Field, problems: Problems) -> list[Any]:
    """Return the meanings of the distinct cells, noting the rows of invalid ones."""
    absent = {""} if field.role.required else BLANK
    cells = column.values
    blank = missing_labels(cells) if field.role.label else [cell.strip() in absent for cell in cells]
    meaning = [None if empty else field.parse(cell) for cell, empty in zip(cells, blank, strict=True)]
    wrong = [code for code, value in enumerate(meaning) if value is None and (field.role.required or not blank[code])]
    if wrong:
        at = np.flatnonzero(np.isin(column.codes, wrong)).tolist()

        def say(n: int) -> str:
            cell, place = column.values[int(column.codes[at[n]])], table.place(int(lines[at[n]]))
            if blank[int(column.codes[at[n]])]:
                return f"{place}: the {field.role.name} is {cell.strip() or 'empty'}"
            return f"{place}: {field.role.name}: expected {field.expected}, found {quote(cell)}"

        problems.add_rows(0, [lines[row] for row in at], say)
    return meaning


def distinct_rows(
    table: Table,
    lines: Sequence[int],
    key: Sequence[Column],
    unique: bool | None,
    problems: Problems,
    same: Sequence[Column] = (),
) -> IntArray:
    """Return the first row of each key, noting the others as problems if keys must be unique.

    A row that equals the first in the columns ``same`` is not a problem: exports list reviewers once per paper.
    """
    if unique is None:
        return np.arange(len(lines))
    number = np.zeros(len(lines), np.int64)
    for column in key:
        number = number * max(len(column.values), 1) + column.codes
    _, kept, group = np.unique(number, return_index=True, return_inverse=True)
    first = kept[group]
    differs = [column.codes[first] != column.codes for column in same]
    again = np.flatnonzero(np.any(differs, axis=0) if differs else first != np.arange(first.size))

    def say(n: int) -> str:
        before, row = table.place(int(lines[int(first[again[n]])])), table.place(int(lines[int(again[n])]))
        labels = " and ".join(quote(column.values[int(column.codes[again[n]])]) for column in key)
        return f"{row}: {labels} occurred in {before} already; remove one of the two rows"

    if unique:
        problems.add_rows(0, [lines[row] for row in again.tolist()], say)
    return np.sort(kept)


def expect_rows(path: Path, labels: Sequence[str], role: str) -> None:
    if not labels:
        message = f"{path}: a header but no {role}s below it; expected one row for each {role}"
        raise InputError(message)


def by_label(
    path: Path, label: Field, value: Field, *, kind: str | None = None, **options: Unpack[Options]
) -> dict[str, Any]:
    """Return the values of a file by label; duplicate labels are refused."""
    rows = read_columns(path, (label, value), key=(label.role.name,), kind=kind, **options)
    return dict(zip(rows[label.role.name], rows[value.role.name], strict=True))
