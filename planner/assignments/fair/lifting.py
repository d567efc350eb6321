"""Lift the worst-served papers by chains of exchanges: no other paper falls below the one that is lifted.

After a lift the paper itself has more than before, and every other one keeps what it has, or has more than what the
lifted one had. So the sorted scores rise lexicographically, and since they are whole numbers the search ends. It
changes one place of each panel at a time, so the end is a local one; how far it may be from the best possible says
:mod:`.bounding`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.fair.exchanging import chains_of, lifting_chain
from planner.assignments.model.network import flip
from planner.assignments.steps.changing import around_rivals
from planner.assignments.wishes.floors import NO_FLOOR, VALUE_BITS
from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.state import Network
    from planner.assignments.steps.linking import Linker
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: The least lift, in whole units: a millionth of the largest affinity.
STEP = 1 << (VALUE_BITS - 20)

#: Above every sum of affinities.
NO_CEILING = -NO_FLOOR

#: Rounds over papers that could not be lifted before others were.
ROUNDS = 5

#: Lifts after which the listener is told.
TOLD = 100


def panel_scores(net: Network) -> IntArray:
    """Sum of the values of each item's reviewers, shape (N,); below 2**53, so floats add them up exactly."""
    assigned = np.flatnonzero(net.assigned)
    sums = np.bincount(net.item[assigned], net.value[assigned].astype(np.float64), net.item_start.size - 1)
    return sums.astype(np.int64)


@dataclass
class Lifting:
    """Lifts of the worst-served items.

    Parameters
    ----------
    linker
        The assignment, and its cheapest cycles.
    counted
        Items that are served, shape (N,); the others neither rise nor are protected.
    reach
        Most that each item can have, shape (N,).
    say
        Told the number of lifts, now and then.
    """

    linker: Linker
    counted: BoolArray
    reach: IntArray
    say: Callable[[int], object] = lambda count: None

    def __post_init__(self) -> None:
        self.score = panel_scores(self.linker.net)
        self.chains = chains_of(self.linker.net)
        self.lifts = 0

    def run(self, ceiling: int, keep: int = NO_FLOOR) -> None:
        """Lift items below a ceiling, the worst first, until none can be or time is up.

        Items at ``keep`` or above stay there, and those below lose nothing.
        """
        waiting = np.flatnonzero(self.counted)
        for _ in range(ROUNDS):
            lifts = self.lifts
            # Lifts of some may have made way for others who had to wait.
            waiting = self._round(waiting, ceiling, keep)
            if self.lifts == lifts or not waiting.size or self.linker.clock.over():
                break

    def _round(self, waiting: IntArray, ceiling: int, keep: int) -> IntArray:
        """Lift from the lowest up; returns the items that could not be lifted."""
        queue = [(int(self.score[i]), int(i)) for i in waiting]
        heapq.heapify(queue)
        stuck = np.zeros(self.counted.size, np.bool_)
        while queue and not self.linker.clock.over():
            score, item = heapq.heappop(queue)
            # An entry counts while it holds the item's present score.
            if score != self.score[item] or stuck[item] or score >= min(ceiling, self.reach[item] - STEP + 1):
                continue
            changed = self._lift(item, keep)
            stuck[item] = not changed.size
            for other in changed[self.counted[changed]].tolist():
                heapq.heappush(queue, (int(self.score[other]), other))
        return np.flatnonzero(stuck)

    def _lift(self, item: int, keep: int) -> IntArray:
        """Lift an item by the fewest exchanges; returns the items that changed."""
        net = self.linker.net
        least = int(self.score[item]) + STEP
        floor = np.where(self.counted, np.minimum(self.score, max(least, keep)), NO_FLOOR)
        floor[item] = least
        pairs = self._chain(item, floor)
        flip(net, pairs)
        np.add.at(self.score, net.item[pairs], np.where(net.assigned[pairs], net.value[pairs], -net.value[pairs]))
        self.lifts += pairs.size > 0
        if pairs.size and self.lifts % TOLD == 0:
            self.say(self.lifts)
        return np.unique(net.item[pairs])

    def _chain(self, item: int, floor: IntArray) -> IntArray:
        """Pairs to flip; where rivals would come in together, another way is tried."""
        net, chains = self.linker.net, self.chains
        return around_rivals(net, lambda: chains.path[: lifting_chain(net, chains, self.score, floor, item)].copy())


def reach_of(net: Network, demand: IntArray) -> IntArray:
    """Return the most that each item can have alone: its locked pairs and the best of the others, shape (N,)."""
    given = net.locked & net.assigned
    free = np.flatnonzero(~net.locked)
    lack = demand - np.bincount(net.item[given], minlength=demand.size)
    taken = free[ranks(net.item[free], net.value[free]) < lack[net.item[free]]]
    best = np.concatenate([np.flatnonzero(given), taken])
    sums = np.bincount(net.item[best], net.value[best].astype(np.float64), demand.size)
    return sums.astype(np.int64)
