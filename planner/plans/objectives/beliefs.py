"""What is known of papers and reviewers once there are scores, as planning takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.chances import least_spread
from reviewgraph.errors import InputError
from reviewgraph.learned import learned_from

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray
    from reviewgraph.reviews import Reviews


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Qualities as far as they are known, and how much one more score tells.

    Parameters
    ----------
    mean, sd
        Shape (N,): quality of each item and its standard error, finite; an item without a score is an average one.
    review_precision
        Shape (M,): inverse error variance of one more score of each reviewer, as a measurement of a quality.
    pending
        Shape (N,): sum of these over the reviews that an item is to get anyhow.
    average
        Shape (N,): plain average of the scores; NaN without one.
    scored
        How many items have scores.
    """

    mean: FloatArray
    sd: FloatArray
    review_precision: FloatArray
    pending: FloatArray
    average: FloatArray
    scored: int

    @property
    def typical(self) -> float:
        """Precision of a review by a reviewer drawn at random."""
        return float(self.review_precision.mean())

    def brought_by(self, pairs: IntArray) -> FloatArray:
        """Return the precision that reviews (reviewer, item), shape (P, 2), bring to each item, shape (N,)."""
        return brought_by(pairs, self.review_precision, self.mean.size)


def beliefs_of(reviews: Reviews, fixed: IntArray, draws: FloatArray | None) -> Beliefs:
    """Return what the scores say, or joint draws made from them.

    Parameters
    ----------
    reviews
        With scores; those without are to come.
    fixed
        Shape (F, 2): further reviews (reviewer, item) that are to come.
    draws
        Shape (S, N): draws of the qualities; None to calibrate here.

    Raises
    ------
    InputError
        If there are no scores, or ``draws`` is no array of that shape.
    """
    if not reviews.scored.any():
        message = (
            "objective: expected scores to learn from, found planned reviews only; before there are scores more "
            "reviews of one paper rather than another buy next to nothing, so plan for a level"
        )
        raise InputError(message)
    if draws is None:
        learned = learned_from(reviews, n_draws=0)
        mean, sd, error = learned.mean, learned.error, learned.review_error
    else:
        mean, sd, error = _summary(reviews, draws)
    known = np.isfinite(mean) & np.isfinite(sd)
    if not known.any():
        message = "draws: expected finite qualities of some items, found none"
        raise InputError(message)
    centre, spread = mean[known].mean(), np.sqrt(mean[known].var() + (sd[known] ** 2).mean())
    mean, sd = np.where(known, mean, centre), np.where(known, sd, spread)
    coming = np.concatenate([np.column_stack([reviews.reviewer, reviews.item])[~reviews.scored], fixed])
    precision = 1.0 / least_spread(mean, error) ** 2
    pending = brought_by(coming, precision, reviews.n_items)
    return Beliefs(mean, least_spread(mean, sd), precision, pending, _averages(reviews), int(known.sum()))


def _summary(reviews: Reviews, draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and standard error of each item, and of one more score: what scores miss the draws by, on average."""
    drawn = np.asarray(draws, np.float64)
    if drawn.ndim != 2 or drawn.shape[0] < 2 or drawn.shape[1] != reviews.n_items:
        message = f"draws: expected two or more draws of {reviews.n_items} items, found shape {drawn.shape}"
        raise InputError(message)
    mean, sd = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    item = reviews.item[reviews.scored]
    missed = (reviews.score[reviews.scored] - mean[item]) ** 2 + sd[item] ** 2
    error = np.sqrt(missed[np.isfinite(missed)].mean()) if np.isfinite(missed).any() else np.nan
    return mean, sd, np.full(reviews.n_reviewers, error)


def brought_by(pairs: IntArray, precision: FloatArray, n_items: int) -> FloatArray:
    """Sum the precisions of reviewers over the reviews of each item, shape (N,).

    >>> brought_by(np.array([[0, 1], [1, 1]]), np.array([0.5, 2.0]), 3).tolist()
    [0.0, 2.5, 0.0]
    """
    return np.bincount(pairs[:, 1], precision[pairs[:, 0]], n_items).astype(np.float64)


def _averages(reviews: Reviews) -> FloatArray:
    item, score = reviews.item[reviews.scored], reviews.score[reviews.scored]
    count = np.bincount(item, minlength=reviews.n_items)
    return np.where(count > 0, np.bincount(item, score, reviews.n_items) / np.maximum(count, 1), np.nan)
