"""Shared parts of reports: the invited reviewers of a plan, and results under codes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.outcome import PlanStatus
from planner._plans.targets import target_named
from planner._plans.task import new_task
from planner._plans.words import filled, joins
from reviewgraph._base import Clock, Mentions, counted, natural_key, places, ranging
from reviewgraph.graph import level_named
from reviewgraph.report import MOST, Bar, Column, Picture, Table, bars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner._assign.assignment import Assignment
    from planner._assign.findings import Pair, Violated
    from planner._plans.plan import Plan
    from planner._plans.process import Asked as Late
    from planner._plans.process import Rounds
    from reviewgraph._base import IntArray, Label
    from reviewgraph.report import Codes
    from reviewgraph.table import Reviews


#: Maximum number of reviewers listed with the largest load.
NAMED = 3


class Asked:
    """The invited reviewers of a plan, by decreasing number of reviews, then in the natural order of labels."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.table = plan.constraints.reviews
        extra = np.bincount(plan.pairs[:, 0], minlength=self.table.n_reviewers)
        order = np.lexsort((places(self.table.reviewers), -(self.table.loads + extra), -extra))
        self.codes: IntArray = order[: int((extra > 0).sum())]
        self.extra, self.before = extra[self.codes], self.table.loads[self.codes]

    @property
    def n_papers(self) -> int:
        """Number of papers with extra reviews."""
        return int(np.unique(self.plan.pairs[:, 1]).size)

    def most(self) -> str:
        """Return the sentence on the largest extra load."""
        largest = int(self.extra[0])
        who = self._names(self.codes[self.extra == self.extra[0]])
        if self.codes.size == 1:
            return f"{who[0]} gets {'it' if largest == 1 else f'all {largest:,} of them'}."
        if len(who) == self.codes.size:
            return f"Nobody gets more than {'one' if largest == 1 else largest} of them."
        if len(who) > NAMED:
            return f"The largest extra load is {largest:,}, for {len(who):,} reviewers."
        *first_names, last = who
        if not first_names:
            return f"{last} has the largest extra load, {largest:,}."
        return f"{', '.join(first_names)} and {last} have the largest extra load, {largest:,} each."

    def outcome(self) -> str:
        """Return the sentence on the state once the reviews have arrived; empty for a partial plan."""
        plan = self.plan
        deal = self.plan.purchase
        if not plan.attained:
            return ""
        if plan.rounds is not None:
            wrong = plan.rounds.after[0].wrong
            return (
                f"With these reviews {wrong:.2f} wrong selections are expected, without them {plan.rounds.before:.2f}."
            )
        if plan.status == PlanStatus.CHOSEN and deal is not None:
            return f"With these reviews: {deal.after:.2f} {deal.unit}, without them {deal.before:.2f}."
        least = plan.constraints.people.min_reviews
        with_reviews = f", and each has {counted(least, 'review')} or more" if least else ""
        papers = f"{self.table.n_items:,} papers{self.table.origin.of_this_file}"
        return f"With these reviews all {papers} are {level_named(plan.target).words}{with_reviews}."

    def per_paper(self) -> tuple[str, str]:
        """Return reviews per paper with the plan, and before it."""
        after = self.plan.reviews_with_plan.reviews_per_item
        before = self.table.reviews_per_item
        return ranging(int(after.min()), int(after.max())), ranging(int(before.min()), int(before.max()))

    def loads(self) -> Picture:
        """Return the picture of loads before the plan and with it."""
        names = self._names(self.codes[:MOST])
        rows = zip(names, self.before.tolist(), self.extra.tolist(), strict=False)
        shown = [Bar(name, before, extra=extra) for name, before, extra in rows]
        who = (
            f"The {MOST} invited reviewers with most extra reviews"
            if self.codes.size > MOST
            else "All invited reviewers"
        )
        words = f"{who}: their reviews before the plan, and in another colour the extra ones."
        alike = len({(bar.number, bar.extra) for bar in shown}) == 1
        instead = (
            f"{self.codes.size:,} of {counted(self.table.n_reviewers, 'reviewer')} are invited, each for at most "
            f"{self.extra[0]} more, in addition to {ranging(int(self.before.min()), int(self.before.max()))}."
        )
        return Picture(
            "loads", "Invited reviewers", words, lambda width: bars(shown, width, "reviews"), instead if alike else ""
        )

    def to_table(self) -> Table:
        """Return the table of invited reviewers."""
        papers: dict[int, list[Label]] = {}
        for j, i in self.plan.pairs.tolist():
            papers.setdefault(j, []).append(self.table.items[i])
        named = [", ".join(map(str, sorted(papers[j], key=natural_key))) for j in self.codes.tolist()]
        columns = [
            Column("reviewer", self._names(self.codes)),
            Column("extra", self.extra.tolist(), "number"),
            Column("papers", named),
            Column("before", self.before.tolist(), "number"),
            Column("with these", (self.before + self.extra).tolist(), "number"),
        ]
        return Table(
            "asked",
            "Invited reviewers, those with most extra reviews first",
            columns,
            "reviewers",
            live=self.codes.size > MOST,
        )

    def _names(self, codes: IntArray) -> list[str]:
        return [str(self.table.reviewers[j]) for j in codes.tolist()]


# Plans and assignments under codes, in tables and sentences.


def coded_plan(plan: Plan) -> Plan:
    """Return a plan, whose tables have codes already, with codes in all sentences."""
    rules = plan.constraints
    table = plan.constraints.reviews
    pairs = plan.pairs
    task = new_task(rules.without_fixed(), plan.count + 1)
    joined, *_ = joins(task, target_named(plan.target), pairs, Clock(None))
    reviews = tuple(
        replace(
            review,
            reviewer=table.reviewers[j],
            item=table.items[i],
            joins=joined_here.words,
            short=joined_here.short,
            buys=review.buys and f"{table.items[i]}{review.buys.removeprefix(str(review.item))}",
        )
        for review, (j, i), joined_here in zip(plan.reviews, pairs.tolist(), filled(task, pairs, joined), strict=True)
    )
    labelled = Mentions.labelled(table.reviewers, table.items)
    reasons = tuple(map(labelled, plan.explanation))
    bounds = tuple(replace(bound, lost=labelled(bound.lost)) for bound in plan.bounds)
    rounds = None if plan.rounds is None else _coded_rounds(plan.rounds, table)
    return replace(plan, reviews=reviews, explanation=reasons, bounds=bounds, rounds=rounds)


def _coded_rounds(rounds: Rounds, table: Reviews) -> Rounds:
    """Return a round with codes for the reviews that its page names; a reviewer who is gone has none."""
    reviewers, items = rounds.labels
    reviewer = dict(zip(reviewers, table.reviewers, strict=True))
    item = dict(zip(items, table.items, strict=True))

    def coded(reviews: Iterable[Late]) -> tuple[Late, ...]:
        renamed = [
            review._replace(item=item[review.item], reviewer=reviewer.get(review.reviewer, "a reviewer who is gone"))
            for review in reviews
        ]
        # In the order of the codes, since that of the labels would reveal something.
        return tuple(sorted(renamed, key=lambda review: (natural_key(review.item), natural_key(review.reviewer))))

    terms = replace(rounds.terms, outstanding=coded(rounds.terms.outstanding), lost=coded(rounds.terms.lost))
    return replace(rounds, terms=terms)


def _by_code(violated: Violated) -> tuple[object, ...]:
    """Return the key that puts labels in the order of their codes."""
    return natural_key(violated.label)


def coded_assignment(assignment: Assignment, codes: Codes) -> Assignment:
    """Return an assignment, whose table has codes already, with codes in all sentences."""
    reviewer = codes.reviewer
    item = codes.item
    labelled = Mentions.labelled(assignment.reviews.reviewers, assignment.reviews.items)

    def in_order(labels: Iterable[Label], code: Mapping[Label, str]) -> tuple[str, ...]:
        # In the order of the codes, since that of the labels would reveal something.
        return tuple(sorted((code[label] for label in labels), key=natural_key))

    def coded(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        renamed = [pair._replace(reviewer=reviewer[pair.reviewer], item=item[pair.item]) for pair in pairs]
        return tuple(sorted(renamed, key=lambda pair: (natural_key(pair.item), natural_key(pair.reviewer))))

    # Reviewers who are gone have no code, and are not listed.
    changes = assignment.concerned.changes
    below = assignment.concerned.below
    if changes is not None:
        dropped = tuple(pair._replace(reviewer="", item="") for pair in changes.dropped)
        changes = replace(changes, kept=coded(changes.kept), dropped=dropped, new=coded(changes.new))
    if below is not None:
        below = below._replace(pairs=coded(below.pairs))
    facts = assignment.facts
    if facts is not None:
        papers = sorted((fact._replace(label=item[fact.label]) for fact in facts.above_demand), key=_by_code)
        people = sorted((fact._replace(label=reviewer[fact.label]) for fact in facts.above_load), key=_by_code)
        facts = facts._replace(conflicts=coded(facts.conflicts), above_demand=tuple(papers), above_load=tuple(people))
    alternates = assignment.alternates
    shortage = assignment.shortage
    if alternates is not None:
        lacking = [gap._replace(item=item[gap.item]) for gap in alternates.missing]
        lacking.sort(key=lambda gap: natural_key(gap.item))
        alternates = replace(alternates, listed=(), missing=tuple(lacking))
    if shortage is not None:
        gaps = sorted(
            ((item[label], number) for label, number in shortage.missing), key=lambda gap: natural_key(gap[0])
        )
        shortage = replace(shortage, missing=tuple(gaps), why=labelled(shortage.why))
    return replace(
        assignment,
        critical=None if assignment.critical is None else in_order(assignment.critical, reviewer),
        concerned=assignment.concerned._replace(changes=changes, below=below),
        facts=facts,
        alternates=alternates,
        explanation=labelled(assignment.explanation),
        shortage=shortage,
    )
