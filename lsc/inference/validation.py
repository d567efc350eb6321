"""What the correction is worth: how well qualities foretell a reviewer who was not heard, against averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.averages import fit_averages
from lsc.inference.beliefs import Posterior, Status
from lsc.inference.climbing import settle
from lsc.inference.preparing import LEAST_NOISE, Rows, prepare
from lsc.inference.states import start
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

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
        Shape (E,): what :func:`lsc.inference.inferring.infer` was given.
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
            if posterior.status is not Status.NO_SIGNAL:
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
