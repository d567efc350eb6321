"""Doubly connected blocks that grow as reviews are added, one at a time.

In a structure that Repeat-Union2 has closed, one more review grows exactly one block: every other pair of blocks
shares the same items as before. So the gain of a review is computed by growing that one block, item by item, and
discarded by raising a stamp; nothing is copied and nothing undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

from reviewgraph.graph.kernels.union_find import point_at_roots

if TYPE_CHECKING:
    from reviewgraph._base.arrays import IntArray


@dataclass(eq=False, repr=False)
class Structure:
    """Blocks of reviewers and the items they cover; blocks join when they share two items.

    A (block, item) pair is an entry, in two families of linked lists, which -1 ends: that of its block, the newest
    last, and that of its item, the newest first.
    """

    root: IntArray  # Union-find forest of the blocks, shape (B,)
    head: IntArray  # First and last entry of each block, or -1
    tail: IntArray
    part: IntArray  # The blocks that were joined in each, as a list: its next block, or -1, and its last
    last: IntArray
    cover: IntArray  # Items of each block
    first: IntArray  # First entry of each item, or -1, shape (N,)
    after: IntArray  # The next entry of the same block, or -1; as long as there is room for entries
    beside: IntArray  # The next entry of the same item, or -1
    block: IntArray
    item: IntArray
    size: int = 0  # Entries

    @property
    def room(self) -> int:
        """Entries that may still be written, less two."""
        return len(self.item) - self.size - 2

    def labels(self) -> IntArray:
        """Return the root of each block, shape (B,)."""
        root: IntArray = np.array(self.root)
        point_at_roots(root)
        return root

    def sizes(self) -> IntArray:
        """Return the items of the block that each has become part of, shape (B,)."""
        return np.asarray(self.cover)[self.labels()]

    def entries(self) -> tuple[IntArray, IntArray]:
        """Return the root and the item of each entry, both of shape (E,)."""
        return self.labels()[np.asarray(self.block)[: self.size]], np.array(self.item)[: self.size]

    def copy(self) -> Structure:
        """Return a structure that changes on its own."""
        return Structure(
            root=np.array(self.root),
            head=np.array(self.head),
            tail=np.array(self.tail),
            part=np.array(self.part),
            last=np.array(self.last),
            cover=np.array(self.cover),
            first=np.array(self.first),
            after=np.array(self.after),
            beside=np.array(self.beside),
            block=np.array(self.block),
            item=np.array(self.item),
            size=self.size,
        )

    def restore(self, saved: Structure) -> None:
        """Become what a structure with the same blocks and items is."""
        for block in range(len(saved.root)):
            self.root[block] = saved.root[block]
            self.head[block] = saved.head[block]
            self.tail[block] = saved.tail[block]
            self.part[block] = saved.part[block]
            self.last[block] = saved.last[block]
            self.cover[block] = saved.cover[block]
        for item in range(len(saved.first)):
            self.first[item] = saved.first[item]
        for entry in range(saved.size):
            self.after[entry] = saved.after[entry]
            self.beside[entry] = saved.beside[entry]
            self.block[entry] = saved.block[entry]
            self.item[entry] = saved.item[entry]
        self.size = saved.size


@dataclass(eq=False, repr=False)
class Growth:
    """Working space of :func:`grow` and :func:`try_join`, and what they found.

    The grown block holds ``items[:covered]`` and is made of ``blocks[:joined]``. Trials skip the items of the largest
    block, the anchor. Marks count only if they are the stamp of this growth, or the present mark of the anchor.
    """

    items: IntArray
    blocks: IntArray
    seen: IntArray  # The last growth that reached each item, shape (N,)
    taken: IntArray  # The last growth that took each block in, shape (B,)
    hit: IntArray  # The last growth that met each block, and the first item that the block shares with the grown one
    hit_item: IntArray
    inside: IntArray  # The mark of the items of the anchor
    touch: IntArray  # The item that each other block shares with the anchor, or -1
    touched: IntArray  # The blocks that a trial met, ``joined`` of them
    near: IntArray  # The distinct blocks of an item
    near_mark: IntArray  # The last list of these that each block was in
    gain: IntArray  # The gain of joining each block with the anchor, the growth in which it was weighed, and a
    weighed: IntArray
    blur: IntArray  # random part that breaks ties
    large: int  # Entries from which the anchor grows by trials
    covered: int = 0
    joined: int = 0
    stamp: int = 0
    anchored: bool = False  # Whether the trial took the anchor in
    beyond: int = 0  # Items of the trial outside the anchor
    steps: int = 0  # Entries and blocks visited, by which work is counted
    anchor: int = 0
    mark: int = 0
    kept: bool = False  # Whether the anchor has grown since it was chosen, with its marks
    near_stamp: int = 0

    def joined_blocks(self) -> list[int]:
        """Return the blocks that the last grown one took in, besides itself."""
        return np.asarray(self.blocks)[1 : self.joined].tolist()


def new_structure(block: IntArray, item: IntArray, n_blocks: int, n_items: int, room: int) -> Structure:
    """Return blocks with their covers, given as distinct (block, item) pairs, and room for more entries."""
    capacity = len(block) + room
    state = Structure(
        root=np.arange(n_blocks),
        head=np.full(n_blocks, -1, np.int64),
        tail=np.full(n_blocks, -1, np.int64),
        part=np.full(n_blocks, -1, np.int64),
        last=np.arange(n_blocks),
        cover=np.zeros(n_blocks, np.int64),
        first=np.full(n_items, -1, np.int64),
        after=np.full(capacity, -1, np.int64),
        beside=np.full(capacity, -1, np.int64),
        block=np.full(capacity, -1, np.int64),
        item=np.full(capacity, -1, np.int64),
    )
    enter_all(state, block, item)
    return state


def working_space(n_blocks: int, n_items: int, large: int) -> Growth:
    """Return the working space of structures with so many blocks and items."""
    items, seen, inside = np.zeros((3, n_items), np.int64)
    blocks, taken, hit, hit_item, touch = np.zeros((5, n_blocks), np.int64)
    touched, near, near_mark, gain, weighed, blur = np.zeros((6, n_blocks), np.int64)
    return Growth(
        items=items,
        blocks=blocks,
        seen=seen,
        taken=taken,
        hit=hit,
        hit_item=hit_item,
        inside=inside,
        touch=touch,
        touched=touched,
        near=near,
        near_mark=near_mark,
        gain=gain,
        weighed=weighed,
        blur=blur,
        large=large,
    )


def find_block(state: Structure, block: int) -> int:
    """Root of a block; the path to it is halved on the way."""
    while state.root[block] != block:
        state.root[block] = state.root[state.root[block]]
        block = state.root[block]
    return block


def enter(state: Structure, block: int, item: int) -> None:
    """Add an entry: a block covers an item it did not cover."""
    # A new entry stands first among those of its item and last among those of its block: withdraw() relies on it.
    block = find_block(state, block)
    entry = state.size
    state.size = entry + 1
    state.block[entry] = block
    state.item[entry] = item
    state.after[entry] = -1
    state.beside[entry] = state.first[item]
    state.first[item] = entry
    state.cover[block] += 1
    if state.head[block] < 0:
        state.head[block] = entry
    else:
        state.after[state.tail[block]] = entry
    state.tail[block] = entry


def enter_all(state: Structure, block: IntArray, item: IntArray) -> None:
    """Add entries that blocks do not cover yet."""
    for entry in range(len(block)):
        enter(state, block[entry], item[entry])


def withdraw(state: Structure, tail_before: int) -> None:
    """Undo the last :func:`enter`, if the structure has not changed since; the block's tail was ``tail_before``."""
    entry = state.size - 1
    state.size = entry
    block = state.block[entry]
    state.first[state.item[entry]] = state.beside[entry]
    state.cover[block] -= 1
    state.tail[block] = tail_before
    if tail_before < 0:
        state.head[block] = -1
    else:
        state.after[tail_before] = -1


def covers_item(state: Structure, block: int, item: int) -> bool:
    """Whether a block covers an item; takes the number of entries of the item."""
    block = find_block(state, block)
    entry = state.first[item]
    while entry >= 0:
        if find_block(state, state.block[entry]) == block:
            return True
        entry = state.beside[entry]
    return False


def largest(state: Structure) -> int:
    """Items of the largest block."""
    most = 0
    for block in range(len(state.cover)):
        most = max(most, state.cover[block])
    return most


def take(state: Structure, space: Growth, block: int) -> None:
    """Add a block with its items to the growing one."""
    # Nothing is cleared between growths: a mark counts only if it is the stamp of this one.
    stamp = space.stamp
    if space.taken[block] == stamp:
        return
    space.taken[block] = stamp
    space.blocks[space.joined] = block
    space.joined += 1
    count = space.covered
    entry = state.head[block]
    while entry >= 0:
        thing = state.item[entry]
        if space.seen[thing] != stamp:
            space.seen[thing] = stamp
            space.items[count] = thing
            count += 1
        entry = state.after[entry]
    space.covered = count


def grow(state: Structure, space: Growth, a: int, b: int) -> None:
    """Join block a with block b (b = a: none) and grow until no other block shares two items."""
    space.covered = 0
    space.joined = 0
    space.stamp += 1
    stamp = space.stamp
    done = 0
    steps = 0
    take(state, space, find_block(state, a))
    take(state, space, find_block(state, b))
    # Repeat-Union2 from one block: the items before ``done`` have hit every block that covers them. A block that is
    # hit by two items joins, and its items are appended.
    while done < space.covered:
        thing = space.items[done]
        done += 1
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            neighbour = find_block(state, state.block[entry])
            if space.taken[neighbour] != stamp:
                if space.hit[neighbour] != stamp:
                    space.hit_item[neighbour] = thing
                    space.hit[neighbour] = stamp
                elif space.hit_item[neighbour] != thing:
                    take(state, space, neighbour)
            entry = state.beside[entry]
    space.steps += steps


def settle(state: Structure, space: Growth) -> int:
    """Make the last growth permanent; return the name of the block."""
    # The first block keeps its name; the lists of the others are appended to its own.
    name = space.blocks[0]
    for position in range(1, space.joined):
        neighbour = space.blocks[position]
        state.root[neighbour] = name
        state.part[state.last[name]] = neighbour
        state.last[name] = state.last[neighbour]
        if state.head[neighbour] >= 0:
            if state.head[name] < 0:
                state.head[name] = state.head[neighbour]
            else:
                state.after[state.tail[name]] = state.head[neighbour]
            state.tail[name] = state.tail[neighbour]
    state.cover[name] = space.covered
    return name


def arrive(state: Structure, space: Growth, block: int, item: int) -> bool:
    """Let a block of a closed structure read an item and grow; false, and no change, if it covers the item already."""
    if covers_item(state, block, item):
        return False
    enter(state, block, item)
    grow(state, space, block, block)
    settle(state, space)
    return True


def has_grown(state: Structure, space: Growth, block: int, before: int) -> bool:
    """Whether a block is part of one that grew, and was settled, after the growth with the stamp ``before``."""
    return space.taken[find_block(state, block)] > before


def close(state: Structure, space: Growth, block: IntArray, item: IntArray, size: int) -> int:
    """Add the first ``size`` reviews to a closed structure and close it; return the largest cover.

    One growth from each block that was given a review is enough: a block that grows later visits all others.
    """
    with cython.nogil:
        # All reviews first: only then does a growth from one block see all that it can take.
        most = largest(state)
        before = space.stamp
        for entry in range(size):
            if not covers_item(state, block[entry], item[entry]):
                enter(state, block[entry], item[entry])
        for entry in range(size):
            if not has_grown(state, space, block[entry], before):
                grow(state, space, block[entry], block[entry])
                name = settle(state, space)
                most = max(most, state.cover[name])
    return most


def extend_unfinished(
    state: Structure, space: Growth, block: IntArray, item: IntArray, order: IntArray, leaves: IntArray
) -> None:
    """Add reviews in the given order while no block covers all items; ``leaves`` marks those that would finish."""
    n_items = len(state.first)
    with cython.nogil:
        for place in range(len(order)):
            k = order[place]
            root = find_block(state, block[k])
            leaves[k] = 0
            if covers_item(state, root, item[k]):
                continue
            # The structure stays closed and unfinished: a review after which a block covers all is taken back.
            tail = state.tail[root]
            enter(state, root, item[k])
            grow(state, space, root, root)
            if space.covered < n_items:
                settle(state, space)
            else:
                withdraw(state, tail)
                leaves[k] = 1


def leaving(state: Structure, block: IntArray, item: IntArray, leaves: IntArray) -> None:
    """Mark the reviews of items that their blocks do not cover."""
    with cython.nogil:
        for k in range(len(block)):
            if covers_item(state, block[k], item[k]):
                leaves[k] = 0
            else:
                leaves[k] = 1


# Trials of joins beside the largest block, the anchor, whose items are not visited.


def take_inside(state: Structure, space: Growth, thing: int) -> int:
    """Mark an item as one of the anchor, unless it is, and the blocks that share it; return the entries visited."""
    steps = 0
    if space.inside[thing] != space.mark:
        space.inside[thing] = space.mark
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            space.touch[find_block(state, state.block[entry])] = thing
            entry = state.beside[entry]
    return steps


def drop_anchor(state: Structure, space: Growth) -> int:
    """Make the block with the largest cover the anchor of trials; return its name."""
    # The largest cover among the roots; of equals the first.
    n_blocks = len(state.root)
    main = 0
    for block in range(n_blocks):
        if state.root[block] == block and (state.cover[block] > state.cover[main] or state.root[main] != main):
            main = block
    # The structure is closed: another block shares at most one item with the anchor, so one number suffices.
    space.anchor = main
    space.kept = False
    space.mark += 1
    for block in range(n_blocks):
        space.touch[block] = -1
    steps = n_blocks
    entry = state.head[main]
    while entry >= 0:
        steps += take_inside(state, space, state.item[entry])
        entry = state.after[entry]
    space.steps += steps
    return main


def take_on_trial(state: Structure, space: Growth, block: int) -> None:
    """Add a block other than the anchor to a trial."""
    stamp = space.stamp
    mark = space.mark
    space.taken[block] = stamp
    count = space.covered
    beyond = space.beyond
    entry = state.head[block]
    while entry >= 0:
        thing = state.item[entry]
        if space.seen[thing] != stamp:
            space.seen[thing] = stamp
            space.items[count] = thing
            count += 1
            if space.inside[thing] != mark:
                beyond += 1
        entry = state.after[entry]
    space.covered = count
    space.beyond = beyond


def try_take(state: Structure, space: Growth, block: int) -> None:
    """Add a block to a trial; the anchor adds those that share one more item with it."""
    stamp = space.stamp
    if space.taken[block] == stamp:
        return
    if block != space.anchor:
        take_on_trial(state, space, block)
        return
    # A block that was hit once in this trial and shares another item with the anchor shares two with the union.
    space.taken[block] = stamp
    space.anchored = True
    for place in range(space.joined):
        neighbour = space.touched[place]
        shared = space.touch[neighbour]
        if space.taken[neighbour] != stamp and shared >= 0 and shared != space.hit_item[neighbour]:
            take_on_trial(state, space, neighbour)


def try_join(state: Structure, space: Growth, a: int, b: int) -> int:
    """Items of the block that :func:`grow` would make of two blocks, without visiting the anchor's."""
    space.covered = 0
    space.joined = 0
    space.anchored = False
    space.beyond = 0
    space.stamp += 1
    stamp = space.stamp
    mark = space.mark
    done = 0
    steps = 1
    try_take(state, space, a)
    try_take(state, space, b)
    rest = len(state.first) - state.cover[space.anchor]
    while done < space.covered:
        # With the anchor in, its items need not be visited: ``touch`` holds those they share.
        if space.anchored and space.beyond == rest:
            break
        thing = space.items[done]
        done += 1
        if space.anchored and space.inside[thing] == mark:
            continue
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            neighbour = find_block(state, state.block[entry])
            entry = state.beside[entry]
            if space.taken[neighbour] == stamp:
                continue
            if space.hit[neighbour] != stamp:
                space.hit[neighbour] = stamp
                space.hit_item[neighbour] = thing
                space.touched[space.joined] = neighbour
                space.joined += 1
                if space.anchored and space.touch[neighbour] >= 0 and space.touch[neighbour] != thing:
                    try_take(state, space, neighbour)
            elif space.hit_item[neighbour] != thing:
                try_take(state, space, neighbour)
    space.steps += steps
    # The anchor's items were not collected, those beyond it were counted.
    if space.anchored:
        return space.beyond + state.cover[space.anchor]
    return space.covered


def settle_trial(state: Structure, space: Growth, block: int, covers: int) -> None:
    """Make the last trial permanent, the join of the anchor with a block, and keep the marks of the anchor up to date.

    Takes the blocks that joined and the items they bring, not those of the anchor, which may be most of the table.
    ``covers`` is what :func:`try_join` returned, less than all items; a review of an item of one of the two may have
    been entered since.
    """
    stamp = space.stamp
    items = space.covered
    # The trial lists all blocks that it met; those that joined are marked as taken.
    space.blocks[0] = space.anchor
    space.blocks[1] = block
    count = 2
    for place in range(space.joined):
        if space.taken[space.touched[place]] == stamp:
            space.blocks[count] = space.touched[place]
            count += 1
    space.joined = count
    space.covered = covers
    settle(state, space)
    for position in range(1, count):
        space.touch[space.blocks[position]] = -1
    steps = count
    for place in range(items):
        steps += take_inside(state, space, space.items[place])
    space.kept = True
    space.steps += steps


def blocks_of(state: Structure, space: Growth, thing: int) -> int:
    """List in ``near`` the distinct blocks that cover an item and at least one more; return their number."""
    space.near_stamp += 1
    stamp = space.near_stamp
    count = 0
    entry = state.first[thing]
    while entry >= 0:
        block = find_block(state, state.block[entry])
        if state.cover[block] > 1 and space.near_mark[block] != stamp:
            space.near_mark[block] = stamp
            space.near[count] = block
            count += 1
        entry = state.beside[entry]
    space.steps += count
    return count
