"""What must hold on each paper and no flow can say: a senior reviewer, no two of one institution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.programme import confirm, programme_of, solve

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Seconds for one integer programme, which Ctrl-C cannot stop.
MOST_SECONDS = 300.0


def broken_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items with two reviewers of one institution, or without a senior where one is asked for."""
    item, reviewer = problem.item[chosen], problem.reviewer[chosen]
    institution = problem.institution[reviewer]
    known = institution >= 0
    width = int(problem.institution.max(initial=0)) + 1
    group = item[known] * width + institution[known]
    count = np.bincount(group, minlength=problem.n_items * width)
    ours = np.bincount(group, ~problem.old[chosen][known], minlength=count.size)
    bad = np.zeros(problem.n_items, np.bool_)
    bad[np.flatnonzero((count > 1) & (ours > 0)) // width] = True
    if problem.needs_senior:
        seniors = np.bincount(item[problem.senior[reviewer]], minlength=problem.n_items)
        bad |= (seniors == 0) & (problem.demand > 0)
    return np.flatnonzero(bad & problem.required)


class Repair(NamedTuple):
    """The pairs chosen, or None: then ``proved`` says that no assignment obeys everything."""

    chosen: BoolArray | None
    proved: bool


def repair(problem: Problem, chosen: BoolArray, clock: Clock) -> Repair:
    """Reassign the broken items at the least loss, by an integer programme over them and, if need be, more.

    Start with the broken items alone, the others keep their reviewers; where that is infeasible, take in the items
    that compete for their candidates, in the end all of them. Over all of them "infeasible" is a proof once a second
    solver has confirmed it.
    """
    if _given_clash(problem):
        return Repair(None, True)
    region = np.zeros(problem.n_items, np.bool_)
    region[broken_items(problem, chosen)] = True
    while region.any():
        whole = bool(region[problem.item].all())
        found = _reassign(problem, chosen, region, clock, prove=whole)
        if whole or found.chosen is not None or not found.proved:
            return found
        candidates = np.zeros(problem.n_reviewers, np.bool_)
        candidates[problem.reviewer[region[problem.item]]] = True
        wider = region.copy()
        wider[problem.item[chosen & candidates[problem.reviewer]]] = True
        region = wider if wider.sum() > region.sum() else np.ones_like(region)
    return Repair(chosen, False)


def feasible(problem: Problem, items: BoolArray, clock: Clock) -> bool:
    """Whether these items could be served if all others were left out; true where there is no proof that they cannot.

    Two solvers of different kinds must agree that they cannot.
    """
    found = _reassign(problem, problem.given, items, clock, prove=True)
    return found.chosen is not None or not found.proved


def _given_clash(problem: Problem) -> bool:
    """Whether fixed pairs alone put two reviewers of one institution on a paper."""
    return bool(broken_items(replace(problem, needs_senior=False), problem.given).size)


def _reassign(problem: Problem, chosen: BoolArray, region: BoolArray, clock: Clock, *, prove: bool) -> Repair:
    """Assign the items of a region anew, the rest as it is; with ``prove`` no solver's word alone is taken."""
    programme = programme_of(problem, chosen, region)
    if programme is None:
        return Repair(None, True)
    ending = solve(programme, problem.worth[programme.pairs], _seconds(clock))
    if prove and ending.picked is None and ending.proved:
        ending = confirm(programme, _seconds(clock))
    if ending.picked is None:
        return Repair(None, ending.proved)
    found = chosen.copy()
    found[programme.pairs] = ending.picked
    return Repair(found, False)


def _seconds(clock: Clock) -> float:
    return min(max(clock.left(), 1.0), MOST_SECONDS)
