"""What every way in returns: reviews as codes and labels, not yet checked, sorted or freed of repeated pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.labels import Label
from reviewgraph.words import counted


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a source in its own order, read by a format and made a table by :meth:`Reviews.from_columns`.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,), in any order; a pair may stand twice.
    reviewers, items
        Their labels, shapes (M,) and (N,).
    score
        Shape (E,), as they came; None where the source has no scores.
    scored
        Shape (E,): which rows have a score; by default all of them, where there are scores.
    titles
        Title by the label of an item, where known; none by default.
    lower_is_better
        1 is the best score; false by default.
    row_name
        Says where row number r (from 0) came from, for messages; by default "row r".
    """

    reviewer: IntArray
    item: IntArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    score: FloatArray | None = None
    scored: BoolArray | None = None
    titles: Mapping[Label, str] = field(default_factory=dict)
    lower_is_better: bool = False
    row_name: Callable[[int], str] = "row {}".format

    def __repr__(self) -> str:
        sizes = (len(self.reviewers), "reviewer"), (len(self.items), "item"), (self.reviewer.size, "row")
        return f"<Columns: {', '.join(counted(size, noun) for size, noun in sizes)}>"
