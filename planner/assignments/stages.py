"""The stages of an assignment: flow, panels, the level, what survives, conditioning; and the words for each end."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.fair.matching import best_with_good, sole
from planner.assignments.findings.exchanged import Exchanges
from planner.assignments.model.authors import authored
from planner.assignments.model.comparing import concerned
from planner.assignments.model.inputs import Wishes, build
from planner.assignments.model.levels import aim_named
from planner.assignments.steps.alternates import alternates_of
from planner.assignments.steps.flow import whole, whole_costs
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.linking import Linker
from planner.assignments.steps.price import least_loss
from planner.assignments.steps.robust import Robust, harden
from planner.assignments.steps.watching import missing_without
from planner.assignments.teams.best import Teams, best_teams, kept_by, routes_of, scale_of, within_rules
from planner.assignments.teams.fewest import fewest_first
from planner.assignments.teams.panels import objective
from planner.assignments.teams.routing import unrouted
from planner.assignments.teams.settling import depending, settle
from planner.assignments.wishes.pairs import scored_pairs
from planner.assignments.words.authors import rules_on_authors
from planner.assignments.words.fair import why_below, why_no_floor, why_no_good
from planner.assignments.words.why_no_panels import why_no_panels
from planner.assignments.words.why_none import how_it_ended, why_apart, why_fragile, why_infeasible, why_unreachable
from reviewgraph.assumptions import Assumptions
from reviewgraph.clock import Clock
from reviewgraph.kernels.compiling import POLICY
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.fair.serving import Fair
    from planner.assignments.findings.standing_by import Alternates
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from planner.assignments.teams.best import Routes
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray

#: Reviewers up to which the critical ones are looked for: the search takes time M times E.
MOST_CRITICAL = 2_000

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
    fair
        The stage that serves papers fairly; None where nothing of the kind is asked for.
    alternates
        Alternates of each paper to look for.
    exchanges, not_exchanged
        Found on the way: what exchanges bought, where they were looked for; and else why they were not.
    least_loss
        Found on the way: affinity that the level costs at least, where that is known.
    exposed
        Found on the way: reviewers by whose loss, or by that of one review of theirs, a level fails that shall outlive
        it.
    fewest, lost_first
        Found on the way: fewest pairs of each kind that is to be few, and the affinity that this costs.
    scale, rivals, teams
        Found on the way: steps of rounding in a unit of affinity, couples of rivals that the most affinity has, and the
        best assignment under the rules.
    """

    problem: Problem
    aim: Aim
    survive: int
    seed: int
    clock: Clock
    say: Say
    conditioning: float = 0.0
    assumptions: Assumptions = field(default_factory=Assumptions)
    fair: Fair | None = None
    alternates: int = 0
    exchanges: Exchanges | None = None
    not_exchanged: str = ""
    least_loss: float | None = None
    exposed: tuple[Label, ...] = ()
    fewest: tuple[int, ...] = ()
    lost_first: float = 0.0
    scale: float = 0.0
    rivals: int = 0
    teams: Teams = field(default_factory=lambda: Teams(None, False, math.inf))

    def result(self) -> Assignment:
        """Take the steps and return where they led."""
        problem = self.problem
        if problem.item.size >= COMPILE_PAIRS:
            self.clock.deadline += _compile_kernels()
        # 1. The best assignment by affinity, or a cut that proves that there is none.
        routes = routes_of(problem)
        self.scale = scale_of(problem, routes, problem.affinity)
        cost = whole_costs(problem.affinity, self.seed, self.scale)
        self.say(f"best affinity for {int(problem.required.sum())} papers and {problem.n_reviewers} reviewers")
        best = unrouted(problem, cost)
        if best is None:
            return self._infeasible(why_infeasible(problem), float("nan"))
        unconstrained = math.fsum(problem.affinity[best].tolist())
        if problem.concerns is not None:
            cost, best = self._fewest_first(problem.concerns, routes, best)
            problem = self.problem
        reason = why_unreachable(problem, self.aim)
        if reason:
            return self._infeasible(reason, unconstrained)
        # 2. Good reviewers, and what no plain flow can say.
        plain, best = best, best_with_good(problem, cost) if problem.floors.best is not None else best
        if best is None:
            return self._infeasible(why_no_good(problem), unconstrained)
        self.rivals = len(problem.rivals.couples_among(best))
        self.teams = Teams(best, True, objective(problem, best), by_flow=True)
        if problem.panels.binding or problem.rivals.any:
            self.say("rules on who reviews a paper together")
            self.teams = best_teams(problem, best, routes, cost, self.scale, self.clock)
        chosen = self.teams.chosen
        if chosen is None:
            return self._without_teams(self.teams, unconstrained)
        if self.aim.level is None and self.fair is None:
            return self._answer(chosen, unconstrained, None, 0, reached=True)
        # 3. to 6. The worst-served papers, the level, what survives, conditioning.
        linker = self._linker(cost, chosen, free=bool((chosen == best).all()))
        if self.fair is not None:
            # What rules on panels and authors cost is no price of fairness.
            self.fair.serve(linker, chosen if problem.panels.binding or problem.rivals.any else plain)
            if self.fair.impossible:
                return self._infeasible(why_no_floor(problem, self.fair), unconstrained)
        return self._connected(linker, chosen, unconstrained)

    def _fewest_first(self, concerns: Concerns, routes: Routes, best: BoolArray) -> tuple[IntArray, BoolArray]:
        """Put the concerns of the problem before affinity; returns costs, and the best assignment then."""
        self.say("fewest changes, and fewest reviews below the least affinity")
        settled = fewest_first(self.problem, concerns, routes, self.seed)
        self.problem, self.fewest, self.scale = settled.problem, settled.fewest, settled.scale
        lost = self.problem.affinity[best].tolist() + (-self.problem.affinity[settled.best]).tolist()
        self.lost_first = math.fsum(lost)
        return settled.cost, settled.best

    def _connected(self, linker: Linker, chosen: BoolArray, unconstrained: float) -> Assignment:
        """Bring an assignment to the level, and say what that took."""
        core = linker.core
        reached = linker.link() if self.fair is None else self.fair.link(linker)
        decided = self.aim.core_decides
        apart = why_apart(self.problem, self.aim) if decided and not reached else ""
        if apart:
            return self._infeasible(apart, unconstrained)
        critical = None
        if reached and decided:
            linker.release(lambda pairs: core.holds_after(pairs, core.total))
            critical = self._hardened(linker) if self.survive else None
        unchanged = bool((core.net.assigned == chosen).all())
        if reached and self.aim.conditioned:
            self._condition(linker, robust=bool(self.survive and not critical), unconstrained=unconstrained)
        # Exchanges may have changed who is critical.
        if reached and decided and (critical is None or self.exchanges is not None):
            critical = self._critical(linker)
            self.exposed = critical or () if self.survive else ()
        if unchanged:
            self.least_loss = 0.0
        return self._answer(core.net.assigned, unconstrained, critical, len(linker.forced), reached=reached)

    def _linker(self, cost: IntArray, chosen: BoolArray, *, free: bool) -> Linker:
        """Start from an assignment, with potentials, and a bound on what the level must cost where it has one.

        ``free`` says that no rule changed it.
        """
        problem = self.problem
        net = problem.network(chosen, whole(problem.panels.reward, self.scale))
        held = np.zeros(chosen.size, np.bool_) if free and not net.bonus.any() else depending(problem, chosen)
        if self.teams.barred is not None:
            held |= self.teams.barred
        held |= sole(problem, chosen)
        settled = settle(net, cost, held, exact=self.teams.by_flow)
        core = Core(net, problem.required, self.aim)
        linker = Linker(core, cost, self.clock)
        linker.say = lambda count: self.say(f"{count} of {core.total} papers in the core", count / max(core.total, 1))
        if settled and not held.any() and self.teams.by_flow and not core.at_level() and problem.concerns is None:
            self.least_loss = least_loss(linker, problem, self.scale)
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
    ) -> Assignment:
        problem = self.problem
        # Reviews of the first phase are no part of the answer.
        new = np.flatnonzero(assigned & ~problem.old)
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        fairness = None if self.fair is None else self.fair.result(assigned)
        below = fairness is not None and bool(fairness.below)
        short = bool(self.exposed) or below
        # Optimal is what is worth as much as the best without a level: nothing can be better.
        same = self.teams.proved and bool((assigned == self.teams.chosen).all())
        if not reached or short:
            status = AssignmentStatus.LEVEL_MISSED
        else:
            status = AssignmentStatus.OPTIMAL if same else AssignmentStatus.FEASIBLE
        why = ""
        if not reached:
            why = how_it_ended(problem, assigned, self.clock)
        elif self.exposed:
            why = why_fragile(problem, self.aim, self.exposed)
        if fairness is not None and below:
            why = f"{why} {why_below(fairness)}".strip()
        return Assignment(
            *(status, self.aim.name, self._reviews(new), problem.affinity[new][order], unconstrained),
            *(critical, forced, why),
            exchanges=self.exchanges,
            not_exchanged=self.not_exchanged,
            least_loss=0.0 if status is AssignmentStatus.OPTIMAL else self.least_loss,
            loads=np.bincount(problem.reviewer[new], minlength=problem.n_reviewers),
            concerned=concerned(problem, assigned, self.fewest, self.lost_first),
            authors=authored(
                problem, assigned, self.rivals, within_rules(problem, assigned, self.teams), self._bound()
            ),
            kept=kept_by(problem, assigned, self.teams, self._bound()) if problem.ruled.rules else None,
            fairness=fairness,
            alternates=self._alternates(assigned),
        )

    def _bound(self) -> float:
        """Return what affinity and rewards are at most; nothing is known of affinity where other things come first."""
        return self.teams.bound if self.problem.concerns is None else math.inf

    def _alternates(self, assigned: BoolArray) -> Alternates | None:
        if not self.alternates:
            return None
        self.say("alternates")
        return alternates_of(self.problem, assigned, self.aim, self.alternates, self.clock)

    def _reviews(self, pairs: IntArray) -> Reviews:
        problem = self.problem
        items = problem.items[: int(problem.required.sum())]
        return Reviews.from_codes(
            problem.reviewer[pairs], problem.item[pairs], reviewers=problem.reviewers, items=items
        )

    def _without_teams(self, teams: Teams, unconstrained: float) -> Assignment:
        if teams.proved:
            return self._infeasible(
                "Demands and loads can be met, but not all that is asked of each paper. "
                + why_no_panels(self.problem, self.clock),
                unconstrained,
            )
        rules = ", ".join([*self.problem.ruled.words(), *rules_on_authors(self.problem)])
        why = f"No assignment with {rules} on each paper was found in the time given."
        return self._nothing(AssignmentStatus.LEVEL_MISSED, why, unconstrained)

    def _infeasible(self, reason: str, unconstrained: float) -> Assignment:
        return self._nothing(AssignmentStatus.INFEASIBLE, reason, unconstrained)

    def _nothing(self, status: AssignmentStatus, why: str, unconstrained: float) -> Assignment:
        nothing = np.empty(0, np.int64)
        return Assignment(*(status, self.aim.name, self._reviews(nothing), np.empty(0), unconstrained), explanation=why)
