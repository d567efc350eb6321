"""What is missing of a table of reviews, and who may be asked for it: reviews not in yet, papers short of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.labels import first_labels, places
from reviewgraph.pages import reviewer_or_review
from reviewgraph.report.page import Listed, Part, Prose, Section
from reviewgraph.violations import told
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray
    from reviewgraph.checking import Report
    from reviewgraph.reviews import Reviews
    from reviewgraph.violations import Violations

#: Lines that are seen at once.
SEEN = 12


def missing(report: Report) -> list[Section]:
    """Return a section where reviews are missing, and one where rules were looked at."""
    parts = [*(_late(report.reviews) if report.as_of_now is not None else []), *_unread(report.reviews)]
    sections = [Section("missing", "What is missing", parts)] if parts else []
    if report.violations is not None:
        sections.append(Section("violations", "Conflicts, loads and demands", _broken(report.violations)))
    return sections


def _late(reviews: Reviews) -> list[Part]:
    """Return who owes reviews, most first, and the papers that have none yet, those that expect fewest first."""
    there = reviews.only_scored()
    late, empty = reviews.loads - there.loads, (there.reviews_per_item == 0) & (reviews.reviews_per_item > 0)
    who = np.lexsort((places(reviews.reviewers), -late))[: int((late > 0).sum())]
    owing = [f"{reviews.reviewers[j]}: {late[j]} of {reviews.loads[j]} due" for j in who.tolist()]
    reviewers = f"{who.size:,} of {counted(reviews.n_reviewers, 'reviewer')}"
    parts: list[Part] = [
        Listed(f"{counted(int(late.sum()), 'review')} of {reviewers} not in yet, who owes most first:", owing, SEEN)
    ]
    papers = np.flatnonzero(empty)
    if papers.size:
        papers = papers[np.lexsort((places(reviews.items)[papers], reviews.reviews_per_item[papers]))]
        opening = counted(papers.size, "paper has reviewers, and no review", "papers have reviewers, and no review")
        names = [f"{reviews.items[i]}: {reviews.reviews_per_item[i]} due" for i in papers.tolist()]
        parts.append(Listed(f"{opening} yet:", names, SEEN))
    return parts


def _unread(reviews: Reviews) -> list[Part]:
    unread: IntArray = np.flatnonzero(reviews.reviews_per_item == 0)
    if not unread.size:
        return []
    names = [str(label) for label in first_labels(reviews.items, unread, unread.size)]
    return [
        Listed(f"{counted(unread.size, 'paper has', 'papers have')} no {reviewer_or_review(reviews)}:", names, SEEN)
    ]


def _broken(found: Violations) -> list[Part]:
    """Return a list for each rule that is broken, and a line for each that is not."""
    pairs = None if found.conflicts is None else [f"{reviewer} on {item}" for reviewer, item in found.conflicts]
    over, short = (None if rule is None else told(rule) for rule in (found.over_load, found.short))
    broken = [names for names in (pairs, over, short) if names is not None]
    return [
        Listed(f"{line.partition(' (')[0]}:", names, SEEN) if names else Prose([f"{line}."])
        for line, names in zip(found.lines(), broken, strict=True)
    ]
