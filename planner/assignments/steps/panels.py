"""What must hold on each paper and no flow can say: a senior reviewer, no two of one institution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Seconds for one integer programme, which Ctrl-C cannot stop.
MOST_SECONDS = 300.0

#: Relative gap at which the integer programme of a repair may stop.
GAP = 1e-4


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


def repair(problem: Problem, chosen: BoolArray, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Reassign the broken items at the least loss, by an integer programme over them and, if need be, more.

    Start with the broken items alone, the others keep their reviewers; where that is infeasible, take in the items
    that compete for their candidates, in the end all of them.

    Returns
    -------
    chosen, proved
        The pairs chosen, or None: then ``proved`` says that no assignment obeys everything.
    """
    if _given_clash(problem):
        return None, True
    region = np.zeros(problem.n_items, np.bool_)
    region[broken_items(problem, chosen)] = True
    while region.any():
        whole = bool(region[problem.item].all())
        found, infeasible = _solve(problem, chosen, region, min(max(clock.left(), 1.0), MOST_SECONDS))
        if found is not None:
            return found, False
        if whole or not infeasible:
            return None, infeasible
        candidates = np.zeros(problem.n_reviewers, np.bool_)
        candidates[problem.reviewer[region[problem.item]]] = True
        wider = region.copy()
        wider[problem.item[chosen & candidates[problem.reviewer]]] = True
        region = wider if wider.sum() > region.sum() else np.ones_like(region)
    return chosen, False


def feasible(problem: Problem, items: BoolArray, clock: Clock) -> bool:
    """Whether these items could be served if all others were left out; true where time did not allow a proof."""
    found, infeasible = _solve(problem, problem.given, items, min(max(clock.left(), 1.0), MOST_SECONDS))
    return found is not None or not infeasible


def _given_clash(problem: Problem) -> bool:
    """Whether fixed pairs alone put two reviewers of one institution on a paper."""
    return bool(broken_items(replace(problem, needs_senior=False), problem.given).size)


def _solve(problem: Problem, chosen: BoolArray, region: BoolArray, seconds: float) -> tuple[BoolArray | None, bool]:
    """Assign the items of a region anew, the rest as it is; None if infeasible (true) or out of time (false)."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    inside = region[problem.item]
    pairs = np.flatnonzero(inside & ~problem.given)
    outside = np.bincount(problem.reviewer[chosen & (problem.given | ~inside)], minlength=problem.n_reviewers)
    rows = [
        _rows(problem.item[pairs], problem.open_demand(), problem.open_demand(), pairs.size),
        _rows(problem.reviewer[pairs], problem.least - outside, problem.load - outside, pairs.size),
    ]
    given = inside & problem.given
    width = int(problem.institution.max(initial=0)) + 1
    known = problem.institution[problem.reviewer[pairs]] >= 0
    if known.any():
        group = problem.item * width + problem.institution[problem.reviewer]
        taken = np.bincount(
            group[given & (problem.institution[problem.reviewer] >= 0)], minlength=problem.n_items * width
        )
        most = np.maximum(1 - taken, 0)
        rows.append(_rows(group[pairs], np.zeros_like(most), most, pairs.size, known))
    if problem.needs_senior:
        have = np.bincount(problem.item[given & problem.senior[problem.reviewer]], minlength=problem.n_items)
        wanted = np.where(problem.required & (problem.demand > 0), np.maximum(1 - have, 0), 0)
        senior = problem.senior[problem.reviewer[pairs]]
        without = np.setdiff1d(np.flatnonzero(region & (wanted > 0)), problem.item[pairs[senior]])
        if without.size:
            return None, True
        rows.append(_rows(problem.item[pairs], wanted, problem.demand, pairs.size, senior))
    needed = np.bincount(problem.item[pairs], minlength=problem.n_items) < problem.open_demand()
    if (needed & region).any() or (
        (problem.least - outside > 0) & ~np.isin(np.arange(problem.n_reviewers), problem.reviewer[pairs])
    ).any():
        return None, True
    if not pairs.size:
        return chosen.copy(), False
    answer = milp(
        -problem.affinity[pairs],
        integrality=np.ones(pairs.size),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(*row) for row in rows],
        options={"time_limit": seconds, "mip_rel_gap": GAP},
    )
    if answer.x is None:
        return None, answer.status == 2
    found = chosen.copy()
    found[pairs] = answer.x > 0.5
    return found, False


def _rows(group: IntArray, low: IntArray, high: IntArray, n_columns: int, where: BoolArray | None = None):  # type: ignore[no-untyped-def]
    """Sparse rows that add up the columns of each group, with their bounds; ``where`` picks columns."""
    from scipy.sparse import csr_array

    columns = np.arange(n_columns) if where is None else np.flatnonzero(where)
    distinct, row = np.unique(group[columns], return_inverse=True)
    matrix = csr_array((np.ones(columns.size), (row, columns)), shape=(distinct.size, n_columns))
    return matrix, low[distinct], high[distinct]
