"""The stages of an assignment: flow, panels, the level, what survives, conditioning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.assignment import Assignment
from planner.assignments.fair.matching import best_with_good, sole
from planner.assignments.findings.exchanged import Exchanges
from planner.assignments.model.inputs import Wishes, build
from planner.assignments.model.levels import aim_named
from planner.assignments.model.network import flip
from planner.assignments.stages.deciding import decide
from planner.assignments.stages.ends import Ends
from planner.assignments.steps.dropouts import uncovered_without
from planner.assignments.steps.flow import TIE_BITS, whole, whole_costs
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.price import least_loss
from planner.assignments.steps.relinking import Relinker
from planner.assignments.steps.robust import Robust, harden
from planner.assignments.steps.watching import missing_without
from planner.assignments.teams.best import Teams, best_teams, routes_of, scale_of
from planner.assignments.teams.fewest import fewest_first
from planner.assignments.teams.panels import objective, rewards
from planner.assignments.teams.routing import unrouted
from planner.assignments.teams.settling import depending, settle
from planner.assignments.wishes.pairs import scored_pairs
from planner.assignments.words.fair import why_no_floor, why_no_good
from planner.assignments.words.why_none import nearly_all, why_apart, why_counted, why_infeasible, why_unreachable
from reviewgraph.clock import Clock, TimeOver
from reviewgraph.kernels.compiling import POLICY
from reviewgraph.rules import Rules
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.model.worth import Concerns
    from planner.assignments.steps.relinking import State
    from planner.assignments.steps.robust import Hardened
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

#: Part of the affinity by which a loss may exceed its bound without a search for less.
NEAR = 1e-4

_LOOKING = "reviewers on whom the level hangs"


def _compile_kernels(clock: Clock) -> float:
    """Run what the search runs many times on a toy problem; returns the seconds of compiling, where any was to be done.

    To load what was compiled before counts as part of the search; whoever stops the clock stops this as well.
    """
    if uncovered_without.is_loaded or clock.over():
        return 0.0
    from numba.core import event

    spent: list[float] = []
    wishes = Wishes(Rules(demand=2, load=4), allow_unscored=True)
    # Two blocks that nothing links, and more pairs than are settled exactly: forcing and mending are compiled, too.
    toy = build(scored_pairs(np.kron(np.eye(2), np.ones((3, 6))), None, None), wishes)
    with POLICY.at_once(), event.install_timer("numba:compile", spent.append):
        Run(toy, aim_named("double"), 1, 0, Clock(None, clock), lambda words, done=None: None).result()
    return sum(spent)


class Start(NamedTuple):
    """Costs of pairs in whole units; the best assignment without rules, with good reviewers, and under the rules."""

    cost: IntArray
    plain: BoolArray
    best: BoolArray
    chosen: BoolArray


@dataclass
class Run(Ends):
    """The stages of :func:`planner.assign` on a problem."""

    def result(self) -> Assignment:
        """Take the stages and return where they led."""
        start = self.start()
        if isinstance(start, Assignment):
            return start
        problem, chosen = self.problem, start.chosen
        if self.aim.level is None and self.fair is None:
            return self.answer(chosen, None, 0, reached=True)
        # 3. to 6. The worst-served papers, the level, what survives, conditioning.
        linker = self._linker(start)
        if self.fair is not None:
            # What rules on panels and authors cost is no price of fairness.
            self.fair.serve(linker, chosen if problem.panels.binding or problem.rivals.any else start.plain)
            if self.fair.impossible:
                return self.infeasible(why_no_floor(problem, self.fair))
        return self._connected(linker, chosen)

    def start(self) -> Start | Assignment:
        """Find the best assignment under the rules, before any level; the answer where there is none."""
        problem = self.problem
        if problem.item.size >= COMPILE_PAIRS:
            self.clock.deadline += _compile_kernels(self.clock)
        # 1. The best assignment by affinity, or a cut that proves that there is none.
        routes = routes_of(problem)
        self.scale = scale_of(problem, routes, problem.affinity)
        cost = whole_costs(problem.affinity, self.seed, self.scale)
        self.say(
            f"best affinity for {counted(int(problem.required.sum()), 'paper')} and "
            f"{counted(problem.n_reviewers, 'reviewer')}"
        )
        plain = unrouted(problem, cost)
        if plain is None:
            return self.infeasible(why_infeasible(problem))
        self.unconstrained = math.fsum(problem.affinity[plain].tolist())
        if problem.concerns is not None:
            cost, plain = self._fewest_first(problem.concerns, routes, plain)
            problem = self.problem
        reason = why_unreachable(problem, self.aim)
        if reason and not self.best_effort:
            return self.infeasible(reason)
        # 2. Good reviewers, and what no plain flow can say.
        best = best_with_good(problem, cost) if problem.floors.best is not None else plain
        if best is None:
            return self.infeasible(why_no_good(problem))
        self.rivals = len(problem.rivals.couples_among(best))
        self.teams = Teams(best, True, objective(problem, best), by_flow=True)
        if problem.panels.binding or problem.rivals.any:
            self.say("rules on who reviews a paper together")
            self.teams = best_teams(problem, best, routes, cost, self.scale, self.clock)
        chosen = self.teams.chosen
        return self.without_teams() if chosen is None else Start(cost, plain, best, chosen)

    def _fewest_first(self, concerns: Concerns, routes: Routes, best: BoolArray) -> tuple[IntArray, BoolArray]:
        """Put the concerns of the problem before affinity; returns costs, and the best assignment then."""
        self.say("fewest changes, and fewest reviews below the least affinity")
        settled = fewest_first(self.problem, concerns, routes, self.seed)
        self.problem, self.fewest, self.scale = settled.problem, settled.fewest, settled.scale
        lost = self.problem.affinity[best].tolist() + (-self.problem.affinity[settled.best]).tolist()
        self.lost_first = math.fsum(lost)
        return settled.cost, settled.best

    def _connected(self, linker: Relinker, chosen: BoolArray) -> Assignment:
        """Bring an assignment to the level, and say what that took."""
        core = linker.core
        scarce = nearly_all(self.problem, self.aim)
        if scarce and not core.at_level():
            self.say(f"the level {scarce}")
        reached = linker.link() if self.fair is None else self.fair.link(linker)
        decided = self.aim.core_decides
        apart = why_apart(self.problem, self.aim) if decided and not reached else ""
        if apart and not self.best_effort:
            return self.infeasible(apart)
        # What cannot be said of the best reviewers in rows is left to the search.
        for least in [None] if self.fair is None else self.fair.guards:
            if not reached and self.problem.floors.best is None:
                reached = self._decided(linker, survive=False, least=least)
                if reached and self.fair is not None:
                    self.fair.keep(core.net)
        critical = None
        if reached and decided:
            critical = self._hardened(linker) if self.survive else None
        unchanged = bool((core.net.assigned == chosen).all())
        if reached and self.aim.conditioned:
            self._condition(linker, robust=bool(self.survive and not critical))
        # Exchanges may have changed who is critical.
        if reached and decided and not self.unsure and (critical is None or self.exchanges is not None):
            critical = self._critical(linker)
            self.exposed = critical or () if self.survive else ()
        if unchanged:
            self.least_loss = 0.0
        return self.answer(core.net.assigned, critical, len(linker.forced), reached=reached)

    def _decided(self, linker: Relinker, *, survive: bool, least: IntArray | None = None) -> bool:
        """Leave the search's word for that of an exact method, where few pairs are allowed; whether the level holds."""
        core = linker.core
        if survive and self.aim.may_survive and why_counted(self.problem, self.aim):
            self.proved = True
            return False
        found = decide(self.problem, self.aim, core.net.assigned.copy(), self.clock, survive=survive, least=least)
        self.proved = found.proved
        if found.chosen is None:
            return False
        # What was forced on the way to less is forced no more.
        core.net.locked[linker.forced] = False
        linker.forced, linker.ways = [], []
        flip(core.net, np.flatnonzero(found.chosen != core.net.assigned))
        core.regroup()
        return True

    def _linker(self, start: Start) -> Relinker:
        """Start from an assignment, with potentials, and a bound on what the level must cost where it has one."""
        problem, cost, chosen = self.problem, start.cost, start.chosen
        # Where no rule changed the best assignment, no pair depends on others.
        free = bool((chosen == start.best).all())
        net = problem.network(chosen, whole(problem.panels.reward, self.scale))
        held = np.zeros(chosen.size, np.bool_) if free and not net.bonus.any() else depending(problem, chosen)
        if self.teams.barred is not None:
            held |= self.teams.barred
        held |= sole(problem, chosen)
        settled = settle(net, cost, held, exact=self.teams.by_flow)
        core = Core(net, problem.required, self.aim)
        linker = Relinker(core, cost, self.clock, rng=np.random.default_rng(self.seed))
        linker.say = lambda count: self.say(f"{count} of {core.total} papers in the core", count / max(core.total, 1))
        if net.bonus.any():
            linker.rewards = lambda: int(whole(np.array([rewards(problem, net.assigned)]), self.scale)[0])
        # A bound counts pairs that leave groups: where groups are not all there is to a level, none is known.
        bounded = settled and not held.any() and self.teams.by_flow and self.aim.core_suffices
        if bounded and not core.at_level() and problem.concerns is None:
            self.least_loss = least_loss(linker, problem, self.scale)
        near = (self.least_loss or 0.0) + NEAR * abs(self.unconstrained)
        linker.enough = near * self.scale * 2.0**TIE_BITS
        return linker

    def _condition(self, linker: Relinker, *, robust: bool) -> None:
        """Exchange reviews for smaller errors, where that is worth looking for."""
        from planner.assignments.steps import conditioning as better

        problem, core, values = self.problem, linker.core, np.unique(self.problem.affinity)
        if core.total < FEWEST or not core.net.assigned.any():
            return
        if self.clock.over():
            self.not_exchanged = "time was over"
            return
        if problem.n_items > better.MOST_ITEMS:
            self.not_exchanged = f"there are more than {better.MOST_ITEMS:,} papers"
            return
        if self.conditioning == 0 and values.size > problem.item.size / FEW_TIES:
            return
        self.say("smaller expected errors")
        watch = Robust(core, self.clock) if robust else None
        core.regroup()
        found = better.improve(
            core,
            problem,
            self.conditioning * abs(self.unconstrained),
            self.assumptions,
            np.random.default_rng(self.seed),
            watch.holds if watch else lambda pairs: core.holds_after(pairs, core.total),
            self.clock,
        )
        core.regroup()
        self.exchanges = Exchanges.of(*found, self.assumptions)

    def _hardened(self, linker: Relinker) -> tuple[Label, ...] | None:
        """Let the level outlive a loss, as far as that goes; returns who is critical then, None if unknown."""
        self.say(_LOOKING)
        if self.fair is None and self._decided(linker, survive=True):
            return self._critical(linker)
        # Where somebody must be critical, mending leaves as few as it can; what costs least before may not then.
        best: tuple[tuple[int, int], Hardened, State] | None = None
        for way in (linker.ways if self.fair is None else []) or [linker.state()]:
            linker.put(way)
            linker.core.regroup()
            found = harden(linker, np.random.default_rng(self.seed))
            merit = None if found is None else (int(found.exposed.sum()), linker.total())
            if found is not None and merit is not None and (best is None or merit < best[0]):
                best = merit, found, linker.state()
        if best is None:
            self.unsure = True
            return None
        linker.put(best[2])
        linker.core.regroup()
        self.exposed = self._labels(best[1].exposed)
        return self._labels(best[1].missing)

    def _critical(self, linker: Relinker) -> tuple[Label, ...] | None:
        if self.problem.n_reviewers > MOST_CRITICAL and not self.survive:
            return None
        self.say(_LOOKING)
        try:
            return self._labels(missing_without(linker.core, self.clock))
        except TimeOver:
            return None

    def _labels(self, missing: IntArray) -> tuple[Label, ...]:
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))
