"""Integer programmes over candidate reviews: what items are short of, by HiGHS, and the exact method in CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.target import Bound
from planner.errors import InternalError
from planner.solving import integer_programme, solve_within

if TYPE_CHECKING:
    from planner._plans.target import Ledger
    from planner._plans.task import Cut, Oracle, Task
    from reviewgraph._base import Clock, FloatArray, IntArray

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
