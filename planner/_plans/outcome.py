"""How planning ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import People
from planner.rules import ruled_by, usual_load
from reviewgraph._base.results import Status
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    from planner._plans.constraints import Constraints, Needs
    from reviewgraph._base.arrays import BoolArray, IntArray
    from reviewgraph._base.labels import Label


class PlanStatus(Status):
    """What a plan is, by name; :attr:`text` says it to people.

    >>> PlanStatus("feasible").text
    'This plan does it; whether fewer would do is open.'
    """

    OPTIMAL = "optimal", "This is proved to be the smallest plan."
    FEASIBLE = "feasible", "This plan does it; whether fewer would do is open."
    INFEASIBLE = "infeasible", "There is no such plan."
    BUDGET_EXHAUSTED = "budget_exhausted", "This is a part of the way only."
    LEVEL_MISSED = "level_missed", "This is a part of the way only."

    BEST_EFFORT = "best_effort", "What was asked for cannot be had: this is the most of it that was found."

    EXTENDED = "extended", "The target is reached; the reviews beyond it went, one by one, where they gain most."
    CHOSEN = "chosen", "Each review is the one that gains most after those before it."

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


# What the reviews of a plan buy, and what as many would buy elsewhere.


@dataclass(frozen=True)
class Purchase:
    """Expected gain of a plan, under the model from which it was made.

    ``before`` and ``after`` are totals in ``unit`` without and with the reviews of the plan, fixed ones included in
    both; ``elsewhere`` lists the name, words and total of as many reviews chosen another way. Reviews from number
    ``first`` on serve the objective; ``helps`` explains them to the reviewers invited.
    """

    objective: str
    unit: str
    before: float
    after: float
    elsewhere: tuple[tuple[str, str, float], ...]
    first: int
    helps: str

    def to_dict(self) -> dict[str, Any]:
        found = {"objective": self.objective, "unit": self.unit, "before": self.before, "after": self.after}
        return {**found, "elsewhere": {name: after for name, _, after in self.elsewhere}}

    def sentences(self) -> list[str]:
        said = [f"expected with these reviews: {self.after:.2f} {self.unit}, without them {self.before:.2f}"]
        if self.elsewhere:
            others = ", ".join(f"{words} {after:.2f}" for _, words, after in self.elsewhere)
            said.append(f"as many reviews elsewhere: {others}")
            # What a page rounds alike is no difference.
            if round(min(after for _, _, after in self.elsewhere), 2) < round(self.after, 2):
                said.append("some of those are expected to do better than these, which were chosen one by one")
        return [
            *said,
            "these are expectations, if scores are as noisy as those so far; no proof that no others buy more",
        ]


# What papers are short of, in words.


def what_is_missing(people: People, needs: Needs, among: BoolArray) -> list[tuple[int, str]]:
    """Count some papers by the requirement that they miss, described by what they have instead."""
    panels, found = people.panels, []
    for group, least in enumerate(panels.least.tolist()):
        missing = int((needs.members[among, group] > 0).sum())
        found.append((missing, fewer(people, group, least)))
    for number, name in enumerate(people.attribute_names):
        said = f"reviewers of fewer than {panels.different[number]} different values of {name}"
        found.append((int((needs.different[among, number] > 0).sum()), said))
    return [(count, said) for count, said in found if count]


def fewer(people: People, group: int, least: int) -> str:
    """Describe a shortage of a panel group: no senior reviewer, fewer than 2 senior reviewers."""
    kind = people.ruled.kind(group, least)
    return f"no {kind}" if least == 1 else f"fewer than {least} {kind}"


# Which rules on people hold in a table, paper by paper.


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
    found = []
    for rule, attribute in zip(people.ruled.rules, people.ruled.attributes, strict=True):
        alone = People(ruled_by([(rule, attribute)], table.n_reviewers))
        holds = (alone.needs(table).each == 0) & (alone.free(table) >= 0).all(axis=1)
        broken = tuple(table.items[i] for i in np.flatnonzero(~holds).tolist())
        found.append(RuleStanding(rule.text, rule.words(attribute), int(holds.sum()), broken))
    return found


# Further reviewers, who have no conflicts and no reviews yet.


class Recruits(NamedTuple):
    """Sufficient number of further reviewers, the maximum load of each, and the items of their reviews, shape (R,)."""

    number: int
    load: int
    items: IntArray


def recruits_load(rules: Constraints) -> int:
    """Return the assumed load of a recruit: the median of the reviewers' loads."""
    return usual_load(rules.reviews.loads.tolist())


def with_recruits(rules: Constraints, count: int, load: int) -> Constraints:
    """Return the same with further reviewers, the last ones, with numbers for labels."""
    table, people = rules.reviews, rules.people
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
