"""The best assignment without rules as a flow, or a proof that there is none.

:func:`cheapest_flow` solves demands and loads as a minimum-cost flow, :func:`shortfall` explains by a minimum cut why
there is no solution, :func:`fewest_first` puts changes before affinity, :func:`missing_reviews` lowers demands that
cannot be met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._assign.kernels.flow import lower_potentials
from planner._assign.problem import AHEAD, Concerns, Network, Problem
from planner._assign.programme import best_under_rules
from planner.errors import InternalError
from planner.rules import NO_MOST

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


#: Bits of a cost: worths are rounded to 2**-AFFINITY_BITS of the largest one, a relative error of 1e-11, and the
#: TIE_BITS below break ties at random.
AFFINITY_BITS = 36
TIE_BITS = 6

#: Bits that the solver has for a cost times the number of nodes: beyond 2**20 nodes affinities are rounded coarser.
SOLVER_BITS = 62


class Shortfall(NamedTuple):
    """A set that proves that no assignment exists.

    Items that need ``needed`` reviews in all (or reviewers who must get ``needed``), and the reviewers (items) on
    the other side that can give ``supply`` at most, plus ``pairs`` further reviews, one per other pair.
    """

    by_items: bool
    items: IntArray
    reviewers: IntArray
    needed: int
    supply: int
    pairs: int


def cost_scale(largest: float, nodes: int = 0) -> float:
    """Return the rounding steps per unit of affinity, for values up to the largest in a flow of ``nodes`` nodes.

    >>> cost_scale(1.0) == 2.0**36, cost_scale(1.0, nodes=2**21) == 2.0**34
    (True, True)
    """
    bits = min(AFFINITY_BITS, SOLVER_BITS - TIE_BITS - nodes.bit_length())
    return 2.0**bits / largest if largest > 0 else 0.0


def whole(values: FloatArray, scale: float) -> IntArray:
    """Return affinities in units of cost, ``2**TIE_BITS`` per rounding step."""
    return np.rint(values * scale).astype(np.int64) << TIE_BITS


def whole_costs(worth: FloatArray, seed: int, scale: float | None = None) -> IntArray:
    """Return negative worths in whole units, with random amounts in the tie bits that set equal ones apart.

    Random choice among equals gives expanding, well conditioned graphs where the order of rows would give chains.
    """
    if scale is None:
        scale = cost_scale(float(np.abs(worth).max(initial=0.0)))
    noise = np.random.default_rng(seed).integers(0, 1 << TIE_BITS, worth.size)
    return np.asarray(noise - whole(worth, scale), np.int64)


class Arcs(NamedTuple):
    """Arcs from items to reviewers, shape (A,); several arcs of one pair make its cost convex."""

    item: IntArray
    reviewer: IntArray
    cost: IntArray
    capacity: IntArray


class Via(NamedTuple):
    """Nodes between an item and some of its reviewers, with bounds on the places that these may take together."""

    node: IntArray  # the node that each arc goes through, shape (A,), -1 for none
    item: IntArray  # the item of each node, shape (G,)
    # least, most: bounds on the units through each node, shape (G,)
    least: IntArray
    most: IntArray


def cheapest_flow(
    arcs: Arcs, demand: IntArray, load: IntArray, least: IntArray, via: Via | None = None
) -> IntArray | None:
    r"""Return the units per arc, shape (A,), that send every item's demand to reviewers at least cost; None if none.

    .. math::
        \min \sum_a c_a x_a \quad \text{subject to} \quad \sum_{a \ni i} x_a = d_i, \quad
        l_j \le \sum_{a \ni j} x_a \le u_j, \quad l_g \le \sum_{a \ni g} x_a \le u_g, \quad 0 \le x_a \le q_a

    for items i, reviewers j and nodes g between them. Cost scaling and push-relabel (Goldberg 1997) of OR-tools; 2
    million pairs take about five seconds.
    """
    from ortools.graph.python import min_cost_flow

    n_items = demand.size
    n_reviewers = load.size
    if int(demand.sum()) < int(least.sum()) or (least > load).any() or (demand < 0).any():
        return None
    # Nodes: items, reviewers, the sink, nodes between. A reviewer's node consumes the lower load; the rest flows on.
    flow = min_cost_flow.SimpleMinCostFlow()
    sink = n_items + n_reviewers
    supply = np.concatenate([demand, -least, [least.sum() - demand.sum()]])
    source = arcs.item
    if via is not None:
        if (via.least > via.most).any():
            return None
        # The lower bound of a node between leaves its item, and starts from the node, beforehand.
        nodes = sink + 1 + np.arange(via.item.size)
        supply = np.concatenate([supply, via.least])
        np.subtract.at(supply, via.item, via.least)
        if (supply[:n_items] < 0).any():
            return None
        source = np.where(via.node >= 0, sink + 1 + via.node, arcs.item)
        flow.add_arcs_with_capacity_and_unit_cost(via.item, nodes, via.most - via.least, np.zeros_like(nodes))
    numbers = flow.add_arcs_with_capacity_and_unit_cost(source, n_items + arcs.reviewer, arcs.capacity, arcs.cost)
    reviewers = n_items + np.arange(n_reviewers)
    flow.add_arcs_with_capacity_and_unit_cost(
        reviewers, np.full(n_reviewers, sink), load - least, np.zeros(n_reviewers, np.int64)
    )
    flow.set_nodes_supplies(np.arange(supply.size), supply)
    if flow.solve() != flow.OPTIMAL:
        return None
    return np.asarray(flow.flows(numbers), np.int64)


def shortfall(
    item: IntArray,
    reviewer: IntArray,
    demand: IntArray,
    load: IntArray,
    least: IntArray,
    capacity: int = 1,
) -> Shortfall | None:
    """Prove that no assignment exists: items that cannot get their reviews, or reviewers who cannot get enough.

    A pair carries ``capacity`` units. None if an assignment exists. The two questions can be answered
    one after the other: where each has a solution, both have a common one (Mendelsohn and Dulmage 1958).
    """
    most = np.full(item.size, capacity)
    short = _cut(item, reviewer, most, demand, load)
    if short is not None:
        return Shortfall(True, *short)
    short = _cut(reviewer, item, most, least, demand)
    if short is None:
        return None
    left, right, needed, supply, pairs = short
    return Shortfall(False, right, left, needed, supply, pairs)


def most_given(item: IntArray, reviewer: IntArray, need: IntArray, room: IntArray) -> int:
    """Return the maximum number of pairs such that items get at most ``need`` and reviewers at most ``room``."""
    return int(_most_flow(item, reviewer, np.ones(item.size, np.int64), need, room).optimal_flow())


def _most_flow(left: IntArray, right: IntArray, capacity: IntArray, need: IntArray, room: IntArray) -> Any:
    """Send as much flow as possible from left nodes to right ones; the source and the sink are the nodes behind."""
    from ortools.graph.python import max_flow

    flow = max_flow.SimpleMaxFlow()
    n = need.size
    m = room.size
    flow.add_arcs_with_capacity(np.full(n, n + m), np.arange(n), need)
    flow.add_arcs_with_capacity(left, n + right, capacity)
    flow.add_arcs_with_capacity(n + np.arange(m), np.full(m, n + m + 1), room)
    flow.solve(n + m, n + m + 1)
    return flow


def _cut(
    left: IntArray, right: IntArray, capacity: IntArray, need: IntArray, room: IntArray
) -> tuple[IntArray, IntArray, int, int, int] | None:
    """Left nodes that need more than the right ones can take: the piece of a minimum cut with the largest gap."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = need.size
    m = room.size
    flow = _most_flow(left, right, capacity, need, room)
    if flow.optimal_flow() == int(need.sum()):
        return None
    # A flow that does not meet every need: the source side of a minimum cut proves that none does.
    inside = np.zeros(n + m + 2, np.bool_)
    inside[flow.get_source_side_min_cut()] = True
    # The cut may consist of several unrelated sets: take the one with the largest gap.
    within = inside[left] & inside[n + right]
    graph = coo_array((np.ones(within.sum()), (left[within], n + right[within])), shape=(n + m, n + m))
    label = connected_components(graph, directed=False)[1]
    nodes = np.flatnonzero(inside[: n + m])
    order = nodes[np.argsort(label[nodes], kind="stable")]
    best: tuple[int, IntArray, IntArray, int, int, int] | None = None
    for piece in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        lefts = piece[piece < n]
        rights = piece[piece >= n] - n
        member = np.zeros(n, np.bool_)
        member[lefts] = True
        pairs = int(capacity[member[left] & ~inside[n + right]].sum())
        needed = int(need[lefts].sum())
        supply = int(room[rights].sum())
        if best is None or needed - supply - pairs > best[0]:
            best = (needed - supply - pairs, lefts, rights, needed, supply, pairs)
    return best[1:] if best is not None else None


def scale_of(problem: Problem, worth: FloatArray) -> float:
    """Return the rounding steps per unit of worth, shape (P,), that leave room for all nodes of the flow."""
    nodes = problem.n_items + problem.n_reviewers + 1
    return cost_scale(float(np.abs(worth).max(initial=0.0)), nodes)


def unrouted(problem: Problem, cost: IntArray, among: BoolArray | None = None) -> BoolArray | None:
    """Return the best assignment within demands and loads, by given pairs and those among some; None if none."""
    free = np.flatnonzero(~problem.given if among is None else among & ~problem.given)
    load, least = problem.open_loads()
    arcs = Arcs(problem.item[free], problem.reviewer[free], cost[free], np.ones(free.size, np.int64))
    flow = cheapest_flow(arcs, problem.open_demand(), load, least)
    if flow is None:
        return None
    chosen = problem.given.copy()
    chosen[free[flow > 0]] = True
    return chosen


# Potentials for the best assignment.

#: Passes over all pairs in the search for potentials.
PASSES = 1_000


def settle(net: Network, cost: IntArray, held: BoolArray | None = None) -> bool:
    """Find potentials with non-negative reduced costs except for pairs that are held; false if there are none.

    Starts as if a source reached every node at cost 0; after a pass without a change every arc is settled.
    """
    locked = net.locked.copy()
    if held is not None:
        net.locked[held] = True
    net.potential[:] = 0
    settled = any(not lower_potentials(net, cost) for _ in range(PASSES))
    net.locked[:] = locked
    return settled


# The fewest changes, and the most affinity among the assignments with no more of them.


class Settled(NamedTuple):
    """A problem in which a change outweighs affinity."""

    problem: Problem  # with that weight, so that its worth is the objective
    # cost, scale: the worth in whole units, shape (P,), and the rounding steps per unit of it
    cost: IntArray
    scale: float
    best: BoolArray  # the assignment of most worth, shape (P,)
    fewest: int  # the minimum number of changes


def fewest_first(problem: Problem, concerns: Concerns, seed: int) -> Settled:
    """Find the assignment of most worth within demands and loads, where there is one.

    A flow gives the fewest changes, another the most worth. If that has no more changes, it has the most affinity of
    all that have so few, because the weight then subtracts the same from all of them; otherwise the weight is
    increased, and the flow solved again. One above the number of reviews times the range of affinities suffices.
    """
    fewest = concerns.count(_flow(problem, concerns.changed.astype(np.int64)))
    while True:
        scale = scale_of(problem, problem.worth)
        cost = whole_costs(problem.worth, seed, scale)
        best = _flow(problem, cost)
        if concerns.count(best) == fewest:
            return Settled(problem, cost, scale, best, fewest)
        problem = replace(problem, weight=AHEAD * problem.weight)


def _flow(problem: Problem, cost: IntArray) -> BoolArray:
    chosen = unrouted(problem, cost)
    if chosen is None:
        raise InternalError("there was an assignment, and by other costs there is none")
    return chosen


# Demands that can be met, where the given ones cannot.
#
# .. math::
#     \min \sum_i \sum_{k \le s_i} (F + k) B - \sum_p a_p z_p \quad \text{subject to} \quad
#     \sum_{p \ni i} z_p + s_i = d_i, \quad l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}
#
# for the reviews s_i that item i lacks, which recruits of no group write, and B above the affinity that an exchange can
# gain. Served demands are the independent vectors of a polymatroid, so the total lack is minimal; of these solutions it
# is one that spreads the lack evenly, and of those one of most affinity.


def smallest_load(problem: Problem, reviewers: BoolArray) -> tuple[int, bool]:
    """Return the smallest load of ``reviewers``, shape (M,), with which as many demands are met as with any.

    Returned is also whether that are all of them. The loads of these reviewers in the problem are unlimited. Rules on
    who reviews together and minimum loads are not considered.
    """
    free = np.flatnonzero(~problem.given)
    need = np.maximum(problem.open_demand(), 0)
    room = np.maximum(problem.open_loads()[0], 0)
    # Reviews of a first phase come on top of loads.
    old, new = (
        np.bincount(problem.reviewer[some], minlength=problem.n_reviewers)
        for some in (problem.old, problem.given & ~problem.old)
    )

    def met(load: int) -> int:
        capped = np.where(reviewers, np.maximum(np.maximum(load, problem.least - old) - new, 0), room)
        # Nobody reviews more papers than there are, and no paper has more reviewers than there are.
        within = np.minimum(need, problem.n_reviewers)
        return most_given(problem.item[free], problem.reviewer[free], within, np.minimum(capped, problem.n_items))

    wanted = int(need.sum())
    elsewhere = int(room[~reviewers].sum())
    high = problem.n_items
    low = min(max(-(-(wanted - elsewhere) // max(int(reviewers.sum()), 1)), 0), high)
    if met(low) == wanted:
        return low, True
    most = met(high)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) == most else (middle, high)
    return high, most == wanted


#: Price of a missing review in largest affinities: the k-th one of a paper costs ``FIRST + k`` times this.
MISSING = 1e3
FIRST = 100


def missing_reviews(problem: Problem, clock: Clock) -> IntArray | None:
    """Return the reviews that items lack when most demands are met, shape (N,); None where no loads can be kept.

    Respects conflicts, loads, fixed pairs and limits of rules; other rules are left to the assignment by the
    lowered demands. Takes the time of a minimum-cost flow, or of a programme.
    """
    # What a paper lacks whatever is assigned, since it needs more reviewers than there are, comes on top.
    need = np.clip(problem.open_demand(), 0, problem.n_reviewers)
    beyond = np.maximum(problem.open_demand(), 0) - need
    most = int(need.max(initial=0))
    item = np.repeat(np.arange(need.size), need)
    place_in_item = np.arange(item.size) - np.repeat(np.cumsum(need) - need, need)
    k = place_in_item + np.minimum(beyond, problem.n_reviewers)[item]
    largest = float(np.abs(problem.affinity).max(initial=0.0)) or 1.0
    reviewer = np.append(problem.reviewer, problem.n_reviewers + place_in_item)
    order = np.lexsort((reviewer, np.append(problem.item, item)))
    recruited = np.append(np.zeros(problem.item.size, np.bool_), np.ones(item.size, np.bool_))[order]
    given = np.append(problem.given, np.zeros(item.size, np.bool_))[order]
    panels = problem.panels
    limits = panels._replace(
        start=np.append(panels.start, np.full(most, panels.start[-1])),
        least=np.zeros_like(panels.least),
    )
    extended = replace(
        problem,
        item=np.append(problem.item, item)[order],
        reviewer=reviewer[order],
        affinity=np.append(problem.affinity / largest, -MISSING * (FIRST + k + 1.0))[order],
        given=given,
        old=np.append(problem.old, np.zeros(item.size, np.bool_))[order],
        demand=problem.demand - beyond,
        load=np.append(problem.load, np.full(most, need.size)),
        least=np.append(problem.least, np.zeros(most, np.int64)),
        ruled=problem.ruled._replace(panels=limits),
        concerns=None,
        least_score=None,
    )
    if (panels.most < NO_MOST).any():
        chosen = best_under_rules(extended, given | recruited, clock).chosen
    else:
        chosen = unrouted(extended, whole_costs(extended.affinity, 0, scale_of(extended, extended.affinity)))
    return None if chosen is None else beyond + np.bincount(extended.item[chosen & recruited], minlength=need.size)
