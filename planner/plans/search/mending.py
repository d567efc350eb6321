"""Plans that survive losses: a greedy by scenarios, and taking reviews out and mending anew.

1. Find the losses after which the level fails; take them one after the other.
2. Where it still fails, plan the joins of what is left, with what is lost as conflicts, and add them.
3. Repeat until no loss fails: a review that is planned may be lost as well.
4. Remove the reviews without which no loss fails either.

More reviews never harm, so each step keeps what was mended before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.losses import after_loss
from planner.plans.model.task import looked_at
from planner.plans.search import cascading
from reviewgraph.clock import TimeOver

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.losses import Loss, Losses
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Items by which sizes are blurred when plans are made anew.
BLUR = 4
#: Largest share of a plan that is taken out to be made anew.
SHARE = 0.4
#: Reviews by which a plan made anew may be longer before those that are not needed are looked for.
SLACK = 2


@dataclass(frozen=True)
class Mender:
    """The search.

    Parameters
    ----------
    task
        What is planned.
    losses
        What may fail to arrive.
    rng
        Order of the losses, and what is taken out.
    clock
        When to end.
    """

    task: Task
    losses: Losses
    rng: np.random.Generator
    clock: Clock

    def survives(self, pairs: IntArray) -> bool:
        """Whether the level outlives every loss; false where time is over before that is known."""
        try:
            return not self.losses.failing(self.task.table(pairs), self.clock)
        except TimeOver:
            return False

    def mended(self, pairs: IntArray, blur: int = 0) -> IntArray | None:
        """Add reviews until the level outlives every loss; None where a loss cannot be mended, or time is over."""
        while True:
            try:
                failing = self.losses.failing(self.task.table(pairs), self.clock)
            except TimeOver:
                return None
            if not failing:
                return pairs
            for place in self.rng.permutation(len(failing)).tolist():
                more = self._joins(pairs, failing[place], blur)
                if more is None or self.clock.over():
                    return None
                pairs = np.concatenate([pairs, more])

    def _joins(self, pairs: IntArray, loss: Loss, blur: int) -> IntArray | None:
        """Plan the joins that a loss takes; none where others have mended it."""
        left = after_loss(self.task, pairs, loss)
        self.clock.spend(looked_at(left.constraints.reviews))
        if left.is_done:
            return pairs[:0]
        seed = int(self.rng.integers(2**31))
        found, done = cascading.begin(left, left.start.room, seed, blur, self.clock)
        if not done:
            return None
        cascading.prune(found, self.clock)
        return found.pairs

    def pruned(self, pairs: IntArray) -> IntArray:
        """Remove reviews that are not needed, the first ones first; dearest first where reviews have costs."""
        cost = self.task.constraints.cost_of
        for pair in sorted(map(tuple, pairs.tolist()), key=lambda pair: -cost(*pair)):
            fewer = pairs[(pairs != pair).any(axis=1)]
            if self.clock.over():
                break
            if self.survives(fewer):
                pairs = fewer
        return pairs

    def improve(self, ledger: Ledger) -> None:
        """Take some reviews out and mend what fails then, until plan and bound meet or time is over."""
        pairs = ledger.pairs
        while pairs is not None and len(pairs) > 1 and not ledger.closed and ledger.in_time:
            out = int(self.rng.integers(1, max(2, int(SHARE * len(pairs)) + 1)))
            kept = pairs[np.sort(self.rng.permutation(len(pairs))[out:])]
            found = self.mended(kept, BLUR)
            if found is not None and len(found) <= len(pairs) + SLACK:
                found = self.pruned(found)
                # Plans of equal length are taken as well: they lead on to others.
                pairs = found if len(found) <= len(pairs) else pairs
                ledger.offer(pairs)
