"""Pictures of reviewers: beside papers on one scale, and by how widely they spread their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc.inference.describing import middle_half
from lsc.words.posterior_page import reviewer_lines
from reviewgraph.report.page import Listed, Part, Picture
from reviewgraph.report.pictures.ranked import Ranked, ranked
from reviewgraph.report.pictures.wright import wright_map
from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.inference.beliefs import Quantity
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Reviewers at either end who have their names written beside them.
NAMED = 5


def reviewer_pictures(result: PosteriorEstimate) -> list[Part]:
    """Return the Wright map, the picture of stretches, and who stands out in words."""
    opening, *lines = reviewer_lines(result)
    return [_severities(result), _stretches(result), Listed(opening, [line.strip() for line in lines])]


def stands_out(quantity: Quantity) -> BoolArray:
    """Return who lies outside the middle half of all reviewers with all of her interval."""
    low, high = middle_half(quantity)
    found: BoolArray = (quantity.low > high) | (quantity.high < low)
    return found


def _severities(result: PosteriorEstimate) -> Picture:
    severity, reviews = result.reviewers.severity, result.reviews
    who = np.flatnonzero(np.isfinite(severity.mean))
    who = who[np.argsort(severity.mean[who], kind="stable")]
    out = stands_out(severity)
    # A severity becomes a place on the scale of papers: how good a paper must be to get a middling score from her.
    middle = result.beliefs.location
    value, low, high = (reviews.printed(middle + part[who]) for part in severity)
    found = Ranked(value, np.minimum(low, high), np.maximum(low, high), *_marks(result, who, out))
    papers = reviews.printed(result.quality[np.isfinite(result.quality)])
    lenient, harsh = -float(np.nanmin(severity.mean)), float(np.nanmax(severity.mean))
    words = (
        f"Papers by calibrated score, and {counted(who.size, 'reviewer')} on the same scale: each stands where a paper "
        "is that gets from this reviewer what a middling paper gets from a typical one, with a 90 % interval. The most "
        f"lenient gives {lenient:.2f} points more than a typical reviewer, the harshest {harsh:.2f} fewer; "
        f"{counted(int(out[who].sum()), 'reviewer lies', 'reviewers lie')} outside the middle half for 90 % sure."
    )
    return Picture(
        "wright",
        "Papers and reviewers on one scale",
        words,
        lambda width: wright_map(papers, found, width, "points"),
    )


def _stretches(result: PosteriorEstimate) -> Picture:
    stretch = result.reviewers.stretch
    who = np.flatnonzero(np.isfinite(stretch.mean) & (stretch.low > 0))
    who = who[np.argsort(stretch.mean[who], kind="stable")]
    out = stands_out(stretch)
    found = Ranked(stretch.mean[who], stretch.low[who], stretch.high[who], *_marks(result, who, out))
    words = (
        "How far apart each reviewer puts papers, compared with a typical reviewer, with a 90 % interval: 2 spreads "
        f"them twice as far. From {stretch.mean[who].min():.2f} to {stretch.mean[who].max():.2f}; "
        f"{counted(int(out[who].sum()), 'reviewer lies', 'reviewers lie')} outside the middle half for 90 % sure."
    )
    meanings = [("dot", "reviewer"), ("diamond", "outside the middle half")]
    return Picture(
        "stretches",
        "Reviewers by stretch",
        words,
        lambda width: ranked(
            found, width, "stretch", "reviewers, from narrow to wide", meanings, level=1.0, logarithmic=True
        ),
    )


def _marks(result: PosteriorEstimate, who: IntArray, out: BoolArray) -> tuple[list[str], list[str], list[int]]:
    """Return kinds and names of the marks, and who is named: the extremes that stand out."""
    kinds = ["diamond" if out[j] else "dot" for j in who.tolist()]
    names = [str(result.reviews.reviewers[j]) for j in who.tolist()]
    ends = [*range(min(NAMED, who.size)), *range(max(who.size - NAMED, 0), who.size)]
    return kinds, names, [place for place in dict.fromkeys(ends) if kinds[place] == "diamond"]
