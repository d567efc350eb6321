"""The page of a plan: what it reaches and what is proved, the reviews and why they are asked for; then details."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._plans.outcome import PlanStatus, Purchase
from planner.rules import first_named
from reviewgraph._base import (
    Column,
    Fact,
    Label,
    Listed,
    Nouns,
    Page,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    counted,
    listed,
    natural_key,
    noun,
    paper_columns,
    places,
)
from reviewgraph.graph import level_named, structure_of
from reviewgraph.report import MOST, map_of, not_counted

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner._plans.process import Rounds
    from planner._plans.rounds import Match

#: Reviews that are seen first, also those of a round, and rounds.
FIRST = 6
FIRST_OF_ROUND = 2
FIRST_ROUNDS = 4
#: Characters of what a review joins that are never cut.
BRIEF = 42
#: Share of the papers for each of which a warning proposes one more review.
MORE = 0.3


def page_of(plan: Plan, output: str = "") -> Page:
    """Return the page of a plan, which is written to ``output``, if anywhere."""
    reviews = plan.constraints.reviews
    rounds = None if plan.rounds is None or plan.rounds.stop else plan.rounds
    good, verdict, summary = _verdict(plan)
    first = [_table(plan, "first", output)] if plan.added else []
    if rounds is not None and rounds.match is not None:
        first.insert(0, _matched(rounds, rounds.match))
    elif rounds is not None:
        first.append(_after(rounds))
    return Page(
        "Plan of extra reviews",
        good,
        verdict,
        summary,
        facts=[*first, *_facts(plan), *not_counted(reviews)],
        warnings=_warnings(plan),
        sections=[
            Section("reviewers", "Who is asked", lambda: _invited(plan) if plan.added else []),
            Section("reviews", "Review by review", lambda: [_table(plan)] if plan.added else []),
            Section("groups", "Groups", lambda: _groups(plan) if plan.levelled else []),
            Section("rounds", "Rounds", lambda: [] if rounds is None else _rounds(rounds)),
            Section("proof", "What is proved", lambda: _proof(plan)),
            Section("mail", "Mail to reviewers", lambda: _mail([*plan.mail().values()])),
        ],
        nouns=Nouns(*reviews._nouns),
    )


# The first line.


def _verdict(plan: Plan) -> tuple[bool | None, str, str]:
    """Return whether all is well, the verdict, and the rest of its line."""
    reviews = plan.constraints.reviews
    level = level_named(plan.target)
    n = reviews.n_items
    deal = plan.purchase
    good = None if reviews.origin.is_partial else True
    number = counted(plan.count, "review")
    least = plan.constraints.people.min_reviews
    papers = f"all {n:,} papers" if n != 1 else "the paper"
    reached = f"{papers} {level.words}{f', with {least} or more each' if least else ''}"
    if plan.status == PlanStatus.INFEASIBLE:
        without = f"gives {papers} {counted(least, 'review')} or more" if least else "is possible"
        return False, "No plan", f"{f'makes {reached}' if plan.levelled else without} within the rules"
    if plan.rounds is not None:
        well, verdict, words = _verdict_on_round(plan.rounds)
        return well if plan.attained else False, verdict, words
    if not plan.attained:
        before, after = plan.reach
        are = noun(plan.count, "is", "are")
        verdict = f"{number} {are} {'the closest plan' if plan.status == PlanStatus.BEST_EFFORT else 'not enough'}:"
        # Groups of levels that outlive a loss are those with nothing lost.
        words = f"{level_named('double').words} if nothing is lost" if level.outlives else level.words
        return False, verdict, f"{after.papers:,} of {counted(after.of, 'paper')} {words}, {before.papers:,} without"
    if deal is not None and not plan.levelled:
        if plan.added:
            return True, f"{number}:", _expected(deal)
        return None, "No review:", f"{'; '.join(plan.explanation)}; expect {deal.before:.2f} {deal.unit}"
    if not plan.added:
        few = " of this file" if reviews.origin.unlisted else ""
        return good, "No review is missing:", f"{papers}{few} {noun(n, 'is', 'are')} {level.words}"
    if deal is not None and plan.status == PlanStatus.EXTENDED:
        first = f"{deal.first:,} {noun(deal.first, 'makes', 'make')} {reached} ({_proved(plan, deal.first)})"
        return good, f"{number}:", f"{first}; with {plan.count - deal.first:,} more {_expected(deal)}"
    return good, number, f"{noun(plan.count, 'makes', 'make')} {reached} ({_proved(plan, plan.count)})"


def _proved(plan: Plan, count: int) -> str:
    """Return what is proved of the number of reviews that reach the level, ``count``."""
    inside = ", for the reviews in these files" if plan.constraints.reviews.origin.lacking else ""
    if plan.lower_bound < count:
        return f"not proved: at least {plan.lower_bound:,} {noun(plan.lower_bound, 'is', 'are')} needed{inside}"
    better = ""
    if plan.status == PlanStatus.FEASIBLE:
        better = "; some may cost less" if plan.constraints.cost.best is None else "; some may have a higher affinity"
    return f"proved: no fewer{inside}{better}"


def _expected(deal: Purchase) -> str:
    return (
        f"expect {deal.after:.2f} {deal.unit}, instead of {deal.before:.2f} without and {deal.at_random:.2f} with as "
        "many at random"
    )


def _verdict_on_round(rounds: Rounds) -> tuple[bool | None, str, str]:
    if rounds.match is not None:
        return _verdict_on_match(rounds, rounds.match)
    wrong = f"wrong of {rounds.select} selected"
    if rounds.stop is not None:
        return None, "The process ends here:", f"{rounds.stop}; expect {rounds.before:.2f} {wrong}"
    kept = f"{rounds.held_back:,} of {rounds.budget:,} held back"
    if not rounds.held_back or rounds.left == 1:
        kept = f"{rounds.unspent:,} of {rounds.budget:,} not spent" if rounds.unspent else "none held back"
    place = f"Round 1 of {rounds.left}" if rounds.left > 1 else "Last round"
    now = f"{place}, {counted(rounds.now, 'review')} now:"
    return True, now, f"{kept}; expect {rounds.after[0].wrong:.2f} {wrong}, instead of {rounds.before:.2f}"


def _verdict_on_match(rounds: Rounds, match: Match) -> tuple[bool | None, str, str]:
    even = f"{match.per_paper} for every paper ({match.even:,})"
    possible = rounds.capacity - rounds.required
    now = f", {rounds.now:,} now" if rounds.now else ""
    if possible < match.more:
        most = f"At most {counted(possible, 'further review')}" if possible else "No further review"
        words = f"within loads, limits and conflicts{now}; about {match.more:,} would decide as well as {even}"
        return None, f"{most} can be given", words
    if not match.reached:
        return None, "No fewer reviews in rounds", f"decide as well as {even}, as far as the simulation tells"
    phase = "as a first phase" if rounds.terms.first_phase else "so far"
    parts = f"{match.existing:,} {phase} and {match.more:,} in {counted(match.needed.rounds, 'round')}"
    low, high = match.interval
    verdict = f"About {match.needed.reviews:,} reviews decide as well"
    return True, verdict, f"as {even}: {parts}{now} ({low:,} to {high:,} in all)"


# What is seen first: the reviews and why, whom they are asked of, what is expected, and what may be wrong.


def _table(plan: Plan, name: str = "reviews-table", output: str = "") -> Table:
    """Return the reviews of a plan with why they are asked for; the ``first`` of them with less detail."""
    table = plan.constraints.reviews
    reviews = plan.added
    first = name == "first"
    # A line on the rest takes the place of one more row.
    few = FIRST if plan.rounds is None else FIRST_OF_ROUND
    shown = few if first and plan.count > few + 1 else plan.count
    required = plan.count if plan.purchase is None else plan.purchase.first
    why = [review.joins if place < required else review.buys for place, review in enumerate(reviews)]
    if not plan.levelled:
        fixed = len(plan.constraints.fixed)
        why[:fixed] = ["fixed"] * fixed
    papers = paper_columns(table, plan.pairs[:, 1].tolist())
    if first:
        titled = zip(*(column.values for column in papers), strict=True)
        papers = [Column("paper", [" ".join(map(str, cells)).strip() for cells in titled])]
    columns = [
        *papers,
        Column("ask", [str(review.reviewer) for review in reviews]),
        Column("because", why, whole=max(map(len, why[:shown])) <= BRIEF),
    ]
    if plan.purchase is not None and not (first and plan.levelled):
        columns.append(Column("saves", [review.gain for review in reviews], "number", 3))
    if plan.levelled and not first:
        columns.append(Column("largest group", [review.covers for review in reviews], "number"))
    if plan.constraints.cost and not first:
        priced = "cost" if plan.affinity is None else "affinity"
        columns.append(Column(priced, [getattr(review, priced) for review in reviews], "number", 2))
    more = f"... and {plan.count - shown:,} more{f' (all {plan.count:,} in {output})' if output else ''}"
    section = "" if output else "reviews"
    caption = "The most useful reviews first" if first else "All reviews, the most useful first"
    return Table(name, caption, columns, "reviews", live=not first, shown=shown, more=more, section=section)


def _facts(plan: Plan) -> list[Fact]:
    """Return who is asked, what is expected, what is missing, and what rules say."""
    facts: dict[str, str] = {}
    if plan.added:
        facts["Asked"] = _asked(plan)
    if plan.affinity is not None:
        facts["Affinity"] = f"{plan.affinity:g}"
    elif plan.constraints.cost:
        facts["Cost"] = f"{plan.cost:g}"
    if plan.purchase is not None and plan.constraints.reviews.scored.any():
        facts["Scores"] = plan.constraints.reviews.direction
    if plan.rounds is not None and plan.rounds.required and plan.rounds.terms.least:
        least = counted(plan.rounds.terms.least, "review")
        facts["First"] = f"{plan.rounds.required:,} of them bring papers to {least}"
        if plan.shortage is not None:
            facts["First"] += f", which takes {plan.rounds.required + plan.shortage.reviews:,}"
    if not plan.attained and plan.count < plan.lower_bound:
        facts["Needed"] = f"at least {counted(plan.lower_bound, 'review')}"
    # Where nothing is asked for, the first line says why.
    if plan.explanation and (plan.added or plan.levelled or not plan.attained):
        facts["Search" if plan.attained else "Why"] = "; ".join(plan.explanation)
    if plan.shortage is not None:
        facts |= plan.shortage.facts()
    rules = [
        f"{rule.words}: holds on {counted(rule.papers, 'paper')}"
        + (f", not on {first_named(list(map(str, rule.broken)))}" if rule.broken else "")
        for rule in plan.rules
    ]
    return [*(Fact(*fact) for fact in facts.items()), *(Fact("Rule", rule) for rule in rules)]


def _asked(plan: Plan) -> str:
    """Return the numbers of reviewers and papers, and the largest extra load with what is proved of it."""
    reviewers, papers = (int(np.unique(codes).size) for codes in plan.pairs.T)
    least = plan.largest_load_lower_bound
    proof = ""
    if least is not None:
        proof = " (the least possible)" if least == plan.largest_load else f" (at least {least:,})"
    asked = f"{counted(reviewers, 'reviewer')}, {counted(papers, 'paper')}"
    return f"{asked}, at most {plan.largest_load:,} each{proof}"


def _warnings(plan: Plan) -> list[str]:
    reviews = plan.constraints.reviews
    origin = reviews.origin
    warnings = [f"{origin.unlisted.words}."] if origin.unlisted else []
    if origin.lacking:
        few = counted(sum(origin.lacking.reviews.values()), "review")
        # Only a level is reached by fewer.
        then = "fewer may be enough" if plan.attained and plan.levelled else "they may change this"
        papers = listed(origin.lacking.reviews)
        warnings.append(f"{few} that {origin.lacking.file} counts are in no file: of {papers}; {then}.")
    if origin.others_unknown:
        warnings.append(origin.others_unknown)
    if plan.constraints.facts is not None:
        warnings += plan.constraints.facts.warnings()
    rounds = plan.rounds
    if rounds is not None and rounds.match is None and rounds.capacity < rounds.budget:
        allowed = f"Loads, limits and conflicts allow {rounds.capacity:,} of the {rounds.budget:,} reviews at most"
        warnings.append(f"{allowed}; what is expected is without the others.")
    is_level = plan.attained and plan.levelled and plan.purchase is None
    if is_level and plan.expected_errors is not None:
        before, after = (f"{error:.2f}" for error in plan.expected_errors)
        moved = f"{before} -> {after}" if plan.added else before
        possible = reviews.n_reviewers * reviews.n_items - plan.reviews.n_reviews
        more = min(max(round(MORE * reviews.n_items), 1), possible)
        target = f"--target {plan.target} " if plan.added else ""
        then = "once there are scores, --for decision asks where they decide"
        scored = int((reviews.only_scored().reviews_per_item > 0).sum())
        if not more:
            then = "everybody reviews everything; more reviewers make it more precise"
        elif scored > 1:
            options = f"{target}--for decision --select 10% --max-reviews {plan.count + more}"
            then = f"{more} more where they decide: {options}"
        warnings.append(f"Comparable is not precise: expected errors {moved}; {then}")
    return warnings


# A round of a process: what is held back, and what each round is expected to save.


def _after(rounds: Rounds) -> Table:
    """Return the wrong selections that are expected after each round."""
    names = [f"round {place + 1}" for place in range(len(rounds.after))]
    _, reviews, wrong, errors = zip(*rounds.after, strict=True)
    columns = [
        Column("after", ["now", *names]),
        Column("reviews in all", [None, *reviews], "number"),
        Column(f"wrong of {rounds.select}", [rounds.before, *wrong], "number", 2),
        Column("+-", [None, *errors], "number", 2),
    ]
    caption = "Wrong selections expected after each round, with standard errors (+-)"
    return Table("after", caption, columns, "rounds", (), live=False, shown=FIRST_ROUNDS + 1)


def _matched(rounds: Rounds, match: Match) -> Table:
    """Return the reviews that decide as well, in fewer rounds, too, beside those of the same number for every paper."""
    phase = "the first phase" if rounds.terms.first_phase else "the reviews so far"
    ways = [phase, f"{match.per_paper} for every paper", *(counted(way.rounds, "round") for way in match.by_rounds)]
    reviews = [match.existing, match.even, *(way.reviews for way in match.by_rounds)]
    wrong: list[float | None] = [match.before.wrong, match.each.wrong]
    wrong += [match.planned.wrong if way == match.needed else None for way in match.by_rounds]
    columns = [
        Column("decided by", ways),
        Column("reviews in all", reviews, "number"),
        Column("+-", [None, None, *(way.error for way in match.by_rounds)], "number", 0),
        Column(f"wrong of {rounds.select}", wrong, "number", 1),
    ]
    caption = "Reviews that decide as well in rounds, with standard errors (+-), and expected wrong selections"
    return Table("matched", caption, columns, "rounds", (), live=False)


def _rounds(rounds: Rounds) -> list[Part]:
    """Return what the numbers of rounds are based on, and what to tell authors."""
    noise = "check assumes" if rounds.terms.first_phase else "existing ones"
    sentences = [
        f"Means of {rounds.rollouts} simulated continuations, in which loads and conflicts do not bind, and future "
        f"scores are as noisy as the {noise}. What each review saves is without the move of the cut.",
        "To authors: papers get further reviews where the reviews so far leave it open whether they are selected; all "
        "papers are compared by the same calibrated scores, whatever their number of reviews.",
    ]
    return [Prose(sentences)]


# Details: reviewers, groups, proofs, letters.


def _invited(plan: Plan) -> list[Part]:
    """Return the loads of the invited reviewers before the plan and with it, those with most extra reviews first."""
    table = plan.constraints.reviews
    extra = np.bincount(plan.pairs[:, 0], minlength=table.n_reviewers)
    order = np.lexsort((places(table.reviewers), -(table.loads + extra), -extra))
    codes = order[: int((extra > 0).sum())]
    papers: dict[int, list[Label]] = {}
    for j, i in plan.pairs.tolist():
        papers.setdefault(j, []).append(table.items[i])
    columns = [
        Column("reviewer", [str(table.reviewers[j]) for j in codes.tolist()]),
        Column("extra", extra[codes].tolist(), "number"),
        Column("papers", [", ".join(map(str, sorted(papers[j], key=natural_key))) for j in codes.tolist()]),
        Column("before", table.loads[codes].tolist(), "number"),
        Column("with these", (table.loads + extra)[codes].tolist(), "number"),
    ]
    return [Table("asked", "Those with most extra reviews first", columns, "reviewers", live=codes.size > MOST)]


def _groups(plan: Plan) -> list[Part]:
    """Return the map of groups with the reviews that are to join them, and how the largest group grows."""
    drawn = map_of(structure_of(plan.constraints.reviews), plan.pairs if plan.added else None)
    parts: list[Part] = []
    if len(drawn.names) > 1:
        words = "Groups before the plan: circles as large as their papers, lines for the papers that two share."
        words += " Each dashed line is an extra review, from the group of its reviewer to the paper." * bool(plan.count)
        parts.append(Picture("map", "What the reviews join", words, drawn))
    if plan.added:
        before, after = plan.reach
        words = f"{before.papers:,} before the plan, {after.papers:,} of {after.of:,} with it."
        parts.append(Prose([f"Papers in the largest group: {words}"]))
    return parts


def _proof(plan: Plan) -> list[Part]:
    """Return why fewer reviews do not suffice, or why more are needed, and how far a partial plan gets."""
    lines = [] if not plan.levelled else [f"Lower bound: {counted(plan.lower_bound, 'review')}."]
    if plan.lower_bound:
        fixed = len(plan.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        # A partial plan has too few reviews: its bound explains why the target takes more.
        why = "Why not fewer" if plan.attained else f"Why at least {plan.lower_bound - fixed}"
        lines.append(f"{why}{beyond}: {max(plan.bounds, key=lambda bound: bound.value).sentence}.")
    if plan.purchase is not None:
        lines.append(
            "Reviews for the objective were chosen one by one, each for the largest gain after those before it; that "
            "none are better is not proved. They are worth what is expected if future scores are as noisy as those so "
            "far."
        )
    if plan.expected_errors is not None and plan.levelled:
        lines.append("Expected errors are medians over papers, in spreads of quality, as a check assumes noise.")
    return [Prose(lines)] if lines else []


def _mail(letters: list[str]) -> list[Part]:
    return [Listed("A letter to each reviewer; they differ in names and papers alone:", letters, 1)] if letters else []
