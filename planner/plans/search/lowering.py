"""What items must do without, where no reviews give them all that they need.

minimise    the reviews, members of panel groups and values that are missing, each counted once
subject to  spare loads, conflicts, limits of items and rules

Where needs are numbers of reviews and no rule limits who reviews an item together, a minimum-cost flow spreads what is
missing evenly, too: the k-th review that an item lacks costs k, and as fewest are missing at the least sum of such
costs, the largest lack is as small as can be. Elsewhere an integer programme says how much is missing, not how evenly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.allowed import short_pairs
from planner.plans.model.people import Waived
from planner.plans.search.covering import least_missing

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray


def waived(task: Task, clock: Clock) -> Waived | None:
    """Return what items do without so that the rest of their needs can be filled; None where none is found in time.

    Takes the time of a flow over the allowed pairs of items that are short, or of HiGHS on as many columns.
    """
    pairs, needs = short_pairs(task), task.needs
    if not needs.exact or needs.members.any() or task.constraints.places.any:
        return least_missing(task, pairs, clock)
    lacks = _spread_lacks(task, pairs)
    return Waived(np.minimum(lacks, needs.reviews), np.zeros_like(needs.members), np.zeros_like(needs.different))


def _spread_lacks(task: Task, pairs: IntArray) -> IntArray:
    """Shape (N,): what each item lacks in a flow from items to reviewers, or to nobody at growing costs."""
    from ortools.graph.python import min_cost_flow

    each, N, M = task.needs.each, task.n_items, task.spare.size
    item = np.repeat(np.arange(N), each)
    rank = 1 + np.arange(item.size) - np.repeat(np.cumsum(each) - each, each)
    # Beyond its limit an item gets nothing: so many are missing whoever might review it.
    room = np.clip(task.room, 0, each)
    flow, reviewers, nobody, sink = min_cost_flow.SimpleMinCostFlow(), 2 * N + np.arange(M), 2 * N + M, 2 * N + M + 1
    ones, none = np.ones(item.size, np.int64), np.zeros(N, np.int64)
    lack = flow.add_arcs_with_capacity_and_unit_cost(item, np.full(item.size, nobody), ones, rank)
    flow.add_arcs_with_capacity_and_unit_cost(np.arange(N), N + np.arange(N), room, none)
    nothing = np.zeros(len(pairs), np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(N + pairs[:, 1], 2 * N + pairs[:, 0], nothing + 1, nothing)
    spare = np.clip(task.spare, 0, N)
    flow.add_arcs_with_capacity_and_unit_cost(reviewers, np.full(M, sink), spare, np.zeros(M, np.int64))
    flow.add_arc_with_capacity_and_unit_cost(nobody, sink, item.size, 0)
    supply = np.concatenate([each, np.zeros(N + M + 1, np.int64), [-item.size]])
    flow.set_nodes_supplies(np.arange(supply.size), supply)
    if flow.solve() != flow.OPTIMAL:
        return each
    return np.bincount(item[flow.flows(lack) > 0], minlength=N)
