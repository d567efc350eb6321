"""Rows by reviewer and item, one a pair, by a radix pass over files: ranges of reviewers, then each in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reviewgraph.arrays import IntArray
from reviewgraph.rows import Duplicates, merge_duplicates, order_of_pairs
from reviewgraph.streams.spill import Spill, ranges

#: A row as it is spilled: codes of 32 bits, and NaN as the score of a planned review.
ROW = np.dtype([("reviewer", "<u4"), ("item", "<u4"), ("score", "<f8")])


class Sorted(NamedTuple):
    """Rows sorted by reviewer and item: where each reviewer's begin, their items and scores."""

    start: IntArray
    item: Spill
    score: Spill


def sort_rows(
    rows: Spill,
    load: IntArray,
    batch: int,
    duplicates: Duplicates,
    say: Callable[[int, int, int, int], str],
    into: tuple[Spill, Spill],
) -> Sorted:
    """Sort rows by pair, and merge those of one pair as :func:`reviewgraph.rows.merge_duplicates` does.

    Parameters
    ----------
    rows
        Of :data:`ROW`, as they came.
    load
        Shape (M,): rows of each reviewer.
    batch
        Rows held at once, unless one reviewer has more.
    duplicates
        What to do when a pair has two scores.
    say
        Returns the message on a reviewer and an item, codes, and the numbers of the two rows that score them.
    into
        Where items and scores go.

    Raises
    ------
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``.
    """
    start = np.concatenate([[0], np.cumsum(load)])
    (item, score), found = into, np.zeros(load.size, np.int64)
    with Spill(ROW) as parted:
        cuts = list(ranges(start, batch))
        _part(rows, parted, np.array([first for first, _ in cuts], np.int64), start, batch)
        for first, last in cuts:
            part = parted.read(int(start[first]), int(start[last]))
            order = order_of_pairs(part["reviewer"], part["item"])
            part = part[order]

            def say_of(one: int, other: int, part: np.ndarray = part, order: IntArray = order) -> str:
                pair = part[np.flatnonzero(order == one)[0]]
                return say(int(pair["reviewer"]), int(pair["item"]), *_rows_of(rows, pair, batch))

            reviewer, items, scores, _ = merge_duplicates(
                part["reviewer"], part["item"], part["score"], ~np.isnan(part["score"]), duplicates, say_of, order
            )
            item.append(items)
            score.append(scores)
            found[first:last] = np.bincount(reviewer - np.uint32(first), minlength=last - first)
    return Sorted(np.concatenate([[0], np.cumsum(found)]), item, score)


def _part(rows: Spill, parted: Spill, firsts: IntArray, start: IntArray, batch: int) -> None:
    """Write rows to where their range of reviewers begins, those of a range in the order in which they came."""
    place = start[firsts].copy()
    for part in rows.parts(batch):
        home = np.searchsorted(firsts, part["reviewer"], "right") - 1
        order = np.argsort(home, kind="stable")
        home, part = home[order], part[order]
        bounds = np.flatnonzero(np.diff(home, prepend=-1))
        for low, high in zip(bounds.tolist(), [*bounds[1:].tolist(), home.size], strict=True):
            parted.write(int(place[home[low]]), part[low:high])
            place[home[low]] += high - low


def _rows_of(rows: Spill, pair: np.void, batch: int) -> tuple[int, int]:
    """Return the numbers of the first two rows that score a pair."""
    found: list[int] = []
    for first, part in zip(range(0, len(rows), batch), rows.parts(batch), strict=True):
        same = (part["reviewer"] == pair["reviewer"]) & (part["item"] == pair["item"]) & ~np.isnan(part["score"])
        found += (first + np.flatnonzero(same)).tolist()
    return found[0], found[1]
