"""The check of a table in parts: components exactly, and levels that counts and a growing cover decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted
from reviewgraph.graph.kernels.union_find import grow_cover, point_at_roots, union_chunk, union_ends
from reviewgraph.graph.levels import LEVELS, NAMES, Connected, Double, LevelName, Recoverable, level_named
from reviewgraph.parts.parts import ROWS, Part, PartedReviews, Parts, Vectors, joined

#: Maximum passes in which the cover of the busiest reviewer grows.
PASSES = 30


class Pieces(NamedTuple):
    """Connected components, numbered from 1: most items first, then most reviewers, then the first reviewer.

    ``reviewer`` (M,), ``item`` (N,): the number of each, 0 for a reviewer without a review; ``items``, ``reviewers``
    (C,): how many each has.
    """

    reviewer: IntArray
    item: IntArray
    items: IntArray
    reviewers: IntArray


def pieces_of(parts: Parts) -> Pieces:
    """Return the connected components: a forest of the items of each part, and the union of all."""
    N = parts.n_items
    root = np.arange(N)
    for items, (forest,), _ in parts.each(_forest, (np.zeros(N, np.bool_),)):
        joined = np.flatnonzero(forest != np.arange(forest.size))
        if isinstance(items, slice):
            union_ends(root, joined, forest[joined].astype(np.int64))
        else:
            union_ends(root, items[joined].astype(np.int64), items[forest[joined]].astype(np.int64))
    point_at_roots(root)
    is_root = root == np.arange(N)
    piece = (np.cumsum(is_root) - 1)[root]
    _, of_parts = parts.map(_piece_of_reviewers, (piece,))
    of_reviewer = np.concatenate(of_parts)

    n = int(np.count_nonzero(is_root))
    busy = np.flatnonzero(of_reviewer >= 0)
    items = np.bincount(piece, minlength=n)
    reviewers = np.bincount(of_reviewer[busy], minlength=n)
    first = np.full(n, of_reviewer.size)
    first[of_reviewer[busy[::-1]]] = busy[::-1]
    order = np.lexsort((np.arange(n), first, -reviewers, -items))
    number = np.zeros(n + 1, np.int64)  # the last is that of reviewers without a review
    number[order] = np.arange(1, n + 1)
    return Pieces(number[of_reviewer], number[piece], items[order], reviewers[order])


def _forest(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    """Return of each item the smallest one that the reviewers of a part connect with it."""
    n = vectors[0].size
    parent = np.arange(n + part.start.size - 1, dtype=np.uint32)
    union_chunk(parent, n, part.start, 0, part.item)
    point_at_roots(parent)
    return (parent[:n],), None


def _piece_of_reviewers(part: Part, vectors: Vectors) -> tuple[Vectors, IntArray]:
    """Return the piece of each reviewer, -1 for those without a review."""
    [piece] = vectors
    of_reviewer = np.full(part.start.size - 1, -1)
    busy = np.flatnonzero(part.load)
    of_reviewer[busy] = piece[part.item[part.start[busy]]]
    return (), of_reviewer


def least_missing(pieces: Pieces, load: IntArray) -> int:
    """Return a lower bound on the degrees of freedom, by counting in each component.

    A component of n items and m reviewers of two or more reviews has n + 2m unknowns; each of their reviews determines
    at most one, and all together at most all but two.
    """
    linking = load >= 2
    home = pieces.reviewer[linking] - 1
    n = pieces.items.size
    unknown = pieces.items + 2 * np.bincount(home, minlength=n)
    reviews = np.bincount(home, load[linking], n).astype(np.int64)
    rank = np.minimum(reviews, np.maximum(unknown - 2, 0))
    return int((unknown - rank).sum()) - min(int(pieces.items.sum()), 2)


def cover_of_busiest(parts: Parts, load: IntArray) -> int:
    """Return the size of the doubly connected cover that grows from the busiest reviewer, or of a part of it."""
    (covered,), _ = parts.map(_begin, (np.zeros(parts.n_items, np.bool_),), int(np.argmax(load)))
    for _ in range(PASSES):
        (grown,), _ = parts.map(_grow, (covered,))
        if np.array_equal(grown, covered):
            break
        covered = grown
    return int(np.count_nonzero(covered))


def _begin(part: Part, vectors: Vectors, busiest: int) -> tuple[Vectors, None]:
    """Cover the items of the busiest reviewer."""
    covered = np.zeros(vectors[0].size, np.bool_)
    place = busiest - part.first
    if 0 <= place < part.load.size:
        covered[part.item[part.start[place] : part.start[place + 1]]] = True
    return (covered,), None


def _grow(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    """Add the items of all reviewers of a part who share two items with the cover."""
    covered = vectors[0].copy()
    grow_cover(covered, part.start, part.item)
    return (covered,), None


@dataclass(frozen=True, eq=False, repr=False)
class Connection(Result):
    """The check of a table in parts, see :func:`reviewgraph.check`.

    Parameters
    ----------
    reviews
        The table.
    labels, item_labels
        Shapes (M,) and (N,): the piece (connected component) of each reviewer and item, numbered from 1: most items
        first, then most reviewers, then the one whose first reviewer comes first.
    sizes
        Shape (C, 2): items and reviewers of each piece.
    least_cover
        Items of one doubly connected component; the largest may have more.
    least_degrees_of_freedom
        Missing links by counting; there may be more.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`.
    """

    reviews: PartedReviews = field(repr=False)
    labels: IntArray
    item_labels: IntArray
    sizes: IntArray
    least_cover: int
    least_degrees_of_freedom: int

    _paged_by: ClassVar[str] = "reviewgraph.report.check:page_of_parts"

    @property
    def pieces(self) -> int:
        """Number of connected components."""
        return len(self.sizes)

    @cached_property
    def known(self) -> dict[str, bool | None]:
        """Whether each level holds, by name, the strongest first; None if it is not decided."""
        covered = self.least_cover == self.reviews.n_items
        missing = self.least_degrees_of_freedom
        decided = [level.decided(pieces=self.pieces, missing=missing, covered=covered) for level in LEVELS]
        # Each level implies those after it.
        levels: dict[str, bool | None] = {}
        for place, name in enumerate(NAMES):
            if any(decided[: place + 1]):
                levels[name] = True
            else:
                levels[name] = False if False in decided[place:] else None
        return levels

    @property
    def level(self) -> str | None:
        """The highest level that is known to hold, or none."""
        return next((name for name, holds in self.known.items() if holds), None)

    @property
    def undecided(self) -> list[str]:
        """The levels that are not decided."""
        return [name for name, holds in self.known.items() if holds is None]

    @property
    def recovery_resilient(self) -> bool | None:
        """Whether all items are comparable for certain; None if that is not decided."""
        return self.known[Double.name]

    @property
    def recoverable(self) -> bool | None:
        """Whether all items are comparable unless qualities line up by coincidence; None if that is not decided."""
        return self.known[Recoverable.name]

    @property
    def degrees_of_freedom(self) -> int | None:
        """Missing links; None if their number is not known."""
        return 0 if self.recoverable else None

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
        With the result of the example of :func:`reviewgraph.stream_reviews`, ``result.reaches("connected")`` is False.
        """
        asked = level_named(level)
        holds = self.known.get(asked.name, False if self.known[LEVELS[0].name] is False else None)
        if holds is None:
            raise InputError(
                f"require: whether the level {asked.name!r} holds is not decided for a table larger than memory; ask "
                f"for {Connected.name!r}, or check a table that fits into memory without --stream"
            )
        return holds

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a check, None for unknown values, with their lower bounds under ``at_least``."""
        reviews = self.reviews
        return {
            "reviewers": reviews.n_reviewers,
            "items": reviews.n_items,
            "reviews": reviews.n_reviews,
            "connected": {"components": self.pieces},
            "doubly_connected": None,
            "recovery_resilient": self.recovery_resilient,
            "recoverable": self.recoverable,
            "degrees_of_freedom": self.degrees_of_freedom,
            "level": self.level,
            "undecided": self.undecided,
            "at_least": {"largest_cover": self.least_cover, "degrees_of_freedom": self.least_degrees_of_freedom},
            **reviews.origin.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each reviewer and item: role, label, and group, its piece."""
        return joined(self.blocks())

    def blocks(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return :meth:`to_columns` in blocks of rows.

        Parameters
        ----------
        rows
            Most rows per block.

        Yields
        ------
        dict
            Columns role, label and group by name.

        Examples
        --------
        ``next(result.blocks(1000))`` are the first thousand rows.
        """
        sides = ("reviewer", self.reviews.reviewers, self.labels), ("item", self.reviews.items, self.item_labels)
        for role, labels, group in sides:
            for first in range(0, len(labels), rows):
                text = list(labels[first : first + rows])
                yield {"role": [role] * len(text), "label": text, "group": group[first : first + rows].tolist()}

    def headline(self) -> str:
        """Return the level, and what is missing."""
        return f"{counted(self.reviews.n_items, 'item')}, {self.level or f'{self.pieces:,} pieces'}"


def check_parts(reviews: PartedReviews) -> Connection:
    """Check a table in parts: the pieces exactly, and bounds for the levels above.

    Doubly connected components and degrees of freedom take memory that grows with the reviews; here both have bounds,
    one by counting, one by a growing cover. The cover of the busiest reviewer grows pass by pass by all reviewers who
    share two items with it: if it covers all items, all are comparable for certain. Takes near-linear time, and about
    30 bytes per reviewer and item.
    """
    parts = reviews.parts
    load = reviews.loads
    pieces = pieces_of(parts)
    missing = least_missing(pieces, load)
    # A cover of all items needs one piece and no missing link.
    cover = int(load.max(initial=0))
    if pieces.items.size == 1 and not missing:
        cover = cover_of_busiest(parts, load)
    sizes = np.column_stack([pieces.items, pieces.reviewers])
    return Connection(reviews, pieces.reviewer, pieces.item, sizes, cover, missing)
