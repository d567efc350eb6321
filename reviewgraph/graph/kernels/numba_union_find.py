"""Union-find on an array of parents, and the two kernels of doubly connected components on top of it.

:func:`merge_pairs` joins reviewers with two items in common, :func:`merge_covers` then components whose covers share
two items; :func:`grow_cover` and :func:`union_chunk` work on chunks of tables larger than memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph.kernels.compiling import kernel

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, CodeArray, IntArray


@kernel
def find(parent: IntArray | CodeArray, vertex: int) -> int:
    """Root of a vertex; the path to it is halved on the way."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@kernel
def union(parent: IntArray | CodeArray, a: int, b: int) -> bool:
    """Join two sets under the smaller root; false if they were one."""
    a = find(parent, a)
    b = find(parent, b)
    if a == b:
        return False
    if a < b:
        parent[b] = a
    else:
        parent[a] = b
    return True


def union_pairs(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Join the ends of every pair, all at once, and point every vertex at its root, the smallest vertex of its set.

    Every root with a smaller neighbour is put under the smallest, and paths are halved until each vertex points at its
    root. Vertices that remain roots have no smaller neighbour, so at most half of those with neighbours do: takes
    O(log n) rounds over the pairs that are apart. ``parent`` must point at roots. Source: Shiloach and Vishkin (1982).

    >>> parent = np.arange(5)
    >>> union_pairs(parent, np.array([4, 2]), np.array([2, 1]))
    >>> parent.tolist()
    [0, 1, 1, 3, 1]
    """
    left_root = parent[left]
    right_root = parent[right]
    while left_root.size:
        np.minimum.at(parent, np.maximum(left_root, right_root), np.minimum(left_root, right_root))
        while not np.array_equal(above := parent[parent], parent):
            parent[:] = above
        # Continue with the pairs of roots that are not joined yet.
        left_root = parent[left_root]
        right_root = parent[right_root]
        apart = np.flatnonzero(left_root != right_root)
        left_root = left_root[apart]
        right_root = right_root[apart]


@kernel
def union_chunk(
    parent: IntArray | CodeArray, first: int, start: IntArray, items: int, item: IntArray | CodeArray
) -> None:
    """Join reviewers ``first``, ``first + 1``, ... with their items, which are the vertices from ``items`` on."""
    for j in range(len(start) - 1):
        for r in range(start[j], start[j + 1]):
            union(parent, first + j, items + item[r])


@kernel(element=0.5e-6)
def point_at_roots(parent: IntArray | CodeArray) -> None:
    """Point every vertex at its root."""
    for vertex in range(len(parent)):
        parent[vertex] = find(parent, vertex)


@kernel(element=0.5e-6)
def grow_cover(joined: BoolArray, covered: BoolArray, first: int, start: IntArray, item: CodeArray) -> int:
    """Join every reviewer of a chunk who shares two items with the cover, and add their items; returns the number."""
    count = 0
    for j in range(len(start) - 1):
        if joined[first + j]:
            continue
        shared = 0
        for r in range(start[j], start[j + 1]):
            if covered[item[r]]:
                shared += 1
        if shared >= 2:
            joined[first + j] = True
            count += 1
            for r in range(start[j], start[j + 1]):
                covered[item[r]] = True
    return count


# Pairs of reviewers with two items in common: the 4-cycles of the bipartite graph.
#
# Every 4-cycle is visited from its vertex of highest degree, in the order of Chiba and Nishizeki (1985). That costs the
# sum over the reviews of the smaller degree at their ends, so that a hub item costs no more than its reviewers' other
# items, and a reviewer of everything no more than those items' other reviewers.
#
# With scores, two items count if both reviewers have them on different levels; ``level[r]`` is the first review of the
# same reviewer with the score of review r. An empty ``level`` means that all levels differ.


class Ranked(NamedTuple):
    """The bipartite graph with its vertices renamed by their rank in the order of (degree, index)."""

    vertex: IntArray  # The reviewer (0..M-1) or item (M..M+N-1) of each rank, shape (M + N,)
    first: IntArray  # The neighbours of rank p are ``neighbour[first[p]:first[p + 1]]``, shape (M + N + 1,)
    neighbour: IntArray  # Ranks, ascending for each vertex, shape (2 E,)
    level: IntArray  # The levels of the reviews between them, or empty


class Reached(NamedTuple):
    """Ends that a top vertex has reached in two steps, by rank; all but the first two are empty without scores."""

    last_top: IntArray  # The top that reached the end last, or -1
    first_middle: IntArray  # The middle of its first way there
    top_level: IntArray  # The levels of that middle on the side of the top and of the end
    end_level: IntArray
    # The last middle that only the top, or only the end, puts on another level than the first; -1 for none
    only_top: IntArray
    only_end: IntArray


class Merges(NamedTuple):
    """A certificate, step by step: the components of reviewers a < b share the items u < v; all of shape (M - 1,)."""

    a: IntArray
    b: IntArray
    u: IntArray
    v: IntArray


def rank_neighbours(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, level: IntArray) -> Ranked:
    """Order the vertices by degree and their lists of neighbours by rank; takes O(E log E)."""
    size = n_reviewers + n_items
    n_reviews = reviewer.size
    degree = np.bincount(np.concatenate([reviewer, n_reviewers + item]), minlength=size)
    vertex = np.argsort(degree, kind="stable")
    rank = np.empty(size, np.int64)
    rank[vertex] = np.arange(size)
    first = np.zeros(size + 1, np.int64)
    np.cumsum(degree[vertex], out=first[1:])
    # One number for each end of each review sorts by owner, then by neighbour.
    left = rank[reviewer]
    right = rank[n_reviewers + item]
    key = np.concatenate([left * size + right, right * size + left])
    if not level.size:
        key.sort()
        return Ranked(vertex, first, key % max(size, 1), level)
    order = np.argsort(key)
    return Ranked(vertex, first, key[order] % max(size, 1), level[order % max(n_reviews, 1)])


def ranks_within(graph: Ranked, ways: int) -> int:
    """Return the rank from which on vertices, as tops of cycles, have about ``ways`` paths of two steps in all."""
    degree = np.diff(graph.first)
    steps = np.concatenate([[0], np.cumsum(degree[graph.neighbour])])
    of_top = steps[graph.first[1:]] - steps[graph.first[:-1]]
    passed = np.cumsum(of_top[::-1])
    return int(max(of_top.size - 1 - np.searchsorted(passed, ways), 0))


def nothing_reached(size: int, *, scored: bool) -> Reached:
    """No path is searched yet, for ``size`` vertices."""
    last_top, first_middle = np.full((2, size), -1, np.int64)
    return Reached(last_top, first_middle, *np.full((4, size if scored else 0), -1, np.int64))


def no_merges(n_reviewers: int) -> Merges:
    """Allocate the merges of this number of reviewers."""
    return Merges(*np.zeros((4, max(n_reviewers - 1, 0)), np.int64))


@kernel
def second_middle(reached: Reached, middle: int, end: int, top_level: int, end_level: int) -> int:
    """Note a further way between two reviewers; returns a middle that makes two items with it, or -1.

    Both must have the two middles on different levels. If each of them has some item on another level than the
    first item they share, such a pair exists: the items that only the one and only the other has on another level.
    """
    top_differs = reached.top_level[end] != top_level
    end_differs = reached.end_level[end] != end_level
    if top_differs and end_differs:
        return reached.first_middle[end]
    # One of them ties this item with the first: the item only the other ties it with would be the second.
    if top_differs:
        reached.only_top[end] = middle
        return reached.only_end[end]
    if end_differs:
        reached.only_end[end] = middle
        return reached.only_top[end]
    return -1


@kernel
def record(merges: Merges, row: int, a: int, b: int, u: int, v: int) -> None:
    """Write one step of a certificate: the reviewers (or their components) a and b share the items u and v."""
    merges.a[row], merges.b[row] = min(a, b), max(a, b)
    merges.u[row], merges.v[row] = min(u, v), max(u, v)


@kernel(in_lists=True)
def merge_pairs(
    graph: Ranked, reached: Reached, n_reviewers: int, parent: IntArray, merges: Merges, count: int, high: int, low: int
) -> int:
    """Join reviewers with two items in common, by the cycles whose tops have ranks from ``high`` - 1 down to ``low``.

    The first ``count`` merges are continued; returns the number of merges. Ranks from all down to 0, at once or one
    stretch after the other, find all merges; once all reviewers are joined there are no more.
    """
    vertex = graph.vertex
    first = graph.first
    neighbour = graph.neighbour
    level = graph.level
    last_top = reached.last_top
    first_middle = reached.first_middle
    scored = len(level) > 0
    upper = 0
    lower = 0
    for top in range(high - 1, low - 1, -1):
        top_is_item = vertex[top] >= n_reviewers
        heeds_levels = scored and not top_is_item
        # All ways top - middle - end downwards in rank: the cycle's other vertices rank below its top.
        for e in range(first[top], first[top + 1]):
            middle = neighbour[e]
            if middle > top:
                break
            for f in range(first[middle], first[middle + 1]):
                end = neighbour[f]
                if end >= top:
                    break
                if scored:
                    upper = level[e]
                    lower = level[f]
                    # Between two items the middle is a reviewer, who must tell them apart.
                    if top_is_item and upper == lower:
                        continue
                if last_top[end] != top:
                    last_top[end] = top
                    first_middle[end] = middle
                    if heeds_levels:
                        reached.top_level[end] = upper
                        reached.end_level[end] = lower
                        reached.only_top[end] = reached.only_end[end] = -1
                    continue
                # The second way closes a cycle with the first.
                partner = first_middle[end]
                if heeds_levels:
                    partner = second_middle(reached, middle, end, upper, lower)
                    if partner < 0:
                        continue
                a, b, u, v = (middle, partner, top, end) if top_is_item else (top, end, middle, partner)
                if union(parent, vertex[a], vertex[b]):
                    record(merges, count, vertex[a], vertex[b], vertex[u] - n_reviewers, vertex[v] - n_reviewers)
                    count += 1
                    if count == n_reviewers - 1:
                        return count
    return count


# Components grown by their covers, after all pairs of reviewers with two common items are joined.
#
# A component is compared, item by item, with the other components that hold the item; those that share two items of
# different classes with it are joined, and the smaller cover moves into the larger one, where its new items wait to be
# compared in turn. The most expensive item of a component, its hub, need not be compared: every component that shares
# two items shares one that is not the hub. When an item more expensive than all others together arrives, it becomes the
# hub and the others are compared again.

#: The value of an empty slot of the table; others hold component * N + item.
EMPTY = -1
#: Index of the number of filled slots among the counters.
FILLED = 0


class Covers(NamedTuple):
    """The state of the closure; a component goes by the name of its root, a reviewer.

    Covers are lists of reviews, one per item.
    """

    start: IntArray  # Reviewer j reviews ``item[start[j]:start[j + 1]]``, ascending
    item: IntArray
    class_of: IntArray  # Tie class of each item
    parent: IntArray  # Union-find over the reviewers
    degree: IntArray  # Reviews of each item
    # The components that hold item i are ``holder[place[i]:place[i] + holders[i]]``, possibly under the names of
    # absorbed reviewers
    place: IntArray
    holders: IntArray
    holder: IntArray
    members: IntArray  # Reviewers of each component
    cover: IntArray  # Length of its list
    weight: IntArray  # Sum of the degrees of the items in its list
    head: IntArray  # First and last review of its list; -1 and anything where it is empty
    tail: IntArray
    following: IntArray  # The next review in a list, or -1
    scanned: IntArray  # The last review of the list that was compared, or -1
    hub: IntArray  # The item of the component that is not compared, or -1
    table: IntArray  # Hash table of (component, item) for components of two or more reviewers, a power of two slots
    counters: IntArray  # Filled slots of the table, at :data:`FILLED`
    queue: IntArray  # Components of two or more reviewers to be compared
    seen: IntArray  # The last comparison that met each component


def single_covers(
    start: IntArray, item: IntArray, item_start: IntArray, reviewer_by_item: IntArray, class_of: IntArray,
    parent: IntArray,
) -> Covers:  # fmt: skip
    """Every reviewer alone, whatever ``parent`` says; :func:`gather` brings the covers together.

    Reviewers that ``parent`` joins must have items.
    """
    n_reviewers = start.size - 1
    n_reviews = item.size
    loads = np.diff(start)
    degree = np.diff(item_start)
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
    low = state.start[component]
    end = state.start[component + 1]
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
    # A single reviewer has no entries in the table: :func:`holds` searches their sorted items.
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
    """Join the covers of joined reviewers; queues the components of two or more, and returns their number."""
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
    first = -1
    node = state.head[a]
    while node >= 0:
        thing = state.item[node]
        if (first < 0 or state.class_of[thing] != state.class_of[first]) and holds(state, b, thing):
            if first >= 0:
                return first, thing
            first = thing
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
        # Every component that shares two items shares one that is not the hub.
        if thing == state.hub[component]:
            continue
        if 2 * state.degree[thing] <= state.weight[component]:
            return thing
        # More expensive than all others together: it becomes the hub, and the previous hub must be compared.
        state.hub[component] = thing
        state.scanned[component] = -1


@kernel
def join_holders(state: Covers, component: int, thing: int, stamp: int, merges: Merges, count: int) -> int:
    """Join a component with all that hold an item and share a second one with it; returns the merges so far."""
    # Shorten the list of components that hold the item to distinct ones.
    place = state.place[thing]
    end = place
    for e in range(place, place + state.holders[thing]):
        root = find(state.parent, state.holder[e])
        if state.seen[root] != stamp:
            state.seen[root] = stamp
            state.holder[end] = root
            end += 1
    state.holders[thing] = end - place
    for e in range(place, end):
        # Either may have been absorbed since the list was made.
        large = find(state.parent, component)
        small = find(state.parent, state.holder[e])
        if large == small:
            continue
        u, v = shared_pair(state, large, small)
        if v < 0:
            continue
        # The larger cover absorbs the smaller, and of equal ones the first reviewer's.
        if (state.cover[small], large) > (state.cover[large], small):
            large, small = small, large
        absorb(state, large, small)
        record(merges, count, large, small, u, v)
        count += 1
    return count


@kernel(element=0.4e-6, in_lists=True)
def merge_covers(state: Covers, merges: Merges, count: int) -> int:
    """Join components whose covers share items of two classes, until none do; returns the number of merges.

    ``state.parent`` and the first ``count`` merges come from :func:`merge_pairs` and are continued; at the end
    ``parent[j]`` is the root of reviewer j.
    """
    parent = state.parent
    queue = state.queue
    stamp = 0
    waiting = gather(state)
    # Single reviewers were compared with each other by merge_pairs; of two components that could still be joined,
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
