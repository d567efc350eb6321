"""The reviewers and reviews whose loss lowers a level, one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.arguments import checked
from reviewgraph.framed import as_reviews
from reviewgraph.levels import LEVELS
from reviewgraph.naming import named
from reviewgraph.results import Result
from reviewgraph.structure import structure_of
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.framed import ReviewsLike
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level
    from reviewgraph.reviews import Reviews


class Finder(NamedTuple):
    """Whether a table is at a level, and the codes of reviewers and rows of reviews whose loss lowers it."""

    holds: Callable[..., bool]
    critical_reviewers: Callable[..., IntArray]
    critical_reviews: Callable[..., IntArray]


class OneByOne:
    """The finder of a level that has none of its own: its test without each reviewer, and without each review."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def holds(self, reviews: Reviews) -> bool:
        """Whether a table is at the level."""
        return self.level.holds(structure_of(reviews))

    def critical_reviewers(self, reviews: Reviews) -> IntArray:
        """Return the reviewers without whom it is not; the level holds."""
        return self._critical(reviews, reviews.reviewer, np.flatnonzero(reviews.loads))

    def critical_reviews(self, reviews: Reviews) -> IntArray:
        """Return the reviews without which it is not; the level holds."""
        every = np.arange(reviews.n_reviews)
        return self._critical(reviews, every, every)

    def _critical(self, reviews: Reviews, owner: IntArray, losses: IntArray) -> IntArray:
        lowering = [loss for loss in losses.tolist() if not self.holds(reviews.subset(owner != loss))]
        return np.array(lowering, np.int64)


def finder_of(level: Level) -> Any:
    """Return what finds the losses that lower a level: its own, or a trial of each loss."""
    return level.part("finder") or OneByOne(level)


@dataclass(frozen=True, eq=False, repr=False)
class Fragile(Result):
    """Whose loss lowers a level, see :func:`fragile`.

    Parameters
    ----------
    level
        The name of the level.
    holds
        Whether it holds at all; where it does not, no loss lowers it, and the two below are empty.
    reviewers
        Codes of the reviewers without any one of whom, and her reviews, it does not hold, ascending.
    reviews
        Rows of the reviews without any one of which it does not hold, ascending.
    table
        The reviews.
    """

    level: str
    holds: bool
    reviewers: IntArray
    reviews: IntArray
    table: Reviews = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the labels as the command's ``--json`` prints them."""
        columns = self.to_columns()
        pairs = zip(columns["reviewer"], columns["item"], strict=True)
        return {
            "level": self.level,
            "holds": self.holds,
            "reviewers": [self.table.reviewers[code] for code in self.reviewers.tolist()],
            "reviews": [{"reviewer": reviewer, "item": item} for reviewer, item in pairs],
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row a fragile review."""
        reviewers, items = self.table.reviewer[self.reviews].tolist(), self.table.item[self.reviews].tolist()
        return {
            "reviewer": [self.table.reviewers[code] for code in reviewers],
            "item": [self.table.items[code] for code in items],
        }

    def headline(self) -> str:
        """Return how many there are."""
        if not self.holds:
            return f"{self.level} does not hold"
        losses = counted(self.reviewers.size, "reviewer"), counted(self.reviews.size, "review")
        return f"{self.level} falls with any of {' and any of '.join(losses)}"


@checked
def fragile(reviews: ReviewsLike, level: str = "double") -> Fragile:
    """Return every reviewer and every review whose loss lowers a level: it does not hold for all items any more.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count.
    level
        ``"double"`` (default), ``"recoverable"`` or ``"connected"``.

    Raises
    ------
    InputError
        If no such level bears the name.

    Notes
    -----
    Exact at all levels. Linear time at ``connected``, near-linear at ``recoverable`` on the tables measured; at
    ``double`` O(E log E) and O(c E) joins at worst, c being the losses that certificates do not clear: measured times
    rise up to fourfold where reviews double.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> reviews = Reviews.from_pairs([(name, paper) for name in ("ann", "bob", "cleo") for paper in (1, 2, 4)])
    >>> fragile(reviews)
    <Fragile: double falls with any of 0 reviewers and any of 0 reviews>
    >>> fragile(reviews.with_pairs([("ann", 3)])).to_dict()["reviews"]
    [{'reviewer': 'ann', 'item': 3}]
    """
    reviews = as_reviews(reviews)
    finder = finder_of(named(LEVELS, level, "level"))
    holds = bool(finder.holds(reviews))

    nobody = np.empty(0, np.int64)
    if not holds:
        return Fragile(level, holds, nobody, nobody, reviews)
    return Fragile(level, holds, finder.critical_reviewers(reviews), finder.critical_reviews(reviews), reviews)
