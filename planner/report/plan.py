"""The report of a plan: what is proved, how the largest group grows step by step, the reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.status import PlanStatus
from planner.plans.words.page import page, verdict
from planner.report.groups import groups_left
from reviewgraph.report.page import Document, Fact, Part, Picture, Printed, Prose, Section, parts_of, pictures_among
from reviewgraph.report.pictures.bars import bars, tally
from reviewgraph.report.pictures.steps import steps
from reviewgraph.report.tables import Column, Table
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.plan import Plan


def document(found: Plan, subject: str, closing: Sequence[str] = ()) -> Document:
    """Return the report of a plan.

    Parameters
    ----------
    found
        The plan, under the names that the report is to show.
    subject
        What was planned for: the files.
    closing
        What to type next.
    """
    return Document(
        "Plan of extra reviews",
        subject,
        found.attained,
        _headline(found),
        " ".join(verdict(found)),
        [*map(_sentence, found.explanation), *([] if found.shortage is None else found.shortage.sentences())],
        closing,
        _facts(found),
        [
            *(_sections(found) if found.reviews else []),
            Section("text", "As the terminal prints it", [_printed(found, closing)]),
        ],
    )


def pictures(found: Plan) -> list[Picture]:
    """Return the pictures of a plan that holds reviews: how far each gets, and who is asked."""
    return pictures_among(_pictured(found)) if found.reviews else []


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _printed(found: Plan, closing: Sequence[str]) -> Printed:
    return Printed([*page(found).splitlines(), "", *closing])


def _headline(found: Plan) -> str:
    if found.status == PlanStatus.INFEASIBLE:
        return "There is no plan"
    if not found.reviews:
        return "Nothing is missing" if found.attained else "A part of the way"
    whole = f" of {found.lower_bound:,} or more" if found.count < found.lower_bound else ""
    return f"{counted(found.count, 'extra review')}{'' if found.attained else f'{whole}: a part of the way'}"


def _facts(found: Plan) -> list[Fact]:
    rules, deal = found.constraints, found.purchase
    facts = [
        Fact("Extra reviews", f"{found.count:,}"),
        Fact("Needed at least", f"{found.lower_bound:,}", "proved"),
        Fact("Most for one", f"{found.largest_load:,}", noun(found.largest_load, "review")),
        Fact("Level", found.target),
    ]
    if found.affinity is not None:
        facts.append(Fact("Affinity", f"{found.affinity:g}"))
    elif rules.cost:
        facts.append(Fact("Cost", f"{found.cost:g}"))
    if deal is not None:
        facts.append(Fact("What they buy", f"{deal.after:.2f}", f"{deal.unit}; {deal.before:.2f} before"))
    return facts


def _pictured(found: Plan) -> list[Part]:
    parts: list[Part] = []
    table = found.constraints.reviews
    names = [f"{table.reviewers[j]} reads {table.items[i]}" for j, i in found.pairs.tolist()]
    if found.status != PlanStatus.CHOSEN:
        parts += _steps(found, names)
    loads = np.unique(found.pairs[:, 0], return_counts=True)[1].astype(np.int64)
    words_of_loads = (
        f"How many reviewers are asked for how many extra reviews: {counted(loads.size, 'reviewer')}, at most "
        f"{found.largest_load} each."
    )
    parts.append(Picture("loads", "Who is asked", words_of_loads, lambda width: bars(tally(loads), width, "reviews")))
    return parts


def _sections(found: Plan) -> list[Section]:
    return [
        Section("plan", "The plan", [*_pictured(found), _table(found)]),
        Section("mail", "Mail to reviewers", [Prose(["To mail:"]), *parts_of([*found.mail().values()])]),
    ]


def _steps(found: Plan, names: Sequence[str]) -> list[Part]:
    """Return pictures of what the reviews move: the largest group, and the number of groups."""
    covers, groups = [review.covers for review in found.reviews], groups_left(found)
    papers, before = found.constraints.reviews.n_items, groups[0]
    first = (
        "Papers in the largest group after each extra review, in the order in which they help most: from "
        f"{covers[0]:,} after the first to {covers[-1]:,} of {papers:,} after the last."
    )
    second = (
        f"Groups that are left after each extra review: {before:,} before the first, {groups[-1]:,} after the last. "
        "Groups may become fewer long before the largest grows."
    )
    largest = Picture(
        "steps",
        "The plan step by step: the largest group",
        first,
        lambda width: steps(covers, names, papers, width, "papers in the largest group", "papers"),
    )
    left = Picture(
        "groups",
        "The plan step by step: groups left",
        second,
        lambda width: steps(groups[1:], names, before, width, "groups left", "groups"),
    )
    return [largest, *([left] if groups[-1] < before else [])]


def _table(found: Plan) -> Table:
    table = found.constraints.reviews
    prices, alone = found.constraints.cost, found.status == PlanStatus.CHOSEN
    priced = "affinity" if prices.best is not None else "cost" if prices else ""
    items = [table.items[i] for i in found.pairs[:, 1].tolist()]
    titles = [table.titles.get(item, "") for item in items]
    columns = [
        Column("step", list(range(1, found.count + 1)), "number"),
        Column("paper", items),
        *([Column("title", titles)] if any(titles) else []),
        Column("reviewer", [table.reviewers[j] for j in found.pairs[:, 0].tolist()]),
    ]
    if priced:
        columns.append(Column(priced, [getattr(review, priced) for review in found.reviews], "number", 2))
    if not alone:
        columns.append(Column("largest group", [review.covers for review in found.reviews], "number"))
    if found.purchase is not None:
        columns.append(Column("gain", [review.gain for review in found.reviews], "number", 3))
    if not alone:
        columns.append(Column("what it joins", [review.joins.partition(": ")[2] for review in found.reviews]))
    if found.purchase is not None:
        columns.append(Column("what it buys", [review.buys for review in found.reviews]))
    return Table("reviews", "Extra reviews, those that help most first", columns, "reviews")
