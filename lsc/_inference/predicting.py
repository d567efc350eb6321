"""Predictive distributions of scores.

A score is predicted by a mixture of normal distributions, one per node g of the reviewer's slope a. With the posterior
of the item N(m, v), and of the offset given the node N(B, 1 / P),

::

    y ~ sum_g share_g N(a_g m + B_g, a_g^2 v + 1 / P_g + s_g^2)

Quality and offset are treated as independent, as in expectation propagation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.kernels.step import describe_reviewers
from lsc._inference.step import NODES, REACH, Gauge, Quadrature
from reviewgraph._base import FloatArray, IntArray

#: Nodes of a new reviewer, in standard deviations of the population.
GRID = np.linspace(-REACH, REACH, NODES)


class Mixture(NamedTuple):
    """Mixtures of normal distributions: weights, means and standard deviations, shapes (..., G)."""

    share: FloatArray
    centre: FloatArray
    spread: FloatArray


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
    return at


def predictive(posterior: Posterior, who: IntArray, what: IntArray) -> Mixture:
    """Return the distributions of the scores of pairs of codes, any shape, in points.

    Code M is a new reviewer, and code N a new item, drawn from the prior N(0, 1).
    """
    at = quadrature(posterior)
    unit = posterior.scores.unit
    mean = np.append(posterior.mean, 0.0)[what][..., None]
    variance = np.append(posterior.variance, 1.0)[what][..., None]
    total = at.slope[who] ** 2 * variance + at.offset_variance[who] + at.noise[who] + posterior.rounding
    centre = unit.location + unit.spread * (at.slope[who] * mean + at.offset[who])
    return Mixture(at.share[who], centre, unit.spread * np.sqrt(total))
