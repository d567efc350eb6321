"""Designs that are far from random, scores on them, and the posterior of one who knows the true priors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from reviewgraph import Reviews
from reviewgraph.graph import random_assignment

if TYPE_CHECKING:
    from reviewgraph.graph import Assumptions


def windows(n: int, load: int, step: int) -> list[tuple[int, int]]:
    """Reviewers who read ``load`` papers in a row, each ``step`` papers further on."""
    return [(j, i) for j, first in enumerate(range(0, n - load + 1, step)) for i in range(first, first + load)]


def communities(n: int, count: int, demand: int, shared: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Random assignments side by side; one reviewer of each reads ``shared`` papers of the next."""
    size, pairs = n // count, []
    for part in range(count):
        design = random_assignment(size, size, demand, rng)
        pairs += zip((design.reviewer + part * size).tolist(), (design.item + part * size).tolist(), strict=True)
        if part + 1 < count:
            pairs += [(part * size, (part + 1) * size + i) for i in range(shared)]
    return pairs


DESIGNS: dict[str, Callable[[int, np.random.Generator], list[tuple[int, int]]]] = {
    "chain, three papers a reviewer": lambda n, _: windows(n, 3, 1),
    "two communities joined by two reviews": lambda n, rng: communities(n, 2, 5, 2, rng),
}


def scores_of(reviews: Reviews, assumptions: Assumptions, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw qualities and scores of the model: log normal stretches, noise outside of them."""
    quality = rng.standard_normal(reviews.n_items)
    severity = assumptions.severity * rng.standard_normal(reviews.n_reviewers)
    stretch = np.exp(assumptions.stretch * rng.standard_normal(reviews.n_reviewers))
    noise = assumptions.noise * rng.standard_normal(reviews.n_reviews)
    return quality, severity[reviews.reviewer] + stretch[reviews.reviewer] * quality[reviews.item] + noise


def posterior_mean(
    reviews: Reviews, score: np.ndarray, assumptions: Assumptions, rng: np.random.Generator, sweeps: int = 120
) -> np.ndarray:
    """Mean qualities given the scores and the true priors, by Gibbs sampling.

    Severities are integrated out, so that qualities given stretches, and stretches given qualities, are normal.
    """
    reviewer, item, load = reviews.reviewer, reviews.item, reviews.loads
    precision, prior = assumptions.noise**-2, assumptions.stretch**-2
    share = assumptions.severity**2 / (assumptions.noise**2 + load * assumptions.severity**2)

    def within(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sums of products over the reviews of each reviewer, her severity integrated out."""
        both = [np.bincount(reviewer, side, load.size) for side in (left, right)]
        return np.bincount(reviewer, left * right, load.size) - share * both[0] * both[1]

    stretch, found = np.ones(load.size), np.zeros(reviews.n_items)
    slopes = np.zeros((reviews.n_items, load.size))
    freed = score - (share * np.bincount(reviewer, score, load.size))[reviewer]
    for sweep in range(sweeps):
        a = stretch[reviewer]
        slopes[item, reviewer] = a * np.sqrt(share[reviewer] * precision)
        matrix = np.diag(1 + np.bincount(item, a**2, reviews.n_items) * precision) - slopes @ slopes.T
        factor = cho_factor(matrix, lower=True)
        mean = cho_solve(factor, np.bincount(item, a * freed, reviews.n_items) * precision)
        found += mean * (sweep >= sweeps // 6)
        quality = mean + solve_triangular(factor[0], rng.standard_normal(mean.size), lower=True, trans="T")
        total = prior + precision * within(quality[item], quality[item])
        centre = (prior + precision * within(quality[item], score)) / total
        stretch = centre + rng.standard_normal(load.size) / np.sqrt(total)
    return found / (sweeps - sweeps // 6)
