"""The cheapest new reviews that items are short of, why there are none, and even loads.

minimise    the cost
subject to  every item short of n reviews gets n, from the panel groups that are missing; spare loads;
            no more of a panel group than an item may have

An integer programme over the allowed pairs, solved by HiGHS: without rules on people it is a transportation problem,
whose vertices are integral. If the number of reviews that meet an item's needs is unknown, it is minimised first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.kernels.cascade import may_read, use
from planner._plans.outcome import named_papers
from planner._plans.programme import LEAST, ROOT, Programme
from planner._plans.task import few_short_pairs, short_pairs
from planner.rules import NAMED, AtMost
from reviewgraph._base import distinct, noun, occurs, ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._plans.task import Task
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


#: Pairs up to which all are offered; beyond, ``FEW`` readers of each item, the cheapest among them, and all if these
#: fail; more than ``LISTED_UP_TO`` are never listed.
ALL_UP_TO = 100_000
LISTED_UP_TO = 3_000_000
FEW = 60
#: Statuses of :func:`scipy.optimize.milp`; and the threshold between zero and one.
SOLVED = 0
INFEASIBLE = 2
HALF = 0.5


class Cover(NamedTuple):
    """Reviews that fill all needs, shape (P, 2), or None; whether none are cheaper; whether there is none."""

    pairs: IntArray | None
    cheapest: bool
    impossible: bool


def cover(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Return the fewest reviews that fill the needs: most preferred ones, then cheapest, then with even loads.

    Takes the time of HiGHS on K columns, K the allowed pairs of items that are short: seconds for 100,000.
    """
    filled = _filled(task, preferred, clock)
    if filled.pairs is None:
        return filled
    # The programme ignores loads: a vertex may give all reviews to one reviewer. Preferred reviews stay.
    tied = np.isin(task.codes(filled.pairs), task.codes(preferred))
    return filled._replace(pairs=even(task, filled.pairs, clock.no_less_than(LEAST), tied))


def _filled(task: Task, preferred: IntArray, clock: Clock) -> Cover:
    """Do as :func:`cover`, whatever the loads."""
    if (task.room < task.needs.each).any():
        return Cover(None, False, True)
    most = _most_pairs(task)
    if most > ALL_UP_TO:
        answer = _solve(task, _few_pairs(task, preferred), preferred, clock)
        if answer.pairs is not None or most > LISTED_UP_TO or 2 * ROOT * most > clock.work:
            return answer._replace(cheapest=False, impossible=False)
    return _solve(task, short_pairs(task), preferred, clock)


def _most_pairs(task: Task) -> int:
    """Upper bound on the number of allowed pairs of items that are short."""
    return int((task.spare > 0).sum()) * int((task.needs.each > 0).sum())


def _few_pairs(task: Task, preferred: IntArray) -> IntArray:
    """Return some allowed pairs of each item that is short: some of its readers, the cheapest, and those preferred."""
    N = max(task.n_items, 1)
    rules = task.constraints
    few = min(FEW, max(LISTED_UP_TO // N, 4))
    priced = np.column_stack(np.divmod(rules.cost.code, N))
    free = (task.needs.each[priced[:, 1]] > 0) & (task.room[priced[:, 1]] > 0) & (task.spare[priced[:, 0]] > 0)
    free &= ~occurs(rules.cost.code, rules.barred_pairs) & rules.places.open(priced)
    priced = priced[free]
    cheap = ranks(priced[:, 1], -rules.cost.costs(task.codes(priced))) < few
    parts = (few_short_pairs(task, few), preferred, priced[cheap])
    return np.column_stack(np.divmod(distinct(*map(task.codes, parts)), N))


def _goal(task: Task, pairs: IntArray, preferred: IntArray) -> FloatArray:
    """One unit for each review that is not preferred, or whatever it is if the number of reviews is to be minimised.

    All costs together are less than one.
    """
    cost = task.constraints.cost
    price = np.zeros(len(pairs))
    if cost:
        price += cost.unit * cost.whole(task.codes(pairs))
    if task.needs.exact and not len(preferred):
        return price
    price -= price.min()
    count = task.needs.total if task.needs.exact else len(pairs)
    small = price / (float(np.ptp(price)) * (count + 1) or 1.0)
    other: FloatArray = ~np.isin(task.codes(pairs), task.codes(preferred)) + small
    return other if task.needs.exact else 1.0 + other / (float(np.ptp(other)) * (count + 1) or 1.0)


def _solve(task: Task, pairs: IntArray, preferred: IntArray, clock: Clock) -> Cover:
    if not len(pairs):
        return Cover(None, False, task.needs.total > 0)
    needs = task.needs
    programme = Programme(task, pairs, needs.each if needs.exact else task.room)
    if not programme.possible:
        return Cover(None, False, True)
    solution = programme.solve(_goal(task, pairs, preferred), clock)
    chosen = None if solution.x is None else pairs[solution.x[: len(pairs)] > HALF]
    proved = solution.status == SOLVED and not len(preferred)
    return Cover(chosen, proved, solution.status == INFEASIBLE)


def waived(task: Task, clock: Clock) -> tuple[IntArray, IntArray] | None:
    """Return what items must do without: the fewest reviews and members in all, as evenly as possible.

    None if no solution is found in time. Takes the time of :func:`cover`.
    """
    needs = task.needs
    pairs = short_pairs(task) if _most_pairs(task) <= ALL_UP_TO else _few_pairs(task, no_pairs())
    programme = Programme(task, pairs, task.room, short=True)
    # The k-th that is missing in a cell costs a little more than the one before.
    cell = np.concatenate(programme.lacking)
    if not cell.size:
        return None
    kind = np.repeat(np.arange(2), [part.size for part in programme.lacking])
    rank = ranks(kind * (1 + cell.max()) + cell, np.arange(cell.size)[::-1])
    goal = np.append(np.zeros(len(pairs)), 1.0 + rank.sum() + rank)
    solution = programme.solve(goal, clock)
    if solution.x is None:
        return None
    missing = solution.x[len(pairs) : goal.size] > HALF
    each, members = (
        np.bincount(cell[missing & (kind == number)], minlength=part.size) for number, part in enumerate(needs.cells)
    )
    reviews = np.maximum(needs.reviews - (needs.each - each), 0)
    return reviews, members.reshape(needs.members.shape)


# Why items cannot get the reviews that they need: counts that can be verified by hand.

REMEDY = "raise loads or limits, lower what every paper must have, or ask more people"


def why_uncovered(task: Task) -> list[str]:
    """Name papers that need more than their possible readers can give together: a minimum cut (Hall's condition).

    Members of each panel group, and reviews under the limits of each attribute, are demands of their own. Empty if each
    of them can be met alone.
    """
    pairs = short_pairs(task)
    needs = task.needs
    people = task.constraints.people
    N = task.n_items
    G = people.panels.n_groups
    pair, group = people.groups_of(pairs[:, 0], pairs[:, 1])
    # A review takes the place of its panel group on the item, or one of the item.
    alone = N * G + pairs[:, 1]
    most = np.append(np.full(N * G, N), task.room)
    free = np.append(np.maximum(people.free(task.table(no_pairs())), 0).ravel(), task.room)
    reasons = []
    for number in np.flatnonzero(needs.members.any(axis=0)).tolist():
        members = pair[group == number]
        kind = partial(people.ruled.kind, number, what="review")
        reasons.append(_shortage(task, pairs[members], alone[members], most, needs.members[:, number], kind))
    limited = [(alone, "")]
    for number, name in enumerate(people.ruled.names):
        mine = people.panels.attribute[group] == number
        # A reviewer of several values takes several places: then a count proves nothing.
        if np.bincount(pair[mine], minlength=1).max() > 1:
            continue
        own = pair[mine]
        place = alone.copy()
        place[own] = pairs[own, 1] * G + group[mine]
        rules = zip(people.ruled.rules, people.ruled.attributes, strict=True)
        limits = [rule.words(of) for rule, of in rules if of.name == name and isinstance(rule, AtMost)]
        limited.append((place, f", {' and '.join(limits)}," if limits else ""))
    reviews = partial(noun, singular="review", many="reviews")
    for place, limit in limited:
        if not any(reasons):
            reasons.append(_shortage(task, pairs, place, free, needs.each, reviews, limit))
    return [reason for reason in reasons if reason][:NAMED]


def _shortage(
    task: Task,
    pairs: IntArray,
    place: IntArray,
    most: IntArray,
    needed: IntArray,
    kind: Callable[[int], str],
    limit: str = "",
) -> str:
    """Name items that need more together than they can get by some pairs, ``most`` in each place; empty if none do."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    M = task.spare.size
    N = task.n_items
    used, place = np.unique(place, return_inverse=True)
    G = (most.size - N) // max(N, 1)
    item = np.where(used < N * G, used // max(G, 1), used - N * G)
    # From the source by reviewers, places and items to the sink.
    first = np.cumsum([0, M, used.size, N])
    source = int(first[3])
    sink = source + 1
    start = np.concatenate([np.full(M, source), pairs[:, 0], M + np.arange(used.size), first[2] + np.arange(N)])
    end = np.concatenate([np.arange(M), M + place, first[2] + item, np.full(N, sink)])
    able = np.clip(task.spare, 0, N)
    room = np.concatenate([able, np.ones(len(pairs), np.int64), np.clip(most[used], 0, M), needed]).astype(np.int32)
    graph = csr_array((room, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    missing = int(needed.sum()) - int(flow.flow_value)
    if not missing:
        return ""
    # Items from which the sink is reached in the residual network are short together (the smallest minimum cut).
    residual = csr_array(graph - flow.flow)
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    reached = breadth_first_order(csr_array(residual.T), sink, return_predecessors=False)
    short = np.sort(reached[(reached >= first[2]) & (reached < source)]) - first[2]
    short = short[needed[short] > 0]
    total = int(needed[short].sum())
    need = f"{named_papers(short)} {noun(short.size, 'needs', 'need')} {total} more {kind(total)}"
    them = noun(total, "it", "them")
    if total == missing:
        return f"{need}, and nobody who may give {them} has spare load; {REMEDY}"
    in_all = " in all" if short.size > 1 else ""
    return (
        f"{need}{in_all}, and those who may give {them}{limit} have {total - missing} within their spare loads: "
        f"{total} > {total - missing}; {REMEDY}"
    )


# The same reviews of each item by other reviewers, at the same cost, so that extra loads are more even.

#: Work, see :class:`reviewgraph._base.clock.Clock`, of computing the takers of a review: in all, and per reviewer.
LOOK = 3e-5
EACH = 1e-8


def even(task: Task, pairs: IntArray, clock: Clock, tied: BoolArray) -> IntArray:
    """Hand reviews of the heaviest on, one at a time, while somebody who may take one has two extra reviews fewer.

    The fixed reviews of the task count in loads, and stay, as do reviews ``tied`` (P,); ``pairs`` (P, 2) exclude them.
    """
    ways = Ways(task, pairs)
    moved = True
    while moved and not clock.over():
        moved = False
        for place in np.argsort(-ways.load[ways.owner], kind="stable").tolist():
            if tied[place] or clock.over():
                continue
            clock.spend(LOOK + EACH * ways.load.size)
            lighter = ways.lighter(place)
            if lighter.size:
                ways.hand_on(place, int(lighter[0]))
                moved = True
    return np.column_stack([ways.owner, ways.item])


def share(task: Task, count: int) -> int:
    """Return a lower bound on the largest extra load if ``count`` reviews are given, by spare loads alone."""
    fixed = task.loads(no_pairs())
    low = int(fixed.max(initial=0))
    # At a largest load the reviewers take what they may beyond their fixed reviews.
    return next(
        (load for load in range(low, low + count) if np.clip(load - fixed, 0, task.spare).sum() >= count), low + count
    )


class Ways:
    """Reviews by reviewer, and who else may write them.

    ``owner`` and ``item`` (P,) are the reviews, ``board`` has what may still be added, ``load`` (M,) are its extra
    reviews with fixed ones, ``spare`` (M,) how many more there may be.
    """

    def __init__(self, task: Task, pairs: IntArray) -> None:
        self.rules = task.constraints
        self.n_items = task.n_items
        self.owner = pairs[:, 0].copy()
        self.item = pairs[:, 1].copy()
        self.board = task.board(pairs)
        self.load = np.asarray(self.board.load)
        self.spare = np.asarray(self.board.spare)
        self.has_places = task.constraints.places.any
        self.asked = _asked(task)
        self.prices: dict[int, IntArray] = {}

    def hand_on(self, place: int, reviewer: int) -> None:
        """Give a review to another reviewer."""
        item = int(self.item[place])
        use(self.board, int(self.owner[place]), item, -1)
        use(self.board, reviewer, item, 1)
        self.owner[place] = reviewer

    def lighter(self, place: int) -> IntArray:
        """Return who could take over a review at the same cost, and has two reviews fewer; fewest reviews first."""
        j = int(self.owner[place])
        i = int(self.item[place])
        able = (self.spare > 0) & (self.load + 1 < self.load[j])
        able &= ~occurs(np.arange(self.load.size) * self.n_items + i, self.rules.barred_pairs)
        able[self.owner[self.item == i]] = False
        if self.asked is not None:
            able &= (self.asked | ~self.asked[j]).all(axis=1)
        for _, has, wanted in self.rules.people.panels.shared:
            sharing = np.zeros(able.size, np.bool_)
            sharing[: len(has)] = (has & wanted[i]).any(axis=1)
            able &= sharing | ~sharing[j]
        if self.rules.cost:
            price = self._price(i)
            able &= price == price[j]
        if self.has_places:
            # The owner leaves places to others.
            use(self.board, j, i, -1)
            for other in np.flatnonzero(able).tolist():
                able[other] = may_read(self.board, other, i)
            use(self.board, j, i, 1)
        taking = np.flatnonzero(able)
        return taking[np.argsort(self.load[taking], kind="stable")]

    def _price(self, item: int) -> IntArray:
        """Shape (M,): cost of an item by each reviewer, in whole units."""
        if item not in self.prices:
            self.prices[item] = self.rules.cost.whole(np.arange(self.load.size) * self.n_items + item)
        return self.prices[item]


def _asked(task: Task) -> BoolArray | None:
    """Shape (M, G): the panel groups of each reviewer that items must have; None if they need none."""
    people = task.constraints.people
    panels = people.panels
    wanted = np.asarray(panels.least.any(axis=0))
    if not wanted.any():
        return None
    asked = np.zeros((task.spare.size, panels.n_groups), np.bool_)
    place, group = people.groups_of(np.arange(task.spare.size))
    asked[place, group] = wanted[group]
    return asked
