"""The calibration of a table larger than memory in a few lines."""

from __future__ import annotations

import numpy as np

from lsc.calibration import Status
from lsc.streams import StreamedCalibration
from lsc.words.tables import SHOWN
from reviewgraph.words import counted


def page(calibration: StreamedCalibration) -> list[str]:
    """Return what the scores do not support, and the best papers of the largest group."""
    stream, scored = calibration.stream, np.isfinite(calibration.quality)
    sizes = np.bincount(calibration.group[scored])
    groups, total = int(np.count_nonzero(sizes)), int(scored.sum())
    lines = [
        f"Calibrated scores of {counted(total, 'paper')} ({calibration.hypothesis} reviewers), from "
        f"{counted(stream.n_scored, 'score')} by {counted(stream.n_reviewers, 'reviewer')}."
    ]
    if groups > 1:
        lines.append(
            f"Papers of different groups cannot be compared: no review connects the {groups:,} groups; the largest has "
            f"{int(sizes.max()):,} of {total:,} papers. Ranks are within a group."
        )
    if total < stream.n_items:
        lines.append(f"{counted(stream.n_items - total, 'paper has', 'papers have')} no score and so no place.")
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
