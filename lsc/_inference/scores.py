"""Scores as the inference takes them: checked, standardised, rankings as normal scores, in parts by reviewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lsc._inference.step import Part
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray

#: Least noise variance of standardised scores, beside that of rounding.
MIN_NOISE = 1e-4
#: A reviewer with constant scores is ignored if such scores have a lower probability than this by chance, unless more
#: than this share of the reviewers is of that kind.
CHANCE = 0.01
MAX_SHARE = 0.1
#: Outlier: a score ``RATIO * (1 + SMALL_TABLE / E)`` times farther from the median than all but the farthest hundredth;
#: looked for from ``MIN_SCORES`` scores on.
OUTLIER_RATIO = 30.0
SMALL_TABLE = 10.0
EXTREME_SHARE = 0.01
MIN_SCORES = 3
#: Maximum ratio of the 95 % and 5 % quantiles of the ranges of reviewers for which scores have one unit.
MAX_RANGE_RATIO = 1e5
TAIL = 0.05
#: Scores that are compared at once.
BLOCK = 1 << 22
#: Fewest reviewers of a load, on average, who can be alike by design only.
LIKE_OTHERS = 3


class Unit(NamedTuple):
    """Mean and standard deviation of the scores, and rounding variance relative to the square of the latter.

    ``ranked``: scores are rankings, whose evidence does not tell whether reviewers are alike.
    """

    location: float
    spread: float
    rounding: float
    ranked: bool = False

    def standardised(self, score: FloatArray) -> FloatArray:
        """Return scores of mean 0 and variance 1."""
        return np.asarray((score - self.location) / self.spread)


class Scores(NamedTuple):
    """Scores that the inference uses.

    ``used`` (E,): of reviewers who are not ignored; ``score`` (E,): in points, rankings as normal scores; ``unit``;
    ``order``: the used reviews by reviewer and item; ``part``: these, standardised.
    """

    used: BoolArray
    score: FloatArray
    unit: Unit
    order: IntArray
    part: Part


def prepare(
    reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, weight: FloatArray | None = None
) -> Scores:
    """Check and standardise scores; weights become standardised logarithms.

    Raises InputError if a score is a likely data-entry error, or units differ.
    """
    check_no_outlier(np.sort(score), lambda worst: int(np.argmax(score == worst)))
    low, high = extremes(reviewer, score, n_reviewers)
    require_one_unit(low, high)
    load = np.bincount(reviewer, minlength=n_reviewers)
    equal = equal_scores(np.sort(score))
    used = ~uninformative(load, low == high, equal)[reviewer]
    count = np.bincount(reviewer[used], minlength=n_reviewers)
    equal = equal_scores(np.sort(score[used]))
    sums = np.bincount(reviewer[used], ranking_sums(score[used]), n_reviewers).astype(np.float64)
    ranked = are_rankings(count, sums, equal)
    if ranked:
        score = score.copy()
        score[used] = normal_scores(reviewer[used], score[used], float(score[used].mean()), float(score[used].std()))
        equal = equal_scores(np.sort(score[used]))
    unit = unit_of(score[used], equal)._replace(ranked=ranked)
    order = np.flatnonzero(used)
    order = order[np.lexsort((item[order], reviewer[order]))]
    log_weight = np.empty(0)
    if weight is not None and np.ptp(weight[order]) > 0:
        logs = np.log(weight[order])
        log_weight = (logs - logs.mean()) / logs.std()
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
    part = Part(start, item[order].astype(np.int32), unit.standardised(score[order]), log_weight)
    return Scores(used, score, unit, order, part)


def unit_of(score: FloatArray, equal: float) -> Unit:
    """Return the unit of scores.

    ``equal`` is the probability p that two of them are equal. Normal scores rounded to a grid of width d are equal with
    probability d / (2 sqrt(pi) sigma), and rounding adds d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    if not score.size:
        return Unit(0.0, 1.0, MIN_NOISE)
    mean = float(score.mean())
    deviation = float(score.std())
    # All scores equal, but for rounding of their mean: there is no unit.
    spread = 1.0 if deviation <= 1e-12 * float(np.abs(score).max()) else deviation
    return Unit(mean, spread, float(np.pi / 3 * equal**2) + MIN_NOISE)


def extremes(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each reviewer, shapes (M,); infinite without scores."""
    low = np.full(n_reviewers, np.inf)
    high = np.full(n_reviewers, -np.inf)
    np.minimum.at(low, reviewer, score)
    np.maximum.at(high, reviewer, score)
    return low, high


def ranking_sums(score: FloatArray) -> FloatArray:
    """Return y (y - e), whose sum is the same for the same scores in another order, and by chance only for others.

    Squares alone are the same for a scale turned round.
    """
    return np.asarray(score * (score - np.e))


def are_rankings(load: IntArray, total: FloatArray, equal: float) -> bool:
    """Whether reviewers of as many papers all give the same scores in another order, and none twice, as ranks are.

    ``load``, ``total`` (M,): number of scores, and sum of :func:`ranking_sums`, of each reviewer. ``equal``:
    probability that two scores are equal, which is at most M / E if no reviewer gives one twice.

    >>> are_rankings(np.full(9, 3), np.full(9, ranking_sums(np.array([1.0, 3.0, 2.0])).sum()), 8 / 26)
    True
    """
    several = load > 1
    if equal * load.sum() > (load > 0).sum():
        return False
    sizes, kind = np.unique(load[several], return_inverse=True)
    if kind.size < max(LIKE_OTHERS * sizes.size, 1):
        return False
    smallest, largest = extremes(kind, total[several], sizes.size)
    return bool(np.allclose(smallest, largest, rtol=0.0, atol=1e-9 * load.max()))


def normal_scores(reviewer: IntArray, score: FloatArray, mean: float, spread: float) -> FloatArray:
    """Replace the scores of each reviewer by normal scores of their ranks, about a mean and with a spread.

    >>> normal_scores(np.zeros(3, int), np.array([1.0, 2.0, 3.0]), 2.0, 1.0).round(2).tolist()
    [1.03, 2.0, 2.97]
    """
    from scipy.special import ndtri

    order = np.lexsort((score, reviewer))
    who = reviewer[order]
    value = score[order]
    load = np.bincount(who)
    place = np.arange(who.size) - (np.cumsum(load) - load)[who]
    # Equal scores share their mean rank.
    group = np.cumsum((np.diff(who, prepend=-1) != 0) | (np.diff(value, prepend=np.nan) != 0)) - 1
    rank = (np.bincount(group, place) / np.bincount(group))[group]
    result = np.empty(score.size)
    result[order] = mean + spread * ndtri((rank + 0.5) / load[who])
    return result


def uninformative(load: IntArray, constant: BoolArray, equal: float) -> BoolArray:
    """Return the reviewers, shape (M,), with constant scores, unless by chance: they are ignored.

    k scores are equal by chance with probability p^(k - 1), p that of two scores of the table, ``equal``. Where many
    reviewers are constant it is a property of the table, and nobody is ignored.
    """
    designed = (load > 1) & constant & (equal ** np.maximum(load - 1.0, 0.0) < CHANCE)
    return designed if designed.sum() <= MAX_SHARE * (load > 0).sum() else np.zeros(load.size, bool)


def equal_scores(ordered: FloatArray) -> float:
    """Return the probability that two of these scores, which are sorted, are equal.

    >>> equal_scores(np.array([1.0, 2.0, 2.0]))
    0.3333333333333333
    """
    size = ordered.size
    if size < 2:
        return 0.0
    pairs = run = 0.0
    last = np.nan
    for first in range(0, size, BLOCK):
        part = ordered[first : first + BLOCK]
        begin = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(part)) + 1])
        count = np.diff(begin, append=part.size).astype(np.float64)
        if part[0] == last:  # a run continues from the block before
            count[0] += run
        else:
            pairs += run * (run - 1.0)
        pairs += float((count[:-1] * (count[:-1] - 1.0)).sum())
        run = float(count[-1])
        last = part[-1]
    return (pairs + run * (run - 1.0)) / (size * (size - 1.0))


def check_no_outlier(ordered: FloatArray, place_of: Callable[[float], int]) -> None:
    """Raise if a score lies so far from all others that it is a likely data-entry error.

    ``ordered`` are the scores, sorted; ``place_of`` returns the review with a score, for the message.
    """
    size = ordered.size
    if size < MIN_SCORES:
        return
    median = float(ordered[(size - 1) // 2 : size // 2 + 1].mean())
    # The scores farthest from the median are at both ends.
    few = max(1, int(EXTREME_SHARE * size)) + 1
    ends = np.concatenate([ordered[:few], ordered[max(few, size - few) :]])
    usual = float(np.partition(np.abs(ends - median), -few)[-few])
    worst = float(ends[np.argmax(np.abs(ends - median))])
    distance = abs(worst - median)
    if usual > 0 and distance > OUTLIER_RATIO * (1 + SMALL_TABLE / size) * usual:
        message = (
            f"score: expected scores on one scale, found {worst:g} at review {place_of(worst)}, "
            f"{distance / usual:.0f} times farther from the median {median:g} than nearly all others; correct it or "
            "leave it out"
        )
        raise InputError(message)


def require_one_unit(low: FloatArray, high: FloatArray) -> None:
    """Raise if the ranges of reviewers imply different units."""
    width = (high - low)[high > low]
    if not width.size:
        return
    narrow, wide = np.quantile(width, [TAIL, 1.0 - TAIL]).tolist()
    if wide > MAX_RANGE_RATIO * narrow:
        message = (
            f"score: expected scores on one scale, found reviewers whose scores lie within {narrow:g} and others whose "
            f"scores spread over {wide:g}; give tables of different units one by one"
        )
        raise InputError(message)
