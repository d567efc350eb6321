"""A table in parts: its labels and sizes; the reviews are on disk or on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import UNKNOWN, Origin
from reviewgraph.parts.parts import Part, Parts, Vectors
from reviewgraph.table.reviews import ReviewTable

#: Rows converted to text at once.
ROWS = 1 << 18


def joined(blocks: Iterable[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns of all blocks of rows.

    >>> joined([{"item": ["p1"]}, {"item": ["p2"]}])
    {'item': ['p1', 'p2']}
    """
    columns: dict[str, list[Any]] = {}
    for block in blocks:
        for name, values in block.items():
            columns.setdefault(name, []).extend(values)
    return columns


class TooLarge(InputError, AttributeError):
    """What is asked for takes all reviews of a table at once, which is in parts."""


@dataclass(frozen=True, eq=False, repr=False)
class PartedReviews(ReviewTable):
    """Reviews in parts, from ``stream_reviews`` or ``cluster_reviews`` and open within its ``with`` only.

    Parameters
    ----------
    reviewers, items
        Labels in the order of the codes.
    parts
        The reviews, a :class:`~reviewgraph.parts.parts.Part` each.
    loads, reviews_per_item
        Shapes (M,) and (N,): numbers of reviews.
    n_scored
        Number of reviews with a score.
    lower_is_better
        The scores came with 1 as the best and were negated on the way in.
    origin
        What is known of the source: the files that were read.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`, which opens it.
    """

    reviewers: Sequence[Any]
    items: Sequence[Any]
    parts: Parts = field(repr=False)
    loads: IntArray
    reviews_per_item: IntArray
    n_scored: int
    lower_is_better: bool = False
    origin: Origin = UNKNOWN

    def __repr__(self) -> str:
        sizes = (self.n_reviewers, "reviewer"), (self.n_items, "item"), (self.n_reviews, "review")
        return f"<PartedReviews: {', '.join(counted(size, noun) for size, noun in sizes)}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        message = (
            f"reviews: {name!r} takes all reviews at once, and this table is in parts; expected what check, posterior "
            "and calibrate answer for it, or a table that fits into memory (read_reviews)"
        )
        raise TooLarge(message)

    @property
    def n_reviews(self) -> int:
        """Number of reviews."""
        return int(self.loads.sum())


def opened(
    reviewers: Sequence[Any], items: Sequence[Any], parts: Parts, *, lower_is_better: bool, origin: Origin = UNKNOWN
) -> PartedReviews:
    """Return a table, whose parts are counted."""
    (per_item,), results = parts.map(_sizes, (np.zeros(parts.n_items, np.int64),))
    loads, scored = zip(*results, strict=True)
    return PartedReviews(reviewers, items, parts, np.concatenate(loads), per_item, sum(scored), lower_is_better, origin)


def _sizes(part: Part, vectors: Vectors) -> tuple[Vectors, tuple[IntArray, int]]:
    per_item = np.bincount(part.item, minlength=vectors[0].size)
    return (per_item,), (part.load, int(np.count_nonzero(~np.isnan(part.score))))
