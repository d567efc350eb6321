"""What most targets have in common: parts of a plan found by cascades, and stand-ins found by testing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.target import Target
from planner.plans.search.order import by_effect
from planner.plans.search.starts import cascades
from planner.plans.search.substitutes import by_testing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray


class SearchedTarget(Target):
    """A target whose largest group grows as the largest doubly connected group does, more or less."""

    abstract = True

    def order(self, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
        """Order by the growth of the largest doubly connected group."""
        return by_effect(task, pairs, clock)

    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        """Give cascades that stop."""
        return cascades(task, most, clock)

    def stand_ins(self, task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
        """Test one pair after the other."""
        return by_testing(self, task, pairs, place, clock)
