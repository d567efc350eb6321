"""The quadratic programme of [Roos11]_: a scale and an offset a reviewer, in units that suit a general solver."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from lsc.errors import SolverFailed
from lsc.estimate import Estimate, plain_averages
from lsc.evidence.support import groups_of
from lsc.methods.baselines import mean_and_deviation
from reviewgraph.errors import InputError
from reviewgraph.framed import ReviewsLike, as_reviews
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray, Reviews

#: Bounds of the programme in the code of [Tan21]_: none of them stands in the programme of [Roos11]_.
QUALITY_BOUNDS = (0.0, 100.0)
LEAST_OFFSET = -10.0
#: Beside scores of this size the bounds are still seen: the solver begins to fail at a hundred times it.
LARGEST = 1e6


class Scaled(NamedTuple):
    """Scores in units of the largest distance from a reviewer's mean.

    ``score`` (E',) less the reviewer's mean; ``mean`` (M,) of reviewers; ``alike`` (M,), whether a reviewer's scores
    are all the same, or none; ``unit``, in points of the scores.
    """

    score: FloatArray
    mean: FloatArray
    alike: BoolArray
    unit: float


def quadratic_programme(reviews: ReviewsLike, *, bounded: bool = False) -> Estimate:
    """Estimate a scale and an offset a reviewer by the quadratic programme of [Roos11]_.

    ::

        minimise    sum_ij (p_j y_ij - q_j - x_i)^2
        subject to  p_j >= 0,  sum_j p_j = M
        (bounded)   0 <= x_i <= 100,  q_j >= -10

    A reviewer whose scores are all alike has ``p_j = 1``, and within each group that no review connects with the rest
    the sum is its number of reviewers: otherwise such a reviewer, or a group with hardly any noise, would take the
    whole scale at no cost. Without bounds x may be shifted; each group is given the mean of its plain averages.

    Parameters
    ----------
    bounded
        Add the bounds that the code of [Tan21]_ has and its text has not (by default not), for scores of about 0 to 10.
        Without them noiseless linear scores are fitted exactly; they explain the 97.1 % of the paper's Table 1.

    Raises
    ------
    InputError
        If ``bounded`` and a score is more than a million points away from 0.
    SolverFailed
        If the solver ends without a solution.

    Notes
    -----
    Solved by an interior point method, whose factors fill in: at N = M = 1000, k = 5 about a second, and no method for
    tens of thousands of items. A reviewer who shares at most one item with the others still takes the whole scale of
    her group, at no cost: the qualities of items that she has not reviewed are then the same up to rounding.

    Examples
    --------
    >>> rows = [("ann", p, float(p)) for p in range(4)] + [("bob", p, 3.0 * p + 1.0) for p in range(4)]
    >>> found = quadratic_programme(Reviews.from_pairs(rows)).quality
    >>> (np.diff(found) / np.diff(found).mean()).round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    average = plain_averages(reviews)
    if not scored.n_reviews:
        return Estimate(reviews, average, "qp")
    group, scaled = groups_of(scored), in_units(scored)
    if bounded:
        _check_size(scored)
    found = scaled.unit * _solve(scored, scaled, group, bounded)
    quality = np.clip(found, *QUALITY_BOUNDS) if bounded else _onto_averages(found, average, group)
    return Estimate(reviews, np.where(np.isfinite(average), quality, np.nan), "qp")


def in_units(scored: Reviews) -> Scaled:
    """Return the scores less the mean of their reviewer, in units in which the largest is 1.

    >>> in_units(Reviews.from_pairs([("ann", 1, 2e8), ("ann", 2, 4e8), ("bob", 2, 5.0)])).score.tolist()
    [-1.0, 1.0, 0.0]
    """
    # Squares of scores beyond 1e154 would overflow, those below 1e-154 vanish.
    largest = float(np.abs(scored.score).max()) or 1.0
    score = scored.score / largest
    mean, deviation = mean_and_deviation(scored, score)
    alike = deviation == 0
    off = np.where(alike[scored.reviewer], 0.0, score - mean[scored.reviewer])
    width = float(np.abs(off).max()) or 1.0
    return Scaled(off / width, mean / width, alike, largest * width)


def _check_size(scored: Reviews) -> None:
    """Refuse scores beside which the bounds vanish in double precision."""
    largest = float(np.abs(scored.score).max())
    if largest > LARGEST:
        message = (
            f"bounded: expected scores of about 0 to 10, at most {LARGEST:g} away from 0, found {largest:g}; "
            "rescale them, or leave the bounds out"
        )
        raise InputError(message)


def _onto_averages(quality: FloatArray, average: FloatArray, group: IntArray) -> FloatArray:
    """Shift the qualities of each group to the mean of its plain averages."""
    place, known = group - 1, np.isfinite(average)
    count = np.maximum(np.bincount(place[known], minlength=group.max()), 1)
    shift = np.bincount(place[known], (average - quality)[known], group.max()) / count
    return np.asarray(quality + shift[place])


def _solve(scored: Reviews, scaled: Scaled, group: IntArray, bounded: bool) -> FloatArray:
    """Return x in these units, shape (N,); the residuals are eliminated, so the solver factorises 2 M + N unknowns."""
    import cvxpy as cp

    n_reviewers, n_items = scored.n_reviewers, scored.n_items
    unknown = cp.Variable(2 * n_reviewers + n_items)
    # Of scores less their reviewer's mean m the offset is q - p m, which far away or unlike scores leave moderate.
    scale, centred, quality = cp.vec(unknown[:n_reviewers], "C"), unknown[n_reviewers:-n_items], unknown[-n_items:]
    varied = np.flatnonzero(~scaled.alike)
    constraints = [scale >= 0]
    if varied.size:
        home = _membership(scored, group, varied)
        constraints.append(home @ scale == home.sum(axis=1))
    if scaled.alike.any():
        constraints.append(scale[np.flatnonzero(scaled.alike)] == 1)
    if bounded:
        low, high = np.array(QUALITY_BOUNDS) / scaled.unit
        offset = centred + cp.multiply(scaled.mean, scale)
        constraints += [quality >= low, quality <= high, offset >= LEAST_OFFSET / scaled.unit]
    design = _design(scored, scaled.score)
    squares = cp.quad_form(unknown, cp.psd_wrap(design.T @ design))
    _run(cp.Problem(cp.Minimize(squares), constraints))
    return np.asarray(quality.value)


def _design(scored: Reviews, score: FloatArray) -> Any:
    """Return the sparse matrix (E', 2 M + N) that takes scales, offsets and qualities to residuals."""
    from scipy import sparse

    row, one = np.arange(score.size), np.ones(score.size)

    def block(value: FloatArray, place: IntArray, size: int) -> Any:
        return sparse.csr_array((value, (row, place)), (row.size, size))

    scale = block(score, scored.reviewer, scored.n_reviewers)
    offset = block(-one, scored.reviewer, scored.n_reviewers)
    return sparse.csc_array(sparse.hstack([scale, offset, block(-one, scored.item, scored.n_items)]))


def _membership(scored: Reviews, group: IntArray, reviewers: IntArray) -> Any:
    """Return the sparse matrix (groups of these reviewers, M) of ones where a reviewer is of a group."""
    from scipy import sparse

    first = scored.item[scored.reviewer_start[reviewers]]
    groups, place = np.unique(group[first], return_inverse=True)
    return sparse.csr_array((np.ones(reviewers.size), (place, reviewers)), (groups.size, scored.n_reviewers))


def _run(problem: Any) -> None:
    """Solve a problem of CVXPY, or say that there is no solution."""
    import cvxpy as cp

    status = "the solver failed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # reduced accuracy: near 1e-5, and only the order matters
            problem.solve(solver=cp.CLARABEL)
        status = problem.status
    except cp.error.SolverError:
        pass
    if any(variable.value is None for variable in problem.variables()):
        message = (
            f"quadratic programme: expected a solution, found none ({status}); scores may be too "
            "unlike in size: rescale those of each reviewer, or take another method"
        )
        raise SolverFailed(message)
