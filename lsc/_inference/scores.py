"""Scores as the inference takes them: checked, standardised, rankings as normal scores, in parts by reviewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lsc._inference.step import Part
from reviewgraph._base import BoolArray, CodeArray, FloatArray, InputError, IntArray

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
#: Scores that are read at once.
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

    ``order``: the reviews in use, those of reviewers who are not ignored, by reviewer and item. In that order:
    ``score``, in points, rankings as normal scores, and ``part``, these standardised by ``unit``.
    """

    order: IntArray
    score: FloatArray
    unit: Unit
    part: Part


class Table(Protocol):
    """Scores by reviewer, wherever they are kept."""

    def ordered(self) -> FloatArray:
        """Return the scores in ascending order."""

    def place_of(self, score: float) -> int:
        """Return the number of the first review with a score."""

    def by_reviewer(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return number, lowest, highest and sum of :func:`of_ranking` of the scores of each reviewer, shapes (M,)."""

    def remove(self, ignored: BoolArray) -> None:
        """Remove the reviews of some reviewers."""

    def rank(self, mean: float, spread: float) -> None:
        """Replace scores by normal scores."""


def check(table: Table) -> Unit:
    """Check scores, remove those of uninformative reviewers, turn rankings into normal scores; return the unit.

    Raises InputError if a score is a likely data-entry error, or units differ.
    """
    ordered = table.ordered()
    check_no_outlier(ordered, table.place_of)
    load, low, high, sums = table.by_reviewer()
    require_one_unit(low, high)
    ignored = uninformative(load, low == high, equal_scores(ordered))
    if ignored.any():
        table.remove(ignored)
        ordered = table.ordered()
    ranked = are_rankings(np.where(ignored, 0, load), sums, equal_scores(ordered))
    if ranked:
        table.rank(float(ordered.mean()), float(ordered.std()))
        ordered = table.ordered()
    return unit_of(ordered, equal_scores(ordered))._replace(ranked=ranked)


class ArrayTable:
    """Scores in arrays by reviewer, which are changed in place.

    ``start`` (M + 1,), ``item``, ``score`` (E,); ``room`` returns an array of zeros of a size and type, ``review`` the
    number of the review at a place.
    """

    def __init__(
        self,
        start: IntArray,
        item: CodeArray,
        score: FloatArray,
        room: Callable[[int, npt.DTypeLike], npt.NDArray[Any]] = np.zeros,
        review: Callable[[int], int] = lambda place: place,
    ) -> None:
        self.start = start
        self.item = item
        self.score = score
        self.room = room
        self.review = review

    def ordered(self) -> FloatArray:
        ordered = self.room(self.score.size, np.float64)
        ordered[:] = self.score
        ordered.sort()
        return ordered

    def place_of(self, score: float) -> int:
        return self.review(int(np.argmax(self.score == score)))

    def pieces(self) -> Iterator[tuple[slice, slice]]:
        """Yield reviewers and their reviews, not too many at once."""
        step = max(1, BLOCK // max(int(np.diff(self.start).max(initial=1)), 1))
        for low in range(0, self.start.size - 1, step):
            high = min(low + step, self.start.size - 1)
            yield slice(low, high), slice(int(self.start[low]), int(self.start[high]))

    def by_reviewer(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        load = np.diff(self.start)
        low = np.full(load.size, np.inf)
        high = np.full(load.size, -np.inf)
        sums = np.zeros(load.size)
        for reviewers, rows in self.pieces():
            some = reviewers.start + np.flatnonzero(load[reviewers])
            if some.size:
                score = self.score[rows]
                start = self.start[some] - rows.start
                low[some] = np.minimum.reduceat(score, start)
                high[some] = np.maximum.reduceat(score, start)
                sums[some] = np.add.reduceat(of_ranking(score), start)
        return load, low, high, sums

    def remove(self, ignored: BoolArray) -> None:
        load = np.diff(self.start)
        size = 0
        for reviewers, rows in self.pieces():
            kept = np.repeat(~ignored[reviewers], load[reviewers])
            last = size + int(kept.sum())
            self.item[size:last] = self.item[rows][kept]
            self.score[size:last] = self.score[rows][kept]
            size = last
        self.item = self.item[:size]
        self.score = self.score[:size]
        self.start = starts(np.where(ignored, 0, load))

    def rank(self, mean: float, spread: float) -> None:
        reviewer = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        self.score[:] = normal_scores(reviewer, self.score, mean, spread)


def starts(load: IntArray) -> IntArray:
    """Return the first review of each reviewer, and the number of reviews, shape (M + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(load)])


def prepare(
    reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, weight: FloatArray | None = None
) -> Scores:
    """Check and standardise scores; weights become standardised logarithms. Raises InputError as :func:`check`."""
    order = np.lexsort((item, reviewer))
    start = starts(np.bincount(reviewer, minlength=n_reviewers))
    table = ArrayTable(start, item[order].astype(np.int32), score[order], review=lambda place: int(order[place]))
    unit = check(table)
    if table.score.size < order.size:
        order = order[(np.diff(table.start) > 0)[reviewer[order]]]
    log_weight = np.empty(0)
    if weight is not None and np.ptp(weight[order]) > 0:
        logs = np.log(weight[order])
        log_weight = (logs - logs.mean()) / logs.std()
    part = Part(table.start, table.item, unit.standardised(table.score), log_weight)
    return Scores(order, table.score, unit, part)


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


def of_ranking(score: FloatArray) -> FloatArray:
    """Return y (y - e), whose sum is the same for the same scores in another order, and by chance only for others.

    Squares alone are the same for a scale turned round.
    """
    return np.asarray(score * (score - np.e))


def are_rankings(load: IntArray, total: FloatArray, equal: float) -> bool:
    """Whether reviewers of as many papers all give the same scores in another order, and none twice, as ranks are.

    ``load``, ``total`` (M,): number of scores, and sum of :func:`of_ranking`, of each reviewer. ``equal``:
    probability that two scores are equal, which is at most M / E if no reviewer gives one twice.

    >>> are_rankings(np.full(9, 3), np.full(9, of_ranking(np.array([1.0, 3.0, 2.0])).sum()), 8 / 26)
    True
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
    start = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
    count = np.diff(start, append=size).astype(np.float64)
    return float(count @ (count - 1.0)) / (size * (size - 1.0))


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
