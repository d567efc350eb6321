"""Bring an assignment to a connection level at the least loss: force useful pairs along cheapest cycles.

1. Group the reviewers into components and take the one that covers most (the core, :mod:`.grouping`).
2. Rank the pairs that would bring items into the core by their loss (a reduced cost: a lower bound) per item.
3. Force the best pair by the cheapest cycle of the residual network; take it back if the core shrinks by what the
   cycle removes, and try again around the reviews that were missed.
4. When the core covers every required item, free the forced pairs one by one where it still does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.changing import NO_LIMIT, Changes
from planner.assignments.steps.core import promise

if TYPE_CHECKING:
    from planner.assignments.steps.grouping import Core
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Pairs ranked at a time, and the share of the missing items after which they are ranked anew.
RANKED, SHARE = 256, 0.05

#: Ways tried around reviews that the core cannot do without.
DETOURS = 4

#: By how much each search in vain raises what the next may go to.
ALLOWANCE = 1.5

#: Forced pairs whose mean loss per item is what a search may go to at once.
MEMORY = 20

#: While the core covers less than this share, its own reviews stay where they are: it is too small to lose any.
SMALL = 0.05

#: Pairs forced in vain, one after the other, after which the search gives up: those that reach the level try far fewer.
FUTILE = 400

#: A path may cost this much more than promised before the next pair in the ranking gets its turn.
PATIENCE = 2.0


class Ranking(NamedTuple):
    """Pairs worth forcing: ``heap`` of (loss per item, pair); by pair what must ``follow``, and the items it gains."""

    heap: list[tuple[float, int]]
    follow: IntArray
    gain: IntArray


@dataclass
class Linker(Changes):
    """Changes of an assignment along cheapest cycles that bring it to a level.

    Parameters
    ----------
    core
        The assignment, and its core.
    cost
        Cost of each pair in whole units, shape (P,).
    clock
        When to stop.
    say
        Told how many required items the core covers, now and then.
    forced
        Pairs forced in so far, which are locked.
    """

    core: Core
    cost: IntArray
    clock: Clock
    say: Callable[[int], object] = lambda count: None
    forced: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.core.net, self.cost)
        self.usual, self.in_vain = 0.0, 0

    # Changes

    def force(self, pair: int, pairs: IntArray, holds: Callable[[IntArray], bool]) -> bool:
        """Flip pairs and keep them if that holds; else look for ways around the reviews that were removed."""
        net, avoided = self.net, []
        try:
            for _ in range(DETOURS):
                if pairs.size == 0:
                    return False
                flip(net, pairs)
                net.locked[pair] = True
                if holds(pairs):
                    self.forced.append(pair)
                    return True
                # Undo, and keep the reviews that this way took: the next one must go around them.
                flip(net, pairs)
                net.locked[pair] = False
                removed = pairs[net.assigned[pairs]]
                net.locked[removed] = True
                avoided += removed.tolist()
                pairs, _ = self.change(pair)
            return False
        finally:
            net.locked[avoided] = False

    def release(self, holds: Callable[[IntArray], bool]) -> None:
        """Give forced pairs up again, dearest first, where the level holds without them."""
        net = self.net
        forced = np.array(self.forced, np.int64)
        kept = []
        for pair in forced[np.argsort(-self.reduced(forced), kind="stable")].tolist():
            if self.clock.over() or not self._freed(pair, holds):
                kept.append(pair)
                net.locked[pair] = True
        self.forced = kept

    def _freed(self, pair: int, holds: Callable[[IntArray], bool]) -> bool:
        """Take a forced pair away by the cheapest cycle; back again unless that holds."""
        pairs, _ = self.change(pair, max(int(self.reduced(np.array([pair]))[0]), 0))
        if pairs.size == 0:
            return False
        flip(self.net, pairs)
        self.net.locked[pair] = False
        if holds(pairs):
            return True
        flip(self.net, pairs)
        return False

    # The search

    def link(self) -> bool:
        """Force pairs until the level holds; false if no further pair helps, too many were in vain, or time is up."""
        core = self.core
        blocked = np.zeros(self.cost.size, np.bool_)
        floor = 1 + int(np.median(np.abs(self.cost))) // 10_000 if self.cost.size else 1
        self.in_vain = 0
        while not core.at_level():
            if self.clock.over() or self.in_vain >= FUTILE:
                return False
            self.say(core.count)
            ranking = self._ranking(blocked, floor)
            if not ranking.heap:
                return False
            held = self._hold_core()
            # Where nothing could be forced the groups may have been taken apart too finely: find them anew.
            if not self._force_ranked(ranking, blocked):
                core.regroup()
            self.net.locked[held] = False
        return True

    def _ranking(self, blocked: BoolArray, floor: int) -> Ranking:
        """Rank pairs by loss per item brought; the best ones only."""
        core = self.core
        loss, follow, gain = promise(
            self.net, self.cost, core.groups, core.grown, core.required, core.aim.shared, floor
        )
        useful = np.flatnonzero((gain > 0) & ~blocked)
        score = (loss + follow)[useful] / gain[useful]
        if useful.size > RANKED:
            nearest = np.argpartition(score, RANKED)[:RANKED]
            useful, score = useful[nearest], score[nearest]
        heap = list(zip(score.tolist(), useful.tolist(), strict=True))
        heapq.heapify(heap)
        return Ranking(heap, follow, gain)

    def _hold_core(self) -> IntArray:
        """Lock the reviews of a small core; returns those that were not locked before."""
        net, core = self.net, self.core
        if core.count >= SMALL * core.total:
            return np.empty(0, np.int64)
        inside = net.assigned & ~net.locked & core.grown.joined[core.groups.label[net.reviewer]]
        held = np.flatnonzero(inside & core.grown.covered[net.item])
        net.locked[held] = True
        return held

    def _force_ranked(self, ranking: Ranking, blocked: BoolArray) -> bool:
        """Force pairs in the order of loss per item until the core has grown by a share; false if none could be."""
        core, heap = self.core, ranking.heap
        start, forced = core.count, 0
        enough = max(1.0, SHARE * (core.total - start))
        while heap and forced < enough and core.count - start <= 4 * enough and not core.complete():
            score, pair = heapq.heappop(heap)
            if not core.gains_by(pair):
                continue
            # Where the way is dearer than what the next pair promises, that one gets its turn first.
            bar = PATIENCE * max(score, heap[0][0], self.usual) if heap and self.usual > 0 else np.inf
            pairs, within = self.change(pair, self._room(ranking, pair, bar))
            if not within:
                self.usual *= ALLOWANCE
                heapq.heappush(heap, (bar, pair))
                continue
            price = self.loss_of(pairs) / ranking.gain[pair]
            if self._force_growing(pair, pairs):
                forced, self.in_vain = forced + 1, 0
                self.usual += (price - self.usual) / min(len(self.forced), MEMORY)
            else:
                blocked[pair] = True
                self.in_vain += 1
            if self.clock.over() or self.in_vain >= FUTILE:
                break
        return forced > 0

    def _room(self, ranking: Ranking, pair: int, bar: float) -> int:
        """Loss beyond its reduced cost at which a pair would pass the bar."""
        beyond = bar * ranking.gain[pair] - ranking.follow[pair] - int(self.reduced(np.array([pair]))[0])
        return int(min(max(beyond, 0), NO_LIMIT))

    def _force_growing(self, pair: int, pairs: IntArray) -> bool:
        """Force a pair unless the core covers less than before."""
        least = self.core.count
        return self.force(pair, pairs, lambda flipped: self.core.holds_after(flipped, least))
