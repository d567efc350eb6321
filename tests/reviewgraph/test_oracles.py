"""Thousands of random graphs against the naive versions: 2,000 normally, 20,000 with HYPOTHESIS_PROFILE=nightly."""

from __future__ import annotations

import os

import numpy as np
import pytest

from reviewgraph import connected_components, doubly_connected_components, recoverability, verify_merges
from tests import naive
from tests.strategies import Rows, to_reviews

CHUNKS = 20
GRAPHS = (20_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 2_000) // CHUNKS


def random_rows(rng: np.random.Generator) -> tuple[Rows, int]:
    """Return a sparse, critical or dense table; one in four has a hub, one in four scores from few values."""
    n_reviewers, n_items = int(rng.integers(0, 9)), int(rng.integers(1, 10))
    most = int(rng.integers(1, 5))
    values = int(rng.choice([2, 3, 3, 1_000]))
    rows: Rows = []
    for _ in range(n_reviewers):
        items = rng.permutation(n_items)[: int(rng.integers(0, most + 1))]
        rows.append({int(i): float(rng.integers(values)) for i in items})
    if rng.integers(4) == 0:
        for row in rows:
            row.setdefault(0, float(rng.integers(values)))
    return rows, n_items


def parts(labels: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_graphs(chunk: int) -> None:
    rng = np.random.default_rng([2021, chunk])
    for _ in range(GRAPHS):
        rows, n_items = random_rows(rng)
        reviews = to_reviews(rows, n_items)
        double = doubly_connected_components(reviews)
        assert parts(double.labels) == naive.repeat_union(rows, 2)
        assert parts(connected_components(reviews).labels) == naive.repeat_union(rows, 1)
        assert (verify_merges(reviews, double.merges) == double.labels).all()
        scored = doubly_connected_components(reviews, use_scores=True)
        assert parts(scored.labels) == naive.scored_union(rows, n_items)
        assert (verify_merges(reviews, scored.merges, use_scores=True) == scored.labels).all()
        quality = rng.integers(1, naive.PRIME, n_items).tolist()
        assert recoverability(reviews).rank == naive.rank(naive.equations(rows, quality))
