"""The best assignment without a connection level, by minimum-cost flow, and why there is none, by a minimum cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Bits of a cost: worths are rounded to 2**-AFFINITY_BITS of the largest one, a relative error of 1e-11, and the
#: bits below break ties at random.
AFFINITY_BITS = 36
TIE_BITS = 6

#: Bits that the solver has for a cost times the number of nodes: beyond 2**20 nodes affinities are rounded coarser.
SOLVER_BITS = 62


class Shortfall(NamedTuple):
    """A set that proves that no assignment exists.

    Items that need ``needed`` reviews in all (or reviewers who must get ``needed``), and the reviewers (items) on
    the other side that can give ``supply`` at most, beside ``pairs`` further reviews, one for each other pair.
    """

    by_items: bool
    items: IntArray
    reviewers: IntArray
    needed: int
    supply: int
    pairs: int


def cost_scale(largest: float, nodes: int = 0) -> float:
    """Return the steps of rounding in one unit of affinity, for values up to the largest in a flow with so many nodes.

    >>> cost_scale(1.0) == 2.0**36, cost_scale(1.0, nodes=2**21) == 2.0**34
    (True, True)
    """
    bits = min(AFFINITY_BITS, SOLVER_BITS - TIE_BITS - nodes.bit_length())
    return 2.0**bits / largest if largest > 0 else 0.0


def whole(values: FloatArray, scale: float) -> IntArray:
    """Affinities in units of cost, which are ``2**TIE_BITS`` for a step of rounding."""
    return np.rint(values * scale).astype(np.int64) << TIE_BITS


def whole_costs(worth: FloatArray, seed: int, scale: float | None = None) -> IntArray:
    """Negative worths in whole units, equal ones apart by random amounts too small to matter otherwise.

    Random choice among equals gives expanding, well conditioned graphs where the order of rows would give chains.
    ``scale`` is by default that of the largest worth.
    """
    if scale is None:
        scale = cost_scale(float(np.abs(worth).max(initial=0.0)))
    noise = np.random.default_rng(seed).integers(0, 1 << TIE_BITS, worth.size)
    return np.asarray(noise - whole(worth, scale), np.int64)


class Arcs(NamedTuple):
    """Ways of flow from items to reviewers, shape (A,); several of one pair make its cost convex."""

    item: IntArray
    reviewer: IntArray
    cost: IntArray
    capacity: IntArray


class Via(NamedTuple):
    """Nodes between an item and some of its reviewers: how many of its places these may take together.

    Parameters
    ----------
    node
        The node that each arc goes through, shape (A,), -1 for none.
    item
        The item of each node, shape (G,).
    least, most
        Fewest and most units through each node, shape (G,).
    bonus
        What the first ``unit`` units through each node save a unit, shape (G,).
    unit
        Units of one whole review.
    spare
        Most units of each item that are not among the first ``unit`` of a node, shape (N,), negative for no limit; so
        that the others are of different nodes. None for no limits.
    fresh
        Whether the first units through a node count as such, shape (G,); by default they do.
    """

    node: IntArray
    item: IntArray
    least: IntArray
    most: IntArray
    bonus: IntArray
    unit: int = 1
    spare: IntArray | None = None
    fresh: BoolArray | None = None


def cheapest_assignment(
    item: IntArray, reviewer: IntArray, cost: IntArray, demand: IntArray, load: IntArray, least: IntArray
) -> BoolArray | None:
    r"""Solve the assignment problem by minimum-cost flow.

    .. math::
        \min \sum_p c_p z_p \quad \text{subject to} \quad \sum_{p \ni i} z_p = d_i, \quad
        l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}

    Returns
    -------
    BoolArray
        The pairs chosen, shape (P,), or None if there is no assignment.
    """
    flow = cheapest_flow(Arcs(item, reviewer, cost, np.ones(item.size, np.int64)), demand, load, least)
    return None if flow is None else np.asarray(flow > 0, np.bool_)


def cheapest_flow(
    arcs: Arcs, demand: IntArray, load: IntArray, least: IntArray, via: Via | None = None
) -> IntArray | None:
    r"""Send every item's demand to reviewers at the least cost, in whole units.

    .. math::
        \min \sum_a c_a x_a \quad \text{subject to} \quad \sum_{a \ni i} x_a = d_i, \quad
        l_j \le \sum_{a \ni j} x_a \le u_j, \quad l_g \le \sum_{a \ni g} x_a \le u_g, \quad 0 \le x_a \le q_a

    for items i, reviewers j and the nodes g between them, whose first units may cost less.

    Returns
    -------
    IntArray
        Units on each arc, shape (A,), or None if there is no such flow.

    Notes
    -----
    Cost scaling and push-relabel (Goldberg 1997) as OR-tools has it; 2 million pairs take about five seconds.
    A reviewer's lower load is what her node keeps; the flow beyond it goes on to a sink.
    """
    from ortools.graph.python import min_cost_flow

    n_items, n_reviewers = demand.size, load.size
    if int(demand.sum()) < int(least.sum()) or (least > load).any() or (demand < 0).any():
        return None
    flow, sink = min_cost_flow.SimpleMinCostFlow(), n_items + n_reviewers
    supply = np.concatenate([demand, -least, [least.sum() - demand.sum()]])
    source = arcs.item
    if via is not None:
        between = _between(via, arcs.item, supply, sink + 1, n_items)
        if between is None:
            return None
        source, supply = between.source, between.supply
        flow.add_arcs_with_capacity_and_unit_cost(between.tail, between.head, between.capacity, between.cost)
    numbers = flow.add_arcs_with_capacity_and_unit_cost(source, n_items + arcs.reviewer, arcs.capacity, arcs.cost)
    reviewers = n_items + np.arange(n_reviewers)
    flow.add_arcs_with_capacity_and_unit_cost(
        reviewers, np.full(n_reviewers, sink), load - least, np.zeros(n_reviewers, np.int64)
    )
    flow.set_nodes_supplies(np.arange(supply.size), supply)
    if flow.solve() != flow.OPTIMAL:
        return None
    return np.asarray(flow.flows(numbers), np.int64)


class _Between(NamedTuple):
    """Where the arcs to reviewers start, supplies of all nodes, and the arcs from items to nodes between."""

    source: IntArray
    supply: IntArray
    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray


def _between(via: Via, item: IntArray, supply: IntArray, first_node: int, n_items: int) -> _Between | None:
    """Lay the nodes between items and reviewers; None where what they need at least cannot be had."""
    if (via.least > via.most).any():
        return None
    nodes = first_node + np.arange(via.item.size)
    # What a node must pass on at least leaves its item, and starts from the node, beforehand.
    supply = np.concatenate([supply, via.least])
    np.subtract.at(supply, via.item, via.least)
    if (supply[:n_items] < 0).any():
        return None
    # Units that are no first ones come by way of a node of their own where there is a limit on them.
    spare = np.full(n_items, -1) if via.spare is None else via.spare
    limited = np.flatnonzero(spare >= 0)
    door = np.arange(n_items)
    door[limited] = first_node + nodes.size + np.arange(limited.size)
    supply = np.concatenate([supply, np.zeros(limited.size, np.int64)])
    first = np.clip(np.minimum(via.unit, via.most) - via.least, 0, None)
    counts = (via.bonus != 0) | (spare[via.item] >= 0)
    first[~(counts if via.fresh is None else counts & via.fresh)] = 0
    return _Between(
        np.where(via.node >= 0, first_node + via.node, door[item]),
        supply,
        np.concatenate([via.item, door[via.item], limited]),
        np.concatenate([nodes, nodes, door[limited]]),
        np.concatenate([first, via.most - via.least - first, spare[limited]]),
        np.concatenate([-via.bonus, np.zeros(nodes.size + limited.size, np.int64)]),
    )


def shortfall(
    item: IntArray,
    reviewer: IntArray,
    demand: IntArray,
    load: IntArray,
    least: IntArray,
    capacity: IntArray | None = None,
) -> Shortfall | None:
    """Find why no assignment exists: items that cannot get their reviews, or reviewers who cannot get enough.

    A pair carries ``capacity`` units, by default one. None if an assignment exists. The two questions can be put one
    after the other: where each has a solution, both have a common one (Mendelsohn and Dulmage 1958).
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


def _cut(
    left: IntArray, right: IntArray, capacity: IntArray, need: IntArray, room: IntArray
) -> tuple[IntArray, IntArray, int, int, int] | None:
    """Left nodes that need more than the right ones can take: the piece of a minimum cut that is shortest most."""
    from ortools.graph.python import max_flow

    n, m = need.size, room.size
    # A flow that does not fill every need: the source side of a minimum cut proves that none does.
    flow, source, sink = max_flow.SimpleMaxFlow(), n + m, n + m + 1
    flow.add_arcs_with_capacity(np.full(n, source), np.arange(n), need)
    flow.add_arcs_with_capacity(left, n + right, capacity)
    flow.add_arcs_with_capacity(n + np.arange(m), np.full(m, sink), room)
    flow.solve(source, sink)
    if flow.optimal_flow() == int(need.sum()):
        return None
    inside = np.zeros(n + m + 2, np.bool_)
    inside[flow.get_source_side_min_cut()] = True
    # The cut may hold several unrelated sets; tell the one that is shortest most.
    within = inside[left] & inside[n + right]
    best: tuple[int, IntArray, IntArray, int, int, int] | None = None
    for nodes in _pieces(inside[: n + m], left[within], n + right[within]):
        lefts, rights = nodes[nodes < n], nodes[nodes >= n] - n
        member = np.zeros(n, np.bool_)
        member[lefts] = True
        pairs = int(capacity[member[left] & ~inside[n + right]].sum())
        needed, supply = int(need[lefts].sum()), int(room[rights].sum())
        if best is None or needed - supply - pairs > best[0]:
            best = (needed - supply - pairs, lefts, rights, needed, supply, pairs)
    return best[1:] if best is not None else None


def _pieces(inside: BoolArray, left: IntArray, right: IntArray) -> list[IntArray]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(left.size), (left, right)), shape=(inside.size, inside.size))
    _, label = connected_components(graph, directed=False)
    nodes = np.flatnonzero(inside)
    order = nodes[np.argsort(label[nodes], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
