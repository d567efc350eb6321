"""The table of reviews as plain Python: names and dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from reviewgraph.reviews import Reviews

#: A review: reviewer and item, by name.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Table:
    """Who reviews what, by name.

    Parameters
    ----------
    reviewers, items
        Names, in the order in which tables have them.
    score
        Of each review, in the direction in which it came; None where it is planned.
    lower_is_better
        Whether 1 is the best score.
    """

    reviewers: tuple[str, ...]
    items: tuple[str, ...]
    score: dict[Pair, float | None]
    lower_is_better: bool = False

    def rows(self) -> dict[str, set[str]]:
        """Return the items of each reviewer, of those without any, too."""
        rows: dict[str, set[str]] = {reviewer: set() for reviewer in self.reviewers}
        for reviewer, item in self.score:
            rows[reviewer].add(item)
        return rows

    def scored(self) -> Table:
        """Return the reviews that have scores, of the same reviewers and items."""
        return replace(self, score={pair: value for pair, value in self.score.items() if value is not None})

    def without(self, lost: Collection[Pair]) -> Table:
        """Return the table without some reviews."""
        return replace(self, score={pair: value for pair, value in self.score.items() if pair not in lost})

    def with_pairs(self, pairs: Iterable[Pair], *, scored: bool = False) -> Table:
        """Return the table with more reviews, planned ones, or ``scored`` unlike all others."""
        highest = max((abs(value) for value in self.score.values() if value is not None), default=0.0)
        added = [pair for pair in dict.fromkeys(pairs) if pair not in self.score]
        new = {pair: highest + place if scored else None for place, pair in enumerate(added, 1)}
        reviewers = dict.fromkeys([*self.reviewers, *(reviewer for reviewer, _ in new)])
        return replace(self, reviewers=tuple(reviewers), score={**self.score, **new})

    def loads(self) -> dict[str, int]:
        """Return how many reviews each reviewer has."""
        return _counts(self.reviewers, (reviewer for reviewer, _ in self.score))

    def reviews_of(self) -> dict[str, int]:
        """Return how many reviews each item has."""
        return _counts(self.items, (item for _, item in self.score))


def _counts(names: Iterable[str], seen: Iterable[str]) -> dict[str, int]:
    count = dict.fromkeys(names, 0)
    for name in seen:
        count[name] += 1
    return count


def table_of(reviews: Reviews) -> Table:
    """Return a table that was read, by name.

    >>> from reviewgraph import Reviews
    >>> table_of(Reviews.from_pairs([("ann", 1, 2.0), ("bob", 1)])).score
    {('ann', '1'): 2.0, ('bob', '1'): None}
    """
    reviewers, items = (tuple(map(str, labels)) for labels in (reviews.reviewers, reviews.items))
    scores = zip(reviews.printed(reviews.score).tolist(), reviews.scored.tolist(), strict=True)
    pairs = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    score = {
        (reviewers[j], items[i]): value if scored else None
        for (j, i), (value, scored) in zip(pairs, scores, strict=True)
    }
    return Table(reviewers, items, score, reviews.lower_is_better)
