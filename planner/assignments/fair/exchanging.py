"""The kernel that looks for a chain of exchanges which gives one item more and leaves every other above its floor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.fitting import FAR, free_of_rivals, serves, toll
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray


class Chains(NamedTuple):
    """Scratch space of the search.

    Parameters
    ----------
    ranked
        Pairs by item, those of most value first, shape (P,).
    came
        The pair by which each reviewer enters a panel, shape (M,); -1 where she was not reached.
    instead
        The pair that leaves that panel for her, shape (M,).
    root
        The reviewer who leaves the first panel at the start of her chain, shape (M,).
    queue
        Reviewers reached, in their order, shape (M,).
    path
        Pairs to flip, shape (2 M,).
    """

    ranked: IntArray
    came: IntArray
    instead: IntArray
    root: IntArray
    queue: IntArray
    path: IntArray


def chains_of(net: Network) -> Chains:
    """Scratch space for a network."""
    ranked = np.lexsort((np.arange(net.value.size), -net.value, net.item)).astype(np.int64)
    none = np.full(net.n_held.size, -1, np.int64)
    return Chains(ranked, none, none.copy(), none.copy(), none.copy(), np.full(2 * max(none.size, 1), -1, np.int64))


@kernel
def on_chain(net: Network, chains: Chains, reviewer: int, item: int, start: int) -> bool:
    """Whether a chain to a reviewer has changed an item."""
    j = reviewer
    while True:
        q = chains.instead[j]
        if net.item[q] == item:
            return True
        if net.item[q] == start:
            return False
        j = net.reviewer[q]


@kernel
def follow(net: Network, chains: Chains, score: IntArray, floor: IntArray, q: int, end: int, root: int) -> int:
    """Let whoever may replace a pair's reviewer enter; returns the new end of the queue, negative where a chain ends.

    A chain ends with a reviewer who has room, or with the one who left the first panel; she is last in the queue.
    """
    item = net.item[q]
    need = floor[item] - score[item] + net.value[q]
    for slot in range(net.item_start[item], net.item_start[item + 1]):
        p = chains.ranked[slot]
        if net.value[p] < need:
            break
        j = net.reviewer[p]
        if chains.came[j] >= 0 or net.assigned[p] or net.locked[p]:
            continue
        if not serves(net, item, q, p) or not free_of_rivals(net, p, q) or toll(net, item, net.reviewer[q], j) >= FAR:
            continue
        chains.came[j], chains.instead[j], chains.root[j] = p, q, root
        chains.queue[end] = j
        end += 1
        room = net.n_held[j] < net.held_start[j + 1] - net.held_start[j] and net.n_held[root] > net.least[root]
        if j == root or room:
            return -end
    return end


@kernel
def lifting_chain(net: Network, chains: Chains, score: IntArray, floor: IntArray, item: int) -> int:
    """Find a chain with the fewest exchanges after which no item is below its floor, ``item`` included.

    A reviewer enters the panel of the item for one who leaves it, gives up another paper for that, which someone else
    takes, and so on. Returns the number of pairs to flip, written to ``chains.path``; 0 if no chain was found. Breadth
    first, every reviewer entered once: O(P + E L) for P pairs, E reviews and chains of length L.
    """
    now, end = 0, 0
    # The first exchanges: each reviewer of the item may leave it.
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        q = net.panel[slot]
        if end >= 0 and not net.locked[q]:
            end = follow(net, chains, score, floor, q, end, net.reviewer[q])
    # The next ones: whoever entered a panel gives up another paper, which no exchange before has touched.
    while 0 <= now < end:
        j = chains.queue[now]
        now += 1
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            q = net.held[slot]
            if end >= 0 and not net.locked[q] and not on_chain(net, chains, j, net.item[q], item):
                end = follow(net, chains, score, floor, q, end, chains.root[j])
    # Back along the chain that ended; then the scratch space is as it was.
    length = 0
    if end < 0:
        j = chains.queue[-end - 1]
        while True:
            q = chains.instead[j]
            chains.path[length], chains.path[length + 1] = q, chains.came[j]
            length += 2
            if net.item[q] == item:
                break
            j = net.reviewer[q]
    for k in range(abs(end)):
        chains.came[chains.queue[k]] = -1
    return length
