"""A plan's problem as the verifier sees it: plain sets and lists, made from the constraints alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.persons import shortest
from planner.plans.model.tables import with_extra
from reviewgraph.checking import check
from reviewgraph.components import is_recovery_resilient
from reviewgraph.levels import ALL
from reviewgraph.naming import named
from reviewgraph.recoverable import degrees_of_freedom
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plans.model.constraints import Constraints
    from planner.plans.plan import Plan
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level

    Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Case:
    """What was to be planned.

    Parameters
    ----------
    rules
        The constraints.
    level
        The level to reach.
    use_scores
        Whether tied scores carry no scale.
    """

    rules: Constraints
    level: Level
    use_scores: bool

    @cached_property
    def table(self) -> Reviews:
        """Existing and fixed reviews, their structure only."""
        return with_extra(self.rules.reviews, self.rules.fixed)

    @cached_property
    def spare(self) -> list[int]:
        """Extra reviews each reviewer may still be given."""
        left: list[int] = self.rules.spare.tolist()
        for j, _ in self.rules.fixed.tolist():
            left[j] -= 1
        return left

    @cached_property
    def room(self) -> list[int]:
        """Extra reviews each item may still be given."""
        left: list[int] = self.rules.room.tolist()
        for _, i in self.rules.fixed.tolist():
            left[i] -= 1
        return left

    def readable(self, reviewer: int) -> list[int]:
        """Items that a reviewer may be given, beside those he has."""
        if self.spare[reviewer] <= 0:
            return []
        barred = self._barred(reviewer)
        return [i for i, left in enumerate(self.room) if left > 0 and i not in barred]

    def takes(self, reviewer: int) -> int:
        """Reviews that a reviewer can be given at most."""
        if self.spare[reviewer] <= 0:
            return 0
        barred = sum(self.room[i] > 0 for i in self._barred(reviewer))
        return min(self.spare[reviewer], self._open - barred)

    def _barred(self, reviewer: int) -> set[int]:
        n_items, conflicts = self.table.n_items, self.rules.conflicts
        first, last = np.searchsorted(conflicts, [reviewer * n_items, (reviewer + 1) * n_items])
        return {*(conflicts[first:last] - reviewer * n_items).tolist(), *self.table.items_of(reviewer).tolist()}

    @cached_property
    def _open(self) -> int:
        return sum(left > 0 for left in self.room)

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs that may be added."""
        return [(j, i) for j in range(len(self.spare)) for i in self.readable(j)]

    @cached_property
    def short(self) -> list[int]:
        """Reviews that each item is short of after the fixed ones."""
        return shortest(self.rules, self.table)

    @cached_property
    def links(self) -> int:
        """Degrees of freedom of existing and fixed reviews."""
        return degrees_of_freedom(self.table)

    def with_pairs(self, pairs: Iterable[Pair] | IntArray) -> Reviews:
        """Return existing, fixed and some more reviews; with scores, if these count."""
        more = np.array(list(pairs), np.int64).reshape(-1, 2)
        everything = np.concatenate([self.rules.fixed, more])
        return with_extra(self.rules.reviews, everything, use_scores=self.use_scores)

    def reached(self, pairs: Iterable[Pair] | IntArray = ()) -> bool:
        """Whether no item is short of reviews and the level holds, by its own test, with some more reviews."""
        table = self.with_pairs(pairs)
        if max(shortest(self.rules, table), default=0) > 0:
            return False
        return is_recovery_resilient(table, use_scores=True) if self.use_scores else self.holds(table)

    def holds(self, table: Reviews) -> bool:
        """Whether a table is at the level, by the level's own test on its structure."""
        bare = Reviews.from_codes(table.reviewer, table.item, reviewers=table.reviewers, items=table.items)
        return self.level.holds(check(bare).structure)


def case_of(plan: Plan) -> Case:
    """Return what a plan was made for.

    Raises
    ------
    InputError
        If no level bears the name of its target.
    """
    return Case(plan.constraints, named(ALL, plan.target, "target"), plan.use_scores)
