"""What scores must be before anything is inferred from them."""

from __future__ import annotations

import numpy as np

from lsc.inference.preparing import extremes
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: A score is refused as a slip when it lies so many times farther from the median than all but the farthest hundredth.
#: In small tables, where one score may well stand apart, ``FAR * (1 + FEW / E)`` times.
FAR, FEW = 30.0, 10.0
HUNDREDTH = 0.01
#: Of fewer scores none stands apart.
LEAST = 3
#: Scores are not of one unit where the ranges of reviewers differ so many times, the widest and least twentieth aside.
UNITS, TWENTIETH = 1e5, 0.05


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
    if usual > 0 and far > FAR * (1 + FEW / size) * usual:
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
