"""Incremental doubly connected components with rollback, and the search for critical reviewers and reviews on top.

Reviews enter one by one, and the last to enter is the first to be undone, so nothing is copied: a union joins two
circular lists by exchanging two successors, and the same exchange separates them; a hash table with linear probing
drops its last key by emptying its slot. The shorter list is joined into the longer, without path compression: a walk to
a root takes O(log E) steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph.kernels.compiling import kernel
from reviewgraph.graph.kernels.numba_union_find import EMPTY, slot_of

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, IntArray


#: Indices of the counters: entries of the trail, reviews in the queue, the last scan, filled slots of the table, and
#: whether these are too many.
TRAIL, QUEUE, SCAN, FILLED, FULL = range(5)


class Growth(NamedTuple):
    """The reviews that have entered and their components, each named after its root, a reviewer.

    A review whose item its component covers already changes nothing.
    """

    reviewer: IntArray  # Of each review, shape (E,)
    item: IntArray
    degree: IntArray  # Reviews of each item, in or not, shape (N,)
    parent: IntArray  # Union-find over the reviewers, shape (M,)
    first: IntArray  # A review of the list of each component, -1 where it is empty
    length: IntArray  # Reviews in its list
    weight: IntArray  # Sum of the degrees of their items
    covered: IntArray  # Distinct items of the list
    following: IntArray  # The next review in the circular list of a component, shape (E,)
    # The last review of each item that entered, and the one of the same item that entered before a review; -1
    top: IntArray
    beside: IntArray
    table: IntArray  # Hash table of (component, item), a power of two slots, and the review that brought the item
    brought: IntArray
    # Four reviews that joined an absorbed component to another, shape (4 M,): two that brought the two shared
    # items to the one, and two that brought them to the other
    witness: IntArray
    trail: IntArray  # Steps to undo: a review that entered; E + an absorbed root; E + M + a filled slot
    queue: IntArray  # Reviews whose item is new to their component and not compared yet
    waits: BoolArray
    seen: IntArray  # The last scan that met each component
    counters: IntArray  # At :data:`TRAIL`, :data:`QUEUE`, :data:`SCAN`, :data:`FILLED` and :data:`FULL`


def new_growth(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, slots: int) -> Growth:
    """No review has entered; ``slots`` is a power of two."""
    E = reviewer.size
    M = n_reviewers
    following, beside = np.full((2, E), -1, np.int64)
    first, seen = np.full((2, M), -1, np.int64)
    length, weight, covered = np.zeros((3, M), np.int64)
    table = np.full(slots, EMPTY, np.int64)
    trail = np.empty(E + M + slots, np.int64)
    return Growth(
        reviewer, item, np.bincount(item, minlength=n_items), np.arange(M), first, length, weight, covered,
        following, np.full(n_items, -1, np.int64), beside, table, np.empty(slots, np.int64),
        np.empty(4 * M, np.int64), trail, np.empty(E, np.int64), np.zeros(E, np.bool_), seen, np.zeros(5, np.int64),
    )  # fmt: skip


@kernel
def root_of(parent: IntArray, reviewer: int) -> int:
    """Return the component of a reviewer, without path compression, so that unions can be undone."""
    while parent[reviewer] != reviewer:
        reviewer = parent[reviewer]
    return reviewer


@kernel
def place_of(table: IntArray, key: int) -> int:
    """Return the slot of a key, or the empty one where it would be."""
    slot = slot_of(key, len(table))
    while table[slot] != EMPTY and table[slot] != key:
        slot = (slot + 1) & (len(table) - 1)
    return slot


@kernel
def bringer(state: Growth, component: int, thing: int) -> int:
    """Return the review that brought an item to a component which covers it."""
    return int(state.brought[place_of(state.table, component * len(state.degree) + thing)])


@kernel
def cover(state: Growth, component: int, review: int) -> bool:
    """Enter the item of a review in the cover of a component; false if it was there."""
    key = component * len(state.degree) + state.item[review]
    slot = place_of(state.table, key)
    if state.table[slot] == key:
        return False
    state.table[slot] = key
    state.brought[slot] = review
    state.covered[component] += 1
    note(state.trail, state.counters, len(state.reviewer) + len(state.parent) + slot)
    state.counters[FILLED] += 1
    if 4 * state.counters[FILLED] > 3 * len(state.table):
        state.counters[FULL] = 1
    return True


@kernel
def note(trail: IntArray, counters: IntArray, what: int) -> None:
    """Append a step to the trail."""
    trail[counters[TRAIL]] = what
    counters[TRAIL] += 1


@kernel
def wait(state: Growth, review: int) -> None:
    """Put a review in the queue, unless it is there."""
    if not state.waits[review]:
        state.waits[review] = True
        state.queue[state.counters[QUEUE]] = review
        state.counters[QUEUE] += 1


@kernel
def join(state: Growth, a: int, b: int, sign: int) -> None:
    """Join the lists of two components in that of ``a``, or separate them with a sign of -1."""
    following = state.following
    left = state.first[a]
    right = state.first[b]
    following[left], following[right] = following[right], following[left]
    state.length[a] += sign * state.length[b]
    state.weight[a] += sign * state.weight[b]


@kernel
def absorb(state: Growth, a: int, b: int, u: int, v: int) -> int:
    """Join two components that share the items u and v; returns the root of both.

    The shorter list is walked (small-to-large); items new to the longer one's cover wait to be compared.
    """
    if (state.length[a], b) < (state.length[b], a):
        a, b = b, a
    state.witness[4 * b], state.witness[4 * b + 1] = bringer(state, a, u), bringer(state, a, v)
    state.witness[4 * b + 2], state.witness[4 * b + 3] = bringer(state, b, u), bringer(state, b, v)
    review = state.first[b]
    for _ in range(state.length[b]):
        if cover(state, a, review):
            wait(state, review)
        else:
            # The other's review of this item has been compared, or waits itself.
            state.waits[review] = False
        if state.counters[FULL]:
            break
        review = state.following[review]
    join(state, a, b, 1)
    state.parent[b] = a
    note(state.trail, state.counters, len(state.reviewer) + b)
    return a


@kernel
def second_shared(state: Growth, a: int, b: int, thing: int) -> int:
    """Another item than this one that two components cover, or -1; costs the length of the shorter list."""
    if state.length[a] > state.length[b]:
        a, b = b, a
    item = state.item
    following = state.following
    table = state.table
    base = b * len(state.degree)
    review = state.first[a]
    for _ in range(state.length[a]):
        second = item[review]
        if second != thing and table[place_of(table, base + second)] != EMPTY:
            return int(second)
        review = following[review]
    return -1


@kernel
def scan_holders(state: Growth, component: int, thing: int) -> None:
    """Join a component with all that hold an item and share a second one with it, by way of the item's holders."""
    state.counters[SCAN] += 1
    state.seen[component] = state.counters[SCAN]
    holder = state.top[thing]
    while holder >= 0 and not state.counters[FULL]:
        holding = root_of(state.parent, state.reviewer[holder])
        if state.seen[holding] != state.counters[SCAN]:
            state.seen[holding] = state.counters[SCAN]
            second = second_shared(state, component, holding, thing)
            # Absorbed by one that holds the item: it has compared it, or will.
            if second >= 0 and absorb(state, component, holding, thing, second) != component:
                return
        holder = state.beside[holder]


@kernel
def scan_others(state: Growth, component: int, thing: int) -> None:
    """Do the same by way of the component's other items, where those have fewer reviews than this one."""
    # Lists joined on the way come next in the circle or are behind; their items wait.
    review = state.first[component]
    begun = False
    while not begun or review != state.first[component]:
        begun = True
        second = state.item[review]
        holder = state.top[second] if second != thing else -1
        while holder >= 0 and not state.counters[FULL]:
            holding = root_of(state.parent, state.reviewer[holder])
            if (
                holding != component
                and state.table[place_of(state.table, holding * len(state.degree) + thing)] != EMPTY
                and absorb(state, component, holding, thing, second) != component
            ):
                return
            holder = state.beside[holder]
        review = state.following[review]


@kernel
def enter(state: Growth, review: int) -> int:
    """Enter a review and close the components; returns the number of items that its component covers then."""
    component = root_of(state.parent, state.reviewer[review])
    thing = state.item[review]
    if state.counters[FULL] or not cover(state, component, review):
        return int(state.covered[component])
    # Into the lists of its component and of its item.
    head = state.first[component]
    if head < 0:
        state.first[component] = state.following[review] = review
    else:
        state.following[review], state.following[head] = state.following[head], review
    state.length[component] += 1
    state.weight[component] += state.degree[thing]
    state.beside[review], state.top[thing] = state.top[thing], review
    note(state.trail, state.counters, review)
    # Two components that share two items have compared all but those that wait.
    wait(state, review)
    while state.counters[QUEUE] > 0:
        state.counters[QUEUE] -= 1
        new = state.queue[state.counters[QUEUE]]
        if not state.waits[new]:
            continue
        state.waits[new] = False
        if state.counters[FULL]:
            continue
        component = root_of(state.parent, state.reviewer[new])
        thing = state.item[new]
        if 2 * state.degree[thing] <= state.weight[component]:
            scan_holders(state, component, thing)
        else:
            scan_others(state, component, thing)
    return int(state.covered[root_of(state.parent, state.reviewer[review])])


@kernel
def take_back(state: Growth, until: int) -> None:
    """Undo the steps since the trail had this length."""
    E = len(state.reviewer)
    M = len(state.parent)
    while state.counters[TRAIL] > until:
        state.counters[TRAIL] -= 1
        what = state.trail[state.counters[TRAIL]]
        if what >= E + M:
            slot = what - E - M
            state.covered[state.table[slot] // len(state.degree)] -= 1
            state.table[slot] = EMPTY
            state.counters[FILLED] -= 1
        elif what >= E:
            root = what - E
            join(state, state.parent[root], root, -1)
            state.parent[root] = root
        else:
            component = root_of(state.parent, state.reviewer[what])
            thing = state.item[what]
            if state.following[what] == what:
                state.first[component] = -1
            else:
                state.following[state.first[component]] = state.following[what]
            state.length[component] -= 1
            state.weight[component] -= state.degree[thing]
            state.top[thing] = state.beside[what]


# Critical units, reviews or reviewers, without which no doubly connected component covers all items.
#
# A certificate, the reviews that some merges and the cover need, clears every unit that it does not need. The remaining
# ones are divided and conquered: a range of them is tested while everything outside of it has entered.


class Units(NamedTuple):
    """Sets of reviews that are lost at once: unit u is ``review[start[u]:start[u + 1]]``."""

    start: IntArray
    review: IntArray


class Frames(NamedTuple):
    """A stack of nested ranges, the whole first, then each a half of the previous one."""

    low: IntArray  # The range
    high: IntArray
    turn: IntArray  # 0 before either half, 1 after the first, 2 after both
    trail: IntArray  # Length of the trail when it began
    most: IntArray  # Items of the largest cover then


@kernel
def enter_all(state: Growth, units: Units, order: IntArray, low: int, high: int) -> int:
    """Enter a range of units; returns the number of items of the largest cover of a component with one of them."""
    most = 0
    for place in range(low, high):
        for e in range(units.start[order[place]], units.start[order[place] + 1]):
            most = max(most, enter(state, units.review[e]))
    return most


@kernel
def need(state: Growth, review: int, needed: BoolArray, wanted: BoolArray) -> None:
    """Mark a review as needed, and its reviewer with all roots that absorbed them as wanted."""
    needed[review] = True
    j = state.reviewer[review]
    while not wanted[j]:
        wanted[j] = True
        j = state.parent[j]


@kernel(element=2e-6, in_lists=True)
def certify(state: Growth, needed: BoolArray, wanted: BoolArray) -> bool:
    """Mark the reviews that a certificate needs; false if no component covers all items."""
    E = len(state.reviewer)
    M = len(state.parent)
    N = len(state.degree)
    chosen = -1
    for j in range(M):
        if state.parent[j] == j and state.covered[j] == N:
            chosen = j
            break
    if chosen < 0:
        return False
    for thing in range(N):
        need(state, bringer(state, chosen, thing), needed, wanted)
    # The last union first: a component is needed only if one of its reviewers is, for the cover or a later union.
    for place in range(state.counters[TRAIL] - 1, -1, -1):
        absorbed = state.trail[place] - E
        if 0 <= absorbed < M and wanted[absorbed]:
            for k in range(4 * absorbed, 4 * absorbed + 4):
                need(state, state.witness[k], needed, wanted)
    return True


@kernel(element=20e-6, in_lists=True)
def divide(
    state: Growth, units: Units, order: IntArray, frames: Frames, critical: BoolArray, depth: int, steps: int
) -> int:
    """Mark the units of ``order`` without which no component covers all items; all other units have entered.

    Begins at depth 0; after ``steps`` steps it returns the depth to resume at, -1 at the end. At a node everything
    outside its range has entered; it enters one half, visits the other, and undoes. So each review enters O(log U)
    times. A node at which a component covers all items clears its whole range.
    """
    low, high, turn, trail, most = frames
    N = len(state.degree)
    while depth >= 0 and steps > 0:
        steps -= 1
        middle = (low[depth] + high[depth]) // 2
        if turn[depth] > 0:
            take_back(state, trail[depth])
        if turn[depth] == 2 or most[depth] == N or low[depth] == high[depth]:
            depth -= 1
            continue
        if high[depth] - low[depth] == 1:
            critical[order[low[depth]]] = True
            depth -= 1
            continue
        # Visit the first half with the second one entered, then the second with the first.
        trail[depth] = state.counters[TRAIL]
        first = turn[depth] == 0
        turn[depth] += 1
        below, above = (middle, high[depth]) if first else (low[depth], middle)
        most[depth + 1] = max(most[depth], enter_all(state, units, order, below, above))
        low[depth + 1], high[depth + 1] = (low[depth], middle) if first else (middle, high[depth])
        turn[depth + 1] = 0
        depth += 1
    return depth
