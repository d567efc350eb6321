"""The page of Least Square Calibration, and the tables of papers of all pages.

Pages call items papers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lsc.calibration import Calibration, CalibrationStatus
from reviewgraph._base import BoolArray, IntArray, counted, listed, text_table

if TYPE_CHECKING:
    from lsc.estimate import Estimate


# Tables of papers: aligned columns, labels with titles, the best paper first.

#: A heading, and the cell of a paper given by code.
Column: TypeAlias = tuple[str, Callable[[int], str]]

#: Papers shown in a table.
SHOWN = 20
#: Characters of a title that a table shows.
TITLE = 40


def table(columns: Sequence[Column], papers: IntArray) -> list[str]:
    """Return the lines of a table, one per paper: text aligned to the left, numbers to the right.

    >>> table([("paper", lambda i: f"p{i}"), ("rank", lambda i: str(10 * i))], np.array([1, 2]))
    ['paper  rank', 'p1       10', 'p2       20']
    """
    header = [name for name, _ in columns]
    rows = [[cell(i) for _, cell in columns] for i in papers.tolist()]
    return text_table(header, rows, [place for place, name in enumerate(header) if name in ("paper", "")])


def by_group(estimate: Estimate, columns: Sequence[Column]) -> list[Column]:
    """Return the columns, preceded by the group if there are several."""
    if estimate.n_groups < 2:
        return list(columns)
    return [("group", lambda i: str(estimate.group[i])), *columns]


def group_line(group: IntArray, scored: BoolArray) -> list[str]:
    """Return the sentence on groups of papers that no review connects, if there are several.

    >>> group_line(np.array([1, 1, 2]), np.ones(3, np.bool_))
    ['Papers of different groups cannot be compared: no review connects the 2 groups; the largest has 2 of 3 papers.
    Ranks are within a group.']
    """
    sizes = np.bincount(group[scored], minlength=1)
    if (groups := int(np.count_nonzero(sizes))) < 2:
        return []
    return [
        f"Papers of different groups cannot be compared: no review connects the {groups:,} groups; the largest has "
        f"{int(sizes.max()):,} of {int(scored.sum()):,} papers. Ranks are within a group."
    ]


def truncation(papers: int) -> list[str]:
    """Return the line below a table that does not show all papers.

    >>> truncation(SHOWN), truncation(SHOWN + 5)
    ([], ['... and 5 more; -o FILE writes all of them, --json prints them.'])
    """
    return [f"... and {papers - SHOWN} more; -o FILE writes all of them, --json prints them."] if papers > SHOWN else []


def best_by_group(estimate: Estimate) -> IntArray:
    """Return the codes of the papers with a score, by group, the best first."""
    order = np.lexsort((estimate.rank, estimate.group))
    return order[estimate.rank[order] > 0]


def paper_name(estimate: Estimate, paper: int) -> str:
    """Return the label of a paper, given by code, with its title if it has one."""
    label = estimate.items[paper]
    title = estimate.reviews.titles.get(label, "")
    return f"{label} {title[:TITLE]}".strip() if title else str(label)


#: Number of papers whose ranks changed most that are named.
MOVED = 5
#: With fewer scores per reviewer than this, calibration may be worse than the plain average.
FEW_SCORES = 6


def warnings_of(calibration: Calibration) -> list[str]:
    """Return what the scores do not support."""
    reviews = calibration.reviews.only_scored()
    scored = np.isfinite(calibration.quality)
    warnings = []
    loads = reviews.loads[reviews.loads > 0]
    links = calibration.support.degrees_of_freedom
    # With few scores per reviewer, estimated slopes are mostly noise.
    reasons = []
    if np.median(loads) < FEW_SCORES:
        half = int(np.median(loads))
        reasons.append(f"half of the reviewers gave {'one score' if half == 1 else f'{half} scores or fewer'}")
    if links:
        missing_links = "1 link between reviewers is" if links == 1 else f"{links} links between reviewers are"
        reasons.append(f"{missing_links} missing (degrees of freedom)")
    if reasons:
        warnings.append(f"the plain average may be more accurate: {', and '.join(reasons)}.")
    warnings += [f"p{line[1:]}" for line in group_line(calibration.group, scored)]
    if open_places := int((~calibration.support.determined & scored).sum()):
        warnings.append(
            f"the scores do not determine the position of {counted(open_places, 'paper')} within "
            f"{'its' if open_places == 1 else 'their'} group, however good the fit (marked ?)."
        )
    if calibration.status is not CalibrationStatus.OPTIMAL:
        warnings.append(f"{calibration.status.text} ({calibration.message}).")
    if missing := int((~scored).sum()):
        warnings.append(f"{counted(missing, 'paper has no score and gets', 'papers have no score and get')} none here.")
    return warnings


def report(calibration: Calibration) -> list[str]:
    """Return the papers, and the largest changes of rank."""
    best = best_by_group(calibration)
    on_references = calibration.solution.scale.known
    groups = "" if on_references.all() else f" in group {listed(1 + np.flatnonzero(on_references))}"
    scale = f", on the scale of the references{groups}" if on_references.any() else ""
    errors = calibration.standard_error
    quality, average = (calibration.reviews.printed(values) for values in (calibration.quality, calibration.average))
    columns: list[Column] = [
        ("rank", lambda i: str(calibration.rank[i])),
        ("paper", lambda i: paper_name(calibration, i)),
        ("calibrated", lambda i: f"{quality[i]:.3f}"),
        ("+-", lambda i: f"{errors[i]:.3f}" if np.isfinite(errors[i]) else "-"),
        ("average", lambda i: f"{average[i]:.3f}"),
        ("its rank", lambda i: str(calibration.average_rank[i])),
        ("", lambda i: "" if calibration.support.determined[i] else "?"),
    ]
    lines = [
        f"Calibrated scores of {counted(best.size, 'paper')} ({calibration.hypothesis} reviewers){scale}:",
        "",
        *table(by_group(calibration, columns), best[:SHOWN]),
        *truncation(best.size),
    ]
    # The rank of a paper among plain averages, and its calibrated rank.
    before = calibration.average_rank
    after = calibration.rank
    move = np.abs(after - before)
    order = np.argsort(-move, kind="stable")[:MOVED]
    moved = order[move[order] > 0].tolist()
    if moved:
        lines += ["", "Largest changes of rank, compared with the plain average:"]
    for paper in moved:
        direction = "up" if after[paper] < before[paper] else "down"
        lines.append(f"  {paper_name(calibration, paper)}: rank {before[paper]} -> {after[paper]} {direction}")
    return lines


def closing(calibration: Calibration) -> str:
    """Return whether the fit is unique, its objective and its status."""
    fit = "the only optimal fit" if calibration.unique else "one of several optimal fits, the closest to straight lines"
    return f"These scores are {fit} (objective {calibration.objective:.6g}, {calibration.status.value})."
