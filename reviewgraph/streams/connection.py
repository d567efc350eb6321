"""The check of a table on disk: its pieces exactly, and those higher levels that a few passes can decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted, listed
from reviewgraph.graph.check import PRECISE, facts
from reviewgraph.graph.kernels.union_find import grow_cover, point_at_roots, union_chunk
from reviewgraph.graph.levels import LEVELS, NAMES, Connected, Double, LevelName, Recoverable, level_named
from reviewgraph.streams.files import Labels
from reviewgraph.streams.table import Stream

#: Maximum passes in which the cover of the busiest reviewer grows.
PASSES = 30
#: Rows of a table converted to text at once.
ROWS = 1 << 18


def decided_levels(pieces: int, missing: int, *, covered: bool) -> dict[str, bool | None]:
    """Return whether each level holds, by name, the strongest first; None if it is not decided.

    ``missing`` is a lower bound on the degrees of freedom, ``covered`` whether one doubly connected component is known
    to cover all items.
    """
    decided = [level.decided(pieces=pieces, missing=missing, covered=covered) for level in LEVELS]
    # Each level implies those after it.
    levels: dict[str, bool | None] = {}
    for place, name in enumerate(NAMES):
        if any(decided[: place + 1]):
            levels[name] = True
        else:
            levels[name] = False if False in decided[place:] else None
    return levels


@dataclass(frozen=True, eq=False, repr=False)
class Connection(Result):
    """The check of a table larger than memory, see :func:`check_stream`.

    Parameters
    ----------
    stream
        The table.
    labels, item_labels
        Shapes (M,) and (N,): the piece (connected component) of each reviewer and item, numbered from 1: most items
        first, then most reviewers, then the one whose first reviewer comes first.
    pieces
        Their number.
    least_cover
        Items of one doubly connected component; the largest may have more.
    least_degrees_of_freedom
        Missing links by counting; there may be more.

    Examples
    --------
    See :func:`reviewgraph.check_stream`, which returns it.
    """

    stream: Stream = field(repr=False)
    labels: IntArray
    item_labels: IntArray
    pieces: int
    least_cover: int
    least_degrees_of_freedom: int

    @cached_property
    def known(self) -> dict[str, bool | None]:
        """Whether each level holds, by name, the strongest first; None if it is not decided."""
        covered = self.least_cover == self.stream.n_items
        return decided_levels(self.pieces, self.least_degrees_of_freedom, covered=covered)

    @property
    def level(self) -> str | None:
        """The highest level that is known to hold, or none."""
        return next((name for name, holds in self.known.items() if holds), None)

    @property
    def undecided(self) -> list[str]:
        """The levels that are not decided."""
        return [name for name, holds in self.known.items() if holds is None]

    def reaches(self, level: LevelName) -> bool:
        """Whether a level is known to hold.

        Parameters
        ----------
        level
            Name of the level.

        Returns
        -------
        bool
            Whether all items are at the level; InputError where that is not known.

        Examples
        --------
        With the result of the example of :func:`check_stream`, ``result.reaches("connected")`` is False.
        """
        asked = level_named(level)
        holds = self.known.get(asked.name, False if self.known[LEVELS[0].name] is False else None)
        if holds is None:
            message = (
                f"require: whether the level {asked.name!r} holds is not decided for a table larger than memory; ask "
                f"for {Connected.name!r}, or check a table that fits into memory without --stream"
            )
            raise InputError(message)
        return holds

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a check, None for unknown values, with their lower bounds under ``at_least``."""
        double = self.known[Double.name]
        recoverable = self.known[Recoverable.name]
        stream = self.stream
        return {
            "reviewers": stream.n_reviewers,
            "items": stream.n_items,
            "reviews": stream.n_reviews,
            "connected": {"components": self.pieces},
            "doubly_connected": None,
            "recovery_resilient": double,
            "recoverable": recoverable,
            "degrees_of_freedom": 0 if recoverable else None,
            "level": self.level,
            "undecided": self.undecided,
            "at_least": {"largest_cover": self.least_cover, "degrees_of_freedom": self.least_degrees_of_freedom},
            **stream.origin.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return all :meth:`parts` at once."""
        columns: dict[str, list[Any]] = {"role": [], "label": [], "group": []}
        for part in self.parts():
            for name, values in part.items():
                columns[name] += values
        return columns

    def parts(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return a row for each reviewer and item (role, label, group: the piece), in parts of ``rows``.

        Parameters
        ----------
        rows
            Most rows per part.

        Yields
        ------
        dict
            Columns role, label and group by name.

        Examples
        --------
        ``next(result.parts(1000))`` are the first thousand rows of the result of :func:`check_stream`.
        """
        sides: tuple[tuple[str, Labels, IntArray], ...] = (
            ("reviewer", self.stream.reviewers, self.labels),
            ("item", self.stream.items, self.item_labels),
        )
        for role, labels, group in sides:
            for first in range(0, len(labels), rows):
                text = labels[first : first + rows]
                yield {"role": [role] * len(text), "label": text, "group": group[first : first + rows].tolist()}

    def headline(self) -> str:
        """Return the level, and what is missing."""
        return f"{counted(self.stream.n_items, 'item')}, {self.level or f'{self.pieces:,} pieces'}"


@checked
def check_stream(stream: Stream) -> Connection:
    """Check a table larger than memory: the pieces exactly, and bounds for the levels above.

    Doubly connected components and degrees of freedom take memory that grows with the reviews; here both have bounds,
    one by counting, one by a growing cover. The cover of the busiest reviewer grows pass by pass by all reviewers who
    share two items with it: if it covers all items, all are comparable for certain.

    Parameters
    ----------
    stream
        The table, open.

    Returns
    -------
    Connection
        The pieces exactly, and of the levels above what is known without holding the reviews.

    Notes
    -----
    Takes near-linear time, and about 30 bytes per reviewer and item.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/scores.parquet"
    ...     pa.parquet.write_table(pa.table({"reviewer": [1, 1, 2, 2, 3], "item": [1, 2, 2, 3, 4]}), path)
    ...     with stream_reviews(path) as stream:
    ...         found = check_stream(stream)
    >>> found, found.labels.tolist(), found.item_labels.tolist(), found.least_degrees_of_freedom
    (<Connection: 4 items, 2 pieces>, [1, 1, 2], [1, 1, 1, 2], 2)
    """
    reviewers, items, pieces = _pieces(stream)
    missing = _least_missing(stream, reviewers, items, pieces)
    # A cover of all items needs one piece and no missing link.
    cover = _cover_of_busiest(stream) if pieces == 1 and not missing else int(stream.loads.max(initial=0))
    return Connection(stream, reviewers, items, pieces, cover, missing)


def pieces_of(stream: Stream, *, scored: bool = False) -> tuple[CodeArray, int]:
    """Return the piece of each reviewer and then of each item, shape (M + N,), and the number of pieces.

    They are numbered from 0 in the order of their first reviewers, unreviewed items after them; with ``scored`` only
    reviews with a score connect.
    """
    M = stream.n_reviewers
    N = stream.n_items
    parent = np.arange(M + N, dtype=np.uint32)
    for every in stream.chunks():
        chunk = every.only_scored() if scored else every
        union_chunk(parent, chunk.first, chunk.start, M, chunk.item)
    point_at_roots(parent)
    # A root is the smallest vertex of its piece: pieces are numbered in the order of their first reviewers.
    is_root = parent == np.arange(M + N, dtype=np.uint32)
    pieces = int(np.count_nonzero(is_root))
    number = np.cumsum(is_root, dtype=np.uint32)
    del is_root
    return number[parent] - np.uint32(1), pieces


def _pieces(stream: Stream) -> tuple[IntArray, IntArray, int]:
    """Return the piece of each reviewer and item, from 1, the largest first, and their number."""
    M = stream.n_reviewers
    piece, pieces = pieces_of(stream)
    covers, sizes = (np.bincount(part, minlength=pieces) for part in (piece[M:], piece[:M]))
    place = np.empty(pieces, np.int64)
    place[np.lexsort((np.arange(pieces), -sizes, -covers))] = np.arange(1, pieces + 1)
    return place[piece[:M]], place[piece[M:]], pieces


def _least_missing(stream: Stream, reviewers: IntArray, items: IntArray, pieces: int) -> int:
    """Return a lower bound on the degrees of freedom, piece by piece.

    A piece of n items and m reviewers of two or more reviews has n + 2m unknowns; each review determines at most one,
    and all together at most all but two.
    """
    loads = stream.loads
    linking = loads >= 2
    home = reviewers[linking] - 1
    unknown = np.bincount(items - 1, minlength=pieces) + 2 * np.bincount(home, minlength=pieces)
    reviews = np.bincount(home, loads[linking], pieces).astype(np.int64)
    rank = np.minimum(reviews, np.maximum(unknown - 2, 0))
    return int((unknown - rank).sum()) - min(stream.n_items, 2)


def _cover_of_busiest(stream: Stream) -> int:
    """Return the size of the doubly connected cover that grows from the busiest reviewer, or of a part of it."""
    joined = np.zeros(stream.n_reviewers, np.bool_)
    covered = np.zeros(stream.n_items, np.bool_)
    busiest = int(np.argmax(stream.loads))
    for chunk in stream.chunks():
        j = busiest - chunk.first
        if 0 <= j < chunk.start.size - 1:
            joined[busiest] = True
            covered[chunk.item[chunk.start[j] : chunk.start[j + 1]]] = True
    for _ in range(PASSES):
        if not sum(grow_cover(joined, covered, chunk.first, chunk.start, chunk.item) for chunk in stream.chunks()):
            break
    return int(np.count_nonzero(covered))


def page(connection: Connection) -> str:
    """Return the page for people: the verdict first, then what is not decided."""
    stream = connection.stream
    late = 0 < stream.n_scored < stream.n_reviews
    state = [f"{stream.n_scored:,} of {counted(stream.n_reviews, 'review')} are in."] if late else []
    return "\n".join([*state, *opening(connection), "", *facts(stream, stream.n_scored)])


def opening(connection: Connection) -> list[str]:
    """Return the verdict and what is not decided, one line each."""
    n_items = connection.stream.n_items
    missing = connection.least_degrees_of_freedom
    papers = f"All {n_items:,} papers are" if n_items != 1 else "The one paper is"
    links = f"at least {counted(missing, 'link')} missing (degrees of freedom)"
    level = None if connection.level is None else level_named(connection.level)
    lines = [] if level is None else [f"{papers} {level.words} ({level.term})."]
    if level is None or not level.compares:
        pieces = (
            f"The {n_items:,} papers cannot all be compared: they fall into {connection.pieces:,} pieces without a "
            f"common reviewer (connected components); {links}."
        )
        lines.insert(0, pieces)
    elif missing:
        lines.append(f"If reviewers also stretch or compress the scale they are not: {links}.")
    lines.append(PRECISE)
    if connection.undecided:
        lines.append(
            f"Whether {listed(connection.undecided)} hold is not decided: that takes memory that grows with the "
            f"reviews. One group of {counted(connection.least_cover, 'paper')} is comparable for certain."
        )
    return lines
