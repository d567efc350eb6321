"""What further reviews of a paper are expected to do, before their scores are known: arrays in, arrays out.

A paper is N(m, s^2). Reviews of precision p (the sum of their inverse error variances) move its mean by
N(0, s^2 - v), where ``v = 1 / (1 / s^2 + p)`` is the variance left. Everything follows from these two lines.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.arrays import FloatArray


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


def misplaced(distance: FloatArray, sd: FloatArray, precision: FloatArray) -> FloatArray:
    """Return the chance that a paper will stand on the wrong side of the cut after more reviews.

    ``2 T(|d| / s, 1 / (s sqrt p))``, d being the distance of the mean from the cut and T Owen's function: the paper and
    its future mean are jointly normal with correlation ``sqrt(1 - v / s^2)``, and T gives the chance that a cut parts
    them. Without a further review it is ``Phi(-|d| / s)``.

    Parameters
    ----------
    distance
        Posterior mean less the cut.
    sd, precision
        As in :func:`variance_left`; same shape.

    References
    ----------
    Owen (1956), Tables for computing bivariate normal probabilities, equation 3.1.

    Examples
    --------
    >>> misplaced(np.zeros(2), np.ones(2), np.array([0.0, 1.0])).tolist()
    [0.5, 0.25]
    """
    from scipy.special import owens_t

    with np.errstate(divide="ignore"):
        ratio = 1.0 / (sd * np.sqrt(precision))
    return np.asarray(2.0 * owens_t(np.abs(distance) / sd, ratio))


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
