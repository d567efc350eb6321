"""What demands, loads and rules ask, as sparse rows of an integer programme."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.wishes.cliques import cliques_of

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Couples of rivals up to which all of them get rows from the start.
MOST_COUPLES = 100_000


class Rows(NamedTuple):
    """Constraints ``low <= weighted sum of the columns of a row <= high``; ``row[e]`` holds ``weight[e] column[e]``."""

    row: IntArray
    column: IntArray
    low: IntArray
    high: IntArray
    weight: IntArray


class PanelRows(NamedTuple):
    """Rows that rules make of pairs, and the reward for each group of an item that stands as a column behind them."""

    rows: tuple[Rows, ...]
    reward: FloatArray


def panel_rows(problem: Problem, region: BoolArray, pairs: IntArray) -> PanelRows | None:
    """Write down what rules ask of the items of a region; None where too few pairs could do it."""
    panels, bound = problem.panels, region & problem.bound
    size = max(panels.n_groups, 1)
    # A cell is a paper and a panel group: how many the given pairs put there, and which columns could.
    place, group = panels.of(problem.reviewer[pairs])
    mine = bound[problem.item[pairs[place]]]
    place, cell = place[mine], (problem.item[pairs[place]] * size + group)[mine]
    stand = np.flatnonzero(problem.given & bound[problem.item])
    there, held = panels.of(problem.reviewer[stand])
    taken, have = np.unique(problem.item[stand[there]] * size + held, return_counts=True)
    cells, row = np.unique(cell, return_inverse=True)
    given = np.zeros(cells.size, np.int64)
    known = np.isin(cells, taken)
    given[known] = have[np.searchsorted(taken, cells[known])]
    # What an item lacks of a group must be among its cells.
    wanted = (np.flatnonzero(bound)[:, np.newaxis] * size + np.flatnonzero(panels.least)).ravel()
    missing = np.setdiff1d(wanted, cells)
    n_there = np.zeros(missing.size, np.int64)
    n_there[np.isin(missing, taken)] = have[np.searchsorted(taken, missing[np.isin(missing, taken)])]
    low = np.maximum(panels.least[cells % size] - given, 0)
    if (n_there < panels.least[missing % size]).any() or (np.bincount(row, minlength=cells.size) < low).any():
        return None
    high = np.maximum(panels.most[cells % size] - given, 0)
    tight = (low > 0) | (high < np.bincount(row, minlength=cells.size))
    some = tight[row]
    bounds = _compact(row[some], place[some], low, high)
    fresh = _different_rows(problem, bound, pairs.size, Cells(cells, row, place, given), taken)
    return None if fresh is None else PanelRows((bounds, *fresh.rows), fresh.reward)


class Cells(NamedTuple):
    """Papers and panel groups, item * G + group ascending; columns ``place`` of each ``row``, and what is ``given``."""

    cell: IntArray
    row: IntArray
    place: IntArray
    given: IntArray


def _different_rows(
    problem: Problem, bound: BoolArray, n_pairs: int, cells: Cells, taken: IntArray
) -> PanelRows | None:
    """Add columns for groups that an item may come to have, where different ones are asked for or rewarded."""
    panels, size = problem.panels, max(problem.panels.n_groups, 1)
    counts = (panels.different > 0) | (panels.reward > 0)
    owner = panels.attribute[cells.cell % size] if cells.cell.size else np.empty(0, np.int64)
    new = np.flatnonzero(counts[owner] & (cells.given == 0))
    column = np.full(cells.cell.size, -1)
    column[new] = n_pairs + np.arange(new.size)
    # A group is there only where one of its pairs is: y - sum z <= 0.
    member = np.flatnonzero(column[cells.row] >= 0)
    number = column[cells.row[member]] - n_pairs
    present = Rows(
        np.concatenate([np.arange(new.size), number]),
        np.concatenate([column[new], cells.place[member]]),
        np.full(new.size, -n_pairs),
        np.zeros(new.size, np.int64),
        np.concatenate([np.ones(new.size, np.int64), np.full(member.size, -1)]),
    )
    rows = [present]
    for a in np.flatnonzero(panels.different).tolist():
        have = np.bincount(taken[panels.attribute[taken % size] == a] // size, minlength=problem.n_items)
        lack = np.where(bound, np.maximum(panels.different[a] - have, 0), 0)
        ours = new[owner[new] == a]
        item = cells.cell[ours] // size
        could = np.bincount(item, minlength=problem.n_items)
        if (could < lack).any():
            return None
        rows.append(_compact(item, column[ours], lack, could))
    return PanelRows(tuple(rows), panels.reward[owner[new]])


def rows_of(group: IntArray, low: IntArray, high: IntArray) -> Rows:
    """Rows that add up the columns of each group."""
    return _compact(group, np.arange(group.size), low, high)


def good_rows(problem: Problem, region: BoolArray, pairs: IntArray) -> Rows:
    """Ask for a pair at the floor for the best reviewer of each item of a region that has none such given."""
    wanted = problem.wanting & region
    columns = np.flatnonzero(problem.strong[pairs] & wanted[problem.item[pairs]])
    return _compact(problem.item[pairs[columns]], columns, wanted.astype(np.int64), problem.demand)


def clique_rows(problem: Problem, pairs: IntArray, chosen: BoolArray) -> tuple[Rows, ...]:
    """Rows that keep apart all rivals among some pairs and the others that are chosen; none where they are too many."""
    beside = chosen.copy()
    beside[pairs] = False
    shut = np.flatnonzero(problem.rivals.count_among(beside)[pairs])
    within = problem.rivals.among(pairs)
    if within.rival.size > 2 * MOST_COUPLES:
        return ()
    row, column = cliques_of(within)
    number = int(row.max(initial=-1)) + 1
    high = np.append(np.ones(number, np.int64), np.zeros(shut.size, np.int64))
    row = np.append(row, number + np.arange(shut.size))
    return (Rows(row, np.append(column, shut), np.zeros_like(high), high, np.ones(row.size, np.int64)),)


def rival_rows(pairs: IntArray, couples: IntArray) -> Rows:
    """Rows that let one of each couple be chosen, or none where the other one is no column."""
    known = np.isin(couples, pairs).reshape(couples.shape)
    row, side = np.nonzero(known)
    lines, row = np.unique(row, return_inverse=True)
    column = np.searchsorted(pairs, couples[lines[row], side])
    high = (known[lines].sum(axis=1) == 2).astype(np.int64)
    return Rows(row, column, np.zeros_like(high), high, np.ones(row.size, np.int64))


def _compact(group: IntArray, column: IntArray, low: IntArray, high: IntArray) -> Rows:
    """Rows of those groups that have a column."""
    distinct, row = np.unique(group, return_inverse=True)
    return Rows(row, column, low[distinct], high[distinct], np.ones(row.size, np.int64))
