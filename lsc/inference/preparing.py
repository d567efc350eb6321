"""Scores checked, brought to mean 0 and standard deviation 1, and laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from lsc.inference.layout import lay_out
from lsc.inference.states import Part, Problem, run_compiled
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Noise of the standardised scores is at least .01: nobody's scores say more, and messages keep their digits.
LEAST_NOISE = 1e-4
#: Equal scores of a reviewer are taken for chance above this probability; and as reviewers who do not look unless
#: more than this part of all are so.
BY_CHANCE, FEW = 0.01, 0.1

#: Passes over scores, piece by piece: each call begins one.
Passes: TypeAlias = Callable[[], Iterable[FloatArray]]
#: A score is refused as a slip when it lies so many times farther from the median than all but the farthest hundredth.
#: In small tables, where one score may well stand apart, ``FAR * (1 + SMALL_TABLE / E)`` times.
FAR, SMALL_TABLE = 30.0, 10.0
HUNDREDTH = 0.01
#: Of fewer scores none stands apart.
LEAST = 3
#: Scores are not of one unit where the ranges of reviewers differ so many times, the widest and least twentieth aside.
UNITS, TWENTIETH = 1e5, 0.05


class Unit(NamedTuple):
    """Mean and standard deviation of the scores, and the variance of rounding in units of the latter, squared."""

    location: float
    spread: float
    rounding: float

    def standardised(self, score: FloatArray) -> FloatArray:
        """Return scores in this unit."""
        return (score - self.location) / self.spread


class Scores(NamedTuple):
    """Standardised scores and their slots, shapes (E,), the problem made of them, and the way back."""

    standard: FloatArray
    slot: IntArray
    problem: Problem
    unit: Unit


class Rows(NamedTuple):
    """Reviews, shapes (E,): codes, scores and weights."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    weight: FloatArray | None = None

    def only(self, kept: BoolArray) -> Rows:
        """Return some of them, by a mask."""
        weight = None if self.weight is None else self.weight[kept]
        return Rows(self.reviewer[kept], self.item[kept], self.score[kept], weight)


def joined(pieces: Iterable[Rows]) -> Rows:
    """Return the reviews of all pieces."""
    reviewer, item, score, weight = zip(*pieces, strict=True)
    weights = [each for each in weight if each is not None]
    return Rows(
        np.concatenate(reviewer),
        np.concatenate(item),
        np.concatenate(score),
        np.concatenate(weights) if weights else None,
    )


def prepare(
    rows: Rows, n_reviewers: int, n_items: int, unit: Unit | None = None, compiled: bool | None = None
) -> Scores:
    """Standardise scores and lay them out; weights become centred logarithms.

    With ``unit``, scores are standardised as those were, of which they are a part; steps are ``compiled`` where there
    are many reviews, by default.
    """
    reviewer, item, score, weight = rows
    unit = unit or unit_of(lambda: [score], equal_scores(score))
    standard = unit.standardised(score)
    layout, slot = lay_out(reviewer, item, standard, n_reviewers, n_items)
    log_weight = None
    if weight is not None and np.ptp(weight) > 0:
        logs = np.log(weight)
        log_weight = np.zeros(layout.item.size)
        log_weight[slot] = (logs - logs.mean()) / logs.std()
    count = np.bincount(item, minlength=n_items)
    silent = np.zeros(n_items)
    weighted = log_weight is not None
    compiled = (run_compiled(layout.load) if compiled is None else compiled) and not weighted
    parts = (Part(layout, log_weight),)
    problem = Problem(parts, layout.load, count, unit.rounding, weighted, silent, silent, compiled)
    return Scores(standard, slot, problem, unit)


def unit_of(scores: Passes, equal: float) -> Unit:
    """Return the unit of scores.

    Parameters
    ----------
    scores
        Passes over them.
    equal
        Probability p that two of them are equal. Normal scores rounded to a grid of width d are equal with probability
        d / (2 sqrt(pi) sigma), and rounding adds d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    # Extended precision, where there is any, makes the sums the same in whatever pieces scores come.
    size, largest, total, squares = 0, 0.0, np.longdouble(0.0), np.longdouble(0.0)
    for score in scores():
        size, largest = size + score.size, max(largest, float(np.abs(score).max(initial=0.0)))
        total += score.sum(dtype=np.longdouble)
    mean = float(total / size)
    for score in scores():
        squares += ((score - mean) ** 2).sum(dtype=np.longdouble)
    deviation = float(np.sqrt(squares / size))
    # All scores equal, but for rounding in their mean: there is no unit.
    spread = 1.0 if deviation <= 1e-12 * largest else deviation
    return Unit(mean, spread, float(np.pi / 3 * equal**2) + LEAST_NOISE)


def idle(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> BoolArray:
    """Return the reviewers, shape (M,), who give everyone the same score, and not by chance.

    k scores are equal by chance with probability p^(k - 1), p that of two scores of the table. Such a reviewer does not
    look; she says nothing of any paper. Where many are like that it is the table that is so, and all are heard.
    """
    low, high = extremes(reviewer, score, n_reviewers)
    return never_look(np.bincount(reviewer, minlength=n_reviewers), low == high, equal_scores(score))


def extremes(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each reviewer, shapes (M,); infinite without scores."""
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    np.minimum.at(low, reviewer, score)
    np.maximum.at(high, reviewer, score)
    return low, high


def never_look(load: IntArray, constant: BoolArray, equal: float) -> BoolArray:
    """Return :func:`idle` by loads, whose scores are all the same, and the probability that two of the table are."""
    found: BoolArray = (load > 1) & constant & (equal ** np.maximum(load - 1.0, 0.0) < BY_CHANCE)
    return found if found.sum() <= FEW * (load > 0).sum() else np.zeros(load.size, bool)


def equal_scores(score: FloatArray) -> float:
    """Return the probability that two scores of the table are equal."""
    if score.size < 2:
        return 0.0
    _, count = np.unique(score, return_counts=True)
    return float((count * (count - 1.0)).sum()) / (score.size * (score.size - 1.0))


def check(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    weight: FloatArray | None,
    reference_item: IntArray | None,
    reference_value: FloatArray | None,
) -> None:
    """Raise unless the arguments of :func:`lsc.inference.inferring.infer` fit together."""
    check_numbers("score", score, score.size)
    check_codes("reviewer", reviewer, n_reviewers, score.size)
    check_codes("item", item, n_items, score.size)
    if weight is not None:
        check_numbers("weight", weight, score.size, positive=True)
    if (reference_item is None) != (reference_value is None):
        message = "reference_item, reference_value: expected both or neither, found one; give the other"
        raise InputError(message)
    if reference_item is not None and reference_value is not None:
        check_codes("reference_item", reference_item, n_items, reference_item.size)
        check_numbers("reference_value", reference_value, reference_item.size)
    check_no_slip(score)
    check_one_unit(reviewer, score, n_reviewers)


def check_codes(name: str, code: IntArray, size: int, expected: int) -> None:
    """Raise unless codes have the shape (expected,) and lie in 0..size - 1."""
    if code.shape != (expected,):
        message = f"{name}: expected shape ({expected},), found {code.shape}"
        raise InputError(message)
    wrong = np.flatnonzero((code < 0) | (code >= size))
    if wrong.size:
        message = f"{name}: expected codes from 0 to {size - 1}, found {code[wrong[0]]} at review {wrong[0]}"
        raise InputError(message)


def check_numbers(name: str, value: FloatArray, expected: int, *, positive: bool = False) -> None:
    """Raise unless values have the shape (expected,), are finite and, where that is asked, positive."""
    if value.shape != (expected,):
        message = f"{name}: expected shape ({expected},), found {value.shape}"
        raise InputError(message)
    wrong = np.flatnonzero(~np.isfinite(value) | (positive & (value <= 0)))
    if wrong.size:
        kind = "positive finite" if positive else "finite"
        message = f"{name}: expected {kind} numbers, found {value[wrong[0]]} at review {wrong[0]}; leave the review out"
        raise InputError(message)


def check_no_slip(score: FloatArray) -> None:
    """Raise if a score lies so far from all others that it must be a slip, such as a lost decimal point."""
    if score.size < LEAST:
        return
    middle = float(np.median(score))
    far = np.abs(score - middle)
    rest, worst = np.sort(far)[: score.size - farthest(score.size)], int(np.argmax(far))
    expect_no_slip(float(score[worst]), worst, middle, float(rest[-1]), score.size)


def farthest(size: int) -> int:
    """Return how many of so many scores do not say how far from the median is usual."""
    return max(1, int(HUNDREDTH * size))


def expect_no_slip(worst: float, place: int, median: float, usual: float, size: int) -> None:
    """Raise if the score farthest from the median lies too far from it.

    Parameters
    ----------
    worst, place
        This score, and the number of its review.
    usual
        The distance that the others but for the farthest hundredth keep.
    size
        How many scores there are.
    """
    far = abs(worst - median)
    if usual > 0 and far > FAR * (1 + SMALL_TABLE / size) * usual:
        message = (
            f"score: expected scores on one scale, found {worst:g} at review {place}, {far / usual:.0f} times farther "
            f"from the median {median:g} than nearly all others; correct it or leave it out"
        )
        raise InputError(message)


def check_one_unit(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> None:
    """Raise if a twentieth of the reviewers spread their scores so much wider than another that units must differ."""
    low, high = extremes(reviewer, score, n_reviewers)
    expect_one_unit((high - low)[high > low])


def expect_one_unit(width: FloatArray) -> None:
    """Do so by the ranges of the scores of those who did not give the same score throughout."""
    if not width.size:
        return
    narrow, wide = np.quantile(width, [TWENTIETH, 1.0 - TWENTIETH])
    if wide > UNITS * narrow:
        message = (
            f"score: expected scores on one scale, found reviewers whose scores lie within {narrow:g} and others whose "
            f"scores spread over {wide:g}; give tables of different units one by one"
        )
        raise InputError(message)
