"""Tables of reviews with more reviews or reviewers in them, all by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.components import connected_components
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewgraph.labels import IntArray, Label


def no_pairs() -> IntArray:
    """Return no reviews at all, shape (0, 2)."""
    return np.empty((0, 2), np.int64)


def as_pairs(pairs: Iterable[tuple[int, ...]]) -> IntArray:
    """Return pairs of a reviewer and an item as an array, shape (P, 2)."""
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def with_extra(reviews: Reviews, pairs: IntArray, *, use_scores: bool = False) -> Reviews:
    """Return a table with more reviews, given by code; planned, or with scores unlike all others of the reviewer."""
    score = None
    if use_scores:
        highest = np.abs(reviews.score[reviews.scored]).max(initial=0.0)
        score = highest + 1.0 + np.arange(len(pairs))
    return reviews.with_codes(pairs[:, 0], pairs[:, 1], score)


def with_reviewers(reviews: Reviews, labels: Iterable[Label]) -> Reviews:
    """Return the table with further reviewers, who have no reviews; all reviewers are numbered in natural order.

    >>> with_reviewers(Reviews.from_pairs([("b", 1), ("c", 1)]), ["a", "c"]).reviewer.tolist()
    [1, 2]
    """
    return reviews.with_labels(labels)


def pieces(reviews: Reviews) -> int:
    """Pieces of the reviewer-item graph that hold items."""
    return int(np.unique(connected_components(reviews).item_labels).size)
