"""Predictive distributions of scores.

A score is predicted by a mixture of normal distributions, one per node g of the reviewer's slope a. With the posterior
of the item N(m, v), and of the offset given the node N(B, 1 / P),

::

    y ~ sum_g share_g N(a_g m + B_g, a_g^2 v + 1 / P_g + s_g^2)

Quality and offset are treated as independent, as in expectation propagation. Where scores have few levels, a level has
the probability of its interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.kernels.step import describe_reviewers
from lsc._inference.step import NODES, REACH, Gauge, Quadrature
from reviewgraph._base import FloatArray, IntArray

#: Most levels of scores whose probabilities are predicted one by one, and reviews from which their bounds are found.
MAX_LEVELS = 7
MOST_REVIEWS = 2000
#: Bisections of a quantile, and half the width of the interval in which it is searched, in standard deviations of the
#: widest component.
HALVINGS = 60
FAR = 12.0
#: Nodes of a new reviewer, in standard deviations of the population.
GRID = np.linspace(-REACH, REACH, NODES)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixtures of normal distributions: weights, means and standard deviations, shapes (..., G)."""

    share: FloatArray
    centre: FloatArray
    spread: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Means, shape (...)."""
        return np.asarray((self.share * self.centre).sum(axis=-1))

    @property
    def sd(self) -> FloatArray:
        """Standard deviations, shape (...)."""
        square = (self.centre - self.mean[..., None]) ** 2 + self.spread**2
        return np.asarray(np.sqrt((self.share * square).sum(axis=-1)))

    def cdf(self, value: FloatArray) -> FloatArray:
        """Return the probability of a value of at most ``value``, both of shape (...)."""
        from scipy.special import ndtr

        below = ndtr((np.asarray(value)[..., None] - self.centre) / self.spread)
        return np.asarray((self.share * below).sum(axis=-1))

    def quantile(self, probability: float) -> FloatArray:
        """Return the quantiles for a probability between 0 and 1, shape (...), by bisection."""
        low = (self.centre - FAR * self.spread).min(axis=-1)
        high = (self.centre + FAR * self.spread).max(axis=-1)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < probability
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def mapped(self, location: float, scale: float) -> Mixture:
        """Return the mixtures of ``location + scale y``; the scale may be negative."""
        return Mixture(self.share, location + scale * self.centre, abs(scale) * self.spread)

    def on_levels(self, levels: Levels) -> Discrete:
        """Return the probabilities of the intervals of levels."""
        ends = [self.cdf(np.broadcast_to(end, self.mean.shape)) for end in levels.bound.tolist()]
        total = self.share.sum(axis=-1)
        below = np.stack([0.0 * total, *ends, total], axis=-1)
        return Discrete(levels.value, np.maximum(np.diff(below, axis=-1) / total[..., None], 0.0))


@dataclass(frozen=True, eq=False)
class Discrete:
    """Distributions over levels: their values, ascending, shape (L,), and probabilities, shape (..., L)."""

    value: FloatArray
    probability: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Means, shape (...)."""
        return np.asarray(self.probability @ self.value)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations, shape (...)."""
        square = (self.value - self.mean[..., None]) ** 2
        return np.asarray(np.sqrt((self.probability * square).sum(axis=-1)))

    def cdf(self, value: FloatArray) -> FloatArray:
        """Return the probability of a value of at most ``value``, both of shape (...)."""
        return np.asarray((self.probability * (self.value <= np.asarray(value)[..., None])).sum(axis=-1))

    def quantile(self, probability: float) -> FloatArray:
        """Return the lowest level of which that or a lower one has at least this probability, shape (...)."""
        below = np.cumsum(self.probability, axis=-1)[..., :-1] < probability * (1 - 1e-12)
        return np.asarray(self.value[below.sum(axis=-1)])

    def mapped(self, location: float, scale: float) -> Discrete:
        """Return the distributions of ``location + scale y``; the scale may be negative."""
        turn = slice(None, None, -1 if scale < 0 else 1)
        return Discrete((location + scale * self.value)[turn], self.probability[..., turn])


#: A predictive distribution.
Law: TypeAlias = Mixture | Discrete


class Levels(NamedTuple):
    """Levels of scores in points, ascending, shape (L,), and the bounds between their intervals, standardised."""

    value: FloatArray
    bound: FloatArray


def levels_of(posterior: Posterior, at: Quadrature) -> Levels | None:
    """Return the levels of the scores used; None where there are many, or one only.

    Their intervals are such that each level is predicted as often, over the reviews, as it was given.
    """
    score = posterior.scores.score
    value, count = np.unique(score, return_counts=True)
    if not 1 < value.size <= MAX_LEVELS:
        return None
    rows = posterior.used[:: max(1, score.size // MOST_REVIEWS)]
    law = _standardised_law(posterior, at, posterior.reviewer[rows], posterior.item[rows])
    pooled = Mixture(law.share.ravel() / rows.size, law.centre.ravel(), law.spread.ravel())
    share = np.cumsum(count)[:-1] / score.size
    return Levels(value, np.array([float(pooled.quantile(part)) for part in share.tolist()]))


def quadrature(posterior: Posterior) -> Quadrature:
    """Return the posterior of each reviewer at the nodes, shapes (M + 1, G), standardised; the last of them is new.

    Noise is without that of rounding.
    """
    size = posterior.slope.size
    population = posterior.population
    if population is None:
        slope, offset, noise = posterior.alike
        return Quadrature(*(np.full((size + 1, 1), value) for value in (1.0, slope, noise, offset, 1e-12)))
    # A reviewer of whom nothing is known has the slopes of the population and the mean noise of the others.
    scale = population.scales(GRID)
    density = scale * np.exp(-0.5 * GRID**2)
    slope_at = np.exp(population.mu + scale * GRID)
    noise_at = posterior.state.nodes.noise[posterior.state.load > 0].mean() * np.exp(2 * population.rho * scale * GRID)
    offset_at = population.g0 + population.g1 * slope_at
    new = density / density.sum(), slope_at, noise_at, offset_at, np.full(NODES, population.omega**2)
    at = Quadrature(*(np.repeat(value[None], size + 1, axis=0) for value in new))
    describe_reviewers(*posterior.state[:3], posterior.items, population.hyper, Gauge(), at)
    return at._replace(offset=at.offset + posterior.expected_offset[:, None])


def predictive(posterior: Posterior, who: IntArray, what: IntArray) -> Law:
    """Return the distributions of the scores of pairs of codes, any shape, in points.

    Code M is a new reviewer, and code N a new item, drawn from the prior N(0, 1).
    """
    at = quadrature(posterior)
    law = _standardised_law(posterior, at, who, what)
    levels = levels_of(posterior, at)
    if levels is not None:
        return law.on_levels(levels)
    return law.mapped(posterior.scores.unit.location, posterior.scores.unit.spread)


def _standardised_law(posterior: Posterior, at: Quadrature, who: IntArray, what: IntArray) -> Mixture:
    """Return the distributions of standardised scores of pairs of codes."""
    mean = np.append(posterior.mean, 0.0)[what][..., None]
    variance = np.append(posterior.variance, 1.0)[what][..., None]
    total = at.slope[who] ** 2 * variance + at.offset_variance[who] + at.noise[who] + posterior.rounding
    return Mixture(at.share[who], at.slope[who] * mean + at.offset[who], np.sqrt(total))
