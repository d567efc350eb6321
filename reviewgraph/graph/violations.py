"""What an assignment breaks of a chair's rules: conflicts, loads, and the reviews that papers need."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arguments import NUMBER, refuse
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import LISTED, counted, listed
from reviewgraph.formats.columns import ITEM, REVIEWER
from reviewgraph.formats.side_reading import DEMAND, LOAD
from reviewgraph.io.matching import match_labels, match_pairs
from reviewgraph.io.sides import by_label, pairs_of
from reviewgraph.table.reviews import as_reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph._base.arrays import IntArray
    from reviewgraph._base.labels import Label
    from reviewgraph.io.sides import Pairs, Valued
    from reviewgraph.table.reviews import Reviews, ReviewsLike


#: A load or a demand that is not limited.
NO_LIMIT = -1
#: More than anybody can read: what a larger number means.
MOST = 1 << 40


class Violated(NamedTuple):
    """A reviewer or paper with other than the reviews allowed: how many, and the limit."""

    label: Label
    reviews: int
    limit: int


@dataclass(frozen=True)
class Violations:
    """What an assignment breaks; None stands for what was not asked."""

    conflicts: tuple[tuple[Label, Label], ...] | None = None  # Reviews that are conflicts, as (reviewer, item)
    over_load: tuple[Violated, ...] | None = None  # Reviewers with more reviews than their load
    short: tuple[Violated, ...] | None = None  # Items with fewer reviews than they need

    def to_dict(self) -> dict[str, Any]:
        """Return lists of objects, null for what was not asked."""
        return {
            "conflicts": None
            if self.conflicts is None
            else [{"reviewer": reviewer, "item": item} for reviewer, item in self.conflicts],
            "over_load": _objects(self.over_load, "reviewer", "load"),
            "short": _objects(self.short, "item", "demand"),
        }

    def sentences(self, later: str = "") -> list[str]:
        """Say for each of the rules that is broken how often, without the point; ``later`` follows what is missing."""
        found = []
        if self.conflicts:
            found.append(counted(len(self.conflicts), "review is a conflict", "reviews are conflicts"))
        if self.over_load:
            who = counted(len(self.over_load), "reviewer is above their load", "reviewers are above their load")
            found.append(f"{who}, by {counted(_beyond(self.over_load), 'review')}")
        if self.short:
            what = counted(len(self.short), "paper is short of its demand", "papers are short of their demand")
            found.append(f"{what}, by {counted(_beyond(self.short), 'review')}{later}")
        return found

    def lines(self) -> list[str]:
        """Say for each of the rules how many break it, and which first: those that break it most."""
        lines = []
        if self.conflicts is not None:
            pairs = [f"{reviewer} on {item}" for reviewer, item in self.conflicts[: LISTED + 1]]
            lines.append(f"Conflicts violated: {_some(len(self.conflicts), pairs)}")
        if self.over_load is not None:
            named = told(self.over_load)
            lines.append(f"Reviewers above their load: {_some(len(named), named, _beyond(self.over_load))}")
        if self.short is not None:
            named = told(self.short)
            lines.append(f"Papers short of their demand: {_some(len(named), named, _beyond(self.short))}")
        return lines


def _objects(found: Sequence[Violated] | None, role: str, limit: str) -> list[dict[str, Any]] | None:
    return found if found is None else [{role: one.label, "reviews": one.reviews, limit: one.limit} for one in found]


def told(found: Sequence[Violated]) -> list[str]:
    """Return each as words, those farthest from their limit first.

    >>> told([Violated("p1", 2, 3), Violated("p2", 0, 3)])
    ['p2 has 0 of 3', 'p1 has 2 of 3']
    """
    return [f"{one.label} has {one.reviews} of {one.limit}" for one in sorted(found, key=_nearness)]


def _nearness(one: Violated) -> int:
    return -abs(one.reviews - one.limit)


def _beyond(found: Sequence[Violated]) -> int:
    return sum(abs(one.reviews - one.limit) for one in found)


def _some(count: int, named: Sequence[str], reviews: int | None = None) -> str:
    by = "" if reviews is None else f", by {counted(reviews, 'review')}"
    return f"{count:,}{by} ({listed(named)})" if count else "none"


def violations_of(
    reviews: ReviewsLike,
    conflicts: Pairs | None = None,
    load: int | Valued | None = None,
    demand: int | Valued | None = None,
) -> Violations:
    """Return what reviews break of conflicts, loads and demands.

    >>> from reviewgraph import Reviews
    >>> found = violations_of(Reviews.from_pairs([("ann", 1), ("ann", 2)]), conflicts=[("ann", 2)], load=1, demand=2)
    >>> found.conflicts, found.over_load[0].limit, len(found.short)
    ((('ann', 2),), 1, 2)
    """
    reviews = as_reviews(reviews)
    return Violations(
        None if conflicts is None else _violated(reviews, conflicts),
        None if load is None else _over(reviews, _limits(load, "load", reviews)),
        None if demand is None else _under(reviews, _limits(demand, "demand", reviews)),
    )


def _violated(reviews: Reviews, conflicts: Pairs) -> tuple[tuple[Label, Label], ...]:
    N = reviews.n_items
    pairs = pairs_of(conflicts, "conflicts", reviews.spellings())
    reviewer, item = match_pairs(pairs, reviews.reviewers, reviews.items, "conflicts")
    barred = (reviewer * N + item)[(reviewer >= 0) & (item >= 0)]
    found = np.flatnonzero(np.isin(reviews.reviewer * N + reviews.item, barred)).tolist()
    return tuple((reviews.reviewers[int(reviews.reviewer[e])], reviews.items[int(reviews.item[e])]) for e in found)


def _limits(given: int | Valued, name: str, reviews: Reviews) -> IntArray:
    labels, others = reviews.reviewers, reviews.items
    if name == "demand":
        labels, others = others, labels
    if isinstance(given, Real):
        return np.minimum(np.full(len(labels), given, np.float64), MOST).astype(np.int64)
    label, column = (REVIEWER, LOAD) if name == "load" else (ITEM, DEMAND)
    stated = by_label(given, name, label, column.role, reviews.spellings())
    code = match_labels(list(stated), labels, name, "reviewer" if name == "load" else "paper", other=others)
    limit = np.full(len(labels), NO_LIMIT, np.int64)
    for place, (who, number) in zip(code.tolist(), stated.items(), strict=True):
        if number is not None:
            if number != number:
                message = f"{name}: expected a number for {who!r}, found {number!r}"
                raise InputError(message)
            refuse(f"{name} of {who!r}", number, [NUMBER])
            limit[place] = int(min(number, MOST)) if place >= 0 else limit[place]
    return limit


def _over(reviews: Reviews, limit: IntArray) -> tuple[Violated, ...]:
    found = np.flatnonzero((limit != NO_LIMIT) & (reviews.loads > limit)).tolist()
    return tuple(Violated(reviews.reviewers[j], int(reviews.loads[j]), int(limit[j])) for j in found)


def _under(reviews: Reviews, limit: IntArray) -> tuple[Violated, ...]:
    found = np.flatnonzero(reviews.reviews_per_item < limit).tolist()
    return tuple(Violated(reviews.items[i], int(reviews.reviews_per_item[i]), int(limit[i])) for i in found)
