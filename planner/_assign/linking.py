"""Bring an assignment to a connection level at the least loss: force useful pairs along cheapest cycles.

1. Group the reviewers into components and take the one that covers most (the core, :mod:`.core`).
2. Rank the pairs that would add items to the core by their loss (a reduced cost: a lower bound) per item.
3. Force the best pair by the cheapest cycle of the residual network; undo it if the core shrinks by what the cycle
   removes, and try again around the reviews that were missed.
4. When the core covers every required item, free the forced pairs one by one where it still does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.core import NO_LIMIT, NO_PAIRS, promise
from planner._assign.flow import TIE_BITS
from planner._assign.kernels.flow import cheapest_path, flip, workspace
from reviewgraph._base import distinct, smallest
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._assign.core import Core
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


#: Pairs ranked at a time, and the share of the missing items after which they are ranked anew.
RANKED = 256
SHARE = 0.05

#: Maximum number of detours around reviews that the core cannot do without.
DETOURS = 4

#: Factor by which each failed search raises the limit of the next.
ALLOWANCE = 1.5

#: Forced pairs over whose mean loss per item the limit of a search is averaged.
MEMORY = 20

#: While the core covers less than this share, its own reviews are locked: it is too small to lose any.
SMALL = 0.05

#: Pairs forced in vain, one after the other, after which the search gives up: those that reach the level try far fewer.
FUTILE = 400

#: A path may cost this multiple of its predicted cost before the next pair in the ranking is tried.
TOLERANCE = 2.0


class State(NamedTuple):
    """An assignment, its potentials, and the pairs that were forced."""

    assigned: BoolArray
    potential: IntArray
    forced: tuple[int, ...]


@dataclass
class Linker:
    """Changes of an assignment along cheapest cycles that bring it to a level."""

    core: Core
    cost: IntArray  # of each pair in whole units, shape (P,)
    clock: Clock
    say: Callable[[int], object] = lambda count: None  # called with the number of required items in the core
    forced: list[int] = field(default_factory=list)  # pairs forced in so far, which are locked

    def __post_init__(self) -> None:
        self.net = self.core.net
        self.usual = 0.0
        self.in_vain = 0
        self.work = workspace(self.cost, self.net.potential.size)
        self.path: IntArray = np.asarray(self.work.path)

    # Changes

    def change(self, pair: int, limit: int = NO_LIMIT) -> tuple[IntArray, bool]:
        """Return the cheapest pairs to flip along with one, empty if there are none; false if they exceed the limit.

        The limit is on the loss beyond the pair's own reduced cost.
        """
        length = cheapest_path(self.net, self.work, pair, limit)
        return self.path[: max(length, 0)].copy(), length >= 0

    def loss_of(self, pairs: IntArray) -> int:
        return int(np.where(self.net.assigned[pairs], -self.cost[pairs], self.cost[pairs]).sum())

    def reduced(self, pairs: IntArray) -> IntArray:
        """Return the reduced costs of pairs, lower bounds on the loss of forcing each."""
        net = self.net
        end = net.item_start.size - 1 + net.reviewer[pairs]
        reduced: IntArray = self.cost[pairs] + net.potential[net.item[pairs]] - net.potential[end]
        return reduced

    def force(self, pair: int, pairs: IntArray, holds: Callable[[], bool]) -> bool:
        """Flip pairs and keep them if that holds; otherwise look for detours around the reviews that were removed."""
        net = self.net
        avoided = []
        try:
            for _ in range(DETOURS):
                if pairs.size == 0:
                    return False
                flip(net, pairs)
                net.locked[pair] = True
                if holds():
                    self.forced.append(pair)
                    return True
                # Undo, and lock the reviews that this cycle removed: the next one must avoid them.
                flip(net, pairs)
                net.locked[pair] = False
                removed = pairs[net.assigned[pairs]]
                net.locked[removed] = True
                avoided += removed.tolist()
                pairs, _ = self.change(pair)
            return False
        finally:
            net.locked[avoided] = False

    def release(self, holds: Callable[[], bool], effort: Clock | None = None) -> None:
        """Free forced pairs again, dearest first, where the level holds without them, while effort is left."""
        net = self.net
        effort = self.clock if effort is None else effort
        forced = np.array(self.forced, np.int64)
        kept = []
        for pair in forced[np.argsort(-self.reduced(forced), kind="stable")].tolist():
            pairs = np.empty(0, np.int64)
            if not effort.over():
                if effort is not self.clock:
                    effort.spend(SEARCH * net.assigned.size)
                pairs, _ = self.change(pair, max(int(self.reduced(np.array([pair]))[0]), 0))
            # Remove the pair by the cheapest cycle, and undo that unless it holds.
            flip(net, pairs)
            net.locked[pair] = not pairs.size
            if not pairs.size or not holds():
                flip(net, pairs)
                kept.append(pair)
                net.locked[pair] = True
        self.forced = kept

    def free(self, effort: Clock | None = None) -> None:
        """Release forced pairs without which the assignment is at the level."""
        self.release(self.core.holds_with, effort)

    def total(self) -> int:
        """Return the cost of the assignment."""
        return int(self.cost[self.net.assigned].sum())

    def state(self) -> State:
        return State(self.net.assigned.copy(), self.net.potential.copy(), tuple(self.forced))

    def put(self, state: State) -> None:
        net = self.net
        flip(net, np.flatnonzero(net.assigned != state.assigned))
        net.potential[:] = state.potential
        net.locked[self.forced] = False
        self.forced = list(state.forced)
        net.locked[self.forced] = True

    # The search

    def link(self) -> bool:
        """Force pairs until the level holds; false if no further pair helps, too many were in vain, or time is up."""
        core = self.core
        net = self.net
        blocked = np.zeros(self.cost.size, np.bool_)
        floor = 1 + int(np.median(np.abs(self.cost))) // 10_000 if self.cost.size else 1
        self.in_vain = 0
        while not core.at_level():
            if self.clock.over() or self.in_vain >= FUTILE:
                return False
            self.say(core.count)
            heap, follow, gain = self._ranked(blocked, floor)
            if not heap:
                return False
            # Lock the reviews of a small core.
            held = np.empty(0, np.int64)
            if core.count < SMALL * core.total:
                joined = core.parts.label[net.reviewer] == core.parts.core
                held = np.flatnonzero(net.assigned & ~net.locked & joined)
            net.locked[held] = True
            self._force_ranked(heap, follow, gain, blocked)
            net.locked[held] = False
        return True

    def _ranked(self, blocked: BoolArray, floor: int) -> tuple[list[tuple[float, int]], IntArray, IntArray]:
        """Return the best pairs in a heap by loss per item; by pair, the loss that must follow, and the gain."""
        core = self.core
        loss, follow, gain = promise(self.net, self.cost, core.parts, core.required, core.aim.shared, floor)
        useful = np.flatnonzero((gain > 0) & ~blocked)
        score = (loss + follow)[useful] / gain[useful]
        nearest = smallest(score, RANKED)
        useful = useful[nearest]
        score = score[nearest]
        heap = list(zip(score.tolist(), useful.tolist(), strict=True))
        heapq.heapify(heap)
        return heap, follow, gain

    def _force_ranked(
        self, heap: list[tuple[float, int]], follow: IntArray, gain: IntArray, blocked: BoolArray
    ) -> None:
        """Force pairs in the order of loss per item until the core has grown by a share."""
        core = self.core
        start = core.count
        forced = 0
        enough = max(1.0, SHARE * (core.total - start))
        while heap and forced < enough and core.count - start <= 4 * enough and core.count < core.total:
            score, pair = heapq.heappop(heap)
            if not core.gains_by(pair):
                continue
            # If the cycle costs more than the next pair promises, that one is tried first.
            bar = TOLERANCE * max(score, heap[0][0], self.usual) if heap and self.usual > 0 else np.inf
            # The limit is on the loss beyond the reduced cost.
            beyond = bar * gain[pair] - follow[pair] - int(self.reduced(np.array([pair]))[0])
            pairs, within = self.change(pair, int(min(max(beyond, 0), NO_LIMIT)))
            if not within:
                self.usual *= ALLOWANCE
                heapq.heappush(heap, (bar, pair))
                continue
            price = self.loss_of(pairs) / gain[pair]
            # The pair stays unless the core covers less than before.
            if self.force(pair, pairs, partial(core.holds_after, core.count)):
                forced = forced + 1
                self.in_vain = 0
                self.usual += (price - self.usual) / min(len(self.forced), MEMORY)
            else:
                blocked[pair] = True
                self.in_vain += 1
            if self.clock.over() or self.in_vain >= FUTILE:
                break


# Bring an assignment to a connection level anew, at less loss: few cheap pairs that link everything together.
#
# :class:`Linker` grows one core and evaluates the items that a pair adds to it. Where components are many and small,
# cheap pairs far from any core may merge them, one after the other. So:
#
# 1. Pairs of small reduced costs are searched for the loss of forcing each alone: the cheapest cycle through it.
# 2. They are ordered by their losses, and the dearest given up first where the level would hold without them if the
#    others were added: a minimal set of pairs that brings the assignment to the level.
# 3. These are forced, each by the cheapest cycle after which the assignment and the rest of the set still reach the
#    level, so that it holds in the end. A pair that cannot be forced is barred, and another set computed.
# 4. Forced pairs that turn out superfluous are freed again.
#
# Random orders near that of the losses give other sets (a greedy randomised search, [Feo95]_); every other order keeps
# most pairs of the best set so far and replaces the rest. The best assignment stands, that of the core included.

#: Maximum number of orders, and of those in a row without improvement.
ORDERS = 200
STALE = 48

#: Standard deviation of the log factors of the losses, for another order.
NOISE = 1.0

#: Probability that a pair of the best assignment so far is kept in an order near it.
KEPT = 0.6

#: Pairs that are searched, where they are enough for the level; and sets per order.
SEARCHED = 400
SETS = 40

#: Limit of a search for a cycle, as a multiple of the mean loss of a forced pair of the core.
DEAR = 2

#: An order is abandoned once its loss exceeds this multiple of the total loss of the best one.
HOPELESS = 2.0

#: Total work, and the part of it that goes into searching pairs; work of a search for a cycle, per pair that may be
#: assigned, of a test of the level, per review, and of one that needs a table besides.
WORK = 1.0
RELINKED_SHARE = 0.4
SEARCH = 4e-9
LOOK = 5e-8
TABLE = 3e-4


@dataclass
class Relinker(Linker):
    """A linker that looks for a cheaper assignment at the level than that of the core, or for one if it has none."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)  # for the orders
    enough: float = 0.0  # loss that is small enough to stop, in units of cost
    span: Callable[[], bool] = lambda: False  # brings the assignment to the level at once, or leaves it as it is
    ways: list[State] = field(default_factory=list)  # assignments at the level: by the core, and a cheaper one if any

    def link(self) -> bool:
        """Bring the assignment to the level by the core, and then at less loss, if possible; false if neither works."""
        self.ways = []
        if self.core.at_level():
            return True
        if self.span():
            self.ways = [self.state()]
            return True
        effort = self.clock.effort(WORK)
        start = self.state()
        before = self.total()
        reached = super().link()
        if reached:
            self.free()
        best = self.state()
        least = self.total() - before if reached else None
        self.ways = [best] if reached else []
        if not self.clock.over() and (least is None or least > self.enough):
            for state, loss in self._anew(start, least, effort):
                best = state
                least = loss
                if loss <= self.enough:
                    break
        if least is not None and not (self.ways and best is self.ways[0]):
            self.ways.append(best)
        self.put(best)
        self.core.regroup()
        return least is not None

    def _anew(self, start: State, least: int | None, effort: Clock) -> Iterator[tuple[State, int]]:
        """Yield assignments at the level, each cheaper than those before, with their losses against the start."""
        usual = len(self.forced)
        self.put(start)
        before = self.total()
        pairs, loss = self._candidates(least, usual, effort)
        # The searches have improved the potentials.
        start = self.state()
        stale = 0
        best = NO_PAIRS
        for number in range(ORDERS):
            if effort.over() or stale >= STALE or not pairs.size:
                return
            stale += 1
            rank = loss * np.exp((NOISE if number else 0.0) * self.rng.standard_normal(pairs.size))
            # Pairs at the end of the order are given up last.
            if number % 2:
                rank[np.isin(pairs, best[self.rng.random(best.size) < KEPT])] = 0.0
            self.put(start)
            if not self._linked(pairs[np.argsort(-rank, kind="stable")], least, effort):
                continue
            self.release(partial(self._holds, NO_PAIRS, effort))
            lost = self.total() - before
            if least is None or lost < least:
                least = lost
                stale = 0
                best = np.array(self.forced, np.int64)
                yield self.state(), lost

    def _candidates(self, least: int | None, usual: int, effort: Clock) -> tuple[IntArray, FloatArray]:
        """Return the cheapest pairs that are enough for the level, and the loss of forcing each alone."""
        net = self.net
        most = NO_LIMIT if least is None else least
        pairs = np.flatnonzero(~net.assigned & ~net.locked)
        reduced = np.maximum(self.reduced(pairs), 0)
        order = np.argsort(reduced, kind="stable")
        pairs = pairs[order]
        loss = reduced[order].astype(np.float64)
        pairs = pairs[loss <= most]
        # Beyond the mean cost of the level per pair so far losses need not be exact.
        limit = DEAR * most // max(usual, 1)
        count = SEARCHED
        while count < pairs.size and not self._holds(pairs[:count], effort):
            count *= 2
        loss = loss[: min(count, pairs.size)]
        pairs = pairs[:count]
        part = effort.effort(RELINKED_SHARE * effort.work)
        beyond = np.zeros(0)
        for place, pair in enumerate(pairs.tolist()):
            if part.over():
                # The remaining pairs get the median excess over the reduced cost.
                loss[place:] += np.median(beyond[np.isfinite(beyond)]) if np.isfinite(beyond).any() else 0.0
                break
            cycle, within = self.change(pair, limit)
            part.spend(SEARCH * net.assigned.size)
            true = float(self.loss_of(cycle)) if cycle.size else np.inf if within else loss[place] + limit
            beyond = np.append(beyond, true - loss[place])
            loss[place] = true
        able = np.isfinite(loss)
        return pairs[able], np.maximum(loss[able], 1.0)

    def _linked(self, order: IntArray, least: int | None, effort: Clock) -> bool:
        """Force sets of pairs, the dearest first in order, until the level holds; false if that loses too much."""
        net = self.net
        before = self.total()
        barred = np.zeros(self.cost.size, np.bool_)
        for _ in range(SETS):
            if self._holds(NO_PAIRS, effort):
                return True
            free = order[~(net.assigned | net.locked | barred)[order]]
            if effort.over() or not self._holds(free, effort):
                return False
            rest = self._needed(NO_PAIRS, free, effort)
            while rest.size:
                pair = int(rest[-1])
                rest = rest[:-1]
                # Another cycle may have assigned it; else the rest must still reach the level beside it.
                if net.assigned[pair]:
                    net.locked[pair] = True
                    self.forced.append(pair)
                    continue
                effort.spend(SEARCH * net.assigned.size)
                if not self.force(pair, self.change(pair)[0], partial(self._holds, rest, effort)):
                    barred[pair] = True
                    break
            if least is not None and self.total() - before > HOPELESS * least:
                return False
        return False

    def _needed(self, kept: IntArray, order: IntArray, effort: Clock) -> IntArray:
        """Return a minimal subset of pairs that reaches the level with those kept; the first are given up first."""
        if self._holds(kept, effort):
            return NO_PAIRS
        if order.size == 1:
            return order
        first, second = np.split(order, [order.size // 2])
        first = self._needed(np.concatenate([kept, second]), first, effort)
        return np.concatenate([first, self._needed(np.concatenate([kept, first]), second, effort)])

    def _holds(self, more: IntArray, effort: Clock) -> bool:
        """Whether the level would hold with more pairs, whichever were flipped before."""
        effort.spend(LOOK * (self.net.n_panel.sum() + more.size) + (0.0 if self.core.aim.core_decides else TABLE))
        return self.core.holds_with(more)


# A lower bound on the cost of a connection level.

#: Steps of bisection for the number of cheap pairs that leave the level out of reach.
STEPS = 5


def least_loss(linker: Linker, problem: Problem, scale: float) -> float:
    """Bound from below the affinity that the level costs, at the unconstrained optimum with settled potentials.

    ``scale`` is the rounding steps per unit of affinity.

    Another assignment loses at least the reduced costs of its new pairs (linear programming duality). Take all pairs
    of reduced cost below some value as assigned: if groups and covers still miss the level, some new pairs must be
    dearer and leave the cover of their reviewer's group, at least the number of links that the level counts as missing,
    because one pair adds one link at most. The number of cheap pairs is increased until the level is in reach, then
    narrowed down by bisection, and the best bound counts. Takes O(log P) closures.
    """
    net = linker.net
    reduced = np.maximum(linker.reduced(np.arange(linker.cost.size)), 0)
    movable = np.flatnonzero(~net.assigned & ~net.locked)
    order = movable[np.argsort(reduced[movable], kind="stable")]
    search = _Bounds(linker, problem, reduced, order)
    # Fewer pairs than links cannot reach it; then four times as many each time, until they are enough for the level.
    high = search.missing
    while high < order.size and not linker.clock.over() and search.out_of_reach(high):
        high *= 4
    # Bisection: the level is out of reach with ``search.cheap`` pairs and in reach with ``high``.
    for _ in range(STEPS):
        middle = (search.cheap + min(high, order.size)) // 2
        if middle <= search.cheap or linker.clock.over():
            break
        if not search.out_of_reach(middle):
            high = middle
    best = search.best - (2 * int(net.assigned.sum()) << TIE_BITS)  # rounding and ties, per pair removed and added
    return max(best, 0) / scale / 2.0**TIE_BITS if scale > 0 else 0.0


class _Bounds:
    """Groups with the ``cheap`` cheapest pairs assigned, while the level is out of reach, and the best bound so far.

    ``label`` is the group of each reviewer, shape (M,), ``covers`` are sorted numbers group * N + item.
    """

    def __init__(self, linker: Linker, problem: Problem, reduced: IntArray, order: IntArray) -> None:
        self.linker = linker
        self.problem = problem
        self.reduced = reduced
        self.order = order
        alone = np.arange(problem.n_reviewers)
        self.best = 0
        self.cheap = 0
        assigned = distinct(self._numbers(np.flatnonzero(linker.net.assigned), alone))
        self.label, self.covers = self._merged(alone, assigned)
        self.best = self._bound()

    def out_of_reach(self, cheap: int) -> bool:
        """Whether the level is missed even with the ``cheap`` cheapest pairs; if so, continue from there."""
        core = self.linker.core
        more = self._numbers(self.order[self.cheap : cheap], self.label)
        label, covers = self._merged(self.label, distinct(self.covers, more))
        table = self._table(label, covers)
        covered = np.bincount(table.reviewer, core.required[table.item].astype(float), 1)
        if covered.max() >= core.total or core.aim.holds_early(lambda: table):
            return False
        self.label = label
        self.covers = covers
        self.cheap = cheap
        self.best = max(self.best, self._bound())
        return True

    def _numbers(self, pairs: IntArray, label: IntArray) -> IntArray:
        net = self.linker.net
        numbers: IntArray = label[net.reviewer[pairs]] * self.problem.n_items + net.item[pairs]
        return numbers

    def _table(self, label: IntArray, covers: IntArray) -> Reviews:
        """Return a table of reviews of groups and the items they cover."""
        size = int(label.max(initial=-1)) + 1
        n_items = self.problem.n_items
        return Reviews.from_codes(covers // n_items, covers % n_items, reviewers=size, items=n_items)

    def _merged(self, label: IntArray, covers: IntArray) -> tuple[IntArray, IntArray]:
        n_items = self.problem.n_items
        merged = self.linker.core.aim.groups(self._table(label, covers)).labels
        return merged[label], distinct(merged[covers // n_items] * n_items + covers % n_items)

    def _bound(self) -> int:
        """Return the loss of the pairs that must be added to those already within the groups."""
        # Papers left behind after a first phase need no links, so only one is certain there.
        covers = self.covers
        links = 1 if self.problem.old.any() else self.linker.core.aim.links(self._table(self.label, covers))
        self.missing = needed = max(links, 1)
        # The cheapest pairs are within the groups; beyond them, in order of reduced costs, until enough are not.
        end = self.cheap
        cross = NO_PAIRS
        while cross.size < needed and end < self.order.size:
            start = end
            end = min(end + max(2 * needed, end), self.order.size)
            pairs = self.order[start:end]
            numbers = self._numbers(pairs, self.label)
            # Beyond the last cover, of which there is none where nobody has a paper, stands no number.
            nearest = np.append(covers, -1)[np.searchsorted(covers, numbers)]
            cross = np.append(cross, pairs[nearest != numbers])
        return int(self.reduced[cross[:needed]].sum()) if cross.size >= needed else 0
