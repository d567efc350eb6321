"""How far a bend of the scale that all reviewers share could move a paper.

If every reviewer stretched the upper end alike, no score would show it: scores tell qualities up to one common
increasing function. What is known of that function is the prior, under which qualities are normal. So a second reading
of the scores puts each paper where its rank would stand among normal qualities; the misfit between the two shows in the
shape of the qualities, and an interval should reach both.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.reviews import FloatArray


def bend_variance(mean: FloatArray) -> FloatArray:
    """Return the variance that a common bend adds to the place of each item, shape (n,).

    That is the squared distance of the two readings, times the part of all squared distances that the scatter of
    normal order statistics (Mosteller 1946: ``p (1 - p) / n phi^2`` at the quantile of p) does not explain: nothing
    where the qualities look normal, nearly all where they are bent.

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
    square = (mean - mean.mean() - mean.std() * normal) ** 2
    scatter = mean.var() * level * (1 - level) / size * 2 * np.pi * np.exp(normal**2)
    total = float(square.sum())
    unexplained = max(0.0, 1.0 - float(scatter.sum()) / total) if total > 0 else 0.0
    return np.asarray(unexplained * square)
