"""The fairest assignment of a small problem: one integer programme for each place of the sorted scores, solved twice.

Given the k - 1 smallest scores, the k-th is the largest t such that at most k - 1 papers stay below t, while at most as
many stay below each smaller score as before. One solver works in whole numbers (CP-SAT); the other one (HiGHS), of
another kind, must find no larger t, or nothing counts as proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.constraints import VALUE_BITS, unit_of
from planner._assign.panel_programme import MOST_COUPLES, Programme, programme_of, rival_rows
from planner.solving import integer_programme, solve_within

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, IntArray


#: Maximum number of pairs and papers: most such programmes take some hundredths of a second.
MOST_PAIRS, MOST_ITEMS = 300, 30

#: Bits of the largest affinity that count, and units by which solvers may differ: HiGHS obeys rows to a millionth.
BITS, AGREED = 20, 16

#: Units by which HiGHS may fall short of a score: it has called rows met to the last bit infeasible.
SLACK = 4

#: Work of CP-SAT and of HiGHS for one programme.
WORK, CHECK = 40.0, 10.0

#: No upper limit on a row.
_FAR = 1 << 60


class _Model(NamedTuple):
    """Maximise the last column, or ``goal``, over whole numbers within ``most``, where ``low <= rows @ x <= high``."""

    rows: csr_array
    low: IntArray
    high: IntArray
    most: IntArray
    goal: IntArray


class _Small(NamedTuple):
    """A programme over all free pairs, their values, and the open places and given sum of each served item."""

    programme: Programme
    value: IntArray
    items: IntArray
    row: IntArray
    given: IntArray
    open: IntArray


def small(problem: Problem) -> bool:
    """Whether exact solutions are tried."""
    return problem.item.size <= MOST_PAIRS and problem.n_items <= MOST_ITEMS


def leximin(problem: Problem, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of lexicographically largest sorted scores, to a millionth of the largest affinity.

    Returns its pairs, None if not found, and whether two solvers agree that there is none better.
    """
    reduced = _small(problem)
    chosen: BoolArray | None = None
    if reduced is None or not reduced.items.size:
        return None, False
    scores: list[tuple[int, int]] = []
    proved = True
    for below in range(reduced.items.size):
        model = _next_score(reduced, scores, below)
        solution, sure = _solve(model, clock)
        if solution is None or clock.over():
            return chosen, False
        proved = proved and sure and _agreed(model, int(solution[-1]), clock)
        score, chosen = int(solution[-1] + _range(reduced)[0].min()), _chosen(problem, reduced.programme, solution)
        if not scores or scores[-1][0] != score:
            scores.append((score, below))
    return chosen, proved


def with_floor(problem: Problem, floor: float, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of most worth, rewards included, in which no served item's score is below a floor.

    Returns its pairs, None if there are none, and whether two solvers agree that there are none.
    """
    reduced = _small(problem)
    if reduced is None:
        return None, False
    least = int(np.floor(floor / _unit(problem))) - int(problem.demand.max())
    # Maximise the worth with no score below the floor.
    goal = np.rint(reduced.programme.value / _unit(problem)).astype(np.int64)
    counted, rows = np.flatnonzero(reduced.row >= 0), _Rows(reduced.programme)
    far = np.full(reduced.items.size, _FAR)
    rows.add(reduced.row[counted], counted, reduced.value[counted], least - reduced.given, far)
    model = rows.model(np.ones(goal.size, np.int64), goal)
    solution, sure = _solve(model, clock)
    if solution is not None:
        return _chosen(problem, reduced.programme, solution), False
    return None, sure and _agreed(model, None, clock)


def _unit(problem: Problem) -> float:
    return unit_of(problem.affinity) * 2.0 ** (VALUE_BITS - BITS)


def _small(problem: Problem) -> _Small | None:
    programme = programme_of(problem, problem.given, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return None
    coarse = np.rint(problem.affinity / _unit(problem)).astype(np.int64)
    items = np.flatnonzero(problem.served)
    row = np.where(problem.served, np.cumsum(problem.served) - 1, -1)
    given = np.zeros(problem.n_items, np.int64)
    np.add.at(given, problem.item[problem.given], coarse[problem.given])
    rows, places = row[problem.item[programme.pairs]], problem.open_demand()[items]
    # All couples, even where the programme has none written down; given pairs have no rivals.
    couples = problem.rivals.couples_among(np.ones(problem.item.size, np.bool_))
    if len(couples) > MOST_COUPLES:
        programme = programme._replace(rows=(*programme.rows, rival_rows(programme.pairs, couples)))
    return _Small(programme, coarse[programme.pairs], items, rows, given[items], places)


def _chosen(problem: Problem, programme: Programme, solution: IntArray) -> BoolArray:
    chosen = problem.given.copy()
    chosen[programme.pairs] = solution[: programme.pairs.size] > 0
    return chosen


class _Rows:
    """Rows of a model under construction."""

    def __init__(self, programme: Programme) -> None:
        self.parts: list[tuple[IntArray, IntArray, IntArray]] = []
        self.low: list[IntArray] = []
        self.high: list[IntArray] = []
        self.size = 0
        for rows in programme.rows:
            self.add(rows.row, rows.column, rows.weight, rows.low, rows.high)

    def add(self, row: IntArray, column: IntArray, weight: IntArray, low: IntArray, high: IntArray) -> None:
        """Add rows, numbered from 0."""
        self.parts.append((self.size + row, column, weight))
        self.low.append(low)
        self.high.append(high)
        self.size += low.size

    def model(self, most: IntArray, goal: IntArray) -> _Model:
        """Return the model."""
        from scipy.sparse import csr_array

        row, column, weight = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        matrix = csr_array((weight, (row, column)), shape=(self.size, most.size))
        return _Model(matrix, np.concatenate(self.low), np.concatenate(self.high), most, goal)


def _range(reduced: _Small) -> tuple[IntArray, int]:
    """Return the least score that each item could have if all others were left out, and the largest of any."""
    down, up = reduced.given.copy(), reduced.given.copy()
    for item in range(reduced.items.size):
        value = np.sort(reduced.value[reduced.row == item])
        down[item] += value[: reduced.open[item]].sum()
        up[item] += value[value.size - reduced.open[item] :].sum()
    return down, int(up.max())


def _next_score(reduced: _Small, scores: list[tuple[int, int]], below: int) -> _Model:
    """Maximise the score that at most ``below`` items miss; t counts from the least possible score."""
    n, size = reduced.items.size, reduced.programme.value.size
    counted = np.flatnonzero(reduced.row >= 0)
    down, up = _range(reduced)
    rows, everyone = _Rows(reduced.programme), np.arange(n)
    first, far = size, np.full(n, _FAR)
    # Smaller scores: at most ``count`` items may stay below each; x marks them.
    for score, count in scores:
        slack = np.maximum(score - down, 0)
        rows.add(
            np.concatenate([reduced.row[counted], everyone]),
            np.concatenate([counted, first + everyone]),
            np.concatenate([reduced.value[counted], slack]),
            score - reduced.given,
            far,
        )
        rows.add(np.zeros(n, np.int64), first + everyone, np.ones(n, np.int64), np.array([0]), np.array([count]))
        first += n
    # The next one: every item has t at least, except those that may stay below.
    last = first + n
    rows.add(
        np.concatenate([reduced.row[counted], everyone, everyone]),
        np.concatenate([counted, first + everyone, np.full(n, last)]),
        np.concatenate([reduced.value[counted], up - down, np.full(n, -1)]),
        down.min() - reduced.given,
        far,
    )
    rows.add(np.zeros(n, np.int64), first + everyone, np.ones(n, np.int64), np.array([0]), np.array([below]))
    most = np.ones(last + 1, np.int64)
    most[last] = up - down.min()
    goal = np.zeros(last + 1, np.int64)
    goal[last] = 1
    return rows.model(most, goal)


def _solve(model: _Model, clock: Clock) -> tuple[IntArray | None, bool]:
    """Solve in whole numbers (CP-SAT); returns the solution, and whether it is optimal, or infeasibility certain."""
    from ortools.sat.python import cp_model

    sat = cp_model.CpModel()
    columns = [sat.new_int_var(0, most, "") for most in model.most.tolist()]
    pointer, rows = model.rows.indptr, model.rows
    for row, (low, high) in enumerate(zip(model.low.tolist(), model.high.tolist(), strict=True)):
        part = slice(pointer[row], pointer[row + 1])
        terms = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
        sat.add_linear_constraint(sum(weight * columns[column] for column, weight in terms), low, high)
    sat.maximize(sum(int(model.goal[k]) * columns[k] for k in np.flatnonzero(model.goal)))
    solver = cp_model.CpSolver()
    status = solve_within(solver, sat, clock.effort(WORK))
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return np.array([solver.value(column) for column in columns], np.int64), status == cp_model.OPTIMAL
    return None, status == cp_model.INFEASIBLE


def _agreed(model: _Model, best: int | None, clock: Clock) -> bool:
    """Whether a second solver (HiGHS) finds nothing better either, or nothing at all if there is to be no solution.

    It solves a slight relaxation, so that its bound is valid.
    """
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import diags_array

    # Relative to the largest affinity, so that its tolerances are small beside values; t is not whole then.
    unit = 2.0**-BITS
    row = np.where(abs(model.rows).max(axis=1).toarray().ravel() > 1, unit, 1.0)
    column = np.where(model.most > 1, 2.0**BITS, 1.0)
    result = integer_programme(
        -unit * column * model.goal,
        clock.effort(CHECK),
        gap=0.0,
        integrality=(model.most == 1).astype(int),
        bounds=Bounds(0, model.most / column),
        constraints=LinearConstraint(
            diags_array(row) @ model.rows @ diags_array(column),
            row * model.low - np.where(row < 1, SLACK * unit, 0.0),
            np.where(model.high >= _FAR, np.inf, row * model.high),
        ),
    )
    if best is None:
        return bool(result.status == 2)
    return bool(result.status == 0 and -result.fun / unit <= best + AGREED)
