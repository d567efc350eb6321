r"""How much the worst-served paper can have at most: a bound by linear programming duality, over all allowed pairs.

The largest smallest score over fractional assignments is

.. math::
    \max t \quad \text{subject to} \quad g_i + \sum_{p \ni i} a_p z_p \ge t, \quad
    \sum_{p \ni i} z_p = d_i, \quad \sum_{p \ni j} z_p \le u_j, \quad 0 \le z_p \le 1

with g what an item's given pairs bring. For any weights of items that sum to one and any prices of reviewers, all of
them not negative, no assignment has a smallest score above

.. math::
    \sum_i \lambda_i g_i + \sum_j \beta_j u_j + \sum_i \text{(the } d_i \text{ largest } \lambda_i a_{ij} - \beta_j)

so the bound is worked out from the multipliers alone, and no solver's word is taken for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Programmes solved at most, each with the pairs that the prices of the last one ask for.
ROUNDS = 12

#: Pairs of each item to start with, those that join in a round at most, and items up to which it is tried.
FIRST, MORE, MOST_ITEMS = 8, 6, 3_000

#: A bound this close, in parts of the largest affinity, is as good as reached.
CLOSE = 1e-9


class Bound(NamedTuple):
    """No assignment has a smallest score above ``value``; the items by which that is shown."""

    value: float
    items: IntArray


class _Market(NamedTuple):
    """Free pairs of served items in the order of items, and what is still open; ``given`` is what fixed pairs bring."""

    item: IntArray
    reviewer: IntArray
    affinity: FloatArray
    demand: IntArray
    load: IntArray
    given: FloatArray
    served: BoolArray


def smallest_at_most(problem: Problem, reached: float, clock: Clock) -> Bound:
    """Bound the smallest score of a served item from above; stops where the bound meets what was ``reached``.

    First every item alone: the best that it could have. Then, up to 3,000 papers, the linear programme over the pairs
    that count, by column generation.
    """
    market = _market(problem)
    alone = _alone(market)
    best = Bound(float(alone[market.served].min(initial=np.inf)), np.array([int(np.argmin(alone))]))
    close = CLOSE * float(np.abs(problem.affinity).max(initial=0.0))
    if best.value <= reached + close or int(market.served.sum()) > MOST_ITEMS or not market.item.size:
        return best
    known = ranks(market.item, market.affinity) < FIRST + market.demand[market.item]
    for _ in range(ROUNDS):
        solved = None if clock.over() else _solve(market, np.flatnonzero(known), clock)
        if solved is None:
            break
        weight, price = solved
        found = _bound(market, weight, price)
        best = min(best, found, key=lambda bound: bound.value)
        # What the prices would rather have joins the programme, a few pairs an item.
        wanted = weight[market.item] * market.affinity - price[market.reviewer]
        new = (ranks(market.item, wanted) < market.demand[market.item] + MORE) & (weight[market.item] > 0) & ~known
        if best.value <= reached + close or not new.any():
            break
        known |= new
    return best


def _market(problem: Problem) -> _Market:
    served, load = problem.served, problem.open_loads()[0]
    free = np.flatnonzero(~problem.given & served[problem.item] & (load[problem.reviewer] > 0))
    given = np.zeros(problem.n_items)
    np.add.at(given, problem.item[problem.given], problem.affinity[problem.given])
    return _Market(
        problem.item[free],
        problem.reviewer[free],
        problem.affinity[free],
        np.where(served, problem.open_demand(), 0),
        load,
        given,
        served,
    )


def _alone(market: _Market) -> FloatArray:
    """Return the most that each item could have if all others were left out, infinite for those not served."""
    taken = ranks(market.item, market.affinity) < market.demand[market.item]
    sums = market.given + np.bincount(market.item[taken], market.affinity[taken], market.demand.size)
    return np.where(market.served, sums, np.inf)


def _bound(market: _Market, weight: FloatArray, price: FloatArray) -> Bound:
    """Bound by weights of items and prices of reviewers, up to rounding of the sums."""
    value = weight[market.item] * market.affinity - price[market.reviewer]
    taken = ranks(market.item, value) < market.demand[market.item]
    total = float(value[taken].sum() + price @ market.load + weight @ market.given)
    return Bound(total, np.flatnonzero(weight > 0))


def _solve(market: _Market, pairs: IntArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
    """Weights of items and prices of reviewers by the programme over some of the pairs; None where it ends without."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    items = np.flatnonzero(market.served)
    row = np.cumsum(market.served) - 1
    n, m, size = items.size, market.load.size, pairs.size
    item, reviewer, affinity = row[market.item[pairs]], market.reviewer[pairs], market.affinity[pairs]
    column, one = np.arange(size), np.ones(size)
    # Rows: t minus the affinities of each item; the load of each reviewer.
    upper = coo_array(
        (
            np.concatenate([-affinity, np.ones(n), one]),
            (np.concatenate([item, np.arange(n), n + reviewer]), np.concatenate([column, np.full(n, size), column])),
        ),
        shape=(n + m, size + 1),
    )
    equal = coo_array((one, (item, column)), shape=(n, size + 1))
    goal = np.zeros(size + 1)
    goal[size] = -1.0
    answer = linprog(
        goal,
        A_ub=upper.tocsr(),
        b_ub=np.concatenate([market.given[items], market.load]),
        A_eq=equal.tocsr(),
        b_eq=market.demand[items],
        bounds=np.column_stack([np.append(np.zeros(size), -np.inf), np.append(np.ones(size), np.inf)]),
        method="highs",
        options={"time_limit": clock.left()},
    )
    if answer.status != 0:
        return None
    multiplier = np.maximum(-answer.ineqlin.marginals, 0.0)
    weight = np.zeros(market.demand.size)
    weight[items] = multiplier[:n]
    total = weight.sum()
    return (weight / total, multiplier[n:] / total) if total > 0 else None
