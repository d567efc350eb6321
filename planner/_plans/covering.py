"""The cheapest new reviews that items are short of, why there are none, and even loads.

minimise    the cost
subject to  every item short of n reviews gets n, from the panel groups that are missing; spare loads;
            no more of a panel group than an item may have

An integer programme over the allowed pairs, solved by HiGHS: without rules on people it is a transportation problem,
whose vertices are integral. If the number of reviews that meet an item's needs is unknown, it is minimised first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.kernels.cascade import may_read, use
from planner._plans.outcome import named_papers
from planner._plans.target import Bound, Ledger
from planner._plans.task import Cut, Oracle, Task, few_short_pairs, short_pairs
from planner.errors import InternalError
from planner.rules import NAMED, AtMost
from planner.solving import integer_programme, solve_within
from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray, distinct, noun, occurs, ranks

# Integer programmes over candidate reviews: what items are short of, by HiGHS, and the exact method in CP-SAT.

#: Work, see :class:`reviewgraph._base.clock.Clock`, per entry of a programme by HiGHS, which is nearly one of flows.
ROOT = 1e-5
#: Minimum seconds, and work, of such a programme.
LEAST = 1.0


class Programme:
    """Loads, limits, rules and needs of a task, as rows: each is a sum of columns between two numbers.

    The columns are candidate ``pairs``, then, if items may be ``short``, a column for each review and member that may
    be missing in the cells ``lacking`` of the needs. Items get at most ``most`` reviews. The programme is ``possible``
    unless a row that requires something has no column.
    """

    def __init__(self, task: Task, pairs: IntArray, most: IntArray, *, short: bool = False) -> None:
        self.pairs = pairs
        self.possible = True
        self.rows: list[tuple[IntArray, IntArray]] = []
        self.limits: list[tuple[IntArray, IntArray]] = []
        needs = task.needs
        people = task.constraints.people
        every = np.arange(len(pairs))
        cells = [cell if short else np.zeros_like(cell) for cell in needs.cells]
        self.lacking = [np.repeat(np.arange(cell.size), cell) for cell in cells]
        first = [len(pairs), len(pairs) + self.lacking[0].size]
        lacks = [start + np.arange(cell.size) for start, cell in zip(first, self.lacking, strict=True)]
        self.n_columns = len(pairs) + sum(cell.size for cell in self.lacking)
        # Reviews of items, within their limits, and loads.
        self.add(every, pairs[:, 1], 0 * most, most)
        self.at_least(np.append(every, lacks[0]), np.append(pairs[:, 1], self.lacking[0]), needs.each)
        self.add(every, pairs[:, 0], 0 * task.spare, task.spare)
        # Places of panel groups, and members of those that are missing.
        places = task.constraints.places
        self.add(*places.held_by(pairs), 0 * places.free.ravel(), places.free.ravel())
        pair, group = people.groups_of(pairs[:, 0], pairs[:, 1])
        key = pairs[pair, 1] * people.panels.n_groups + group
        asked = needs.members.ravel()[key] > 0
        self.at_least(np.append(pair[asked], lacks[1]), np.append(key[asked], self.lacking[1]), needs.members.ravel())

    def at_least(self, column: IntArray, group: IntArray, least: IntArray) -> None:
        self.add(column, group, least, np.full(least.size, len(self.pairs) + least.sum()))

    def add(self, column: IntArray, group: IntArray, least: IntArray, most: IntArray) -> None:
        """Add a row for each group that occurs; the others must require nothing."""
        names, row = np.unique(group, return_inverse=True)
        unmet = least.copy()
        unmet[names] = 0
        self.possible &= not (unmet > 0).any()
        above = sum(numbers.size for numbers, _ in self.limits)
        self.rows.append((above + row, column))
        self.limits.append((least[names], np.clip(most[names], 0, len(self.pairs) + least.sum())))

    def joined(self) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
        """Return row and column of each entry, all of which are 1, and the limits of the rows."""
        entries = tuple(np.concatenate(part) for part in zip(*self.rows, strict=True))
        return entries, tuple(np.concatenate(part) for part in zip(*self.limits, strict=True))

    def solve(self, goal: FloatArray, clock: Clock) -> Any:
        """Minimise a goal over the first columns by HiGHS; the others cost nothing."""
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_array

        (row, column), (least, most) = self.joined()
        matrix = csr_array((np.ones(row.size), (row, column)), shape=(least.size, self.n_columns))
        return integer_programme(
            np.append(goal, np.zeros(self.n_columns - goal.size)),
            clock.no_less_than(LEAST),
            gap=0.0,
            root=ROOT,
            constraints=LinearConstraint(matrix, least, most),
            integrality=np.ones(self.n_columns),
            bounds=Bounds(0, 1),
        )


# The exact method: an implicit hitting set.
#
# minimise    the number of reviews, then their cost, then the largest extra load
# subject to  spare loads and limits, and for every closed structure X that misses the target:
#             the reviews that leave X (whose item the reviewer's block in X does not cover) are at least r(X)
#
# with r(X) = max(1, links missing in X). The structures come from an oracle: solve, close the chosen reviews, stop if
# the target is reached, otherwise cut the structure off, and for *double* larger ones made from it. If X has several
# links to make, the first review of a reviewer who has none is not one of them.

#: Work per unit that CP-SAT counts on such models.
UNIT = 1.0


class Master(Programme):
    """Integer programme over the candidates of an oracle, in CP-SAT.

    ``take`` are the reviews, ``heaviest`` is the largest load, ``begins`` is true of the reviewers without a review
    who get one, ``lower`` the bound on the number of reviews, ``seen`` are the cuts so far.
    """

    def __init__(self, oracle: Oracle, lower: int = 0) -> None:
        from ortools.sat.python import cp_model

        task = oracle.task
        super().__init__(task, oracle.allowed, task.room)
        self.oracle = oracle
        self.task = task
        self.lower = lower
        self.rounds = 0
        self.seen: set[tuple[bytes, int]] = set()
        self.model: Any = cp_model.CpModel()
        columns = [self.model.new_bool_var("") for _ in range(self.n_columns)]
        self.take: list[Any] = columns[: len(self.pairs)]
        self.model.add(sum(self.take) >= lower)
        if not self.possible:
            self.model.add_bool_or([])
        (row, column), (least, most) = self.joined()
        order = np.argsort(row, kind="stable")
        parts = np.split(column[order], np.searchsorted(row[order], np.arange(least.size)))[1:]
        for part, low, high in zip(parts, least.tolist(), most.tolist(), strict=True):
            self.model.add_linear_constraint(sum(columns[k] for k in part.tolist()), low, high)
        fixed = task.loads(no_pairs())
        self.heaviest = self.model.new_int_var(0, len(self.pairs) + int(fixed.max(initial=0)), "")
        # Who has no review may begin.
        table = task.table(no_pairs())
        self.begins: dict[int, Any] = {}
        for j, group in self._groups(0).items():
            self.model.add(self.heaviest >= sum(group) + int(fixed[j]))
            if not table.loads[j] and task.n_items > 1:
                self.begins[j] = self.model.new_bool_var("")
                for review in group:
                    self.model.add_implication(review, self.begins[j])
        self._order_alike()

    def _groups(self, column: int) -> dict[int, list[Any]]:
        groups: dict[int, list[Any]] = {}
        for variable, key in zip(self.take, self.pairs[:, column].tolist(), strict=True):
            groups.setdefault(key, []).append(variable)
        return groups

    def _order_alike(self) -> None:
        """Give reviewers, and items, without reviews that are alike in everything no fewer reviews than the next."""
        rules = self.task.constraints
        table = self.task.table(no_pairs())
        if rules.people.panels.n_groups:
            return
        price = rules.cost.whole(self.task.codes(self.pairs))
        nothing = np.zeros_like(table.loads)
        numbers = (
            (table.loads, self.task.spare, nothing),
            (table.reviews_per_item, self.task.room, self.task.needs.each),
        )
        for column, (reviews, limit, needed) in enumerate(numbers):
            last: dict[tuple[Any, ...], Any] = {}
            for vertex, group in sorted(self._groups(column).items()):
                own = self.pairs[:, column] == vertex
                pairs = self.pairs[own, 1 - column].tobytes()
                kind = (int(limit[vertex]), int(needed[vertex]), pairs, price[own].tobytes())
                if not reviews[vertex]:
                    if kind in last:
                        self.model.add(sum(last[kind]) >= sum(group))
                    last[kind] = group

    def goals(self) -> list[Any]:
        """Return what is minimised, one after another: the number of reviews, their cost, and the largest load."""
        costs = self.task.constraints.cost
        whole = costs.whole(self.task.codes(self.pairs)).tolist()
        cost = sum(units * review for units, review in zip(whole, self.take, strict=True))
        return [sum(self.take), *([cost] if costs else []), self.heaviest]

    def cut(self, pairs: IntArray) -> None:
        """Cut off the structure that some reviews make, and larger ones.

        Raises InternalError if no cut is new: the search would never end.
        """
        before = len(self.seen)
        for cut in self.oracle.cuts(pairs):
            key = (cut.leaves.tobytes(), cut.least)
            if key not in self.seen:
                self.seen.add(key)
                self._require(cut)
        if len(self.seen) == before:
            message = f"{type(self.oracle).__name__}: no cut forbids {len(pairs)} reviews that miss the target"
            raise InternalError(message)

    def _require(self, cut: Cut) -> None:
        """Require the reviews of a cut; of several, the first ones of reviewers outside the structure do not count."""
        links = [self.take[k] for k in np.flatnonzero(cut.leaves).tolist()]
        inside = set(self.pairs[cut.leaves == 0, 0].tolist())
        lost = [begins for j, begins in self.begins.items() if cut.least > 1 and j not in inside]
        self.model.add(sum(links) - sum(lost) >= cut.least)

    def minimise(self, goal: Any, hint: IntArray | None, clock: Clock) -> tuple[str, IntArray, int]:
        """Return the status (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN), the reviews taken and the bound on the goal."""
        from ortools.sat.python import cp_model

        self.model.minimize(goal)
        if hint is not None:
            self.model.clear_hints()
            chosen = np.isin(self.task.codes(self.pairs), self.task.codes(hint))
            for variable, taken in zip(self.take, chosen.tolist(), strict=True):
                self.model.add_hint(variable, taken)
        solver = cp_model.CpSolver()
        solver.parameters.random_seed = self.rounds
        self.rounds += 1
        status = solver.status_name(solve_within(solver, self.model, clock, UNIT))
        clock.spend(self.oracle.work)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, no_pairs(), 0
        taken = np.array([solver.value(x) for x in self.take], np.bool_)
        return status, self.pairs[taken], int(np.ceil(solver.best_objective_bound - 1e-6))


def settle(oracle: Oracle, ledger: Ledger, words: str, clock: Clock | None = None) -> None:
    """Run the exact method; the ledger gets the plan, and a bound or a proof that there is none.

    ``words`` describe what every smaller plan leaves. The clock is by default the ledger's.
    """
    master = Master(oracle, ledger.lower_bound)
    master.cut(no_pairs())
    goals = master.goals()
    for level, goal in enumerate(goals):
        value = _least(master, goal, ledger, clock or ledger.clock, counts=level == 0)
        ledger.prove(Bound(master.lower, "cuts", f"every smaller plan leaves {words}"))
        if value is None:
            return
        master.model.add(goal <= value)
        ledger.cheapest = ledger.cheapest or level >= len(goals) - 2


def _least(master: Master, goal: Any, ledger: Ledger, clock: Clock, *, counts: bool) -> int | None:
    """Minimise one goal, which ``counts`` reviews or not; None if time runs out or no plan exists."""
    while not clock.over():
        status, pairs, bound = master.minimise(goal, ledger.pairs, clock)
        if status not in ("OPTIMAL", "FEASIBLE"):
            ledger.infeasible = counts and status == "INFEASIBLE" and ledger.pairs is None
            return None
        if counts:
            master.lower = max(master.lower, bound)
            if ledger.pairs is not None and master.lower >= len(ledger.pairs):
                return len(ledger.pairs)
        if not master.oracle.reaches(pairs):
            master.cut(pairs)
            continue
        # Plans of the same length are better by another goal.
        if ledger.pairs is None or len(pairs) < len(ledger.pairs):
            ledger.offer(pairs)
        elif status == "OPTIMAL":
            ledger.pairs = pairs
        return bound if status == "OPTIMAL" else None
    return None


# The cheapest reviews that items are short of.

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
