"""Loads and overlaps of a table of reviews: who has how many papers, and who shares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewgraph.pages import facts
from reviewgraph.report.charts import chart
from reviewgraph.report.check.sharing import shared_papers
from reviewgraph.report.page import Listed, Part, Picture, Prose, pictures_among
from reviewgraph.report.pictures.bars import MOST as MOST_BARS
from reviewgraph.report.pictures.bars import Bar, tally
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.reviews import Reviews


def pictures(reviews: Reviews) -> list[Picture]:
    """Return the pictures of a table of reviews."""
    return pictures_among(loads(reviews)) if reviews.n_reviews else []


def loads(reviews: Reviews) -> list[Part]:
    """Return the sizes of a table, its loads and its overlaps."""
    sizes, *lines = facts(reviews, int(reviews.scored.sum()))
    per_item, per_reviewer = reviews.reviews_per_item, reviews.loads
    alone, unread = int((per_reviewer < 2).sum()), int((per_item == 0).sum())
    few = counted(alone, "reviewer has fewer than two and links", "reviewers have fewer than two and link")
    none = counted(unread, "paper has none", "papers have none")
    return [
        Listed(sizes, lines),
        chart(
            "loads",
            "Papers per reviewer",
            f"How many reviewers have how many papers.{f' {few} nothing; their bars stand out.' if alone else ''}",
            tally(per_reviewer, low=2),
            "papers",
        ),
        chart(
            "reviews",
            "Reviews per paper",
            f"How many papers have how many reviews.{f' {none}; their bar stands out.' if unread else ''}",
            tally(per_item, low=1),
            "reviews",
        ),
        *_overlaps(reviews),
    ]


def _overlaps(reviews: Reviews) -> list[Part]:
    pairs = shared_papers(reviews)
    if pairs is None:
        return [Prose(["Pairs of reviewers who share papers were not counted in a table of this size."])]
    several = int(pairs[2:].sum())
    found = [Bar(f"{shared}", count) for shared, count in enumerate(pairs.tolist()) if shared and count]
    if not found:
        return [Prose(["No two reviewers share a paper."])]
    words = (
        f"How many pairs of reviewers share how many papers, of {counted(int(pairs.sum()), 'pair')} in all; "
        f"{int(pairs[0]):,} share none. {counted(several, 'pair shares', 'pairs share')} two papers or more, which "
        "puts the two on one scale."
    )
    return [chart("overlaps", "Papers in common", words, _few(found), "shared")]


def _few(found: Sequence[Bar]) -> list[Bar]:
    """Return the bars, those beyond what a picture holds put together."""
    if len(found) <= MOST_BARS:
        return list(found)
    head, rest = found[: MOST_BARS - 1], found[MOST_BARS - 1 :]
    return [*head, Bar(f"{rest[0].name} or more", sum(bar.number for bar in rest))]
