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

from planner._assign.flow import FAR
from planner._assign.linking import State
from planner._assign.panels import settle, through
from reviewgraph._base import starts
from reviewgraph.graph import kernel

if TYPE_CHECKING:
    from planner._assign.linking import Linker, Relinker
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray


# The skeleton: kernels that grow one component.

#: Reviewers from whom the growth is tried, in the order of their loads: from some of them nothing grows.
SEEDS = 60

#: The share of the nodes that can join which do so before others are considered.
SHARE = 0.05

#: The part of a usual price that any node costs, so that those that add more items come first among the free ones.
FLOOR = 0.001


class Growth(NamedTuple):
    """One component under growth; nodes are the items 0..N-1 and the reviewers N..N+M-1."""

    # item, reviewer: the pairs, shape (P,), sorted by item
    item: IntArray
    reviewer: IntArray
    item_start: IntArray  # the pairs of item i are ``item_start[i]:item_start[i + 1]``, shape (N + 1,)
    # by_reviewer: the pairs of reviewer j are ``by_reviewer[start[j]:start[j + 1]]``, shapes (P,) and (M + 1,)
    by_reviewer: IntArray
    start: IntArray
    price: IntArray  # loss of each pair, shape (P,); 0 for those that are taken where there is nothing against it
    given: BoolArray  # pairs that are assigned in any case, shape (P,): they take no room
    required: BoolArray  # items to cover, shape (N,)
    # covered, joined: the items and reviewers of the component
    covered: BoolArray
    joined: BoolArray
    # room, spare: reviews that each item still needs, and that each reviewer may still get
    room: IntArray
    spare: IntArray
    taken: BoolArray  # the pairs of the skeleton, shape (P,)
    score: FloatArray  # loss per item of letting each node join, shape (N + M,); infinite where it cannot
    stale: BoolArray  # nodes whose score may have changed, shape (N + M,)
    link: IntArray  # the pairs by which each node would join, shape (N + M, 2); -1 for none


@kernel
def rate_item(growth: Growth, item: int, floor: int) -> None:
    """Rate an item by the cheapest of its pairs with reviewers of the component who have a load to spare."""
    growth.score[item] = np.inf
    growth.link[item, 0] = -1
    least = FAR
    if growth.covered[item] or growth.room[item] == 0:
        return
    for p in range(growth.item_start[item], growth.item_start[item + 1]):
        j = growth.reviewer[p]
        if growth.joined[j] and growth.spare[j] > 0 and growth.price[p] < least:
            least = growth.price[p]
            growth.score[item] = float(least + floor)
            growth.link[item, 0] = p


@kernel
def rate_reviewer(growth: Growth, reviewer: int, shared: int, floor: int) -> None:
    """Rate a reviewer by the cheapest pairs with covered items, divided by the number of items that join as well.

    Items of given pairs are added, and those of free pairs as far as the load suffices; else one item of another pair.
    """
    node = growth.item_start.size - 1 + reviewer
    growth.score[node] = np.inf
    growth.link[node, 0] = -1
    growth.link[node, 1] = -1
    if growth.joined[reviewer]:
        return
    first = FAR
    second = FAR
    further = FAR
    at_hand = 0
    fresh = 0
    free = 0
    for slot in range(growth.start[reviewer], growth.start[reviewer + 1]):
        p = growth.by_reviewer[slot]
        i = growth.item[p]
        price = growth.price[p]
        if growth.given[p]:
            if growth.covered[i]:
                at_hand += 1
            else:
                fresh += 1
        elif growth.room[i] == 0:
            continue
        elif not growth.covered[i]:
            free += 1 if price == 0 else 0
            further = min(further, price)
        elif price < first:
            second = first
            first = price
            growth.link[node, 1] = growth.link[node, 0]
            growth.link[node, 0] = p
        elif price < second:
            second = price
            growth.link[node, 1] = p
    # Given pairs with covered items link as well.
    needed = max(shared - at_hand, 0)
    if needed < 2:
        second = 0
        growth.link[node, 1] = -1
    if needed < 1:
        first = 0
        growth.link[node, 0] = -1
    if first == FAR or second == FAR or growth.spare[reviewer] < needed:
        return
    gain = fresh + min(free, growth.spare[reviewer] - needed)
    if gain > 0:
        growth.score[node] = float(first + second + floor) / gain
    elif further < FAR and growth.spare[reviewer] > needed:
        growth.score[node] = float(first + second + further + floor)


@kernel
def rate(growth: Growth, node: int, shared: int, floor: int) -> None:
    """Rate a node, which is then up to date."""
    n_items = growth.item_start.size - 1
    growth.stale[node] = False
    if node < n_items:
        rate_item(growth, node, floor)
    else:
        rate_reviewer(growth, node - n_items, shared, floor)


@kernel
def add(growth: Growth, p: int) -> int:
    """Add a pair and mark the nodes whose scores it may change; returns whether it covers a required item."""
    i = growth.item[p]
    j = growth.reviewer[p]
    n_items = growth.item_start.size - 1
    fresh = not growth.covered[i]
    if not growth.given[p]:
        growth.taken[p] = True
        growth.room[i] -= 1
        growth.spare[j] -= 1
    growth.covered[i] = True
    growth.score[i] = np.inf
    if fresh or growth.room[i] == 0:
        for q in range(growth.item_start[i], growth.item_start[i + 1]):
            growth.stale[n_items + growth.reviewer[q]] = True
    if growth.spare[j] == 0:
        for slot in range(growth.start[j], growth.start[j + 1]):
            growth.stale[growth.item[growth.by_reviewer[slot]]] = True
    return 1 if fresh and growth.required[i] else 0


@kernel
def join(growth: Growth, node: int) -> int:
    """Let a node join by its links, and the free items of a reviewer with it; returns how many required items do."""
    n_items = growth.item_start.size - 1
    count = 0
    for k in range(2):
        if growth.link[node, k] >= 0:
            count += add(growth, growth.link[node, k])
    growth.score[node] = np.inf
    if node < n_items:
        return count
    j = node - n_items
    growth.joined[j] = True
    for slot in range(growth.start[j], growth.start[j + 1]):
        p = growth.by_reviewer[slot]
        i = growth.item[p]
        if growth.covered[i]:
            continue
        if growth.given[p] or (growth.price[p] == 0 and growth.spare[j] > 0 and growth.room[i] > 0):
            count += add(growth, p)
        else:
            growth.stale[i] = True
    return count


@kernel
def rate_stale(growth: Growth, shared: int, floor: int) -> None:
    """Rate all nodes whose scores may have changed."""
    for node in range(growth.score.size):
        if growth.stale[node]:
            rate(growth, node, shared, floor)


@kernel
def join_all(growth: Growth, nodes: IntArray, shared: int, floor: int) -> int:
    """Let nodes join in this order, except those whose scores have risen meanwhile; returns what they cover."""
    count = 0
    for node in nodes:
        before = growth.score[node]
        if growth.stale[node]:
            rate(growth, node, shared, floor)
        if growth.score[node] <= before and growth.score[node] < np.inf:
            count += join(growth, node)
    return count


def grow_from(growth: Growth, seed: int, shared: int, floor: int, share: float) -> int:
    """Grow a component from a reviewer until it covers all that is required, or nothing joins; returns what it covers.

    In rounds: scores that may have changed, then the nodes of the best scores join, unless others have meanwhile taken
    what they need. So the time is that of all rounds over nodes, and of the pairs of nodes that changed.
    """
    total = int(growth.required.sum())
    first = growth.item_start.size - 1 + seed
    growth.score[first] = 0.0
    count = join_all(growth, np.array([first]), shared, floor)
    while count < total:
        rate_stale(growth, shared, floor)
        able = np.flatnonzero(growth.score < np.inf)
        if able.size == 0:
            break
        # The best ones, equal scores in the order of nodes; sorting all of them would take most of the time.
        best = max(int(share * able.size), 1)
        able = able[growth.score[able] <= np.partition(growth.score[able], best - 1)[best - 1]]
        count += join_all(growth, able[np.argsort(growth.score[able], kind="stable")[:best]], shared, floor)
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
            link=np.full((n_nodes, 2), -1, np.int64),
        )
        if grow_from(growth, seed, shared, floor, SHARE) == required.sum():
            return growth.taken, seed
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
        self.cost = linker.cost
        self.price = np.maximum(linker.reduced(np.arange(self.cost.size)), 1)
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
        settle(net, self.cost, spanned.fixed | ~(self.cheap | spanned.assigned), exact=True)

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
        free = np.flatnonzero(among & ~problem.given)
        assigned = through(problem, free, self.cost[free])
        if assigned is None:
            return None
        return Spanned(assigned, fixed, first, int(self.cost[assigned].sum() - self.cost[self.best].sum()))


def spannable(problem: Problem, linker: Linker) -> bool:
    """Whether many papers are apart, the level is one of one component, and no pair depends on others."""
    core = linker.core
    depending = problem.panels.binding or problem.rivals.any or problem.floors.asked
    return not depending and core.aim.core_decides and core.total - core.count >= FEWEST and linker.cost.size > 0


def bridge(problem: Problem, linker: Linker) -> bool:
    """Bring the best assignment to the level by one start, of which no pair is freed; false as in :func:`span`."""
    if not spannable(problem, linker):
        return False
    spanning = Spanning(problem, linker)
    found = spanning.start(spanning.price)
    if found is not None:
        spanning.put(found)
        linker.core.regroup()
    return found is not None


def span(problem: Problem, linker: Relinker, rng: np.random.Generator) -> bool:
    """Bring the best assignment without a level to the level; false, and nothing changed, where that is not possible.

    Several starts, as far as the number of pairs allows; pairs of each skeleton that turn out superfluous are freed.
    It is for what :func:`spannable` says.
    """
    if not spannable(problem, linker):
        return False
    core = linker.core
    spanning = Spanning(problem, linker)
    effort = linker.clock.effort(RELEASING)
    start = linker.state()
    best = start
    least = None
    for number in range(min(max(WORK // max(linker.cost.size, 1), 1), STARTS)):
        if number and linker.clock.over():
            break
        factor = np.exp((NOISE if number else 0.0) * rng.standard_normal(linker.cost.size))
        found = spanning.start(np.rint(spanning.price * factor).astype(np.int64))
        if found is None:
            continue
        spanning.put(found)
        core.regroup()
        linker.free(effort)
        if least is None or linker.total() < least:
            best = linker.state()
            least = linker.total()
    linker.put(best)
    core.regroup()
    return least is not None
