"""Validation of rows for a table of reviews: codes in range, finite scores, one row per pair."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from reviewgraph._base.arguments import as_numbers
from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray, frozen, occurs
from reviewgraph._base.errors import DuplicateReview, InputError
from reviewgraph._base.labels import Label
from reviewgraph._base.text import counted
from reviewgraph.formats.files import quote

Duplicates: TypeAlias = Literal["error", "last", "mean"]

#: Largest score, whose squares can be summed in double precision.
LARGEST = 1e100
#: Largest code of 32 bits.
MOST_CODE = 2**32 - 1


class TableRows(NamedTuple):
    """The rows of a table of reviews, sorted by (reviewer, item), all pairs distinct, read-only."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray  #: Higher is better; NaN where planned.
    scored: BoolArray
    criteria: dict[str, FloatArray]  #: Further scores by name, NaN where missing.
    confidence: FloatArray | None


def table_rows(
    reviewer: npt.ArrayLike,
    item: npt.ArrayLike,
    score: npt.ArrayLike | None,
    scored: npt.ArrayLike | None,
    *,
    reviewers: Sequence[Label],
    items: Sequence[Label],
    duplicates: Duplicates,
    row_name: Callable[[int], str],
    lower_is_better: bool,
    criteria: Mapping[str, npt.ArrayLike],
    confidence: npt.ArrayLike | None,
) -> TableRows:
    """Return the rows of a table of reviews; parameters and exceptions are those of :meth:`Reviews.from_codes`."""
    left = whole_codes(reviewer, "reviewer")
    right = whole_codes(item, "item")
    if duplicates not in get_args(Duplicates):
        raise InputError(f"duplicates: expected 'error', 'last' or 'mean', found {duplicates!r}")
    if left.size != right.size:
        raise InputError(f"reviewer and item: expected equal lengths, found {left.size} and {right.size}")
    refuse_out_of_range(left, len(reviewers), "reviewer", row_name)
    refuse_out_of_range(right, len(items), "item", row_name)
    values, known = checked_scores(score, scored, left.size, row_name)
    further = {name: _checked_further(numbers, name, left.size, row_name) for name, numbers in criteria.items()}
    sure = None if confidence is None else _checked_further(confidence, "confidence", left.size, row_name)
    order = order_of_pairs(left, right)
    left_sorted = left[order]
    right_sorted = right[order]

    def say(row: int, again: int) -> str:
        return say_twice(reviewers[int(left[row])], items[int(right[row])], row_name(row), row_name(again))

    def merged(field: FloatArray, present: BoolArray, policy: Duplicates) -> tuple[IntArray, IntArray, Any, Any]:
        return merge_duplicates(left_sorted, right_sorted, field[order], present[order], policy, say, order)

    # Each field is merged by itself, so that rows of one pair may hold different fields of one review.
    pairs = merged(-values if lower_is_better else values, known, duplicates)
    fields = {
        name: frozen(merged(-field if lower_is_better else field, ~np.isnan(field), duplicates)[2])
        for name, field in further.items()
    }
    merged_confidence = (
        None if sure is None else merged(sure, ~np.isnan(sure), "last" if duplicates == "last" else "mean")[2]
    )
    who, what, scores, present = pairs
    sure_of = None if merged_confidence is None else frozen(merged_confidence)
    return TableRows(frozen(who), frozen(what), frozen(scores), frozen(present), fields, sure_of)


def _checked_further(numbers: npt.ArrayLike, name: str, size: int, row_name: Callable[[int], str]) -> FloatArray:
    """Return a further field of the reviews; numbers that are infinite or too large raise InputError."""
    values = as_numbers(name, numbers).ravel()
    if values.size != size:
        raise InputError(f"{name}: expected {size} numbers, one per review, found {values.size}")
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if beyond.size:
        first = f"{values[beyond[0]]:g} in {row_name(int(beyond[0]))}"
        raise InputError(f"{name}: expected numbers up to {LARGEST:g}, NaN where missing, found {first}; correct it")
    return values


def order_of_pairs(reviewer: IntArray | CodeArray, item: IntArray | CodeArray) -> IntArray:
    """Return the order of pairs, repeated ones in the order of rows, which the policy "last" depends on.

    >>> order_of_pairs(np.array([1, 0, 1, 0]), np.array([2, 5, 2, 1])).tolist()
    [3, 1, 0, 2]
    """
    if max(reviewer.max(initial=0), item.max(initial=0)) > MOST_CODE:
        return np.lexsort((item, reviewer))
    # One number per pair: tables are often sorted, and one sort of numbers takes a tenth of the time of two.
    key = (reviewer.astype(np.uint64) << np.uint64(32)) | item.astype(np.uint64, copy=False)
    if (key[1:] > key[:-1]).all():
        return np.arange(key.size)
    order = np.argsort(key)
    # A stable sort takes longer, and is needed only where pairs are repeated.
    ordered = key[order]
    return np.argsort(key, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def whole_codes(codes: npt.ArrayLike, what: str) -> IntArray:
    """Return codes as a vector of whole numbers; others raise InputError."""
    try:
        vector = np.asarray(codes).ravel()
    except ValueError as error:
        message = f"{what}: expected codes, whole numbers from 0 on, found lists of different lengths"
        raise InputError(message) from error
    if vector.size and vector.dtype.kind not in "iu":
        raise InputError(f"{what}: expected codes, whole numbers from 0 on, found {vector.dtype} such as {vector[0]!r}")
    return vector.astype(np.int64, copy=False)


def refuse_out_of_range(codes: IntArray, size: int, what: str, row_name: Callable[[int], str]) -> None:
    """Raise InputError, with the row, unless 0 <= codes < size."""
    bad = np.flatnonzero((codes < 0) | (codes >= size))
    if bad.size:
        message = f"{what}: expected codes from 0 to {size - 1}, found {codes[bad[0]]} in {row_name(int(bad[0]))}"
        raise InputError(message)


def refuse_no_code(code: int, size: int, what: str) -> None:
    """Raise InputError unless 0 <= code < size."""
    if not (isinstance(code, int | np.integer) and not isinstance(code, bool) and 0 <= code < size):
        raise InputError(f"{what}: expected a code from 0 to {size - 1}, found {code!r}")


def refuse_misfit(keep: IntArray | BoolArray, size: int) -> None:
    """Raise InputError unless rows are chosen by a mask or by indices in range."""
    mask = keep.dtype.kind == "b"
    fits = keep.shape == (size,) if mask else keep.ndim == 1 and not ((keep < -size) | (keep >= size)).any()
    if not fits:
        expected = f"a mask of shape ({size},) or indices below {size}"
        raise InputError(f"keep: expected {expected}, found {keep.dtype} of shape {keep.shape}")


def checked_scores(
    score: npt.ArrayLike | None, scored: npt.ArrayLike | None, size: int, row_name: Callable[[int], str]
) -> tuple[FloatArray, BoolArray]:
    """Return scores, NaN where planned, and a mask of the reviews with a score."""
    if score is None:
        return np.full(size, np.nan), np.zeros(size, np.bool_)
    values = as_numbers("score", score).ravel()
    known = np.ones(size, np.bool_) if scored is None else np.asarray(scored, np.bool_).ravel()
    if values.size != size or known.size != size:
        raise InputError(f"score: expected {size} scores, one per review, found {values.size}")
    bad = np.flatnonzero(known & ~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"score: expected a finite number, found {values[bad[0]]} in {row_name(int(bad[0]))}; "
            "a review without a score is a planned one: give None, or scored=False"
        )
    values[~known] = np.nan
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if beyond.size:
        raise InputError(
            f"score: expected numbers up to {LARGEST:g}, found {values[beyond[0]]:g} in {row_name(int(beyond[0]))}; "
            "correct it or leave the review out"
        )
    return values, known


def first_repeated(known: IntArray, added: IntArray) -> int | None:
    """Return the first place of ``added`` whose pair is known, or stands before it; None where all are new.

    >>> first_repeated(np.array([3, 5]), np.array([4, 6, 4])), first_repeated(np.array([3]), np.array([4]))
    (2, None)
    """
    again = np.ones(added.size, np.bool_)
    again[np.unique(added, return_index=True)[1]] = False
    places = np.flatnonzero(again | occurs(added, np.sort(known)))
    return int(places[0]) if places.size else None


def say_twice(reviewer: Hashable, item: Hashable, first: str, second: str) -> str:
    """Return the message about a pair in two places."""
    return (
        f"reviewer {quote(reviewer)} reviews item {quote(item)} twice: {first} and {second}; "
        "remove one, or say which counts with duplicates='last' or 'mean' (--duplicates last|mean)"
    )


def say_fulfilled(rows: int, rows_scored: int, reviews: int, reviews_scored: int) -> str:
    """Return a note on rows without a score that repeat another row of their pair, or nothing."""
    repeated = rows - rows_scored - (reviews - reviews_scored)
    if not repeated or reviews == rows:
        return ""
    return (
        f"{counted(repeated, 'planned row is', 'planned rows are')} of pairs that stand in another row too, with a "
        "score or planned as well: each pair counts as one review"
    )


def merge_duplicates(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    scored: BoolArray,
    policy: Duplicates,
    say: Callable[[int, int], str],
    row: IntArray,
) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """Return one row per pair; rows (E,) are sorted by pair and, within a pair, in their first order.

    A pair that is planned in some rows and scored in one, or planned in all, is one review; two scores are refused
    (``policy`` "error"), the last counts, or their mean. ``say`` returns the message about two rows, by their places
    ``row`` before sorting.
    """
    new = np.ones(reviewer.size, np.bool_)
    new[1:] = (reviewer[1:] != reviewer[:-1]) | (item[1:] != item[:-1])
    if new.all():
        return reviewer, item, score, scored
    # Rows of one pair are adjacent, so pairs are numbered by counting their first rows.
    group = np.cumsum(new) - 1
    known = np.bincount(group, weights=scored) > 0
    if policy == "error":
        # A row without a score is a plan, which one with a score fulfils.
        counting = np.flatnonzero(scored)
        again = np.flatnonzero(group[counting][1:] == group[counting][:-1])
        if again.size:
            first = counting[again[0]]
            second = counting[again[0] + 1]
            raise DuplicateReview(say(int(row[first]), int(row[second])))
    value = np.full(known.size, np.nan)
    if policy == "last":
        value[group[scored]] = score[scored]  # rows stand in order, so the last assignment is the last row
    else:
        total = np.bincount(group[scored], weights=score[scored], minlength=known.size)
        value[known] = total[known] / np.bincount(group[scored], minlength=known.size)[known]
    return reviewer[new], item[new], value, known


def _refuse_unhashable(name: str, labels: Sequence[Any]) -> None:
    for row, label in enumerate(labels):
        try:
            hash(label)
        except TypeError as error:
            message = f"{name}: expected a label, such as a text or a number, found {label!r} in row {row}"
            raise InputError(message) from error


def split_rows(pairs: Iterable[tuple[Any, ...]]) -> tuple[list[Any], list[Any], FloatArray, BoolArray]:
    """Return reviewers, items, scores and which rows have one, of (reviewer, item) or (reviewer, item, score) rows.

    >>> split_rows([("ann", "p1", 2), ("ann", "p2")])
    (['ann', 'ann'], ['p1', 'p2'], array([2., 0.]), array([ True, False]))
    """
    rows = list(pairs)
    for number, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) not in (2, 3):
            message = f"pairs: expected (reviewer, item) or (reviewer, item, score), found {row!r} in row {number}"
            raise InputError(message)
    for place, name in enumerate(("reviewer", "item")):
        _refuse_unhashable(name, [row[place] for row in rows])
    # None becomes 0.0 beside a mask: an array of numbers has no other way to hold it.
    score = [row[2] if len(row) == 3 else None for row in rows]
    known = np.array([y is not None for y in score], np.bool_)
    try:
        values = np.array([0.0 if y is None else float(y) for y in score], np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"pairs: expected a number or None as the score, found something else ({error})") from error
    return [row[0] for row in rows], [row[1] for row in rows], values, known
