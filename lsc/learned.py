"""What the posterior knows, in the arrays that checks and plans take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc.inference.describing import WIDTH
from lsc.posteriors import posterior
from reviewgraph.assumptions import Assumptions
from reviewgraph.learned import Learned

if TYPE_CHECKING:
    from lsc.inference.beliefs import Posterior
    from reviewgraph.reviews import FloatArray, Reviews


def learn(reviews: Reviews, n_draws: int, seed: int) -> Learned:
    """Infer qualities and reviewers, see :func:`reviewgraph.learned.learned_from`.

    >>> rows = [(r, p, p + 3 * (r % 2)) for r in range(8) for p in range(r, r + 4)]
    >>> from reviewgraph import Reviews
    >>> found = learn(Reviews.from_pairs(rows), 5, 0)
    >>> found.draws.shape, found.review_error.shape
    ((5, 11), (8,))
    """
    result = posterior(reviews, seed=seed)
    beliefs = result.beliefs
    assumed = _assumptions(beliefs)
    return Learned(
        assumptions=assumed,
        mean=result.quality,
        error=beliefs.order_error,
        draws=result.draws(n_draws, seed),
        review_error=_review_errors(beliefs, assumed),
    )


def _assumptions(beliefs: Posterior) -> Assumptions:
    """Return the hyperparameters in units of the spread of qualities."""
    hyper, slope = beliefs.hyperparameters, _typical_slope(beliefs)
    noise = float(np.sqrt(np.nanmean(beliefs.noise_variance))) / slope
    if "omega" not in hyper:
        return Assumptions(noise, 0.0, 0.0, beliefs.scale)
    tau = np.sqrt(0.5 * (hyper["tau_left"].value ** 2 + hyper["tau_right"].value ** 2))
    return Assumptions(noise, hyper["omega"].value / slope, float(tau), beliefs.scale)


def _typical_slope(beliefs: Posterior) -> float:
    """Mean slope over reviews: a quality of 1 inside is so many standardised points, which are ``scale`` points."""
    return float(np.nanmean(beliefs.slope[beliefs.reviewer]))


def _review_errors(beliefs: Posterior, assumed: Assumptions) -> FloatArray:
    """Noise of each reviewer and what is unknown of her severity, over her stretch."""
    reviewers = beliefs.reviewers
    severity = (reviewers.severity.high - reviewers.severity.low) / (2.0 * WIDTH)
    found = np.hypot(reviewers.noise.mean, severity) / reviewers.stretch.mean
    unknown = assumed.spread * float(np.hypot(assumed.noise, assumed.severity))
    return np.where(np.isfinite(found), found, unknown)
