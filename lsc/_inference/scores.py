"""Scores as the inference takes them: checked, standardised, rankings as normal scores, in parts by reviewer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._inference.step import Part
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray
from reviewgraph.parts import LocalParts, Parts, Vectors
from reviewgraph.parts import Part as Reviewed

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

    ``order``: the reviews in use, those of reviewers who are not ignored, by reviewer and item. In that order:
    ``score``, in points, rankings as normal scores, and ``part``, these standardised by ``unit``.
    """

    order: IntArray
    score: FloatArray
    unit: Unit
    part: Part


class Distribution(NamedTuple):
    """The distinct scores of a table, ascending, and the number of reviews that have each."""

    score: FloatArray
    reviews: IntArray

    @property
    def size(self) -> int:
        """Number of scores."""
        return int(self.reviews.sum())

    @property
    def mean(self) -> float:
        """Mean of all scores."""
        return float(self.score @ self.reviews) / self.size

    @property
    def deviation(self) -> float:
        """Standard deviation of all scores."""
        return float(np.sqrt((self.score - self.mean) ** 2 @ self.reviews / self.size))

    @property
    def equal(self) -> float:
        """Probability that two of the scores are equal."""
        if self.size < 2:
            return 0.0
        count = self.reviews.astype(np.float64)
        return float(count @ (count - 1.0)) / (self.size * (self.size - 1.0))


def distribution_of(parts: Parts) -> Distribution:
    """Return the distribution of the scores of all parts."""
    _, found = parts.map(_distribution)
    score, place = np.unique(np.concatenate([part.score for part in found]), return_inverse=True)
    counts = np.concatenate([part.reviews for part in found])
    return Distribution(score, np.bincount(place, counts, score.size).astype(np.int64))


def _distribution(part: Reviewed, _: Vectors) -> tuple[Vectors, Distribution]:
    return (), Distribution(*np.unique(part.score, return_counts=True))


def check(parts: Parts) -> tuple[Parts, Unit, BoolArray]:
    """Check scores; return those to use, rankings as normal scores, their unit, and the reviewers who are ignored.

    ``parts`` are reviews with scores. Raises InputError if a score is a likely data-entry error, or units differ.
    """
    scores = distribution_of(parts)
    check_no_outlier(scores)
    _, by_reviewer = parts.map(_by_reviewer)
    load, low, high, sums = (np.concatenate(values) for values in zip(*by_reviewer, strict=True))
    require_one_unit(low, high)
    ignored = uninformative(load, low == high, scores.equal)
    if ignored.any():
        parts = parts.derive(_without, (), ignored)
        scores = distribution_of(parts)
    ranked = are_rankings(np.where(ignored, 0, load), sums, scores.equal)
    if ranked:
        parts = parts.derive(_as_normal, (), scores.mean, scores.deviation)
        scores = distribution_of(parts)
    return parts, unit_of(scores)._replace(ranked=ranked), ignored


def _by_reviewer(part: Reviewed, _: Vectors) -> tuple[Vectors, tuple[IntArray, FloatArray, FloatArray, FloatArray]]:
    """Return number, lowest, highest and sum of :func:`of_ranking` of the scores of each reviewer, shapes (m,)."""
    load = part.load
    low = np.full(load.size, np.inf)
    high = np.full(load.size, -np.inf)
    sums = np.zeros(load.size)
    some = np.flatnonzero(load)
    if some.size:
        start = part.start[some]
        low[some] = np.minimum.reduceat(part.score, start)
        high[some] = np.maximum.reduceat(part.score, start)
        sums[some] = np.add.reduceat(of_ranking(part.score), start)
    return (), (load, low, high, sums)


def _itself(part: Reviewed, _: Vectors) -> tuple[Vectors, Reviewed]:
    return (), part


def _without(part: Reviewed, _: Vectors, ignored: BoolArray) -> Reviewed:
    return part.only(~ignored[part.first + part.reviewer])


def _as_normal(part: Reviewed, _: Vectors, mean: float, spread: float) -> Reviewed:
    return part._replace(score=normal_scores(part.reviewer, part.score, mean, spread))


def starts(load: IntArray) -> IntArray:
    """Return the first review of each reviewer, and the number of reviews, shape (M + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(load)])


def prepare(
    reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, weight: FloatArray | None = None
) -> Scores:
    """Check and standardise scores; weights become standardised logarithms. Raises InputError as :func:`check`."""
    order = np.lexsort((item, reviewer))
    start = starts(np.bincount(reviewer, minlength=n_reviewers))
    given = Reviewed(0, start, item[order].astype(np.uint32), score[order])
    parts, unit, ignored = check(LocalParts([given], int(item.max()) + 1))
    _, [used] = parts.map(_itself)
    order = order[~ignored[reviewer[order]]]
    log_weight = np.empty(0)
    if weight is not None and np.ptp(weight[order]) > 0:
        logs = np.log(weight[order])
        log_weight = (logs - logs.mean()) / logs.std()
    part = Part(used.start, used.item.astype(np.int32), unit.standardised(used.score), log_weight)
    return Scores(order, used.score, unit, part)


def unit_of(scores: Distribution) -> Unit:
    """Return the unit of scores.

    Normal scores rounded to a grid of width d are equal with probability p = d / (2 sqrt(pi) sigma), and rounding adds
    d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    if not scores.size:
        return Unit(0.0, 1.0, MIN_NOISE)
    deviation = scores.deviation
    # All scores equal, but for rounding of their mean: there is no unit.
    spread = 1.0 if deviation <= 1e-12 * float(np.abs(scores.score).max()) else deviation
    return Unit(scores.mean, spread, float(np.pi / 3 * scores.equal**2) + MIN_NOISE)


def of_ranking(score: FloatArray) -> FloatArray:
    """Return y (y - e), whose sum is the same for the same scores in another order, and by chance only for others.

    Squares alone are the same for a scale turned round.
    """
    return np.asarray(score * (score - np.e))


def are_rankings(load: IntArray, total: FloatArray, equal: float) -> bool:
    """Whether reviewers of as many papers all give the same scores in another order, and none twice, as ranks are.

    ``load``, ``total`` (M,): number of scores, and sum of :func:`of_ranking`, of each reviewer. ``equal``:
    probability that two scores are equal, which is at most M / E if no reviewer gives one twice.
    """
    several = load > 1
    if equal * load.sum() > (load > 0).sum():
        return False
    sizes, kind = np.unique(load[several], return_inverse=True)
    if kind.size < max(LIKE_OTHERS * sizes.size, 1):
        return False
    order = np.argsort(kind, kind="stable")
    first = np.searchsorted(kind[order], np.arange(sizes.size))
    ordered = total[several][order]
    gap = np.maximum.reduceat(ordered, first) - np.minimum.reduceat(ordered, first)
    return bool((gap <= 1e-9 * load.max()).all())


def normal_scores(reviewer: IntArray, score: FloatArray, mean: float, spread: float) -> FloatArray:
    """Replace the scores of each reviewer by normal scores of their ranks, about a mean and with a spread."""
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


def check_no_outlier(scores: Distribution) -> None:
    """Raise if a score lies so far from all others that it is a likely data-entry error."""
    size = scores.size
    if size < MIN_SCORES:
        return
    upto = np.cumsum(scores.reviews)
    median = float(scores.score[np.searchsorted(upto, [(size - 1) // 2, size // 2], side="right")].mean())
    # The distance of the nearest of the few scores that are farthest from the median.
    away = np.abs(scores.score - median)
    farthest = np.argsort(-away, kind="stable")
    few = max(1, int(EXTREME_SHARE * size)) + 1
    usual = float(away[farthest[np.searchsorted(np.cumsum(scores.reviews[farthest]), few)]])
    worst = float(scores.score[farthest[0]])
    distance = float(away[farthest[0]])
    if usual > 0 and distance > OUTLIER_RATIO * (1 + SMALL_TABLE / size) * usual:
        raise InputError(
            f"score: expected scores on one scale, found {worst:g}, {distance / usual:.0f} times farther from the "
            f"median {median:g} than nearly all others; correct it or leave it out"
        )


def require_one_unit(low: FloatArray, high: FloatArray) -> None:
    """Raise if the ranges of reviewers imply different units."""
    width = (high - low)[high > low]
    if not width.size:
        return
    narrow, wide = np.quantile(width, [TAIL, 1.0 - TAIL]).tolist()
    if wide > MAX_RANGE_RATIO * narrow:
        raise InputError(
            f"score: expected scores on one scale, found reviewers whose scores lie within {narrow:g} and others whose "
            f"scores spread over {wide:g}; give tables of different units one by one"
        )
