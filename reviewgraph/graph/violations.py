"""Violations of an assignment: conflicts, reviewers above their load, papers short of their demand."""

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


#: The absence of a load or demand.
NO_LIMIT = -1
#: Larger loads and demands are cut to this one.
MOST = 1 << 40


class Violated(NamedTuple):
    """A reviewer or paper, the number of its reviews, and the limit that this number violates."""

    label: Label
    reviews: int
    limit: int


@dataclass(frozen=True)
class Violations:
    """Violations of an assignment; None where a rule was not passed."""

    conflicts: tuple[tuple[Label, Label], ...] | None = None  # Reviews that are conflicts, as (reviewer, item)
    over_load: tuple[Violated, ...] | None = None  # Reviewers with more reviews than their load
    short: tuple[Violated, ...] | None = None  # Items with fewer reviews than they need

    def to_dict(self) -> dict[str, Any]:
        """Return lists of objects, null where a rule was not passed."""

        def objects(violated: Sequence[Violated] | None, role: str, limit: str) -> list[dict[str, Any]] | None:
            if violated is None:
                return None
            return [{role: one.label, "reviews": one.reviews, limit: one.limit} for one in violated]

        pairs = self.conflicts
        return {
            "conflicts": None if pairs is None else [{"reviewer": who, "item": what} for who, what in pairs],
            "over_load": objects(self.over_load, "reviewer", "load"),
            "short": objects(self.short, "item", "demand"),
        }

    def sentences(self, later: str = "") -> list[str]:
        """Return a count for each rule that is violated, without full stop; ``later`` follows missing reviews."""
        sentences = []
        if self.conflicts:
            sentences.append(counted(len(self.conflicts), "review is a conflict", "reviews are conflicts"))
        if self.over_load:
            who = counted(len(self.over_load), "reviewer is above their load", "reviewers are above their load")
            sentences.append(f"{who}, by {counted(_excess(self.over_load), 'review')}")
        if self.short:
            what = counted(len(self.short), "paper is short of its demand", "papers are short of their demand")
            sentences.append(f"{what}, by {counted(_excess(self.short), 'review')}{later}")
        return sentences

    def lines(self) -> list[str]:
        """Return a count for each rule, and the largest violations."""
        lines = []
        if self.conflicts is not None:
            pairs = [f"{reviewer} on {item}" for reviewer, item in self.conflicts[: LISTED + 1]]
            lines.append(f"Conflicts violated: {f'{len(self.conflicts):,} ({listed(pairs)})' if pairs else 'none'}")
        for heading, violated in (
            ("Reviewers above their load", self.over_load),
            ("Papers short of their demand", self.short),
        ):
            if violated:
                by = counted(_excess(violated), "review")
                lines.append(f"{heading}: {len(violated):,}, by {by} ({listed(told(violated))})")
            elif violated is not None:
                lines.append(f"{heading}: none")
        return lines


def told(violated: Sequence[Violated]) -> list[str]:
    """Return each in words, those farthest from their limit first.

    >>> told([Violated("p1", 2, 3), Violated("p2", 0, 3)])
    ['p2 has 0 of 3', 'p1 has 2 of 3']
    """
    farthest_first = sorted(violated, key=lambda one: -abs(one.reviews - one.limit))
    return [f"{one.label} has {one.reviews} of {one.limit}" for one in farthest_first]


def _excess(violated: Sequence[Violated]) -> int:
    return sum(abs(one.reviews - one.limit) for one in violated)


def violations_of(
    reviews: ReviewsLike,
    conflicts: Pairs | None = None,
    load: int | Valued | None = None,
    demand: int | Valued | None = None,
) -> Violations:
    """Return the violations of conflicts (pairs), loads and demands (one number, or one per reviewer or item).

    Labels that the reviews do not have are warned of, and refused where none matches.

    >>> from reviewgraph import Reviews
    >>> found = violations_of(Reviews.from_pairs([("ann", 1), ("ann", 2)]), conflicts=[("ann", 2)], load=1, demand=2)
    >>> found.conflicts, found.over_load[0].limit, len(found.short)
    ((('ann', 2),), 1, 2)
    """
    reviews = as_reviews(reviews)
    people, papers, N = reviews.reviewers, reviews.items, reviews.n_items
    barred = over_load = short = None
    if conflicts is not None:
        pairs = pairs_of(conflicts, "conflicts", reviews.spellings())
        reviewer, item = match_pairs(pairs, people, papers, "conflicts")
        keys = (reviewer * N + item)[(reviewer >= 0) & (item >= 0)]
        rows = np.flatnonzero(np.isin(reviews.reviewer * N + reviews.item, keys)).tolist()
        barred = tuple((people[int(reviews.reviewer[row])], papers[int(reviews.item[row])]) for row in rows)
    if load is not None:
        limit, loads = _limits(load, "load", reviews), reviews.loads
        codes = np.flatnonzero((limit != NO_LIMIT) & (loads > limit)).tolist()
        over_load = tuple(Violated(people[code], int(loads[code]), int(limit[code])) for code in codes)
    if demand is not None:
        limit, counts = _limits(demand, "demand", reviews), reviews.reviews_per_item
        codes = np.flatnonzero(counts < limit).tolist()
        short = tuple(Violated(papers[code], int(counts[code]), int(limit[code])) for code in codes)
    return Violations(barred, over_load, short)


def _limits(given: int | Valued, name: str, reviews: Reviews) -> IntArray:
    """Return the limit of each reviewer (``load``) or item (``demand``)."""
    labels, others, label, value, role = reviews.reviewers, reviews.items, REVIEWER, LOAD.role, "reviewer"
    if name == "demand":
        labels, others, label, value, role = others, labels, ITEM, DEMAND.role, "paper"
    if isinstance(given, Real):
        return np.minimum(np.full(len(labels), given, np.float64), MOST).astype(np.int64)
    limits = by_label(given, name, label, value, reviews.spellings())
    code = match_labels(list(limits), labels, name, role, other=others)
    limit = np.full(len(labels), NO_LIMIT, np.int64)
    for place, (who, number) in zip(code.tolist(), limits.items(), strict=True):
        if number is not None:
            if number != number:
                message = f"{name}: expected a number for {who!r}, found {number!r}"
                raise InputError(message)
            refuse(f"{name} of {who!r}", number, [NUMBER])
            if place >= 0:
                limit[place] = int(min(number, MOST))
    return limit
