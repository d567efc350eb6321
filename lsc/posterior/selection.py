"""Probabilities of being among the best."""

from __future__ import annotations

from reviewgraph.reviews import FloatArray


def probability_in_top(mean: FloatArray, sd: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best n, shape (N,); they sum to n. 0 where the mean is NaN."""
    raise NotImplementedError
