"""A calibration in words and tables, for people: to them items are papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lsc.calibration import Calibration, Status
from reviewgraph._base.arrays import FloatArray, IntArray
from reviewgraph._base.text import counted, listed, text_table
from reviewgraph.table.reviews import ReviewsLike, as_reviews

if TYPE_CHECKING:
    from lsc.calibration import Misfit
    from lsc.estimate import Estimate, ReferenceLine


# What a calibration says of each reviewer: harsh or lenient, and whether she compresses or stretches the scale.

#: Scores that lie this part of the standard deviation of quality above or below what is usual are worth a word.
NOTABLE_SEVERITY = 0.5
#: So is a scale this much steeper, or flatter, than the median reviewer's.
NOTABLE_STRETCH = 1.5


class Habits(NamedTuple):
    """One entry a reviewer, shapes (M,).

    ``leniency`` is how far her scores lie above the qualities of her papers on the reported scale, on average over
    her papers and in units of the standard deviation of quality; ``stretch`` the slope of her scoring function over
    that of the median reviewer. NaN where her scores say nothing.
    """

    leniency: FloatArray
    stretch: FloatArray

    def words(self, reviewer: int) -> list[str]:
        """Name what is notable of a reviewer, given by code."""
        lenient, stretch = self.leniency[reviewer], self.stretch[reviewer]
        found = []
        if lenient >= NOTABLE_SEVERITY:
            found.append("lenient")
        if lenient <= -NOTABLE_SEVERITY:
            found.append("harsh")
        if stretch >= NOTABLE_STRETCH:
            found.append("stretches the scale")
        if stretch <= 1.0 / NOTABLE_STRETCH:
            found.append("compresses the scale")
        return found


def habits(reviews: ReviewsLike, quality: FloatArray, noise: FloatArray) -> Habits:
    """Return the habits of all reviewers; the slope is that of the best line through her scores.

    Parameters
    ----------
    quality
        Shape (N,), NaN without a score.
    noise
        Shape (E,): what a reviewer perceived less the quality, NaN where planned.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc import calibrate
    >>> rows = [("ann", p, float(p)) for p in range(5)] + [("bob", p, 1.0 + p) for p in range(5)]
    >>> result = calibrate(Reviews.from_pairs(rows), solver="cvxpy")
    >>> found = habits(result.reviews, result.quality, result.noise)
    >>> found.words(0), found.words(1), found.stretch.round(6).tolist()
    ([], [], [1.0, 1.0])
    """
    reviews = as_reviews(reviews)
    rows = np.flatnonzero(reviews.scored)
    reviewer, size = reviews.reviewer[rows], reviews.n_reviewers
    placed = quality[reviews.item[rows]]
    perceived, score = placed + noise[rows], reviews.score[rows]
    count = np.bincount(reviewer, minlength=size).astype(np.float64)
    count[count == 0] = np.nan

    def mean(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(reviewer, value, size) / count)

    spread = float(np.std(quality[np.isfinite(quality)])) or 1.0
    leniency = mean(score - placed) / spread
    off_quality, off_score = perceived - mean(perceived)[reviewer], score - mean(score)[reviewer]
    across = np.bincount(reviewer, off_quality**2, size)
    slope = np.divide(
        np.bincount(reviewer, off_quality * off_score, size), across, out=np.full(size, np.nan), where=across > 0
    )
    slope[slope <= 0] = np.nan  # constant scores
    typical = float(np.nanmedian(slope)) if np.isfinite(slope).any() else 1.0
    return Habits(leniency, slope / typical)


# Words on papers of known quality.


def line_lines(result: Estimate, line: ReferenceLine, *, heard: bool = False) -> list[str]:
    """Say which line leads to the scale of references, and how well it fits.

    With ``heard``, the calibration has heard of the references, so that the fit says too much.
    """
    lines = [
        f"On the scale of {counted(line.references, 'reference')}: {line.intercept:.4g} + {line.slope:.4g} x "
        f"quality, a straight line drawn after the calibration; known values lie {line.error:.3g} off it (standard "
        "deviation). The qualities above stay on the scale of the scores; -o FILE and --json have both (scaled).",
    ]
    if heard:
        lines.append("The references had a say in the calibration, so they lie nearer to the line than other papers.")
    if int(result.group.max(initial=0)) > 1:
        lines.append("The line leads to papers of group 1 only: nothing says how other groups compare.")
    return lines


def measured_line(references: int) -> str:
    """Say how the posterior takes references."""
    one, many = "paper of known quality counts as a measurement", "papers of known quality count as measurements"
    count = counted(references, one, many)
    return f"{count} with an error, not as exact; qualities stay on the scale of the scores."


def misfit_line(misfit: Misfit) -> str:
    """Warn that references held to their values fight the scores."""
    costs = (
        f"{misfit.ratio:.0f} times the noise of a score" if misfit.ratio < float("inf") else "noise where there is none"
    )
    return (
        f"the references fight the scores: each that is held to its value costs {costs}. Check the file; --method "
        "posterior takes them as measurements, --on-scale-of draws a line afterwards."
    )


# Tables of papers for people: aligned columns, names with titles, the best first.

#: A heading, and the cell of a paper given by code.
Column: TypeAlias = tuple[str, Callable[[int], str]]

#: Papers shown before the rest is summed up.
SHOWN = 20
#: Characters of a title that a table shows.
TITLE = 40


def table(columns: Sequence[Column], papers: IntArray) -> list[str]:
    """Return a table in columns, one line a paper: text to the left, numbers to the right.

    >>> table([("paper", lambda i: f"p{i}"), ("rank", lambda i: str(10 * i))], np.array([1, 2]))
    ['paper  rank', 'p1       10', 'p2       20']
    """
    header = [name for name, _ in columns]
    rows = [[cell(i) for _, cell in columns] for i in papers.tolist()]
    return text_table(header, rows, [place for place, name in enumerate(header) if name in ("paper", "")])


def by_group(estimate: Estimate, columns: Sequence[Column]) -> list[Column]:
    """Return the columns, the group before them where there are several."""
    if int(estimate.group.max(initial=0)) < 2:
        return list(columns)
    return [("group", lambda i: str(estimate.group[i])), *columns]


def summed_up(shown: int, all_of_them: int) -> list[str]:
    """Return the line that stands below a table which leaves papers out, if it does.

    >>> summed_up(20, 25)
    ['... and 5 more; -o FILE writes all of them, --json prints them.']
    """
    if all_of_them <= shown:
        return []
    return [f"... and {all_of_them - shown} more; -o FILE writes all of them, --json prints them."]


def best_by_group(estimate: Estimate) -> IntArray:
    """Return codes of papers by group, the best first, those without a score left out."""
    order = np.lexsort((estimate.rank, estimate.group))
    return order[estimate.rank[order] > 0]


def paper_name(estimate: Estimate, paper: int) -> str:
    """Return the label of a paper given by code, with its title where it is known."""
    label = estimate.items[paper]
    title = estimate.reviews.titles.get(label, "")
    return f"{label} {title[:TITLE]}".strip() if title else str(label)


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
