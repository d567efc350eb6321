"""Cuts for the targets that survive a loss: those of *double* after each loss.

After a loss a plan must cross every cut of *double* as often as links are missing, with reviews that are not lost.
Where one review is lost at a time, those of the plan included, it must cross a cut of the whole table once more: what
is lost may be one of the reviews that cross.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.allowed import allowed_pairs
from planner.plans.model.losses import after_loss
from planner.plans.model.oracle import Cut, Oracle
from planner.plans.model.tables import no_pairs
from planner.plans.targets.double_oracle import DoubleOracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.losses import Losses
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Losses that are cut off in one round of the programme.
AT_ONCE = 3
#: Work, see :class:`reviewgraph.clock.Clock`, of a look at one loss.
PART = 5e-4


class _Part(NamedTuple):
    """One loss: what is *double* after it, which candidates are left, and how often more a cut must be crossed."""

    oracle: DoubleOracle
    left: BoolArray
    more: int


class RobustOracle(Oracle):
    """*Double* after each loss.

    Reviewers of few reviews are taken as all others (``threshold`` 0): that leaves cuts weaker, not wrong.
    """

    threshold = 0

    def __init__(self, task: Task, losses: Losses, rng: np.random.Generator) -> None:
        table = task.table(no_pairs())
        allowed = allowed_pairs(task.constraints, table, task.spare)
        super().__init__(task, allowed[task.room[allowed[:, 1]] > 0])
        self.single, self.parts = losses.single, list[_Part]()
        for loss in losses.every(table):
            left = ~loss.takes(self.allowed[:, 0], self.allowed[:, 1])
            oracle = DoubleOracle(after_loss(task, no_pairs(), loss), rng, self.allowed[left])
            self.parts.append(_Part(oracle, left, int(losses.single and loss.reviewer < 0)))

    @property
    def work(self) -> float:
        """As of any oracle, and a look at each loss."""
        return super().work + PART * len(self.parts)

    def reaches(self, pairs: IntArray) -> bool:
        """Close what is left after each loss."""
        return next(self._failing(pairs), None) is None

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cut off the closed structures of some losses that fail."""
        failing = self._failing(pairs)
        for _ in range(AT_ONCE):
            found = next(failing, None)
            if found is None:
                return
            part, rest = found
            for cut in part.oracle.cuts(rest):
                leaves = np.zeros(len(self.allowed), np.int64)
                leaves[part.left] = cut.leaves
                yield Cut(leaves, cut.least + part.more, set())

    def _failing(self, pairs: IntArray) -> Iterator[tuple[_Part, IntArray]]:
        """Losses after which the target is missed, each with the reviews that are left of those chosen."""
        chosen = set(map(tuple, pairs.tolist()))
        taken = np.array([tuple(pair) in chosen for pair in self.allowed.tolist()], np.bool_)
        for part in self.parts:
            rest = self.allowed[taken & part.left]
            if not part.oracle.reaches(rest):
                yield part, rest
        if self.single:
            # Nothing is lost but one of the reviews chosen.
            for place in range(len(pairs)):
                rest = np.delete(pairs, place, axis=0)
                if not self.parts[0].oracle.reaches(rest):
                    yield self.parts[0], rest
