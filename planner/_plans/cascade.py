"""Planning by cascades: add the review after which a block grows largest, until one block covers all items.

A review that joins two blocks sharing one item may be by either side, of any item of the other: all give the same
block. So the search chooses pairs of blocks first, and then a reviewer who may read an item. The kernels come first,
then the search for *double*, plans that survive losses, and replacements for single reviews.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs, with_extra
from planner._plans.structure import (
    COUNT,
    ITEMS,
    KEPT,
    MARK,
    NAME,
    NEAR_STAMP,
    STAMP,
    STATE,
    STEPS,
    Board,
    Growth,
    Moves,
    Structure,
    close,
    copy_structure,
    covers_item,
    drop_anchor,
    enter,
    find_block,
    grow,
    has_grown,
    largest,
    new_moves,
    restore,
    settle,
    settle_trial,
    try_join,
)
from planner._plans.task import CALL, READ, after_loss, looked_at, minimal
from reviewgraph._base import Clock
from reviewgraph.graph import connected_components, kernel

if TYPE_CHECKING:
    from planner._plans.target import Ledger, Target
    from planner._plans.task import Left, Loss, Losses, Task
    from reviewgraph._base import Clock, IntArray


#: Reviewers of a block compared by their extra loads before one is chosen.
FEW = 64
#: Gain of a join with the largest block: unknown, or to be computed again.
UNKNOWN = -2
STALE = -1
#: Entries, and reviews of a plan, from which a cascade grows the largest block only, after its first step.
LOCAL_FROM = 20_000
LONG = 300
#: What ``local`` is for a cascade that grows the largest block only and was stopped, instead of 1.
RESUMED = 2


@kernel
def roll(dice: IntArray, sides: int) -> int:
    """Random number 0..sides-1 (a linear congruence, its high bits)."""
    dice[STATE] = (dice[STATE] * 1103515245 + 12345) & 0x7FFFFFFF
    return int(((dice[STATE] >> 8) * sides) >> 23)


@kernel
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
    return bool(low == end or board.barred[low] != item)


@kernel
def reader(state: Structure, board: Board, block: int, item: int) -> int:
    """Least loaded of the first few reviewers of a block who may read an item, or -1."""
    # The reviewers of each part from a random one on, so that no index is chosen more often than others.
    part = find_block(state.root, block)
    best = -1
    looked = 0
    while part >= 0 and looked < FEW:
        low = board.member_start[part]
        high = board.member_start[part + 1]
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
    """Review that gives either of two blocks an item of the other, the smaller block first; or (-1, -1)."""
    if state.cover[a] > state.cover[b]:
        a, b = b, a
    reviewer, item = review_across(state, board, b, a)
    if reviewer < 0:
        reviewer, item = review_across(state, board, a, b)
    return reviewer, item


@kernel
def best_join(state: Structure, space: Growth, board: Board, noise: int) -> tuple[int, int, int, int]:
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
    for thing in range(state.first.size):
        count = blocks_of(state, space, thing)
        for x in range(count):
            for y in range(x):
                a = space.near[x]
                b = space.near[y]
                value = try_join(state, space, a, b) * 64 + roll(board.dice, 64 * noise + 8)
                if value > best:
                    j, i = review_between(state, board, a, b)
                    if j >= 0:
                        best = value
                        reviewer = j
                        item = i
                        left = a
                        right = b
    return reviewer, item, left, right


@kernel
def best_join_of_largest(
    state: Structure, space: Growth, board: Board, noise: int, begun: bool
) -> tuple[int, int, int, int]:
    """Do as :func:`best_join`, one of the two being the largest block; -1 four times also if it is one reviewer.

    With ``begun`` this block has grown by such a join since the last call, and the gains of most joins are still valid.
    """
    old = space.extent[STAMP]
    main = space.anchor[NAME] if begun and space.anchor[KEPT] == 1 else drop_anchor(state, space)
    if state.part[main] < 0:
        return -1, -1, -1, -1
    if not begun:
        for b in range(state.root.size):
            space.gain[b] = UNKNOWN
    # A block that has come to share an item with the largest one may help those that share other items with it.
    for b in range(state.root.size):
        if space.touch[b] >= 0 and space.gain[b] == UNKNOWN and b != main and state.cover[b] > 1:
            space.blur[b] = roll(board.dice, 64 * noise + 8)
            space.gain[b] = STALE
            if begun:
                mark_neighbours(state, space, b)
    for b in range(state.root.size):
        if space.touch[b] >= 0 and space.gain[b] == STALE and weigh(state, space, b) == state.first.size:
            break
    # Other gains fall as the largest block takes in their items: the best is weighed again until it stays the best.
    while True:
        best = -1
        most = -1
        space.extent[STEPS] += state.root.size
        for b in range(state.root.size):
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


@kernel
def mark_neighbours(state: Structure, space: Growth, block: int) -> None:
    """Mark for weighing the joins of blocks that share one item with a block and another with the anchor."""
    entry = state.head[block]
    while entry >= 0:
        beside = state.first[state.item[entry]] if space.inside[state.item[entry]] != space.anchor[MARK] else -1
        while beside >= 0:
            neighbour = find_block(state.root, state.block[beside])
            if space.gain[neighbour] >= 0:
                space.gain[neighbour] = STALE
            beside = state.beside[beside]
        entry = state.after[entry]


@kernel
def weigh(state: Structure, space: Growth, block: int) -> int:
    """Note the gain of joining a block to the anchor, in 64ths of an item, blurred; return the joint cover size."""
    covers = try_join(state, space, space.anchor[NAME], block)
    space.gain[block] = (covers - state.cover[space.anchor[NAME]]) * 64 + space.blur[block]
    space.weighed[block] = space.extent[STAMP]
    return covers


@kernel
def blocks_of(state: Structure, space: Growth, thing: int) -> int:
    """List in ``near`` the distinct blocks that cover an item and at least one more; return their number."""
    space.anchor[NEAR_STAMP] += 1
    count = 0
    entry = state.first[thing]
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

    The fallback when no two blocks that share an item can be joined: disconnected pieces, unreviewed items, reviewers
    without spare load.
    """
    main = 0
    for block in range(state.root.size):
        if state.root[block] == block and state.cover[block] > state.cover[main]:
            main = block
    # An item that the largest block lacks, preferably one of a large block, with which it then shares it.
    best = -1
    reviewer = -1
    item = -1
    for thing in range(state.first.size):
        if board.room[thing] <= 0 or covers_item(state, main, thing):
            continue
        value = 0
        entry = state.first[thing]
        while entry >= 0:
            value = max(value, state.cover[find_block(state.root, state.block[entry])])
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
                    best = value
                    reviewer = j
                    item = i
    return reviewer, item


@kernel
def cascade(state: Structure, space: Growth, board: Board, moves: Moves, noise: int, local: int, most: int) -> bool:
    """Add reviews until one block covers all items; false if none can be added or ``most`` are not enough.

    A cascade that stopped at ``most`` may be continued; ``local`` is then ``RESUMED`` if nothing else used the working
    space since.
    """
    # The structure is closed at the head of the loop; one review makes one block grow, which closes it again.
    n_items = state.first.size
    begun = local == RESUMED and space.anchor[KEPT] == 1
    while largest(state) < n_items:
        space.extent[STEPS] += state.root.size
        if moves.length[COUNT] >= most:
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
        if begun and state.entries[COUNT] >= LOCAL_FROM:
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
        space.anchor[KEPT] = 0
    return True


@kernel
def follow(state: Structure, space: Growth, board: Board, moves: Moves, left: IntArray, right: IntArray) -> None:
    """Make joins of blocks while there is room, skipping those that are implied or that nobody may make."""
    for k in range(left.size):
        a = find_block(state.root, left[k])
        b = find_block(state.root, right[k])
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
    place = moves.length[COUNT]
    moves.block[place] = board.home[reviewer]
    moves.item[place] = item
    moves.reviewer[place] = reviewer
    moves.length[COUNT] = place + 1
    use(board, reviewer, item, 1)


@kernel
def rewrite(moves: Moves, source: Moves) -> None:
    """Copy another plan into this one."""
    moves.length[COUNT] = source.length[COUNT]
    for place in range(source.length[COUNT]):
        moves.reviewer[place], moves.item[place] = source.reviewer[place], source.item[place]
        moves.block[place] = source.block[place]


@kernel
def use(board: Board, reviewer: int, item: int, times: int) -> None:
    """Take a review from the spare loads and limits; ``times`` = -1 returns it."""
    board.load[reviewer] += times
    board.spare[reviewer] -= times
    board.room[item] -= times
    for place in range(board.group_start[reviewer], board.group_start[reviewer + 1]):
        board.free[item, board.group[place]] -= times


@kernel
def drop_moves(board: Board, moves: Moves, keep: IntArray) -> None:
    """Remove the reviews whose ``keep`` is 0."""
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
    """Remove reviews that the target does not need, one at a time, starting at a random place."""
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
    """Set ``keep`` to 0 for reviews that the target does not need, from turn ``first`` up to ``last``."""
    size = moves.length[COUNT]
    n_items = start.first.size
    # Invariant: the reviews marked in ``keep`` reach the target.
    for turn in range(first, last):
        place = (turn + shift) % size
        keep[place] = 0
        restore(state, start)
        space.extent[STEPS] += state.root.size + size
        most = 0
        before = space.extent[STAMP]
        for kept in range(size):
            if keep[kept] and not covers_item(state, moves.block[kept], moves.item[kept]):
                enter(state, moves.block[kept], moves.item[kept])
        for kept in range(size):
            if keep[kept] and most < n_items and not has_grown(state, space, moves.block[kept], before):
                grow(state, space, moves.block[kept], moves.block[kept])
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
    """Remove some reviews and complete the plan again, ``rounds`` times, unless it gets longer; return the gains."""
    gained = 0
    for _ in range(rounds):
        size = moves.length[COUNT]
        if size < 2:
            break
        # Remove up to twelve reviews: anywhere, or consecutive ones, which joined neighbours.
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
        # Complete the others by another cascade, which may not be longer.
        rewrite(trial, moves)
        drop_moves(board, trial, keep)
        restore(state, start)
        space.extent[STEPS] += state.root.size + state.entries[COUNT]
        close(state, space, trial.block, trial.item, trial.length[COUNT])
        done = cascade(state, space, board, trial, roll(board.dice, 6), local | roll(board.dice, 2), size)
        if done and roll(board.dice, 64 if local else 8) == 0:
            prune(start, state, space, board, trial, keep)
        # The board follows the plan that is kept: loads of the other are returned.
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
    """List pairs of blocks that share an item and cover all items once joined; return their number."""
    count = 0
    n_items = state.first.size
    drop_anchor(state, space)
    for thing in range(n_items):
        near = blocks_of(state, space, thing)
        for x in range(near):
            for y in range(x):
                a = space.near[x]
                b = space.near[y]
                if count < left.size and try_join(state, space, a, b) == n_items:
                    left[count] = a
                    right[count] = b
                    count += 1
    return count


# Good plans for the target *double*, an anytime method: a cascade, then removing reviews and completing the plan again.

#: Reviews added between two readings of the clock at most.
AT_ONCE = 16
#: Entries from which the first plan does: as short as one from all joins, and made ten to thirty times as fast.
FIRST_LOCAL_FROM = 1_000


@dataclass
class Search:
    """Plan in the making.

    ``board`` and ``moves`` hold the remaining loads and limits and the chosen reviews, ``trial`` another plan derived
    from this one, ``state`` the structure with the reviews, and ``keep`` (P,) marks the reviews to keep.
    """

    task: Task
    board: Board
    moves: Moves
    trial: Moves
    state: Structure
    keep: IntArray

    @property
    def pairs(self) -> IntArray:
        return self.moves.pairs


def new_search(task: Task, length: int, seed: int = 0) -> Search:
    """Return an empty plan with room for ``length`` reviews."""
    moves = new_moves(length + 1)
    trial = new_moves(length + 1)
    keep = np.zeros(length + 1, np.int64)
    return Search(task, task.board(seed), moves, trial, copy_structure(task.start), keep)


def begin(
    task: Task, length: int, seed: int, noise: int = 0, clock: Clock | None = None, grace: float = 0.0
) -> tuple[Search, bool]:
    """Plan by one cascade; return the plan and whether it reaches the target.

    Each step joins the two blocks whose union grows largest (except in small tables, from the second step on, the
    largest block and another), with sizes blurred by up to ``noise`` items. The clock is read now and then; the cascade
    stops when it is over, but may take ``grace`` seconds and work once its kernel is loaded. In small tables time is of
    the order of the plan's length times the pairs of blocks that share an item.
    """
    search = new_search(task, length, seed)
    step = 1
    late = None
    extend = task.form(cascade)
    from_first = task.start.size >= FIRST_LOCAL_FROM
    while True:
        size = search.moves.made
        # How often the clock is read depends on the work, not on the machine: the plan is the same everywhere.
        most = min(size + step, length, LONG if size < LONG else length)
        resumed = RESUMED if size else 1
        local = resumed if from_first or size >= LONG else 0
        done = extend(search.state, task.space, search.board, search.moves, noise, local, most)
        work = task.worked()
        step = 1 if work > Clock.LOOK else min(2 * step, AT_ONCE)
        if clock is not None:
            (late or clock).spend(work)
            late = late or (clock.no_less_than(grace) if clock.over() else None)
        if done or search.moves.made < most or most == length or (late is not None and late.over()):
            return search, bool(done)


def is_local(task: Task) -> int:
    """Whether a cascade grows the largest block only, as kernels take it."""
    return int(task.start.size >= LOCAL_FROM)


def prune_search(search: Search, clock: Clock) -> None:
    """Remove reviews that are not needed, as far as time allows; the target stays reached."""
    task = search.task
    size = search.moves.made
    if not task.has_time(unmark):
        return
    shift = task.form(roll)(search.board.dice, size) if size else 0
    search.keep[:size] = 1
    for turn in range(size):
        if clock.over():
            break
        form = task.form(unmark)
        form(task.start, search.state, task.space, search.moves, search.keep, shift, turn, turn + 1)
        clock.spend(task.worked())
    task.form(drop_moves)(search.board, search.moves, search.keep)


def improve_search(search: Search, rounds: int) -> bool:
    """Remove some reviews and complete the plan again, ``rounds`` times; true if the plan became shorter."""
    task = search.task
    plan = (search.state, task.space, search.board, search.moves, search.trial, search.keep)
    return int(task.form(improve)(task.start, *plan, is_local(task), rounds)) > 0


# A few reviews that grow one group, as starts if a complete plan is out of reach.

#: Cascades tried, with increasing randomness.
CASCADES = 8


def cascades(task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
    """Yield cascades that stop after ``most`` reviews, each more random than the one before."""
    for seed in range(CASCADES):
        yield begin(task, most, seed, 4 * seed, clock)[0].pairs[:most]
        if clock.over():
            return


def joined_pieces(task: Task, most: int, clock: Clock) -> IntArray:
    """Join the largest piece to the next largest allowed ones, one review each, while time is left."""
    pieces = connected_components(with_extra(task.constraints.reviews, task.constraints.fixed))
    left = task.left(no_pairs())
    sizes = np.diff(pieces.cover_start)
    order = np.argsort(-sizes, kind="stable").tolist()
    main = order[:1]
    chosen = list[tuple[int, int]]()
    for piece in order[1:]:
        if len(chosen) == most or clock.over():
            break
        pair = _link(task, pieces.labels, pieces.item_labels, main, piece, left)
        if pair is not None:
            chosen.append(pair)
            left.take(*pair)
            main.append(piece)
    return as_pairs(chosen)


def _link(task: Task, who: IntArray, what: IntArray, main: list[int], piece: int, left: Left) -> tuple[int, int] | None:
    """Find a review by one of two sides of an item of the other."""
    for readers, items in ((main, [piece]), ([piece], main)):
        things = np.flatnonzero(np.isin(what, items) & (left.room > 0)).tolist()
        for j in np.flatnonzero(np.isin(who, readers) & (left.spare > 0)).tolist():
            for i in things:
                if left.open(j, i) and task.constraints.may_read(j, i):
                    return j, i
    return None


# Plans that survive losses: a greedy by scenarios, then removing reviews and repairing the plan.
#
# 1. Find the losses after which the level fails; treat them one after the other.
# 2. If it still fails, plan the joins of the remaining groups, with the lost pairs as conflicts, and add them.
# 3. Repeat until no loss fails: a planned review may be lost as well.
# 4. Remove the reviews without which no loss fails either.
#
# More reviews never harm, so each step keeps the earlier repairs.

#: Items by which sizes are blurred when plans are repaired after a removal.
BLUR = 4
#: Largest share of a plan that is removed at once.
SHARE = 0.4
#: Reviews by which a repaired plan may be longer before it is pruned.
SLACK = 2


@dataclass(frozen=True)
class Repairer:
    """Repairs plans that fail after some loss; ``rng`` orders the losses and chooses the reviews removed."""

    task: Task
    target: Target
    losses: Losses
    rng: np.random.Generator
    clock: Clock

    def survives(self, pairs: IntArray) -> bool:
        """Whether the level survives every loss; false if time is over first."""
        return self.target.reaches_in_time(self.task.table(pairs), self.clock)

    def repaired(self, pairs: IntArray, blur: int = 0) -> IntArray | None:
        """Add reviews until the level survives every loss; None if a loss cannot be repaired, or time is over."""
        while True:
            try:
                failing = self.losses.failing(self.task.table(pairs), self.clock)
            except Clock.Over:
                return None
            if not failing:
                return pairs
            for place in self.rng.permutation(len(failing)).tolist():
                more = self._joins(pairs, failing[place], blur)
                if more is None or self.clock.over():
                    return None
                pairs = np.concatenate([pairs, more])

    def _joins(self, pairs: IntArray, loss: Loss, blur: int) -> IntArray | None:
        """Plan the joins that repair a loss; none if others have repaired it."""
        left = after_loss(self.task, pairs, loss)
        self.clock.spend(looked_at(left.constraints.reviews))
        if left.is_done:
            return pairs[:0]
        seed = int(self.rng.integers(2**31))
        search, done = begin(left, left.start.room, seed, blur, self.clock)
        if not done:
            return None
        prune_search(search, self.clock)
        return search.pairs

    def pruned(self, pairs: IntArray) -> IntArray:
        """Remove reviews that are not needed, the dearest first, then by position."""
        costs = [self.task.constraints.whole_cost_of(j, i) for j, i in pairs.tolist()]
        places = sorted(range(len(pairs)), key=lambda place: -costs[place])
        return minimal(pairs, places, self.survives, lambda count: not self.clock.over())

    def improve(self, ledger: Ledger) -> None:
        """Remove some reviews and repair the plan, until plan and bound meet or time is over."""
        pairs = ledger.pairs
        while pairs is not None and len(pairs) > 1 and not ledger.closed and ledger.in_time:
            out = int(self.rng.integers(1, max(2, int(SHARE * len(pairs)) + 1)))
            kept = pairs[np.sort(self.rng.permutation(len(pairs))[out:])]
            repaired = self.repaired(kept, BLUR)
            if repaired is not None and len(repaired) <= len(pairs) + SLACK:
                repaired = self.pruned(repaired)
                # Plans of equal length are accepted as well: they may lead to shorter ones.
                pairs = repaired if len(repaired) <= len(pairs) else pairs
                ledger.offer(pairs)


# Replacements for a review of a plan: for a reviewer who declines, for lower costs, for smaller loads.

#: Maximum numbers of pairs of blocks, and of pairs of a reviewer and an item.
MOST_BLOCKS = 2_000
MOST_PAIRS = 20_000
#: Passes over a plan in search of cheaper or lighter reviews.
PASSES = 3


def substitutes(task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
    """Return allowed pairs that can replace review number ``place`` of a plan: cheapest, then lightest, first."""
    rest = np.delete(pairs, place, axis=0)
    state = task.after(rest)
    left = task.left(rest)
    load = task.spare - left.spare
    members: dict[int, list[int]] = {}
    for reviewer, block in enumerate(task.block_labels(state)[task.home].tolist()):
        members.setdefault(block, []).append(reviewer)
    replacements: set[tuple[int, int]] = set()
    for block, item in _finishing(task, state):
        if left.room[item] > 0:
            may_read = task.constraints.may_read
            replacements |= {(j, item) for j in members[block] if left.open(j, item) and may_read(j, item)}
            if len(replacements) > MOST_PAIRS:
                break
    clock.spend(CALL + READ * task.start.size + task.worked())
    replacements.discard((int(pairs[place, 0]), int(pairs[place, 1])))
    cost = task.constraints.whole_cost_of
    return sorted(replacements, key=lambda pair: (cost(*pair), load[pair[0]], pair))


def _finishing(task: Task, state: Structure) -> list[tuple[int, int]]:
    """Return (block, item) pairs after which one block covers all items."""
    covers: dict[int, set[int]] = {}
    for block, item in zip(state.block[: state.size].tolist(), state.item[: state.size].tolist(), strict=True):
        covers.setdefault(find_block.python(state.root, block), set()).add(item)
    left, right = np.empty((2, MOST_BLOCKS), np.int64)
    count = task.form(finishing_pairs)(state, task.space, left, right)
    chosen: dict[tuple[int, int], None] = {}
    for a, b in zip(left[:count].tolist(), right[:count].tolist(), strict=True):
        for reader, source in ((a, b), (b, a)):
            chosen.update(dict.fromkeys((reader, item) for item in sorted(covers[source] - covers[reader])))
    for block, cover in covers.items():
        if len(cover) == task.n_items - 1:
            (item,) = set(range(task.n_items)) - cover
            chosen[block, item] = None
    return list(chosen)


def polish(task: Task, pairs: IntArray, clock: Clock, most: float) -> IntArray:
    """Exchange reviews one at a time for cheaper ones, then for ones that lower the largest extra load.

    ``pairs`` (P, 2) reach the target; replacements are looked for at most ``most`` times.
    """
    tried = 0
    for _ in range(PASSES):
        changed = False
        for place in range(len(pairs)):
            load = task.loads(pairs)
            # Only a cheaper replacement, or one that lowers the largest load, is a gain.
            if not task.constraints.cost and not load[pairs[place, 0]] == load.max() > 1:
                continue
            if tried >= most or clock.over():
                return pairs
            tried += 1
            better = _better(task, pairs, place, load, clock)
            if better is not None:
                pairs = pairs.copy()
                pairs[place] = better
                changed = True
        if not changed:
            break
    return pairs


def _better(task: Task, pairs: IntArray, place: int, load: IntArray, clock: Clock) -> tuple[int, int] | None:
    """Find a cheaper replacement, or one as cheap that moves a review off the largest load."""
    reviewer = int(pairs[place, 0])
    now = task.constraints.price_of(pairs[place : place + 1])
    most = int(load.max())
    for pair in substitutes(task, pairs, place, clock):
        price = task.constraints.price_of(np.array([pair]))
        lighter = load[reviewer] == most and load[pair[0]] + 1 < most
        if price < now or (price == now and lighter):
            return pair
        if price > now:
            break
    return None
