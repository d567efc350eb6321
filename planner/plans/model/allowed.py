"""Who may still read what, as pairs, and how many links that makes at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import no_pairs, with_extra
from reviewgraph.arrays import distinct, occurs
from reviewgraph.recoverable import degrees_of_freedom

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews


#: Readers asked for each that is wanted, in :func:`few_short_pairs`, before an item goes without.
TURNS = 4


def allowed_pairs(rules: Constraints, table: Reviews, spare: IntArray) -> IntArray:
    """Shape (K, 2): pairs that are allowed and no reviews yet."""
    found = [no_pairs()]
    for j in np.flatnonzero(spare > 0).tolist():
        items = np.setdiff1d(rules.readable(j), table.items_of(j), assume_unique=True)
        found.append(np.column_stack([np.full(items.size, j), items]))
    return np.concatenate(found)


def short_pairs(task: Task) -> IntArray:
    """Shape (K, 2): allowed pairs of the items that are short of reviews."""
    short, found = (task.needs.each > 0) & (task.room > 0), [no_pairs()]
    taken = task.constraints.fixed[:, 0] * task.n_items + task.constraints.fixed[:, 1]
    for j in np.flatnonzero(task.spare > 0).tolist():
        items = task.constraints.readable(j)
        found.append(np.column_stack([np.full(items.size, j), items])[short[items]])
    pairs = np.concatenate(found)
    pairs = pairs[~occurs(pairs[:, 0] * task.n_items + pairs[:, 1], np.sort(taken))]
    return pairs[task.constraints.places.open(pairs)]


def few_short_pairs(task: Task, few: int) -> IntArray:
    """Shape (K, 2): for each item that is short of reviews some of its allowed pairs, ``few`` more than it lacks.

    The readers of an item follow each other, of those who have loads left; each item begins with another one.
    """
    rules, items = task.constraints, np.flatnonzero((task.needs.each > 0) & (task.room > 0))
    able = np.flatnonzero(task.spare > 0)
    found, wanted = [no_pairs()], np.minimum(task.needs.each[items] + few, able.size)
    barred = distinct(rules.barred_pairs, rules.fixed[:, 0] * task.n_items + rules.fixed[:, 1])
    for turn in range(min(int(wanted.max(initial=0)) * TURNS, able.size)):
        items, wanted = items[wanted > 0], wanted[wanted > 0]
        if not items.size:
            break
        pairs = np.column_stack([able[(7 * items + turn) % able.size], items])
        free = ~occurs(pairs[:, 0] * task.n_items + pairs[:, 1], barred) & rules.places.open(pairs)
        found.append(pairs[free])
        wanted = wanted - free
    return np.concatenate(found)


def useful_loads(rules: Constraints, table: Reviews, spare: IntArray, short: IntArray) -> tuple[int, int]:
    """Links that some reviewers can make whatever they read, and that the loads of the others allow at most.

    p new reviews by a reviewer of d < 2 reviews make at most p - (2 - d) links.
    """
    count = np.zeros(spare.size, np.int64)
    for j in np.flatnonzero(spare > 0).tolist():
        count[j] = np.setdiff1d(rules.readable(j), table.items_of(j), assume_unique=True).size
    useful = np.maximum(np.minimum(spare, count) - np.maximum(2 - table.loads, 0), 0)
    chosen, others = short[table.loads[short] >= 2], np.ones(spare.size, np.bool_)
    others[chosen] = False
    pairs = allowed_pairs(rules, table, np.where(others, 0, spare))
    before, after = degrees_of_freedom(table), degrees_of_freedom(with_extra(table, pairs))
    return before - after, int(useful[others].sum())
