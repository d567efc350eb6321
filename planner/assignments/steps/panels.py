"""Panels that break rules, and what mends them: an integer programme over as few papers as will do."""

from __future__ import annotations

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
    """Items whose panels break a rule."""
    return np.union1d(crowded_items(problem, chosen), lacking_items(problem, chosen))


def crowded_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items with more reviewers of a panel group than they may have, not all of them of the first phase."""
    item, group, ours = _present(problem, chosen)
    key, place = np.unique(item * problem.panels.n_groups + group, return_inverse=True)
    over = np.bincount(place) > problem.panels.most[key % max(problem.panels.n_groups, 1)]
    bad = np.unique(key[over & (np.bincount(place, ours) > 0)] // max(problem.panels.n_groups, 1))
    found: IntArray = bad[problem.bound[bad]]
    return found


def lacking_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items with too few reviewers of a panel group, or of too few different groups of an attribute."""
    panels, (item, group, _) = problem.panels, _present(problem, chosen)
    bad = np.zeros(problem.n_items, np.bool_)
    for g in np.flatnonzero(panels.least).tolist():
        bad |= np.bincount(item[group == g], minlength=problem.n_items) < panels.least[g]
    distinct = np.unique(item * panels.n_groups + group)
    for a in np.flatnonzero(panels.different).tolist():
        ours = distinct[panels.attribute[distinct % panels.n_groups] == a] // panels.n_groups
        bad |= np.bincount(ours, minlength=problem.n_items) < panels.different[a]
    return np.flatnonzero(bad & problem.bound)


def _present(problem: Problem, chosen: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return item and group of all memberships on panels, and whether they are not of the first phase."""
    pairs = np.flatnonzero(chosen)
    place, group = problem.panels.of(problem.reviewer[pairs])
    return problem.item[pairs[place]], group, ~problem.old[pairs[place]]


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
    if crowded_items(problem, problem.given).size:
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


def _reassign(problem: Problem, chosen: BoolArray, region: BoolArray, clock: Clock, *, prove: bool) -> Repair:
    """Assign the items of a region anew, the rest as it is; with ``prove`` no solver's word alone is taken."""
    programme = programme_of(problem, chosen, region)
    if programme is None:
        return Repair(None, True)
    ending = solve(programme, _seconds(clock))
    if prove and ending.picked is None and ending.proved:
        ending = confirm(programme, _seconds(clock))
    if ending.picked is None:
        return Repair(None, ending.proved)
    found = chosen.copy()
    found[programme.pairs] = ending.picked[: programme.pairs.size]
    return Repair(found, False)


def _seconds(clock: Clock) -> float:
    return min(max(clock.left(), 1.0), MOST_SECONDS)
