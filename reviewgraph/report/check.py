"""The page of a check: verdict, what is missing, what is not counted; then groups, loads, errors, losses and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.labels import Label, first_labels, places, ranks
from reviewgraph._base.page import (
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
    paper_columns,
)
from reviewgraph._base.text import LISTED, counted, listed, noun, percent, ranging
from reviewgraph.graph.check import Report, Violations, unreviewed
from reviewgraph.graph.components import Structure, by_size
from reviewgraph.graph.levels import Connected, level_named
from reviewgraph.graph.precision import Assumptions, Outlook
from reviewgraph.report.charts import Bar, BarChart, chart, tally
from reviewgraph.report.groups import MOST, groups_of, map_of
from reviewgraph.report.rows import SHOWN, first_rows

if TYPE_CHECKING:
    from reviewgraph.graph.connection import Connection
    from reviewgraph.table.reviews import Reviews


#: Papers without a reviewer that are named at first, and lines of a list that are not folded.
NAMED = 12
#: Names in a cell before it ends with dots.
IN_A_CELL = 8


def page_of(report: Report) -> Page:
    """Return the page of a check."""
    reviews = report.reviews
    good, verdict, summary = _verdict(report)
    broken = [(name, lines) for name, lines in _by_rule(report.violations).items() if lines]
    return Page(
        "Check of reviews",
        good,
        verdict,
        summary,
        facts=[*_lacks(report), *_sizes(report), *_outlook(report)],
        warnings=_warnings(report),
        sections=[
            Section("groups", "Groups", lambda: _groups(report)),
            Section("loads", "Loads", lambda: loads(reviews)),
            Section(
                "rules",
                "Conflicts, loads and demands",
                lambda: [Listed(f"{rule}: {len(who):,}", who, NAMED) for rule, who in broken],
            ),
            Section("errors", "Expected errors", lambda: _errors(report.expected) if reviews.n_items else []),
            Section("losses", "If reviews are lost", lambda: _losses(report)),
            Section("papers", "Papers", lambda: [paper_table(report)] if reviews.n_items else []),
            Section("reviewers", "Reviewers", lambda: [reviewer_table(report)] if reviews.n_reviewers else []),
        ],
        nouns=Nouns(*reviews._nouns),
    )


def page_of_parts(connection: Connection) -> Page:
    """Return the page of a check in batches: the verdict, and what is not decided."""
    reviews = connection.reviews
    missing = connection.least_degrees_of_freedom
    level = None if connection.level is None else level_named(connection.level)
    papers = counted(reviews.n_items, "paper")
    good: bool | None = False
    verdict = "Not comparable:"
    summary = f"{papers}, in {counted(connection.pieces, 'island')}"
    if connection.undecided:
        good = None
        verdict = "Not decided:"
        summary = f"whether all {papers} are comparable for certain; they are connected"
    elif level is not None and level.name == Connected.name:
        verdict = "Not comparable for certain:"
        summary = f"{papers}, {level.words.removeprefix('comparable').strip()}"
    elif level is not None and level.compares:
        late = 0 < reviews.n_scored < reviews.n_reviews
        good = None if late else True
        verdict = "Comparable:"
        summary = _all(papers, level.words.removeprefix("comparable").strip(), late=late)
    facts = [Fact("Reviews", sizes(reviews, reviews.n_scored))]
    if missing:
        facts.insert(0, Fact("Needed", f"at least {counted(missing, 'more review')}"))
    if connection.undecided:
        facts.append(
            Fact(
                "Not decided",
                f"{listed(connection.undecided)}: that takes memory that grows with the reviews. One group of "
                f"{counted(connection.least_cover, 'paper')} is comparable for certain",
            )
        )
    return Page("Check of reviews", good, verdict, summary, facts)


# The first line.


def _sizes_of(sizes: Sequence[int]) -> str:
    """Return sizes, the largest first, those beyond a few only counted."""
    shown = ", ".join(f"{size:,}" for size in sizes[:LISTED])
    more = f" and {len(sizes) - LISTED:,} more" if len(sizes) > LISTED else ""
    return f"{shown} {noun(sizes[-1] if not more and len(sizes) == 1 else 2, 'paper')}{more}"


def _verdict(report: Report) -> tuple[bool | None, str, str]:
    """Return whether all is well, the verdict, and the rest of its line."""
    reviews = report.reviews
    unlisted = reviews.origin.unlisted
    level = None if report.level is None else level_named(report.level)
    seen = _seen(reviews)
    broken = [] if report.violations is None else report.violations.sentences()
    late = report.as_of_now is not None
    if not reviews.n_items:
        return None, "Nothing to compare:", "no paper and no review"
    if elsewhere := int(unreviewed(reviews)[1].sum()):
        have = noun(elsewhere, "paper has", "papers have")
        return None, "Not known:", f"{elsewhere:,} of {reviews.n_items:,} {have} reviews, but none in these files"
    if level is None or not level.compares:
        return False, "Not comparable:", _apart(report.structure, seen)
    if unlisted is not None:
        return None, "Not known:", f"{unlisted.which} are not in this file; these {reviews.n_items:,} are {level.words}"
    if not report.recovery_resilient:
        # A reviewer of one paper is no group, as in the section on groups.
        group_sizes = groups_of(report.structure).sizes.tolist()
        how = level.words.removeprefix("comparable").strip()
        groups = f"{seen} in {counted(len(group_sizes), 'group')} ({_sizes_of(group_sizes)})"
        return False, "Not comparable for certain:", f"{groups}; comparable {how}"
    if broken:
        return False, "Comparable, but rules are broken:", "; ".join(broken)
    partial = reviews.origin.is_partial or late
    return (None if partial else True), "Comparable:", _all(seen, "for certain", late=late)


def _all(papers: str, how: str, *, late: bool) -> str:
    """Return that all papers are comparable, and how; a single one is comparable with nothing."""
    if papers == counted(1, "paper"):
        return papers
    return f"all {papers}, {'once all reviews are in' if late else how}"


def _seen(reviews: Reviews) -> str:
    """Return the number of papers, and of how many they are where some are hidden."""
    if hidden := len(reviews.origin.hidden):
        return f"{reviews.n_items:,} of {counted(reviews.n_items + hidden, 'paper')} seen"
    return counted(reviews.n_items, "paper")


def _apart(structure: Structure, seen: str) -> str:
    """Return why the papers are not comparable: nobody reviews some, or no review connects islands."""
    reviews = structure.reviews
    lack = reviewer_or_review(reviews)
    unread = int((reviews.reviews_per_item == 0).sum())
    # The papers of each connected component that has reviews.
    busy = np.unique(structure.connected.labels[reviews.loads > 0])
    islands = sorted(structure.connected.cover_sizes[busy].tolist(), reverse=True)
    if not islands:
        return f"{seen}, and no review"
    if len(islands) > 1:
        without = f", {unread:,} without a {lack}" if unread else ""
        return f"{seen}, in {counted(len(islands), 'island')} ({_sizes_of(islands)}){without}"
    rest = islands[0]
    how = "for certain"
    if structure.doubly_connected.largest_cover != rest:
        groups = int((structure.doubly_connected.cover_sizes > 1).sum())
        how = f"only in part ({counted(groups, 'group')})"
    return f"{unread:,} of {seen} {noun(unread, 'has', 'have')} no {lack}; the other {rest:,} are comparable {how}"


def reviewer_or_review(reviews: Reviews) -> str:
    """Return what papers without a review lack: files of scores alone do not list reviewers without a score."""
    return "review" if reviews.scored.all() and reviews.n_reviews else "reviewer"


# Facts.


def _lacks(report: Report) -> list[Fact]:
    """Return what is missing, what rules are broken, and what is not counted."""
    reviews = report.reviews
    structure = report.structure
    none, elsewhere = map(np.flatnonzero, unreviewed(reviews))
    facts = []
    if none.size:
        facts.append(Fact(f"No {reviewer_or_review(reviews)}", _some(reviews.items, none, NAMED)))
    if elsewhere.size:
        facts.append(Fact("Not in files", f"{_some(reviews.items, elsewhere, NAMED)} have reviews, but none in these"))
    if not structure.recovery_resilient and reviews.n_items and not elsewhere.size:
        least = max(structure.degrees_of_freedom, 1)
        facts.append(Fact("Needed", f"{counted(least, 'review')} or more; plan says how many, and which"))
    for name, lines in _by_rule(report.violations).items():
        nothing = "none reviewed" if name == "Conflicts" else "none"
        facts.append(Fact(name, f"{len(lines):,}: {listed(lines)}" if lines else nothing))
    return [*facts, *not_counted(reviews)]


def not_counted(reviews: Reviews) -> list[Fact]:
    """Return the papers and reviews that do not count, as a fact; nothing where all count."""
    out = reviews.origin.not_counted()
    return [Fact("Not counted", ", ".join(out))] if out else []


def _by_rule(violations: Violations | None) -> dict[str, list[str]]:
    """Return what violates each rule that was passed, those farthest from their limit first."""
    if violations is None:
        return {}
    by_rule = {}
    if violations.conflicts is not None:
        by_rule["Conflicts"] = [f"{reviewer} on {item}" for reviewer, item in violations.conflicts]
    for name, violated in (("Over load", violations.over_load), ("Short", violations.short)):
        if violated is not None:
            farthest_first = sorted(violated, key=lambda entry: -abs(entry[1] - entry[2]))
            by_rule[name] = [f"{label} has {reviews} of {limit}" for label, reviews, limit in farthest_first]
    return by_rule


def _sizes(report: Report) -> list[Fact]:
    reviews = report.reviews
    facts = [Fact("Reviews", sizes(reviews, int(reviews.scored.sum())))]
    if (now := report.as_of_now) is not None:
        empty = int((now.reviews.reviews_per_item == 0).sum())
        bare = f"{counted(empty, 'paper has', 'papers have')} none" if empty else "every paper has one or more"
        state = "comparable already" if now.recovery_resilient else "not comparable yet"
        facts.append(Fact("So far", f"{now.reviews.n_reviews:,} of {reviews.n_reviews:,} are in, {bare}; {state}"))
    return facts


def sizes(reviews: Any, n_scored: int) -> str:
    """Return the numbers of reviewers and reviews of a table or stream, the loads, and the direction of scores."""
    per_paper = _range(reviews.reviews_per_item)
    numbers = f"{reviews.n_reviews:,} by {counted(reviews.n_reviewers, 'reviewer')}, {per_paper} per paper"
    if not reviews.n_reviews:
        return numbers
    if not n_scored:
        only_criteria = bool(getattr(reviews, "criteria", None)) and reviews.target is None
        return f"{numbers}; {'criteria without an overall score' if only_criteria else 'no scores yet'}"
    # Tables larger than memory keep no record of systems.
    open_to_doubt = not reviews.lower_is_better and hasattr(reviews, "origin") and reviews.origin.is_plain
    return f"{numbers}; {reviews.direction}{' (or --lower-is-better)' if open_to_doubt else ''}"


def _range(counts: IntArray) -> str:
    return ranging(int(counts.min()), int(counts.max())) if counts.size else "none"


def _outlook(report: Report) -> list[Fact]:
    """Return the expected share of right selections, and what the loss of one reviewer changes."""
    facts = []
    assumed = report.assumptions == Assumptions()
    # Of scores that are all in, calibrate knows more than assumptions do.
    if report.reviews.n_items > 1 and report.reviews.n_reviews and not (assumed and report.reviews.scored.all()):
        outlook = report.expected
        now, *later = outlook.curve
        middle = later[len(later) // 2] if later else None
        more = f", {percent(middle.right)} with {middle.added:,} more" if middle else ""
        how = " (assumed noise)" if assumed else ""
        facts.append(Fact(f"Best {outlook.n_selected:,}", f"picked right: {percent(now.right)} now{more}{how}"))
    for kept in () if report.keeps is None else report.keeps.levels[:1]:
        still = level_named(kept.level).words
        facts.append(Fact("If some fail", f"{still} with probability {percent(kept.probability)}"))
    critical = report.fragile
    if critical is not None and critical.holds and report.recovery_resilient:
        some = critical.critical_reviewer_codes.size
        names = listed(first_labels(critical.reviews.reviewers, critical.critical_reviewer_codes, LISTED + 1))
        lost = names if some == 1 else f"any one of {counted(some, 'reviewer')}: {names}"
        facts.append(
            Fact("If one is lost", f"not comparable without {lost}" if some else "still comparable for certain")
        )
    return facts


def _warnings(report: Report) -> list[str]:
    reviews = report.reviews
    origin = reviews.origin
    warnings = [f"{part.words}." for part in (origin.unlisted, origin.lacking) if part]
    if origin.others_unknown:
        warnings.append(origin.others_unknown)
    few = np.flatnonzero(reviews.loads < 2)
    if few.size and not report.recovery_resilient:
        who = counted(few.size, "reviewer")
        warnings.append(f"{who} of fewer than two papers {noun(few.size, 'connects', 'connect')} nothing.")
    return warnings


def _some(labels: Sequence[Label], codes: IntArray, most: int = LISTED) -> str:
    """Return the first labels, and the number of all where more are left out."""
    names = listed(first_labels(labels, codes, most + 1), most)
    return names if codes.size <= most else f"{codes.size:,}: {names}"


# Groups.


def _groups(report: Report) -> list[Part]:
    n_groups = int(groups_of(report.structure).order.size)
    parts: list[Part] = []
    if n_groups > 1:
        shown = f"the {MOST} largest of {n_groups:,} groups" if n_groups > MOST else f"{n_groups} groups"
        words = (
            f"Reviewers of one group have their papers on one scale for certain. The map shows {shown} as circles, "
            "each as large as its papers, and lines for papers that two groups share; a single shared paper does not "
            "join them."
        )
        parts.append(Picture("groups", "The map of groups", words, map_of(report.structure)))
    missing = f"{counted(report.degrees_of_freedom, 'link')} missing (degrees of freedom)"
    level = "none" if report.level is None else f"{report.level} ({level_named(report.level).term})"
    parts.append(
        Prose(
            [
                f"Level: {level}; {counted(len(report.structure.connected), 'connected component')}, "
                f"{counted(len(report.structure.doubly_connected), 'doubly connected component')}; {missing}."
            ]
        )
    )
    if len(report.structure.connected) > 1:
        parts.append(_island_list(report.structure))
    return [*parts, *([group_table(report.structure)] if n_groups else [])]


def _island_list(structure: Structure) -> Listed:
    """Return the reviewers of each island, the largest island first."""
    reviews = structure.reviews
    components = structure.connected
    busy = np.flatnonzero(reviews.loads > 0)
    lines = []
    for component in components.largest_first.tolist():
        members = busy[components.labels[busy] == component]
        if members.size:
            names = ", ".join(map(str, first_labels(reviews.reviewers, members, members.size)))
            lines.append(f"{counted(int(components.cover_sizes[component]), 'paper')} by {names}")
    return Listed("Islands that no review connects:", lines, LISTED)


def group_table(structure: Structure) -> Table:
    """Return a row per group: its papers and reviewers, and its island."""
    reviews = structure.reviews
    components = structure.doubly_connected
    groups = groups_of(structure)
    by_group = np.argsort(components.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(components.sizes)])
    members = [by_group[starts[component] : starts[component + 1]] for component in groups.order.tolist()]
    columns = [
        Column("group", list(range(1, groups.order.size + 1)), "number"),
        Column("papers", groups.sizes.tolist(), "number"),
        Column("reviewers", components.sizes[groups.order].tolist(), "number"),
        Column("island", groups.island.tolist(), "number"),
        Column("who", [_names(reviews.reviewers, reviewers) for reviewers in members]),
        Column("which papers", [_names(reviews.items, components.covers[component]) for component in groups.order]),
    ]
    return Table("group-table", "Groups of two papers or more, the largest first", columns, "groups")


def _names(labels: Sequence[Label], codes: IntArray) -> str:
    return listed(first_labels(labels, codes, IN_A_CELL + 1), IN_A_CELL)


# Loads and rules.


def reviews_page(reviews: Reviews) -> Page:
    """Return the page of a table of reviews: its sizes, first rows and loads."""
    rows = reviews.subset(np.arange(min(SHOWN + 1, reviews.n_reviews))).to_columns()
    return Page(
        "Reviews",
        None,
        counted(reviews.n_items, "paper"),
        sizes(reviews, int(reviews.scored.sum())),
        facts=[*first_rows(rows, reviews.n_reviews), *not_counted(reviews)],
        sections=[Section("loads", "Loads", lambda: loads(reviews))],
        nouns=Nouns(*reviews._nouns),
    )


def loads(reviews: Reviews) -> list[Part]:
    """Return the loads of a table as pictures."""
    if not reviews.n_reviews:
        return []
    per_item = reviews.reviews_per_item
    per_reviewer = reviews.loads
    alone = int((per_reviewer < 2).sum())
    unread = int((per_item == 0).sum())
    inside = "" if reviews.origin.lacking is None else " in these files"
    few = counted(alone, "reviewer has fewer than two and links", "reviewers have fewer than two and link")
    none = counted(unread, f"paper has none{inside}", f"papers have none{inside}")
    return [
        chart(
            "loads",
            "Papers per reviewer",
            f"{_spread(per_reviewer)}.{f' {few} nothing; their bars stand out.' if alone else ''}",
            tally(per_reviewer, low=2),
            "papers",
            "reviewers",
        ),
        chart(
            "reviews",
            "Reviews per paper",
            f"{_spread(per_item)}.{f' {none}; their bar stands out.' if unread else ''}",
            tally(per_item, low=1),
            "reviews",
            "papers",
        ),
    ]


def _spread(counts: IntArray) -> str:
    return f"{_range(counts)}, median {np.median(counts):g}" if counts.size else "none"


# Expected errors.


def _errors(outlook: Outlook) -> list[Part]:
    of = outlook.assumptions
    unit = "points" if of.spread != 1.0 else "in spreads of quality"
    of_spread = f", spread {of.spread:.3g} points" if of.spread != 1.0 else ""
    advice = "; --like FILE takes them from last year's scores" if of == Assumptions() else ""
    now, *later = outlook.curve
    best = f"best {outlook.n_selected:,}" if outlook.n_selected > 1 else "best one"
    right = [
        f"Expected to be right when the {best} of {counted(outlook.variance.size, 'paper')} "
        f"{'are' if outlook.n_selected > 1 else 'is'} selected: {percent(now.right)} (plain average: "
        f"{percent(outlook.right_by_average)})",
        *(f"{percent(step.right)} with {counted(step.added, 'more review')}" for step in later),
    ]
    # Bars on axes are as wide as most of the distance between two numbers.
    half = 0.4 * min(np.diff([step.added for step in outlook.curve]), default=1)
    curve = [
        Bar(f"{step.added:,}", round(100 * step.right), edges=(step.added - half, step.added + half))
        for step in outlook.curve
    ]
    paragraphs = [
        "Comparable does not mean precise: noisy scores still need enough reviews per paper.",
        f"Expected error of a paper once all scores are in: {np.median(outlook.error):.2f} {unit} (median; plain "
        f"average: {np.median(outlook.average):.2f}), assuming noise {of.noise:.2g}, severity {of.severity:.2g}, "
        f"stretch {of.stretch:.2g}{of_spread}{advice}.",
    ]
    if not outlook.structure.is_connected:
        paragraphs.append(
            "Errors hold within an island: that papers and reviewers of all islands are alike is assumed, and no score "
            "can confirm it."
        )
    return [
        Prose(paragraphs),
        Picture(
            "right",
            "Right selections, in %, by reviews added",
            "; ".join(right) + (", one each to the weakest papers." if later else "."),
            BarChart(curve, "added", "right, in %"),
        ),
    ]


# Losses.


def _losses(report: Report) -> list[Part]:
    """Return the single losses that lower the level, and the probability that it is kept."""
    critical = report.fragile
    parts: list[Part] = []
    if critical is None:
        where = "Whose loss would lower the level was not looked for in a table of this size; --fragile does it."
        parts.append(Prose([where]))
    elif critical.holds:
        table = critical.reviews
        people = critical.critical_reviewer_codes
        rows = critical.critical_review_rows
        reviewers = [str(label) for label in first_labels(table.reviewers, people, people.size)]
        # Reviews in the order of the labels of their reviewers, then of their items.
        order = np.lexsort((ranks(table.items)[table.item[rows]], ranks(table.reviewers)[table.reviewer[rows]]))
        codes = zip(table.reviewer[rows[order]].tolist(), table.item[rows[order]].tolist(), strict=True)
        pairs = [f"{table.reviewers[j]} on {table.items[i]}" for j, i in codes]
        still = level_named(critical.level).words
        parts += [_one("reviewer", reviewers, still), _one("review", pairs, still)]
    if report.keeps is not None:
        opening = (
            f"If reviews fail to arrive with the given probability ({counted(report.keeps.draws, 'draw')}), papers are "
            "at least"
        )
        lines = [
            f"{level_named(kept.level).words}: {percent(kept.probability)} +- {100 * kept.standard_error:.1f} "
            "(standard error)"
            for kept in report.keeps.levels
        ]
        parts.append(Listed(opening, lines))
    return parts


def _one(what: str, names: list[str], still: str) -> Part:
    if not names:
        return Prose([f"If any one {what} is lost, the papers are still {still}."])
    which = f"this {what}" if len(names) == 1 else f"any one of {counted(len(names), what)}"
    # Comparable "only if" is the least level: without it papers are not comparable even then.
    return Listed(f"Not {still.replace('only if', 'even if')} without {which}:", names, NAMED)


# Tables.


def paper_table(report: Report) -> Table:
    """Return a row per paper: its reviews and expected errors."""
    reviews = report.reviews
    outlook = report.expected
    order = outlook.weakest
    arrived = report.as_of_now
    covers = np.bincount(report.structure.doubly_connected.cover_item, minlength=reviews.n_items)
    columns = [
        *paper_columns(reviews, order.tolist()),
        Column("reviews", reviews.reviews_per_item[order].tolist(), "number"),
        *(
            []
            if arrived is None
            else [Column("of these in", arrived.reviews.reviews_per_item[order].tolist(), "number")]
        ),
        Column("groups", covers[order].tolist(), "number"),
        Column("error", outlook.error[order].tolist(), "number", 2),
        Column("with one more", outlook.with_one_more[order].tolist(), "number", 2),
        Column("average", outlook.average[order].tolist(), "number", 2),
    ]
    return Table(
        "papers-table",
        "Papers, the largest expected error first; then after one more review, and of the plain average",
        columns,
        "papers",
    )


def reviewer_table(report: Report) -> Table:
    """Return a row per reviewer: papers, scores, and the group."""
    reviews = report.reviews
    structure = report.structure
    number = groups_of(structure).number[structure.doubly_connected.labels]
    order = np.lexsort((places(reviews.reviewers), number, number == 0))  # who is in no group stands last
    scored = np.bincount(reviews.reviewer[reviews.scored], minlength=reviews.n_reviewers)
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in order.tolist()]),
        Column("papers", reviews.loads[order].tolist(), "number"),
        Column("scored", scored[order].tolist(), "number"),
        Column("not in yet", (reviews.loads - scored)[order].tolist(), "number"),
        Column("group", [entry or None for entry in number[order].tolist()], "number"),
        Column("island", np.array(by_size(structure.connected))[order].tolist(), "number"),
    ]
    return Table("reviewers-table", "Reviewers, by group", columns, "reviewers")
