"""The posterior in words and tables, for people: to them items are papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc.words.tables import SHOWN, Column, best_by_group, by_group, paper_name, summed_up, table
from reviewgraph.words import counted, listed, noun

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.inference.beliefs import Quantity
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Changes of a selection that are named one by one.
CHANGES = 5
#: Papers to discuss that are listed on the terminal.
DISCUSSED = 40


def opening(result: PosteriorEstimate) -> list[str]:
    """Say, before any number, what the correction is worth and what the scores do not support."""
    scored = np.isfinite(result.quality)
    lines = [worth(result)] if scored.any() else [f"{result.status.text[0].upper()}{result.status.text[1:]}."]
    sizes = np.bincount(result.group[scored], minlength=2)
    if (groups := int((sizes > 0).sum())) > 1:
        lines.append(
            f"Papers of different groups cannot be compared: no review connects the {groups} groups; the largest has "
            f"{sizes.max()} of {scored.sum()} papers. Ranks are within a group."
        )
    if missing := int((~scored).sum()):
        lines.append(
            f"{counted(missing, 'paper has', 'papers have')} no score yet and {noun(missing, 'gets', 'get')} none."
        )
    return lines


def worth(result: PosteriorEstimate) -> str:
    """Say in one line what the correction for reviewers is worth."""
    if not result.beliefs.signal:
        return (
            "These scores show no differences between reviewers: there is nothing to correct. "
            "What follows are averages, those of few reviews drawn to the middle."
        )
    gain = result.gain
    if not np.isfinite(gain.relative):
        return "Too few papers have two scores to say what the correction is worth."
    better, error = 100.0 * gain.relative, 100.0 * gain.standard_error
    verdict = "better than" if better >= 0 else "worse than"
    sure = "" if abs(better) > 2 * error else " (within its error, so no better for certain)"
    return (
        f"Correcting for reviewers predicts a withheld score {abs(better):.0f} % {verdict} the plain average does, "
        f"give or take {error:.0f}{sure}."
    )


def papers(result: PosteriorEstimate, selection: Selection | None = None) -> list[str]:
    """Return the table of the best papers, with intervals."""
    best = best_by_group(result)
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    quality, average = result.reviews.printed(result.quality), result.reviews.printed(result.average)
    columns: list[Column] = [
        ("rank", lambda i: str(result.rank[i])),
        ("paper", lambda i: paper_name(result, i)),
        ("quality", lambda i: f"{quality[i]:.2f}"),
        ("9 in 10 sure", lambda i: f"{low[i]:.2f} to {high[i]:.2f}"),
        ("average", lambda i: f"{average[i]:.2f}"),
        ("its rank", lambda i: str(result.average_rank[i])),
    ]
    if selection is not None:
        chance = selection.chance
        columns.append((f"among best {selection.n}", lambda i: percent(float(chance[i]))))
    return [
        f"Quality of {counted(best.size, 'paper')}, as a typical reviewer would score it:",
        "",
        *table(by_group(result, columns), best[:SHOWN]),
        *summed_up(SHOWN, best.size),
    ]


def decisions(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Return the three lists, how many of the selected are expected to be wrong, and what differs from the average."""
    n, wrong, by_average = selection.n, selection.expected_wrong, selection.expected_wrong_by_average
    stated = percent(1.0 - selection.error_rate)
    lines = [
        f"Selecting {counted(n, 'paper')}: {wrong:.1f} of them are expected not to be among the truly best {n} "
        f"(of the {n} best averages: {by_average:.1f}).",
        "",
        f"In, at least {stated} sure ({selection.certain.size}): {_names(result, selection.certain)}",
    ]
    discuss = selection.discuss
    places = n - selection.certain.size
    if discuss.size:
        lines += [
            f"To discuss ({discuss.size} papers for {counted(places, 'place')}), with the chance of being among the "
            f"best {n}:",
            *_chances(result, selection),
        ]
        if _blurred(result, selection):
            lines.append(
                "Nothing in these scores tells any two of them apart for certain: discuss them, add reviews, or draw "
                "lots (--lottery)."
            )
    lines.append(f"Out, at least {stated} sure: {counted(selection.out.size, 'paper')}.")
    return [*lines, "", *changes(result, selection)]


def changes(result: PosteriorEstimate, selection: Selection) -> list[str]:
    """Say which papers the average would have selected instead, and how sure each change is."""
    into, out_of = selection.swapped_in, selection.swapped_out
    if not into.size:
        return ["The plain average would select the same papers."]
    lines = [f"{into.size} of the {selection.n} differ from the average's selection:"]
    for better, worse in zip(into[:CHANGES].tolist(), out_of[::-1][:CHANGES].tolist(), strict=False):
        sure = _better(result, better, worse)
        lines.append(
            f"  {paper_name(result, better)} in, {paper_name(result, worse)} out: the first is the better one with "
            f"{percent(sure)}"
        )
    if into.size > CHANGES:
        lines.append(f"  and {into.size - CHANGES} more")
    return lines


def reviewer_lines(result: PosteriorEstimate) -> list[str]:
    """Name the reviewers whose intervals exclude what is usual, by what they do."""
    if not result.beliefs.signal:
        return []
    found, names = result.reviewers, result.reviews.reviewers
    usual = float(np.nanmedian(found.noise.mean))
    kinds: list[tuple[str, BoolArray, Quantity, float]] = [
        ("harsh", found.severity.low > 0, found.severity, -1.0),
        ("lenient", found.severity.high < 0, found.severity, 1.0),
        ("spread papers widely", found.stretch.low > 1, found.stretch, -1.0),
        ("hardly tell papers apart", found.stretch.high < 1, found.stretch, 1.0),
        ("erratic", found.noise.low > usual, found.noise, -1.0),
        ("unusually consistent", found.noise.high < usual, found.noise, 1.0),
    ]
    lines = []
    for word, stands_out, quantity, direction in kinds:
        who = np.flatnonzero(stands_out)
        if who.size:
            order = who[np.argsort(direction * quantity.mean[who], kind="stable")]
            lines.append(f"  {word}: {who.size}, most of all {listed([names[j] for j in order.tolist()])}")
    judged = int(np.isfinite(found.severity.mean).sum())
    if not lines:
        return [f"None of the {judged} reviewers stands out for certain."]
    return [f"Reviewers who stand out for certain (9 in 10 sure), of {judged}:", *lines]


def lottery_lines(drawn: Sequence[object], chances: Mapping[object, float], seed: int) -> list[str]:
    """Return what a lottery drew, and with which probabilities."""
    free = {label: chance for label, chance in chances.items() if chance < 1.0}
    if not free:
        return [f"Lots: nothing to draw, {counted(len(drawn), 'paper is', 'papers are')} in for certain."]
    likeliest = sorted(free, key=lambda label: -free[label])
    sure = counted(len(chances) - len(free), "paper is", "papers are")
    return [
        f"Lots (seed {seed}): {sure} in without drawing; the other "
        f"{counted(len(drawn) - len(chances) + len(free), 'place is', 'places are')} drawn among {len(free)}, with "
        "probabilities that rise with their chances:",
        f"  {listed([f'{label} ({percent(free[label])})' for label in likeliest], DISCUSSED)}",
        f"Drawn: {listed([str(label) for label in drawn], len(drawn))}",
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
    discuss = selection.discuss
    lines = [
        f"  {percent(float(selection.chance[i])):>6}  {paper_name(result, i)}"
        f"{'' if selection.comparable[i] else '  (no review connects it to most others)'}"
        for i in discuss[:DISCUSSED].tolist()
    ]
    if discuss.size > DISCUSSED:
        lines.append(f"  and {discuss.size - DISCUSSED} more")
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
