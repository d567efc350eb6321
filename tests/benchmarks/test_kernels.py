"""Speed of the compiled kernels. Run: pytest tests/benchmarks/test_kernels.py --benchmark-columns=min,median -s

Claims, of a conference of 90,000 reviews (projections: 5,000): doubly connected components are found
100 times faster than networkx projects the same graph on its reviewers, the step that any approach by the review
multigraph starts with; pebbles, cascade, projections and the step of the posterior beside numpy's sort of as many
scores, which says how fast the machine is. ``python -m tests.benchmarks.page`` has what users wait for.
"""

import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import planner
from lsc._inference.inferring import infer
from lsc._solver.newton import minimise
from reviewgraph import Search
from reviewgraph.graph import doubly_connected_components, recoverability, to_networkx
from tests.benchmarks.harness.tables import conference, random_pairs, uneven_loads
from tests.lsc import programmes

pytestmark = pytest.mark.benchmark(timer=time.process_time)


def beside(benchmark: Any, call: Callable[[], Any], anchor: Callable[[], Any], rounds: int = 5) -> Any:
    """Time a call after a first one, and its anchor once in the same process; return what the call returns."""
    result = benchmark.pedantic(call, rounds=rounds, warmup_rounds=1)
    started = time.process_time()
    anchor()
    seconds = time.process_time() - started
    least = benchmark.stats.stats.min
    benchmark.extra_info |= {"anchor_seconds": seconds, "times_faster": seconds / least}
    print(f"\n{benchmark.name}: {least:.4f} s, anchor {seconds:.4f} s")
    return result


def sorting() -> None:
    np.sort(np.random.default_rng(0).standard_normal(90_000))


def test_components_against_networkx(benchmark: Any) -> None:
    reviews = random_pairs()
    graph = to_networkx(reviews)
    reviewers = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    beside(
        benchmark,
        lambda: doubly_connected_components(reviews),
        lambda: nx.bipartite.projected_graph(graph, reviewers, multigraph=True),
    )
    assert benchmark.extra_info["times_faster"] > 100


def test_pebbles(benchmark: Any) -> None:
    reviews = random_pairs()
    components = doubly_connected_components(reviews)
    beside(benchmark, lambda: recoverability(reviews, components=components), sorting)


def test_cascade(benchmark: Any) -> None:
    reviews = uneven_loads()
    plan = beside(benchmark, lambda: planner.plan(reviews, search=Search(time_limit=5)), sorting, rounds=1)
    benchmark.extra_info |= {"count": plan.count, "bound": plan.lower_bound}


@pytest.mark.parametrize("shape", ["linear", "monotone", "convex"])
def test_projections(benchmark: Any, shape: str) -> None:
    scoring = "convex" if shape == "convex" else "linear"
    programme, _ = programmes.conference(1000, 1000, 5, 0.5, shape, scoring, seed=1)
    solution = beside(benchmark, lambda: minimise(programme), sorting)
    assert solution.converged


@pytest.mark.parametrize("kind", ["own noise", "integers"])
def test_step_of_the_posterior(benchmark: Any, kind: str) -> None:
    arguments = conference(kind, 0)
    posterior = beside(benchmark, lambda: infer(*arguments), sorting, rounds=3)
    benchmark.extra_info |= {"sweeps": posterior.sweeps, "status": posterior.status.value}
