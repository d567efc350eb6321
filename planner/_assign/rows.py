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

    Columns are whole numbers from 0 to 1: the pairs and then, where different groups count, one for each group that an
    item may come to have. ``brought`` holds such a column and a pair that brings the group, for every such pair.
    """

    pairs: IntArray
    rows: tuple[Rows, ...]
    value: FloatArray
    brought: tuple[IntArray, IntArray]

    def assigned(self, picked: BoolArray, beside: BoolArray) -> BoolArray:
        """Return the assignment of a choice of columns beside fixed pairs, shape (P,)."""
        chosen = beside.copy()
        chosen[self.pairs] = picked[: self.pairs.size]
        return chosen

    def choice(self, picked: BoolArray) -> BoolArray:
        """Return the columns of a choice of pairs, the first ones: groups are there where a pair brings them."""
        picked = np.append(picked[: self.pairs.size], np.zeros(self.value.size - self.pairs.size, np.bool_))
        column, pair = self.brought
        picked[column[picked[pair]]] = True
        return picked

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
        l_{ig} \le \sum_{p \ni i, g} z_p \le u_{ig}, \quad y_{ig} \le \sum_{p \ni i, g} z_p, \quad
        \sum_{g \in a} y_{ig} \ge k_{ia}

    for items i, reviewers j with o given reviews, panel groups g and attributes a of which k
    different groups are required; given pairs count. The value is that of pairs.
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
    rows = demands, loads, *panels.rows, floors
    if any((part.low > part.high).any() for part in rows):
        return None
    value = np.append(problem.worth[pairs], np.zeros(panels.more))
    # Weights of what comes before affinity leave no room for that.
    value = rounded(value) if problem.concerns is None else value
    return Programme(pairs, tuple(part for part in rows if part.low.size) or rows[:1], value, panels.brought)


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


class PanelRows(NamedTuple):
    """The rules on panels as rows, the number of further columns, and the pairs that bring each."""

    rows: tuple[Rows, ...]
    more: int
    brought: tuple[IntArray, IntArray]


def panel_rows(problem: Problem, pairs: IntArray) -> PanelRows | None:
    """Write down the rules on the reviewers of an item; None where too few pairs could satisfy them."""
    panels = problem.panels
    bound = problem.bound
    size = max(panels.n_groups, 1)
    # A cell is a paper and a panel group: the number of given pairs there, and the columns that could be.
    place, group = panels.of(problem.reviewer[pairs], problem.item[pairs])
    mine = bound[problem.item[pairs[place]]]
    cell = (problem.item[pairs[place]] * size + group)[mine]
    place = place[mine]
    stand = np.flatnonzero(problem.given & bound[problem.item])
    there, held = panels.of(problem.reviewer[stand], problem.item[stand])
    taken, have = np.unique(problem.item[stand[there]] * size + held, return_counts=True)
    cells, row = np.unique(cell, return_inverse=True)
    item = cells // size
    kind = cells % size
    # A group that an item lacks must be among its cells.
    lacking_item, lacking_group = np.nonzero((panels.least > 0) & bound[:, np.newaxis])
    missing = np.setdiff1d(lacking_item * size + lacking_group, cells)
    given = _counts(cells, taken, have)
    if (_counts(missing, taken, have) < panels.least[missing // size, missing % size]).any():
        return None
    could = np.bincount(row, minlength=cells.size)
    low = np.maximum(panels.least[item, kind] - given, 0)
    high = np.maximum(panels.most[item, kind] - given, 0)
    if (could < low).any():
        return None
    # Minimums with their limits, and limits alone.
    needed = (low > 0)[row]
    limited = ((low == 0) & (high < could))[row]
    rows = [
        _compact(row[needed], place[needed], low, high),
        _compact(row[limited], place[limited], low, high)._replace(lazy=True),
    ]
    # Columns for groups that an item may come to have; one is present only where one of its pairs is: y - sum z <= 0.
    owner = panels.attribute[kind] if cells.size else np.empty(0, np.int64)
    new = np.flatnonzero((panels.different[item, owner] > 0) & (given == 0))
    column = np.full(cells.size, -1)
    column[new] = pairs.size + np.arange(new.size)
    member = np.flatnonzero(column[row] >= 0)
    brought = column[row[member]], place[member]
    bringing = Rows(
        np.concatenate([np.arange(new.size), brought[0] - pairs.size]),
        np.concatenate([column[new], brought[1]]),
        np.full(new.size, -pairs.size),
        np.zeros(new.size, np.int64),
        np.concatenate([np.ones(new.size, np.int64), np.full(member.size, -1)]),
    )
    rows.append(bringing)
    # The different groups of an attribute that each item lacks.
    for attribute in np.flatnonzero(panels.different.any(axis=0)).tolist():
        of_attribute = panels.attribute[taken % size] == attribute
        present = np.bincount(taken[of_attribute] // size, minlength=problem.n_items)
        lack = np.where(bound, np.maximum(panels.different[:, attribute] - present, 0), 0)
        ours = new[owner[new] == attribute]
        within_reach = np.bincount(item[ours], minlength=problem.n_items)
        if (within_reach < lack).any():
            return None
        rows.append(_compact(item[ours], column[ours], lack, within_reach))
    return PanelRows(tuple(rows), new.size, brought)


def _counts(cells: IntArray, taken: IntArray, have: IntArray) -> IntArray:
    """Return the counts ``have`` of the cells ``taken``, which are sorted, at some cells; 0 at others."""
    counts = np.zeros(cells.size, np.int64)
    present = np.isin(cells, taken)
    counts[present] = have[np.searchsorted(taken, cells[present])]
    return counts


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
