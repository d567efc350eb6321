"""The target *double*: one doubly connected component covers all items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.model.growth import copy_structure
from planner.plans.model.target import Groups
from planner.plans.model.task import CALL
from planner.plans.search import by_scores
from planner.plans.search.order import read
from planner.plans.search.substitutes import substitutes
from planner.plans.targets import by_growth, scored
from planner.plans.targets.double_oracle import DoubleOracle
from planner.plans.targets.searched import SearchedTarget
from reviewgraph.components import doubly_connected_components, is_recovery_resilient
from reviewgraph.levels import Double, level_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.oracle import Oracle
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level
    from reviewgraph.reviews import Reviews


class DoubleTarget(SearchedTarget):
    """Groups are doubly connected components; a review lets one of them grow, and others follow."""

    level: ClassVar[Level] = level_named(Double.name)
    together = "comparable for certain"
    apart = "comparable for certain"
    scales = True

    def reaches(self, reviews: Reviews, *, use_scores: bool = False) -> bool:
        """Close the structure."""
        return is_recovery_resilient(reviews, use_scores=use_scores)

    def groups(self, reviews: Reviews, *, use_scores: bool = False) -> Groups:
        """Return the doubly connected components."""
        found = doubly_connected_components(reviews, use_scores=use_scores)
        return Groups(found.labels, found.covers)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """Grow one block a review; by the scores, close the groups anew after each."""
        if task.use_scores:
            yield from by_scores.merges(task, pairs)
            return
        state, first = copy_structure(task.start), np.unique(task.home, return_index=True)[1]
        for pair in pairs:
            # In a closed structure nothing follows from what the reviewer's group covers already.
            joined = task.space.joined if read(task, state, pair) else []
            yield [int(first[block]) for block in joined if state.cover[block] > 0]

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """State the cuts of this level."""
        return None if task.use_scores else DoubleOracle(task, rng)

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Plan by the structure, or by the scores where these count."""
        if task.use_scores:
            scored.fill(task, ledger, rng)
        else:
            by_growth.fill(task, ledger, rng)

    def stand_ins(self, task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
        """Look for pairs of blocks that are one group once joined; by the scores, test one pair after the other."""
        if task.use_scores:
            return super().stand_ins(task, pairs, place, clock)
        return substitutes(task, pairs, place, clock)

    def certificate(self, reviews: Reviews, *, use_scores: bool = False) -> IntArray:
        """Return merges of reviewers, see :func:`reviewgraph.verify_merges`."""
        return doubly_connected_components(reviews, use_scores=use_scores).merges

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Grow the blocks there are, where scores do not count."""
        if task.use_scores:
            return super().papers(task, pairs, clock)
        found = int(task.after(pairs).cover.max(initial=0))
        if clock is not None:
            clock.spend(CALL + task.worked())
        return found
