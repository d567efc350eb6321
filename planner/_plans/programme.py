"""Integer programmes over candidate reviews: what items are short of, by HiGHS, and the exact method in CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner._plans.constraints import no_pairs
from planner.errors import InternalError
from planner.solving import integer_programme, solve_within

if TYPE_CHECKING:
    from planner._plans.task import Cut, Oracle, Task
    from reviewgraph._base import Clock, FloatArray, IntArray

#: Work, see :class:`reviewgraph._base.clock.Clock`, per entry of a programme by HiGHS, which is nearly one of flows.
ROOT = 1e-5
#: Minimum seconds, and work, of such a programme.
LEAST = 1.0


class Programme:
    """Loads, limits, rules and needs of a task, as rows: each is a sum of columns between two numbers.

    The columns are candidate ``pairs``, then, if items may be ``short``, a column for each review, member and value
    that may be missing in the cells ``lacking`` of the needs, then the values that items get. Items get at most
    ``most`` reviews. The programme is ``possible`` unless a row that requires something has no column.
    """

    def __init__(self, task: Task, pairs: IntArray, most: IntArray, *, short: bool = False) -> None:
        self.pairs = pairs
        self.n_columns = len(pairs)
        self.possible = True
        self.rows: list[tuple[IntArray, IntArray, IntArray]] = []
        self.limits: list[tuple[IntArray, IntArray]] = []
        needs = task.needs
        people = task.constraints.people
        panels = people.panels
        every = np.arange(len(pairs))
        cells = [cell if short else np.zeros_like(cell) for cell in needs.cells]
        self.lacking = [np.repeat(np.arange(cell.size), cell) for cell in cells]
        lacks = [self._more(cell.size) for cell in self.lacking]
        # Reviews of items, within their limits, and loads.
        self.add(every, pairs[:, 1], 0 * most, most)
        self.at_least(np.append(every, lacks[0]), np.append(pairs[:, 1], self.lacking[0]), needs.each)
        self.add(every, pairs[:, 0], 0 * task.spare, task.spare)
        # Places of panel groups, and members of those that are missing.
        places = task.constraints.places
        self.add(*places.held_by(pairs), 0 * places.free.ravel(), places.free.ravel())
        pair, group = people.groups_of(pairs[:, 0], pairs[:, 1])
        key = pairs[pair, 1] * panels.n_groups + group
        asked = needs.members.ravel()[key] > 0
        self.at_least(np.append(pair[asked], lacks[1]), np.append(key[asked], self.lacking[1]), needs.members.ravel())
        # A value that the item does not have yet counts once, if one of its reviewers is taken.
        new = (people.counts(task.table(no_pairs())) == 0) & (needs.different > 0)[:, panels.attribute]
        fresh = new.ravel()[key]
        names, which = np.unique(key[fresh], return_inverse=True)
        values = self._more(names.size)
        entry = np.append(np.ones(which.size, np.int64), -np.ones(names.size, np.int64))
        self.at_least(np.append(pair[fresh], values), np.append(key[fresh], names), np.zeros(new.size, np.int64), entry)
        item, of = np.divmod(names, max(panels.n_groups, 1))
        wanted = needs.different.shape[1] * item + panels.attribute[of]
        self.at_least(np.append(values, lacks[2]), np.append(wanted, self.lacking[2]), needs.different.ravel())

    def _more(self, count: int) -> IntArray:
        """Return new columns."""
        self.n_columns += count
        return np.arange(self.n_columns - count, self.n_columns)

    def at_least(self, column: IntArray, group: IntArray, least: IntArray, entry: IntArray | None = None) -> None:
        self.add(column, group, least, np.full(least.size, len(self.pairs) + least.sum()), entry)

    def add(
        self, column: IntArray, group: IntArray, least: IntArray, most: IntArray, entry: IntArray | None = None
    ) -> None:
        """Add a row for each group that occurs; the others must require nothing."""
        names, row = np.unique(group, return_inverse=True)
        unmet = least.copy()
        unmet[names] = 0
        self.possible &= not (unmet > 0).any()
        above = sum(numbers.size for numbers, _ in self.limits)
        self.rows.append((above + row, column, np.ones(column.size, np.int64) if entry is None else entry))
        self.limits.append((least[names], np.clip(most[names], 0, len(self.pairs) + least.sum())))

    def joined(self) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
        """Return row, column and value of each entry, and the limits of the rows."""
        entries = tuple(np.concatenate(part) for part in zip(*self.rows, strict=True))
        return entries, tuple(np.concatenate(part) for part in zip(*self.limits, strict=True))

    def solve(self, goal: FloatArray, clock: Clock) -> Any:
        """Minimise a goal over the first columns by HiGHS; the others cost nothing."""
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_array

        (row, column, entry), (least, most) = self.joined()
        matrix = csr_array((entry.astype(float), (row, column)), shape=(least.size, self.n_columns))
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
# with r(X) = max(1, links missing in X). A review that only brings a reviewer to the number of items that a link takes
# is lost and does not count; this is sound as long as X has none of their new reviews. The structures come from an
# oracle: solve, close the chosen reviews, stop if the target is reached, otherwise cut the structure off, and for
# *double* larger ones made from it.

#: Work per unit that CP-SAT counts on such models.
UNIT = 1.0


@dataclass
class Outcome:
    """Plan of the exact method, or none, and what is proved about it."""

    pairs: IntArray | None = None
    lower: int = 0
    infeasible: bool = False
    proved: bool = False
    rounds: int = 0


class Master(Programme):
    """Integer programme over the candidates of an oracle, in CP-SAT.

    ``take`` are the reviews, ``links`` those that count in cuts of more than one, ``heaviest`` is the largest load, and
    ``seen`` are the cuts so far. ``lost`` has for each reviewer of few items whether their new reviews link, and how
    many of them are lost if so.
    """

    def __init__(self, oracle: Oracle) -> None:
        from ortools.sat.python import cp_model

        task = oracle.task
        super().__init__(task, oracle.allowed, task.room)
        self.oracle = oracle
        self.task = task
        self.model: Any = cp_model.CpModel()
        columns = [self.model.new_bool_var("") for _ in range(self.n_columns)]
        self.take: list[Any] = columns[: len(self.pairs)]
        self.links = list(self.take)
        self.lost = dict[int, tuple[Any, int]]()
        self.seen: set[tuple[bytes, int]] = set()
        if not self.possible:
            self.model.add_bool_or([])
        (row, column, entry), (least, most) = self.joined()
        order = np.argsort(row, kind="stable")
        first = np.searchsorted(row[order], np.arange(least.size))
        parts = (np.split(part[order], first)[1:] for part in (column, entry))
        for named, values, low, high in zip(*parts, least.tolist(), most.tolist(), strict=True):
            terms = cp_model.LinearExpr.weighted_sum([columns[k] for k in named.tolist()], values.tolist())
            self.model.add_linear_constraint(terms, low, high)
        fixed = task.loads(no_pairs())
        self.heaviest = self.model.new_int_var(0, len(self.pairs) + int(fixed.max(initial=0)), "")
        for j, group in self._groups(0).items():
            self.model.add(self.heaviest >= sum(group) + int(fixed[j]))
        self._activate()
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

    def _activate(self) -> None:
        """Reviewers of d < t items: no new review links, or at least t + 1 - d do, of which t - d are lost.

        Reviewers without links need no reviews unless items are short of reviews: then ``links`` may be fewer.
        """
        number = {variable.index: k for k, variable in enumerate(self.take)}
        threshold = self.oracle.threshold
        cover = self.task.start.sizes()[self.task.home]
        for j, group in self._groups(0).items():
            if not cover[j] < threshold < self.task.n_items:
                continue
            least = int(threshold + 1 - cover[j])
            if self.task.needs.total:
                # A review that links must be taken.
                taken = group
                group = [self.model.new_bool_var("") for _ in group]
                for review, link in zip(taken, group, strict=True):
                    self.model.add_implication(link, review)
                    self.links[number[review.index]] = link
            if len(group) < least:
                self.model.add(sum(group) == 0)
                continue
            active = self.model.new_bool_var("")
            self.lost[j] = (active, least - 1)
            self.model.add(sum(group) >= least * active)
            self.model.add(sum(group) <= len(group) * active)

    def demand(self, cut: Cut) -> None:
        """Require ``least`` useful reviews among those marked; the first of the reviewers ``alone`` are lost.

        Raises InternalError if a reviewer alone has new reviews inside the structure: fewer of those outside would be
        lost then, and the cut would forbid plans.
        """
        reviewer = self.pairs[:, 0].tolist()
        leaves = np.flatnonzero(cut.leaves).tolist()
        linking = cut.alone if cut.least > 1 else set()
        terms = [self.links[k] if reviewer[k] in linking else self.take[k] for k in leaves]
        inside = set(self.pairs[cut.leaves == 0, 0].tolist())
        for j, (active, lost) in self.lost.items():
            if cut.least == 1 or j not in cut.alone:
                continue
            if j in inside:
                name = type(self.oracle).__name__
                message = f"{name}: a cut counts the first {lost} reviews of reviewer {j} as lost, and holds some"
                raise InternalError(message)
            terms.append(-lost * active)
        self.model.add(sum(terms) >= cut.least)

    def cut(self, pairs: IntArray) -> None:
        """Cut off the structure that some reviews make, and larger ones.

        Raises InternalError if no cut is new: the search would never end.
        """
        before = len(self.seen)
        for cut in self.oracle.cuts(pairs):
            key = (cut.leaves.tobytes(), cut.least)
            if key not in self.seen:
                self.seen.add(key)
                self.demand(cut)
        if len(self.seen) == before:
            message = f"{type(self.oracle).__name__}: no cut forbids {len(pairs)} reviews that miss the target"
            raise InternalError(message)

    def minimise(self, clock: Clock, goal: Any, hint: IntArray | None, seed: int) -> tuple[str, IntArray, int]:
        """Return the status (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN), the reviews taken and the bound on the goal."""
        from ortools.sat.python import cp_model

        self.model.minimize(goal)
        if hint is not None:
            self.model.clear_hints()
            chosen = np.isin(self.task.codes(self.pairs), self.task.codes(hint))
            for variable, taken in zip(self.take, chosen.tolist(), strict=True):
                self.model.add_hint(variable, taken)
        solver = cp_model.CpSolver()
        solver.parameters.random_seed = seed
        status = solver.status_name(solve_within(solver, self.model, clock, UNIT))
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, no_pairs(), 0
        taken = np.array([solver.value(x) for x in self.take], np.bool_)
        return status, self.pairs[taken], int(np.ceil(solver.best_objective_bound - 1e-6))


def solve(oracle: Oracle, best: IntArray | None, lower: int, clock: Clock) -> Outcome:
    """Find the best plan and prove it, as far as time allows; ``best`` (P, 2) and ``lower`` start the search."""
    master = Master(oracle)
    outcome = Outcome(best, lower)
    count: Any = sum(master.take)
    master.model.add(count >= lower)
    master.cut(no_pairs())
    costs = oracle.task.constraints.cost
    goals: list[Any] = [count]
    if costs:
        whole = costs.whole(oracle.task.codes(oracle.allowed))
        goals.append(sum(u * x for u, x in zip(whole.tolist(), master.take, strict=True)))
    goals.append(master.heaviest)
    for level, goal in enumerate(goals):
        value = _settle_goal(master, goal, outcome, level, clock)
        if value is None:
            break
        master.model.add(goal <= value)
        outcome.proved = level >= len(goals) - 2
    return outcome


def _settle_goal(master: Master, goal: Any, outcome: Outcome, level: int, clock: Clock) -> int | None:
    """Minimise one goal; None if time runs out or no plan exists."""
    while True:
        if clock.over():
            return None
        status, pairs, bound = master.minimise(clock, goal, outcome.pairs, outcome.rounds)
        outcome.rounds += 1
        clock.spend(master.oracle.work)
        if status not in ("OPTIMAL", "FEASIBLE"):
            outcome.infeasible = level == 0 and status == "INFEASIBLE"
            return None
        if level == 0:
            outcome.lower = max(outcome.lower, bound)
            if outcome.pairs is not None and outcome.lower >= len(outcome.pairs):
                return len(outcome.pairs)
        if not master.oracle.reaches(pairs):
            master.cut(pairs)
            continue
        if status == "OPTIMAL" or outcome.pairs is None or (level == 0 and len(pairs) < len(outcome.pairs)):
            outcome.pairs = pairs
        return bound if status == "OPTIMAL" else None
