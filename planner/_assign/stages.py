"""The stages of an assignment: flow, panels, fairness, the level, what survives.

:class:`Run` takes the stages in order; tiny problems are decided by :mod:`.enumeration`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.assignment import Assignment, AssignmentStatus, Fairness, Kept, KeptRule, total_of
from planner._assign.core import Core, alternates_of, exposed_of, least_loss, missing_without
from planner._assign.enumeration import Best, best_at_level
from planner._assign.fair import Minimum, at_floor, is_most, largest_minimum, lower_floors
from planner._assign.flow import TIE_BITS, fewest_first, scale_of, settle, unrouted, whole_costs
from planner._assign.linking import Cycles, Linker, Programmed
from planner._assign.problem import NO_FLOOR, Problem, changes_of, unit_of
from planner._assign.programme import (
    PanelSolution,
    best_under_rules,
    broken_items,
    depends_on_rules,
    objective,
    relaxation_of,
)
from planner._assign.spanning import span
from planner._assign.why_none import (
    NO_OTHER,
    how_it_ended,
    level_alone,
    rules_in_words,
    why_apart,
    why_fragile,
    why_infeasible,
    why_no_floor,
    why_no_panels,
    why_unreachable,
)
from planner.errors import InternalError
from reviewgraph._base import BoolArray, Clock, IntArray, Label, Mentions, counted, reaches
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim


#: Maximum number of reviewers for the search for critical ones: it takes time M times E.
MOST_CRITICAL = 2_000

#: Relative excess of a loss over its bound below which no smaller one is sought.
NEAR = 1e-4

#: Work of bringing an assignment to the level, by the flow and under rules, and of making it survive a loss.
WORK = 1.0
RULED_WORK = 6.0
SURVIVING = 4.0

#: Rounds of repair where that may expose others, and seconds for a final evaluation where time is over.
ROUNDS = 4
CLOSING = 0.3

_LOOKING = "reviewers on whom the level hangs"


class Start(NamedTuple):
    """Costs of pairs in whole units, and the best assignment without a level."""

    cost: IntArray
    chosen: BoolArray


@dataclass
class Run:
    """The stages of :func:`planner.assign` on a problem: the request, the results so far, and the end of each stage."""

    problem: Problem
    aim: Aim  # the level to reach
    seed: int  # breaks ties
    clock: Clock
    say: Callable[..., object]  # called with the current step in words, and the share done where that is defined
    fairly: bool = False  # whether the smallest score of a paper is to be as large as possible
    alternates: int = 0  # alternates per paper
    best_effort: bool = False  # whether to continue where it is proved that no assignment reaches the level
    # Results of the stages.
    unfair: BoolArray | None = None  # the best assignment under the rules, before floors and fairness
    minimum: Minimum | None = None  # the largest smallest score, if requested
    before_minimum: float = math.inf  # upper bound on affinity without it
    least_loss: float | None = None  # lower bound on the affinity that the level costs, if there is one
    # Reviewers by whose loss, or that of a review, the level fails although it must not
    exposed: tuple[Label, ...] = ()
    unsure: bool = False  # whether time was over before the exposed reviewers were determined
    proved: bool = False  # whether it is proved that no assignment satisfies the request
    best_at_level: bool = False  # whether the assignment is proved to be the best at the level
    out_of_reach: str = ""  # why no assignment reaches the level, where counting proves that
    fewest: int = 0  # minimum number of changes
    scale: float = 0.0  # rounding steps per unit of affinity
    unconstrained: float = math.nan  # the most affinity without rules and level
    solution: PanelSolution = field(default_factory=lambda: PanelSolution(None, False, math.inf))

    def __post_init__(self) -> None:
        self.asked = self.problem

    def result(self) -> Assignment:
        start = self.start()
        if isinstance(start, Assignment):
            return start
        if self.aim.level is None:
            return self.answer(start.chosen, None, 0, reached=True)
        # 4. and 5. The level, what survives.
        return self._connected(start)

    def start(self) -> Start | Assignment:
        """Find the best assignment under the rules, before any level; the Assignment of the end where there is none."""
        problem = self.problem
        # 1. The best assignment by affinity, or a cut that proves that there is none.
        self.scale = scale_of(problem, problem.affinity)
        cost = whole_costs(problem.affinity, self.seed, self.scale)
        self.say(
            f"best affinity for {counted(int(problem.required.sum()), 'paper')} and "
            f"{counted(problem.n_reviewers, 'reviewer')}"
        )
        plain = unrouted(problem, cost)
        if plain is None:
            return self.infeasible(why_infeasible(problem))
        self.unconstrained = total_of(problem.affinity[plain])
        if problem.concerns is not None:
            # Concerns come before affinity.
            self.say("fewest changes")
            problem, cost, self.scale, best, self.fewest = fewest_first(problem, problem.concerns, self.seed)
            plain = best
            self.problem = problem
        self.solution = PanelSolution(plain, True, objective(problem, plain))
        self.unfair = plain
        # 2. and 3. Rules, floors, and the worst-served papers.
        why = self._under_rules()
        if why:
            return self.infeasible(why)
        # The level, where counting alone proves that it is out of reach.
        problem = self.problem
        self.out_of_reach = why_unreachable(problem, self.aim, lowered=self.best_effort)
        if self.solution.chosen is not None:
            if self.out_of_reach and not self.best_effort:
                return self.infeasible(level_alone(self.aim, self.out_of_reach))
            return Start(cost, self.solution.chosen)
        if self.out_of_reach and not self.best_effort:
            return self.infeasible(self.out_of_reach)
        rules = ", ".join(rules_in_words(problem))
        why = f"No assignment with {rules} was found in the time given."
        return self.nothing(AssignmentStatus.LEVEL_MISSED, why)

    def _under_rules(self) -> str:
        """Find the best assignment under rules and floors, and the fairest; returns why there is none, if proved."""
        floored = self.asked.least_score is not None
        bare = replace(self.problem, least_score=None) if floored else self.problem
        if depends_on_rules(bare):
            self.say("rules on the reviewers of a paper")
            self.solution = self._best(bare)
            self.unfair = self.solution.chosen
            if self.solution.chosen is None and self.solution.proved:
                why = why_no_panels(bare, self.clock)
                return f"Demands and loads can be met, but not all that is asked of each paper. {why}"
        if self.solution.chosen is None or not (self.fairly or floored) or not self.problem.served.any():
            return ""
        self.say("the worst-served papers")
        why = self._above_floors() if floored else ""
        best = self.solution.chosen
        if self.fairly and best is not None:
            self.before_minimum = self.solution.bound
            self.minimum = largest_minimum(self.problem, self.solution, best, self.clock, seed=self.seed)
            self.problem = at_floor(self.problem, self.minimum.floor)
            self.solution = self.minimum.solution
        return why

    def _above_floors(self) -> str:
        """Find the best assignment under the floors; returns why there is none, if proved."""
        problem = self.problem
        cannot = np.flatnonzero(problem.served & (problem.reach(problem.open_demand()) < problem.floor))
        if cannot.size:
            return why_no_floor(problem, cannot)
        chosen = self.solution.chosen
        self.solution = self._best(problem)
        if self.solution.chosen is not None or not self.solution.proved or chosen is None:
            return ""
        return why_no_floor(problem, cannot)

    def _best(self, problem: Problem) -> PanelSolution:
        """Return the best assignment under rules and floors: the one so far if it breaks none."""
        before = self.solution
        chosen = before.chosen
        if chosen is None:
            return before
        if not broken_items(problem, chosen).size:
            return before
        return best_under_rules(problem, chosen, self.clock, seed=self.seed)

    def _connected(self, start: Start) -> Assignment:
        """Bring an assignment to the level, and return it with the cost of that."""
        decided = self.aim.core_decides
        lowest = self.asked.floor
        floors = [lowest] if self.minimum is None else lower_floors(self.problem, lowest)
        ways = [at_floor(self.problem, floor) for floor in floors]
        tiny = best_at_level(ways[-1], self.aim, self.clock, fairly=self.fairly)
        if tiny is not None:
            self.problem = ways[-1]
            return self._settled(start, tiny)
        # Under the strictest of the floors that allows the level.
        for number, way in enumerate(ways):
            self.problem = way
            linker = self._linker(start)
            linker.clock = self.clock.share(1.0 / (len(ways) - number))
            reached = self._link(linker)
            if reached or self.clock.over():
                break
        core = linker.core
        if not reached and self._apart() and not self.best_effort:
            return self.infeasible(level_alone(self.aim, self.out_of_reach))
        if reached and self.minimum is not None and self.aim.outlives:
            # From here on the smallest score stays as it is.
            scores = self.problem.scores(core.net.assigned)[self.problem.served]
            self.problem = at_floor(self.problem, int(scores.min(initial=-NO_FLOOR)))
            linker = self._linker(start._replace(chosen=core.net.assigned.copy()))
            core = linker.core
        critical = None
        if reached and decided:
            critical = self._hardened(linker) if self.aim.outlives else None
        if reached and decided and not self.unsure and critical is None:
            critical = self._critical(core)
            self.exposed = critical or () if self.aim.outlives else ()
        if (core.net.assigned == start.chosen).all():
            self.least_loss = 0.0
        return self.answer(core.net.assigned, critical, len(linker.forced), reached=reached)

    def _apart(self) -> bool:
        """Note why not even all allowed pairs reach the level, where that is so."""
        apart = why_apart(self.problem, self.aim) if self.aim.core_decides else ""
        self.out_of_reach = self.out_of_reach or apart
        return bool(apart)

    def _settled(self, start: Start, tiny: Best) -> Assignment:
        """Return the best of all assignments at the level, or that with fewest critical reviewers, or miss it."""
        self.proved = tiny.chosen is None or tiny.exposed > 0
        self.best_at_level = not self.proved
        if tiny.chosen is None:
            if self._apart() and not self.best_effort:
                return self.infeasible(level_alone(self.aim, self.out_of_reach))
            return self.answer(start.chosen, None, 0, reached=False)
        core = Core(self.problem.network(tiny.chosen), self.problem.required, self.aim)
        critical = self._critical(core) if self.aim.core_decides else None
        if tiny.exposed:
            until = self.clock.no_less_than(CLOSING)
            self.exposed = self._labels(np.where(exposed_of(core, until), missing_without(core, until), 0))
        if (tiny.chosen == start.chosen).all():
            self.least_loss = 0.0
        return self.answer(tiny.chosen, critical, 0, reached=True)

    def _linker(self, start: Start) -> Linker:
        """Return a search for the level: by the programme where pairs depend on others, by the flow elsewhere."""
        problem = self.problem
        core = Core(problem.network(start.chosen), problem.required, self.aim)
        rng = np.random.default_rng(self.seed)
        if depends_on_rules(problem):
            relaxation = self.solution.relaxation
            if relaxation is None or relaxation.problem is not problem:
                relaxation = relaxation_of(problem, start.chosen, self.clock, seed=self.seed)
            if relaxation is None:
                raise InternalError("there was an assignment under rules, and by counting there is none")
            bound = self.solution.bound
            enough = objective(problem, problem.given) - bound + NEAR * abs(bound)
            return Linker(core, Programmed(core.net, problem, relaxation), self.clock, rng, enough)
        settled = settle(core.net, start.cost)
        if not settled and (best := unrouted(problem, start.cost)) is not None:
            # The start is not the best one, as under floors that are given up: cycles begin at that.
            core = Core(problem.network(best), problem.required, self.aim)
            settled = settle(core.net, start.cost)
        cycles = Cycles(core.net, start.cost, self.clock)
        # The bound counts pairs that leave groups: it holds only where groups suffice for the level.
        if settled and self.aim.core_suffices and not core.at_level() and problem.concerns is None:
            units = self.scale * 2.0**TIE_BITS
            loss = least_loss(core, cycles.losses(np.arange(start.cost.size)), problem, self.clock)
            self.least_loss = loss / units if units > 0 else 0.0
        near = (self.least_loss or 0.0) + NEAR * abs(self.unconstrained)
        return Linker(core, cycles, self.clock, rng, cycles.total() + near * self.scale * 2.0**TIE_BITS)

    def _link(self, linker: Linker) -> bool:
        """Bring the assignment to the level: where many papers are apart, by a skeleton completed by a flow."""
        core = linker.core

        def say() -> None:
            count = core.count()
            self.say(f"{count} of {core.total} papers in the core", count / max(core.total, 1))

        say()
        linker.say = say
        cycles = linker.changes
        if not isinstance(cycles, Cycles):
            return linker.link(RULED_WORK)
        return span(self.problem, linker, cycles) or linker.link(WORK)

    def _hardened(self, linker: Linker) -> tuple[Label, ...] | None:
        """Make the level survive a loss, as far as possible; returns the critical reviewers, None if not determined."""
        self.say(_LOOKING)
        # All reviewers are exposed, or those of critical reviews; repairing for these may expose others.
        core = linker.core
        with suppress(Clock.Over):
            for _ in range(ROUNDS):
                exposed = exposed_of(core, self.clock)
                if not missing_without(core, self.clock, exposed).any():
                    break
                linker.exposed |= exposed
                linker.link(SURVIVING)
                if exposed.all():
                    break
        # The result, for which there is a little time even where it is over.
        try:
            until = self.clock.no_less_than(CLOSING)
            missing = missing_without(core, until)
            self.exposed = self._labels(np.where(exposed_of(core, until), missing, 0))
        except Clock.Over:
            self.unsure = True
            return None
        return self._labels(missing)

    def _critical(self, core: Core) -> tuple[Label, ...] | None:
        if self.problem.n_reviewers > MOST_CRITICAL and not self.aim.outlives:
            return None
        self.say(_LOOKING)
        try:
            return self._labels(missing_without(core, self.clock))
        except Clock.Over:
            return None

    def _labels(self, missing: IntArray) -> tuple[Label, ...]:
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))

    def answer(
        self, assigned: BoolArray, critical: tuple[Label, ...] | None, forced: int, *, reached: bool
    ) -> Assignment:
        """Return an assignment with what it reached, kept and cost."""
        problem = self.problem
        # Reviews of the first phase are no part of the answer.
        new = np.flatnonzero(assigned & ~problem.old)
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        bound = self._bound()
        fairness = self._fairness(assigned, bound) if self.fairly or self.asked.least_score is not None else None
        # An assignment worth as much as the best without a level is optimal.
        best = self.solution.chosen
        same = False
        if self.solution.proved and best is not None and (self.minimum is None or self.minimum.proved):
            plain = fairness is None and problem.concerns is None and not problem.ruled.rules
            worth = [total_of(problem.worth[chosen]) for chosen in (assigned, best)]
            as_much = reaches(worth[0], worth[1], float(np.abs(problem.worth[best]).sum()))
            same = bool((assigned == best).all()) or (plain and as_much)
            if self.best_at_level and plain:
                self.least_loss = max(worth[1] - worth[0], 0.0)
        status = AssignmentStatus.OPTIMAL if same or self.best_at_level else AssignmentStatus.FEASIBLE
        if not reached or self.exposed or self.unsure:
            status = AssignmentStatus.LEVEL_MISSED
        why = ""
        if not reached:
            reason = self.out_of_reach or (NO_OTHER if self.proved else "")
            why = how_it_ended(problem, assigned, self.clock, proof=reason)
        elif self.unsure:
            ended = "It was interrupted" if self.clock.interrupted else "The time limit ended the search"
            why = f"{ended} before the critical reviewers were determined. Allow more time."
        elif self.exposed:
            why = why_fragile(problem, self.aim, self.exposed, self.clock, proved=self.proved)
        alternates = None
        if self.alternates:
            self.say("alternates")
            # The largest minimum is no floor for those who replace somebody.
            floored = replace(problem, least_score=self.asked.least_score)
            alternates = alternates_of(floored, assigned, self.aim, self.alternates, self.clock)
        return Assignment(
            status=status,
            target=self.aim.name,
            reviews=self._reviews(new),
            affinities=problem.affinity[new][order],
            affinity_unconstrained=self.unconstrained,
            affinity_before_level=None if best is None else total_of(problem.affinity[best & ~problem.old]),
            critical=critical,
            forced=forced,
            explanation=Mentions.labelled(problem.reviewers, problem.items)(why),
            least_loss=0.0 if same else self.least_loss,
            loads=np.bincount(problem.reviewer[new], minlength=problem.n_reviewers),
            changes=changes_of(problem, assigned, self.fewest),
            kept=self._kept(bound) if problem.ruled.rules else None,
            fairness=fairness,
            alternates=alternates,
        )

    def _bound(self) -> float:
        """Return an upper bound on affinity, whatever the level; infinite where other things come first."""
        if self.problem.concerns is not None:
            return math.inf
        # The level may have lowered the smallest score.
        lowered = self.minimum is not None and self.problem.floor < self.minimum.floor
        return self.before_minimum if lowered else self.solution.bound

    def _kept(self, bound: float) -> Kept:
        ruled = self.problem.ruled
        rules = []
        for rule, words, papers in zip(ruled.rules, ruled.words(), ruled.papers(), strict=True):
            rules.append(KeptRule(rule.text, words, int(np.count_nonzero(self.problem.bound & papers))))
        return Kept(tuple(rules), bound)

    def _fairness(self, assigned: BoolArray, bound: float) -> Fairness:
        problem = self.problem
        unit = unit_of(problem.affinity)
        served = problem.served
        before = assigned if self.unfair is None else self.unfair
        smallest = [
            float(problem.scores(some)[served].min()) if served.any() else math.nan for some in (before, assigned)
        ]
        minimum = self.minimum
        return Fairness(
            fairly=self.fairly,
            floor=self.asked.least_score,
            smallest=(unit * smallest[0], unit * smallest[1]),
            # Rounding to whole units may change each review by half of one.
            at_most=None if minimum is None else unit * (max(minimum.at_most, smallest[1]) + problem.demand.max()),
            proved=minimum is not None and is_most(int(smallest[1]), minimum.at_most),
            bound=min(bound, self.unconstrained),
        )

    def _reviews(self, pairs: IntArray) -> Reviews:
        problem = self.problem
        items = problem.items[: int(problem.required.sum())]
        return Reviews.from_codes(
            problem.reviewer[pairs], problem.item[pairs], reviewers=problem.reviewers, items=items
        )

    def infeasible(self, reason: str) -> Assignment:
        """End where it is proved that there is no assignment."""
        return self.nothing(AssignmentStatus.INFEASIBLE, reason)

    def nothing(self, status: AssignmentStatus, why: str) -> Assignment:
        return Assignment(
            status=status,
            target=self.aim.name,
            reviews=self._reviews(np.empty(0, np.int64)),
            affinities=np.empty(0),
            affinity_unconstrained=self.unconstrained,
            explanation=Mentions.labelled(self.problem.reviewers, self.problem.items)(why),
        )
