"""The exact method: an implicit hitting set.

minimise    the number of reviews, then their cost, then the largest extra load
subject to  spare loads and limits, and for every closed structure X that misses the target:
            the reviews that leave X (whose item the reviewer's block in X does not cover) are at least r(X)

with r(X) = max(1, links missing in X). A review that is needed to bring a reviewer to as many items as a link takes
is lost and does not count; this is sound as long as X holds none of his new reviews. The structures come from an
oracle: solve, close the chosen reviews, stop if the target is reached, otherwise cut the structure off, and for
*double* larger ones made from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.errors import InternalError
from planner.plans.model.tables import no_pairs
from planner.solving import solve_within

if TYPE_CHECKING:
    from planner.plans.model.oracle import Cut, Oracle
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Work of a unit of what CP-SAT counts on such models.
UNIT = 1.0


@dataclass
class Outcome:
    """What the exact method knows when it ends: a plan or none, and what is proved about it."""

    pairs: IntArray | None = None
    lower: int = 0
    infeasible: bool = False
    proved: bool = False
    rounds: int = 0


@dataclass
class Master:
    """The integer programme over candidate reviews, in CP-SAT.

    ``take`` are the reviews, ``links`` those that count in cuts of more than one.
    """

    oracle: Oracle
    model: Any = None
    take: list[Any] = field(default_factory=list)
    heaviest: Any = None
    seen: set[tuple[bytes, int]] = field(default_factory=set)
    links: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """State variables, loads and limits."""
        from ortools.sat.python import cp_model

        self.task, self.candidates = self.oracle.task, self.oracle.allowed
        self.model = cp_model.CpModel()
        self.take = [self.model.new_bool_var("") for _ in range(len(self.candidates))]
        task, fixed = self.task, np.bincount(self.task.constraints.fixed[:, 0], minlength=self.task.home.size)
        self.heaviest = self.model.new_int_var(0, len(self.candidates) + int(fixed.max(initial=0)), "")
        for j, group in self._groups(0):
            total = sum(group)
            self.model.add(total <= int(min(task.spare[j], len(group))))
            self.model.add(self.heaviest >= total + int(fixed[j]))
        for i, group in self._groups(1):
            self.model.add(sum(group) <= int(min(task.room[i], len(group))))
        self._meet()
        self._activate()

    def _meet(self) -> None:
        """No more of a panel group than an item may have; and what items are short of."""
        task, people, needs = self.task, self.task.constraints.people, self.task.needs
        members: dict[tuple[int, int], list[Any]] = {}
        place, group = people.groups_of(self.candidates[:, 0])
        for k, one in zip(place.tolist(), group.tolist(), strict=True):
            members.setdefault((int(self.candidates[k, 1]), one), []).append(self.take[k])
        table = task.table(no_pairs())
        free, counts = people.free(table), people.counts(table)
        for (i, one), there in members.items():
            if free[i, one] < len(there):
                self.model.add(sum(there) <= max(0, int(free[i, one])))
        readers = dict(self._groups(1))
        for i in np.flatnonzero(needs.each).tolist():
            self.model.add(sum(readers.get(i, [])) >= int(needs.each[i]))
        for i, one in np.argwhere(needs.members > 0).tolist():
            self.model.add(sum(members.get((i, one), [])) >= int(needs.members[i, one]))
        for i, attribute in np.argwhere(needs.different > 0).tolist():
            new = np.flatnonzero((people.panels.attribute == attribute) & (counts[i] == 0)).tolist()
            held = [self._any(members[i, one]) for one in new if (i, one) in members]
            self.model.add(sum(held) >= int(needs.different[i, attribute]))

    def _any(self, several: list[Any]) -> Any:
        """Return a variable that may be 1 where one of several is taken."""
        one = self.model.new_bool_var("")
        self.model.add(one <= sum(several))
        return one

    def _groups(self, column: int) -> list[tuple[int, list[Any]]]:
        found: dict[int, list[Any]] = {}
        for variable, key in zip(self.take, self.candidates[:, column].tolist(), strict=True):
            found.setdefault(key, []).append(variable)
        return list(found.items())

    def _activate(self) -> None:
        """Reviewers of d < t items: no new review links, or at least t + 1 - d do, of which t - d are lost.

        Who links nothing need review nothing, unless items are short of reviews: then ``links`` may be fewer.
        """
        self.lost: dict[int, tuple[Any, int]] = {}
        self.links = list(self.take)
        number = {variable.index: k for k, variable in enumerate(self.take)}
        threshold = self.oracle.threshold
        cover = self.task.start.cover[self.task.block_labels(self.task.start)[self.task.home]]
        for j, group in self._groups(0):
            if not cover[j] < threshold < self.task.n_items:
                continue
            least = int(threshold + 1 - cover[j])
            if self.task.needs.total:
                group = [self._link(number[variable.index]) for variable in group]
            if len(group) < least:
                self.model.add(sum(group) == 0)
                continue
            active = self.model.new_bool_var("")
            self.lost[j] = (active, least - 1)
            self.model.add(sum(group) >= least * active)
            self.model.add(sum(group) <= len(group) * active)

    def _link(self, k: int) -> Any:
        """Return a variable for a review that links: it must be taken."""
        self.links[k] = self.model.new_bool_var("")
        self.model.add_implication(self.links[k], self.take[k])
        return self.links[k]

    def demand(self, cut: Cut) -> None:
        """At least ``least`` useful reviews among those marked; the first of the reviewers ``alone`` are lost.

        Raises
        ------
        InternalError
            If a reviewer alone has new reviews inside the structure: fewer of those outside would be lost then, and
            the cut would forbid plans.
        """
        reviewer, leaves = self.candidates[:, 0].tolist(), np.flatnonzero(cut.leaves).tolist()
        linking = cut.alone if cut.least > 1 else set()
        terms = [self.links[k] if reviewer[k] in linking else self.take[k] for k in leaves]
        inside = set(self.candidates[cut.leaves == 0, 0].tolist())
        for j, (active, lost) in self.lost.items():
            if cut.least == 1 or j not in cut.alone:
                continue
            if j in inside:
                message = (
                    f"{type(self.oracle).__name__}: a cut says that the first {lost} reviews of reviewer {j} are lost, "
                    "and holds some of them"
                )
                raise InternalError(message)
            terms.append(-lost * active)
        self.model.add(sum(terms) >= cut.least)

    def cut(self, pairs: IntArray) -> None:
        """Cut off the structure that some reviews make, and larger ones.

        Raises
        ------
        InternalError
            If no cut is new: the search would go round for ever.
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

    def solve(self, clock: Clock, goal: Any, hint: IntArray | None, seed: int) -> tuple[str, IntArray, int]:
        """Return the status (optimal, feasible, infeasible, unknown), the reviews taken and the bound on the goal."""
        from ortools.sat.python import cp_model

        self.model.minimize(goal)
        if hint is not None:
            self.model.clear_hints()
            chosen = set(map(tuple, hint.tolist()))
            for variable, pair in zip(self.take, self.candidates.tolist(), strict=True):
                self.model.add_hint(variable, tuple(pair) in chosen)
        solver = cp_model.CpSolver()
        solver.parameters.random_seed = seed
        status = solve_within(solver, self.model, clock, UNIT)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            taken = np.array([k for k, x in enumerate(self.take) if solver.value(x)], np.int64)
            name = "optimal" if status == cp_model.OPTIMAL else "feasible"
            return name, taken, int(np.ceil(solver.best_objective_bound - 1e-6))
        return ("infeasible" if status == cp_model.INFEASIBLE else "unknown"), np.empty(0, np.int64), 0


def solve(oracle: Oracle, best: IntArray | None, lower: int, clock: Clock) -> Outcome:
    """Find the best plan and prove it, or as much as time allows.

    Parameters
    ----------
    oracle
        The task, and what its target asks of a plan.
    best
        A plan known already, shape (P, 2), or None.
    lower
        A bound known already.
    clock
        When to end.
    """
    master, outcome = Master(oracle), Outcome(best, lower)
    count: Any = sum(master.take)
    master.model.add(count >= lower)
    master.cut(no_pairs())
    costs = oracle.task.constraints.cost
    goals: list[Any] = [count]
    if costs:
        whole = costs.whole(oracle.allowed[:, 0] * oracle.task.n_items + oracle.allowed[:, 1])
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
    """Minimise one goal to the end; None when time runs out or no plan exists."""
    while True:
        if clock.over():
            return None
        status, taken, bound = master.solve(clock, goal, outcome.pairs, outcome.rounds)
        outcome.rounds += 1
        clock.spend(master.oracle.work)
        if status == "infeasible":
            outcome.infeasible = level == 0
        if status in ("infeasible", "unknown"):
            return None
        if level == 0:
            outcome.lower = max(outcome.lower, bound)
            if outcome.pairs is not None and outcome.lower >= len(outcome.pairs):
                return len(outcome.pairs)
        pairs = master.candidates[taken]
        if not master.oracle.reaches(pairs):
            master.cut(pairs)
            continue
        if status == "optimal" or outcome.pairs is None or (level == 0 and len(pairs) < len(outcome.pairs)):
            outcome.pairs = pairs
        return bound if status == "optimal" else None
