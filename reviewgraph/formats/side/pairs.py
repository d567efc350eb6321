"""Side files on pairs of a reviewer and a paper: affinities, bids, costs, conflicts, reviews that are assigned.

There may be millions, so pairs stay codes, as :class:`~reviewgraph.columns.Columns`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import Role
from reviewgraph.formats.side.reading import (
    AFFINITY,
    BID,
    COST,
    PAPER,
    PERSON,
    PROBABILITY,
    WEIGHT,
    Coded,
    Field,
    Options,
    expect_rows,
    read_coded,
    read_columns,
)
from reviewgraph.formats.spellings import Spellings
from reviewgraph.formats.values import A_BID
from reviewgraph.labels import encode

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path

KEY = ("reviewer", "item")


def read_affinity(path: Path, **options: Unpack[Options]) -> Columns:
    """Return affinities as codes, from a file ``item,reviewer,affinity``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, AFFINITY, "affinities", **options)


def read_probabilities(path: Path, **options: Unpack[Options]) -> Columns:
    """Return probabilities as codes, from a file ``item,reviewer,probability``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, PROBABILITY, **options)


class Bids(NamedTuple):
    """Bids as a table of pairs with numbers from -1 to 1, and the pairs that bid a conflict."""

    table: Columns
    conflicts: Columns


def read_bids(path: Path, **options: Unpack[Options]) -> Bids:
    """Return the bids of a file ``item,reviewer,bid``, in the words of :data:`reviewgraph.formats.values.BIDS`.

    A row whose bid is empty says nothing.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice, or nobody bids.
    """
    columns = read_coded(path, (PERSON, PAPER, BID), key=KEY, kind="bids", **options)
    bid, pairs = columns["bid"], _pairs(columns)
    if not any(bid.values):
        message = f"{path}: expected a column bid with {A_BID} in it, found none"
        raise InputError(message)
    value = np.array([np.nan if one is None or one.conflict else one.value for one in bid.values], np.float64)
    barred = np.array([one is not None and one.conflict for one in bid.values], np.bool_)[bid.codes]
    conflicts = replace(pairs, reviewer=pairs.reviewer[barred], item=pairs.item[barred])
    return Bids(replace(pairs, score=value[bid.codes]), conflicts)


def read_cost(path: Path, **options: Unpack[Options]) -> Columns:
    """Return costs as codes, from a file ``item,reviewer,cost``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, COST, **options)


def read_weights(path: Path, **options: Unpack[Options]) -> Columns:
    """Return what a review may be worth (a confidence, an expertise) as codes, from a file ``item,reviewer,weight``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a pair stands twice.
    """
    return _scored_pairs(path, WEIGHT, **options)


def read_conflicts(path: Path, **options: Unpack[Options]) -> Columns:
    """Return the distinct pairs of a file ``item,reviewer`` of conflicts as codes.

    Raises
    ------
    InputError
        As :func:`read_columns`.
    """
    return _pairs(read_coded(path, (PERSON, PAPER), key=KEY, kind="conflicts", unique=False, **options))


def read_assigned(path: Path, **options: Unpack[Options]) -> Columns:
    """Return the distinct pairs of a file ``item,reviewer`` of reviews, or of the export of an assignment, as codes.

    Raises
    ------
    InputError
        As :func:`read_columns`.
    """
    return _pairs(read_coded(path, (PERSON, PAPER), key=KEY, kind="assignments", unique=False, **options))


def read_gone(path: Path, **options: Unpack[Options]) -> tuple[tuple[str, ...], Columns | None]:
    """Return who will not deliver: reviewers of rows without an item, and the pairs of the others.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if there is nobody.
    """
    may = PAPER._replace(role=replace(PAPER.role, required=False))
    columns = read_coded(path, (PERSON, may), key=("reviewer",), kind=None, unique=None, **options)
    reviewer, item = columns["reviewer"], columns["item"]
    expect_rows(path, reviewer.codes.tolist(), "reviewer")
    alone = np.array([not value for value in item.values], np.bool_)[item.codes]
    people = dict.fromkeys(reviewer.values[code] for code in reviewer.codes[alone].tolist())
    if alone.all():
        return tuple(people), None
    return tuple(people), Columns(reviewer.codes[~alone], item.codes[~alone], reviewer.values, item.values)


def _pairs(columns: dict[str, Coded]) -> Columns:
    reviewer, item = columns["reviewer"], columns["item"]
    return Columns(reviewer.codes, item.codes, reviewer.values, item.values)


def _scored_pairs(path: Path, field: Field, kind: str | None = None, **options: Unpack[Options]) -> Columns:
    """Return pairs with a number each, NaN where its cell is empty."""
    columns = read_coded(path, (PERSON, PAPER, field), key=KEY, kind=kind, **options)
    value = columns[field.role.name]
    numbers = np.array([np.nan if number is None else number for number in value.values], np.float64)
    return replace(_pairs(columns), score=numbers[value.codes])


AUTHOR = Role(
    "author", ("authors", "author_id", "author_ids", "author_email", "authorids", "email", "e_mail", "person")
)

#: Between authors in one cell.
SEPARATOR = ";"


def read_authors(path: Path, **options: Unpack[Options]) -> Columns:
    """Return who wrote what, authors in the place of reviewers, from a file ``item,author``.

    A cell of ``author`` may name several, separated by semicolons; an item may stand in several rows. Exports that list
    authors do as well.

    Raises
    ------
    InputError
        As :func:`reviewgraph.formats.side.reading.read_columns`; also if nobody is named.
    """
    fields = (PAPER, Field(AUTHOR, str, "one author, or several separated by semicolons"))
    rows = read_columns(path, fields, key=("item", "author"), kind="authors", unique=False, **options)
    named = [
        (author.strip(), item)
        for item, cell in zip(rows["item"], rows["author"], strict=True)
        for author in cell.split(SEPARATOR)
        if author.strip()
    ]
    if not named:
        message = f"{path}: a header but no authors below it; expected a row for each paper and author"
        raise InputError(message)
    known, say = Spellings.of(options.get("merge")), options.get("note")
    author, authors = encode(known.respelled([author for author, _ in named], PERSON.role.name, str(path), say))
    item, items = encode([item for _, item in named])
    return Columns(author, item, authors, items)
