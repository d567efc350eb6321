"""What calibration is measured against: the average, what products ship, and the methods of earlier papers.

Every method takes reviews and returns an :class:`~lsc.estimate.Estimate`; reviews without a score do not count.
The Bayesian model stands in :mod:`lsc.methods.bayesian`.
"""

from __future__ import annotations

import warnings

import numpy as np

from lsc.errors import SolverFailed
from lsc.estimate import Estimate, plain_averages
from reviewgraph.errors import InputError
from reviewgraph.reviews import FloatArray, Reviews

#: Bounds of the quadratic programme in the code of [Tan21]_: none of them stands in the programme of [Roos11]_.
QUALITY_BOUNDS = (0.0, 100.0)
LEAST_OFFSET = -10.0
#: Weight of a squared offset against a squared residual: one imaginary review that puts the reviewer at 0.
RIDGE = 1.0
#: Accuracy of the linear system for offsets, relative to its right-hand side.
ACCURACY = 1e-12


def average(reviews: Reviews) -> Estimate:
    """Return the plain average of each item's scores.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("bob", "p1", 3.0), ("bob", "p2", 4.0)])
    >>> average(reviews).quality.tolist()
    [2.0, 4.0]
    """
    return Estimate(reviews, plain_averages(reviews), "average")


def centring(reviews: Reviews) -> Estimate:
    """Average what each score lies above the mean of its reviewer; the mean of all scores is added again.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> centring(reviews).quality.tolist()
    [4.0, 5.5, 5.0]
    """
    scored = reviews.only_scored()
    mean, _ = _mean_and_deviation(scored)
    return _of_scores(reviews, scored, scored.score - mean[scored.reviewer] + _grand_mean(scored), "centring")


def z_score(reviews: Reviews) -> Estimate:
    """Average what each score lies above the mean of its reviewer in units of her standard deviation.

    A reviewer with one score, or with equal scores, has no standard deviation; each of her scores counts as 0. The
    result is brought back to the mean and standard deviation of all scores.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> z_score(reviews).ranking()
    ['p2', 'p3', 'p1']
    """
    scored = reviews.only_scored()
    mean, deviation = _mean_and_deviation(scored)
    off = scored.score - mean[scored.reviewer]
    spread = deviation[scored.reviewer]
    z = np.divide(off, spread, out=np.zeros_like(off), where=spread > 0)
    scale = float(scored.score.std()) if scored.n_reviews else 0.0
    return _of_scores(reviews, scored, z * scale + _grand_mean(scored), "z-score")


def ridge_offsets(reviews: Reviews, ridge: float = RIDGE) -> Estimate:
    """Estimate one shrunken offset a reviewer [PlattBurges12]_.

    ::

        minimise  sum_ij (y_ij - x_i - b_j)^2 + ridge * sum_j b_j^2

    Parameters
    ----------
    ridge
        Weight of the offsets, at least 0 (1: as if each reviewer had given one more review, exactly at the mean). At
        0 offsets are free; of the offsets that fit equally well the smallest are taken.

    Raises
    ------
    InputError
        If ``ridge`` is negative or not finite.

    Notes
    -----
    Eliminating x leaves a positive semidefinite system of M equations, solved by conjugate gradients: each step is one
    pass over the reviews.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> ridge_offsets(reviews, ridge=0.0).quality.round(6).tolist()
    [3.5, 5.5, 5.5]
    """
    from lsc.methods.additive import AdditiveModel

    if not 0 <= ridge < np.inf:
        message = f"ridge: expected a finite weight of at least 0, found {ridge}"
        raise InputError(message)
    scored = reviews.only_scored()
    model = AdditiveModel(scored, item_ratio=0.0, reviewer_ratio=ridge)
    centred = scored.score - _grand_mean(scored)
    offset = model.reviewer_effects(centred[:, None], ACCURACY)[:, 0]
    return _of_scores(reviews, scored, scored.score - offset[scored.reviewer], "ridge")


def quadratic_programme(reviews: Reviews, *, bounded: bool = False) -> Estimate:
    """Estimate a scale and an offset a reviewer by the quadratic programme of [Roos11]_.

    ::

        minimise    sum_ij (p_j y_ij - q_j - x_i)^2
        subject to  p_j >= 0,  sum_j p_j = M
        (bounded)   0 <= x_i <= 100,  q_j >= -10

    Parameters
    ----------
    bounded
        Add the bounds that the code of [Tan21]_ has and its text has not (by default not). Without them noiseless
        linear scores are fitted exactly; they explain the 97.1 % of the paper's Table 1.

    Raises
    ------
    SolverFailed
        If the solver ends without a solution.

    Notes
    -----
    Solved by an interior point method, whose factors fill in: at N = M = 1000, k = 5 about a second, and no method for
    tens of thousands of items.

    Examples
    --------
    >>> rows = [("ann", p, float(p)) for p in range(4)] + [("bob", p, 3.0 * p + 1.0) for p in range(4)]
    >>> found = quadratic_programme(Reviews.from_pairs(rows)).quality
    >>> (np.diff(found) / np.diff(found).mean()).round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    scored = reviews.only_scored()
    average = plain_averages(reviews)
    if not scored.n_reviews:
        return Estimate(reviews, average, "qp")
    found = _solve_quadratic_programme(scored, bounded)
    return Estimate(reviews, np.where(np.isfinite(average), found, np.nan), "qp")


def _solve_quadratic_programme(scored: Reviews, bounded: bool) -> FloatArray:
    """Return x, shape (N,); the residuals are eliminated, so the solver factorises 2 M + N unknowns."""
    import cvxpy as cp
    from scipy import sparse

    row, one = np.arange(scored.n_reviews), np.ones(scored.n_reviews)
    n_reviewers, n_items = scored.n_reviewers, scored.n_items
    design = sparse.hstack(
        [
            sparse.csr_array((scored.score, (row, scored.reviewer)), (row.size, n_reviewers)),
            sparse.csr_array((-one, (row, scored.reviewer)), (row.size, n_reviewers)),
            sparse.csr_array((-one, (row, scored.item)), (row.size, n_items)),
        ]
    )
    unknown = cp.Variable(2 * n_reviewers + n_items)
    scale, offset, quality = cp.vec(unknown[:n_reviewers], "C"), unknown[n_reviewers:-n_items], unknown[-n_items:]
    constraints = [scale >= 0, cp.sum(scale) == n_reviewers]
    if bounded:
        constraints += [quality >= QUALITY_BOUNDS[0], quality <= QUALITY_BOUNDS[1], offset >= LEAST_OFFSET]
    squares = sparse.csc_array(design.T @ design)
    problem = cp.Problem(cp.Minimize(cp.quad_form(unknown, cp.psd_wrap(squares))), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # reduced accuracy: near 1e-5, and only the order matters
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        message = f"quadratic programme: the solver ended without a solution ({error})"
        raise SolverFailed(message) from error
    if quality.value is None:
        message = f"quadratic programme: the solver ended without a solution ({problem.status})"
        raise SolverFailed(message)
    return np.asarray(quality.value)


def _of_scores(reviews: Reviews, scored: Reviews, corrected: FloatArray, method: str) -> Estimate:
    """Average corrected scores, shape (E',), by item."""
    count = np.bincount(scored.item, minlength=reviews.n_items)
    total = np.bincount(scored.item, corrected, reviews.n_items)
    quality = np.divide(total, count, out=np.full(reviews.n_items, np.nan), where=count > 0)
    return Estimate(reviews, quality, method)


def _mean_and_deviation(scored: Reviews) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (divisor k - 1; 0 below two scores) of each reviewer's scores, shapes (M,)."""
    size, count = scored.n_reviewers, scored.loads
    mean = np.bincount(scored.reviewer, scored.score, size) / np.maximum(count, 1)
    squares = np.bincount(scored.reviewer, (scored.score - mean[scored.reviewer]) ** 2, size)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    # Rounding leaves equal scores a deviation near 1e-16 of their size; none that means anything is so small.
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def _grand_mean(scored: Reviews) -> float:
    return float(scored.score.mean()) if scored.n_reviews else 0.0
