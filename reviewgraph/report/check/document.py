"""The report of a check: what is missing, the verdict, groups, loads and overlaps, expected errors, losses, tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.fragility.words import kept, losses, single
from reviewgraph.labels import first_labels
from reviewgraph.levels import level_named
from reviewgraph.pages import PRECISE, by_scores, groups, today, unlisted, verdicts
from reviewgraph.precision.words import disagreement, errors, selection, weakest
from reviewgraph.report.charts import worth_seeing
from reviewgraph.report.check.grouping import MOST, Grouping, grouping_of
from reviewgraph.report.check.loads import loads
from reviewgraph.report.check.missing import missing
from reviewgraph.report.check.tables import group_table, paper_table, reviewer_table, weakest_first
from reviewgraph.report.page import Document, Fact, Listed, Part, Picture, Printed, Prose, Section, pictures_among
from reviewgraph.report.pictures.errors import shares, sorted_errors
from reviewgraph.report.pictures.groups import group_map
from reviewgraph.words import LISTED, counted, listed

if TYPE_CHECKING:
    from reviewgraph.checking import Report
    from reviewgraph.precision.outlook import Outlook


def document(report: Report, subject: str, closing: Sequence[str] = (), *, reached: bool = True) -> Document:
    """Return the report of a check.

    Parameters
    ----------
    report
        The check.
    subject
        What was checked: the files.
    closing
        What the command adds to the page: the verdict on a required level, the next command.
    reached
        Whether a level that is required is reached; true by default.
    """
    structure, reviews = report.structure, report.reviews
    lead, *others = verdicts(structure, report.as_of_now)
    state = today(structure, report.as_of_now, report.violations)
    headline = _headline(report, state)
    grouping = grouping_of(structure)
    sections = [
        *missing(report),
        _map(report, grouping),
        Section("loads-section", "Loads and overlaps", worth_seeing(loads(reviews))),
        *([_errors(report.expected)] if reviews.n_items else []),
        *_losses(report),
        Section("tables", "Tables", [paper_table(report), reviewer_table(report, grouping), group_table(grouping)]),
        Section("text", "As the terminal prints it", [Printed([*report.page().splitlines(), "", *closing])]),
    ]
    return Document(
        "Check of reviews",
        subject,
        _good(report, state) if reached else False,
        headline,
        " ".join([*unlisted(reviews), *(f"{words}." for words in state if words != headline), lead]),
        others,
        closing,
        _facts(report),
        sections,
    )


def _good(report: Report, state: Sequence[str]) -> bool | None:
    """Return whether all is well; None where it will be once all reviews are in, or for the papers of the file only."""
    late = report.as_of_now is not None
    if not report.recovery_resilient or len(state) > late:
        return False
    return None if late or report.reviews.origin.unlisted else True


def _headline(report: Report, state: Sequence[str]) -> str:
    other = report.reviews.origin.unlisted
    if other is not None:
        return f"{other.which[:1].upper()}{other.which[1:]} are not in this file"
    if state:
        return state[0]
    if report.level is None:
        return "Not comparable"
    words = level_named(report.level).words
    return f"{words[0].upper()}{words[1:]}"


def pictures(report: Report) -> list[Picture]:
    """Return the pictures of a check: the map where there are several groups, loads and overlaps, expected errors."""
    if not report.reviews.n_reviews:
        return []
    grouped, erring = _map(report, grouping_of(report.structure)), _errors(report.expected)
    return pictures_among([*grouped.parts, *loads(report.reviews), *erring.parts])


def _facts(report: Report) -> list[Fact]:
    structure, reviews = report.structure, report.reviews
    scored = int(reviews.scored.sum())
    state = "all scored" if scored == reviews.n_reviews else f"{scored:,} scored" if scored else "no scores yet"
    components = structure.doubly_connected
    found = [
        Fact("Papers", f"{reviews.n_items:,}"),
        Fact("Reviewers", f"{reviews.n_reviewers:,}"),
        Fact("Reviews", f"{reviews.n_reviews:,}", state),
        Fact("Groups", f"{len(components):,}", f"largest: {counted(components.largest_cover, 'paper')}"),
        Fact("Missing links", f"{structure.degrees_of_freedom:,}", "degrees of freedom"),
    ]
    if reviews.n_items:
        average = f"median; plain average {np.median(report.expected.average):.2f}"
        found.append(Fact("Expected error", f"{np.median(report.expected.error):.2f}", average))
    return found


def _map(report: Report, grouping: Grouping) -> Section:
    heading, *lines = groups(grouping.structure)
    parts: list[Part] = []
    if len(grouping) > 1:
        words = _map_words(grouping)
        parts.append(Picture("groups", "The map of groups", words, partial(group_map, grouping.map())))
    scored = by_scores(report.scored, certain=report.scored_recovery_resilient)
    parts += [Listed(heading, lines), *([Prose(scored)] if scored else [])]
    return Section("map", "Groups", parts)


def _map_words(grouping: Grouping) -> str:
    """Say what the map shows, numbers included."""
    n, hanging = len(grouping), int(grouping.hanging.sum())
    apart, pieces = int((grouping.piece > 0).sum()), int(grouping.piece.max()) + 1
    alone = len(grouping.structure.doubly_connected) - n
    shown = f"the {MOST} largest of {counted(n, 'group')}" if n > MOST else counted(n, "group")
    sentences = [
        f"Reviewers of one group have their papers on one scale for certain. The map shows {shown} as circles, each as "
        "large as its papers, and lines for papers that two groups share; a single shared paper does not join them."
    ]
    if hanging:
        by = counted(hanging, "group hangs", "groups hang")
        sentences.append(f"{by} by one paper alone (there the map would break: {_papers(grouping)}).")
    if apart:
        sentences.append(
            f"{counted(apart, 'group is', 'groups are')} cut off: the groups lie in {counted(pieces, 'piece')} that "
            "share no paper."
        )
    if not (hanging or apart):
        sentences.append("None hangs by a single paper, and none is cut off.")
    if alone:
        sentences.append(f"Left out: {counted(alone, 'reviewer')} of one paper or none, who link nothing.")
    return " ".join(sentences)


def _papers(grouping: Grouping) -> str:
    items = grouping.structure.reviews.items
    return listed(first_labels(items, grouping.cut, LISTED + 1))


def _errors(outlook: Outlook) -> Section:
    items, order = outlook.structure.reviews.items, weakest_first(outlook)
    points = outlook.assumptions.spread != 1.0
    unit = "points" if points else "in spreads of quality"
    names = [str(items[i]) for i in order.tolist()]
    error, more, average = outlook.error[order], outlook.with_one_more[order], outlook.average[order]
    heading, *_ = weakest(outlook)
    rows = zip(names, error.tolist(), more.tolist(), strict=True)
    weak = [f"{name}: {now:.2f}, with one more {then:.2f}" for name, now, then in islice(rows, LISTED)]
    first, *later = selection(outlook)
    about = " ".join(map(str.strip, errors(outlook)))
    words = (
        f"Each paper's expected error once all scores are in, from {error.max():.2f} down to {error.min():.2f}; what "
        "one more review would leave, and the error of the plain average."
    )
    counts, right = [step.added for step in outlook.curve], [step.right for step in outlook.curve]
    parts: list[Part] = [
        Prose([PRECISE, f"{about}."]),
        Picture(
            "errors",
            "Expected error by paper",
            words,
            lambda width: sorted_errors(error, more, average, names, width, unit),
        ),
        Listed(heading, weak),
        Picture(
            "right",
            "What more reviews would buy",
            f"{first}{';' if later else ''} {'; '.join(line.strip() for line in later)}.",
            lambda width: shares(counts, right, width),
        ),
    ]
    if doubt := disagreement(outlook):
        parts.append(Prose([" ".join(map(str.strip, doubt))]))
    return Section("errors-section", "Expected error", parts)


def _losses(report: Report) -> list[Section]:
    found, parts = report.losses, list[Part]()
    if found.fragile is None:
        parts.append(Prose([line for line in losses(found)[:2] if line]))
    elif lines := single(found.fragile):
        parts.append(Listed(lines[1], lines[2:]))
    if found.keeps is not None:
        _, heading, *levels = kept(found.keeps)
        parts.append(Listed(f"{heading}:", levels))
    return [Section("losses", "If reviews are lost", parts)] if parts else []
