"""The sections of a page: the cut, papers, reviewers, and what the scores support, with their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.beliefs import interquartile_range
from lsc._inference.step import WIDTH
from lsc.pages.accounts import MIDDLE, contributions
from lsc.pages.papers import OPENED, best_by_group, intervals, paper_names, paper_table, percent
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import (
    Column,
    Fold,
    Folded,
    Listed,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    counted,
    noun,
    order_of,
    snapped,
)
from reviewgraph.report import ValueChart

if TYPE_CHECKING:
    from lsc._inference.beliefs import Beliefs
    from lsc.estimate import Estimate
    from lsc.selection import Selection
    from reviewgraph._base import IntArray

#: Lines of a list that are seen.
LINES = 40
#: Number of papers with a label in a picture, and of reviewers at either end.
WRITTEN = 10
NAMED = 5
#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}
#: Minimum number of papers on either side of those that are tied at the line; half of their number if that is more.
BESIDE = 20


def sections_of(result: Estimate, selection: Selection | None) -> list[Section]:
    """Return the sections of a page, the most wanted first."""
    pictured = np.isfinite(result.quality).any()
    # Pictures and tables show the selections of methods with probabilities.
    likely = selection if isinstance(result, PosteriorEstimate) else None
    sections = [
        Section("out", "Papers that are in and out", lambda: _lists(result, selection)),
        Section("scores", "Averages and qualities", lambda: _scores(result, likely) if pictured else []),
        Section("papers", "Papers", lambda: [paper_table(result, likely)]),
    ]
    if not isinstance(result, PosteriorEstimate):
        return sections
    return [
        Section(
            "cut",
            "Around the line of selection",
            lambda: [] if selection is None else [line_picture(result, selection)],
        ),
        *sections,
        Section("each", "Each paper", lambda: _each(result, selection)),
        Section("reviewers", "Reviewers", lambda: _reviewers(result)),
        Section("model", "What the scores support", lambda: [Prose(_support(result))]),
    ]


# The cut.


def _lists(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the papers that are in, out and set aside, the best first."""
    if selection is None:
        return []
    likely = f", with probability at least {percent(1.0 - selection.error_rate)}"
    sure = likely if isinstance(result, PosteriorEstimate) else ""
    lists = {
        f"In{sure}": selection.certain_codes,
        f"Out{sure}": selection.out_codes,
        "Set aside, neither in nor out": selection.aside_codes,
    }
    return [
        Listed(f"{title}, best first: {counted(papers.size, 'paper')}", paper_names(result, papers), LINES)
        for title, papers in lists.items()
        if papers.size
    ]


# Papers.


def _scores(result: Estimate, selection: Selection | None) -> list[Part]:
    words = "High and low averages are partly chance, so qualities are closer to the mean, most of all those with few "
    words += "scores, and may be outside the range of the scores."
    return [moved(result, selection), *([Prose([words])] if isinstance(result, PosteriorEstimate) else [])]


def _each(result: PosteriorEstimate, selection: Selection | None) -> list[Part]:
    """Return a fold per paper: its scores, and what they add to its quality."""
    papers = best_by_group(result)[:OPENED]
    chance = [None] * result.reviews.n_items if selection is None else selection.probability
    folds = []
    codes = papers.tolist()
    columns = (codes, paper_names(result, papers), *intervals(result, papers), result._accounts(codes))
    for i, name, low, high, account in zip(*columns, strict=True):
        interval = f" ({low:.2f} to {high:.2f})" if np.isfinite(low) else ""
        summary = f"{name}: quality {account.quality:.2f}{interval}, average {account.average:.2f}"
        summary += "" if chance[i] is None else f", {percent(chance[i])} among the best"
        folds.append(Fold(f"paper-{i}", summary, contributions(account)))
    middle = float(result.reviews.printed(result.validity.intercept + result.validity.slope * result.beliefs.location))
    opening = (
        f"Each of {counted(papers.size, 'paper')} opens to its scores. Every paper starts at {middle:.2f}, {MIDDLE}; a "
        "line has what a score adds, its value after correction with reasons, and its weight. The sum is the quality."
    )
    return [Prose([opening]), Folded("Papers, the best first", folds)]


def _line(result: Estimate, selection: Selection | None) -> tuple[float, str] | None:
    """Return the quality halfway between the last selected paper and the next one, as printed, and its name."""
    if selection is None or not 0 < selection.n < selection.ranked_codes.size:
        return None
    edge = result.quality[selection.ranked_codes[selection.n - 1 : selection.n + 1]].mean()
    line = float(result.reviews.printed(edge))
    return line, f"line of selection, {line:.2f}"


def line_picture(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line of selection, with those tied at it."""
    drawn = selection.drawn_codes
    line = _line(result, selection)
    place = np.flatnonzero(np.isin(selection.ranked_codes, drawn))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = selection.ranked_codes[first : ends[1] + 1 + beside]
    lists = selection.lists
    kinds = [MARKS[lists[i] or "out"] for i in order.tolist()]
    names = [str(result.items[i]) for i in order.tolist()]
    shown = f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{'All papers' if order.size == selection.ranked_codes.size else shown}, each with its 90 % interval."]
    if line is not None:
        words.append(f"The line of selection at {line[0]:.2f} separates the best {selection.n:,} from the others.")
    if drawn.size:
        words.append(
            f"On grey are the {counted(drawn.size, 'paper')} that are tied at the line: their probability of being "
            f"among the best is between {percent(selection.error_rate)} and {percent(1.0 - selection.error_rate)}; "
            f"--lottery draws {counted(selection.places, 'place')} among them."
        )
    drawing = ValueChart(
        result.reviews.printed(result.quality)[order],
        *intervals(result, order),
        kinds,
        names,
        meanings=[("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")],
        first=first + 1,
        line=line,
        zone=(ends[0] + 1, ends[1] + 1, "tied at the line") if place.size else None,
    )
    return Picture("line", "The line of selection", " ".join(words), drawing)


def _on_scale_of_scores(result: Estimate) -> bool:
    """Whether qualities can be compared with averages; not on the scale of references, nor if probabilities."""
    learned = isinstance(result, PosteriorEstimate) and result.validity.is_learned
    return not learned and result.method != "bayesian"


def moved(result: Estimate, selection: Selection | None) -> Picture:
    """Return the picture of averages against qualities; those that cross the line, or change most, have labels."""
    # Papers set aside are on another scale.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked_codes)
    before, after = (snapped(result.reviews.printed(values)[scored]) for values in (result.average, result.quality))
    low, high = intervals(result, scored)
    kinds = np.full(scored.size, "dot", dtype=object)
    meanings = [("dot", "paper")]
    words = f"Each of {counted(scored.size, 'paper')} at its plain average and its quality"
    words += ", with its 90 % interval." if np.isfinite(low).any() else "."
    side = "below" if result.reviews.lower_is_better else "above"
    if _on_scale_of_scores(result):
        words += f" Papers {side} the diagonal gain by the correction, the others lose."
    if selection is None:
        change = np.abs(result.rank - result.average_rank)[scored]
        labelled = [k for k in np.argsort(-change, kind="stable")[:WRITTEN].tolist() if change[k]]
    else:
        into = np.searchsorted(scored, selection.swapped_in_codes)
        out = np.searchsorted(scored, selection.swapped_out_codes)
        kinds[into] = "up"
        kinds[out] = "down"
        labelled = [*into[:WRITTEN].tolist(), *out[:WRITTEN].tolist()]
        meanings += [("up", "only now selected"), ("down", "no longer")] if into.size else []
        are = noun(into.size, "is", "are")
        words += f" Of the best {selection.n:,}, {into.size:,} {are} so by the correction alone."
    names = [str(result.items[i]) for i in scored.tolist()]
    drawing = ValueChart(
        *(after, low, high, kinds.tolist(), names, labelled),
        along="plain average",
        meanings=meanings,
        before=before,
        line=_line(result, selection),
    )
    return Picture("moved", "Averages and qualities", words, drawing)


# Reviewers.


def unusual(beliefs: Beliefs) -> dict[str, IntArray]:
    """Return the reviewers whose intervals are outside the interquartile range of all, by kind, the farthest first."""
    kinds = [
        (beliefs.reviewers.severity, "harsh", "lenient"),
        (beliefs.reviewers.stretch, "scores far apart", "scores close together"),
        (beliefs.reviewers.noise, "erratic", "steady"),
    ]
    codes = {}
    for quantity, above, below in kinds if beliefs.signal else ():
        low, high = interquartile_range(quantity)
        highest_first = order_of(-quantity.mean)
        codes[above] = highest_first[quantity.low[highest_first] > high]
        lowest_first = order_of(quantity.mean)
        codes[below] = lowest_first[quantity.high[lowest_first] < low]
    return {kind: reviewers for kind, reviewers in codes.items() if reviewers.size}


def contradicting(result: PosteriorEstimate) -> IntArray:
    """Return the codes of the reviewers whose scores contradict those of the others beyond noise, by p-value."""
    codes = np.flatnonzero(result.misfit.contradicts)
    return codes[order_of(result.misfit.p_value[codes])]


def _reviewers(result: PosteriorEstimate) -> list[Part]:
    if not np.isfinite(result.misfit.mean_square).any():
        return []
    parts: list[Part] = [severities(result)] if result.beliefs.signal else []
    words = "Who stands out is so with probability 90 %, compared with the interquartile range of all reviewers. "
    words += "Agreement and mean square have the expected value 1; a negative agreement means reversed scores."
    return [*parts, reviewer_table(result), Prose([words])]


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row for each reviewer with a score, the harshest first."""
    reviews = result.reviews
    loads = reviews.only_scored().loads
    codes = np.flatnonzero(loads > 0)
    codes = codes[order_of(-result.reviewers.severity.mean[codes])]
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in codes.tolist()]),
        Column("scores", loads[codes].tolist(), "number"),
    ]
    for name in ("severity", "stretch", "noise") if result.beliefs.signal else ():
        heads = (name, f"{name} from", f"{name} to")
        values = getattr(result.reviewers, name)
        columns += [Column(head, of[codes].tolist(), "number", 2) for head, of in zip(heads, values, strict=True)]
    # A contradiction has precedence over severity, severity over stretch, and stretch over noise.
    words: dict[int, str] = {}
    for word, found in reversed(unusual(result.beliefs).items()):
        words |= dict.fromkeys(found.tolist(), word)
    words |= dict.fromkeys(contradicting(result).tolist(), "contradicts the others")
    columns += [
        Column("agreement", result.misfit.agreement[codes].tolist(), "number", 2),
        Column("mean square", result.misfit.mean_square[codes].tolist(), "number", 2),
        Column("stands out", [words.get(j) for j in codes.tolist()], "choice"),
    ]
    caption = "Reviewers, the harshest first, with the ends of 90 % intervals"
    return Table("reviewers-table", caption, columns, "reviewers")


def severities(result: PosteriorEstimate) -> Picture:
    """Return the picture of reviewers on the scale of papers; the harsh and the lenient have a mark of their own."""
    severity = result.reviewers.severity
    reviews = result.reviews
    codes = np.flatnonzero(np.isfinite(severity.mean))
    codes = codes[order_of(severity.mean[codes])]
    found = unusual(result.beliefs)
    extreme = {j for kind in ("harsh", "lenient") if kind in found for j in found[kind].tolist()}
    kinds = ["diamond" if j in extreme else "dot" for j in codes.tolist()]
    ends = {*range(NAMED), *range(codes.size - NAMED, codes.size)}
    labelled = [place for place, kind in enumerate(kinds) if kind == "diamond" and place in ends]
    # A severity becomes a quality: that of a paper which gets an average score from this reviewer.
    value, low, high = (reviews.printed(result.beliefs.location + part[codes]) for part in severity)
    names = [str(reviews.reviewers[j]) for j in codes.tolist()]
    more, fewer = ("fewer", "more") if reviews.lower_is_better else ("more", "fewer")
    words = (
        f"{counted(codes.size, 'reviewer')} on the scale of papers: a reviewer is at the quality of a paper that "
        "gets from them what an average paper gets from a typical reviewer, with a 90 % interval. The most lenient "
        f"gives {-float(np.nanmin(severity.mean)):.2f} points {more} than a typical reviewer, the harshest "
        f"{float(np.nanmax(severity.mean)):.2f} {fewer}; diamonds are outside the interquartile range."
    )
    drawing = ValueChart(
        *(value, np.minimum(low, high), np.maximum(low, high), kinds, names, labelled),
        up="points",
        along="reviewers, from lenient to harsh",
    )
    return Picture("severities", "Severities of reviewers", words, drawing)


# What the scores support.


def spread_of_severity(result: PosteriorEstimate) -> float:
    """Return the standard deviation of reviewers' severities in points, each with its own uncertainty."""
    mean, low, high = (value[np.isfinite(value)] for value in result.reviewers.severity)
    return float(np.sqrt(mean.var() + (((high - low) / (2.0 * WIDTH)) ** 2).mean()))


def _support(result: PosteriorEstimate) -> list[str]:
    """Return how far reviewers and papers differ, and what criteria, confidence and references add."""
    beliefs = result.beliefs
    lines = ["Qualities are averages, shrunk towards the mean if reviews are few."]
    if beliefs.signal:
        known = np.isfinite(beliefs.mean)
        quality = beliefs.scale * float(np.sqrt(beliefs.mean[known].var() + beliefs.variance[known].mean()))
        lines = [
            f"The severity of reviewers has a standard deviation of {spread_of_severity(result):.2f} points, the "
            f"quality of papers one of {quality:.2f}.",
            "The benefit of the correction is measured on held-out reviewers: the squared error in predicting their "
            "rankings, compared with that of averages. A part of it is noise that nothing predicts.",
        ]
    if (joined := result.joined) is not None:
        gain = f"{100 * joined.gain:.1f} % +- {100 * joined.gain_error:.1f} (standard error)"
        lower = f"; they lower the error in predicting other reviewers by {gain}" if joined.used else ""
        lines.append(f"{joined.words[0].upper()}{joined.words[1:]}{lower}.")
    if (confidence := result.confidence) is not None:
        state = "is used" if confidence.used else "is not used"
        lines.append(
            f"The confidence of reviewers {state}: with it the log evidence changes by {confidence.gain:+.1f}."
        )
    if (validity := result.validity).n:
        low, high = validity.slope_interval
        slope = f"slope {validity.estimate:.2f}, 90 % interval {low:.2f} to {high:.2f}"
        lines.append(f"Qualities, ranges and probabilities are of what the references measure ({slope}).")
    return lines
