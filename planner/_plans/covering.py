"""The cheapest new reviews that items are short of, and even loads.

minimise    the cost
subject to  every item short of n reviews gets n, from the panel groups that are missing; spare loads;
            no more of a panel group than an item may have

An integer programme over the allowed pairs, solved by HiGHS: without rules on people it is a transportation problem,
whose vertices are integral. If the number of reviews that meet an item's needs is unknown, it is minimised first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import Waived, as_pairs, no_pairs
from planner._plans.task import few_short_pairs, short_pairs
from planner.solving import integer_programme
from reviewgraph._base import distinct, occurs, ranks

if TYPE_CHECKING:
    from planner._plans.task import Task
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


# The same reviews of each item by other reviewers, so that extra loads are as even as possible.
#
# minimise    the largest extra load, then the number of reviewers who have it, then the next largest, and so on
# subject to  as many reviews of each item as before, at the same cost; conflicts, spare loads, rules on reviewers
#
# A path leads from a heavy reviewer, who hands a review to another one, who hands one on in turn, to one with at least
# two reviews fewer. Loads are as even as possible once there is no such path [Harvey06]_. If reviews have costs, only
# steps of equal cost are taken.

#: Work, see :class:`reviewgraph._base.clock.Clock`, of computing the takers of a review: in all, and per reviewer.
LOOK = 3e-5
EACH = 1e-8


def even(
    task: Task, pairs: IntArray, clock: Clock, tied: BoolArray | None = None, group: object = None
) -> tuple[IntArray, bool]:
    """Hand reviews on along paths until no reviewer can be relieved by one with at least two extra reviews fewer.

    Returns the reviews, and whether no others of the same items and cost have a smaller largest extra load.
    The fixed reviews of the task count in loads, and stay; ``pairs`` (P, 2) exclude them. Reviews ``tied`` (P,) stay
    within a ``group`` (M,) of reviewers. Takes O(P M) for each path and at the end, for P reviews and M reviewers.
    """
    if not len(pairs):
        return pairs, True
    ways = _Ways(task, pairs, tied, group)
    done = ways.relieve_all(clock)
    return np.column_stack([ways.owner, ways.item]), done and ways.exact


def takers(task: Task, pairs: IntArray, place: int) -> IntArray:
    """Return who could take over a review at the same cost, fewest reviews first."""
    ways = _Ways(task, pairs, None, None)
    able = np.flatnonzero(ways.takers(place))
    able = able[ways.left.spare[able] > 0]
    return able[np.argsort(ways.load[able], kind="stable")]


def share(task: Task, count: int) -> int:
    """Return a lower bound on the largest extra load if ``count`` reviews are given, by spare loads alone."""
    fixed = task.loads(no_pairs())
    low = int(fixed.max(initial=0))
    high = int(fixed.max(initial=0)) + count
    while low < high:
        middle = (low + high) // 2
        if int(np.clip(middle - fixed, 0, np.maximum(task.spare, 0)).sum()) >= count:
            high = middle
        else:
            low = middle + 1
    return low


class _Ways:
    """Reviews by reviewer, and the paths along which reviews are handed on.

    ``owner`` and ``item`` (P,) are the reviews, ``held`` the reviews of each reviewer, ``on`` the reviewers of each
    item, ``load`` (M,) extra reviews with fixed ones, ``left`` what may still be added; ``looked`` counts the reviews
    whose takers were computed since the work was last counted.
    """

    def __init__(self, task: Task, pairs: IntArray, tied: BoolArray | None, group: object) -> None:
        rules = task.constraints
        M = task.spare.size
        N = task.n_items
        self.rules = rules
        self.n_items = N
        self.owner, self.item = pairs[:, 0].copy(), pairs[:, 1].copy()
        self.tied = np.zeros(len(pairs), np.bool_) if tied is None else tied
        self.group = np.zeros(M, np.int64) if group is None else np.asarray(group, np.int64)
        self.able: BoolArray = rules.spare > 0
        self.load = task.loads(pairs)
        self.left = task.left(pairs)
        self.held: list[list[int]] = [[] for _ in range(M)]
        for place, j in enumerate(self.owner.tolist()):
            self.held[j].append(place)
        self.on: dict[int, set[int]] = {i: set() for i in self.item.tolist()}
        for j, i in pairs.tolist():
            self.on[i].add(j)
        order = np.argsort(rules.barred_pairs % max(N, 1), kind="stable")
        self.barred, by_item = np.divmod(rules.barred_pairs[order], max(N, 1))
        self.barred_start = np.searchsorted(by_item, np.arange(N + 1))
        self.asked = _asked(task)
        self.prices: dict[int, IntArray] = {}
        self.looked = 0
        whole = not self.left.places.any and self.asked is None and not self.tied.any()
        self.exact = not rules.cost and whole and task.needs.exact

    def relieve_all(self, clock: Clock) -> bool:
        """Relieve the heaviest reviewers first; false if time is over."""
        closed = np.zeros(self.load.size, np.bool_)
        for load in range(int(self.load.max()), 1, -1):
            for j in np.flatnonzero(self.load == load).tolist():
                if clock.over():
                    return False
                # Reviewers reached from one who was not relieved need no second search: no path leads out of there.
                seen = closed.copy()
                if not closed[j] and not self._relieve(j, seen):
                    closed = seen
                clock.spend(self.looked * (LOOK + EACH * self.load.size))
                self.looked = 0
        return True

    def _relieve(self, reviewer: int, seen: BoolArray) -> bool:
        """Follow a shortest path from a reviewer to one with two reviews fewer; false if there is none."""
        waiting = [reviewer]
        came = dict[int, int]()
        load = int(self.load[reviewer])
        seen[reviewer] = True
        for j in waiting:
            for place in self.held[j]:
                if self.left.places.any and self.item[place] in self._passed(j, came):
                    continue
                self.looked += 1
                new = np.flatnonzero(self.takers(place) & ~seen)
                came.update(dict.fromkeys(new.tolist(), place))
                light = new[(self.left.spare[new] > 0) & (self.load[new] <= load - 2)]
                if light.size:
                    self._hand_on(int(light[np.argmin(self.load[light])]), came)
                    return True
                seen[new] = True
                waiting += new.tolist()
        return False

    def takers(self, place: int) -> BoolArray:
        """Shape (M,): who may have a review instead of its owner, at the same cost."""
        j = int(self.owner[place])
        i = int(self.item[place])
        able = self.able.copy()
        able[self.barred[self.barred_start[i] : self.barred_start[i + 1]]] = False
        able[list(self.on[i])] = False
        if self.tied[place]:
            able &= self.group == self.group[j]
        if self.asked is not None:
            able &= (self.asked | ~self.asked[j]).all(axis=1)
        for _, has, wanted in self.rules.people.panels.shared:
            sharing = np.zeros(able.size, np.bool_)
            sharing[: len(has)] = (has & wanted[i]).any(axis=1)
            able &= sharing | ~sharing[j]
        if self.rules.cost:
            price = self._price(i)
            able &= price == price[j]
        if self.left.places.any:
            for other in np.flatnonzero(able).tolist():
                able[other] = self._finds_place(other, j, i)
        return able

    def _finds_place(self, reviewer: int, leaving: int, item: int) -> bool:
        """Whether the panel groups of a reviewer have places on an item that another reviewer leaves."""
        places = self.left.places
        gone = self.left.places.of(leaving)
        return all(
            places.free[item, group] - self.left.taken[item, group] + (group in gone) > 0
            for group in places.of(reviewer)
        )

    def _passed(self, reviewer: int, came: dict[int, int]) -> set[int]:
        """Items of the reviews that the path to a reviewer hands on."""
        items = set()
        while reviewer in came:
            place = came[reviewer]
            items.add(int(self.item[place]))
            reviewer = int(self.owner[place])
        return items

    def _hand_on(self, reviewer: int, came: dict[int, int]) -> None:
        """Trace a path back from its end, each reviewer taking the review that leads there."""
        self.load[reviewer] += 1
        while reviewer in came:
            place = came[reviewer]
            before = int(self.owner[place])
            i = int(self.item[place])
            self.left.give_back(before, i)
            self.left.take(reviewer, i)
            self.held[before].remove(place)
            self.held[reviewer].append(place)
            self.on[i] ^= {before, reviewer}
            self.owner[place] = reviewer
            reviewer = before
        self.load[reviewer] -= 1

    def _price(self, item: int) -> IntArray:
        """Shape (M,): cost of an item by each reviewer, in whole units."""
        if item not in self.prices:
            self.prices[item] = self.rules.cost.whole(np.arange(self.load.size) * self.n_items + item)
        return self.prices[item]


def _asked(task: Task) -> BoolArray | None:
    """Shape (M, G): the panel groups of each reviewer that items must have; None if they need none."""
    people = task.constraints.people
    panels = people.panels
    several = np.flatnonzero(panels.different.any(axis=0))
    wanted = panels.least.any(axis=0) | np.isin(panels.attribute, several)
    if not wanted.any():
        return None
    asked = np.zeros((task.spare.size, panels.n_groups), np.bool_)
    place, group = people.groups_of(np.arange(task.spare.size))
    asked[place, group] = wanted[group]
    return asked


#: Pairs up to which all are offered; beyond, the cheapest ``FEW`` readers of each item, and all if these fail.
ALL_UP_TO = 100_000
FEW = 60
#: Pairs up to which all are listed; beyond, for each item that is short, few more than it needs, and those preferred.
LISTED_UP_TO = 3_000_000
SOME = 4
#: Statuses of :func:`scipy.optimize.milp`; and the threshold between zero and one.
SOLVED = 0
INFEASIBLE = 2
HALF = 0.5
#: Work, see :class:`reviewgraph._base.clock.Clock`, per entry of the programme, which is nearly one of flows.
ROOT = 1e-5
#: Minimum seconds, and work, of the programme.
LEAST = 1.0
NONE = np.empty(0, np.int64)


class Cover(NamedTuple):
    """Reviews that fill all needs, shape (P, 2), or None; whether none are cheaper; whether there is none.

    ``least_load`` is a lower bound on the largest extra load of reviews that fill the needs at this cost; 0 if nothing
    is proved.
    """

    pairs: IntArray | None
    cheapest: bool
    impossible: bool
    least_load: int = 0


def cover(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Return the fewest reviews that fill the needs: most preferred ones, then cheapest, then with even loads.

    Takes the time of HiGHS on K columns, K the allowed pairs of items that are short: seconds for 100,000.
    """
    filled = _filled(task, preferred, clock)
    if filled.pairs is None:
        return filled
    # The programme ignores loads: a vertex may give all reviews to one reviewer. Preferred reviews stay.
    tied = np.isin(task.codes(filled.pairs), task.codes(preferred))
    spread, proved = even(task, filled.pairs, clock.no_less_than(LEAST), tied, np.arange(task.spare.size))
    return filled._replace(pairs=spread, least_load=int(task.loads(spread).max()) if proved else 0)


def _filled(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Do as :func:`cover`, whatever the loads."""
    if (task.room < task.needs.each).any():
        return Cover(None, False, True)
    if int((task.spare > 0).sum()) * int((task.needs.each > 0).sum()) > LISTED_UP_TO:
        pairs = _some(task, preferred)
        goal = _prefer(task, pairs, _prices(task, pairs), preferred)
        taken = _in_turn(task, pairs, goal)
        answer = _solve(task, pairs, goal, clock) if taken is None else Cover(taken, False, False)
        return answer._replace(cheapest=False, impossible=False)
    pairs = short_pairs(task)
    price = _prices(task, pairs)
    goal = price if not len(preferred) else _prefer(task, pairs, price, preferred)
    if len(pairs) > ALL_UP_TO:
        few = _nearest(pairs, goal)
        answer = _solve(task, pairs[few], goal[few], clock)
        if answer.pairs is not None:
            return answer._replace(cheapest=False)
        if clock.over() or _too_many(pairs, clock):
            return Cover(None, False, False)
    answer = _solve(task, pairs, goal, clock)
    return answer._replace(cheapest=answer.cheapest and not len(preferred))


def _too_many(pairs: IntArray, clock: Clock) -> bool:
    return 2 * ROOT * len(pairs) > clock.work


def _some(task: Task, preferred: IntArray) -> IntArray:
    """Return some allowed pairs of each item that is short: some of its readers, the cheapest, and those preferred."""
    N = task.n_items
    rules = task.constraints
    priced = np.column_stack(np.divmod(rules.cost.code, max(N, 1)))
    free = (task.needs.each[priced[:, 1]] > 0) & (task.room[priced[:, 1]] > 0) & (task.spare[priced[:, 0]] > 0)
    free &= ~occurs(rules.cost.code, rules.barred_pairs) & rules.places.open(priced)
    priced = priced[free]
    cheap = ranks(priced[:, 1], -_prices(task, priced)) < SOME
    parts = (few_short_pairs(task, SOME), preferred, priced[cheap])
    return np.column_stack(np.divmod(distinct(*map(task.codes, parts)), max(N, 1)))


def _in_turn(task: Task, pairs: IntArray, goal: FloatArray) -> IntArray | None:
    """Take the cheapest pairs one after the other, as loads and rules allow; None if that does not fill all needs."""
    if not task.needs.exact or task.needs.members.any() or task.needs.different.any():
        return None
    left = task.left(no_pairs())
    need = task.needs.each.copy()
    taken = list[tuple[int, int]]()
    for j, i in pairs[np.argsort(goal, kind="stable")].tolist():
        if need[i] > 0 and left.open(j, i):
            left.take(j, i)
            need[i] -= 1
            taken.append((j, i))
    return None if need.any() else as_pairs(taken)


def _prices(task: Task, pairs: IntArray) -> FloatArray:
    """Return costs, shape (P,), rounded to the units of solvers."""
    cost = task.constraints.cost
    prices = np.zeros(len(pairs))
    if cost:
        prices += cost.unit * cost.whole(task.codes(pairs))
    return prices


def _prefer(task: Task, pairs: IntArray, price: FloatArray, preferred: IntArray) -> FloatArray:
    """One unit for each review that is not preferred; all costs together are less than one."""
    other = ~np.isin(task.codes(pairs), task.codes(preferred))
    spread = float(np.ptp(price)) if price.size else 0.0
    small = (price - price.min()) / (spread * (task.needs.total + 1)) if spread > 0 else 0.0 * price
    goal: FloatArray = other + small
    return goal


def _nearest(pairs: IntArray, price: FloatArray) -> IntArray:
    """Places of the cheapest few pairs of each item; ties start with a different reviewer for each item."""
    turned = (pairs[:, 0] - 7 * pairs[:, 1]) % (pairs[:, 0].max(initial=0) + 1)
    order = np.lexsort((turned, price, pairs[:, 1]))
    item = pairs[order, 1]
    start = np.searchsorted(item, item)
    return np.sort(order[np.arange(item.size) - start < FEW])


def _solve(task: Task, pairs: IntArray, goal: FloatArray, clock: Clock) -> Cover:
    if not len(pairs):
        return Cover(None, False, task.needs.total > 0)
    programme = _Programme(task, pairs, short=False)
    if not programme.possible:
        return Cover(None, False, True)
    if not task.needs.exact:
        goal = 1.0 + (goal - goal.min()) / (float(np.ptp(goal)) * (len(pairs) + 1) or 1.0)
    solution = programme.solve(goal, np.ones(len(pairs)), clock)
    chosen = None if solution.x is None else pairs[solution.x[: len(pairs)] > HALF]
    return Cover(chosen, solution.status == SOLVED, solution.status == INFEASIBLE)


def least_missing(task: Task, pairs: IntArray, clock: Clock) -> Waived | None:
    """Return what items must do without: fewest reviews, members and values in all, then fewest reviews.

    None if no solution is found in time.
    """
    if _too_many(pairs, clock):
        return None
    programme = _Programme(task, pairs, short=True)
    needs = task.needs
    count = len(pairs)
    most = [cell[places] for cell, places in zip(needs.cells, programme.lacking, strict=True)]
    # A missing review counts more than all reviews together.
    goal = np.repeat([1.0, count + 1.0], [count, sum(part.size for part in most)])
    solution = programme.solve(goal, np.concatenate([np.ones(count), *most]), clock)
    if solution.x is None:
        return None
    each, members, different = (np.zeros_like(cell) for cell in needs.cells)
    for array, places, columns in zip((each, members, different), programme.lacking, programme.lacks, strict=True):
        array[places] = np.rint(solution.x[columns]).astype(np.int64)
    reviews = np.maximum(needs.reviews - (needs.each - each), 0)
    return Waived(reviews, members.reshape(needs.members.shape), different.reshape(needs.different.shape))


class _Programme:
    """The programme over some pairs: each row is a sum of columns between two numbers.

    The columns are the pairs, then, if items may be ``short``, ``lacks`` for the reviews, members and values missing in
    the cells ``lacking`` of the needs, then the values that an item gets. It is ``possible`` unless a row that requires
    something has no column.
    """

    def __init__(self, task: Task, pairs: IntArray, *, short: bool) -> None:
        self.n_columns = len(pairs)
        self.possible = True
        self.rows: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.limits: list[tuple[FloatArray, FloatArray]] = []
        needs = task.needs
        every = np.arange(len(pairs))
        self.lacking = [np.flatnonzero(cell) if short else NONE for cell in needs.cells]
        self.lacks = [self._more(places.size) for places in self.lacking]
        # Reviews of items, within their limits, and loads.
        if short:
            item = np.append(pairs[:, 1], self.lacking[0])
            self.add(np.append(every, self.lacks[0]), item, needs.each, np.full(task.n_items, np.inf))
            self.add(every, pairs[:, 1], np.zeros(task.n_items), np.maximum(task.room, 0))
        else:
            self.add(every, pairs[:, 1], needs.each, needs.each if needs.exact else np.minimum(task.room, len(pairs)))
        spare = np.minimum(task.spare, len(pairs))
        self.add(every, pairs[:, 0], np.zeros_like(spare), spare)
        # Places of panel groups, and members of those that are missing.
        places = task.constraints.places
        people = task.constraints.people
        pair, place = places.held_by(pairs)
        self.add(pair, place, np.zeros(places.free.size), np.maximum(places.free.ravel(), 0))
        size = people.panels.n_groups
        pair, group = people.groups_of(pairs[:, 0], pairs[:, 1])
        key = pairs[pair, 1] * size + group
        asked = needs.members.ravel()[key] > 0
        column = np.append(pair[asked], self.lacks[1])
        cell = np.append(key[asked], self.lacking[1])
        self.add(column, cell, needs.members.ravel(), np.full(needs.members.size, np.inf))
        # A value that the item does not have yet counts once, if one of its reviewers is taken.
        new = (people.counts(task.table(no_pairs())) == 0) & (needs.different > 0)[:, people.panels.attribute]
        fresh = new.ravel()[key]
        names, which = np.unique(key[fresh], return_inverse=True)
        own = self._more(names.size)
        entry = np.append(np.ones(which.size), -np.ones(names.size))
        column = np.append(pair[fresh], own)
        cell = np.append(key[fresh], names)
        self.add(column, cell, np.zeros(new.size), np.full(new.size, np.inf), entry)
        wanted = needs.different.shape[1] * (names // max(size, 1)) + people.panels.attribute[names % max(size, 1)]
        column = np.append(own, self.lacks[2])
        cell = np.append(wanted, self.lacking[2])
        self.add(column, cell, needs.different.ravel(), np.full(needs.different.size, np.inf))

    def _more(self, count: int) -> IntArray:
        """Return new columns."""
        self.n_columns += count
        return np.arange(self.n_columns - count, self.n_columns)

    def add(self, column: IntArray, group: IntArray, least: Any, most: Any, entry: FloatArray | None = None) -> None:
        """Add a row for each group that occurs; the others must require nothing."""
        names, row = np.unique(group, return_inverse=True)
        unmet = np.array(least, np.float64)
        unmet[names] = 0
        self.possible &= not (unmet > 0).any()
        above = sum(least.size for least, _ in self.limits)
        self.rows.append((above + row, column, np.ones(column.size) if entry is None else entry))
        self.limits.append((np.asarray(least, np.float64)[names], np.asarray(most, np.float64)[names]))

    def solve(self, goal: FloatArray, most: FloatArray, clock: Clock) -> Any:
        """Minimise a goal over the first columns, each at most ``most``; the columns of values cost nothing."""
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_array

        row, column, entry = (np.concatenate(part) for part in zip(*self.rows, strict=True))
        least, greatest = (np.concatenate(part) for part in zip(*self.limits, strict=True))
        matrix = csr_array((entry, (row, column)), shape=(least.size, self.n_columns))
        values = self.n_columns - goal.size
        return integer_programme(
            np.append(goal, np.zeros(values)),
            clock.no_less_than(LEAST),
            gap=0.0,
            root=ROOT,
            constraints=LinearConstraint(matrix, least, greatest),
            integrality=np.ones(self.n_columns),
            bounds=Bounds(0, np.append(most, np.ones(values))),
        )


# Needs that items must do without, if no reviews meet them all.
#
# minimise    the reviews, members of panel groups and values that are missing, each counted once
# subject to  spare loads, conflicts, limits of items and rules
#
# If needs are numbers of reviews and no rule limits panels, a minimum-cost flow also spreads the shortage evenly: the
# k-th missing review of an item costs k; at the least sum of such costs the fewest are missing, and the largest
# shortage is as small as possible. Otherwise an integer programme minimises the shortage, however uneven.


def waived(task: Task, clock: Clock) -> Waived | None:
    """Return needs that items do without so that the others can be filled; None if none are found in time.

    Takes the time of a flow over the allowed pairs of items that are short, or of HiGHS on as many columns.
    """
    pairs = short_pairs(task)
    needs = task.needs
    if not needs.exact or needs.members.any() or task.constraints.places.any:
        return least_missing(task, pairs, clock)
    lacks = _spread_lacks(task, pairs)
    return Waived(np.minimum(lacks, needs.reviews), np.zeros_like(needs.members), np.zeros_like(needs.different))


def _spread_lacks(task: Task, pairs: IntArray) -> IntArray:
    """Shape (N,): unmet need of each item in a flow from items to reviewers, or to nobody at increasing costs."""
    from ortools.graph.python import min_cost_flow

    each = task.needs.each
    N = task.n_items
    M = task.spare.size
    item = np.repeat(np.arange(N), each)
    rank = 1 + np.arange(item.size) - np.repeat(np.cumsum(each) - each, each)
    # Beyond its limit an item gets nothing, whoever might review it.
    room = np.clip(task.room, 0, each)
    flow = min_cost_flow.SimpleMinCostFlow()
    reviewers = 2 * N + np.arange(M)
    nobody = 2 * N + M
    sink = 2 * N + M + 1
    ones = np.ones(item.size, np.int64)
    none = np.zeros(N, np.int64)
    lack = flow.add_arcs_with_capacity_and_unit_cost(item, np.full(item.size, nobody), ones, rank)
    flow.add_arcs_with_capacity_and_unit_cost(np.arange(N), N + np.arange(N), room, none)
    nothing = np.zeros(len(pairs), np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(N + pairs[:, 1], 2 * N + pairs[:, 0], nothing + 1, nothing)
    spare = np.clip(task.spare, 0, N)
    flow.add_arcs_with_capacity_and_unit_cost(reviewers, np.full(M, sink), spare, np.zeros(M, np.int64))
    flow.add_arc_with_capacity_and_unit_cost(nobody, sink, item.size, 0)
    supply = np.concatenate([each, np.zeros(N + M + 1, np.int64), [-item.size]])
    flow.set_nodes_supplies(np.arange(supply.size), supply)
    if flow.solve() != flow.OPTIMAL:
        return each
    return np.bincount(item[flow.flows(lack) > 0], minlength=N)
