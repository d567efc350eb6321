"""Pictures of papers and reviewers: the line of a selection, averages and qualities, one scale for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc.pages.papers import best_by_group, intervals, line_of, percent
from reviewgraph._base import Picture, counted, order_of, snapped
from reviewgraph.report import Compared, Ranked, compared, ranked, wright_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from lsc.selection import Selection
    from reviewgraph._base import IntArray

#: Number of papers with a label in a picture, and of reviewers at either end.
WRITTEN = 10
NAMED = 5
#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}
#: Minimum number of papers on either side of those that are tied at the line; half of their number if that is more.
BESIDE = 20


def _ranked(result: Estimate, order: IntArray, kinds: Sequence[str]) -> Ranked:
    """Return papers, given by code, with their qualities and intervals."""
    names = [str(result.items[i]) for i in order.tolist()]
    return Ranked(result.reviews.printed(result.quality)[order], *intervals(result, order), kinds, names)


def qualities(result: Estimate) -> Picture:
    """Return the picture of papers by rank, with intervals; of several groups of the largest."""
    order = best_by_group(result)
    order = order[result.group[order] == result.group[order[0]]]
    points = _ranked(result, order, ["dot"] * order.size)
    which = "Papers of the largest group" if result.n_groups > 1 else "All papers"
    sure = ", each with its 90 % interval" if np.isfinite(points.low).any() else ""
    return Picture(
        "qualities",
        "Qualities in order",
        f"{which} from the best on{sure}.",
        lambda width: ranked(points, width, "quality", "rank", [("dot", "paper")]),
    )


def line_picture(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line of selection, with those tied at it."""
    drawn = selection.drawn
    line = line_of(result, selection)
    place = np.flatnonzero(np.isin(selection.ranked, drawn))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = selection.ranked[first : ends[1] + 1 + beside]
    lists = selection.lists
    points = _ranked(result, order, [MARKS[lists[i] or "out"] for i in order.tolist()])
    shown = f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{'All papers' if order.size == selection.ranked.size else shown}, each with its 90 % interval."]
    if line is not None:
        words.append(f"The line of selection at {line:.2f} separates the best {selection.n:,} from the others.")
    if drawn.size:
        words.append(
            f"On grey are the {counted(drawn.size, 'paper')} that are tied at the line: their probability of being "
            f"among the best is between {percent(selection.error_rate)} and {percent(1.0 - selection.error_rate)}; "
            f"--lottery draws {counted(selection.places, 'place')} among them."
        )
    return Picture(
        "line",
        "The line of selection",
        " ".join(words),
        lambda width: ranked(
            points,
            width,
            "quality",
            "rank",
            [("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")],
            first=first + 1,
            line=None if line is None else (line, f"line of selection, {line:.2f}"),
            zone=(ends[0] + 1, ends[1] + 1, "tied at the line") if place.size else None,
        ),
    )


def moved(result: Estimate, selection: Selection | None) -> Picture:
    """Return the picture of averages against qualities; those that cross the line, or change most, have labels."""
    # Papers set aside are on another scale.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked)
    before, after = (snapped(result.reviews.printed(values)[scored]) for values in (result.average, result.quality))
    low, high = intervals(result, scored)
    kinds = np.full(scored.size, "dot", dtype=object)
    meanings = [("dot", "paper")]
    words = f"Each of {counted(scored.size, 'paper')} at its plain average and its quality"
    words += ", with its 90 % interval. " if np.isfinite(low).any() else ". "
    side = "below" if result.reviews.lower_is_better else "above"
    words += f"Papers {side} the diagonal gain by the correction, the others lose."
    if selection is None:
        change = np.abs(result.rank - result.average_rank)[scored]
        labelled = [k for k in np.argsort(-change, kind="stable")[:WRITTEN].tolist() if change[k]]
    else:
        into, out = (np.searchsorted(scored, papers) for papers in (selection.swapped_in, selection.swapped_out))
        kinds[into] = "up"
        kinds[out] = "down"
        labelled = [*into[:WRITTEN].tolist(), *out[:WRITTEN].tolist()]
        meanings += [("up", "only now selected"), ("down", "no longer")] if into.size else []
        words += f" Of the best {selection.n:,}, {into.size:,} are so by the correction alone."
    line = line_of(result, selection)
    cut = None if line is None else (line, f"line of selection, {line:.2f}")
    names = [str(result.items[i]) for i in scored.tolist()]
    points = Compared(before, after, low, high, kinds.tolist(), names, labelled)
    return Picture(
        "moved",
        "Averages and qualities",
        words,
        lambda width: compared(points, width, "plain average", "quality", meanings, cut),
    )


def severities(result: PosteriorEstimate, unusual: Sequence[int]) -> Picture:
    """Return the picture of papers and reviewers on one scale; ``unusual`` are those with a mark of their own."""
    severity = result.reviewers.severity
    reviews = result.reviews
    codes = np.flatnonzero(np.isfinite(severity.mean))
    codes = codes[order_of(severity.mean[codes])]
    kinds = ["diamond" if j in unusual else "dot" for j in codes.tolist()]
    ends = [*range(min(NAMED, codes.size)), *range(max(codes.size - NAMED, 0), codes.size)]
    labelled = [place for place in dict.fromkeys(ends) if kinds[place] == "diamond"]
    # A severity becomes a quality: that of a paper which gets an average score from this reviewer.
    value, low, high = (reviews.printed(result.beliefs.location + part[codes]) for part in severity)
    names = [str(reviews.reviewers[j]) for j in codes.tolist()]
    points = Ranked(value, np.minimum(low, high), np.maximum(low, high), kinds, names, labelled)
    papers = reviews.printed(result.quality[np.isfinite(result.quality)])
    words = (
        f"{counted(codes.size, 'reviewer')} beside papers by quality: a reviewer is at the quality of a paper that "
        "gets from them what an average paper gets from a typical reviewer, with a 90 % interval. The most lenient "
        f"gives {-float(np.nanmin(severity.mean)):.2f} points more than a typical reviewer, the harshest "
        f"{float(np.nanmax(severity.mean)):.2f} fewer; diamonds are outside the interquartile range."
    )
    return Picture(
        "wright",
        "Papers and reviewers on one scale",
        words,
        lambda width: wright_map(papers, points, width, "points"),
    )
