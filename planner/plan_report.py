"""The report of a plan: extra reviews, invited reviewers, papers, and the groups that the reviews join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.outcome import PlanStatus
from planner._plans.targets import target_named
from planner._plans.task import new_task
from planner._plans.words import TO_AUTHORS, expectations, filled, joins, page, verdict, where_it_stands
from planner.assignment_report import said_once
from reviewgraph._base import Clock, Mentions, counted, natural_key, noun, places, ranging
from reviewgraph.graph import level_named, structure_of
from reviewgraph.report import (
    MOST,
    Bar,
    Column,
    Document,
    Fact,
    Listed,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    bars,
    group_map,
    grouping_of,
    paper_columns,
    pictures_among,
    steps,
)

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner._plans.process import Asked as Late
    from planner._plans.process import Rounds
    from reviewgraph._base import IntArray, Label
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


def growth(plan: Plan) -> tuple[list[int], list[int]]:
    """Return the number of papers in the largest group, and of groups, before a plan and after each of its reviews."""
    groups = target_named(plan.target).groups(plan.constraints.reviews)
    sizes = [int(cover.size) for cover in groups.covers]
    return (
        [max(sizes, default=0), *(review.covers for review in plan.reviews)],
        [sum(size > 0 for size in sizes), *(review.groups for review in plan.reviews)],
    )


def document(plan: Plan, subject: str, closing: Sequence[str] = ()) -> Document:
    """Return the report of a plan on ``subject``, the files; ``closing`` are the next commands."""
    asked = Asked(plan) if plan.reviews else None
    proof = " ".join(verdict(plan))
    reviews = plan.constraints.reviews
    caveats = reviews.origin.caveats(reviews.n_items)
    # Gains depend on which scores are the best.
    caveats += [] if plan.purchase is None else [reviews.direction]
    short = [] if plan.shortage is None else plan.shortage.sentences()
    lead = " ".join([*caveats, *filter(None, [asked.outcome(), asked.most()] if asked is not None else [proof])])
    return Document(
        "Plan of extra reviews",
        subject,
        None if plan.attained and reviews.origin.is_partial else plan.attained,
        _headline(plan, asked),
        lead,
        [
            *([proof] if asked is not None else []),
            *(f"{words[:1].upper()}{words[1:]}." for words in plan.explanation),
            *short,
        ],
        closing,
        _facts(plan, asked),
        _sections(plan, asked) if asked is not None else [],
        [*page(plan).splitlines(), "", *closing],
    )


def pictures(plan: Plan) -> list[Picture]:
    """Return the pictures of a plan: groups, steps and loads; of one without reviews, the map of the groups."""
    parts = [*_pictured(plan), Asked(plan).loads()] if plan.reviews else _as_it_is(plan)
    return pictures_among([Section("plan", "What the reviews join", parts)])


def _headline(plan: Plan, asked: Asked | None) -> str:
    if plan.status == PlanStatus.INFEASIBLE:
        return "There is no plan"
    if asked is None:
        return "Nothing is missing" if plan.attained else "A part of the way"
    whole = f" of {plan.lower_bound:,} or more" if plan.count < plan.lower_bound else ""
    by = f", by {counted(asked.codes.size, 'reviewer')} for {counted(asked.n_papers, 'paper')}"
    return f"{counted(plan.count, 'extra review')}{by if plan.attained else f'{whole}: a part of the way'}"


def _facts(plan: Plan, asked: Asked | None) -> list[Fact]:
    rules = plan.constraints
    deal = plan.purchase
    # A plan without a level has nothing to prove.
    for_level = plan.status != PlanStatus.CHOSEN
    proved = f"proved: at least {plan.lower_bound:,}" if for_level else ""
    if plan.rounds is not None:
        return _facts_of_round(plan.rounds, asked)
    facts = [
        Fact("Extra reviews", f"{plan.count:,}", proved),
        Fact("Largest extra load", f"{plan.largest_load:,}", noun(plan.largest_load, "review")),
    ]
    if asked is not None:
        after, before = asked.per_paper()
        facts.append(Fact("Invited reviewers", f"{asked.codes.size:,}", f"of {rules.reviews.n_reviewers:,}"))
        facts.append(Fact("Reviews per paper", after, f"{before} before"))
    if for_level:
        facts.append(Fact("Level", plan.target))
    if plan.affinity is not None:
        facts.append(Fact("Affinity", f"{plan.affinity:g}"))
    elif rules.cost:
        facts.append(Fact("Cost", f"{plan.cost:g}"))
    if deal is not None:
        facts.append(Fact("Expected with them", f"{deal.after:.2f}", f"{deal.unit}; {deal.before:.2f} before"))
    return facts


def _facts_of_round(rounds: Rounds, asked: Asked | None) -> list[Fact]:
    """Return wrong selections expected now and later, the reviews of this round, and those held back."""
    number = rounds.number
    facts = [Fact("Wrong now", f"{rounds.before:.2f}", f"expected, of {rounds.terms.select} selected")]
    if rounds.stop is None:
        facts += [
            Fact(
                f"Wrong after round {number + place}",
                f"{expected.wrong:.2f}",
                f"+- {expected.error:.2f}; {expected.reviews:.0f} asked",
            )
            for place, expected in enumerate(rounds.after)
            if place in (0, len(rounds.after) - 1)
        ]
    facts.append(Fact("Reviews now", f"{rounds.now:,}", f"of {rounds.budget:,}"))
    if not rounds.last:
        facts.append(Fact("Held back", f"{rounds.held_back:,}"))
    elif rounds.unspent:
        facts.append(Fact("Not spent", f"{rounds.unspent:,}"))
    return facts if asked is None else [*facts, Fact("Invited reviewers", f"{asked.codes.size:,}")]


def _sections(plan: Plan, asked: Asked) -> list[Section]:
    letters = [*plan.mail().values()]
    parts = [*_pictured(plan), *_reviews(plan)]
    mail = [Listed("A letter to each reviewer; they differ in names and papers alone:", letters, 1)] if letters else []
    return [
        *_rounds(plan),
        Section("who", "Invited reviewers and their papers", [asked.to_table(), asked.loads()]),
        Section("plan", "What the reviews join" if plan.links else "Review by review", parts),
        Section("mail", "Mail to reviewers", mail),
    ]


def _rounds(plan: Plan) -> list[Section]:
    """Return the section on a round: expected wrong selections by round."""
    rounds = plan.rounds
    if rounds is None or rounds.stop is not None:
        return []
    shown = [Bar("now", round(rounds.before, 2))]
    shown += [
        Bar(
            f"after round {rounds.number + place} ({rounds.name_after(place)})",
            round(expected.wrong, 2),
            stands_out=True,
        )
        for place, expected in enumerate(rounds.after)
    ]
    several = len(rounds.reach) > 1
    shown += [Bar("all in one round", round(rounds.reach[0].wrong, 2))] * several
    shown.append(Bar("spread evenly", round(rounds.even.wrong, 2)))
    words = (
        f"Expected wrong selections among the {rounds.terms.select} papers selected, as things stand and after each "
        f"round; below {'with all reviews in one round, and ' if several else ''}with the same number spread evenly "
        "over all papers."
    )
    picture = Picture(
        "rounds", "Wrong selections by round", words, lambda width: bars(shown, width, "wrong selections")
    )
    sentences = [*where_it_stands(rounds), *expectations(rounds), TO_AUTHORS]
    parts: list[Part] = [picture, Listed("What is held back, and what is expected:", sentences)]
    return [Section("rounds", "Rounds", parts)]


def _pictured(plan: Plan) -> list[Part]:
    """Return pictures of what the reviews join; nothing where they were not chosen to join anything."""
    if not plan.links:
        return []
    return [*_map(plan), *_steps(plan)]


def _as_it_is(plan: Plan) -> list[Part]:
    """Return the map of the groups as they are, whose words say that the plan adds nothing."""
    grouping = grouping_of(structure_of(plan.constraints.reviews))
    if not len(grouping):
        return []
    words = f"The plan adds no reviews: {plan.headline()}. Circle areas show the number of papers of each group."
    return [Picture("map", "No extra reviews", words, partial(group_map, grouping.map()))]


def _map(plan: Plan) -> list[Part]:
    """Return the map of groups with the reviews of the plan; nothing for one group, or without lines."""
    grouping = grouping_of(structure_of(plan.constraints.reviews))
    groups = grouping.map(plan.pairs)
    if len(grouping) < 2 or not groups.extra.size:
        return []
    words = (
        "Groups before the plan, as in the report of a check: circle areas show the number of papers, lines the "
        "papers that two groups share. A dashed line is an extra review, from the group of its reviewer to the paper, "
        "or to the only group with it."
    )
    return [Picture("map", "Which groups the reviews join", words, partial(group_map, groups))]


def _steps(plan: Plan) -> list[Part]:
    """Return pictures of the growth of the largest group, and of the number of groups."""
    table = plan.constraints.reviews
    (largest, left) = growth(plan)
    names = [f"{table.reviewers[j]} reads {table.items[i]}" for j, i in plan.pairs.tolist()]
    papers = table.n_items
    first = (
        "Papers in the largest group after each extra review, the most useful first: "
        f"{largest[0]:,} before the first, {largest[-1]:,} of {papers:,} after the last."
    )
    second = (
        f"Number of groups after each extra review: {left[0]:,} before the first, {left[-1]:,} after the last. "
        "It may decrease long before the largest group grows."
    )
    return [
        Picture(
            "steps",
            "The plan step by step: the largest group",
            first,
            lambda width: steps(largest[0], largest[1:], names, papers, width, "papers in the largest group", "papers"),
            _in_words("Papers in the largest group", largest, f" of {papers:,}"),
        ),
        Picture(
            "groups",
            "The plan step by step: number of groups",
            second,
            lambda width: steps(left[0], left[1:], names, max(left), width, "groups", "groups"),
            _in_words("Groups", left, ""),
        ),
    ]


def _in_words(what: str, numbers: Sequence[int], of: str) -> str:
    """Return a sentence instead of a step plot with at most one step."""
    if len(set(numbers)) > 2:
        return ""
    if numbers[0] == numbers[-1]:
        return f"{what}: {numbers[0]:,}{of}, before the plan and with it."
    return f"{what}: {numbers[0]:,} before the plan, {numbers[-1]:,}{of} with it."


def _reviews(plan: Plan) -> list[Part]:
    """Return the table of all reviews, and above it the sentences that several rows share."""
    parts: list[Part] = []
    joins = [review.joins.partition(": ")[2] for review in plan.reviews]
    joined = said_once(joins, [review.short for review in plan.reviews])
    if joined.once and plan.links:
        parts.append(Listed("What several reviews join, with the short form in the table:", joined.once))
    if plan.purchase is not None:
        cut = "" if plan.rounds is None else ", with the cut where it is"
        words = f"gain: by how much a review lowers what is expected ({plan.purchase.unit}) after those above it{cut}."
        parts.append(Prose([words]))
    bought = [review.buys.removeprefix(f"{review.item} ") for review in plan.reviews]
    return [*parts, _table(plan, joined.rows, bought)]


def _table(plan: Plan, joined: Sequence[str], bought: Sequence[str]) -> Table:
    table = plan.constraints.reviews
    prices = plan.constraints.cost
    priced = "affinity" if prices.best is not None else "cost" if prices else ""
    columns = [
        Column("step", list(range(1, plan.count + 1)), "number"),
        *paper_columns(table, plan.pairs[:, 1].tolist()),
        Column("reviewer", [table.reviewers[j] for j in plan.pairs[:, 0].tolist()]),
    ]
    if priced:
        columns.append(Column(priced, [getattr(review, priced) for review in plan.reviews], "number", 2))
    if plan.links:
        columns.append(Column("largest group", [review.covers for review in plan.reviews], "number"))
    if plan.purchase is not None:
        columns.append(Column("gain", [review.gain for review in plan.reviews], "number", 3))
    if plan.links:
        columns.append(Column("what it joins", joined))
    if plan.purchase is not None:
        columns.append(Column("benefit", bought))
    return Table("reviews", "Extra reviews, the most useful first", columns, "reviews")


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
