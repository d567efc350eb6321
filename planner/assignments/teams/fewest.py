"""Fewest pairs of the kinds that are to be few, and most affinity among the assignments that have no more of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from planner.assignments.model.worth import AHEAD
from planner.assignments.steps.flow import whole_costs
from planner.assignments.teams.best import scale_of
from planner.assignments.teams.routing import unrouted
from planner.errors import InternalError

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from planner.assignments.teams.best import Routes
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Settled(NamedTuple):
    """A problem with weights that put its concerns in order.

    Parameters
    ----------
    problem
        With these weights, so that its worth is what to maximise.
    cost, scale
        The worth in whole units, shape (P,), and the steps of rounding in one unit of it.
    best
        The assignment of most worth, shape (P,).
    fewest
        How many pairs of each kind there must be.
    """

    problem: Problem
    cost: IntArray
    scale: float
    best: BoolArray
    fewest: tuple[int, ...]


def fewest_first(problem: Problem, concerns: Concerns, routes: Routes, seed: int) -> Settled:
    """Find the assignment of most worth within demands and loads, where there is one.

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
    routes
        Nodes that later flows have, for whose sake costs have fewer bits.
    seed
        Breaks ties.
    """
    rarest = _flow(problem, concerns.ranks(int(problem.demand.sum())))
    fewest = concerns.counts(rarest)
    while True:
        scale = scale_of(problem, routes, problem.worth)
        cost = whole_costs(problem.worth, seed, scale)
        best = _flow(problem, cost)
        found = concerns.counts(best)
        if found == fewest:
            return Settled(problem, cost, scale, best, fewest)
        wrong = next(place for place, pair in enumerate(zip(found, fewest, strict=True)) if pair[0] != pair[1])
        weights = (weight * (AHEAD if place <= wrong else 1.0) for place, weight in enumerate(problem.weights))
        problem = replace(problem, weights=tuple(weights))


def _flow(problem: Problem, cost: IntArray) -> BoolArray:
    found = unrouted(problem, cost)
    if found is None:
        message = "there was an assignment, and by other costs there is none"
        raise InternalError(message)
    return found
