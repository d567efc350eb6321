"""Integer programmes over some papers: what each must obey as sparse rows, and two solvers that must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Relative gap at which an integer programme may stop.
GAP = 1e-4


class Rows(NamedTuple):
    """Constraints ``low <= sum of the columns of a row <= high``; ``row[e]`` holds ``column[e]``."""

    row: IntArray
    column: IntArray
    low: IntArray
    high: IntArray


class Programme(NamedTuple):
    """Choose among ``pairs``, given the rest of an assignment, so that all ``rows`` hold."""

    pairs: IntArray
    rows: tuple[Rows, ...]

    def obeyed_by(self, picked: BoolArray) -> bool:
        """Whether a choice of columns obeys all rows."""
        for rows in self.rows:
            total = np.bincount(rows.row, picked[rows.column], rows.low.size)
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
        \sum_{p \ni i, h} z_p \le 1, \quad \sum_{p \ni i, \text{senior}} z_p \ge 1

    for items i of the region, reviewers j with o reviews outside it, and institutions h; given pairs count.
    """
    inside = region[problem.item]
    pairs = np.flatnonzero(inside & ~problem.given)
    item, reviewer = problem.item[pairs], problem.reviewer[pairs]
    outside = np.bincount(problem.reviewer[chosen & (problem.given | ~inside)], minlength=problem.n_reviewers)
    least, demand = problem.least - outside, problem.open_demand()
    # Counting alone: too few pairs for an item, or none for somebody who must get a review.
    short = region & (np.bincount(item, minlength=problem.n_items) < demand)
    starved = (least > 0) & (np.bincount(reviewer, minlength=problem.n_reviewers) == 0)
    seniors = _seniors(problem, region, pairs) if problem.needs_senior else None
    if short.any() or starved.any() or (problem.needs_senior and seniors is None):
        return None
    rows = [_rows(item, demand, demand), _rows(reviewer, least, problem.load - outside)]
    rows += [_institutions(problem, inside, pairs), *([seniors] if seniors else []), _strong(problem, region, pairs)]
    return Programme(pairs, tuple(part for part in rows if part.low.size))


def _institutions(problem: Problem, inside: BoolArray, pairs: IntArray) -> Rows:
    """Allow one pair of each item and institution, none where a given pair is of it."""
    home = problem.institution[problem.reviewer]
    width = int(problem.institution.max(initial=0)) + 1
    group = problem.item * width + home
    taken = np.bincount(group[inside & problem.given & (home >= 0)], minlength=problem.n_items * width)
    most = np.maximum(1 - taken, 0)
    return _rows(group[pairs], np.zeros_like(most), most, home[pairs] >= 0)


def _seniors(problem: Problem, region: BoolArray, pairs: IntArray) -> Rows | None:
    """Ask for a senior pair of each item without one; None if an item has no such pair."""
    senior = problem.senior[problem.reviewer]
    given = region[problem.item] & problem.given & senior
    have = np.bincount(problem.item[given], minlength=problem.n_items)
    wanted = np.where(problem.required & (problem.demand > 0), np.maximum(1 - have, 0), 0)
    if np.setdiff1d(np.flatnonzero(region & (wanted > 0)), problem.item[pairs[senior[pairs]]]).size:
        return None
    return _rows(problem.item[pairs], wanted, problem.demand, senior[pairs])


def _strong(problem: Problem, region: BoolArray, pairs: IntArray) -> Rows:
    """Ask for a pair at the floor for the best reviewer of each item that has none such given."""
    strong = problem.strong
    have = np.bincount(problem.item[problem.given & strong], minlength=problem.n_items)
    asked = problem.served & region if problem.floors.best is not None else np.zeros(problem.n_items, np.bool_)
    wanted = np.where(asked, np.maximum(1 - have, 0), 0)
    return _rows(problem.item[pairs], wanted, problem.demand, strong[pairs] & (wanted > 0)[problem.item[pairs]])


def _rows(group: IntArray, low: IntArray, high: IntArray, where: BoolArray | None = None) -> Rows:
    """Rows that add up the columns of each group; ``where`` picks columns."""
    columns = np.arange(group.size) if where is None else np.flatnonzero(where)
    distinct, row = np.unique(group[columns], return_inverse=True)
    return Rows(row, columns, low[distinct], high[distinct])


def solve(programme: Programme, value: Any, seconds: float) -> Ending:
    """Pick columns of the largest total value by branch and cut (HiGHS); what it calls infeasible is not proved yet.

    An answer that breaks a row counts as none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    size = programme.pairs.size
    if not size:
        return Ending(np.zeros(0, np.bool_), False)
    constraints = [
        LinearConstraint(
            csr_array((np.ones(rows.row.size), (rows.row, rows.column)), shape=(rows.low.size, size)),
            rows.low,
            rows.high,
        )
        for rows in programme.rows
    ]
    # A time limit may end it with an answer that is not the best, or with none, which is status 1 and no proof.
    answer = milp(
        -np.asarray(value, np.float64),
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
    columns = [model.new_bool_var("") for _ in range(programme.pairs.size)]
    for rows in programme.rows:
        order = np.argsort(rows.row, kind="stable")
        parts = np.split(rows.column[order], np.cumsum(np.bincount(rows.row, minlength=rows.low.size))[:-1])
        for part, low, high in zip(parts, rows.low.tolist(), rows.high.tolist(), strict=True):
            model.add_linear_constraint(sum(columns[column] for column in part.tolist()), low, high)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        picked = np.array([solver.boolean_value(column) for column in columns], np.bool_)
        return Ending(picked if programme.obeyed_by(picked) else None, False)
    return Ending(None, status == cp_model.INFEASIBLE)
