"""Reviewers and reviews whose loss lowers the level ``double``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.components import is_recovery_resilient

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews


def critical_reviewers(reviews: Reviews) -> IntArray:
    """Return the reviewers without whom no doubly connected component covers all items, ascending codes."""
    lost = [j for j in range(reviews.n_reviewers) if not is_recovery_resilient(reviews.subset(reviews.reviewer != j))]
    return np.array(lost, np.int64)


def critical_reviews(reviews: Reviews) -> IntArray:
    """Return the reviews without which no doubly connected component covers all items, ascending rows."""
    row = np.arange(reviews.n_reviews)
    lost = [r for r in row.tolist() if not is_recovery_resilient(reviews.subset(row != r))]
    return np.array(lost, np.int64)
