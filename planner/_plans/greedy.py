"""Greedy plans for *recoverable* and *connected*, whose links are independent sets of a matroid.

Reviews are offered in the order of their costs and taken if independent of the present ones: the fewest and, unless
loads or limits stop one, the cheapest. Without costs, loads grow one review at a time. A further
section orders the reviews of a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs, pieces
from planner._plans.kernels.cascade import may_read, take_independent, use
from planner._plans.kernels.trials import extend
from planner._plans.task import AT_ONCE
from reviewgraph._base import Clock
from reviewgraph.graph import Game, connected_components, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._plans.target import Ledger
    from planner._plans.task import Oracle, Task
    from reviewgraph._base import Clock, IntArray
    from reviewgraph.table import Reviews


#: Work, see :class:`reviewgraph._base.clock.Clock`, per pair offered to the pebble game, and to a forest.
OFFER = 1e-6
JOIN = 2e-8


def greedy_recoverable(oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one.

    Reviewers of fewer than two reviews are left out. The ledger records partial plans; if its time is over, the reviews
    are fewer.
    """
    task = oracle.task
    table = task.table(no_pairs())
    live = np.flatnonzero(table.loads >= 2)
    body_of = np.full(table.n_reviewers, -1, np.int64)
    body_of[live] = np.arange(live.size)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.loads[live])])
    game = Game(live.size, task.n_items)
    item = table.item[body_of[table.reviewer] >= 0]
    play(game, start, item, np.arange(live.size), np.zeros(live.size, np.int64))
    chosen = [no_pairs()]
    board = task.board(no_pairs())
    count = 0
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        board.spare = step
        for pairs in _in_turn(oracle, live):
            if count >= wanted or not ledger.in_time:
                break
            reviewer, item = (np.ascontiguousarray(side) for side in pairs.T)
            taken = np.zeros(len(pairs), np.bool_)
            ledger.clock.spend(OFFER * len(pairs))
            count += take_independent(game, board, body_of[reviewer], reviewer, item, taken, wanted - count)
            chosen.append(pairs[taken])
            ledger.part = np.concatenate(chosen)
    pairs = np.concatenate(chosen)
    return pairs, count >= wanted and _nothing_bound(oracle, pairs)


def greedy_connected(oracle: Oracle, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return reviews that join pieces, a spanning forest, and whether no load or limit stopped a cheaper one.

    The ledger records partial plans; if its time is over, the forest is incomplete.
    """
    task = oracle.task
    table = task.table(no_pairs())
    active = np.flatnonzero(table.loads > 0)
    wanted = pieces(table) - 1
    forest = _Forest(task, table)
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for pairs in _in_turn(oracle, active):
            if len(forest.chosen) == wanted or not ledger.in_time:
                break
            before = len(forest.chosen)
            grew = forest.join(pairs, step)
            ledger.clock.spend((1 + len(forest.chosen) - before) * JOIN * len(pairs))
            if grew:
                ledger.part = as_pairs(forest.chosen)
    pairs = as_pairs(forest.chosen)
    return pairs, len(pairs) == wanted and _nothing_bound(oracle, pairs)


class _Forest:
    """Pieces that grow together: those of reviewers and of items by number, and the reviews that joined them."""

    def __init__(self, task: Task, table: Reviews) -> None:
        components = connected_components(table)
        self.who = components.labels.copy()
        self.what = components.item_labels.copy()
        self.board = task.board(no_pairs())
        self.room = np.asarray(self.board.room)
        self.chosen = list[tuple[int, int]]()

    def join(self, pairs: IntArray, step: IntArray) -> bool:
        """Take the pairs that join two pieces, in order, within loads that are used up; whether any did."""
        before = len(self.chosen)
        (reviewer, item) = pairs.T
        full = np.zeros(len(pairs), np.bool_)
        while True:
            apart = (self.who[reviewer] != self.what[item]) & (step[reviewer] > 0) & (self.room[item] > 0) & ~full
            if not apart.any():
                return len(self.chosen) > before
            place = int(np.argmax(apart))
            j, i = pairs[place].tolist()
            if may_read(self.board, j, i):
                self.chosen.append((j, i))
                step[j] -= 1
                use(self.board, j, i, 1)
                reader_tree = self.who[j]
                item_tree = self.what[i]
                self.who[self.who == item_tree] = reader_tree
                self.what[self.what == item_tree] = reader_tree
            else:
                full[place] = True


def _in_turn(oracle: Oracle, reviewers: IntArray) -> Iterator[IntArray]:
    """Yield the candidates of some reviewers in chunks: cheapest first, then by index."""
    cost = oracle.task.constraints.cost
    some = reviewers[oracle.task.spare[reviewers] > 0]
    if not cost:
        yield from oracle.candidates.chunks(some)
        return
    pairs = np.concatenate([no_pairs(), *oracle.candidates.chunks(some)])
    order = np.argsort(cost.whole(oracle.task.codes(pairs)), kind="stable")
    for first in range(0, order.size, AT_ONCE):
        yield pairs[order[first : first + AT_ONCE]]


def _steps(spare: IntArray, costs: bool, wanted: int) -> list[IntArray]:
    """Return the loads released at a time: all at once if costs decide, otherwise 1, 1, 2, 4, ... per reviewer."""
    if costs:
        return [spare.copy()]
    steps = []
    granted = 0
    while granted < min(int(spare.max(initial=0)), max(wanted, 1)):
        more = max(granted, 1)
        steps.append(np.clip(spare - granted, 0, more))
        granted += more
    return steps


def _nothing_bound(oracle: Oracle, pairs: IntArray) -> bool:
    """Whether no load, limit or rule can have stopped a review."""
    task = oracle.task
    if task.constraints.places.held_by(pairs)[0].size:
        return False
    load = np.bincount(pairs[:, 0], minlength=task.spare.size)
    used = np.bincount(pairs[:, 1], minlength=task.room.size)
    return bool(((load < task.spare) | (load == 0)).all() and ((used < task.room) | (used == 0)).all())


# The order of the reviews of a plan in which the largest group grows fastest.

#: Work (reviews squared times entries) up to which a plan is ordered so that each step helps most.
ORDER_UP_TO = 100_000_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a review tried.
TRY = 2e-6


def by_effect(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Order in which the largest doubly connected group grows fastest, ties in the order given.

    Long plans keep their order, and so do the remaining reviews once the clock is over. Takes the time of a growth for
    every pair of reviews.
    """
    if not len(pairs) or len(pairs) ** 2 * task.start.size > ORDER_UP_TO:
        return np.arange(len(pairs))
    blocks = task.start.copy()
    left = list(range(len(pairs)))
    order = []
    while left and not clock.over():
        # What a review brings is one growth, which is undone.
        before = blocks.n_trail
        sizes = []
        for k in left:
            sizes.append(extend(blocks, task.trial, task.home[pairs[k, 0]], pairs[k, 1]))
            blocks.undo(before)
        clock.spend(task.worked() + len(left) * TRY)
        chosen = left.pop(int(np.argmax(sizes)))
        blocks.add(task.home[pairs[chosen, 0]], pairs[chosen, 1])
        order.append(chosen)
    return np.array(order + left, np.int64)
