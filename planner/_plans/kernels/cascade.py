"""Cascades: add the review after which a block grows largest, until one block covers all items.

A review that joins two blocks sharing one item may be by either side, of any item of the other: all give the same
block. So a cascade chooses pairs of blocks first, and then a reviewer who may read an item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from planner._plans.kernels.structure import (
        blocks_of,
        close,
        covers_item,
        drop_anchor,
        enter,
        find_block,
        grow,
        has_grown,
        largest,
        settle,
        settle_trial,
        try_join,
    )

if TYPE_CHECKING:
    from planner._plans.kernels.structure import Growth, Structure
    from reviewgraph._base.arrays import IntArray

    Review = tuple[int, int]
    Join = tuple[int, int, int, int]

#: Reviewers of a block compared by their extra loads before one is chosen.
FEW = 64
#: Gain of a join with the largest block: unknown, or to be computed again.
UNKNOWN = -2
STALE = -1


@dataclass(eq=False, repr=False)
class Board:
    """Who may still read what.

    Block b of the start is made of the reviewers ``member[member_start[b]:member_start[b + 1]]``. Reviewer j may not
    read the items ``barred[barred_start[j]:barred_start[j + 1]]``, ascending, and has the panel groups
    ``group[group_start[j]:group_start[j + 1]]`` that may get full.
    """

    home: IntArray  # The block of each reviewer, shape (M,)
    member_start: IntArray
    member: IntArray
    load: IntArray  # Extra reviews of each reviewer, and how many more there may be
    spare: IntArray
    room: IntArray  # How many more each item may get, shape (N,)
    barred_start: IntArray
    barred: IntArray
    group_start: IntArray
    group: IntArray
    free: IntArray  # Places of each group on each item, shape (N, G)
    dice: int  # State of the random numbers


@dataclass(eq=False, repr=False)
class Moves:
    """A plan in the making: its first ``made`` reviews."""

    reviewer: IntArray
    item: IntArray
    block: IntArray  # The block of the reviewer
    made: int = 0

    @property
    def pairs(self) -> IntArray:
        """Return the reviews, shape (P, 2)."""
        return np.column_stack([self.reviewer, self.item])[: self.made]


def new_moves(length: int) -> Moves:
    """Return a plan without reviews, with room for so many."""
    reviewer, item, block = np.full((3, length), -1, np.int64)
    return Moves(reviewer=reviewer, item=item, block=block)


def roll(board: Board, sides: int) -> int:
    """Random number 0..sides-1 (a linear congruence, its high bits)."""
    board.dice = (board.dice * 1103515245 + 12345) & 0x7FFFFFFF
    return ((board.dice >> 8) * sides) >> 23


def may_read(board: Board, reviewer: int, item: int) -> bool:
    """Whether a reviewer has spare load, the item has room for the reviewer's groups, and nothing bars the pair."""
    if board.spare[reviewer] <= 0 or board.room[item] <= 0:
        return False
    for place in range(board.group_start[reviewer], board.group_start[reviewer + 1]):
        if board.free[item, board.group[place]] <= 0:
            return False
    # Bisection: everything before ``low`` is smaller than the item, nothing from ``high`` on is.
    low = board.barred_start[reviewer]
    end = board.barred_start[reviewer + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if board.barred[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low == end or board.barred[low] != item


def reader(state: Structure, board: Board, block: int, item: int) -> int:
    """Least loaded of the first few reviewers of a block who may read an item, or -1."""
    # The reviewers of each part from a random one on, so that no index is chosen more often than others.
    part = find_block(state, block)
    best = -1
    looked = 0
    while part >= 0 and looked < FEW:
        low = board.member_start[part]
        count = board.member_start[part + 1] - low
        shift = 0
        if count > 1:
            shift = roll(board, count)
        for place in range(count):
            reviewer = board.member[low + (place + shift) % count]
            if may_read(board, reviewer, item):
                looked += 1
                if best < 0 or board.load[reviewer] < board.load[best]:
                    best = reviewer
                if board.load[best] == 0:
                    return best
        part = state.part[part]
    return best


def review_across(state: Structure, board: Board, a: int, b: int) -> Review:
    """Review by a member of block a of an item that only b covers, or (-1, -1)."""
    entry = state.head[find_block(state, b)]
    while entry >= 0:
        item = state.item[entry]
        if board.room[item] > 0 and not covers_item(state, a, item):
            reviewer = reader(state, board, a, item)
            if reviewer >= 0:
                return reviewer, item
        entry = state.after[entry]
    return -1, -1


def review_between(state: Structure, board: Board, a: int, b: int) -> Review:
    """Review that gives either of two blocks an item of the other, the smaller block first; or (-1, -1)."""
    if state.cover[a] > state.cover[b]:
        a, b = b, a
    reviewer, item = review_across(state, board, b, a)
    if reviewer < 0:
        reviewer, item = review_across(state, board, a, b)
    return reviewer, item


def best_join(state: Structure, space: Growth, board: Board, noise: int) -> Join:
    """Return a review that joins two blocks sharing an item, and the blocks whose union is largest; or -1 four times.

    Sizes are blurred by up to ``noise`` items.
    """
    # Sizes are in 64ths, so that the last digits break ties at random even without noise.
    best = -1
    reviewer = -1
    item = -1
    left = -1
    right = -1
    drop_anchor(state, space)
    # Every two blocks that share an item; a pair is only kept if somebody may write the review that joins it.
    for thing in range(len(state.first)):
        count = blocks_of(state, space, thing)
        for x in range(count):
            for y in range(x):
                a = space.near[x]
                b = space.near[y]
                value = try_join(state, space, a, b) * 64 + roll(board, 64 * noise + 8)
                if value > best:
                    j, i = review_between(state, board, a, b)
                    if j >= 0:
                        best = value
                        reviewer = j
                        item = i
                        left = a
                        right = b
    return reviewer, item, left, right


def best_join_of_largest(state: Structure, space: Growth, board: Board, noise: int, begun: bool) -> Join:
    """Do as :func:`best_join`, one of the two being the largest block; -1 four times also if it is one reviewer.

    With ``begun`` this block has grown by such a join since the last call, and the gains of most joins are still valid.
    """
    n_blocks = len(state.root)
    old = space.stamp
    main = space.anchor
    if not (begun and space.kept):
        main = drop_anchor(state, space)
    if state.part[main] < 0:
        return -1, -1, -1, -1
    if not begun:
        for b in range(n_blocks):
            space.gain[b] = UNKNOWN
    # A block that has come to share an item with the largest one may help those that share other items with it.
    for b in range(n_blocks):
        if space.touch[b] >= 0 and space.gain[b] == UNKNOWN and b != main and state.cover[b] > 1:
            space.blur[b] = roll(board, 64 * noise + 8)
            space.gain[b] = STALE
            if begun:
                mark_neighbours(state, space, b)
    for b in range(n_blocks):
        if space.touch[b] >= 0 and space.gain[b] == STALE and weigh(state, space, b) == len(state.first):
            break
    # Other gains fall as the largest block takes in their items: the best is weighed again until it stays the best.
    while True:
        best = -1
        most = -1
        space.steps += n_blocks
        for b in range(n_blocks):
            if space.gain[b] > most and space.touch[b] >= 0 and b != main:
                best = b
                most = space.gain[b]
        if best < 0:
            return -1, -1, -1, -1
        if space.weighed[best] <= old:
            weigh(state, space, best)
            continue
        reviewer, item = review_between(state, board, main, best)
        if reviewer >= 0:
            return reviewer, item, main, best
        space.gain[best] = UNKNOWN


def mark_neighbours(state: Structure, space: Growth, block: int) -> None:
    """Mark for weighing the joins of blocks that share one item with a block and another with the anchor."""
    entry = state.head[block]
    while entry >= 0:
        thing = state.item[entry]
        beside = -1
        if space.inside[thing] != space.mark:
            beside = state.first[thing]
        while beside >= 0:
            neighbour = find_block(state, state.block[beside])
            if space.gain[neighbour] >= 0:
                space.gain[neighbour] = STALE
            beside = state.beside[beside]
        entry = state.after[entry]


def weigh(state: Structure, space: Growth, block: int) -> int:
    """Note the gain of joining a block to the anchor, in 64ths of an item, blurred; return the joint cover size."""
    covers = try_join(state, space, space.anchor, block)
    space.gain[block] = (covers - state.cover[space.anchor]) * 64 + space.blur[block]
    space.weighed[block] = space.stamp
    return covers


def reach_out(state: Structure, board: Board) -> Review:
    """Review by the largest block of an item it lacks, of a large block if possible; or the other way round.

    The fallback when no two blocks that share an item can be joined: disconnected pieces, unreviewed items, reviewers
    without spare load.
    """
    main = 0
    for block in range(len(state.root)):
        if state.root[block] == block and state.cover[block] > state.cover[main]:
            main = block
    # An item that the largest block lacks, preferably one of a large block, with which it then shares it.
    best = -1
    reviewer = -1
    item = -1
    for thing in range(len(state.first)):
        if board.room[thing] <= 0 or covers_item(state, main, thing):
            continue
        value = 0
        entry = state.first[thing]
        while entry >= 0:
            value = max(value, state.cover[find_block(state, state.block[entry])])
            entry = state.beside[entry]
        if value > best:
            j = reader(state, board, main, thing)
            if j >= 0:
                best = value
                reviewer = j
                item = thing
    if reviewer >= 0:
        return reviewer, item
    # Nobody in it may: let another block read one of its items, preferably a large one with much spare load.
    best = -1
    for block in range(len(state.root)):
        if state.root[block] == block and block != main:
            load = 0
            part = block
            while part >= 0:
                for place in range(board.member_start[part], board.member_start[part + 1]):
                    load = max(load, board.spare[board.member[place]])
                part = state.part[part]
            value = state.cover[block] * 4 + min(load, 3)
            if load > 0 and value > best:
                j, i = review_across(state, board, block, main)
                if j >= 0:
                    best = value
                    reviewer = j
                    item = i
    return reviewer, item


def add_reviews(
    state: Structure, space: Growth, board: Board, moves: Moves, noise: int, local: bool, resumed: bool, most: int
) -> bool:
    """Add reviews until one block covers all items; false if none can be added or ``most`` are not enough.

    A cascade that is ``local`` grows the largest block only. One that stopped at ``most`` may be continued, and has
    ``resumed`` if nothing else used the working space since.
    """
    n_items = len(state.first)
    with cython.nogil:
        # The structure is closed at the head of the loop; one review makes one block grow, which closes it again.
        begun = resumed and space.kept
        while largest(state) < n_items:
            space.steps += len(state.root)
            if moves.made >= most:
                return False
            reviewer = -1
            item = -1
            a = -1
            b = -1
            if local:
                reviewer, item, a, b = best_join_of_largest(state, space, board, noise, begun)
            begun = reviewer >= 0
            if reviewer < 0:
                reviewer, item, a, b = best_join(state, space, board, noise)
            if reviewer < 0:
                reviewer, item = reach_out(state, board)
                if reviewer < 0:
                    return False
            # In a large table the largest block grows by a trial, which does not visit its items again.
            covers = n_items
            if begun and state.size >= space.large:
                covers = try_join(state, space, a, b)
            add_move(board, moves, reviewer, item)
            enter(state, board.home[reviewer], item)
            if covers < n_items:
                settle_trial(state, space, b, covers)
                continue
            if a >= 0:
                grow(state, space, a, b)
            else:
                grow(state, space, board.home[reviewer], board.home[reviewer])
            settle(state, space)
            space.kept = False
    return True


def follow(state: Structure, space: Growth, board: Board, moves: Moves, left: IntArray, right: IntArray) -> None:
    """Make joins of blocks while there is room, skipping those that are implied or that nobody may make."""
    with cython.nogil:
        for k in range(len(left)):
            a = find_block(state, left[k])
            b = find_block(state, right[k])
            if a == b or moves.made >= len(moves.reviewer):
                continue
            reviewer, item = review_between(state, board, a, b)
            if reviewer >= 0:
                add_move(board, moves, reviewer, item)
                enter(state, board.home[reviewer], item)
                grow(state, space, a, b)
                settle(state, space)


def add_move(board: Board, moves: Moves, reviewer: int, item: int) -> None:
    """Add a review to a plan."""
    place = moves.made
    moves.block[place] = board.home[reviewer]
    moves.item[place] = item
    moves.reviewer[place] = reviewer
    moves.made = place + 1
    use(board, reviewer, item, 1)


def rewrite(moves: Moves, source: Moves) -> None:
    """Copy another plan into this one."""
    moves.made = source.made
    for place in range(source.made):
        moves.reviewer[place] = source.reviewer[place]
        moves.item[place] = source.item[place]
        moves.block[place] = source.block[place]


def use(board: Board, reviewer: int, item: int, times: int) -> None:
    """Take a review from the spare loads and limits; ``times`` = -1 returns it."""
    board.load[reviewer] += times
    board.spare[reviewer] -= times
    board.room[item] -= times
    for place in range(board.group_start[reviewer], board.group_start[reviewer + 1]):
        board.free[item, board.group[place]] -= times


def drop_moves(board: Board, moves: Moves, keep: IntArray) -> None:
    """Remove the reviews whose ``keep`` is 0."""
    write = 0
    for place in range(moves.made):
        if keep[place]:
            moves.reviewer[write] = moves.reviewer[place]
            moves.item[write] = moves.item[place]
            moves.block[write] = moves.block[place]
            write += 1
        else:
            use(board, moves.reviewer[place], moves.item[place], -1)
    moves.made = write


def prune(start: Structure, state: Structure, space: Growth, board: Board, moves: Moves, keep: IntArray) -> None:
    """Remove reviews that the target does not need, one at a time, starting at a random place."""
    size = moves.made
    if size == 0:
        return
    for place in range(size):
        keep[place] = 1
    unmark(start, state, space, moves, keep, roll(board, size), 0, size)
    drop_moves(board, moves, keep)


def unmark(
    start: Structure, state: Structure, space: Growth, moves: Moves, keep: IntArray, shift: int, first: int, last: int
) -> None:
    """Set ``keep`` to 0 for reviews that the target does not need, from turn ``first`` up to ``last``."""
    size = moves.made
    n_items = len(start.first)
    with cython.nogil:
        # Invariant: the reviews marked in ``keep`` reach the target.
        for turn in range(first, last):
            place = (turn + shift) % size
            keep[place] = 0
            state.restore(start)
            space.steps += len(state.root) + size
            most = 0
            before = space.stamp
            for kept in range(size):
                if keep[kept] and not covers_item(state, moves.block[kept], moves.item[kept]):
                    enter(state, moves.block[kept], moves.item[kept])
            for kept in range(size):
                if keep[kept] and most < n_items and not has_grown(state, space, moves.block[kept], before):
                    grow(state, space, moves.block[kept], moves.block[kept])
                    most = max(most, space.covered)
                    settle(state, space)
            if most < n_items:
                keep[place] = 1


def improve(
    start: Structure, state: Structure, space: Growth, board: Board, moves: Moves, trial: Moves, keep: IntArray,
    local: bool, rounds: int,
) -> int:  # fmt: skip
    """Remove some reviews and complete the plan again, ``rounds`` times, unless it gets longer; return the gains."""
    gained = 0
    with cython.nogil:
        for _ in range(rounds):
            size = moves.made
            if size < 2:
                break
            # Remove up to twelve reviews: anywhere, or consecutive ones, which joined neighbours.
            out = 1 + roll(board, min(size, 12))
            for place in range(size):
                keep[place] = 1
            if roll(board, 2) == 1:
                for _ in range(out):
                    keep[roll(board, size)] = 0
            else:
                begin = roll(board, size)
                for place in range(out):
                    keep[(begin + place) % size] = 0
            # Complete the others by another cascade, which may not be longer.
            rewrite(trial, moves)
            drop_moves(board, trial, keep)
            state.restore(start)
            space.steps += len(state.root) + state.size
            close(state, space, trial.block, trial.item, trial.made)
            noise = roll(board, 6)
            largest_only = roll(board, 2) == 1 or local
            done = add_reviews(state, space, board, trial, noise, largest_only, False, size)
            # Every eighth complete plan is pruned, and fewer where that takes long.
            sides = 8
            if local:
                sides = 64
            if done and roll(board, sides) == 0:
                prune(start, state, space, board, trial, keep)
            # The board follows the plan that is kept: loads of the other are returned.
            if done:
                if trial.made < size:
                    gained += 1
                rewrite(moves, trial)
            else:
                for place in range(trial.made):
                    use(board, trial.reviewer[place], trial.item[place], -1)
                for place in range(size):
                    use(board, moves.reviewer[place], moves.item[place], 1)
    return gained


def finishing_pairs(state: Structure, space: Growth, left: IntArray, right: IntArray) -> int:
    """List pairs of blocks that share an item and cover all items once joined; return their number."""
    count = 0
    n_items = len(state.first)
    with cython.nogil:
        drop_anchor(state, space)
        for thing in range(n_items):
            near = blocks_of(state, space, thing)
            for x in range(near):
                for y in range(x):
                    a = space.near[x]
                    b = space.near[y]
                    if count < len(left) and try_join(state, space, a, b) == n_items:
                        left[count] = a
                        right[count] = b
                        count += 1
    return count
