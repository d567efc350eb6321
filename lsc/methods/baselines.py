"""What calibration is measured against: the average, what products ship, and the methods of earlier papers.

Every method takes reviews and returns an :class:`~lsc.estimate.Estimate`; reviews without a score do not count.
The Bayesian model stands in :mod:`lsc.methods.bayesian`, the quadratic programme in :mod:`lsc.methods.quadratic`.
"""

from __future__ import annotations

import numpy as np

from lsc.estimate import Estimate, plain_averages
from reviewgraph.errors import InputError
from reviewgraph.framed import ReviewsLike, as_reviews
from reviewgraph.reviews import FloatArray, Reviews

#: Weight of a squared offset against a squared residual: one imaginary review that puts the reviewer at 0.
RIDGE = 1.0
#: Accuracy of the linear system for offsets, relative to its right-hand side.
ACCURACY = 1e-12


def average(reviews: ReviewsLike) -> Estimate:
    """Return the plain average of each item's scores.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("bob", "p1", 3.0), ("bob", "p2", 4.0)])
    >>> average(reviews).quality.tolist()
    [2.0, 4.0]
    """
    reviews = as_reviews(reviews)
    return Estimate(reviews, plain_averages(reviews), "average")


def centring(reviews: ReviewsLike) -> Estimate:
    """Average what each score lies above the mean of its reviewer; the mean of all scores is added again.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> centring(reviews).quality.tolist()
    [4.0, 5.5, 5.0]
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    mean, _ = mean_and_deviation(scored, scored.score)
    return _of_scores(reviews, scored, scored.score - mean[scored.reviewer] + _grand_mean(scored), "centring")


def z_score(reviews: ReviewsLike) -> Estimate:
    """Average what each score lies above the mean of its reviewer in units of her standard deviation.

    A reviewer with one score, or with equal scores, has no standard deviation; each of her scores counts as 0. The
    result is brought back to the mean and standard deviation of all scores.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0), ("bob", "p2", 8.0), ("bob", "p3", 8.0)])
    >>> z_score(reviews).ranking()
    ['p2', 'p3', 'p1']
    """
    reviews = as_reviews(reviews)
    scored = reviews.only_scored()
    mean, deviation = mean_and_deviation(scored, scored.score)
    off = scored.score - mean[scored.reviewer]
    spread = deviation[scored.reviewer]
    z = np.divide(off, spread, out=np.zeros_like(off), where=spread > 0)
    scale = float(scored.score.std()) if scored.n_reviews else 0.0
    return _of_scores(reviews, scored, z * scale + _grand_mean(scored), "z-score")


def ridge_offsets(reviews: ReviewsLike, ridge: float = RIDGE) -> Estimate:
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
    reviews = as_reviews(reviews)
    from lsc.methods.additive import AdditiveModel

    if not 0 <= ridge < np.inf:
        message = f"ridge: expected a finite weight of at least 0, found {ridge}"
        raise InputError(message)
    scored = reviews.only_scored()
    model = AdditiveModel(scored, item_ratio=0.0, reviewer_ratio=ridge)
    centred = scored.score - _grand_mean(scored)
    offset = model.reviewer_effects(centred[:, None], ACCURACY)[:, 0]
    return _of_scores(reviews, scored, scored.score - offset[scored.reviewer], "ridge")


def _of_scores(reviews: Reviews, scored: Reviews, corrected: FloatArray, method: str) -> Estimate:
    """Average corrected scores, shape (E',), by item."""
    count = np.bincount(scored.item, minlength=reviews.n_items)
    total = np.bincount(scored.item, corrected, reviews.n_items)
    quality = np.divide(total, count, out=np.full(reviews.n_items, np.nan), where=count > 0)
    return Estimate(reviews, quality, method)


def mean_and_deviation(scored: Reviews, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (divisor k - 1; 0 below two) of ``score`` (E,) by reviewer, shapes (M,)."""
    size, count = scored.n_reviewers, scored.loads
    mean = np.bincount(scored.reviewer, score, size) / np.maximum(count, 1)
    squares = np.bincount(scored.reviewer, (score - mean[scored.reviewer]) ** 2, size)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    # Rounding leaves equal scores a deviation near 1e-16 of their size; none that means anything is so small.
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def _grand_mean(scored: Reviews) -> float:
    return float(scored.score.mean()) if scored.n_reviews else 0.0
