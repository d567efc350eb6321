"""An assignment by lot: the stages of one that is best, probabilities, and a draw."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.findings.randomised import Listed, Randomised
from planner.assignments.lots.marginals import Gain, Limits, Marginals, best_marginals, limits_of
from planner.assignments.lots.mending import within
from planner.assignments.lots.mixing import Asked, Mixture, mixture
from planner.assignments.lots.rounding import drawn, laid_out
from planner.assignments.lots.units import UNITS, all_through
from planner.assignments.model.chances import Chances
from planner.assignments.stages.run import Run
from planner.assignments.teams.best import Teams, within_rules
from planner.assignments.words.lots import why_capped, why_missed, why_too_few
from planner.assignments.words.why_none import why_apart
from reviewgraph.kernels.compiling import POLICY

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

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
    best
        Found on the way: affinity of the best assignment within the rules.
    """

    chances: Chances = field(default_factory=Chances)
    best: float = 0.0

    def result(self) -> Assignment:
        """Take the steps and return the draw of the seed."""
        asked = self.chances.caps(self.problem)
        usable = np.flatnonzero(self.problem.given | (asked * UNITS >= 1))
        asked, beta = asked[usable], self.chances.perturbation
        caps = limits_of(within(self.problem, usable), asked)
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
        if isinstance(best, Assignment):
            return self._certain(problem, best)
        self.best = within_rules(self.problem, best.chosen, self.teams)
        gain = Gain(problem.worth, beta)
        found = best_marginals(problem, gain, caps)
        if found is None:
            return self.infeasible(why_capped(problem, caps.most / UNITS, UNITS))
        if self.aim.level is None and all_through(problem):
            POLICY.expect(DRAWING * problem.demand.sum())
            return self._rounded(problem, gain, caps, found)
        POLICY.expect(DRAWING * problem.demand.sum() * self.chances.draws)
        return self._listed(problem, asked, found)

    def _certain(self, problem: Problem, best: Assignment) -> Assignment:
        """Give the pairs of an assignment probability 1."""
        key = problem.item * problem.n_reviewers + problem.reviewer
        chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
        gain = float(problem.worth[chosen].sum())
        return replace(best, randomised=self._described(problem, np.where(chosen, 1.0, 0.0), gain, gain, None))

    def _rounded(self, problem: Problem, gain: Gain, caps: Limits, found: Marginals) -> Assignment:
        """Draw by rounding, which has just the probabilities, and keeps demands, loads and rules."""
        kept = without_rivals(problem, gain, caps, found)
        if kept is None:
            return self._no_rivals()
        self.say("the draw")
        chosen = drawn(laid_out(problem, kept.units), np.random.default_rng(self.seed))
        randomised = self._described(problem, kept.units / UNITS, kept.value, found.bound, None)
        return replace(self._drawn(problem, kept.units > 0, chosen, 0, reached=True), randomised=randomised)

    def _listed(self, problem: Problem, asked: FloatArray, found: Marginals) -> Assignment:
        """Draw one of a list of assignments that are all at the level."""
        count = self.chances.draws
        gain, limits = Gain(problem.worth, self.chances.perturbation, count), limits_of(problem, asked, count)
        coarse = best_marginals(problem, gain, limits)
        if coarse is None:
            return self.infeasible(why_too_few(count))
        kept = without_rivals(problem, gain, limits, coarse)
        if kept is None:
            return self._no_rivals()
        mixed = mixture(problem, gain, limits, kept.units, Asked(self.aim, self.survive, self.clock, self.say))
        self.say("the draw")
        k = int(np.random.default_rng(self.seed).integers(count))
        chosen = np.zeros(problem.item.size, np.bool_)
        chosen[mixed.pairs[k]] = True
        answer = self._drawn(problem, mixed.counts > 0, chosen, int(mixed.forced[k]), reached=bool(mixed.reached[k]))
        if not mixed.reached[k] and not self.clock.over():
            answer = replace(answer, explanation=why_missed(int((~mixed.reached).sum()), count, mixed.needed))
        listed = _listed(problem, mixed, kept.units, count)
        value = gain.of(mixed.counts)
        return replace(answer, randomised=self._described(problem, mixed.counts / count, value, found.bound, listed))

    def _no_rivals(self) -> Assignment:
        """End where only rivals stand in the way: nothing is proved."""
        why = (
            "No probabilities under these caps were found that keep apart the pairs that may not be assigned together."
        )
        return self.nothing(AssignmentStatus.LEVEL_MISSED, why)

    def _drawn(
        self, problem: Problem, support: BoolArray, chosen: BoolArray, forced: int, *, reached: bool
    ) -> Assignment:
        """Say what is known of a draw."""
        pairs = np.flatnonzero(support)
        self.problem, self.teams = within(problem, pairs), Teams(None, False, self.teams.bound)
        answer = self.answer(chosen[pairs], () if self.survive and reached else None, forced, reached=reached)
        # Rules cost what they cost the best assignment; what else a draw has less is the lottery's.
        kept = answer.kept and replace(answer.kept, affinity=self.best)
        authors = answer.authors and replace(answer.authors, affinity=self.best)
        answer = replace(answer, kept=kept, authors=authors)
        return replace(answer, not_exchanged=_NOT_EXCHANGED if self.aim.conditioned else "", least_loss=None)

    def _described(
        self, problem: Problem, probability: FloatArray, value: float, bound: float, listed: Listed | None
    ) -> Randomised:
        """Gather what is said of the lottery; pairs of a first phase are no part of it."""
        shown = np.flatnonzero((probability > 0) & ~problem.old)
        return Randomised(
            item=problem.item[shown],
            reviewer=problem.reviewer[shown],
            probability=probability[shown],
            items=problem.items,
            reviewers=problem.reviewers,
            max_probability=self.chances.one_cap,
            perturbation=self.chances.perturbation,
            certain=int((problem.given & ~problem.old).sum()),
            expected=float((problem.affinity * probability)[shown].sum()),
            best=self.unconstrained,
            gap=max(bound - value, 0.0) / abs(bound) if bound else 0.0,
            listed=listed,
        )


def without_rivals(problem: Problem, gain: Gain, limits: Limits, found: Marginals) -> Marginals | None:
    """Bar one of each two rivals of the support, the one of less gain, until it holds none: then no draw does.

    None where that leaves nothing, which is no proof that nothing is left by other choices.
    """
    most, least = limits.most.copy(), limits.least.copy()
    while (couples := problem.rivals.couples_among(found.units > 0)).size:
        value = found.units * gain.worth
        for couple in couples.tolist():
            if most[couple].all():
                lesser = min(couple, key=lambda pair: (bool(problem.given[pair]), value[pair]))
                most[lesser] = least[lesser] = 0
        again = best_marginals(problem, gain, Limits(least, most))
        if again is None:
            return None
        found = again
    return found


def _listed(problem: Problem, mixed: Mixture, rounded: IntArray, count: int) -> Listed:
    """Say what is known of the assignments of a list, and what mending has made of the rounded ones."""
    shown = np.flatnonzero((mixed.counts > 0) & ~problem.old)
    holds = np.zeros((count, problem.item.size), np.bool_)
    for k, pairs in enumerate(mixed.pairs):
        holds[k, pairs] = True
    return Listed(
        holds=holds[:, shown],
        at_level=float(mixed.at_once.mean()),
        mended=float(mixed.reached.mean()),
        changed=float(mixed.changed.mean()),
        lost=float((problem.affinity * (rounded - mixed.counts)).sum() / count),
    )
