"""The target *recoverable*: no degrees of freedom, almost every vector of qualities can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.model.allowed import useful_loads
from planner.plans.model.oracle import Cut, Oracle
from planner.plans.model.tables import no_pairs
from planner.plans.model.target import Groups
from planner.plans.model.task import looked_at
from planner.plans.proof import bounds
from planner.plans.search import cascading, intersection
from planner.plans.search.greedy import greedy_recoverable
from planner.plans.targets.blocks import merges, recoverable_groups
from planner.plans.targets.linked import nothing_to_do, settle_exactly, take_greedy
from planner.plans.targets.searched import SearchedTarget
from reviewgraph.levels import Recoverable, level_named
from reviewgraph.mentions import REVIEWERS
from reviewgraph.recoverable import degrees_of_freedom, recoverability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level
    from reviewgraph.reviews import Reviews


class RecoverableTarget(SearchedTarget):
    """Groups are maximal recoverable blocks; one review may make many of them one."""

    level: ClassVar[Level] = level_named(Recoverable.name)
    together = "comparable, coincidences aside,"
    apart = "comparable, coincidences aside"
    scales = True

    def reaches(self, reviews: Reviews, *, use_scores: bool = False) -> bool:
        """Ask the pebble game."""
        return recoverability(reviews).recoverable

    def groups(self, reviews: Reviews, *, use_scores: bool = False) -> Groups:
        """Return the maximal recoverable blocks; who has fewer than two reviews is a group alone."""
        return recoverable_groups(reviews)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """Find when blocks become one, by halving the plan again and again."""
        yield from merges(task.constraints.reviews, pairs)

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """State the cuts of this level."""
        return RecoverableOracle(task)

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Greedy; where it is not the end, matroid intersection, a cascade, the integer programme with rank cuts."""
        oracle = RecoverableOracle(task)
        if nothing_to_do(oracle, ledger):
            return
        bound = bounds.missing_links(task.table(no_pairs()), task.constraints, task.spare)
        pairs, free = greedy_recoverable(oracle, bound.value, ledger)
        if take_greedy(oracle, ledger, bound, pairs, free=free) or _is_short(oracle, ledger, np.empty(0, np.int64)):
            return
        ledger.clock.check()
        if ledger.pairs is None and not oracle.possible():
            ledger.infeasible = True
            return
        if _intersect(oracle, ledger):
            return
        if ledger.pairs is None:
            _cascade(oracle, ledger)
            ledger.cheapest = ledger.pairs is not None and not task.constraints.cost
            if ledger.closed and ledger.cheapest:
                return
        settle_exactly(oracle, ledger)


class RecoverableOracle(Oracle):
    """No degrees of freedom; the structures are the maximal recoverable blocks."""

    def reaches(self, pairs: IntArray) -> bool:
        """Ask the pebble game."""
        return recoverability(self.task.table(pairs)).recoverable

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Reviews inside a recoverable block do not help; the others must be as many as the degrees of freedom."""
        table = self.task.table(pairs)
        found = recoverability(table)
        label = found.block_labels
        inside = {(int(b), int(i)) for b, cover in enumerate(found.block_covers) for i in cover}
        own = set(zip(table.reviewer.tolist(), table.item.tolist(), strict=True))
        leaves = np.array(
            [(int(label[j]), i) not in inside and (j, i) not in own for j, i in self.allowed.tolist()], np.int64
        )
        yield Cut(leaves, max(1, found.degrees_of_freedom), set(np.flatnonzero(label < 0).tolist()))


def _cascade(oracle: Oracle, ledger: Ledger) -> None:
    """Plan for doubly connected groups, which are recoverable, and take out what is not needed."""
    task = oracle.task
    found, done = cascading.begin(task, task.start.room, 0, clock=ledger.clock)
    if not done:
        return
    ledger.offer(found.pairs)
    cascading.prune(found, ledger.clock)
    pairs, place = found.pairs, 0
    while place < len(pairs) and len(pairs) > ledger.lower_bound and ledger.in_time:
        fewer = np.delete(pairs, place, axis=0)
        ledger.clock.spend(looked_at(task.constraints.reviews))
        if oracle.reaches(fewer):
            pairs = fewer
        else:
            place += 1
    ledger.offer(pairs)


def _intersect(oracle: Oracle, ledger: Ledger) -> bool:
    """Settle it among reviewers of two reviews or more; false where others are needed, or the method cannot say."""
    answer = intersection.intersect(oracle, ledger.clock)
    if answer is None:
        return False
    if answer.pairs is not None:
        # Institutions would be a third matroid: what heeds them by itself is cheapest, anything else says nothing.
        if not oracle.task.constraints.places.hold(answer.pairs):
            return False
        ledger.pairs, ledger.prices, ledger.cheapest = answer.pairs, answer.prices, True
        ledger.tell()
        return ledger.closed
    return _is_short(oracle, ledger, answer.short)


def _is_short(oracle: Oracle, ledger: Ledger, short: IntArray) -> bool:
    """Whether some reviewers make so few links that the loads of the others do not suffice; notes the proof."""
    table = oracle.task.table(no_pairs())
    links, others = useful_loads(oracle.task.constraints, table, oracle.task.spare, short)
    missing = degrees_of_freedom(table)
    if links + others >= missing:
        return False
    ledger.infeasible, ledger.short = True, short
    ledger.reasons.append(_shortage(short, links, others, missing))
    return True


def _shortage(short: IntArray, links: int, others: int, missing: int) -> str:
    if not links:
        return f"links missing: {missing}; the spare loads of those who may help add up to {others}"
    names = ", ".join(REVIEWERS[j] for j in short[:5].tolist()) + (
        f" and {short.size - 5} more" if short.size > 5 else ""
    )
    return (
        f"links missing: {missing}; even if they read everything they may, {names} can make {links} of them, and "
        f"the spare loads of the others make at most {others} more"
    )
