"""The fairest assignment of a small problem: one integer programme for each place of the sorted scores, solved twice.

With the k - 1 smallest scores known, the k-th is the largest t such that at most k - 1 papers stay below t, while at
most as many stay below each smaller score as before. One solver works in whole numbers (CP-SAT); the other one (HiGHS),
of another kind, must find no larger t, or nothing is called proved.
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
    from reviewgraph._base.arrays import BoolArray, IntArray
    from reviewgraph._base.clock import Clock


#: Pairs and papers up to which it is tried: most such programmes take some hundredths of a second.
MOST_PAIRS, MOST_ITEMS = 300, 30

#: Bits of the largest affinity that count, and units by which solvers may differ: HiGHS obeys rows to a millionth.
BITS, AGREED = 20, 16

#: Units by which HiGHS may fall short of a score: rows met to the last bit it has called infeasible.
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
    """A programme over all free pairs; the value of each, and of each served item places and what given pairs bring."""

    programme: Programme
    value: IntArray
    items: IntArray
    row: IntArray
    given: IntArray
    open: IntArray


def small(problem: Problem) -> bool:
    """Whether exact answers are tried."""
    return problem.item.size <= MOST_PAIRS and problem.n_items <= MOST_ITEMS


def leximin(problem: Problem, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of lexicographically largest sorted scores, to a millionth of the largest affinity.

    Returns its pairs, None if they were not found, and whether two solvers agree that there is none better.
    """
    found = _small(problem)
    chosen: BoolArray | None = None
    if found is None or not found.items.size:
        return None, False
    known: list[tuple[int, int]] = []
    proved = True
    for below in range(found.items.size):
        model = _next_score(found, known, below)
        answer, sure = _solve(model, clock)
        if answer is None or clock.over():
            return chosen, False
        proved = proved and sure and _agreed(model, int(answer[-1]), clock)
        score, chosen = int(answer[-1] + _range(found)[0].min()), _chosen(problem, found.programme, answer)
        if not known or known[-1][0] != score:
            known.append((score, below))
    return chosen, proved


def with_floor(problem: Problem, floor: float, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of most worth, rewards included, in which no served item's score is below a floor.

    Returns its pairs, None if there are none, and whether two solvers agree that there are none.
    """
    found = _small(problem)
    if found is None:
        return None, False
    least = int(np.floor(floor / _unit(problem))) - int(problem.demand.max())
    model = _floored(found, least, np.rint(found.programme.value / _unit(problem)).astype(np.int64))
    answer, sure = _solve(model, clock)
    if answer is not None:
        return _chosen(problem, found.programme, answer), False
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


def _chosen(problem: Problem, programme: Programme, answer: IntArray) -> BoolArray:
    chosen = problem.given.copy()
    chosen[programme.pairs] = answer[: programme.pairs.size] > 0
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


def _range(found: _Small) -> tuple[IntArray, int]:
    """Return the least score that each item could have if all others were left out, and the largest of any."""
    down, up = found.given.copy(), found.given.copy()
    for item in range(found.items.size):
        value = np.sort(found.value[found.row == item])
        down[item] += value[: found.open[item]].sum()
        up[item] += value[value.size - found.open[item] :].sum()
    return down, int(up.max())


def _next_score(found: _Small, known: list[tuple[int, int]], below: int) -> _Model:
    """Maximise the score that at most so many items stay below; t counts from the least score that could be."""
    n, size = found.items.size, found.programme.value.size
    counted = np.flatnonzero(found.row >= 0)
    down, up = _range(found)
    rows, everyone = _Rows(found.programme), np.arange(n)
    first, far = size, np.full(n, _FAR)
    # Scores known: at most ``count`` items may stay below each; x says who does.
    for score, count in known:
        slack = np.maximum(score - down, 0)
        rows.add(
            np.concatenate([found.row[counted], everyone]),
            np.concatenate([counted, first + everyone]),
            np.concatenate([found.value[counted], slack]),
            score - found.given,
            far,
        )
        rows.add(np.zeros(n, np.int64), first + everyone, np.ones(n, np.int64), np.array([0]), np.array([count]))
        first += n
    # The next one: every item has t at least, but for those that may stay below.
    last = first + n
    rows.add(
        np.concatenate([found.row[counted], everyone, everyone]),
        np.concatenate([counted, first + everyone, np.full(n, last)]),
        np.concatenate([found.value[counted], up - down, np.full(n, -1)]),
        down.min() - found.given,
        far,
    )
    rows.add(np.zeros(n, np.int64), first + everyone, np.ones(n, np.int64), np.array([0]), np.array([below]))
    most = np.ones(last + 1, np.int64)
    most[last] = up - down.min()
    goal = np.zeros(last + 1, np.int64)
    goal[last] = 1
    return rows.model(most, goal)


def _floored(found: _Small, least: int, goal: IntArray) -> _Model:
    """Maximise a goal with no score below a floor."""
    counted = np.flatnonzero(found.row >= 0)
    rows = _Rows(found.programme)
    rows.add(found.row[counted], counted, found.value[counted], least - found.given, np.full(found.items.size, _FAR))
    return rows.model(np.ones(goal.size, np.int64), goal)


def _solve(model: _Model, clock: Clock) -> tuple[IntArray | None, bool]:
    """Solve in whole numbers (CP-SAT); returns the answer, and whether nothing is said to be better, or to exist."""
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
    """Whether a second solver (HiGHS) finds nothing better either, or nothing at all where there is to be none.

    It solves a relaxation by a hair, so that what it bounds is bounded.
    """
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import diags_array

    # In parts of the largest affinity, so that its tolerances are small beside what counts; t is not whole then.
    unit = 2.0**-BITS
    row = np.where(abs(model.rows).max(axis=1).toarray().ravel() > 1, unit, 1.0)
    column = np.where(model.most > 1, 2.0**BITS, 1.0)
    answer = integer_programme(
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
        return bool(answer.status == 2)
    return bool(answer.status == 0 and -answer.fun / unit <= best + AGREED)
