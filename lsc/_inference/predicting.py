"""Predictive distributions of scores, leave-one-out residuals, fit statistics of reviewers, and ranks from draws.

A score is predicted by a mixture of normal distributions, one per quadrature node g of the reviewer's slope a and noise
s^2. With the posterior of the item N(m, v), and of the offset given the node N(B, 1 / P),

::

    y ~ sum_g share_g N(a_g m + B_g, a_g^2 v + 1 / P_g + s_g^2)

Quality and offset are treated as independent, as in expectation propagation; v includes the factor of loops. Scores of
an ordinal reviewer are distributed as for papers drawn from the prior, N(0, 1), whatever the item; predictions are a
mixture with that distribution, which is too wide, since ranks narrow it.

Leave-one-out, without refitting: in the cavity of its paper, a review's score given the reviewer's other scores is such
a mixture, too. Removing the review with weight W and residual r from the offset leaves the precision P - W and the mean
(P B - W r) / (P - W), and from the share of a node the factor that is the density of the score. Hyperparameters, the
other papers and the loop factors are those of all scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.model import (
    G0,
    G1,
    GAMMA,
    LOG_OMEGA,
    LOG_OWN,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    MU,
    NU,
    RHO,
    Block,
    lay_out,
)
from lsc._inference.scale_users import Cavity, Nodes, Offsets, Slopes, offsets_given, slopes_at
from lsc._inference.states import Unit, equal_scores, unit_of
from reviewgraph._base import FloatArray, IntArray

#: Nodes of slope and of own noise in the population, in standard deviations.
GRID = np.linspace(-4.0, 4.0, 17)
#: Bisections of a quantile, from an interval of some twenty standard deviations.
HALVINGS = 60
#: Half the width, in standard deviations of the widest component, of the interval in which quantiles are searched.
FAR = 12.0


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
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def mapped(self, location: float, scale: float) -> Mixture:
        """Return the mixtures of ``location + scale y``; the scale may be negative."""
        return Mixture(self.share, location + scale * self.centre, abs(scale) * self.spread)


class Population(NamedTuple):
    """Quadrature of reviewers, shapes (G, M): weights, slopes, mean and variance of the offset, noise variance."""

    share: FloatArray
    slope: FloatArray
    offset: FloatArray
    offset_variance: FloatArray
    noise: FloatArray

    def given(self, mean: FloatArray, variance: FloatArray) -> Mixture:
        """Return the predictive distribution of a standardised score for items with these moments, shapes (M,)."""
        centre = self.slope * mean + self.offset
        total = self.slope**2 * variance + self.offset_variance + self.noise
        return Mixture(self.share.T, centre.T, np.sqrt(total).T)


class Step(NamedTuple):
    """Quadrature of some reviewers: reviews of the slots (k, m), or -1, with their block, cavities, nodes and noise.

    ``chance`` (m,) is the probability that a reviewer is of this kind, ``ordinal`` or not.
    """

    review: IntArray
    block: Block
    cavity: Cavity
    at: Slopes
    offsets: Offsets
    share: FloatArray
    factor: FloatArray
    chance: FloatArray
    ordinal: bool


def score_unit(posterior: Posterior, score: FloatArray) -> Unit:
    """Return the unit in which the scores in use were standardised."""
    used = score[posterior.precision > 0]
    return unit_of(lambda: [used], equal_scores(used))


def standardised(posterior: Posterior, unit: Unit, score: FloatArray) -> FloatArray:
    """Return standardised scores less what covariates expect of their reviewers, shape (E,)."""
    return np.asarray(unit.standardised(score) - posterior.expected_offset[posterior.reviewer])


def typical(posterior: Posterior, unit: Unit) -> Population:
    """Return the population of reviewers, one column, for a reviewer of whom nothing is known."""
    if not posterior.signal:
        offset = posterior.offset - posterior.expected_offset[:-1]
        alike = (posterior.slope, offset, 0 * offset, posterior.noise_variance)
        return Population(np.ones((1, 1)), *(np.full((1, 1), float(np.nanmean(value))) for value in alike))
    theta = posterior.theta
    side = np.exp(np.where(GRID < 0, theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT]))
    density = np.exp(-0.5 * GRID**2)
    deviation, share = side * GRID, density * side / (density * side).sum()
    slope, noise = np.exp(theta[MU] + deviation), np.exp(2.0 * (theta[NU] + theta[RHO] * deviation))
    if posterior.extent.own:
        own = np.exp(np.exp(theta[LOG_OWN]) * GRID)
        share = np.outer(share, density / density.sum()).ravel()
        slope, noise = np.repeat(slope, own.size), np.outer(noise, own).ravel()
    offset_variance = np.full(slope.size, np.exp(2.0 * theta[LOG_OMEGA]))
    values = (share, slope, theta[G0] + theta[G1] * slope, offset_variance, noise + unit.rounding)
    return Population(*(value[:, None] for value in values))


def of_reviewers(posterior: Posterior, score: FloatArray, codes: IntArray, weight: FloatArray | None) -> Population:
    """Return the posterior of reviewers given by code, one column each, for a review of typical weight.

    A reviewer without a score in use is one of whom nothing is known, and so is one of code M, who is new.
    """
    unit = score_unit(posterior, score)
    new = typical(posterior, unit)
    used = posterior.precision > 0
    load = np.bincount(posterior.reviewer[used], minlength=posterior.slope.size + 1)
    known = load[codes] > 0
    if not posterior.signal or not known.any():
        new = Population(*(np.repeat(value, codes.size, axis=1) for value in new))
        return new._replace(offset=new.offset + posterior.expected_offset[codes])
    wanted = np.zeros(posterior.slope.size, np.bool_)
    wanted[codes[known]] = True
    columns: dict[int, FloatArray] = {}
    chosen = np.flatnonzero(used & wanted[posterior.reviewer])
    for both in steps_by_kind(posterior, score, weight, unit, chosen):
        parts = []
        for step in both:
            share, slope, noise = step.share * step.chance, step.at.slope, step.at.noise + unit.rounding
            # Of ordinal reviewers the variance of a paper is noise.
            if step.ordinal:
                slope, noise = 0 * slope, noise + slope**2
            offset = step.offsets.mean + posterior.expected_offset[step.block.reviewer]
            parts.append(np.stack([share, slope, offset, 1 / step.offsets.precision, noise]))
        codes_here = both[0].block.reviewer.tolist()
        columns |= dict(zip(codes_here, np.moveaxis(np.concatenate(parts, axis=1), 2, 0), strict=True))
    # Populations have other numbers of nodes: the rest have no weight.
    size = max(new.share.size, max(column.shape[1] for column in columns.values()))
    filler = np.array([0.0, 1.0, 0.0, 1.0, 1.0])[:, None]
    table = np.repeat(filler, codes.size * size, axis=1).reshape(5, size, codes.size)
    fresh = np.array([value[:, 0] for value in new])
    for place, code in enumerate(codes.tolist()):
        column = columns.get(code)
        if column is None:
            column = fresh.copy()
            column[2] += posterior.expected_offset[code]
        table[:, : column.shape[1], place] = column
    return Population(*table)


def steps_by_kind(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, unit: Unit, chosen: IntArray
) -> Iterator[tuple[Step, ...]]:
    """Yield for each block the step of reviewers who use the scale and, if the model has them, of ordinal ones."""
    kinds = (False, True) if posterior.extent.orders else (False,)
    return zip(*(steps(posterior, score, weight, unit, chosen, ordinal=kind) for kind in kinds), strict=True)


def steps(
    posterior: Posterior,
    score: FloatArray,
    weight: FloatArray | None,
    unit: Unit,
    chosen: IntArray,
    *,
    ordinal: bool,
) -> Iterator[Step]:
    """Integrate the reviewers of the chosen reviews, block by block; the reviews are all those of their reviewers.

    ``ordinal``: as if all reviewers were ordinal; cavities of items are then their prior.
    """
    who, what = posterior.reviewer[chosen], posterior.item[chosen]
    standard = standardised(posterior, unit, score)[chosen]
    layout, slot = lay_out(who, what, standard, posterior.slope.size, posterior.mean.size)
    review = np.full(layout.item.size, -1)
    review[slot] = chosen
    # Cavities of the items, standard where a slot is empty.
    precision = 1 / posterior.variance[what] - posterior.precision[chosen]
    mean, variance = np.zeros(review.size), np.ones(review.size)
    variance[slot] = 1 / precision
    mean[slot] = (posterior.mean[what] / posterior.variance[what] - posterior.shift[chosen]) / precision
    if ordinal:
        mean, variance = np.zeros(review.size), np.ones(review.size)
    orders = np.nan_to_num(posterior.reviewers.orders)
    factors = np.ones(review.size)
    factors[slot] = noise_factors(posterior, weight)[chosen]
    nodes = posterior.fitted.nodes[4:] if ordinal else posterior.fitted.nodes[:4]
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        cavity = Cavity(mean[slots].reshape(block.shape), variance[slots].reshape(block.shape))
        factor = factors[slots].reshape(block.shape)
        centre, width, own, own_width = nodes[:, block.reviewer]
        at = slopes_at(Nodes(centre, width, own, own_width if posterior.extent.own else None), posterior.theta)
        total = at.noise * factor[:, None] + unit.rounding
        offsets = offsets_given(block, cavity, at, total, float(np.exp(2 * posterior.theta[LOG_OMEGA])))
        share = np.exp(offsets.log_weight - offsets.log_weight.max(axis=0))
        share /= share.sum(axis=0)
        chance = orders[block.reviewer] if ordinal else 1.0 - orders[block.reviewer]
        yield Step(review[slots].reshape(block.shape), block, cavity, at, offsets, share, factor, chance, ordinal)


def noise_factors(posterior: Posterior, weight: FloatArray | None) -> FloatArray:
    """Return the factor of the noise variance of each review, shape (E,): 1 without weights."""
    used = posterior.precision > 0
    factor = np.ones(used.size)
    if weight is not None and posterior.signal and np.ptp(weight[used]) > 0:
        logs = np.log(weight[used])
        factor[used] = np.exp(-posterior.theta[GAMMA] * (logs - logs.mean()) / logs.std())
    return factor


# Leave-one-out: each score against its prediction from all others.


class LeftOut(NamedTuple):
    """Predictions of each score from all others, standardised, shapes (E,); NaN for reviews not in use.

    ``mean``, ``sd``: of the predictive distribution; ``probability``: that of a score as low, or lower; ``typical_sd``:
    the standard deviation if the reviewer had the mean noise of the population; ``share``: weight of the review in the
    offset of its reviewer, from 0 to 1.
    """

    mean: FloatArray
    sd: FloatArray
    probability: FloatArray
    typical_sd: FloatArray
    share: FloatArray


def leave_one_out(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> LeftOut:
    """Predict each score from all others, in standardised units; ``score`` and ``weight`` are those passed to infer."""
    from scipy.special import ndtr

    used = posterior.precision > 0
    result = LeftOut(*np.full((5, used.size), np.nan))
    if not used.any():
        return result
    unit = score_unit(posterior, score)
    # The paper without this review: without its message, and without that of the assortment prior.
    who, what = posterior.reviewer, posterior.item
    precision = 1 / posterior.variance[what] - posterior.precision - posterior.likeness_precision
    shift = posterior.mean[what] / posterior.variance[what] - posterior.shift - posterior.likeness_shift
    mean, variance = shift / precision, posterior.loops[what] / precision
    if not posterior.signal:
        standard = unit.standardised(score)
        centre = posterior.offset[who] + posterior.slope[who] * mean
        sd = np.sqrt(posterior.slope[who] ** 2 * variance + posterior.noise_variance[who])
        values = (centre, sd, ndtr((standard - centre) / sd), sd, np.zeros(used.size))
        return LeftOut(*(np.where(used, value, np.nan) for value in values))
    # Own noise of a reviewer has the mean 1 over the population when divided by this.
    common = np.exp(0.5 * np.exp(2 * posterior.theta[LOG_OWN])) if posterior.extent.own else 1.0
    for both in steps_by_kind(posterior, score, weight, unit, np.flatnonzero(used)):
        block, review = both[0].block, both[0].review
        inside = block.used > 0
        parts = []
        for step in both:
            m, v = (np.where(inside, value[review], 1.0)[:, None] for value in (mean, variance))
            if step.ordinal:
                m, v = 0.0 * m, np.ones(v.shape)
            mixture, with_typical_noise, part = _without_each(step, m, v, unit.rounding, common)
            chance = step.chance[:, None]
            parts.append(
                (mixture.share * chance, mixture.centre, mixture.spread, with_typical_noise, part * step.chance)
            )
        share, centre, spread, typical_spread = (np.concatenate([part[k] for part in parts], axis=-1) for k in range(4))
        mixture = Mixture(share, centre, spread)
        typical_sd = Mixture(share, centre, typical_spread).sd
        weights = np.sum([part[4] for part in parts], axis=0)
        expected = posterior.expected_offset[block.reviewer]
        found = (mixture.mean + expected, mixture.sd, mixture.cdf(block.score), typical_sd, weights)
        for target, value in zip(result, found, strict=True):
            target[review[inside]] = value[inside]
    return result


def _without_each(
    step: Step, m: FloatArray, v: FloatArray, rounding: float, common: float
) -> tuple[Mixture, FloatArray, FloatArray]:
    """Return the prediction of each score of a block from the other scores of its reviewer, shapes (k, m, G).

    ``m``, ``v`` (k, 1, m): mean and variance of the paper without this review. Then the standard deviations at the
    nodes with the mean noise of the population, shape (k, m, G), and the weight of the review in its offset, (k, m).
    """
    at, offsets, factor = step.at, step.offsets, step.factor[:, None]
    inside = step.block.used[:, None] > 0
    weight = np.where(inside, offsets.weight, 0.5 * offsets.precision)
    residual = np.where(inside, offsets.weighted / weight, 0.0)
    # The offset without this score, and the density of the score given the others, at each node.
    remaining = offsets.precision - weight
    deviation = residual * offsets.precision / remaining
    density_variance = 1 / weight + 1 / remaining
    log_density = -0.5 * (np.log(density_variance) + deviation**2 / density_variance)
    log_share = offsets.log_weight - log_density
    share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    offset = step.block.score[:, None] - at.slope * step.cavity.mean[:, None] - deviation
    # The prediction: paper, offset and noise.
    noise = at.noise * factor + rounding
    total = at.slope**2 * v + noise + 1 / remaining
    arrays = (np.moveaxis(value, 1, -1) for value in (share, at.slope * m + offset, np.sqrt(total)))
    typical = total + at.noise * (common * np.exp(-at.log_own) - 1.0) * factor
    part = (share * weight / offsets.precision).sum(axis=1)
    return Mixture(*arrays), np.moveaxis(np.sqrt(typical), 1, -1), part


def predicted_spread(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the standard deviation expected of new scores of each reviewer for the same items, and its freedom.

    Shapes (2, M). The first is the root of the expected sample variance, in points. Sample variances are about chi^2
    with the degrees of freedom in the second, which match their variance under the posterior (Satterthwaite). NaN below
    two scores in use.
    """
    used, size = np.flatnonzero(posterior.precision > 0), posterior.slope.size
    if not used.size:
        return np.full((2, size), np.nan)
    unit, count = score_unit(posterior, score), np.bincount(posterior.reviewer[used], minlength=size)
    who, what, freedom = posterior.reviewer[used], posterior.item[used], np.maximum(count - 1.0, 1.0)

    def average(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, size) / np.maximum(count, 1))

    # Sample variance of the items' means, mean of their variances and of the noise factors.
    means = posterior.mean[what]
    between = average((means - average(means)[who]) ** 2) * count / freedom
    within, factor = (
        average((posterior.variance * posterior.loops)[what]),
        average(noise_factors(posterior, weight)[used]),
    )

    def moments(square: FloatArray, noise: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the sample variance, given squared slopes and noise variances."""
        fixed, random = square * between[codes], square * within[codes] + noise
        return fixed + random, (2 * random**2 + 4 * fixed * random) / freedom[codes]

    expected, variance = moments(posterior.slope**2, posterior.noise_variance * factor, np.arange(size))
    if posterior.signal:
        for both in steps_by_kind(posterior, score, weight, unit, used):
            codes, parts = both[0].block.reviewer, []
            for step in both:
                square, noise = step.at.slope**2, step.at.noise * factor[codes] + unit.rounding
                if step.ordinal:
                    square, noise = 0 * square, noise + square
                parts.append((step.share * step.chance, *moments(square, noise, codes)))
            share, mean, given = (np.concatenate([part[k] for part in parts]) for k in range(3))
            expected[codes] = (share * mean).sum(axis=0)
            variance[codes] = (share * (given + (mean - expected[codes]) ** 2)).sum(axis=0)
    values = np.stack([unit.spread * np.sqrt(expected), 2 * expected**2 / variance])
    return np.asarray(np.where(count > 1, values, np.nan))


def replicated(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, quality: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw new scores of all reviews given joint draws of the qualities, shape (D, N), in points; shape (D, E).

    Slope, offset and noise of a reviewer are drawn once per draw from their posterior.
    """
    unit, draws = score_unit(posterior, score), len(quality)
    codes, place = np.unique(posterior.reviewer, return_inverse=True)
    people = of_reviewers(posterior, score, codes, weight)
    # One node per draw and reviewer, by inversion.
    below = np.cumsum(people.share, axis=0)
    node = (rng.random((draws, 1, codes.size)) * below[-1] > below[None]).sum(axis=1)
    slope, mean, variance, noise = (np.take_along_axis(value, node, axis=0) for value in people[1:])
    offset = mean + np.sqrt(variance) * rng.standard_normal(node.shape)
    standard = (quality[:, posterior.item] - posterior.location) / posterior.scale
    level = noise - (unit.rounding if posterior.signal else 0.0)
    deviation = np.sqrt(level[:, place] * noise_factors(posterior, weight) + (noise - level)[:, place])
    new = slope[:, place] * standard + offset[:, place] + deviation * rng.standard_normal(standard.shape)
    return np.asarray(unit.location + unit.spread * new)


class Fit(NamedTuple):
    """Mean squares of standardised leave-one-out residuals per reviewer, shapes (M,); NaN without a score in use.

    Attributes
    ----------
    infit
        Weighted by the variances of the predictions, so that informative residuals count: 1 is expected of a reviewer
        with the mean noise of the population, more means scores that the others do not predict.
    outfit
        Without weights: sensitive to single unexpected scores.
    infit_sd, outfit_sd
        Standard deviations of both under the model, residuals being normal.
    """

    infit: FloatArray
    outfit: FloatArray
    infit_sd: FloatArray
    outfit_sd: FloatArray


def fit_of(posterior: Posterior, left_out: LeftOut, standard: FloatArray) -> Fit:
    """Return infit and outfit of each reviewer ([Wright82]_); ``standard`` (E,) are standardised scores.

    Residuals of one reviewer are correlated, because each prediction uses the others. With u = s / (1 - s), s the share
    of a review in the offset, the squared correlation of two residuals is the product of their u.
    """
    used = np.isfinite(left_out.mean)
    who, size = posterior.reviewer[used], posterior.slope.size
    information = left_out.typical_sd[used] ** 2
    square = (standard[used] - left_out.mean[used]) ** 2
    ratio = left_out.share[used] / (1 - left_out.share[used])

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, size), np.float64)

    def spread(weight: FloatArray) -> FloatArray:
        """Return the standard deviation of a weighted sum of squares, divided by the sum of weights."""
        variance = summed(weight**2) + summed(weight * ratio) ** 2 - summed((weight * ratio) ** 2)
        return np.asarray(np.sqrt(2.0 * np.maximum(variance, 0.0)) / total(weight))

    def total(weight: FloatArray) -> FloatArray:
        sums = summed(weight)
        return np.where(sums > 0, sums, np.nan)

    ones = np.ones(who.size)
    return Fit(
        summed(square) / total(information),
        summed(square / information) / total(ones),
        spread(information),
        spread(ones),
    )


# Ranks, from joint draws.


def rank_counts(draws: FloatArray, group: IntArray, n_ranks: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares of ranks, shape (N, n_ranks), and mean and standard deviation of the rank of each item, (N,).

    ``draws`` (D, N) are joint draws, NaN for items without a score; 1 is the best rank within a ``group``.

    >>> rank_counts(np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 9.0]]), np.array([1, 1, 2]), 2)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    """
    size = draws.shape[1]
    share, total, square = np.zeros((size, n_ranks)), np.zeros(size), np.zeros(size)
    for number in np.unique(group).tolist():
        items = np.flatnonzero((group == number) & np.isfinite(draws[:1]).any(axis=0))
        order = np.argsort(-draws[:, items], axis=1, kind="stable")
        places = np.arange(items.size)
        for row in order:
            ranked, shown = items[row], min(items.size, n_ranks)
            share[ranked[:shown], places[:shown]] += 1.0
            total[ranked] += places + 1.0
            square[ranked] += (places + 1.0) ** 2
    known, count = np.isfinite(draws[:1]).any(axis=0), max(len(draws), 1)
    mean = total / count
    spread = np.sqrt(np.maximum(square / count - mean**2, 0.0))
    return share / count, np.where(known, mean, np.nan), np.where(known, spread, np.nan)
