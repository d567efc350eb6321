"""Kernels that grow doubly connected blocks, reviews added one at a time.

In a structure that Repeat-Union2 has closed, one more review grows exactly one block: every other pair of blocks
shares the same items as before. So the gain of a review is computed by growing that one block, item by item, and
discarded by raising a stamp; nothing is copied and nothing undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph import kernel

if TYPE_CHECKING:
    from reviewgraph._base import IntArray


#: Registers of ``Structure.entries``, of ``Growth.extent`` and of ``Growth.anchor``.
COUNT = 0
ITEMS = 0
BLOCKS = 1
STAMP = 2
ANCHORED = 3
BEYOND = 4
STEPS = 5
NAME = 0
MARK = 1
NEAR_STAMP = 2
KEPT = 3


class Structure(NamedTuple):
    """Blocks of reviewers and the items they cover.

    A (block, item) pair is an entry, in two families of linked lists. ``root`` is the union-find forest of blocks;
    ``head``, ``tail`` (by block) and ``after`` (by entry) list a block's entries, ``first`` (by item) and ``beside``
    (by entry) an item's; ``part`` and ``last`` (by block) list the blocks that were joined in one. ``cover`` counts the
    items of a block, ``entries[COUNT]`` the entries. Blocks join when they share two items.
    """

    root: IntArray
    head: IntArray
    tail: IntArray
    part: IntArray
    last: IntArray
    cover: IntArray
    first: IntArray
    after: IntArray
    beside: IntArray
    block: IntArray
    item: IntArray
    entries: IntArray

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.entries[COUNT])

    @property
    def room(self) -> int:
        """Entries that may still be written, less two."""
        return self.item.size - self.size - 2


class Growth(NamedTuple):
    """Working space of :func:`grow`, and its result.

    The grown block holds ``items[:extent[ITEMS]]`` and is made of ``blocks[:extent[BLOCKS]]``. ``seen`` (by item),
    ``taken`` and ``hit`` (by block) hold the stamp ``extent[STAMP]`` of the growth that last reached them;
    ``hit_item`` is the first item that a block shares with the grown one.

    Trials skip the items of the largest block, the anchor: ``inside`` (by item) marks its items and ``touch`` (by
    block) the item that another block shares with it (-1: none); ``touched`` lists the ``extent[BLOCKS]`` blocks hit
    in a trial; ``extent[ANCHORED]`` is 1 if the trial took the anchor in, and ``extent[BEYOND]`` counts its items
    outside the anchor. ``extent[STEPS]`` counts entries and blocks visited. ``near`` lists the distinct blocks of an
    item, which ``near_mark`` (by block) marks by the stamp ``anchor[NEAR_STAMP]``. ``anchor[NAME]`` is the anchor,
    ``anchor[MARK]`` the mark of its items; ``anchor[KEPT]`` is 1 if it grew since with its marks. ``gain`` (by block)
    is the gain of a join with the anchor in the growth of the stamp ``weighed``, with ``blur`` to break ties.
    """

    items: IntArray
    blocks: IntArray
    seen: IntArray
    taken: IntArray
    hit: IntArray
    hit_item: IntArray
    extent: IntArray
    inside: IntArray
    touch: IntArray
    touched: IntArray
    near: IntArray
    near_mark: IntArray
    anchor: IntArray
    gain: IntArray
    weighed: IntArray
    blur: IntArray

    @property
    def covered(self) -> int:
        return int(self.extent[ITEMS])

    @property
    def joined(self) -> list[int]:
        """Blocks that the last grown one took in, besides itself."""
        return self.blocks[1 : self.extent[BLOCKS]].tolist()  # type: ignore[no-any-return]


def working_space(n_blocks: int, n_items: int) -> Growth:
    by_block = np.zeros((11, n_blocks), np.int64)
    by_item = np.zeros((3, n_items), np.int64)
    return Growth(
        *(by_item[0], by_block[0], by_item[1], by_block[1], by_block[2], by_block[3], np.zeros(6, np.int64)),
        *(by_item[2], by_block[4], by_block[5], by_block[6], by_block[7], np.zeros(4, np.int64)),
        *(by_block[8], by_block[9], by_block[10]),
    )


def new_structure(block: IntArray, item: IntArray, n_blocks: int, n_items: int, room: int) -> Structure:
    """Return blocks with their covers, given as distinct (block, item) pairs, and room for more entries."""
    count = block.size
    by_entry = np.full((4, block.size + room), -1, np.int64)
    after, beside, by_entry[2, :count], by_entry[3, :count] = (*by_entry[:2], block, item)
    # As entered one after the other: the newest is the last of its block, and the first of its item.
    head, tail = _chained(block, n_blocks, after[:count])
    first, _ = _chained(item[::-1], n_items, beside[count - 1 :: -1] if count else beside[:0])
    beside[:count] = np.where(beside[:count] < 0, -1, count - 1 - beside[:count])
    return Structure(
        *(np.arange(n_blocks), head, tail, np.full(n_blocks, -1, np.int64), np.arange(n_blocks)),
        *(np.bincount(block, minlength=n_blocks), np.where(first < 0, -1, count - 1 - first), after, beside),
        *(by_entry[2], by_entry[3], np.array([count])),
    )


def _chained(key: IntArray, size: int, following: IntArray) -> tuple[IntArray, IntArray]:
    """Link the places of each key in ``following``; return the first and last place of each key."""
    order, first, last = np.argsort(key, kind="stable"), *np.full((2, size), -1, np.int64)
    new = np.ones(key.size, np.bool_)
    new[1:] = key[order][1:] != key[order][:-1]
    following[order[:-1]] = np.where(new[1:], -1, order[1:])
    first[key[order[new]]] = order[new]
    ends = np.roll(new, -1)
    last[key[order[ends]]] = order[ends]
    return first, last


def copy_structure(state: Structure) -> Structure:
    return Structure(*(array.copy() for array in state))


def overwrite(state: Structure, source: Structure) -> None:
    for array, value in zip(state, source, strict=True):
        array[...] = value


@kernel
def restore(state: Structure, saved: Structure) -> None:
    """Copy another structure of the same size into this one."""
    # By elements: an assignment of a slice takes as long to compile as all other kernels of planning.
    for block in range(saved.root.size):
        state.root[block], state.head[block] = saved.root[block], saved.head[block]
        state.tail[block], state.part[block] = saved.tail[block], saved.part[block]
        state.last[block], state.cover[block] = saved.last[block], saved.cover[block]
    for item in range(saved.first.size):
        state.first[item] = saved.first[item]
    for entry in range(saved.entries[COUNT]):
        state.after[entry], state.beside[entry] = saved.after[entry], saved.beside[entry]
        state.block[entry], state.item[entry] = saved.block[entry], saved.item[entry]
    state.entries[COUNT] = saved.entries[COUNT]


@kernel
def find_block(root: IntArray, block: int) -> int:
    """Root of a block; the path to it is halved on the way."""
    while root[block] != block:
        root[block] = root[root[block]]
        block = root[block]
    return block


@kernel
def enter(state: Structure, block: int, item: int) -> None:
    """Add an entry: a block covers an item it did not cover."""
    # A new entry stands first among those of its item and last among those of its block: withdraw() relies on it.
    block = find_block(state.root, block)
    entry = state.entries[COUNT]
    state.entries[COUNT] = entry + 1
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


@kernel
def covers_item(state: Structure, block: int, item: int) -> bool:
    """Whether a block covers an item; takes the number of entries of the item."""
    block = find_block(state.root, block)
    entry = state.first[item]
    while entry >= 0:
        if find_block(state.root, state.block[entry]) == block:
            return True
        entry = state.beside[entry]
    return False


@kernel
def take(state: Structure, space: Growth, block: int) -> None:
    """Add a block with its items to the growing one."""
    # Nothing is cleared between growths: a mark counts only if it is the stamp of this one.
    stamp = space.extent[STAMP]
    if space.taken[block] == stamp:
        return
    space.taken[block] = stamp
    space.blocks[space.extent[BLOCKS]] = block
    space.extent[BLOCKS] += 1
    entry = state.head[block]
    while entry >= 0:
        thing = state.item[entry]
        if space.seen[thing] != stamp:
            space.seen[thing] = stamp
            space.items[space.extent[ITEMS]] = thing
            space.extent[ITEMS] += 1
        entry = state.after[entry]


@kernel
def grow(state: Structure, space: Growth, a: int, b: int) -> None:
    """Join block a with block b (b = a: none) and grow until no other block shares two items."""
    space.extent[ITEMS] = space.extent[BLOCKS] = 0
    space.extent[STAMP] += 1
    stamp = space.extent[STAMP]
    done = 0
    steps = 0
    take(state, space, find_block(state.root, a))
    take(state, space, find_block(state.root, b))
    # Repeat-Union2 from one block: the items before ``done`` have hit every block that covers them. A block that is
    # hit by two items joins, and its items are appended.
    while done < space.extent[ITEMS]:
        thing = space.items[done]
        done += 1
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            neighbour = find_block(state.root, state.block[entry])
            if space.taken[neighbour] != stamp:
                if space.hit[neighbour] != stamp:
                    space.hit_item[neighbour] = thing
                    space.hit[neighbour] = stamp
                elif space.hit_item[neighbour] != thing:
                    take(state, space, neighbour)
            entry = state.beside[entry]
    space.extent[STEPS] += steps


@kernel
def take_inside(state: Structure, space: Growth, thing: int) -> int:
    """Mark an item as one of the anchor, unless it is, and the blocks that share it; return the entries visited."""
    steps = 0
    if space.inside[thing] != space.anchor[MARK]:
        space.inside[thing] = space.anchor[MARK]
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            space.touch[find_block(state.root, state.block[entry])] = thing
            entry = state.beside[entry]
    return steps


@kernel
def drop_anchor(state: Structure, space: Growth) -> int:
    """Make the block with the largest cover the anchor of trials; return its name."""
    # The largest cover among the roots; of equals the first.
    main = 0
    for block in range(state.root.size):
        if state.root[block] == block and (state.cover[block] > state.cover[main] or state.root[main] != main):
            main = block
    # The structure is closed: another block shares at most one item with the anchor, so one number suffices.
    space.anchor[NAME] = main
    space.anchor[KEPT] = 0
    space.anchor[MARK] += 1
    for block in range(state.root.size):
        space.touch[block] = -1
    steps = state.root.size
    entry = state.head[main]
    while entry >= 0:
        steps += take_inside(state, space, state.item[entry])
        entry = state.after[entry]
    space.extent[STEPS] += steps
    return main


@kernel
def take_on_trial(state: Structure, space: Growth, block: int) -> None:
    """Add a block other than the anchor to a trial."""
    stamp = space.extent[STAMP]
    mark = space.anchor[MARK]
    space.taken[block] = stamp
    entry = state.head[block]
    while entry >= 0:
        thing = state.item[entry]
        if space.seen[thing] != stamp:
            space.seen[thing] = stamp
            space.items[space.extent[ITEMS]] = thing
            space.extent[ITEMS] += 1
            space.extent[BEYOND] += int(space.inside[thing] != mark)
        entry = state.after[entry]


@kernel
def try_take(state: Structure, space: Growth, block: int) -> None:
    """Add a block to a trial; the anchor adds those that share one more item with it."""
    stamp = space.extent[STAMP]
    if space.taken[block] == stamp:
        return
    if block != space.anchor[NAME]:
        take_on_trial(state, space, block)
        return
    # A block that was hit once in this trial and shares another item with the anchor shares two with the union.
    space.taken[block] = stamp
    space.extent[ANCHORED] = 1
    for place in range(space.extent[BLOCKS]):
        neighbour = space.touched[place]
        shared = space.touch[neighbour]
        if space.taken[neighbour] != stamp and shared >= 0 and shared != space.hit_item[neighbour]:
            take_on_trial(state, space, neighbour)


@kernel
def try_join(state: Structure, space: Growth, a: int, b: int) -> int:
    """Items of the block that :func:`grow` would make of two blocks, without visiting the anchor's."""
    space.extent[ITEMS] = space.extent[BLOCKS] = space.extent[ANCHORED] = space.extent[BEYOND] = 0
    space.extent[STAMP] += 1
    stamp = space.extent[STAMP]
    mark = space.anchor[MARK]
    done = 0
    steps = 1
    try_take(state, space, a)
    try_take(state, space, b)
    rest = state.first.size - state.cover[space.anchor[NAME]]
    while done < space.extent[ITEMS]:
        # With the anchor in, its items need not be visited: ``touch`` holds those they share.
        if space.extent[ANCHORED] == 1 and space.extent[BEYOND] == rest:
            break
        thing = space.items[done]
        done += 1
        if space.extent[ANCHORED] == 1 and space.inside[thing] == mark:
            continue
        entry = state.first[thing]
        while entry >= 0:
            steps += 1
            neighbour = find_block(state.root, state.block[entry])
            entry = state.beside[entry]
            if space.taken[neighbour] == stamp:
                continue
            if space.hit[neighbour] != stamp:
                space.hit[neighbour] = stamp
                space.hit_item[neighbour] = thing
                space.touched[space.extent[BLOCKS]] = neighbour
                space.extent[BLOCKS] += 1
                if space.extent[ANCHORED] == 1 and space.touch[neighbour] >= 0 and space.touch[neighbour] != thing:
                    try_take(state, space, neighbour)
            elif space.hit_item[neighbour] != thing:
                try_take(state, space, neighbour)
    space.extent[STEPS] += steps
    # The anchor's items were not collected, those beyond it were counted.
    if space.extent[ANCHORED] == 1:
        return int(space.extent[BEYOND] + state.cover[space.anchor[NAME]])
    return int(space.extent[ITEMS])


@kernel
def settle(state: Structure, space: Growth) -> int:
    """Make the last growth permanent; return the name of the block."""
    # The first block keeps its name; the lists of the others are appended to its own.
    name = space.blocks[0]
    for position in range(1, space.extent[BLOCKS]):
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
    state.cover[name] = space.extent[ITEMS]
    return int(name)


@kernel
def settle_trial(state: Structure, space: Growth, block: int, covers: int) -> None:
    """Make the last trial permanent, the join of the anchor with a block, and keep the marks of the anchor up to date.

    Takes the blocks that joined and the items they bring, not those of the anchor, which may be most of the table.
    ``covers`` is what :func:`try_join` returned, less than all items; a review of an item of one of the two may have
    been entered since.
    """
    main = space.anchor[NAME]
    stamp = space.extent[STAMP]
    items = space.extent[ITEMS]
    # The trial lists all blocks that it met; those that joined are marked as taken.
    space.blocks[0] = main
    space.blocks[1] = block
    count = 2
    for place in range(space.extent[BLOCKS]):
        if space.taken[space.touched[place]] == stamp:
            space.blocks[count] = space.touched[place]
            count += 1
    space.extent[BLOCKS] = count
    space.extent[ITEMS] = covers
    settle(state, space)
    for position in range(1, count):
        space.touch[space.blocks[position]] = -1
    steps = count
    for place in range(items):
        steps += take_inside(state, space, space.items[place])
    space.anchor[KEPT] = 1
    space.extent[STEPS] += steps


@kernel
def arrive(state: Structure, space: Growth, block: int, item: int) -> bool:
    """Let a block of a closed structure read an item and grow; false, and no change, if it covers the item already."""
    if covers_item(state, block, item):
        return False
    enter(state, block, item)
    grow(state, space, block, block)
    settle(state, space)
    return True


@kernel
def largest(state: Structure) -> int:
    most = 0
    for block in range(state.cover.size):
        most = max(most, state.cover[block])
    return int(most)


@kernel
def has_grown(state: Structure, space: Growth, block: int, before: int) -> bool:
    """Whether a block is part of one that grew, and was settled, after the growth with the stamp ``before``."""
    return bool(space.taken[find_block(state.root, block)] > before)


@kernel
def close(state: Structure, space: Growth, block: IntArray, item: IntArray, size: int) -> int:
    """Add the first ``size`` reviews to a closed structure and close it; return the largest cover.

    One growth from each block that was given a review is enough: a block that grows later visits all others.
    """
    # All reviews first: only then does a growth from one block see all that it can take.
    most = largest(state)
    before = space.extent[STAMP]
    for entry in range(size):
        if not covers_item(state, block[entry], item[entry]):
            enter(state, block[entry], item[entry])
    for entry in range(size):
        if not has_grown(state, space, block[entry], before):
            grow(state, space, block[entry], block[entry])
            name = settle(state, space)
            most = max(most, state.cover[name])
    return int(most)


@kernel
def withdraw(state: Structure, tail_before: int) -> None:
    """Undo the last :func:`enter`, if the structure has not changed since; the block's tail was ``tail_before``."""
    entry = state.entries[COUNT] - 1
    state.entries[COUNT] = entry
    block = state.block[entry]
    item = state.item[entry]
    state.first[item] = state.beside[entry]
    state.cover[block] -= 1
    state.tail[block] = tail_before
    if tail_before < 0:
        state.head[block] = -1
    else:
        state.after[tail_before] = -1


@kernel
def extend_unfinished(
    state: Structure, space: Growth, block: IntArray, item: IntArray, order: IntArray, leaves: IntArray
) -> None:
    """Add reviews in the given order while no block covers all items; ``leaves`` marks those that would finish."""
    n_items = state.first.size
    for k in order:
        root = find_block(state.root, block[k])
        leaves[k] = 0
        if covers_item(state, root, item[k]):
            continue
        # The structure stays closed and unfinished: a review after which a block covers all is taken back.
        tail = state.tail[root]
        enter(state, root, item[k])
        grow(state, space, root, root)
        if space.extent[ITEMS] < n_items:
            settle(state, space)
        else:
            withdraw(state, tail)
            leaves[k] = 1


@kernel
def leaving(state: Structure, block: IntArray, item: IntArray, leaves: IntArray) -> None:
    for k in range(block.size):
        leaves[k] = 0 if covers_item(state, block[k], item[k]) else 1


# The working space of a search.

#: Register of ``Board.dice``.
STATE = 0


class Board(NamedTuple):
    """Who may still read what.

    Block b of the start is made of the reviewers ``member[member_start[b]:member_start[b + 1]]``. ``load`` counts the
    reviews of a reviewer, ``spare`` (by reviewer) and ``room`` (by item) remain. Reviewer j may not read the items
    ``barred[barred_start[j]:barred_start[j + 1]]``, ascending. The panel groups of reviewer j that may get full are
    ``group[group_start[j]:group_start[j + 1]]``, with ``free[item, group]`` places left. ``dice[STATE]`` is the state
    of the random numbers.
    """

    home: IntArray
    member_start: IntArray
    member: IntArray
    load: IntArray
    spare: IntArray
    room: IntArray
    barred_start: IntArray
    barred: IntArray
    group_start: IntArray
    group: IntArray
    free: IntArray
    dice: IntArray


class Moves(NamedTuple):
    """A plan in the making: reviewer, item, and the block of the reviewer; ``length[COUNT]`` of them."""

    reviewer: IntArray
    item: IntArray
    block: IntArray
    length: IntArray

    @property
    def made(self) -> int:
        return int(self.length[COUNT])

    @property
    def pairs(self) -> IntArray:
        return np.column_stack([self.reviewer[: self.made], self.item[: self.made]])


def new_moves(length: int) -> Moves:
    return Moves(*np.full((3, length), -1, np.int64), np.zeros(1, np.int64))  # type: ignore[call-arg]
