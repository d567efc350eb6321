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

from reviewgraph.kernels.compiling import kernel, patient_kernel
from reviewgraph.kernels.pairs import record
from reviewgraph.kernels.union_find import find

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


class Covers(NamedTuple):
    """The state of the closure.

    Covers are lists of reviews, one review an item: ``head``, ``tail`` and ``cover`` (length) by component,
    ``following`` by review. ``weight`` is the sum of the degrees of a cover's items, ``members`` the number of
    reviewers, ``scanned`` the last review compared and ``hub`` the item not compared. The components that hold
    item i are ``holder[place[i]:place[i] + holders[i]]``, possibly under the names of absorbed reviewers. ``table``
    is a hash table of (component, item) for components of two or more reviewers, ``used[0]`` its filled slots.
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
    used: IntArray


@kernel
def single_covers(start: IntArray, item: IntArray, class_of: IntArray, parent: IntArray) -> Covers:
    """Every reviewer alone, whatever ``parent`` says; :func:`gather` brings the covers together."""
    n_reviewers, n_items, n_reviews = start.size - 1, class_of.size, item.size
    degree = np.zeros(n_items, np.int64)
    for thing in item:
        degree[thing] += 1
    place = np.zeros(n_items + 1, np.int64)
    place[1:] = np.cumsum(degree)
    following = np.arange(1, n_reviews + 1)
    weight = np.zeros(n_reviewers, np.int64)
    holder = np.empty(n_reviews, np.int64)
    fill = place[:n_items].copy()
    head = np.full(n_reviewers, -1, np.int64)
    for j in range(n_reviewers):
        for r in range(start[j], start[j + 1]):
            weight[j] += degree[item[r]]
            holder[fill[item[r]]] = j
            fill[item[r]] += 1
        if start[j] < start[j + 1]:
            head[j] = start[j]
            following[start[j + 1] - 1] = -1
    slots = 16
    while slots < 2 * n_reviews:
        slots *= 2
    members, cover, tail = np.ones(n_reviewers, np.int64), start[1:] - start[:n_reviewers], start[1:] - 1
    scanned, hub = np.full(n_reviewers, -1, np.int64), np.full(n_reviewers, -1, np.int64)
    table, used, holders = np.full(slots, -1, np.int64), np.zeros(1, np.int64), degree.copy()
    return Covers(
        start, item, class_of, parent, degree, place, holders, holder, members, cover, weight, head, tail,
        following, scanned, hub, table, used,
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
    key = component * state.degree.size + thing
    slot = slot_of(key, state.table.size)
    while state.table[slot] >= 0:
        if state.table[slot] == key:
            return False
        slot = (slot + 1) & (state.table.size - 1)
    state.table[slot] = key
    state.used[0] += 1
    return True


@kernel
def holds(state: Covers, component: int, thing: int) -> bool:
    """Whether a component covers an item: by bisection while it is one reviewer, then by hash."""
    if state.members[component] > 1:
        key = component * state.degree.size + thing
        slot = slot_of(key, state.table.size)
        while state.table[slot] >= 0 and state.table[slot] != key:
            slot = (slot + 1) & (state.table.size - 1)
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
    if 4 * (state.used[0] + wanted) <= 3 * state.table.size:
        return
    state.table[:] = -1
    state.used[0] = 0
    for j in range(state.parent.size):
        if state.parent[j] == j and state.members[j] > 1:
            put_cover(state, j)


@kernel
def absorb(state: Covers, large: int, small: int) -> None:
    """Move one component into another; items new to its cover join the end of the list and wait to be compared."""
    make_room(state, state.cover[small] + state.cover[large])
    if state.members[large] == 1:
        put_cover(state, large)
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
def gather(state: Covers, queue: IntArray) -> int:
    """Bring the covers of joined reviewers together; queues the components of two or more, returns how many."""
    waiting = 0
    for j in range(state.parent.size):
        root = find(state.parent, j)
        if root != j:
            if state.members[root] == 1:
                queue[waiting] = root
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
        if thing == state.hub[component]:
            continue
        if 2 * state.degree[thing] <= state.weight[component]:
            return thing
        state.hub[component] = thing
        state.scanned[component] = -1


@kernel
def distinct_holders(state: Covers, thing: int, seen: IntArray, stamp: int) -> int:
    """Shorten the list of components that hold an item to distinct ones; returns its end."""
    write = state.place[thing]
    for e in range(write, write + state.holders[thing]):
        other = find(state.parent, state.holder[e])
        if seen[other] != stamp:
            seen[other] = stamp
            state.holder[write] = other
            write += 1
    state.holders[thing] = write - state.place[thing]
    return write


@patient_kernel
def merge_covers(
    start: IntArray, item: IntArray, class_of: IntArray, parent: IntArray, merges: IntArray, count: int
) -> int:
    """Join components whose covers share items of two classes, until none do; returns the number of merges.

    ``parent`` and the first ``count`` rows of ``merges`` come from :func:`merge_pairs` and are continued; at the
    end ``parent[j]`` is the root of reviewer j.
    """
    state = single_covers(start, item, class_of, parent)
    queue = np.empty(2 * parent.size, np.int64)
    seen = np.full(parent.size, -1, np.int64)
    stamp = 0
    waiting = gather(state, queue)
    while waiting > 0:
        waiting -= 1
        component = queue[waiting]
        while parent[component] == component:
            thing = next_item(state, component)
            if thing < 0:
                break
            stamp += 1
            end = distinct_holders(state, thing, seen, stamp)
            for e in range(state.place[thing], end):
                mine, other = find(parent, component), find(parent, state.holder[e])
                if mine == other:
                    continue
                u, v = shared_pair(state, mine, other)
                if v < 0:
                    continue
                if (state.cover[other], mine) > (state.cover[mine], other):
                    mine, other = other, mine
                absorb(state, mine, other)
                record(merges, count, mine, other, u, v)
                count += 1
        root = find(parent, component)
        if root != component:
            queue[waiting] = root
            waiting += 1
    for j in range(parent.size):
        parent[j] = find(parent, j)
    return count
