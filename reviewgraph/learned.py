"""What a calibration has learned from scores, as arrays: the one door from scores to checks and plans.

Whoever calibrates registers a function at the entry point group :data:`GROUP`; neither this package nor the planner
imports it by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from reviewgraph.errors import InputError
from reviewgraph.framed import as_reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.assumptions import Assumptions
    from reviewgraph.framed import ReviewsLike
    from reviewgraph.reviews import FloatArray, Reviews

#: Entry points: functions ``(reviews, n_draws, seed) -> Learned``.
GROUP = "reviewgraph.learned"


@dataclass(frozen=True, eq=False)
class Learned:
    """Beliefs about items and reviewers once there are scores, higher being better.

    Parameters
    ----------
    assumptions
        How noisy scores are and how much reviewers differ.
    mean, error
        Shape (N,): quality of each item and its standard error, in points of a typical reviewer; NaN without a score.
    draws
        Shape (S, N): joint draws of the qualities.
    review_error
        Shape (M,): standard error of one more score of each reviewer, her severity taken off, as a measurement of a
        quality, in the same points; of a typical reviewer where she has no scores.
    """

    assumptions: Assumptions
    mean: FloatArray
    error: FloatArray
    draws: FloatArray
    review_error: FloatArray


def learned_from(reviews: ReviewsLike, n_draws: int = 1000, seed: int = 0) -> Learned:
    """Return what the posterior of the scores says.

    Parameters
    ----------
    reviews
        With scores.
    n_draws, seed
        Joint draws of the qualities, 1,000 by default, and their seed.

    Raises
    ------
    InputError
        If there are no scores, or no calibration is installed.
    """
    reviews = as_reviews(reviews)
    if not reviews.scored.any():
        message = "reviews: expected scores to learn from, found planned reviews only"
        raise InputError(message)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        learn = cast("Callable[[Reviews, int, int], Learned]", point.load())
        return learn(reviews, n_draws, seed)
    message = f"reviews: expected an installed calibration to learn from them (entry points {GROUP!r}), found none"
    raise InputError(message)
