"""Reviews that can stand in for one of a plan: for a reviewer who declines, for lower costs, for smaller loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.growth import find_block
from planner.plans.model.tables import with_extra
from planner.plans.model.task import CALL, READ
from planner.plans.search.cascade import finishing_pairs

if TYPE_CHECKING:
    from planner.plans.model.growth import Structure
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Pairs of blocks looked at, and pairs of a reviewer and an item listed, at most.
MOST_BLOCKS, MOST_PAIRS = 2_000, 20_000
#: Passes over a plan in search of cheaper or lighter reviews.
PASSES = 3
#: Stand-ins listed for the targets whose levels are tested one pair at a time.
ENOUGH = 20


def substitutes(task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
    """Return allowed pairs that complete a plan without its review number ``place``: cheapest, then lightest, first."""
    rest = np.delete(pairs, place, axis=0)
    state = task.after(rest)
    left = task.left(rest)
    load = task.spare - left.spare
    found: set[tuple[int, int]] = set()
    members, covers = _members(task, state), _covers(task, state)
    for block, item in _finishing(task, state, covers):
        if left.room[item] <= 0:
            continue
        for j in members[block]:
            if left.open(j, item) and task.constraints.may_read(j, item):
                found.add((j, item))
        if len(found) > MOST_PAIRS:
            break
    clock.spend(CALL + READ * task.start.size + task.worked())
    found.discard((int(pairs[place, 0]), int(pairs[place, 1])))
    cost = task.constraints.cost_of
    return sorted(found, key=lambda pair: (cost(*pair), load[pair[0]], pair))


def _finishing(task: Task, state: Structure, covers: dict[int, set[int]]) -> list[tuple[int, int]]:
    """Return (block, item) pairs after which one block covers all items."""
    left, right = np.empty((2, MOST_BLOCKS), np.int64)
    count = task.form(finishing_pairs)(state, task.space, left, right)
    chosen: dict[tuple[int, int], None] = {}
    for a, b in zip(left[:count].tolist(), right[:count].tolist(), strict=True):
        for one, other in ((a, b), (b, a)):
            chosen.update(dict.fromkeys((one, item) for item in sorted(covers[other] - covers[one])))
    for block, cover in covers.items():
        if len(cover) == task.n_items - 1:
            (item,) = set(range(task.n_items)) - cover
            chosen[block, item] = None
    return list(chosen)


def _members(task: Task, state: Structure) -> dict[int, list[int]]:
    label = task.block_labels(state)[task.home]
    found: dict[int, list[int]] = {}
    for reviewer, block in enumerate(label.tolist()):
        found.setdefault(block, []).append(reviewer)
    return found


def _covers(task: Task, state: Structure) -> dict[int, set[int]]:
    count = state.size
    found: dict[int, set[int]] = {}
    for block, item in zip(state.block[:count].tolist(), state.item[:count].tolist(), strict=True):
        found.setdefault(find_block.python(state.root, block), set()).add(item)
    return found


def polish(task: Task, pairs: IntArray, clock: Clock, most: float) -> IntArray:
    """Exchange reviews one at a time for cheaper ones, then for ones that lower the largest extra load.

    Parameters
    ----------
    task, pairs
        A plan that reaches the target, shape (P, 2).
    clock
        When to stop.
    most
        Reviews for which stand-ins are looked for, at most.
    """
    tried = 0
    for _ in range(PASSES):
        changed = False
        for place in range(len(pairs)):
            load = _loads(task, pairs)
            if not _may_gain(task, load, int(pairs[place, 0])):
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


def _loads(task: Task, pairs: IntArray) -> IntArray:
    """Extra reviews of each reviewer, fixed ones included."""
    extra = np.concatenate([pairs[:, 0], task.constraints.fixed[:, 0]])
    return np.bincount(extra, minlength=task.constraints.reviews.n_reviewers)


def _may_gain(task: Task, load: IntArray, reviewer: int) -> bool:
    """Whether a stand-in could be cheaper, or lower the largest extra load."""
    return bool(task.constraints.cost) or bool(load[reviewer] == load.max() > 1)


def _better(task: Task, pairs: IntArray, place: int, load: IntArray, clock: Clock) -> tuple[int, int] | None:
    """Find a cheaper stand-in, or one as cheap for a reviewer with the largest load whose own stays below it."""
    reviewer, item = int(pairs[place, 0]), int(pairs[place, 1])
    now, most = _price(task, reviewer, item), int(load.max())
    for other in substitutes(task, pairs, place, clock):
        price = _price(task, *other)
        lighter = load[reviewer] == most and load[other[0]] + 1 < most
        if price < now or (price == now and lighter):
            return other
        if price > now:
            break
    return None


def _price(task: Task, reviewer: int, item: int) -> int:
    """Return the cost of a pair in the whole units of solvers, so that no rounding of a cost counts."""
    return int(task.constraints.cost.whole(np.array([reviewer * task.n_items + item]))[0])


def by_testing(target: Target, task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
    """Return what :func:`substitutes` does, for any target: one test a pair, until enough are found or time is over.

    ``task`` knows no fixed reviews; they are among ``pairs``.
    """
    gone, rest = tuple(pairs[place].tolist()), np.delete(pairs, place, axis=0)
    kept = set(map(tuple, rest.tolist()))
    left = task.left(rest)
    load = task.spare - left.spare
    found = []
    for j in np.flatnonzero(left.spare > 0).tolist():
        for i in task.constraints.readable(j).tolist():
            if (j, i) == gone or not left.open(j, i) or (j, i) in kept:
                continue
            table = with_extra(task.constraints.reviews, np.vstack([rest, [(j, i)]]), use_scores=task.use_scores)
            if target.reaches_in_time(table, clock, use_scores=task.use_scores):
                found.append((j, i))
        if len(found) > ENOUGH or clock.over():
            break
    return sorted(found, key=lambda other: (task.constraints.cost_of(*other), load[other[0]], other))
