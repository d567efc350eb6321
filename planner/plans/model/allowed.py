"""Who may still read what, as pairs, and how many links that makes at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import no_pairs, with_extra
from reviewgraph.arrays import occurs
from reviewgraph.recoverable import degrees_of_freedom

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews


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
