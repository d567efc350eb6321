"""The exact posterior mean of qualities where the regime's own priors are known: what no method can beat by much.

::

    x_i ~ N(5.32, 1.2),   z_ij = c + a_j (x_i - c) + b_j + noise * a_j^rho * N(0, 1),   y_ij = z_ij or clip(round(z_ij))

with a_j ~ U(0, 2), log a_j ~ N(0, spread^2) or a_j = 1, and b_j ~ N(0, offset^2); rho = 1 for noise inside the scoring
function, 0 outside. What is clipped to [0, 10] before scoring is taken as not clipped (2 in 1000 at noise 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Sweeps: four times as many change precision by less than .2 points in the paper's setting; where communities hang
#: together loosely their common shift mixes slowly.
SWEEPS, SLOW_SWEEPS = 5_000, 15_000
#: Part of the sweeps that is thrown away, Metropolis steps for slopes in a sweep, and the acceptance they aim at.
BURN_IN, STEPS, ACCEPTED = 0.25, 2, 0.44
#: Mean and standard deviation of true qualities, slopes of the paper, and the scale of whole scores.
QUALITY_MEAN, QUALITY_SD = 5.32, 1.2
STEEPEST = 2.0
LOWEST, HIGHEST = 1.0, 10.0


@dataclass(frozen=True)
class Priors:
    """How reviewers score: the law of slopes with its ``spread`` where log-normal, offsets and noise.

    ``centre`` is the quality c at which slopes turn the line; ``whole`` whether scores are whole numbers from 1 to 10.
    """

    slope: Literal["one", "uniform", "lognormal"]
    offset: float
    noise: float
    inside: bool = False
    spread: float = 0.3
    centre: float = QUALITY_MEAN
    whole: bool = False

    def slopes(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw slopes, shape (M,)."""
        if self.slope == "uniform":
            return rng.uniform(0.0, STEEPEST, size)
        return rng.lognormal(0.0, self.spread, size) if self.slope == "lognormal" else np.ones(size)

    def scores(
        self, reviewer: IntArray, quality: FloatArray, rng: np.random.Generator, share: FloatArray | float = 1.0
    ) -> FloatArray:
        """Draw reviewers and score the qualities they see, shape (E,); ``share`` (M,) multiplies their noise."""
        size = int(reviewer.max()) + 1
        slope = self.slopes(size, rng)
        offset = self.offset * rng.standard_normal(size)
        noise = self.noise * share * (slope if self.inside else np.ones(size))
        score = self.centre + slope[reviewer] * (quality - self.centre) + offset[reviewer]
        score += noise[reviewer] * rng.standard_normal(reviewer.size)
        return rounded(score) if self.whole else score


def rounded(score: FloatArray) -> FloatArray:
    """Whole scores from 1 to 10."""
    return np.clip(np.rint(score), LOWEST, HIGHEST)


def exact_mean(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    priors: Priors,
    rng: np.random.Generator,
    sweeps: int = SWEEPS,
) -> FloatArray:
    """Return the posterior mean of the qualities, shape (N,), by Gibbs sampling.

    Each sweep draws (1) the unrounded scores, (2) slopes with offsets integrated out, by Metropolis steps on their
    logarithms, (3) offsets, (4) qualities, whose conditional means are averaged.
    """
    chain = _Chain(reviewer, item, score, priors, rng)
    burn_in = int(BURN_IN * sweeps)
    total = np.zeros(chain.quality.size)
    for sweep in range(sweeps):
        if priors.whole:
            chain.draw_unrounded()
        chain.draw_reviewers(adapt=sweep < burn_in)
        expected = chain.draw_qualities()
        if sweep >= burn_in:
            total += expected
    return total / (sweeps - burn_in)


class _Chain:
    """The state of the sampler: qualities (N,), log slopes and offsets (M,), unrounded scores (E,) less c."""

    def __init__(
        self, reviewer: IntArray, item: IntArray, score: FloatArray, priors: Priors, rng: np.random.Generator
    ) -> None:
        self.reviewer, self.item, self.score = reviewer, item, score
        self.priors, self.rng = priors, rng
        self.count = np.bincount(reviewer).astype(np.float64)
        self.quality = np.full(int(item.max()) + 1, QUALITY_MEAN)
        self.log_slope = np.zeros(self.count.size)
        self.offset = np.zeros(self.count.size)
        self.unrounded = score - priors.centre
        self.step = np.full(self.count.size, 0.5)

    def draw_unrounded(self) -> None:
        """Draw scores before rounding: normal within the half-unit that was rounded, open at the ends of the scale."""
        from scipy.special import ndtr, ndtri

        slope = np.exp(self.log_slope)
        spread = (self.priors.noise * slope**self.priors.inside)[self.reviewer]
        mean = slope[self.reviewer] * (self.quality - self.priors.centre)[self.item] + self.offset[self.reviewer]
        low = np.where(self.score <= LOWEST, -np.inf, self.score - 0.5) - self.priors.centre
        high = np.where(self.score >= HIGHEST, np.inf, self.score + 0.5) - self.priors.centre
        low, high = (low - mean) / spread, (high - mean) / spread
        # The inverse of the normal distribution is exact in its lower tail only: intervals above 0 are mirrored.
        mirrored = low + high > 0
        low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        below = ndtr(low)
        drawn = np.clip(ndtri(below + self.rng.random(mean.size) * (ndtr(high) - below)), low, high)
        self.unrounded = mean + spread * np.where(mirrored, -drawn, drawn)

    def draw_reviewers(self, *, adapt: bool) -> None:
        """Draw slopes given qualities alone, then offsets given both."""
        gap, size = (self.quality - self.priors.centre)[self.item], self.count.size
        columns = (self.unrounded, gap, self.unrounded**2, self.unrounded * gap, gap**2)
        sums = [np.bincount(self.reviewer, column, size) for column in columns]
        if self.priors.slope != "one":
            for _ in range(STEPS):
                self._move_slopes(sums, adapt)
        if self.priors.offset > 0:
            slope = np.exp(self.log_slope)
            variance = (self.priors.noise * slope**self.priors.inside) ** 2
            precision = self.count / variance + self.priors.offset**-2
            mean = (sums[0] - slope * sums[1]) / variance / precision
            self.offset = mean + self.rng.standard_normal(size) / np.sqrt(precision)

    def _move_slopes(self, sums: list[FloatArray], adapt: bool) -> None:
        """One random-walk Metropolis step of every log slope, its length a reviewer's own."""
        there = self.log_slope + self.step * self.rng.standard_normal(self.step.size)
        gain = self._log_density(there, sums) - self._log_density(self.log_slope, sums)
        taken = np.log(self.rng.random(self.step.size)) < gain
        self.log_slope = np.where(taken, there, self.log_slope)
        if adapt:
            self.step = np.clip(self.step * np.exp(0.1 * (taken - ACCEPTED)), 1e-3, 5.0)

    def _log_density(self, log_slope: FloatArray, sums: list[FloatArray]) -> FloatArray:
        """Log density of log slopes: scores less slope times quality have covariance V I + offset^2 11'."""
        slope = np.exp(log_slope)
        variance = (self.priors.noise * slope**self.priors.inside) ** 2
        total = sums[0] - slope * sums[1]
        square = sums[2] - 2.0 * slope * sums[3] + slope**2 * sums[4]
        common = variance + self.count * self.priors.offset**2
        found = (self.count - 1.0) * np.log(variance) + np.log(common)
        found += (square - total**2 / self.count) / variance + total**2 / self.count / common
        if self.priors.slope == "uniform":
            return np.where(slope < STEEPEST, log_slope - found / 2.0, -np.inf)
        return np.asarray(-(log_slope**2) / (2.0 * self.priors.spread**2) - found / 2.0)

    def draw_qualities(self) -> FloatArray:
        """Draw qualities given reviewers; return their conditional means."""
        slope = np.exp(self.log_slope)
        weight = slope / (self.priors.noise * slope**self.priors.inside) ** 2
        size, least = self.quality.size, QUALITY_SD**-2
        precision = np.bincount(self.item, (weight * slope)[self.reviewer], size) + least
        off = self.unrounded - self.offset[self.reviewer]
        pull = np.bincount(self.item, weight[self.reviewer] * off, size) + least * (QUALITY_MEAN - self.priors.centre)
        expected = np.asarray(self.priors.centre + pull / precision)
        self.quality = expected + self.rng.standard_normal(size) / np.sqrt(precision)
        return expected
