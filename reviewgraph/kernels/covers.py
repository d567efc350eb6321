"""Kernels that grow components by their covers, after all pairs of reviewers with two common items were joined.

A component is compared, item by item, with the other components that hold the item; whoever shares two items of
different classes with it is joined, and the smaller cover moves into the larger one, where its new items wait to
be compared in turn. The dearest item of a component, its hub, need not be compared: whoever shares two items
with the component shares one that is not the hub. When an item dearer than all others together arrives, it
becomes the hub and the others are compared again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.pairs import record
from reviewgraph.kernels.union_find import find

if TYPE_CHECKING:
    from reviewgraph.kernels.pairs import Merges
    from reviewgraph.labels import IntArray


#: What an empty slot of the table holds; others hold component * N + item.
EMPTY = -1
#: Place of the number of filled slots among the counters.
FILLED = 0


class Covers(NamedTuple):
    """The state of the closure; a component goes by the name of its root, a reviewer.

    Covers are lists of reviews, one review an item.

    Parameters
    ----------
    start, item
        Reviewer j reviews ``item[start[j]:start[j + 1]]``, ascending.
    class_of
        Tie class of each item.
    parent
        Union-find over the reviewers.
    degree
        Reviews of each item.
    place, holders, holder
        The components that hold item i are ``holder[place[i]:place[i] + holders[i]]``, possibly under the names of
        absorbed reviewers.
    members
        Reviewers of each component.
    cover
        Length of its list.
    weight
        Sum of the degrees of the items in its list.
    head, tail
        First and last review of its list; -1 and anything where it is empty.
    following
        The next review in a list, or -1.
    scanned
        The last review of the list that was compared, or -1.
    hub
        The item of the component that is not compared, or -1.
    table
        Hash table of (component, item) for components of two or more reviewers, a power of two slots.
    counters
        Filled slots of the table, at :data:`FILLED`.
    queue
        Components of two or more reviewers to be compared.
    seen
        The last comparison that met each component.
    """

    start: IntArray
    item: IntArray
    class_of: IntArray
    parent: IntArray
    degree: IntArray
    place: IntArray
    holders: IntArray
    holder: IntArray
    members: IntArray
    cover: IntArray
    weight: IntArray
    head: IntArray
    tail: IntArray
    following: IntArray
    scanned: IntArray
    hub: IntArray
    table: IntArray
    counters: IntArray
    queue: IntArray
    seen: IntArray


def single_covers(
    start: IntArray, item: IntArray, item_start: IntArray, reviewer_by_item: IntArray, class_of: IntArray,
    parent: IntArray,
) -> Covers:  # fmt: skip
    """Every reviewer alone, whatever ``parent`` says; :func:`gather` brings the covers together.

    Reviewers that ``parent`` joins must have items.
    """
    n_reviewers, n_reviews = start.size - 1, item.size
    loads, degree = np.diff(start), np.diff(item_start)
    until = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree[item])])
    following = np.arange(1, n_reviews + 1)
    following[start[1:][loads > 0] - 1] = -1
    slots = 16
    while slots < 2 * n_reviews:
        slots *= 2
    scanned, hub, seen = np.full((3, n_reviewers), -1, np.int64)
    return Covers(
        start, item, class_of, parent, degree, item_start[:-1].copy(), degree.copy(), reviewer_by_item.copy(),
        np.ones(n_reviewers, np.int64), loads.copy(), until[start[1:]] - until[start[:-1]],
        np.where(loads > 0, start[:-1], -1), start[1:] - 1, following, scanned, hub,
        np.full(slots, EMPTY, np.int64), np.zeros(1, np.int64), np.empty(2 * n_reviewers, np.int64), seen,
    )  # fmt: skip


@kernel
def slot_of(key: int, size: int) -> int:
    """First slot of a key in a table of a power of two slots."""
    mixed = (key ^ (key >> 31)) & 0x7FFFFFFF
    mixed = (mixed * 0x45D9F3B) & 0x7FFFFFFF
    return ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D >> 7) & (size - 1)


@kernel
def put(state: Covers, component: int, thing: int) -> bool:
    """Enter an item of a component in the table; false if it was there."""
    key = component * len(state.degree) + thing
    slot = slot_of(key, len(state.table))
    while state.table[slot] != EMPTY:
        if state.table[slot] == key:
            return False
        slot = (slot + 1) & (len(state.table) - 1)
    state.table[slot] = key
    state.counters[FILLED] += 1
    return True


@kernel
def holds(state: Covers, component: int, thing: int) -> bool:
    """Whether a component covers an item: by bisection while it is one reviewer, then by hash."""
    if state.members[component] > 1:
        key = component * len(state.degree) + thing
        slot = slot_of(key, len(state.table))
        while state.table[slot] != EMPTY and state.table[slot] != key:
            slot = (slot + 1) & (len(state.table) - 1)
        return state.table[slot] == key
    low, end = state.start[component], state.start[component + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if state.item[middle] < thing:
            low = middle + 1
        else:
            high = middle
    return low < end and state.item[low] == thing


@kernel
def put_cover(state: Covers, component: int) -> None:
    """Enter a whole cover in the table."""
    node = state.head[component]
    while node >= 0:
        put(state, component, state.item[node])
        node = state.following[node]


@kernel
def make_room(state: Covers, wanted: int) -> None:
    """Drop the entries of absorbed components if the table would become too full.

    The covers never hold more than E items in all, half of the slots; so this happens once in E / 4 entries.
    """
    if 4 * (state.counters[FILLED] + wanted) <= 3 * len(state.table):
        return
    for slot in range(len(state.table)):
        state.table[slot] = EMPTY
    state.counters[FILLED] = 0
    for j in range(len(state.parent)):
        if state.parent[j] == j and state.members[j] > 1:
            put_cover(state, j)


@kernel
def absorb(state: Covers, large: int, small: int) -> None:
    """Move one component into another; items new to its cover join the end of the list and wait to be compared.

    The shorter list is walked (small-to-large): its items move, or drop out for good because both lists had them.
    """
    make_room(state, state.cover[small] + state.cover[large])
    # A reviewer alone has no entries in the table: her items are sorted and found by bisection.
    if state.members[large] == 1:
        put_cover(state, large)
    # Items that both cover drop out of the lists; of two reviews of an item the large component's stays.
    node = state.head[small]
    while node >= 0:
        after = state.following[node]
        thing = state.item[node]
        if put(state, large, thing):
            state.following[state.tail[large]] = node
            state.tail[large] = node
            state.following[node] = -1
            state.cover[large] += 1
            state.weight[large] += state.degree[thing]
        node = after
    state.members[large] += state.members[small]
    state.parent[small] = large


@kernel
def gather(state: Covers) -> int:
    """Bring the covers of joined reviewers together; queues the components of two or more, returns how many."""
    waiting = 0
    for j in range(len(state.parent)):
        root = find(state.parent, j)
        if root != j:
            if state.members[root] == 1:
                state.queue[waiting] = root
                waiting += 1
            absorb(state, root, j)
    return waiting


@kernel
def shared_pair(state: Covers, a: int, b: int) -> tuple[int, int]:
    """Two items of different classes that both covers hold, or (-1, -1); costs the length of the shorter."""
    if state.cover[a] > state.cover[b]:
        a, b = b, a
    found = -1
    node = state.head[a]
    while node >= 0:
        thing = state.item[node]
        if (found < 0 or state.class_of[thing] != state.class_of[found]) and holds(state, b, thing):
            if found >= 0:
                return found, thing
            found = thing
        node = state.following[node]
    return -1, -1


@kernel
def next_item(state: Covers, component: int) -> int:
    """Next item of a component to be compared, or -1; chooses the hub."""
    while True:
        last = state.scanned[component]
        node = state.head[component] if last < 0 else state.following[last]
        if node < 0:
            return -1
        state.scanned[component] = node
        thing = state.item[node]
        # Whoever shares two items with the component shares one that is not the hub.
        if thing == state.hub[component]:
            continue
        if 2 * state.degree[thing] <= state.weight[component]:
            return thing
        # Dearer than all others together: it becomes the hub, and the hub before it has to be compared after all.
        state.hub[component] = thing
        state.scanned[component] = -1


@kernel
def distinct_holders(state: Covers, thing: int, stamp: int) -> int:
    """Shorten the list of components that hold an item to distinct ones; returns its end."""
    write = state.place[thing]
    for e in range(write, write + state.holders[thing]):
        other = find(state.parent, state.holder[e])
        if state.seen[other] != stamp:
            state.seen[other] = stamp
            state.holder[write] = other
            write += 1
    state.holders[thing] = write - state.place[thing]
    return write


@kernel
def join_holders(state: Covers, component: int, thing: int, stamp: int, merges: Merges, count: int) -> int:
    """Join a component with all that hold an item and share a second one with it; returns the merges so far."""
    for e in range(state.place[thing], distinct_holders(state, thing, stamp)):
        # Either may have been absorbed since the list was made.
        mine, other = find(state.parent, component), find(state.parent, state.holder[e])
        if mine == other:
            continue
        u, v = shared_pair(state, mine, other)
        if v < 0:
            continue
        # The larger cover absorbs the smaller, and of equal ones the first reviewer's.
        if (state.cover[other], mine) > (state.cover[mine], other):
            mine, other = other, mine
        absorb(state, mine, other)
        record(merges, count, mine, other, u, v)
        count += 1
    return count


@kernel(element=0.4e-6, in_lists=True)
def merge_covers(state: Covers, merges: Merges, count: int) -> int:
    """Join components whose covers share items of two classes, until none do; returns the number of merges.

    ``state.parent`` and the first ``count`` merges come from :func:`merge_pairs` and are continued; at the end
    ``parent[j]`` is the root of reviewer j.
    """
    parent, queue, stamp = state.parent, state.queue, 0
    waiting = gather(state)
    # Reviewers alone were compared with each other by merge_pairs; of two components that could still be joined,
    # one waits in the queue with an item of both that it has not compared.
    while waiting > 0:
        waiting -= 1
        component = queue[waiting]
        while parent[component] == component:
            thing = next_item(state, component)
            if thing < 0:
                break
            stamp += 1
            count = join_holders(state, component, thing, stamp, merges, count)
        # Absorbed on the way: the component it is part of has new items to compare.
        root = find(parent, component)
        if root != component:
            queue[waiting] = root
            waiting += 1
    for j in range(len(parent)):
        parent[j] = find(parent, j)
    return count
