"""Bring an assignment to a level in one go: a skeleton of cheap pairs that joins all papers, completed by a flow.

:class:`~planner._assign.linking.Linker` changes an assignment by one cheapest cycle at a time and examines the level
after each, in quadratic time where many papers are far from any core. Here one component grows from a reviewer, within
demands and loads; whatever adds papers at the least reduced cost each joins first, as in Prim's algorithm. A flow with
the pairs of this skeleton fixed completes the assignment. Skeletons within that assignment need fewer costly pairs, and
the flows that complete these improve it as long as they do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.best_flow import settle, unrouted
from planner._assign.kernels.spanning import Growth, join_all, rate_stale
from planner._assign.linking import State
from reviewgraph._base import starts

if TYPE_CHECKING:
    from planner._assign.linking import Linker
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, IntArray


# The skeleton: one component, grown from a reviewer.

#: Reviewers from whom the growth is tried, in the order of their loads: from some of them nothing grows.
SEEDS = 60

#: The share of the nodes that can join which do so before others are considered.
SHARE = 0.05

#: The part of a usual price that any node costs, so that those that add more items come first among the free ones.
FLOOR = 0.001


def grow_from(growth: Growth, seed: int, total: int, n_items: int) -> int:
    """Grow a component from a reviewer until it covers all that is required, or nothing joins; returns what it covers.

    In rounds: scores that may have changed, then the nodes of the best scores join, unless others have meanwhile taken
    what they need. So the time is that of all rounds over nodes, and of the pairs of nodes that changed.
    """
    score = np.asarray(growth.score)
    score[n_items + seed] = 0.0
    count = join_all(growth, np.array([n_items + seed]))
    while count < total:
        rate_stale(growth)
        able = np.flatnonzero(score < np.inf)
        if able.size == 0:
            break
        # The best ones, equal scores in the order of nodes; sorting all of them would take most of the time.
        best = max(int(SHARE * able.size), 1)
        able = able[score[able] <= np.partition(score[able], best - 1)[best - 1]]
        count += join_all(growth, able[np.argsort(score[able], kind="stable")[:best]])
    return count


class Pairs(NamedTuple):
    """Pairs from which a skeleton is made, sorted by item, shape (P,)."""

    item: IntArray
    reviewer: IntArray
    price: IntArray  # loss of each, not negative; 0 for those of the best assignment
    given: BoolArray  # whether it is assigned in any case


def skeleton(
    pairs: Pairs, required: BoolArray, room: IntArray, spare: IntArray, shared: int, first: int | None = None
) -> tuple[BoolArray, int] | None:
    """Return pairs, shape (P,), by which one component covers all required items cheaply, and its first reviewer.

    ``room`` and ``spare``: the reviews that each item and each reviewer may get, given ones aside; ``shared``
    (1 or 2): the items by which a reviewer joins; ``first``: the reviewer to try first. None where nothing is found.
    """
    n_items = room.size
    n_reviewers = spare.size
    n_nodes = n_items + n_reviewers
    total = int(required.sum())
    price = pairs.price
    floor = 1 + int(FLOOR * np.median(price)) if price.size else 1
    loads = np.bincount(pairs.reviewer[(price == 0) | pairs.given], minlength=n_reviewers)
    seeds = np.argsort(-loads, kind="stable")[:SEEDS].tolist()
    by_reviewer = np.argsort(pairs.reviewer, kind="stable")
    item_start = starts(pairs.item, n_items)
    start = starts(pairs.reviewer, n_reviewers)
    for seed in seeds if first is None else [first, *seeds]:
        growth = Growth(
            item=pairs.item,
            reviewer=pairs.reviewer,
            item_start=item_start,
            by_reviewer=by_reviewer,
            start=start,
            price=price,
            given=pairs.given,
            required=required,
            covered=np.zeros(n_items, np.bool_),
            joined=np.zeros(n_reviewers, np.bool_),
            room=room.copy(),
            spare=spare.copy(),
            taken=np.zeros(price.size, np.bool_),
            score=np.full(n_nodes, np.inf),
            stale=np.zeros(n_nodes, np.bool_),
            link=np.full(n_nodes, -1, np.int64),
            further_link=np.full(n_nodes, -1, np.int64),
            shared=shared,
            floor=floor,
        )
        if grow_from(growth, seed, total, n_items) == total:
            return np.asarray(growth.taken, np.bool_), seed
    return None


# The assignment that a skeleton is completed to, and better ones.

#: Missing papers below which one pair after the other is forced instead.
FEWEST = 500

#: Maximum number of starts with prices of their own, and of pairs that all of them look at.
STARTS = 12
WORK = 250_000

#: Standard deviation of the log factors of the prices of another start.
NOISE = 0.3

#: Maximum number of further skeletons of a start, and the relative saving that is worth another one.
ROUNDS = 6
WORTH = 0.05

#: Number of pairs among which the first flow, if these are enough, and later ones choose, as a multiple of the reviews.
FIRST = 8
CHEAP = 2

#: Total work of freeing the pairs of skeletons again.
RELEASING = 2.0


class Spanned(NamedTuple):
    """An assignment at the level, with the pairs fixed for it, shape (P,), and its cost beyond that of the best one."""

    assigned: BoolArray
    fixed: BoolArray
    first: int  # the first reviewer of the skeleton
    loss: int


class Spanning:
    """Assignments at a level, from the best one without, in which a linker starts, with settled potentials."""

    def __init__(self, problem: Problem, linker: Linker) -> None:
        self.problem = problem
        self.linker = linker
        self.best = linker.net.assigned.copy()
        self.cost = linker.changes.cost
        self.price = np.maximum(linker.changes.losses(np.arange(self.cost.size)), 1).astype(np.int64)
        self.price[self.best] = 0
        self.room, self.spare = problem.open_demand(), problem.open_loads()[0]
        reviews = int(problem.demand.sum())
        last = self.price.size - 1
        few = [min(many * reviews, last) for many in (FIRST, CHEAP)]
        bars = np.partition(self.price, few)[few]
        self.enough, self.cheap = self.price <= bars[0], self.price <= bars[1]

    def start(self, price: IntArray) -> Spanned | None:
        """Complete a skeleton at some prices, and skeletons within that as long as these save enough."""
        problem = self.problem
        pairs = Pairs(problem.item, problem.reviewer, price, problem.given)
        found = skeleton(pairs, problem.required, self.room, self.spare, self.linker.core.aim.shared)
        if found is None:
            return None
        best = self._completed(*found, self.enough) or self._completed(*found, np.ones_like(self.cheap))
        if best is None:
            return None
        for _ in range(ROUNDS):
            if self.linker.clock.over():
                break
            before = best
            better = self._within(best)
            if better is not None and better.loss < best.loss:
                best = better
            if best.loss > (1 - WORTH) * before.loss or best is before:
                break
        return best

    def put(self, spanned: Spanned) -> None:
        """Change the assignment of the linker, and force what was fixed for it at a cost."""
        net = self.linker.net
        forced = np.flatnonzero(spanned.fixed & ~self.best)
        self.linker.put(State(spanned.assigned, net.potential, tuple(forced.tolist())))
        # The last flow looked at cheap pairs only, so others may seem to gain.
        settle(net, self.cost, spanned.fixed | ~(self.cheap | spanned.assigned))

    def _within(self, spanned: Spanned) -> Spanned | None:
        """Complete a skeleton of an assignment alone, within which no pair takes the room of another."""
        problem = self.problem
        kept = np.flatnonzero(spanned.assigned)
        pairs = Pairs(problem.item[kept], problem.reviewer[kept], self.price[kept], problem.given[kept])
        room = np.bincount(pairs.item, minlength=self.room.size)
        spare = np.bincount(pairs.reviewer, minlength=self.spare.size)
        found = skeleton(pairs, problem.required, room, spare, self.linker.core.aim.shared, spanned.first)
        if found is None:
            return None
        fixed = np.zeros_like(spanned.fixed)
        fixed[kept] = found[0]
        return self._completed(fixed, found[1], self.cheap | spanned.assigned)

    def _completed(self, fixed: BoolArray, first: int, among: BoolArray) -> Spanned | None:
        """Return the best assignment with fixed pairs, of some pairs; None if there is none."""
        problem = replace(self.problem, given=self.problem.given | fixed)
        assigned = unrouted(problem, self.cost, among)
        if assigned is None:
            return None
        return Spanned(assigned, fixed, first, int(self.cost[assigned].sum() - self.cost[self.best].sum()))


def span(problem: Problem, linker: Linker, rng: np.random.Generator, tries: int = STARTS) -> bool:
    """Bring the best assignment without a level to the level; false, and nothing changed, where that is not possible.

    Several starts, as far as the number of pairs allows; pairs of each skeleton that turn out superfluous are freed,
    unless there is one start only. It is for many papers apart and a level of one component.
    """
    core = linker.core
    if not core.aim.core_decides or core.total - core.count() < FEWEST or not linker.changes.cost.size:
        return False
    spanning = Spanning(problem, linker)
    effort = linker.clock.effort(RELEASING)
    start = linker.state()
    best = start
    least = None
    for number in range(min(max(WORK // linker.changes.cost.size, 1), tries)):
        if number and linker.clock.over():
            break
        factor = np.exp((NOISE if number else 0.0) * rng.standard_normal(linker.changes.cost.size))
        found = spanning.start(np.rint(spanning.price * factor).astype(np.int64))
        if found is None:
            continue
        spanning.put(found)
        if tries > 1:
            linker.changes.effort = effort
            linker.release()
        if least is None or linker.changes.total() < least:
            best = linker.state()
            least = linker.changes.total()
    linker.changes.effort = linker.clock
    linker.put(best)
    return least is not None
