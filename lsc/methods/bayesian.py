"""The Bayesian model of Ge, Welling and Ghahramani: additive effects, and the probability of being accepted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lsc.estimate import Estimate, best_first, plain_averages
from lsc.methods.additive import ACCURACY, AdditiveModel, Variances, marginal_variances
from reviewgraph.errors import InputError
from reviewgraph.framed import ReviewsLike, as_reviews
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Draws from the posterior: the frequency of acceptance is known to 1.6 percentage points.
SAMPLES = 1000
#: Draws held in memory at a time.
BATCH = 100


@dataclass(frozen=True, eq=False, repr=False)
class BayesianEstimate(Estimate):
    """The estimate of the Bayesian model.

    ``quality`` is the probability of being in the top n as sampled; items of equal frequency are told apart by their
    posterior mean, by less than one sample's weight.

    Parameters
    ----------
    posterior_mean
        Shape (N,): expected quality on the scale of the scores, NaN without a score.
    variances
        The variance components.
    """

    posterior_mean: FloatArray
    variances: Variances


def bayesian(
    reviews: ReviewsLike,
    n: int,
    *,
    seed: int | np.random.Generator = 0,
    opinions: bool = True,
    variances: Variances | None = None,
    samples: int = SAMPLES,
) -> BayesianEstimate:
    """Rank items by the probability of being among the best n [Ge13]_.

    ::

        y_ij = mu + f_i + b_j + e_ij,   f_i ~ N(0, s_f),  b_j ~ N(0, s_b),  e_ij ~ N(0, s_e)

    mu is the mean of all scores, the variances maximise the marginal likelihood, and the posterior is sampled.

    Parameters
    ----------
    n
        How many items will be selected.
    seed
        A whole number (0), or a generator to draw from.
    opinions
        What counts as quality: the average of ``f_i + e_ij`` over the reviews an item got, that is the scores less the
        reviewers' effects (default: so does the code of [Tan21]_), or ``f_i`` alone.
    variances
        The variance components, where they are known.
    samples
        Draws from the posterior.

    Raises
    ------
    InputError
        If ``n`` is not between 0 and N, or ``samples`` is below 1.

    Notes
    -----
    Sparse throughout: each step of each linear system is one pass over the reviews and samples.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [(j, i, i + 2.0 * j) for j in range(4) for i in range(5)]
    >>> bayesian(Reviews.from_pairs(rows), 2).ranking()
    [4, 3, 2, 1, 0]
    """
    reviews = as_reviews(reviews)
    if not 0 <= n <= reviews.n_items:
        message = f"n: expected 0 to {reviews.n_items} items to select, found {n}"
        raise InputError(message)
    if samples < 1:
        message = f"samples: expected at least 1, found {samples}"
        raise InputError(message)
    rng = np.random.default_rng(seed)
    scored, average = reviews.only_scored(), plain_averages(reviews)
    known = np.isfinite(average)
    if not scored.n_reviews:
        return BayesianEstimate(reviews, average, "bayesian", average, Variances(0.0, 0.0, 0.0))
    # Variances by marginal likelihood; the mean score is taken as known.
    mean = float(scored.score.mean())
    residual = scored.score - mean
    variances = variances or marginal_variances(scored, rng)
    model = AdditiveModel(scored, variances.noise / variances.item, variances.noise / variances.reviewer)
    count = scored.reviews_per_item[:, None]

    def quality(score: FloatArray, drawn: FloatArray | float = 0.0, bias: FloatArray | float = 0.0) -> FloatArray:
        """Posterior means (N, S) given residual scores (E, S), moved by drawn effects."""
        effects = model.reviewer_effects(score, ACCURACY)
        if not opinions:
            return drawn + model.item_effects(score, effects)
        total = model.of_item @ residual[:, None] - model.reviewed @ (bias + effects)
        return np.asarray(total / np.maximum(count, 1))

    # Matheron: draw effects and scores, and move the draw by the posterior mean of what they miss.
    wins = np.zeros(reviews.n_items)
    for first in range(0, samples, BATCH):
        size = min(BATCH, samples - first)
        item = rng.normal(0.0, np.sqrt(variances.item), (reviews.n_items, size))
        reviewer = rng.normal(0.0, np.sqrt(variances.reviewer), (reviews.n_reviewers, size))
        noise = rng.normal(0.0, np.sqrt(variances.noise), (residual.size, size))
        made_up = item[scored.item] + reviewer[scored.reviewer] + noise
        drawn = np.where(known[:, None], quality(residual[:, None] - made_up, item, reviewer), -np.inf)
        wins += np.bincount(_best(drawn, min(n, int(known.sum()))).ravel(), minlength=reviews.n_items)
    expected = np.where(known, mean + quality(residual[:, None])[:, 0], np.nan)
    return BayesianEstimate(reviews, _told_apart(wins, expected, samples), "bayesian", expected, variances)


def _best(drawn: FloatArray, n: int) -> IntArray:
    """Rows of the ``n`` largest values of each column, shape (n, S)."""
    if n == 0:
        return np.empty((0, drawn.shape[1]), np.int64)
    best: IntArray = np.argpartition(-drawn, n - 1, axis=0)[:n]
    return best


def _told_apart(wins: FloatArray, expected: FloatArray, samples: int) -> FloatArray:
    """Return frequencies plus, below one sample's weight, the place of the posterior mean."""
    order = best_first(expected)
    place = np.full(expected.size, np.nan)
    place[order] = np.arange(order.size, 0, -1) / (order.size + 1)
    return np.asarray((wins + place) / (samples + 1))
