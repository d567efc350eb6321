"""What a check says of expected errors, in a chair's words, where items are papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.words import LISTED, counted, shortened

if TYPE_CHECKING:
    from reviewgraph.precision.outlook import Outlook


def expectations(outlook: Outlook) -> list[str]:
    """Return the section of the page; nothing where there are no papers."""
    if not outlook.variance.size:
        return []
    return ["", *errors(outlook), *weakest(outlook), *selection(outlook), *disagreement(outlook)]


def errors(outlook: Outlook) -> list[str]:
    """Return one sentence: the median error, and what it assumes."""
    given = outlook.assumptions
    points = given.spread != 1.0
    unit = "points" if points else "of the spread of qualities"
    of_spread = f" of a spread of {given.spread:.3g} points" if points else ""
    return [
        f"Expected error of a paper once all scores are in: {np.median(outlook.error):.2f} {unit} "
        f"(median; plain average: {np.median(outlook.average):.2f}), "
        f"assuming noise {given.noise:.2g}, severity {given.severity:.2g}, stretch {given.stretch:.2g}{of_spread}; "
        "change with --noise, --severity, --stretch or --like LAST_YEAR",
    ]


def weakest(outlook: Outlook) -> list[str]:
    """Return a heading, and a line for each of the weakest papers."""
    items, more = outlook.structure.reviews.items, outlook.with_one_more
    lines = ["Weakest papers, and what one more review by a typical, well-known reviewer would leave:"]
    lines += [
        f"  {shortened(str(items[code])):<12} {outlook.error[code]:.2f}, with one more {more[code]:.2f}"
        for code in outlook.weakest[:LISTED].tolist()
    ]
    return lines


def selection(outlook: Outlook) -> list[str]:
    """Return the share of right selections to expect, and a line for each number of reviews added."""
    now, *later = outlook.curve
    best = f"best {outlook.n_selected:,}" if outlook.n_selected > 1 else "best one"
    lines = [
        f"Expected to be right when the {best} of {counted(outlook.variance.size, 'paper')} "
        f"{'are' if outlook.n_selected > 1 else 'is'} selected: {now.right:.0%} "
        f"(plain average: {outlook.right_by_average:.0%})"
    ]
    each = ", one each to the weakest papers"
    for step in later:
        lines.append(f"  with {counted(step.added, 'more review')}{each}: {step.right:.0%}")
        each = ""
    return lines


def disagreement(outlook: Outlook) -> list[str]:
    """Return what to follow where level and precision disagree, one or two sentences or none."""
    if outlook.rests_on_likeness:
        return [
            "These errors are finite only because papers and reviewers of all pieces are assumed to be alike, which no "
            "score can confirm: between pieces follow the level, within one the errors.",
        ]
    if not outlook.averages_do_better:
        return []
    error = f"{outlook.by_scores_alone:.2g}"
    return [
        "The level says what scores without noise determine, not how sure a decision is. With this noise, taking "
        f"scores at their word (calibrate --method lsc) would leave an error of {error}, more than plain averages. "
        "Follow the errors: calibrate as by default, and give the weakest papers more reviews.",
    ]
