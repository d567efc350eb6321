"""Planning to each level: by its target, or for a level without one by the level's own test."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.target import Bound, Ledger, Target
from planner._plans.targets.double import DoubleTarget
from planner._plans.targets.searched import ConnectedTarget, settle
from planner._plans.task import Cut, Oracle, allowed_pairs, minimal
from reviewgraph._base import Clock
from reviewgraph.graph import level_named, structure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._plans.task import Task
    from reviewgraph._base import Clock, IntArray
    from reviewgraph.graph import Level
    from reviewgraph.table import Reviews


# The target of a level without one: planned by the level's own test, which more reviews never harm.

#: Candidate reviews up to which plans are made by the test alone.
TESTED_UP_TO = 20_000
#: Share of the time left for the level of the same groups.
GROUPS = 0.3


class TestOracle(Oracle):
    """The test of a target, without cuts."""

    def __init__(self, task: Task, target: Target) -> None:
        super().__init__(task, allowed_pairs(task))
        self.target = target

    def reaches(self, pairs: IntArray) -> bool:
        return self.target.reaches(self.task.table(pairs))

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        yield from ()


class TargetByTest(Target):
    """A target that only tests its level; its groups are those of the target ``like``."""

    like: ClassVar[type[Target]]
    #: Merges prove groups, not the level.
    certificate = Target.certificate

    @property
    def stays(self) -> str:
        return self.level.words

    def reaches(self, reviews: Reviews) -> bool:
        return self.level.holds(structure_of(reviews))

    def oracle(self, task: Task, rng: np.random.Generator) -> None:
        """Return None: the cuts of the target with these groups are of another level."""

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Try a plan to the level of the same groups, all sets of reviews, and many reviews in a random order."""
        if self.reaches(task.table(no_pairs())):
            ledger.nothing_to_do(no_pairs())
            return
        ledger.prove(Bound(1, "unfinished", f"some papers are not {self.apart}"))
        few = task.candidates_up_to <= TESTED_UP_TO
        if few and not self.can_reach(task, ledger.clock):
            ledger.infeasible = True
            return
        self._by_groups(task, ledger, rng)
        if ledger.infeasible or not few:
            return
        settle(TestOracle(task, self), ledger, f"some papers not {self.apart}", exact=False)
        if ledger.closed or ledger.infeasible or not ledger.in_time:
            return
        pairs = _let_in(task, allowed_pairs(task), rng)
        if self.reaches_in_time(task.table(pairs), ledger.clock):
            fewer = minimal(
                pairs,
                range(len(pairs) - 1, -1, -1),
                lambda some: self.reaches_in_time(task.table(some), ledger.clock),
                lambda count: count > ledger.lower_bound and ledger.in_time,
            )
            ledger.offer(fewer)

    def _by_groups(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Offer a plan to the level of the same groups; if this level implies that one, its bounds hold here."""
        part = Ledger(ledger.clock.share(GROUPS))
        with suppress(Clock.Over):
            self.like().fill(task, part, rng)
        if self.level.implies(self.like.level):
            for bound in part.bounds:
                ledger.prove(bound)
            ledger.infeasible = part.infeasible
        if part.pairs is not None and self.reaches_in_time(task.table(part.pairs), ledger.clock):
            ledger.offer(part.pairs)


def target_by_test(level: Level) -> type[Target]:
    """Return the target of a level without one: its groups are those of reviewers who share as many items."""
    base = ConnectedTarget if level.shared == 1 else DoubleTarget

    class Found(TargetByTest, base):  # type: ignore[misc, valid-type]
        apart = level.words
        like = base

    Found.level = level
    return Found


def _let_in(task: Task, allowed: IntArray, rng: np.random.Generator) -> IntArray:
    """Return as many candidates as loads, limits and rules allow: cheapest first, then in random order."""
    left = task.left(no_pairs())
    chosen = []
    cost = task.constraints.cost.whole(task.codes(allowed))
    for place in np.lexsort((rng.random(len(allowed)), cost)).tolist():
        reviewer, item = allowed[place].tolist()
        if left.open(reviewer, item):
            left.take(reviewer, item)
            chosen.append(place)
    return allowed[chosen]


def target_named(name: str) -> Target:
    """Return the target of a level.

    >>> target_named("double")
    <Target: double>
    """
    level = level_named(name, "target")
    target: type[Target] = level.part("target") or target_by_test(level)
    return target()
