"""What a plan of extra reviews must respect, by code: conflicts, spare loads, limits, fixed pairs, costs and people."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from planner.plans.model.people import People, people
from planner.plans.model.prices import Prices, prices
from planner.plans.model.tables import as_pairs, with_extra, with_reviewers
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from planner.plans.model.prices import Affinity
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews

    Pair: TypeAlias = tuple[Label, Label]

#: Spare load, or room on an item, where none is stated.
UNLIMITED = 10**9


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
        Institutions and seniors, and the reviews that every item must have.
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
    def barred_start(self) -> IntArray:
        """Shape (M + 1,): reviewer j may not read the items ``barred[barred_start[j]:barred_start[j + 1]]``."""
        return np.searchsorted(
            self._barred, np.arange(self.reviews.n_reviewers + 1) * max(self.reviews.n_items, 1)
        ).astype(np.int64)

    @cached_property
    def barred(self) -> IntArray:
        """Items in conflict or read already, reviewer by reviewer, ascending."""
        return self._barred % max(self.reviews.n_items, 1)

    @cached_property
    def _barred(self) -> IntArray:
        own = self.reviews.reviewer * self.reviews.n_items + self.reviews.item
        return np.union1d(own, self.conflicts)

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
    *,
    conflicts: Iterable[Pair] = (),
    capacity: Mapping[Label, int] | None = None,
    spare: int | None = None,
    cost: Mapping[Pair, float] | None = None,
    max_per_item: int | None = None,
    fixed: Iterable[Pair] = (),
    affinity: Affinity | None = None,
    min_affinity: float | None = None,
    institutions: Mapping[Label, Hashable] | None = None,
    senior: Iterable[Label] | None = None,
    willing: Iterable[Label] | None = None,
    min_reviews: int = 0,
) -> Constraints:
    """Bring constraints given by label together.

    Unknown names in ``conflicts``, ``cost``, ``affinity``, ``institutions`` and ``senior`` are of no consequence; in
    ``fixed`` they are refused. Fixed pairs that are reviews already are dropped; the others are held to conflicts,
    loads and limits, not to the floor, institutions and who is willing.

    Raises
    ------
    InputError
        If a number is not whole or negative, a cost or affinity is not finite, a fixed pair names nobody we know or
        nothing we know, or is in conflict; as :func:`~planner.plans.model.prices.prices` and
        :func:`~planner.plans.model.people.people`.
    """
    least = (0 if capacity is not None else UNLIMITED) if spare is None else _whole(spare, "spare")
    given = {label: _whole(load, f"capacity of reviewer {label!r}") for label, load in (capacity or {}).items()}
    asked = None if willing is None else set(willing)
    table = with_reviewers(reviews, [*given, *(asked - set(given) if asked else ())])
    N = table.n_items
    loads = np.full(table.n_reviewers, least, np.int64)
    for label, load in given.items():
        loads[table.reviewer_code[label]] = min(load, UNLIMITED)
    limit = UNLIMITED if max_per_item is None else _whole(max_per_item, "max_per_item")
    closed = np.unique(np.array(list(_known(table, conflicts)), np.int64).reshape(-1))
    kept = _fixed(table, fixed, set(closed.tolist()))
    if asked is not None:
        loads = _of_willing(table, loads, asked, kept)
    worth = prices(table, cost, affinity, min_affinity)
    who = people(table, institutions, senior, _whole(min_reviews, "min_reviews"))
    # What the floor and colleagues bar is a conflict, but for pairs that were fixed all the same.
    barred = np.union1d(worth.barred(np.flatnonzero(loads > 0), N), who.beside(with_extra(table, kept)))
    barred = np.setdiff1d(barred, kept[:, 0] * N + kept[:, 1])
    return Constraints(table, loads, np.full(N, limit, np.int64), np.union1d(closed, barred), kept, worth, who)


def _of_willing(table: Reviews, loads: IntArray, asked: set[Label], fixed: IntArray) -> IntArray:
    """Return the loads of those who are willing; the others have as much as they accepted already."""
    willing = np.array([label in asked for label in table.reviewers], np.bool_)
    accepted = np.bincount(fixed[:, 0], minlength=loads.size)
    return np.where(willing, loads, np.minimum(loads, accepted))


def _fixed(table: Reviews, pairs: Iterable[Pair], closed: set[int]) -> IntArray:
    found: dict[tuple[int, int], None] = {}
    for reviewer, item in pairs:
        for label, codes, what in ((reviewer, table.reviewer_code, "reviewer"), (item, table.item_code, "item")):
            if label not in codes:
                message = (
                    f"fixed: {what} {label!r} is in no review; expected a pair of a reviewer (of the reviews, or of "
                    "the capacities, or willing) and an item we know"
                )
                raise InputError(message)
        j, i = table.reviewer_code[reviewer], table.item_code[item]
        if j * table.n_items + i in closed:
            message = (
                f"fixed: reviewer {reviewer!r} and item {item!r} are fixed and in conflict; remove the pair from one"
            )
            raise InputError(message)
        if i not in table.items_of(j):
            found[j, i] = None
    return as_pairs(found)


def _known(table: Reviews, pairs: Iterable[Pair]) -> Iterable[int]:
    for reviewer, item in pairs:
        if reviewer in table.reviewer_code and item in table.item_code:
            yield table.reviewer_code[reviewer] * table.n_items + table.item_code[item]


def _whole(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        message = f"{name}: expected a whole number, 0 or more, found {value!r}"
        raise InputError(message)
    return int(value)
