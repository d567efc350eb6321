"""The programme of an assignment with rules: its relaxation by priced columns, and the best whole choice.

:func:`programme_of` writes down what an assignment of some papers must obey. :class:`Relaxation` solves the linear
relaxation and is re-optimised after bounds change: columns come in by their prices and limits once they are broken, so
that what is solved is small. :func:`best_choice` rounds it and closes the gap by constraint programming; its
bounds are sums of duals, which hold whatever solver these come from. :func:`best_under_rules` puts this together.

Nothing is called infeasible but on a proof: a count, duals that no assignment can meet, or a solver of whole numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from planner._assign.problem import NO_FLOOR, VALUE_BITS, Problem
from planner.solving import simplex_work, solve_within
from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray, ranks

#: Bits of an affinity in whole units that solvers ignore: they obey rows to a millionth.
COARSE = 16

#: No upper limit on a row.
NO_HIGH = 1 << 40


class Rows(NamedTuple):
    """Constraints ``low <= weighted sum of the columns of a row <= high``; ``row[e]`` holds ``weight[e] column[e]``.

    ``lazy`` rows are limits that few choices break: the relaxation holds those that its solutions have broken.
    """

    row: IntArray
    column: IntArray
    low: IntArray
    high: IntArray
    weight: IntArray
    lazy: bool = False


class Programme(NamedTuple):
    """Choose among ``pairs``, given the rest of an assignment, so that all ``rows`` hold and ``value`` is maximal.

    Each pair is a column, a whole number from 0 to 1.
    """

    pairs: IntArray
    rows: tuple[Rows, ...]
    value: FloatArray

    def assigned(self, picked: BoolArray, beside: BoolArray) -> BoolArray:
        """Return the assignment of a choice of columns beside fixed pairs, shape (P,)."""
        chosen = beside.copy()
        chosen[self.pairs] = picked
        return chosen

    def matrix(self) -> tuple[Any, FloatArray, FloatArray]:
        """Return all rows as one sparse matrix, and their bounds, scaled to a largest weight of 1.

        Solvers obey rows to a millionth: with weights of a million, HiGHS calls programmes infeasible that are not.
        """
        from scipy.sparse import csc_array

        first = np.cumsum([0, *(part.low.size for part in self.rows)])
        row = np.concatenate([part.row + start for part, start in zip(self.rows, first, strict=False)])
        column, weight, low, high = (
            np.concatenate([getattr(part, name) for part in self.rows]) for name in ("column", "weight", "low", "high")
        )
        largest = np.ones(low.size)
        np.maximum.at(largest, row, np.abs(weight))
        matrix = csc_array((weight / largest[row], (row, column)), shape=(low.size, self.value.size))
        return matrix, low / largest, np.where(high >= NO_HIGH, np.inf, high / largest)

    def obeyed_by(self, picked: BoolArray) -> bool:
        """Whether a choice of columns obeys all rows."""
        for rows in self.rows:
            total = np.bincount(rows.row, picked[rows.column] * rows.weight, rows.low.size)
            if (total < rows.low).any() or (total > rows.high).any():
                return False
        return True

    def worth(self, picked: BoolArray | None) -> float:
        """Return the value of a choice of columns; minus infinity for none."""
        return -math.inf if picked is None else math.fsum(self.value[picked].tolist())


def programme_of(problem: Problem) -> Programme | None:
    r"""Write down what an assignment must obey; None if a count rules it out.

    .. math::
        \sum_{p \ni i} z_p = d_i, \quad l_j - o_j \le \sum_{p \ni j} z_p \le u_j - o_j, \quad
        l_{ig} \le \sum_{p \ni i, g} z_p \le u_{ig}

    for items i, reviewers j with o given reviews, and panel groups g; given pairs count. The value is that of pairs.
    """
    pairs = np.flatnonzero(~problem.given & problem.able)
    item = problem.item[pairs]
    reviewer = problem.reviewer[pairs]
    load, least = problem.open_loads()
    demand = problem.open_demand()
    starved = (least > 0) & (np.bincount(reviewer, minlength=problem.n_reviewers) == 0)
    short = np.bincount(item, minlength=problem.n_items) < demand
    if short.any() or starved.any():
        return None
    panels = panel_rows(problem, pairs)
    if panels is None:
        return None
    column = np.arange(pairs.size)
    demands = _compact(item, column, demand, demand)
    loads = _compact(reviewer, column, least, load)
    floors = under_floors(problem, pairs, np.where(problem.served, problem.floor, NO_FLOOR))
    rows = demands, loads, *panels, floors
    if any((part.low > part.high).any() for part in rows):
        return None
    # Weights of what comes before affinity leave no room for rounding.
    value = rounded(problem.worth[pairs]) if problem.concerns is None else problem.worth[pairs]
    return Programme(pairs, tuple(part for part in rows if part.low.size) or rows[:1], value)


def rounded(value: FloatArray) -> FloatArray:
    """Return values as multiples of a power of two, without last digits, in which processors differ.

    >>> bool((rounded(np.array([0.1, 0.1 + 1e-16, 0.4])) == rounded(np.array([0.1, 0.1, 0.4 + 1e-16]))).all())
    True
    """
    largest = float(np.abs(value).max(initial=0.0))
    if largest == 0.0:
        return value
    # The power changes where the largest value is no round number.
    step = 2.0 ** (round(math.log2(largest)) - VALUE_BITS)
    return np.asarray(np.rint(value / step) * step)


def panel_rows(problem: Problem, pairs: IntArray) -> tuple[Rows, Rows] | None:
    """Write down minimums, with their limits, and limits alone of panel groups on items; None if pairs are too few."""
    panels = problem.panels
    size = max(panels.n_groups, 1)
    given = presence(problem, problem.given)
    # A cell is a paper and a panel group: its number of given pairs, and of the columns that could be.
    place, group = panels.of(problem.reviewer[pairs], problem.item[pairs])
    mine = problem.bound[problem.item[pairs[place]]]
    cells, row = np.unique((problem.item[pairs[place]] * size + group)[mine], return_inverse=True)
    place = place[mine]
    cell = np.divmod(cells, size)
    low = np.maximum(panels.least[cell] - given[cell], 0)
    high = np.maximum(panels.most[cell] - given[cell], 0)
    could = np.bincount(row, minlength=cells.size)
    # A group that an item lacks must be among its cells.
    lacking = (given < panels.least) & problem.bound[:, np.newaxis]
    if (could < low).any() or np.count_nonzero(lacking) > np.count_nonzero(low):
        return None
    needed = (low > 0)[row]
    limited = ((low == 0) & (high < could))[row]
    minimums = _compact(row[needed], place[needed], low, high)
    return minimums, _compact(row[limited], place[limited], low, high)._replace(lazy=True)


def presence(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return the number of reviewers of each panel group on each item, shape (N, G)."""
    pairs = np.flatnonzero(chosen)
    return problem.panels.counts(problem.reviewer[pairs], problem.item[pairs], problem.n_items)


def under_floors(problem: Problem, pairs: IntArray, floor: IntArray) -> Rows:
    """Return a row for each item with a lower bound on its score, in whole units, shape (N,)."""
    given = problem.scores(problem.given)
    # Rounding may change each review by half a unit.
    low = ((floor - given) >> COARSE) - problem.demand - 1
    column = np.flatnonzero((floor > NO_FLOOR // 2)[problem.item[pairs]])
    weight = np.rint(problem.whole[pairs[column]] / 2.0**COARSE).astype(np.int64)
    return _compact(problem.item[pairs[column]], column, low, np.full(low.size, NO_HIGH), weight)


def _compact(group: IntArray, column: IntArray, low: IntArray, high: IntArray, weight: IntArray | None = None) -> Rows:
    """Return rows of those groups that have a column."""
    distinct, row = np.unique(group, return_inverse=True)
    return Rows(row, column, low[distinct], high[distinct], np.ones(row.size, np.int64) if weight is None else weight)


# The linear relaxation, solved again and again.
#
# Let c be the values, A z the activities of rows between l and u, and a <= z <= b the bounds of columns. For any
# vector y, the Lagrangian bound (weak duality) is
#
#     c z  <=  sum_r max(y_r l_r, y_r u_r)  +  sum_p max((c - A' y)_p a_p, (c - A' y)_p b_p),
#
# so duals of a solver over few columns and rows prove a bound on all choices, once all columns are priced by them.
# With c = 0 a negative bound proves that nothing obeys all rows (Farkas).

#: Pairs per item, and per reviewer, that the relaxation starts with; columns from which pricing pays.
START = 12
START_OF_REVIEWER = 6
FEW = 4_000

#: Columns that come in at once, per row that must be met.
AT_ONCE = 0.5

#: Size of the random amounts that break ties, in parts of the largest value: random choice among equals gives
#: expanding graphs, where the order of rows would give chains.
NOISE = 1e-6

#: Price of a unit that a row is short of, in largest values; and the factor by which it rises where that is not enough.
DEAR = 16.0
DEARER = 64.0

#: Value of a pair that is fixed at once when rounding.
NEARLY = 0.9

#: Work of the products with all rows and columns, an entry.
PRODUCTS = 1e-8

#: Tolerance of values and gains, relative to the largest value; and of whole numbers.
GAIN = 1e-9
WHOLE = 1e-6


class Prices(NamedTuple):
    """A bound by weak duality, and the loss of taking each column against it (negative: the loss of leaving it)."""

    bound: float
    loss: FloatArray


class Relaxation:
    """The linear relaxation of a programme in HiGHS, re-optimised by the simplex method from the last basis.

    Parameters
    ----------
    programme
        What must hold.
    start
        Columns that are in from the start, shape (C,); others come in by their prices.
    effort
        Where the work is counted; the caller looks whether it is over.
    seed
        Of the random amounts that break ties; None for none, so that values are the true ones.

    Notes
    -----
    After :meth:`solve`, ``z`` holds the value of every column, shape (C,), and ``short`` by how much rows are missed in
    all, 0 where all are met. Rows with a minimum have a slack column at a high price, so that it is always solvable,
    unless columns are fixed beyond the maximum of a row: then ``short`` is infinite.
    """

    def __init__(self, programme: Programme, start: BoolArray, effort: Clock, *, seed: int | None = 0) -> None:
        import highspy

        self.programme = programme
        self.effort = effort
        matrix, low, high = programme.matrix()
        self.rows = matrix.tocsr()
        self.columns = matrix
        self.by_column = self.columns.T
        self.low = low
        self.high = high
        # Values in units of the largest, so that tolerances of the solver are relative.
        self.unit = float(np.abs(programme.value).max(initial=0.0)) or 1.0
        self.value = programme.value / self.unit
        if seed is not None:
            self.value = self.value + NOISE * np.random.default_rng(seed).random(self.value.size)
        self.lower = np.zeros(self.value.size)
        self.upper = np.ones(self.value.size)
        self.z = np.zeros(self.value.size)
        self.short = 0.0
        self.dual = np.zeros(self.low.size)
        self.problem: Problem | None = None  # of which it is the relaxation over all papers, if that
        self.dear = DEAR
        self.solver = highspy.Highs()
        self.optimal = highspy.HighsModelStatus.kOptimal
        for option, setting in (("output_flag", False), ("threads", 1), ("random_seed", 0)):
            self.solver.setOptionValue(option, setting)
        # Slacks first, then columns in the order in which they came in; rows likewise.
        self.place = np.full(self.value.size, -1)
        self.row_place = np.full(self.low.size, -1)
        self.active = np.empty(0, np.int64)
        self.held = np.empty(0, np.int64)
        lazy = np.repeat([rows.lazy for rows in programme.rows], [rows.low.size for rows in programme.rows])
        self.slack = np.flatnonzero(self.low > 0)
        self._hold(np.flatnonzero(~lazy | (self.low > 0)))
        ones = np.ones(self.slack.size)
        ends = np.arange(self.slack.size + 1)
        self._add_columns(self.dear * ones, 0 * ones, np.inf * ones, ends, self.row_place[self.slack], ones)
        self._enter(np.flatnonzero(start))

    # The model

    def _hold(self, rows: IntArray) -> None:
        """Put rows into the model."""
        self.row_place[rows] = self.held.size + np.arange(rows.size)
        self.held = np.concatenate([self.held, rows])
        part = self.rows[rows]
        place = self.place[part.indices]
        inside = place >= 0
        ends = np.append(0, np.cumsum(inside))[part.indptr]
        bounds = self.low[rows], self.high[rows]
        column = (self.slack.size + place[inside]).astype(np.int32)
        self.solver.addRows(rows.size, *bounds, column.size, ends[:-1].astype(np.int32), column, part.data[inside])

    def _enter(self, columns: IntArray) -> None:
        """Put columns into the model."""
        self.place[columns] = self.active.size + np.arange(columns.size)
        self.active = np.concatenate([self.active, columns])
        part = self.columns[:, columns]
        row = self.row_place[part.indices]
        inside = row >= 0
        ends = np.append(0, np.cumsum(inside))[part.indptr]
        bounds = self.lower[columns], self.upper[columns]
        self._add_columns(-self.value[columns], *bounds, ends, row[inside], part.data[inside])

    def _add_columns(
        self, cost: FloatArray, low: FloatArray, high: FloatArray, ends: IntArray, row: IntArray, weight: FloatArray
    ) -> None:
        where = ends[:-1].astype(np.int32), row.astype(np.int32)
        self.solver.addCols(cost.size, cost, low, high, row.size, *where, weight)

    def bounds(self, columns: IntArray, low: float | FloatArray, high: float | FloatArray) -> None:
        """Set bounds of columns; those that must be taken come into the model."""
        self.lower[columns] = low
        self.upper[columns] = high
        self._enter(np.unique(columns[(self.place[columns] < 0) & (self.lower[columns] > 0)]))
        inside = columns[self.place[columns] >= 0]
        if inside.size:
            where = (self.slack.size + self.place[inside]).astype(np.int32)
            self.solver.changeColsBounds(inside.size, where, self.lower[inside], self.upper[inside])

    def values(self, value: FloatArray, dear: float | None = None) -> None:
        """Set the value of each column, in units of the largest, and the price of a missing unit."""
        self.value = value
        self.dear = self.dear if dear is None else dear
        cost = np.concatenate([np.full(self.slack.size, self.dear), -value[self.active]])
        self.solver.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)

    # Solutions

    def solve(self, *, priced: bool = True) -> None:
        """Solve it over all columns, or, if not ``priced``, over those that are in."""
        while True:
            self._run()
            if not np.isfinite(self.short):
                return
            activity = self.rows @ self.z
            broken = np.flatnonzero((self.row_place < 0) & (activity > self.high + WHOLE))
            if broken.size:
                self._hold(broken)
                continue
            gain = self.reduced()
            new = np.flatnonzero((self.place < 0) & (gain > GAIN * 100) & (self.upper > 0)) if priced else broken
            if not new.size or self.effort.over():
                return
            best = np.argsort(-gain[new], kind="stable")[: int(AT_ONCE * max(self.slack.size, 100))]
            self._enter(new[best])

    def _run(self) -> None:
        self.solver.run()
        entries = self.rows.nnz * self.active.size // max(self.value.size, 1)
        steps = self.solver.getInfo().simplex_iteration_count
        self.effort.spend(simplex_work(entries, steps) + PRODUCTS * self.rows.nnz)
        if self.solver.getModelStatus() != self.optimal:
            self.short = math.inf
            return
        solution = self.solver.getSolution()
        value = np.array(solution.col_value)
        short = float(value[: self.slack.size].sum())
        self.short = short if short > WHOLE else 0.0
        self.z = np.zeros(self.value.size)
        self.z[self.active] = value[self.slack.size :]
        self.dual = np.zeros(self.low.size)
        self.dual[self.held] = solution.row_dual
        # A row without a maximum has no negative dual but by rounding.
        self.dual[(self.dual < 0) & np.isinf(self.high)] = 0

    def reduced(self) -> FloatArray:
        """Return the reduced gain of each column, shape (C,), in units of the largest value."""
        return np.asarray(self.value + self.by_column @ self.dual)

    def prices(self) -> Prices:
        """Return what the duals prove for the true values, within the bounds of columns, over all columns and rows."""
        gain = self.programme.value / self.unit + self.by_column @ self.dual
        return Prices(self.unit * self._bound(gain), -self.unit * gain)

    def _bound(self, gain: FloatArray) -> float:
        tight = np.where(self.dual < 0, self.high, self.low)
        rows = -tight * self.dual
        columns = np.where(gain > 0, self.upper, self.lower) * gain
        return math.fsum(rows.tolist()) + math.fsum(columns.tolist())

    def truly(self) -> Prices:
        """Solve it with the true values, without random amounts, and return its prices."""
        value = self.value
        self.values(self.programme.value / self.unit)
        self.solve()
        prices = self.prices()
        self.values(value)
        return prices

    def feasible(self) -> bool | None:
        """Whether the relaxation has a solution; False only if duals prove that not, None where that is open."""
        if self.short == 0:
            return True
        value = self.value
        for dear in (self.dear * DEARER, self.dear * DEARER**2):
            self.values(value, dear)
            self.solve()
            if self.short == 0:
                return True
        self.values(np.zeros(value.size), 1.0)
        self.solve()
        proved = np.isfinite(self.short) and self._bound(self.by_column @ self.dual) < -WHOLE
        solved = self.short == 0
        # A solution that no price brought about is one at a price that is still higher.
        self.values(value, DEAR if proved else DEAR * DEARER**3)
        return False if proved else solved or None

    # Rounding

    def dive(self) -> IntArray:
        """Round it: fix the largest fractional pairs and re-optimise until none is left; returns the columns fixed.

        Afterwards ``short`` is 0 if it succeeded. The caller frees the columns.
        """
        fixed: list[IntArray] = []
        while self.short == 0:
            fractional = np.flatnonzero((self.z > WHOLE) & (self.z < 1 - WHOLE))
            if not fractional.size:
                break
            share = self.z[fractional]
            order = np.argsort(-share, kind="stable")
            best = fractional[order[: max(1, fractional.size // 20, np.count_nonzero(share > NEARLY))]]
            self.bounds(best, 1.0, 1.0)
            self.solve(priced=False)
            # Where the other columns that are in do not allow that, others may; else the first alone, else without it.
            if self.short:
                self.bounds(best[1:], 0.0, 1.0)
                best = best[:1]
                self.solve()
            if self.short:
                self.bounds(best, 0.0, 0.0)
                self.solve()
            fixed.append(best)
        return np.concatenate([np.empty(0, np.int64), *fixed])

    def chosen(self) -> BoolArray:
        """Return the columns of a whole solution, shape (C,)."""
        return np.asarray(self.z > 0.5)


def relaxation_of(problem: Problem, chosen: BoolArray, clock: Clock, *, seed: int = 0) -> Relaxation | None:
    """Return the relaxation that starts with the columns of an assignment; None if a count rules it out."""
    programme = programme_of(problem)
    if programme is None:
        return None
    relaxation = Relaxation(programme, first_columns(problem, programme, chosen), clock, seed=seed)
    relaxation.problem = problem
    return relaxation


def first_columns(problem: Problem, programme: Programme, chosen: BoolArray) -> BoolArray:
    """Return the columns that a relaxation starts with: of an assignment, and the best of each paper and reviewer."""
    pairs = programme.pairs
    if pairs.size <= FEW:
        return np.ones(pairs.size, np.bool_)
    value = problem.worth[pairs]
    near = chosen[pairs] | (ranks(problem.item[pairs], value) < START)
    near |= ranks(problem.reviewer[pairs], value) < START_OF_REVIEWER
    return near


# Whole choices, over the columns that prices leave open.

#: Rounding steps of the solver in the largest value.
STEPS = 1 << 34

#: Columns of the first integer programme where rounding failed, and of any.
FIRST = 6_000
MOST_COLUMNS = 20_000

#: Relative error of totals that floating-point solvers may make.
ERROR = 1e-9

#: Work of the best choice.
BEST_WORK = 10.0


class Solution(NamedTuple):
    """The columns picked, or None: then ``proved`` is whether nothing obeys all rows.

    ``bound`` is an upper bound on the value of any choice.
    """

    picked: BoolArray | None
    proved: bool
    bound: float = math.inf


def best_choice(relaxation: Relaxation, clock: Clock, *, work: float = BEST_WORK) -> Solution:
    """Return the best choice of columns, as far as the work allows.

    1. The relaxation, by prices. An assignment with a pair whose loss at these prices exceeds some amount falls short
       of the bound by as much.
    2. Rounding by diving.
    3. Constraint programming over the columns whose loss is within the gap; whatever is better is among them.
    """
    programme = relaxation.programme
    if not programme.pairs.size:
        picked = np.zeros(programme.value.size, np.bool_)
        return Solution(picked, False, 0.0) if programme.obeyed_by(picked) else Solution(None, True)
    relaxation.solve()
    possible = relaxation.feasible()
    if possible is False:
        return Solution(None, True)
    prices = Prices(math.inf, np.zeros(programme.value.size))
    rounded: BoolArray | None = None
    if possible:
        fixed = relaxation.dive()
        if relaxation.short == 0 and programme.obeyed_by(relaxation.chosen()):
            rounded = relaxation.chosen()
        relaxation.bounds(fixed, 0.0, 1.0)
        prices = relaxation.truly()
    best = Solution(rounded, False, prices.bound)
    if rounded is not None and (prices.bound - programme.worth(rounded) <= tolerance(prices.bound) or clock.over()):
        return best
    effort = clock.effort(work)
    if rounded is None and prices.loss.size > MOST_COLUMNS:
        # A first choice among the cheapest.
        few = prices.loss <= np.partition(prices.loss, FIRST)[FIRST]
        rounded = solve(programme, effort.share(0.5), few).picked
        best = best._replace(picked=rounded)
    within, fixed = _near(programme, prices, rounded)
    if np.count_nonzero(within) > MOST_COLUMNS:
        return best
    found = solve(programme, effort, within, fixed, rounded)
    if found.picked is None and rounded is None:
        return found
    if programme.worth(found.picked) > programme.worth(rounded):
        best = best._replace(picked=found.picked)
    return best._replace(bound=min(prices.bound, max(found.bound, programme.worth(best.picked))))


def _near(programme: Programme, prices: Prices, picked: BoolArray | None) -> tuple[BoolArray, IntArray]:
    """Return the columns that a better choice may have by the prices, and those that it must have."""
    short = prices.bound - programme.worth(picked) + tolerance(prices.bound)
    return prices.loss <= short, np.flatnonzero(prices.loss < -short)


def tolerance(value: float) -> float:
    """Return the error of a total that floating-point solvers may make."""
    return ERROR * max(abs(value), 1.0)


def solve(
    programme: Programme,
    effort: Clock,
    within: BoolArray | None = None,
    fixed: IntArray | None = None,
    picked: BoolArray | None = None,
) -> Solution:
    """Pick columns of the largest total value by constraint programming (CP-SAT), in whole units, which are exact.

    Only the columns ``within`` may be picked, and those ``fixed`` must be; ``picked`` is a first choice. Where the work
    limit ends it, nothing is proved. HiGHS called 8.0 optimal where 8.5 is, and its heuristics, which no limit of nodes
    ends, took minutes on a few hundred columns with floors.
    """
    from ortools.sat.python import cp_model

    model, columns = sat_model(programme, within, fixed)
    scale = STEPS / (float(np.abs(programme.value).max(initial=0.0)) or 1.0)
    weights = np.rint(programme.value * scale).astype(np.int64)
    model.maximize(cp_model.LinearExpr.weighted_sum(columns, weights.tolist()))
    for column, hint in zip(columns, [] if picked is None else picked.tolist(), strict=False):
        model.add_hint(column, hint)
    # Cuts at every node, since bounds are what takes time.
    solver = cp_model.CpSolver()
    solver.parameters.linearization_level = 2
    status = solve_within(solver, model, effort)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solution(None, status == cp_model.INFEASIBLE)
    best = np.array([solver.boolean_value(column) for column in columns], np.bool_)
    if not programme.obeyed_by(best):
        return Solution(None, False)
    # Rounding changes each value by at most half a step.
    size = best.size if within is None else np.count_nonzero(within)
    return Solution(best, False, (solver.best_objective_bound + size / 2) / scale)


def sat_model(
    programme: Programme, within: BoolArray | None = None, fixed: IntArray | None = None
) -> tuple[Any, list[Any]]:
    """Return rows and columns as a model of CP-SAT; columns not ``within`` are 0, and ``fixed`` ones are 1."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    most = np.ones(programme.value.size, np.int64)
    most = most if within is None else most * within
    least = np.zeros_like(most)
    least[[] if fixed is None else fixed] = 1
    columns = [model.new_int_var(*ends, "") for ends in zip(least.tolist(), most.tolist(), strict=True)]
    for rows in (part for part in programme.rows if part.low.size):
        order = np.argsort(rows.row, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(rows.row, minlength=rows.low.size))[:-1])
        for part, low, high in zip(parts, rows.low.tolist(), rows.high.tolist(), strict=True):
            weights = rows.weight[part].tolist()
            members = [columns[column] for column in rows.column[part].tolist()]
            model.add_linear_constraint(cp_model.LinearExpr.weighted_sum(members, weights), low, high)
    return model, columns


# What an assignment breaks, and what it is worth.


def broken_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items whose panels break a rule or a floor."""
    low = np.flatnonzero(problem.served & (problem.scores(chosen) < problem.floor))
    return np.union1d(np.union1d(lacking_items(problem, chosen), crowded_items(problem, chosen)), low)


def crowded_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items with too many reviewers of a panel group, not all of them of the first phase."""
    over = presence(problem, chosen) > problem.panels.most
    return np.flatnonzero((over & (presence(problem, chosen & ~problem.old) > 0)).any(axis=1) & problem.bound)


def lacking_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items with too few reviewers of a panel group."""
    return np.flatnonzero((presence(problem, chosen) < problem.panels.least).any(axis=1) & problem.bound)


def objective(problem: Problem, chosen: BoolArray) -> float:
    """Return the affinity of an assignment, less what comes before it."""
    return math.fsum(problem.worth[chosen].tolist())


def depends_on_rules(problem: Problem) -> bool:
    """Whether it matters for some pair which others are assigned on its paper."""
    return problem.panels.n_groups > 0 or problem.least_score is not None


def may_replace(problem: Problem, chosen: BoolArray, entering: int, leaving: int) -> bool:
    """Whether rules and floors let a pair take the place of another one of its served item."""
    panels = problem.panels
    item = int(problem.item[entering])
    if not problem.bound[item]:
        return True
    first, last = np.searchsorted(problem.item, [item, item + 1])
    staying = first + np.flatnonzero(chosen[first:last])
    staying = staying[staying != leaving]
    after = np.append(staying, entering)
    score = problem.whole[np.append(staying[~problem.old[staying]], entering)]
    if score.sum() < problem.floor:
        return False
    # No bound may be broken that is not broken now.
    before, later = (
        np.bincount(panels.of(problem.reviewer[pairs], problem.item[pairs])[1], minlength=panels.n_groups)
        for pairs in (np.append(staying, leaving), after)
    )
    within = (later <= np.maximum(before, panels.most[item])) & (later >= np.minimum(before, panels.least[item]))
    return bool(within.all())


class PanelSolution(NamedTuple):
    """The best assignment under the rules."""

    chosen: BoolArray | None  # its pairs, shape (P,), or None if there is none, or none was found
    proved: bool  # whether ``chosen`` is proved to be the best, or None
    bound: float  # upper bound on the affinity of any assignment
    relaxation: Relaxation | None = None  # the relaxation over all papers, solved, if there is one


def best_under_rules(
    problem: Problem, start: BoolArray, clock: Clock, *, seed: int = 0, work: float = BEST_WORK
) -> PanelSolution:
    """Return the best assignment under all rules and floors, or a proof that there is none.

    ``start`` is an assignment within demands and loads, such as the best one without rules.
    """
    relaxation = None
    if not crowded_items(problem, problem.given).size:
        relaxation = relaxation_of(problem, start, clock, seed=seed)
    if relaxation is None:
        return PanelSolution(None, True, -math.inf)
    solution = best_choice(relaxation, clock, work=work)
    bound = solution.bound + objective(problem, problem.given)
    if solution.picked is None:
        return PanelSolution(None, solution.proved, bound)
    chosen = relaxation.programme.assigned(solution.picked, problem.given)
    value = objective(problem, chosen)
    # A bound below the value of the assignment is wrong, whichever solver reports it.
    if bound < value - tolerance(value):
        bound = math.inf
    return PanelSolution(chosen, bound - value <= tolerance(value), max(bound, value), relaxation)
