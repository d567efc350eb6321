"""From reviews, hypotheses and references to the programme that solvers take, and to units that suit them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from lsc.model.hypotheses import HypothesisLike, classes, hypothesis_of
from lsc.model.programme import Programme
from lsc.references import known_values
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray, Reviews
from reviewgraph.sides.given import Valued

#: Reviewers are sorted as rows of one matrix while it has at most this many entries a score.
MOST_PADDING = 4

#: Scores of one reviewer this many units in the last place of the largest score apart, or fewer, are tied.
ROUNDING = 8

Ties: TypeAlias = Literal["equal", "free"]
References: TypeAlias = Valued


class Formulation(NamedTuple):
    """A programme, and which row of the reviews each of its reviews is."""

    programme: Programme
    row: IntArray


def formulate(
    reviews: Reviews,
    hypothesis: HypothesisLike = "linear",
    *,
    max_slope: float | None = None,
    references: References | None = None,
    ties: Ties = "equal",
) -> Formulation:
    """State the programme of Least Square Calibration for these reviews; planned reviews are left out.

    Parameters
    ----------
    reviews
        With scores.
    hypothesis
        A name, a :class:`~lsc.model.hypotheses.Hypothesis`, or a mapping from
        the label of every reviewer with a score to either.
    max_slope
        C, for hypotheses given by name (10 by default); refused where none is.
    references
        Known qualities by item label, on the scale and in the direction the scores came in; none by default.
    ties
        What equal scores of one reviewer mean: the same perceived quality (``"equal"``, the default), or for monotone
        reviewers, and for reviewers with constant scores, nothing (``"free"``).

    Raises
    ------
    InputError
        If no review has a score, the mapping misses a reviewer or names one that does not exist, a reference is not
        an item or not finite, ``ties`` is neither, or ties are free where slopes are bounded from below.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 8.0), ("ann", "p2", 6.0)])
    >>> programme, row = formulate(reviews, "monotone")
    >>> programme.score.tolist(), row.tolist()
    ([6.0, 8.0], [1, 0])
    """
    if ties not in ("equal", "free"):
        message = f"ties: expected 'equal' or 'free', found {ties!r}"
        raise InputError(message)
    # Rows of a reviewer by score: her constraints are then between neighbours.
    row, start = _rows_by_score(reviews)
    if not row.size:
        message = "reviews: expected scores, found none; calibrate after the scores have arrived"
        raise InputError(message)
    reviewer = np.repeat(np.arange(reviews.n_reviewers), np.diff(start))
    # Reviewers without a score have no scoring function, hence no class.
    kind, lower, upper = _classes(reviews, hypothesis, max_slope, np.diff(start) > 0)
    if ties == "free" and np.isfinite(upper).any():
        message = "ties='free': expected no min_slope, found one; a function that rises everywhere gives no tied scores"
        raise InputError(message)
    known = np.full(reviews.n_items, np.nan) if references is None else known_values(reviews, references)
    is_reference = np.isfinite(known)
    reference = np.where(is_reference, reviews.printed(known), 0.0)
    programme = Programme(
        n_items=reviews.n_items,
        start=start,
        item=reviews.item[row],
        score=tied_up_to_rounding(reviews.score[row], reviewer),
        kind=kind,
        lower=lower,
        upper=upper,
        ties_equal=ties == "equal",
        is_reference=is_reference,
        reference=reference,
    )
    return Formulation(programme, row)


def _rows_by_score(reviews: Reviews) -> tuple[IntArray, IntArray]:
    """Return the scored rows by reviewer, ascending in score, ties by item, and where each reviewer's begin.

    Rows come sorted by reviewer and item: only each reviewer's own are to be sorted.
    """
    rows = np.flatnonzero(reviews.scored)
    whole = rows.size == reviews.n_reviews
    size = np.bincount(reviews.reviewer if whole else reviews.reviewer[rows], minlength=reviews.n_reviewers)
    start = np.zeros(size.size + 1, np.int64)
    np.cumsum(size, out=start[1:])
    score = reviews.score if whole else reviews.score[rows]
    order = order_by_score(start, score)
    return (order if whole else rows[order]).astype(np.int64, copy=False), start


def order_by_score(start: IntArray, score: FloatArray) -> IntArray:
    """Return the stable order of scores that come reviewer by reviewer, ascending within each."""
    size = np.diff(start)
    widest = int(size.max(initial=0))
    if 0 < widest * size.size <= MOST_PADDING * score.size:
        return _sort_padded(start, size, widest, score)
    return np.lexsort((score, np.repeat(np.arange(size.size), size)))


def _sort_padded(start: IntArray, size: IntArray, widest: int, score: FloatArray) -> IntArray:
    """Return the stable order of the scores of each reviewer: rows of one length, filled up where she has fewer."""
    if widest * size.size == score.size:
        return np.asarray((np.argsort(score.reshape(-1, widest), kind="stable") + start[:-1, None]).ravel())
    filled = np.arange(widest) < size[:, None]
    table = np.full(filled.shape, np.inf)
    table[filled] = score
    order = np.argsort(table, kind="stable")
    order += start[:-1, None]
    return np.asarray(order[filled])


def tied_up_to_rounding(score: FloatArray, reviewer: IntArray, largest: float | None = None) -> FloatArray:
    """Return the scores with those of one reviewer that differ by rounding only made equal.

    They come reviewer by reviewer, ascending; the ``largest`` in size is among them, unless they are part of a table.
    Tables hold means and sums: 33.2 and 33.2 + 7e-15 are one score, and a slope between them would mean nothing.
    """
    if largest is None:
        largest = float(np.abs(score).max(initial=0.0))
    close = np.zeros(score.size, np.bool_)
    close[1:] = (reviewer[1:] == reviewer[:-1]) & (np.diff(score) <= ROUNDING * np.spacing(largest))
    if not (close[1:] & (score[1:] != score[:-1])).any():
        return score
    return np.asarray(score[~close][np.cumsum(~close) - 1])


def _classes(
    reviews: Reviews, hypothesis: HypothesisLike, max_slope: float | None, has_scores: BoolArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the class and the bounds of every reviewer, each of shape (M,)."""
    size = reviews.n_reviewers
    if not isinstance(hypothesis, Mapping):
        one = hypothesis_of(hypothesis, max_slope=max_slope)
        lower, upper = one.bounds
        return np.full(size, classes().index(type(one)), np.int64), np.full(size, lower), np.full(size, upper)
    code, names = reviews.reviewer_code, any(isinstance(given, str) for given in hypothesis.values())
    unknown = [label for label in hypothesis if label not in code]
    missing = [
        reviews.reviewers[j] for j in np.flatnonzero(has_scores).tolist() if reviews.reviewers[j] not in hypothesis
    ]
    if unknown or missing:
        where = f"no reviewer {unknown[0]!r} in the reviews" if unknown else f"none for reviewer {missing[0]!r}"
        message = f"hypothesis: expected one for every reviewer with a score and for nobody else, found {where}"
        raise InputError(message)
    lower, upper = hypothesis_of("linear").bounds  # for reviewers without scores, whom nothing constrains
    kind, low, high = np.zeros(size, np.int64), np.full(size, lower), np.full(size, upper)
    # Many reviewers share a few hypotheses: each is made once.
    made: dict[str | int, tuple[int, float, float]] = {}
    for label, given in hypothesis.items():
        key = given if isinstance(given, str) else id(given)
        if key not in made:
            chosen = hypothesis_of(given, max_slope=max_slope if isinstance(given, str) or not names else None)
            made[key] = classes().index(type(chosen)), *chosen.bounds
        j = code[label]
        kind[j], low[j], high[j] = made[key]
    return kind, low, high
