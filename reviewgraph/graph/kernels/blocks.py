"""Doubly connected blocks under added reviews, with undo, and the search for critical reviewers and reviews on top.

Two blocks join when their covers share two items. Reviews enter one by one, or all at once, and the last to enter is
the first to be undone, so nothing is copied: a union joins two circular lists by exchanging two successors, and the
same exchange separates them; a hash table with linear probing drops its last key by emptying its slot. The shorter list
is joined into the longer, without path compression: a walk to a root takes O(log E) steps.

When an item is new to a block, the block is compared with the other blocks that cover the item: by way of the item's
reviews, or of the block's other items, whichever are fewer. Those with a second item in common are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, IntArray

#: The value of an empty slot of the table; others hold block * N + item.
EMPTY = -1


@dataclass(eq=False, repr=False)
class Blocks:
    """The reviews that have entered and their blocks, each named after its root, a reviewer.

    A review whose item its block covers already changes nothing.
    """

    reviewer: IntArray  # Of each review, shape (E,), with room for those that :func:`add` enters
    item: IntArray
    start: IntArray  # With :func:`load`: reviewer j reviews ``item[start[j]:start[j + 1]]``, ascending
    class_of: IntArray  # Tie class of each item: two items of one class count as one
    degree: IntArray  # Reviews of each item, in or not, shape (N,)
    parent: IntArray  # Union-find over the reviewers, shape (M,)
    fellow: IntArray  # The next reviewer in the circular list of a block
    first: IntArray  # A review of the list of each block, -1 where it is empty
    length: IntArray  # Reviews in its list
    weight: IntArray  # Sum of the degrees of their items
    covered: IntArray  # Distinct items of the list
    hashed: BoolArray  # Whether its cover is in the table: else it is the row of one reviewer
    following: IntArray  # The next review in the circular list of a block, shape (E,)
    # The last review of each item that entered, and the one of the same item that entered before a review; -1
    top: IntArray
    beside: IntArray
    table: IntArray  # Hash table of (block, item), a power of two slots, and the review that brought the item
    brought: IntArray
    shared_u: IntArray  # The two items by which an absorbed block was joined to another
    shared_v: IntArray
    # Steps to undo: a review that entered; E + an absorbed root; E + M + a block whose cover went to the table;
    # E + 2 M + a key of the table
    trail: IntArray
    queue: IntArray  # Reviews whose item is new to their block and not compared yet
    waits: BoolArray
    seen: IntArray  # The last scan that met each block
    size: int  # Reviews that there are
    added_from: int  # The first of those that were added
    n_trail: int = 0
    n_queue: int = 0
    scans: int = 0
    filled: int = 0  # Slots of the table
    steps: int = 0  # Reviews that were looked at


def new_blocks(
    reviewer: IntArray, item: IntArray, start: IntArray, class_of: IntArray, parent: IntArray, room: int = 0
) -> Blocks:
    """No review has entered; every entry of ``parent`` is a root, and ``room`` reviews may be added."""
    size = reviewer.size
    E = size + room
    M = parent.size
    N = class_of.size
    slots = 1 << int(2 * E + 15).bit_length()
    more = np.zeros(room, np.int64)
    return Blocks(
        reviewer=np.concatenate([reviewer, more]),
        item=np.concatenate([item, more]),
        start=start,
        class_of=class_of,
        degree=np.bincount(item, minlength=N),
        parent=parent.copy(),
        fellow=np.arange(M),
        first=np.full(M, -1, np.int64),
        length=np.zeros(M, np.int64),
        weight=np.zeros(M, np.int64),
        covered=np.zeros(M, np.int64),
        hashed=np.ones(M, np.bool_),
        following=np.empty(E, np.int64),
        top=np.full(N, -1, np.int64),
        beside=np.empty(E, np.int64),
        table=np.full(slots, EMPTY, np.int64),
        brought=np.empty(slots, np.int64),
        shared_u=np.empty(M, np.int64),
        shared_v=np.empty(M, np.int64),
        trail=np.empty(E + 2 * M + slots, np.int64),
        queue=np.empty(E, np.int64),
        waits=np.zeros(E, np.bool_),
        seen=np.full(M, -1, np.int64),
        size=size,
        added_from=size,
    )


def root_of(blocks: Blocks, reviewer: int) -> int:
    """Return the block of a reviewer, without path compression, so that unions can be undone."""
    while blocks.parent[reviewer] != reviewer:
        reviewer = blocks.parent[reviewer]
    return reviewer


def slot_of(key: int, size: int) -> int:
    """First slot of a key in a table of a power of two slots."""
    mixed = (key ^ (key >> 31)) & 0x7FFFFFFF
    mixed = (mixed * 0x45D9F3B) & 0x7FFFFFFF
    return ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D >> 7) & (size - 1)


def place_of(blocks: Blocks, key: int) -> int:
    """Return the slot of a key, or the empty one where it would be."""
    last = len(blocks.table) - 1
    slot = slot_of(key, last + 1)
    while blocks.table[slot] != EMPTY and blocks.table[slot] != key:
        slot = (slot + 1) & last
    return slot


def bringer(blocks: Blocks, block: int, thing: int) -> int:
    """Return the review that brought an item to a block, or -1 if that does not cover it.

    Found by bisection in the row of a single reviewer, else by hash.
    """
    if blocks.hashed[block]:
        slot = place_of(blocks, block * len(blocks.degree) + thing)
        if blocks.table[slot] == EMPTY:
            return -1
        return blocks.brought[slot]
    low = blocks.start[block]
    high = blocks.start[block + 1]
    while low < high:
        middle = (low + high) // 2
        if blocks.item[middle] < thing:
            low = middle + 1
        else:
            high = middle
    if low < blocks.start[block + 1] and blocks.item[low] == thing:
        return low
    return -1


def note(blocks: Blocks, step: int) -> None:
    """Append a step to the trail; at least as many are left as slots of the table are empty."""
    blocks.trail[blocks.n_trail] = step
    blocks.n_trail += 1


def cover(blocks: Blocks, block: int, review: int) -> bool:
    """Put the item of a review in the table under a block; false if it was there."""
    key = block * len(blocks.degree) + blocks.item[review]
    slot = place_of(blocks, key)
    if blocks.table[slot] == key:
        return False
    blocks.table[slot] = key
    blocks.brought[slot] = review
    blocks.covered[block] += 1
    note(blocks, len(blocks.reviewer) + 2 * len(blocks.parent) + key)
    blocks.filled += 1
    if 4 * blocks.filled > 3 * len(blocks.table):
        enlarge(blocks)
    return True


def enlarge(blocks: Blocks) -> None:
    """Double the table; keys are put in the order of the trail, so that undoing may empty the slot of the last one."""
    with cython.gil:
        table = blocks.table
        brought = blocks.brought
        trail = blocks.trail
        blocks.table = np.full(2 * len(table), EMPTY, np.int64)
        blocks.brought = np.empty(2 * len(table), np.int64)
        blocks.trail = np.concatenate([trail, np.empty(len(table), np.int64)])
    keys_from = len(blocks.reviewer) + 2 * len(blocks.parent)
    last = len(table) - 1
    for place in range(blocks.n_trail):
        key = blocks.trail[place] - keys_from
        if key >= 0:
            before = slot_of(key, last + 1)
            while table[before] != key:
                before = (before + 1) & last
            slot = place_of(blocks, key)
            blocks.table[slot] = key
            blocks.brought[slot] = brought[before]


def hash_cover(blocks: Blocks, block: int) -> None:
    """Put the cover of a single reviewer in the table, unless it is there."""
    if blocks.hashed[block]:
        return
    note(blocks, len(blocks.reviewer) + len(blocks.parent) + block)
    blocks.hashed[block] = True
    blocks.covered[block] = 0
    for review in range(blocks.start[block], blocks.start[block + 1]):
        cover(blocks, block, review)


def wait(blocks: Blocks, review: int) -> None:
    """Put a review in the queue, unless it is there."""
    if not blocks.waits[review]:
        blocks.waits[review] = True
        blocks.queue[blocks.n_queue] = review
        blocks.n_queue += 1


def add_to_lists(blocks: Blocks, block: int, review: int) -> None:
    """Add a review to the lists of its block and of its item."""
    thing = blocks.item[review]
    head = blocks.first[block]
    if head < 0:
        blocks.first[block] = review
        blocks.following[review] = review
    else:
        blocks.following[review] = blocks.following[head]
        blocks.following[head] = review
    blocks.length[block] += 1
    blocks.weight[block] += blocks.degree[thing]
    blocks.beside[review] = blocks.top[thing]
    blocks.top[thing] = review


def join(blocks: Blocks, a: int, b: int, sign: int) -> None:
    """Join the lists of two blocks in those of ``a``, or separate them with a sign of -1."""
    left = blocks.first[a]
    right = blocks.first[b]
    blocks.following[left], blocks.following[right] = blocks.following[right], blocks.following[left]
    blocks.fellow[a], blocks.fellow[b] = blocks.fellow[b], blocks.fellow[a]
    blocks.length[a] += sign * blocks.length[b]
    blocks.weight[a] += sign * blocks.weight[b]


def absorb(blocks: Blocks, a: int, b: int, u: int, v: int) -> int:
    """Join two blocks that share the items u and v; returns the root of both.

    The shorter list is walked (small-to-large); items new to the longer one's cover wait to be compared.
    """
    longer = blocks.length[b] - blocks.length[a]
    if longer > 0 or (longer == 0 and b < a):
        a, b = b, a
    hash_cover(blocks, a)
    review = blocks.first[b]
    for _ in range(blocks.length[b]):
        if cover(blocks, a, review):
            wait(blocks, review)
        else:
            # The other's review of this item has been compared, or waits itself.
            blocks.waits[review] = False
        review = blocks.following[review]
    join(blocks, a, b, 1)
    blocks.parent[b] = a
    blocks.shared_u[b] = min(u, v)
    blocks.shared_v[b] = max(u, v)
    note(blocks, len(blocks.reviewer) + b)
    return a


def second_shared(blocks: Blocks, a: int, b: int, thing: int) -> int:
    """Return an item of another class that two blocks cover, or -1; takes the length of the shorter list."""
    if blocks.length[a] > blocks.length[b]:
        a, b = b, a
    review = blocks.first[a]
    for _ in range(blocks.length[a]):
        second = blocks.item[review]
        if blocks.class_of[second] != blocks.class_of[thing] and bringer(blocks, b, second) >= 0:
            return second
        review = blocks.following[review]
        blocks.steps += 1
    return -1


def scan_holders(blocks: Blocks, block: int, thing: int) -> None:
    """Join a block with all that cover an item and share a second one with it, by way of the item's reviews."""
    blocks.scans += 1
    blocks.seen[block] = blocks.scans
    holder = blocks.top[thing]
    while holder >= 0:
        blocks.steps += 1
        other = root_of(blocks, blocks.reviewer[holder])
        if blocks.seen[other] != blocks.scans:
            blocks.seen[other] = blocks.scans
            second = second_shared(blocks, block, other, thing)
            # Absorbed by one that covers the item: it has compared it, or will.
            if second >= 0 and absorb(blocks, block, other, thing, second) != block:
                return
        holder = blocks.beside[holder]


def scan_others(blocks: Blocks, block: int, thing: int) -> None:
    """Do the same by way of the block's other items, where those have fewer reviews than this one."""
    # Lists joined on the way come next in the circle or are behind; their items wait.
    review = blocks.first[block]
    begun = False
    while not begun or review != blocks.first[block]:
        begun = True
        second = blocks.item[review]
        holder = -1
        if blocks.class_of[second] != blocks.class_of[thing]:
            holder = blocks.top[second]
        while holder >= 0:
            blocks.steps += 1
            other = root_of(blocks, blocks.reviewer[holder])
            if (
                other != block
                and bringer(blocks, other, thing) >= 0
                and absorb(blocks, block, other, thing, second) != block
            ):
                return
            holder = blocks.beside[holder]
        review = blocks.following[review]


def compare(blocks: Blocks) -> None:
    """Compare the reviews that wait with the others of their items."""
    # Two blocks that share two items have compared all but those that wait.
    while blocks.n_queue > 0:
        blocks.n_queue -= 1
        review = blocks.queue[blocks.n_queue]
        if not blocks.waits[review]:
            continue
        blocks.waits[review] = False
        block = root_of(blocks, blocks.reviewer[review])
        thing = blocks.item[review]
        if 2 * blocks.degree[thing] <= blocks.weight[block]:
            scan_holders(blocks, block, thing)
        else:
            scan_others(blocks, block, thing)


def enter(blocks: Blocks, review: int) -> int:
    """Enter a review and close the blocks; returns the number of items that its block covers then."""
    block = root_of(blocks, blocks.reviewer[review])
    hash_cover(blocks, block)
    if not cover(blocks, block, review):
        return blocks.covered[block]
    add_to_lists(blocks, block, review)
    note(blocks, review)
    wait(blocks, review)
    compare(blocks)
    return blocks.covered[root_of(blocks, blocks.reviewer[review])]


def add(blocks: Blocks, reviewer: int, thing: int) -> int:
    """Enter one more review, for which there is room; returns the number of items that its block covers then."""
    block = root_of(blocks, reviewer)
    if bringer(blocks, block, thing) >= 0:
        return blocks.covered[block]
    review = blocks.size
    blocks.reviewer[review] = reviewer
    blocks.item[review] = thing
    blocks.size += 1
    return enter(blocks, review)


def undo(blocks: Blocks, until: int) -> None:
    """Undo the steps since the trail had this length, the added reviews among them."""
    E = len(blocks.reviewer)
    M = len(blocks.parent)
    while blocks.n_trail > until:
        blocks.n_trail -= 1
        step = blocks.trail[blocks.n_trail]
        if step >= E + 2 * M:
            key = step - E - 2 * M
            blocks.table[place_of(blocks, key)] = EMPTY
            blocks.covered[key // len(blocks.degree)] -= 1
            blocks.filled -= 1
        elif step >= E + M:
            block = step - E - M
            blocks.hashed[block] = False
            blocks.covered[block] = blocks.start[block + 1] - blocks.start[block]
        elif step >= E:
            root = step - E
            join(blocks, blocks.parent[root], root, -1)
            blocks.parent[root] = root
        else:
            block = root_of(blocks, blocks.reviewer[step])
            thing = blocks.item[step]
            if blocks.following[step] == step:
                blocks.first[block] = -1
            else:
                blocks.following[blocks.first[block]] = blocks.following[step]
            blocks.length[block] -= 1
            blocks.weight[block] -= blocks.degree[thing]
            blocks.top[thing] = blocks.beside[step]
            if step == blocks.size - 1 and step >= blocks.added_from:
                blocks.size -= 1


def load(blocks: Blocks) -> None:
    """Enter all reviews for good, where ``parent`` holds all joins of single reviewers, and close the blocks.

    Reviews are sorted by reviewer, then by item.
    """
    M = len(blocks.parent)
    with cython.nogil:
        # Single reviewers need no table, and have been compared with each other.
        for j in range(M):
            root = blocks.parent[j]
            if root != j:
                blocks.fellow[j], blocks.fellow[root] = blocks.fellow[root], blocks.fellow[j]
        for j in range(M):
            root = blocks.parent[j]
            single = blocks.fellow[root] == root
            if single:
                blocks.hashed[j] = False
                blocks.covered[j] = blocks.start[j + 1] - blocks.start[j]
            for review in range(blocks.start[j], blocks.start[j + 1]):
                add_to_lists(blocks, root, review)
                if not single and cover(blocks, root, review):
                    wait(blocks, review)
        compare(blocks)


# Critical units, reviews or reviewers, without which no block covers all items.
#
# A certificate, the reviews that some merges and the cover need, clears every unit that it does not need. The remaining
# ones are divided and conquered: a range of them is tested while everything outside of it has entered.


@dataclass(eq=False, repr=False)
class Units:
    """Sets of reviews that are lost at once: unit u is ``review[start[u]:start[u + 1]]``."""

    start: IntArray
    review: IntArray


@dataclass(eq=False, repr=False)
class Frames:
    """A stack of nested ranges, the whole first, then each a half of the previous one."""

    low: IntArray  # The range
    high: IntArray
    turn: IntArray  # 0 before either half, 1 after the first, 2 after both
    trail: IntArray  # Length of the trail when it began
    most: IntArray  # Items of the largest cover then
    depth: int = 0  # -1 at the end


def new_frames(size: int, most: int) -> Frames:
    """Return the whole of this many units, and the items of the largest cover without them."""
    frames = Frames(*np.zeros((5, 70), np.int64))
    frames.high[0] = size
    frames.most[0] = most
    return frames


def enter_units(blocks: Blocks, units: Units, order: IntArray, low: int, high: int) -> int:
    """Enter a range of units; returns the number of items of the largest cover of a block with one of them."""
    most = 0
    for place in range(low, high):
        for e in range(units.start[order[place]], units.start[order[place] + 1]):
            most = max(most, enter(blocks, units.review[e]))
    return most


def enter_all(blocks: Blocks, units: Units, order: IntArray) -> None:
    """Enter units in an order."""
    with cython.nogil:
        enter_units(blocks, units, order, 0, len(order))


def need(blocks: Blocks, review: int, needed: BoolArray, wanted: BoolArray) -> None:
    """Mark a review as needed, and its reviewer with all roots that absorbed them as wanted."""
    needed[review] = True
    j = blocks.reviewer[review]
    while not wanted[j]:
        wanted[j] = True
        j = blocks.parent[j]


def certify(blocks: Blocks, needed: BoolArray, wanted: BoolArray) -> bool:
    """Mark the reviews that a certificate needs; false if no block covers all items."""
    E = len(blocks.reviewer)
    M = len(blocks.parent)
    N = len(blocks.degree)
    chosen = -1
    for j in range(M):
        if blocks.parent[j] == j and blocks.covered[j] == N:
            chosen = j
            break
    if chosen < 0:
        return False
    with cython.nogil:
        for thing in range(N):
            need(blocks, bringer(blocks, chosen, thing), needed, wanted)
        # The last union first: a block is needed only if one of its reviewers is, for the cover or a later union. The
        # reviews that had brought the two shared items to either block have stayed in the table.
        for place in range(blocks.n_trail - 1, -1, -1):
            absorbed = blocks.trail[place] - E
            if 0 <= absorbed < M and wanted[absorbed]:
                into = blocks.parent[absorbed]
                need(blocks, bringer(blocks, into, blocks.shared_u[absorbed]), needed, wanted)
                need(blocks, bringer(blocks, into, blocks.shared_v[absorbed]), needed, wanted)
                need(blocks, bringer(blocks, absorbed, blocks.shared_u[absorbed]), needed, wanted)
                need(blocks, bringer(blocks, absorbed, blocks.shared_v[absorbed]), needed, wanted)
    return True


def divide(blocks: Blocks, units: Units, order: IntArray, frames: Frames, critical: BoolArray, steps: int) -> None:
    """Mark the units of ``order`` without which no block covers all items; all other units have entered.

    Stops after ``steps`` steps, and is resumed until ``frames.depth`` is -1. At a node everything outside its range has
    entered; it enters one half, visits the other, and undoes. So each review enters O(log U) times. A node at which a
    block covers all items clears its whole range.
    """
    N = len(blocks.degree)
    with cython.nogil:
        while frames.depth >= 0 and steps > 0:
            steps -= 1
            depth = frames.depth
            low = frames.low[depth]
            high = frames.high[depth]
            if frames.turn[depth] > 0:
                undo(blocks, frames.trail[depth])
            if frames.turn[depth] == 2 or frames.most[depth] == N or low == high:
                frames.depth -= 1
                continue
            if high - low == 1:
                critical[order[low]] = True
                frames.depth -= 1
                continue
            # Visit the first half with the second one entered, then the second with the first.
            frames.trail[depth] = blocks.n_trail
            middle = (low + high) // 2
            if frames.turn[depth] == 0:
                most = enter_units(blocks, units, order, middle, high)
                frames.low[depth + 1] = low
                frames.high[depth + 1] = middle
            else:
                most = enter_units(blocks, units, order, low, middle)
                frames.low[depth + 1] = middle
                frames.high[depth + 1] = high
            frames.most[depth + 1] = max(frames.most[depth], most)
            frames.turn[depth] += 1
            frames.turn[depth + 1] = 0
            frames.depth += 1
