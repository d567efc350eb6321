"""Constraints of a plan of extra reviews, by code: conflicts, spare loads, limits, fixed pairs, costs and panels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.facts import facts_of
from planner.rules import NO_MOST, Ruled, ruled, ruled_by
from reviewgraph._base import TIE, InputError, check_magnitude, count_of, distinct, occurs, spread
from reviewgraph.formats import AFFINITY, COST, REVIEWER, SPARE, WILLING
from reviewgraph.graph import connected_components
from reviewgraph.io import (
    Rules,
    by_label,
    codes_among,
    gone_of,
    labels_of,
    match_labels,
    match_pairs,
    numbered_pairs,
    pairs_among,
    pairs_of,
    without_gone,
)
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.facts import Facts
    from planner.rules import Panels
    from reviewgraph._base import BoolArray, FloatArray, IntArray
    from reviewgraph.formats import Columns
    from reviewgraph.io import Numbered


class Places(NamedTuple):
    """The panel groups that may get full, and their places.

    The groups of reviewer j are ``group[start[j]:start[j + 1]]``, shapes (M + 1,) and (K,). ``free`` (N, G) counts
    reviewers of a group that an item may still get, below 0 if it has too many.
    """

    start: IntArray
    group: IntArray
    free: IntArray

    @property
    def any(self) -> bool:
        """Whether any group may get full."""
        return bool(self.group.size)

    def held_by(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the places that pairs take: the index of the pair, and that in the flat ``free``."""
        count = np.diff(self.start)[pairs[:, 0]]
        group = self.group[spread(self.start[pairs[:, 0]], count)]
        return np.repeat(np.arange(len(pairs)), count), np.repeat(pairs[:, 1], count) * self.free.shape[1] + group

    def open(self, pairs: IntArray) -> BoolArray:
        """Return which pairs have a free place, each alone."""
        pair, place = self.held_by(pairs)
        shut = np.bincount(pair[self.free.ravel()[place] <= 0], minlength=len(pairs))
        return np.asarray(shut == 0)

    def hold(self, pairs: IntArray) -> bool:
        """Whether there are places for all pairs together."""
        taken, count = np.unique(self.held_by(pairs)[1], return_counts=True)
        return bool((count <= self.free.ravel()[taken]).all())


# Rules on the reviewers of an item, and its minimum number of reviews.

#: Spare load, reviews or room on an item if none is stated, and the maximum.
UNLIMITED = 10**9


class Needs(NamedTuple):
    """Reviews that items are short of.

    ``reviews`` (N,) are missing to the minimum number, ``members`` (N, G) to the minimum of each panel group. One
    review may serve several of them: ``each`` (N,) is the minimum number of new reviews of an item, sufficient if
    ``exact``.
    """

    reviews: IntArray
    members: IntArray
    each: IntArray
    exact: bool

    @property
    def total(self) -> int:
        return int(self.each.sum())

    @property
    def cells(self) -> tuple[IntArray, IntArray]:
        """New reviews and members that are missing, flat."""
        return self.each, self.members.ravel()


@dataclass(frozen=True, eq=False)
class People:
    """Rules on the reviewers of an item, and the reviews that every item must have.

    Every item must have ``min_reviews``, old and new. ``lost`` (N, G) counts reviewers of each panel group who were
    invited for an item but are not in the table; they count towards limits. ``waived`` are the reviews and members of
    :class:`Needs` that items do without, since they cannot be had.
    """

    ruled: Ruled = field(default_factory=lambda: ruled_by((), 0, 1))
    min_reviews: int = 0
    lost: IntArray | None = None
    waived: tuple[IntArray, IntArray] | None = None

    @property
    def panels(self) -> Panels:
        return self.ruled.panels

    def groups_of(self, reviewers: IntArray, items: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return all panel groups of a list of reviewers on items: the place in the list, and the group."""
        none = np.empty(0, np.int64)
        return self.panels.of(reviewers, items) if self.panels.n_groups else (none, none)

    def counts(self, table: Reviews) -> IntArray:
        """Shape (N, G): reviewers of each panel group that each item has."""
        return self.panels.counts(table.reviewer, table.item, table.n_items)

    def needs(self, table: Reviews) -> Needs:
        panels = self.panels
        reviews = np.maximum(self.min_reviews - table.reviews_per_item, 0)
        members = np.maximum(panels.least - self.counts(table), 0)
        mine = panels.attribute[:, None] == np.arange(panels.n_attributes)
        if self.waived is not None:
            needed = zip((reviews, members), self.waived, strict=True)
            reviews, members = (np.maximum(missing - given_up, 0) for missing, given_up in needed)
        # A reviewer of at most one value of an attribute serves one of its groups only.
        together = np.where(self._values > 1, _most_of(members, mine), members @ mine)
        lacking = np.maximum(reviews, together.max(axis=1, initial=0))
        exact = np.count_nonzero(members.any(axis=0) @ mine) <= 1 and (self._values <= 1).all()
        return Needs(reviews, members, lacking, bool(exact))

    @cached_property
    def _values(self) -> IntArray:
        """Shape (A,): maximum number of panel groups of an attribute that one reviewer has."""
        panels = self.panels
        owner = np.repeat(np.arange(panels.start.size - 1), np.diff(panels.start))
        size = max(panels.n_attributes, 1)
        held = np.bincount(owner * size + panels.attribute[panels.group], minlength=size)
        return np.array([held[a::size].max(initial=0) for a in range(panels.n_attributes)], np.int64)

    def without_needs(self) -> People:
        panels = self.panels
        free = panels._replace(least=np.zeros_like(panels.least))
        return replace(self, ruled=self.ruled._replace(panels=free), min_reviews=0)

    def without(self, lost: Reviews) -> People:
        """Return the same after the loss of some reviews that still count towards limits."""
        return replace(self, lost=self.counts(lost) + (0 if self.lost is None else self.lost))

    @property
    def limits(self) -> bool:
        return bool((self.panels.most < NO_MOST).any())

    def free(self, table: Reviews) -> IntArray:
        """Shape (N, G): reviewers of each panel group that items may still get; below 0 if there are too many."""
        return self.panels.most - self.counts(table) - (0 if self.lost is None else self.lost)

    def places(self, table: Reviews, asked: BoolArray) -> Places:
        """Return the free places of the panel groups that two or more candidates have."""
        panels = self.panels
        _, group = self.groups_of(np.flatnonzero(asked))
        crowd = np.bincount(group, minlength=panels.n_groups) > 1
        kept = crowd & (panels.most < NO_MOST).any(axis=0)
        held = kept[panels.group]
        before = np.append(0, np.cumsum(held))
        number = np.cumsum(kept) - 1
        start = before[panels.start] if panels.n_groups else np.zeros(table.n_reviewers + 1, np.int64)
        return Places(start, number[panels.group[held]], np.ascontiguousarray(self.free(table)[:, kept]))

    def excluded(self, table: Reviews) -> IntArray:
        """Return pairs ``reviewer * N + item`` excluded by a full panel group, ascending.

        Takes the time of the items times the members of full panel groups.
        """
        if not self.limits:
            return np.empty(0, np.int64)
        panels = self.panels
        owner = np.repeat(np.arange(panels.start.size - 1), np.diff(panels.start))
        member = owner[np.argsort(panels.group, kind="stable")]
        size = np.bincount(panels.group, minlength=panels.n_groups)
        item, group = np.nonzero(self.free(table) <= 0)
        barred = member[spread((np.cumsum(size) - size)[group], size[group])]
        return distinct(barred * table.n_items + np.repeat(item, size[group]))


def _most_of(members: IntArray, mine: BoolArray) -> IntArray:
    """Shape (N, A): the largest shortage of one panel group of each attribute."""
    if not mine.size:
        return np.zeros((len(members), mine.shape[1]), np.int64)
    return np.stack([np.where(mine[:, a], members, 0).max(axis=1) for a in range(mine.shape[1])], axis=1)


def people(table: Reviews, rules: Rules) -> People:
    """Return the panel rules and minimum reviews for a table; unknown reviewers raise a warning."""
    asked = ruled(table.reviewers, table.items, rules, other=table.item_code, spellings=table._spellings())
    return People(asked, min(rules.min_reviews or 0, UNLIMITED))


@dataclass(frozen=True, eq=False)
class Prices:
    """Costs of pairs ``reviewer * N + item``; true if they differ.

    ``code`` (K,) are the pairs with a value, ascending, ``value`` (K,) their costs or affinities, ``default`` that of
    all others. For affinities ``best`` is the highest: a pair costs its distance to it. Pairs of affinity below
    ``floor``, or without one, may not be planned.
    """

    code: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    value: FloatArray = field(default_factory=lambda: np.empty(0))
    default: float = 1.0
    best: float | None = None
    floor: float | None = None

    def __bool__(self) -> bool:
        return bool((self.value != self.default).any())

    def values(self, pairs: IntArray) -> FloatArray:
        """Return the costs or affinities of pairs, as they were stated."""
        value: FloatArray = np.full(pairs.size, self.default)
        if self.code.size:
            place = np.minimum(np.searchsorted(self.code, pairs), self.code.size - 1)
            value = np.where(self.code[place] == pairs, self.value[place], self.default)
        return value

    def costs(self, pairs: IntArray) -> FloatArray:
        value = self.values(pairs)
        return value if self.best is None else self.best - value

    def affinities(self, pairs: IntArray) -> list[float | None]:
        """Return the affinities of pairs, 0 for those that have none; None without affinities."""
        return [None] * pairs.size if self.best is None else self.values(pairs).tolist()

    @cached_property
    def unit(self) -> float:
        """Unit of costs in solvers: a millionth of their size, a thousandth of that if they have more digits.

        >>> Prices(np.array([0]), np.array([2e-9]), 1e-9).unit, Prices(np.array([0]), np.array([1 / 3])).unit
        (1e-15, 1e-09)
        """
        costs = np.append(self.value, self.default)
        costs = costs if self.best is None else self.best - costs
        largest = float(np.abs(costs).max())
        last = max(math.floor(math.log10(largest) + TIE) - DIGITS, LAST) if largest > 0 else 0
        whole = costs / float(f"1e{last}")
        few = np.allclose(whole, np.round(whole), rtol=0.0, atol=1e-6)
        return float(f"1e{last if few else last - 3}")

    def whole(self, pairs: IntArray) -> IntArray:
        """Costs of pairs ``reviewer * N + item`` in units, as solvers and their certificates count them."""
        return np.rint(self.costs(pairs) / self.unit).astype(np.int64)

    def barred(self, reviewers: IntArray, n_items: int) -> IntArray:
        """Pairs of some reviewers below the floor or without affinity, ascending."""
        if self.floor is None:
            return np.empty(0, np.int64)
        if reviewers.size * n_items > MOST_PAIRS:
            raise InputError(
                f"min_affinity: expected at most {MOST_PAIRS} pairs of an available reviewer and an item, found "
                f"{reviewers.size * n_items}; name the willing reviewers"
            )
        every = (reviewers[:, np.newaxis] * n_items + np.arange(n_items)).ravel()
        return every[self.falls_short(every)]

    def falls_short(self, pairs: IntArray) -> BoolArray:
        """Which pairs are below the floor or without affinity."""
        if self.floor is None:
            return np.zeros(pairs.size, np.bool_)
        return ~occurs(pairs, self.code[self.value >= self.floor])


#: Digits of costs in solvers after the first of the largest, if they have no more.
DIGITS = 6
#: The power of ten below which double precision loses digits.
LAST = -300
#: Maximum number of pairs compared with a floor.
MOST_PAIRS = 30_000_000


def prices(table: Reviews, cost: Numbered | None, affinity: Numbered | None, min_affinity: float | None) -> Prices:
    """Return prices by code; pairs of unknown names raise a warning.

    Raises InputError for costs and affinities together, a floor without affinities, an infinite number (an affinity may
    be NaN: none), a repeated pair, or if no pair has known names.
    """
    if affinity is None:
        if min_affinity is not None:
            message = "min_affinity: expected affinities with it, found none; give affinity, or leave the floor out"
            raise InputError(message)
        if cost is None:
            return Prices()
        code, value = _by_code(table, numbered_pairs(cost, "cost", COST.role, table._spellings()), "cost")
        # A default that no pair has must not determine the unit.
        return Prices(code, value, float(value.max(initial=0.0)) if _all_priced(table, code) else 1.0)
    pairs = numbered_pairs(affinity, "affinity", AFFINITY.role, table._spellings())
    if cost is not None and numbered_pairs(cost, "cost", COST.role, table._spellings()).reviewer.size:
        message = "cost and affinity: expected one of the two, found both; affinity is a preference as costs are"
        raise InputError(message)
    if min_affinity is not None and not math.isfinite(min_affinity):
        raise InputError(f"min_affinity: expected a finite number, found {min_affinity!r}")
    code, value = _by_code(table, pairs, "affinity")
    return Prices(code, value, 0.0, max(0.0, float(value.max(initial=0.0))), min_affinity)


def _all_priced(table: Reviews, code: IntArray) -> bool:
    """Whether every pair that could be planned is among distinct codes."""
    existing = np.unique(table.reviewer * table.n_items + table.item)
    return bool(existing.size + np.count_nonzero(~occurs(code, existing)) == table.n_reviewers * table.n_items)


def _by_code(table: Reviews, pairs: Columns, name: str) -> tuple[IntArray, FloatArray]:
    """Return the known pairs that have a number, ascending, and their numbers."""
    value = np.asarray(pairs.score, np.float64)
    if np.isinf(value).any():
        raise InputError(f"{name}: expected finite numbers (none, or NaN, where there is none), found an infinite one")
    check_magnitude(name, value)
    j, i = match_pairs(pairs, table.reviewer_code, table.item_code, name, spellings=table._spellings())
    kept = (j >= 0) & (i >= 0) & ~np.isnan(value)
    code = j[kept] * table.n_items + i[kept]
    order = np.argsort(code, kind="stable")
    code = code[order]
    known_value = value[kept][order]
    if (code[1:] == code[:-1]).any():
        raise InputError(f"{name}: expected each (reviewer, item) pair once, found one twice")
    return code, known_value


# Tables with more reviews or reviewers, all by code.


def no_pairs() -> IntArray:
    return np.empty((0, 2), np.int64)


def as_pairs(pairs: Iterable[tuple[int, ...]]) -> IntArray:
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def with_extra(reviews: Reviews, pairs: IntArray) -> Reviews:
    """Return a table with more, planned reviews by code."""
    return reviews._with_codes(pairs[:, 0], pairs[:, 1])


def pieces(reviews: Reviews) -> int:
    """Return the number of pieces of the reviewer-item graph that hold items."""
    return int(np.unique(connected_components(reviews).item_labels).size)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Reviews, and who may read what beyond them.

    ``reviews`` includes emergency reviewers, who have none. ``spare`` (M,) and ``room`` (N,) bound the extra reviews of
    each reviewer and item, and are at least what ``fixed`` (F, 2) takes, the extra reviews (reviewer, item) of every
    plan; ``facts`` says which limits these exceed. ``conflicts`` (C,) are the excluded pairs, ``reviewer * N + item``,
    ascending. ``people`` holds the rules on panels and the minimum reviews.
    """

    reviews: Reviews
    spare: IntArray
    room: IntArray
    conflicts: IntArray
    fixed: IntArray
    cost: Prices = field(default_factory=Prices)
    people: People = field(default_factory=People)
    facts: Facts | None = None

    def with_fixed(self, pairs: IntArray) -> Constraints:
        return replace(self, fixed=np.concatenate([self.fixed, pairs]))

    def without_needs(self) -> Constraints:
        return replace(self, people=self.people.without_needs())

    def without_fixed(self) -> Constraints:
        return replace(self, fixed=self.fixed[:0])

    def codes(self, pairs: IntArray) -> IntArray:
        """Return pairs, shape (P, 2), as ``reviewer * N + item``."""
        return pairs[:, 0] * self.reviews.n_items + pairs[:, 1]

    def price_of(self, pairs: IntArray) -> int:
        """Return the cost of some pairs in the whole units of solvers."""
        return int(self.cost.whole(self.codes(pairs)).sum())

    def least_price(self, count: int) -> int:
        """Return a lower bound on the cost of any ``count`` extra reviews, in the whole units of solvers."""
        code = self.cost.code
        N = max(self.reviews.n_items, 1)
        free = ~occurs(code, self.barred_pairs) & (self.spare[code // N] > 0) & (self.room[code % N] > 0)
        # No pair has the code -1: its cost is that of all pairs without a value.
        unpriced = np.resize(self.cost.whole(np.array([-1])), count)
        return int(np.sort(np.append(self.cost.whole(code[free]), unpriced))[:count].sum())

    @cached_property
    def places(self) -> Places:
        """Free places of panel groups after the fixed reviews."""
        return self.people.places(with_extra(self.reviews, self.fixed), self.spare > 0)

    @cached_property
    def barred_start(self) -> IntArray:
        """Shape (M + 1,): reviewer j may not read the items ``barred[barred_start[j]:barred_start[j + 1]]``."""
        first = np.arange(self.reviews.n_reviewers + 1) * max(self.reviews.n_items, 1)
        return np.searchsorted(self.barred_pairs, first).astype(np.int64)

    @cached_property
    def barred(self) -> IntArray:
        return self.barred_pairs % max(self.reviews.n_items, 1)

    @cached_property
    def barred_pairs(self) -> IntArray:
        """Pairs in conflict, read already or fixed, as ``reviewer * N + item``, ascending."""
        read = self.reviews.reviewer * self.reviews.n_items + self.reviews.item
        return distinct(read, self.conflicts, self.codes(self.fixed))

    def readable(self, reviewer: int) -> IntArray:
        """Items that a reviewer may be given, ascending, within current loads and limits."""
        if self.spare[reviewer] <= 0:
            return np.empty(0, np.int64)
        free = self.room > 0
        free[self.barred[self.barred_start[reviewer] : self.barred_start[reviewer + 1]]] = False
        return np.flatnonzero(free)


def constrain(
    reviews: Reviews,
    rules: Rules | None = None,
    cost: Numbered | None = None,
    affinity: Numbered | None = None,
    min_affinity: float | None = None,
) -> Constraints:
    """Return rules, and prices given by label, as arrays.

    Unknown names in ``cost``, ``affinity`` and the rules raise a warning; among fixed pairs and conflicts they are
    errors. Fixed pairs that are reviews already are dropped; the others are kept whatever they exceed.

    Raises InputError for a number that is negative or not whole, an infinite cost or affinity, an unknown fixed pair,
    or labels that do not match (:mod:`reviewgraph.io.matching`).
    """
    rules = rules or Rules()
    # Spare loads, stated or by default.
    spellings = reviews._spellings()
    capacity = rules.capacity
    willing = rules.willing
    default = 0 if capacity is not None else UNLIMITED
    least = default if rules.spare is None else min(rules.spare, UNLIMITED)
    stated = by_label({} if capacity is None else capacity, "capacity", REVIEWER, SPARE.role, spellings)
    capacities = {
        label: min(count_of(load, f"capacity of reviewer {label!r}"), UNLIMITED) for label, load in stated.items()
    }
    asked = None if willing is None else dict.fromkeys(labels_of(willing, "willing", REVIEWER, WILLING.role, spellings))
    # New names are emergency reviewers, unless they are a reviewer's in another spelling.
    for name, labels in (("capacity", capacities), ("willing", asked or {})):
        match_labels(list(labels), reviews.reviewer_code, name, "reviewer", unknown="new", spellings=spellings)
    lost = gone_of(rules.gone, spellings)
    left = without_gone(reviews, lost)
    # Reviewers without remaining reviews stay in the table, and are asked only if a file names them.
    away = [label for label in reviews.reviewers if label not in left.reviewer_code]
    newcomers = [label for label in (*capacities, *(asked or ())) if label not in lost.reviewers]
    table = left._with_labels([*away, *newcomers])
    N = table.n_items
    loads = np.full(table.n_reviewers, least, np.int64)
    # The same holds for reviewers outside the committee.
    unasked = [*away, *(label for label in table.origin.outsiders or () if label in table.reviewer_code)]
    loads[codes_among([label for label in unasked if label not in (asked or ())], table.reviewers)] = 0
    for label, load in capacities.items():
        if label in table.reviewer_code:
            loads[table.reviewer_code[label]] = min(load, UNLIMITED)
    loads[np.isin(np.arange(loads.size), codes_among(lost.reviewers, table.reviewers))] = 0
    # Limits, and pairs that may not be or must be.
    limit = UNLIMITED if rules.max_per_item is None else min(rules.max_per_item, UNLIMITED)
    rules = rules._with_shared(table.reviewers, table.items, spellings)
    conflicts = pairs_of(rules.conflicts or (), "conflicts", spellings)
    codes = (table.reviewer_code, table.item_code)
    outside = {*lost.reviewers, *table.origin.withdrawn}
    reviewer, item = match_pairs(
        conflicts, *codes, "conflicts", unknown="asked", spellings=spellings, explained=outside
    )
    closed = distinct((reviewer * N + item)[(reviewer >= 0) & (item >= 0)], lost.keys(table))
    closed = distinct(closed, _meta_reviews(table))
    kept = _fixed(table, pairs_of(rules.fixed or (), "fixed", spellings))
    able = np.array([asked is None or label in asked for label in table.reviewers], np.bool_)
    worth = prices(table, cost, affinity, min_affinity)
    who = people(table, rules)
    # Fixed pairs are kept whatever they exceed: limits are at least what they take.
    code = kept[:, 0] * N + kept[:, 1]
    with_kept = with_extra(table, kept)
    room = np.full(N, limit, np.int64)
    against = {
        "conflicts": occurs(code, closed),
        "crowded": who.panels.crowded(kept, who.free(with_kept)),
        "unwilling": ~able[kept[:, 0]],
        "below": worth.falls_short(code),
    }
    facts = facts_of(kept, against, (loads, room), (table.reviewers, table.items))
    loads = np.maximum(np.where(able, loads, 0), np.bincount(kept[:, 0], minlength=loads.size))
    room = np.maximum(room, np.bincount(kept[:, 1], minlength=N))
    # Pairs excluded by the floor and the rules are conflicts.
    barred = distinct(closed, worth.barred(np.flatnonzero(loads > 0), N), who.excluded(with_kept))
    barred = barred[~occurs(barred, np.sort(code))]
    return Constraints(table, loads, room, barred, kept, worth, who, facts)


def _meta_reviews(table: Reviews) -> IntArray:
    """Return the pairs that are meta reviews as ``reviewer * N + item``: nobody gets the same paper twice."""
    meta = pairs_of(list(table.origin.meta), "meta reviews")
    reviewer, item = pairs_among(meta, table.reviewers, table.items)
    return distinct(reviewer * table.n_items + item)


def _fixed(table: Reviews, pairs: Columns) -> IntArray:
    """Return the fixed pairs that are not reviews already."""
    reviewer, item = match_pairs(pairs, table.reviewer_code, table.item_code, "fixed", unknown="refused")
    listed = dict.fromkeys(zip(reviewer.tolist(), item.tolist(), strict=True))
    return as_pairs((j, i) for j, i in listed if i not in table.items_of(j))
