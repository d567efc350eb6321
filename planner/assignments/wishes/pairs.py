"""Pairs of a reviewer and an item as codes, whatever they come as; labels are looked at once each, not once a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.arguments import as_numbers
from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import ITEM, REVIEWER
from reviewgraph.formats.side.reading import AFFINITY
from reviewgraph.formats.spellings import Merge, Spellings
from reviewgraph.labels import encode
from reviewgraph.sides.given import is_frame, labels_in, numbered_pairs
from reviewgraph.sides.matching import match_pairs

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import FloatArray
    from reviewgraph.sides.matching import Unknown

#: What messages call the labels that an assignment knows.
LISTS = "the lists of papers and reviewers"


class Scored(NamedTuple):
    """Scored pairs by code, and the labels."""

    reviewer: IntArray
    item: IntArray
    affinity: FloatArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    spellings: Spellings


def scored_pairs(
    affinity: Any, reviewers: Iterable[Label] | None, items: Iterable[Label] | None, merge: Merge | None = None
) -> Scored:
    """Read affinities: pairs with a number, in any form but rows, or a matrix, dense or sparse.

    In a dense matrix and beside pairs NaN is an unscored pair, in a sparse matrix an entry that is not stored.

    Raises
    ------
    InputError
        If affinities are of another kind or shape, or name nobody who is declared.
    """
    known = Spellings.of(merge)
    people = None if reviewers is None else labels_in(list(reviewers), "reviewers", REVIEWER, known)
    papers = None if items is None else labels_in(list(items), "items", ITEM, known)
    if isinstance(affinity, Mapping | Columns) or is_frame(affinity):
        return _of_table(numbered_pairs(affinity, "affinity", AFFINITY.role, known), people, papers, known)
    return _of_matrix(affinity, people, papers, known)


def _of_matrix(
    affinity: Any, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, known: Spellings
) -> Scored:
    if hasattr(affinity, "tocoo"):
        matrix = affinity.tocoo()
        row, column, value = matrix.coords[0], matrix.coords[1], matrix.data
    else:
        matrix = as_numbers("affinity", affinity)
        if matrix.ndim != 2:
            message = f"affinity: expected a mapping or a reviewers x items matrix, found {matrix.ndim} dimension(s)"
            raise InputError(message)
        row, column = np.nonzero(~np.isnan(matrix))
        value = matrix[row, column]
    labels: list[Sequence[Label]] = []
    for name, given, size in (("reviewers", reviewers, matrix.shape[0]), ("items", items, matrix.shape[1])):
        found = range(size) if given is None else given
        if len(found) != size:
            message = f"{name}: expected {size} labels, one for each line of affinity, found {len(found)}"
            raise InputError(message)
        if given is not None and len(set(given)) < size:
            twice = next(label for place, label in enumerate(given) if label in given[:place])
            message = f"{name}: expected a label of its own for each line of affinity, found {twice!r} twice"
            raise InputError(message)
        labels.append(found)
    return Scored(row.astype(np.int64), column.astype(np.int64), value.astype(np.float64), labels[0], labels[1], known)


def _of_table(
    table: Columns, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, spellings: Spellings
) -> Scored:
    known = _declared(table.reviewer, table.reviewers, reviewers), _declared(table.item, table.items, items)
    row, column = match_pairs(table, *known, "affinity", where=LISTS)
    value = np.asarray(table.score, np.float64)
    scored = (row >= 0) & (column >= 0) & ~np.isnan(value)
    return Scored(row[scored], column[scored], value[scored], known[0], known[1], spellings)


def _declared(codes: IntArray, labels: Sequence[Label], given: Iterable[Label] | None) -> Sequence[Label]:
    """Return the labels that are declared, or else those that rows name, in natural order."""
    used = () if given is not None else [labels[code] for code in np.flatnonzero(np.bincount(codes)).tolist()]
    return encode(used, () if given is None else given)[1]


def codes_of(pairs: Columns, scored: Scored, name: str, *, unknown: Unknown = "left out") -> tuple[IntArray, IntArray]:
    """Reviewer and item codes of distinct pairs, by reviewer, then item.

    Raises
    ------
    InputError
        If none of the labels is known, or one is unknown and these are ``refused``.
    """
    reviewer, item = match_pairs(pairs, scored.reviewers, scored.items, name, unknown=unknown, where=LISTS)
    known = (reviewer >= 0) & (item >= 0)
    key = np.unique(reviewer[known] * max(len(scored.items), 1) + item[known])
    return key // max(len(scored.items), 1), key % max(len(scored.items), 1)
