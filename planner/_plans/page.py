"""The page of a plan: what it reaches and what is proved, the reviews and why they are asked for; then details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.arrivals import joins
from planner._plans.outcome import NAMED, PlanStatus
from planner._plans.targets import target_named
from planner._plans.task import new_task
from reviewgraph._base import Clock, Mentions, counted, listed, natural_key, noun, places, ranging
from reviewgraph.graph import level_named, structure_of
from reviewgraph.report import (
    MOST,
    Bar,
    Column,
    Fact,
    Listed,
    Nouns,
    Page,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    bars,
    group_map,
    grouping_of,
    not_counted,
    paper_columns,
    steps,
)

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner._plans.process import Asked as Late
    from planner._plans.process import Rounds
    from reviewgraph._base import IntArray, Label
    from reviewgraph.report.pictures import Drawing
    from reviewgraph.table import Reviews

#: Reviews that are seen first, rounds too, and characters of a paper's title.
FIRST = 6
FIRST_ROUNDS = 4
TITLE = 20
#: Share of the papers for each of which a warning proposes one more review.
MORE = 0.3


def page_of(plan: Plan, output: str = "") -> Page:
    """Return the page of a plan, which is written to ``output``, if anywhere."""
    reviews = plan.constraints.reviews
    rounds = plan.rounds
    good, verdict, summary = _verdict(plan) if rounds is None else _verdict_on_round(plan, rounds)
    invited = Invited(plan)
    return Page(
        "Plan of extra reviews",
        good,
        verdict,
        summary,
        facts=[
            *([_first(plan, output)] if plan.reviews else []),
            *([] if rounds is None or rounds.stop else [_after(rounds, FIRST_ROUNDS)]),
            *_facts(plan, invited),
            *not_counted(reviews),
        ],
        warnings=_warnings(plan),
        sections=[
            Section("reviews", "Review by review", lambda: [_table(plan)] if plan.reviews else []),
            Section("reviewers", "Invited reviewers", lambda: invited.parts() if plan.reviews else []),
            Section("groups", "Groups", lambda: _groups(plan)),
            Section("rounds", "Rounds", lambda: [] if rounds is None or rounds.stop else _rounds(rounds)),
            Section("proof", "What is proved", lambda: _proof(plan)),
            Section("mail", "Mail to reviewers", lambda: _mail(plan)),
        ],
        nouns=Nouns(*reviews.nouns),
    )


# The first line.


def _verdict(plan: Plan) -> tuple[bool | None, str, str]:
    """Return whether all is well, the verdict, and the rest of its line."""
    reviews = plan.constraints.reviews
    words = level_named(plan.target).words
    papers = f"all {counted(reviews.n_items, 'paper')}" if reviews.n_items != 1 else "the paper"
    make, get = ("makes", "make") if level_named(plan.target).compares else ("gets", "get")
    number = counted(plan.count, "review")
    deal = plan.purchase
    if plan.status == PlanStatus.INFEASIBLE:
        return False, "No plan", f"{make} {papers} {words} within the rules"
    if not plan.attained:
        before, after = plan.reach
        closest = "the closest to the request" if plan.status == PlanStatus.BEST_EFFORT else "not enough"
        reached = f"{after.papers:,} of {counted(after.of, 'paper')} {words}, {before.papers:,} without them"
        return False, f"{number},", f"{closest}: {reached}"
    if deal is not None and plan.status == PlanStatus.CHOSEN:
        if not plan.reviews:
            return None, "No review helps:", f"expect {deal.before:.2f} {deal.unit}"
        return True, f"{number}:", _expected(plan)
    good = None if reviews.origin.is_partial else True
    if not plan.reviews:
        few = " of this file" if reviews.origin.unlisted else ""
        return good, "No review is missing:", f"{papers}{few} {'are' if reviews.n_items != 1 else 'is'} {words}"
    least = plan.constraints.people.min_reviews
    reached = f"{papers} {words}{f', with {least} or more each' if least else ''}"
    if deal is not None and plan.status == PlanStatus.EXTENDED:
        rest = plan.count - deal.first
        summary = f"{deal.first:,} {get} {reached} ({_proved(plan, deal.first)}); with {rest:,} more {_expected(plan)}"
        return good, f"{number}:", summary
    return good, number, f"{get if plan.count != 1 else make} {reached} ({_proved(plan, plan.count)})"


def _proved(plan: Plan, count: int) -> str:
    """Return what is proved of the number of reviews that reach the level, ``count``."""
    inside = ", for the reviews in these files" if plan.constraints.reviews.origin.lacking else ""
    if plan.lower_bound < count:
        return f"not proved: at least {plan.lower_bound:,} {noun(plan.lower_bound, 'is', 'are')} needed{inside}"
    better = ""
    if plan.status == PlanStatus.FEASIBLE:
        better = "; some may cost less" if plan.constraints.cost.best is None else "; some may have a higher affinity"
    return f"proved: no fewer{inside}{better}"


def _expected(plan: Plan) -> str:
    deal = plan.purchase
    if deal is None:
        return ""
    return (
        f"expect {deal.after:.2f} {deal.unit}, instead of {deal.before:.2f} without and {deal.at_random:.2f} with as "
        "many at random"
    )


def _verdict_on_round(plan: Plan, rounds: Rounds) -> tuple[bool | None, str, str]:
    if plan.status == PlanStatus.INFEASIBLE:
        return _verdict(plan)
    if rounds.stop is not None:
        return None, "The process ends here:", f"{rounds.stop}; expect {rounds.before:.2f} {_of(rounds)}"
    kept = f"{rounds.held_back:,} of {rounds.budget:,} held back"
    if not rounds.held_back or rounds.left == 1:
        kept = f"{rounds.unspent:,} of {rounds.budget:,} not spent" if rounds.unspent else "none held back"
    now = f"round {rounds.number} of {rounds.number + rounds.left - 1}: {counted(rounds.now, 'review')} now"
    return True, f"{now},", f"{kept}; expect {rounds.after[0].wrong:.2f} {_of(rounds)}, instead of {rounds.before:.2f}"


def _of(rounds: Rounds) -> str:
    return f"wrong of {rounds.terms.select} selected"


# What is seen first: a few reviews, whom they are asked of, what is expected, and what may be wrong.


def _first(plan: Plan, output: str) -> Table:
    """Return the reviews of a plan with why they are asked for, the first of which are seen."""
    titles = plan.constraints.reviews.titles
    papers = [f"{review.item} {titles.get(review.item, '')}".strip() for review in plan.reviews]
    columns = [
        Column("paper", [paper if len(paper) <= TITLE else f"{paper[: TITLE - 1].rstrip()}…" for paper in papers]),
        Column("ask", [str(review.reviewer) for review in plan.reviews]),
        Column("because", [_why(plan, place) for place in range(plan.count)]),
    ]
    if plan.status == PlanStatus.CHOSEN:
        columns.insert(2, Column("saves", [review.gain for review in plan.reviews], "number", 3))
    # A line on the rest takes the place of one more row.
    shown = plan.count if plan.count <= FIRST + 1 else FIRST
    where = f"all {plan.count:,} in {output}" if output else "section reviews"
    more = f"... and {plan.count - shown:,} more ({where})"
    return Table("first", "Reviews to ask for", columns, "reviews", live=False, shown=shown, more=more)


def _why(plan: Plan, place: int) -> str:
    """Return why a review is asked for: what it joins, or what it changes for the objective."""
    review = plan.reviews[place]
    if place < len(plan.constraints.fixed) and not plan.links:
        return "fixed"
    for_level = plan.purchase is None or place < plan.purchase.first
    return review.joins if plan.status != PlanStatus.CHOSEN and for_level else review.buys


def _facts(plan: Plan, invited: Invited) -> list[Fact]:
    """Return who is asked, what is expected, what is missing, and what rules say."""
    deal = plan.purchase
    facts = [Fact("Asked", invited.words())] if plan.reviews else []
    if plan.affinity is not None:
        facts.append(Fact("Affinity", f"{plan.affinity:g}"))
    elif plan.constraints.cost:
        facts.append(Fact("Cost", f"{plan.cost:g}"))
    if deal is not None:
        facts.append(Fact("Scores", plan.constraints.reviews.direction))
    if plan.rounds is not None:
        facts += _on_round(plan.rounds)
    if not plan.attained and plan.count < plan.lower_bound:
        facts.append(Fact("Needed", f"at least {counted(plan.lower_bound, 'review')}"))
    if plan.explanation:
        facts.append(Fact("Why" if not plan.attained else "Search", "; ".join(plan.explanation)))
    for sentence in [] if plan.shortage is None else plan.shortage.sentences():
        recruit = sentence.removeprefix("To recruit: ")
        facts.append(Fact("To recruit" if recruit != sentence else "Lacking", recruit.removesuffix(".")))
    if plan.attained and plan.status != PlanStatus.CHOSEN and target_named(plan.target).scales:
        facts += _weaker(plan)
    return facts + [_rule(rule.words, rule.papers, rule.broken) for rule in plan.rules]


def _weaker(plan: Plan) -> list[Fact]:
    """Return the number of reviews that a weaker assumption needs, if that is fewer."""
    islands = structure_of(plan.constraints.reviews).connected.cover_sizes > 0
    fewest = int(islands.sum()) - 1
    if fewest >= plan.count or level_named(plan.target).name == "connected":
        return []
    enough = f"{fewest:,} or more" if fewest else "none"
    return [Fact("Fewest", f"{enough} if only severity differs (--target connected)")]


def _rule(words: str, papers: int, broken: Sequence[Label]) -> Fact:
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    which = f", not on {', '.join(map(str, broken[:NAMED]))}{more}" if broken else ""
    return Fact("Rule", f"{words}: holds on {counted(papers, 'paper')}{which}")


def _warnings(plan: Plan) -> list[str]:
    origin = plan.constraints.reviews.origin
    warnings = [f"{origin.unlisted.words}."] if origin.unlisted else []
    if origin.lacking:
        few = counted(sum(origin.lacking.reviews.values()), "review")
        papers = listed(origin.lacking.reviews)
        warnings.append(f"{few} that {origin.lacking.file} counts are in no file: of {papers}; fewer may be enough.")
    if origin.files and not origin.listed and not origin.unlisted:
        warnings.append("Papers without a review are not in these files: --items FILE lists them.")
    deal = plan.purchase
    # Equal after rounding is no difference.
    if deal is not None and plan.rounds is None and round(deal.at_random, 2) < round(deal.after, 2):
        warnings.append("As many reviews at random have a better expectation than these, chosen one by one.")
    if plan.rounds is not None:
        return [*warnings, *_warnings_on_round(plan.rounds)]
    errors = plan.expected_errors
    if errors is not None and plan.attained and plan.links and deal is None:
        before, after = (f"{error:.2f}" for error in errors)
        moved = f"{before} -> {after}" if plan.reviews else before
        more = max(round(MORE * plan.constraints.reviews.n_items), 1)
        target = f"--target {plan.target} " if plan.reviews else ""
        then = "once there are scores, --for decision asks where they decide"
        if plan.constraints.reviews.scored.any():
            options = f"{target}--for decision --select 10% --max-reviews {plan.count + more}"
            then = f"{more} more where they decide: {options}"
        warnings.append(f"Comparable is not precise: expected errors {moved}; {then}")
    return warnings


# A round of a process: what is held back, and what each round is expected to save.

#: One sentence for authors.
TO_AUTHORS = (
    "To authors: papers get further reviews where the reviews so far leave it open whether they are selected; all "
    "papers are compared by the same calibrated scores, whatever their number of reviews."
)


def _on_round(rounds: Rounds) -> list[Fact]:
    """Return what came of earlier rounds, and what this one spends first."""
    terms = rounds.terms
    facts = []
    if rounds.required and terms.rules.get("min_reviews"):
        least = counted(int(terms.rules["min_reviews"] or 0), "review")
        facts.append(Fact("First", f"{rounds.required:,} of them bring papers to {least}"))
    for name, reviews, words in (
        ("Still to come", terms.outstanding, "without a score yet"),
        ("Lost", terms.lost, "which the budget gets back"),
    ):
        if reviews:
            named = listed([f"{review.item} by {review.reviewer}" for review in reviews])
            facts.append(Fact(name, f"{counted(len(reviews), 'review')} of earlier rounds {words}: {named}"))
    unplaced = min(rounds.share, rounds.capacity) - (rounds.now - rounds.required)
    if unplaced > 0 and not rounds.stop and not terms.worth:
        facts.append(Fact("Unused", f"{counted(unplaced, 'review')} of this round: loads, rules, or no gain"))
    return facts


def _warnings_on_round(rounds: Rounds) -> list[str]:
    warnings = [] if not rounds.terms.absent else [absent_words(rounds)]
    if rounds.capacity < rounds.budget:
        warnings.append(
            f"Loads, limits and conflicts allow {rounds.capacity:,} of the {rounds.budget:,} reviews at most; what is "
            "expected is without the others."
        )
    return warnings


def absent_words(rounds: Rounds) -> str:
    """Return what it may mean that outstanding reviews are in none of the files."""
    planned = counted(len(rounds.terms.absent), "planned review is", "planned reviews are")
    return (
        f"{planned} in none of the files: not uploaded, or declined? Add the file of the assignments (HotCRP: "
        "pcassignments.csv), upload what is missing, and list in --gone what was declined."
    )


def _after(rounds: Rounds, shown: int) -> Table:
    """Return the wrong selections that are expected after each round."""
    names = [
        f"round {rounds.number + expected.rounds - 1} ({rounds.name_after(expected.rounds - 1)})"
        for expected in rounds.after
    ]
    columns = [
        Column("after", ["now", *names]),
        Column("reviews in all", [None, *(expected.reviews for expected in rounds.after)], "number"),
        Column(
            f"wrong of {rounds.terms.select}", [rounds.before, *(found.wrong for found in rounds.after)], "number", 2
        ),
        Column("+-", [None, *(expected.error for expected in rounds.after)], "number", 2),
    ]
    caption = "Wrong selections expected after each round, with standard errors (+-)"
    return Table("after", caption, columns, "rounds", (), live=False, shown=shown + 1)


def _rounds(rounds: Rounds) -> list[Part]:
    """Return the picture of the rounds, and what other numbers of rounds would reach."""
    shown = [Bar("now", round(rounds.before, 2))]
    shown += [
        Bar(f"after {rounds.name_after(place)}", round(expected.wrong, 2), stands_out=True)
        for place, expected in enumerate(rounds.after)
    ]
    first, *more = rounds.reach
    shown += [Bar("all in one round", round(first.wrong, 2))] if more else []
    shown.append(Bar("spread evenly", round(rounds.even.wrong, 2)))
    reach = f"{first.wrong:.2f} in 1 round{''.join(f', {later.wrong:.2f} in {later.rounds}' for later in more)}"
    words = (
        f"Expected wrong selections of {rounds.terms.select}: now, after each round, and with the same reviews spread "
        "evenly over all papers."
    )
    return [
        Picture("rounds", "Wrong selections by round", words, lambda width: bars(shown, width, "wrong selections")),
        Prose(
            [
                f"Expected after all {rounds.reach[-1].reviews:.0f} reviews in equal rounds: {reach}; "
                f"{rounds.even.wrong:.2f} with these reviews spread evenly over all papers.",
                f"Means of {rounds.rollouts} simulated continuations, in which loads and conflicts do not bind, and "
                "future scores are as noisy as the existing ones.",
                TO_AUTHORS,
            ]
        ),
    ]


# Details: reviews, reviewers, groups, proofs, letters.


def _table(plan: Plan) -> Table:
    """Return all reviews, in their order."""
    table = plan.constraints.reviews
    prices = plan.constraints.cost
    reviews = plan.reviews
    columns = [
        *paper_columns(table, plan.pairs[:, 1].tolist()),
        Column("reviewer", [table.reviewers[j] for j in plan.pairs[:, 0].tolist()]),
        Column("because", [_why(plan, place) for place in range(plan.count)]),
    ]
    if prices:
        priced = "affinity" if prices.best is not None else "cost"
        columns.append(Column(priced, [getattr(review, priced) for review in reviews], "number", 2))
    if plan.links:
        columns.append(Column("largest group", [review.covers for review in reviews], "number"))
    if plan.purchase is not None:
        columns.append(Column("saves", [review.gain for review in reviews], "number", 3))
    return Table("reviews-table", "Extra reviews, the most useful first", columns, "reviews", shown=plan.count)


class Invited:
    """The invited reviewers of a plan, by decreasing number of reviews, then in the natural order of labels."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.table = plan.constraints.reviews
        extra = np.bincount(plan.pairs[:, 0], minlength=self.table.n_reviewers)
        order = np.lexsort((places(self.table.reviewers), -(self.table.loads + extra), -extra))
        self.codes: IntArray = order[: int((extra > 0).sum())]
        self.extra = extra[self.codes]
        self.before = self.table.loads[self.codes]

    def words(self) -> str:
        """Return the number of reviewers and papers, and the largest extra load with what is proved of it."""
        plan = self.plan
        papers = counted(int(np.unique(plan.pairs[:, 1]).size), "paper")
        largest = plan.largest_load
        least = plan.largest_load_lower_bound
        proof = ""
        if least == largest:
            proof = " (the least possible)"
        elif least is not None:
            proof = f" ({least:,} may be enough)"
        return f"{counted(self.codes.size, 'reviewer')}, {papers}, at most {largest:,} each{proof}"

    def parts(self) -> list[Part]:
        """Return the picture of loads before the plan and with it, and the table of the invited reviewers."""
        names = self._names[:MOST]
        shown = [
            Bar(name, before, extra=extra)
            for name, before, extra in zip(names, self.before.tolist(), self.extra.tolist(), strict=False)
        ]
        who = f"The {MOST} with most extra reviews" if self.codes.size > MOST else "All of them"
        words = f"{who}: their reviews before the plan, and in another colour the extra ones."
        alike = len({(bar.number, bar.extra) for bar in shown}) == 1
        instead = f"All have {ranging(int(self.before.min()), int(self.before.max()))} and get {self.extra[0]} more."
        picture = Picture(
            "loads", "Invited reviewers", words, lambda width: bars(shown, width, "reviews"), instead if alike else ""
        )
        papers: dict[int, list[Label]] = {}
        for j, i in self.plan.pairs.tolist():
            papers.setdefault(j, []).append(self.table.items[i])
        named = [", ".join(map(str, sorted(papers[j], key=natural_key))) for j in self.codes.tolist()]
        columns = [
            Column("reviewer", self._names),
            Column("extra", self.extra.tolist(), "number"),
            Column("papers", named),
            Column("before", self.before.tolist(), "number"),
            Column("with these", (self.before + self.extra).tolist(), "number"),
        ]
        caption = "Invited reviewers, those with most extra reviews first"
        return [picture, Table("asked", caption, columns, "reviewers", live=self.codes.size > MOST)]

    @cached_property
    def _names(self) -> list[str]:
        return [str(self.table.reviewers[j]) for j in self.codes.tolist()]


def _groups(plan: Plan) -> list[Part]:
    """Return the map of groups with the reviews of the plan, and how the largest group grows."""
    table = plan.constraints.reviews
    grouping = grouping_of(structure_of(table))
    parts: list[Part] = []
    if len(grouping) > 1:
        asked = f" Each dashed line is an extra review, from the group of its reviewer to the paper." * bool(plan.links)
        words = f"Groups before the plan: circles as large as their papers, lines for the papers that two share.{asked}"
        drawn = grouping.map(plan.pairs) if plan.links else grouping.map()
        parts.append(Picture("map", "Which groups the reviews join", words, partial(group_map, drawn)))
    if not plan.links or not plan.reviews:
        return parts
    before = max((cover.size for cover in target_named(plan.target).groups(table).covers), default=0)
    sizes = [review.covers for review in plan.reviews]
    names = [f"{review.reviewer} on {review.item}" for review in plan.reviews]
    grown = f"Papers in the largest group: {before:,} before the plan, {sizes[-1]:,} of {table.n_items:,} with it."
    draw = partial(_stairs, before, sizes, names, table.n_items)
    instead = grown if len({before, *sizes}) < 3 else ""
    return [*parts, Picture("steps", "The largest group after each review", grown, draw, instead)]


def _stairs(before: int, sizes: Sequence[int], names: Sequence[str], papers: int, width: int) -> Drawing:
    return steps(before, sizes, names, papers, width, "papers in the largest group", "papers")


def _proof(plan: Plan) -> list[Part]:
    """Return why fewer reviews do not suffice, or why more are needed, and how far a partial plan gets."""
    lines = [] if plan.status == PlanStatus.CHOSEN else [f"Lower bound: {counted(plan.lower_bound, 'review')}."]
    if plan.lower_bound:
        fixed = len(plan.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        # A partial plan has too few reviews: its bound explains why the target takes more.
        why = "Why not fewer" if plan.attained else f"Why at least {plan.lower_bound - fixed}"
        lines.append(f"{why}{beyond}: {max(plan.bounds, key=lambda bound: bound.value).sentence}.")
    if plan.status == PlanStatus.EXTENDED or plan.purchase is not None:
        lines.append(
            "Reviews for the objective were chosen one by one, each for the largest gain after those before it; that "
            "none are better is not proved. They are worth what is expected if future scores are as noisy as those so "
            "far."
        )
    if plan.expected_errors is not None and plan.links:
        lines.append("Expected errors are medians over papers, in spreads of quality, with the noise that a check assumes.")
    least = plan.largest_load_lower_bound
    if plan.reviews and least is not None:
        lines.append(f"A plan of {counted(plan.count, 'review')} has a largest extra load of {least:,} or more.")
    if plan.status.is_partial:
        before, after = plan.reach
        for when, reached in (("Before", before), ("With the plan", after)):
            if reached.error is not None and np.isfinite(reached.error) and reached.papers > 2:
                lines.append(
                    f"{when}: expected error in the largest group of {reached.error:.2g} times the noise of a score."
                )
    return [Prose(lines)] if lines else []


def _mail(plan: Plan) -> list[Part]:
    letters = [*plan.mail().values()]
    return [Listed("A letter to each reviewer; they differ in names and papers alone:", letters, 1)] if letters else []


# Under codes.


def coded(plan: Plan) -> Plan:
    """Return a plan, whose tables have codes already, with codes in all sentences."""
    table = plan.constraints.reviews
    task = new_task(plan.constraints.without_fixed(), plan.count + 1)
    joined, *_ = joins(task, target_named(plan.target), plan.pairs, Clock(None))
    reviews = tuple(
        replace(review, reviewer=table.reviewers[j], item=table.items[i], joins=why)
        for review, (j, i), why in zip(plan.reviews, plan.pairs.tolist(), joined, strict=True)
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

    def renamed(reviews: Iterable[Late]) -> tuple[Late, ...]:
        under_codes = [
            review._replace(item=item[review.item], reviewer=reviewer.get(review.reviewer, "a reviewer who is gone"))
            for review in reviews
        ]
        # In the order of the codes, since that of the labels would reveal something.
        return tuple(sorted(under_codes, key=lambda review: (natural_key(review.item), natural_key(review.reviewer))))

    terms = replace(rounds.terms, outstanding=renamed(rounds.terms.outstanding), lost=renamed(rounds.terms.lost))
    return replace(rounds, terms=terms)
