"""The stages of an assignment: flow, panels, the level, what survives, conditioning; and the words for each end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import Assignment, Status, Target
from planner.assignments.model.inputs import Wishes, build, scored_pairs
from planner.assignments.model.network import settle_potentials, workspace
from planner.assignments.steps.dropouts import missing_without
from planner.assignments.steps.flow import cheapest_assignment, whole_costs
from planner.assignments.steps.linking import Linker
from planner.assignments.steps.panels import broken_items, repair
from planner.assignments.steps.price import least_loss
from planner.assignments.steps.robust import Robust, harden
from planner.assignments.words.why_no_panels import why_no_panels
from planner.assignments.words.why_none import why_apart, why_fragile, why_infeasible, why_unreachable
from reviewgraph import check
from reviewgraph.clock import Clock
from reviewgraph.kernels.compiling import POLICY
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray

#: Reviewers up to which the critical ones are looked for: the search takes time M times E.
MOST_CRITICAL = 2_000

#: Passes over all pairs until the search for potentials gives up.
PASSES = 1_000

#: Pairs from which kernels are compiled: the searches look at each many times.
COMPILE_PAIRS = 4_000

#: By default exchanges are looked for only where so many pairs share an affinity, on average.
FEW_TIES = 4


@cache
def _compile_kernels() -> float:
    """Compile what the search runs many times, on a toy problem; returns the seconds this took, once a process."""
    start = time.monotonic()
    wishes = Wishes(2, 4, 0, (), (), None, None, (), True)
    toy = build(scored_pairs(np.zeros((4, 8)), None, None), wishes)
    with POLICY.at_once():
        Run(toy, "double", 1, 0, Clock(60.0), lambda words: None).result()
    return time.monotonic() - start


@dataclass
class Run:
    """The steps of :func:`planner.assign` on a problem."""

    problem: Problem
    target: Target
    survive: int
    seed: int
    clock: Clock
    say: Callable[[str], object]
    conditioning: float = 0.0
    errors: tuple[float, float] | None = None
    least_loss: float | None = None

    def result(self) -> Assignment:
        """Take the steps and return where they led."""
        problem = self.problem
        if problem.item.size >= COMPILE_PAIRS:
            self.clock.deadline += _compile_kernels()
        cost = whole_costs(problem.affinity, self.seed)
        self.say(f"best affinity for {int(problem.required.sum())} papers and {problem.n_reviewers} reviewers")
        best = self._flow(cost, problem.given)
        if best is None:
            return self._infeasible(why_infeasible(problem), float("nan"))
        unconstrained = math.fsum(problem.affinity[best].tolist())
        reason = why_unreachable(problem, self.target) if self.target != "none" else ""
        if reason:
            return self._infeasible(reason, unconstrained)
        chosen = best
        if problem.special and broken_items(problem, best).size:
            self.say("senior reviewers and institutions")
            repaired, proved = repair(problem, best, self.clock)
            if repaired is None:
                return self._unrepaired(proved, unconstrained)
            chosen = repaired
        return self._connected(cost, best, chosen, unconstrained)

    def _flow(self, cost: IntArray, given: BoolArray) -> BoolArray | None:
        problem = self.problem
        free = np.flatnonzero(~given)
        load, least = problem.open_loads()
        found = cheapest_assignment(
            problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
        )
        if found is None:
            return None
        chosen = given.copy()
        chosen[free[found]] = True
        return chosen

    def _connected(self, cost: IntArray, best: BoolArray, chosen: BoolArray, unconstrained: float) -> Assignment:
        """Bring an assignment to the level, and say what that took."""
        problem = self.problem
        net = problem.network(chosen)
        repaired = np.zeros(problem.n_items, np.bool_)
        repaired[problem.item[chosen != best]] = True
        if self.target == "none":
            return self._answer(chosen, unconstrained, None, 0, reached=True, same=not repaired.any())
        net.locked[repaired[problem.item]] = True
        settled = settle_potentials(net, cost, PASSES)
        net.locked[:] = problem.given
        work = workspace(net.potential.size)
        shared = 1 if self.target == "connected" else 2
        linker = Linker(net, cost, work, problem.required, shared, self.clock)
        linker.say = lambda count: self.say(f"{count} of {linker.total} papers in the core")
        if self.target == "recoverable":
            linker.enough = lambda: self._recoverable(linker)
        if settled and not repaired.any() and not self._at_level(linker):
            self.least_loss = least_loss(linker, problem, recoverable=self.target == "recoverable")
        reached = linker.link()
        apart = why_apart(problem, self.target) if not reached and self.target != "recoverable" else ""
        if apart:
            return self._infeasible(apart, unconstrained)
        if reached and self.target != "recoverable":
            linker.release(lambda pairs: linker.holds_after(pairs, linker.total))
        critical = self._critical(linker) if reached and self.target != "recoverable" else None
        if reached and self.target == "double":
            self._condition(linker, robust=bool(self.survive and not critical), unconstrained=unconstrained)
            critical = self._critical_again(linker, critical)
        same = bool((net.assigned == best).all())
        return self._answer(net.assigned, unconstrained, critical, len(linker.forced), reached=reached, same=same)

    def _at_level(self, linker: Linker) -> bool:
        return linker.count == linker.total or (self.target == "recoverable" and self._recoverable(linker))

    def _recoverable(self, linker: Linker) -> bool:
        from reviewgraph.recoverable import recoverability

        return recoverability(linker.table()).recoverable

    def _condition(self, linker: Linker, *, robust: bool, unconstrained: float) -> None:
        """Exchange reviews for smaller errors, where that is worth looking for."""
        from planner.assignments.steps import conditioning as better

        problem, values = self.problem, np.unique(self.problem.affinity)
        if problem.n_items > better.MOST_ITEMS or linker.total < 3 or not linker.net.assigned.any():
            return
        if self.conditioning == 0 and values.size > problem.item.size / FEW_TIES:
            return
        self.say("a better conditioned graph")
        watch = Robust(linker) if robust else None
        linker.regroup()
        self.errors = better.improve(
            linker,
            problem,
            self.conditioning * abs(unconstrained),
            np.random.default_rng(self.seed),
            watch.holds if watch else lambda pairs: linker.holds_after(pairs, linker.total),
        )
        linker.regroup()

    def _critical_again(self, linker: Linker, critical: tuple[Label, ...] | None) -> tuple[Label, ...] | None:
        """Critical reviewers after exchanges, if they were looked for before."""
        if critical is None or self.errors is None:
            return critical
        missing = missing_without(linker)
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))

    def _critical(self, linker: Linker) -> tuple[Label, ...] | None:
        if self.problem.n_reviewers > MOST_CRITICAL and not self.survive:
            return None
        self.say("reviewers on whom the level hangs")
        rng = np.random.default_rng(self.seed)
        missing = harden(linker, rng) if self.survive else missing_without(linker)
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))

    def _answer(
        self,
        assigned: BoolArray,
        unconstrained: float,
        critical: tuple[Label, ...] | None,
        forced: int,
        *,
        reached: bool,
        same: bool,
    ) -> Assignment:
        problem = self.problem
        new = np.flatnonzero(assigned & ~problem.old)
        N, M = int(problem.required.sum()), problem.n_reviewers
        reviews = Reviews.from_codes(
            problem.reviewer[new], problem.item[new], reviewers=problem.reviewers, items=problem.items[:N]
        )
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        short = bool(self.survive and critical)
        status: Status = "level_missed" if not reached or short else "optimal" if same else "feasible"
        why = ""
        if not reached:
            why = self._unreached(assigned)
        elif short:
            why = self._fragile(critical or ())
        return Assignment(
            *(status, self.target, reviews, problem.affinity[new][order], unconstrained, critical, forced, why),
            standard_error=self.errors,
            least_loss=0.0 if status == "optimal" else self.least_loss,
            loads=np.bincount(problem.reviewer[new], minlength=M),
        )

    def _unreached(self, assigned: BoolArray) -> str:
        """Say why the search ended and what the assignment has all the same."""
        problem = self.problem
        kept = assigned & problem.required[problem.item]
        codes = (np.cumsum(problem.required) - 1)[problem.item[kept]]
        N, M = int(problem.required.sum()), problem.n_reviewers
        report = check(Reviews.from_codes(problem.reviewer[kept], codes, reviewers=M, items=N))
        has = f"{report.level}, no more" if report.level else "not even connected"
        end = (
            "It was interrupted"
            if self.clock.interrupted
            else "The time was over"
            if self.clock.over()
            else "The search found no further change that helps; raise demands or loads"
        )
        return f"{end}. This assignment is {has}."

    def _fragile(self, critical: Sequence[Label]) -> str:
        problem = self.problem
        codes = [j for j, label in enumerate(problem.reviewers) if label in set(critical)]
        proof = why_fragile(problem, self.target, codes)
        number = "1 reviewer" if len(codes) == 1 else f"{len(codes)} reviewers"
        return f"The level hangs on {number} still. " + (
            proof or "Whether it must is not known: raise demands or loads."
        )

    def _unrepaired(self, proved: bool, unconstrained: float) -> Assignment:
        if proved:
            return self._infeasible(
                "Demands and loads can be met, but not all that is asked of each paper. "
                + why_no_panels(self.problem, self.clock),
                unconstrained,
            )
        empty = self._infeasible("", unconstrained)
        return Assignment(
            *("level_missed", self.target, empty.reviews, empty.affinities, unconstrained),
            explanation="No assignment with senior reviewers and distinct institutions was found in the time given.",
        )

    def _infeasible(self, reason: str, unconstrained: float) -> Assignment:
        problem = self.problem
        N = int(problem.required.sum())
        none: Sequence[int] = ()
        reviews = Reviews.from_codes(none, none, reviewers=problem.reviewers, items=problem.items[:N])
        return Assignment(*("infeasible", self.target, reviews, np.empty(0), unconstrained), explanation=reason)
