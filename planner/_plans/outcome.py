"""The status of a plan, its expected gain, shortages and rules in words, and recruits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import People
from planner.rules import first_named, ruled_by
from planner.shortage import usual_load
from reviewgraph._base import Mentions, Status, noun
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._plans.constraints import Constraints, Needs
    from reviewgraph._base import BoolArray, IntArray, Label


class PlanStatus(Status):
    """Status of a plan; :attr:`text` explains it.

    >>> PlanStatus("feasible").text
    'This plan reaches the target; whether a smaller one does is open.'
    """

    OPTIMAL = "optimal", "This is proved to be the smallest plan."
    FEASIBLE = "feasible", "This plan reaches the target; whether a smaller one does is open."
    INFEASIBLE = "infeasible", "There is no such plan."
    BUDGET_EXHAUSTED = "budget_exhausted", "This plan is partial."
    LEVEL_MISSED = "level_missed", "This plan is partial."
    BEST_EFFORT = "best_effort", "No plan meets the request: this is the best partial plan found."
    EXTENDED = "extended", "The target is reached; further reviews were chosen one by one, each for the largest gain."
    CHOSEN = "chosen", "Reviews were chosen one by one, each for the largest gain after those before it."

    @property
    def may_grow(self) -> bool:
        """Whether more reviews may be added."""
        return self is not PlanStatus.INFEASIBLE and not self.is_partial

    @property
    def is_partial(self) -> bool:
        """Whether such a plan may miss its target."""
        return self in (PlanStatus.BUDGET_EXHAUSTED, PlanStatus.LEVEL_MISSED, PlanStatus.BEST_EFFORT)

    @property
    def reaches(self) -> bool:
        """Whether such a plan reaches its target."""
        return self in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE, PlanStatus.EXTENDED)


@dataclass(frozen=True)
class Purchase:
    """Expected gain of a plan, under the model from which it was made.

    ``before`` and ``after`` are totals in ``unit`` without and with the reviews of the plan, fixed ones included in
    both, ``at_random`` with as many reviews of random papers. Reviews from number ``first`` on serve the objective;
    ``helps`` explains them to the reviewers invited.
    """

    objective: str
    unit: str
    before: float
    after: float
    at_random: float
    first: int
    helps: str

    def to_dict(self) -> dict[str, Any]:
        totals = {"objective": self.objective, "unit": self.unit, "before": self.before, "after": self.after}
        return {**totals, "at_random": self.at_random}


def what_is_missing(people: People, needs: Needs, among: BoolArray) -> list[tuple[int, str]]:
    """Count some papers by the requirement that they miss, described by what they have instead."""
    # What differs among papers is said for the one that needs most.
    panels = people.panels
    members = [fewer(people, group, least) for group, least in enumerate(panels.least.max(axis=0, initial=0).tolist())]
    values = [
        f"reviewers of fewer than {panels.different[:, number].max(initial=0)} different values of {name}"
        for number, name in enumerate(people.attribute_names)
    ]
    missing = np.concatenate([needs.members[among] > 0, needs.different[among] > 0], axis=1).sum(axis=0).tolist()
    return [(count, words) for count, words in zip(missing, members + values, strict=True) if count]


def named_papers(codes: IntArray) -> str:
    """Name some papers, given by code."""
    return f"{noun(codes.size, 'paper')} {first_named([Mentions.PAPERS[i] for i in codes.tolist()])}"


def fewer(people: People, group: int, least: int) -> str:
    """Describe a shortage of a panel group: no senior reviewer, fewer than 2 senior reviewers."""
    kind = people.ruled.kind(group, least)
    return f"no {kind}" if least == 1 else f"fewer than {least} {kind}"


class RuleStanding(NamedTuple):
    """Rule of an ``option``, in ``words``: the number of ``papers`` on which it holds, and the others.

    Existing reviews may break a rule, and a partial plan may leave one unfulfilled.
    """

    option: str
    words: str
    papers: int
    broken: tuple[Label, ...]

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def standing(people: People, table: Reviews) -> list[RuleStanding]:
    """Return for each rule the papers of a table on which it holds."""
    standings = []
    for rule, attribute in zip(people.ruled.rules, people.ruled.attributes, strict=True):
        alone = People(ruled_by([(rule, attribute)], table.n_reviewers, table.n_items))
        holds = (alone.needs(table).each == 0) & (alone.free(table) >= 0).all(axis=1)
        broken = tuple(table.items[i] for i in np.flatnonzero(~holds).tolist())
        standings.append(RuleStanding(rule.text, rule.words(attribute), int(holds.sum()), broken))
    return standings


class Recruits(NamedTuple):
    """Sufficient number of further reviewers without conflicts, their maximum load, and their items, shape (R,)."""

    number: int
    load: int
    items: IntArray


def recruits_load(rules: Constraints) -> int:
    """Return the assumed load of a recruit: the median of the reviewers' loads."""
    return usual_load(rules.reviews.loads.tolist())


def with_recruits(rules: Constraints, count: int, load: int) -> Constraints:
    """Return the same with further reviewers, the last ones, with numbers for labels."""
    table = rules.reviews
    people = rules.people
    panels = people.panels
    start = np.append(panels.start, np.full(count, panels.start[-1]))
    return replace(
        rules,
        reviews=Reviews.from_codes(
            table.reviewer, table.item, reviewers=table.n_reviewers + count, items=table.n_items
        ),
        spare=np.append(rules.spare, np.full(count, load)),
        people=replace(people, ruled=people.ruled._replace(panels=panels._replace(start=start))),
    )
