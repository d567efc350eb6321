"""What the correction is worth: predictions of held-out reviews against those of the plain average."""

from __future__ import annotations

from typing import NamedTuple

from lsc.posterior.beliefs import Posterior
from reviewgraph.reviews import FloatArray


class Gain(NamedTuple):
    """By how much held-out scores are predicted better than by the average of an item's other scores.

    Parameters
    ----------
    relative
        1 - mean squared error of the posterior / that of the average.
    standard_error
        Of ``relative``, from the spread over held-out reviewers.
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
    """Hold reviews out in folds, predict them with the hyperparameters of all, and compare with the average."""
    raise NotImplementedError
