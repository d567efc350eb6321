"""The calibration of a table larger than memory in a few lines."""

from __future__ import annotations

import numpy as np

from lsc.calibration import Status
from lsc.decisions.selection import Selection
from lsc.inference.beliefs import Status as Ending
from lsc.streams.calibration import StreamedCalibration
from lsc.streams.estimate import StreamedEstimate, scores_given
from lsc.streams.posterior import StreamedPosterior
from lsc.words.aside import aside_lines
from lsc.words.posterior_page import DISCUSSED, NO_DIFFERENCES, percent, standing_out
from lsc.words.tables import SHOWN
from reviewgraph.labels import IntArray
from reviewgraph.words import counted, listed


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
