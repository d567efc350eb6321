"""What the correction is worth: predictions of held-out reviews against those of averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.averages import fit_averages
from lsc.inference.beliefs import Posterior, Status
from lsc.inference.climbing import climb
from lsc.inference.describing import people, typical
from lsc.inference.preparing import LEAST_NOISE, Rows, prepare
from lsc.inference.sweeps import start
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: A fifth of the reviews is held out at a time; no further fold begins once so many have been predicted.
FOLDS, ENOUGH = 5, 20_000


class Gain(NamedTuple):
    """By how much held-out scores are predicted better than by the average of an item's other scores.

    The average is drawn to the middle as far as the scores ask, as the posterior is: a plain one would lose by that
    alone, although it ranks the same.

    Parameters
    ----------
    relative
        1 - mean squared error of the posterior / that of the average; NaN where nothing can be held out.
    standard_error
        Of ``relative``, from the spread over reviewers.
    error, average_error
        Root mean squared errors in points of the scores.
    reviews
        How many reviews were held out and predicted.
    """

    relative: float
    standard_error: float
    error: float
    average_error: float
    reviews: int


def held_out_gain(posterior: Posterior, score: FloatArray, *, weight: FloatArray | None = None, seed: int = 0) -> Gain:
    """Hold reviews out in folds, predict them with the hyperparameters of all, and compare with the average.

    A review is predicted by ``E b_j + E a_j E x_i`` from the other folds, and by the average of its item there, drawn
    to the middle; reviews of items without another score are left out. At most about 20,000 reviews are predicted.

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
    Linear in reviews; as much work as about a dozen sweeps a fold.
    """
    rng = np.random.default_rng(seed)
    # Rows are numbered by reviewer and item, so that their order in the input does not matter.
    fold = np.empty(score.size, np.int64)
    fold[np.lexsort((posterior.item, posterior.reviewer))] = rng.permutation(score.size) % FOLDS
    ours, theirs, who = [], [], []
    for number in range(FOLDS):
        held = fold == number
        there = np.bincount(posterior.item[~held], minlength=posterior.mean.size) > 0
        asked = held & there[posterior.item]
        if asked.any():
            truth = score[asked]
            ours.append((truth - _predicted(posterior, score, weight, ~held)[asked]) ** 2)
            theirs.append((truth - _averages(posterior, score, ~held)[asked]) ** 2)
            who.append(posterior.reviewer[asked])
        if sum(map(len, who)) >= ENOUGH:
            break
    if not who:
        return Gain(np.nan, np.nan, np.nan, np.nan, 0)
    return _compared(np.concatenate(ours), np.concatenate(theirs), np.concatenate(who))


def _compared(ours: FloatArray, theirs: FloatArray, who: IntArray) -> Gain:
    """Compare squared errors; a reviewer's errors belong together."""
    total = float(theirs.sum())
    if total <= 0:
        return Gain(np.nan, np.nan, float(np.sqrt(ours.mean())), 0.0, ours.size)
    relative = 1.0 - float(ours.sum()) / total
    _, code = np.unique(who, return_inverse=True)
    off = np.bincount(code, theirs - ours - relative * theirs)
    error = np.sqrt((off**2).sum() * off.size / max(off.size - 1, 1)) / total
    return Gain(relative, float(error), float(np.sqrt(ours.mean())), float(np.sqrt(theirs.mean())), ours.size)


def _averages(posterior: Posterior, score: FloatArray, kept: BoolArray) -> FloatArray:
    """Average of the item of each review over the reviews kept, drawn to the middle, shape (E,)."""
    what, size = posterior.item[kept], posterior.mean.size
    found = fit_averages(what, score[kept], LEAST_NOISE * max(float(score.var()), LEAST_NOISE))
    ratio = found.slope**2 / found.noise
    weight = ratio / (1.0 + ratio * np.bincount(what, minlength=size))
    average = found.mean + weight * np.bincount(what, score[kept] - found.mean, size)
    return np.asarray(average[posterior.item])


def _predicted(posterior: Posterior, score: FloatArray, weight: FloatArray | None, kept: BoolArray) -> FloatArray:
    """Score expected of each review from the reviews kept, shape (E,)."""
    if posterior.status is Status.NO_SIGNAL:
        return _averages(posterior, score, kept)
    sizes = posterior.slope.size, posterior.mean.size
    rows = Rows(posterior.reviewer, posterior.item, score, weight)
    # The unit of the scores stays that of all of them, in which the hyperparameters were learned.
    heard = posterior.precision > 0
    whole = prepare(_some(rows, heard), *sizes)
    scores = prepare(_some(rows, kept & heard), *sizes, unit=whole)
    state = start(scores.problem, posterior.theta, posterior.extent)
    found = climb(scores.problem, state, np.zeros(posterior.theta.size, bool), rough=True)
    seen = people(scores.problem, found.state)
    offset, slope = typical(seen, np.bincount(rows.reviewer[kept & heard], minlength=sizes[0]))
    b = np.where(np.isnan(seen.offset), offset, seen.offset)[posterior.reviewer]
    a = np.where(np.isnan(seen.slope), slope, seen.slope)[posterior.reviewer]
    expected = b + a * found.last.mean[posterior.item]
    return np.asarray(whole.location + whole.spread * expected)


def _some(rows: Rows, kept: BoolArray) -> Rows:
    weight = None if rows.weight is None else rows.weight[kept]
    return Rows(rows.reviewer[kept], rows.item[kept], rows.score[kept], weight)
