"""The sections of a page: the cut, papers, reviewers, and what the scores support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.beliefs import interquartile_range
from lsc._inference.inferring import MIN_GAIN
from lsc._inference.step import WIDTH
from lsc.calibration import Calibration
from lsc.pages.accounts import MIDDLE, contributions
from lsc.pages.papers import OPENED, best_by_group, intervals, paper_name, paper_table, percent
from lsc.pages.pictures import line_picture, moved, qualities, severities
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import Column, Fold, Folded, Listed, Part, Prose, Section, Table, counted, order_of

if TYPE_CHECKING:
    from lsc._inference.beliefs import Beliefs
    from lsc._inference.covariates import Covariates
    from lsc.estimate import Estimate
    from lsc.selection import Selection
    from reviewgraph._base import IntArray

#: Changes of a selection, and lines of a list, that are seen.
CHANGES = 5
LINES = 40


def sections_of(result: Estimate, selection: Selection | None, lists: Sequence[str | None] | None) -> list[Section]:
    """Return the sections of a page, the most wanted first."""
    pictured = np.isfinite(result.quality).any()
    return [
        Section("cut", "Around the line of selection", lambda: _cut(result, selection)),
        Section("out", "Papers that are in and out", lambda: _lists(result, selection, lists)),
        Section("scores", "Averages and qualities", lambda: _scores(result, selection) if pictured else []),
        Section("papers", "Papers", lambda: [paper_table(result, selection)]),
        Section("each", "Each paper", lambda: _each(result, selection)),
        Section("reviewers", "Reviewers", lambda: _reviewers(result)),
        Section("model", "What the scores support", lambda: _model(result)),
    ]


# The cut.


def _cut(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the picture of the line, how to proceed, and the papers that averages would have selected instead."""
    if selection is None or not isinstance(result, PosteriorEstimate):
        return []
    parts: list[Part] = [line_picture(result, selection)]
    if selection.discuss.size > 1:
        advice = "Discuss the papers that are tied, add reviews where they help most, or use a lottery (--lottery)."
        if result.validity.is_learned:
            advice = "More reviews by the same reviewers cannot settle what they leave unexplained. Have the papers "
            advice += "nearest to the line measured, too, and add them to --references."
        parts.append(Prose([advice]))
    lines = []
    # The best of the new papers is compared with the weakest of those that it replaces.
    for better, worse in zip(selection.swapped_in.tolist(), selection.swapped_out[::-1].tolist(), strict=False):
        chance = percent(result.probability_better(result.items[better], result.items[worse]))
        names = f"{paper_name(result, better)} instead of {paper_name(result, worse)}"
        lines.append(f"{names}: the better of the two with probability {chance}")
        if len(lines) == CHANGES:
            break
    return [*parts, Listed("Selected only by the correction:", lines)] if lines else parts


def _lists(result: Estimate, selection: Selection | None, lists: Sequence[str | None] | None) -> list[Part]:
    """Return the papers that are in, out and set aside, the best first."""
    lists = lists if selection is None else selection.lists
    if lists is None:
        return []
    sure = "" if selection is None else f", with probability at least {percent(1.0 - selection.error_rate)}"
    order = best_by_group(result) if selection is None else np.concatenate([selection.ranked, selection.aside])
    parts: list[Part] = []
    for name, title in (("in", f"In{sure}"), ("out", f"Out{sure}"), ("aside", "Set aside, neither in nor out")):
        if papers := [paper_name(result, i) for i in order.tolist() if lists[i] == name]:
            parts.append(Listed(f"{title}, best first: {counted(len(papers), 'paper')}", papers, LINES))
    return parts


# Papers.


def _scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the pictures of papers; with a selection the line replaces the picture of all ranks."""
    parts: list[Part] = [moved(result, selection), *([] if selection is not None else [qualities(result)])]
    if isinstance(result, PosteriorEstimate):
        words = "High and low averages are partly chance, so qualities are closer to the mean, most of all those with "
        parts.append(Prose([f"{words}few scores, and may be outside the range of the scores."]))
    return parts


def _each(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return a fold per paper: its scores, and what they add to its quality."""
    if not isinstance(result, PosteriorEstimate):
        return []
    papers = best_by_group(result)[:OPENED]
    ends = np.column_stack(intervals(result, papers)).tolist()
    chance = None if selection is None else selection.probability
    folds = []
    for i, (low, high), account in zip(papers.tolist(), ends, result.accounts(papers.tolist()), strict=True):
        interval = f" ({low:.2f} to {high:.2f})" if np.isfinite(low) else ""
        summary = f"{paper_name(result, i)}: quality {account.quality:.2f}{interval}, average {account.average:.2f}"
        probability = None if chance is None else chance[i]
        summary += "" if probability is None else f", {percent(probability)} among the best"
        folds.append(Fold(f"paper-{i}", summary, contributions(account)))
    middle = float(result.reviews.printed(result.validity.intercept + result.validity.slope * result.beliefs.location))
    opening = (
        f"Each of {counted(papers.size, 'paper')} opens to its scores. Every paper starts at {middle:.2f}, {MIDDLE}; a "
        "line has what a score adds, its value after correction with reasons, and its weight. The sum is the quality."
    )
    return [Prose([opening]), Folded("Papers, the best first", folds)]


# Reviewers.


def unusual(beliefs: Beliefs) -> dict[str, IntArray]:
    """Return the reviewers whose intervals are outside the interquartile range of all, by kind, the farthest first."""
    kinds = [
        (beliefs.reviewers.severity, "harsh", "lenient"),
        (beliefs.reviewers.stretch, "scores far apart", "scores close together"),
        (beliefs.reviewers.noise, "erratic", "steady"),
    ]
    codes: dict[str, IntArray] = {}
    for quantity, above, below in kinds if beliefs.signal else ():
        low, high = interquartile_range(quantity)
        for word, outside, order in (
            (above, np.flatnonzero(quantity.low > high), -quantity.mean),
            (below, np.flatnonzero(quantity.high < low), quantity.mean),
        ):
            codes |= {word: outside[order_of(order[outside])]} if outside.size else {}
    return codes


def contradicting(result: PosteriorEstimate) -> IntArray:
    """Return the codes of the reviewers whose scores contradict those of the others beyond noise, by p-value."""
    codes = np.flatnonzero(result.misfit.contradicts)
    return codes[order_of(result.misfit.p_value[codes])]


def _reviewers(result: Estimate) -> list[Part]:
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.misfit.mean_square).any():
        return []
    found = unusual(result.beliefs)
    extreme = np.concatenate([found.get(kind, np.empty(0, np.int64)) for kind in ("harsh", "lenient")]).tolist()
    parts: list[Part] = [severities(result, extreme)] if result.beliefs.signal else []
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


# What the scores support.


def spread_of_severity(result: PosteriorEstimate) -> float:
    """Return the standard deviation of reviewers' severities in points, each with its own uncertainty."""
    mean, low, high = (value[np.isfinite(value)] for value in result.reviewers.severity)
    return float(np.sqrt(mean.var() + (((high - low) / (2.0 * WIDTH)) ** 2).mean()))


def _model(result: Estimate) -> list[Part]:
    if isinstance(result, Calibration):
        fit = "the only optimal fit" if result.unique else "one of several optimal fits, the closest to straight lines"
        return [Prose([f"These scores are {fit} (objective {result.objective:.6g}, {result.status.value})."])]
    if not isinstance(result, PosteriorEstimate):
        return []
    parts: list[Part] = [Prose(_support(result))]
    if result.covariates is not None:
        parts.append(covariate_table(result.covariates))
    return [*parts, coverage_table(result)] if np.isfinite(result.residuals().raw).any() else parts


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
        gain = f"; they lower the error in predicting other reviewers by {100 * joined.gain:.1f} % +- "
        gain += f"{100 * joined.gain_error:.1f} (standard error)"
        lines.append(f"{joined.words[0].upper()}{joined.words[1:]}{gain if joined.used else ''}.")
    if result.confidence is not None:
        state = "is used" if result.confidence.used else "is not used"
        change = f"with it the log evidence changes by {result.confidence.gain:+.1f}"
        lines.append(f"The confidence of reviewers {state}: {change}.")
    if (validity := result.validity).n:
        low, high = validity.slope_interval
        slope = f"slope {validity.estimate:.2f}, 90 % interval {low:.2f} to {high:.2f}"
        lines.append(f"Qualities, ranges and probabilities are of what the references measure ({slope}).")
    return lines


def covariate_table(covariates: Covariates) -> Table:
    """Return a row per effect of a covariate in points, or for a covariate that is not used."""
    rows = [(row, effect) for row in covariates.rows for effect in row.effects or (None,)]
    columns = [
        Column("covariate", [row.name for row, _ in rows]),
        Column("known of", [row.known for row, _ in rows], "number"),
        Column("log evidence", [row.gain for row, _ in rows], "number", 1),
        Column("used", ["yes" if row.used else "no" for row, _ in rows], "choice"),
        Column("level", [effect and effect.level for _, effect in rows]),
        *(
            Column(head, [effect and effect[place] for _, effect in rows], "number", 2)
            for place, head in enumerate(("effect", "from", "to"), 1)
        ),
    ]
    caption = (
        f"Effects on quality, or on the scores of reviewers, in points with 90 % intervals, of numbers per standard "
        f"deviation; used from a gain of {MIN_GAIN:g} in log evidence, together {covariates.gain:.1f}"
    )
    return Table("covariates", caption, columns, "effects", live=False)


#: Levels of the intervals that are checked, in percent.
CHECKED = (50, 80, 90, 95)


def coverage_table(result: PosteriorEstimate) -> Table:
    """Return a row for each level: the share of scores within their predicted intervals, and outside on either side."""
    residuals = result.residuals()
    size = int(np.isfinite(residuals.raw).sum())
    tails = [0.5 - level / 200.0 for level in CHECKED]
    below = [100 * residuals.share(0.0, tail) for tail in tails]
    above = [100 * residuals.share(1.0 - tail, 1.0) for tail in tails]
    columns = [
        Column("interval", [f"{level} %" for level in CHECKED]),
        Column("scores within, %", [100 - low - high for low, high in zip(below, above, strict=True)], "number", 1),
        Column("+-", [(level * (100.0 - level) / size) ** 0.5 for level in CHECKED], "number", 1),
        Column("below, %", below, "number", 1),
        Column("above, %", above, "number", 1),
    ]
    caption = (
        f"If the model describes the scores, the stated share of {counted(size, 'score')} lies in the intervals that "
        "all other scores predict (leave-one-out), up to the standard error of independent scores"
    )
    return Table("coverage", caption, columns, "intervals", live=False)
