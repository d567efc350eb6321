"""Pictures of papers: who moved, who is sure, and the grey zone around the cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc.posteriors import PosteriorEstimate
from lsc.words.posterior_page import line_of, percent
from reviewgraph.report.page import Picture
from reviewgraph.report.pictures.chances import grey_zone
from reviewgraph.report.pictures.compared import Compared, compared
from reviewgraph.report.pictures.ranked import Ranked, ranked
from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Papers that have their names written beside them.
WRITTEN = 10

#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}

#: Papers that are drawn on either side of the random-selection group, at least; half as many as it has if that is more.
BESIDE = 20


def intervals(result: Estimate) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the 90 % intervals as printed, shapes (N,), NaN where the method gives none."""
    if not isinstance(result, PosteriorEstimate):
        nothing = np.full(result.reviews.n_items, np.nan)
        return nothing, nothing
    # Sorted after printing: where 1 is the best score, the ends of an interval change places.
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    return low, high


def zone(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of the grey zone."""
    chance, ranks = selection.chance, selection.ranked
    order = ranks[np.argsort(-chance[ranks], kind="stable")]
    lists = selection.lists
    kinds = [MARKS[lists[i] or "out"] for i in order.tolist()]
    names = [str(result.items[i]) for i in order.tolist()]
    sure = counted(selection.certain.size, "paper is in", "papers are in")
    words = (
        f"The chance of each paper to be among the best {selection.n}. {sure} and {selection.out.size:,} out, at most "
        f"{percent(selection.error_rate)} unsure each; {counted(selection.discuss.size, 'paper lies', 'papers lie')} "
        "in the grey zone between, which the scores cannot decide."
    )
    return Picture(
        "zone",
        "The grey zone around the line",
        words,
        lambda width: grey_zone(chance[order], kinds, names, selection.error_rate, width),
    )


def funding_line(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line, and of those that the scores cannot tell apart there."""
    ranks, drawn = selection.ranked, selection.drawn
    line = line_of(result, selection)
    place = np.flatnonzero(np.isin(ranks, drawn))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = ranks[first : ends[1] + 1 + beside]
    low, high = intervals(result)
    lists = selection.lists
    found = Ranked(
        result.reviews.printed(result.quality)[order],
        low[order],
        high[order],
        [MARKS[lists[i] or "out"] for i in order.tolist()],
        [str(result.items[i]) for i in order.tolist()],
    )
    shown = "All papers" if order.size == ranks.size else f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{shown} from the best on, each with its 90 % interval."]
    if line is not None:
        words.append(f"The funding line at {line:.2f} parts the best {selection.n:,} from the others.")
    words.append(
        f"Random-selection group: the {counted(drawn.size, 'paper')} with a chance between "
        f"{percent(selection.error_rate)} and {percent(1.0 - selection.error_rate)} of being among them, which the "
        f"scores cannot tell apart at the line; --lottery draws {counted(selection.places, 'place')} among them. The "
        "grey ground reaches from the first to the last of them."
        if drawn.size
        else "No random-selection group: the scores tell all papers apart at the line."
    )
    return Picture(
        "line",
        "The funding line",
        " ".join(words),
        lambda width: ranked(
            found,
            width,
            "calibrated score",
            "rank",
            [("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")],
            first=first + 1,
            line=None if line is None else (line, f"funding line {line:.2f}"),
            zone=(ends[0] + 1, ends[1] + 1, "random-selection group") if place.size else None,
        ),
    )


def moved(result: Estimate, selection: Selection | None) -> Picture:
    """Return the picture of averages against calibrated scores."""
    # Papers set aside stand on no scale with the others.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked)
    before, after = (result.reviews.printed(values)[scored] for values in (result.average, result.quality))
    low, high = (values[scored] for values in intervals(result))
    kinds, labelled = _who_moved(result, selection, scored)
    meanings = [("dot", "paper")]
    if selection is not None and selection.swapped_in.size:
        meanings += [("up", "only now selected"), ("down", "no longer")]
    sure = ", with its 90 % interval" if np.isfinite(low).any() else ""
    words = [
        f"Each of {counted(scored.size, 'paper')} at its plain average and its calibrated score{sure}; those of one "
        "average stand side by side."
    ]
    words.append("Papers above the dashed line gained by the correction, those below it lost.")
    if selection is not None:
        came = counted(selection.swapped_in.size, "paper is", "papers are")
        words.append(f"{came} among the best {selection.n} only after the correction, and as many no longer.")
    line, side = line_of(result, selection), "below" if result.reviews.lower_is_better else "above"
    cut = None if line is None else (line, f"selected {side}")
    found = Compared(before, after, low, high, kinds, [str(result.items[i]) for i in scored.tolist()], labelled)
    return Picture(
        "moved",
        "Averages and calibrated scores",
        " ".join(words),
        lambda width: compared(found, width, "plain average", "calibrated score", meanings, cut),
    )


def _who_moved(result: Estimate, selection: Selection | None, scored: IntArray) -> tuple[list[str], list[int]]:
    """Return the kind of each mark, and who is named: those that cross the cut, or those that moved most."""
    place = np.full(result.reviews.n_items, -1)
    place[scored] = np.arange(scored.size)
    kinds = ["dot"] * scored.size
    if selection is None:
        move = np.abs(result.rank - result.average_rank)[scored]
        return kinds, [k for k in np.argsort(-move, kind="stable")[:WRITTEN].tolist() if move[k]]
    for papers, kind in ((selection.swapped_in, "up"), (selection.swapped_out, "down")):
        for paper in papers.tolist():
            kinds[place[paper]] = kind
    crossed = np.concatenate([selection.swapped_in[:WRITTEN], selection.swapped_out[:WRITTEN]])
    return kinds, place[crossed].tolist()


def qualities(result: Estimate) -> Picture:
    """Return the picture of all papers by rank, with intervals."""
    order = np.argsort(-result.quality, kind="stable")[: int(np.isfinite(result.quality).sum())]
    low, high = intervals(result)
    found = Ranked(
        result.reviews.printed(result.quality)[order],
        low[order],
        high[order],
        ["dot"] * order.size,
        [str(result.items[i]) for i in order.tolist()],
    )
    known = bool(np.isfinite(low).any())
    meanings = [("dot", "paper")]
    words = f"All papers from the best on{', each with its 90 % interval' if known else ''}."
    if known:
        wide = float(np.nanmedian(high - low))
        words += f" Half of the intervals are wider than {wide:.2f}."
    return Picture(
        "qualities",
        "Calibrated scores in order",
        words,
        lambda width: ranked(found, width, "calibrated score", "rank", meanings),
    )
