"""What every calibration of a table larger than memory returns: vectors of its items, written a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.estimate import best_first, or_none, ranks
from lsc.evidence.support import numbered
from reviewgraph.arguments import checked
from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.errors import InputError
from reviewgraph.provenance import record_of
from reviewgraph.results import Result
from reviewgraph.streams.coding import Labels
from reviewgraph.streams.connection import ROWS, pieces_of
from reviewgraph.streams.table import Stream
from reviewgraph.words import counted


@dataclass(frozen=True, eq=False, repr=False)
class StreamedEstimate(Result):
    """Qualities of the items of a table larger than memory.

    Parameters
    ----------
    stream
        The table.
    quality, average
        Shape (N,): on the reported scale, higher being better, and plain averages; NaN for an item without a score.
    group
        Shape (N,): the connected component of each item, from 1 for the largest; scores compare within one only.
    """

    stream: Stream = field(repr=False)
    quality: FloatArray
    average: FloatArray
    group: IntArray

    @property
    def items(self) -> Labels:
        """Labels of the items, in the order of :attr:`quality`."""
        return self.stream.items

    @cached_property
    def rank(self) -> IntArray:
        """Shape (N,): the rank within its group, 1 for the best, ties by index; 0 for an item without a score."""
        return ranks(self.quality, self.group)

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): standard error of each quality, NaN where the method gives none."""
        return np.full(self.stream.n_items, np.nan)

    def best_of_largest(self, n: int) -> IntArray:
        """Return the codes of the ``n`` best items of the largest group, best first."""
        return best_first(np.where(self.group == 1, self.quality, np.nan))[:n]

    @checked
    def best(self, n: int) -> list[tuple[str, float, float]]:
        """Return label, quality and average of the ``n`` best items of the largest group, in the scores' direction."""
        order = self.best_of_largest(n)
        values = (self.stream.printed(given[order]).tolist() for given in (self.quality, self.average))
        return list(zip([self.items[i] for i in order.tolist()], *values, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of every estimate; ``items`` is None, for there may be too many."""
        keys = ("method", "status", "hypothesis", "objective", "unique", "items")
        return {**dict.fromkeys(keys), **record_of(self.stream.files)}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return all of :meth:`parts` at once."""
        found: dict[str, list[Any]] = {}
        for part in self.parts():
            for name, values in part.items():
                found.setdefault(name, []).extend(values)
        return found

    def parts(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return columns item, quality, average, rank, standard_error and group, so many rows at a time."""
        for first in range(0, self.stream.n_items, rows):
            yield self._columns(slice(first, first + rows))

    def _columns(self, mine: slice) -> dict[str, list[Any]]:
        return {
            "item": self.items[mine],
            "quality": or_none(self.stream.printed(self.quality[mine])),
            "average": or_none(self.stream.printed(self.average[mine])),
            "rank": [rank or None for rank in self.rank[mine].tolist()],
            "standard_error": or_none(self.standard_error[mine]),
            "group": self.group[mine].tolist(),
        }

    def headline(self) -> str:
        """Return what was calibrated."""
        return f"{counted(self.stream.n_items, 'item')}, {counted(self.stream.n_scored, 'score')}"


def expect_scores(stream: Stream) -> None:
    """Raise if no review has a score."""
    if not stream.n_scored:
        message = "reviews: expected scores, found none; calibrate after the scores have arrived"
        raise InputError(message)


def scores_given(stream: Stream) -> IntArray:
    """Return how many scores each reviewer gave, shape (M,)."""
    given = [np.diff(chunk.only_scored().start) for chunk in stream.chunks()]
    return np.concatenate([np.empty(0, np.int64), *given])


def totals_of(stream: Stream) -> tuple[FloatArray, FloatArray]:
    """Return number and sum of the scores of each item, shapes (N,)."""
    count, total = np.zeros(stream.n_items), np.zeros(stream.n_items)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        np.add.at(count, item, 1.0)
        np.add.at(total, item, score)
    return count, total


def scored_groups(stream: Stream) -> tuple[IntArray, BoolArray]:
    """Return the connected component of each item by the scores, as :func:`lsc.evidence.support.groups_of` does.

    And of each component whether a reviewer in it has two scores or more.
    """
    vertices, pieces = pieces_of(stream, scored=True)
    M = stream.n_reviewers
    group = numbered(vertices[M:])
    number = np.zeros(pieces, np.int64)  # pieces of reviewers without scores hold no item
    number[vertices[M:]] = group
    linked = np.zeros(pieces, np.bool_)
    for chunk in stream.chunks():
        several = np.diff(chunk.only_scored().start) > 1
        linked[number[vertices[chunk.first : chunk.first + several.size][several]] - 1] = True
    return group, linked[: int(group.max())]
