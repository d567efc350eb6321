"""An assignment by lot: the stages of one that is best, probabilities, a draw, and what draws do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.findings.randomised import Randomised
from planner.assignments.lots.draws import Lots, within
from planner.assignments.lots.marginals import Gain, Limits, Marginals, best_marginals, limits_of
from planner.assignments.lots.measuring import measure
from planner.assignments.lots.settling import Settled, settle
from planner.assignments.lots.units import UNITS
from planner.assignments.model.chances import Chances
from planner.assignments.stages.run import Run
from planner.assignments.teams.best import Teams, within_rules
from planner.assignments.words.lots import why_capped
from planner.assignments.words.why_none import why_apart
from reviewgraph.kernels.compiling import POLICY

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem

#: Seconds that plain Python takes for one pair of the support in one draw.
DRAWING = 5e-5

_NOT_EXCHANGED = "exchanges would change the probabilities of the draws"


@dataclass
class Lottery(Run):
    """The steps of :func:`planner.assign` where the assignment is drawn.

    Parameters
    ----------
    chances
        What is asked of the lottery.
    """

    chances: Chances = field(default_factory=Chances)

    def result(self) -> Assignment:
        """Take the steps and return the draw of the seed."""
        problem, asked = self.problem, self.chances.caps(self.problem)
        usable = np.flatnonzero(problem.given | (asked * UNITS >= 1))
        caps, beta = limits_of(within(problem, usable), asked[usable]), self.chances.perturbation
        lottery = beta > 0 or bool((caps.most < UNITS).any())
        # The best assignment is the only one where nothing asks for a lottery; else what draws are compared with, for
        # which it needs no level, and it says why there is none.
        best = self.start() if lottery else super().result()
        if isinstance(best, Assignment) and (lottery or not best.reviews.n_reviews):
            return best
        apart = why_apart(self.problem, self.aim) if lottery and self.aim.core_decides else ""
        if apart:
            return self.infeasible(apart)
        problem = within(self.problem, usable)
        gain = Gain(problem.worth, beta)
        POLICY.expect(DRAWING * problem.demand.sum() * (self.chances.draws + 1))
        if isinstance(best, Assignment):
            certain = self._certain(problem, gain, caps, best)
            return replace(best, randomised=self._described(problem, certain, caps))
        settled = settle(problem, gain, caps, self.aim, self.survive, self.clock, self.say, self.chances.draws)
        if settled is None:
            return self._none(problem, gain, caps)
        answer = self._drawn(settled.lots, within_rules(self.problem, best.chosen, self.teams))
        return replace(answer, randomised=self._described(problem, settled, caps))

    def _none(self, problem: Problem, gain: Gain, caps: Limits) -> Assignment:
        """Say why there are no probabilities; where only rivals stand in the way, nothing is proved."""
        if best_marginals(problem, gain, caps) is None:
            return self.infeasible(why_capped(problem, caps.most / UNITS, UNITS))
        why = (
            "No probabilities under these caps were found that keep apart the pairs that may not be assigned together."
        )
        return self.nothing(AssignmentStatus.LEVEL_MISSED, why)

    def _certain(self, problem: Problem, gain: Gain, caps: Limits, best: Assignment) -> Settled:
        """Give the pairs of an assignment probability 1."""
        key = problem.item * problem.n_reviewers + problem.reviewer
        chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
        units = np.where(chosen, UNITS, 0)
        lots = Lots(problem, units, caps, self.aim, self.survive, self.clock)
        return Settled(Marginals(units, gain.of(units), gain.of(units)), lots, gain.of(units))

    def _drawn(self, lots: Lots, best: float) -> Assignment:
        """Draw by the seed; ``best`` is the affinity of the best assignment under the rules."""
        self.say("the draw")
        draw = lots.best_of(np.random.default_rng(self.seed))
        self.problem, self.teams = lots.within, Teams(None, False, self.teams.bound)
        hardened = () if self.survive and draw.reached else None
        answer = self.answer(draw.chosen, hardened, len(draw.forced), reached=draw.reached)
        # Rules cost what they cost the best assignment; what else a draw has less is the lottery's.
        kept = answer.kept and replace(answer.kept, affinity=best)
        authors = answer.authors and replace(answer.authors, affinity=best)
        answer = replace(answer, kept=kept, authors=authors)
        return replace(answer, not_exchanged=_NOT_EXCHANGED if self.aim.conditioned else "", least_loss=None)

    def _described(self, problem: Problem, settled: Settled, caps: Limits) -> Randomised:
        """Gather what is said of the lottery; pairs of a first phase are no part of it."""
        lots, units = settled.lots, settled.marginals.units
        shown = np.flatnonzero((units > 0) & ~problem.old)
        count = self.chances.draws if settled.lots.flow.part.size else min(self.chances.draws, 1)
        value = settled.marginals.value
        return Randomised(
            item=problem.item[shown],
            reviewer=problem.reviewer[shown],
            probability=units[shown] / UNITS,
            items=problem.items,
            reviewers=problem.reviewers,
            max_probability=self.chances.one_cap,
            perturbation=self.chances.perturbation,
            certain=int((problem.given & ~problem.old).sum()),
            expected=float((problem.affinity[shown] * units[shown]).sum() / UNITS),
            best=self.unconstrained,
            gap=max(settled.bound - value, 0.0) / abs(settled.bound) if settled.bound else 0.0,
            measured=measure(lots, caps, count, self.say),
        )
