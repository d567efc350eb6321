"""Bring an assignment with rules to a connection level: force useful pairs, and re-optimise everything else.

The counterpart of :mod:`.linking` where pairs depend on others: the change around a pair is no cycle of a network but
the solution of :class:`.programme.Relaxation` with a bound on that pair, from the last basis.

1. Rank the pairs that would add items to the core by their loss (a reduced cost: a lower bound) per item.
2. Force some of the best by lower bounds, and re-optimise; where the core does not grow, the first of them alone.
3. When the level is reached, free the forced pairs one by one where it still is.
4. Free a random part of them, reach the level by ranks that are perturbed, and keep the best assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.core import NO_LIMIT, NO_PAIRS, promise
from planner._assign.kernels.flow import flip
from planner._assign.linking import State
from planner._assign.rows import rival_rows
from reviewgraph._base import smallest

if TYPE_CHECKING:
    from planner._assign.core import Core
    from planner._assign.problem import Problem
    from planner._assign.programme import Relaxation
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


#: Pairs ranked at a time, and the share of the missing items that is forced at once.
RANKED = 256
SHARE = 1 / 15

#: Tries to force pairs in vain, one after the other, after which the search gives up.
FUTILE = 100

#: Further starts, and of those in a row without improvement; the share of forced pairs that each frees, and the
#: standard deviation of the log factors of its ranks.
STARTS = 40
STALE = 15
FREED = 0.3
NOISE = 1.0

#: Work of freeing pairs at first, and of all further starts; half as much to improve the first assignment at the level.
WORK = 8.0

#: Shares of the reviews that stay where the rest is re-optimised; tries in a row without improvement, and in all.
KEPT = (0.5, 0.98)
STALE_PARTS = 40
MOST_PARTS = 100

#: Price of a review that changes, in largest values, where as little as possible is to change.
CHANGE = 0.02

#: Whole units of a largest value, for losses.
UNITS = 1 << 30


@dataclass
class Forcing:
    """Changes of an assignment under rules that bring it to a level."""

    core: Core
    problem: Problem
    relaxation: Relaxation  # over all papers, solved
    clock: Clock
    rng: np.random.Generator = field(default_factory=np.random.default_rng)  # for further starts
    say: Callable[[int], object] = lambda count: None  # called with the number of required items in the core
    enough: float = math.inf  # value that is large enough to stop
    starts: int = STARTS  # further starts after the level is reached
    forced: list[int] = field(default_factory=list)  # pairs forced in so far, which are locked
    ways: list[State] = field(default_factory=list)  # assignments at the level: the first one, and a better one if any

    def __post_init__(self) -> None:
        self.net = self.core.net
        self.pairs = self.relaxation.programme.pairs
        self.value = self.relaxation.value
        self.net.potential[:] = 0
        # The loss of each pair by the last prices; pairs that are no columns stay as they are.
        self.cost = np.zeros(self.net.assigned.size, np.int64)
        outside = np.ones(self.net.assigned.size, np.bool_)
        outside[self.pairs] = False
        self.net.locked[outside] = True

    # Changes

    def change(self, pair: int, limit: int = NO_LIMIT) -> tuple[IntArray, bool]:
        """Return the pairs to flip along with one, as few as possible and then the cheapest; empty if there are none.

        There is no limit, so that the second result is always true.
        """
        relaxation = self.relaxation
        assigned = self.net.assigned
        kept = np.zeros(self.value.size)
        kept[: self.pairs.size] = CHANGE * assigned[self.pairs]
        relaxation.values(self.value + kept)
        changed = self._solved(np.array([pair]))
        relaxation.values(self.value)
        if changed is None:
            return NO_PAIRS, True
        others = np.flatnonzero(changed != assigned)
        return np.append(pair, others[others != pair]), True

    def _solved(self, flipped: IntArray = NO_PAIRS, *, priced: bool = True) -> BoolArray | None:
        """Re-optimise with some pairs flipped and those locked as they are; returns the assignment, None if none."""
        relaxation = self.relaxation
        assigned = self.net.assigned[self.pairs].copy()
        locked = np.asarray(self.net.locked, np.bool_)[self.pairs].copy()
        place = np.searchsorted(self.pairs, flipped)
        assigned[place] = ~assigned[place]
        locked[place] = True
        lower = (locked & assigned).astype(float)
        upper = (~locked | assigned).astype(float)
        size = self.pairs.size
        moved = np.flatnonzero((lower != relaxation.lower[:size]) | (upper != relaxation.upper[:size]))
        relaxation.bounds(moved, lower[moved], upper[moved])
        relaxation.solve(priced=priced)
        while True:
            relaxation.dive()
            if relaxation.short:
                return None
            chosen = relaxation.programme.assigned(relaxation.chosen(), self.problem.given)
            # Where rivals are too many to write down, they get their rows once they come up.
            rows = rival_rows(self.pairs, self.problem.rivals.couples_among(chosen))
            if not rows.low.size:
                return chosen
            relaxation.extend(rows)
            relaxation.solve()

    def _put(self, assigned: BoolArray) -> None:
        flip(self.net, np.flatnonzero(self.net.assigned != assigned))

    def total(self) -> float:
        """Return the negative value of the pairs beside given ones, as the programme has it: equal where that is."""
        programme = self.relaxation.programme
        return -programme.worth(programme.choice(np.asarray(self.net.assigned, np.bool_)[self.pairs]))

    def state(self) -> State:
        return State(self.net.assigned.copy(), NO_PAIRS, tuple(self.forced))

    def put(self, state: State) -> None:
        net = self.net
        self._put(state.assigned)
        net.locked[self.forced] = False
        self.forced = list(state.forced)
        net.locked[self.forced] = True

    def release(self, holds: Callable[[], bool], effort: Clock | None = None) -> None:
        """Free forced pairs again, dearest first, where the level holds without them, while effort is left."""
        net = self.net
        effort = self.clock.effort(WORK) if effort is None else effort
        outer = self.relaxation.effort
        self.relaxation.effort = effort
        forced = np.array(self.forced, np.int64)
        for pair in forced[np.argsort(-self.cost[forced], kind="stable")].tolist():
            if effort.over():
                break
            before = net.assigned.copy()
            net.locked[pair] = False
            assigned = self._solved(priced=False)
            if assigned is not None:
                self._put(assigned)
            if assigned is None or not holds():
                self._put(before)
                net.locked[pair] = True
            else:
                self.forced.remove(pair)
        self.relaxation.effort = outer

    def free(self, effort: Clock | None = None) -> None:
        """Release forced pairs without which the assignment is at the level."""
        self.release(self.core.holds_with, effort)

    def improve(self, holds: Callable[[], bool], effort: Clock) -> None:
        """Re-optimise a random part of the assignment at a time, forced pairs included, where the level holds then."""
        net = self.net
        outer = self.relaxation.effort
        self.relaxation.effort = effort
        least = self.total()
        stale = 0
        for _ in range(MOST_PARTS):
            if stale == STALE_PARTS or effort.over():
                break
            stale += 1
            before = self.state()
            locked = net.locked.copy()
            net.locked[self.forced] = False
            share = self.rng.uniform(*KEPT)
            net.locked[np.asarray(net.assigned, np.bool_) & (self.rng.random(net.assigned.size) < share)] = True
            assigned = self._solved(priced=False)
            net.locked[:] = locked
            if assigned is None:
                continue
            self._put(assigned)
            if self.total() < least and holds():
                least = self.total()
                stale = 0
                net.locked[self.forced] = False
                self.forced = [pair for pair in self.forced if assigned[pair]]
                net.locked[self.forced] = True
            else:
                self.put(before)
        self.relaxation.effort = outer

    # The search

    def link(self) -> bool:
        """Bring the assignment to the level, and then at less loss, if possible; false if that does not work."""
        self.ways = []
        if self.core.at_level():
            return True
        if not self._reach(np.ones(self.cost.size)):
            return False
        self.free()
        self.improve(self.core.holds_with, self.clock.effort(WORK / 2))
        best = self.state()
        least = self.total()
        self.ways = [best]
        effort = self.clock.effort(WORK)
        self.relaxation.effort = effort
        stale = 0
        for _ in range(self.starts):
            if effort.over() or stale >= STALE or -least >= self.enough or not best.forced:
                break
            stale += 1
            if self.restart(best):
                self.free(effort)
                if self.total() < least:
                    self.improve(self.core.holds_with, effort)
                    best = self.state()
                    least = self.total()
                    stale = 0
        self.relaxation.effort = self.clock
        if best is not self.ways[0]:
            self.ways.append(best)
        self.put(best)
        self.core.regroup()
        return True

    def restart(self, state: State) -> bool:
        """Free a random part of the pairs forced in a state, and reach the level by ranks that are perturbed."""
        self.put(state)
        freed = [pair for pair in self.forced if self.rng.random() < FREED]
        self.net.locked[freed] = False
        self.forced = [pair for pair in self.forced if pair not in set(freed)]
        return self._reach(np.exp(NOISE * self.rng.standard_normal(self.cost.size)))

    def _reach(self, noise: FloatArray) -> bool:
        """Force pairs until the level holds; false if no further pair helps, too many were in vain, or time is up."""
        core = self.core
        banned = np.zeros(self.cost.size, np.bool_)
        assigned = self._solved()
        if assigned is None:
            return False
        self._put(assigned)
        core.regroup()
        self._price()
        in_vain = 0
        while not core.at_level():
            if self.clock.over() or in_vain >= FUTILE:
                return False
            self.say(core.count)
            batch = self._batch(noise, banned)
            if not batch.size:
                return False
            if not (self._force(batch) or (batch.size > 1 and self._force(batch[:1]))):
                banned[batch[0]] = True
                in_vain += 1
                continue
            in_vain = 0
            self._price()
        return True

    def _price(self) -> None:
        """Set the loss of each pair by the prices of the last solution."""
        loss = np.maximum(-self.relaxation.reduced()[: self.pairs.size], 0)
        self.cost[self.pairs] = np.rint(loss * UNITS).astype(np.int64)

    def _batch(self, noise: FloatArray, banned: BoolArray) -> IntArray:
        """Return the best pairs to force by loss per item, of different reviewers and items."""
        core = self.core
        net = self.net
        floor = 1 + int(np.median(self.cost)) // 10_000
        loss, follow, gain = promise(net, self.cost, core.parts, core.required, core.aim.shared, floor)
        useful = np.flatnonzero((gain > 0) & ~banned)
        score = (loss + follow)[useful] * noise[useful] / gain[useful]
        best = smallest(score, RANKED)
        ranked = useful[best[np.argsort(score[best], kind="stable")]]
        most = max(int(SHARE * (core.total - core.count)), 1)
        batch: list[int] = []
        items = set[int]()
        reviewers = set[int]()
        for pair in ranked.tolist():
            item = int(net.item[pair])
            reviewer = int(net.reviewer[pair])
            if item in items or reviewer in reviewers:
                continue
            items.add(item)
            reviewers.add(reviewer)
            batch.append(pair)
            if len(batch) == most:
                break
        return np.array(batch, np.int64)

    def _force(self, batch: IntArray) -> bool:
        """Force pairs if the core grows by that."""
        before = self.net.assigned.copy()
        count = self.core.count
        assigned = self._solved(batch)
        if assigned is None:
            return False
        self._put(assigned)
        if not self.core.holds_after(count + 1) and not self.core.at_level():
            self._put(before)
            return False
        self.net.locked[batch] = True
        self.forced += batch.tolist()
        return True
