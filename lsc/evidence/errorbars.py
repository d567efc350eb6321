"""Standard errors of recovered qualities where every reviewer's function is a line, with or without a slope."""

from __future__ import annotations

import numpy as np

from lsc.evidence.support import Support
from lsc.model.programme import Programme
from reviewgraph.labels import IntArray
from reviewgraph.precision.conditioning import error_variances
from reviewgraph.reviews import BoolArray, FloatArray

#: A slope this close to its bound, relatively, lies on it.
ON_BOUND = 1e-6
#: Fewer residual degrees of freedom than this do not tell how noisy the scores are.
LEAST_DIVISOR = 10


def standard_errors(
    programme: Programme, quality: FloatArray, perceived: FloatArray, support: Support, parameters: int
) -> FloatArray:
    """Return the standard error of each quality, shape (N,), in the units of the programme.

    ``parameters`` p determine a reviewer's function: 2 for slope and offset, 1 for an offset alone.

    Block by block of those that are the main one of their group: with the E' scores, N' items and M' reviewers of the
    block::

        sigma^2 = sum of squared noise / (E' - N' - sum_j p_j + p),   standard error_i = sigma sqrt((L^+)_ii),

    L the sum over reviewers of identity minus the projection on span(1, quality), or on span(1) where p_j is 1: to
    first order in sigma, relative to the shift and scale of the block, or its shift alone. A slope at its bound is no
    parameter of the fit, so p_j is 1 there: under noise many reviewers sit at the bound, and errors that count their
    slopes are too wide. NaN for items outside these blocks and where the divisor is below 10.
    """
    owner = np.repeat(np.arange(programme.shape.size), np.diff(programme.start))
    block = support.block[owner]
    noise = (perceived - quality[programme.item]) ** 2
    sloped = ~_at_bound(programme, perceived, owner)
    found = np.full(programme.n_items, np.nan)
    order = np.argsort(block, kind="stable")
    for main in support.main_block[support.main_block >= 0].tolist():
        here = order[slice(*np.searchsorted(block[order], [main, main + 1]))]
        items, item = np.unique(programme.item[here], return_inverse=True)
        reviewers, reviewer = np.unique(owner[here], return_inverse=True)
        free = sloped[reviewers] if parameters > 1 else np.zeros(reviewers.size, np.bool_)
        scale_free = int(parameters > 1 and bool(free.all()))
        divisor = here.size - items.size - reviewers.size - int(free.sum()) + 1 + scale_free
        if divisor >= LEAST_DIVISOR:
            variance = float(noise[here].sum()) / divisor
            spread = error_variances(reviewer, item, quality[items] if parameters > 1 else None, sloped=free)
            found[items] = np.sqrt(variance * spread)
    return found


def _at_bound(programme: Programme, perceived: FloatArray, owner: IntArray) -> BoolArray:
    """Whether the slope of each reviewer's line lies on its bound, shape (M,)."""
    size = programme.shape.size
    score, count = programme.score, np.maximum(np.bincount(owner, minlength=size), 1)

    def centred(value: FloatArray) -> FloatArray:
        return np.asarray(value - (np.bincount(owner, value, size) / count)[owner])

    across = np.bincount(owner, centred(score) ** 2, size)
    along = np.bincount(owner, centred(score) * centred(perceived), size)
    slope = np.divide(along, across, out=np.full(size, np.inf), where=across > 0)
    return np.asarray(slope <= programme.lower * (1.0 + ON_BOUND))
