"""The assignment as a flow: the optimum, a proof that there is none, and kernels that change one review at least loss.

:func:`cheapest_flow` solves demands and loads as a minimum-cost flow, :func:`shortfall` explains by a minimum cut why
there is no solution. The kernels below them maintain an assignment under changes: who may replace whom on a paper, and
the cheapest cycle of the residual network that adds or removes a given pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner._assign.problem import Network
    from planner.rules import Panels
    from reviewgraph._base import BoolArray, FloatArray, IntArray


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
    bonus: IntArray  # saving per unit of the first ``unit`` units through each node, shape (G,)
    unit: int = 1  # units of one whole review
    # Maximum units of each item that are not among the first ``unit`` of a node, shape (N,), negative for no limit: all
    # others pass different nodes. None for no limits
    spare: IntArray | None = None
    # Whether the first units through a node count as such, shape (G,); by default they do
    fresh: BoolArray | None = None


def cheapest_flow(
    arcs: Arcs, demand: IntArray, load: IntArray, least: IntArray, via: Via | None = None
) -> IntArray | None:
    r"""Return the units per arc, shape (A,), that send every item's demand to reviewers at least cost; None if none.

    .. math::
        \min \sum_a c_a x_a \quad \text{subject to} \quad \sum_{a \ni i} x_a = d_i, \quad
        l_j \le \sum_{a \ni j} x_a \le u_j, \quad l_g \le \sum_{a \ni g} x_a \le u_g, \quad 0 \le x_a \le q_a

    for items i, reviewers j and nodes g between them, whose first units may cost less. Cost scaling and push-relabel
    (Goldberg 1997) of OR-tools; 2 million pairs take about five seconds.
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
        # Where units beyond the first ones are limited, they pass a further node of the item.
        spare = np.full(n_items, -1) if via.spare is None else via.spare
        limited = np.flatnonzero(spare >= 0)
        entrance = np.arange(n_items)
        entrance[limited] = sink + 1 + nodes.size + np.arange(limited.size)
        supply = np.concatenate([supply, np.zeros(limited.size, np.int64)])
        first = np.clip(np.minimum(via.unit, via.most) - via.least, 0, None)
        counts = (via.bonus != 0) | (spare[via.item] >= 0)
        first[~(counts if via.fresh is None else counts & via.fresh)] = 0
        source = np.where(via.node >= 0, sink + 1 + via.node, entrance[arcs.item])
        flow.add_arcs_with_capacity_and_unit_cost(
            np.concatenate([via.item, entrance[via.item], limited]),
            np.concatenate([nodes, nodes, entrance[limited]]),
            np.concatenate([first, via.most - via.least - first, spare[limited]]),
            np.concatenate([-via.bonus, np.zeros(nodes.size + limited.size, np.int64)]),
        )
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
    from ortools.graph.python import max_flow

    flow = max_flow.SimpleMaxFlow()
    n = need.size
    m = room.size
    flow.add_arcs_with_capacity(np.full(n, n + m), np.arange(n), need)
    flow.add_arcs_with_capacity(item, n + reviewer, np.ones(item.size, np.int64))
    flow.add_arcs_with_capacity(n + np.arange(m), np.full(m, n + m + 1), room)
    flow.solve(n + m, n + m + 1)
    return int(flow.optimal_flow())


def min_cut(arcs: Sequence[tuple[IntArray, IntArray, IntArray]], n_nodes: int, needed: int) -> BoolArray | None:
    """Return the source side of a minimum cut, shape (n_nodes,); None where ``needed`` units flow.

    ``arcs`` are tails, heads and capacities; the source is the last node but one, the sink the last one.
    """
    from ortools.graph.python import max_flow

    flow = max_flow.SimpleMaxFlow()
    for tail, head, capacity in arcs:
        flow.add_arcs_with_capacity(tail, head, capacity)
    flow.solve(n_nodes - 2, n_nodes - 1)
    if flow.optimal_flow() == needed:
        return None
    inside = np.zeros(n_nodes, np.bool_)
    inside[flow.get_source_side_min_cut()] = True
    return inside


def _cut(
    left: IntArray, right: IntArray, capacity: IntArray, need: IntArray, room: IntArray
) -> tuple[IntArray, IntArray, int, int, int] | None:
    """Left nodes that need more than the right ones can take: the piece of a minimum cut with the largest gap."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = need.size
    m = room.size
    arcs = (
        (np.full(n, n + m), np.arange(n), need),
        (left, n + right, capacity),
        (n + np.arange(m), np.full(m, n + m + 1), room),
    )
    # A flow that does not meet every need: the source side of a minimum cut proves that none does.
    inside = min_cut(arcs, n + m + 2, int(need.sum()))
    if inside is None:
        return None
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


# Whether a reviewer may replace another on a paper, by the rules on its panel, floors and rivals.

#: Above every distance: costs are below 2**42 and no path is longer than the number of nodes.
FAR = 1 << 62


@kernel
def belongs(panels: Panels, reviewer: int, group: int) -> bool:
    """Whether a reviewer is a member of a group."""
    member = False
    for slot in range(panels.start[reviewer], panels.start[reviewer + 1]):
        member = member or panels.group[slot] == group
    return member


@kernel
def sharing(net: Network, item: int, group: int, without: int) -> int:
    """Count the reviewers of an item who are members of a group, one of them aside."""
    count = 0
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        j = net.reviewer[net.panel[slot]]
        if j != without and belongs(net.panels, j, group):
            count += 1
    return count


@kernel
def different(net: Network, item: int, attribute: int, leaving: int, entering: int) -> int:
    """Count the groups of an attribute on an item once a reviewer has replaced another."""
    panels = net.panels
    count = 0
    for slot in range(panels.start[entering], panels.start[entering + 1]):
        if panels.attribute[panels.group[slot]] == attribute:
            count += 1
    # Everybody else adds the groups that neither the one who enters nor anybody further on has.
    first = net.panel_start[item]
    end = net.panel_start[item] + net.n_panel[item]
    for place in range(first, end):
        staying = net.reviewer[net.panel[place]]
        if staying == leaving:
            continue
        for slot in range(panels.start[staying], panels.start[staying + 1]):
            g = panels.group[slot]
            fresh = panels.attribute[g] == attribute and not belongs(panels, entering, g)
            for later in range(place + 1, end):
                further = net.reviewer[net.panel[later]]
                fresh = fresh and (further == leaving or not belongs(panels, further, g))
            if fresh:
                count += 1
    return count


@kernel
def toll(net: Network, item: int, leaving: int, entering: int) -> int:
    """Return the cost beyond that of the pairs when a reviewer replaces another on an item: rewards lost less gained.

    FAR where a rule forbids it.
    """
    if not net.bound[item]:
        return 0
    panels = net.panels
    cost = 0
    # Groups of the one who enters: none above its upper bound.
    for slot in range(panels.start[entering], panels.start[entering + 1]):
        g = panels.group[slot]
        staying = sharing(net, item, g, leaving)
        if staying >= panels.most[g]:
            return FAR
        if staying == 0 and not belongs(panels, leaving, g):
            cost -= net.bonus[panels.attribute[g]]
    # Groups of the one who leaves: none below its lower bound, and enough different ones stay.
    for slot in range(panels.start[leaving], panels.start[leaving + 1]):
        g = panels.group[slot]
        if belongs(panels, entering, g):
            continue
        staying = sharing(net, item, g, leaving)
        if staying < panels.least[g]:
            return FAR
        a = panels.attribute[g]
        if staying == 0:
            cost += net.bonus[a]
            if panels.different[a] > 0 and different(net, item, a, leaving, entering) < panels.different[a]:
                return FAR
    return cost


@kernel
def serves(net: Network, item: int, leaving: int, entering: int) -> bool:
    """Whether an item stays above its floors when a pair enters its panel and another leaves it."""
    if not net.floored[0]:
        return True
    total = net.value[entering]
    best = net.value[entering]
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        p = net.panel[slot]
        if p != leaving:
            total += net.value[p]
            best = max(best, net.value[p])
    return bool(total >= net.floor[item] and best >= net.peak[item])


@kernel
def free_of_rivals(net: Network, pair: int, leaving: int) -> bool:
    """Whether no rival of a pair is assigned, except one that leaves for it."""
    free = bool(net.n_rivals[pair] == 0)
    if net.n_rivals[pair] == 1:
        for slot in range(net.rival_start[pair], net.rival_start[pair + 1]):
            free = free or bool(net.rival[slot] == leaving)
    return free


@kernel
def barred(net: Network, pair: int) -> bool:
    """Whether rivals keep a pair out, whoever leaves its item for it."""
    count = 0
    for slot in range(net.rival_start[pair], net.rival_start[pair + 1]):
        rival = net.rival[slot]
        if net.assigned[rival]:
            count += 1 if net.item[rival] == net.item[pair] else 2
    return count > 1


@kernel
def clash(net: Network, pairs: IntArray) -> int:
    """Return one of the pairs, not the first, that would come in together with a rival; -1 if there is none."""
    for k in range(1, pairs.size):
        p = pairs[k]
        if net.assigned[p] or net.rival_start[p] == net.rival_start[p + 1]:
            continue
        for slot in range(net.rival_start[p], net.rival_start[p + 1]):
            for q in pairs:
                if q == net.rival[slot] and not net.assigned[q]:
                    return int(p)
    return -1


# Kernels that add or remove one review at the least loss of affinity.
#
# Every paper sends one unit to each of its reviewers, every reviewer sends the units received to a sink. Changing the
# assignment means pushing flow around a cycle of the residual graph: a reviewer takes a paper, gives up another, which
# someone else takes, and so on. The cheapest cycle through a given pair is a shortest path, by Dijkstra's algorithm on
# reduced costs; the potentials that keep these non-negative carry over from one change to the next, as in the
# successive shortest path method for minimum-cost flow (Ahuja, Magnanti and Orlin 1993, chapter 9).
#
# Nodes are the items 0..N-1, the reviewers N..N+M-1 and the sink N+M.

#: Indices of ``Work.bound``.
REACH = 0
CUT = 1
GOAL = 2
CLOSED = 3

#: States of ``Work.place`` that are no position in the heap.
NEVER = -1
DONE = -2

#: Indices of the ends of a search: start, target, the reviewer who takes or gives up the item, and the pair of both.
SOURCE = 0
TARGET = 1
PERSON = 2
PAIR = 3


class Work(NamedTuple):
    """Scratch space of Dijkstra's algorithm, by node."""

    dist: IntArray  # distance from the source; FAR between calls
    # via_node, via_pair: the way back to the source, by node and pair; the pair is -1 for an arc of the sink
    via_node: IntArray
    via_pair: IntArray
    # heap, place: nodes in the queue, nearest first, and the position of each: -1 absent (so between calls), -2 done
    heap: IntArray
    place: IntArray
    touched: IntArray  # nodes that are done, in their order
    path: IntArray  # pairs to flip
    # Distance from the holders of the target item to it, 0 for a target reviewer; FAR for others, and between calls
    toward: IntArray
    # REACH: the distance beyond which nodes are cut off; CUT: whether some were; GOAL: the node where the search ends;
    # CLOSED: whether a path of length REACH exists
    bound: IntArray


def workspace(n_nodes: int) -> Work:
    far = np.full(n_nodes, FAR, np.int64)
    none = np.full(n_nodes, -1, np.int64)
    path = np.full(n_nodes + 1, -1, np.int64)
    bound = np.zeros(4, np.int64)
    return Work(far, none, none.copy(), none.copy(), none.copy(), none.copy(), path, far.copy(), bound)


@kernel
def settle_potentials(net: Network, cost: IntArray, passes: int) -> bool:
    """Find potentials with non-negative reduced costs by Bellman-Ford from all nodes at once.

    False if ``passes`` passes do not suffice: the assignment is not optimal within what is not locked.
    """
    n_items = net.item_start.size - 1
    sink = net.potential.size - 1
    # As if a source reached every node at cost 0. Residual arcs: an item to reviewers who might take it, a reviewer
    # back to items that they hold, a reviewer with room to the sink, the sink to reviewers above their least load.
    pot = net.potential
    for node in range(pot.size):
        pot[node] = 0
    for _ in range(passes):
        changed = False
        for p in range(cost.size):
            if net.locked[p]:
                continue
            i = net.item[p]
            j = n_items + net.reviewer[p]
            if net.assigned[p]:
                if pot[j] - cost[p] < pot[i]:
                    pot[i] = pot[j] - cost[p]
                    changed = True
            elif pot[i] + cost[p] < pot[j]:
                pot[j] = pot[i] + cost[p]
                changed = True
        for j in range(net.n_held.size):
            node = n_items + j
            if net.n_held[j] < net.held_start[j + 1] - net.held_start[j] and pot[node] < pot[sink]:
                pot[sink] = pot[node]
                changed = True
        for j in range(net.n_held.size):
            node = n_items + j
            if net.n_held[j] > net.least[j] and pot[sink] < pot[node]:
                pot[node] = pot[sink]
                changed = True
        # A pass without a change: every arc satisfies pot[v] <= pot[u] + cost.
        if not changed:
            return True
    return False


@kernel
def sift_up(work: Work, slot: int) -> None:
    """Restore the heap above a slot; equal distances are ordered by node."""
    node = work.heap[slot]
    while slot > 0:
        above = work.heap[(slot - 1) // 2]
        if (work.dist[above], above) <= (work.dist[node], node):
            break
        work.heap[slot] = above
        work.place[above] = slot
        slot = (slot - 1) // 2
    work.heap[slot] = node
    work.place[node] = slot


@kernel
def pop_heap(work: Work, size: int) -> int:
    """Remove the nearest node from a heap of ``size`` nodes."""
    # The last node goes down from the top, past every nearer child.
    top = work.heap[0]
    node = work.heap[size - 1]
    work.place[top] = DONE
    size -= 1
    if size == 0:
        return top
    slot = 0
    while True:
        below = 2 * slot + 1
        if below >= size:
            break
        left = work.heap[below]
        if below + 1 < size:
            right = work.heap[below + 1]
            if (work.dist[right], right) < (work.dist[left], left):
                below = below + 1
                left = right
        if (work.dist[node], node) <= (work.dist[left], left):
            break
        work.heap[slot] = left
        work.place[left] = slot
        slot = below
    work.heap[slot] = node
    work.place[node] = slot
    return top


@kernel
def reach(net: Network, work: Work, size: int, u: int, v: int, pair: int, arc: int) -> int:
    """Relax an arc of the given cost from u to v; returns the number of nodes in the heap."""
    if work.place[v] == DONE:
        return size
    # Reduced costs are not negative except for rounding of locked pairs; nodes beyond the bound are cut off.
    reduced = arc + net.potential[u] - net.potential[v]
    through = work.dist[u] + max(reduced, 0)
    if through > work.bound[REACH]:
        work.bound[CUT] = 1
        return size
    if through >= work.dist[v] or (work.bound[CLOSED] and through == work.bound[REACH] and v != work.bound[GOAL]):
        return size
    # A holder of the target item closes a path: longer ones need not be examined.
    if through + work.toward[v] <= work.bound[REACH]:
        work.bound[REACH] = through + work.toward[v]
        work.bound[CLOSED] = 1
    if work.dist[v] == FAR:
        work.heap[size] = v
        work.place[v] = size
        size += 1
    work.dist[v] = through
    work.via_node[v] = u
    work.via_pair[v] = pair
    sift_up(work, work.place[v])
    return size


@kernel
def is_far(net: Network, work: Work, u: int, v: int, arc: int) -> bool:
    """Whether an arc from u to v leads beyond the bound, or to a node that is done; quicker than :func:`reach`."""
    if work.place[v] == DONE:
        return True
    if work.dist[u] + max(arc + net.potential[u] - net.potential[v], 0) <= work.bound[REACH]:
        return False
    work.bound[CUT] = 1
    return True


@kernel
def look_ahead(net: Network, cost: IntArray, work: Work, pair: int, forget: bool) -> bool:
    """Set, or reset, the distance to the item of a pair from the reviewers who may give it up for this pair.

    Returns whether there is one.
    """
    n_items = net.item_start.size - 1
    item = net.item[pair]
    taker = net.reviewer[pair]
    some = False
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        p = net.panel[slot]
        node = n_items + net.reviewer[p]
        if forget:
            work.toward[node] = FAR
        elif not net.locked[p] and free_of_rivals(net, pair, p) and serves(net, item, p, pair):
            extra = toll(net, item, net.reviewer[p], taker)
            if extra < FAR:
                work.toward[node] = max(extra + net.potential[node] - cost[p] - net.potential[item], 0)
                some = True
    return some


@kernel
def leave(net: Network, cost: IntArray, work: Work, size: int, u: int, ends: IntArray) -> int:
    """Relax all residual arcs that leave a node; ``ends`` holds SOURCE, TARGET, PERSON and PAIR."""
    n_items = net.item_start.size - 1
    sink = net.potential.size - 1
    # The sink returns a unit: any reviewer above their least load may hold one less.
    if u == sink:
        goal = ends[TARGET] - n_items
        if goal >= 0 and net.n_held[goal] > net.least[goal]:
            size = reach(net, work, size, u, ends[TARGET], -1, 0)
        for j in range(net.n_held.size):
            if net.n_held[j] > net.least[j] and not is_far(net, work, u, n_items + j, 0):
                size = reach(net, work, size, u, n_items + j, -1, 0)
    # An item that was given up needs another reviewer, who must fit those that stay.
    elif u < n_items:
        leaving = ends[PERSON] if u == ends[SOURCE] else work.via_node[u] - n_items
        gone = ends[PAIR] if u == ends[SOURCE] else work.via_pair[u]
        base = work.dist[u] + net.potential[u]
        bound = net.bound[u]
        free = not bound and not net.floored[0]
        for p in range(net.item_start[u], net.item_start[u + 1]):
            v = n_items + net.reviewer[p]
            if base + cost[p] - net.potential[v] >= work.dist[v] or net.locked[p] or net.assigned[p]:
                continue
            # Most arcs are too long, see :func:`is_far`, whose call would take longer than the rest.
            if free and net.n_rivals[p] == 0:
                if work.place[v] == DONE:
                    continue
                if max(base + cost[p] - net.potential[v], work.dist[u]) > work.bound[REACH]:
                    work.bound[CUT] = 1
                    continue
            extra = toll(net, u, leaving, net.reviewer[p]) if bound else 0
            if extra < FAR and free_of_rivals(net, p, gone) and serves(net, u, gone, p):
                size = reach(net, work, size, u, v, p, cost[p] + extra)
    # A reviewer who took an item has room for it, or gives another one up.
    else:
        j = u - n_items
        if net.n_held[j] < net.held_start[j + 1] - net.held_start[j]:
            size = reach(net, work, size, u, sink, -1, 0)
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            p = net.held[slot]
            if net.locked[p]:
                continue
            if net.item[p] == ends[TARGET] and not (
                free_of_rivals(net, ends[PAIR], p) and serves(net, ends[TARGET], p, ends[PAIR])
            ):
                continue
            extra = toll(net, ends[TARGET], j, ends[PERSON]) if net.item[p] == ends[TARGET] else 0
            if extra < FAR:
                size = reach(net, work, size, u, net.item[p], p, extra - cost[p])
    return size


@kernel
def cheapest_path(net: Network, cost: IntArray, work: Work, pair: int, limit: int) -> int:
    """Find the shortest path that flips a pair: from its reviewer to its item, or back if it is assigned.

    Returns the number of pairs to flip, written to ``work.path`` with the pair itself first; 0 if there is no path,
    -1 if there is none of a reduced cost up to ``limit``. Either way potentials are updated by the distances, so that
    the reduced cost of the pair rises. Takes O((A + V) log V) for A arcs and V nodes at worst; the search ends at the
    target or the limit and examines the neighbourhood only.
    """
    n_items = net.item_start.size - 1
    i = net.item[pair]
    j = n_items + net.reviewer[pair]
    source, target = (i, j) if net.assigned[pair] else (j, i)
    # By elements, here and elsewhere: a list of numbers, or a slice, takes longer to compile than the rest.
    ends = np.empty(4, np.int64)
    ends[0] = source
    ends[1] = target
    ends[2] = j - n_items
    ends[3] = pair
    # Where nobody may give the item up, a search would look at everything in vain.
    if target == i and (barred(net, pair) or not look_ahead(net, cost, work, pair, False)):
        return 0
    work.dist[source] = 0
    work.heap[0] = source
    work.place[source] = 0
    work.bound[0] = limit
    work.bound[1] = 0
    work.bound[2] = target
    work.bound[3] = 0
    if target != i:
        work.toward[target] = 0
    # Dijkstra on reduced costs: the nearest node is done; stop at the target or where the bound cuts everything off.
    size = 1
    touched = 0
    length = 0
    far = limit
    while size > 0:
        u = pop_heap(work, size)
        size -= 1
        work.touched[touched] = u
        touched += 1
        if u == target:
            length = 1
            far = work.dist[u]
            break
        size = leave(net, cost, work, size, u, ends)
    if target == i:
        look_ahead(net, cost, work, pair, True)
    work.toward[target] = FAR
    # Back along the path; arcs of the sink flip no pair.
    if length > 0:
        work.path[0] = pair
        u = target
        while u != source:
            if work.via_pair[u] >= 0:
                work.path[length] = work.via_pair[u]
                length += 1
            u = work.via_node[u]
    if length == 0 and work.bound[CUT] > 0:
        length = -1
    # Successive shortest paths: potentials of nodes nearer than the end move by the difference, so reduced costs
    # stay non-negative, with and without the flip. Then the scratch space is reset.
    for k in range(touched):
        if length != 0 and work.dist[work.touched[k]] < far:
            net.potential[work.touched[k]] += work.dist[work.touched[k]] - far
        work.dist[work.touched[k]] = FAR
        work.place[work.touched[k]] = NEVER
    for k in range(size):
        work.dist[work.heap[k]] = FAR
        work.place[work.heap[k]] = NEVER
    return length


@kernel
def drop(net: Network, p: int) -> None:
    """Take a pair from its reviewer and its item; the last entry of each fills the hole."""
    j = net.reviewer[p]
    i = net.item[p]
    slot = net.held_start[j]
    while net.held[slot] != p:
        slot += 1
    net.n_held[j] -= 1
    net.held[slot] = net.held[net.held_start[j] + net.n_held[j]]
    slot = net.panel_start[i]
    while net.panel[slot] != p:
        slot += 1
    net.n_panel[i] -= 1
    net.panel[slot] = net.panel[net.panel_start[i] + net.n_panel[i]]
    net.assigned[p] = False
    for slot in range(net.rival_start[p], net.rival_start[p + 1]):
        net.n_rivals[net.rival[slot]] -= 1


@kernel
def take(net: Network, p: int) -> None:
    j = net.reviewer[p]
    i = net.item[p]
    net.held[net.held_start[j] + net.n_held[j]] = p
    net.n_held[j] += 1
    net.panel[net.panel_start[i] + net.n_panel[i]] = p
    net.n_panel[i] += 1
    net.assigned[p] = True
    for slot in range(net.rival_start[p], net.rival_start[p + 1]):
        net.n_rivals[net.rival[slot]] += 1


@kernel
def flip(net: Network, pairs: IntArray) -> None:
    """Assign the pairs that are not, and remove those that are; flipping again undoes it."""
    was = np.empty(pairs.size, np.bool_)
    for k in range(pairs.size):
        was[k] = net.assigned[pairs[k]]
    # Removals first, so that nobody exceeds their load in between.
    for k in range(pairs.size):
        if was[k]:
            drop(net, pairs[k])
    for k in range(pairs.size):
        if not was[k]:
            take(net, pairs[k])
