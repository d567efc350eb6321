"""How far a bend of the scale that all reviewers share could move a paper.

If every reviewer stretched the upper end alike, no score would show it: scores tell qualities up to one common
increasing function. What is known of that function is the prior, under which qualities are normal. So a second reading
of the scores, as plausible as the first, puts each paper where its rank would stand among normal qualities.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.reviews import FloatArray

#: Part of the squared distance of the two readings that is added to the variance: a half where they are equally
#: plausible, and a little for the scatter of ranks, to which alone the second is known.
PLAUSIBLE = 0.6


def bend_variance(mean: FloatArray) -> FloatArray:
    """Return the variance that a common bend adds to the place of each item, shape (n,).

    Parameters
    ----------
    mean
        Shape (n,): posterior means.
    """
    from scipy.special import ndtri

    size = mean.size
    if size < 3 or np.ptp(mean) <= 0:
        return np.zeros(size)
    # Equal means share the middle of their ranks, whatever their order.
    ordered = np.sort(mean)
    rank = 0.5 * (np.searchsorted(ordered, mean, "left") + np.searchsorted(ordered, mean, "right") + 1)
    level = (rank - 0.375) / (size + 0.25)
    normal = ndtri(level)
    distance = mean - mean.mean() - mean.std() * normal
    return np.asarray(PLAUSIBLE * distance**2)
