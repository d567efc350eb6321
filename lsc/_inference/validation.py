"""What the correction is worth: how well qualities foretell a reviewer who was not heard, against averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import InferenceStatus, Posterior
from lsc._inference.inferring import fit_averages
from lsc._inference.model import GAMMA, LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, NU, RHO
from lsc._inference.states import LEAST_NOISE, Rows, equal_scores, prepare, start, unit_of
from lsc._inference.sweeps import settle
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray

#: A fifth of the reviewers is withheld at a time; no further fold begins once so many reviews have been foretold.
FOLDS, ENOUGH = 5, 20_000
#: Reviewers of two foretold scores or more, below which the spread between them says nothing.
LEAST_REVIEWERS = 5
#: With hyperparameters given messages settle, to a tenth of the gain's error, in so many sweeps.
SWEEPS = 8
#: Decimals of a standard deviation by which qualities differ at least: sums in another order differ by less.
DECIMALS = 9


class Gain(NamedTuple):
    """By how much the order in which withheld reviewers put their papers is foretold better than by averages.

    Parameters
    ----------
    relative
        1 - squared error of the posterior's qualities / that of averages; NaN where fewer than five reviewers gave two
        scores or more to items that others scored.
    standard_error
        Of ``relative``, from the spread over reviewers.
    error, average_error
        Root mean squared errors, in ranks: 0 is the lowest of all scores, 1 the highest.
    reviews
        How many reviews were foretold.
    """

    relative: float
    standard_error: float
    error: float
    average_error: float
    reviews: int


class Foretold(NamedTuple):
    """Withheld reviews, shapes (E',): reviewer, score, and quality and average of the item as others tell them."""

    reviewer: IntArray
    score: FloatArray
    quality: FloatArray
    average: FloatArray


def held_out_gain(
    posterior: Posterior,
    score: FloatArray,
    *,
    weight: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
) -> Gain:
    """Withhold reviewers in folds and compare how qualities and averages of the others foretell their scores.

    What is asked is the worth of the qualities. A score also depends on the reviewer's severity, of which one or two
    other scores tell next to nothing, so that whoever predicts single scores measures mostly that. Therefore whole
    reviewers are withheld, both methods are given the same calibration of them (the level of each reviewer, and one
    slope in common), and what they explain is how her scores differ from each other. Ranks take the place of scores
    and qualities: papers are selected by their order, and a scale that ends at its best score bends the rest.

    Averages are drawn to the middle as far as the scores ask, as the posterior is. Hyperparameters are those of all
    reviews. At most about 20,000 reviews are foretold.

    Parameters
    ----------
    posterior
        Of all reviews.
    score, weight
        Shape (E,): what :func:`lsc._inference.inferring.infer` was given.
    seed
        Of the folds.

    Notes
    -----
    Linear in reviews; eight sweeps a fold.
    """
    found = _withhold(posterior, score, weight, np.random.default_rng(seed))
    who, code = np.unique(found.reviewer, return_inverse=True)
    if who.size < LEAST_REVIEWERS:
        return Gain(np.nan, np.nan, np.nan, np.nan, found.score.size)
    truth = _within(found.score, code)
    return _compared(
        _unexplained(truth, _within(found.quality, code)), _unexplained(truth, _within(found.average, code)), code
    )


def _withhold(posterior: Posterior, score: FloatArray, weight: FloatArray | None, rng: np.random.Generator) -> Foretold:
    """Withhold the reviewers of two heard scores or more in turn; keep what can be compared within a reviewer."""
    heard = posterior.precision > 0
    load = np.bincount(posterior.reviewer[heard], minlength=posterior.slope.size)
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, FOLDS)
    fold[several] = rng.permutation(several.size) % FOLDS
    parts = [Foretold(np.empty(0, np.int64), *np.empty((3, 0)))]
    for number in range(FOLDS):
        held = fold[posterior.reviewer] == number
        there = np.bincount(posterior.item[~held], minlength=posterior.mean.size) > 0
        asked = held & heard & there[posterior.item]
        asked &= (np.bincount(posterior.reviewer[asked], minlength=load.size) > 1)[posterior.reviewer]
        if asked.any():
            average = _averages(posterior, score, ~held)
            quality = average
            if posterior.status is not InferenceStatus.NO_SIGNAL:
                quality = _qualities(posterior, Rows(posterior.reviewer, posterior.item, score, weight), ~held)
            item = posterior.item[asked]
            parts.append(Foretold(posterior.reviewer[asked], score[asked], quality[item], average[item]))
        if sum(part.score.size for part in parts) >= ENOUGH:
            break
    return Foretold(*map(np.concatenate, zip(*parts, strict=True)))


def _averages(posterior: Posterior, score: FloatArray, kept: BoolArray) -> FloatArray:
    """Average of each item over the reviews kept, drawn to the middle, shape (N,)."""
    what, size = posterior.item[kept], posterior.mean.size
    found = fit_averages(what, score[kept], LEAST_NOISE * max(float(score.var()), LEAST_NOISE))
    ratio = found.slope**2 / found.noise
    weight = ratio / (1.0 + ratio * np.bincount(what, minlength=size))
    return np.asarray(found.mean + weight * np.bincount(what, score[kept] - found.mean, size))


def _qualities(posterior: Posterior, rows: Rows, kept: BoolArray) -> FloatArray:
    """Quality of each item from the reviews kept, shape (N,), internal scale."""
    sizes = posterior.slope.size, posterior.mean.size
    # The unit of the scores stays that of all of them, in which the hyperparameters were learned.
    heard = posterior.precision > 0
    whole = prepare(rows.only(heard), *sizes)
    problem = prepare(rows.only(kept & heard), *sizes, unit=whole.unit).problem
    return settle(problem, start(problem, posterior.theta, posterior.extent), SWEEPS).mean[:-1]


def _within(value: FloatArray, code: IntArray) -> FloatArray:
    """Share of all values that lie below each, ties counted half, less the reviewer's mean."""
    spread = float(value.std()) or 1.0
    _, place, count = np.unique(np.round(value / spread, DECIMALS), return_inverse=True, return_counts=True)
    rank = ((np.cumsum(count) - 0.5 * count) / value.size)[place]
    return np.asarray(rank - (np.bincount(code, rank) / np.bincount(code))[code])


def _unexplained(truth: FloatArray, told: FloatArray) -> FloatArray:
    """Squared error of the best multiple of what a method tells; none is used upside down."""
    square = float(told @ told)
    slope = max(float(told @ truth) / square, 0.0) if square > 0 else 0.0
    return np.asarray((truth - slope * told) ** 2)


def _compared(ours: FloatArray, theirs: FloatArray, code: IntArray) -> Gain:
    """Compare squared errors.

    A reviewer's errors belong together. Where two reviewers of an item agree by chance, both are foretold too well: it
    enters the sum twice, which doubles the variance that the spread over reviewers shows.
    """
    error, average_error = float(np.sqrt(ours.mean())), float(np.sqrt(theirs.mean()))
    total = float(theirs.sum())
    if total <= 0:
        return Gain(np.nan, np.nan, error, average_error, ours.size)
    relative = 1.0 - float(ours.sum()) / total
    off = np.bincount(code, theirs - ours - relative * theirs)
    variance = 2.0 * (off**2).sum() * off.size / (off.size - 1)
    return Gain(relative, float(np.sqrt(variance)) / total, error, average_error, ours.size)


# Whether a reviewer's scores contradict those of the others beyond noise.
#
# Each reviewer is compared with what all others say of the papers: the beliefs without what they said themselves, mean
# m
# and variance v. Under the model, with slope a and noise s^2 from the population of reviewers,
#
#     y = b + a x + e,   x ~ N(m, v),   e ~ N(0, s^2)
#
# so that two statistics have known distributions given a and s^2. With weights w = 1 / (a0^2 v + s0^2), a0 and s0 those
# of a typical reviewer, and y', m' less their weighted means over the reviewer's papers (the level b is free):
#
# * agreement T = sum w m' y' / a0 sum w m'^2: 1 for a typical reviewer, 0 where scores have nothing to do with those of
#   the others, below 0 where they are reversed; normal, too low is what counts.
# * mean square Q = sum w (y' - a0 m')^2 / (k - 1): 1 is expected of a typical reviewer; about a noncentral chi^2 with
#   k - 1 degrees of freedom, too large is what counts.
#
# Both are averaged over the slopes and noises that reviewers have.

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
        Shape (E,): what :func:`lsc._inference.inferring.infer` was given.

    Examples
    --------
    >>> from lsc._inference.inferring import infer
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
