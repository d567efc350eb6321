"""What some reviews are worth where they do not reach the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from planner.plans.model.allowed import allowed_pairs
from planner.plans.model.reach import expected_error
from planner.plans.model.tables import with_extra
from planner.plans.model.task import looked_at

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Work, see :class:`reviewgraph.clock.Clock`, of dense algebra, for each cube of the items of a group.
DENSE = 2e-8
#: Digits after the point in which errors are compared.
DIGITS = 9


@dataclass
class Judge:
    """What some reviews are worth: compare :meth:`worth`, the larger the better."""

    task: Task
    target: Target
    clock: Clock | None = None

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews; by scores, those that count."""
        found = self.task.table(pairs)
        return found.only_scored() if self.task.use_scores else found

    def papers(self, pairs: IntArray) -> int:
        """Papers in the largest group."""
        return self.target.papers(self.task, pairs, self.clock)

    def group(self, table: Reviews) -> IntArray:
        """Items of the largest group of a table."""
        return self.target.largest_group(table, use_scores=self.task.use_scores)

    def worth(self, pairs: IntArray) -> tuple[int, float, int, float]:
        """Papers, error, reviews and cost, so that more is better."""
        table = self.table(pairs)
        group = self.group(table)
        error = expected_error(table, group, scales=self.target.scales)
        if self.clock is not None:
            self.clock.spend(looked_at(table) + DENSE * group.size**3)
        cost = sum(self.task.constraints.cost_of(j, i) for j, i in pairs.tolist())
        return self.papers(pairs), -round(error or 0.0, DIGITS), -len(pairs), -cost

    @cached_property
    def allowed(self) -> IntArray:
        """Shape (K, 2): pairs that may be added, one by one."""
        rules = self.task.constraints
        table = with_extra(rules.reviews, rules.fixed)
        pairs = allowed_pairs(rules, table, self.task.spare)
        return pairs[self.task.room[pairs[:, 1]] > 0]
