"""What an assignment with rules must obey, as sparse rows: demands, loads, rules on panels and floors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._assign.problem import NO_FLOOR, VALUE_BITS

if TYPE_CHECKING:
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray


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
