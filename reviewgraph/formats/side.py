"""Side files: tables of items, reviewers, affinities, conflicts, capacities, costs and the like.

Every reader takes a file of any supported format or the export of a conference system, finds columns by name and
reports malformed rows as :func:`reviewgraph.read_reviews` does. It returns dictionaries keyed by label; pairs of a
reviewer and an item, of which there may be millions, remain codes (:class:`~reviewgraph.formats.columns.Columns`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import encode, natural_key
from reviewgraph._base.text import LISTED, counted, listed, noun
from reviewgraph.formats.columns import REVIEWER, TITLE, Columns, Role, normalise
from reviewgraph.formats.files import Problems, quote
from reviewgraph.formats.side_reading import (
    AFFINITY,
    BID,
    COST,
    DEMAND,
    HYPOTHESIS,
    INSTITUTION,
    LOAD,
    MIN_LOAD,
    PAPER,
    PERSON,
    PROBABILITY,
    QUALITY,
    SENIOR,
    SPARE,
    TRUTH,
    WEIGHT,
    WILLING,
    Coded,
    Field,
    Options,
    by_label,
    coded_of,
    decoded,
    distinct_rows,
    expect_papers,
    expect_rows,
    open_side,
    read_coded,
    read_columns,
    read_rows,
)
from reviewgraph.formats.spellings import Spellings
from reviewgraph.formats.tables import Aside
from reviewgraph.formats.values import A_BID, BLANK, parse_flag

if TYPE_CHECKING:
    from reviewgraph.formats.columns import Unlisted
    from reviewgraph.formats.tables import Column, Path, Table


# Side files on pairs of a reviewer and a paper.

KEY = ("reviewer", "item")


def _pairs(columns: dict[str, Coded]) -> Columns:
    reviewer, item = columns["reviewer"], columns["item"]
    return Columns(reviewer.codes, item.codes, reviewer.values, item.values)


def _distinct_pairs(path: Path, *, kind: str, **options: Unpack[Options]) -> Columns:
    return _pairs(read_coded(path, (PERSON, PAPER), key=KEY, kind=kind, unique=False, **options))


def _scored_pairs(path: Path, *, field: Field, kind: str | None = None, **options: Unpack[Options]) -> Columns:
    """Return pairs with a number each, NaN where its cell is empty."""
    columns = read_coded(path, (PERSON, PAPER, field), key=KEY, kind=kind, **options)
    value = columns[field.role.name]
    numbers = np.array([np.nan if number is None else number for number in value.values], np.float64)
    return replace(_pairs(columns), score=numbers[value.codes])


#: The distinct pairs of a file ``item,reviewer``: conflicts; reviews, or the export of an assignment.
read_conflicts = partial(_distinct_pairs, kind="conflicts")
read_assigned = partial(_distinct_pairs, kind="assignments")
#: Pairs with numbers of a file ``item,reviewer,affinity`` (probability, cost, weight: a confidence or an expertise).
read_affinity = partial(_scored_pairs, field=AFFINITY, kind="affinities")
read_probabilities = partial(_scored_pairs, field=PROBABILITY)
read_cost = partial(_scored_pairs, field=COST)
read_weights = partial(_scored_pairs, field=WEIGHT)

#: Values by reviewer of a file ``reviewer,spare`` (probability that a review fails to arrive, hypothesis).
read_capacity = partial(by_label, label=PERSON, value=SPARE, kind="reviewers")
read_missing = partial(by_label, label=PERSON, value=PROBABILITY)
read_hypotheses = partial(by_label, label=PERSON, value=HYPOTHESIS)
#: Values by item of a file ``item,quality`` (known qualities) or ``item,truth``, and labels by label of ``label,as``.
read_references = partial(by_label, label=PAPER, value=QUALITY)
read_truth = partial(by_label, label=PAPER, value=TRUTH)
_LABEL, _AS = (Field(Role(name), str, "a label") for name in ("label", "as"))
read_merges = partial(by_label, label=_LABEL, value=_AS)


class Bids(NamedTuple):
    """Bids as a table of pairs with numbers from -1 to 1, and the pairs that bid a conflict."""

    table: Columns
    conflicts: Columns


def read_bids(path: Path, **options: Unpack[Options]) -> Bids:
    """Return the bids of a file ``item,reviewer,bid`` in the words of :data:`reviewgraph.formats.values.BIDS`."""
    columns = read_coded(path, (PERSON, PAPER, BID), key=KEY, kind="bids", **options)
    bid, pairs = columns["bid"], _pairs(columns)
    if not any(bid.values):
        message = f"{path}: expected a column bid with {A_BID} in it, found none"
        raise InputError(message)
    value = np.array([np.nan if one is None or one.conflict else one.value for one in bid.values], np.float64)
    barred = np.array([one is not None and one.conflict for one in bid.values], np.bool_)[bid.codes]
    conflicts = replace(pairs, reviewer=pairs.reviewer[barred], item=pairs.item[barred])
    return Bids(replace(pairs, score=value[bid.codes]), conflicts)


def read_gone(path: Path, **options: Unpack[Options]) -> tuple[tuple[str, ...], Columns | None]:
    """Return who will not deliver: reviewers of rows without an item, and the pairs of the other rows."""
    may = PAPER._replace(role=replace(PAPER.role, required=False))
    columns = read_coded(path, (PERSON, may), key=("reviewer",), kind=None, unique=None, **options)
    reviewer, item = columns["reviewer"], columns["item"]
    expect_rows(path, reviewer.codes.tolist(), "reviewer")
    alone = np.array([not value for value in item.values], np.bool_)[item.codes]
    people = dict.fromkeys(reviewer.values[code] for code in reviewer.codes[alone].tolist())
    if alone.all():
        return tuple(people), None
    return tuple(people), Columns(reviewer.codes[~alone], item.codes[~alone], reviewer.values, item.values)


AUTHOR = Role(
    "author", ("authors", "author_id", "author_ids", "author_email", "authorids", "email", "e_mail", "person")
)


def read_authors(path: Path, **options: Unpack[Options]) -> Columns:
    """Return authors, in the place of reviewers, and their items, from a file ``item,author`` or an export of authors.

    A cell of ``author`` may name several, separated by semicolons; an item may occur in several rows.
    """
    fields = (PAPER, Field(AUTHOR, str, "one author, or several separated by semicolons"))
    rows = read_columns(path, fields, key=("item", "author"), kind="authors", unique=False, **options)
    named = [
        (author.strip(), item)
        for item, cell in zip(rows["item"], rows["author"], strict=True)
        for author in cell.split(";")
        if author.strip()
    ]
    if not named:
        message = f"{path}: a header but no authors below it; expected a row for each paper and author"
        raise InputError(message)
    known, say = Spellings.of(options.get("merge")), options.get("note")
    author, authors = encode(known.respelled([author for author, _ in named], PERSON.role.name, str(path), say))
    item, items = encode([item for _, item in named])
    return Columns(author, item, authors, items)


# Side files on papers.


class Item(NamedTuple):
    """An item: its number of reviews (None: as all others) and its title."""

    demand: int | None
    title: str


class Listing(NamedTuple):
    """The items of a file, its other papers, and those that it cannot hold."""

    items: dict[str, Item]
    aside: Aside = Aside()
    unlisted: Unlisted | None = None


def read_items(path: Path, **options: Unpack[Options]) -> dict[str, Item]:
    """Return the items of a file ``item[,demand,title]``, or of any export that lists papers.

    A paper may occur in many rows, as in an export of reviews; of several titles the alphabetically first counts.
    Papers that an export marks as withdrawn are no items.
    """
    items, aside, _ = read_listing(path, **options)
    say = options.get("note")
    if aside.unseen and say:
        say(f"{path}: {say_unseen(aside.unseen)}")
    return items


def say_unseen(papers: Collection[str]) -> str:
    """Report papers left out because the person who downloaded the files may not see their reviewers.

    >>> say_unseen(["9", "12"])
    '2 papers (9, 12) left out: whoever downloaded the files may not see who reviews them'
    """
    which = f"{counted(len(papers), 'paper')} ({listed(sorted(papers, key=natural_key), LISTED)})"
    return f"{which} left out: whoever downloaded the files may not see who reviews {noun(len(papers), 'it', 'them')}"


def read_listing(path: Path, **options: Unpack[Options]) -> Listing:
    """Return the items of :func:`read_items`, and the other papers of the file."""
    fields = (PAPER, DEMAND, Field(TITLE, str.strip, "text"))
    table, found = open_side(path, [field.role for field in fields], "papers", options)
    check = partial(expect_papers, path, table, found, ("item",), options)
    rows = decoded(coded_of(table, found, fields, options, key=("item",), kind="papers", unique=None, check=check))
    place = list(found).index("item")
    unlisted = table.source.unlisted if table.source else None
    return Listing(_items(path, rows), table.aside(place, place, None), unlisted and unlisted._replace(file=table.name))


def _items(path: Path, rows: Mapping[str, list[Any]]) -> dict[str, Item]:
    expect_rows(path, rows["item"], "item")
    items: dict[str, Item] = {}
    # Of an item's rows those with a demand come first, then those with a title.
    for item, demand, title in sorted(
        set(zip(*rows.values(), strict=True)),
        key=lambda row: (row[0], row[1] is None, row[1] or 0, not row[2], row[2] or ""),
    ):
        before = items.setdefault(item, Item(demand, title or ""))
        if before.demand != demand and demand is not None:
            message = f"{path}: item {quote(item)}: demand {before.demand} in one row and {demand} in another"
            raise InputError(message)
    return {item: items[item] for item in dict.fromkeys(rows["item"])}


# Side files on reviewers.

_CHOSEN = {field.role.name: field for field in (SENIOR, WILLING)}
_FIELDS = (PERSON, LOAD, MIN_LOAD, INSTITUTION, SENIOR)
_SYNONYMOUS = (INSTITUTION.role, SENIOR.role)


class Reviewer(NamedTuple):
    """A reviewer: maximum and minimum load (None: as all others), institution, senior or not."""

    load: int | None
    min_load: int | None
    institution: str
    senior: bool


class Roster(NamedTuple):
    """The reviewers of a file, and attributes by reviewer."""

    reviewers: dict[str, Reviewer]
    attributes: dict[str, dict[str, Any]]


def read_reviewers(path: Path, **options: Unpack[Options]) -> dict[str, Reviewer]:
    """Return the reviewers of a file ``reviewer[,load,min_load,institution,senior]``."""
    table, places = open_side(path, [field.role for field in _FIELDS], "reviewers", options)
    return _reviewers(path, table, places, options)


def read_roster(path: Path, **options: Unpack[Options]) -> Roster:
    """Return the reviewers of a file and their attributes, read once."""
    table, places = open_side(path, [field.role for field in _FIELDS], "reviewers", options)
    return Roster(_reviewers(path, table, places, options), _attributes(path, table, places[REVIEWER.name], options))


def _reviewers(path: Path, table: Table, places: Mapping[str, int], options: Options) -> dict[str, Reviewer]:
    rows = decoded(coded_of(table, places, _FIELDS, options, key=("reviewer",), kind="reviewers"))
    expect_rows(path, rows["reviewer"], "reviewer")
    reviewers = {
        label: Reviewer(load, least, institution or "", bool(senior))
        for label, load, least, institution, senior in zip(*(rows[field.role.name] for field in _FIELDS), strict=True)
    }
    for label, entry in reviewers.items():
        if entry.load is not None and entry.min_load is not None and entry.min_load > entry.load:
            message = f"{path}: reviewer {quote(label)}: min_load {entry.min_load} is above load {entry.load}"
            raise InputError(message)
    return reviewers


def read_attributes(path: Path, **options: Unpack[Options]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each reviewer: for each column the text, or several in a list if ; separates them.

    A column with only yes and no gives True and False. Empty cells are left out. Columns are named as in the file, and
    synonyms of ``institution`` and ``senior`` also by these names. In an export with many rows per reviewer, such as
    one of bids, columns in which these rows differ are not attributes.
    """
    table, places = open_side(path, [REVIEWER], "reviewers", options)
    return _attributes(path, table, places[REVIEWER.name], options)


def _attributes(path: Path, table: Table, place: int, options: Options) -> dict[str, dict[str, Any]]:
    problems = Problems()
    rows = read_rows(table, range(len(table.header)), problems, options)
    # A recognised export may have many rows per reviewer; in any other table a second row is an error.
    kept = distinct_rows(table, rows.lines, [rows.columns[place]], not table.source, problems)
    problems.raise_any()
    labels = [rows.columns[place].values[code] for code in rows.columns[place].codes[kept].tolist()]
    expect_rows(path, labels, "reviewer")
    attributes: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for number, header in enumerate(table.header):
        if number == place or (table.source and not _settled(rows.columns[place], rows.columns[number])):
            continue
        same = [role.name for role in _SYNONYMOUS if normalise(header) in map(normalise, role.names)]
        meaning, names = _meanings(rows.columns[number].values, flag="senior" in same), [header.strip(), *same]
        for label, code in zip(labels, rows.columns[number].codes[kept].tolist(), strict=True):
            if meaning[code] is not None:
                attributes[label].update(dict.fromkeys(names, meaning[code]))
    return attributes


def _settled(key: Column, column: Column) -> bool:
    """Whether the rows of each key are equal in a column."""
    pairs = np.unique(np.stack([key.codes, column.codes]), axis=1)
    return bool(pairs.shape[1] == np.unique(key.codes).size)


def _meanings(cells: Sequence[str], *, flag: bool) -> list[Any]:
    """Return the meanings of cells: booleans if all are yes or no, otherwise text or lists; None if empty."""
    cells = ["" if cell.strip() in BLANK else cell for cell in cells]
    words = {cell.strip().casefold() for cell in cells} - {""}
    # Letters alone may be names; only together they are yes and no.
    if flag or words == {"y", "n"} or (words and words <= {"yes", "no", "true", "false", "1", "0"}):
        return [parse_flag(cell) if cell.strip() else None for cell in cells]
    texts = [[part.strip() for part in cell.split(";") if part.strip()] for cell in cells]
    return [(several if len(several) > 1 else several[0]) if several else None for several in texts]


def read_institutions(path: Path, **options: Unpack[Options]) -> dict[str, str]:
    """Return institution by reviewer, from a file ``reviewer,institution``; reviewers without one are left out."""
    institutions = by_label(path, PERSON, INSTITUTION, kind="reviewers", **options)
    known = {label: institution for label, institution in institutions.items() if institution}
    if not known:
        message = f"{path}: expected a column institution with names in it, found none"
        raise InputError(message)
    return known


def read_chosen(path: Path, name: str, **options: Unpack[Options]) -> list[str]:
    """Return the reviewers with a yes in the column ``name`` (senior or willing); all if it has no yes or no."""
    chosen = by_label(path, PERSON, _CHOSEN[name], kind="reviewers", **options)
    expect_rows(path, list(chosen), "reviewer")
    said = any(flag is not None for flag in chosen.values())
    return [label for label, flag in chosen.items() if flag or not said]
