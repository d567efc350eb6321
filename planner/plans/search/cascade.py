"""Kernels that plan by cascades: add the review after which a block grows largest, until one block covers all.

A review that joins two blocks sharing one item may be read on either side, about any item of the other: all give
the same block. So the search chooses pairs of blocks first, and then a reviewer who may read an item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.growth import (
    COUNT,
    ITEMS,
    MARK,
    NAME,
    NEAR_STAMP,
    STAMP,
    STEPS,
    Growth,
    Structure,
    close,
    covers_item,
    drop_anchor,
    enter,
    find_block,
    grow,
    has_grown,
    largest,
    restore,
    settle,
    try_join,
)
from planner.plans.model.moves import STATE, Board, Moves
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


#: Reviewers of a block compared by their extra loads before one is asked.
FEW = 64
#: What a join with the largest block brings: not known, or to be told anew.
UNKNOWN, ASKED = -2, -1


@kernel
def roll(dice: IntArray, sides: int) -> int:
    """Random number 0..sides-1 (a linear congruence, its high bits)."""
    dice[STATE] = (dice[STATE] * 1103515245 + 12345) & 0x7FFFFFFF
    return int(((dice[STATE] >> 8) * sides) >> 23)


@kernel
def may_read(board: Board, reviewer: int, item: int) -> bool:
    """Whether a reviewer has spare load, the item room and places for her groups, and nothing bars the pair."""
    if board.spare[reviewer] <= 0 or board.room[item] <= 0:
        return False
    for place in range(board.group_start[reviewer], board.group_start[reviewer + 1]):
        if board.free[item, board.group[place]] <= 0:
            return False
    # Bisection: everything before ``low`` is smaller than the item, nothing from ``high`` on is.
    low, end = board.barred_start[reviewer], board.barred_start[reviewer + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if board.barred[middle] < item:
            low = middle + 1
        else:
            high = middle
    return bool(low == end or board.barred[low] != item)


@kernel
def reader(state: Structure, board: Board, block: int, item: int) -> int:
    """Reviewer of a block who may read an item, the least loaded of the first few, or -1."""
    # The reviewers of each part from a random one on, so that no index is asked more often than others.
    part, best, looked = find_block(state.root, block), -1, 0
    while part >= 0 and looked < FEW:
        low, high = board.member_start[part], board.member_start[part + 1]
        shift = roll(board.dice, high - low) if high - low > 1 else 0
        for place in range(high - low):
            reviewer = board.member[low + (place + shift) % (high - low)]
            if may_read(board, reviewer, item):
                looked += 1
                if best < 0 or board.load[reviewer] < board.load[best]:
                    best = reviewer
                if board.load[best] == 0:
                    return best
        part = state.part[part]
    return best


@kernel
def review_across(state: Structure, board: Board, a: int, b: int) -> tuple[int, int]:
    """Review by a member of block a of an item that only b covers, or (-1, -1)."""
    entry = state.head[find_block(state.root, b)]
    while entry >= 0:
        item = state.item[entry]
        if board.room[item] > 0 and not covers_item(state, a, item):
            reviewer = reader(state, board, a, item)
            if reviewer >= 0:
                return reviewer, item
        entry = state.after[entry]
    return -1, -1


@kernel
def review_between(state: Structure, board: Board, a: int, b: int) -> tuple[int, int]:
    """Review that gives either of two blocks an item of the other, the smaller one first; or (-1, -1)."""
    if state.cover[a] > state.cover[b]:
        a, b = b, a
    reviewer, item = review_across(state, board, b, a)
    if reviewer < 0:
        reviewer, item = review_across(state, board, a, b)
    return reviewer, item


@kernel
def best_join(state: Structure, space: Growth, board: Board, noise: int) -> tuple[int, int, int, int]:
    """Two blocks that share an item and grow largest when joined, and a review that joins them; or -1 four times.

    The size is blurred by up to ``noise`` items.
    """
    # Sizes are told in 64ths, so that the last digits break ties at random even without noise.
    best, reviewer, item, left, right = -1, -1, -1, -1, -1
    drop_anchor(state, space)
    # Every two blocks that share an item; a pair is only kept if somebody may write the review that joins it.
    for thing in range(state.first.size):
        count = blocks_of(state, space, thing)
        for x in range(count):
            for y in range(x):
                a, b = space.near[x], space.near[y]
                value = try_join(state, space, a, b) * 64 + roll(board.dice, 64 * noise + 8)
                if value > best:
                    j, i = review_between(state, board, a, b)
                    if j >= 0:
                        best, reviewer, item, left, right = value, j, i, a, b
    return reviewer, item, left, right


@kernel
def best_beside(state: Structure, space: Growth, board: Board, noise: int, begun: bool) -> tuple[int, int, int, int]:
    """Find the same where one of the two is the largest block; -1 four times also where that is one reviewer.

    With ``begun`` this block has grown by such a join since it was last asked for: what most joins bring is known then.
    """
    old, main = space.extent[STAMP], drop_anchor(state, space)
    if state.part[main] < 0:
        return -1, -1, -1, -1
    if not begun:
        space.gain[:] = UNKNOWN
    # A block that has come to share an item with the largest one may help those that share other items with it.
    for b in range(state.root.size):
        if space.touch[b] >= 0 and space.gain[b] == UNKNOWN and b != main and state.cover[b] > 1:
            space.gain[b], space.blur[b] = ASKED, roll(board.dice, 64 * noise + 8)
            if begun:
                ask_around(state, space, b)
    for b in range(state.root.size):
        if space.touch[b] >= 0 and space.gain[b] == ASKED and weigh(state, space, b) == state.first.size:
            break
    # Other gains fall, as the largest block takes in what they would bring: the best is weighed until it stays so.
    while True:
        best, most = -1, -1
        space.extent[STEPS] += state.root.size
        for b in range(state.root.size):
            if space.gain[b] > most and space.touch[b] >= 0 and b != main:
                best, most = b, space.gain[b]
        if best < 0:
            return -1, -1, -1, -1
        if space.weighed[best] <= old:
            weigh(state, space, best)
            continue
        reviewer, item = review_between(state, board, main, best)
        if reviewer >= 0:
            return reviewer, item, main, best
        space.gain[best] = UNKNOWN


@kernel
def ask_around(state: Structure, space: Growth, block: int) -> None:
    """Let the joins of those blocks be weighed anew that share an item with a block and another with the anchor."""
    entry = state.head[block]
    while entry >= 0:
        beside = state.first[state.item[entry]] if space.inside[state.item[entry]] != space.anchor[MARK] else -1
        while beside >= 0:
            other = find_block(state.root, state.block[beside])
            if space.gain[other] >= 0:
                space.gain[other] = ASKED
            beside = state.beside[beside]
        entry = state.after[entry]


@kernel
def weigh(state: Structure, space: Growth, block: int) -> int:
    """Note what a join with a block brings the anchor, in 64ths of an item, blurred; returns what both then cover."""
    covers = try_join(state, space, space.anchor[NAME], block)
    space.gain[block] = (covers - state.cover[space.anchor[NAME]]) * 64 + space.blur[block]
    space.weighed[block] = space.extent[STAMP]
    return covers


@kernel
def blocks_of(state: Structure, space: Growth, thing: int) -> int:
    """List the distinct blocks that cover an item and one item more in ``near``; returns how many."""
    space.anchor[NEAR_STAMP] += 1
    count, entry = 0, state.first[thing]
    while entry >= 0:
        block = find_block(state.root, state.block[entry])
        if state.cover[block] > 1 and space.near_mark[block] != space.anchor[NEAR_STAMP]:
            space.near_mark[block] = space.anchor[NEAR_STAMP]
            space.near[count] = block
            count += 1
        entry = state.beside[entry]
    space.extent[STEPS] += count
    return count


@kernel
def reach_out(state: Structure, board: Board) -> tuple[int, int]:
    """Review by the largest block of an item it lacks, of a large block if possible; or the other way round.

    The way on when no two blocks that share an item can be joined: disconnected pieces, items nobody reviews,
    reviewers without spare load.
    """
    main = 0
    for block in range(state.root.size):
        if state.root[block] == block and state.cover[block] > state.cover[main]:
            main = block
    # An item that the largest block lacks, preferably one of a large block, with which it then shares it.
    best, reviewer, item = -1, -1, -1
    for thing in range(state.first.size):
        if board.room[thing] <= 0 or covers_item(state, main, thing):
            continue
        value, entry = 0, state.first[thing]
        while entry >= 0:
            value = max(value, state.cover[find_block(state.root, state.block[entry])])
            entry = state.beside[entry]
        if value > best:
            j = reader(state, board, main, thing)
            if j >= 0:
                best, reviewer, item = value, j, thing
    if reviewer >= 0:
        return reviewer, item
    # Nobody in it may: let another block read one of its items, the larger and the more loads to spare the better.
    best = -1
    for block in range(state.root.size):
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
                    best, reviewer, item = value, j, i
    return reviewer, item


@kernel
def cascade(state: Structure, space: Growth, board: Board, moves: Moves, noise: int, local: int, most: int) -> bool:
    """Add reviews until one block covers all items; false when none can be added or ``most`` are not enough.

    A cascade that stopped at ``most`` may be continued.
    """
    # The structure is closed at the head of the loop; one review makes one block grow, which closes it again.
    n_items, beside = state.first.size, False
    while largest(state) < n_items:
        space.extent[STEPS] += state.root.size
        if moves.length[COUNT] >= most:
            return False
        reviewer, item, a, b = -1, -1, -1, -1
        if local:
            reviewer, item, a, b = best_beside(state, space, board, noise, beside)
        beside = reviewer >= 0
        if reviewer < 0:
            reviewer, item, a, b = best_join(state, space, board, noise)
        if reviewer < 0:
            reviewer, item = reach_out(state, board)
            if reviewer < 0:
                return False
        add_move(board, moves, reviewer, item)
        enter(state, board.home[reviewer], item)
        if a >= 0:
            grow(state, space, a, b)
        else:
            grow(state, space, board.home[reviewer], board.home[reviewer])
        settle(state, space)
    return True


@kernel
def follow(state: Structure, space: Growth, board: Board, moves: Moves, left: IntArray, right: IntArray) -> None:
    """Do joins of blocks, as far as there is room, leaving out those that are implied or that nobody may do."""
    for k in range(left.size):
        a, b = find_block(state.root, left[k]), find_block(state.root, right[k])
        if a == b or moves.length[COUNT] >= moves.reviewer.size:
            continue
        reviewer, item = review_between(state, board, a, b)
        if reviewer >= 0:
            add_move(board, moves, reviewer, item)
            enter(state, board.home[reviewer], item)
            grow(state, space, a, b)
            settle(state, space)


@kernel
def add_move(board: Board, moves: Moves, reviewer: int, item: int) -> None:
    """Write a review down and take it from the spare loads."""
    place = moves.length[COUNT]
    moves.reviewer[place], moves.item[place], moves.block[place] = reviewer, item, board.home[reviewer]
    moves.length[COUNT] = place + 1
    use(board, reviewer, item, 1)


@kernel
def rewrite(moves: Moves, other: Moves) -> None:
    """Write down the reviews of another plan instead."""
    moves.length[COUNT] = other.length[COUNT]
    for place in range(other.length[COUNT]):
        moves.reviewer[place], moves.item[place] = other.reviewer[place], other.item[place]
        moves.block[place] = other.block[place]


@kernel
def use(board: Board, reviewer: int, item: int, times: int) -> None:
    """Take a review from what is left; with ``times`` = -1 give it back."""
    board.load[reviewer] += times
    board.spare[reviewer] -= times
    board.room[item] -= times
    for place in range(board.group_start[reviewer], board.group_start[reviewer + 1]):
        board.free[item, board.group[place]] -= times


@kernel
def drop_moves(board: Board, moves: Moves, keep: IntArray) -> None:
    """Take back the reviews whose ``keep`` is 0."""
    # What is kept moves up; what is dropped gives its load and its room back.
    write = 0
    for place in range(moves.length[COUNT]):
        if keep[place]:
            moves.reviewer[write], moves.item[write] = moves.reviewer[place], moves.item[place]
            moves.block[write] = moves.block[place]
            write += 1
        else:
            use(board, moves.reviewer[place], moves.item[place], -1)
    moves.length[COUNT] = write


@kernel
def prune(start: Structure, state: Structure, space: Growth, board: Board, moves: Moves, keep: IntArray) -> None:
    """Remove reviews without which the plan still does it, one at a time, from a random place on."""
    size = moves.length[COUNT]
    if size == 0:
        return
    for place in range(size):
        keep[place] = 1
    unmark(start, state, space, moves, keep, roll(board.dice, size), 0, size)
    drop_moves(board, moves, keep)


@kernel
def unmark(
    start: Structure, state: Structure, space: Growth, moves: Moves, keep: IntArray, shift: int, first: int, last: int
) -> None:
    """Mark reviews in ``keep`` by 0 that the others do without, from the turn ``first`` up to ``last``."""
    size, n_items = moves.length[COUNT], start.first.size
    # The reviews marked in ``keep`` reach the target; one that they do without stays out for good.
    for turn in range(first, last):
        place = (turn + shift) % size
        keep[place] = 0
        restore(state, start)
        space.extent[STEPS] += state.root.size + size
        most, before = 0, space.extent[STAMP]
        for other in range(size):
            if keep[other] and not covers_item(state, moves.block[other], moves.item[other]):
                enter(state, moves.block[other], moves.item[other])
        for other in range(size):
            if keep[other] and most < n_items and not has_grown(state, space, moves.block[other], before):
                grow(state, space, moves.block[other], moves.block[other])
                most = max(most, space.extent[ITEMS])
                settle(state, space)
        if most < n_items:
            keep[place] = 1


@kernel
def improve(
    start: Structure,
    state: Structure,
    space: Growth,
    board: Board,
    moves: Moves,
    trial: Moves,
    keep: IntArray,
    local: int,
    rounds: int,
) -> int:
    """Take some reviews out and complete the plan anew, ``rounds`` times, keeping what is not longer.

    Returns how many rounds made the plan shorter.
    """
    gained = 0
    for _ in range(rounds):
        size = moves.length[COUNT]
        if size < 2:
            break
        # Take out up to twelve reviews: anywhere, or in a row, which are those that joined neighbours.
        out = 1 + roll(board.dice, min(size, 12))
        for place in range(size):
            keep[place] = 1
        if roll(board.dice, 2):
            for _ in range(out):
                keep[roll(board.dice, size)] = 0
        else:
            begin = roll(board.dice, size)
            for place in range(out):
                keep[(begin + place) % size] = 0
        # Complete what is left by another cascade, which may not be longer.
        rewrite(trial, moves)
        drop_moves(board, trial, keep)
        restore(state, start)
        space.extent[STEPS] += state.root.size + state.entries[COUNT]
        close(state, space, trial.block, trial.item, trial.length[COUNT])
        done = cascade(state, space, board, trial, roll(board.dice, 6), local | roll(board.dice, 2), size)
        if done and roll(board.dice, 64 if local else 8) == 0:
            prune(start, state, space, board, trial, keep)
        # The board follows the plan that stays: loads of the one that is given up are returned.
        if done:
            gained += int(trial.length[COUNT] < size)
            rewrite(moves, trial)
        else:
            for place in range(trial.length[COUNT]):
                use(board, trial.reviewer[place], trial.item[place], -1)
            for place in range(size):
                use(board, moves.reviewer[place], moves.item[place], 1)
    return gained


@kernel
def finishing_pairs(state: Structure, space: Growth, left: IntArray, right: IntArray) -> int:
    """List pairs of blocks that share an item and cover all items once joined; returns how many, at most the room."""
    count, n_items = 0, state.first.size
    drop_anchor(state, space)
    for thing in range(n_items):
        near = blocks_of(state, space, thing)
        for x in range(near):
            for y in range(x):
                a, b = space.near[x], space.near[y]
                if count < left.size and try_join(state, space, a, b) == n_items:
                    left[count], right[count] = a, b
                    count += 1
    return count
