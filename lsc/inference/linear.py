"""The linear model around a posterior, which tells how papers move together.

With reviewer j's scores ``y = b + a x + e`` linearised in her slope, her papers have the precision ``a^2 V^-1``,
``V = s^2 I + U diag(omega^2, sigma_a^2) U'``, U the columns 1 and ``x + g1``. Summed over reviewers and with the prior
that is Q, the precision of all papers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.beliefs import Posterior
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray


class Parts(NamedTuple):
    """The linear model, one row a review.

    Parameters
    ----------
    precision
        a^2 / s^2 of reviewers who use the scale, by the probability that they do.
    diagonal
        Precision of what is only told of single papers: the message, by the probability that she only orders.
    likeness
        kappa / dbar.
    load
        Reviews of the reviewer.
    design
        U, shape (E, 2): columns 1 and x + g1, times their prior standard deviations omega and sigma_a.
    half
        Shape (E, 2): U C^(1/2), C = (s^2 I + U'U)^-1 with this U.
    noise
        s^2.
    """

    precision: FloatArray
    diagonal: FloatArray
    likeness: FloatArray
    load: FloatArray
    design: FloatArray
    half: FloatArray
    noise: FloatArray


def heard_reviews(posterior: Posterior) -> tuple[IntArray, IntArray]:
    """Return reviewers and items of the reviews that say something."""
    heard = posterior.precision > 0
    return posterior.reviewer[heard], posterior.item[heard]


def parts_of(posterior: Posterior) -> Parts:
    """Linearise the model around a posterior, in time linear in reviews."""
    who, what = heard_reviews(posterior)
    hyper, n_reviewers = posterior.hyperparameters, posterior.slope.size
    slope, noise = posterior.slope[who], posterior.noise_variance[who]
    uses = 1.0 - posterior.reviewers.orders[who]
    load = np.bincount(who, minlength=n_reviewers)[who].astype(np.float64)
    design = np.zeros((who.size, 2))
    if "omega" in hyper:
        tau = np.sqrt(0.5 * (hyper["tau_left"].value ** 2 + hyper["tau_right"].value ** 2))
        design[:, 0] = hyper["omega"].value
        design[:, 1] = (posterior.mean[what] + hyper["g1"].value) * slope * tau
    # C^(1/2) from the eigenvectors of s^2 I + U'U, 2 by 2 for each reviewer.
    square = np.empty((n_reviewers, 2, 2))
    for first in range(2):
        for second in range(2):
            square[:, first, second] = np.bincount(who, design[:, first] * design[:, second], n_reviewers)
    level = np.where(np.isfinite(posterior.noise_variance), posterior.noise_variance, 1.0)
    value, vector = np.linalg.eigh(square + level[:, None, None] * np.eye(2))
    root = vector / np.sqrt(value)[:, None, :]
    half = np.einsum("ep,epq->eq", design, root[who])
    pairs = np.bincount(what, 1.0 - 1.0 / load, posterior.mean.size)
    seen = pairs[np.isfinite(posterior.mean)]
    likeness = np.full(who.size, posterior.kappa / seen.mean() if posterior.kappa else 0.0)
    return Parts(
        uses * slope**2 / noise,
        (1 - uses) * posterior.precision[posterior.precision > 0],
        likeness,
        load,
        design,
        half,
        noise,
    )


def perturbation(posterior: Posterior, item: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw from N(0, Q), shape (items, n), as a sum of independent parts with the precisions that make up Q."""
    import scipy.sparse

    parts, (who, what) = parts_of(posterior), heard_reviews(posterior)
    n_reviewers, n_reviews = posterior.slope.size, who.size
    place = np.full(posterior.mean.size, -1)
    place[item] = np.arange(item.size)
    rows = np.arange(n_reviews)
    to_item = scipy.sparse.csr_array((np.ones(n_reviews), (place[what], rows)), (item.size, n_reviews))
    to_reviewer = scipy.sparse.csr_array((np.ones(n_reviews), (who, rows)), (n_reviewers, n_reviews))
    # a V^-1 z with z ~ N(0, V): precision a^2 V^-1.
    z = np.sqrt(parts.noise)[:, None] * rng.standard_normal((n_reviews, n))
    for column in range(2):
        z += parts.design[:, column, None] * rng.standard_normal((n_reviewers, n))[who]
    inside = z.copy()
    for column in range(2):
        half = parts.half[:, column, None]
        inside -= half * (to_reviewer @ (half * z))[who]
    inside *= np.sqrt(parts.precision / parts.noise)[:, None]
    inside += np.sqrt(parts.diagonal)[:, None] * rng.standard_normal((n_reviews, n))
    if posterior.kappa:
        z = rng.standard_normal((n_reviews, n))
        z -= ((to_reviewer @ z) / np.maximum(to_reviewer.sum(axis=1), 1)[:, None])[who]
        inside += np.sqrt(parts.likeness)[:, None] * z
    alone = np.bincount(posterior.reference_item, posterior.reference_precision, posterior.mean.size)[item]
    prior = np.sqrt(posterior.prior + alone)[:, None] * rng.standard_normal((item.size, n))
    return np.asarray(to_item @ inside + prior)
