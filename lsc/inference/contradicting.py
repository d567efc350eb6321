"""Whether a reviewer's scores contradict those of the others beyond noise.

Each reviewer is compared with what all others say of the papers: the beliefs without what they said themselves, mean m
and variance v. Under the model, with slope a and noise s^2 from the population of reviewers,

    y = b + a x + e,   x ~ N(m, v),   e ~ N(0, s^2)

so that two statistics have known distributions given a and s^2. With weights w = 1 / (a0^2 v + s0^2), a0 and s0 those
of a typical reviewer, and y', m' less their weighted means over the reviewer's papers (the level b is free):

* agreement T = sum w m' y' / a0 sum w m'^2: 1 for a typical reviewer, 0 where scores have nothing to do with those of
  the others, below 0 where they are reversed; normal, too low is what counts.
* mean square Q = sum w (y' - a0 m')^2 / (k - 1): 1 is expected of a typical reviewer; about a noncentral chi^2 with
  k - 1 degrees of freedom, too large is what counts.

Both are averaged over the slopes and noises that reviewers have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.beliefs import Posterior
from lsc.inference.model import GAMMA, LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, NU, RHO
from lsc.inference.preparing import equal_scores, unit_of
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Nodes of slope and of own noise, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Corrected p-value below which a reviewer is said to contradict the others. The population is an estimate: of tables
#: that fit the model 1 to 3 in 100 name anybody (tests/benchmarks/misfit.py).
ALARM = 0.02
#: Weighted mean square of differences between papers up to which they are rounding.
TRIFLE = 1e-12
#: From such a noncentrality on the noncentral chi^2 is taken for normal.
FAR = 1e4


class Misfit(NamedTuple):
    """How each reviewer's scores fit those of the others, shapes (M,).

    NaN for a reviewer of fewer than two scores that are heard, and for one who only orders papers.

    Parameters
    ----------
    mean_square
        Of the standardised residuals from what the others say: 1 is expected of a typical reviewer.
    agreement
        Slope of the scores on what the others say, over that of a typical reviewer: 1 is expected, 0 is none, and
        below 0 scores are reversed. NaN where the others tell the papers not apart.
    p_value
        Probability of so large a mean square or so low an agreement in a reviewer who fits the model, the smaller of
        both doubled.
    """

    mean_square: FloatArray
    agreement: FloatArray
    p_value: FloatArray

    @property
    def corrected(self) -> FloatArray:
        """Shape (M,): p-values times the number of reviewers looked at, 1 at most (Bonferroni)."""
        return np.asarray(np.minimum(self.p_value * np.isfinite(self.p_value).sum(), 1.0))

    @property
    def contradicts(self) -> BoolArray:
        """Shape (M,): whose scores contradict those of the others beyond noise."""
        found: BoolArray = self.corrected < ALARM
        return found


class Heard(NamedTuple):
    """Reviews, shapes (E,): reviewer, standardised score, mean and variance of the paper by others, noise factor."""

    reviewer: IntArray
    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    factor: FloatArray


class Compared(NamedTuple):
    """Mean square and agreement of each reviewer, and the probabilities of worse ones, shapes (M,)."""

    mean_square: FloatArray
    agreement: FloatArray
    too_large: FloatArray
    too_low: FloatArray


class Population(NamedTuple):
    """Reviewers as they are, in nodes, shapes (G,), with weights that sum to 1; a typical one; variance of rounding."""

    weight: FloatArray
    slope: FloatArray
    noise: FloatArray
    typical_slope: float
    typical_noise: float
    rounding: float


def misfit_of(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> Misfit:
    """Compare each reviewer with all others, in time linear in reviews.

    Parameters
    ----------
    posterior
        Of all reviews.
    score, weight
        Shape (E,): what :func:`lsc.inference.inferring.infer` was given.

    Examples
    --------
    >>> from lsc.inference.inferring import infer
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.divmod(np.arange(400), 20)
    >>> score = np.sin(item) + 0.3 * rng.standard_normal(400)
    >>> score[reviewer == 7] *= -1
    >>> found = misfit_of(infer(reviewer, item, score, 20, 20), score)
    >>> np.flatnonzero(found.contradicts).tolist(), bool(found.agreement[7] < -0.5)
    ([7], True)
    """
    heard = posterior.precision > 0
    if not heard.any():
        return Misfit(*np.full((3, posterior.slope.size), np.nan))
    who, what, said = posterior.reviewer[heard], posterior.item[heard], score[heard]
    unit = unit_of(lambda: [said], equal_scores(said))
    # The beliefs without what this reviewer said: neither of the paper, nor of papers like it.
    precision = 1.0 / posterior.variance[what] - posterior.precision[heard] - posterior.likeness_precision[heard]
    shift = posterior.mean[what] / posterior.variance[what] - posterior.shift[heard] - posterior.likeness_shift[heard]
    factor = np.ones(who.size)
    if weight is not None and np.ptp(weight[heard]) > 0 and posterior.signal:
        logs = np.log(weight[heard])
        factor = np.exp(-posterior.theta[GAMMA] * (logs - logs.mean()) / logs.std())
    rows = Heard(who, unit.standardised(said), shift / precision, posterior.loops[what] / precision, factor)
    found = compared(rows, population_of(posterior, unit.rounding), posterior.slope.size)
    p_value = np.minimum(2.0 * np.minimum(found.too_large, found.too_low), 1.0)
    # The distances between the scores of a reviewer who only orders papers say nothing, so nothing is said of them.
    orders = np.nan_to_num(posterior.reviewers.orders) > 0.5
    return Misfit(*(np.where(orders, np.nan, value) for value in (found.mean_square, found.agreement, p_value)))


def population_of(posterior: Posterior, rounding: float) -> Population:
    """Return the population of slopes and noises that was learned, in nodes."""
    if not posterior.signal:
        alike = float(np.nanmean(posterior.slope)), float(np.nanmean(posterior.noise_variance))
        return Population(np.ones(1), np.array(alike[:1]), np.array(alike[1:]), alike[0], alike[1], 0.0)
    theta = posterior.theta
    side = np.exp(np.where(NODES < 0, theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT]))
    density = np.exp(-0.5 * NODES**2)
    off, share = side * NODES, density * side / (density * side).sum()
    slope, noise = np.exp(theta[MU] + off), np.exp(2.0 * (theta[NU] + theta[RHO] * off))
    typical_slope, typical_noise = float(share @ slope), float(np.exp(2.0 * theta[NU]))
    if posterior.extent.own:
        own = np.exp(np.exp(theta[LOG_OWN]) * NODES)
        share = np.outer(share, density / density.sum()).ravel()
        slope, noise = np.repeat(slope, own.size), np.outer(noise, own).ravel()
    return Population(share, slope, noise, typical_slope, typical_noise, rounding)


def compared(rows: Heard, people: Population, n_reviewers: int) -> Compared:
    """Return mean square and agreement of each reviewer, and the probability of worse ones, shapes (M,)."""
    from scipy.special import ndtr

    who, count = rows.reviewer, np.bincount(rows.reviewer, minlength=n_reviewers)
    weight = 1.0 / (people.typical_slope**2 * rows.variance + people.typical_noise * rows.factor + people.rounding)
    total = np.bincount(who, weight, n_reviewers)

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, n_reviewers))

    def within(value: FloatArray) -> FloatArray:
        return np.asarray(value - (summed(weight * value) / np.where(count, total, 1.0))[who])

    score, mean = within(rows.score), within(rows.mean)
    square = summed(weight * (score - people.typical_slope * mean) ** 2)
    spread, cross = summed(weight * mean**2), summed(weight * mean * score)
    differ = spread > TRIFLE * count
    # Variances of cross and square given slope and noise: sums of those of papers, of noise, and of rounding.
    parts = (rows.variance, rows.factor, np.ones(who.size))
    of_cross = [summed((weight * mean) ** 2 * part) for part in parts]
    freedom = np.maximum(count - 1.0, 1.0)
    left = weight * (1.0 - weight / total[who])
    of_square = [summed(left * part) / freedom for part in parts]
    too_large, too_low = np.zeros((2, n_reviewers))
    for share, slope, noise in zip(people.weight, people.slope, people.noise, strict=True):
        terms = slope**2, noise, people.rounding
        scale = sum(term * part for term, part in zip(terms, of_square, strict=True)) + (count < 2)
        error = np.sqrt(sum(term * part for term, part in zip(terms, of_cross, strict=True)))
        off = (slope - people.typical_slope) ** 2 * spread / scale
        too_large += share * _beyond(square / scale, freedom, off)
        # Where the others find no difference between the papers there is nothing to agree with.
        apart = np.divide(cross - slope * spread, error, out=np.zeros(n_reviewers), where=differ)
        too_low += share * np.where(differ, ndtr(apart), 1.0)
    agreement = np.divide(cross, people.typical_slope * spread, out=np.full(n_reviewers, np.nan), where=differ)
    found = square / freedom, agreement, too_large, too_low
    return Compared(*(np.where(count > 1, value, np.nan) for value in found))


def _beyond(value: FloatArray, freedom: FloatArray, off: FloatArray) -> FloatArray:
    """Return the probability that a noncentral chi^2 exceeds a value."""
    from scipy.special import chndtr, ndtr

    near = 1.0 - chndtr(value, freedom, np.minimum(off, FAR))
    normal = ndtr((freedom + off - value) / np.sqrt(2.0 * (freedom + 2.0 * off)))
    return np.asarray(np.clip(np.where(off < FAR, near, normal), 0.0, 1.0))
