"""Predictive distributions of scores, leave-one-out residuals, draws of reviewers, and their fit statistics.

A score is predicted by a mixture of normal distributions, one per quadrature node g of the reviewer's slope a and noise
s^2. With the posterior of the item N(m, v), and of the offset given the node N(B, 1 / P),

::

    y ~ sum_g share_g N(a_g m + B_g, a_g^2 v + 1 / P_g + s_g^2)

Quality and offset are treated as independent, as in expectation propagation; v includes the factor of loops. Where
scores are levels, y is the latent score, and a level has the probability of its interval.

Scores of an ordinal reviewer are distributed as for papers drawn from the prior, N(0, 1), and are given in the order of
the perceived qualities. So the score of a new paper has that density f times the probability pi_r that the paper is
perceived between the r-th and the next of the reviewer's other papers, r the place of the score among their scores.

Leave-one-out, without refitting: in the cavity of its paper, a review's score given the reviewer's other scores is such
a mixture, too. Removing the review with weight W and residual r from the offset leaves the precision P - W and the mean
(P B - W r) / (P - W), and from the share of a node the factor that is the density of the score. Hyperparameters, the
other papers and the loop factors are those of all scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.categories import Discrete, Levels, levels_of, truncated
from lsc._inference.model import (
    G0,
    G1,
    GAMMA,
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    MU,
    NU,
    RHO,
    Block,
    lay_out,
)
from lsc._inference.scale_users import (
    Cavity,
    Nodes,
    Offsets,
    Slopes,
    gap_probabilities,
    offsets_given,
    points_at,
    slopes_at,
)
from lsc._inference.states import MIN_NOISE, Unit, equal_scores, unit_of
from reviewgraph._base import FloatArray, IntArray, snapped

#: Nodes of slope and of own noise in the population, in standard deviations.
GRID = np.linspace(-4.0, 4.0, 17)
#: Bisections of a quantile, from an interval of some twenty standard deviations.
HALVINGS = 60
#: Half the width, in standard deviations of the widest component, of the interval in which quantiles are searched.
FAR = 12.0
#: Other scores of an ordinal reviewer among which one is placed, at most: evenly spaced ranks where there are more.
MOST_OTHERS = 24
#: Probability of being ordinal below which a reviewer's ranks are left out of predictions.
LEAST_CHANCE = 0.01
#: Pairs placed together.
PAIRS = 1024
#: Draws of new scores from which spreads of levels are predicted, and the number made together.
DRAWS, TOGETHER = 400, 50
#: Probabilities at the ends of the ranges of spreads.
RANGE = (0.05, 0.95)


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

    def shifted(self, by: FloatArray) -> Mixture:
        """Return the mixtures with means higher by some amount each, shape (...)."""
        return Mixture(self.share, self.centre + by[..., None], self.spread)

    @property
    def first(self) -> Mixture:
        """The first of several."""
        return Mixture(self.share[0], self.centre[0], self.spread[0])

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw values, shape (n, ...)."""
        below = np.cumsum(self.share, axis=-1)
        uniform = rng.random((n, *self.mean.shape, 1)) * below[..., -1:]
        node = (uniform > below).sum(axis=-1)[..., None]
        centre, spread = (
            np.take_along_axis(np.broadcast_to(value, (n, *value.shape)), node, axis=-1)[..., 0]
            for value in (self.centre, self.spread)
        )
        return np.asarray(centre + spread * rng.standard_normal(centre.shape))

    def on_levels(self, levels: Levels) -> Discrete:
        """Return the distribution of the levels in whose intervals the values are."""
        inner = [self.cdf(np.broadcast_to(end, self.mean.shape)) for end in levels.above[:-1].tolist()]
        total = self.share.sum(axis=-1)
        ends = np.stack([0.0 * total, *inner, total], axis=-1)
        return Discrete(levels.value, np.maximum(np.diff(ends, axis=-1) / total[..., None], 0.0))


#: A predictive distribution.
Law: TypeAlias = Mixture | Discrete


class Observations(NamedTuple):
    """What reviewers are integrated with: standardised scores, or pseudo-observations of latent ones, shapes (E,).

    ``variance``: that of rounding, or of each pseudo-observation; ``rounding``: variance of a new score beyond its
    noise, 0 of a latent one; ``levels``: in points, None where scores are numbers.
    """

    score: FloatArray
    variance: FloatArray
    rounding: float
    levels: Levels | None


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


def observed_scores(posterior: Posterior, score: FloatArray) -> Observations:
    """Return what reviewers are integrated with, from the scores passed to ``infer``.

    Less what covariates expect of offsets, as in the inference.
    """
    if posterior.extent.ordinal and posterior.fitted.observed is not None:
        pseudo_score, variance = posterior.fitted.observed
        return Observations(pseudo_score, variance, 0.0, levels_of(score[posterior.precision > 0])[0])
    unit = score_unit(posterior, score)
    standard = unit.standardised(score) - posterior.expected_offset[posterior.reviewer]
    return Observations(standard, np.full(score.size, unit.rounding), unit.rounding, None)


def typical(posterior: Posterior, rounding: float) -> Population:
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
    values = (share, slope, theta[G0] + theta[G1] * slope, offset_variance, noise + rounding)
    return Population(*(value[:, None] for value in values))


def of_reviewers(posterior: Posterior, score: FloatArray, codes: IntArray, weight: FloatArray | None) -> Population:
    """Return the posterior of reviewers given by code, one column each, for a review of typical weight.

    A reviewer without a score in use is one of whom nothing is known, and so is one of code M, who is new. Nodes of
    slope 0 are those of ordinal reviewers, as if the paper were drawn from the prior.
    """
    observed = observed_scores(posterior, score)
    new = typical(posterior, observed.rounding)
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
    for both in steps_by_kind(posterior, observed, weight, chosen):
        parts = []
        for step in both:
            share, slope, noise = step.share * step.chance, step.at.slope, step.at.noise + observed.rounding
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
    posterior: Posterior, observed: Observations, weight: FloatArray | None, chosen: IntArray
) -> Iterator[tuple[Step, ...]]:
    """Yield for each block the step of reviewers who use the scale and, if the model has them, of ordinal ones."""
    kinds = (False, True) if posterior.extent.orders else (False,)
    return zip(*(steps(posterior, observed, weight, chosen, ordinal=kind) for kind in kinds), strict=True)


def steps(
    posterior: Posterior, observed: Observations, weight: FloatArray | None, chosen: IntArray, *, ordinal: bool
) -> Iterator[Step]:
    """Integrate the reviewers of the chosen reviews, block by block; the reviews are all those of their reviewers.

    ``ordinal``: as if all reviewers were ordinal; cavities of items are then their prior.
    """
    who, what = posterior.reviewer[chosen], posterior.item[chosen]
    layout, slot = lay_out(who, what, observed.score[chosen], posterior.slope.size, posterior.mean.size)
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
    factors, added = np.ones((2, review.size))
    factors[slot], added[slot] = noise_factors(posterior, weight)[chosen], observed.variance[chosen]
    nodes = posterior.fitted.nodes[4:] if ordinal else posterior.fitted.nodes[:4]
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        cavity = Cavity(mean[slots].reshape(block.shape), variance[slots].reshape(block.shape))
        factor = factors[slots].reshape(block.shape)
        centre, width, own, own_width = nodes[:, block.reviewer]
        at = slopes_at(Nodes(centre, width, own, own_width if posterior.extent.own else None), posterior.theta)
        total = at.noise * factor[:, None] + added[slots].reshape(block.shape)[:, None]
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


# Scores of ordinal reviewers, from their place among the others.


class Ranking(NamedTuple):
    """The scores in use of each reviewer, in ascending order, ties by the cavity mean of the paper.

    ``start`` (M + 1,): where those of each reviewer begin; ``score``, ``mean``, ``variance``: standardised score, ties
    spread over the width of rounding, and cavity of the perceived quality; ``place`` (E,): rank of each review, from 0.
    """

    start: IntArray
    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    place: IntArray
    perception: float
    rounding: float


def ranking_of(posterior: Posterior, observed: Observations) -> Ranking:
    """Rank the scores of each reviewer."""
    used = np.flatnonzero(posterior.precision > 0)
    who, what, score = posterior.reviewer[used], posterior.item[used], observed.score[used]
    precision = 1 / posterior.variance[what] - posterior.precision[used]
    mean = (posterior.mean[what] / posterior.variance[what] - posterior.shift[used]) / precision
    order = np.lexsort((what, snapped(mean), score, who))
    start = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=posterior.slope.size))])
    place = np.full(posterior.reviewer.size, -1)
    place[used[order]] = np.arange(used.size) - start[who[order]]
    # Equal scores of one reviewer, evenly spread over the width of rounding, at most the smallest distance of scores.
    first = np.append(True, (np.diff(score[order]) > 0) | (np.diff(who[order]) > 0))
    group = np.cumsum(first) - 1
    size, begin = np.bincount(group)[group], np.flatnonzero(first)[group]
    distance = np.diff(np.unique(score))
    width = min(np.sqrt(12.0 * max(observed.rounding - MIN_NOISE, 0.0)), distance.min(initial=np.inf))
    spread = width * ((np.arange(used.size) - begin + 0.5) / size - 0.5)
    perception = float(np.exp(2 * posterior.theta[LOG_S_R]))
    variance = (1 / precision)[order] + perception
    return Ranking(start, score[order] + spread, mean[order], variance, place, perception, observed.rounding)


class Paired(NamedTuple):
    """Scores to be placed, shapes (P,): reviewer, mean and variance of the item, rank to leave out, or -1."""

    who: IntArray
    mean: FloatArray
    variance: FloatArray
    left_out: IntArray

    def only(self, kept: IntArray) -> Paired:
        """Return some of them."""
        return Paired(self.who[kept], self.mean[kept], self.variance[kept], self.left_out[kept])


def with_places(ranking: Ranking, fresh: Mixture, chance: FloatArray, pairs: Paired) -> Mixture:
    """Return the predictions of ordinal reviewers, with shares that sum to ``chance`` (P,).

    ``fresh``: distribution of their scores whatever the item, shares (P, G). It is kept below ``LEAST_CHANCE``.
    """
    place = np.flatnonzero(chance >= LEAST_CHANCE)
    rest = np.where(chance < LEAST_CHANCE, chance, 0.0)
    size = 1 + int(np.minimum(np.diff(ranking.start)[pairs.who[place]], MOST_OTHERS).max(initial=0))
    share, centre, spread = np.zeros((chance.size, size)), np.zeros((chance.size, size)), np.ones((chance.size, size))
    for first in range(0, place.size, PAIRS):
        these = place[first : first + PAIRS]
        part = Mixture(fresh.share[these], fresh.centre[these], fresh.spread[these])
        result = _placed(ranking, part, pairs.only(these))
        columns = slice(result.share.shape[1])
        share[these, columns] = chance[these, None] * result.share
        centre[these, columns], spread[these, columns] = result.centre, result.spread
    parts = zip((rest[:, None] * fresh.share, fresh.centre, fresh.spread), (share, centre, spread), strict=True)
    return Mixture(*(np.concatenate(part, axis=1) for part in parts))


def _placed(ranking: Ranking, fresh: Mixture, pairs: Paired) -> Mixture:
    """Place scores among the others of their reviewers: a normal distribution for each gap."""
    start, load = ranking.start[pairs.who], np.diff(ranking.start)[pairs.who]
    others = load - (pairs.left_out >= 0)
    size = int(np.minimum(others, MOST_OTHERS).max(initial=0))
    if not size:
        return fresh
    row = np.arange(size)[:, None]
    used = row < others
    # Evenly spaced ranks if there are too many, without that left out.
    spaced = np.round(row * ((others - 1.0) / max(size - 1, 1))).astype(np.int64)
    rank = np.where(others > size, spaced, row)
    rank = rank + ((pairs.left_out >= 0) & (rank >= pairs.left_out))
    at = start + np.minimum(rank, load - 1)
    chances = gap_probabilities(
        np.where(used, ranking.mean[at], 0.0),
        np.where(used, ranking.variance[at], 1.0),
        used.astype(np.float64),
        (pairs.mean, pairs.variance + ranking.perception),
    ).T
    # Ends of the gaps; those beyond the last score have no probability.
    score, column = np.where(used, ranking.score[at], np.inf).T, np.full((others.size, 1), np.inf)
    low, high = np.concatenate([-column, score], axis=1), np.concatenate([score, column], axis=1)
    low[np.isposinf(low)] = 0.0
    # The score without rounding, given the gap and the node: a truncated normal.
    spread = np.sqrt(np.maximum(fresh.spread**2 - ranking.rounding, MIN_NOISE))[:, None]
    centre = fresh.centre[:, None]
    inside = truncated((low[..., None] - centre) / spread, (high[..., None] - centre) / spread)
    log_share = np.log(np.maximum(fresh.share, 1e-300))[:, None] + inside.log_probability
    top = log_share.max(axis=-1)
    node = np.exp(log_share - top[..., None])
    mass = node.sum(axis=-1)
    node /= mass[..., None]
    value = np.clip(centre + spread * inside.mean, low[..., None], high[..., None])
    mean = (node * value).sum(axis=-1)
    square = (node * (spread**2 * np.maximum(inside.variance, 0.0) + (value - mean[..., None]) ** 2)).sum(axis=-1)
    log_chance = np.log(np.maximum(chances, 1e-300)) + top + np.log(mass)
    share = np.where(chances > 0, np.exp(log_chance - log_chance.max(axis=1, keepdims=True)), 0.0)
    return Mixture(share / share.sum(axis=1, keepdims=True), mean, np.sqrt(square + ranking.rounding))


def predictive(
    posterior: Posterior,
    score: FloatArray,
    weight: FloatArray | None,
    who: IntArray,
    what: IntArray,
    qualities: tuple[FloatArray, FloatArray] | None = None,
) -> Law:
    """Return the distributions of the scores of pairs of codes, shapes (P,), in points; code M is a new reviewer.

    ``qualities``: mean and variance of all items, shapes (N,), where they are not those of the posterior.
    """
    # Reviewers are integrated once, whatever the number of pairs.
    codes, place = np.unique(who, return_inverse=True)
    pairs = Population(*(value[:, place] for value in of_reviewers(posterior, score, codes, weight)))
    means, variances = (posterior.mean, posterior.variance * posterior.loops) if qualities is None else qualities
    mean, variance = means[what], variances[what]
    law, unit, observed = pairs.given(mean, variance), score_unit(posterior, score), observed_scores(posterior, score)
    if posterior.extent.orders:
        # Ranks are those of scores less what covariates expect of offsets.
        expected = posterior.expected_offset[who]
        law, ordinal = law.shifted(-expected), pairs.slope.T == 0
        chance = (law.share * ordinal).sum(axis=1)
        fresh = replace(law, share=law.share * ordinal / np.maximum(chance, LEAST_CHANCE**2)[:, None])
        known = np.minimum(who, posterior.slope.size - 1)
        ranks = with_places(
            ranking_of(posterior, observed), fresh, chance, Paired(known, mean, variance, np.full(who.size, -1))
        )
        law = joined(replace(law, share=law.share * ~ordinal), ranks).shifted(expected)
    return law.mapped(unit.location, unit.spread) if observed.levels is None else law.on_levels(observed.levels)


def joined(*parts: Mixture) -> Mixture:
    """Return the mixtures of all components."""
    return Mixture(*(np.concatenate(values, axis=-1) for values in zip(*map(_fields, parts), strict=True)))


def _fields(mixture: Mixture) -> tuple[FloatArray, FloatArray, FloatArray]:
    return mixture.share, mixture.centre, mixture.spread


# Leave-one-out: each score against its prediction from all others.


class LeftOut(NamedTuple):
    """Predictions of each score from all others, standardised, shapes (E,); NaN for reviews not in use.

    ``mean``, ``sd``: of the predictive distribution; ``probability``, ``lower``: that of a score at most as high, and
    of a lower one, which are the same where scores are numbers; ``typical_sd``: root mean square deviation from
    ``mean`` if the reviewer had the mean noise of the population, and ``square_variance``: the variance of the square
    of that deviation, in units of its mean, 2 if normal; ``share``: weight of the review in the offset of its reviewer,
    from 0 to 1.
    """

    mean: FloatArray
    sd: FloatArray
    probability: FloatArray
    lower: FloatArray
    typical_sd: FloatArray
    square_variance: FloatArray
    share: FloatArray


def leave_one_out(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> LeftOut:
    """Predict each score from all others, in standardised units; ``score`` and ``weight`` are those passed to infer."""
    from scipy.special import ndtr

    used = posterior.precision > 0
    result = LeftOut(*np.full((7, used.size), np.nan))
    if not used.any():
        return result
    unit, observed = score_unit(posterior, score), observed_scores(posterior, score)
    # The paper without this review: without its message, and without that of the assortment prior.
    who, what = posterior.reviewer, posterior.item
    precision = 1 / posterior.variance[what] - posterior.precision - posterior.likeness_precision
    shift = posterior.mean[what] / posterior.variance[what] - posterior.shift - posterior.likeness_shift
    mean, variance = shift / precision, posterior.loops[what] / precision
    standard = unit.standardised(score)
    if not posterior.signal:
        centre = posterior.offset[who] + posterior.slope[who] * mean
        sd = np.sqrt(posterior.slope[who] ** 2 * variance + posterior.noise_variance[who])
        below = ndtr((standard - centre) / sd)
        values = (centre, sd, below, below, sd, np.full(used.size, 2.0), np.zeros(used.size))
        return LeftOut(*(np.where(used, value, np.nan) for value in values))
    # Own noise of a reviewer has the mean 1 over the population when divided by this.
    common = np.exp(0.5 * np.exp(2 * posterior.theta[LOG_OWN])) if posterior.extent.own else 1.0
    ranking = ranking_of(posterior, observed) if posterior.extent.orders else None
    for both in steps_by_kind(posterior, observed, weight, np.flatnonzero(used)):
        inside = both[0].block.used > 0
        review = both[0].review[inside]
        mixtures, typicals, weights = [], [], np.zeros(inside.shape)
        for step in both:
            m, v = (np.where(inside, value[step.review], 1.0)[:, None] for value in (mean, variance))
            if step.ordinal:
                m, v = 0.0 * m, np.ones(v.shape)
            given, spread, part = _without_each(step, m, v, observed.rounding, common)
            weights += part * step.chance
            chance = np.broadcast_to(step.chance, inside.shape)[inside]
            mixture = Mixture(given.share[inside], given.centre[inside], given.spread[inside])
            if ranking is not None and step.ordinal:
                pairs = Paired(who[review], mean[review], variance[review], ranking.place[review])
                mixture = with_places(ranking, mixture, chance, pairs)
                spread = mixture.spread
            else:
                mixture, spread = replace(mixture, share=chance[:, None] * mixture.share), spread[inside]
            mixture = mixture.shifted(posterior.expected_offset[who[review]])
            mixtures.append(mixture)
            typicals.append(replace(mixture, spread=spread))
        found = _compared(joined(*mixtures), joined(*typicals), standard[review], score[review], observed.levels, unit)
        for target, value in zip(result, (*found, weights[inside]), strict=True):
            target[review] = value
    return result


def _compared(
    mixture: Mixture, typical: Mixture, standard: FloatArray, score: FloatArray, levels: Levels | None, unit: Unit
) -> tuple[FloatArray, ...]:
    """Return the fields of :class:`LeftOut`, but for the last, of scores with these predictions, (latent) mixtures."""
    if levels is None:
        below = mixture.cdf(standard)
        return mixture.mean, mixture.sd, below, below, typical.sd, np.full(score.size, 2.0)
    law, given = mixture.on_levels(levels), typical.on_levels(levels)
    upper = law.cdf(score)
    lower = upper - (law.probability * (law.value == score[:, None])).sum(axis=-1)
    square = (given.value - law.mean[:, None]) ** 2
    expected = (given.probability * square).sum(axis=-1)
    variance = (given.probability * square**2).sum(axis=-1) / expected**2 - 1
    standardised = unit.standardised(law.mean), law.sd / unit.spread, upper, lower
    return *standardised, np.sqrt(expected) / unit.spread, variance


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
    """Return the standard deviation expected of new scores of each reviewer for the same items, and its 90 % range.

    Shapes (3, M): the root of the expected sample variance, in points, and the ends of the range. Sample variances of
    numbers are about chi^2 with degrees of freedom that match their variance under the posterior (Satterthwaite); those
    of levels are drawn. NaN below two scores in use.
    """
    from scipy.special import chdtri

    used, size = np.flatnonzero(posterior.precision > 0), posterior.slope.size
    if not used.size:
        return np.full((3, size), np.nan)
    unit, observed = score_unit(posterior, score), observed_scores(posterior, score)
    count = np.bincount(posterior.reviewer[used], minlength=size)
    if observed.levels is not None:
        return np.where(count > 1, _drawn_spread(posterior, score, weight), np.nan)
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
        for both in steps_by_kind(posterior, observed, weight, used):
            codes, parts = both[0].block.reviewer, []
            for step in both:
                square, noise = step.at.slope**2, step.at.noise * factor[codes] + observed.rounding
                if step.ordinal:
                    square, noise = 0 * square, noise + square
                parts.append((step.share * step.chance, *moments(square, noise, codes)))
            share, mean, given = (np.concatenate([part[k] for part in parts]) for k in range(3))
            expected[codes] = (share * mean).sum(axis=0)
            variance[codes] = (share * (given + (mean - expected[codes]) ** 2)).sum(axis=0)
    freedom = np.nan_to_num(2 * expected**2 / variance, nan=1.0)
    ends = (expected * chdtri(freedom, 1 - tail) / freedom for tail in RANGE)
    return np.asarray(np.where(count > 1, unit.spread * np.sqrt([expected, *ends]), np.nan))


def _drawn_spread(posterior: Posterior, score: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return root mean squares and 5 % and 95 % quantiles of standard deviations of new levels, shape (3, M)."""
    rng, size, used = np.random.default_rng(0), posterior.slope.size, posterior.precision > 0
    who, squares = posterior.reviewer[used], np.empty((DRAWS, size))
    count = np.maximum(np.bincount(who, minlength=size), 1)
    error = posterior.scale * np.sqrt(posterior.variance * posterior.loops)
    for first in range(0, DRAWS, TOGETHER):
        quality = posterior.quality + error * rng.standard_normal((TOGETHER, error.size))
        for place, new in enumerate(replicated(posterior, score, weight, quality, rng)[:, used]):
            deviation = new - (np.bincount(who, new, size) / count)[who]
            squares[first + place] = np.bincount(who, deviation**2, size) / np.maximum(count - 1, 1)
    return np.asarray(np.sqrt(np.stack([squares.mean(axis=0), *np.quantile(squares, RANGE, axis=0)])))


def replicated(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, quality: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw new scores of all reviews given joint draws of the qualities, shape (D, N), in points; shape (D, E).

    Slope, offset and noise of a reviewer are drawn once per draw from their posterior.
    """
    unit, observed, draws = score_unit(posterior, score), observed_scores(posterior, score), len(quality)
    codes, place = np.unique(posterior.reviewer, return_inverse=True)
    people = of_reviewers(posterior, score, codes, weight)
    # One node per draw and reviewer, by inversion.
    below = np.cumsum(people.share, axis=0)
    node = (rng.random((draws, 1, codes.size)) * below[-1] > below[None]).sum(axis=1)
    slope, mean, variance, noise = (np.take_along_axis(value, node, axis=0) for value in people[1:])
    offset = mean + np.sqrt(variance) * rng.standard_normal(node.shape)
    standard = (quality[:, posterior.item] - posterior.location) / posterior.scale
    level = noise - (observed.rounding if posterior.signal else 0.0)
    deviation = np.sqrt(level[:, place] * noise_factors(posterior, weight) + (noise - level)[:, place])
    new = slope[:, place] * standard + offset[:, place] + deviation * rng.standard_normal(standard.shape)
    if observed.levels is not None:
        return np.asarray(observed.levels.value[np.searchsorted(observed.levels.above[:-1], new)])
    if posterior.extent.orders:
        perceived = standard + np.exp(posterior.theta[LOG_S_R]) * rng.standard_normal(standard.shape)
        for row, seen, ordinal in zip(new, perceived, slope == 0, strict=True):
            given = row.copy()
            given[np.lexsort((seen, place))] = row[np.lexsort((row, place))]
            row[ordinal[place]] = given[ordinal[place]]
    return np.asarray(unit.location + unit.spread * new)


# Joint draws of reviewers.
#
# Given all qualities x, reviewers are independent, and each has the model's own conditional distribution: no further
# approximation than that of the qualities. On a grid of slopes a and own noise, with W the precision of each score,
#
#     P = 1 / omega^2 + sum W,   B = (E[b | a] / omega^2 + sum W (y - a x)) / P
#     log share = log p(a, own) - 1/2 [sum log(1 / W) + log P + E[b | a]^2 / omega^2 + sum W (y - a x)^2 - P B^2]
#
# A point is drawn by its share, then slope and own noise within its cell, then the offset from N(B, 1 / P).

#: Distances and ends of the grid, in posterior standard deviations: given the qualities a slope is better known than on
#: the whole, so cells are finer than the nodes of the inference.
SLOPE_STEP, OWN_STEP, ENDS = 0.35, 0.75, 4.2
#: Numbers of one batch of draws: points x reviewers x draws.
LARGEST_BATCH = 2_000_000


class Drawn(NamedTuple):
    """Draws of each reviewer, shapes (D, M): severity and noise in points, slope relative to a typical reviewer.

    NaN without a score in use. Severity, slope and noise are those of :class:`lsc._inference.beliefs.Reviewers`: of
    ordinal reviewers, those of their scores as if they used the scale.
    """

    severity: FloatArray
    slope: FloatArray
    noise: FloatArray


def reviewer_draws(
    posterior: Posterior,
    score: FloatArray,
    weight: FloatArray | None,
    quality: FloatArray,
    rng: np.random.Generator,
) -> Drawn:
    """Draw severity, slope and noise of all reviewers given joint draws of the qualities, shape (D, N), in points.

    ``score`` and ``weight`` are those passed to the inference. Without signal they are what is reported. Ordinal
    reviewers are drawn as if they used the scale, as they are reported; but the qualities know their ranking.
    """
    of, draws = posterior.reviewers, len(quality)
    if not posterior.signal:
        same = (np.repeat(value.mean[None], draws, axis=0) for value in (of.severity, of.stretch, of.noise))
        return Drawn(*same)
    observed = observed_scores(posterior, score)
    spread = (score_unit(posterior, score) if observed.levels is None else observed.levels.unit).spread
    standard = (quality - posterior.location) / posterior.scale
    drawn = np.full((3, draws, posterior.slope.size), np.nan)
    for step in steps(posterior, observed, weight, np.flatnonzero(posterior.precision > 0), ordinal=False):
        drawn[:, :, step.block.reviewer] = _given(posterior, observed, step, standard, rng)
    offset, slope, noise = drawn
    offset += posterior.expected_offset[:-1]
    return Drawn(
        of.severity.mean - spread * (offset - posterior.offset),
        of.stretch.mean * slope / posterior.slope,
        spread * np.sqrt(noise),
    )


def _given(
    posterior: Posterior, observed: Observations, step: Step, standard: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw offset, slope and noise variance of the reviewers of a step, shape (3, D, m)."""
    theta, members = posterior.theta, step.block.reviewer
    centre, width, own, own_width = posterior.fitted.nodes[:4, members]
    line = np.arange(-ENDS, ENDS + SLOPE_STEP / 2, SLOPE_STEP)
    own_line = np.arange(-ENDS, ENDS + OWN_STEP / 2, OWN_STEP) if posterior.extent.own else np.zeros(1)
    z = np.repeat(centre + line[:, None] * width, own_line.size, axis=0)
    log_own = np.tile(own + own_line[:, None] * own_width if posterior.extent.own else 0.0 * own[None], (line.size, 1))
    at = points_at(z, log_own, np.ones(1), theta, width, own=posterior.extent.own)
    # Precisions of the scores at the points, shape (m, G, k).
    added = np.where(step.review >= 0, observed.variance[step.review], 0.0).T[:, None]
    factor = step.factor.T[:, None]
    used, y = step.block.used.T[:, None], step.block.score.T[:, None]
    precision = used / (at.noise.T[..., None] * factor + added)
    tight = np.exp(-2 * theta[LOG_OMEGA])
    total = tight + precision.sum(axis=-1)
    constant = (used * np.log(np.where(used > 0, precision, 1.0))).sum(axis=-1) - np.log(total)
    constant -= tight * at.offset.T**2 + (precision * y**2).sum(axis=-1)
    constant = at.log_density.T + 0.5 * constant
    weighted = (precision * y).sum(axis=-1)
    item = np.where(step.review >= 0, posterior.item[step.review], posterior.item[step.review[0]])
    each = np.arange(members.size)[:, None]
    parts, size = [], max(1, LARGEST_BATCH // constant.size)
    for first in range(0, len(standard), size):
        x = np.moveaxis(standard[first : first + size][:, item], 0, -1).swapaxes(0, 1)
        by_x, by_square, by_both = precision @ x, precision @ x**2, (precision * y) @ x
        slope, pull = at.slope.T[..., None], weighted[..., None]
        log_share = tight * at.offset.T[..., None] + pull - slope * by_x
        log_share *= log_share
        log_share *= 0.5 / total[..., None]
        log_share += constant[..., None]
        by_both *= slope
        log_share += by_both
        by_square *= 0.5 * slope**2
        log_share -= by_square
        log_share -= log_share.max(axis=1, keepdims=True)
        # Single precision is enough for probabilities of points, and four times as fast.
        share = np.cumsum(np.exp(log_share.astype(np.float32)), axis=1)
        node = (rng.random((members.size, 1, x.shape[-1])) * share[:, -1:] > share).sum(axis=1)
        # Within the cell of the point, and the offset given the slope there.
        log_slope = at.log_slope.T[each, node] + SLOPE_STEP * width[:, None] * (rng.random(node.shape) - 0.5)
        own_part = at.log_own.T[each, node]
        if posterior.extent.own:
            own_part = own_part + OWN_STEP * own_width[:, None] * (rng.random(node.shape) - 0.5)
        a = np.exp(log_slope)
        noise = np.exp(2 * (theta[NU] + theta[RHO] * (log_slope - theta[MU])) + own_part)
        expected = theta[G0] + theta[G1] * a
        inner = total[each, node]
        drift = tight * expected + weighted[each, node] - a * by_x[each, node, np.arange(x.shape[-1])]
        offset = drift / inner + rng.standard_normal(node.shape) / np.sqrt(inner)
        # The noise of a typical review: by the mean factor, or where scores are levels of the mean precision.
        if observed.levels is None:
            typical = noise * ((factor * used).sum(axis=-1) / used.sum(axis=-1)) + observed.rounding
        else:
            typical = used.sum(axis=-1) / (used / (noise[..., None] + added)).sum(axis=-1)
        parts.append(np.stack([offset, a, typical]).swapaxes(1, 2))
    return np.concatenate([np.empty((3, 0, members.size)), *parts], axis=1)


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
        variance = summed(weight**2 * left_out.square_variance[used])
        variance += 2.0 * (summed(weight * ratio) ** 2 - summed((weight * ratio) ** 2))
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / total(weight))

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
