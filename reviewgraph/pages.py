"""The check as a page for people: the verdict first, in a chair's words, where items are papers."""

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


def page(
    structure: Structure, as_of_now: Structure | None = None, scored: Components | None = None, *, certain: bool = False
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
    certain
        Whether those make all papers comparable for certain; false by default.
    """
    lines = opening(structure, as_of_now, scored, certain=certain)
    return "\n".join(
        [*lines, "", *facts(structure.reviews, int(structure.reviews.scored.sum())), "", *groups(structure)]
    )


def opening(
    structure: Structure, as_of_now: Structure | None = None, scored: Components | None = None, *, certain: bool = False
) -> list[str]:
    """Return the verdict, and what belongs beside it, a line each; takes what :func:`page` takes."""
    lines, unlisted = [verdict(structure)], structure.reviews.origin.unlisted
    if as_of_now is not None:
        # Two verdicts: what holds today stands below what the planned reviews will make of it.
        lines[0] = f"If all {counted(structure.reviews.n_reviews, 'review')} arrive: {lines[0]}"
        lines.append(f"As of now, with {counted(as_of_now.reviews.n_reviews, 'score')}: {verdict(as_of_now)}")
    lines.append("Comparable does not mean precise: noisy scores still need enough reviews a paper.")
    if scored is not None:
        lines.append(_by_scores(scored, certain))
    return [f"{unlisted.words}.", *lines] if unlisted else lines


def verdict(structure: Structure) -> str:
    """Return what a chair may say of these reviews, in one or two sentences."""
    n_items, of = structure.reviews.n_items, of_this_file(structure.reviews)
    missing = f"{counted(structure.degrees_of_freedom, 'link')} missing (degrees of freedom)"
    if structure.level is not None:
        papers = f"All {n_items:,} papers{of} are" if n_items != 1 else f"The one paper{of} is"
        groups = f"{counted(len(structure.doubly_connected), 'group')} (doubly connected components)"
        return level_named(structure.level).verdict(papers, groups, missing)
    unreviewed = int((structure.reviews.reviews_per_item == 0).sum())
    nobody = f" {counted(unreviewed, 'paper')} nobody reviews." if unreviewed else ""
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


def _by_scores(scored: Components, certain: bool) -> str:
    if certain:
        return "Going by the scores themselves, too: all papers are comparable for certain."
    return (
        f"Going by the scores themselves: {counted(len(scored), 'group')}, the largest of "
        f"{counted(scored.largest_cover, 'paper')} (equal scores do not show how widely a reviewer spreads them)."
    )


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
