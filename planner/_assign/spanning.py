"""Bring an assignment to a level in one go: a skeleton of cheap pairs that joins all papers, completed by a flow.

Where many papers are far from any core, the sets of :mod:`.linking` are large, and forcing one pair removes reviews
that others need. Here one component grows from a reviewer, within demands and loads; whatever adds papers at the least
reduced cost each joins first, as in Prim's algorithm. A flow with the pairs of this skeleton fixed completes the
assignment. Skeletons within that need fewer costly pairs, and the flows that complete these improve it as long as they
do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import settle, unrouted
from planner._assign.kernels.spanning import Growth, join_all, rate_stale
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


def grow_from(growth: Growth, node: int, total: int) -> int:
    """Grow a component from a node until it covers all that is required, or nothing joins; return what it covers.

    In rounds: scores that may have changed, then the nodes of the best scores join, unless others have meanwhile taken
    what they need. So the time is that of all rounds over nodes, and of the pairs of nodes that changed.
    """
    score = np.asarray(growth.score)
    score[node] = 0.0
    count = join_all(growth, np.array([node]))
    while count < total:
        rate_stale(growth)
        able = np.flatnonzero(score < np.inf)
        if not able.size:
            break
        # The best ones, equal scores in the order of nodes; sorting all of them would take most of the time.
        best = max(int(SHARE * able.size), 1)
        able = able[score[able] <= np.partition(score[able], best - 1)[best - 1]]
        count += join_all(growth, able[np.argsort(score[able], kind="stable")[:best]])
    return count


def skeleton(
    pairs: Pairs, required: BoolArray, room: IntArray, spare: IntArray, shared: int, first: int | None = None
) -> tuple[BoolArray, int] | None:
    """Return pairs, shape (P,), by which one component covers all required items cheaply, and its first reviewer.

    ``room`` and ``spare``: the reviews that each item and each reviewer may get, given ones aside; ``shared``
    (1 or 2): the items by which a reviewer joins; ``first``: the reviewer to try first. None where nothing is found.
    """
    n_nodes = room.size + spare.size
    total = int(required.sum())
    price = pairs.price
    floor = 1 + int(FLOOR * np.median(price)) if price.size else 1
    loads = np.bincount(pairs.reviewer[(price == 0) | pairs.given], minlength=spare.size)
    seeds = np.argsort(-loads, kind="stable")[:SEEDS].tolist()
    item_start = starts(pairs.item, room.size)
    by_reviewer = np.argsort(pairs.reviewer, kind="stable")
    start = starts(pairs.reviewer, spare.size)
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
            covered=np.zeros(room.size, np.bool_),
            joined=np.zeros(spare.size, np.bool_),
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
        if grow_from(growth, room.size + seed, total) == total:
            return np.asarray(growth.taken, np.bool_), seed
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
        spanned = replace(problem, given=problem.given | fixed)
        assigned = unrouted(spanned, cost, near)
        if assigned is None and best is None:
            # The other pairs of some item, or reviewer, are dear.
            assigned = unrouted(spanned, cost)
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
