"""The page of the posterior, the lists of a selection, and the pages of tables larger than memory.

Pages call items papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._inference.beliefs import interquartile_range
from lsc._inference.inferring import MIN_GAIN
from lsc._inference.step import WIDTH
from lsc.calibration import Calibration, CalibrationStatus
from lsc.posteriors import PosteriorEstimate
from lsc.selection import Selection
from lsc.streams import StreamedCalibration, StreamedEstimate, StreamedPosterior, scores_given
from lsc.words import calibration_page
from lsc.words.calibration_page import (
    SHOWN,
    Column,
    best_by_group,
    by_group,
    group_line,
    paper_name,
    table,
    truncation,
)
from reviewgraph._base import IntArray, Label, counted, listed, noun, order_of

if TYPE_CHECKING:
    from lsc._inference.beliefs import Account, Beliefs, Part
    from lsc._inference.covariates import Covariate
    from lsc._inference.validity import Validity
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from lsc.selection import Selection


#: How many papers set aside, changes of a selection, papers to discuss, and reviewers of a kind are named.
PAPERS_NAMED = 10
CHANGES = 5
DISCUSSED = 40
NAMED = 5
#: Reviewers with fewer scores are too uncertain to be judged.
LEAST_LOAD = 3

NO_DIFFERENCES = (
    "These scores show no differences between reviewers: there is nothing to correct. "
    "The qualities are averages, shrunk towards the mean if reviews are few."
)


def aside_lines(aside: Sequence[Label], groups: IntArray, others: int) -> list[str]:
    """Name the papers set aside, if any, and the number of reviews that would connect them.

    ``groups`` are the groups of these papers, ``others`` is the size of the largest group.

    >>> import numpy as np
    >>> aside_lines(["p1", "p2"], np.array([2, 2]), 2995)[0]
    'Set aside, neither in nor out: 2 papers that no review connects to the other 2,995, and that cannot be compared
    with them: p1, p2. At least 1 review is needed to connect them.'
    """
    if not aside:
        return []
    needed = len(set(groups.tolist()))
    return [
        f"Set aside, neither in nor out: {counted(len(aside), 'paper')} that no review connects to the other "
        f"{others:,}, and that cannot be compared with them: {listed(aside, PAPERS_NAMED, '.')} At least "
        f"{counted(needed, 'review is', 'reviews are')} needed to connect {noun(len(aside), 'it', 'them')}."
    ]


def opening(result: PosteriorEstimate) -> list[str]:
    """Return how far reviewers differ, the predictive gain of the correction, and what the scores do not support."""
    scored = np.isfinite(result.quality)
    lines = [worth(result)] if scored.any() else [f"{result.status.text[0].upper()}{result.status.text[1:]}."]
    lines += [*_criteria_lines(result), *covariate_lines(result), *group_line(result.group, scored)]
    lines += _validity_lines(result.validity)
    if missing := int((~scored).sum()):
        lines.append(
            f"{counted(missing, 'paper has', 'papers have')} no score yet and {noun(missing, 'gets', 'get')} none."
        )
    return lines + _prior_lines(result.by_prior)


def _validity_lines(validity: Validity) -> list[str]:
    """Return what the reviewers say about the quality that references measure, if there are references."""
    if not validity.n:
        return []
    references = counted(validity.n, "reference")
    low, high = validity.slope_interval
    slope = f"slope {validity.estimate:.2f}, 90 % interval {low:.2f} to {high:.2f}"
    if not validity.is_predictive:
        return [
            f"The reviewers do not predict the {references} ({slope}): their scores say little or nothing about the "
            "quality that the references measure."
        ]
    return [
        f"The reviewers predict the {references} ({slope}); that leaves {100 * validity.unexplained:.0f} % of the "
        "spread of that quality unexplained. Qualities, ranges and probabilities are of what the references measure."
    ]


def _criteria_lines(result: PosteriorEstimate) -> list[str]:
    """Return what criteria and confidence of the reviews add, a line each where there are any."""
    lines = []
    joined = result.joined
    if joined is not None and joined.used:
        lines.append(
            f"Scores of {listed(joined.names, NAMED)} are used as well: they lower the expected squared error in "
            f"predicting the scores of other reviewers by {100 * joined.gain:.1f} % +- {100 * joined.gain_error:.1f} "
            "(standard error)."
        )
    if joined is not None and joined.rejected:
        why = "they do not help to predict the scores of other reviewers"
        if np.isnan(joined.gain):
            why = "there are too few to tell whether they help"
        elif joined.used:
            why = "there are too few, or they are all the same"
        lines.append(f"Scores of {listed(joined.rejected, NAMED)} are not used: {why}.")
    if result.confidence is not None:
        state = "is used" if result.confidence.used else "is not used"
        gain = result.confidence.gain
        lines.append(f"The confidence of reviewers {state}: with it the log evidence changes by {gain:+.1f}.")
    return lines


def covariate_lines(result: PosteriorEstimate) -> list[str]:
    """Return a line per covariate, and what those of papers mean for a selection."""
    covariates = result.covariates
    if covariates is None:
        return []
    lines = [_covariate_line(row) for row in covariates.rows]
    used = [row for row in covariates.rows if row.used]
    if len(used) > 1:
        lines.append(f"Together they raise the log evidence by {covariates.gain:.1f}.")
    columns = [row.name for row in used if row.of == "item" and row.kind != "ranking"]
    ranked = any(row.kind == "ranking" for row in used)
    if columns or ranked:
        sources = ["covariates"] * bool(columns) + ["authors' ranking"] * ranked
        whom = f"that differ in {listed(columns)}" if columns else "that their authors do not rank"
        lines.append(
            f"What is expected of a paper from its {' and '.join(sources)} moves its quality, the more the fewer its "
            f"scores. Whether that is fair to papers {whom} is yours to decide."
        )
    return lines


def _covariate_line(row: Covariate) -> str:
    """Return what a covariate adds in points, or that it is not used."""
    described = "paper" if row.of == "item" else "reviewer"
    if row.kind == "ranking" and not row.known:
        return f"{row.name} is not used: no author ranks two papers that have scores, and one alone has no order."
    if not row.known:
        return f"{row.name} is not used: it is known of no {described} with a score."
    known = f"{row.name} (known of {counted(row.known, described)})"
    if not row.used:
        return f"{known} is not used: it raises the log evidence by {row.gain:.1f}, less than {MIN_GAIN:g}."
    largest = order_of(-np.abs([effect.effect for effect in row.effects])).tolist()
    effects = [
        f"{level} {effect:+.2f} ({low:+.2f} to {high:+.2f})".strip()
        for level, effect, low, high in (row.effects[place] for place in largest)
    ]
    what = "quality" if row.of == "item" else "scores"
    per = "" if row.kind == "category" else " per standard deviation"
    return (
        f"{known} raises the log evidence by {row.gain:.1f}; effect on {what}{per} in points, with 90 % interval: "
        f"{listed(effects, NAMED, '.')}"
    )


def _prior_lines(papers: Sequence[Label]) -> list[str]:
    """Name the papers whose scores say nothing of their quality, if there are any.

    >>> _prior_lines(["p1"])
    ['1 paper has the quality expected of any paper, because all its reviewers give one score only: p1.']
    """
    if not papers:
        return []
    number = len(papers)
    return [
        f"{counted(number, 'paper has', 'papers have')} the quality expected of any paper, because all "
        f"{noun(number, 'its', 'their')} reviewers give one score only: {listed(papers, PAPERS_NAMED, '.')}"
    ]


def headline(result: PosteriorEstimate) -> tuple[bool | None, str]:
    """Return whether the news is good, None if it is neither, and how far reviewers differ in a few words."""
    if not result.beliefs.signal:
        return True, "No differences between reviewers"
    return None, f"Severities differ by {spread_of_severity(result):.2f} points"


def spread_of_severity(result: PosteriorEstimate) -> float:
    """Return the standard deviation of reviewers' severities in points, each with its own uncertainty."""
    mean, low, high = (value[np.isfinite(value)] for value in result.reviewers.severity)
    return float(np.sqrt(mean.var() + (((high - low) / (2.0 * WIDTH)) ** 2).mean()))


def worth(result: PosteriorEstimate) -> str:
    """Return how far reviewers differ, and how much better than averages the correction predicts held-out reviewers."""
    beliefs = result.beliefs
    if not beliefs.signal:
        rows = [] if result.covariates is None else result.covariates.rows
        used = [row.name for row in rows if row.used and row.of == "reviewer"]
        if used:
            return f"Beyond {listed(used)}, for which scores are corrected, they show no differences between reviewers."
        return NO_DIFFERENCES
    known = np.isfinite(beliefs.mean)
    quality = beliefs.scale * float(np.sqrt(beliefs.mean[known].var() + beliefs.variance[known].mean()))
    differ = (
        f"The severity of reviewers has a standard deviation of {spread_of_severity(result):.2f} points, the quality "
        f"of papers one of {quality:.2f}. "
    )
    better = 100.0 * result.gain.relative
    error = 100.0 * result.gain.standard_error
    if not np.isfinite(better):
        return differ + (
            "Too few reviewers scored two papers that others scored too: how much better than averages the correction "
            "predicts cannot be estimated."
        )
    digits = 0 if error >= 1.0 else 1
    less = "less" if better >= 0 else "more"
    return differ + (
        f"Corrected scores predict the rankings of held-out reviewers with {abs(better):.{digits}f} % "
        f"+- {error:.{digits}f} (standard error) {less} squared error than averages; a part of that error is noise "
        "that nothing predicts."
    )


def papers(result: PosteriorEstimate, selection: Selection | None = None) -> list[str]:
    """Return the table of the best papers, with intervals."""
    best = best_by_group(result)
    # Sorted after printing: if 1 is the best score, the ends of an interval change places.
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    quality = result.reviews.printed(result.quality)
    average = result.reviews.printed(result.average)
    columns: list[Column] = [
        ("rank", lambda i: str(result.rank[i])),
        ("paper", lambda i: paper_name(result, i)),
        ("quality", lambda i: f"{quality[i]:.2f}"),
        ("90 % range", lambda i: f"{low[i]:.2f} to {high[i]:.2f}" if np.isfinite(low[i]) else "unknown"),
        ("average", lambda i: f"{average[i]:.2f}"),
        ("its rank", lambda i: str(result.average_rank[i])),
    ]
    if selection is not None:
        chance = selection.chance
        columns.append((f"among best {selection.n}", lambda i: percent(float(chance[i]))))
    of_references = result.validity.is_learned
    scale = "on the scale of the references" if of_references else "the expected score of a typical reviewer"
    return [
        f"Quality of {counted(best.size, 'paper')}: {scale}. High and low averages are partly chance, so qualities are "
        "closer to the mean, most of all those with few scores.",
        "",
        *table(by_group(result, columns), best[:SHOWN]),
        *truncation(best.size),
        *_outside(result),
    ]


def _outside(result: PosteriorEstimate) -> list[str]:
    """Count the qualities outside the range of the scores, if there are any."""
    score = result.reviews.score[result.reviews.scored]
    if not score.size or result.validity.is_learned:
        return []
    low, high = np.sort(result.reviews.printed([score.min(), score.max()]))
    outside = int(((result.quality > score.max()) | (result.quality < score.min())).sum())
    verb = noun(outside, "quality is", "qualities are")
    return [f"{outside} {verb} outside the range of the scores, {low:g} to {high:g}."] if outside else []


def decisions(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Return the expected number of wrong selections, the three lists, and the changes compared with averages."""
    lines = list_lines(selection, result.group, lambda i: paper_name(result, i), advice(result, selection))
    return [*lines, "", *changes(result, selection)]


def list_lines(
    selection: Selection, group: IntArray, name: Callable[[int], str], hints: Sequence[str] = ()
) -> list[str]:
    """Return the expected number of wrong selections and the three lists; ``hints`` follow the papers to discuss."""
    n = selection.n
    stated = percent(1.0 - selection.error_rate)
    certain = selection.certain
    number = f" ({certain.size:,})" if certain.size else ""
    named = listed([str(label) for label in selection.named(certain[: DISCUSSED + 1])], DISCUSSED)
    lines = [
        expectation(selection),
        *aside_lines(selection.named(selection.aside), group[selection.aside], selection.ranked.size),
        "",
        f"In, with probability at least {stated}{number}: {named if certain.size else 'none'}",
    ]
    if selection.discuss.size:
        places = counted(n - certain.size, "place")
        lines.append(
            f"To discuss ({counted(selection.discuss.size, 'paper')} for {places}), nearest to the line first, with "
            f"the probability of being among the best {n}:"
        )
        shown = selection.nearest[:DISCUSSED]
        for i in shown.tolist():
            mark = "" if selection.comparable[i] else " *"
            lines.append(f"  {percent(float(selection.chance[i])):>6}  {name(i)}{mark}")
        if more := selection.discuss.size - shown.size:
            lines.append(f"  and {more:,} farther from the line; -o FILE writes all (list: in, discuss, out)")
        if not selection.comparable[shown].all():
            lines.append("No review connects papers marked * to most others.")
        lines += hints
    return [*lines, f"Out, with probability at least {stated}: {counted(selection.out.size, 'paper')}."]


def expectation(selection: Selection) -> str:
    """Return the number of selected papers, and how many of them are expected to be wrong."""
    n = selection.n
    wrong = selection.expected_wrong
    by_average = selection.expected_wrong_by_average
    return (
        f"Selecting {counted(n, 'paper')}. Of the {n:,} of highest quality, {wrong:,.1f} are expected not to be among "
        f"the truly best {n:,}; of the {n:,} of highest average, {by_average:,.1f}."
    )


def advice(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Return how to proceed with the papers to discuss, if there are several."""
    discuss = selection.discuss
    sure = 1.0 - selection.error_rate
    if discuss.size < 2:
        return []
    if result.validity.is_learned:
        return [
            "More reviews by the same reviewers cannot settle what they leave unexplained. Have the papers nearest to "
            "the line measured, too, and add them to --references."
        ]
    if result.probability_better(*selection.named(discuss[[0, -1]])) < sure:
        return [
            f"Even the first and the last of these are statistically tied (at {percent(sure)}): discuss them, add "
            "reviews, or use a lottery (--lottery)."
        ]
    return ["Begin at the line, where another look matters most; a lottery can decide the rest (--lottery)."]


def decision(result: PosteriorEstimate, selection: Selection) -> tuple[str, str]:
    """Return the sizes of the lists in a few words, and the position of the line between them."""
    n = selection.n
    inside = selection.certain.size
    discuss = selection.discuss.size
    head = f"{counted(inside, 'paper is', 'papers are')} in, {discuss:,} to discuss, {selection.out.size:,} out"
    of = f"{n:,} of {counted(selection.ranked.size, 'paper')} are to be selected."
    sure = f"Lists in and out have probability {percent(1.0 - selection.error_rate)} or more"
    rest = f"; {counted(n - inside, 'place remains', 'places remain')} for those to discuss" if discuss else ""
    line = line_of(result, selection)
    if line is None:
        return head, f"{of} {sure}{rest}."
    last, following = selection.named(selection.ranked[n - 1 : n + 1])
    return head, f"{of} The line is at a quality of {line:.2f}, between {last} and {following}. {sure}{rest}."


def line_of(result: Estimate, selection: Selection | None) -> float | None:
    """Return the quality halfway between the last selected paper and the next one, as printed."""
    if selection is None or not 0 < selection.n < selection.ranked.size:
        return None
    edge = result.quality[selection.ranked[selection.n - 1 : selection.n + 1]].mean()
    return float(result.reviews.printed(edge))


def changes(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Return the papers that the average would have selected instead, with a probability for each change."""
    n = selection.n
    into = selection.swapped_in
    if not into.size:
        return [f"The {n} of highest average are the same papers as the {n} of highest quality."]
    are = noun(into.size, "is", "are")
    lines = [f"{into.size} of the {n} of highest quality {are} not among the {n} of highest average:"]
    # The best of the new papers is compared with the weakest of those that it replaces.
    for better, worse in zip(into[:CHANGES].tolist(), selection.swapped_out[::-1][:CHANGES].tolist(), strict=False):
        chance = percent(result.probability_better(result.items[better], result.items[worse]))
        names = f"{paper_name(result, better)} instead of {paper_name(result, worse)}"
        lines.append(f"  {names}: the better of the two with probability {chance}")
    if into.size > CHANGES:
        lines.append(f"  and {into.size - CHANGES} more")
    return lines


def reviewer_lines(result: PosteriorEstimate) -> list[str]:
    """Name the reviewers whose intervals are outside the interquartile range of all reviewers."""
    return standing_out(result.beliefs, result.reviews.reviewers, result.reviews.only_scored().loads)


def misfit_lines(result: PosteriorEstimate) -> list[str]:
    """Name the reviewers whose scores contradict those of the others beyond noise, by p-value, if there are any."""
    misfit = result.misfit
    codes = np.flatnonzero(misfit.contradicts)
    if not codes.size:
        return []
    codes = codes[order_of(misfit.p_value[codes])]
    numbers = zip(codes.tolist(), misfit.agreement[codes].tolist(), misfit.mean_square[codes].tolist(), strict=True)
    labels = result.reviews.reviewers
    named = [f"{labels[j]} (agreement {agree:.1f}, mean square {square:.1f})" for j, agree, square in numbers]
    return [
        f"{counted(codes.size, 'reviewer contradicts', 'reviewers contradict')} the others beyond noise: "
        f"{listed(named, NAMED, '.')} Both numbers have the expected value 1; a negative agreement means reversed "
        "scores."
    ]


def standing_out(beliefs: Beliefs, labels: Sequence[Label], loads: IntArray) -> list[str]:
    """Name the reviewers outside the interquartile range, given all labels and numbers of scores, shape (M,)."""
    if not beliefs.signal:
        return []
    reviewers = beliefs.reviewers
    kinds = [
        (reviewers.severity, "harsh", "lenient"),
        (reviewers.stretch, "scores far apart", "scores close together"),
        (reviewers.noise, "erratic", "steady"),
    ]
    lines = []
    for quantity, above, below in kinds:
        low, high = interquartile_range(quantity)
        for word, stands_out, order in (
            (above, quantity.low > high, -quantity.mean),
            (below, quantity.high < low, quantity.mean),
        ):
            codes = np.flatnonzero(stands_out)
            if codes.size:
                most = f"{codes.size}, most of all " if codes.size > NAMED else ""
                first = codes[order_of(order[codes])][:NAMED].tolist()
                lines.append(f"  {word}: {most}{listed([labels[j] for j in first])}")
    judged = counted(int(np.isfinite(reviewers.severity.mean).sum()), "reviewer")
    if lines:
        lines = [f"Of {judged}, outside the interquartile range with probability 90 %:", *lines]
    else:
        lines = [f"None of {judged} is outside the interquartile range with probability 90 %."]
    if few := int(((loads > 0) & (loads < LEAST_LOAD)).sum()):
        lines.append(f"{counted(few, 'reviewer')} gave one or two scores, too few to estimate their severity.")
    return lines


def lottery_lines(
    drawn: Sequence[object], chances: Mapping[object, float], seed: int, *, given: bool = True
) -> list[str]:
    """Return the papers that a lottery drew, and its probabilities; ``given`` if the seed is not the default."""
    free = {label: chance for label, chance in chances.items() if chance < 1.0}
    if not free:
        return [f"Lottery: nothing to draw, {counted(len(drawn), 'paper is', 'papers are')} in for certain."]
    likeliest = [list(free)[place] for place in order_of(-np.array(list(free.values()))).tolist()]
    kept = len(chances) - len(free)
    certain = f"{counted(kept, 'paper is', 'papers are')} in for certain; the other " if kept else ""
    places = counted(len(drawn) - kept, "place is", "places are")
    return [
        f"Lottery (seed {seed}): {certain}{places} drawn among {counted(len(free), 'paper')}, with these "
        "probabilities:",
        f"  {listed([f'{label} ({percent(free[label])})' for label in likeliest], DISCUSSED)}",
        f"Drawn: {listed([str(label) for label in drawn if label in free], len(drawn))}",
        "The same seed draws the same papers: announce it before drawing."
        if given
        else f"No --seed was given, so it is {seed}, for everybody and every time: announce a seed before drawing.",
    ]


def percent(chance: float) -> str:
    """Return a probability in percent, never 0 or 100 %.

    >>> percent(0.583), percent(0.9999), percent(1e-9)
    ('58 %', '> 99 %', '< 1 %')
    """
    if chance > 0.995:
        return "> 99 %"
    if chance < 0.005:
        return "< 1 %"
    return f"{100.0 * chance:.0f} %"


# Tables larger than memory: shorter pages.


def calibration_lines(calibration: StreamedCalibration) -> list[str]:
    """Return what the scores do not support, and the best papers of the largest group."""
    lines = _opening(calibration, f"Calibrated scores of {{}} ({calibration.hypothesis} reviewers), from")
    if calibration.status is not CalibrationStatus.OPTIMAL:
        lines.append(f"{calibration.status.text} ({calibration.message}).")
    lines += [
        "Standard errors, and which qualities are determined, are not computed by batches.",
        "",
        "Best of the largest group:",
    ]
    quality, average = (calibration.stream.printed(values) for values in (calibration.quality, calibration.average))
    for rank, i in enumerate(calibration.best(SHOWN).tolist(), start=1):
        lines.append(f"  {rank:>3}  {calibration.items[i]}  {quality[i]:.3f}  (average {average[i]:.3f})")
    return lines


def posterior_lines(result: StreamedPosterior, selection: Selection | None = None) -> list[str]:
    """Return what the scores do not support, the best papers of the largest group, the lists, and reviewers."""
    lines = _opening(result, "Quality of {}, from")
    if not result.beliefs.signal:
        lines.append(NO_DIFFERENCES)
    lines += [
        "The benefit of the correction is not computed by batches.",
        "",
        "Best of the largest group, with 90 % ranges:",
    ]
    quality, average = (result.stream.printed(values) for values in (result.quality, result.average))
    ends = np.sort(result.stream.printed(result.interval()), axis=1)
    for rank, i in enumerate(result.best(SHOWN).tolist(), start=1):
        low, high = ends[i]
        range_ = f"{low:.2f} to {high:.2f}" if np.isfinite(low) else "unknown"
        lines.append(f"  {rank:>3}  {result.items[i]}  {quality[i]:.2f}  ({range_}; average {average[i]:.2f})")
    if selection is not None:
        lines += ["", *list_lines(selection, result.group, lambda i: str(selection.named(np.array([i]))[0]))]
    reviewers = standing_out(result.beliefs, result.stream.reviewers, scores_given(result.stream))
    return [*lines, "", *reviewers] if reviewers else lines


def _opening(result: StreamedEstimate, what: str) -> list[str]:
    stream = result.stream
    scored = np.isfinite(result.quality)
    total = int(scored.sum())
    lines = [
        f"{what.format(counted(total, 'paper'))} {counted(stream.n_scored, 'score')} by "
        f"{counted(stream.n_reviewers, 'reviewer')}.",
        stream.direction,
        *group_line(result.group, scored),
    ]
    if missing := stream.n_items - total:
        lines.append(f"{counted(missing, 'paper has', 'papers have')} no score and so no place.")
    return lines + _prior_lines(result.by_prior if isinstance(result, StreamedPosterior) else [])


class Page(NamedTuple):
    """Lines: what to know before any number, the body, and a conclusion."""

    opening: list[str]
    body: list[str]
    closing: list[str]


def page_of(result: Estimate, selection: Selection | None = None) -> Page:
    """Return the page of a result, with a selection if the method computes probabilities."""
    reviews = result.reviews
    notes = [reviews.direction]
    # What lists no papers is complete here: only papers with a score are ranked.
    notes += reviews.origin._replace(unlisted=None).caveats(reviews.n_items)
    if isinstance(result, PosteriorEstimate):
        parts = [papers(result, selection)]
        if selection is not None:
            parts.append(decisions(result, selection))
        parts += [reviewer_lines(result), misfit_lines(result)]
        body = [line for part in parts if part for line in ("", *part)][1:]
        lead, *notices = opening(result)
        return Page([lead, *notes, *notices], body, [])
    if isinstance(result, Calibration):
        warnings = [f"Warning: {warning}" for warning in calibration_page.warnings_of(result)]
        return Page([*warnings, *notes], calibration_page.report(result), [calibration_page.closing(result)])
    best = best_by_group(result)
    quality = result.reviews.printed(result.quality)
    average = result.reviews.printed(result.average)
    columns: list[Column] = [
        ("rank", lambda i: str(result.rank[i])),
        ("paper", lambda i: paper_name(result, i)),
        ("quality", lambda i: f"{quality[i]:.3f}"),
        ("average", lambda i: f"{average[i]:.3f}"),
        ("its rank", lambda i: str(result.average_rank[i])),
    ]
    head = f"Quality of {counted(best.size, 'paper')} by {result.method}:"
    body = [head, "", *table(by_group(result, columns), best[:SHOWN]), *truncation(best.size)]
    return Page(notes, body, ["This method does not estimate uncertainty; --method posterior does."])


# The contributions to the estimate of a paper, for its authors: all figures are on the scale of the scores.

#: Corrections smaller than this, in points, are not mentioned.
SLIGHT = 0.05
#: What all papers have in common before their scores are used.
MIDDLE = "the overall mean"


def account_lines(account: Account, title: str = "", scale: tuple[float, float] | None = None) -> list[str]:
    """Return the result, the mean from which all papers start, and what each source adds.

    With ``scale``, the least and the greatest score given, corrected scores outside it are explained.
    """
    name = f"{account.item} {title}".strip()
    lines = [
        f"Paper {name}: quality {account.quality:.2f}{plus_minus(account)}; plain average {account.average:.2f}.",
        "",
        f"  {account.middle:8.2f}  starting point of every paper: {MIDDLE}",
    ]
    lines += [
        f"  {rounded(part.moves):+8.2f}  {source_words(part, account)}"
        for part in account.parts
        if part.source != "middle"
    ]
    lines.append(f"  {account.total:8.2f}  the sum")
    return [*lines, "", *remarks(account, scale)]


def plus_minus(account: Account) -> str:
    """Return the standard error as the end of a clause; empty if it cannot be estimated."""
    error = account.standard_error
    return f" +- {error:.2f} (standard error)" if math.isfinite(error) else ""


def remarks(account: Account, scale: tuple[float, float] | None = None) -> list[str]:
    """Explain the weights, and corrected scores outside the scale."""
    # The mean adds nothing: its weight is the strength of the shrinkage.
    rest = sum(part.weight for part in account.parts if part.source == "middle")
    data = max(1.0 - rest, 0.0)
    lines = [
        f"The data on this paper have {_share(data)} of the weight, {MIDDLE} {_share(rest)}: the fewer and the "
        "less consistent the scores, the closer the quality is to the mean.",
    ]
    corrected = [part.says for part in account.parts if part.source == "review" and _is_corrected(part)]
    if scale and corrected and not account.of_references and (min(corrected) < scale[0] or max(corrected) > scale[1]):
        lines.append(
            f"Scores were given from {scale[0]:g} to {scale[1]:g}; a corrected score may be outside this range: the "
            "best score of a harsh reviewer means more than that of a lenient one."
        )
    return lines


def source_words(part: Part, account: Account) -> str:
    """Return the name of a source, the value of a score after correction with reasons, and its weight."""
    if part.source == "likeness":
        return f"reviewers have similar papers: the other papers of {part.reviewer} (weight {_share(part.weight)})"
    if part.source == "covariate":
        return f"{part.covariate}: papers like this one are expected at {part.says:.2f}"
    if part.source == "reference":
        return f"its reference {part.score:g}; weight {_share(part.weight)}"
    counts = f", counts as {part.says:.2f}{_why(part, account)}" if _is_corrected(part) else ""
    return f"{part.reviewer} gave {part.score:g}{counts}; weight {_share(part.weight)}"


def rounded(points: float) -> float:
    """Round to the digits printed, without a negative zero."""
    return round(points, 2) + 0.0


def _share(weight: float) -> str:
    return f"{100.0 * weight:.0f} %"


def _is_corrected(part: Part) -> bool:
    return abs(part.severity + part.stretch + sum(part.criteria.values())) >= SLIGHT


def _why(part: Part, account: Account) -> str:
    harsh = "harsh" if (part.severity > 0) != account.lower_is_better else "lenient"
    # The stretch has the rest: the reviewer's slope, and what their other papers add to both estimates.
    by = "by the references and by" if account.of_references else "by"
    reasons = [
        (part.severity, f"as this reviewer is {harsh}"),
        (part.stretch, f"{by} how this reviewer scored other papers"),
        *((value, f"by {name}") for name, value in part.criteria.items()),
    ]
    corrections = [f"{value:+.2f} {reason}" for value, reason in reasons if abs(value) >= SLIGHT]
    return f" ({', '.join(corrections)})"
