"""Several tables of affinities, and bids, as one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.assignments.wishes.pairs import Scored, scored_pairs
from reviewgraph.arguments import NUMBER, check_magnitude, checked, refuse
from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.labels import encode
from reviewgraph.sides.matching import codes_among
from reviewgraph.words import shortened

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import FloatArray


@checked
def merge_affinities(
    affinities: Iterable[tuple[Any, float]], bids: Iterable[tuple[Any, float]] = (), *, all_pairs: bool = False
) -> Columns:
    r"""Add up tables of affinities and bids, each times its weight.

    .. math:: a_{ji} = \sum_t w_t a^{(t)}_{ji}

    A pair that a table lacks counts 0 there. A pair has an affinity where one of the tables of affinities has it, or
    where its bids come to more than 0: who wants a paper may get it, and "no" does not make a pair possible.

    Parameters
    ----------
    affinities
        (table, weight): each table in one of the forms that :func:`planner.assign` takes.
    bids
        (table, weight) likewise, such as ``read_bids(path).table``; numbers from -1 to 1.
    all_pairs
        Whether pairs that nobody has scored may be assigned, as with ``assign(allow_unscored=True)``: then bids of 0 or
        less count for such pairs, too. They do not by default.

    Returns
    -------
    Columns
        For ``assign``: each pair once, reviewers and items in natural order.

    Raises
    ------
    InputError
        If a table is malformed or has a pair twice, or a weight is not finite.

    Notes
    -----
    Takes O(P log P) for P rows in all.

    Examples
    --------
    >>> topics, bids = {("ann", "p1"): 0.4, ("bob", "p1"): 0.2}, {("ann", "p1"): 1.0, ("bob", "p2"): -1.0}
    >>> merged = merge_affinities([(topics, 1.0)], [(bids, 0.5)])
    >>> merged.items, merged.score.tolist()
    (('p1', 'p2'), [0.9, 0.2, nan])
    """
    scored, wanted = _tables(affinities), _tables(bids)
    tables = scored + wanted
    reviewers = encode([], [label for table, _ in tables for label in table.reviewers])[1]
    items = encode([], [label for table, _ in tables for label in table.items])[1]
    keys = [_key(table, reviewers, items) for table, _ in tables]
    every = np.concatenate([np.empty(0, np.int64), *keys])
    key, at = np.unique(every, return_inverse=True)
    value = np.concatenate([np.empty(0), *(weight * table.affinity for table, weight in tables)])
    # Affinities stand first, then bids.
    split = sum(one.size for one in keys[: len(scored)])
    total = np.asarray(np.bincount(at, value, key.size), np.float64)
    known = np.bincount(at[:split], minlength=key.size) > 0
    welcome = np.bincount(at[split:], value[split:], key.size) > 0
    if not all_pairs:
        total[~known & ~welcome] = np.nan
    return _columns(key, total, reviewers, items)


def _tables(given: Iterable[tuple[Any, float]]) -> list[tuple[Scored, float]]:
    tables = []
    for entry in given:
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            message = f"affinities: expected pairs of a table and its weight, found {shortened(repr(entry))}"
            raise InputError(message)
        table, weight = entry
        refuse("affinities", weight, [NUMBER])
        if not math.isfinite(weight):
            message = f"affinities: expected a finite weight for each table, found {weight!r}"
            raise InputError(message)
        scored = scored_pairs(table, None, None)
        check_magnitude("affinities", float(weight) * float(np.abs(scored.affinity).max(initial=0.0)))
        tables.append((scored, float(weight)))
    return tables


def _key(table: Scored, reviewers: Iterable[Label], items: Iterable[Label]) -> IntArray:
    """Give a number to each pair of a table; no pair stands twice."""
    known = list(items)
    row, column = codes_among(table.reviewers, reviewers), codes_among(table.items, known)
    key = row[table.reviewer] * len(known) + column[table.item]
    distinct, first = np.unique(key, return_index=True)
    if distinct.size < key.size:
        again = int(np.setdiff1d(np.arange(key.size), first)[0])
        pair = (table.reviewers[int(table.reviewer[again])], table.items[int(table.item[again])])
        message = f"affinities: expected each (reviewer, item) pair once in a table, found {pair!r} twice"
        raise InputError(message)
    return key


def _columns(key: IntArray, total: FloatArray, reviewers: Any, items: Any) -> Columns:
    width = max(len(items), 1)
    return Columns(key // width, key % width, reviewers, items, score=total)
