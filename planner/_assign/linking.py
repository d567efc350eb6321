"""Bring an assignment to a level, and keep it there after losses, at little loss: force pairs that link the papers.

1. Order pairs by the loss of forcing each alone. The dearest are given up first where the level would hold if the
   others were added: what remains is a minimal set of pairs for the level (a division as in QuickXplain [Junker04]_).
2. Force the set, and re-optimise everything else (:class:`Changes`). Where that removes reviews without which the rest
   of the set is not enough, force fewer at once; a pair that cannot be forced is barred, and another set computed.
3. Free forced pairs without which the level holds.
4. Where that fails again and again, since no core is there, grow the core of the assignment pair by pair.
5. Repeat in random orders near that of the losses (a greedy randomised search [Feo95]_); every other one keeps most
   pairs of the best set so far. The best assignment stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from planner._assign.core import NO_LIMIT, NO_PAIRS, Core, missing_without
from planner._assign.kernels.flow import cheapest_path, flip, workspace
from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray

if TYPE_CHECKING:
    from planner._assign.problem import Network, Problem
    from planner._assign.programme import Relaxation

# Two ways to change an assignment around forced pairs: cheapest cycles of a flow, and a programme where rules hold.
#
# Both keep the assignment optimal, or near that, beside the pairs that are locked. The flow is faster by far; where
# pairs depend on others, by rules or floors, the change around a pair is no cycle of a network.


class Changes(Protocol):
    """A way to change an assignment, in place, beside the pairs that are locked."""

    effort: Clock  # where work is counted

    def begin(self) -> None:
        """Prepare losses and changes of the assignment."""

    def total(self) -> float:
        """Return the cost of the assignment."""

    def losses(self, pairs: IntArray) -> FloatArray:
        """Return lower bounds on the losses of forcing pairs."""

    def loss(self, pair: int) -> float:
        """Return the loss of forcing a pair alone; infinite where that is not possible."""

    def take(self, pairs: IntArray) -> bool:
        """Assign and lock pairs; false if that is not possible, with some done."""

    def drop(self, pair: int) -> bool:
        """Unlock a pair, and re-optimise; false if it stays locked."""


#: Work of a search for a cycle, per pair that may be assigned.
SEARCH = 4e-9


class Cycles:
    """Changes by cheapest cycles, of pairs of some costs; needs potentials with non-negative reduced costs."""

    def __init__(self, net: Network, cost: IntArray, effort: Clock) -> None:
        self.net = net
        self.cost = cost
        self.effort = effort
        self.work = workspace(cost, net.potential.size)
        self.path: IntArray = np.asarray(self.work.path)

    def begin(self) -> None:
        pass

    def total(self) -> float:
        return int(self.cost[self.net.assigned].sum())

    def losses(self, pairs: IntArray) -> FloatArray:
        """Return the reduced costs of pairs."""
        net = self.net
        end = net.item_start.size - 1 + net.reviewer[pairs]
        reduced = self.cost[pairs] + net.potential[net.item[pairs]] - net.potential[end]
        return np.asarray(reduced, float)

    def change(self, pair: int, limit: int = NO_LIMIT) -> IntArray:
        """Return the cheapest pairs to flip along with one; empty if there are none within the limit.

        The limit is on the loss beyond the pair's own reduced cost.
        """
        self.effort.spend(SEARCH * self.cost.size)
        length = cheapest_path(self.net, self.work, pair, limit)
        return self.path[: max(length, 0)].copy()

    def loss(self, pair: int) -> float:
        pairs = self.change(pair)
        cost = np.where(self.net.assigned[pairs], -self.cost[pairs], self.cost[pairs])
        return float(cost.sum()) if pairs.size else math.inf

    def take(self, pairs: IntArray) -> bool:
        for pair in pairs[::-1].tolist():
            if not self.net.assigned[pair]:
                cycle = self.change(pair)
                if not cycle.size:
                    return False
                flip(self.net, cycle)
            self.net.locked[pair] = True
        return True

    def drop(self, pair: int) -> bool:
        cycle = self.change(pair, max(int(self.losses(np.array([pair]))[0]), 0))
        if not cycle.size:
            return False
        flip(self.net, cycle)
        self.net.locked[pair] = False
        return True


#: Whole units of a largest value, for losses.
UNITS = 1 << 30


class Programmed:
    """Changes by the programme of an assignment under rules, from its last basis."""

    def __init__(self, net: Network, problem: Problem, relaxation: Relaxation) -> None:
        self.net = net
        self.problem = problem
        self.relaxation = relaxation
        self.pairs = relaxation.programme.pairs
        # Pairs that are no columns stay as they are.
        outside = np.ones(net.assigned.size, np.bool_)
        outside[self.pairs] = False
        net.locked[outside] = True

    @property
    def effort(self) -> Clock:
        return self.relaxation.effort

    @effort.setter
    def effort(self, effort: Clock) -> None:
        self.relaxation.effort = effort

    def begin(self) -> None:
        self._relax()
        relaxation = self.relaxation
        self.best = float(relaxation.value @ relaxation.z)
        self.cost = np.zeros(self.net.assigned.size)
        self.cost[self.pairs] = np.maximum(-relaxation.reduced(), 0) * UNITS
        self._put(self._solved())

    def total(self) -> float:
        """Return the negative value of the pairs beside given ones, as the programme has it: equal where that is."""
        programme = self.relaxation.programme
        return -programme.worth(np.asarray(self.net.assigned, np.bool_)[self.pairs])

    def losses(self, pairs: IntArray) -> FloatArray:
        return self.cost[pairs]

    def loss(self, pair: int) -> float:
        """Return the loss of the relaxation."""
        self._relax(np.array([pair]), priced=False)
        relaxation = self.relaxation
        return math.inf if relaxation.short else (self.best - float(relaxation.value @ relaxation.z)) * UNITS

    def take(self, pairs: IntArray) -> bool:
        if not self._put(self._solved(pairs)):
            return False
        self.net.locked[pairs] = True
        return True

    def drop(self, pair: int) -> bool:
        self.net.locked[pair] = False
        if self._put(self._solved(priced=False)):
            return True
        self.net.locked[pair] = True
        return False

    def _put(self, assigned: BoolArray | None) -> bool:
        if assigned is not None:
            flip(self.net, np.flatnonzero(self.net.assigned != assigned))
        return assigned is not None

    def _relax(self, taken: IntArray = NO_PAIRS, *, priced: bool = True) -> None:
        """Re-optimise the relaxation with some pairs taken and those locked as they are."""
        relaxation = self.relaxation
        locked = np.asarray(self.net.locked, np.bool_)[self.pairs]
        assigned = np.asarray(self.net.assigned, np.bool_)[self.pairs]
        lower = locked & assigned
        lower[np.searchsorted(self.pairs, taken)] = True
        upper = lower | ~locked
        moved = np.flatnonzero((lower != relaxation.lower) | (upper != relaxation.upper))
        relaxation.bounds(moved, lower[moved].astype(float), upper[moved].astype(float))
        relaxation.solve(priced=priced)

    def _solved(self, taken: IntArray = NO_PAIRS, *, priced: bool = True) -> BoolArray | None:
        """Return the assignment with some pairs taken and those locked as they are; None if there is none."""
        self._relax(taken, priced=priced)
        relaxation = self.relaxation
        relaxation.dive()
        if relaxation.short:
            return None
        return relaxation.programme.assigned(relaxation.chosen(), self.problem.given)


#: Maximum number of orders, and of those in a row without improvement.
ORDERS = 200
STALE = 48

#: Standard deviation of the log factors of the losses, for another order.
NOISE = 1.0

#: Probability that a pair of the best assignment so far is kept in an order near it.
KEPT = 0.6

#: Pairs that are searched, where they are enough for the level; and sets per order.
SEARCHED = 400
SETS = 5

#: Orders in vain after which the core is grown step by step.
IN_VAIN = 4

#: Pairs by which the core grows at once that are rated, and that are forced at once.
RATED = 100
GROWN = 8
TINY = 1e-9

#: Maximum number of detours around reviews that the level cannot do without.
DETOURS = 4

#: An order is abandoned once its loss exceeds this multiple of the total loss of the best one.
HOPELESS = 2.0

#: Multiple of the work after which the search ends even if nothing reaches the level.
PATIENCE = 10

#: Share of the work for releasing pairs where all of it is spent.
RELEASING = 0.25

#: Share of the work that goes into searching pairs; work of a test of the level, per review, of one that needs a table
#: besides, and of one after every loss, per review.
SEARCHED_SHARE = 0.4
LOOK = 5e-8
TABLE = 3e-4
LOSSES = 2e-6


class State(NamedTuple):
    """An assignment, its potentials, and the pairs that were forced."""

    assigned: BoolArray
    potential: IntArray
    forced: tuple[int, ...]


@dataclass
class Linker:
    """A search for changes of an assignment that bring it to a level."""

    core: Core
    changes: Changes
    clock: Clock
    rng: np.random.Generator = field(default_factory=np.random.default_rng)  # for the orders
    enough: float = -math.inf  # a total at which the search stops
    forced: list[int] = field(default_factory=list)  # pairs forced in so far, which are locked
    say: Callable[[], object] = lambda: None  # called where more is linked

    def __post_init__(self) -> None:
        self.net = self.core.net
        self.exposed = np.zeros(self.net.n_held.size, np.bool_)  # reviewers without any one of whom it must hold

    # Assignments

    def state(self) -> State:
        return State(self.net.assigned.copy(), self.net.potential.copy(), tuple(self.forced))

    def put(self, state: State) -> None:
        net = self.net
        flip(net, np.flatnonzero(net.assigned != state.assigned))
        net.potential[:] = state.potential
        net.locked[self.forced] = False
        self.forced = list(state.forced)
        net.locked[self.forced] = True

    def missing(self, more: IntArray = NO_PAIRS) -> int:
        """Count what is missing with further pairs: items at the level or, if none, exposed reviewers who are critical.

        Raises Clock.Over.
        """
        self._spend(LOOK, more)
        missing = self.core.missing(more)
        if missing:
            return self.exposed.size + missing
        return self._critical(more).size

    def _critical(self, more: IntArray = NO_PAIRS) -> IntArray:
        if not self.exposed.any():
            return NO_PAIRS
        self._spend(LOSSES, more)
        return np.flatnonzero(missing_without(self.core, self.clock, self.exposed, more))

    def _spend(self, work: float, more: IntArray) -> None:
        reviews = int(self.net.n_panel.sum()) + more.size
        self.changes.effort.spend(work * reviews + (0.0 if self.core.aim.core_decides else TABLE))

    # The search

    def link(self, work: float) -> bool:
        """Bring the assignment to the level; false if that fails, then as much of it as was possible is linked."""
        with suppress(Clock.Over):
            if not self.missing():
                return True
        patience = self.clock.effort(PATIENCE * work)
        self.changes.effort = effort = patience.effort(work)
        best = start = self.state()
        least = (math.inf, math.inf)
        with suppress(Clock.Over):
            least = (self.missing(), self.changes.total())
            self.changes.begin()
            before = self.changes.total()
            pairs, loss = self._candidates()
            # The searches have improved the potentials.
            start = self.state()
            stale = 0
            for number in range(ORDERS):
                if (effort.over() and not least[0]) or patience.over() or stale >= STALE or not pairs.size:
                    break
                stale += 1
                rank = loss * np.exp((NOISE if number else 0.0) * self.rng.standard_normal(pairs.size))
                # Pairs at the end of the order are given up last.
                if number % 2:
                    kept = np.array(best.forced, np.int64)
                    rank[np.isin(pairs, kept[self.rng.random(kept.size) < KEPT])] = 0.0
                self.put(start)
                hopeless = math.inf if least[0] else before + HOPELESS * (least[1] - before)
                dearest_first = pairs[np.argsort(-rank, kind="stable")]
                self._reach(dearest_first, hopeless, patience if least[0] else effort)
                if least[0] and number >= IN_VAIN and self.missing():
                    self._grow(patience)
                    self._reach(dearest_first, hopeless, patience)
                missing = self.missing()
                if missing > least[0]:
                    continue
                if effort.over():
                    # What is reached late is released, too.
                    self.changes.effort = patience.effort(RELEASING * work)
                self.release(missing)
                self.changes.effort = effort
                merit = (missing, self.changes.total())
                if merit < least:
                    self.say()
                    least = merit
                    best = self.state()
                    stale = 0
                if least <= (0, self.enough):
                    break
        self.changes.effort = self.clock
        self.put(best)
        return least[0] == 0

    def _candidates(self) -> tuple[IntArray, FloatArray]:
        """Return the cheapest pairs that are enough for the level, and the loss of forcing each alone."""
        net = self.net
        pairs = np.flatnonzero(~net.assigned & ~net.locked)
        loss = np.maximum(self.changes.losses(pairs), 0.0)
        order = np.argsort(loss, kind="stable")
        pairs = pairs[order]
        loss = loss[order]
        count = SEARCHED
        while count < pairs.size and self.missing(pairs[:count]):
            count *= 2
        pairs = pairs[:count]
        loss = loss[:count]
        if self.enough < math.inf:
            self._search(pairs, loss)
        able = np.isfinite(loss)
        return pairs[able], np.maximum(loss[able], 1.0)

    def _search(self, pairs: IntArray, loss: FloatArray) -> None:
        """Write the losses of forcing each pair alone, infinite where that is not possible, as far as work is left."""
        effort = self.changes.effort
        self.changes.effort = part = effort.effort(SEARCHED_SHARE * effort.work)
        beyond = np.zeros(0)
        for place, pair in enumerate(pairs.tolist()):
            if part.over():
                # The remaining pairs get the median excess over the bound.
                loss[place:] += np.median(beyond[np.isfinite(beyond)]) if np.isfinite(beyond).any() else 0.0
                break
            true = self.changes.loss(pair)
            beyond = np.append(beyond, true - loss[place])
            loss[place] = true
        self.changes.effort = effort

    def _reach(self, order: IntArray, hopeless: float, effort: Clock) -> None:
        """Force sets of pairs, the dearest first in order, until as little is missing as with all of them."""
        net = self.net
        barred = np.zeros(net.assigned.size, np.bool_)
        for _ in range(SETS):
            rest = self._needed(order[~(net.assigned | net.locked | barred)[order]])
            if not rest.size:
                return
            expected = self.missing(rest)
            size = rest.size
            while rest.size:
                if effort.over() or self.changes.total() > hopeless:
                    return
                size = min(size, rest.size)
                left = rest[:-size]
                if self._force(rest[-size:], partial(self._enough, left, expected)):
                    rest = left
                elif size > 1:
                    size = (size + 1) // 2
                else:
                    barred[rest[-1]] = True
                    break

    def _enough(self, more: IntArray, expected: int) -> bool:
        return self.missing(more) <= expected

    def _grow(self, effort: Clock) -> None:
        """Force pairs by which the core grows at once, those of least loss per item first, until nothing is missing."""
        barred = np.zeros(self.net.assigned.size, np.bool_)
        missing = self.missing()
        size = GROWN
        grown = False
        while missing and not effort.over():
            pairs = self.core.growing()
            pairs = pairs[~(self.net.locked | barred)[pairs]]
            if not pairs.size and grown:
                # What could not be forced before may be possible now.
                barred[:] = False
                grown = False
                continue
            if not pairs.size:
                return
            loss = np.maximum(self.changes.losses(pairs), 1.0)
            rated = np.argsort(loss, kind="stable")[:RATED]
            gain = np.array([missing - self.missing(pairs[place : place + 1]) for place in rated.tolist()])
            by_item = np.argsort(loss[rated] / np.maximum(gain, TINY), kind="stable")
            some = pairs[rated[by_item[: min(size, np.count_nonzero(gain > 0))]]]
            if not some.size:
                barred[pairs[rated]] = True
            elif self._force(some[::-1], partial(self._enough, NO_PAIRS, missing - 1)):
                missing = self.missing()
                size = GROWN
                grown = True
                self.say()
            elif some.size > 1:
                size = (some.size + 1) // 2
            else:
                barred[some] = True

    def _needed(self, order: IntArray) -> IntArray:
        """Return few pairs with which as little is missing as with all; the first are given up first."""
        kept = NO_PAIRS
        if self.core.missing():
            kept = self._minimal(kept, order, self.core.missing(order), -1)
        for reviewer in self._critical(kept).tolist():
            rest = order[~np.isin(order, kept)]
            least = self.core.missing(order, reviewer)
            kept = np.append(kept, self._minimal(kept, rest, least, reviewer))
        return kept

    def _minimal(self, kept: IntArray, order: IntArray, least: int, without: int) -> IntArray:
        """Return a minimal subset of pairs after which no more than the least is missing, beside those kept."""
        self._spend(LOOK, kept)
        if not order.size or self.core.missing(kept, without) <= least:
            return NO_PAIRS
        if order.size == 1:
            return order
        first, second = np.split(order, [order.size // 2])
        first = self._minimal(np.concatenate([kept, second]), first, least, without)
        return np.concatenate([first, self._minimal(np.concatenate([kept, first]), second, least, without)])

    def _force(self, pairs: IntArray, holds: Callable[[], bool]) -> bool:
        """Force pairs and keep them if that holds; a single one on detours around the reviews that were removed."""
        net = self.net
        before = self.state()
        avoided = NO_PAIRS
        try:
            for _ in range(DETOURS if pairs.size == 1 else 1):
                self.forced += pairs.tolist()
                if not self.changes.take(pairs):
                    break
                if holds():
                    return True
                removed = np.flatnonzero(before.assigned & ~net.assigned)
                self.put(before)
                avoided = np.append(avoided, removed)
                net.locked[avoided] = True
            self.put(before)
            return False
        finally:
            net.locked[avoided] = False

    def release(self, missing: int = 0) -> None:
        """Free forced pairs again, dearest first, where no more is missing without them, while effort is left."""
        forced = np.array(self.forced, np.int64)
        for pair in forced[np.argsort(-self.changes.losses(forced), kind="stable")].tolist():
            if self.changes.effort.over():
                break
            before = self.state()
            if not self.changes.drop(pair):
                continue
            self.forced.remove(pair)
            if self.missing() > missing:
                self.put(before)
