"""What estimates of tables in parts have in common: on disk, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.estimate import Estimate
from lsc.evidence.support import numbered
from lsc.selection import Selection
from reviewgraph._base import BoolArray, FloatArray, IntArray, csv_parts, write_whole
from reviewgraph.formats import parquet_parts
from reviewgraph.graph import pieces_of
from reviewgraph.parts import ROWS, Part, PartedReviews, Parts, TooLarge, Vectors, joined

if TYPE_CHECKING:
    import os


def _refuse(result: object) -> Any:
    raise TooLarge(
        "reviews: this takes all of them at once, and the table is in parts; expected one that fits into memory "
        "(read_reviews), or what is known of items and reviewers alone"
    )


#: What takes all reviews at once, in the place of an attribute or a method of a result.
AT_ONCE: Any = property(_refuse)


@dataclass(frozen=True, eq=False, repr=False)
class InParts(Estimate):
    """What all estimates of tables in parts have: averages and groups are known, columns come in blocks.

    Parameters
    ----------
    average, group
        As those of every estimate.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`.
    """

    _in_parts = True
    reviews: PartedReviews  # type: ignore[assignment]
    average: FloatArray = ...  # type: ignore[assignment]
    group: IntArray = ...  # type: ignore[assignment]

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the keys of every estimate, and of a selection; ``items`` is None, since there may be too many."""
        keys = ("method", "status", "hypothesis", "objective", "unique", "items")
        record: dict[str, Any] = {"selected": [], "set_aside": [], **dict.fromkeys(keys)}
        record |= {"method": self.method, "status": self.status.value}
        return {**record, **self.reviews.origin.to_dict(), **({} if selection is None else selection.to_dict())}

    def blocks(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of the result, and of a selection, in blocks of some rows."""
        of_selection: dict[str, list[Any]] = {}
        if selection is not None:
            of_selection = {"probability": selection.chance.tolist(), "list": selection.lists}
        for first in range(0, self.reviews.n_items, rows):
            some = slice(first, first + rows)
            yield {**self._columns(some), **{name: column[some] for name, column in of_selection.items()}}

    def to_columns(self, selection: Selection | None = None) -> dict[str, list[Any]]:
        """Return all :meth:`blocks` at once."""
        return joined(self.blocks(selection=selection))

    def save(self, path: str | os.PathLike[str], selection: Selection | None = None) -> None:
        """Write a row per item, in blocks: Parquet if the name ends in ``.parquet``; JSON and HTML; else CSV."""
        if str(path).endswith((".json", ".html")):
            super().save(path)
            return
        blocks = self.blocks(selection=selection)
        kinds = {"item": "VARCHAR", "list": "VARCHAR", "rank": "BIGINT", "group": "BIGINT"}
        write_whole(path, parquet_parts(blocks, kinds) if str(path).endswith(".parquet") else csv_parts(blocks))


def totals_of(scored: Parts) -> tuple[FloatArray, FloatArray]:
    """Return number and sum of the scores of each item, shapes (N,)."""
    (count, total), _ = scored.map(_totals, (np.zeros(scored.n_items),))
    return count, total


def scored_groups(scored: Parts) -> tuple[IntArray, BoolArray]:
    """Return the component of each item, and whether a reviewer of each component has two scores or more.

    Components are numbered as by :func:`lsc.evidence.support.groups_of`.
    """
    pieces = pieces_of(scored)
    group = numbered(pieces.item)
    number = np.zeros(pieces.items.size + 1, np.int64)
    number[pieces.item] = group
    _, several = scored.map(_several)
    linked = np.zeros(pieces.items.size, np.bool_)
    linked[number[pieces.reviewer[np.concatenate(several)]] - 1] = True
    return group, linked


def _totals(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    n = vectors[0].size
    return (np.bincount(part.item, np.ones(part.item.size), n), np.bincount(part.item, part.score, n)), None


def _several(part: Part, _: Vectors) -> tuple[Vectors, BoolArray]:
    return (), part.load > 1
