"""Fewest pairs of the kinds that are to be few, and most affinity among the assignments that have no more of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from planner.assignments.model.worth import AHEAD
from planner.assignments.steps.flow import whole_costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Settled(NamedTuple):
    """A problem with weights that put its concerns in order.

    Parameters
    ----------
    problem
        With these weights, so that its worth is what to maximise.
    cost
        The worth in whole units, shape (P,).
    best
        The assignment of most worth, shape (P,).
    fewest
        How many pairs of each kind there must be.
    """

    problem: Problem
    cost: IntArray
    best: BoolArray
    fewest: tuple[int, ...]


def settle(problem: Problem, concerns: Concerns, flow: Callable[[IntArray], BoolArray], seed: int) -> Settled:
    """Find the assignment of most worth, where there is any assignment.

    1. A flow of whole costs, in which a pair of one kind costs more than all reviews of the next can: the fewest pairs
       of the first kind, and of the second among the assignments that have no more of the first.
    2. A flow of worths. Where it has as many pairs of each kind, it has the most affinity of all that do, because the
       weights then take the same from all of them. Else the weight that was too small is raised, with those before it.

    Weights above the number of reviews times the range of affinities are always enough, so it ends; the first ones
    usually are.

    Parameters
    ----------
    problem, concerns
        The problem, and its concerns.
    flow
        The cheapest assignment by whole costs of the pairs.
    seed
        Breaks ties.
    """
    rarest = flow(concerns.ranks(int(problem.demand.sum())))
    fewest = concerns.counts(rarest)
    while True:
        cost = whole_costs(problem.worth, seed)
        best = flow(cost)
        found = concerns.counts(best)
        if found == fewest:
            return Settled(problem, cost, best, fewest)
        wrong = next(place for place, pair in enumerate(zip(found, fewest, strict=True)) if pair[0] != pair[1])
        weights = (weight * (AHEAD if place <= wrong else 1.0) for place, weight in enumerate(problem.weights))
        problem = replace(problem, weights=tuple(weights))
