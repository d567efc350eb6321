"""The report of an assignment: demands, level, cost, loads, affinities, and who reviews what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.words import affinity_bins, headline, opening, page, sentences, shortage_lines
from reviewgraph._base import Mentions, counted, natural_key, places, snapped
from reviewgraph.report import (
    Bar,
    Column,
    Document,
    Fact,
    Picture,
    Ranked,
    Section,
    Table,
    chart,
    paper_columns,
    parts_of,
    pictures_among,
    ranked,
    tally,
)

if TYPE_CHECKING:
    from planner._assign.assignment import Assignment
    from planner._assign.findings import Pair, Violated
    from reviewgraph._base import IntArray, Label
    from reviewgraph.report import Codes
    from reviewgraph.table import Reviews


#: Number of worst-served papers with labels in the plot.
NAMED = 5


def document(assignment: Assignment, subject: str, closing: Sequence[str] = ()) -> Document:
    """Return the report of an assignment of ``subject``, the files; ``closing`` are the next commands."""
    empty = not assignment.reviews.n_reviews
    proof = f"{assignment.status.text[0].upper()}{assignment.status.text[1:]}."
    loads, level, *affinity = opening(assignment) if not empty else ["", ""]
    caveats = assignment.reviews.origin.caveats(assignment.reviews.n_items)
    return Document(
        "Assignment of reviewers",
        subject,
        assignment.status.reached,
        headline(assignment),
        " ".join([*caveats, *([proof] if empty else [*shortage_lines(assignment), level, loads])]),
        ([assignment.explanation] if assignment.explanation else []) if empty else [" ".join(affinity), proof],
        closing,
        _facts(assignment, assignment.reviews),
        [] if empty else _sections(assignment, assignment.reviews),
        [*page(assignment).splitlines(), "", *closing],
    )


def pictures(assignment: Assignment) -> list[Picture]:
    """Return the pictures of an assignment: loads, reviews per paper, affinities, sums per paper."""
    return pictures_among([_pictured(assignment, assignment.reviews)]) if assignment.reviews.n_reviews else []


def _facts(assignment: Assignment, table: Reviews) -> list[Fact]:
    facts = [
        Fact("Papers", f"{table.n_items:,}"),
        Fact("Reviewers", f"{table.n_reviewers:,}"),
        Fact("Reviews", f"{table.n_reviews:,}", f"{assignment.status}"),
        Fact("Level", assignment.target),
    ]
    if table.n_reviews:
        most = int(assignment.loads.max())
        busiest = int((assignment.loads == assignment.loads.max()).sum())
        facts += [
            Fact("Largest load", f"{most:,}", f"by {counted(busiest, 'reviewer')}"),
            Fact(
                "Affinity",
                f"{assignment.affinity:.6g}",
                f"best without a level: {assignment.affinity_unconstrained:.6g}",
            ),
            Fact("Affinity lost", f"{assignment.price:.3f} %", "for the level and all else"),
        ]
    return facts


def _sections(assignment: Assignment, table: Reviews) -> list[Section]:
    return [
        Section("level", "Rules, errors and losses", parts_of(sentences(assignment))),
        _pictured(assignment, table),
        Section("tables", "Tables", _tables(assignment, table)),
    ]


def _pictured(assignment: Assignment, table: Reviews) -> Section:
    loads = assignment.loads
    per_item = table.reviews_per_item
    parts = [
        chart(
            "loads",
            "Reviews per reviewer",
            f"Distribution of the number of reviews over {counted(loads.size, 'reviewer')}.",
            tally(loads),
            "reviews",
        ),
        chart(
            "demands",
            "Reviews per paper",
            f"Distribution of the number of reviews over {counted(per_item.size, 'paper')}.",
            tally(per_item, low=1),
            "reviews",
        ),
        _affinities(assignment),
        _served(assignment, table),
    ]
    return Section("loads-section", "Loads and affinities", parts)


def _affinities(assignment: Assignment) -> Picture:
    names, count = affinity_bins(assignment)
    shown = [Bar(name, number) for name, number in zip(names, count.tolist(), strict=True)]
    mean = assignment.mean_affinity
    least = assignment.minimum_affinity
    words = f"Distribution of the affinities of reviews: mean {mean:.4g}, minimum {least:.4g}."
    return chart("affinities", "Affinity of the reviews", words, shown, "affinity")


def _served(assignment: Assignment, table: Reviews) -> Picture:
    total = np.bincount(table.item, weights=assignment.affinities, minlength=table.n_items).astype(np.float64)
    order = np.lexsort((places(table.items), snapped(total)))
    nothing = np.full(order.size, np.nan)
    names = [str(table.items[i]) for i in order.tolist()]
    shown = Ranked(total[order], nothing, nothing, ["dot"] * order.size, names, range(min(NAMED, order.size)))
    words = (
        f"Sum of the affinities of each paper's reviewers, the worst-served paper first: from {total.min():.4g} to "
        f"{total.max():.4g}."
    )
    return Picture(
        "served",
        "Affinity per paper",
        words,
        lambda width: ranked(shown, width, "sum of affinities", "papers, the worst served first", [("dot", "paper")]),
        "" if total.min() < total.max() else f"The affinities of each paper's reviewers add up to {total.min():.4g}.",
    )


def _tables(assignment: Assignment, table: Reviews) -> list[Table]:
    """Return a row per paper, the worst served first; per reviewer, by load; and per review, by affinity."""
    affinities = assignment.affinities
    paper_place = places(table.items)
    reviewer_place = places(table.reviewers)
    # Papers, with the affinities of their reviewers added up.
    served = np.bincount(table.item, weights=affinities, minlength=table.n_items).astype(np.float64)
    order = np.lexsort((paper_place, snapped(served)))
    papers = [
        *paper_columns(table, order.tolist()),
        Column("reviews", table.reviews_per_item[order].tolist(), "number"),
        Column("sum of affinities", served[order].tolist(), "number", 3),
        Column("reviewers", [_joined(table.reviewers, table.reviewers_of(i)) for i in order.tolist()]),
    ]
    # Reviewers; those without a review have no mean.
    total = np.bincount(table.reviewer, weights=affinities, minlength=table.n_reviewers)
    order = np.lexsort((reviewer_place, -table.loads))
    mean = [float(total[j] / table.loads[j]) if table.loads[j] else None for j in order.tolist()]
    reviewers = [
        Column("reviewer", [table.reviewers[j] for j in order.tolist()]),
        Column("reviews", table.loads[order].tolist(), "number"),
        Column("mean affinity", mean, "number", 3),
        Column("papers", [_joined(table.items, table.items_of(j)) for j in order.tolist()]),
    ]
    # Reviews, by paper and then by reviewer where affinities are equal.
    order = np.lexsort((reviewer_place[table.reviewer], paper_place[table.item], snapped(affinities)))
    pairs = [
        Column("paper", [table.items[i] for i in table.item[order].tolist()]),
        Column("reviewer", [table.reviewers[j] for j in table.reviewer[order].tolist()]),
        Column("affinity", affinities[order].tolist(), "number", 3),
    ]
    return [
        Table("papers", "Papers, the worst served first", papers, "papers"),
        Table("reviewers", "Reviewers, the largest load first", reviewers, "reviewers"),
        Table("pairs", "Reviews, the least affinity first", pairs, "reviews"),
    ]


def _joined(labels: Sequence[Label], codes: IntArray) -> str:
    """Return labels in their natural order; that of codes is not that of names."""
    return ", ".join(map(str, sorted((labels[code] for code in codes.tolist()), key=natural_key)))


# Sentences that several rows of a table share are printed once above it.


class Said(NamedTuple):
    """Shared sentences, one per line, and the texts of the rows."""

    once: list[str]
    rows: list[str]


def said_once(sentences: Sequence[str], short: Sequence[str]) -> Said:
    """Replace sentences that several rows share by their short forms.

    >>> said_once(["a link in reserve", "joins p1 to p2", "a link in reserve"], ["reserve", "1 + 1", "reserve"])
    Said(once=['reserve (2 reviews): a link in reserve'], rows=['reserve', 'joins p1 to p2', 'reserve'])
    """
    numbers = Counter(zip(sentences, short, strict=True))
    again = [(pair, number) for pair, number in numbers.most_common() if number > 1]
    repeated = {pair for pair, _ in again}
    rows = [few if (words, few) in repeated else words for words, few in zip(sentences, short, strict=True)]
    return Said([f"{few} ({counted(number, 'review')}): {words}" for (words, few), number in again], rows)


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
