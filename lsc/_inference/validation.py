"""Validation of the posterior: prediction of held-out reviewers, and reviewers who contradict the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.fitting import Population, fit
from lsc._inference.inferring import fit_averages, problem_of
from lsc._inference.scores import MIN_NOISE
from lsc._inference.step import Part, pieces_of, state_of
from reviewgraph._base import BoolArray, FloatArray, IntArray, Result, counted, snapped

#: Number of folds of reviewers, and number of predicted reviews from which no further fold begins.
FOLDS = 5
MAX_PREDICTED = 20_000
#: Minimum number of reviewers with two predicted scores for a standard error.
MIN_REVIEWERS = 5
#: Sweeps with fixed hyperparameters: messages then have converged to a tenth of the standard error of the gain.
SWEEPS = 8


@dataclass(frozen=True, repr=False)
class HeldOutGain(Result):
    """How much better the posterior predicts the rankings of held-out reviewers than averages do; one row.

    Parameters
    ----------
    relative
        1 - squared error of the posterior's qualities / that of averages; NaN if fewer than five reviewers gave at
        least two scores to items that others scored.
    standard_error
        Of ``relative``, from the variance between reviewers.
    error, average_error
        Root mean squared errors, in ranks: 0 is the lowest of all scores, 1 the highest.
    n_reviews
        Number of predicted reviews.

    Examples
    --------
    >>> HeldOutGain(0.25, 0.1, 0.15, 0.173, 40)
    <HeldOutGain: 25 % +- 10 % less squared error than averages, 40 held-out reviews>
    """

    relative: float
    standard_error: float
    error: float
    average_error: float
    n_reviews: int

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, None where they cannot be estimated."""
        return {name: column[0] for name, column in self.to_columns().items()}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row, a column per value."""
        names = {"n_reviews": "reviews"}
        return {names.get(name, name): [None if value != value else value] for name, value in vars(self).items()}

    def headline(self) -> str:
        """Return the gain with its standard error."""
        reviews = counted(self.n_reviews, "held-out review")
        if not np.isfinite(self.relative):
            return f"too few reviewers to estimate it, {reviews}"
        less = "less" if self.relative >= 0 else "more"
        by = f"{100 * abs(self.relative):.0f} % +- {100 * self.standard_error:.0f} %"
        return f"{by} {less} squared error than averages, {reviews}"


class HeldOut(NamedTuple):
    """Held-out reviews, shapes (E',): reviewer, score, and quality and average of the item from the other reviewers."""

    reviewer: IntArray
    score: FloatArray
    quality: FloatArray
    average: FloatArray


def held_out_gain(posterior: Posterior, seed: int | np.random.Generator = 0) -> HeldOutGain:
    """Hold out reviewers in folds and compare how qualities and averages from the others predict their scores.

    Whole reviewers are held out, because a score also depends on the severity of its reviewer, which one or two other
    scores barely determine: predicting single scores would mostly measure that. Both methods get the same calibration
    of the held-out reviewers (their level, and one common slope); compared is the variance within reviewers explained.
    Ranks replace scores and qualities: papers are selected by rank, and a scale that ends at its best score bends the
    rest.

    Averages are shrunk as far as the scores require, as the posterior is. Hyperparameters are those of all reviews; at
    most about 20,000 reviews are predicted. O(E); eight sweeps per fold.
    """
    predictions = _predict(posterior, np.random.default_rng(seed))
    who, code = np.unique(predictions.reviewer, return_inverse=True)
    if who.size < MIN_REVIEWERS:
        return HeldOutGain(np.nan, np.nan, np.nan, np.nan, predictions.score.size)
    truth = centred_ranks(predictions.score, code)
    ours = squared_errors(truth, centred_ranks(predictions.quality, code))
    theirs = squared_errors(truth, centred_ranks(predictions.average, code))
    relative, standard_error = saved(ours, theirs, code)
    error = float(np.sqrt(ours.mean()))
    return HeldOutGain(relative, standard_error, error, float(np.sqrt(theirs.mean())), ours.size)


def saved(ours: FloatArray, theirs: FloatArray, code: IntArray) -> tuple[float, float]:
    """Return 1 - sum(ours) / sum(theirs) of squared errors, linearised in both sums for its standard error."""
    total = float(theirs.sum())
    if total <= 0:
        return np.nan, np.nan
    relative = 1.0 - float(ours.sum()) / total
    return relative, clustered_error(theirs - ours - relative * theirs, code) / total


def clustered_error(terms: FloatArray, code: IntArray) -> float:
    """Return the standard error of a sum of terms that depend on each other within reviewers.

    Where two reviewers of an item agree by chance, both are predicted too well: it enters the sum twice, which doubles
    the variance between reviewers.
    """
    sums = np.bincount(code, terms)
    return float(np.sqrt(2.0 * (sums**2).sum() * sums.size / (sums.size - 1)))


def _predict(posterior: Posterior, rng: np.random.Generator) -> HeldOut:
    """Hold out the reviewers with at least two used scores in turn; keep what is comparable within a reviewer."""
    rows = posterior.used
    who = posterior.reviewer[rows]
    what = posterior.item[rows]
    score = posterior.scores.score
    load = np.bincount(who, minlength=posterior.slope.size)
    fold = folds_of(load, rng)
    parts = [HeldOut(np.empty(0, np.int64), *np.empty((3, 0)))]
    for number in range(FOLDS):
        test = fold[who] == number
        scored = np.bincount(what[~test], minlength=posterior.mean.size) > 0
        predicted = test & scored[what]
        predicted &= (np.bincount(who[predicted], minlength=load.size) > 1)[who]
        if predicted.any():
            quality = average = _averages(what[~test], score[~test], posterior.mean.size)
            if posterior.population is not None:
                quality = _qualities(posterior, posterior.population, ~test)
            item = what[predicted]
            parts.append(HeldOut(who[predicted], score[predicted], quality[item], average[item]))
        if sum(part.score.size for part in parts) >= MAX_PREDICTED:
            break
    return HeldOut(*map(np.concatenate, zip(*parts, strict=True)))


def folds_of(load: IntArray, rng: np.random.Generator, folds: int = FOLDS) -> IntArray:
    """Return the fold of each reviewer, shape (M,); those with fewer than two reviews are in none: ``folds``."""
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, folds)
    fold[several] = rng.permutation(several.size) % folds
    return fold


def _qualities(posterior: Posterior, population: Population, kept: BoolArray) -> FloatArray:
    """Infer qualities from the used reviews that are kept, shape (N,), with the hyperparameters of all reviews."""
    part = posterior.scores.part
    who = posterior.reviewer[posterior.used][kept]
    load = np.bincount(who, minlength=posterior.slope.size)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(load)])
    log_weight = part.log_weight[kept] if part.log_weight.size else part.log_weight
    state = state_of(Part(start, part.item[kept], part.score[kept], log_weight))
    # Similar papers need the spectrum of their prior: held-out scores are compared without.
    problem = problem_of(pieces_of(state, posterior.mean.size))
    items = fit(problem, population._replace(kappa=0.0), max_sweeps=SWEEPS, learn=False).items
    return np.asarray(items.shift / items.precision)


def _averages(item: IntArray, score: FloatArray, size: int) -> FloatArray:
    """Average of each item, shrunk towards the mean, shape (N,)."""
    count = np.bincount(item, minlength=size)
    total = np.asarray(np.bincount(item, score, size), np.float64)
    null = fit_averages(count, total, float(score @ score), MIN_NOISE * max(float(score.var()), MIN_NOISE))
    ratio = null.slope**2 / null.noise
    return np.asarray(null.mean + ratio * (total - count * null.mean) / (1.0 + ratio * count))


def centred_ranks(value: FloatArray, code: IntArray) -> FloatArray:
    """Share of all values below each, ties counted half, minus the mean of the reviewer."""
    spread = float(value.std()) or 1.0
    _, place, count = np.unique(snapped(value, spread), return_inverse=True, return_counts=True)
    return centred(((np.cumsum(count) - 0.5 * count) / value.size)[place], code)


def centred(value: FloatArray, code: IntArray) -> FloatArray:
    """Return values minus the mean of their reviewer, given by code 0, 1, ... without gaps.

    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    return np.asarray(value - (np.bincount(code, value) / np.bincount(code))[code])


def best_multiple(truth: FloatArray, prediction: FloatArray) -> float:
    """Return the non-negative multiple of the prediction with the least squared error; 0 for a constant 0."""
    square = float(prediction @ prediction)
    return max(float(prediction @ truth) / square, 0.0) if square > 0 else 0.0


def squared_errors(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    """Squared errors of the best non-negative multiple of the prediction."""
    return np.asarray((truth - best_multiple(truth, prediction) * prediction) ** 2)


# Whether a reviewer's scores contradict those of the others beyond noise.
#
# Each reviewer is compared with the cavity distributions of their papers, mean m and variance v. Under the model, with
# slope a and noise s^2 from the population of reviewers,
#
#     y = b + a x + e,   x ~ N(m, v),   e ~ N(0, s^2)
#
# With weights w = 1 / (a0^2 v + s0^2), a0 and s0 those of a typical reviewer, and y', m' centred with these weights
# over the reviewer's papers (the offset b is free), the agreement
#
#     T = sum w m' y' / a0 sum w m'^2
#
# is 1 for a typical reviewer, 0 for scores unrelated to those of the others, negative for reversed ones. Given a and
# s^2 it is normal; its lower tail is averaged over the population of slopes and noises.

#: Quadrature nodes of slope and of own noise, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Significance level of the corrected p-values. The population is an estimate: of tables simulated from the model 3 or
#: 4 in 100 have a significant reviewer, and 17 where the logs of noises differ with a standard deviation of .4.
SIGNIFICANCE = 0.01
#: Weighted mean square of differences between papers that is rounding.
NEGLIGIBLE = 1e-12


class Misfit(NamedTuple):
    """How each reviewer's scores fit those of the others, shapes (M,); NaN below two used scores.

    ``agreement``: slope of the scores on the predictions of the others, relative to a typical reviewer, 1 is expected,
    0 is none, negative means reversed, NaN where the others do not distinguish the papers; ``p_value``: probability of
    so low an agreement under the model.
    """

    agreement: FloatArray
    p_value: FloatArray

    @property
    def corrected(self) -> FloatArray:
        """Shape (M,): p-values times the number of reviewers tested, 1 at most (Bonferroni)."""
        return np.asarray(np.minimum(self.p_value * np.isfinite(self.p_value).sum(), 1.0))

    @property
    def contradicts(self) -> BoolArray:
        """Shape (M,): whose scores contradict those of the others beyond noise."""
        significant: BoolArray = self.corrected < SIGNIFICANCE
        return significant


class UsedReviews(NamedTuple):
    """Reviews, shapes (E,): reviewer, standardised score, cavity mean and variance of the paper, noise factor."""

    reviewer: IntArray
    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    factor: FloatArray


class Slopes(NamedTuple):
    """Nodes of slope and noise, shapes (G,), with weights that sum to 1; a typical reviewer; rounding variance."""

    weight: FloatArray
    slope: FloatArray
    noise: FloatArray
    typical_slope: float
    typical_noise: float
    rounding: float


def misfit_of(posterior: Posterior) -> Misfit:
    """Compare each reviewer with all others; O(E)."""
    rows = posterior.used
    item = posterior.item[rows]
    part = posterior.scores.part
    # Cavities of the papers without each review, its share of the similarity included; what weights multiply noise by.
    precision = 1 / posterior.variance[item] - posterior.precision[rows] - posterior.likeness_precision[rows]
    shift = posterior.mean[item] / posterior.variance[item] - posterior.shift[rows] - posterior.likeness_shift[rows]
    factor = np.ones(rows.size)
    if posterior.population is not None and part.log_weight.size:
        factor = np.exp(-posterior.population.gamma * part.log_weight)
    used = UsedReviews(posterior.reviewer[rows], part.score, shift / precision, 1 / precision, factor)
    return misfits(used, population_of(posterior), posterior.slope.size)


def population_of(posterior: Posterior) -> Slopes:
    """Return the fitted population of slopes and noises."""
    population = posterior.population
    if population is None:
        typical, _, error = posterior.alike
        return Slopes(np.ones(1), np.full(1, typical), np.full(1, error), typical, error, 0.0)
    density = np.exp(-0.5 * NODES**2)
    scale = population.scales(NODES)
    share = np.outer(scale * density, density).ravel()
    share /= share.sum()
    deviation = np.repeat(scale * NODES, NODES.size)
    # The logarithm of a reviewer's noise has the variance of that of the scaled inverse chi^2.
    own_noise = np.tile(np.sqrt(2 / population.freedom) * NODES, NODES.size)
    slope = np.exp(population.mu + deviation)
    noise = population.pooled * np.exp(2.0 * population.rho * deviation + own_noise)
    return Slopes(share, slope, noise, float(share @ slope), population.pooled, population.rounding)


def misfits(rows: UsedReviews, population: Slopes, n_reviewers: int) -> Misfit:
    """Return the agreement of each reviewer, and the probability of a lower one."""
    from scipy.special import ndtr

    who = rows.reviewer
    a0 = population.typical_slope
    weight = 1.0 / (a0**2 * rows.variance + population.typical_noise * rows.factor + population.rounding)

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, n_reviewers))

    count = summed(np.ones(who.size))
    total = np.where(count > 0, summed(weight), 1.0)
    mean = rows.mean - (summed(weight * rows.mean) / total)[who]
    spread = summed(weight * mean**2)
    cross = summed(weight * mean * rows.score)
    # Agreement is undefined where the others do not distinguish the papers.
    distinguished = spread > NEGLIGIBLE * count

    # Given slope and noise, the variance of cross is a sum of those of papers, of noise, and of rounding.
    of_papers, of_noise, of_rounding = (
        summed((weight * mean) ** 2 * part) for part in (rows.variance, rows.factor, np.ones(who.size))
    )
    too_low = np.zeros(n_reviewers)
    for share, slope, noise in zip(population.weight, population.slope, population.noise, strict=True):
        error = np.sqrt(slope**2 * of_papers + noise * of_noise + population.rounding * of_rounding)
        standardised = np.divide(cross - slope * spread, error, out=np.zeros(n_reviewers), where=distinguished)
        too_low += share * np.where(distinguished, ndtr(standardised), 1.0)
    agreement = np.divide(cross, a0 * spread, out=np.full(n_reviewers, np.nan), where=distinguished)
    return Misfit(*np.where(count > 1, [agreement, np.minimum(too_low, 1.0)], np.nan))
