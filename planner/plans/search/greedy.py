"""Greedy plans for *recoverable* and *connected*, where links are independent sets of a matroid.

Reviews are offered in the order of their costs and taken when they are independent of what is there: the fewest and,
as long as loads and limits stop none of them, the cheapest. Without costs, loads are let grow one review at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.oracle import AT_ONCE
from planner.plans.model.tables import as_pairs, no_pairs, pieces
from reviewgraph.components import connected_components
from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.pebbles import Game, contract, gather, new_game, play
from reviewgraph.kernels.union_find import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.oracle import Oracle
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Work, see :class:`reviewgraph.clock.Clock`, of a pair that is offered, to the pebble game and to a forest.
OFFER, JOIN = 1e-6, 2e-8


@kernel
def offer(
    game: Game,
    body: IntArray,
    item: IntArray,
    taken: IntArray,
    cap: IntArray,
    room: IntArray,
    owner: IntArray,
    group_start: IntArray,
    group: IntArray,
    free: IntArray,
    wanted: int,
) -> int:
    """Take reviews that are independent in the count matroid, in order, until ``wanted`` are; returns how many are.

    ``cap`` (by reviewer, ``owner`` of the review) and ``room`` (by item) are used up; ``free`` are the places
    of an item by panel group, those of a reviewer as :class:`~planner.plans.model.places.Places` has them; ``taken``
    marks the reviews.
    """
    n_bodies, found, stamp = game.parent.size, 0, 0
    for vertex in range(game.seen.size):
        stamp = max(stamp, game.seen[vertex])
    nothing = np.empty(0, np.bool_)
    for r in range(body.size):
        if found == wanted:
            break
        if taken[r] or cap[owner[r]] <= 0 or room[item[r]] <= 0:
            continue
        first, last, shut = group_start[owner[r]], group_start[owner[r] + 1], False
        for place in range(first, last):
            shut = shut or free[item[r], group[place]] <= 0
        if shut:
            continue
        # An item that points into the body's own rigid body depends on it: nothing to gather.
        part, thing = find(game.parent, body[r]), n_bodies + item[r]
        inside = game.points[2 * thing]  # an item has one pebble
        if inside >= 0 and find(game.parent, inside) == part:
            continue
        # Three pebbles: independent, one of them covers the review. Fewer: all that was searched is rigid.
        held, stamp = gather(game, part, thing, stamp)
        if held == 3:
            game.points[2 * thing], game.covers[2 * thing] = part, 0
            taken[r] = 1
            cap[owner[r]] -= 1
            room[item[r]] -= 1
            for place in range(first, last):
                free[item[r], group[place]] -= 1
            found += 1
        else:
            contract(game, part, thing, stamp, nothing)
            stamp += 1
    return found


def greedy_recoverable(oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one.

    Reviewers of fewer than two reviews are left out. The ledger learns how far it is; where its time is over,
    the reviews are fewer.
    """
    task = oracle.task
    table = task.table(no_pairs())
    live = np.flatnonzero(table.loads >= 2)
    body_of = np.full(table.n_reviewers, -1, np.int64)
    body_of[live] = np.arange(live.size)
    game = new_game(live.size, task.n_items)
    keep = body_of[table.reviewer] >= 0
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.loads[live])])
    task.form(play)(game, start, np.ascontiguousarray(table.item[keep]), np.empty(0, np.bool_))
    chosen, room, found = [no_pairs()], task.room.copy(), 0
    groups = task.places()
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for pairs in _in_turn(oracle, live):
            if found >= wanted or not ledger.in_time:
                break
            owner, item = (np.ascontiguousarray(side) for side in pairs.T)
            taken = np.zeros(len(pairs), np.int64)
            ledger.clock.spend(OFFER * len(pairs))
            found += task.form(offer)(game, body_of[owner], item, taken, step, room, owner, *groups, wanted - found)
            chosen.append(pairs[taken > 0])
            ledger.part = np.concatenate(chosen)
    pairs = np.concatenate(chosen)
    return pairs, found >= wanted and _nothing_bound(oracle, pairs)


def greedy_connected(oracle: Oracle, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return reviews that join pieces, a spanning forest, and whether no load or limit stopped a cheaper one.

    The ledger learns how far it is; where its time is over, the forest is a part of one.
    """
    task = oracle.task
    table = task.table(no_pairs())
    active, wanted = np.flatnonzero(table.loads > 0), pieces(table) - 1
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
    found = as_pairs(forest.chosen)
    return found, len(found) == wanted and _nothing_bound(oracle, found)


class _Forest:
    """Pieces that grow together: those of reviewers and of items by number, and the reviews that joined them."""

    def __init__(self, task: Task, table: Reviews) -> None:
        found = connected_components(table)
        self.who, self.what = found.labels.copy(), found.item_labels.copy()
        self.left, self.chosen = task.left(no_pairs()), list[tuple[int, int]]()

    def join(self, pairs: IntArray, step: IntArray) -> bool:
        """Take those of some pairs that join two pieces, in order, within loads that are used up; whether any did."""
        before, (reviewer, item) = len(self.chosen), pairs.T
        full = np.zeros(len(pairs), np.bool_)
        while True:
            apart = (self.who[reviewer] != self.what[item]) & (step[reviewer] > 0) & (self.left.room[item] > 0) & ~full
            if not apart.any():
                return len(self.chosen) > before
            place = int(np.argmax(apart))
            j, i = pairs[place].tolist()
            if self.left.open(j, i):
                self.chosen.append((j, i))
                step[j] -= 1
                self.left.take(j, i)
                one, other = self.who[j], self.what[i]
                self.who[self.who == other] = one
                self.what[self.what == other] = one
            else:
                full[place] = True


def _in_turn(oracle: Oracle, reviewers: IntArray) -> Iterator[IntArray]:
    """Give the candidates of some reviewers, some at once: cheapest first, then by index."""
    cost = oracle.task.constraints.cost
    some = reviewers[oracle.task.spare[reviewers] > 0]
    if not cost:
        yield from oracle.candidates.chunks(some)
        return
    pairs = np.concatenate([no_pairs(), *oracle.candidates.chunks(some)])
    order = np.argsort(cost.costs(pairs[:, 0] * oracle.task.n_items + pairs[:, 1]), kind="stable")
    for first in range(0, order.size, AT_ONCE):
        yield pairs[order[first : first + AT_ONCE]]


def _steps(spare: IntArray, costs: bool, wanted: int) -> list[IntArray]:
    """Return loads that are let go at a time: all at once when costs decide, otherwise 1, 1, 2, 4, ... a reviewer."""
    if costs:
        return [spare.copy()]
    steps, given = [], 0
    while given < min(int(spare.max(initial=0)), max(wanted, 1)):
        more = max(given, 1)
        steps.append(np.clip(spare - given, 0, more))
        given += more
    return steps


def _nothing_bound(oracle: Oracle, pairs: IntArray) -> bool:
    """Whether no load, no limit and no rule can have stopped a review."""
    task = oracle.task
    if task.constraints.places.held_by(pairs)[0].size:
        return False
    load = np.bincount(pairs[:, 0], minlength=task.spare.size)
    used = np.bincount(pairs[:, 1], minlength=task.room.size)
    return bool(((load < task.spare) | (load == 0)).all() and ((used < task.room) | (used == 0)).all())
