"""What further reviews of a paper are expected to do, before their scores are known: arrays in, arrays out.

A paper is N(m, s^2). Reviews of precision p (the sum of their inverse error variances) move its mean by
N(0, s^2 - v), where ``v = 1 / (1 / s^2 + p)`` is the variance left. Everything follows from these two lines.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.arrays import FloatArray

#: Numbers nearer to 0, or correlations nearer to 1, are taken to be so near: nothing of it is seen at twelve digits.
TRIFLE = 1e-12


def variance_left(sd: FloatArray, precision: FloatArray) -> FloatArray:
    """Return the variance of papers after more reviews.

    Parameters
    ----------
    sd
        Standard errors, above 0.
    precision
        Sum of the inverse error variances of the reviews to come, 0 or more; same shape.

    Examples
    --------
    >>> variance_left(np.array([1.0, 1.0]), np.array([0.0, 1.0])).tolist()
    [1.0, 0.5]
    """
    return 1.0 / (1.0 / sd**2 + precision)


def misplaced(distance: FloatArray, sd: FloatArray, precision: FloatArray, price: float) -> FloatArray:
    """Return what a paper is expected to add to wrong selections after more reviews.

    ``(1 - q) P(x > t, out) + q P(x < t, in)``: t is the quality above which n papers are expected, and a paper is in
    when its chance of lying above t is at least the price q, that of the last paper selected. Papers selected are
    fewer than chances of one half or more, or more, since means are drawn to the middle; with the price the sum
    over all papers is the expected number of wrong ones among the n of largest chance, now and later.

    Quality and future mean are jointly normal with correlation ``sqrt(1 - v / s^2)``; their joint chance is Owen's.

    Parameters
    ----------
    distance
        Posterior mean less t.
    sd, precision
        As in :func:`variance_left`; same shape.
    price
        q, above 0 and below 1.

    References
    ----------
    Owen (1956), Tables for computing bivariate normal probabilities, equation 2.1.

    Examples
    --------
    >>> misplaced(np.zeros(2), np.ones(2), np.array([0.0, 1.0]), 0.5).round(3).tolist()
    [0.25, 0.125]
    """
    from scipy.special import ndtr, ndtri

    above = distance / sd
    left = variance_left(sd, precision)
    share = np.clip(1.0 - left / sd**2, TRIFLE, 1.0 - TRIFLE)
    moved = (distance - np.sqrt(left) * ndtri(price)) / (sd * np.sqrt(share))
    right = both_above(above, moved, np.sqrt(share))
    later = (1.0 - price) * ndtr(above) + price * ndtr(moved) - right
    now = np.minimum((1.0 - price) * ndtr(above), price * ndtr(-above))
    return np.asarray(np.where(precision > 0.0, np.clip(later, 0.0, now), now))


def both_above(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    """Return P(a < first, b < second) of two standard normal numbers of a correlation strictly between 0 and 1.

    Examples
    --------
    >>> both_above(np.zeros(1), np.zeros(1), np.array([0.5])).round(6).tolist()
    [0.333333]
    """
    from scipy.special import ndtr, owens_t

    # Owen's formula divides by both arguments, and is continuous there.
    h, k = (np.where(np.abs(value) < TRIFLE, TRIFLE, value) for value in (first, second))
    rest = np.sqrt(1.0 - correlation**2)
    parts = owens_t(h, (k / h - correlation) / rest) + owens_t(k, (h / k - correlation) / rest)
    return np.asarray(0.5 * (ndtr(h) + ndtr(k)) - parts - 0.5 * (h * k < 0.0))


def settled(distance: FloatArray, sd: FloatArray, precision: FloatArray, error_rate: float) -> FloatArray:
    """Return the chance that a paper will be in, or out, with at most an error rate after more reviews.

    Parameters
    ----------
    distance, sd, precision
        As in :func:`misplaced`.
    error_rate
        Between 0 and one half.

    Examples
    --------
    >>> settled(np.zeros(2), np.ones(2), np.array([0.0, 1.0]), 0.1).round(2).tolist()
    [0.0, 0.2]
    """
    from scipy.special import ndtr, ndtri

    left = variance_left(sd, precision)
    moves = np.sqrt(np.maximum(sd**2 - left, np.finfo(float).tiny))
    sure = -ndtri(error_rate) * np.sqrt(left)
    return np.asarray(ndtr((distance - sure) / moves) + ndtr((-distance - sure) / moves))
