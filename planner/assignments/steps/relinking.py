"""Bring an assignment to a connection level anew, at less loss: few cheap pairs that link all at a stroke.

:mod:`.linking` grows one core and sees what a pair brings to it. Where components are many and small, cheap pairs far
from any core may make them fall together, one after the other. So:

1. Pairs of small reduced costs are searched for what forcing each alone would lose: the cheapest cycle through it.
2. They are put in the order of their losses, and the dearest given up first where the level would hold without them if
   the others were added: a minimal set of pairs that brings the level beside what is assigned.
3. These are forced, each by the cheapest cycle after which the assignment and the rest of the set still have the
   level, so that it holds in the end. A pair that cannot be forced is barred, and a set found anew.
4. Forced pairs that are not needed are freed again.

Random orders near that of the losses give other sets (a greedy randomised search, [Feo95]_); the best
assignment stands, that of the core included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.changing import NO_LIMIT
from planner.assignments.steps.linking import Linker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Orders that are tried, and those in a row that may bring nothing better.
ORDERS, STALE = 64, 24

#: Standard deviation of the logarithms of what losses are multiplied by, for another order.
NOISE = 1.0

#: Pairs that are searched, where they are enough for the level; and sets that an order may take.
SEARCHED, SETS = 400, 40

#: Limit of a search for a cycle, as a multiple of what a forced pair of the core has lost on average.
DEAR = 2

#: An order is abandoned once its loss exceeds this multiple of the total loss of the best one.
HOPELESS = 2.0

#: Work in all, and the part of it that goes into searching pairs; work of a search for a cycle, for each pair that may
#: be assigned, and of a look at the level, for each review.
WORK, SHARE, SEARCH, LOOK = 5.0, 0.4, 1e-7, 2e-7

_NONE = np.empty(0, np.int64)


class State(NamedTuple):
    """An assignment, its potentials, and the pairs that were forced."""

    assigned: BoolArray
    potential: IntArray
    forced: tuple[int, ...]


@dataclass
class Relinker(Linker):
    """A linker that looks for a cheaper way to the level once it knows one, or knows none.

    Parameters
    ----------
    rng
        Draws the orders.
    rewards
        What the present assignment earns by rules, in units of cost.
    enough
        Loss that is small enough to look no further, in units of cost.
    ways
        Assignments at the level that were found: by the core, and by less where that is another one.
    """

    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    rewards: Callable[[], int] = lambda: 0
    enough: float = 0.0
    ways: list[State] = field(default_factory=list)

    def link(self) -> bool:
        """Bring the assignment to the level by the core, and then by less, if that can be; false if neither does."""
        self.ways = []
        if self.core.at_level():
            return True
        effort, start, before = self.clock.effort(WORK), self.state(), self.total()
        reached = super().link()
        if reached:
            self.release(lambda _: self.core.holds_with(_NONE))
        best, least = self.state(), self.total() - before if reached else None
        self.ways = [best] if reached else []
        if not self.clock.over() and (least is None or least > self.enough):
            for state, loss in self._anew(start, least, effort):
                best, least = state, loss
                if loss <= self.enough:
                    break
        if least is not None and not (self.ways and best is self.ways[0]):
            self.ways.append(best)
        self.put(best)
        self.core.regroup()
        return least is not None

    def _anew(self, start: State, least: int | None, effort: Clock) -> Iterator[tuple[State, int]]:
        """Give assignments at the level, each cheaper than those before, with what they lose against the start."""
        usual = len(self.forced)
        self.put(start)
        before = self.total()
        pairs, loss = self._candidates(least, usual, effort)
        # Searching has left better potentials.
        start, stale = self.state(), 0
        for number in range(ORDERS):
            if effort.over() or stale >= STALE or not pairs.size:
                return
            stale += 1
            noise = np.exp((NOISE if number else 0.0) * self.rng.standard_normal(pairs.size))
            self.put(start)
            if not self._linked(pairs[np.argsort(-loss * noise, kind="stable")], least, effort):
                continue
            self.release(lambda _: self._holds(_NONE, effort))
            lost = self.total() - before
            if least is None or lost < least:
                least, stale = lost, 0
                yield self.state(), lost

    def _candidates(self, least: int | None, usual: int, effort: Clock) -> tuple[IntArray, FloatArray]:
        """Return the cheapest pairs that are enough for the level, and what forcing each alone loses."""
        net, most = self.net, NO_LIMIT if least is None else least
        pairs = np.flatnonzero(~net.assigned & ~net.locked)
        reduced = np.maximum(self.reduced(pairs), 0)
        order = np.argsort(reduced, kind="stable")
        pairs, loss = pairs[order], reduced[order].astype(np.float64)
        pairs = pairs[loss <= most]
        # What is dearer than what the level costs by pair so far need not be known exactly.
        limit, count = DEAR * most // max(usual, 1), SEARCHED
        while count < pairs.size and not self._holds(pairs[:count], effort):
            count *= 2
        pairs, loss = pairs[:count], loss[: min(count, pairs.size)]
        part, beyond = effort.effort(SHARE * effort.work), np.zeros(0)
        for place, pair in enumerate(pairs.tolist()):
            if part.over():
                # What was not searched loses beyond its reduced cost what others do.
                loss[place:] += np.median(beyond[np.isfinite(beyond)]) if np.isfinite(beyond).any() else 0.0
                break
            cycle, within = self.change(pair, limit)
            part.spend(SEARCH * net.assigned.size)
            true = float(self.loss_of(cycle)) if cycle.size else np.inf if within else loss[place] + limit
            beyond, loss[place] = np.append(beyond, true - loss[place]), true
        able = np.isfinite(loss)
        return pairs[able], np.maximum(loss[able], 1.0)

    def _linked(self, order: IntArray, least: int | None, effort: Clock) -> bool:
        """Force sets of pairs, the dearest first in order, until the level holds; false if that loses too much."""
        net, before, barred = self.net, self.total(), np.zeros(self.cost.size, np.bool_)
        for _ in range(SETS):
            if self._holds(_NONE, effort):
                return True
            free = order[~(net.assigned | net.locked | barred)[order]]
            if effort.over() or not self._holds(free, effort):
                return False
            rest = self._needed(_NONE, free, effort)
            while rest.size:
                pair, rest = int(rest[-1]), rest[:-1]
                if not self._forced_beside(pair, rest, effort):
                    barred[pair] = True
                    break
            if least is not None and self.total() - before > HOPELESS * least:
                return False
        return False

    def _forced_beside(self, pair: int, rest: IntArray, effort: Clock) -> bool:
        """Force a pair such that the rest of its set still brings the level; it may have come in with another one."""
        net = self.net
        if net.assigned[pair]:
            net.locked[pair] = True
            self.forced.append(pair)
            return True
        effort.spend(SEARCH * net.assigned.size)
        return self.force(pair, self.change(pair)[0], lambda _: self._holds(rest, effort))

    def _needed(self, kept: IntArray, order: IntArray, effort: Clock) -> IntArray:
        """Return a minimal part of some pairs that brings the level beside those kept; the first are given up first."""
        if self._holds(kept, effort):
            return _NONE
        if order.size == 1:
            return order
        first, second = np.split(order, [order.size // 2])
        first = self._needed(np.concatenate([kept, second]), first, effort)
        return np.concatenate([first, self._needed(np.concatenate([kept, first]), second, effort)])

    def _holds(self, more: IntArray, effort: Clock) -> bool:
        effort.spend(LOOK * (self.net.n_panel.sum() + more.size))
        return self.core.holds_with(more)

    def total(self) -> int:
        """Cost of the assignment, less what it earns by rules."""
        return int(self.cost[self.net.assigned].sum()) - self.rewards()

    def state(self) -> State:
        """Return the present assignment, to come back to."""
        return State(self.net.assigned.copy(), self.net.potential.copy(), tuple(self.forced))

    def put(self, state: State) -> None:
        """Go back to a state; what is locked beside the forced pairs stays."""
        net = self.net
        flip(net, np.flatnonzero(net.assigned != state.assigned))
        net.potential[:] = state.potential
        net.locked[self.forced] = False
        self.forced = list(state.forced)
        net.locked[self.forced] = True
