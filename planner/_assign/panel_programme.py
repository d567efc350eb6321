"""Integer programmes over some papers: their constraints as sparse rows, the solvers, and the repair of panels.

:func:`programme_of` writes down what assigning a set of papers anew must obey, :func:`solve` and :func:`improved` solve
it by two solvers of different kinds, :func:`best_columns` solves large ones by pricing, and :func:`repair` reassigns
the papers whose panels break a rule.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._assign.problem import NO_FLOOR, cliques_of
from planner.solving import ROOT, integer_programme, linear_programme, solve_within
from reviewgraph._base import ranks

if TYPE_CHECKING:
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


# Demands, loads and rules as sparse rows of an integer programme.

#: Maximum number of couples of rivals that all get rows from the start.
MOST_COUPLES = 100_000


class Rows(NamedTuple):
    """Constraints ``low <= weighted sum of the columns of a row <= high``; ``row[e]`` holds ``weight[e] column[e]``."""

    row: IntArray
    column: IntArray
    low: IntArray
    high: IntArray
    weight: IntArray


def panel_rows(problem: Problem, region: BoolArray, pairs: IntArray) -> tuple[tuple[Rows, ...], FloatArray] | None:
    """Write down the rules on the items of a region; None where too few pairs could satisfy them.

    Returns rows, and the rewards of further columns, one for each group that an item may come to have where different
    ones are required or rewarded.
    """
    panels = problem.panels
    bound = region & problem.bound
    size = max(panels.n_groups, 1)
    # A cell is a paper and a panel group: the number of given pairs there, and the columns that could be.
    place, group = panels.of(problem.reviewer[pairs])
    mine = bound[problem.item[pairs[place]]]
    cell = (problem.item[pairs[place]] * size + group)[mine]
    place = place[mine]
    stand = np.flatnonzero(problem.given & bound[problem.item])
    there, held = panels.of(problem.reviewer[stand])
    taken, have = np.unique(problem.item[stand[there]] * size + held, return_counts=True)
    cells, row = np.unique(cell, return_inverse=True)
    # A group that an item lacks must be among its cells.
    wanted_item, wanted_group = np.nonzero(bound[:, np.newaxis] & (panels.least > 0))
    wanted = wanted_item * size + wanted_group
    missing = np.setdiff1d(wanted, cells)
    given = np.zeros(cells.size, np.int64)
    lacking = np.zeros(missing.size, np.int64)
    for count, at in ((given, cells), (lacking, missing)):
        present = np.isin(at, taken)
        count[present] = have[np.searchsorted(taken, at[present])]
    low = np.maximum(panels.least[cells // size, cells % size] - given, 0)
    could = np.bincount(row, minlength=cells.size)
    if (lacking < panels.least[missing // size, missing % size]).any() or (could < low).any():
        return None
    high = np.maximum(panels.most[cells // size, cells % size] - given, 0)
    some = ((low > 0) | (high < could))[row]
    rows = [_compact(row[some], place[some], low, high)]
    # Columns for groups that an item may come to have; one is present only where one of its pairs is: y - sum z <= 0.
    counts = (panels.different > 0) | (panels.reward > 0)
    owner = panels.attribute[cells % size] if cells.size else np.empty(0, np.int64)
    new = np.flatnonzero(counts[cells // size, owner] & (given == 0))
    column = np.full(cells.size, -1)
    column[new] = pairs.size + np.arange(new.size)
    member = np.flatnonzero(column[row] >= 0)
    bringing = Rows(
        np.concatenate([np.arange(new.size), column[row[member]] - pairs.size]),
        np.concatenate([column[new], place[member]]),
        np.full(new.size, -pairs.size),
        np.zeros(new.size, np.int64),
        np.concatenate([np.ones(new.size, np.int64), np.full(member.size, -1)]),
    )
    rows.append(bringing)
    # The different groups of an attribute that each item lacks.
    for a in np.flatnonzero(panels.different.any(axis=0)).tolist():
        there = np.bincount(taken[panels.attribute[taken % size] == a] // size, minlength=problem.n_items)
        lack = np.where(bound, np.maximum(panels.different[:, a] - there, 0), 0)
        ours = new[owner[new] == a]
        item = cells[ours] // size
        could = np.bincount(item, minlength=problem.n_items)
        if (could < lack).any():
            return None
        rows.append(_compact(item, column[ours], lack, could))
    return tuple(rows), panels.reward[cells[new] // size, owner[new]]


def clique_rows(problem: Problem, pairs: IntArray, beside: BoolArray) -> tuple[Rows, ...]:
    """Return rows that separate all rivals among some pairs and those ``beside``; none where they are too many."""
    shut = np.flatnonzero(problem.rivals.count_among(beside)[pairs])
    within = problem.rivals.among(pairs)
    if within.rival.size > 2 * MOST_COUPLES or not within.rival.size + shut.size:
        return ()
    row, column = cliques_of(within)
    number = int(row.max(initial=-1)) + 1
    high = np.append(np.ones(number, np.int64), np.zeros(shut.size, np.int64))
    row = np.append(row, number + np.arange(shut.size))
    return (Rows(row, np.append(column, shut), np.zeros_like(high), high, np.ones(row.size, np.int64)),)


def rival_rows(pairs: IntArray, couples: IntArray) -> Rows:
    """Return rows that allow one of each couple, or none where the other one is no column."""
    columns = np.isin(couples, pairs).reshape(couples.shape)
    row, side = np.nonzero(columns)
    lines, row = np.unique(row, return_inverse=True)
    column = np.searchsorted(pairs, couples[lines[row], side])
    high = (columns[lines].sum(axis=1) == 2).astype(np.int64)
    return Rows(row, column, np.zeros_like(high), high, np.ones(row.size, np.int64))


#: Bits of an affinity in whole units that solvers ignore: they obey rows to a millionth.
COARSE = 16

#: No upper limit on a row.
NO_HIGH = 1 << 40


def under_floors(problem: Problem, region: BoolArray, pairs: IntArray, floor: IntArray) -> Rows:
    """Return a row for each item of a region with a lower bound on its score, in whole units, shape (N,)."""
    given = problem.scores(problem.given)
    # Rounding may change each review by half a unit.
    low = ((floor - given) >> COARSE) - problem.demand - 1
    column = np.flatnonzero((region & (floor > NO_FLOOR // 2))[problem.item[pairs]])
    weight = np.rint(problem.whole[pairs[column]] / 2.0**COARSE).astype(np.int64)
    return _compact(problem.item[pairs[column]], column, low, np.full(low.size, NO_HIGH), weight)


def _compact(group: IntArray, column: IntArray, low: IntArray, high: IntArray, weight: IntArray | None = None) -> Rows:
    """Return rows of those groups that have a column."""
    distinct, row = np.unique(group, return_inverse=True)
    return Rows(row, column, low[distinct], high[distinct], np.ones(row.size, np.int64) if weight is None else weight)


#: Relative gap at which an integer programme may stop.
GAP = 1e-4

#: Rounding steps of the second solver in the largest value.
STEPS = 1 << 34


class Programme(NamedTuple):
    """Choose among ``pairs``, given the rest of an assignment, so that all ``rows`` hold and ``value`` is maximal.

    Columns are the pairs and then, where different groups count, one for each group that an item may come to have;
    each is a whole number from 0 to 1, or to ``most``.
    """

    pairs: IntArray
    rows: tuple[Rows, ...]
    value: FloatArray
    most: IntArray | None = None

    def under(self, rows: Rows) -> Programme:
        """Return the programme with more rows."""
        return self._replace(rows=(*self.rows, rows)) if rows.low.size else self

    def assigned(self, picked: BoolArray, beside: BoolArray) -> BoolArray:
        """Return the assignment of a choice of columns beside fixed pairs, shape (P,)."""
        chosen = beside.copy()
        chosen[self.pairs] = picked[: self.pairs.size]
        return chosen

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


class Solution(NamedTuple):
    """The columns picked, or None: then ``proved`` is whether nothing obeys all rows.

    ``bound`` is an upper bound on the value of any choice, as the solver reports it.
    """

    picked: BoolArray | None
    proved: bool
    bound: float = math.inf


def programme_of(problem: Problem, chosen: BoolArray, region: BoolArray) -> Programme | None:
    r"""Write down what assigning the items of a region anew must obey, the rest fixed; None if a count rules it out.

    .. math::
        \sum_{p \ni i} z_p = d_i, \quad l_j - o_j \le \sum_{p \ni j} z_p \le u_j - o_j, \quad
        l_g \le \sum_{p \ni i, g} z_p \le u_g, \quad y_{ig} \le \sum_{p \ni i, g} z_p, \quad
        \sum_{g \in a} y_{ig} \ge k_a

    for items i of the region, reviewers j with o reviews outside it, panel groups g and attributes a of which k
    different groups are required; given pairs count. The value is that of pairs, and rewards for y.
    """
    inside = region[problem.item]
    pairs = np.flatnonzero(inside & ~problem.given & problem.able)
    item = problem.item[pairs]
    reviewer = problem.reviewer[pairs]
    beside = chosen & (problem.given | ~inside)
    outside = np.bincount(problem.reviewer[beside], minlength=problem.n_reviewers)
    least = problem.least - outside
    demand = problem.open_demand()
    starved = (least > 0) & (np.bincount(reviewer, minlength=problem.n_reviewers) == 0)
    short = region & (np.bincount(item, minlength=problem.n_items) < demand)
    if short.any() or starved.any():
        return None
    panels = panel_rows(problem, region, pairs)
    if panels is None:
        return None
    column = np.arange(pairs.size)
    demands = _compact(item, column, demand, demand)
    loads = _compact(reviewer, column, least, problem.load - outside)
    # A pair at the floor for the best reviewer of each item that has none such given.
    wanted = problem.wanting & region
    strong = np.flatnonzero(problem.strong[pairs] & wanted[item])
    good = _compact(item[strong], strong, wanted.astype(np.int64), problem.demand)
    floors = under_floors(problem, region, pairs, np.where(problem.served, problem.floor, NO_FLOOR))
    rows = demands, loads, *panels[0], good, floors, *clique_rows(problem, pairs, beside)
    value = np.concatenate([problem.worth[pairs], panels[1]])
    return Programme(pairs, tuple(part for part in rows if part.low.size), value)


def solve(
    programme: Programme,
    effort: Clock,
    gap: float = GAP,
    within: BoolArray | None = None,
    fixed: IntArray | None = None,
) -> Solution:
    """Pick columns of the largest total value by branch and cut (HiGHS); "infeasible" is not proved yet.

    A solution that breaks a row counts as none. With ``within`` only those columns may be picked, and the columns
    ``fixed`` must be.
    """
    from scipy.optimize import Bounds, LinearConstraint

    size = programme.value.size
    if not programme.pairs.size:
        return Solution(np.zeros(size, np.bool_), False, 0.0)
    columns = np.arange(size) if within is None else np.flatnonzero(within)
    lower = np.zeros(size)
    lower[[] if fixed is None else fixed] = 1
    matrix, low, high = programme.matrix()
    # A limit may end it with a solution that is not optimal, or with none, which is status 1 and no proof.
    result = integer_programme(
        -programme.value[columns],
        effort,
        gap=gap,
        integrality=np.ones(columns.size),
        bounds=Bounds(lower[columns], 1),
        constraints=LinearConstraint(matrix[:, columns], low, high),
    )
    bound = math.inf if result.mip_dual_bound is None else -float(result.mip_dual_bound)
    if result.x is None:
        return Solution(None, result.status == 2)
    picked = np.zeros(size, np.bool_)
    picked[columns] = result.x > 0.5
    return Solution(picked, False, bound) if programme.obeyed_by(picked) else Solution(None, False)


def improved(
    programme: Programme,
    effort: Clock,
    within: BoolArray | None = None,
    fixed: IntArray | None = None,
    picked: BoolArray | None = None,
    *,
    valued: bool = True,
) -> Solution:
    """Pick the best of some columns by a second solver, of another kind (constraint programming, CP-SAT).

    ``within`` and ``fixed`` as for :func:`solve`; ``picked`` is a first choice. Where not ``valued`` any choice that
    obeys all rows will do. "Infeasible" is certain once this solver confirms it: one solver is no proof, as releases of
    HiGHS have called wrong solutions optimal. Where the work limit ends it before, nothing is proved.
    """
    from ortools.sat.python import cp_model

    model, columns = sat_model(programme, within, fixed)
    scale = STEPS / (float(np.abs(programme.value).max(initial=0.0)) or 1.0)
    if valued:
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
    return Solution(best, False, (solver.best_objective_bound + size / 2) / scale if valued else math.inf)


def sat_model(
    programme: Programme, within: BoolArray | None = None, fixed: IntArray | None = None
) -> tuple[Any, list[Any]]:
    """Return rows and columns as a model of CP-SAT; columns not ``within`` are 0, and ``fixed`` ones are 1."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    most = np.ones(programme.value.size, np.int64) if programme.most is None else programme.most
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


# Integer programmes over all papers: prices from the linear relaxation select the pairs that an optimum can hold.
#
# 1. Solve the relaxation over few pairs, price all others by its duals, add those that would gain, and repeat. Any
#    duals give a bound on every assignment (weak duality), whatever solver they come from: it is summed up here.
# 2. An assignment with a pair whose loss at these prices exceeds some slack falls short of the bound by as much. So a
#    programme over the other pairs finds the best of all assignments within the slack.
# 3. If its optimum is within the slack, it is the best of all; otherwise repeat with the slack that remains.

#: Pairs per item that the relaxation starts with, and columns from which pricing pays.
START = 12
FEW = 4_000

#: Rounds of pricing, and the least gain, relative to the largest value.
ROUNDS = 40
GAIN = 1e-9

#: Columns of the first programme, beyond those of the relaxation.
FIRST = 6_000

#: Maximum number of columns that a second solver checks.
MOST_CHECKED = 20_000

#: Relative error of totals that floating-point solvers may make.
ERROR = 1e-9


class _Prices(NamedTuple):
    """A bound by weak duality, and the loss of taking each column against it (negative: the loss of leaving it)."""

    bound: float
    loss: FloatArray


def best_columns(programme: Programme, item: IntArray, start: BoolArray, effort: Clock) -> Solution:
    """Return the best choice of columns by prices and branch and cut, as far as the work allows.

    ``item`` is the item of each pair, shape (P,); ``start`` marks columns that the relaxation has from the start.
    """
    everything = np.ones(programme.value.size, np.bool_)
    few = programme.value.size <= FEW
    # The relaxation starts with the pairs of each item that are worth most, and all columns that are no pairs.
    active = everything.copy()
    if not few:
        active[: item.size] = ranks(item, programme.value[: item.size]) < START
        active |= start
    prices = _prices(programme, active, effort)
    if prices is None:
        return Solution(None, False)
    first = (
        _within(programme, everything, np.zeros(0, np.int64), effort) if few else _by_slack(programme, prices, effort)
    )
    return _checked(programme, first, prices, effort)


def most_worth(programme: Programme, active: BoolArray, effort: Clock) -> float:
    """Bound the value of any choice from above, by the duals of the relaxation, which starts with ``active``."""
    prices = _prices(programme, active, effort)
    return math.inf if prices is None else prices.bound


def _checked(programme: Programme, first: Solution, prices: _Prices, effort: Clock) -> Solution:
    """Accept a solution as optimal only if its value meets the prices, or two solvers find none better.

    The second one starts from the solution of the first; if it finds a better one, or finishes where the first did not,
    the first one runs again. The bound is the weaker one of the two.
    """
    best = Solution(first.picked, False, prices.bound)
    if best.bound - _value(programme, best.picked) <= tolerance(best.bound):
        return best
    # A better choice has no column whose loss at the prices exceeds the gap.
    within, fixed = _near(programme, prices, first.picked)
    if np.count_nonzero(within) > MOST_CHECKED:
        return best
    second = improved(programme, effort, within, fixed, first.picked)
    if second.picked is None:
        return best
    if _value(programme, second.picked) > _value(programme, first.picked):
        best = best._replace(picked=second.picked)
    if first.bound > second.bound + tolerance(second.bound) and not effort.over():
        within, fixed = _near(programme, prices, best.picked)
        first = _within(programme, within, fixed, effort)
    return best._replace(bound=min(best.bound, max(first.bound, second.bound, _value(programme, best.picked))))


def _near(programme: Programme, prices: _Prices, picked: BoolArray | None) -> tuple[BoolArray, IntArray]:
    """Return the columns that a better choice may have by the prices, and those that it must have."""
    short = prices.bound - _value(programme, picked) + tolerance(prices.bound)
    return prices.loss <= short, np.flatnonzero(prices.loss < -short)


def _value(programme: Programme, picked: BoolArray | None) -> float:
    return -math.inf if picked is None else math.fsum(programme.value[picked].tolist())


def tolerance(value: float) -> float:
    """Return the error of a total that floating-point solvers may make."""
    return ERROR * max(abs(value), 1.0)


def _by_slack(programme: Programme, prices: _Prices, effort: Clock) -> Solution:
    loss = np.abs(prices.loss)
    best = Solution(None, False, prices.bound)
    proved = -math.inf
    slack = float(np.partition(prices.loss, min(FIRST, loss.size - 1))[min(FIRST, loss.size - 1)])
    while not effort.over():
        solution = _within(programme, prices.loss <= slack, np.flatnonzero(prices.loss < -slack), effort)
        if solution.picked is None and slack >= loss.max():
            break
        value = _value(programme, solution.picked)
        if value > proved:
            best = best._replace(picked=solution.picked)
            proved = value
        # Whatever is not among the open columns falls short by at least the slack.
        best = best._replace(bound=min(best.bound, max(solution.bound, prices.bound - slack)))
        if value >= prices.bound - slack or slack >= loss.max():
            break
        slack = float(loss.max()) if solution.picked is None else (prices.bound - value) * (1 + ERROR)
    return best


def _within(programme: Programme, open_columns: BoolArray, fixed: IntArray, effort: Clock) -> Solution:
    """Solve the programme over some columns, some fixed, in half of the work left: the rest is for checks."""
    half = effort.share(0.5)
    # The root of a programme has no limit: where that alone exceeds the work left, it is not begun.
    if ROOT * sum(np.count_nonzero(open_columns[rows.column]) for rows in programme.rows) > half.work:
        return Solution(None, False)
    return solve(programme, half, gap=0.0, within=open_columns, fixed=fixed)


def _prices(programme: Programme, active: BoolArray, effort: Clock) -> _Prices | None:
    """Solve the linear relaxation by column generation; None where it cannot be solved."""
    from scipy.sparse import csc_array

    matrix, low, high = programme.matrix()
    columns = csc_array(matrix)
    best = None
    eps = GAIN * float(np.abs(programme.value).max(initial=0.0))
    for _ in range(ROUNDS):
        duals = _duals(columns[:, active], low, high, -programme.value[active], effort)
        if duals is None:
            if active.all() or effort.over():
                return best
            active = np.ones_like(active)
            continue
        # Weak duality: whatever the duals, no choice is worth more than the rows allow at these prices.
        loss = -programme.value - columns.T @ duals
        rows = np.where(duals > 0, low, np.where(duals < 0, high, 0)) * duals
        bound = -(math.fsum(rows.tolist()) + math.fsum(np.minimum(loss, 0).tolist()))
        if best is None or bound < best.bound:
            best = _Prices(bound, loss)
        gains = ~active & (loss < -eps)
        if not gains.any() or effort.over():
            break
        active = active | gains
    return best


def _duals(matrix: Any, low: IntArray, high: IntArray, cost: FloatArray, effort: Clock) -> FloatArray | None:
    """Return the dual price of each row in the linear programme of least cost, columns from 0 to 1."""
    from scipy.sparse import vstack

    rows = matrix.tocsr()
    equal = low == high
    over = np.flatnonzero(~equal)
    under = np.flatnonzero(~equal & (low > rows.minimum(0).sum(axis=1)))
    result = linear_programme(
        cost,
        effort,
        A_ub=vstack([rows[over], -rows[under]]),
        b_ub=np.concatenate([high[over], -low[under]]),
        A_eq=rows[np.flatnonzero(equal)],
        b_eq=low[equal],
        bounds=(0, 1),
    )
    if result.status != 0:
        return None
    duals = np.zeros(low.size)
    duals[equal] = result.eqlin.marginals
    duals[over] += result.ineqlin.marginals[: over.size]
    duals[under] -= result.ineqlin.marginals[over.size :]
    return duals


# The repair of panels that break rules: an integer programme over as few papers as suffice.

#: Work for the integer programmes of one repair, which Ctrl-C cannot interrupt; the same of a small one.
MOST_WORK = 300.0
FEW_WORK = 20.0


def broken_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items whose panels break a rule or a floor, and those of rivals that are both chosen."""
    rivals: IntArray = problem.item[problem.rivals.couples_among(chosen)].ravel()
    broken = np.union1d(lacking_items(problem, chosen), rivals)
    if problem.floors.best is not None:
        good = np.bincount(problem.item[chosen & problem.strong], minlength=problem.n_items)
        broken = np.union1d(broken, np.flatnonzero(problem.served & (good == 0)))
    broken = np.union1d(broken, np.flatnonzero(problem.served & (problem.scores(chosen) < problem.floor)))
    return np.union1d(crowded_items(problem, chosen), broken)


def crowded_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items with too many reviewers of a panel group, not all of them of the first phase."""
    item, group, ours = presence(problem, chosen)
    size = max(problem.panels.n_groups, 1)
    key, place = np.unique(item * size + group, return_inverse=True)
    over = np.bincount(place) > problem.panels.most[key // size, key % size]
    bad: IntArray = np.unique(key[over & (np.bincount(place, ours) > 0)] // size)
    return bad[problem.bound[bad]]


def lacking_items(problem: Problem, chosen: BoolArray) -> IntArray:
    """Return items with too few reviewers of a panel group, or of too few different groups of an attribute."""
    panels = problem.panels
    (item, group, _) = presence(problem, chosen)
    bad = np.zeros(problem.n_items, np.bool_)
    for g in np.flatnonzero(panels.least.any(axis=0)).tolist():
        bad |= np.bincount(item[group == g], minlength=problem.n_items) < panels.least[:, g]
    distinct = np.unique(item * panels.n_groups + group)
    for a in np.flatnonzero(panels.different.any(axis=0)).tolist():
        ours = distinct[panels.attribute[distinct % panels.n_groups] == a] // panels.n_groups
        bad |= np.bincount(ours, minlength=problem.n_items) < panels.different[:, a]
    return np.flatnonzero(bad & problem.bound)


def presence(problem: Problem, chosen: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return item and group of all memberships on panels, and whether each is not of the first phase."""
    pairs = np.flatnonzero(chosen)
    place, group = problem.panels.of(problem.reviewer[pairs])
    return problem.item[pairs[place]], group, ~problem.old[pairs[place]]


def objective(problem: Problem, chosen: BoolArray) -> float:
    """Return affinity and rewards of an assignment."""
    return math.fsum(problem.worth[chosen].tolist()) + rewards(problem, chosen)


def rewards(problem: Problem, chosen: BoolArray) -> float:
    """Return the rewards for the different groups on the panels of an assignment."""
    panels = problem.panels
    size = max(problem.panels.n_groups, 1)
    item, group, _ = presence(problem, chosen)
    distinct = np.unique((item * size + group)[problem.bound[item]])
    return math.fsum(panels.reward[distinct // size, panels.attribute[distinct % size]].tolist())


class Repair(NamedTuple):
    """The pairs chosen, or None: then ``proved`` is whether no assignment obeys all constraints."""

    chosen: BoolArray | None
    proved: bool


def repair(
    problem: Problem, chosen: BoolArray, clock: Clock, *, quick: bool = False, work: float = MOST_WORK
) -> Repair:
    """Reassign the broken items at the least loss, by an integer programme over them and, if need be, more.

    Start with the broken items alone, the others keep their reviewers; where that is infeasible, add the items that
    compete for their candidates, in the end all of them. Over all of them "infeasible" is a proof once a second
    solver has confirmed it. A ``quick`` repair takes one solver's solution, optimal or nearly so.
    """
    if crowded_items(problem, problem.given).size:
        return Repair(None, True)
    effort = clock.effort(FEW_WORK if problem.item.size <= FEW else work)
    region = np.zeros(problem.n_items, np.bool_)
    region[broken_items(problem, chosen)] = True
    while region.any():
        whole = bool(region[problem.item].all())
        repaired = _reassign(problem, chosen, region, effort, prove=whole and not quick, priced=not quick)
        if whole or repaired.chosen is not None or not repaired.proved:
            return repaired
        candidates = np.zeros(problem.n_reviewers, np.bool_)
        candidates[problem.reviewer[region[problem.item] & problem.able]] = True
        wider = region.copy()
        wider[problem.item[chosen & candidates[problem.reviewer]]] = True
        region = wider if wider.sum() > region.sum() else np.ones_like(region)
    return Repair(chosen, False)


def feasible(problem: Problem, items: BoolArray, effort: Clock) -> bool:
    """Whether these items could be served if all others were left out; true unless two solvers prove that not."""
    alone = _reassign(problem, problem.given, items, effort, prove=True, valued=False)
    return alone.chosen is not None or not alone.proved


#: Best pairs of each item among which a quick repair looks.
CLOSE = 40


def _close(problem: Problem, programme: Programme, chosen: BoolArray) -> BoolArray:
    """Return columns among which a good solution can be expected: all of broken items, the best of the others."""
    item = problem.item[programme.pairs]
    broken = np.zeros(problem.n_items, np.bool_)
    broken[broken_items(problem, chosen)] = True
    near = np.ones(programme.value.size, np.bool_)
    near[: item.size] = chosen[programme.pairs] | broken[item] | (ranks(item, programme.value[: item.size]) < CLOSE)
    return near


def _reassign(
    problem: Problem, chosen: BoolArray, region: BoolArray, effort: Clock, *, prove: bool, priced: bool = True,
    valued: bool = True,
) -> Repair:  # fmt: skip
    """Assign the items of a region anew, the rest fixed; with ``prove`` two solvers must agree on "infeasible".

    Without ``priced`` a large programme is solved as a small one; without ``valued`` all solutions are equally good.
    """
    programme = programme_of(problem, chosen, region)
    if programme is None:
        return Repair(None, True)
    if not valued:
        programme = programme._replace(value=np.zeros_like(programme.value))
    while True:
        # A large programme is solved by prices, unless they lead to nothing.
        solution: Solution | None = None
        if priced and programme.value.size > FEW and programme.value.any():
            start = np.ones(programme.value.size, np.bool_)
            start[: programme.pairs.size] = chosen[programme.pairs]
            solution = best_columns(programme, problem.item[programme.pairs], start, effort)
        if solution is None or solution.picked is None:
            near = None if priced or programme.value.size <= FEW else _close(problem, programme, chosen)
            solution = solve(programme, effort, within=near)
            solution = solution._replace(proved=solution.proved and near is None)
        if prove and solution.picked is None and solution.proved:
            solution = improved(programme, effort, valued=False)
        if solution.picked is None:
            return Repair(None, solution.proved)
        reassigned = programme.assigned(solution.picked, chosen & (problem.given | ~region[problem.item]))
        # Where rivals are too many to write down, they get their rows once they come up.
        rows = rival_rows(programme.pairs, problem.rivals.couples_among(reassigned))
        if not rows.low.size:
            return Repair(reassigned, False)
        if effort.over():
            return Repair(None, False)
        programme = programme.under(rows)
