"""Assignments: exact flows, a level at a small price, and the size of a large conference.

Run with ``pytest tests/benchmarks/test_assign.py``. Every row records the objective beside the time.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from planner import assign
from planner._assign.flow import whole_costs
from reviewgraph import doubly_connected_assignment, doubly_connected_components, random_assignment
from reviewgraph.graph import error_variances
from tests.planner.assignments.cases import cheapest_assignment


def similarity(n_items, n_reviewers, seed, *, communities=False, topics=25, rank=16, spread=0.7):
    """Low-rank similarities with topic clusters, reviewers x items; with communities, none between the two halves."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(topics, rank))
    of_item, of_reviewer = rng.integers(topics, size=n_items), rng.integers(topics, size=n_reviewers)
    items = centre[of_item] + spread * rng.normal(size=(n_items, rank))
    people = centre[of_reviewer] + spread * rng.normal(size=(n_reviewers, rank))
    cosine = people @ items.T / np.linalg.norm(people, axis=1)[:, None] / np.linalg.norm(items, axis=1)
    score = (1 + cosine) / 2
    if communities:
        score[(of_reviewer % 2)[:, None] != of_item % 2] = 0.0
    score[rng.random(score.shape) < 0.02] = np.nan
    return score


def large(n, candidates, seed, *, clustered):
    """Mapping-free sparse affinities: n papers x n reviewers, the same number of candidates for each paper."""
    from scipy.sparse import coo_array

    rng = np.random.default_rng(seed)
    if not clustered:
        reviewer = np.concatenate([rng.choice(n, candidates, replace=False) for _ in range(n)])
        score = rng.random(reviewer.size)
    else:
        centre = rng.normal(size=(200, 16))
        items, people = (centre[rng.integers(200, size=n)] + 0.7 * rng.normal(size=(n, 16)) for _ in range(2))
        items, people = (x / np.linalg.norm(x, axis=1)[:, None] for x in (items, people))
        rows, values = [], []
        for first in range(0, n, 1000):
            block = (1 + items[first : first + 1000] @ people.T) / 2
            best = np.argpartition(-block, candidates, axis=1)[:, :candidates]
            rows.append(best.ravel())
            values.append(np.take_along_axis(block, best, 1).ravel())
        reviewer, score = np.concatenate(rows), np.concatenate(values)
    item = np.repeat(np.arange(n), candidates)
    return coo_array((score, (reviewer, item)), shape=(n, n))


def smallest_eigenvalue(reviews) -> float:
    """Smallest non-zero eigenvalue of sum_j (I - P_j), P_j the projection on span(1, x) with x normal qualities."""
    x = np.random.default_rng(0).normal(size=reviews.n_items)
    total = np.zeros((reviews.n_items, reviews.n_items))
    for j in range(reviews.n_reviewers):
        own = reviews.items_of(j)
        if own.size >= 2:
            basis = np.linalg.qr(np.column_stack([np.ones(own.size), x[own]]))[0]
            total[np.ix_(own, own)] += np.eye(own.size) - basis @ basis.T
    return float(np.linalg.eigvalsh(total)[2])


@pytest.mark.parametrize("communities", [False, True])
def test_double_costs_less_than_half_a_percent(benchmark, communities):
    """N = 1000, M = 800, demand 3, load 5, 2 % conflicts, ten seeds: double at under 0.5 %."""
    prices, before = [], []

    def run():
        for seed in range(10):
            score = similarity(1000, 800, seed, communities=communities)
            plain = assign(score, demand=3, load=5, target="none")
            result = assign(score, demand=3, load=5, target="double", time_limit=120)
            before.append(doubly_connected_components(plain.reviews).covers_all)
            assert doubly_connected_components(result.reviews).covers_all
            assert (result.reviews.reviews_per_item == 3).all()
            assert result.loads.max() <= 5
            assert not np.isnan(score[result.reviews.reviewer, result.reviews.item]).any()
            prices.append(result.price)

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info.update(price_percent=prices, double_without_asking=sum(before))
    print(f"\nprice % {np.round(prices, 4).tolist()}; doubly connected unasked: {sum(before)} of 10")
    assert max(prices) < 0.5


@pytest.mark.parametrize("clustered", [True, False])
def test_large_conference(benchmark, clustered):
    """20,000 x 20,000, 100 candidates each, demand 4, load 6: within 3 minutes, affinity within 1 %."""
    affinity = large(20_000, 100, 0, clustered=clustered)
    result = benchmark.pedantic(
        assign, (affinity,), {"demand": 4, "load": 6, "time_limit": 150, "progress": None}, rounds=1
    )
    import resource

    benchmark.extra_info.update(price=result.price, status=result.status, forced=result.forced)
    print(f"\n{result}, price {result.price:.4f} %, {result.forced} forced, "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")  # fmt: skip
    assert doubly_connected_components(result.reviews).covers_all
    assert result.price < 1.0


def test_flow_equals_highs(benchmark):
    """The flow against the linear programme by HiGHS: 1000 x 800, 100 candidates; same objective, less time."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    score = similarity(1000, 800, 0)
    keep = np.argsort(-np.nan_to_num(score, nan=-1.0), axis=0)[:100]
    item, reviewer = np.repeat(np.arange(1000), 100), keep.T.ravel()
    order = np.lexsort((reviewer, item))
    item, reviewer = item[order], reviewer[order]
    value = score[reviewer, item]
    need, room = np.full(1000, 3), np.full(800, 5)
    chosen = benchmark.pedantic(
        cheapest_assignment, (item, reviewer, whole_costs(value, 0), need, room, np.zeros(800, np.int64)), rounds=3
    )
    column = np.arange(item.size)
    start = time.perf_counter()
    rows = [
        csr_array((np.ones(item.size), (who, column)), shape=(size, item.size))
        for who, size in ((item, 1000), (reviewer, 800))
    ]
    answer = linprog(-value, A_eq=rows[0], b_eq=need, A_ub=vstack([rows[1]]), b_ub=room, bounds=(0, 1), method="highs")
    seconds = time.perf_counter() - start
    benchmark.extra_info.update(highs_seconds=seconds, objective=value[chosen].sum())
    print(
        f"\nflow {benchmark.stats['mean']:.2f} s, HiGHS {seconds:.2f} s, "
        f"objectives {value[chosen].sum():.9f} {-answer.fun:.9f}"
    )
    assert value[chosen].sum() == pytest.approx(-answer.fun, rel=1e-10)


def expected_error(reviews) -> float:
    """Root mean square of the expected standard errors for noise of variance one, median over five draws."""
    draws = (np.random.default_rng(seed).normal(size=reviews.n_items) for seed in range(5))
    return float(np.median([np.sqrt(error_variances(reviews.reviewer, reviews.item, x).mean()) for x in draws]))


def test_better_conditioned_than_algorithm_3(benchmark):
    """Equal affinities, N = 1000, M = 800: expected errors and smallest eigenvalues beside Algorithms 2 and 3."""
    result = benchmark.pedantic(assign, (np.zeros((800, 1000)),), {"demand": 3, "load": 4}, rounds=1)
    rng = np.random.default_rng(0)
    loads = [4] * 600 + [3] * 200
    chain = doubly_connected_assignment(1000, 350, 5, rng)
    demand = dict(enumerate(chain.reviews_per_item.tolist()))
    tables = {
        "assign": result.reviews,
        "algorithm 3, M = 800": doubly_connected_assignment(1000, 800, loads, rng),
        "algorithm 2, M = 800": random_assignment(1000, 800, loads, rng),
        "algorithm 3, M = 350, k = 5": chain,
        "assign, M = 350, load 5, its demands": assign(np.zeros((350, 1000)), demand=demand, load=5).reviews,
        "assign, M = 350, load 6, demand 2": assign(np.zeros((350, 1000)), demand=2, load=6).reviews,
    }
    values = {name: (expected_error(table), smallest_eigenvalue(table)) for name, table in tables.items()}
    benchmark.extra_info.update(values)
    print("\n" + "; ".join(f"{name}: error {e:.3g}, eigenvalue {v:.1e}" for name, (e, v) in values.items()))
    assert doubly_connected_components(result.reviews).covers_all
    assert values["assign"][0] < min(values["algorithm 3, M = 800"][0], values["algorithm 2, M = 800"][0])


@pytest.mark.parametrize("communities", [False, True])
def test_survives_any_one_reviewer(benchmark, communities):
    """N = 1000, M = 800, demand 3, load 5, ten seeds: nobody is critical, at what price."""
    rows = []

    def run():
        for seed in range(10):
            score = similarity(1000, 800, seed, communities=communities)
            plain, result = (assign(score, demand=3, load=5, survive=survive) for survive in (0, 1))
            assert result.survives
            rows.append((len(plain.critical), plain.price, result.price))

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info.update(rows=rows)
    print(
        "\ncritical without asking, price % without and with: " + "; ".join(f"{c} {a:.4f} {b:.4f}" for c, a, b in rows)
    )


def test_algorithms_2_and_3(benchmark):
    """Algorithm 3 at N = 1000, M = 350, k = 5: always doubly connected and covering, under a second."""
    rng = np.random.default_rng(0)
    draws = [doubly_connected_assignment(1000, 350, 5, rng) for _ in range(20)]
    benchmark(doubly_connected_assignment, 1000, 350, 5, rng)
    assert all(doubly_connected_components(draw).covers_all and (draw.reviews_per_item > 0).all() for draw in draws)
    plain = [random_assignment(1000, 350, 5, rng) for _ in range(20)]
    assert all(draw.reviews_per_item.min() >= 1 for draw in plain)
    for name, sample in (("3", draws), ("2", plain)):
        shares = np.mean([np.bincount(draw.reviews_per_item, minlength=8)[:8] for draw in sample], axis=0)
        print(f"\nalgorithm {name}: papers by number of reviews, mean of 20: {shares.tolist()}")
