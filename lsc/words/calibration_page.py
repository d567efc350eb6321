"""The page of Least Square Calibration, the habits of its reviewers, and the tables of papers of all pages.

Pages call items papers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lsc.calibration import Calibration, CalibrationStatus
from reviewgraph._base import BoolArray, FloatArray, IntArray, counted, listed, order_of, reaches, text_table
from reviewgraph.table import ReviewsLike, as_reviews

if TYPE_CHECKING:
    from lsc.estimate import Estimate, ReferenceLine


# The habits of reviewers: harsh or lenient, and a compressed or stretched scale.

#: Leniency, in standard deviations of quality, from which a reviewer is called lenient or harsh.
NOTABLE_SEVERITY = 0.5
#: Ratio of slopes, to the median reviewer's, from which a scale is called stretched; compressed is the inverse.
NOTABLE_STRETCH = 1.5


class Habits(NamedTuple):
    """One entry per reviewer, shapes (M,), NaN if their scores do not determine it.

    ``leniency`` is the mean difference between their scores and the qualities of their papers on the reported scale,
    in standard deviations of quality; ``stretch`` the slope of their scoring function over the median slope.
    """

    leniency: FloatArray
    stretch: FloatArray

    def words(self, reviewer: int) -> list[str]:
        """Return the notable habits of a reviewer, given by code."""
        lenient = self.leniency[reviewer]
        stretch = self.stretch[reviewer]
        notable = {
            "lenient": reaches(lenient, NOTABLE_SEVERITY),
            "harsh": reaches(-lenient, NOTABLE_SEVERITY),
            "stretches the scale": reaches(stretch, NOTABLE_STRETCH),
            "compresses the scale": reaches(1.0 / NOTABLE_STRETCH, stretch),
        }
        return [word for word, holds in notable.items() if holds]


def habits(reviews: ReviewsLike, quality: FloatArray, noise: FloatArray) -> Habits:
    """Return the habits of all reviewers; slopes are those of least-squares lines through their scores.

    ``quality`` has shape (N,), NaN without a score; ``noise`` has shape (E,): perceived quality less quality, NaN
    for planned reviews.

    >>> from reviewgraph import Reviews
    >>> from lsc import calibrate
    >>> rows = [("ann", p, float(p)) for p in range(5)] + [("bob", p, 1.0 + p) for p in range(5)]
    >>> result = calibrate(Reviews.from_pairs(rows), solver="cvxpy")
    >>> of_reviewers = habits(result.reviews, result.quality, result.noise)
    >>> of_reviewers.words(0), of_reviewers.words(1), of_reviewers.stretch.round(6).tolist()
    ([], [], [1.0, 1.0])
    """
    reviews = as_reviews(reviews)
    rows = np.flatnonzero(reviews.scored)
    reviewer = reviews.reviewer[rows]
    size = reviews.n_reviewers
    placed = quality[reviews.item[rows]]
    perceived = placed + noise[rows]
    score = reviews.score[rows]
    count = np.bincount(reviewer, minlength=size).astype(np.float64)
    count[count == 0] = np.nan

    def mean(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(reviewer, value, size) / count)

    spread = float(np.std(quality[np.isfinite(quality)])) or 1.0
    leniency = mean(score - placed) / spread
    off_quality = perceived - mean(perceived)[reviewer]
    off_score = score - mean(score)[reviewer]
    across = np.bincount(reviewer, off_quality**2, size)
    slope = np.divide(
        np.bincount(reviewer, off_quality * off_score, size), across, out=np.full(size, np.nan), where=across > 0
    )
    slope[slope <= 0] = np.nan  # constant scores
    typical = float(np.nanmedian(slope)) if np.isfinite(slope).any() else 1.0
    return Habits(leniency, slope / typical)


# Papers of known quality.


def line_lines(result: Estimate, line: ReferenceLine, *, in_calibration: bool = False) -> list[str]:
    """Describe the line to the scale of references, and its residuals.

    With ``in_calibration`` the calibration used the same references, so that the residuals are too small.
    """
    lines = [
        f"On the scale of {counted(line.references, 'reference')}: {line.intercept:.4g} + {line.slope:.4g} x "
        "quality, a line fitted after the calibration; the residuals of the known values have a standard deviation "
        f"of {line.error:.3g}. The qualities above are on the scale of the scores; -o FILE and --json have both "
        "(scaled).",
    ]
    if in_calibration:
        lines.append("The calibration used the references, too, so their residuals are smaller than those of others.")
    if result.n_groups > 1:
        lines.append("The line applies to papers of group 1 only: no review connects the other groups to it.")
    return lines


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


#: Number of papers whose ranks changed most, and of reviewers of a kind, that are named.
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
    if calibration.misfit is not None and calibration.misfit.fights:
        ratio = calibration.misfit.ratio
        noise = f"{ratio:.0f} times the noise of a score" if ratio < float("inf") else "noise to exact scores"
        warnings.append(
            f"the references contradict the scores: each, as an equality, adds {noise}. Check the file; --method "
            "posterior treats them as measurements, --on-scale-of fits a line afterwards."
        )
    if missing := int((~scored).sum()):
        warnings.append(f"{counted(missing, 'paper has no score and gets', 'papers have no score and get')} none here.")
    return warnings


def report(calibration: Calibration) -> list[str]:
    """Return the papers, the largest changes of rank with reasons, and the reviewers behind them."""
    best = best_by_group(calibration)
    known = calibration.solution.scale.known
    groups = "" if known.all() else f" in group {listed(1 + np.flatnonzero(known))}"
    scale = f", on the scale of the references{groups}" if known.any() else ""
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
    of_reviewers = habits(calibration.reviews, calibration.quality, calibration.noise)
    move = np.abs(calibration.rank - calibration.average_rank)
    order = np.argsort(-move, kind="stable")[:MOVED]
    moved = order[move[order] > 0]
    if moved.size:
        lines += ["", "Largest changes of rank, compared with the plain average:"]
        lines += [f"  {paper_name(calibration, i)}: {_move(calibration, of_reviewers, i)}" for i in moved.tolist()]
    return lines + _reviewer_lines(calibration, of_reviewers)


def _move(calibration: Calibration, of_reviewers: Habits, paper: int) -> str:
    before = int(calibration.average_rank[paper])
    after = int(calibration.rank[paper])
    reviews = calibration.reviews.only_scored()
    habits_of = {reviewer: of_reviewers.words(reviewer) for reviewer in reviews.reviewers_of(paper).tolist()}
    names = [f"{reviews.reviewers[j]} ({', '.join(words)})" for j, words in habits_of.items() if words]
    count = int(reviews.reviews_per_item[paper])
    its = "its one reviewer" if count == 1 else f"of its {count} reviewers"
    because = f"{its}: {'; '.join(names)}" if names else "its reviewers' other scores differ"
    return f"rank {before} -> {after} {'up' if after < before else 'down'}; {because}"


def _reviewer_lines(calibration: Calibration, of_reviewers: Habits) -> list[str]:
    reviews = calibration.reviews
    judged = np.flatnonzero(reviews.only_scored().loads >= 2).tolist()
    words = {reviewer: of_reviewers.words(reviewer) for reviewer in judged}
    if not any(words.values()):
        return []
    strength = {
        "harsh": -of_reviewers.leniency,
        "lenient": of_reviewers.leniency,
        "compresses the scale": -of_reviewers.stretch,
        "stretches the scale": of_reviewers.stretch,
    }
    # A severity or slope fitted to a few noisy scores may be extreme by chance; this method has no interval for it.
    lines = [
        "",
        f"Reviewers with extreme fitted lines, of {len(judged)} with two scores or more; some are extreme by chance "
        "(--method posterior has intervals):",
    ]
    for word, value in strength.items():
        who = np.array([j for j in judged if word in words[j]], np.int64)
        if who.size:
            names = ", ".join(str(reviews.reviewers[j]) for j in who[order_of(-value[who])][:MOVED].tolist())
            lines.append(f"  {word}: {who.size}, most of all {names}")
    return lines


def closing(calibration: Calibration) -> str:
    """Return whether the fit is unique, its objective and its status."""
    fit = "the only optimal fit" if calibration.unique else "one of several optimal fits, the closest to straight lines"
    return f"These scores are {fit} (objective {calibration.objective:.6g}, {calibration.status.value})."
