"""Hundreds of random graphs against the naive versions, and thousands in a nightly run."""

from __future__ import annotations

import numpy as np
import pytest

from reviewgraph import connected_components, doubly_connected_components, recoverability, verify_merges
from tests import naive
from tests.oracles.graphs import parts, random_rows
from tests.strategies import to_reviews
from tests.trials import trials

CHUNKS = 20
GRAPHS = trials(400) // CHUNKS


@pytest.mark.slow
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
