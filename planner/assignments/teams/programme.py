"""Integer programmes over some papers: what each must obey as sparse rows, and two solvers that must agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.assignments.teams.rows import Rows, clique_rows, good_rows, panel_rows, rows_of
from planner.solving import integer_programme, solve_within

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Relative gap at which an integer programme may stop.
GAP = 1e-4

#: Steps of the largest value to which the second solver rounds values.
STEPS = 1 << 34


class Programme(NamedTuple):
    """Choose among ``pairs``, given the rest of an assignment, so that all ``rows`` hold and ``value`` is largest.

    Columns are the pairs and then, where different groups count, one for each group that an item may come to have.
    """

    pairs: IntArray
    rows: tuple[Rows, ...]
    value: FloatArray

    def matrix(self) -> tuple[Any, IntArray, IntArray]:
        """Return all rows as one sparse matrix, and their bounds."""
        from scipy.sparse import csc_array

        first = np.cumsum([0, *(part.low.size for part in self.rows)])
        row = np.concatenate([part.row + start for part, start in zip(self.rows, first, strict=False)])
        column, weight, low, high = (
            np.concatenate([getattr(part, name) for part in self.rows]) for name in ("column", "weight", "low", "high")
        )
        return csc_array((weight.astype(float), (row, column)), shape=(low.size, self.value.size)), low, high

    def obeyed_by(self, picked: BoolArray) -> bool:
        """Whether a choice of columns obeys all rows."""
        for rows in self.rows:
            total = np.bincount(rows.row, picked[rows.column] * rows.weight, rows.low.size)
            if (total < rows.low).any() or (total > rows.high).any():
                return False
        return True


class Ending(NamedTuple):
    """The columns picked, or None: then ``proved`` says whether that is because nothing obeys all rows.

    ``bound`` is what the solver says that no choice exceeds.
    """

    picked: BoolArray | None
    proved: bool
    bound: float = math.inf


def programme_of(problem: Problem, chosen: BoolArray, region: BoolArray) -> Programme | None:
    r"""Write down what assigning the items of a region anew must obey, the rest as it is; None if a count rules it out.

    .. math::
        \sum_{p \ni i} z_p = d_i, \quad l_j - o_j \le \sum_{p \ni j} z_p \le u_j - o_j, \quad
        l_g \le \sum_{p \ni i, g} z_p \le u_g, \quad y_{ig} \le \sum_{p \ni i, g} z_p, \quad
        \sum_{g \in a} y_{ig} \ge k_a

    for items i of the region, reviewers j with o reviews outside it, panel groups g and attributes a of which k
    different groups are asked for; given pairs count. The value is that of pairs, and rewards for y.
    """
    inside = region[problem.item]
    pairs = np.flatnonzero(inside & ~problem.given)
    item, reviewer = problem.item[pairs], problem.reviewer[pairs]
    outside = np.bincount(problem.reviewer[chosen & (problem.given | ~inside)], minlength=problem.n_reviewers)
    least, demand = problem.least - outside, problem.open_demand()
    starved = (least > 0) & (np.bincount(reviewer, minlength=problem.n_reviewers) == 0)
    short = region & (np.bincount(item, minlength=problem.n_items) < demand)
    if short.any() or starved.any():
        return None
    panels = panel_rows(problem, region, pairs)
    if panels is None:
        return None
    loads = rows_of(reviewer, least, problem.load - outside)
    rows = (rows_of(item, demand, demand), loads, *panels.rows, good_rows(problem, region, pairs))
    rows = (*rows, *clique_rows(problem, pairs, chosen))
    value = np.concatenate([problem.worth[pairs], panels.reward])
    return Programme(pairs, tuple(part for part in rows if part.low.size), value)


def solve(
    programme: Programme,
    effort: Clock,
    gap: float = GAP,
    within: BoolArray | None = None,
    fixed: IntArray | None = None,
) -> Ending:
    """Pick columns of the largest total value by branch and cut (HiGHS); what it calls infeasible is not proved yet.

    An answer that breaks a row counts as none. With ``within`` only those columns may be picked, and the columns
    ``fixed`` must be.
    """
    from scipy.optimize import Bounds, LinearConstraint

    size = programme.value.size
    if not programme.pairs.size:
        return Ending(np.zeros(size, np.bool_), False, 0.0)
    columns = np.arange(size) if within is None else np.flatnonzero(within)
    lower = np.zeros(size)
    lower[[] if fixed is None else fixed] = 1
    matrix, low, high = programme.matrix()
    # A limit may end it with an answer that is not the best, or with none, which is status 1 and no proof.
    answer = integer_programme(
        -programme.value[columns],
        effort,
        gap=gap,
        integrality=np.ones(columns.size),
        bounds=Bounds(lower[columns], 1),
        constraints=LinearConstraint(matrix[:, columns], low, high),
    )
    bound = math.inf if answer.mip_dual_bound is None else -float(answer.mip_dual_bound)
    if answer.x is None:
        return Ending(None, answer.status == 2)
    picked = np.zeros(size, np.bool_)
    picked[columns] = answer.x > 0.5
    return Ending(picked, False, bound) if programme.obeyed_by(picked) else Ending(None, False)


def improved(
    programme: Programme,
    within: BoolArray,
    fixed: IntArray,
    picked: BoolArray | None,
    effort: Clock,
) -> Ending:
    """Pick the best of some columns by the second solver (CP-SAT), a few fixed, from a first choice if there is one."""
    from ortools.sat.python import cp_model

    model, columns = _model(programme, within, fixed)
    scale = STEPS / (float(np.abs(programme.value).max(initial=0.0)) or 1.0)
    weights = np.rint(programme.value * scale).astype(np.int64)
    model.maximize(cp_model.LinearExpr.weighted_sum(columns, weights.tolist()))
    for column, hint in zip(columns, [] if picked is None else picked.tolist(), strict=False):
        model.add_hint(column, hint)
    solver = _second_solver()
    status = solve_within(solver, model, effort)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Ending(None, status == cp_model.INFEASIBLE)
    found = np.array([solver.boolean_value(column) for column in columns], np.bool_)
    # Each value is rounded by half a step at most.
    bound = (solver.best_objective_bound + np.count_nonzero(within) / 2) / scale
    return Ending(found, False, bound) if programme.obeyed_by(found) else Ending(None, False)


def _second_solver() -> Any:
    """Cuts at every node, since bounds are what takes time."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.linearization_level = 2
    return solver


def confirm(programme: Programme, effort: Clock) -> Ending:
    """Ask a second solver, of another kind (constraint programming, CP-SAT), whether nothing obeys all rows.

    One solver's word is no proof: releases of HiGHS have called wrong answers optimal. Where the second one finds a
    choice of columns that obeys all rows, that is the answer; where the work is done before that nothing is proved.
    """
    from ortools.sat.python import cp_model

    model, columns = _model(programme, np.ones(programme.value.size, np.bool_), np.zeros(0, np.int64))
    solver = _second_solver()
    status = solve_within(solver, model, effort)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        picked = np.array([solver.boolean_value(column) for column in columns], np.bool_)
        return Ending(picked if programme.obeyed_by(picked) else None, False)
    return Ending(None, status == cp_model.INFEASIBLE)


def _model(programme: Programme, within: BoolArray, fixed: IntArray) -> tuple[Any, list[Any]]:
    """Write the rows for the second solver; columns that are not within are none, and fixed ones are picked."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    least = np.zeros(within.size, np.int64)
    least[fixed] = 1
    columns = [model.new_int_var(*ends, "") for ends in zip(least.tolist(), within.astype(int).tolist(), strict=True)]
    for rows in (part for part in programme.rows if part.low.size):
        order = np.argsort(rows.row, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(rows.row, minlength=rows.low.size))[:-1])
        for part, low, high in zip(parts, rows.low.tolist(), rows.high.tolist(), strict=True):
            weights, members = rows.weight[part].tolist(), [columns[column] for column in rows.column[part].tolist()]
            model.add_linear_constraint(cp_model.LinearExpr.weighted_sum(members, weights), low, high)
    return model, columns
