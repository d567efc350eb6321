from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph.components import score_levels
from reviewgraph.graph.kernels import pairs
from tests.strategies import Rows, tables, to_reviews


def merged(reviews: Reviews, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    M, N = reviews.n_reviewers, reviews.n_items
    graph = pairs.rank_neighbours(reviews.reviewer, reviews.item, M, N, level)
    parent, merges = np.arange(M), np.empty((max(M - 1, 0), 4), np.int64)
    count = pairs.merge_pairs(graph, pairs.Reached(M + N, scored=level.size > 0), parent, merges)
    return parent, merges[:count]


def joined(rows: Rows, a: int, b: int, use_scores: bool) -> bool:
    """Whether two reviewers share two items, with scores two that each of them scored differently."""
    shared = sorted(set(rows[a]) & set(rows[b]))
    return any(
        not use_scores or (rows[a][u] != rows[a][v] and rows[b][u] != rows[b][v]) for u, v in combinations(shared, 2)
    )


def partition(labels: list[int]) -> set[frozenset[int]]:
    return {frozenset(j for j, label in enumerate(labels) if label == one) for one in labels}


def closure(size: int, edges: list[tuple[int, int]]) -> list[int]:
    label = list(range(size))
    for _ in range(size):
        for a, b in edges:
            label[a] = label[b] = min(label[a], label[b])
    return label


@pytest.mark.slow
@given(table=tables(), use_scores=st.booleans())
def test_reviewers_who_share_two_items_are_joined(table: tuple[Rows, int], use_scores: bool) -> None:
    rows, n_items = table
    reviews = to_reviews(rows, n_items)
    parent, merges = merged(reviews, score_levels(reviews) if use_scores else np.empty(0, np.int64))
    edges = [(a, b) for a, b in combinations(range(len(rows)), 2) if joined(rows, a, b, use_scores)]
    assert partition(closure(len(rows), merges[:, :2].tolist())) == partition(closure(len(rows), edges))
    assert partition(closure(len(rows), list(enumerate(parent.tolist())))) == partition(closure(len(rows), edges))
    for a, b, u, v in merges.tolist():
        assert a < b
        assert u < v
        assert {u, v} <= set(rows[a]) & set(rows[b])
        assert not use_scores or (rows[a][u] != rows[a][v] and rows[b][u] != rows[b][v])


@pytest.mark.slow
@given(tables())
def test_neighbours_stand_in_the_order_of_their_degrees(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    reviews = to_reviews(rows, n_items)
    level = score_levels(reviews)
    M = reviews.n_reviewers
    graph = pairs.rank_neighbours(reviews.reviewer, reviews.item, M, n_items, level)
    degree = [*reviews.loads.tolist(), *reviews.reviews_per_item.tolist()]
    assert [degree[v] for v in graph.vertex] == sorted(degree)
    rank = np.argsort(graph.vertex).tolist()
    row = {pair: r for r, pair in enumerate(zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True))}
    for p, v in enumerate(np.asarray(graph.vertex).tolist()):
        around = [(j, i) for j, i in row if v in (j, M + i)]
        expected = sorted((rank[M + i] if v == j else rank[j], level[row[j, i]]) for j, i in around)
        inside = slice(graph.first[p], graph.first[p + 1])
        assert list(zip(graph.neighbour[inside], graph.level[inside], strict=True)) == expected
    plain = pairs.rank_neighbours(reviews.reviewer, reviews.item, M, n_items, np.empty(0, np.int64))
    assert np.asarray(plain.neighbour).tolist() == np.asarray(graph.neighbour).tolist()
