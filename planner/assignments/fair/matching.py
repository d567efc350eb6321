"""A good reviewer for every paper: a flow with a node between each paper and those who serve it well enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.flow import Via, shortfall
from planner.assignments.teams.routing import through

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.flow import Shortfall
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Places(NamedTuple):
    """A proof by counting that not every paper can have a good reviewer beside its other ones.

    Good places of ``good`` and the other places of ``rest``, items both, need ``needed`` reviews; ``reviewers`` can
    give ``supply`` of them, and there are ``pairs`` further pairs.
    """

    good: IntArray
    rest: IntArray
    reviewers: IntArray
    needed: int
    supply: int
    pairs: int


def sole(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Pairs that are an item's only one at the floor for the best reviewer, shape (P,)."""
    if problem.floors.best is None:
        return np.zeros(chosen.size, np.bool_)
    good = chosen & problem.strong
    count = np.bincount(problem.item[good], minlength=problem.n_items)
    return np.asarray(good & (count == 1)[problem.item])


def best_with_good(problem: Problem, cost: IntArray) -> BoolArray | None:
    """Choose pairs of the least cost with a good reviewer on every paper, exactly; None if there are none."""
    free = np.flatnonzero(~problem.given)
    wanted = problem.wanting
    items = np.flatnonzero(wanted)
    number = np.where(wanted, np.cumsum(wanted) - 1, -1)
    node = np.where(problem.strong[free], number[problem.item[free]], -1)
    demand = problem.open_demand()
    if (demand[items] < 1).any():
        return None
    nothing = np.zeros(items.size, np.int64)
    via = Via(node, items, nothing + 1, demand[items], nothing)
    return through(problem, free, cost[free], via)


def too_few_good(problem: Problem) -> Shortfall | None:
    """Find papers whose good reviewers are too few, whatever else the papers need: a cut of the flow of good pairs."""
    load, _ = problem.open_loads()
    pairs = np.flatnonzero(problem.strong & ~problem.given & (load[problem.reviewer] > 0))
    wanted = problem.wanting.astype(np.int64)
    return shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))


def too_few_places(problem: Problem) -> Places | None:
    """Find places, good and others, that need more than their reviewers can give: a cut of the whole flow."""
    from ortools.graph.python import max_flow

    free = np.flatnonzero(~problem.given)
    wanted, (load, _) = problem.wanting, problem.open_loads()
    item, person = problem.item[free], problem.reviewer[free]
    n, m = problem.n_items, problem.n_reviewers
    # Nodes: items, their good places, reviewers, source, sink. Beyond the first, good reviewers fill other places, too.
    source, sink = 2 * n + m, 2 * n + m + 1
    rest = np.maximum(problem.open_demand() - wanted, 0)
    good = problem.strong[free] & wanted[item]
    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(np.full(n, source), np.arange(n), rest)
    flow.add_arcs_with_capacity(np.full(n, source), n + np.arange(n), wanted.astype(np.int64))
    flow.add_arcs_with_capacity(np.arange(n), n + np.arange(n), np.where(wanted, rest, 0))
    flow.add_arcs_with_capacity(np.where(good, n + item, item), 2 * n + person, np.ones(free.size, np.int64))
    flow.add_arcs_with_capacity(2 * n + np.arange(m), np.full(m, sink), load)
    flow.solve(source, sink)
    if flow.optimal_flow() == int(rest.sum() + wanted.sum()):
        return None
    inside = np.zeros(sink + 1, np.bool_)
    inside[flow.get_source_side_min_cut()] = True
    goods, others = np.flatnonzero(inside[n : 2 * n] & wanted), np.flatnonzero(inside[:n] & (rest > 0))
    people = np.flatnonzero(inside[2 * n : source])
    crossing = inside[np.where(good, n + item, item)] & ~inside[2 * n + person]
    supply, needed = int(load[people].sum()), int(goods.size + rest[others].sum())
    return Places(goods, others, people, needed, supply, int(crossing.sum()))
