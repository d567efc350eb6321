"""Take rivals apart that are both assigned: one of each couple is barred and the flow solved anew; and a bound on that.

What it must cost is bounded by prices (Lagrangian relaxation): each couple {x, y} gets a price that both pairs pay and
that is paid back once. An assignment without couples then loses nothing by the prices, so the best one of all, couples
or not, is worth as much at least. The prices follow the subgradient, by Polyak's steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import settle_potentials
from planner.assignments.steps.flow import cheapest_assignment, whole_costs

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Rounds of barring, and of letting pairs back in.
ROUNDS, RETURNS = 50, 3

#: Passes over all pairs until the search for potentials gives up.
PASSES = 1_000

#: Flows that the bound takes at most, and pairs that they take together beyond the first few.
STEPS, FEWEST, WORK = 60, 4, 12_000_000

#: What the flow may be off by, in parts of the largest affinity for each review: rounding and ties.
ROUNDING = 2.0**-34


class Separated(NamedTuple):
    """An assignment without couples, None where none was found, and the pairs kept out for that."""

    chosen: BoolArray | None
    barred: BoolArray


def best_within(problem: Problem, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
    """Solve the flow over the pairs that are not barred; None where there is no assignment."""
    open_pairs = ~problem.given if barred is None else ~(problem.given | barred)
    free, (load, least) = np.flatnonzero(open_pairs), problem.open_loads()
    found = cheapest_assignment(
        problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
    )
    if found is None:
        return None
    chosen = problem.given.copy()
    chosen[free[found]] = True
    return chosen


def separate(problem: Problem, best: BoolArray, cost: IntArray, clock: Clock) -> Separated:
    """Bar one pair of each couple, the one that loses less, and solve the flow again, until no couple is left.

    Then barred pairs that no rival keeps out come back in, where reduced costs say that they would gain.
    """
    barred = np.zeros(best.size, np.bool_)
    found = _without_couples(problem, best, barred, cost)
    if found.chosen is None:
        return found
    for _ in range(RETURNS):
        returning = found.barred & (problem.rivals.count_among(found.chosen) == 0)
        returning &= reduced_costs(problem, found, cost) < 0
        if clock.over() or not returning.any():
            break
        barred = found.barred & ~returning
        again = _without_couples(problem, best_within(problem, cost, barred), barred, cost)
        if again.chosen is None or cost[again.chosen].sum() >= cost[found.chosen].sum():
            break
        found = again
    return found


def _without_couples(problem: Problem, chosen: BoolArray | None, barred: BoolArray, cost: IntArray) -> Separated:
    """Bar one of each couple, and again; barred pairs stay out, so it ends."""
    rivals, barred = problem.rivals, barred.copy()
    for _ in range(ROUNDS):
        couples = np.empty((0, 2), np.int64) if chosen is None else rivals.couples_among(chosen)
        if chosen is None or not couples.size:
            break
        barred[_lesser(problem, Separated(chosen, barred), couples, cost)] = True
        chosen = best_within(problem, cost, barred)
    return Separated(None if chosen is None or rivals.couples_among(chosen).size else chosen, barred)


def _lesser(problem: Problem, now: Separated, couples: IntArray, cost: IntArray) -> IntArray:
    """Of each couple the pair that loses less, by its reduced cost, for each couple that it is in."""
    loss = np.maximum(-reduced_costs(problem, now, cost), 0)
    share = loss / np.maximum(np.bincount(couples.ravel(), minlength=loss.size), 1)
    return couples[np.arange(len(couples)), np.argmin(share[couples], axis=1)]


def reduced_costs(problem: Problem, now: Separated, cost: IntArray) -> IntArray:
    """Reduced costs at the best assignment without the barred pairs: what taking each pair loses at least."""
    net = problem.network(now.chosen)
    net.locked[now.barred] = True
    settle_potentials(net, cost, PASSES)
    reduced: IntArray = cost + net.potential[net.item] - net.potential[problem.n_items + net.reviewer]
    return reduced


def most_without_couples(problem: Problem, seed: int, value: float, start: float, clock: Clock) -> float:
    """Bound the affinity of all assignments without couples from above, by prices.

    Parameters
    ----------
    problem
        What must hold.
    seed
        Breaks ties.
    value
        Affinity of an assignment without couples.
    start
        What is known to be a bound.
    clock
        When to stop.
    """
    price, couples = np.zeros(0), np.empty((0, 2), np.int64)
    bound, slack = start, ROUNDING * float(np.abs(problem.affinity).max(initial=0.0)) * int(problem.demand.sum())
    for step in range(STEPS):
        if clock.over() or bound - value <= slack or (step >= FEWEST and step * problem.item.size > WORK):
            break
        worth = problem.affinity.copy()
        np.subtract.at(worth, couples.ravel(), np.repeat(price, 2))
        chosen = best_within(problem, whole_costs(worth, seed))
        if chosen is None:
            break
        now = math.fsum(worth[chosen].tolist()) + math.fsum(price.tolist()) + slack
        bound = min(bound, now)
        # Polyak's step along what each couple has too much; couples that were met first start at price zero.
        couples, price = _met(couples, price, problem.rivals.couples_among(chosen), problem.item.size)
        excess = chosen[couples].sum(axis=1) - 1.0
        excess[(price == 0) & (excess < 0)] = 0.0
        norm = float(excess @ excess)
        if norm == 0:
            break
        price = np.maximum(price + (now - value) / norm * excess, 0.0)
    return bound


def _met(couples: IntArray, price: FloatArray, new: IntArray, size: int) -> tuple[IntArray, FloatArray]:
    """Add couples that were not met yet, at price zero."""
    fresh = new[~np.isin(new[:, 0] * size + new[:, 1], couples[:, 0] * size + couples[:, 1])]
    return np.concatenate([couples, fresh]), np.concatenate([price, np.zeros(len(fresh))])
