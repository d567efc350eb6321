"""Pairs of a reviewer and an item as codes, whatever they come as; labels are looked at once each, not once a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.labels import encode
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from typing import TypeAlias

    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray, FloatArray

    Pairs: TypeAlias = Columns | Reviews | Iterable[tuple[Label, Label]]


class Scored(NamedTuple):
    """Scored pairs by code, and the labels."""

    reviewer: IntArray
    item: IntArray
    affinity: FloatArray
    reviewers: Sequence[Label]
    items: Sequence[Label]


def table_of(pairs: Pairs) -> Columns:
    """Give codes to pairs: tables and reviews have them, pairs of labels get them.

    >>> table_of([("b", "p"), ("a", "p")]).reviewer.tolist()
    [1, 0]
    """
    if isinstance(pairs, Columns):
        return pairs
    if isinstance(pairs, Reviews):
        return Columns(pairs.reviewer, pairs.item, pairs.reviewers, pairs.items)
    listed = list(pairs)
    reviewer, reviewers = encode([reviewer for reviewer, _ in listed])
    item, items = encode([item for _, item in listed])
    return Columns(reviewer, item, reviewers, items)


def scored_pairs(affinity: Any, reviewers: Iterable[Label] | None, items: Iterable[Label] | None) -> Scored:
    """Read affinities: a table of codes, a mapping (reviewer, item) -> number, or a matrix, dense or sparse.

    In a dense matrix, a table and a mapping NaN is an unscored pair, in a sparse one an entry that is not stored.

    Raises
    ------
    InputError
        If affinities are of another kind or shape, or name labels that are not declared.
    """
    if isinstance(affinity, Mapping):
        affinity = _table_of_mapping(affinity)
    if isinstance(affinity, Columns):
        return _of_table(affinity, reviewers, items)
    return _of_matrix(affinity, reviewers, items)


def _of_matrix(affinity: Any, reviewers: Iterable[Label] | None, items: Iterable[Label] | None) -> Scored:
    if hasattr(affinity, "tocoo"):
        matrix = affinity.tocoo()
        row, column, value = matrix.coords[0], matrix.coords[1], matrix.data
    else:
        matrix = np.asarray(affinity, np.float64)
        if matrix.ndim != 2:
            message = f"affinity: expected a mapping or a reviewers x items matrix, found {matrix.ndim} dimension(s)"
            raise InputError(message)
        row, column = np.nonzero(~np.isnan(matrix))
        value = matrix[row, column]
    labels = []
    for name, given, size in (("reviewers", reviewers, matrix.shape[0]), ("items", items, matrix.shape[1])):
        found = range(size) if given is None else tuple(given)
        if len(found) != size:
            message = f"{name}: expected {size} labels, one for each line of affinity, found {len(found)}"
            raise InputError(message)
        labels.append(found)
    return Scored(row.astype(np.int64), column.astype(np.int64), value.astype(np.float64), *labels)


def _table_of_mapping(affinity: Mapping[tuple[Label, Label], float]) -> Columns:
    for key in affinity:
        if not isinstance(key, tuple) or len(key) != 2:
            message = f"affinity: expected (reviewer, item) as a key, found {key!r}"
            raise InputError(message)
    value = np.fromiter((float(number) for number in affinity.values()), np.float64, len(affinity))
    return replace(table_of(affinity), score=value)


def _of_table(table: Columns, reviewers: Iterable[Label] | None, items: Iterable[Label] | None) -> Scored:
    if table.score is None:
        message = "affinity: expected a number for each pair, found a table of pairs without numbers"
        raise InputError(message)
    row, reviewer_labels = _declared("reviewer", table.reviewer, table.reviewers, reviewers)
    column, item_labels = _declared("item", table.item, table.items, items)
    scored = ~np.isnan(table.score)
    return Scored(row[scored], column[scored], table.score[scored], reviewer_labels, item_labels)


def _declared(
    role: str, codes: IntArray, labels: Sequence[Label], given: Iterable[Label] | None
) -> tuple[IntArray, Sequence[Label]]:
    """Return codes in the natural order of all labels, declared ones included; refuse labels that are not declared."""
    declared = () if given is None else tuple(given)
    used = np.flatnonzero(np.bincount(codes))
    named = [labels[code] for code in used.tolist()]
    extra = set(named) - set(declared) if given is not None else set()
    if extra:
        message = f"affinity: {role} {next(label for label in named if label in extra)!r} is not in {role}s"
        raise InputError(message)
    new, distinct = encode(named, declared)
    place = np.zeros(len(labels), np.int64)
    place[used] = new
    return place[codes], distinct


def codes_of(pairs: Columns, scored: Scored, name: str, *, strict: bool) -> tuple[IntArray, IntArray]:
    """Reviewer and item codes of distinct pairs, by reviewer, then item; unknown labels are refused or left out.

    Raises
    ------
    InputError
        If a label is unknown and ``strict`` is set.
    """
    reviewer = codes_among(pairs.reviewers, scored.reviewers)[pairs.reviewer]
    item = codes_among(pairs.items, scored.items)[pairs.item]
    known = (reviewer >= 0) & (item >= 0)
    if strict and not known.all():
        row = int(np.argmin(known))
        pair = (pairs.reviewers[int(pairs.reviewer[row])], pairs.items[int(pairs.item[row])])
        what, label = ("reviewer", pair[0]) if reviewer[row] < 0 else ("item", pair[1])
        message = f"{name}: the pair ({pair[0]!r}, {pair[1]!r}) names the unknown {what} {label!r}"
        raise InputError(message)
    key = np.unique(reviewer[known] * max(len(scored.items), 1) + item[known])
    return key // max(len(scored.items), 1), key % max(len(scored.items), 1)


def codes_among(labels: Sequence[Label], known: Iterable[Label]) -> IntArray:
    """Code of each label among those known, -1 for the others.

    >>> codes_among(["b", "z"], ["a", "b"]).tolist()
    [1, -1]
    """
    code = {label: number for number, label in enumerate(known)}
    return np.fromiter((code.get(label, -1) for label in labels), np.int64, len(labels))


def count_unknown(pairs: Columns, reviewers: Iterable[Label], items: Iterable[Label]) -> int:
    """Count pairs that name a reviewer or an item that is not listed."""
    return int((~known_rows(pairs, reviewers, items)).sum())


def known_rows(pairs: Columns, reviewers: Iterable[Label], items: Iterable[Label]) -> BoolArray:
    """Whether each row names a reviewer and an item that are listed."""
    reviewer, item = codes_among(pairs.reviewers, reviewers), codes_among(pairs.items, items)
    return np.asarray((reviewer[pairs.reviewer] >= 0) & (item[pairs.item] >= 0), np.bool_)
