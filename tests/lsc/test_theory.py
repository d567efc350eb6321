"""Claims of docs/explanation/theory.md about the paper that no other test shows."""

from itertools import combinations, permutations

import numpy as np
import pytest

import lsc
from lsc.seriation import seriate
from lsc.simulation import simulate
from reviewgraph import Reviews
from reviewgraph.graph import doubly_connected_components, review_multigraph
from tests.trials import sampled

PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19])


def graph_of_reviewers(seed: int) -> list[set[int]]:
    """Items of each reviewer: one for each edge of a random simple graph, and some of her own."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    edges = [pair for pair in combinations(range(size), 2) if rng.uniform() < 0.6]
    mine: list[set[int]] = [set() for _ in range(size)]
    for item, pair in enumerate(edges):
        for j in pair:
            mine[j].add(item)
    fresh = len(edges)
    for j in range(size):
        for _ in range(max(int(rng.integers(0, 3)), 2 - len(mine[j]))):
            mine[j].add(fresh)
            fresh += 1
    return mine


@pytest.mark.parametrize("seed", range(20))
def test_the_proof_of_necessity_gives_a_second_solution_where_no_item_has_three_components(seed: int) -> None:
    """Theorem 3.4, "only if": slopes sqrt(p_j), offsets p_j, shared qualities -sqrt(p_i) - sqrt(p_j)."""
    mine = graph_of_reviewers(seed)
    n_items = max(max(items) for items in mine) + 1
    reviews = Reviews([(j, i) for j, items in enumerate(mine) for i in items])
    assert len(doubly_connected_components(reviews)) == len(mine)
    owners = [[j for j, items in enumerate(mine) if i in items] for i in range(n_items)]
    root = np.sqrt(PRIMES)
    own = np.random.default_rng(seed).normal(size=n_items)
    truth = np.array([-root[o].sum() if len(o) == 2 else own[i] for i, o in enumerate(owners)])
    assert np.diff(np.sort(truth)).min() > 1e-6  # distinct qualities
    second = np.array([root[o[0]] * truth[i] + PRIMES[o[0]] for i, o in enumerate(owners)])
    for j, items in enumerate(mine):
        at = sorted(items)
        assert second[at] == pytest.approx(root[j] * truth[at] + PRIMES[j])  # increasing and linear for each reviewer
    slope, offset = np.polyfit(truth, second, 1)
    assert np.abs(second - slope * truth - offset).max() > 1e-3  # but not linear in all


def test_one_multigraph_may_come_from_different_covers() -> None:
    """Definition 3.2: reviewer 3 shares u with both others, or w with one and w' with the other."""
    same = {1: "uv", 2: "uv", 3: "u"}
    apart = {1: "uvw", 2: "uvx", 3: "wx"}
    graphs, components = [], []
    for given in (same, apart):
        reviews = Reviews([(j, item) for j, items in given.items() for item in items])
        graphs.append(sorted((min(a, b), max(a, b)) for a, b in review_multigraph(reviews).edges()))
        components.append(len(doubly_connected_components(reviews)))
    assert graphs[0] == graphs[1] == [(1, 2), (1, 2), (1, 3), (2, 3)]
    assert components == [2, 1]


@pytest.mark.parametrize("seed", sampled(range(8), 3))
def test_seriation_of_pairs_is_minimum_feedback_arc_set(seed: int) -> None:
    """Theorem 4.2's problem is NP-hard: an arc (a, b) is a reviewer who scores a 0 and b 1; reversed it costs 1/2."""
    rng = np.random.default_rng(seed)
    arcs = [(int(a), int(b)) for a, b in (rng.choice(5, 2, replace=False) for _ in range(12))]
    least = min(sum(order[a] > order[b] for a, b in arcs) for order in permutations(range(5)))
    rows = [(j, item, float(score)) for j, arc in enumerate(arcs) for score, item in enumerate(arc)]
    found = seriate(Reviews(rows, items=range(5)), seed=0)
    assert found.objective == pytest.approx(least / 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_nine_in_ten_intervals_cover_nine_in_ten(noise: float) -> None:
    apart = []
    for seed in range(3):
        drawn = simulate(n_items=300, n_reviewers=300, load=5, noise=noise, seed=seed)
        found = lsc.calibrate(drawn.reviews, "linear")
        known = np.isfinite(found.standard_error)
        straight = np.polynomial.Polynomial.fit(drawn.truth[known], found.quality[known], 1)
        apart.append((found.quality - straight(drawn.truth))[known] / found.standard_error[known])
    assert 0.86 <= (np.abs(np.concatenate(apart)) < 1.645).mean() <= 0.94
