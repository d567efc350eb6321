"""Panels that break rules, and what mends them: an integer programme over as few papers as will do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.teams.columns import FEW, best_columns
from planner.assignments.teams.programme import Ending, confirm, programme_of, solve
from planner.assignments.teams.rows import rival_rows

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.teams.programme import Programme
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Work for the integer programmes of one repair, of which Ctrl-C cannot stop the one that runs; of a small one.
MOST_WORK, FEW_WORK = 300.0, 20.0


def broken_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items whose panels break a rule or a floor, and those of rivals that are both chosen."""
    rivals: IntArray = problem.item[problem.rivals.couples_among(chosen)].ravel()
    lacking = np.union1d(lacking_items(problem, chosen), ill_served_items(problem, chosen))
    return np.union1d(np.union1d(crowded_items(problem, chosen), lacking), rivals)


def ill_served_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items without a reviewer at the floor for the best one."""
    if problem.floors.best is None:
        return np.empty(0, np.int64)
    good = np.bincount(problem.item[chosen & problem.strong], minlength=problem.n_items)
    return np.flatnonzero(problem.served & (good == 0))


def crowded_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items with more reviewers of a panel group than they may have, not all of them of the first phase."""
    item, group, ours = presence(problem, chosen)
    key, place = np.unique(item * problem.panels.n_groups + group, return_inverse=True)
    over = np.bincount(place) > problem.panels.most[key % max(problem.panels.n_groups, 1)]
    bad = np.unique(key[over & (np.bincount(place, ours) > 0)] // max(problem.panels.n_groups, 1))
    found: IntArray = bad[problem.bound[bad]]
    return found


def lacking_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Items with too few reviewers of a panel group, or of too few different groups of an attribute."""
    panels, (item, group, _) = problem.panels, presence(problem, chosen)
    bad = np.zeros(problem.n_items, np.bool_)
    for g in np.flatnonzero(panels.least).tolist():
        bad |= np.bincount(item[group == g], minlength=problem.n_items) < panels.least[g]
    distinct = np.unique(item * panels.n_groups + group)
    for a in np.flatnonzero(panels.different).tolist():
        ours = distinct[panels.attribute[distinct % panels.n_groups] == a] // panels.n_groups
        bad |= np.bincount(ours, minlength=problem.n_items) < panels.different[a]
    return np.flatnonzero(bad & problem.bound)


def presence(problem: Problem, chosen: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return item and group of all memberships on panels, and whether they are not of the first phase."""
    pairs = np.flatnonzero(chosen)
    place, group = problem.panels.of(problem.reviewer[pairs])
    return problem.item[pairs[place]], group, ~problem.old[pairs[place]]


def objective(problem: Problem, chosen: BoolArray) -> float:
    """Sum up affinity and rewards of an assignment."""
    return math.fsum(problem.worth[chosen].tolist()) + rewards(problem, chosen)


def rewards(problem: Problem, chosen: BoolArray) -> float:
    """Sum up what the different groups on the panels of an assignment are worth."""
    panels, size = problem.panels, max(problem.panels.n_groups, 1)
    item, group, _ = presence(problem, chosen)
    distinct = np.unique((item * size + group)[problem.bound[item]]) % size
    return float(np.bincount(panels.attribute[distinct], minlength=panels.reward.size) @ panels.reward)


class Repair(NamedTuple):
    """The pairs chosen, or None: then ``proved`` says that no assignment obeys everything."""

    chosen: BoolArray | None
    proved: bool


def repair(problem: Problem, chosen: BoolArray, clock: Clock, *, quick: bool = False) -> Repair:
    """Reassign the broken items at the least loss, by an integer programme over them and, if need be, more.

    Start with the broken items alone, the others keep their reviewers; where that is infeasible, take in the items
    that compete for their candidates, in the end all of them. Over all of them "infeasible" is a proof once a second
    solver has confirmed it. A ``quick`` repair takes one solver's answer, the best or nearly so.
    """
    if crowded_items(problem, problem.given).size:
        return Repair(None, True)
    effort = clock.effort(FEW_WORK if problem.item.size <= FEW else MOST_WORK)
    region = np.zeros(problem.n_items, np.bool_)
    region[broken_items(problem, chosen)] = True
    while region.any():
        whole = bool(region[problem.item].all())
        found = _reassign(problem, chosen, region, effort, prove=whole and not quick, priced=not quick)
        if whole or found.chosen is not None or not found.proved:
            return found
        candidates = np.zeros(problem.n_reviewers, np.bool_)
        candidates[problem.reviewer[region[problem.item]]] = True
        wider = region.copy()
        wider[problem.item[chosen & candidates[problem.reviewer]]] = True
        region = wider if wider.sum() > region.sum() else np.ones_like(region)
    return Repair(chosen, False)


def feasible(problem: Problem, items: BoolArray, effort: Clock) -> bool:
    """Whether these items could be served if all others were left out; true where there is no proof that they cannot.

    Two solvers of different kinds must agree that they cannot.
    """
    found = _reassign(problem, problem.given, items, effort, prove=True, valued=False)
    return found.chosen is not None or not found.proved


def _reassign(
    problem: Problem, chosen: BoolArray, region: BoolArray, effort: Clock, *, prove: bool, priced: bool = True,
    valued: bool = True,
) -> Repair:  # fmt: skip
    """Assign the items of a region anew, the rest as it is; with ``prove`` no solver's word alone is taken.

    Without ``priced`` a large programme is solved as a small one; without ``valued`` all answers are as good.
    """
    programme = programme_of(problem, chosen, region)
    if programme is None:
        return Repair(None, True)
    if not valued:
        programme = programme._replace(value=np.zeros_like(programme.value))
    found = chosen.copy()
    while True:
        found_by_prices = _priced(problem, programme, chosen, effort) if priced else None
        ending = found_by_prices or solve(programme, effort)
        if prove and ending.picked is None and ending.proved:
            ending = confirm(programme, effort)
        if ending.picked is None:
            return Repair(None, ending.proved)
        found[programme.pairs] = ending.picked[: programme.pairs.size]
        # Where rivals are too many to write down, they get their rows once they come up.
        rows = rival_rows(programme.pairs, problem.rivals.couples_among(found))
        if not rows.low.size:
            return Repair(found, False)
        if effort.over():
            return Repair(None, False)
        programme = programme._replace(rows=(*programme.rows, rows))


def _priced(problem: Problem, programme: Programme, chosen: BoolArray, effort: Clock) -> Ending | None:
    """Solve a programme that is large by prices; None for a small one, and where they lead to nothing."""
    if programme.value.size <= FEW or not programme.value.any():
        return None
    start = np.ones(programme.value.size, np.bool_)
    start[: programme.pairs.size] = chosen[programme.pairs]
    found = best_columns(programme, problem.item[programme.pairs], start, effort)
    return None if found.picked is None else Ending(found.picked, False)
