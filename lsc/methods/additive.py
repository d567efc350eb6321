"""The additive model of scores, paper effect plus reviewer effect plus noise, by sparse products only.

::

    y_ij = f_i + b_j + e_ij,    f_i ~ N(0, s_f),  b_j ~ N(0, s_b),  e_ij ~ N(0, s_e)

Given the ratios s_e / s_f and s_e / s_b the expected effects solve a linear system. Eliminating f leaves M equations,

    (K + r_b I - A' (D + r_f I)^-1 A) b = rhs,

K and D the numbers of reviews of each reviewer and item and A (N, M) who reviewed what: conjugate gradients need one
pass over the reviews a step, so that a conference of 20,000 papers takes seconds where factors would fill in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.estimate import Estimate, plain_averages
from reviewgraph.framed import ReviewsLike, as_reviews
from reviewgraph.reviews import FloatArray, Reviews

#: Steps of conjugate gradients before giving up on more accuracy; well-conditioned systems need about 20.
MAX_STEPS = 2_000
#: Random probes of a trace; up to this many reviewers the trace is exact.
PROBES = 64
#: The variances have settled when none changes by more than this part, and steps after which they are taken anyhow.
SETTLED, MOST_STEPS = 1e-5, 500
#: Variances stay above this part of the variance of all scores: a zero variance would divide by zero.
LEAST_VARIANCE = 1e-9
#: Relative accuracy of the linear systems, far below the noise of sampling and of the probes.
ACCURACY = 1e-6


class Variances(NamedTuple):
    """Variance components of scores: papers, reviewers, and what neither explains."""

    item: float
    reviewer: float
    noise: float


class AdditiveModel:
    """The additive model of some scored reviews at given variance ratios.

    Parameters
    ----------
    scored
        Reviews that all have a score.
    item_ratio, reviewer_ratio
        r_f and r_b: variance of the noise over that of the effects, 0 for free effects.
    """

    def __init__(self, scored: Reviews, item_ratio: float, reviewer_ratio: float) -> None:
        from scipy import sparse

        rows = np.arange(scored.n_reviews)
        one = np.ones(rows.size)
        self.of_item = sparse.csr_array((one, (scored.item, rows)), (scored.n_items, rows.size))
        self.of_reviewer = sparse.csr_array((one, (scored.reviewer, rows)), (scored.n_reviewers, rows.size))
        self.reviewed = sparse.csr_array(self.of_item @ self.of_reviewer.T)
        self.reviewing = sparse.csr_array(self.reviewed.T)
        weight = scored.reviews_per_item + item_ratio
        self.item_weight = np.where(weight > 0, weight, 1.0)[:, None]
        self.reviewer_weight = (scored.loads + reviewer_ratio)[:, None]
        self.diagonal = self.reviewer_weight - (self.reviewing @ (1.0 / self.item_weight))
        self.diagonal = np.where(self.diagonal > 1e-12, self.diagonal, 1.0)

    def __matmul__(self, effects: FloatArray) -> FloatArray:
        """Return the reduced matrix times reviewer effects, shape (M, S)."""
        moved: FloatArray = self.reviewing @ ((self.reviewed @ effects) / self.item_weight)
        return self.reviewer_weight * effects - moved

    def reviewer_effects(self, residual: FloatArray, accuracy: float) -> FloatArray:
        """Return the expected reviewer effects (M, S) of centred scores (E, S)."""
        explained = self.reviewing @ ((self.of_item @ residual) / self.item_weight)
        return self.solve(self.of_reviewer @ residual - explained, accuracy)

    def item_effects(self, residual: FloatArray, reviewer_effects: FloatArray) -> FloatArray:
        """Return the expected item effects (N, S) of centred scores once the reviewer effects are known."""
        found: FloatArray = (self.of_item @ residual - self.reviewed @ reviewer_effects) / self.item_weight
        return found

    def solve(self, rhs: FloatArray, accuracy: float) -> FloatArray:
        """Conjugate gradients with the diagonal as preconditioner, all columns at once, from zero."""
        # At the start the residual is the right side itself.
        found = np.zeros_like(rhs)
        left = rhs.copy()
        ready = left / self.diagonal
        direction = ready.copy()
        energy = np.einsum("ms,ms->s", left, ready)
        goal = accuracy**2 * energy
        for _ in range(MAX_STEPS):
            if (energy <= goal).all():
                break
            image = self @ direction
            curvature = np.einsum("ms,ms->s", direction, image)
            # Columns that are there already stand still while the others go on.
            moving = (energy > goal) & (curvature > 0)
            if not moving.any():
                break
            step = np.divide(energy, curvature, out=np.zeros_like(energy), where=moving)
            found += step * direction
            left -= step * image
            ready = left / self.diagonal
            before, energy = energy, np.einsum("ms,ms->s", left, ready)
            # Fletcher and Reeves: each new direction is conjugate to those before.
            direction = ready + np.divide(energy, before, out=np.zeros_like(energy), where=before > 0) * direction
        return found


def mixed_model(reviews: ReviewsLike, *, seed: int | np.random.Generator = 0) -> Estimate:
    """Estimate qualities by the mixed model above, its variances by the largest marginal likelihood of the scores.

    ::

        quality_i = mu + E[f_i | scores],  mu the mean of all scores

    Parameters
    ----------
    seed
        The source of random probes, of which there are some with more than 64 reviewers: a whole number (0) or a
        generator.

    Examples
    --------
    >>> rows = [(j, i, i + 2.0 * j) for j in range(4) for i in range(5)]
    >>> mixed_model(Reviews.from_pairs(rows)).quality.round(3).tolist()
    [3.0, 4.0, 5.0, 6.0, 7.0]
    """
    reviews = as_reviews(reviews)
    scored, average = reviews.only_scored(), plain_averages(reviews)
    if not scored.n_reviews:
        return Estimate(reviews, average, "additive")
    mean = float(scored.score.mean())
    found = marginal_variances(scored, seed)
    model = AdditiveModel(scored, found.noise / found.item, found.noise / found.reviewer)
    residual = (scored.score - mean)[:, None]
    effect = model.item_effects(residual, model.reviewer_effects(residual, ACCURACY))[:, 0]
    return Estimate(reviews, np.where(np.isfinite(average), mean + effect, np.nan), "additive")


def marginal_variances(scored: Reviews, seed: int | np.random.Generator = 0) -> Variances:
    """Return the variances that maximise the marginal likelihood of the scores, their mean taken as known.

    At a maximum each variance is the sum of squared expected effects over the number of parameters that the data
    determine: ``s_f = |f|^2 / (N - r_f tr C_ff)``, and likewise for the others, C the posterior covariance over s_e
    [MacKay92]_. These equations are iterated. Traces are estimated with random probes, exactly for at most 64
    reviewers.

    Parameters
    ----------
    scored
        Reviews that all have a score.
    seed
        The source of the probes: a whole number (0) or a generator.
    """
    rng = np.random.default_rng(seed)
    residual = scored.score - scored.score.mean()
    least = max(LEAST_VARIANCE * float(residual.var()), np.finfo(float).tiny)
    size = scored.n_reviewers
    exact = size <= PROBES
    probes = np.eye(size) if exact else rng.choice([-1.0, 1.0], (size, PROBES))
    columns = 1 if exact else PROBES
    now = np.full(3, max(float(residual.var()) / 3.0, least))
    for _ in range(MOST_STEPS):
        fresh = np.maximum(_reestimate(scored, residual, now, probes, columns), least)
        change = np.abs(np.log(fresh / now))
        now = fresh
        if change[now > least].max(initial=0.0) <= SETTLED:
            break
    return Variances(*now.tolist())


def _reestimate(scored: Reviews, residual: FloatArray, now: FloatArray, probes: FloatArray, columns: int) -> FloatArray:
    """Return the variances from the effects expected under ``now``."""
    item_ratio, reviewer_ratio = now[2] / now[0], now[2] / now[1]
    model = AdditiveModel(scored, item_ratio, reviewer_ratio)
    reviewer = model.reviewer_effects(residual[:, None], ACCURACY)
    item = model.item_effects(residual[:, None], reviewer)
    rest = residual - item[scored.item, 0] - reviewer[scored.reviewer, 0]
    solved = model.solve(probes, ACCURACY)
    through_items = model.reviewing @ ((model.reviewed @ probes) / model.item_weight**2)
    reviewer_trace = float((probes * solved).sum()) / columns
    item_trace = float((1.0 / model.item_weight).sum()) + float((through_items * solved).sum()) / columns
    determined_items = max(scored.n_items - item_ratio * item_trace, 1e-9)
    determined_reviewers = max(scored.n_reviewers - reviewer_ratio * reviewer_trace, 1e-9)
    free = max(residual.size - determined_items - determined_reviewers, 1e-9)
    return np.array(
        [
            float((item**2).sum()) / determined_items,
            float((reviewer**2).sum()) / determined_reviewers,
            float((rest**2).sum()) / free,
        ]
    )
