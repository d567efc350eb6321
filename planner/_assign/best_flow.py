"""The best assignment without rules, by the flow: its pairs and potentials, and what comes before affinity.

:func:`fewest_first` puts changes and thresholds before affinity, :func:`missing_reviews` lowers demands that cannot be
met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import Arcs, cheapest_flow, cost_scale, most_given, whole_costs
from planner._assign.kernels.flow import lower_potentials
from planner._assign.problem import AHEAD
from planner._assign.programme import best_under_rules
from planner.errors import InternalError
from planner.rules import NO_MOST

if TYPE_CHECKING:
    from planner._assign.problem import Concerns, Network, Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


def scale_of(problem: Problem, worth: FloatArray) -> float:
    """Return the rounding steps per unit of worth, shape (P,), that leave room for all nodes of the flow."""
    nodes = problem.n_items + problem.n_reviewers + 1
    return cost_scale(float(np.abs(worth).max(initial=0.0)), nodes)


def unrouted(problem: Problem, cost: IntArray, among: BoolArray | None = None) -> BoolArray | None:
    """Return the best assignment within demands and loads, by given pairs and those among some; None if none."""
    free = np.flatnonzero(~problem.given if among is None else among & ~problem.given)
    load, least = problem.open_loads()
    arcs = Arcs(problem.item[free], problem.reviewer[free], cost[free], np.ones(free.size, np.int64))
    flow = cheapest_flow(arcs, problem.open_demand(), load, least)
    if flow is None:
        return None
    chosen = problem.given.copy()
    chosen[free[flow > 0]] = True
    return chosen


# Potentials for the best assignment.

#: Passes over all pairs in the search for potentials.
PASSES = 1_000


def settle(net: Network, cost: IntArray, held: BoolArray | None = None) -> bool:
    """Find potentials with non-negative reduced costs except for pairs that are held; false if there are none.

    Starts as if a source reached every node at cost 0; after a pass without a change every arc is settled.
    """
    locked = net.locked.copy()
    if held is not None:
        net.locked[held] = True
    net.potential[:] = 0
    settled = any(not lower_potentials(net, cost) for _ in range(PASSES))
    net.locked[:] = locked
    return settled


# The fewest changes, and the most affinity among the assignments with no more of them.


class Settled(NamedTuple):
    """A problem in which a change outweighs affinity."""

    problem: Problem  # with that weight, so that its worth is the objective
    # cost, scale: the worth in whole units, shape (P,), and the rounding steps per unit of it
    cost: IntArray
    scale: float
    best: BoolArray  # the assignment of most worth, shape (P,)
    fewest: int  # the minimum number of changes


def fewest_first(problem: Problem, concerns: Concerns, seed: int) -> Settled:
    """Find the assignment of most worth within demands and loads, where there is one.

    A flow gives the fewest changes, another the most worth. If that has no more changes, it has the most affinity of
    all that have so few, because the weight then subtracts the same from all of them; otherwise the weight is
    increased, and the flow solved again. One above the number of reviews times the range of affinities suffices.
    """
    fewest = concerns.count(_flow(problem, concerns.changed.astype(np.int64)))
    while True:
        scale = scale_of(problem, problem.worth)
        cost = whole_costs(problem.worth, seed, scale)
        best = _flow(problem, cost)
        if concerns.count(best) == fewest:
            return Settled(problem, cost, scale, best, fewest)
        problem = replace(problem, weight=AHEAD * problem.weight)


def _flow(problem: Problem, cost: IntArray) -> BoolArray:
    chosen = unrouted(problem, cost)
    if chosen is None:
        message = "there was an assignment, and by other costs there is none"
        raise InternalError(message)
    return chosen


# Demands that can be met, where the given ones cannot.
#
# .. math::
#     \min \sum_i \sum_{k \le s_i} (F + k) B - \sum_p a_p z_p \quad \text{subject to} \quad
#     \sum_{p \ni i} z_p + s_i = d_i, \quad l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}
#
# for the reviews s_i that item i lacks, which recruits of no group write, and B above the affinity that an exchange can
# gain. Served demands are the independent vectors of a polymatroid, so the total lack is minimal; of these solutions it
# is one that spreads the lack evenly, and of those one of most affinity.


def smallest_load(problem: Problem, reviewers: BoolArray) -> tuple[int, bool]:
    """Return the smallest load of ``reviewers``, shape (M,), with which as many demands are met as with any.

    Returned is also whether that are all of them. The loads of these reviewers in the problem are unlimited. Rules on
    who reviews together and minimum loads are not considered.
    """
    free = np.flatnonzero(~problem.given)
    need = np.maximum(problem.open_demand(), 0)
    room = np.maximum(problem.open_loads()[0], 0)
    # Reviews of a first phase come on top of loads.
    old, new = (
        np.bincount(problem.reviewer[some], minlength=problem.n_reviewers)
        for some in (problem.old, problem.given & ~problem.old)
    )

    def met(load: int) -> int:
        capped = np.where(reviewers, np.maximum(np.maximum(load, problem.least - old) - new, 0), room)
        # Nobody reviews more papers than there are, and no paper has more reviewers than there are.
        within = np.minimum(need, problem.n_reviewers)
        return most_given(problem.item[free], problem.reviewer[free], within, np.minimum(capped, problem.n_items))

    wanted = int(need.sum())
    elsewhere = int(room[~reviewers].sum())
    high = problem.n_items
    low = min(max(-(-(wanted - elsewhere) // max(int(reviewers.sum()), 1)), 0), high)
    if met(low) == wanted:
        return low, True
    most = met(high)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) == most else (middle, high)
    return high, most == wanted


#: Price of a missing review in largest affinities: the k-th one of a paper costs ``FIRST + k`` times this.
MISSING = 1e3
FIRST = 100


def missing_reviews(problem: Problem, clock: Clock) -> IntArray | None:
    """Return the reviews that items lack when most demands are met, shape (N,); None where no loads can be kept.

    Respects conflicts, loads, fixed pairs and limits of rules; other rules are left to the assignment by the
    lowered demands. Takes the time of a minimum-cost flow, or of a programme.
    """
    # What a paper lacks whatever is assigned, since it needs more reviewers than there are, comes on top.
    need = np.clip(problem.open_demand(), 0, problem.n_reviewers)
    beyond = np.maximum(problem.open_demand(), 0) - need
    most = int(need.max(initial=0))
    item = np.repeat(np.arange(need.size), need)
    place_in_item = np.arange(item.size) - np.repeat(np.cumsum(need) - need, need)
    k = place_in_item + np.minimum(beyond, problem.n_reviewers)[item]
    largest = float(np.abs(problem.affinity).max(initial=0.0)) or 1.0
    reviewer = np.append(problem.reviewer, problem.n_reviewers + place_in_item)
    order = np.lexsort((reviewer, np.append(problem.item, item)))
    recruited = np.append(np.zeros(problem.item.size, np.bool_), np.ones(item.size, np.bool_))[order]
    given = np.append(problem.given, np.zeros(item.size, np.bool_))[order]
    panels = problem.panels
    limits = panels._replace(
        start=np.append(panels.start, np.full(most, panels.start[-1])),
        least=np.zeros_like(panels.least),
    )
    extended = replace(
        problem,
        item=np.append(problem.item, item)[order],
        reviewer=reviewer[order],
        affinity=np.append(problem.affinity / largest, -MISSING * (FIRST + k + 1.0))[order],
        given=given,
        old=np.append(problem.old, np.zeros(item.size, np.bool_))[order],
        demand=problem.demand - beyond,
        load=np.append(problem.load, np.full(most, need.size)),
        least=np.append(problem.least, np.zeros(most, np.int64)),
        ruled=problem.ruled._replace(panels=limits),
        concerns=None,
        least_score=None,
    )
    if (panels.most < NO_MOST).any():
        chosen = best_under_rules(extended, given | recruited, clock).chosen
    else:
        chosen = unrouted(extended, whole_costs(extended.affinity, 0, scale_of(extended, extended.affinity)))
    return None if chosen is None else beyond + np.bincount(extended.item[chosen & recruited], minlength=need.size)
