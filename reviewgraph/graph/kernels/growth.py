"""Kernels that let reviews enter one by one, keep doubly connected components closed, and take entries back.

What enters last leaves first, so nothing is copied: a union joins two circular lists by exchanging two successors, and
the same exchange parts them; a hash table with linear probing forgets its last key by emptying its slot. Components
are joined the shorter list into the longer, without path compression: a walk to a root takes O(log E) steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph.kernels.compiling import kernel
from reviewgraph.graph.kernels.union_find import EMPTY, slot_of

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, IntArray


#: Places among the counters: entries in the trail, reviews in the queue, the last scan, filled slots of the table, and
#: whether these are too many.
TRAIL, QUEUE, SCAN, FILLED, FULL = range(5)


class Growth(NamedTuple):
    """The reviews that are in, and the components they make; a component goes by the name of its root, a reviewer.

    A review whose item its component covers already is let pass: it changes nothing.
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
    # What was done: a review that entered; E + a root that was absorbed; E + M + a slot that was filled
    trail: IntArray
    queue: IntArray  # Reviews whose item is new to their component and not compared yet
    waits: BoolArray
    seen: IntArray  # The last scan that met each component
    counters: IntArray  # At :data:`TRAIL`, :data:`QUEUE`, :data:`SCAN`, :data:`FILLED` and :data:`FULL`


def new_growth(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, slots: int) -> Growth:
    """No review in yet; ``slots`` is a power of two."""
    E, M = reviewer.size, n_reviewers
    following, beside = np.full((2, E), -1, np.int64)
    first, seen = np.full((2, M), -1, np.int64)
    length, weight, covered = np.zeros((3, M), np.int64)
    table, trail = np.full(slots, EMPTY, np.int64), np.empty(E + M + slots, np.int64)
    return Growth(
        reviewer, item, np.bincount(item, minlength=n_items), np.arange(M), first, length, weight, covered,
        following, np.full(n_items, -1, np.int64), beside, table, np.empty(slots, np.int64),
        np.empty(4 * M, np.int64), trail, np.empty(E, np.int64), np.zeros(E, np.bool_), seen, np.zeros(5, np.int64),
    )  # fmt: skip


# The innermost kernels take the arrays that they read; the others take the whole state.


@kernel
def root_of(parent: IntArray, reviewer: int) -> int:
    """Return the component of a reviewer; nothing is compressed, so that unions can be taken back."""
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
    state.table[slot], state.brought[slot] = key, review
    state.covered[component] += 1
    note(state.trail, state.counters, len(state.reviewer) + len(state.parent) + slot)
    state.counters[FILLED] += 1
    if 4 * state.counters[FILLED] > 3 * len(state.table):
        state.counters[FULL] = 1
    return True


@kernel
def note(trail: IntArray, counters: IntArray, what: int) -> None:
    """Add to the trail."""
    trail[counters[TRAIL]] = what
    counters[TRAIL] += 1


@kernel
def wait(state: Growth, review: int) -> None:
    """Put a review in the queue, unless it waits there."""
    if not state.waits[review]:
        state.waits[review] = True
        state.queue[state.counters[QUEUE]] = review
        state.counters[QUEUE] += 1


@kernel
def join(state: Growth, a: int, b: int, sign: int) -> None:
    """Join the lists of two components in that of ``a``, or part them again with a sign of -1."""
    following, left, right = state.following, state.first[a], state.first[b]
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
def second_item(
    item: IntArray, following: IntArray, table: IntArray, review: int, length: int, base: int, thing: int
) -> int:
    """Another item than this one in a list of reviews whose key, counted from ``base``, is in the table, or -1."""
    for _ in range(length):
        other = item[review]
        if other != thing and table[place_of(table, base + other)] != EMPTY:
            return int(other)
        review = following[review]
    return -1


@kernel
def second_shared(state: Growth, a: int, b: int, thing: int) -> int:
    """Another item than this one that two components cover, or -1; costs the length of the shorter list."""
    if state.length[a] > state.length[b]:
        a, b = b, a
    base = b * len(state.degree)
    return second_item(state.item, state.following, state.table, state.first[a], state.length[a], base, thing)


@kernel
def scan_holders(state: Growth, component: int, thing: int) -> None:
    """Join a component with all that hold an item and share a second one with it, by way of the item's holders."""
    state.counters[SCAN] += 1
    state.seen[component] = state.counters[SCAN]
    holder = state.top[thing]
    while holder >= 0 and not state.counters[FULL]:
        other = root_of(state.parent, state.reviewer[holder])
        if state.seen[other] != state.counters[SCAN]:
            state.seen[other] = state.counters[SCAN]
            second = second_shared(state, component, other, thing)
            # Absorbed by one that holds the item: it has compared it, or will.
            if second >= 0 and absorb(state, component, other, thing, second) != component:
                return
        holder = state.beside[holder]


@kernel
def scan_others(state: Growth, component: int, thing: int) -> None:
    """Do the same by way of the component's other items, where those have fewer reviews than this one."""
    # What is joined on the way comes next in the circle or is behind; its items wait.
    review, begun = state.first[component], False
    while not begun or review != state.first[component]:
        begun = True
        other = state.item[review]
        holder = state.top[other] if other != thing else -1
        while holder >= 0 and not state.counters[FULL]:
            found = root_of(state.parent, state.reviewer[holder])
            if (
                found != component
                and state.table[place_of(state.table, found * len(state.degree) + thing)] != EMPTY
                and absorb(state, component, found, thing, other) != component
            ):
                return
            holder = state.beside[holder]
        review = state.following[review]


@kernel
def enter(state: Growth, review: int) -> int:
    """Let a review in and close the components; returns the items that its component covers then."""
    component, thing = root_of(state.parent, state.reviewer[review]), state.item[review]
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
        component, thing = root_of(state.parent, state.reviewer[new]), state.item[new]
        if 2 * state.degree[thing] <= state.weight[component]:
            scan_holders(state, component, thing)
        else:
            scan_others(state, component, thing)
    return int(state.covered[root_of(state.parent, state.reviewer[review])])


@kernel
def take_back(state: Growth, until: int) -> None:
    """Undo what was done since the trail had this length."""
    E, M = len(state.reviewer), len(state.parent)
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
            component, thing = root_of(state.parent, state.reviewer[what]), state.item[what]
            if state.following[what] == what:
                state.first[component] = -1
            else:
                state.following[state.first[component]] = state.following[what]
            state.length[component] -= 1
            state.weight[component] -= state.degree[thing]
            state.top[thing] = state.beside[what]


# Kernels that find which units, reviews or reviewers, one doubly connected component of all items cannot do without.
#
# A certificate, the reviews that some merges and the cover need, clears whatever unit it does not need. Those left are
# divided and conquered: a range of them is looked at while everything outside of it is in.


class Units(NamedTuple):
    """What is lost at once."""

    start: IntArray  # Unit u is the reviews ``review[start[u]:start[u + 1]]``
    review: IntArray


class Frames(NamedTuple):
    """The ranges that are being looked at, the whole first and each half of the one before."""

    low: IntArray  # The range
    high: IntArray
    turn: IntArray  # 0 before either half, 1 after the first, 2 after both
    trail: IntArray  # How long the trail was when it began
    most: IntArray  # The most items that a component covered then


@kernel
def enter_all(state: Growth, units: Units, order: IntArray, low: int, high: int) -> int:
    """Let a range of units in; returns the most items that a component with one of them covers."""
    most = 0
    for place in range(low, high):
        for e in range(units.start[order[place]], units.start[order[place] + 1]):
            most = max(most, enter(state, units.review[e]))
    return most


@kernel
def need(state: Growth, review: int, needed: BoolArray, wanted: BoolArray) -> None:
    """Mark a review as needed, and its reviewer and all she was absorbed by as wanted."""
    needed[review] = True
    j = state.reviewer[review]
    while not wanted[j]:
        wanted[j] = True
        j = state.parent[j]


@kernel(element=2e-6, in_lists=True)
def certify(state: Growth, needed: BoolArray, wanted: BoolArray) -> bool:
    """Mark the reviews that a certificate needs; false if no component covers all items."""
    E, M, N = len(state.reviewer), len(state.parent), len(state.degree)
    chosen = -1
    for j in range(M):
        if state.parent[j] == j and state.covered[j] == N:
            chosen = j
            break
    if chosen < 0:
        return False
    for thing in range(N):
        need(state, bringer(state, chosen, thing), needed, wanted)
    # The last union first: what it joined is needed only if something of it is, for the cover or a later union.
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
    """Mark the units of ``order`` without which no component covers all items; all other units are in.

    Begins at depth 0; after so many steps it returns the depth to go on from, -1 where all is done. A node holds
    everything outside its range; it lets one half in, looks at the other, and takes back. So each review enters
    O(log U) times. A node at which a component covers all items clears its whole range.
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
        # The first half is looked at with the second one in, then the second with the first.
        trail[depth] = state.counters[TRAIL]
        first = turn[depth] == 0
        turn[depth] += 1
        below, above = (middle, high[depth]) if first else (low[depth], middle)
        most[depth + 1] = max(most[depth], enter_all(state, units, order, below, above))
        low[depth + 1], high[depth + 1] = (low[depth], middle) if first else (middle, high[depth])
        turn[depth + 1] = 0
        depth += 1
    return depth
