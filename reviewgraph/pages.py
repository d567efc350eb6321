"""The check as a page for people: what is missing today, then the verdict, in a chair's words; items are papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reviewgraph.labels import first_labels
from reviewgraph.levels import level_named
from reviewgraph.words import LISTED, counted, listed, noun, ranging

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray
    from reviewgraph.components import Components
    from reviewgraph.labels import Label
    from reviewgraph.reviews import Reviews
    from reviewgraph.structure import Structure
    from reviewgraph.violations import Violations


#: What no verdict says.
PRECISE = "Comparable does not mean precise: noisy scores still need enough reviews per paper."


def page(
    structure: Structure,
    as_of_now: Structure | None = None,
    scored: Components | None = None,
    violations: Violations | None = None,
    *,
    certain: bool = False,
) -> str:
    """Return the whole page.

    Parameters
    ----------
    structure
        What the table promises if all its reviews arrive.
    as_of_now
        The same for the reviews that have scores, where some have and some have not.
    scored
        Doubly connected components by the scores themselves, where there are scores.
    violations
        What is broken of conflicts, loads and demands, where that was looked at.
    certain
        Whether the scores themselves make all papers comparable for certain; false by default.
    """
    lines = [
        *unlisted(structure.reviews),
        *(f"{words}." for words in today(structure, as_of_now, violations)),
        *verdicts(structure, as_of_now),
        PRECISE,
        *by_scores(scored, certain=certain),
        *("", *facts(structure.reviews, int(structure.reviews.scored.sum()))),
        *("", *groups(structure)),
        *(["", *violations.lines()] if violations else []),
    ]
    return "\n".join(lines)


def unlisted(reviews: Reviews) -> list[str]:
    """Return which papers a file cannot hold, and where they are listed, as a sentence; nothing where none is known."""
    return [f"{reviews.origin.unlisted.words}."] if reviews.origin.unlisted else []


def today(structure: Structure, as_of_now: Structure | None, violations: Violations | None) -> list[str]:
    """Return what is missing, a sentence each without its point; nothing where every review is in and no rule broken.

    Takes what :func:`page` takes.
    """
    reviews, later, found = structure.reviews, "", list[str]()
    unread = int((reviews.reviews_per_item == 0).sum())
    if as_of_now is not None:
        there, later = as_of_now.reviews, ", even when all are in"
        empty = int((there.reviews_per_item == 0).sum())
        of = f"{there.n_reviews:,} of {counted(reviews.n_reviews, 'review')} {noun(there.n_reviews, 'is', 'are')} in"
        none = counted(empty, "paper has none", "papers have none") if empty else "every paper has one or more"
        nobody = f", {unread:,} of them no reviewer" if empty > unread > 0 else ""
        found.append(f"{of}; {none}{nobody}")
        unread = unread if unread == empty else 0
    if unread:
        of = f"{unread:,} of {counted(reviews.n_items, 'paper')} {noun(unread, 'has', 'have')}"
        found.append(f"{of} no {reviewer_or_review(reviews)}")
    return [*found, *([] if violations is None else violations.sentences(later))]


def reviewer_or_review(reviews: Reviews) -> str:
    """Return what papers without a review lack: files of scores alone do not say who has reviewers."""
    return "review" if reviews.scored.all() else "reviewer"


def verdicts(structure: Structure, as_of_now: Structure | None = None) -> list[str]:
    """Return the verdict; where scores are missing, that for when all are in, and that of today."""
    if as_of_now is None:
        return [verdict(structure)]
    return [
        f"If all {counted(structure.reviews.n_reviews, 'review')} arrive: {verdict(structure)}",
        f"As of now, with {counted(as_of_now.reviews.n_reviews, 'score')}: {verdict(as_of_now, late=True)}",
    ]


def verdict(structure: Structure, *, late: bool = False) -> str:
    """Return what a chair may say of these reviews, in one or two sentences.

    Parameters
    ----------
    structure
        Of the reviews.
    late
        Whether others are still to come, so that papers without a review may have reviewers; false by default.
    """
    n_items, of = structure.reviews.n_items, of_this_file(structure.reviews)
    missing = f"{counted(structure.degrees_of_freedom, 'link')} missing (degrees of freedom)"
    if structure.level is not None:
        papers = f"All {n_items:,} papers{of} are" if n_items != 1 else f"The one paper{of} is"
        groups = f"{counted(len(structure.doubly_connected), 'group')} (doubly connected components)"
        return level_named(structure.level).verdict(papers, groups, missing)
    unreviewed = int((structure.reviews.reviews_per_item == 0).sum())
    nobody = f" {counted(unreviewed, 'paper')} nobody reviews." if unreviewed and not late else ""
    pieces = len(structure.connected)
    if pieces > 1:
        return (
            f"The {n_items:,} papers{of} cannot all be compared: they fall into {pieces:,} pieces "
            f"without a common reviewer (connected components); {missing}.{nobody}"
        )
    return f"The papers cannot be compared.{nobody}"


def of_this_file(reviews: Reviews) -> str:
    """Return what is said behind "papers" where there may be others, which the file cannot hold."""
    return " of this file" if reviews.origin.unlisted else ""


def by_scores(scored: Components | None, *, certain: bool) -> list[str]:
    """Return what the scores themselves say, a line where there are scores; takes what :func:`page` takes."""
    if scored is None:
        return []
    if certain:
        return ["Going by the scores themselves, too: all papers are comparable for certain."]
    return [
        f"Going by the scores themselves: {counted(len(scored), 'group')}, the largest of "
        f"{counted(scored.largest_cover, 'paper')} (equal scores do not show how widely a reviewer spreads them)."
    ]


class Table(Protocol):
    """What is told of a table: its sizes, and what there is one of a reviewer or item."""

    @property
    def reviewers(self) -> Sequence[Label]:
        """Labels of the reviewers."""
        ...

    @property
    def items(self) -> Sequence[Label]:
        """Labels of the items."""
        ...

    @property
    def n_reviews(self) -> int:
        """How many reviews there are."""
        ...

    @property
    def loads(self) -> IntArray:
        """Reviews a reviewer."""
        ...

    @property
    def reviews_per_item(self) -> IntArray:
        """Reviews an item."""
        ...


def facts(reviews: Table, n_scored: int) -> list[str]:
    """Return sizes, loads, and what stands alone, a line each; so many of the reviews have a score."""
    unreviewed = np.flatnonzero(reviews.reviews_per_item == 0)
    few = np.flatnonzero(reviews.loads < 2)
    state = "all scored" if n_scored == reviews.n_reviews else f"{n_scored:,} scored" if n_scored else "no scores yet"
    return [
        f"{counted(len(reviews.reviewers), 'reviewer')}, {counted(len(reviews.items), 'paper')}, "
        f"{counted(reviews.n_reviews, 'review')} ({state})",
        f"Reviews per paper: {_spread(reviews.reviews_per_item)}",
        f"Papers per reviewer: {_spread(reviews.loads)}",
        f"Papers nobody reviews: {_some(reviews.items, unreviewed)}",
        f"Reviewers with fewer than two reviews, who link nothing: {_some(reviews.reviewers, few)}",
    ]


def groups(structure: Structure) -> list[str]:
    """Return a heading, a line for each of the largest groups, and one for the rest."""
    reviews, components = structure.reviews, structure.doubly_connected
    order = components.largest_first
    lines = ["Largest groups (doubly connected components):"]
    for component in order[:LISTED].tolist():
        members = np.flatnonzero(components.labels == component)
        lines.append(
            f"  {counted(int(components.cover_sizes[component]), 'paper'):>12} by "
            f"{counted(members.size, 'reviewer')}: {_names(reviews.reviewers, members)}; "
            f"{noun(int(components.cover_sizes[component]), 'paper')} "
            f"{_names(reviews.items, components.covers[component])}"
        )
    rest = order[LISTED:]
    if rest.size:
        least, most = components.cover_sizes[rest].min(), components.cover_sizes[rest].max()
        more = counted(rest.size, "more group")
        lines.append(f"  and {more} of {ranging(int(least), int(most))} {noun(int(most), 'paper')}")
    return lines


def _spread(counts: IntArray) -> str:
    if counts.size == 0:
        return "none"
    return f"{ranging(int(counts.min()), int(counts.max()))}, median {np.median(counts):g}"


def _some(labels: Sequence[Label], codes: IntArray) -> str:
    return f"{codes.size:,} ({_names(labels, codes)})" if codes.size else "none"


def _names(labels: Sequence[Label], codes: IntArray) -> str:
    """Return the first few labels."""
    return listed(first_labels(labels, codes, LISTED + 1))
