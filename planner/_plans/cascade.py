"""Planning by cascades: the search for *double*, plans that survive losses, and replacements for single reviews."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs, with_extra
from planner._plans.kernels.cascade import (
    Board,
    Moves,
    add_reviews,
    drop_moves,
    improve,
    may_read,
    new_moves,
    roll,
    unmark,
    use,
)
from planner._plans.kernels.trials import extend, leaving
from planner._plans.task import CALL, READ, Loss, Losses, Task, after_loss, allowed_pairs, looked_at, minimal
from reviewgraph._base import Clock, IntArray
from reviewgraph.graph import Blocks, connected_components

if TYPE_CHECKING:
    from planner._plans.target import Ledger, Target


# Good plans for the target *double*, an anytime method: a cascade, then removing reviews and completing the plan again.

#: Reviews added between two readings of the clock at most.
AT_ONCE = 16
#: Entries, and reviews of a plan, from which a cascade grows the largest block only.
LOCAL_FROM = 20_000
LONG = 300
#: Entries from which the first plan does: as short as one from all joins, and made ten to thirty times as fast.
FIRST_LOCAL_FROM = 1_000


@dataclass
class Search:
    """Plan in the making.

    ``board`` and ``moves`` hold the remaining loads and limits and the chosen reviews, ``retry`` another plan derived
    from this one, ``blocks`` those with the reviews, and ``keep`` (P,) marks the reviews to keep.
    """

    task: Task
    board: Board
    moves: Moves
    retry: Moves
    blocks: Blocks
    keep: IntArray

    @property
    def pairs(self) -> IntArray:
        return self.moves.pairs


def new_search(task: Task, length: int, seed: int = 0) -> Search:
    """Return an empty plan with room for ``length`` reviews."""
    moves = new_moves(length + 1)
    retry = new_moves(length + 1)
    keep = np.zeros(length + 1, np.int64)
    return Search(task, task.board(no_pairs(), seed), moves, retry, task.start.copy(), keep)


def begin(
    task: Task, length: int, seed: int, noise: int = 0, clock: Clock | None = None, grace: float = 0.0
) -> tuple[Search, bool]:
    """Plan by one cascade; return the plan and whether it reaches the target."""
    search = new_search(task, length, seed)
    return search, grow(search, length, noise, clock, grace)


def grow(search: Search, length: int, noise: int = 0, clock: Clock | None = None, grace: float = 0.0) -> bool:
    """Add reviews by a cascade, up to ``length`` in all, until the target is reached; whether it is.

    Each step joins the two blocks whose union grows largest (except in small tables, from the second step on, the
    largest block and another), with sizes blurred by up to ``noise`` items. The clock is read now and then; the cascade
    stops when it is over, but may take ``grace`` seconds and work. In small tables time is of the order of the plan's
    length times the pairs of blocks that share an item.
    """
    task = search.task
    step = 1
    late = None
    resumed = False
    from_first = task.start.size >= FIRST_LOCAL_FROM
    while True:
        size = search.moves.made
        # How often the clock is read depends on the work, not on the machine: the plan is the same everywhere.
        most = min(size + step, length, LONG if size < LONG else length)
        local = from_first or size >= LONG
        done = add_reviews(search.blocks, task.trial, search.board, search.moves, noise, local, resumed, most)
        resumed = True
        work = task.worked()
        step = 1 if work > Clock.LOOK else min(2 * step, AT_ONCE)
        if clock is not None:
            (late or clock).spend(work)
            late = late or (clock.no_less_than(grace) if clock.over() else None)
        if done or search.moves.made < most or most == length or (late is not None and late.over()):
            return done


def prune_search(search: Search, clock: Clock) -> None:
    """Remove reviews that are not needed, as far as time allows; the target stays reached."""
    task = search.task
    size = search.moves.made
    shift = roll(search.board, size) if size else 0
    search.keep[:size] = 1
    for turn in range(size):
        if clock.over():
            break
        unmark(search.blocks, task.trial, search.moves, search.keep, task.start.n_trail, shift, turn, turn + 1)
        clock.spend(task.worked())
    drop_moves(search.board, search.moves, search.keep)


def improve_search(search: Search, rounds: int) -> bool:
    """Remove some reviews and complete the plan again, ``rounds`` times; true if the plan became shorter."""
    task = search.task
    plan = (search.blocks, task.trial, search.board, search.moves, search.retry, search.keep)
    return improve(*plan, task.start.n_trail, task.start.size >= LOCAL_FROM, rounds) > 0


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
    board = task.board(no_pairs())
    sizes = np.diff(pieces.cover_start)
    order = np.argsort(-sizes, kind="stable").tolist()
    main = order[:1]
    chosen = list[tuple[int, int]]()
    for piece in order[1:]:
        if len(chosen) == most or clock.over():
            break
        pair = _link(pieces.labels, pieces.item_labels, main, piece, board)
        if pair is not None:
            chosen.append(pair)
            use(board, *pair, 1)
            main.append(piece)
    return as_pairs(chosen)


def _link(who: IntArray, what: IntArray, main: list[int], piece: int, board: Board) -> tuple[int, int] | None:
    """Find a review by one of two sides of an item of the other."""
    for readers, items in ((main, [piece]), ([piece], main)):
        things = np.flatnonzero(np.isin(what, items)).tolist()
        for j in np.flatnonzero(np.isin(who, readers) & (np.asarray(board.spare) > 0)).tolist():
            for i in things:
                if may_read(board, j, i):
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
        search, done = begin(left, left.most, seed, blur, self.clock)
        if not done:
            return None
        prune_search(search, self.clock)
        return search.pairs

    def pruned(self, pairs: IntArray) -> IntArray:
        """Remove reviews that are not needed, the dearest first, then by position."""
        costs = self.task.constraints.cost.whole(self.task.codes(pairs))
        places = np.argsort(-costs, kind="stable").tolist()
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


# Replacements for reviews of a plan, at lower costs or for smaller loads.

#: Pairs that are candidates, and that are tried in place of one review.
CANDIDATES_UP_TO = 3_000_000
TRIED = 20_000
#: Passes over a plan in search of cheaper or lighter reviews.
PASSES = 3
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a pair that is compared.
COMPARE = 1e-7


def polish(task: Task, pairs: IntArray, clock: Clock, most: float) -> IntArray:
    """Exchange reviews one at a time for cheaper ones, then for ones that lower the largest extra load.

    ``pairs`` (P, 2) reach the target; replacements are looked for at most ``most`` times.
    """
    if task.candidates_up_to > CANDIDATES_UP_TO:
        return pairs
    allowed = allowed_pairs(task)
    price = task.constraints.cost.whole(task.codes(allowed))
    order = np.argsort(price, kind="stable")
    offers = Offers(allowed[order], price[order])
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
            better = _better(task, pairs, place, offers, clock)
            if better is not None:
                pairs = pairs.copy()
                pairs[place] = better
                changed = True
        if not changed:
            break
    return pairs


class Offers(NamedTuple):
    """Allowed pairs (K, 2) by their ``price`` (K,), ascending."""

    pairs: IntArray
    price: IntArray


def _better(task: Task, pairs: IntArray, place: int, offers: Offers, clock: Clock) -> tuple[int, int] | None:
    """Find the cheapest replacement of a review, or one as cheap by somebody of a smaller load than the largest."""
    load = task.loads(pairs)
    now = task.constraints.price_of(pairs[place : place + 1])
    cheaper, as_cheap = np.searchsorted(offers.price, [now, now + 1]).tolist()
    better = np.arange(as_cheap) < cheaper
    if load[pairs[place, 0]] == load.max():
        better |= load[offers.pairs[:as_cheap, 0]] + 1 < load.max()
    candidates = offers.pairs[:as_cheap][better][:TRIED]
    # What the other reviews make, and whether one more finishes it.
    rest = np.delete(pairs, place, axis=0)
    blocks = task.after(rest)
    board = task.board(rest)
    block = task.home[candidates[:, 0]].astype(np.int64)
    leaves = np.zeros(len(candidates), np.int64)
    leaving(blocks, block, np.ascontiguousarray(candidates[:, 1]), leaves)
    root = blocks.labels()[block]
    before = blocks.n_trail
    failed: set[tuple[int, int]] = set()
    replacement = None
    for k in np.flatnonzero(leaves).tolist():
        j, i = candidates[k].tolist()
        if (root[k], i) in failed or not may_read(board, j, i):
            continue
        covered = extend(blocks, task.trial, block[k], i)
        blocks.undo(before)
        if covered == task.n_items:
            replacement = (j, i)
            break
        failed.add((root[k], i))
    clock.spend(CALL + READ * task.start.size + COMPARE * as_cheap + task.worked())
    return replacement
