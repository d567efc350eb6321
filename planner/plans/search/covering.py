"""The cheapest new reviews that items are short of.

minimise    the cost
subject to  every item short of n reviews gets n, a senior one where that is missing; spare loads;
            one new review of an item from each institution

An integer programme over the allowed pairs, solved by HiGHS: without institutions and seniors it is a transportation
problem, whose vertices are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.allowed import short_pairs

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Pairs up to which all are offered; beyond, the cheapest ``FEW`` readers of each item, and all where these do not do.
ALL_UP_TO, FEW = 100_000, 60
#: Statuses of :func:`scipy.optimize.milp`; and what tells a one from a zero.
SOLVED, INFEASIBLE, HALF = 0, 2, 0.5
#: Seconds that the programme gets at least.
LEAST = 1.0


class Cover(NamedTuple):
    """Reviews that fill all needs, shape (P, 2), or None; whether none are cheaper; whether there is none."""

    pairs: IntArray | None
    cheapest: bool
    impossible: bool


def cover(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Return as few reviews as the needs take: most of those preferred, then the cheapest.

    Takes the time of HiGHS on K columns, K the allowed pairs of items that are short: seconds for 100,000.
    """
    pairs = short_pairs(task)
    if (task.room < task.needs.each).any():
        return Cover(None, False, True)
    price = _prices(task, pairs)
    goal = price if not len(preferred) else _prefer(task, pairs, price, preferred)
    if len(pairs) > ALL_UP_TO:
        few = _nearest(pairs, goal)
        found = _solve(task, pairs[few], goal[few], clock)
        if found.pairs is not None:
            return found._replace(cheapest=False)
    found = _solve(task, pairs, goal, clock)
    return found._replace(cheapest=found.cheapest and not len(preferred))


def _prices(task: Task, pairs: IntArray) -> FloatArray:
    rules = task.constraints
    if not rules.cost:
        return np.zeros(len(pairs))
    return np.array([rules.cost_of(j, i) for j, i in pairs.tolist()])


def _prefer(task: Task, pairs: IntArray, price: FloatArray, preferred: IntArray) -> FloatArray:
    """One unit for each review that is not preferred; all costs together are less than one."""
    N = task.n_items
    other = ~np.isin(pairs[:, 0] * N + pairs[:, 1], preferred[:, 0] * N + preferred[:, 1])
    spread = float(np.ptp(price)) if price.size else 0.0
    small = (price - price.min()) / (spread * (task.needs.total + 1)) if spread > 0 else 0.0 * price
    goal: FloatArray = other + small
    return goal


def _nearest(pairs: IntArray, price: FloatArray) -> IntArray:
    """Places of the cheapest few pairs of each item; of equals each item begins with another reviewer."""
    turned = (pairs[:, 0] - 7 * pairs[:, 1]) % (pairs[:, 0].max(initial=0) + 1)
    order = np.lexsort((turned, price, pairs[:, 1]))
    item = pairs[order, 1]
    start = np.searchsorted(item, item)
    return np.sort(order[np.arange(item.size) - start < FEW])


def _solve(task: Task, pairs: IntArray, goal: FloatArray, clock: Clock) -> Cover:
    """State and solve the programme."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, vstack

    K, short = len(pairs), np.flatnonzero(task.needs.each)
    if not K:
        return Cover(None, False, short.size > 0)
    # One row for each item, reviewer, (item, institution) and item without a senior.
    house, _ = task.houses()
    home, senior = house[pairs[:, 0]], task.constraints.people.senior
    own = np.flatnonzero(home >= 0)
    old = np.zeros(K, np.bool_) if senior is None else senior[pairs[:, 0]] & (task.needs.senior[pairs[:, 1]] > 0)
    n_houses = int(house.max(initial=-1)) + 1
    blocks, least, most = [], [], []

    def limit(columns: IntArray, group: IntArray, low: IntArray | int, high: IntArray | float) -> None:
        names, row = np.unique(group, return_inverse=True)
        blocks.append(csr_array((np.ones(columns.size), (row, columns)), shape=(names.size, K)))
        least.append(np.broadcast_to(low, names.size) if np.isscalar(low) else np.asarray(low)[names])
        most.append(np.broadcast_to(high, names.size) if np.isscalar(high) else np.asarray(high)[names])

    every = np.arange(K)
    limit(every, pairs[:, 1], task.needs.each, task.needs.each)
    limit(every, pairs[:, 0], 0, task.spare)
    limit(own, pairs[own, 1] * n_houses + home[own], 0, 1)
    limit(np.flatnonzero(old), pairs[old, 1], 1, np.inf)
    if np.unique(pairs[:, 1]).size < short.size or np.unique(pairs[old, 1]).size < int(task.needs.senior.sum()):
        return Cover(None, False, True)
    rows = LinearConstraint(vstack(blocks).tocsr(), np.concatenate(least), np.concatenate(most))
    options = {"time_limit": max(clock.left(), LEAST), "mip_rel_gap": 0.0}
    found = milp(goal, constraints=rows, integrality=np.ones(K), bounds=Bounds(0, 1), options=options)
    return Cover(None if found.x is None else pairs[found.x > HALF], found.status == SOLVED, found.status == INFEASIBLE)
