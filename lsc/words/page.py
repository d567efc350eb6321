"""A calibration in words and tables, for people: to them items are papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lsc.calibration import Calibration
from lsc.words.habits import Habits, habits
from reviewgraph.labels import IntArray

#: Papers shown of each kind before the rest is summed up.
SHOWN = 20
MOVED = 5
#: With fewer scores a reviewer than this, calibration may do worse than the plain average.
FEW_SCORES = 6


def warnings_of(calibration: Calibration) -> list[str]:
    """Say, before any number, what the scores do not support."""
    reviews = calibration.reviews.only_scored()
    scored = np.isfinite(calibration.quality)
    found = []
    loads = reviews.loads[reviews.loads > 0]
    links = calibration.support.degrees_of_freedom
    reasons = []
    if np.median(loads) < FEW_SCORES:
        half = int(np.median(loads))
        reasons.append(f"half of the reviewers gave {'one score' if half == 1 else f'{half} scores or fewer'}")
    if links:
        missing_links = "1 link between reviewers is" if links == 1 else f"{links} links between reviewers are"
        reasons.append(f"{missing_links} missing (degrees of freedom)")
    if reasons:
        found.append(f"the plain average may be the better guide: {', and '.join(reasons)}.")
    groups = np.bincount(calibration.group[scored])
    if (groups > 0).sum() > 1:
        found.append(
            f"papers of different groups cannot be compared: no review connects the {(groups > 0).sum()} groups; the "
            f"largest has {groups.max()} of {scored.sum()} papers. Ranks are within a group."
        )
    if open_places := int((~calibration.support.determined & scored).sum()):
        found.append(
            f"the scores do not determine where {_stand(open_places)} within {'its' if open_places == 1 else 'their'} "
            "group, however good the fit (marked ?)."
        )
    if missing := int((~scored).sum()):
        papers = "1 paper has no score and gets" if missing == 1 else f"{missing} papers have no score and get"
        found.append(f"{papers} none here.")
    return found


def _stand(papers: int) -> str:
    return "1 paper stands" if papers == 1 else f"{papers} papers stand"


def paper_table(calibration: Calibration, papers: IntArray) -> list[str]:
    """Return lines: rank, paper, calibrated score, standard error, plain average and its rank."""
    quality, average = (calibration.reviews.printed(values) for values in (calibration.quality, calibration.average))
    several = int(calibration.group.max(initial=0)) > 1
    columns: list[tuple[str, Callable[[int], str]]] = [
        ("rank", lambda i: str(calibration.rank[i])),
        ("paper", lambda i: _name(calibration, i)),
        ("calibrated", lambda i: f"{quality[i]:.3f}"),
        ("average", lambda i: f"{average[i]:.3f}"),
        ("its rank", lambda i: str(calibration.average_rank[i])),
    ]
    columns.insert(3, ("+/-", lambda i: _number(calibration.standard_error[i])))
    columns.append(("", lambda i: "" if calibration.support.determined[i] else "?"))
    if several:
        columns.insert(0, ("group", lambda i: str(calibration.group[i])))
    return _aligned([name for name, _ in columns], [[cell(i) for _, cell in columns] for i in papers.tolist()])


def report(calibration: Calibration) -> list[str]:
    """Return the lines that the command prints: the papers, what moved most and why, the reviewers behind it."""
    best = _best(calibration)
    lines = [f"Calibrated scores of {best.size} papers ({calibration.hypothesis} reviewers):", ""]
    lines += paper_table(calibration, best[:SHOWN])
    if best.size > SHOWN:
        lines.append(f"... and {best.size - SHOWN} more; -o FILE writes all of them, --json prints them.")
    of_reviewers = habits(calibration.reviews, calibration.quality, calibration.noise)
    moved = most_moved(calibration)[:MOVED]
    if moved.size:
        lines += ["", "What moved most against the plain average, and why:"]
        lines += [f"  {_name(calibration, i)}: {_move(calibration, of_reviewers, i)}" for i in moved.tolist()]
    return lines + _reviewer_lines(calibration, of_reviewers)


def most_moved(calibration: Calibration) -> IntArray:
    """Return the papers whose rank differs from that of their plain average, the largest move first."""
    move = np.abs(calibration.rank - calibration.average_rank)
    order = np.argsort(-move, kind="stable")
    return np.asarray(order[move[order] > 0])


def _move(calibration: Calibration, of_reviewers: Habits, paper: int) -> str:
    before, after = int(calibration.average_rank[paper]), int(calibration.rank[paper])
    reviews = calibration.reviews.only_scored()
    names = []
    for reviewer in reviews.reviewers_of(paper).tolist():
        words = of_reviewers.words(reviewer)
        if words:
            names.append(f"{reviews.reviewers[reviewer]} ({', '.join(words)})")
    count = int(reviews.reviews_per_item[paper])
    its = "its one reviewer" if count == 1 else f"of its {count} reviewers"
    because = f"{its}: {'; '.join(names)}" if names else "its reviewers' other scores differ"
    return f"rank {before} -> {after} {'up' if after < before else 'down'}; {because}"


def _reviewer_lines(calibration: Calibration, of_reviewers: Habits) -> list[str]:
    reviews = calibration.reviews
    loads = reviews.only_scored().loads
    kinds: dict[str, list[int]] = {}
    for reviewer in np.flatnonzero(loads >= 2).tolist():
        for word in of_reviewers.words(reviewer):
            kinds.setdefault(word, []).append(reviewer)
    if not kinds:
        return []
    strength = {
        "harsh": -of_reviewers.leniency,
        "lenient": of_reviewers.leniency,
        "compresses the scale": -of_reviewers.stretch,
        "stretches the scale": of_reviewers.stretch,
    }
    lines = ["", f"Reviewers who stand out, of {int((loads >= 2).sum())} with two scores or more:"]
    for word, value in strength.items():
        if who := sorted(kinds.get(word, []), key=lambda j: -value[j]):
            names = ", ".join(str(reviews.reviewers[j]) for j in who[:MOVED])
            lines.append(f"  {word}: {len(who)}, most of all {names}")
    return lines


def _best(calibration: Calibration) -> IntArray:
    """Return papers by group, the best first, those without a score left out."""
    order = np.lexsort((calibration.rank, calibration.group))
    return order[calibration.rank[order] > 0]


def _name(calibration: Calibration, paper: int) -> str:
    label = calibration.items[paper]
    title = calibration.reviews.titles.get(label, "")
    return f"{label} {title[:40]}".strip() if title else str(label)


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "-"


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in columns: text to the left, numbers to the right."""
    width = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    text = [name in ("paper", "") for name in header]

    def line(cells: Sequence[str]) -> str:
        parts = zip(cells, width, text, strict=True)
        return "  ".join(cell.ljust(size) if left else cell.rjust(size) for cell, size, left in parts).rstrip()

    return [line(header), *map(line, rows)]
