"""What a run of the stages has found so far, and the answer that each end gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.model.authors import authored
from planner.assignments.model.comparing import concerned
from planner.assignments.steps.alternates import alternates_of
from planner.assignments.teams.best import Teams, kept_by, within_rules
from planner.assignments.words.authors import rules_on_authors
from planner.assignments.words.fair import why_below
from planner.assignments.words.why_no_panels import why_no_panels
from planner.assignments.words.why_none import how_it_ended, why_fragile, why_unsure
from reviewgraph.assumptions import Assumptions
from reviewgraph.mentions import PAPERS, said_under
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.fair.serving import Fair
    from planner.assignments.findings.exchanged import Exchanges
    from planner.assignments.findings.fairness import Fairness
    from planner.assignments.findings.standing_by import Alternates
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray


class Say(Protocol):
    """Told in words what goes on, and the share that is done where that is known."""

    def __call__(self, words: str, done: float | None = None) -> object:
        """Listen."""


@dataclass
class Ends:
    """What is asked of an assignment, what the stages have found, and how they may end.

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
    best_effort
        Whether an assignment is wanted even where it is proved that none reaches the level.
    exchanges, not_exchanged
        Found on the way: what exchanges bought, where they were looked for; and else why they were not.
    least_loss
        Found on the way: affinity that the level costs at least, where that is known.
    exposed
        Found on the way: reviewers by whose loss, or by that of one review of theirs, a level fails that shall outlive
        it.
    unsure
        Found on the way: whether time was over before it was known whom the level hangs on that shall outlive a loss.
    fewest, lost_first
        Found on the way: fewest pairs of each kind that is to be few, and the affinity that this costs.
    proved
        Found on the way: whether it is proved that no assignment reaches what is asked for.
    scale, unconstrained, rivals, teams
        Found on the way: steps of rounding in a unit of affinity, the most affinity without rules and level, couples of
        rivals that it has, and the best assignment under the rules.
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
    best_effort: bool = False
    exchanges: Exchanges | None = None
    not_exchanged: str = ""
    least_loss: float | None = None
    exposed: tuple[Label, ...] = ()
    unsure: bool = False
    proved: bool = False
    fewest: tuple[int, ...] = ()
    lost_first: float = 0.0
    scale: float = 0.0
    unconstrained: float = math.nan
    rivals: int = 0
    teams: Teams = field(default_factory=lambda: Teams(None, False, math.inf))

    def answer(
        self, assigned: BoolArray, critical: tuple[Label, ...] | None, forced: int, *, reached: bool
    ) -> Assignment:
        """Say all that is known of an assignment: what it reached, kept and cost."""
        problem = self.problem
        # Reviews of the first phase are no part of the answer.
        new = np.flatnonzero(assigned & ~problem.old)
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        fairness = None if self.fair is None else self.fair.result(assigned)
        below = fairness is not None and bool(fairness.below)
        # Optimal is what is worth as much as the best without a level: nothing can be better.
        same = self.teams.proved and bool((assigned == self.teams.chosen).all())
        status = AssignmentStatus.OPTIMAL if same else AssignmentStatus.FEASIBLE
        if not reached or self.exposed or self.unsure or below:
            status = AssignmentStatus.LEVEL_MISSED
        why = ""
        if not reached:
            why = how_it_ended(problem, self.aim, assigned, self.clock, proved=self.proved)
        elif self.unsure:
            why = why_unsure(self.clock)
        elif self.exposed:
            why = why_fragile(problem, self.aim, self.exposed, self.clock, proved=self.proved)
        if fairness is not None and below:
            why = f"{why} {why_below(self._composed(fairness))}".strip()
        return Assignment(
            *(status, self.aim.name, self._reviews(new), problem.affinity[new][order], self.unconstrained),
            *(critical, forced, self._said(why)),
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

    def without_teams(self) -> Assignment:
        """Say that no teams were found, or why there are none."""
        if self.teams.proved:
            return self.infeasible(
                "Demands and loads can be met, but not all that is asked of each paper. "
                + why_no_panels(self.problem, self.clock),
            )
        rules = ", ".join([*self.problem.ruled.words(), *rules_on_authors(self.problem)])
        why = f"No assignment with {rules} on each paper was found in the time given."
        return self.nothing(AssignmentStatus.LEVEL_MISSED, why)

    def infeasible(self, reason: str) -> Assignment:
        """Say why there is no assignment; that is proved."""
        return self.nothing(AssignmentStatus.INFEASIBLE, reason)

    def nothing(self, status: AssignmentStatus, why: str) -> Assignment:
        """End without an assignment."""
        nothing = np.empty(0, np.int64)
        reviews = self._reviews(nothing)
        return Assignment(status, self.aim.name, reviews, np.empty(0), self.unconstrained, explanation=self._said(why))

    def _said(self, why: str) -> str:
        """Say under the labels of the problem what mentions reviewers and papers."""
        return said_under(self.problem.reviewers, self.problem.items)(why)

    def _composed(self, fairness: Fairness) -> Fairness:
        """Put mentions of papers for their labels."""
        below = set(fairness.below)
        codes = [code for code, label in enumerate(self.problem.items) if label in below]
        return replace(fairness, below=tuple(PAPERS[code] for code in codes))
