"""Least Square Calibration: qualities from scores, and how far the data determine them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lsc._model.formulation import Minimiser, Programme, References, formulate
from lsc._model.hypotheses import LINEAR, Hypothesis, HypothesisLike, Shape, classes, hypothesis_of, level_of
from lsc._solver import choosing, newton
from lsc._solver.newton import minimise_parts
from lsc.estimate import Estimate, averages, expect_scores, plain_averages
from lsc.evidence.optimality import Residuals, ScoringFunction, residuals
from lsc.evidence.support import (
    ReportingScale,
    Support,
    groups_of,
    is_noiseless,
    is_unique,
    moments,
    reporting_scale,
    scale,
    support_of,
)
from lsc.parted import AT_ONCE, InParts, scored_groups, totals_of
from reviewgraph._base import (
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    Label,
    Progress,
    Status,
    checked,
    counted,
)
from reviewgraph.parts import Part, PartedReviews, Vectors, only_scored
from reviewgraph.table import ReviewsLike, as_reviews

#: Below this part of the spread of qualities noise may be zero, and qualities exact: they are solved for to double
#: precision, since a graph amplifies the remaining gradient by its condition.
NEARLY = 1e-5
SHARP = 1e-14
#: Number of scores up to which the choice among several best fits is exact, in a fifth of a second: it factorises.
CHOSEN = 1000
#: Maximum ratio of the range of all scores to the ranges of reviewers, but for this share with the smallest.
WIDEST = 1e6
TAIL = 0.05
#: Perceived qualities closer than this part of their range are equal: solvers are exact to 1e-12 and better.
ROUNDING = 1e-9


class CalibrationStatus(Status):
    """The status of a calibration; ``text`` explains it and what to do.

    Examples
    --------
    >>> CalibrationStatus.OPTIMAL.text
    'solved to the accuracy asked for'
    """

    OPTIMAL = "optimal", "solved to the accuracy asked for"
    INACCURATE = (
        "inaccurate",
        "the solver stopped before the accuracy asked for; the residuals say how far from the optimum. "
        "Give it more iterations",
    )


class Solution(NamedTuple):
    """The solution of the programme, in its own units.

    ``row`` (E',) is the row of the table of each review of the programme; ``scale`` maps the qualities of each group to
    the reported scale.
    """

    programme: Programme
    row: IntArray
    quality: FloatArray
    perceived: FloatArray
    group: IntArray
    scale: ReportingScale


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Estimate):
    """Qualities by Least Square Calibration, and how far the data determine them.

    ``quality`` is on the reported scale: that of the references if a group has two or more; otherwise each group has
    the mean and standard deviation of its plain averages. Expensive attributes are computed on first access.

    Parameters
    ----------
    hypothesis
        Name of the hypothesis class, or ``"mixed"``.
    objective
        The minimum of the sum of squared noise, in the units of the programme as written, before qualities move to the
        reported scale.
    status
        ``optimal`` or ``inaccurate``; ``status.text`` explains.
    message
        Message of the solver.
    iterations
        Number of iterations of the solver.
    solution
        The programme and its solution, in its own units.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> calibrate(Reviews([("ann", 1, 2.0), ("ann", 2, 4.0), ("bob", 1, 1.0), ("bob", 2, 2.0)])).unique
    True
    """

    hypothesis: str
    objective: float
    status: CalibrationStatus
    message: str
    iterations: int
    solution: Solution = field(repr=False)

    def headline(self) -> str:
        """Return class, status, objective and sizes."""
        reviews = self.reviews
        groups = int(self.group[np.isfinite(self.quality)].max(initial=0))
        return (
            f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; {counted(reviews.n_items, 'item')}, "
            f"{counted(reviews.n_reviewers, 'reviewer')}, {counted(int(reviews.scored.sum()), 'score')}, "
            f"{counted(groups, 'group')}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of every estimate, and ``hypothesis``, ``objective`` and ``unique``."""
        of_calibration = {"status": self.status.value, "hypothesis": self.hypothesis, "objective": self.objective}
        return {**super().to_dict(), **of_calibration, "unique": self.unique}

    @property
    def kinds(self) -> tuple[type[Hypothesis], ...]:
        """The hypothesis classes of the reviewers with a score, each once, in the order of the list."""
        programme = self.solution.programme
        present = np.unique(programme.kind[np.diff(programme.start) > 0])
        return tuple(classes()[code] for code in present.tolist())

    @property
    def group(self) -> IntArray:
        """Shape (N,): the connected component of each item, from 1 for the largest; scores compare within one only."""
        return self.solution.group

    @cached_property
    def noise(self) -> FloatArray:
        """Noise of each review on the reported scale, shape (E,), NaN where planned.

        ``scoring_function(reviewer)(quality + noise)`` is the score.
        """
        programme, row, quality, perceived, group, scale = self.solution
        noise = np.full(self.reviews.n_reviews, np.nan)
        noise[row] = scale.slope[group[programme.item] - 1] * (perceived - quality[programme.item])
        return noise

    @checked
    def scoring_function(self, reviewer: Label) -> ScoringFunction:
        """Return the fitted scoring function of a reviewer, given by label.

        Parameters
        ----------
        reviewer
            Label of the reviewer.

        Returns
        -------
        ScoringFunction
            From quality, on the reported scale, to score.

        Raises
        ------
        InputError
            If there is no such reviewer, or the reviewer has given no score.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> result = calibrate(Reviews([("ann", 1, 2.0), ("ann", 2, 4.0), ("bob", 1, 1.0), ("bob", 2, 2.0)]))
        >>> float(result.scoring_function("ann")(result.quality[0]).round(6))
        2.0
        """
        programme, row, *_ = self.solution
        code = self.reviews.reviewer_code.get(reviewer)
        if code is None:
            message = f"reviewer: expected one of the {self.reviews.n_reviewers} in the reviews, found {reviewer!r}"
            raise InputError(message)
        reviews_of = slice(programme.start[code], programme.start[code + 1])
        if reviews_of.start == reviews_of.stop:
            raise InputError(f"reviewer: expected one who has given a score, found {reviewer!r}")
        rows = row[reviews_of]
        perceived = self.quality[self.reviews.item[rows]] + self.noise[rows]
        return _fit_through(perceived, programme.score[reviews_of], linear=bool(programme.shape[code] == LINEAR))

    # How good the solution is

    @cached_property
    def residuals(self) -> Residuals:
        """Violations of the optimality conditions, relative to the spread of qualities, the gap per review.

        ``primal`` is the largest violation of a constraint, ``dual`` the largest gradient that no multiplier cancels,
        ``gap`` the sum of multiplier times slack.
        """
        programme, _, quality, perceived, *_ = self.solution
        unit = scale(programme, quality)
        absolute = residuals(programme, quality, perceived)
        return Residuals(
            primal=absolute.primal / unit,
            dual=absolute.dual / unit,
            gap=absolute.gap / (unit**2 * max(programme.item.size, 1)),
        )

    @checked
    def is_optimal(self, eps: float = 1e-8) -> bool:
        """Whether all :attr:`residuals` are at most ``eps``.

        Parameters
        ----------
        eps
            Largest residual, in units of the standard deviation of qualities.

        Returns
        -------
        bool
            Whether the certificate of optimality holds to this accuracy.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> rows = [("ann", 1, 2.0), ("ann", 2, 4.0), ("bob", 1, 1.0), ("bob", 2, 2.0)]
        >>> calibrate(Reviews(rows)).is_optimal()
        True
        """
        return max(self.residuals) <= eps

    @cached_property
    def unique(self) -> bool:
        """Whether the minimiser is unique up to one shift, and up to scale if there is no noise.

        This is a property of the programme; :attr:`group` and :attr:`undetermined` are properties of the reviews.
        """
        programme, _, quality, perceived, *_ = self.solution
        return is_unique(programme, quality, perceived)

    # What the reviews determine

    @cached_property
    def support(self) -> Support:
        """The blocks that the reviews connect; see :mod:`lsc.evidence.support`."""
        return support_of(self.reviews.only_scored(), self.group, level_of(self.kinds))

    @property
    def undetermined(self) -> list[Label]:
        """Items whose quality, relative to their group, the reviews do not determine, however good the fit."""
        return [self.items[i] for i in np.flatnonzero(~self.support.determined).tolist()]

    @cached_property
    def standard_error(self) -> FloatArray:
        """Standard errors on the reported scale, shape (N,), if all reviewers are linear, or all have offsets only.

        NaN for references; outside the largest block of the item's group; and with fewer than ten degrees of freedom.
        See :func:`lsc.evidence.support.standard_errors`.
        """
        from lsc.evidence.support import standard_errors

        programme, _, quality, perceived, group, scale = self.solution
        parameters = self.kinds[0].parameters if len(self.kinds) == 1 else None
        if parameters is None:
            return np.full(self.reviews.n_items, np.nan)
        errors = standard_errors(programme, quality, perceived, self.support, parameters)
        estimated = ~(scale.flat[group - 1] | programme.is_reference)
        return np.where(estimated, scale.slope[group - 1] * errors, np.nan)

    # Selections

    @checked
    def ranking(self, *, across_groups: bool = False) -> list[Label]:
        """Items that have a score, best first; raises Incomparable as :meth:`select` does.

        Parameters
        ----------
        across_groups
            Compare items of different groups by the plain averages of their groups.

        Returns
        -------
        list
            Labels, best first.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> rows = [("ann", 1, 2.0), ("ann", 2, 4.0), ("bob", 1, 1.0), ("bob", 2, 2.0)]
        >>> calibrate(Reviews(rows)).ranking()
        [2, 1]
        """
        return self.select(int(np.isfinite(self.quality).sum()), across_groups=across_groups)


@checked
def calibrate(
    reviews: ReviewsLike | PartedReviews,
    hypothesis: HypothesisLike = "linear",
    *,
    max_slope: float | None = None,
    references: References | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Calibration:
    """Estimate the qualities of items by Least Square Calibration (programme 2 of [Tan21]_).

    ::

        minimise    sum_ij eps_ij^2           over qualities x, noise eps and scoring functions f_j
        subject to  y_ij = f_j(x_i + eps_ij)  for every score y_ij,
                    f_j in the hypothesis class of reviewer j,  x_i = reference_i  for references i

    Among several minimisers the one closest to linear scoring functions is returned: the least sum of squared distances
    from a line for each reviewer, plus a millionth of that from one common line of the raw scores. This choice is
    exact up to 1,000 scores, and approximate beyond.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them; planned reviews are ignored.
    hypothesis
        The class of scoring functions: ``"linear"`` (default), ``"monotone"``, ``"convex"``, ``"concave"``,
        ``"offset"``, a :class:`~lsc._model.hypotheses.Hypothesis`, or a mapping from reviewers with a score to either.
    max_slope
        C, the maximum slope of a scoring function (10 by default), for hypotheses given by name; an error without one.
    references
        Known qualities by item label, in the direction of the scores; none by default.
    tolerance, max_iterations
        For the solver; its own defaults if not given.
    progress
        Called with the number of steps and the distance from the optimum.

    Returns
    -------
    Calibration
        Qualities, scoring functions, and certificates of optimality and uniqueness.

    Raises
    ------
    InputError
        If no review has a score, groups that no review connects have scores of different units, or an argument is not
        as described.

    Notes
    -----
    An iteration of the fast solver takes time linear in the number of scores.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [("ann", "p1", 2.0), ("ann", "p2", 4.0), ("ann", "p3", 6.0), ("bob", "p1", 5.0), ("bob", "p2", 6.0)]
    >>> result = calibrate(Reviews(rows))
    >>> result.ranking(), result.status.value, result.unique
    (['p3', 'p2', 'p1'], 'optimal', True)
    """
    if isinstance(reviews, PartedReviews):
        if references is not None or tolerance is not None or max_iterations is not None:
            message = "reviews: expected hypothesis, max_slope and progress alone for a table in parts, found more"
            raise InputError(message)
        return calibrate_parts(reviews, hypothesis, max_slope, progress)
    reviews = as_reviews(reviews)
    if tolerance is not None and not 0 <= tolerance <= 1:
        raise InputError(f"tolerance: expected a number from 0 to 1, found {tolerance!r}")
    programme, row = formulate(reviews, hypothesis, max_slope=max_slope, references=references)
    scored = reviews.only_scored()
    group = groups_of(scored)
    if group.max() > 1:
        _expect_one_unit(programme)
    best = _solve(programme, tolerance, max_iterations, progress)
    if programme.item.size <= CHOSEN and not is_unique(programme, best.quality, best.perceived):
        near = _sharper(programme, best, max_iterations) if tolerance is None else best
        best = choosing.nearest_to_lines(programme, near)
    # The programme does not determine the shift (and, without noise, the scale) of a group: the reported scale does.
    average = plain_averages(scored)
    _, spread = moments(scored.score, group[scored.item] - 1, int(group.max()))
    reported = reporting_scale(
        best.quality,
        average,
        spread,
        group,
        programme.is_reference,
        1.0 / programme.median_lower,
        _fixed_units(programme, group),
    )
    quality = np.where(np.isfinite(average), reported.apply(best.quality, group), np.nan)
    solution = Solution(programme, row, best.quality, best.perceived, group, reported)
    return Calibration(reviews, quality, "lsc", _name(hypothesis), *_outcome(best), solution)


def _outcome(best: Minimiser) -> tuple[float, CalibrationStatus, str, int]:
    """Return objective, status, message and iterations of a solver."""
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return best.objective, status, best.message, best.iterations


def _expect_one_unit(programme: Programme) -> None:
    """Refuse groups with scores of different units: the solution is accurate relative to the range of all scores."""
    start = programme.start
    some = np.flatnonzero(np.diff(start))
    width = programme.score[start[some + 1] - 1] - programme.score[start[some]]
    everything = float(np.ptp(programme.score))
    narrow = float(np.quantile(width[width > 0.0], TAIL)) if everything > 0.0 and width.any() else everything
    if everything > WIDEST * narrow:
        raise InputError(
            f"reviews: expected scores on one scale, found reviewers whose scores lie within {narrow:g}, and all lie "
            f"within {everything:g}, in groups that no review connects; calibrate these one by one"
        )


def _solve(
    programme: Programme,
    tolerance: float | None,
    max_iterations: int | None,
    progress: Callable[[Progress], object] | None,
) -> Minimiser:
    passed_options = {"tolerance": tolerance, "max_iterations": max_iterations, "progress": progress}
    options: dict[str, Any] = {name: value for name, value in passed_options.items() if value is not None}
    best = newton.minimise(programme, **options)
    # Without noise the qualities are exact: solve to the last digit.
    exact = is_noiseless(programme, best.quality, best.perceived, part=NEARLY)
    return _sharper(programme, best, max_iterations) if tolerance is None and exact else best


def _sharper(programme: Programme, best: Minimiser, max_iterations: int | None) -> Minimiser:
    """Return a solution to the last digit, if the solver converges to one from here."""
    limit = newton.MAX_ITERATIONS if max_iterations is None else max_iterations
    sharper = newton.minimise(programme, max_iterations=limit, tolerance=SHARP, start=best.quality)
    return sharper if best.converged and sharper.converged else best


def _name(hypothesis: HypothesisLike) -> str:
    if isinstance(hypothesis, str | Hypothesis):
        return hypothesis if isinstance(hypothesis, str) else hypothesis.name
    names = {kind if isinstance(kind, str) else kind.name for kind in hypothesis.values()}
    return names.pop() if len(names) == 1 else "mixed"


def _fixed_units(programme: Programme, group: IntArray) -> BoolArray:
    """Whether each group has the unit of the scores, fixed by every reviewer of two items or more."""
    fixes = (programme.lower == 1.0) & (programme.upper == 1.0)
    several = np.diff(programme.start) > 1
    home = group[programme.item[programme.start[:-1][several]]] - 1
    groups = int(group.max(initial=0))
    count = np.bincount(home, minlength=groups)
    return np.asarray((count > 0) & (np.bincount(home, fixes[several], groups) == count))


def _fit_through(perceived: FloatArray, score: FloatArray, *, linear: bool) -> ScoringFunction:
    """Return the scoring function through these points, shapes (K,), any order; ``linear`` if they lie on a line."""
    order = np.lexsort((perceived, score))
    perceived = perceived[order]
    score = score[order]
    apart = ROUNDING * max(float(np.ptp(perceived)), float(np.abs(perceived).max()) * ROUNDING)
    new = np.ones(score.size, np.bool_)
    new[1:] = (np.diff(score) > 0) | (np.diff(perceived) > apart)  # equal points are one knot
    perceived = perceived[new]
    score = score[new]
    if not linear or score[0] == score[-1]:
        return ScoringFunction(perceived, score)
    slope = float((score[-1] - score[0]) / (perceived[-1] - perceived[0]))
    return ScoringFunction(perceived, score, slope, float(np.mean(score - slope * perceived)))


# Tables in parts.


@dataclass(frozen=True, eq=False, repr=False)
class PartedCalibration(InParts, Calibration):
    """Least Square Calibration of a table in parts."""

    kinds = noise = residuals = scoring_function = support = unique = is_optimal = AT_ONCE

    @property
    def standard_error(self) -> FloatArray:
        """Shape (N,): NaN, since errors take all reviews at once."""
        return np.full(self.reviews.n_items, np.nan)

    @property
    def undetermined(self) -> list[Any]:
        """None that are known: which items the reviews do not determine takes all of them at once."""
        return []

    def headline(self) -> str:
        """Return class, status, objective and sizes."""
        return f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; {self.reviews!r}"

    def to_dict(self, selection: Any = None) -> dict[str, Any]:
        """Return the keys of a calibration; ``items`` is None, since there may be too many."""
        record = super().to_dict(selection)
        return {**record, "hypothesis": self.hypothesis, "objective": self.objective}


def calibrate_parts(
    table: PartedReviews,
    hypothesis: HypothesisLike,
    max_slope: float | None,
    progress: Callable[[Progress], object] | None,
) -> PartedCalibration:
    """Calibrate a table in parts with reviewers who are lines: the qualities of :func:`lsc.calibrate`.

    A step of conjugate gradients is a pass. Memory: about 30 numbers per item and 6 per reviewer.
    """
    line = None if isinstance(hypothesis, Mapping) else hypothesis_of(hypothesis, max_slope=max_slope)
    if line is None or line.shape is not Shape.LINEAR:
        lines = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
        found = "a mapping" if line is None else repr(line.name)
        raise InputError(f"hypothesis: expected {lines} for a table in parts, found {found}")
    expect_scores(table.n_scored)
    lower = line.bounds[0]
    scored = table.parts.derive(only_scored)
    count, total = totals_of(scored)

    def squares_from(centre: FloatArray) -> FloatArray:
        """Return the sum of squared differences of the scores of each item from a centre of its own."""
        (squares,), _ = scored.map(_squares, (centre,))
        return squares

    mean = np.full(count.size, total.sum() / count.sum())
    deviation = float(np.sqrt(squares_from(mean).sum() / count.sum()))

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * deviation) or lower))

    best = minimise_parts(scored, table.n_reviewers, line, exact, sharp=SHARP, progress=progress)
    group, linked = scored_groups(scored)

    # The reported scale: mean and standard deviation of the scores of each group.
    groups = int(group.max())
    place = group - 1
    size = np.maximum(np.bincount(place, count, groups), 1.0)
    centre = np.bincount(place, total, groups) / size
    spread = np.sqrt(np.bincount(place, squares_from(centre[place]), groups) / size)
    average = averages(count, total)
    references = np.zeros(count.size, np.bool_)
    fixed = linked & line.fixes_unit
    scale = reporting_scale(best.quality, average, spread, group, references, 1.0 / lower, fixed)
    quality = np.where(count > 0, scale.apply(best.quality, group), np.nan)
    no_solution: Any = None
    return PartedCalibration(
        table, quality, "lsc", line.name, *_outcome(best), no_solution, average=average, group=group
    )


def _squares(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    [centre] = vectors
    return (np.bincount(part.item, (part.score - centre[part.item]) ** 2, centre.size),), None
