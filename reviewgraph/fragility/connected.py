"""Reviewers and reviews whose loss lowers the level ``connected``: articulation points and bridges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.components import connected_components
from reviewgraph.fragility.fragile import Finder

if TYPE_CHECKING:
    import igraph

    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews


def holds(reviews: Reviews) -> bool:
    """Whether all items lie in one piece, each with a review."""
    return connected_components(reviews).is_one_piece


def critical_reviewers(reviews: Reviews) -> IntArray:
    """Return the reviewers without whom items fall apart or have no review; the level holds. Linear time.

    Whatever an articulation point parts contains one of its neighbours, an item.
    """
    points = np.array(_graph(reviews).articulation_points(), np.int64)
    return np.union1d(points[points < reviews.n_reviewers], _alone(reviews, reviews.reviewer))


def critical_reviews(reviews: Reviews) -> IntArray:
    """Return the reviews without which items fall apart or have no review; the level holds. Linear time.

    A bridge parts items unless its reviewer has no other review.
    """
    bridges = np.array(_graph(reviews).bridges(), np.int64)
    parting = bridges[reviews.loads[reviews.reviewer[bridges]] >= 2]
    return np.union1d(parting, _alone(reviews, np.arange(reviews.n_reviews)))


def _alone(reviews: Reviews, owner: IntArray) -> IntArray:
    """Return the owners of reviews that are the only one of their item."""
    alone: IntArray = owner[reviews.reviews_per_item[reviews.item] == 1]
    return alone


def _graph(reviews: Reviews) -> igraph.Graph:
    """Return the reviewer-item graph, its edges in the order of the reviews."""
    import igraph

    M = reviews.n_reviewers
    return igraph.Graph(M + reviews.n_items, np.column_stack([reviews.reviewer, M + reviews.item]))


#: The finder of the level ``connected``.
FINDER = Finder(holds, critical_reviewers, critical_reviews)
