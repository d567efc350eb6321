"""An assignment under change, and the cheapest cycle of its residual network that adds or removes a given pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, IntArray

#: Above every distance: costs are below 2**42 and no path is longer than the number of nodes.
FAR = 1 << 62


@dataclass(eq=False, repr=False)
class Network:
    """Pairs that may be assigned, sorted by (item, reviewer), and the current assignment."""

    # item, reviewer: the pairs, shape (P,)
    item: IntArray
    reviewer: IntArray
    item_start: IntArray  # the pairs of item i are ``item_start[i]:item_start[i + 1]``, shape (N + 1,)
    assigned: BoolArray  # which pairs are, shape (P,)
    locked: BoolArray  # pairs that keep their state, shape (P,)
    leaving: BoolArray  # scratch space of a change, shape (P,)
    # held_start, n_held, held: the pairs of reviewer j are ``held[held_start[j]:held_start[j] + n_held[j]]``; the
    # maximum load is ``held_start[j + 1] - held_start[j]``
    held_start: IntArray
    n_held: IntArray
    held: IntArray
    # panel_start, n_panel, panel: the pairs of each item likewise
    panel_start: IntArray
    n_panel: IntArray
    panel: IntArray
    least: IntArray  # minimum number of pairs of each reviewer, shape (M,)
    potential: IntArray  # potentials of the nodes, shape (N + M + 1,), with which reduced costs are not negative


# Changes of the assignment.


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


def take(net: Network, p: int) -> None:
    j = net.reviewer[p]
    i = net.item[p]
    net.held[net.held_start[j] + net.n_held[j]] = p
    net.n_held[j] += 1
    net.panel[net.panel_start[i] + net.n_panel[i]] = p
    net.n_panel[i] += 1
    net.assigned[p] = True


def flip(net: Network, pairs: IntArray) -> None:
    """Assign the pairs that are not, and remove those that are; flipping again undoes it."""
    with cython.nogil:
        for k in range(len(pairs)):
            net.leaving[pairs[k]] = net.assigned[pairs[k]]
        # Removals first, so that nobody exceeds their load in between.
        for k in range(len(pairs)):
            if net.leaving[pairs[k]]:
                drop(net, pairs[k])
        for k in range(len(pairs)):
            if not net.leaving[pairs[k]]:
                take(net, pairs[k])


# Adding or removing one review at the least loss of affinity.
#
# Every paper sends one unit to each of its reviewers, every reviewer sends the units received to a sink. Changing the
# assignment means pushing flow around a cycle of the residual graph: a reviewer takes a paper, gives up another, which
# someone else takes, and so on. The cheapest cycle through a given pair is a shortest path, by Dijkstra's algorithm on
# reduced costs; the potentials that keep these non-negative carry over from one change to the next, as in the
# successive shortest path method for minimum-cost flow (Ahuja, Magnanti and Orlin 1993, chapter 9).
#
# Nodes are the items 0..N-1, the reviewers N..N+M-1 and the sink N+M.


def lower_potentials(net: Network, cost: IntArray) -> bool:
    """Lower potentials until no residual arc seems to gain, one pass of Bellman and Ford; whether any was lowered."""
    changed = False
    n_items = len(net.item_start) - 1
    sink = len(net.potential) - 1
    potential = net.potential
    with cython.nogil:
        # Residual arcs: an item to reviewers who might take it, a reviewer back to items that they hold, a reviewer
        # with room to the sink, the sink to reviewers above their least load.
        for p in range(len(cost)):
            if net.locked[p]:
                continue
            i = net.item[p]
            node = n_items + net.reviewer[p]
            if net.assigned[p]:
                if potential[node] - cost[p] < potential[i]:
                    potential[i] = potential[node] - cost[p]
                    changed = True
            elif potential[i] + cost[p] < potential[node]:
                potential[node] = potential[i] + cost[p]
                changed = True
        for j in range(len(net.n_held)):
            node = n_items + j
            room = net.held_start[j + 1] - net.held_start[j] - net.n_held[j]
            if room > 0 and potential[node] < potential[sink]:
                potential[sink] = potential[node]
                changed = True
        for j in range(len(net.n_held)):
            node = n_items + j
            if net.n_held[j] > net.least[j] and potential[sink] < potential[node]:
                potential[node] = potential[sink]
                changed = True
    return changed


#: States of ``Work.place`` that are no position in the heap.
NEVER = -1
DONE = -2


@dataclass(eq=False, repr=False)
class Work:
    """Costs of pairs, and scratch space of Dijkstra's algorithm, by node."""

    cost: IntArray  # of each pair, shape (P,)
    dist: IntArray  # distance from the source; FAR between calls
    # via_node, via_pair: the way back to the source, by node and pair; the pair is -1 for an arc of the sink
    via_node: IntArray
    via_pair: IntArray
    # heap, place: nodes in the queue, nearest first, and the position of each: -1 absent (so between calls), -2 done
    heap: IntArray
    place: IntArray
    finished: IntArray  # nodes that are done, in their order
    path: IntArray  # pairs to flip
    # Distance from the holders of the target item to it, 0 for a target reviewer; FAR for others, and between calls
    toward: IntArray
    size: int = 0  # nodes in the heap
    # pair, source, target: the pair to flip, and the nodes where the search starts and ends
    pair: int = 0
    source: int = 0
    target: int = 0
    # limit, cut, closed: the distance beyond which nodes are cut off, whether some were, and whether a path of this
    # length exists
    limit: int = 0
    cut: bool = False
    closed: bool = False


def workspace(cost: IntArray, n_nodes: int) -> Work:
    """Allocate the space to search for cycles among pairs of these costs."""
    return Work(
        cost=cost,
        dist=np.full(n_nodes, FAR, np.int64),
        via_node=np.full(n_nodes, -1, np.int64),
        via_pair=np.full(n_nodes, -1, np.int64),
        heap=np.full(n_nodes, -1, np.int64),
        place=np.full(n_nodes, NEVER, np.int64),
        finished=np.full(n_nodes, -1, np.int64),
        path=np.full(n_nodes + 1, -1, np.int64),
        toward=np.full(n_nodes, FAR, np.int64),
    )


def nearer(work: Work, a: int, b: int) -> bool:
    """Whether a node comes before another; equal distances are ordered by node."""
    if work.dist[a] != work.dist[b]:
        return work.dist[a] < work.dist[b]
    return a < b


def sift_up(work: Work, slot: int) -> None:
    """Restore the heap above a slot."""
    node = work.heap[slot]
    while slot > 0:
        above = work.heap[(slot - 1) // 2]
        if nearer(work, above, node):
            break
        work.heap[slot] = above
        work.place[above] = slot
        slot = (slot - 1) // 2
    work.heap[slot] = node
    work.place[node] = slot


def pop_heap(work: Work) -> int:
    """Remove the nearest node from the heap."""
    # The last node goes down from the top, past every nearer child.
    top = work.heap[0]
    work.place[top] = DONE
    work.size -= 1
    size = work.size
    if size == 0:
        return top
    node = work.heap[size]
    slot = 0
    while True:
        below = 2 * slot + 1
        if below >= size:
            break
        if below + 1 < size and nearer(work, work.heap[below + 1], work.heap[below]):
            below += 1
        child = work.heap[below]
        if nearer(work, node, child):
            break
        work.heap[slot] = child
        work.place[child] = slot
        slot = below
    work.heap[slot] = node
    work.place[node] = slot
    return top


def reach(net: Network, work: Work, u: int, v: int, pair: int, arc: int) -> None:
    """Relax an arc of the given cost from u to v."""
    if work.place[v] == DONE:
        return
    # Reduced costs are not negative except for rounding of locked pairs; nodes beyond the limit are cut off.
    through = work.dist[u] + max(arc + net.potential[u] - net.potential[v], 0)
    if through > work.limit:
        work.cut = True
        return
    if through >= work.dist[v] or (work.closed and through == work.limit and v != work.target):
        return
    # A holder of the target item closes a path: longer ones need not be examined.
    if through + work.toward[v] <= work.limit:
        work.limit = through + work.toward[v]
        work.closed = True
    if work.dist[v] == FAR:
        work.heap[work.size] = v
        work.place[v] = work.size
        work.size += 1
    work.dist[v] = through
    work.via_node[v] = u
    work.via_pair[v] = pair
    sift_up(work, work.place[v])


def look_ahead(net: Network, work: Work) -> bool:
    """Set the distance to the item of the pair from the reviewers who may give it up; returns whether there is one."""
    n_items = len(net.item_start) - 1
    item = net.item[work.pair]
    some = False
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        p = net.panel[slot]
        if not net.locked[p]:
            node = n_items + net.reviewer[p]
            work.toward[node] = max(net.potential[node] - work.cost[p] - net.potential[item], 0)
            some = True
    return some


def forget(net: Network, work: Work) -> None:
    """Reset what :func:`look_ahead` has set."""
    n_items = len(net.item_start) - 1
    item = net.item[work.pair]
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        work.toward[n_items + net.reviewer[net.panel[slot]]] = FAR


def leave_sink(net: Network, work: Work, sink: int) -> None:
    """Relax the arcs of the sink, which returns a unit: any reviewer above their least load may hold one less."""
    n_items = len(net.item_start) - 1
    goal = work.target - n_items
    if goal >= 0 and net.n_held[goal] > net.least[goal]:
        reach(net, work, sink, work.target, -1, 0)
    for j in range(len(net.n_held)):
        if net.n_held[j] > net.least[j]:
            reach(net, work, sink, n_items + j, -1, 0)


def leave_item(net: Network, work: Work, item: int) -> None:
    """Relax the arcs of an item that was given up: it needs another reviewer."""
    n_items = len(net.item_start) - 1
    base = work.dist[item] + net.potential[item]
    for p in range(net.item_start[item], net.item_start[item + 1]):
        node = n_items + net.reviewer[p]
        if base + work.cost[p] - net.potential[node] >= work.dist[node] or net.locked[p] or net.assigned[p]:
            continue
        reach(net, work, item, node, p, work.cost[p])


def leave_reviewer(net: Network, work: Work, node: int) -> None:
    """Relax the arcs of a reviewer who took an item, and has room for it, or gives another one up."""
    n_items = len(net.item_start) - 1
    j = node - n_items
    if net.n_held[j] < net.held_start[j + 1] - net.held_start[j]:
        reach(net, work, node, len(net.potential) - 1, -1, 0)
    for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
        p = net.held[slot]
        if not net.locked[p]:
            reach(net, work, node, net.item[p], p, -work.cost[p])


def search(net: Network, work: Work) -> int:
    """Find the nearest nodes up to the target or the limit; returns how many are done."""
    n_items = len(net.item_start) - 1
    count = 0
    while work.size > 0:
        node = pop_heap(work)
        work.finished[count] = node
        count += 1
        if node == work.target:
            break
        if node < n_items:
            leave_item(net, work, node)
        elif node < len(net.potential) - 1:
            leave_reviewer(net, work, node)
        else:
            leave_sink(net, work, node)
    return count


def trace(work: Work) -> int:
    """Write the pairs of the path to ``work.path``, back from the target; arcs of the sink flip no pair."""
    work.path[0] = work.pair
    length = 1
    node = work.target
    while node != work.source:
        if work.via_pair[node] >= 0:
            work.path[length] = work.via_pair[node]
            length += 1
        node = work.via_node[node]
    return length


def cheapest_path(net: Network, work: Work, pair: int, limit: int) -> int:
    """Find the shortest path that flips a pair: from its reviewer to its item, or back if it is assigned.

    Returns the number of pairs to flip, written to ``work.path`` with the pair itself first; 0 if there is no path,
    -1 if there is none of a reduced cost up to ``limit``. Either way potentials are updated by the distances, so that
    the reduced cost of the pair rises. Takes O((A + V) log V) for A arcs and V nodes at worst; the search ends at the
    target or the limit and examines the neighbourhood only.
    """
    with cython.nogil:
        item = net.item[pair]
        work.pair = pair
        node = len(net.item_start) - 1 + net.reviewer[pair]
        if net.assigned[pair]:
            work.source = item
            work.target = node
            work.toward[node] = 0
        else:
            work.source = node
            work.target = item
            # Where nobody may give the item up, a search would look at everything in vain.
            if not look_ahead(net, work):
                return 0
        work.dist[work.source] = 0
        work.heap[0] = work.source
        work.place[work.source] = 0
        work.size = 1
        work.limit = limit
        work.cut = False
        work.closed = False
        # Dijkstra on reduced costs: the nearest node is done.
        count = search(net, work)
        if net.assigned[pair]:
            work.toward[node] = FAR
        else:
            forget(net, work)
        far = limit
        length = 0
        if work.place[work.target] == DONE:
            far = work.dist[work.target]
            length = trace(work)
        elif work.cut:
            length = -1
        # Successive shortest paths: potentials of nodes nearer than the end move by the difference, so reduced costs
        # stay non-negative, with and without the flip. Then the scratch space is reset.
        for k in range(count):
            node = work.finished[k]
            if length != 0 and work.dist[node] < far:
                net.potential[node] += work.dist[node] - far
            work.dist[node] = FAR
            work.place[node] = NEVER
        for k in range(work.size):
            node = work.heap[k]
            work.dist[node] = FAR
            work.place[node] = NEVER
    return length
