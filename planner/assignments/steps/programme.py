"""Integer programmes over some papers: what each must obey as sparse rows, and two solvers that must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.rows import Rows, panel_rows, rows_of

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Relative gap at which an integer programme may stop.
GAP = 1e-4


class Programme(NamedTuple):
    """Choose among ``pairs``, given the rest of an assignment, so that all ``rows`` hold and ``value`` is largest.

    Columns are the pairs and then, where different groups count, one for each group that an item may come to have.
    """

    pairs: IntArray
    rows: tuple[Rows, ...]
    value: FloatArray

    def obeyed_by(self, picked: BoolArray) -> bool:
        """Whether a choice of columns obeys all rows."""
        for rows in self.rows:
            total = np.bincount(rows.row, picked[rows.column] * rows.weight, rows.low.size)
            if (total < rows.low).any() or (total > rows.high).any():
                return False
        return True


class Ending(NamedTuple):
    """The columns picked, or None: then ``proved`` says whether that is because nothing obeys all rows."""

    picked: BoolArray | None
    proved: bool


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
    rows = (rows_of(item, demand, demand), rows_of(reviewer, least, problem.load - outside), *panels.rows)
    value = np.concatenate([problem.worth[pairs], panels.reward])
    return Programme(pairs, tuple(part for part in rows if part.low.size), value)


def solve(programme: Programme, seconds: float) -> Ending:
    """Pick columns of the largest total value by branch and cut (HiGHS); what it calls infeasible is not proved yet.

    An answer that breaks a row counts as none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    size = programme.value.size
    if not programme.pairs.size:
        return Ending(np.zeros(size, np.bool_), False)
    constraints = [
        LinearConstraint(
            csr_array((rows.weight, (rows.row, rows.column)), shape=(rows.low.size, size)),
            rows.low,
            rows.high,
        )
        for rows in programme.rows
    ]
    # A time limit may end it with an answer that is not the best, or with none, which is status 1 and no proof.
    answer = milp(
        -programme.value,
        integrality=np.ones(size),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": GAP},
    )
    if answer.x is None:
        return Ending(None, answer.status == 2)
    picked = np.asarray(answer.x > 0.5, np.bool_)
    return Ending(picked if programme.obeyed_by(picked) else None, False)


def confirm(programme: Programme, seconds: float) -> Ending:
    """Ask a second solver, of another kind (constraint programming, CP-SAT), whether nothing obeys all rows.

    One solver's word is no proof: releases of HiGHS have called wrong answers optimal. Where the second one finds a
    choice of columns that obeys all rows, that is the answer; where time runs out nothing is proved.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in range(programme.value.size)]
    for rows in programme.rows:
        order = np.argsort(rows.row, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(rows.row, minlength=rows.low.size))[:-1])
        for part, low, high in zip(parts, rows.low.tolist(), rows.high.tolist(), strict=True):
            weights, members = rows.weight[part].tolist(), [columns[column] for column in rows.column[part].tolist()]
            model.add_linear_constraint(cp_model.LinearExpr.weighted_sum(members, weights), low, high)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        picked = np.array([solver.boolean_value(column) for column in columns], np.bool_)
        return Ending(picked if programme.obeyed_by(picked) else None, False)
    return Ending(None, status == cp_model.INFEASIBLE)
