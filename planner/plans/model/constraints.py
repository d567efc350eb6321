"""What a plan of extra reviews must respect, by code: conflicts, spare loads, limits, fixed pairs, costs and people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.plans.model.people import UNLIMITED, People, people
from planner.plans.model.prices import Prices, prices
from planner.plans.model.tables import as_pairs, with_extra, with_reviewers
from reviewgraph.arrays import distinct, occurs
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import REVIEWER
from reviewgraph.formats.side.reading import SPARE, WILLING
from reviewgraph.rules import Rules
from reviewgraph.sides.given import by_label, labels_of, pairs_of
from reviewgraph.sides.leaving import gone_of, without_gone
from reviewgraph.sides.matching import codes_among, match_labels, match_pairs

if TYPE_CHECKING:
    from planner.plans.model.people import Waived
    from planner.plans.model.places import Places
    from reviewgraph.columns import Columns
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews
    from reviewgraph.sides.given import Numbered

#: The rules that a plan keeps to; rewards are refused in words of their own.
HEEDED = (
    "conflicts", "fixed", "gone", "capacity", "spare", "min_reviews", "max_per_item", "willing", "institutions",
    "senior", "attributes", "at_most", "at_least", "rewards",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Constraints:
    """Reviews, and who may read what beyond them.

    Parameters
    ----------
    reviews
        The table, with emergency reviewers (reviewers of no review) added.
    spare
        Shape (M,): extra reviews each reviewer may be given.
    room
        Shape (N,): extra reviews each item may be given.
    conflicts
        Shape (C,): the pairs that may not be, as ``reviewer * N + item``, ascending.
    fixed
        Shape (F, 2): extra reviews (reviewer, item) that must be in the plan.
    cost
        What pairs cost, by ``reviewer * N + item``; 1 by default.
    people
        Rules on who reviews an item together, and the reviews that every item must have.
    """

    reviews: Reviews
    spare: IntArray
    room: IntArray
    conflicts: IntArray
    fixed: IntArray
    cost: Prices = field(default_factory=Prices)
    people: People = field(default_factory=People)

    def with_fixed(self, pairs: IntArray) -> Constraints:
        """Return the same with more pairs fixed."""
        return replace(self, fixed=np.concatenate([self.fixed, pairs]))

    def without_needs(self) -> Constraints:
        """Return the same where no item need have anything but the level."""
        return replace(self, people=self.people.without_needs())

    def waiving(self, waived: Waived) -> Constraints:
        """Return the same where items do without some of what they must have."""
        return replace(self, people=replace(self.people, waived=waived))

    def without_fixed(self) -> Constraints:
        """Return the same with no pair fixed."""
        return replace(self, fixed=self.fixed[:0])

    def cost_of(self, reviewer: int, item: int) -> float:
        """Cost of a pair."""
        return self.cost.cost_of(reviewer * self.reviews.n_items + item)

    def affinity_of(self, reviewer: int, item: int) -> float | None:
        """Affinity of a pair, 0 where it has none; None where no affinities were given."""
        return self.cost.affinity_of(reviewer * self.reviews.n_items + item)

    @cached_property
    def places(self) -> Places:
        """Places that panel groups have left on items after the fixed reviews."""
        return self.people.places(with_extra(self.reviews, self.fixed), self.spare > 0)

    @cached_property
    def barred_start(self) -> IntArray:
        """Shape (M + 1,): reviewer j may not read the items ``barred[barred_start[j]:barred_start[j + 1]]``."""
        return np.searchsorted(
            self.barred_pairs, np.arange(self.reviews.n_reviewers + 1) * max(self.reviews.n_items, 1)
        ).astype(np.int64)

    @cached_property
    def barred(self) -> IntArray:
        """Items in conflict or read already, reviewer by reviewer, ascending."""
        return self.barred_pairs % max(self.reviews.n_items, 1)

    @cached_property
    def barred_pairs(self) -> IntArray:
        """Pairs in conflict or read already, as ``reviewer * N + item``, ascending."""
        own = self.reviews.reviewer * self.reviews.n_items + self.reviews.item
        return distinct(own, self.conflicts)

    def readable(self, reviewer: int) -> IntArray:
        """Items that a reviewer may be given, ascending, loads and limits of this moment included."""
        if self.spare[reviewer] <= 0:
            return np.empty(0, np.int64)
        free = self.room > 0
        free[self.barred[self.barred_start[reviewer] : self.barred_start[reviewer + 1]]] = False
        return np.flatnonzero(free)

    def may_read(self, reviewer: int, item: int) -> bool:
        """Whether a pair alone is allowed."""
        low, high = self.barred_start[reviewer], self.barred_start[reviewer + 1]
        place = low + np.searchsorted(self.barred[low:high], item)
        barred = place < high and self.barred[place] == item
        return bool(self.spare[reviewer] > 0 and self.room[item] > 0 and not barred)


def constrain(
    reviews: Reviews,
    rules: Rules | None = None,
    cost: Numbered | None = None,
    affinity: Numbered | None = None,
    min_affinity: float | None = None,
) -> Constraints:
    """Return rules, and prices given by label, as arrays.

    Unknown names in ``cost``, ``affinity`` and the rules are warned of; among fixed pairs they are refused. Fixed pairs
    that are reviews already are dropped; the others are held to conflicts, loads and limits, not to the floor, rules on
    panels and who is willing.

    Raises
    ------
    InputError
        If a number is not whole or negative, a cost or affinity is not finite, a fixed pair is unknown or in conflict,
        or labels do not match (:mod:`reviewgraph.sides.matching`); as :func:`~planner.plans.model.prices.prices` and
        :func:`~planner.plans.model.people.people`.
    """
    rules = rules or Rules()
    # Spare loads: of those who have one stated, and of the others.
    known, capacity, willing = reviews.spellings(), rules.capacity, rules.willing
    others = 0 if capacity is not None else UNLIMITED
    least = others if rules.spare is None else min(rules.spare, UNLIMITED)
    stated = by_label({} if capacity is None else capacity, "capacity", REVIEWER, SPARE.role, known)
    given = {label: _whole(load, f"capacity of reviewer {label!r}") for label, load in stated.items()}
    asked = None if willing is None else dict.fromkeys(labels_of(willing, "willing", REVIEWER, WILLING.role, known))
    # New names are emergency reviewers, but not those that are a reviewer's written otherwise.
    for name, labels in (("capacity", given), ("willing", asked or {})):
        match_labels(list(labels), reviews.reviewer_code, name, "reviewer", unknown="new")
    lost = gone_of(rules.gone, known)
    left = without_gone(reviews, lost)
    # Who has no review left is known all the same, and asked only if a file says so.
    away = [label for label in reviews.reviewers if label not in left.reviewer_code]
    table = with_reviewers(left, [*away, *(label for label in (*given, *(asked or ())) if label not in lost.reviewers)])
    N = table.n_items
    loads = np.full(table.n_reviewers, least, np.int64)
    # Nor are those who are not of the committee.
    unasked = [*away, *(label for label in table.origin.outsiders or () if label in table.reviewer_code)]
    loads[codes_among([label for label in unasked if label not in (asked or ())], table.reviewers)] = 0
    for label, load in given.items():
        if label in table.reviewer_code:
            loads[table.reviewer_code[label]] = min(load, UNLIMITED)
    loads[np.isin(np.arange(loads.size), codes_among(lost.reviewers, table.reviewers))] = 0
    # Limits, and pairs that may not be or must be.
    limit = UNLIMITED if rules.max_per_item is None else min(rules.max_per_item, UNLIMITED)
    closed = distinct(_closed(table, pairs_of(rules.conflicts or (), "conflicts", known)), lost.keys(table))
    kept = _fixed(table, pairs_of(rules.fixed or (), "fixed", known), closed)
    if asked is not None:
        loads = _of_willing(table, loads, asked, kept)
    worth = prices(table, cost, affinity, min_affinity)
    who = people(table, rules)
    # What the floor and rules bar is a conflict, but for pairs that were fixed all the same.
    barred = distinct(worth.barred(np.flatnonzero(loads > 0), N), who.beside(with_extra(table, kept)))
    barred = barred[~occurs(barred, np.sort(kept[:, 0] * N + kept[:, 1]))]
    return Constraints(table, loads, np.full(N, limit, np.int64), distinct(closed, barred), kept, worth, who)


def _of_willing(table: Reviews, loads: IntArray, asked: Mapping[Label, Any], fixed: IntArray) -> IntArray:
    """Return the loads of those who are willing; the others have as much as they accepted already."""
    willing = np.array([label in asked for label in table.reviewers], np.bool_)
    accepted = np.bincount(fixed[:, 0], minlength=loads.size)
    return np.where(willing, loads, np.minimum(loads, accepted))


def _closed(table: Reviews, pairs: Columns) -> IntArray:
    """Return the pairs in conflict that we know, as ``reviewer * N + item``, ascending."""
    reviewer, item = match_pairs(pairs, table.reviewer_code, table.item_code, "conflicts")
    return distinct((reviewer * table.n_items + item)[(reviewer >= 0) & (item >= 0)])


def _fixed(table: Reviews, pairs: Columns, closed: IntArray) -> IntArray:
    """Return the fixed pairs that are no reviews yet, shape (F, 2), in the order given."""
    reviewer, item = match_pairs(pairs, table.reviewer_code, table.item_code, "fixed", unknown="refused")
    clash = np.flatnonzero(occurs(reviewer * table.n_items + item, closed))
    if clash.size:
        names = table.reviewers[int(reviewer[clash[0]])], table.items[int(item[clash[0]])]
        message = (
            f"fixed: reviewer {names[0]!r} and item {names[1]!r} are fixed and in conflict; remove the pair from one"
        )
        raise InputError(message)
    listed = dict.fromkeys(zip(reviewer.tolist(), item.tolist(), strict=True))
    return as_pairs((j, i) for j, i in listed if i not in table.items_of(j))


def _whole(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        message = f"{name}: expected a whole number, 0 or more, found {value!r}"
        raise InputError(message)
    return min(int(value), UNLIMITED)
