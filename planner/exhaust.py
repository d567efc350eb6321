"""Lower bounds by trying all plans that are smaller."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from planner._cascade import finishing_pairs
from planner._growth import copy_structure
from planner._refute import some_plan
from planner.bounds import Bound
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner._task import Task
    from reviewgraph.labels import IntArray

#: Pairs of blocks up to which joins of price two are listed.
PAIRS_UP_TO = 3_000_000

#: Sets of joins looked at between two looks at the clock; where that is not enough, trying all is hopeless.
SETS_AT_ONCE = 50_000


def joins_of(task: Task) -> tuple[IntArray, IntArray, IntArray]:
    """All joins of two blocks with two items or more: left, right, price; cheap ones first."""
    live = np.flatnonzero((task.start.root == np.arange(task.start.root.size)) & (task.start.cover > 1))
    label = task.block_labels(task.start)
    count = int(task.start.entries[0])
    block, item = label[task.start.block[:count]], task.start.item[:count]
    one: set[tuple[int, int]] = set()
    order = np.argsort(item, kind="stable")
    for group in np.split(block[order], np.flatnonzero(np.diff(item[order])) + 1):
        roots = [int(b) for b in np.unique(group) if task.start.cover[b] > 1]
        one.update((a, b) for x, a in enumerate(roots) for b in roots[x + 1 :])
    cheap = np.array(sorted(one), np.int64).reshape(-1, 2)
    if live.size * live.size // 2 > PAIRS_UP_TO:
        return cheap[:, 0].copy(), cheap[:, 1].copy(), np.ones(len(cheap), np.int64)
    x, y = np.triu_indices(live.size, 1)
    size = task.start.root.size
    apart = np.setdiff1d(live[x] * size + live[y], cheap[:, 0] * size + cheap[:, 1])
    left = np.concatenate([cheap[:, 0], apart // size])
    right = np.concatenate([cheap[:, 1], apart % size])
    return left, right, np.concatenate([np.ones(len(cheap), np.int64), np.full(apart.size, 2, np.int64)])


def needs_more_than(task: Task, budget: int, deadline: float) -> bool | None:
    """Whether no plan of at most ``budget`` reviews exists, were every pair allowed; None if time ran out.

    Takes time of the order of (joins ^ budget) / budget! growths; joins inside a recoverable block are lost, and no
    more may be lost than the budget exceeds the degrees of freedom.
    """
    if not (task.start.cover > 1).any():  # the group must grow from a single paper, or from nothing
        return budget < task.n_items - int(task.start.cover.max(initial=0))
    covered = _covered_by_blocks(task)
    loose = task.n_items - covered
    if loose == 0 and budget == 1:
        found = np.empty((2, 1), np.int64)
        return int(task.form(finishing_pairs)(task.start, task.space, found[0], found[1])) == 0
    left, right, price = joins_of(task)
    if loose > budget or (budget >= loose + 2 and left.size * left.size // 2 > PAIRS_UP_TO and not (price == 2).any()):
        return True if loose > budget else None
    budget -= loose
    if budget == 0:
        return left.size != 0
    inside, missing = _recoverable_blocks(task)
    same = (inside[left] >= 0) & (inside[left] == inside[right])
    weight = np.column_stack([price, price * same])
    limit = np.array([budget, budget - (missing - loose), covered, SETS_AT_ONCE], np.int64)
    state = copy_structure(task.start)
    decide = task.form(some_plan)
    for first in np.flatnonzero((weight <= limit[:2]).all(axis=1)).tolist():
        answer = int(decide(task.start, state, task.space, left, right, weight, limit, first))
        if answer > 0:
            return False
        if answer < 0 or time.monotonic() > deadline:
            return None
    return True


def _recoverable_blocks(task: Task) -> tuple[IntArray, int]:
    """Return the recoverable block of each root block, and the degrees of freedom.

    A join inside a recoverable block removes no degree of freedom: its price is lost. So the losses of a plan are at
    most its reviews less the degrees of freedom.
    """
    count = int(task.start.entries[0])
    owner = task.block_labels(task.start)[task.start.block[:count]]
    pairs = np.unique(owner * task.n_items + task.start.item[:count])
    table = Reviews.from_codes(
        pairs // task.n_items, pairs % task.n_items, reviewers=len(task.components), items=task.n_items
    )
    found = recoverability(table)
    return found.block_labels, found.degrees_of_freedom


def exhausted(value: int) -> Bound:
    """Bound that says that all plans of fewer reviews were tried."""
    tried = (
        f"all plans of {value - 1} {'review' if value == 2 else 'reviews'} or fewer" if value > 1 else "doing nothing"
    )
    return Bound(value, "exhausted", f"{tried} leave papers apart (every one was tried)")


def _covered_by_blocks(task: Task) -> int:
    """Items covered by some block of two items or more."""
    label = task.block_labels(task.start)
    count = int(task.start.entries[0])
    good = task.start.cover[label[task.start.block[:count]]] > 1
    return int(np.unique(task.start.item[:count][good]).size)
