"""Doubly connected blocks under added reviews, with undo, and the search for critical reviewers and reviews on top.

Two blocks join when their covers share two items. Reviews enter one by one, or row by row, and the last to enter is the
first to be undone, so nothing is copied: a union joins two circular lists by exchanging two successors, and the same
exchange separates them; a hash table with linear probing drops its last key by emptying its slot. The shorter list is
joined into the longer, without path compression: a walk to a root takes O(log E) steps.

When an item is new to a block, the block is compared with the other blocks that cover the item: by way of the item's
reviews, or of the block's other items, whichever are fewer. Those with a second item in common are joined. The row of a
new reviewer is compared as a whole: a block that two of its items lead to shares both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np

from reviewgraph.graph.kernels.union_find import point_at_roots

if not cython.compiled:
    from reviewgraph.graph.kernels.signals import heed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph._base.arrays import BoolArray, IntArray

#: The value of an empty slot of the table; others hold block * N + item.
EMPTY = -1
#: Kinds of steps: a review entered, a root was absorbed, a key was put in the table.
ENTERED = 0
ABSORBED = 1
PUT = 2
#: What copies of :class:`Blocks` share, and the arrays that change.
SHARED = ("degree", "size", "added_from", "n_trail", "scans", "filled")
CHANGING = (
    *("reviewer", "item", "parent", "fellow", "first", "length", "weight", "covered", "following", "top", "beside"),
    *("table", "brought", "shared_u", "shared_v", "trail", "queue", "queued", "waits", "seen", "met"),
)
#: Units of a range that are divided without a look at the clock.
LOOKED_AT = 64


class Blocks:
    """The reviews that have entered and their blocks, each named after its root, a reviewer.

    At first none has entered. A review whose item its block covers already changes nothing.
    """

    def __init__(self, reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int) -> None:
        E = reviewer.size
        M = n_reviewers
        N = n_items
        slots = 1 << int(2 * E + 15).bit_length()
        self.reviewer = reviewer.copy()  # Of each review, shape (E,); longer where more were added
        self.item = item.copy()
        self.degree = np.bincount(item, minlength=N)  # Reviews of each item, in or not
        self.parent = np.arange(M)  # Union-find over the reviewers
        self.fellow = np.arange(M)  # The next reviewer in the circular list of a block
        self.first = np.full(M, -1, np.int64)  # A review of the list of each block, -1 where it is empty
        self.length = np.zeros(M, np.int64)  # Reviews in its list
        self.weight = np.zeros(M, np.int64)  # Sum of the degrees of their items
        self.covered = np.zeros(M, np.int64)  # Distinct items of the list
        self.following = np.empty(E, np.int64)  # The next review in the circular list of a block
        # The last review of each item that entered, and the one of the same item that entered before a review; -1
        self.top = np.full(N, -1, np.int64)
        self.beside = np.empty(E, np.int64)
        # Hash table of (block, item), a power of two slots, and the review that brought the item
        self.table = np.full(slots, EMPTY, np.int64)
        self.brought = np.empty(slots, np.int64)
        self.shared_u = np.empty(M, np.int64)  # The two items by which an absorbed block was joined to another
        self.shared_v = np.empty(M, np.int64)
        # Steps to undo: 4 * a review, block or key + its kind, from :data:`ENTERED` to :data:`PUT`
        self.trail = np.empty(E + 2 * M + slots, np.int64)
        # Reviews whose item is new to their block and not compared yet, and some that need not be now
        self.queue = np.empty(E, np.int64)
        self.queued = np.zeros(E, np.bool_)  # Whether each review is in the queue, and whether it is to be compared
        self.waits = np.zeros(E, np.bool_)
        self.seen = np.full(M, -1, np.int64)  # The last scan that met each block
        self.met = np.empty(M, np.int64)  # The item by which a row met each block first
        self.size = E  # Reviews that there are
        self.added_from = E  # The first of those that were added
        self.n_trail = 0
        self.n_queue = 0
        self.scans = 0
        self.filled = 0  # Slots of the table
        self.compared = 0  # Reviews that waited
        self.steps = 0  # Reviews that were looked at

    def labels(self) -> IntArray:
        """Return the block of each reviewer, shape (M,)."""
        root: IntArray = np.array(self.parent)
        point_at_roots(root)
        return root

    def sizes(self) -> IntArray:
        """Return the number of items that the block of each reviewer covers, shape (M,)."""
        return np.asarray(self.covered)[self.labels()]

    def entries(self) -> tuple[IntArray, IntArray]:
        """Return the block and the item of each review, both of shape (E,)."""
        return self.labels()[np.asarray(self.reviewer)[: self.size]], np.array(self.item)[: self.size]

    def absorbed(self, since: int = 0) -> IntArray:
        """Return the blocks that others absorbed since the trail had a length, in this order."""
        steps = np.asarray(self.trail)[since : self.n_trail]
        return steps[steps % 4 == ABSORBED] // 4

    def unions(self) -> IntArray:
        """Return all unions in their order, as rows of a certificate, shape (K, 4)."""
        ends = self.absorbed()
        into = np.asarray(self.parent)[ends]
        items = (np.asarray(self.shared_u)[ends], np.asarray(self.shared_v)[ends])
        return np.column_stack([np.minimum(into, ends), np.maximum(into, ends), *items])

    def copy(self) -> Blocks:
        """Return blocks that change on their own."""
        blocks = Blocks.__new__(Blocks)
        for name in SHARED:
            setattr(blocks, name, getattr(self, name))
        for name in CHANGING:
            setattr(blocks, name, np.array(getattr(self, name)))
        return blocks

    def add(self, reviewer: int, thing: int) -> int:
        """Enter one more review; returns the number of items that its block covers then."""
        block = self.root_of(reviewer)
        if self.bringer(block, thing) >= 0:
            return self.covered[block]
        review = self.size
        if review == len(self.reviewer):
            self.lengthen()
        self.reviewer[review] = reviewer
        self.item[review] = thing
        self.size += 1
        return self.enter(review)

    def enter(self, review: int) -> int:
        """Enter a review and close the blocks; returns the number of items that its block covers then."""
        block = self.root_of(self.reviewer[review])
        if not self.cover(block, review):
            return self.covered[block]
        self.add_to_lists(block, review)
        self.note(4 * review + ENTERED)
        self.wait(review)
        self.compare()
        return self.covered[self.root_of(self.reviewer[review])]

    def undo(self, until: int) -> None:
        """Undo the steps since the trail had this length, the added reviews among them."""
        while self.n_trail > until:
            self.n_trail -= 1
            kind = self.trail[self.n_trail] % 4
            step = self.trail[self.n_trail] // 4
            if kind == PUT:
                self.table[self.place_of(step)] = EMPTY
                self.covered[step // len(self.degree)] -= 1
                self.filled -= 1
            elif kind == ABSORBED:
                self.join(self.parent[step], step, -1)
                self.parent[step] = step
            else:
                block = self.root_of(self.reviewer[step])
                thing = self.item[step]
                if self.following[step] == step:
                    self.first[block] = -1
                else:
                    self.following[self.first[block]] = self.following[step]
                self.length[block] -= 1
                self.weight[block] -= self.degree[thing]
                self.top[thing] = self.beside[step]
                if step == self.size - 1 and step >= self.added_from:
                    self.size -= 1

    def enter_rows(self) -> None:
        """Enter all reviews, which are sorted by reviewer, and close the blocks."""
        with cython.nogil:
            low = 0
            joined = False
            while low < self.size:
                high = low + 1
                while high < self.size and self.reviewer[high] == self.reviewer[low]:
                    high += 1
                # Where the last row joined a block, most are of one: the first of its reviews that is met suffices.
                self.enter_row(low, high, joined)
                joined = self.fellow[self.reviewer[low]] != self.reviewer[low]
                low = high

    def enter_row(self, low: int, high: int, joined: bool) -> None:
        """Enter the reviews from ``low`` to ``high`` of a reviewer without others, and close the blocks.

        All at once, unless the row is expected to join a block, or has ``joined`` one.
        """
        block = self.reviewer[low]
        weight = 0
        for review in range(low, high):
            weight += self.degree[self.item[review]]
        self.scans += 1
        self.seen[block] = self.scans
        # A row with a hub, an item of very many reviews, need not meet all their blocks: its reviews enter one by one.
        joined = joined or weight > 10 * (high - low) * (high - low)
        for review in range(low, high):
            self.compared += 1
            heed(self.compared)
            # Once the row has joined a block, most of the rest is covered, or compared as any new item.
            if joined:
                self.enter(review)
                continue
            thing = self.item[review]
            self.cover(block, review)
            self.add_to_lists(block, review)
            self.note(4 * review + ENTERED)
            other = self.meet(block, thing)
            if other >= 0:
                joined = True
                if self.absorb(block, other, self.met[other], thing) == block:
                    self.wait(review)
                self.compare()
        self.compare()

    def meet(self, block: int, thing: int) -> int:
        """Note the other blocks that cover an item in this scan; returns one that was met by another item, or -1."""
        holder = self.top[thing]
        while holder >= 0:
            self.steps += 1
            other = self.root_of(self.reviewer[holder])
            if self.seen[other] != self.scans:
                self.seen[other] = self.scans
                self.met[other] = thing
            elif other != block and self.met[other] != thing:
                return other
            holder = self.beside[holder]
        return -1

    def root_of(self, reviewer: int) -> int:
        """Return the block of a reviewer, without path compression, so that unions can be undone."""
        while self.parent[reviewer] != reviewer:
            reviewer = self.parent[reviewer]
        return reviewer

    def bringer(self, block: int, thing: int) -> int:
        """Return the review that brought an item to a block, or -1 if that does not cover it."""
        slot = self.place_of(block * len(self.degree) + thing)
        if self.table[slot] == EMPTY:
            return -1
        return self.brought[slot]

    def place_of(self, key: int) -> int:
        """Return the slot of a key, or the empty one where it would be."""
        last = len(self.table) - 1
        slot = slot_of(key, last + 1)
        while self.table[slot] != EMPTY and self.table[slot] != key:
            slot = (slot + 1) & last
        return slot

    def note(self, step: int) -> None:
        """Append a step to the trail; at least as many are left as slots of the table are empty."""
        self.trail[self.n_trail] = step
        self.n_trail += 1

    def cover(self, block: int, review: int) -> bool:
        """Put the item of a review in the table under a block; false if it was there."""
        key = block * len(self.degree) + self.item[review]
        slot = self.place_of(key)
        if self.table[slot] == key:
            return False
        self.table[slot] = key
        self.brought[slot] = review
        self.covered[block] += 1
        self.note(4 * key + PUT)
        self.filled += 1
        if 4 * self.filled > 3 * len(self.table):
            self.enlarge()
        return True

    def enlarge(self) -> None:
        """Double the table; keys are put in the order of the trail, so that the last one can be undone first."""
        with cython.gil:
            table = self.table
            brought = self.brought
            wider = np.full(2 * len(table), EMPTY, np.int64)
            wider_brought = np.empty(2 * len(table), np.int64)
            self.trail = np.concatenate([self.trail, np.empty(len(table), np.int64)])
            self.table = wider
            self.brought = wider_brought
        last = len(table) - 1
        for place in range(self.n_trail):
            if self.trail[place] % 4 == PUT:
                key = self.trail[place] // 4
                before = slot_of(key, last + 1)
                while table[before] != key:
                    before = (before + 1) & last
                slot = self.place_of(key)
                self.table[slot] = key
                self.brought[slot] = brought[before]

    def lengthen(self) -> None:
        """Make room for as many reviews again; the trail has room for them as well."""
        with cython.gil:
            more = np.zeros(len(self.reviewer) + 16, np.int64)
            room = len(self.reviewer) + len(more)
            self.queue = np.empty(room, np.int64)
            self.queued = np.zeros(room, np.bool_)
            self.waits = np.zeros(room, np.bool_)
            self.trail = np.concatenate([self.trail, more])
            self.beside = np.concatenate([self.beside, more])
            self.following = np.concatenate([self.following, more])
            self.item = np.concatenate([self.item, more])
            self.reviewer = np.concatenate([self.reviewer, more])

    def wait(self, review: int) -> None:
        """Let a review be compared; it is put in the queue, unless it is there."""
        self.waits[review] = True
        if not self.queued[review]:
            self.queued[review] = True
            self.queue[self.n_queue] = review
            self.n_queue += 1

    def compare(self) -> None:
        """Compare the reviews that wait with the others of their items."""
        # Two blocks that share two items have compared all but those that wait.
        while self.n_queue > 0:
            self.n_queue -= 1
            self.compared += 1
            heed(self.compared)
            review = self.queue[self.n_queue]
            self.queued[review] = False
            if not self.waits[review]:
                continue
            self.waits[review] = False
            block = self.root_of(self.reviewer[review])
            thing = self.item[review]
            if 2 * self.degree[thing] <= self.weight[block]:
                self.scan_holders(block, thing)
            else:
                self.scan_others(block, thing)

    def scan_holders(self, block: int, thing: int) -> None:
        """Join a block with all that cover an item and share a second one with it, by way of the item's reviews."""
        self.scans += 1
        self.seen[block] = self.scans
        holder = self.top[thing]
        while holder >= 0:
            self.steps += 1
            other = self.root_of(self.reviewer[holder])
            if self.seen[other] != self.scans:
                self.seen[other] = self.scans
                second = self.second_shared(block, other, thing)
                # Absorbed by one that covers the item: it has compared it, or will.
                if second >= 0 and self.absorb(block, other, thing, second) != block:
                    break
            holder = self.beside[holder]

    def scan_others(self, block: int, thing: int) -> None:
        """Do the same by way of the block's other items, where those have fewer reviews than this one."""
        # Lists joined on the way come next in the circle or are behind; their items wait.
        review = self.first[block]
        begun = False
        while not begun or (review != self.first[block] and self.parent[block] == block):
            begun = True
            second = self.item[review]
            holder = -1
            if second != thing:
                holder = self.top[second]
            while holder >= 0:
                self.steps += 1
                other = self.root_of(self.reviewer[holder])
                if (
                    other != block
                    and self.bringer(other, thing) >= 0
                    and self.absorb(block, other, thing, second) != block
                ):
                    break
                holder = self.beside[holder]
            review = self.following[review]

    def second_shared(self, a: int, b: int, thing: int) -> int:
        """Return another item that two blocks cover, or -1; takes the length of the shorter list."""
        if self.length[a] > self.length[b]:
            a, b = b, a
        review = self.first[a]
        for _ in range(self.length[a]):
            second = self.item[review]
            if second != thing and self.bringer(b, second) >= 0:
                return second
            review = self.following[review]
            self.steps += 1
        return -1

    def absorb(self, a: int, b: int, u: int, v: int) -> int:
        """Join two blocks that share the items u and v; returns the root of both.

        The shorter list is walked (small-to-large); items new to the longer one's cover wait to be compared.
        """
        longer = self.length[b] - self.length[a]
        if longer > 0 or (longer == 0 and b < a):
            a, b = b, a
        review = self.first[b]
        for _ in range(self.length[b]):
            if self.cover(a, review):
                self.wait(review)
            else:
                # The other's review of this item has been compared, or waits itself.
                self.waits[review] = False
            review = self.following[review]
        self.join(a, b, 1)
        self.parent[b] = a
        self.shared_u[b] = min(u, v)
        self.shared_v[b] = max(u, v)
        self.note(4 * b + ABSORBED)
        return a

    def join(self, a: int, b: int, sign: int) -> None:
        """Join the lists of two blocks in those of ``a``, or separate them with a sign of -1."""
        left = self.first[a]
        right = self.first[b]
        self.following[left], self.following[right] = self.following[right], self.following[left]
        self.fellow[a], self.fellow[b] = self.fellow[b], self.fellow[a]
        self.length[a] += sign * self.length[b]
        self.weight[a] += sign * self.weight[b]

    def add_to_lists(self, block: int, review: int) -> None:
        """Add a review to the lists of its block and of its item."""
        thing = self.item[review]
        head = self.first[block]
        if head < 0:
            self.first[block] = review
            self.following[review] = review
        else:
            self.following[review] = self.following[head]
            self.following[head] = review
        self.length[block] += 1
        self.weight[block] += self.degree[thing]
        self.beside[review] = self.top[thing]
        self.top[thing] = review


def slot_of(key: int, size: int) -> int:
    """First slot of a key in a table of a power of two slots."""
    mixed = (key ^ (key >> 31)) & 0x7FFFFFFF
    mixed = (mixed * 0x45D9F3B) & 0x7FFFFFFF
    return ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D >> 7) & (size - 1)


# Critical units, reviews or reviewers, without which no block covers all required items.
#
# A certificate, the reviews that some merges and the cover need, clears every unit that it does not need. The remaining
# ones are divided and conquered: a range of them is tested while everything outside of it has entered.


class Units:
    """Sets of reviews that are lost at once: unit u is ``review[start[u]:start[u + 1]]``."""

    def __init__(self, start: IntArray, review: IntArray) -> None:
        self.start = start
        self.review = review


class Losses:
    """The required items, and how many of them lie outside the best block without each unit, ``missing``."""

    def __init__(self, required: BoolArray, n_units: int, n_blocks: int) -> None:
        self.required = required
        self.total = int(required.sum())
        self.missing = np.zeros(n_units, np.int64)
        # Of each block, where not all items are required: otherwise the covers of those that grow are known
        self.count = np.zeros(n_blocks if self.total < required.size else 0, np.int64)


def enter_units(blocks: Blocks, units: Units, order: IntArray, low: int, high: int) -> int:
    """Enter a range of units; returns the number of items of the largest cover of a block with one of them."""
    most = 0
    for place in range(low, high):
        for e in range(units.start[order[place]], units.start[order[place] + 1]):
            most = max(most, blocks.enter(units.review[e]))
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


def covers(blocks: Blocks, block: int, required: BoolArray) -> bool:
    """Whether a block covers all required items."""
    thing = 0
    while thing < len(required) and (not required[thing] or blocks.bringer(block, thing) >= 0):
        thing += 1
    return thing == len(required)


def certify(blocks: Blocks, required: BoolArray, needed: BoolArray, wanted: BoolArray) -> bool:
    """Mark the reviews that a certificate needs; false if no block covers all required items."""
    chosen = -1
    with cython.nogil:
        for j in range(len(blocks.parent)):
            if blocks.parent[j] == j and covers(blocks, j, required):
                chosen = j
                break
        if chosen < 0:
            return False
        for thing in range(len(required)):
            if required[thing]:
                need(blocks, blocks.bringer(chosen, thing), needed, wanted)
        # The last union first: a block is needed only if one of its reviewers is, for the cover or a later union. The
        # reviews that had brought the two shared items to either block have stayed in the table.
        for place in range(blocks.n_trail - 1, -1, -1):
            absorbed = blocks.trail[place] // 4
            if blocks.trail[place] % 4 == ABSORBED and wanted[absorbed]:
                into = blocks.parent[absorbed]
                need(blocks, blocks.bringer(into, blocks.shared_u[absorbed]), needed, wanted)
                need(blocks, blocks.bringer(into, blocks.shared_v[absorbed]), needed, wanted)
                need(blocks, blocks.bringer(absorbed, blocks.shared_u[absorbed]), needed, wanted)
                need(blocks, blocks.bringer(absorbed, blocks.shared_v[absorbed]), needed, wanted)
    return True


def most_covered(blocks: Blocks, losses: Losses) -> int:
    """Return the most required items that a block covers."""
    most = 0
    losses.count[:] = 0
    for thing in range(len(losses.required)):
        if not losses.required[thing]:
            continue
        blocks.scans += 1
        review = blocks.top[thing]
        while review >= 0:
            block = blocks.root_of(blocks.reviewer[review])
            if blocks.seen[block] != blocks.scans:
                blocks.seen[block] = blocks.scans
                losses.count[block] += 1
                most = max(most, losses.count[block])
            review = blocks.beside[review]
    return most


def divide(
    blocks: Blocks,
    units: Units,
    losses: Losses,
    order: IntArray,
    low: int,
    high: int,
    most: int,
    check: Callable[[], None],
) -> int:
    """Count what is missing without each unit of a range of ``order``; all others have entered.

    ``most`` items of the largest cover are known. One half of the range enters, the other is divided, and what entered
    is undone: each review enters O(log U) times. Where a block covers all required items, the whole range is cleared.
    """
    if high - low >= LOOKED_AT:
        with cython.gil:
            check()
    if len(losses.count) > 0:
        most = most_covered(blocks, losses)
    if most == losses.total or low == high:
        return 0
    if high - low == 1:
        losses.missing[order[low]] = losses.total - most
        return 0
    middle = (low + high) // 2
    before = blocks.n_trail
    covered = enter_units(blocks, units, order, middle, high)
    divide(blocks, units, losses, order, low, middle, max(most, covered), check)
    blocks.undo(before)
    covered = enter_units(blocks, units, order, low, middle)
    divide(blocks, units, losses, order, middle, high, max(most, covered), check)
    blocks.undo(before)
    return 0


def divide_all(blocks: Blocks, units: Units, losses: Losses, order: IntArray, check: Callable[[], None]) -> None:
    """Count what is missing without each unit of ``order``; ``check`` is called now and then, and may raise."""
    most = int(np.asarray(blocks.covered).max(initial=0))
    with cython.nogil:
        divide(blocks, units, losses, order, 0, len(order), most, check)
