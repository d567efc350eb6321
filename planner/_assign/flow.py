"""The assignment as a flow: the optimum, or a proof that there is none.

:func:`cheapest_flow` solves demands and loads as a minimum-cost flow, :func:`shortfall` explains by a minimum cut why
there is no solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph._base import FloatArray, IntArray


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
    capacity: IntArray | None = None,
) -> Shortfall | None:
    """Prove that no assignment exists: items that cannot get their reviews, or reviewers who cannot get enough.

    A pair carries ``capacity`` units, by default one. None if an assignment exists. The two questions can be answered
    one after the other: where each has a solution, both have a common one (Mendelsohn and Dulmage 1958).
    """
    most = np.ones(item.size, np.int64) if capacity is None else capacity
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
