"""Take rivals apart that are both assigned: one of each couple is barred and the flow solved anew; and a bound on that.

What it must cost is bounded by prices (Lagrangian relaxation): each couple {x, y} gets a price that both pairs pay and
that is paid back once. An assignment without couples then loses nothing by the prices, so the best one of all, couples
or not, is worth as much at least. The prices follow the subgradient, by Polyak's steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from planner.assignments.steps.flow import whole
from planner.assignments.teams.panels import rewards
from planner.assignments.teams.settling import depending, settle

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Rounds of barring, and of letting pairs back in.
ROUNDS, RETURNS = 50, 3

#: Flows that the bound takes at most, and pairs that they take together beyond the first few.
STEPS, FEWEST, WORK = 60, 4, 6_000_000


class Flow(Protocol):
    """The best assignment at given costs without the pairs that are barred, or None; all but rivals is obeyed."""

    def __call__(self, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
        """Solve the flow."""


class Separated(NamedTuple):
    """An assignment without couples, None where none was found; pairs kept out for that, and couples met."""

    chosen: BoolArray | None
    barred: BoolArray
    met: IntArray


def separate(problem: Problem, best: BoolArray, cost: IntArray, flow: Flow, clock: Clock) -> Separated:
    """Bar one pair of each couple, the one that loses less, and solve the flow again, until no couple is left.

    Then barred pairs that no rival keeps out come back in, where reduced costs say that they would gain.
    """
    barred = np.zeros(best.size, np.bool_)
    found = _without_couples(problem, best, barred, cost, flow)
    for _ in range(RETURNS):
        if found.chosen is None or clock.over():
            break
        returning = found.barred & (problem.rivals.count_among(found.chosen) == 0)
        returning &= _reduced(problem, found.chosen, found.barred, cost) < 0
        if not returning.any():
            break
        barred = found.barred & ~returning
        again = _without_couples(problem, flow(cost, barred), barred, cost, flow)
        found = found._replace(met=np.concatenate([found.met, again.met]))
        if again.chosen is None or cost[again.chosen].sum() >= cost[found.chosen].sum():
            break
        found = again._replace(met=found.met)
    return found._replace(met=np.unique(found.met, axis=0))


def _without_couples(
    problem: Problem, chosen: BoolArray | None, barred: BoolArray, cost: IntArray, flow: Flow
) -> Separated:
    """Bar one of each couple, and again; barred pairs stay out, so it ends."""
    rivals, barred, met = problem.rivals, barred.copy(), [np.empty((0, 2), np.int64)]
    for _ in range(ROUNDS):
        couples = np.empty((0, 2), np.int64) if chosen is None else rivals.couples_among(chosen)
        if chosen is None or not couples.size:
            break
        met.append(couples)
        # Of each couple the one that loses less, for each couple that it is in.
        loss = np.maximum(-_reduced(problem, chosen, barred, cost), 0)
        share = loss / np.maximum(np.bincount(couples.ravel(), minlength=loss.size), 1)
        barred[couples[np.arange(len(couples)), np.argmin(share[couples], axis=1)]] = True
        chosen = flow(cost, barred)
    apart = chosen is not None and not rivals.couples_among(chosen).size
    return Separated(chosen if apart else None, barred, np.concatenate(met))


def _reduced(problem: Problem, chosen: BoolArray, barred: BoolArray, cost: IntArray) -> IntArray:
    """Reduced costs at the best assignment without the barred pairs: what taking each pair loses at least."""
    net = problem.network(chosen)
    settle(net, cost, barred | depending(problem, chosen), exact=True)
    reduced: IntArray = cost + net.potential[net.item] - net.potential[problem.n_items + net.reviewer]
    return reduced


def most_without_couples(
    problem: Problem, flow: Flow, scale: float, value: float, bound: float, clock: Clock
) -> tuple[float, IntArray]:
    """Bound affinity and rewards of all assignments without couples from above, by prices.

    Parameters
    ----------
    problem
        What must hold.
    flow
        The best assignment at given costs.
    scale
        Steps of rounding in a unit of affinity.
    value
        What an assignment without couples is worth.
    bound
        What is known to be a bound.
    clock
        When to stop.

    Returns
    -------
    tuple
        The bound, and the couples that were met.
    """
    price, couples = np.zeros(0), np.empty((0, 2), np.int64)
    slack = 4 * int(problem.demand.sum()) / scale if scale > 0 else 0.0
    for step in range(STEPS):
        if clock.over() or bound - value <= slack or (step >= FEWEST and step * problem.item.size > WORK):
            break
        worth = problem.worth.copy()
        np.subtract.at(worth, couples.ravel(), np.repeat(price, 2))
        chosen = flow(-whole(worth, scale))
        if chosen is None:
            break
        now = math.fsum(worth[chosen].tolist()) + rewards(problem, chosen) + math.fsum(price.tolist()) + slack
        bound = min(bound, now)
        # Polyak's step along what each couple has too much; couples that were met first start at price zero.
        couples, price = _met(couples, price, problem.rivals.couples_among(chosen), problem.item.size)
        excess = chosen[couples].sum(axis=1) - 1.0
        excess[(price == 0) & (excess < 0)] = 0.0
        norm = float(excess @ excess)
        if norm == 0:
            break
        price = np.maximum(price + (now - value) / norm * excess, 0.0)
    return bound, couples


def _met(couples: IntArray, price: FloatArray, new: IntArray, size: int) -> tuple[IntArray, FloatArray]:
    """Add couples that were not met yet, at price zero."""
    fresh = new[~np.isin(new[:, 0] * size + new[:, 1], couples[:, 0] * size + couples[:, 1])]
    return np.concatenate([couples, fresh]), np.concatenate([price, np.zeros(len(fresh))])
