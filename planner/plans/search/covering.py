"""The cheapest new reviews that items are short of.

minimise    the cost
subject to  every item short of n reviews gets n, from the panel groups that are missing; spare loads;
            no more of a panel group than an item may have

An integer programme over the allowed pairs, solved by HiGHS: without rules on people it is a transportation problem,
whose vertices are whole. Where it is not known how many reviews fill what an item lacks, their number comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.plans.model.allowed import few_short_pairs, short_pairs
from planner.plans.model.people import Waived
from planner.plans.model.tables import as_pairs, no_pairs
from planner.plans.search.evening import even
from planner.solving import integer_programme
from reviewgraph.arrays import distinct, occurs, ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.optimize import LinearConstraint

    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Pairs up to which all are offered; beyond, the cheapest ``FEW`` readers of each item, and all where these do not do.
ALL_UP_TO, FEW = 100_000, 60
#: Pairs up to which all are listed; beyond, for each item that is short, few more than it lacks, and those preferred.
LISTED_UP_TO, SOME = 3_000_000, 4
#: Statuses of :func:`scipy.optimize.milp`; and what tells a one from a zero.
SOLVED, INFEASIBLE, HALF = 0, 2, 0.5
#: Work, see :class:`reviewgraph.clock.Clock`, of an entry of the programme, which is nearly one of flows.
ROOT = 1e-5
#: Seconds, and work, that the programme gets at least.
LEAST = 1.0
NONE = np.empty(0, np.int64)


class Cover(NamedTuple):
    """Reviews that fill all needs, shape (P, 2), or None; whether none are cheaper; whether there is none.

    ``least_load`` is the largest extra load that reviews which fill the needs at this cost have at least; 0 where
    nothing is proved of it.
    """

    pairs: IntArray | None
    cheapest: bool
    impossible: bool
    least_load: int = 0


def cover(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Return as few reviews as the needs take: most of those preferred, then the cheapest, then of even loads.

    Takes the time of HiGHS on K columns, K the allowed pairs of items that are short: seconds for 100,000.
    """
    found = _filled(task, preferred, clock)
    if found.pairs is None:
        return found
    # The programme says nothing of loads: a vertex may give all to one reviewer. What is preferred stays.
    N, M = task.n_items, task.spare.size
    tied = np.isin(found.pairs[:, 0] * N + found.pairs[:, 1], preferred[:, 0] * N + preferred[:, 1])
    spread = even(task, found.pairs, clock.no_less_than(LEAST), tied, np.arange(M))
    largest = np.bincount(np.concatenate([spread.pairs[:, 0], task.constraints.fixed[:, 0]]), minlength=M).max()
    return found._replace(pairs=spread.pairs, least_load=int(largest) if spread.proved else 0)


def _filled(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """As :func:`cover`, whatever the loads."""
    if (task.room < task.needs.each).any():
        return Cover(None, False, True)
    if int((task.spare > 0).sum()) * int((task.needs.each > 0).sum()) > LISTED_UP_TO:
        pairs = _some(task, preferred)
        goal = _prefer(task, pairs, _prices(task, pairs), preferred)
        taken = _in_turn(task, pairs, goal)
        found = _solve(task, pairs, goal, clock) if taken is None else Cover(taken, False, False)
        return found._replace(cheapest=False, impossible=False)
    pairs = short_pairs(task)
    price = _prices(task, pairs)
    goal = price if not len(preferred) else _prefer(task, pairs, price, preferred)
    if len(pairs) > ALL_UP_TO:
        few = _nearest(pairs, goal)
        found = _solve(task, pairs[few], goal[few], clock)
        if found.pairs is not None:
            return found._replace(cheapest=False)
        if clock.over() or _too_many(pairs, clock):
            return Cover(None, False, False)
    found = _solve(task, pairs, goal, clock)
    return found._replace(cheapest=found.cheapest and not len(preferred))


def _too_many(pairs: IntArray, clock: Clock) -> bool:
    """Whether the root of a programme, which has no limit, would take more work than is left: a pair is in two rows."""
    return 2 * ROOT * len(pairs) > clock.work


def _some(task: Task, preferred: IntArray) -> IntArray:
    """Return some allowed pairs of each item that is short: some of its readers, the cheapest, and those preferred."""
    N, rules = task.n_items, task.constraints
    priced = np.column_stack(np.divmod(rules.cost.code, max(N, 1)))
    free = (task.needs.each[priced[:, 1]] > 0) & (task.room[priced[:, 1]] > 0) & (task.spare[priced[:, 0]] > 0)
    free &= ~occurs(rules.cost.code, rules.barred_pairs) & rules.places.open(priced)
    priced = priced[free]
    cheap = ranks(priced[:, 1], -_prices(task, priced)) < SOME
    parts = (few_short_pairs(task, SOME), preferred, priced[cheap])
    return np.column_stack(np.divmod(distinct(*(part[:, 0] * N + part[:, 1] for part in parts)), max(N, 1)))


def _in_turn(task: Task, pairs: IntArray, goal: FloatArray) -> IntArray | None:
    """Take pairs of least price, one after the other, as loads and rules allow; None where that fills not all needs."""
    if not task.needs.exact or task.needs.members.any() or task.needs.different.any():
        return None
    left, need, taken = task.left(no_pairs()), task.needs.each.copy(), list[tuple[int, int]]()
    for j, i in pairs[np.argsort(goal, kind="stable")].tolist():
        if need[i] > 0 and left.open(j, i):
            left.take(j, i)
            need[i] -= 1
            taken.append((j, i))
    return None if need.any() else as_pairs(taken)


def _prices(task: Task, pairs: IntArray) -> FloatArray:
    rules = task.constraints
    if not rules.cost:
        return np.zeros(len(pairs))
    return rules.cost.costs(pairs[:, 0] * task.n_items + pairs[:, 1])


def _prefer(task: Task, pairs: IntArray, price: FloatArray, preferred: IntArray) -> FloatArray:
    """One unit for each review that is not preferred; all costs together are less than one."""
    N = task.n_items
    other = ~np.isin(pairs[:, 0] * N + pairs[:, 1], preferred[:, 0] * N + preferred[:, 1])
    spread = float(np.ptp(price)) if price.size else 0.0
    small = (price - price.min()) / (spread * (task.needs.total + 1)) if spread > 0 else 0.0 * price
    goal: FloatArray = other + small
    return goal


def _nearest(pairs: IntArray, price: FloatArray) -> IntArray:
    """Places of the cheapest few pairs of each item; of equals each item begins with another reviewer."""
    turned = (pairs[:, 0] - 7 * pairs[:, 1]) % (pairs[:, 0].max(initial=0) + 1)
    order = np.lexsort((turned, price, pairs[:, 1]))
    item = pairs[order, 1]
    start = np.searchsorted(item, item)
    return np.sort(order[np.arange(item.size) - start < FEW])


def _solve(task: Task, pairs: IntArray, goal: FloatArray, clock: Clock) -> Cover:
    """State and solve the programme."""
    from scipy.optimize import Bounds

    if not len(pairs):
        return Cover(None, False, task.needs.total > 0)
    rows, needs = _Rows(len(pairs)), task.needs
    every, spare = np.arange(len(pairs)), np.minimum(task.spare, len(pairs))
    rows.add(every, pairs[:, 1], needs.each, needs.each if needs.exact else np.minimum(task.room, len(pairs)))
    rows.add(every, pairs[:, 0], np.zeros_like(spare), spare)
    places = task.constraints.places
    pair, place = places.held_by(pairs)
    rows.add(pair, place, np.zeros(places.free.size), np.maximum(places.free.ravel(), 0))
    values = _values(task, pairs, rows)
    if not rows.possible:
        return Cover(None, False, True)
    if not needs.exact:
        goal = 1.0 + (goal - goal.min()) / (float(np.ptp(goal)) * (len(pairs) + 1) or 1.0)
    goal = np.concatenate([goal, np.zeros(values)])
    limits = {"constraints": rows.all(), "integrality": np.ones(goal.size), "bounds": Bounds(0, 1)}
    found = integer_programme(goal, clock.no_less_than(LEAST), gap=0.0, root=ROOT, **limits)
    chosen = None if found.x is None else pairs[found.x[: len(pairs)] > HALF]
    return Cover(chosen, found.status == SOLVED, found.status == INFEASIBLE)


def least_missing(task: Task, pairs: IntArray, clock: Clock) -> Waived | None:
    """Return what items must do without: as few reviews, members and values in all as can be, then fewest reviews.

    None where no solution is found in time.
    """
    from scipy.optimize import Bounds

    if _too_many(pairs, clock):
        return None
    needs = task.needs
    cells = (needs.each, needs.members.ravel(), needs.different.ravel())
    lacking = [np.flatnonzero(cell) for cell in cells]
    rows, first = _Rows(len(pairs)), len(pairs)
    lacks = []
    for places in lacking:
        lacks.append(rows.n_columns + np.arange(places.size))
        rows.n_columns += places.size
    every, any_number = np.arange(first), np.full(task.n_items, np.inf)
    rows.add(np.append(every, lacks[0]), np.append(pairs[:, 1], lacking[0]), needs.each, any_number)
    rows.add(every, pairs[:, 1], np.zeros(task.n_items), np.maximum(task.room, 0))
    spare = np.minimum(np.maximum(task.spare, 0), max(first, 1))
    rows.add(every, pairs[:, 0], np.zeros_like(spare), spare)
    held = task.constraints.places
    pair, place = held.held_by(pairs)
    rows.add(pair, place, np.zeros(held.free.size), np.maximum(held.free.ravel(), 0))
    extra = _values(task, pairs, rows, lacks[1:], lacking[1:])
    # What is missing counts more than all reviews together.
    most = np.concatenate(
        [np.ones(first), *(cell[of] for cell, of in zip(cells, lacking, strict=True)), np.ones(extra)]
    )
    goal = np.concatenate([np.ones(first), np.full(most.size - first - extra, first + 1.0), np.zeros(extra)])
    limits = {"constraints": rows.all(), "integrality": np.ones(goal.size), "bounds": Bounds(0, most)}
    found = integer_programme(goal, clock.no_less_than(LEAST), gap=0.0, root=ROOT, **limits)
    if found.x is None:
        return None
    each, *rest = (np.zeros(cell.size, np.int64) for cell in cells)
    for array, places, columns in zip((each, *rest), lacking, lacks, strict=True):
        array[places] = np.rint(found.x[columns]).astype(np.int64)
    reviews = np.maximum(needs.reviews - (needs.each - each), 0)
    members, different = (array.reshape(like.shape) for array, like in zip(rest, needs[1:3], strict=True))
    return Waived(reviews, members, different)


def _values(
    task: Task,
    pairs: IntArray,
    rows: _Rows,
    lacks: Sequence[IntArray] = (NONE, NONE),
    lacking: Sequence[IntArray] = (NONE, NONE),
) -> int:
    """Ask for panel groups that are missing; returns how many columns say which values an item has now.

    ``lacks`` are columns that count what is missing of members and of values, of the cells ``lacking``.
    """
    people, needs = task.constraints.people, task.needs
    size = people.panels.n_groups
    pair, group = people.groups_of(pairs[:, 0])
    key = pairs[pair, 1] * size + group
    asked = needs.members.ravel()[key] > 0
    column, cell = np.append(pair[asked], lacks[0]), np.append(key[asked], lacking[0])
    rows.add(column, cell, needs.members.ravel(), np.full(needs.members.size, np.inf))
    # A value that the item does not have yet counts once, if one of its reviewers is taken.
    new = (people.counts(task.table(no_pairs())) == 0) & (needs.different > 0)[:, people.panels.attribute]
    fresh = new.ravel()[key]
    names, which = np.unique(key[fresh], return_inverse=True)
    own = rows.n_columns + np.arange(names.size)
    rows.n_columns += names.size
    entry = np.append(np.ones(which.size), -np.ones(names.size))
    nothing, any_number = np.zeros(new.size), np.full(new.size, np.inf)
    rows.add(np.append(pair[fresh], own), np.append(key[fresh], names), nothing, any_number, entry)
    wanted = needs.different.shape[1] * (names // max(size, 1)) + people.panels.attribute[names % max(size, 1)]
    column, cell = np.append(own, lacks[1]), np.append(wanted, lacking[1])
    rows.add(column, cell, needs.different.ravel(), np.full(needs.different.size, np.inf))
    return names.size


class _Rows:
    """Rows of the programme: sums of columns between two numbers; and whether some row has no column to fill it."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns, self.possible = n_columns, True
        self.parts: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.least: list[FloatArray] = []
        self.most: list[FloatArray] = []

    def add(self, column: IntArray, group: IntArray, least: Any, most: Any, entry: FloatArray | None = None) -> None:
        """Add a row for each group that occurs; the others must ask for nothing."""
        names, row = np.unique(group, return_inverse=True)
        left = np.array(least, np.float64)
        left[names] = 0
        self.possible &= not (left > 0).any()
        above = sum(part.size for part in self.least)
        self.parts.append((above + row, column, np.ones(column.size) if entry is None else entry))
        self.least.append(np.asarray(least, np.float64)[names])
        self.most.append(np.asarray(most, np.float64)[names])

    def all(self) -> LinearConstraint:
        """Return all rows."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        row, column, entry = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        least, most = np.concatenate(self.least), np.concatenate(self.most)
        return LinearConstraint(csr_array((entry, (row, column)), shape=(least.size, self.n_columns)), least, most)
