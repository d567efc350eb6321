"""The model of scores by Gibbs sampling: slow, and exact but for a grid of slopes and the error of sampling.

Hyperparameters and the noise of each reviewer are given. The slope of a reviewer is drawn on the grid, the offset
integrated out, then the offset, then all qualities, which are jointly normal given these.
"""

from typing import NamedTuple

import numpy as np

from lsc._inference.fitting import Population
from reviewgraph._base import FloatArray, IntArray
from tests.oracles.dense import prior_precision, slope_grid

GRID = 121


class Draws(NamedTuple):
    """Qualities, shape (D, N), offsets and log slopes, shapes (D, M)."""

    quality: FloatArray
    offset: FloatArray
    log_slope: FloatArray


def sample(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    noise: FloatArray,
    population: Population,
    sweeps: int,
    rng: np.random.Generator,
) -> Draws:
    """Draw all papers and reviewers given standardised scores, an eighth of the sweeps thrown away.

    ``noise`` (M,) is the noise variance of each reviewer where the log slope is the mode.
    """
    n_items, n_reviewers = int(item.max()) + 1, noise.size
    line, prior = slope_grid(population.mu, population.tau_left, population.tau_right, GRID)
    slope = np.exp(line)
    level = noise[:, None] * np.exp(2 * population.rho * (line - population.mu)) + population.rounding
    centre, tight = population.g0 + population.g1 * slope, population.omega**-2
    load = np.bincount(reviewer, minlength=n_reviewers)[:, None]
    total = tight + load / level
    constant = prior - 0.5 * load * np.log(level) - 0.5 * np.log(total)
    precision = prior_precision(reviewer, item, n_items, population.kappa) if population.kappa else np.eye(n_items)
    every, x = np.arange(n_reviewers), np.zeros(n_items)
    kept = Draws(*np.empty((1, sweeps, n_items)), *np.empty((2, sweeps, n_reviewers)))
    for sweep in range(sweeps):
        # Sums of squares of y - a x - centre about 0, and their sums, at each slope.
        quality = x[item]
        columns = (score, quality, score**2, score * quality, quality**2)
        y, sx, yy, xy, xx = (np.bincount(reviewer, column, n_reviewers)[:, None] for column in columns)
        linear = (y - slope * sx) / level + tight * centre
        square = (yy - 2 * slope * xy + slope**2 * xx) / level + tight * centre**2 - linear**2 / total
        log_share = constant - 0.5 * square
        below = np.cumsum(np.exp(log_share - log_share.max(axis=1, keepdims=True)), axis=1)
        place = (below < rng.random(n_reviewers)[:, None] * below[:, -1:]).sum(axis=1)
        spread = 1 / np.sqrt(total[every, place])
        offset = linear[every, place] * spread**2 + spread * rng.standard_normal(n_reviewers)
        a, s = slope[place][reviewer], level[every, place][reviewer]
        root = np.linalg.cholesky(precision + np.diag(np.bincount(item, a**2 / s, n_items)))
        pull = np.bincount(item, a * (score - offset[reviewer]) / s, n_items)
        x = np.linalg.solve(root.T, np.linalg.solve(root, pull) + rng.standard_normal(n_items))
        kept.quality[sweep], kept.offset[sweep], kept.log_slope[sweep] = x, offset, line[place]
    return Draws(*(value[sweeps // 8 :] for value in kept))
