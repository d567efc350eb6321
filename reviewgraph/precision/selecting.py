"""How many of the best a selection is expected to find, from expected errors alone."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.chances import cut_of
from reviewgraph.normal import cdf, quantile

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Nodes of the quadrature over the posterior mean of an item that is selected: exact to two digits.
NODES = 16
#: Of more items than the first, so many quantiles of their variances stand for all, equally, where that leaves so many
#: selected at least: those few whose variances are extreme then hardly matter.
MANY, ENOUGH = 600, 6
#: Least variance of a mean, and of what is unknown, in units of that of qualities.
TRIFLE = 1e-9
#: Least probability whose quantile is taken.
LEAST = 1e-300


def expected_share(variance: FloatArray, n: int) -> float:
    """Return the expected share of the true best n among the n items of largest posterior mean.

    ::

        sum_i P(m_i > t, x_i > u) / n,   m_i ~ N(0, 1 - v_i),   x_i | m_i ~ N(m_i, v_i)

    with t and u the cuts above which n means and n qualities are expected. The errors of two items are taken as
    independent, and so are the cuts of the qualities drawn: the share comes out a little high for n below 10.

    Parameters
    ----------
    variance
        v, shape (N,): expected posterior variances in units of the variance of qualities, 0 to 1.
    n
        How many are selected, 1 to N.

    Examples
    --------
    >>> round(expected_share(np.full(100, 0.5), 10), 2), round(expected_share(np.zeros(100), 10), 2)
    (0.47, 1.0)
    """
    if n >= variance.size:
        return 1.0
    if n * MANY >= ENOUGH * variance.size > ENOUGH * MANY:
        return _share(np.quantile(variance, (np.arange(MANY) + 0.5) / MANY), n * MANY / variance.size)
    return _share(variance, n)


def _share(variance: FloatArray, n: float) -> float:
    """Return the expected share, item by item."""
    unknown = np.clip(variance, TRIFLE, 1.0 - TRIFLE)
    spread = np.sqrt(1.0 - unknown)
    best = -NormalDist().inv_cdf(n / variance.size)
    # Over the means above the cut, by their probability: u runs evenly from 0 to that of being selected.
    chosen = cdf(-cut_of(np.zeros(unknown.size), spread, n) / spread)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    mean = -spread * quantile(np.maximum(np.outer((node + 1.0) / 2.0, chosen), LEAST))
    found = chosen * (weight / 2.0 @ cdf((mean - best) / np.sqrt(unknown)))
    return float(found.sum() / n)
