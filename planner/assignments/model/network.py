"""The assignment as a flow: kernels that take one review more, or one less, at the least loss of affinity.

Every paper sends one unit to each of its reviewers, every reviewer sends what she holds to a sink. To change the
assignment is to push flow around a cycle of the residual graph: a reviewer takes a paper, gives up another, which
someone else takes, and so on. The cheapest cycle through a given pair is a shortest path, found by Dijkstra's
algorithm on reduced costs; the potentials that make these non-negative are kept from one change to the next, as
in the successive shortest path method for minimum-cost flow (Ahuja, Magnanti and Orlin 1993, chapter 9).

Nodes are the items 0..N-1, the reviewers N..N+M-1 and the sink N+M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.fitting import FAR, barred, free_of_rivals, toll
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray

#: Places of ``Work.bound``.
REACH, CUT, GOAL, CLOSED = 0, 1, 2, 3

#: States of ``Work.place`` that are no place in the heap.
NEVER, DONE = -1, -2

#: Places of the ends of a search: where it starts, where it goes, the reviewer who takes or gives up the item, and the
#: pair of both.
SOURCE, TARGET, PERSON, PAIR = 0, 1, 2, 3


class Work(NamedTuple):
    """Scratch space of Dijkstra's algorithm, by node.

    Parameters
    ----------
    dist
        Distance from the source; FAR between calls.
    via_node, via_pair
        The way back to the source, by node and pair; the pair is -1 for an arc of the sink.
    heap, place
        Nodes that wait, nearest first, and where each stands: -1 not there (so between calls), -2 done.
    touched
        Nodes that are done, in their order.
    path
        Pairs to flip.
    toward
        Distance from the holders of the target item to it, 0 for a target reviewer; FAR for others, and between calls.
    bound
        The distance beyond which nodes need not be looked at, in place 0 (``REACH``), whether some were not
        (``CUT``), the node where the search ends (``GOAL``), and whether a way of that distance is known (``CLOSED``).
    """

    dist: IntArray
    via_node: IntArray
    via_pair: IntArray
    heap: IntArray
    place: IntArray
    touched: IntArray
    path: IntArray
    toward: IntArray
    bound: IntArray


def workspace(n_nodes: int) -> Work:
    """Scratch space for a network of so many nodes."""
    far, none = np.full(n_nodes, FAR, np.int64), np.full(n_nodes, -1, np.int64)
    path, bound = np.full(n_nodes + 1, -1, np.int64), np.zeros(4, np.int64)
    return Work(far, none, none.copy(), none.copy(), none.copy(), none.copy(), path, far.copy(), bound)


@kernel
def settle_potentials(net: Network, cost: IntArray, passes: int) -> bool:
    """Bellman-Ford from all nodes at once: potentials with non-negative reduced costs.

    False if they were not found in so many passes: the assignment is not optimal within what is not locked.
    """
    n_items, sink = net.item_start.size - 1, net.potential.size - 1
    # As if a source reached every node at cost 0. Residual arcs: an item to reviewers who might take it, a reviewer
    # back to items that she holds, a reviewer with room to the sink, the sink to reviewers who may give up more.
    net.potential[:] = 0
    pot = net.potential
    for _ in range(passes):
        changed = False
        for p in range(cost.size):
            if net.locked[p]:
                continue
            i, j = net.item[p], n_items + net.reviewer[p]
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
    """Restore the heap above a slot; equal distances stand by node."""
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
    """Take the nearest node from a heap of so many nodes."""
    # The last node goes down from the top, past every nearer child.
    top, node = work.heap[0], work.heap[size - 1]
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
                below, left = below + 1, right
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
    # Reduced costs are not negative but for rounding of what is locked; what lies beyond the bound is cut off.
    reduced = arc + net.potential[u] - net.potential[v]
    through = work.dist[u] + max(reduced, 0)
    if through > work.bound[REACH]:
        work.bound[CUT] = 1
        return size
    if through >= work.dist[v] or (work.bound[CLOSED] and through == work.bound[REACH] and v != work.bound[GOAL]):
        return size
    # Whoever holds the target item closes a way: nothing as long as that need be looked at.
    if through + work.toward[v] <= work.bound[REACH]:
        work.bound[REACH], work.bound[CLOSED] = through + work.toward[v], 1
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
def look_ahead(net: Network, cost: IntArray, work: Work, pair: int, forget: bool) -> None:
    """Note how far the reviewers who may give up the item of a pair for it are from it, or forget it again."""
    n_items, item, taker = net.item_start.size - 1, net.item[pair], net.reviewer[pair]
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        p = net.panel[slot]
        node = n_items + net.reviewer[p]
        if forget:
            work.toward[node] = FAR
        elif not net.locked[p] and free_of_rivals(net, pair, p):
            extra = toll(net, item, net.reviewer[p], taker)
            if extra < FAR:
                work.toward[node] = max(extra + net.potential[node] - cost[p] - net.potential[item], 0)


@kernel
def leave(net: Network, cost: IntArray, work: Work, size: int, u: int, ends: IntArray) -> int:
    """Relax all residual arcs that leave a node; ``ends`` holds SOURCE, TARGET, PERSON and PAIR."""
    n_items, sink = net.item_start.size - 1, net.potential.size - 1
    # The sink gives a unit back: somebody above her least load may hold one less.
    if u == sink:
        goal = ends[TARGET] - n_items
        if goal >= 0 and net.n_held[goal] > net.least[goal]:
            size = reach(net, work, size, u, ends[TARGET], -1, 0)
        for j in range(net.n_held.size):
            if net.n_held[j] > net.least[j]:
                size = reach(net, work, size, u, n_items + j, -1, 0)
    # An item that was given up looks for another reviewer, who must fit beside those that stay.
    elif u < n_items:
        leaving = ends[PERSON] if u == ends[SOURCE] else work.via_node[u] - n_items
        left = ends[PAIR] if u == ends[SOURCE] else work.via_pair[u]
        base, bound = work.dist[u] + net.potential[u], net.bound[u]
        for p in range(net.item_start[u], net.item_start[u + 1]):
            v = n_items + net.reviewer[p]
            if base + cost[p] - net.potential[v] >= work.dist[v] or net.locked[p] or net.assigned[p]:
                continue
            extra = toll(net, u, leaving, net.reviewer[p]) if bound else 0
            if extra < FAR and free_of_rivals(net, p, left):
                size = reach(net, work, size, u, v, p, cost[p] + extra)
    # A reviewer who took one has room for it, or gives another one up.
    else:
        j = u - n_items
        if net.n_held[j] < net.held_start[j + 1] - net.held_start[j]:
            size = reach(net, work, size, u, sink, -1, 0)
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            p = net.held[slot]
            if net.locked[p]:
                continue
            if net.item[p] == ends[TARGET] and not free_of_rivals(net, ends[PAIR], p):
                continue
            extra = toll(net, ends[TARGET], j, ends[PERSON]) if net.item[p] == ends[TARGET] else 0
            if extra < FAR:
                size = reach(net, work, size, u, net.item[p], p, extra - cost[p])
    return size


@kernel
def cheapest_path(net: Network, cost: IntArray, work: Work, pair: int, limit: int) -> int:
    """Shortest way to flip a pair: from its reviewer to its item, or back if it is assigned.

    Returns the number of pairs to flip, written to ``work.path`` with the pair itself first; 0 if there is no way,
    -1 if there is none of a reduced cost up to ``limit``. Either way potentials take up what was learnt, so that the
    reduced cost of the pair rises. Takes O((A + V) log V) for A arcs and V nodes at worst; the search ends at the
    target or the limit and looks at the neighbourhood only.
    """
    n_items = net.item_start.size - 1
    i, j = net.item[pair], n_items + net.reviewer[pair]
    source, target = (i, j) if net.assigned[pair] else (j, i)
    ends = np.array([source, target, j - n_items, pair])
    if target == i and barred(net, pair):
        return 0
    work.dist[source] = 0
    work.heap[0] = source
    work.place[source] = 0
    work.bound[:] = np.array([limit, 0, target, 0])
    if target == i:
        look_ahead(net, cost, work, pair, False)
    else:
        work.toward[target] = 0
    # Dijkstra on reduced costs: the nearest node is done; stop at the target or where the bound cuts all off.
    size, touched, length, far = 1, 0, 0, limit
    while size > 0:
        u = pop_heap(work, size)
        size -= 1
        work.touched[touched] = u
        touched += 1
        if u == target:
            length, far = 1, work.dist[u]
            break
        size = leave(net, cost, work, size, u, ends)
    if target == i:
        look_ahead(net, cost, work, pair, True)
    work.toward[target] = FAR
    # Back along the way; arcs of the sink flip no pair.
    if length > 0:
        work.path[0], u = pair, target
        while u != source:
            if work.via_pair[u] >= 0:
                work.path[length] = work.via_pair[u]
                length += 1
            u = work.via_node[u]
    if length == 0 and work.bound[CUT] > 0:
        length = -1
    # Successive shortest paths: potentials of what is nearer than the end move by the difference, so reduced costs
    # stay non-negative, with and without the flip. Then the scratch space is as it was.
    for k in range(touched):
        if length != 0 and work.dist[work.touched[k]] < far:
            net.potential[work.touched[k]] += work.dist[work.touched[k]] - far
        work.dist[work.touched[k]], work.place[work.touched[k]] = FAR, NEVER
    for k in range(size):
        work.dist[work.heap[k]], work.place[work.heap[k]] = FAR, NEVER
    return length


@kernel
def drop(net: Network, p: int) -> None:
    """Take a pair from its reviewer and its item; the last entry of each fills the hole."""
    j, i = net.reviewer[p], net.item[p]
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
    """Give a pair to its reviewer and its item."""
    j, i = net.reviewer[p], net.item[p]
    net.held[net.held_start[j] + net.n_held[j]] = p
    net.n_held[j] += 1
    net.panel[net.panel_start[i] + net.n_panel[i]] = p
    net.n_panel[i] += 1
    net.assigned[p] = True
    for slot in range(net.rival_start[p], net.rival_start[p + 1]):
        net.n_rivals[net.rival[slot]] += 1


@kernel
def flip(net: Network, pairs: IntArray) -> None:
    """Assign the pairs that are not, and take away those that are; flipping again undoes it."""
    was = np.empty(pairs.size, np.bool_)
    for k in range(pairs.size):
        was[k] = net.assigned[pairs[k]]
    # Removals first, so that nobody holds more than she may in between.
    for k in range(pairs.size):
        if was[k]:
            drop(net, pairs[k])
    for k in range(pairs.size):
        if not was[k]:
            take(net, pairs[k])
