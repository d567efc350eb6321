"""Greedy plans for *recoverable* and *connected*, where links are independent sets of a matroid.

Reviews are offered in the order of their costs and taken when they are independent of what is there: the fewest and,
as long as loads and limits stop none of them, the cheapest. Without costs, loads are let grow one review at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import as_pairs, no_pairs, pieces
from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.pebbles import Game, contract, gather, new_game, play
from reviewgraph.kernels.union_find import find, union

if TYPE_CHECKING:
    from planner.plans.model.oracle import Oracle
    from reviewgraph.labels import IntArray


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


def greedy_recoverable(oracle: Oracle, wanted: int) -> tuple[IntArray, bool]:
    """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one.

    Reviewers of fewer than two reviews are left out.
    """
    task = oracle.task
    order = _by_cost(oracle)
    table = task.table(no_pairs())
    live = np.flatnonzero(table.loads >= 2)
    body_of = np.full(table.n_reviewers, -1, np.int64)
    body_of[live] = np.arange(live.size)
    game = new_game(live.size, task.n_items)
    keep = body_of[table.reviewer] >= 0
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.loads[live])])
    task.form(play)(game, start, np.ascontiguousarray(table.item[keep]), np.empty(0, np.bool_))
    pairs = oracle.allowed[order]
    pairs = pairs[body_of[pairs[:, 0]] >= 0]
    body, item, owner = body_of[pairs[:, 0]], np.ascontiguousarray(pairs[:, 1]), np.ascontiguousarray(pairs[:, 0])
    taken, room, found = np.zeros(len(pairs), np.int64), task.room.copy(), 0
    groups = task.places()
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        found += task.form(offer)(game, body, item, taken, step, room, owner, *groups, wanted - found)
        if found >= wanted:
            break
    return pairs[taken > 0], _nothing_bound(oracle, pairs[taken > 0])


def greedy_connected(oracle: Oracle) -> tuple[IntArray, bool]:
    """Return reviews that join pieces, a spanning forest, and whether no load or limit stopped a cheaper one."""
    task = oracle.task
    table = task.table(no_pairs())
    M, wanted = table.n_reviewers, pieces(table) - 1
    parent = np.arange(M + task.n_items)
    for j, i in zip(table.reviewer.tolist(), table.item.tolist(), strict=True):
        union.python(parent, j, M + i)
    active = table.loads > 0
    pairs = oracle.allowed[_by_cost(oracle)]
    left = task.left(no_pairs())
    chosen: list[tuple[int, int]] = []
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for j, i in pairs.tolist():
            if len(chosen) == wanted:
                break
            if active[j] and step[j] > 0 and left.open(j, i) and union.python(parent, j, M + i):
                chosen.append((j, i))
                step[j] -= 1
                left.take(j, i)
    found = as_pairs(chosen)
    return found, _nothing_bound(oracle, found)


def _by_cost(oracle: Oracle) -> IntArray:
    """Order of the candidates: cheapest first, then by index."""
    if not oracle.task.constraints.cost:
        return np.arange(len(oracle.allowed))
    price = np.array([oracle.task.constraints.cost_of(*pair) for pair in oracle.allowed.tolist()])
    return np.argsort(price, kind="stable")


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
