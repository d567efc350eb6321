"""The report of a calibration: the decision, what the correction is worth, each paper, reviewers, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc.posteriors import PosteriorEstimate
from lsc.report.papers import funding_line, moved, qualities, zone
from lsc.report.reviewers import reviewer_pictures
from lsc.report.scores import paper_scores
from lsc.report.tables import discuss_table, paper_table, reviewer_table
from lsc.words.aside import aside_lines
from lsc.words.posterior_page import advice, changes, decision, expectation, headline, line_of, misfit_lines
from reviewgraph.report.page import Document, Fact, Part, Picture, Printed, Prose, Section, parts_of, pictures_among
from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from lsc.words.pages import Page


def document(
    result: Estimate,
    selection: Selection | None,
    page: Page,
    subject: str,
    *,
    lists: Sequence[str | None] | None = None,
    extras: Sequence[str] = (),
    closing: Sequence[str] = (),
) -> Document:
    """Return the report of a calibration.

    Parameters
    ----------
    result
        What a method found.
    selection
        Papers in, to discuss and out, where the method knows chances and some were to be selected.
    page
        What the terminal shows.
    subject
        What was calibrated: the files.
    lists
        Whether each paper is in or out, where papers were selected, whatever the method knows.
    extras
        Further lines of the terminal: lots, an account, the scale of references.
    closing
        What the command adds: what is known now, and what to type next.
    """
    good, head, lead, remarks = _verdict(result, selection, lists, page)
    printed = [*page.opening, "", *page.body, *extras, "", *page.closing, *closing]
    last = [line for line in closing if line]
    sections = [
        *_cut(result, selection, extras),
        Section("scores", "Scores", _scores(result, selection)),
        Section("papers-scores", "Each paper", paper_scores(result, selection)),
        *_reviewers(result),
        Section("tables", "Tables", _tables(result, selection)),
        Section("text", "As the terminal prints it", [Printed(printed)]),
    ]
    return Document(
        "Calibration of scores",
        subject,
        good,
        head,
        lead,
        [*remarks, *page.closing],
        last,
        _facts(result, selection),
        sections,
    )


def _verdict(
    result: Estimate, selection: Selection | None, lists: Sequence[str | None] | None, page: Page
) -> tuple[bool | None, str, str, list[str]]:
    """Return whether there is something to hope for, the verdict in short and at length, and remarks."""
    lead, *remarks = page.opening or [f"Qualities by the method {result.method}."]
    if not isinstance(result, PosteriorEstimate):
        if lists is None:
            return True, "Scores on one scale", lead, remarks
        inside, out = (sum(where == name for where in lists) for name in ("in", "out"))
        return None, f"{counted(inside, 'paper is', 'papers are')} in, {out:,} out", lead, remarks
    if selection is None:
        return *headline(result), lead, remarks
    # The decision first, then what the correction is worth.
    aside = selection.aside
    apart = aside_lines(selection.named(aside), result.group[aside], selection.ranked.size)
    return None, *decision(result, selection), [lead, *remarks, *apart]


def pictures(result: Estimate, selection: Selection | None = None) -> list[Picture]:
    """Return the pictures of a calibration: of the cut where papers are selected, of who moved, of reviewers."""
    if not np.isfinite(result.quality).any():
        return []
    cut, people = (
        [part for section in found for part in section.parts]
        for found in (_cut(result, selection, ()), _reviewers(result))
    )
    return pictures_among([*cut, *_scores(result, selection), *people])


def _scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the pictures of papers; with a selection the funding line replaces that of all ranks."""
    return [moved(result, selection), *([] if selection is not None else [qualities(result)])]


def _facts(result: Estimate, selection: Selection | None) -> list[Fact]:
    reviews, scored = result.reviews.only_scored(), np.isfinite(result.quality)
    active = int((reviews.loads > 0).sum())
    groups = np.unique(result.group[scored]).size
    against = int(result.misfit.contradicts.sum()) if isinstance(result, PosteriorEstimate) else 0
    note = f"{counted(against, 'contradicts', 'contradict')} the others" if against else "with a score"
    found = [
        Fact("Papers", f"{int(scored.sum()):,}", "with a score"),
        Fact("Reviewers", f"{active:,}", note),
        Fact("Scores", f"{reviews.n_reviews:,}"),
    ]
    if groups > 1:
        found.append(Fact("Groups", f"{groups:,}", "that cannot be compared"))
    if selection is None:
        return [*found, Fact("Method", result.method)]
    places, line = selection.n - selection.certain.size, line_of(result, selection)
    lists = [
        Fact("In", f"{selection.certain.size:,}"),
        Fact("To discuss", f"{selection.discuss.size:,}", f"for {counted(places, 'place')}" if places else ""),
        Fact("Out", f"{selection.out.size:,}"),
        *([Fact("Set aside", f"{selection.aside.size:,}")] if selection.aside.size else []),
        *([Fact("Line", f"{line:.2f}", "quality")] if line is not None else []),
    ]
    return [*lists, *found]


def _cut(result: Estimate, selection: Selection | None, extras: Sequence[str]) -> list[Section]:
    parts: list[Part] = []
    if selection is not None and isinstance(result, PosteriorEstimate):
        parts += [funding_line(result, selection), Prose([expectation(selection)])]
        if selection.discuss.size:
            parts += [discuss_table(result, selection), Prose(advice(result, selection)), zone(result, selection)]
        parts += parts_of(changes(result, selection))
    if any(extras):
        parts += parts_of(extras)
    name = f"Selecting {counted(selection.n, 'paper')}" if selection is not None else "What was asked"
    return [Section("cut", name, parts)] if parts else []


def _reviewers(result: Estimate) -> list[Section]:
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.misfit.mean_square).any():
        return []
    looked = int(np.isfinite(result.misfit.mean_square).sum())
    none = f"None of {counted(looked, 'reviewer')} with two scores or more contradicts the others beyond noise."
    parts = reviewer_pictures(result) if result.beliefs.signal else []
    return [Section("people", "Reviewers", [*parts, Prose(misfit_lines(result) or [none])])]


def _tables(result: Estimate, selection: Selection | None) -> list[Part]:
    tables: list[Part] = [paper_table(result, selection)]
    if isinstance(result, PosteriorEstimate):
        tables.append(reviewer_table(result))
    return tables
