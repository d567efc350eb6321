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
    from planner._plans.kernels.trials import blocks_of, close, drop_anchor, extend, keep_anchor, largest, try_join
    from reviewgraph.graph.kernels.pebbles import offer

if TYPE_CHECKING:
    from planner._plans.kernels.trials import Trial
    from reviewgraph._base import BoolArray, IntArray
    from reviewgraph.graph.kernels.blocks import Blocks
    from reviewgraph.graph.kernels.pebbles import Game

    Review = tuple[int, int]

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
    """Return a plan without reviews, with room for ``length`` of them."""
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


def reader(blocks: Blocks, board: Board, block: int, item: int) -> int:
    """Least loaded of the first few reviewers of a block who may read an item, or -1."""
    # The reviewers of each part from a random one on, so that no index is chosen more often than others.
    root = blocks.root_of(block)
    part = root
    best = -1
    looked = 0
    while True:
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
        part = blocks.fellow[part]
        if part == root or looked >= FEW:
            return best


def review_across(blocks: Blocks, board: Board, a: int, b: int) -> Review:
    """Review by a member of block a of an item that only block b covers, or (-1, -1); both are roots."""
    review = blocks.first[b]
    for _ in range(blocks.length[b]):
        item = blocks.item[review]
        if board.room[item] > 0 and blocks.bringer(a, item) < 0:
            reviewer = reader(blocks, board, a, item)
            if reviewer >= 0:
                return reviewer, item
        review = blocks.following[review]
    return -1, -1


def review_between(blocks: Blocks, board: Board, a: int, b: int) -> Review:
    """Review that gives either of two blocks an item of the other, the smaller block first; or (-1, -1)."""
    if blocks.covered[a] > blocks.covered[b]:
        a, b = b, a
    reviewer, item = review_across(blocks, board, b, a)
    if reviewer < 0:
        reviewer, item = review_across(blocks, board, a, b)
    return reviewer, item


def best_join(blocks: Blocks, trial: Trial, board: Board, noise: int) -> Review:
    """Return a review that joins the two blocks sharing an item whose union is largest, or (-1, -1).

    Sizes are blurred by up to ``noise`` items.
    """
    # Sizes are in 64ths, so that the last digits break ties at random even without noise.
    best = -1
    reviewer = -1
    item = -1
    drop_anchor(blocks, trial)
    # Every two blocks that share an item; a pair is only kept if somebody may write the review that joins it.
    for thing in range(len(blocks.degree)):
        count = blocks_of(blocks, trial, thing)
        for x in range(count):
            for y in range(x):
                a = trial.near[x]
                b = trial.near[y]
                value = try_join(blocks, trial, a, b) * 64 + roll(board, 64 * noise + 8)
                if value > best:
                    j, i = review_between(blocks, board, a, b)
                    if j >= 0:
                        best = value
                        reviewer = j
                        item = i
    return reviewer, item


def best_join_of_largest(blocks: Blocks, trial: Trial, board: Board, noise: int, begun: bool) -> Review:
    """Do as :func:`best_join`, one of the two being the largest block; (-1, -1) also if it is one reviewer.

    With ``begun`` this block has grown by such a join since the last call, and the gains of most joins are still valid.
    """
    n_blocks = len(blocks.parent)
    old = trial.stamp
    main = trial.anchor
    if not (begun and trial.kept):
        main = drop_anchor(blocks, trial)
    if blocks.fellow[main] == main:
        return -1, -1
    if not begun:
        for b in range(n_blocks):
            trial.gain[b] = UNKNOWN
    # A block that has come to share an item with the largest one may help those that share other items with it.
    for b in range(n_blocks):
        if trial.touch[b] >= 0 and trial.gain[b] == UNKNOWN and b != main and blocks.covered[b] > 1:
            trial.blur[b] = roll(board, 64 * noise + 8)
            trial.gain[b] = STALE
            if begun:
                mark_neighbours(blocks, trial, b)
    for b in range(n_blocks):
        if trial.touch[b] >= 0 and trial.gain[b] == STALE and weigh(blocks, trial, b) == len(blocks.degree):
            break
    # Other gains fall as the largest block takes in their items: the best is weighed again until it stays the best.
    while True:
        best = -1
        most = -1
        trial.steps += n_blocks
        for b in range(n_blocks):
            if trial.gain[b] > most and trial.touch[b] >= 0 and b != main:
                best = b
                most = trial.gain[b]
        if best < 0:
            return -1, -1
        if trial.weighed[best] <= old:
            weigh(blocks, trial, best)
            continue
        reviewer, item = review_between(blocks, board, main, best)
        if reviewer >= 0:
            return reviewer, item
        trial.gain[best] = UNKNOWN


def mark_neighbours(blocks: Blocks, trial: Trial, block: int) -> None:
    """Mark for weighing the joins of blocks that share one item with a block and another with the anchor."""
    review = blocks.first[block]
    for _ in range(blocks.length[block]):
        thing = blocks.item[review]
        holder = -1
        if trial.inside[thing] != trial.mark:
            holder = blocks.top[thing]
        while holder >= 0:
            neighbour = blocks.root_of(blocks.reviewer[holder])
            if trial.gain[neighbour] >= 0:
                trial.gain[neighbour] = STALE
            holder = blocks.beside[holder]
        review = blocks.following[review]


def weigh(blocks: Blocks, trial: Trial, block: int) -> int:
    """Note the gain of joining a block to the anchor, in 64ths of an item, blurred; return the joint cover size."""
    covers = try_join(blocks, trial, trial.anchor, block)
    trial.gain[block] = (covers - blocks.covered[trial.anchor]) * 64 + trial.blur[block]
    trial.weighed[block] = trial.stamp
    return covers


def reach_out(blocks: Blocks, board: Board) -> Review:
    """Review by the largest block of an item it lacks, of a large block if possible; or the other way round.

    The fallback when no two blocks that share an item can be joined: disconnected pieces, unreviewed items, reviewers
    without spare load.
    """
    main = largest(blocks)
    # An item that the largest block lacks, preferably one of a large block, with which it then shares it.
    best = -1
    reviewer = -1
    item = -1
    for thing in range(len(blocks.degree)):
        if board.room[thing] <= 0 or blocks.bringer(main, thing) >= 0:
            continue
        value = 0
        review = blocks.top[thing]
        while review >= 0:
            value = max(value, blocks.covered[blocks.root_of(blocks.reviewer[review])])
            review = blocks.beside[review]
        if value > best:
            j = reader(blocks, board, main, thing)
            if j >= 0:
                best = value
                reviewer = j
                item = thing
    if reviewer >= 0:
        return reviewer, item
    # Nobody in it may: let another block read one of its items, preferably a large one with much spare load.
    best = -1
    for block in range(len(blocks.parent)):
        if blocks.parent[block] == block and block != main:
            load = 0
            part = block
            while True:
                for place in range(board.member_start[part], board.member_start[part + 1]):
                    load = max(load, board.spare[board.member[place]])
                part = blocks.fellow[part]
                if part == block:
                    break
            value = blocks.covered[block] * 4 + min(load, 3)
            if load > 0 and value > best:
                j, i = review_across(blocks, board, block, main)
                if j >= 0:
                    best = value
                    reviewer = j
                    item = i
    return reviewer, item


def add_reviews(
    blocks: Blocks, trial: Trial, board: Board, moves: Moves, noise: int, local: bool, resumed: bool, most: int
) -> bool:
    """Add reviews until one block covers all items; false if none can be added or ``most`` are not enough.

    A cascade that is ``local`` grows the largest block only. One that stopped at ``most`` may be continued, and has
    ``resumed`` if nothing else used the working trial since.
    """
    n_items = len(blocks.degree)
    with cython.nogil:
        begun = resumed and trial.kept
        covered = blocks.covered[largest(blocks)]
        while covered < n_items:
            trial.steps += len(blocks.parent)
            if moves.made >= most:
                return False
            reviewer = -1
            item = -1
            if local:
                reviewer, item = best_join_of_largest(blocks, trial, board, noise, begun)
            begun = reviewer >= 0
            if reviewer < 0:
                reviewer, item = best_join(blocks, trial, board, noise)
            if reviewer < 0:
                reviewer, item = reach_out(blocks, board)
                if reviewer < 0:
                    return False
            add_move(board, moves, reviewer, item)
            before = blocks.n_trail
            covered = max(covered, extend(blocks, trial, board.home[reviewer], item))
            trial.kept = False
            if begun:
                keep_anchor(blocks, trial, before)
    return True


def follow(blocks: Blocks, trial: Trial, board: Board, moves: Moves, left: IntArray, right: IntArray) -> None:
    """Make joins of blocks while there is room, skipping those that are implied or that nobody may make."""
    with cython.nogil:
        for k in range(len(left)):
            a = blocks.root_of(left[k])
            b = blocks.root_of(right[k])
            if a == b or moves.made >= len(moves.reviewer):
                continue
            reviewer, item = review_between(blocks, board, a, b)
            if reviewer >= 0:
                add_move(board, moves, reviewer, item)
                extend(blocks, trial, board.home[reviewer], item)


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


def prune(blocks: Blocks, trial: Trial, board: Board, moves: Moves, keep: IntArray, start: int) -> None:
    """Remove reviews that the target does not need, one at a time, starting at a random place."""
    size = moves.made
    if size > 0:
        for place in range(size):
            keep[place] = 1
        unmark(blocks, trial, moves, keep, start, roll(board, size), 0, size)
        drop_moves(board, moves, keep)


def unmark(
    blocks: Blocks, trial: Trial, moves: Moves, keep: IntArray, start: int, shift: int, first: int, last: int
) -> None:
    """Set ``keep`` to 0 for reviews that the target does not need, from turn ``first`` up to ``last``.

    ``start`` is the length of the trail before the plan.
    """
    size = moves.made
    n_items = len(blocks.degree)
    with cython.nogil:
        # Invariant: the reviews marked in ``keep`` reach the target.
        for turn in range(first, last):
            place = (turn + shift) % size
            keep[place] = 0
            trial.steps += blocks.n_trail - start
            blocks.undo(start)
            most = 0
            for kept in range(size):
                if keep[kept] and most < n_items:
                    most = max(most, extend(blocks, trial, moves.block[kept], moves.item[kept]))
            if most < n_items:
                keep[place] = 1


def improve(
    blocks: Blocks, trial: Trial, board: Board, moves: Moves, retry: Moves, keep: IntArray, start: int, local: bool,
    rounds: int,
) -> int:  # fmt: skip
    """Remove some reviews and complete the plan again, ``rounds`` times, unless it gets longer; return the gains.

    ``start`` is the length of the trail before the plan.
    """
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
            rewrite(retry, moves)
            drop_moves(board, retry, keep)
            trial.steps += blocks.n_trail - start
            blocks.undo(start)
            close(blocks, trial, retry.block, retry.item, retry.made)
            noise = roll(board, 6)
            largest_only = roll(board, 2) == 1 or local
            done = add_reviews(blocks, trial, board, retry, noise, largest_only, False, size)
            # Every eighth complete plan is pruned, and fewer where that takes long.
            sides = 8
            if local:
                sides = 64
            if done and roll(board, sides) == 0:
                prune(blocks, trial, board, retry, keep, start)
            # The board follows the plan that is kept: loads of the other are returned.
            if done:
                if retry.made < size:
                    gained += 1
                rewrite(moves, retry)
            else:
                for place in range(retry.made):
                    use(board, retry.reviewer[place], retry.item[place], -1)
                for place in range(size):
                    use(board, moves.reviewer[place], moves.item[place], 1)
    return gained


def take_independent(
    game: Game, board: Board, body: IntArray, reviewer: IntArray, item: IntArray, taken: BoolArray, wanted: int
) -> int:
    """Take reviews in order that are independent in the count matroid, up to ``wanted``; returns their number.

    Review r is by a reviewer who is ``body[r]`` of the game; those that are taken are marked.
    """
    n_bodies = len(game.parent)
    count = 0
    with cython.nogil:
        for r in range(len(body)):
            if count == wanted:
                break
            if may_read(board, reviewer[r], item[r]) and offer(game, body[r], r, n_bodies + item[r]):
                taken[r] = True
                use(board, reviewer[r], item[r], 1)
                count += 1
    return count
