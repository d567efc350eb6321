"""The report as a page for people: the verdict first, in a chair's words, where items are papers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.levels import level_named

if TYPE_CHECKING:
    from reviewgraph.checking import Report, Structure
    from reviewgraph.components import Components
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews

#: How many groups, papers or reviewers a list names before it says "and n more".
LISTED = 5


def page(report: Report, *, use_scores: bool = False) -> str:
    """Return the whole page."""
    structure = report.structure
    lines = [
        verdict(structure),
        "Comparable does not mean precise: noisy scores still need enough reviews a paper.",
        "",
    ]
    if report.as_of_now is not None:
        n_scored = int(report.reviews.scored.sum())
        lines[0] = f"If all {_n(structure.reviews.n_reviews, 'review')} arrive: {lines[0]}"
        lines[1:1] = [f"As of now, with {_n(n_scored, 'score')}: {verdict(report.as_of_now)}"]
    if report.scored is not None:
        lines[-1:] = [_by_scores(report.scored, resilient=report.scored_recovery_resilient), ""]
    if use_scores:
        lines[:0] = ["(The required level counts scores: tied scores carry no scale.)"]
    return "\n".join([*lines, *_facts(structure.reviews), "", *_groups(structure)])


def verdict(structure: Structure) -> str:
    """Return what a chair may say of these reviews, in one or two sentences."""
    papers = f"All {structure.reviews.n_items:,} papers are" if structure.reviews.n_items != 1 else "The one paper is"
    groups = f"{_n(len(structure.doubly_connected), 'group')} (doubly connected components)"
    missing = f"{_n(structure.degrees_of_freedom, 'link')} missing (degrees of freedom)"
    if structure.level is not None:
        return level_named(structure.level).verdict(papers, groups, missing)
    unreviewed = int((structure.reviews.reviews_per_item == 0).sum())
    nobody = f" {_n(unreviewed, 'paper')} nobody reviews." if unreviewed else ""
    pieces = len(structure.connected)
    if pieces > 1:
        return (
            f"The {structure.reviews.n_items:,} papers cannot all be compared: they fall into {pieces:,} pieces "
            f"without a common reviewer (connected components); {missing}.{nobody}"
        )
    return f"The papers cannot be compared.{nobody}"


def _by_scores(scored: Components, *, resilient: bool) -> str:
    if resilient:
        return "By the scores themselves, ties carrying no scale: comparable for certain."
    return (
        f"By the scores themselves, ties carrying no scale: {_n(len(scored), 'group')}, "
        f"the largest of {_n(scored.largest_cover, 'paper')}."
    )


def _facts(reviews: Reviews) -> list[str]:
    unreviewed = np.flatnonzero(reviews.reviews_per_item == 0)
    few = np.flatnonzero(reviews.loads < 2)
    state = int(reviews.scored.sum())
    scored = "all scored" if state == reviews.n_reviews else f"{state:,} scored" if state else "no scores yet"
    return [
        f"{_n(reviews.n_reviewers, 'reviewer')}, {_n(reviews.n_items, 'paper')}, "
        f"{_n(reviews.n_reviews, 'review')} ({scored})",
        f"Reviews per paper: {_spread(reviews.reviews_per_item)}",
        f"Papers per reviewer: {_spread(reviews.loads)}",
        f"Papers nobody reviews: {_some(reviews.items, unreviewed)}",
        f"Reviewers with fewer than two reviews, who link nothing: {_some(reviews.reviewers, few)}",
    ]


def _groups(structure: Structure) -> list[str]:
    reviews, components = structure.reviews, structure.doubly_connected
    order = np.lexsort((np.arange(len(components)), -components.sizes, -components.cover_sizes))
    lines = ["Largest groups (doubly connected components):"]
    for component in order[:LISTED].tolist():
        members = np.flatnonzero(components.labels == component)
        lines.append(
            f"  {_n(int(components.cover_sizes[component]), 'paper'):>12} by {_n(members.size, 'reviewer'):<14} "
            f"{_names(reviews.reviewers, members)}; papers {_names(reviews.items, components.covers[component])}"
        )
    rest = order[LISTED:]
    if rest.size:
        least, most = components.cover_sizes[rest].min(), components.cover_sizes[rest].max()
        lines.append(f"  and {_n(rest.size, 'more group', 'more groups')} of {_range(int(least), int(most))} papers")
    return lines


def _n(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _spread(counts: IntArray) -> str:
    if counts.size == 0:
        return "none"
    return f"{_range(int(counts.min()), int(counts.max()))}, median {np.median(counts):g}"


def _some(labels: Iterable[Label], codes: IntArray) -> str:
    return f"{codes.size:,} ({_names(labels, codes)})" if codes.size else "none"


def _names(labels: Iterable[Label], codes: IntArray) -> str:
    named = list(labels) if not hasattr(labels, "__getitem__") else labels
    shown = ", ".join(_short(str(named[code])) for code in codes[:LISTED].tolist())
    return f"{shown}, ..." if codes.size > LISTED else shown


def _short(label: str) -> str:
    return label if len(label) <= 40 else f"{label[:39]}…"
