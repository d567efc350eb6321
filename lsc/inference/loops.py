"""What loops in the graph of reviews add to the variances of expectation propagation.

Messages tell of one paper at a time. Where a doubt is common to many papers (how one community stands to the next,
which a single reviewer tells), each takes the others' agreement for news of its own, and variances come out too small.
In the linear model of :mod:`lsc.inference.linear` both are known: the variances that messages settle at, and the exact
ones. Their ratio is due to loops alone, since the model is Gaussian (messages then find exact means, but variances that
are off: Weiss and Freeman 2001), and by it the variances of the posterior are raised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lsc.inference.beliefs import Posterior
from lsc.inference.joint import joint
from lsc.inference.linear import Parts, heard_reviews, parts_of
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Sweeps at most, and the part of its precision by which no paper's may still move.
MOST_SWEEPS, STILL = 30, 1e-4
#: Reviews up to which exact variances are sought: beyond, the probes that estimate them take longer than all else.
UP_TO = 50_000


def loop_factors(posterior: Posterior) -> FloatArray:
    """Return the factors, at least 1, by which loops raise the variances of the items, shape (N,).

    All 1 where there are no reviewer effects, and in tables of more than 50,000 reviews.

    Notes
    -----
    Up to 2,500 items the cube of their number; above, conjugate gradients for 64 probes, by which a factor is known to
    a few hundredths.
    """
    factor = np.ones(posterior.mean.size)
    if posterior.signal and posterior.item.size <= UP_TO:
        told = joint(posterior)
        factor[told.item] = np.maximum(told.variance / settled_variances(posterior)[told.item], 1.0)
    return factor


@dataclass(frozen=True, eq=False)
class _Factors:
    """The linear model by reviews: who, of what, how much."""

    who: IntArray
    what: IntArray
    parts: Parts
    n_reviewers: int

    def told(self, variance: FloatArray) -> FloatArray:
        """Precision of what each review says, shape (E,), given the variance of its cavity."""
        parts = self.parts
        part = 1 / (1 + parts.precision * variance)
        outer = parts.design[:, :, None] * parts.design[:, None, :] * (part / parts.noise)[:, None, None]
        square = np.zeros((self.n_reviewers, 2, 2)) + np.eye(2)
        np.add.at(square, self.who, outer)
        inverse = np.linalg.inv(square)[self.who]
        shared = np.einsum("ep,epq,eq->e", parts.design, inverse, parts.design) / parts.noise
        # [T^-1]_ii, T the covariance of what the reviewer's scores say of her papers, cavities included.
        precision = parts.precision * part * (1 - part * shared)
        return np.asarray(precision / (1 - variance * precision))

    def alike(self, variance: FloatArray) -> FloatArray:
        """Precision of what an item learns from the other items of its reviewer, shape (E,)."""
        strength, load = self.parts.likeness, self.parts.load
        total = 1 / variance + strength
        sums = np.bincount(self.who, strength / load / total, self.n_reviewers)[self.who]
        return np.asarray(1 / (1 / total + strength / load / total**2 / (1 - sums)) - 1 / variance)


def settled_variances(posterior: Posterior) -> FloatArray:
    """Return the variances at which messages of the linear model settle, shape (N,), started from the posterior's."""
    who, what = heard_reviews(posterior)
    factors = _Factors(who, what, parts_of(posterior), posterior.slope.size)
    size, heard = posterior.mean.size, posterior.precision > 0
    base = posterior.prior + np.bincount(what, factors.parts.diagonal, size)
    base += np.bincount(posterior.reference_item, posterior.reference_precision, size)
    told, alike = posterior.precision[heard], posterior.likeness_precision[heard]
    for _ in range(MOST_SWEEPS):
        total = base + np.bincount(what, told + alike, size)
        new = factors.told(1 / (total[what] - told))
        if posterior.kappa:
            alike = factors.alike(1 / (total[what] - alike))
        still = (np.abs(new - told) <= STILL * total[what]).all()
        told = new
        if still:
            break
    return np.asarray(1 / (base + np.bincount(what, told + alike, size)))
