"""The standard normal distribution of arrays; small ones need no SciPy, which takes longer to load than to use."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from reviewgraph.arrays import FloatArray

#: Elements up to which the standard library does it: a few milliseconds.
SMALL = 10_000


def cdf(x: FloatArray) -> FloatArray:
    """Probability below each value.

    >>> cdf(np.array([0.0, 1.96])).round(3).tolist()
    [0.5, 0.975]
    """
    if x.size > SMALL:
        from scipy.special import ndtr

        return np.asarray(ndtr(x))
    below = [0.5 * math.erfc(-value) for value in (x / math.sqrt(2.0)).ravel().tolist()]
    return np.array(below).reshape(x.shape)


def quantile(p: FloatArray) -> FloatArray:
    """Value that each probability, above 0 and below 1, lies below.

    >>> quantile(np.array([0.5, 0.975])).round(2).tolist()
    [0.0, 1.96]
    """
    if p.size > SMALL:
        from scipy.special import ndtri

        return np.asarray(ndtri(p))
    inverse = NormalDist().inv_cdf
    return np.array([inverse(value) for value in p.ravel().tolist()]).reshape(p.shape)
