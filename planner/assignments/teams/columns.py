"""Integer programmes over all papers: prices from the linear relaxation say which pairs an optimum can hold.

1. Solve the relaxation over few pairs, price all others by its duals, take in those that would gain, and again. Any
   duals give a bound on every assignment (weak duality), whatever solver they come from: it is summed up here.
2. An assignment with a pair that the prices call a loss of more than some slack falls short of the bound by as much. So
   a programme over the other pairs finds the best of all that come within the slack.
3. Where what it finds comes that near, it is the best of all; else do it again with the slack that is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.assignments.teams.programme import improved, solve
from planner.solving import ROOT, linear_programme
from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from planner.assignments.teams.programme import Programme
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Pairs of each item that the relaxation starts with, and columns from which it is worth pricing at all.
START, FEW = 12, 4_000

#: Rounds of pricing, and what counts as a gain, in parts of the largest value.
ROUNDS, GAIN = 40, 1e-9

#: Columns that a programme takes in at first, beside those of the relaxation.
FIRST = 6_000

#: Columns up to which a second solver checks the first.
MOST_CHECKED = 20_000

#: Parts of the total by which solvers of floating-point numbers may err.
ERROR = 1e-9


class Found(NamedTuple):
    """The best columns found, or None, and what no choice of columns exceeds."""

    picked: BoolArray | None
    bound: float


class _Prices(NamedTuple):
    """A bound by weak duality, and what taking each column loses against it (negative: what leaving it does)."""

    bound: float
    loss: FloatArray


def best_columns(programme: Programme, item: IntArray, start: BoolArray, effort: Clock) -> Found:
    """Find the best choice of columns by prices and branch and cut, as far as the work allows.

    Parameters
    ----------
    programme
        What must hold.
    item
        The item of each pair, shape (P,).
    start
        Columns that the relaxation has from the start.
    effort
        When to stop.
    """
    everything = np.ones(programme.value.size, np.bool_)
    few = programme.value.size <= FEW
    prices = _prices(programme, everything if few else start | _dearest(programme, item), effort)
    if prices is None:
        return Found(None, math.inf)
    found = (
        _within(programme, everything, np.zeros(0, np.int64), effort) if few else _by_slack(programme, prices, effort)
    )
    return _checked(programme, found, prices, effort)


def _checked(programme: Programme, first: Found, prices: _Prices, effort: Clock) -> Found:
    """Take no solver's word that its answer is the best: its value meets the prices, or two solvers find no better.

    The second one starts from the answer of the first; where it finds a better one, or comes to its end alone, the
    first one is asked again. The bound is the weaker one of the two.
    """
    best = Found(first.picked, prices.bound)
    if _meets(programme, best):
        return best
    # Whatever is better has no column that the prices call a loss of more than what is short.
    within, fixed = _near(programme, prices, first.picked)
    if np.count_nonzero(within) > MOST_CHECKED:
        return best
    second = improved(programme, within, fixed, first.picked, effort)
    if second.picked is None:
        return best
    if _value(programme, second.picked) > _value(programme, first.picked):
        best = best._replace(picked=second.picked)
    if first.bound > second.bound + _error(second.bound) and not effort.over():
        within, fixed = _near(programme, prices, best.picked)
        first = _within(programme, within, fixed, effort)
    return best._replace(bound=min(best.bound, max(first.bound, second.bound, _value(programme, best.picked))))


def _near(programme: Programme, prices: _Prices, picked: BoolArray | None) -> tuple[BoolArray, IntArray]:
    """Columns that a better choice may have by the prices, and those that it must have."""
    short = prices.bound - _value(programme, picked) + _error(prices.bound)
    return prices.loss <= short, np.flatnonzero(prices.loss < -short)


def _meets(programme: Programme, found: Found) -> bool:
    return found.bound - _value(programme, found.picked) <= _error(found.bound)


def _value(programme: Programme, picked: BoolArray | None) -> float:
    return -math.inf if picked is None else math.fsum(programme.value[picked].tolist())


def _error(value: float) -> float:
    return ERROR * max(abs(value), 1.0)


def _by_slack(programme: Programme, prices: _Prices, effort: Clock) -> Found:
    loss, best, proved = np.abs(prices.loss), Found(None, prices.bound), -math.inf
    slack = float(np.partition(prices.loss, min(FIRST, loss.size - 1))[min(FIRST, loss.size - 1)])
    while not effort.over():
        open_columns, fixed = prices.loss <= slack, np.flatnonzero(prices.loss < -slack)
        found = _within(programme, open_columns, fixed, effort)
        if found.picked is None and slack >= loss.max():
            break
        value = _value(programme, found.picked)
        if value > proved:
            best, proved = Found(found.picked, best.bound), value
        # Whoever is not among the open columns falls short by the slack at least.
        best = best._replace(bound=min(best.bound, max(found.bound, prices.bound - slack)))
        if value >= prices.bound - slack or slack >= loss.max():
            break
        slack = float(loss.max()) if found.picked is None else (prices.bound - value) * (1 + ERROR)
    return best


def _within(programme: Programme, open_columns: BoolArray, fixed: IntArray, effort: Clock) -> Found:
    """Solve the programme over some columns, a few of them fixed, in half of the work left: the rest is for checks."""
    half = effort.share(0.5)
    # The root of a programme knows no limit: where that alone is more than the work left, it is not begun.
    if ROOT * sum(np.count_nonzero(open_columns[rows.column]) for rows in programme.rows) > half.work:
        return Found(None, math.inf)
    ending = solve(programme, half, gap=0.0, within=open_columns, fixed=fixed)
    return Found(ending.picked, ending.bound)


def _dearest(programme: Programme, item: IntArray) -> BoolArray:
    """Mark the pairs of each item that are worth most, and all columns that are no pairs."""
    chosen = np.ones(programme.value.size, np.bool_)
    chosen[: item.size] = ranks(item, programme.value[: item.size]) < START
    return chosen


def _prices(programme: Programme, active: BoolArray, effort: Clock) -> _Prices | None:
    """Solve the linear relaxation by column generation; None where it cannot be solved."""
    from scipy.sparse import csc_array

    matrix, low, high = programme.matrix()
    columns, best = csc_array(matrix), None
    eps = GAIN * float(np.abs(programme.value).max(initial=0.0))
    for _ in range(ROUNDS):
        duals = _duals(columns[:, active], low, high, -programme.value[active], effort)
        if duals is None:
            if active.all() or effort.over():
                return best
            active = np.ones_like(active)
            continue
        # Weak duality: whatever the duals, no choice is worth more than rows allow at these prices.
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
    """Return the price of each row in the linear programme of least cost within rows, columns from 0 to 1."""
    from scipy.sparse import vstack

    rows = matrix.tocsr()
    equal = low == high
    over, under = np.flatnonzero(~equal), np.flatnonzero(~equal & (low > rows.minimum(0).sum(axis=1)))
    answer = linear_programme(
        cost,
        effort,
        A_ub=vstack([rows[over], -rows[under]]),
        b_ub=np.concatenate([high[over], -low[under]]),
        A_eq=rows[np.flatnonzero(equal)],
        b_eq=low[equal],
        bounds=(0, 1),
    )
    if answer.status != 0:
        return None
    duals = np.zeros(low.size)
    duals[equal] = answer.eqlin.marginals
    duals[over] += answer.ineqlin.marginals[: over.size]
    duals[under] -= answer.ineqlin.marginals[over.size :]
    return duals
