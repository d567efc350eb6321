"""A calibration in words and tables, for people: to them items are papers."""

from __future__ import annotations

import numpy as np

from lsc.calibration import Calibration, Status
from lsc.words.habits import Habits, habits
from lsc.words.references import misfit_line
from lsc.words.tables import SHOWN, Column, best_by_group, by_group, paper_name, table
from reviewgraph.labels import IntArray
from reviewgraph.words import counted, listed

#: Papers that moved most, and reviewers of a kind, that are named.
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
    # Where reviewers gave few scores, the scale learned of each is mostly noise.
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
            f"largest has {groups.max():,} of {scored.sum():,} papers. Ranks are within a group."
        )
    if open_places := int((~calibration.support.determined & scored).sum()):
        found.append(
            f"the scores do not determine where {_stand(open_places)} within {'its' if open_places == 1 else 'their'} "
            "group, however good the fit (marked ?)."
        )
    if calibration.status is not Status.OPTIMAL:
        found.append(f"{calibration.status.text} ({calibration.message}).")
    if calibration.misfit is not None and calibration.misfit.fights:
        found.append(misfit_line(calibration.misfit))
    if missing := int((~scored).sum()):
        found.append(f"{counted(missing, 'paper has no score and gets', 'papers have no score and get')} none here.")
    return found


def _stand(papers: int) -> str:
    return counted(papers, "paper stands", "papers stand")


def paper_table(calibration: Calibration, papers: IntArray) -> list[str]:
    """Return lines: rank, paper, calibrated score, standard error, plain average and its rank."""
    quality, average = (calibration.reviews.printed(values) for values in (calibration.quality, calibration.average))
    columns: list[Column] = [
        ("rank", lambda i: str(calibration.rank[i])),
        ("paper", lambda i: paper_name(calibration, i)),
        ("calibrated", lambda i: f"{quality[i]:.3f}"),
        ("+/-", lambda i: _number(calibration.standard_error[i])),
        ("average", lambda i: f"{average[i]:.3f}"),
        ("its rank", lambda i: str(calibration.average_rank[i])),
        ("", lambda i: "" if calibration.support.determined[i] else "?"),
    ]
    return table(by_group(calibration, columns), papers)


def report(calibration: Calibration) -> list[str]:
    """Return the lines that the command prints: the papers, what moved most and why, the reviewers behind it."""
    best = best_by_group(calibration)
    of = f"{counted(best.size, 'paper')} ({calibration.hypothesis} reviewers)"
    lines = [f"Calibrated scores of {of}{_scale(calibration)}:", ""]
    lines += paper_table(calibration, best[:SHOWN])
    if best.size > SHOWN:
        lines.append(f"... and {best.size - SHOWN} more; -o FILE writes all of them, --json prints them.")
    of_reviewers = habits(calibration.reviews, calibration.quality, calibration.noise)
    moved = most_moved(calibration)[:MOVED]
    if moved.size:
        lines += ["", "What moved most against the plain average, and why:"]
        lines += [f"  {paper_name(calibration, i)}: {_move(calibration, of_reviewers, i)}" for i in moved.tolist()]
    return lines + _reviewer_lines(calibration, of_reviewers)


def _scale(calibration: Calibration) -> str:
    """Name the scale where it is not that of the scores."""
    known = calibration.solution.scale.known
    if not known.any():
        return ""
    groups = "" if known.all() else f" in group {listed(1 + np.flatnonzero(known))}"
    return f", on the scale of the references{groups}"


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
    # A severity or slope fitted to a few noisy scores stands out by chance as well; this method has no interval for it.
    judged = int((loads >= 2).sum())
    lines = ["", f"Reviewers whose fitted lines stand out, of {judged} with two scores or more, by chance or not"]
    lines.append("(--method posterior has intervals and names those who are sure to differ):")
    for word, value in strength.items():
        if who := sorted(kinds.get(word, []), key=lambda j: -value[j]):
            names = ", ".join(str(reviews.reviewers[j]) for j in who[:MOVED])
            lines.append(f"  {word}: {len(who)}, most of all {names}")
    return lines


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "-"


def closing(calibration: Calibration) -> str:
    """Say what is known now."""
    known = "the only best fit" if calibration.unique else "one of several best fits, the one nearest to straight lines"
    return f"These scores are {known} (objective {calibration.objective:.6g}, {calibration.status.value})."
