"""Bring an assignment to a level in one go: a skeleton of cheap pairs that joins all papers, completed by a flow.

Where many papers are far from any core, the sets of :mod:`.linking` are large, and forcing one pair removes reviews
that others need. Here one component grows from a reviewer, within demands and loads; whatever adds papers at the least
reduced cost each joins first, as in Prim's algorithm. A flow with the pairs of this skeleton fixed completes the
assignment. Skeletons within that need fewer costly pairs, and the flows that complete these improve it as long as they
do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.core import NO_PAIRS
from planner._assign.flow import settle, unrouted
from planner._assign.linking import Cycles, Linker, State
from reviewgraph._base import BoolArray, Clock, IntArray, starts

if TYPE_CHECKING:
    from planner._assign.problem import Problem


# The skeleton: one component, grown from a reviewer.

#: Reviewers from whom the growth is tried, in the order of their loads: from some of them nothing grows.
SEEDS = 60

#: The share of the nodes that can join which do so before others are considered.
SHARE = 0.05

#: The part of a usual price that any node costs, so that those that add more items come first among the free ones.
FLOOR = 0.001


class Pairs(NamedTuple):
    """Pairs from which a skeleton is made, sorted by item, shape (P,)."""

    item: IntArray
    reviewer: IntArray
    price: IntArray  # loss of each, not negative; 0 for those of the best assignment
    given: BoolArray  # whether it is assigned in any case: it takes no room


class Ranked(NamedTuple):
    """Pairs by the nodes of one side, each node's cheapest first."""

    pairs: IntArray
    start: IntArray  # those of node v are ``pairs[start[v]:start[v + 1]]``

    def number(self, among: BoolArray) -> IntArray:
        """Return the number of each node's pairs among some."""
        before = np.append(0, np.cumsum(among[self.pairs]))
        return np.diff(before[self.start])

    def cheapest(self, among: BoolArray, place: int = 1) -> IntArray:
        """Return the pair at a place of each node's pairs among some; -1 for none."""
        chosen = among[self.pairs]
        before = np.append(0, np.cumsum(chosen))[self.start]
        entries = np.append(self.pairs[chosen], -1)
        wanted = before[:-1] + place - 1
        return np.where(wanted < before[1:], entries[np.minimum(wanted, entries.size - 1)], -1)


def ranked(node: IntArray, price: IntArray, size: int) -> Ranked:
    return Ranked(np.lexsort((price, node)), starts(node, size))


@dataclass(eq=False)
class Growth:
    """One component under growth, within the ``room`` of items and what reviewers have to ``spare``."""

    pairs: Pairs
    of_item: Ranked
    of_reviewer: Ranked
    room: IntArray
    spare: IntArray
    shared: int  # items by which a reviewer joins, 1 or 2
    floor: int  # loss that any node costs, so that those that add more items come first among the free ones

    def __post_init__(self) -> None:
        self.covered = np.zeros(self.room.size, np.bool_)
        self.joined = np.zeros(self.spare.size, np.bool_)
        self.taken = np.zeros(self.pairs.item.size, np.bool_)

    def open(self) -> BoolArray:
        """Pairs that may be taken as far as items have room."""
        return ~self.pairs.given & (self.room[self.pairs.item] > 0)

    def grow(self) -> bool:
        """Let the nodes of the best scores join, equal scores in the order of nodes; false where none can.

        An item costs its cheapest pair with a reviewer of the component who has a load to spare. A reviewer costs the
        cheapest pairs with covered items, given ones aside, divided by the number of items that join as well: those of
        given pairs, and of free ones as far as the load suffices; else one item of another pair.
        """
        item, reviewer, price, given = self.pairs
        inside = self.covered[item]
        usable = self.open()
        link = self.of_item.cheapest(usable & ~inside & self.joined[reviewer] & (self.spare[reviewer] > 0))
        item_score = np.where(link >= 0, price[link] + float(self.floor), np.inf)
        needed = np.maximum(self.shared - self.of_reviewer.number(given & inside), 0)
        gain = self.of_reviewer.number(given & ~inside)
        gain += np.minimum(self.of_reviewer.number(usable & ~inside & (price == 0)), self.spare - needed)
        links = np.array([self.of_reviewer.cheapest(usable & inside, place) for place in (1, 2)])
        further = self.of_reviewer.cheapest(usable & ~inside)
        # Given pairs with covered items link as well.
        asked = np.arange(2)[:, np.newaxis] < needed
        able = ~self.joined & (needed <= self.spare) & (~asked | (links >= 0)).all(axis=0)
        cost = np.where(asked, price[links], 0).sum(axis=0) + float(self.floor)
        alone = np.where((further >= 0) & (self.spare > needed), cost + price[further], np.inf)
        reviewer_score = np.where(able, np.where(gain > 0, cost / np.maximum(gain, 1), alone), np.inf)
        score = np.append(item_score, reviewer_score)
        nodes = np.flatnonzero(score < np.inf)
        if not nodes.size:
            return False
        best = max(int(SHARE * nodes.size), 1)
        nodes = nodes[score[nodes] <= np.partition(score[nodes], best - 1)[best - 1]]
        for node in nodes[np.argsort(score[nodes], kind="stable")[:best]].tolist():
            who = node - self.room.size
            if who < 0:
                self._cover(int(link[node]))
            else:
                self._join(who, links[: needed[who], who], int(gain[who]))
        return True

    def _cover(self, pair: int) -> None:
        """Let an item join by a pair, unless others have meanwhile taken what that needs."""
        item = self.pairs.item[pair]
        if not self.covered[item] and self.spare[self.pairs.reviewer[pair]]:
            self._take(pair)

    def _join(self, who: int, links: IntArray, gain: int = 0) -> None:
        """Let a reviewer join, and free items, unless others have meanwhile taken some."""
        own = self.of_reviewer.pairs[self.of_reviewer.start[who] : self.of_reviewer.start[who + 1]]
        items = self.pairs.item[own]
        given = self.pairs.given[own]
        fresh = own[given & ~self.covered[items]].tolist()
        free = own[~given & ~self.covered[items] & (self.pairs.price[own] == 0) & (self.room[items] > 0)].tolist()
        free = free[: max(int(self.spare[who]) - links.size, 0)]
        if (self.room[self.pairs.item[links]] == 0).any() or len(fresh) + len(free) < gain:
            return
        self.joined[who] = True
        for pair in (*links.tolist(), *fresh, *free):
            self._take(pair)

    def _take(self, pair: int) -> None:
        item = self.pairs.item[pair]
        self.covered[item] = True
        if not self.pairs.given[pair]:
            self.taken[pair] = True
            self.room[item] -= 1
            self.spare[self.pairs.reviewer[pair]] -= 1


def skeleton(
    pairs: Pairs, required: BoolArray, room: IntArray, spare: IntArray, shared: int, first: int | None = None
) -> tuple[BoolArray, int] | None:
    """Return pairs, shape (P,), by which one component covers all required items cheaply, and its first reviewer.

    ``room`` and ``spare``: the reviews that each item and each reviewer may get, given ones aside; ``shared``
    (1 or 2): the items by which a reviewer joins; ``first``: the reviewer to try first. None where nothing is found.
    Growth is in rounds, each of which takes O(P).
    """
    price = pairs.price
    floor = 1 + int(FLOOR * np.median(price)) if price.size else 1
    loads = np.bincount(pairs.reviewer[(price == 0) | pairs.given], minlength=spare.size)
    seeds = np.argsort(-loads, kind="stable")[:SEEDS].tolist()
    sides = ranked(pairs.item, price, room.size), ranked(pairs.reviewer, price, spare.size)
    for seed in seeds if first is None else [first, *seeds]:
        growth = Growth(pairs, *sides, room.copy(), spare.copy(), shared, floor)
        growth._join(seed, NO_PAIRS)
        while not growth.covered[required].all():
            if not growth.grow():
                break
        else:
            return growth.taken, seed
    return None


# The assignment that a skeleton is completed to, and better ones.

#: Missing papers below which one pair after the other is forced instead.
FEWEST = 500

#: Maximum number of further skeletons, and the relative saving that is worth another one.
ROUNDS = 6
WORTH = 0.05

#: Number of pairs among which flows choose, as a multiple of the reviews.
CHEAP = 8

#: Total work of freeing the pairs of skeletons again.
RELEASING = 2.0


def completed(
    problem: Problem, cost: IntArray, price: IntArray, cheap: BoolArray, among: BoolArray, shared: int, clock: Clock
) -> tuple[BoolArray, BoolArray] | None:
    """Return an assignment that completes a skeleton of some prices, and the pairs fixed for it; None if there is none.

    The first one is sought ``among`` some pairs, and then among all. Further skeletons are within the assignment so
    far, where no pair takes the room of another.
    """
    best: tuple[BoolArray, BoolArray] | None = None
    least = np.inf
    lowest = int(cost[price == 0].sum())
    kept = np.flatnonzero(among | problem.given)
    room = problem.open_demand()
    spare = problem.open_loads()[0]
    first: int | None = None
    for _ in range(ROUNDS + 1):
        pairs = Pairs(problem.item[kept], problem.reviewer[kept], price[kept], problem.given[kept])
        found = skeleton(pairs, problem.required, room, spare, shared, first)
        if found is None and best is None and kept.size < price.size:
            kept = np.arange(price.size)
            continue
        if found is None:
            break
        fixed = np.zeros(price.size, np.bool_)
        fixed[kept] = found[0]
        first = found[1]
        near = cheap.copy()
        near[kept if best is not None else []] = True
        assigned = unrouted(replace(problem, given=problem.given | fixed), cost, near)
        if assigned is None:
            break
        loss = int(cost[assigned].sum()) - lowest
        saving = least - loss
        if saving > 0:
            best = (assigned, fixed)
        if saving < WORTH * least or clock.over():
            break
        least = loss
        kept = np.flatnonzero(assigned)
        room = np.bincount(problem.item[kept], minlength=room.size)
        spare = np.bincount(problem.reviewer[kept], minlength=spare.size)
    return best


def span(problem: Problem, linker: Linker, cycles: Cycles, *, free: bool = True) -> bool:
    """Bring the best assignment without a level to the level; false, and nothing changed, where that is not possible.

    With ``free`` pairs of the skeleton that turn out superfluous are freed. It is for many papers apart and a level of
    one component.
    """
    core = linker.core
    cost = cycles.cost
    if not core.aim.core_decides or core.total - core.count() < FEWEST or not cost.size:
        return False
    start = linker.state()
    price = np.maximum(cycles.losses(np.arange(cost.size)), 1.0)
    price[start.assigned] = 0.0
    last = min(CHEAP * int(problem.demand.sum()), price.size - 1)
    cheap = price <= np.partition(price, last)[last]
    # Cheap pairs are enough if all of them together join all papers.
    among = cheap | bool(core.missing(np.flatnonzero(cheap & ~start.assigned)))
    found = completed(problem, cost, np.rint(price).astype(np.int64), cheap, among, core.aim.shared, linker.clock)
    if found is None:
        return False
    assigned, fixed = found
    forced = np.flatnonzero(fixed & ~start.assigned)
    linker.put(State(assigned, start.potential, tuple(forced.tolist())))
    # The flow looked at cheap pairs only, so others may seem to gain.
    settle(core.net, cost, fixed | ~(cheap | assigned))
    if free:
        cycles.effort = linker.clock.effort(RELEASING)
        linker.release()
        cycles.effort = linker.clock
    return True
