"""Tables of reviews with more reviews in them, all by code; and who may still read what, as pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.components import connected_components
from reviewgraph.labels import encode
from reviewgraph.recoverable import degrees_of_freedom
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plans.model.constraints import Constraints
    from reviewgraph.labels import IntArray, Label


def no_pairs() -> IntArray:
    """Return no reviews at all, shape (0, 2)."""
    return np.empty((0, 2), np.int64)


def as_pairs(pairs: Iterable[tuple[int, ...]]) -> IntArray:
    """Return pairs of a reviewer and an item as an array, shape (P, 2)."""
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def with_extra(reviews: Reviews, pairs: IntArray, *, use_scores: bool = False) -> Reviews:
    """Return a table with more reviews, given by code; planned, or with scores unlike all others of the reviewer."""
    size = len(pairs)
    score = np.concatenate([np.where(reviews.scored, reviews.score, 0.0), np.zeros(size)])
    scored = np.concatenate([reviews.scored, np.full(size, use_scores)])
    if use_scores:
        score[reviews.n_reviews :] = np.abs(score).max(initial=0.0) + 1.0 + np.arange(size)
    return Reviews.from_codes(
        np.concatenate([reviews.reviewer, pairs[:, 0]]),
        np.concatenate([reviews.item, pairs[:, 1]]),
        reviews.printed(score),
        scored=scored,
        reviewers=reviews.reviewers,
        items=reviews.items,
        titles=reviews.titles,
        lower_is_better=reviews.lower_is_better,
    )


def with_reviewers(reviews: Reviews, labels: Iterable[Label]) -> Reviews:
    """Return the table with further reviewers, who have no reviews; all reviewers are numbered in natural order.

    >>> with_reviewers(Reviews.from_pairs([("b", 1), ("c", 1)]), ["a", "c"]).reviewer.tolist()
    [1, 2]
    """
    new = [label for label in labels if label not in reviews.reviewer_code]
    if not new:
        return reviews
    code, everyone = encode([*reviews.reviewers, *new])
    return Reviews.from_codes(
        code[reviews.reviewer],
        reviews.item,
        reviews.printed(np.where(reviews.scored, reviews.score, 0.0)),
        scored=reviews.scored,
        reviewers=everyone,
        items=reviews.items,
        titles=reviews.titles,
        lower_is_better=reviews.lower_is_better,
    )


def pieces(reviews: Reviews) -> int:
    """Pieces of the reviewer-item graph that hold items."""
    return int(np.unique(connected_components(reviews).item_labels).size)


def allowed_pairs(rules: Constraints, table: Reviews, spare: IntArray) -> IntArray:
    """Shape (K, 2): pairs that are allowed and no reviews yet."""
    found = [no_pairs()]
    for j in np.flatnonzero(spare > 0).tolist():
        items = np.setdiff1d(rules.readable(j), table.items_of(j))
        found.append(np.column_stack([np.full(items.size, j), items]))
    return np.concatenate(found)


def useful_loads(rules: Constraints, table: Reviews, spare: IntArray, short: IntArray) -> tuple[int, int]:
    """Links that some reviewers can make whatever they read, and that the loads of the others allow at most.

    p new reviews by a reviewer of d < 2 reviews make at most p - (2 - d) links.
    """
    pairs = allowed_pairs(rules, table, spare)
    count = np.bincount(pairs[:, 0], minlength=spare.size)
    useful = np.maximum(np.minimum(spare, count) - np.maximum(2 - table.loads, 0), 0)
    chosen = np.isin(pairs[:, 0], short) & (table.loads[pairs[:, 0]] >= 2)
    others = np.ones(spare.size, np.bool_)
    others[short[table.loads[short] >= 2]] = False
    before, after = degrees_of_freedom(table), degrees_of_freedom(with_extra(table, pairs[chosen]))
    return before - after, int(useful[others].sum())
