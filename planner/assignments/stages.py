"""The stages of an assignment: flow, panels, the level, what survives, conditioning; and the words for each end."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.model.comparing import concerned
from planner.assignments.model.exchanged import Exchanges
from planner.assignments.model.inputs import Wishes, build
from planner.assignments.model.levels import aim_named
from planner.assignments.model.network import settle_potentials
from planner.assignments.model.pairs import scored_pairs
from planner.assignments.steps.flow import cheapest_assignment, whole_costs
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.linking import Linker
from planner.assignments.steps.panels import broken_items, repair
from planner.assignments.steps.price import least_loss
from planner.assignments.steps.robust import Robust, harden
from planner.assignments.steps.settling import settle
from planner.assignments.steps.watching import missing_without
from planner.assignments.words.why_no_panels import why_no_panels
from planner.assignments.words.why_none import how_it_ended, why_apart, why_fragile, why_infeasible, why_unreachable
from reviewgraph.assumptions import Assumptions
from reviewgraph.clock import Clock
from reviewgraph.kernels.compiling import POLICY
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from planner.assignments.steps.panels import Repair
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

#: Papers from which exchanges are looked for.
FEWEST = 3

_LOOKING = "reviewers on whom the level hangs"


@cache
def _compile_kernels() -> float:
    """Compile what the search runs many times, on a toy problem; returns the seconds this took, once a process."""
    start = time.monotonic()
    wishes = Wishes(2, 4, 0, (), (), None, None, (), True)
    toy = build(scored_pairs(np.zeros((4, 8)), None, None), wishes)
    with POLICY.at_once():
        Run(toy, aim_named("double"), 1, 0, Clock(60.0), lambda words, done=None: None).result()
    return time.monotonic() - start


class Say(Protocol):
    """Told in words what goes on, and the share that is done where that is known."""

    def __call__(self, words: str, done: float | None = None) -> object:
        """Listen."""


@dataclass
class Run:
    """The steps of :func:`planner.assign` on a problem.

    Parameters
    ----------
    problem
        Who may review what, and what must hold.
    aim
        The level to reach.
    survive
        1 if it shall survive any one reviewer.
    seed
        Breaks ties.
    clock, say
        When to stop, and who is told what goes on.
    conditioning
        Part of the affinity that may be given up for smaller errors.
    assumptions
        What is assumed of the scores, for these errors.
    exchanges, not_exchanged
        Found on the way: what exchanges bought, where they were looked for; and else why they were not.
    least_loss
        Found on the way: affinity that the level costs at least, where that is known.
    exposed
        Found on the way: reviewers by whose loss, or by that of one review of theirs, a level fails that shall outlive
        it.
    fewest, lost_first
        Found on the way: fewest pairs of each kind that is to be few, and the affinity that this costs.
    """

    problem: Problem
    aim: Aim
    survive: int
    seed: int
    clock: Clock
    say: Say
    conditioning: float = 0.0
    assumptions: Assumptions = field(default_factory=Assumptions)
    exchanges: Exchanges | None = None
    not_exchanged: str = ""
    least_loss: float | None = None
    exposed: tuple[Label, ...] = ()
    fewest: tuple[int, ...] = ()
    lost_first: float = 0.0

    def result(self) -> Assignment:
        """Take the steps and return where they led."""
        problem = self.problem
        if problem.item.size >= COMPILE_PAIRS:
            self.clock.deadline += _compile_kernels()
        # 1. The best assignment by affinity, or a cut that proves that there is none.
        cost = whole_costs(problem.affinity, self.seed)
        self.say(f"best affinity for {int(problem.required.sum())} papers and {problem.n_reviewers} reviewers")
        best = self._flow(cost)
        if best is None:
            return self._infeasible(why_infeasible(problem), float("nan"))
        unconstrained = math.fsum(problem.affinity[best].tolist())
        if problem.concerns is not None:
            cost, best = self._settle(problem.concerns, unconstrained)
            problem = self.problem
        reason = why_unreachable(problem, self.aim)
        if reason:
            return self._infeasible(reason, unconstrained)
        # 2. What no flow can say.
        chosen = best
        if problem.panels.binding and broken_items(problem, best).size:
            self.say("rules on who reviews a paper together")
            repaired = repair(problem, best, self.clock)
            if repaired.chosen is None:
                return self._unrepaired(repaired, unconstrained)
            chosen = repaired.chosen
        if self.aim.level is None:
            return self._answer(chosen, unconstrained, None, 0, reached=True, same=bool((chosen == best).all()))
        # 3. to 5. The level, what survives, conditioning.
        return self._connected(cost, best, chosen, unconstrained)

    def _settle(self, concerns: Concerns, unconstrained: float) -> tuple[IntArray, BoolArray]:
        """Put the concerns of the problem before affinity; returns costs, and the best assignment by them."""
        self.say("fewest changes, and fewest reviews below the least affinity")
        # Where there is an assignment, every flow is one.
        flow = cast("Callable[[IntArray], BoolArray]", self._flow)
        settled = settle(self.problem, concerns, flow, self.seed)
        self.problem, self.fewest = settled.problem, settled.fewest
        self.lost_first = unconstrained - math.fsum(self.problem.affinity[settled.best].tolist())
        return settled.cost, settled.best

    def _flow(self, cost: IntArray) -> BoolArray | None:
        problem = self.problem
        free = np.flatnonzero(~problem.given)
        load, least = problem.open_loads()
        found = cheapest_assignment(
            problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
        )
        if found is None:
            return None
        chosen = problem.given.copy()
        chosen[free[found]] = True
        return chosen

    def _connected(self, cost: IntArray, best: BoolArray, chosen: BoolArray, unconstrained: float) -> Assignment:
        """Bring an assignment to the level, and say what that took."""
        linker = self._linker(cost, best, chosen)
        core = linker.core
        reached = linker.link()
        decided = self.aim.core_decides
        apart = why_apart(self.problem, self.aim) if decided and not reached else ""
        if apart:
            return self._infeasible(apart, unconstrained)
        critical = None
        if reached and decided:
            linker.release(lambda pairs: core.holds_after(pairs, core.total))
            critical = self._hardened(linker) if self.survive else None
        unchanged = bool((core.net.assigned == best).all())
        if reached and self.aim.conditioned:
            self._condition(linker, robust=bool(self.survive and not critical), unconstrained=unconstrained)
        # Exchanges may have changed who is critical.
        if reached and decided and (critical is None or self.exchanges is not None):
            critical = self._critical(linker)
            self.exposed = critical or () if self.survive else ()
        if unchanged:
            self.least_loss = 0.0
        assigned = core.net.assigned
        same = bool((assigned == best).all())
        return self._answer(assigned, unconstrained, critical, len(linker.forced), reached=reached, same=same)

    def _linker(self, cost: IntArray, best: BoolArray, chosen: BoolArray) -> Linker:
        """Start from an assignment, with potentials, and with a bound on what the level must cost where it has one."""
        problem = self.problem
        net = problem.network(chosen)
        repaired = np.zeros(problem.n_items, np.bool_)
        repaired[problem.item[chosen != best]] = True
        # What a repair changed is not optimal: potentials exist for the rest alone.
        net.locked[repaired[problem.item]] = True
        settled = settle_potentials(net, cost, PASSES)
        net.locked[:] = problem.given
        core = Core(net, problem.required, self.aim)
        linker = Linker(core, cost, self.clock)
        linker.say = lambda count: self.say(f"{count} of {core.total} papers in the core", count / max(core.total, 1))
        if settled and not repaired.any() and not core.at_level() and problem.concerns is None:
            self.least_loss = least_loss(linker, problem)
        return linker

    def _condition(self, linker: Linker, *, robust: bool, unconstrained: float) -> None:
        """Exchange reviews for smaller errors, where that is worth looking for."""
        from planner.assignments.steps import conditioning as better

        problem, core, values = self.problem, linker.core, np.unique(self.problem.affinity)
        if core.total < FEWEST or not core.net.assigned.any():
            return
        if problem.n_items > better.MOST_ITEMS:
            self.not_exchanged = f"there are more than {better.MOST_ITEMS:,} papers"
            return
        if self.conditioning == 0 and values.size > problem.item.size / FEW_TIES:
            return
        self.say("smaller expected errors")
        watch = Robust(core) if robust else None
        core.regroup()
        found = better.improve(
            core,
            problem,
            self.conditioning * abs(unconstrained),
            self.assumptions,
            np.random.default_rng(self.seed),
            watch.holds if watch else lambda pairs: core.holds_after(pairs, core.total),
            self.clock,
        )
        core.regroup()
        self.exchanges = Exchanges.of(*found, self.assumptions)

    def _hardened(self, linker: Linker) -> tuple[Label, ...]:
        self.say(_LOOKING)
        self.exposed = self._labels(harden(linker, np.random.default_rng(self.seed)))
        return self._labels(missing_without(linker.core))

    def _critical(self, linker: Linker) -> tuple[Label, ...] | None:
        if self.problem.n_reviewers > MOST_CRITICAL and not self.survive:
            return None
        self.say(_LOOKING)
        return self._labels(missing_without(linker.core))

    def _labels(self, missing: IntArray) -> tuple[Label, ...]:
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
        # Reviews of the first phase are no part of the answer.
        new = np.flatnonzero(assigned & ~problem.old)
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        short = bool(self.exposed)
        # Optimal is what equals the best without a level: nothing can be better.
        if not reached or short:
            status = AssignmentStatus.LEVEL_MISSED
        else:
            status = AssignmentStatus.OPTIMAL if same else AssignmentStatus.FEASIBLE
        why = ""
        if not reached:
            why = how_it_ended(problem, assigned, self.clock)
        elif short:
            why = why_fragile(problem, self.aim, self.exposed)
        return Assignment(
            *(status, self.aim.name, self._reviews(new), problem.affinity[new][order], unconstrained),
            *(critical, forced, why),
            exchanges=self.exchanges,
            not_exchanged=self.not_exchanged,
            least_loss=0.0 if status is AssignmentStatus.OPTIMAL else self.least_loss,
            loads=np.bincount(problem.reviewer[new], minlength=problem.n_reviewers),
            concerned=concerned(problem, assigned, self.fewest, self.lost_first),
        )

    def _reviews(self, pairs: IntArray) -> Reviews:
        problem = self.problem
        items = problem.items[: int(problem.required.sum())]
        return Reviews.from_codes(
            problem.reviewer[pairs], problem.item[pairs], reviewers=problem.reviewers, items=items
        )

    def _unrepaired(self, repaired: Repair, unconstrained: float) -> Assignment:
        if repaired.proved:
            return self._infeasible(
                "Demands and loads can be met, but not all that is asked of each paper. "
                + why_no_panels(self.problem, self.clock),
                unconstrained,
            )
        rules = ", ".join(self.problem.ruled.words())
        why = f"No assignment with {rules} on each paper was found in the time given."
        return self._nothing(AssignmentStatus.LEVEL_MISSED, why, unconstrained)

    def _infeasible(self, reason: str, unconstrained: float) -> Assignment:
        return self._nothing(AssignmentStatus.INFEASIBLE, reason, unconstrained)

    def _nothing(self, status: AssignmentStatus, why: str, unconstrained: float) -> Assignment:
        nothing = np.empty(0, np.int64)
        return Assignment(*(status, self.aim.name, self._reviews(nothing), np.empty(0), unconstrained), explanation=why)
