"""The report of a calibration: what it is worth, the cut, who moved, reviewers, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc.posteriors import PosteriorEstimate
from lsc.report.papers import moved, qualities, zone
from lsc.report.reviewers import reviewer_pictures
from lsc.report.tables import paper_table, reviewer_table
from lsc.words.posterior_page import headline
from reviewgraph.report.page import Document, Fact, Part, Picture, Printed, Section, parts_of, pictures_among
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
    extras
        Further lines of the terminal: lots, an account, the scale of references.
    closing
        What the command adds: what is known now, and what to type next.
    """
    good, head = headline(result) if isinstance(result, PosteriorEstimate) else (True, "Scores on one scale")
    lead, *remarks = page.opening or [f"Qualities by the method {result.method}."]
    printed = [*page.opening, "", *page.body, *extras, "", *page.closing, *closing]
    last = [line for line in closing if line]
    sections = [
        *_cut(result, selection, extras),
        Section("scores", "Scores", [moved(result, selection), qualities(result, selection)]),
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


def pictures(result: Estimate, selection: Selection | None = None) -> list[Picture]:
    """Return the pictures of a calibration: of the cut where papers are selected, of who moved, of reviewers."""
    if not np.isfinite(result.quality).any():
        return []
    cut, people = (
        [part for section in found for part in section.parts]
        for found in (_cut(result, selection, ()), _reviewers(result))
    )
    return pictures_among([*cut, moved(result, selection), qualities(result, selection), *people])


def _facts(result: Estimate, selection: Selection | None) -> list[Fact]:
    reviews, scored = result.reviews.only_scored(), np.isfinite(result.quality)
    active = int((reviews.loads > 0).sum())
    groups = np.unique(result.group[scored]).size
    found = [
        Fact("Papers", f"{int(scored.sum()):,}", "with a score"),
        Fact("Reviewers", f"{active:,}", "with a score"),
        Fact("Scores", f"{reviews.n_reviews:,}"),
        Fact("Method", result.method),
    ]
    if groups > 1:
        found.append(Fact("Groups", f"{groups:,}", "that cannot be compared"))
    if selection is not None:
        found += [
            Fact("In", f"{selection.certain.size:,}"),
            Fact("To discuss", f"{selection.discuss.size:,}"),
            Fact("Out", f"{selection.out.size:,}"),
        ]
    return found


def _cut(result: Estimate, selection: Selection | None, extras: Sequence[str]) -> list[Section]:
    parts: list[Part] = []
    if selection is not None and isinstance(result, PosteriorEstimate):
        parts += zone(result, selection)
    if any(extras):
        parts += parts_of(extras)
    name = f"Selecting {counted(selection.n, 'paper')}" if selection is not None else "What was asked"
    return [Section("cut", name, parts)] if parts else []


def _reviewers(result: Estimate) -> list[Section]:
    if not (isinstance(result, PosteriorEstimate) and result.beliefs.signal):
        return []
    return [Section("people", "Reviewers", reviewer_pictures(result))]


def _tables(result: Estimate, selection: Selection | None) -> list[Part]:
    tables: list[Part] = [paper_table(result, selection)]
    if isinstance(result, PosteriorEstimate) and result.beliefs.signal:
        tables.append(reviewer_table(result))
    return tables
