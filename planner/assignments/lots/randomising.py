"""An assignment by lot: the stages of one that is best, probabilities, a draw, and what draws do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import AssignmentStatus
from planner.assignments.findings.randomised import Randomised
from planner.assignments.lots.draws import Lots, within
from planner.assignments.lots.marginals import Gain, Limits, Marginals, best_marginals, limits_of
from planner.assignments.lots.measuring import measure
from planner.assignments.lots.settling import Settled, settle
from planner.assignments.lots.units import UNITS
from planner.assignments.model.chances import Chances
from planner.assignments.stages import Run
from planner.assignments.teams.best import Teams
from planner.assignments.words.lots import why_capped
from reviewgraph.kernels.compiling import POLICY

if TYPE_CHECKING:
    from planner.assignments.assignment import Assignment
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
        # The best assignment says why there is none, and what draws are compared with; it is the only one where
        # nothing asks for a lottery.
        best = self._best(conditioning=0.0 if lottery else self.conditioning)
        if best.status is AssignmentStatus.INFEASIBLE or not best.reviews.n_reviews:
            return best
        problem = within(self.problem, usable)
        gain = Gain(problem.worth, beta)
        POLICY.expect(DRAWING * problem.demand.sum() * (self.chances.draws + 1))
        settled = (
            settle(problem, gain, caps, self.aim, self.survive, self.clock, self.say, self.chances.draws)
            if lottery
            else self._certain(problem, gain, caps, best)
        )
        if settled is None:
            return self._none(problem, gain, caps, best.affinity_unconstrained)
        answer = self._drawn(settled.lots, best) if lottery else best
        randomised = self._described(problem, settled, caps, best.affinity_unconstrained)
        return replace(answer, randomised=randomised)

    def _best(self, conditioning: float) -> Assignment:
        """Take the steps of an assignment that is not drawn."""
        run = Run(self.problem, self.aim, self.survive, self.seed, self.clock, self.say, conditioning, self.assumptions)
        found = run.result()
        # What is to be few has its weights from there.
        self.problem, self.fewest, self.lost_first = run.problem, run.fewest, run.lost_first
        self.rivals, self.teams = run.rivals, Teams(None, False, run.teams.bound)
        return found

    def _none(self, problem: Problem, gain: Gain, caps: Limits, unconstrained: float) -> Assignment:
        """Say why there are no probabilities; where only rivals stand in the way, nothing is proved."""
        if best_marginals(problem, gain, caps) is None:
            return self._infeasible(why_capped(problem, caps.most / UNITS, UNITS), unconstrained)
        why = (
            "No probabilities under these caps were found that keep apart the pairs that may not be assigned together."
        )
        return self._nothing(AssignmentStatus.LEVEL_MISSED, why, unconstrained)

    def _certain(self, problem: Problem, gain: Gain, caps: Limits, best: Assignment) -> Settled:
        """Give the pairs of an assignment probability 1."""
        key = problem.item * problem.n_reviewers + problem.reviewer
        chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
        units = np.where(chosen, UNITS, 0)
        lots = Lots(problem, units, caps, self.aim, self.survive, self.clock)
        return Settled(Marginals(units, gain.of(units), gain.of(units)), lots, gain.of(units))

    def _drawn(self, lots: Lots, best: Assignment) -> Assignment:
        """Draw by the seed."""
        self.say("the draw")
        draw = lots.best_of(np.random.default_rng(self.seed))
        self.problem, chosen = lots.within, draw.chosen
        answer = self._answer(
            chosen,
            best.affinity_unconstrained,
            () if self.survive and draw.reached else None,
            len(draw.forced),
            reached=draw.reached,
        )
        # Rules cost what they cost the best assignment; what else a draw has less is the lottery's.
        kept, authors = answer.kept, answer.authors
        kept = None if kept is None or best.kept is None else replace(kept, affinity=best.kept.affinity)
        authors = authors and best.authors and replace(authors, affinity=best.authors.affinity)
        answer = replace(answer, kept=kept, authors=authors)
        return replace(answer, not_exchanged=_NOT_EXCHANGED if self.aim.conditioned else "", least_loss=None)

    def _described(self, problem: Problem, settled: Settled, caps: Limits, best: float) -> Randomised:
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
            best=best,
            gap=max(settled.bound - value, 0.0) / abs(settled.bound) if settled.bound else 0.0,
            measured=measure(lots, caps, count, self.say),
        )
