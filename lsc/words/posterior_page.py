"""The posterior in words and tables, for people: to them items are papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.beliefs import InferenceStatus as Ending
from lsc._inference.inferring import interquartile_range
from lsc.calibration import Status
from lsc.selection import Selection
from lsc.streams import StreamedCalibration, StreamedEstimate, StreamedPosterior, scores_given
from lsc.words.calibration_page import (
    SHOWN,
    Column,
    best_by_group,
    by_group,
    measured_line,
    paper_name,
    summed_up,
    table,
)
from reviewgraph._base.arrays import IntArray
from reviewgraph._base.labels import Label
from reviewgraph._base.text import counted, listed, noun

if TYPE_CHECKING:
    from lsc._inference.beliefs import Beliefs
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph._base.arrays import BoolArray, FloatArray


# Words on papers that a selection sets aside, because no review connects them to the others.

#: Papers set aside that are named.
PAPERS_NAMED = 10


def aside_lines(aside: Sequence[Label], groups: IntArray, others: int) -> list[str]:
    """Return the line that names the papers set aside, and says how few reviews would connect them; none without any.

    Parameters
    ----------
    aside
        Their labels.
    groups
        The group of each.
    others
        How many papers the largest group holds.

    Examples
    --------
    >>> import numpy as np
    >>> aside_lines(["p1", "p2"], np.array([2, 2]), 2995)[0]
    'Set aside, neither in nor out: 2 papers that no review connects to the other 2,995, so nothing says how they
    compare: p1, p2. At least 1 review would be needed to connect them.'
    """
    if not aside:
        return []
    needed = counted(len(set(groups.tolist())), "review")
    return [
        f"Set aside, neither in nor out: {counted(len(aside), 'paper')} that no review connects to the other "
        f"{others:,}, so nothing says how {noun(len(aside), 'it compares', 'they compare')}: "
        f"{listed(aside, PAPERS_NAMED)}. "
        f"At least {needed} would be needed to connect {noun(len(aside), 'it', 'them')}."
    ]


#: Changes of a selection that are named one by one.
CHANGES = 5
#: Papers to discuss that are listed on the terminal.
DISCUSSED = 40
#: Reviewers of a kind that are named.
NAMED = 5
#: With fewer scores than that little is known of a reviewer.
LEAST_LOAD = 3

#: Standard errors from which a gain or a loss is taken for one.
SURE = 2.0

NO_DIFFERENCES = (
    "These scores show no differences between reviewers: there is nothing to correct. "
    "What follows are averages, those of few reviews drawn to the middle."
)
_AGAINST = "Do not rely on the correction alone"


def opening(result: PosteriorEstimate) -> list[str]:
    """Say, before any number, what the correction is worth and what the scores do not support."""
    scored = np.isfinite(result.quality)
    lines = [worth(result)] if scored.any() else [f"{result.status.text[0].upper()}{result.status.text[1:]}."]
    sizes = np.bincount(result.group[scored], minlength=2)
    if (groups := int((sizes > 0).sum())) > 1:
        lines.append(
            f"Papers of different groups cannot be compared: no review connects the {groups} groups; the largest has "
            f"{sizes.max():,} of {scored.sum():,} papers. Ranks are within a group."
        )
    if known := result.beliefs.reference_item.size:
        lines.append(measured_line(known))
    if missing := int((~scored).sum()):
        lines.append(
            f"{counted(missing, 'paper has', 'papers have')} no score yet and {noun(missing, 'gets', 'get')} none."
        )
    return lines


def headline(result: PosteriorEstimate) -> tuple[bool, str]:
    """Return what the correction is worth in a few words, and whether that is good news: :func:`worth` in short."""
    if not result.beliefs.signal:
        return True, "Nothing to correct"
    if not np.isfinite(result.gain.relative):
        return False, "What the correction is worth cannot be told"
    steps = result.gain.relative / result.gain.standard_error if result.gain.standard_error else np.inf
    if steps > SURE:
        return True, "The correction helps"
    if steps >= -SURE:
        return False, "Whether the correction helps cannot be told"
    return False, "Do not rely on the correction alone"


def worth(result: PosteriorEstimate) -> str:
    """Say in one line what the correction for reviewers is worth."""
    if not result.beliefs.signal:
        return NO_DIFFERENCES
    gain = result.gain
    if not np.isfinite(gain.relative):
        return (
            "Too few reviewers scored two papers that others scored too: what the correction is worth cannot be told "
            "from these scores."
        )
    better, error = 100.0 * gain.relative, 100.0 * gain.standard_error
    digits = 0 if error >= 1.0 else 1
    less = "less" if better >= 0 else "more"
    if better > SURE * error:
        head, end = "The correction helps", ""
    else:
        head = "These scores cannot tell whether the correction helps" if better >= -SURE * error else _AGAINST
        end = " Where its order and the average's differ, look at the paper."
    return (
        f"{head}: it predicts how held-out reviewers rank their papers with {abs(better):.{digits}f} % {less} squared "
        f"error than averages do, +- {error:.{digits}f} (standard error).{end}"
    )


def papers(result: PosteriorEstimate, selection: Selection | None = None) -> list[str]:
    """Return the table of the best papers, with intervals."""
    best = best_by_group(result)
    # Sorted after printing: where 1 is the best score, the ends of an interval change places.
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    quality, average = result.reviews.printed(result.quality), result.reviews.printed(result.average)
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
    return [
        f"Quality of {counted(best.size, 'paper')}: the score to expect of a typical reviewer. High and low averages "
        "are partly luck, so qualities lie nearer to the middle; those of few scores most.",
        "",
        *table(by_group(result, columns), best[:SHOWN]),
        *summed_up(SHOWN, best.size),
        *_beyond(result),
    ]


def _beyond(result: PosteriorEstimate) -> list[str]:
    """Say how many qualities lie beyond all scores given, if any do."""
    score = result.reviews.score[result.reviews.scored]
    if not score.size:
        return []
    low, high = np.sort(result.reviews.printed([score.min(), score.max()]))
    beyond = int(((result.quality > score.max()) | (result.quality < score.min())).sum())
    verb = noun(beyond, "quality lies", "qualities lie")
    return [f"{beyond} {verb} beyond the scores given, {low:g} to {high:g}."] if beyond else []


def decisions(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Return the three lists, how many of the selected are expected to be wrong, and what differs from the average."""
    n, stated = selection.n, percent(1.0 - selection.error_rate)
    number = f" ({selection.certain.size})" if selection.certain.size else ""
    lines = [
        expectation(selection),
        *aside_lines(selection_labels(result, selection.aside), result.group[selection.aside], selection.ranked.size),
        "",
        f"In, at least {stated} sure{number}: {_names(result, selection.certain)}",
    ]
    if selection.discuss.size:
        places = n - selection.certain.size
        lines += [
            f"To discuss ({counted(selection.discuss.size, 'paper')} for {counted(places, 'place')}), nearest to the "
            f"line first, with the chance of being among the best {n}:",
            *_chances(result, selection),
            *advice(result, selection),
        ]
    lines.append(f"Out, at least {stated} sure: {counted(selection.out.size, 'paper')}.")
    return [*lines, "", *changes(result, selection)]


def expectation(selection: Selection) -> str:
    """Say how many are selected, and how many of them are expected to be wrong."""
    n, wrong, by_average = selection.n, selection.expected_wrong, selection.expected_wrong_by_average
    return (
        f"Selecting {counted(n, 'paper')}. Of the {n} of highest quality, {wrong:.1f} are expected not to be among the "
        f"truly best {n}; of the {n} of highest average, {by_average:.1f}."
    )


def advice(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Say what to do with the papers to discuss, where there are several."""
    # What to do next depends on whether even the ends of the list can be told apart.
    if _blurred(result, selection):
        return [
            f"Not even the first and the last of these can be told apart ({percent(1.0 - selection.error_rate)} sure): "
            "discuss them, add reviews, or draw lots (--lottery)."
        ]
    if selection.discuss.size > 1:
        return [
            "Begin at the line, where a second look changes most; what is left over can be drawn by lot (--lottery)."
        ]
    return []


def decision(result: PosteriorEstimate, selection: Selection) -> tuple[str, str]:
    """Return how many papers are in, to discuss and out in a few words, and where the line between them lies."""
    n, inside, discuss = selection.n, selection.certain.size, selection.discuss.size
    head = f"{counted(inside, 'paper is', 'papers are')} in, {discuss:,} to discuss, {selection.out.size:,} out"
    of = f"{n:,} of {counted(selection.ranked.size, 'paper')} are to be selected."
    sure = f"Papers in and out are at least {percent(1.0 - selection.error_rate)} sure"
    left = f", and {counted(n - inside, 'place is', 'places are')} left for those to discuss" if discuss else ""
    line = line_of(result, selection)
    if line is None:
        return head, f"{of} {sure}{left}."
    last, following = selection_labels(result, selection.ranked[n - 1 : n + 1])
    return head, f"{of} The line lies at a quality of {line:.2f}, between {last} and {following}. {sure}{left}."


def line_of(result: Estimate, selection: Selection | None) -> float | None:
    """Return the quality halfway between the last paper selected and the first that is not, as printed."""
    if selection is None or not 0 < selection.n < selection.ranked.size:
        return None
    edge = result.quality[selection.ranked[selection.n - 1 : selection.n + 1]].mean()
    return float(result.reviews.printed(edge))


def changes(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Say which papers the average would have selected instead, and how sure each change is."""
    n, into, out_of = selection.n, selection.swapped_in, selection.swapped_out
    if not into.size:
        return [f"The {n} of highest average are the same papers as the {n} of highest quality."]
    are = noun(into.size, "is", "are")
    lines = [f"{into.size} of the {n} of highest quality {are} not among the {n} of highest average:"]
    # The surest newcomer stands beside the paper that was nearest to the cut.
    for better, worse in zip(into[:CHANGES].tolist(), out_of[::-1][:CHANGES].tolist(), strict=False):
        sure = _better(result, better, worse)
        lines.append(
            f"  {paper_name(result, better)} instead of {paper_name(result, worse)}: the better of the two with a "
            f"chance of {percent(sure)}"
        )
    if into.size > CHANGES:
        lines.append(f"  and {into.size - CHANGES} more")
    return lines


def reviewer_lines(result: PosteriorEstimate) -> list[str]:
    """Name the reviewers whose intervals lie outside the middle half of all reviewers, by what they do."""
    return standing_out(result.beliefs, result.reviews.reviewers, result.reviews.only_scored().loads)


def misfit_lines(result: PosteriorEstimate) -> list[str]:
    """Name the reviewers whose scores contradict those of the others beyond noise, the surest first, if any do."""
    misfit = result.misfit
    who = np.flatnonzero(misfit.contradicts)
    if not who.size:
        return []
    who = who[np.argsort(misfit.p_value[who], kind="stable")]
    numbers = zip(who.tolist(), misfit.agreement[who].tolist(), misfit.mean_square[who].tolist(), strict=True)
    labels = result.reviews.reviewers
    named = [f"{labels[j]} (agreement {agree:.1f}, mean square {square:.1f})" for j, agree, square in numbers]
    return [
        f"{counted(who.size, 'reviewer contradicts', 'reviewers contradict')} the others beyond noise: "
        f"{listed(named, NAMED)}. Of both numbers 1 is expected; below an agreement of 0 scores are reversed."
    ]


def standing_out(beliefs: Beliefs, labels: Sequence[Label], loads: IntArray) -> list[str]:
    """Do so by labels of reviewers and how many scores each gave, shape (M,)."""
    if not beliefs.signal:
        return []
    found = beliefs.reviewers
    kinds = [(found.severity, "harsh", "lenient"), (found.stretch, "scores far apart", "scores close together")]
    # Unless reviewers have a noise of their own it follows from their stretch, and tells nothing more.
    if beliefs.extent.own:
        kinds.append((found.noise, "erratic", "steady"))
    lines = []
    for quantity, above, below in kinds:
        low, high = interquartile_range(quantity)
        lines += _named(labels, above, quantity.low > high, -quantity.mean)
        lines += _named(labels, below, quantity.high < low, quantity.mean)
    judged = counted(int(np.isfinite(found.severity.mean).sum()), "reviewer")
    if lines:
        lines = [f"Outside the middle half of {judged} (90 % sure of each):", *lines]
    else:
        lines = [f"None of {judged} stands out from the middle half (90 % sure)."]
    if few := int(((loads > 0) & (loads < LEAST_LOAD)).sum()):
        lines.append(f"{counted(few, 'reviewer')} gave one or two scores, which say little of a reviewer.")
    return lines


def _named(labels: Sequence[Label], word: str, stands_out: BoolArray, order: FloatArray) -> list[str]:
    """Return the line that names the reviewers who stand out in a way, the first by ``order``, if there are any."""
    who = np.flatnonzero(stands_out)
    first = who[np.argsort(order[who], kind="stable")][:NAMED].tolist()
    most = f"{who.size}, most of all " if who.size > NAMED else ""
    return [f"  {word}: {most}{listed([labels[j] for j in first])}"] if who.size else []


def lottery_lines(
    drawn: Sequence[object], chances: Mapping[object, float], seed: int, *, given: bool = True
) -> list[str]:
    """Return what a lottery drew, and with which probabilities; whether the seed was given or is the default."""
    free = {label: chance for label, chance in chances.items() if chance < 1.0}
    if not free:
        return [f"Lots: nothing to draw, {counted(len(drawn), 'paper is', 'papers are')} in for certain."]
    likeliest = sorted(free, key=lambda label: -free[label])
    kept = len(chances) - len(free)
    sure = f"{counted(kept, 'paper is', 'papers are')} in without drawing; the other " if kept else ""
    places = counted(len(drawn) - kept, "place is", "places are")
    return [
        f"Lots (seed {seed}): {sure}{places} drawn among {counted(len(free), 'paper')}, the likelier the better they "
        "look:",
        f"  {listed([f'{label} ({percent(free[label])})' for label in likeliest], DISCUSSED)}",
        f"Drawn: {listed([str(label) for label in drawn if label in free], len(drawn))}",
        "The same seed draws the same papers: agree on the seed before you draw."
        if given
        else f"No --seed was given, so it is {seed}, for everybody and every time: agree on a seed before you draw.",
    ]


def percent(chance: float) -> str:
    """Return a probability as a person would say it; never 0 or 100 %.

    >>> percent(0.583), percent(0.9999), percent(1e-9)
    ('58 %', '> 99 %', '< 1 %')
    """
    return "> 99 %" if chance > 0.995 else "< 1 %" if chance < 0.005 else f"{100.0 * chance:.0f} %"


def _names(result: PosteriorEstimate, who: IntArray) -> str:
    return listed(selection_labels(result, who), DISCUSSED) if who.size else "none"


def selection_labels(result: PosteriorEstimate, who: IntArray) -> list[str]:
    """Return the labels of papers given by code, as text."""
    return [str(result.items[i]) for i in who.tolist()]


def _chances(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """List papers with their chances, of many those nearest to the line."""
    shown = selection.nearest[:DISCUSSED]
    lines = [
        f"  {percent(float(selection.chance[i])):>6}  {paper_name(result, i)}{'' if selection.comparable[i] else ' *'}"
        for i in shown.tolist()
    ]
    if left := selection.discuss.size - shown.size:
        lines.append(f"  and {left:,} farther from the line; -o FILE writes all (list: in, discuss, out)")
    if not selection.comparable[shown].all():
        lines.append("No review connects papers marked * to most others.")
    return lines


def _blurred(result: PosteriorEstimate, selection: Selection) -> bool:
    """Whether not even the best and the worst of the papers to discuss can be told apart."""
    discuss = selection.discuss
    return discuss.size > 1 and _better(result, int(discuss[0]), int(discuss[-1])) < 1.0 - selection.error_rate


def _better(result: PosteriorEstimate, first: int, second: int) -> float:
    """Probability that one paper, given by code, is better than another."""
    from scipy.special import ndtr

    found = result.difference(result.items[first], result.items[second])
    return float(ndtr(found.mean / found.standard_error)) if np.isfinite(found.standard_error) else 0.5


# The calibration of a table larger than memory in a few lines.


def calibration_lines(calibration: StreamedCalibration) -> list[str]:
    """Return what the scores do not support, and the best papers of the largest group."""
    lines = _opening(calibration, f"Calibrated scores of {{}} ({calibration.hypothesis} reviewers), from")
    if calibration.status is not Status.OPTIMAL:
        lines.append(f"{calibration.status.text} ({calibration.message}).")
    lines += [
        "Standard errors, and which places are determined, are not computed by batches.",
        "",
        "Best of the largest group:",
    ]
    for rank, (label, quality, average) in enumerate(calibration.best(SHOWN), start=1):
        lines.append(f"  {rank:>3}  {label}  {quality:.3f}  (average {average:.3f})")
    return lines


def posterior_lines(result: StreamedPosterior, selection: Selection | None = None) -> list[str]:
    """Return what the scores do not support, the best papers of the largest group, and what is to be done."""
    lines = _opening(result, "Quality of {}, from")
    if not result.beliefs.signal:
        lines.append(NO_DIFFERENCES)
    elif result.status is Ending.SWEEPS_EXHAUSTED:
        lines.append(f"{result.status.text[0].upper()}{result.status.text[1:]}.")
    lines += [
        "What the correction is worth is not computed by batches.",
        "",
        "Best of the largest group, with 90 % ranges:",
    ]
    best = result.best_of_largest(SHOWN)
    ends = np.sort(result.stream.printed(result.interval()[best]), axis=1).tolist()
    for rank, ((label, quality, average), (low, high)) in enumerate(zip(result.best(SHOWN), ends, strict=True), 1):
        range_ = f"{low:.2f} to {high:.2f}" if np.isfinite(low) else "unknown"
        lines.append(f"  {rank:>3}  {label}  {quality:.2f}  ({range_}; average {average:.2f})")
    if selection is not None:
        lines += ["", *_decisions(result, selection)]
    reviewers = standing_out(result.beliefs, result.stream.reviewers, scores_given(result.stream))
    return [*lines, "", *reviewers] if reviewers else lines


def _opening(result: StreamedEstimate, what: str) -> list[str]:
    stream, scored = result.stream, np.isfinite(result.quality)
    sizes = np.bincount(result.group[scored])
    groups, total = int(np.count_nonzero(sizes)), int(scored.sum())
    lines = [
        f"{what.format(counted(total, 'paper'))} {counted(stream.n_scored, 'score')} by "
        f"{counted(stream.n_reviewers, 'reviewer')}."
    ]
    if groups > 1:
        lines.append(
            f"Papers of different groups cannot be compared: no review connects the {groups:,} groups; the largest has "
            f"{int(sizes.max()):,} of {total:,} papers. Ranks are within a group."
        )
    if total < stream.n_items:
        lines.append(f"{counted(stream.n_items - total, 'paper has', 'papers have')} no score and so no place.")
    return lines


def _decisions(result: StreamedPosterior, selection: Selection) -> list[str]:
    """Return the three lists in short, and how many of the selected are expected to be wrong."""
    n, stated = selection.n, percent(1.0 - selection.error_rate)

    def names(papers: IntArray) -> str:
        return listed(selection.named(papers[: DISCUSSED + 1]), DISCUSSED) if papers.size else "none"

    return [
        f"Selecting {counted(n, 'paper')}. Of the {n:,} of highest quality, {selection.expected_wrong:,.1f} are "
        f"expected not to be among the truly best {n:,}; of the {n:,} of highest average, "
        f"{selection.expected_wrong_by_average:,.1f}.",
        *aside_lines(selection.named(selection.aside), result.group[selection.aside], selection.ranked.size),
        f"In, at least {stated} sure ({selection.certain.size:,}): {names(selection.certain)}",
        f"To discuss ({selection.discuss.size:,}), nearest to the line first: {names(selection.nearest)}",
        f"Out, at least {stated} sure: {counted(selection.out.size, 'paper')}.",
    ]
