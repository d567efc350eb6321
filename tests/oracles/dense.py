"""The model of scores by dense linear algebra: exact but for a grid of log slopes.

Given the slopes of all reviewers, qualities, offsets and scores are jointly normal. Everything here is written from the
model alone: two-piece normal log slopes, offsets given slopes, noise that grows with a power of the slope.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from lsc._inference.fitting import Population
from lsc._inference.kernels.step import Hyper
from reviewgraph._base import FloatArray, IntArray

#: Ends of the grid of log slopes, in the scales of their prior.
FAR = 6.0


class Reviewer(NamedTuple):
    """Posterior of one reviewer and of the papers given these, independent before.

    ``evidence``: log density of the scores; ``mean``, ``variance`` (k,): of papers; ``moments``: those of
    :class:`lsc._inference.step.Moments` that follow from the slope, the offset and the noise; ``ratio`` (k,): expected
    squared noise over its variance.
    """

    evidence: float
    mean: FloatArray
    variance: FloatArray
    moments: dict[str, float]
    ratio: FloatArray


def slope_grid(mu: float, left: float, right: float, points: int) -> tuple[FloatArray, FloatArray]:
    """Return log slopes, and the logs of their prior probabilities."""
    line = np.linspace(mu - FAR * left, mu + FAR * right, points)
    scale = np.where(line < mu, left, right)
    density = -0.5 * ((line - mu) / scale) ** 2 - math.log(math.sqrt(0.5 * math.pi) * (left + right))
    return line, density + math.log(line[1] - line[0])


def reviewer(
    score: FloatArray, mean: FloatArray, variance: FloatArray, noise: float, factor: FloatArray, hyper: Hyper
) -> Reviewer:
    """Integrate one reviewer of papers N(mean, variance); ``factor`` (k,) multiplies the noise of each score."""
    line, prior = slope_grid(hyper.mu, hyper.tau_left, hyper.tau_right, 3001)
    a = np.exp(line)[:, None]
    d = line - hyper.mu
    k = score.size
    own = noise * np.exp(2 * hyper.rho * d)[:, None] * factor
    covariance = np.full((line.size, k, k), hyper.omega_square)
    covariance[:, range(k), range(k)] += a**2 * variance + own + hyper.rounding
    residual = score - a * mean - hyper.g0 - hyper.g1 * a
    inverse = np.linalg.inv(covariance)
    diagonal = np.einsum("gii->gi", inverse)
    solved = np.einsum("gij,gj->gi", inverse, residual)
    density = (residual * solved).sum(axis=1) + np.linalg.slogdet(covariance)[1] + k * math.log(2 * math.pi)
    log_share = prior - 0.5 * density
    top = float(log_share.max())
    share = np.exp(log_share - top)
    evidence = top + math.log(share.sum())
    share /= share.sum()

    # Conditional moments of papers, offset and noise at each slope.
    x = mean + a * variance * solved
    x_square = x**2 + variance - (a * variance) ** 2 * diagonal
    b = hyper.g0 + hyper.g1 * a[:, 0] + hyper.omega_square * solved.sum(axis=1)
    b_square = b**2 + hyper.omega_square - hyper.omega_square**2 * inverse.sum(axis=(1, 2))
    ratio = own * solved**2 + 1 - own * diagonal
    weighted = inverse * own[:, None, :]
    powers = {
        "log_slope": line,
        "log_slope_square": line**2,
        "slope": a[:, 0],
        "slope_square": a[:, 0] ** 2,
        "offset": b,
        "offset_square": b_square,
        "product": a[:, 0] * b,
        "below": d < 0,
        "below_sum": line * (d < 0),
        "below_square": d**2 * (d < 0),
        "information": np.einsum("gij,gji->g", weighted, weighted),
        "rho": (ratio.sum(axis=1) - k) * d,
        "rho_curvature": 2 * ratio.sum(axis=1) * d**2,
    }
    return Reviewer(
        evidence,
        share @ x,
        share @ x_square - (share @ x) ** 2,
        {name: float(share @ value) for name, value in powers.items()},
        share @ ratio,
    )


def prior_precision(reviewer: IntArray, item: IntArray, size: int, kappa: float) -> FloatArray:
    """Return K, shape (N, N), of papers that share reviewers."""
    laplacian = np.zeros((size, size))
    for number in np.unique(reviewer).tolist():
        own = item[reviewer == number]
        laplacian[np.ix_(own, own)] += np.eye(own.size) - 1 / own.size
    diagonal = float(np.diag(laplacian)[np.unique(item)].mean())
    return (1 - kappa) * np.eye(size) + (kappa / diagonal * laplacian if kappa else 0.0)


class Exact:
    """All papers and reviewers of a small table, with all slopes on a grid.

    Qualities x and offsets b are jointly normal at each of its points, which number ``points`` to the power of the
    reviewers. ``noise`` (M,) is the noise variance of each reviewer where the log slope is the mode.
    """

    def __init__(
        self,
        reviewer: IntArray,
        item: IntArray,
        score: FloatArray,
        noise: FloatArray,
        population: Population,
        points: int = 25,
        n_items: int | None = None,
    ) -> None:
        hyper = population.hyper
        n_reviewers = noise.size
        self.n_items = int(item.max()) + 1 if n_items is None else n_items
        line, prior = slope_grid(hyper.mu, hyper.tau_left, hyper.tau_right, points)
        place = np.array(list(itertools.product(range(points), repeat=n_reviewers)))
        self.log_slope = line[place]
        slope = np.exp(self.log_slope)
        level = noise * np.exp(2 * hyper.rho * (self.log_slope - hyper.mu)) + hyper.rounding
        size = self.n_items + n_reviewers
        tight = np.zeros((size, size))
        tight[: self.n_items, : self.n_items] = prior_precision(reviewer, item, self.n_items, population.kappa)
        tight[range(self.n_items, size), range(self.n_items, size)] = 1 / hyper.omega_square
        centre = np.concatenate([np.zeros((len(place), self.n_items)), hyper.g0 + hyper.g1 * slope], axis=1)
        precision = np.tile(tight, (len(place), 1, 1))
        linear = centre @ tight
        constant = prior[place].sum(axis=1) - 0.5 * (linear * centre).sum(axis=1)
        constant += 0.5 * np.linalg.slogdet(tight)[1] - 0.5 * score.size * math.log(2 * math.pi)
        for j, i, y in zip(reviewer.tolist(), item.tolist(), score.tolist(), strict=True):
            row = np.zeros((len(place), size))
            row[:, i] = slope[:, j]
            row[:, self.n_items + j] = 1.0
            precision += row[:, :, None] * row[:, None, :] / level[:, j, None, None]
            linear += row * (y / level[:, j])[:, None]
            constant -= 0.5 * (np.log(level[:, j]) + y**2 / level[:, j])
        self.covariance = np.linalg.inv(precision)
        self.mean = np.einsum("gij,gj->gi", self.covariance, linear)
        log_share = constant + 0.5 * (linear * self.mean).sum(axis=1) - 0.5 * np.linalg.slogdet(precision)[1]
        share = np.exp(log_share - log_share.max())
        self.evidence = float(log_share.max() + math.log(share.sum()))
        self.share = share / share.sum()

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of qualities, offsets and log slopes, in this order."""
        value = np.concatenate([self.mean, self.log_slope], axis=1)
        mean = self.share @ value
        deviation = value - mean
        covariance = np.einsum("g,gi,gj->ij", self.share, deviation, deviation)
        size = self.mean.shape[1]
        covariance[:size, :size] += np.einsum("g,gij->ij", self.share, self.covariance)
        return mean, covariance


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
