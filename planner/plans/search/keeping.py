"""Plans that keep a level with high probability when reviews fail to arrive: scenario by scenario.

1. Draw losses of the table with the plan; stop drawing once more fail than may.
2. For a few that fail, plan the joins of what is left, with what is lost as conflicts.
3. Add those joins that mend most of the losses drawn, for each review; they may be lost themselves from then on.
4. Repeat until enough of freshly drawn losses keep the level.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.keeping import Keeping, draw_loss, estimate, keeps
from planner.plans.model.losses import with_rows_lost
from planner.plans.model.tables import no_pairs, with_extra
from planner.plans.model.task import looked_at
from reviewgraph.clock import TimeOver

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Losses drawn before a plan is looked at more closely, those drawn to be sure, and those of the estimates.
DRAWN, SURE, DRAWS = 100, 400, 400
#: Failing losses for which joins are planned in a round.
LOOKED_AT = 8
#: Share of time and work for the search; the rest is for the estimates.
SHARE = 0.8


def keep_level(
    task: Task, target: Target, ledger: Ledger, missing: float, wanted: float, rng: np.random.Generator, clock: Clock
) -> Keeping:
    """Let the ledger's plan grow until the level is kept with a probability, within budget and time.

    Parameters
    ----------
    task, target
        What is planned, and the level to keep.
    ledger
        Holds a plan that reaches the level with nothing lost, and the budget.
    missing, wanted
        Probability that a review fails to arrive, and that the level is to be kept.
    rng
        Draws the losses.
    clock
        When to end; the two estimates are made from fewer draws then.
    """
    search = _Search(task, target, missing, wanted, rng, clock.share(SHARE))
    ledger.pairs = search.grown(ledger.pairs if ledger.pairs is not None else no_pairs(), ledger.budget)
    ledger.tell()
    # Half of the time that is left for each.
    half = clock.share(0.5)
    before = estimate(target, task.table(no_pairs()), missing, DRAWS, rng, half)
    after = estimate(target, task.table(ledger.pairs), missing, DRAWS, rng, clock)
    return Keeping(missing, wanted, before, after)


@dataclass(frozen=True)
class _Search:
    task: Task
    target: Target
    missing: float
    wanted: float
    rng: np.random.Generator
    clock: Clock

    def grown(self, pairs: IntArray, most: int | None) -> IntArray:
        """Add joins until enough fresh losses keep the level; no more than ``most`` reviews in all."""
        with suppress(TimeOver):
            while most is None or len(pairs) < most:
                failing = self._failing(pairs, DRAWN) or self._failing(pairs, SURE)
                if not failing:
                    break
                more = self._best(pairs, failing[:LOOKED_AT])
                if more is None:
                    break
                pairs = np.concatenate([pairs, more])[:most]
        return pairs

    def _failing(self, pairs: IntArray, draws: int) -> list[BoolArray]:
        """Draw losses; return those that fail once they are more than may, and none if they stay fewer."""
        table = self.task.table(pairs)
        failing: list[BoolArray] = []
        for _ in self.clock.watch(range(draws)):
            self.clock.spend(looked_at(table))
            lost = draw_loss(table, self.missing, self.rng)
            if not keeps(self.target, table, lost):
                failing.append(lost)
            if len(failing) > max((1 - self.wanted) * draws, LOOKED_AT - 1):
                break
        return failing if len(failing) > (1 - self.wanted) * draws else []

    def _best(self, pairs: IntArray, failing: list[BoolArray]) -> IntArray | None:
        """Of the joins that mend each of some losses, those that mend most of all, for each review."""
        best: tuple[float, IntArray | None] = (0.0, None)
        for lost in self.clock.watch(failing):
            more = self._joins(pairs, lost)
            if more is None:
                continue
            mended = sum(self._mends(pairs, more, other) for other in self.clock.watch(failing))
            best = max(best, (mended / len(more), more), key=lambda pair: pair[0])
        return best[1]

    def _mends(self, pairs: IntArray, more: IntArray, lost: BoolArray) -> bool:
        """Whether some joins mend a loss, as far as they are not lost themselves."""
        table = self.task.table(pairs)
        self.clock.spend(looked_at(table))
        gone = table.reviewer[lost] * self.task.n_items + table.item[lost]
        arrive = more[~np.isin(more[:, 0] * self.task.n_items + more[:, 1], gone)]
        return self.target.reaches(with_extra(table.subset(~lost), arrive))

    def _joins(self, pairs: IntArray, lost: BoolArray) -> IntArray | None:
        """Plan the joins of what is left, each of them needed; None where there are none."""
        left = with_rows_lost(self.task, pairs, lost)
        self.clock.spend(looked_at(left.constraints.reviews))
        for more in self.target.starts(left, left.start.room, self.clock):
            if self.target.reaches_in_time(left.table(more), self.clock):
                return self._pruned(left, more)
        return None

    def _pruned(self, left: Task, more: IntArray) -> IntArray:
        for place in self.clock.watch(range(len(more) - 1, -1, -1)):
            fewer = np.delete(more, place, axis=0)
            if self.target.reaches_in_time(left.table(fewer), self.clock):
                more = fewer
        return more
