"""Speed of the posterior. Run: pytest tests/benchmarks/test_posterior.py --benchmark-columns=min,median,rounds -s

Goals, seconds of one thread: 5,000 reviews .05 once warm, and 3 from a cold start; 90,000 reviews of 20,000 reviewers
and 22,000 papers .6. It should lose time where slopes hardly differ, for then the population converges slowly. Beside
it at 5,000 reviews, in the same process: the mixed model of the package mixedlm, where that is installed, and the
programme of Least Square Calibration by CVXPY with Clarabel. Ten million reviews:
``python tests/benchmarks/posterior_large.py``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lsc._inference.beliefs import InferenceStatus
from lsc._inference.inferring import infer
from lsc._model.formulation import formulate, in_units
from lsc.programs import state
from reviewgraph import Reviews
from reviewgraph.graph import random_assignment

pytestmark = pytest.mark.benchmark(timer=time.process_time)

KINDS = ("plain", "own noise")
COLD = """
import numpy as np
from lsc._inference.inferring import infer
rng = np.random.default_rng(0)
who, what = np.repeat(np.arange(1000), 5), np.concatenate([rng.choice(1000, 5, replace=False) for _ in range(1000)])
score = rng.normal(0, 0.8, 1000)[who] + rng.standard_normal(1000)[what] + 0.6 * rng.standard_normal(5000)
infer(who, what, score, 1000, 1000)
"""


def table(n_items: int, n_reviewers: int, load: Any, kind: str, seed: int = 0) -> tuple[Any, ...]:
    """Offsets, slopes and noise; on demand noise that differs by reviewer."""
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng)
    who, what = design.reviewer, design.item
    truth, slope = rng.standard_normal(n_items), rng.lognormal(0, 0.3, n_reviewers)
    noise = 0.6 * rng.lognormal(0, 0.5 * (kind == "own noise"), n_reviewers)
    score = rng.normal(0, 0.8, n_reviewers)[who] + slope[who] * truth[what]
    score += noise[who] * rng.standard_normal(who.size)
    return who, what, score, n_reviewers, n_items


def integers(seed: int, n_items: int = 22_000, n_reviewers: int = 18_000, load: int = 5) -> tuple[Any, ...]:
    """Offsets, slopes and noise; scores are whole numbers from 1 to 10, with a floor and a ceiling."""
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng)
    who, what = design.reviewer, design.item
    truth, slope = rng.standard_normal(n_items), rng.lognormal(0, 0.3, n_reviewers)
    latent = rng.normal(0, 0.8, n_reviewers)[who] + slope[who] * truth[what] + 0.6 * rng.standard_normal(who.size)
    return who, what, np.clip(np.round(5.5 + 1.8 * latent), 1, 10), n_reviewers, n_items


def ranks(seed: int, n_items: int = 22_000, n_reviewers: int = 18_000, load: int = 5) -> tuple[Any, ...]:
    """Reviewers who all rank what they perceive."""
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng)
    perceived = rng.standard_normal(n_items)[design.item] + 0.5 * rng.standard_normal(design.item.size)
    rank = np.empty(design.item.size)
    rank[np.lexsort((perceived, design.reviewer))] = np.tile(np.arange(1.0, load + 1), n_reviewers)
    return design.reviewer, design.item, rank, n_reviewers, n_items


def conference(kind: str, seed: int = 0) -> tuple[Any, ...]:
    """Return 90,000 scores of 22,000 papers."""
    if kind in KINDS:
        return table(22_000, 20_000, [4 + j % 2 for j in range(20_000)], kind, seed)
    return {"integers": integers, "ranks": ranks}[kind](seed)


def measured(benchmark: Any, arguments: tuple[Any, ...], rounds: int, name: str) -> None:
    found, _ = benchmark.pedantic(infer, arguments, rounds=rounds, warmup_rounds=1 if rounds > 1 else 0)
    least = benchmark.stats.stats.min
    benchmark.extra_info.update(reviews=found.item.size, status=found.status.value, sweeps=found.sweeps)
    print(f"\n{name}: {found.item.size:,} reviews {least:.2f} s, {found.status.value}, {found.sweeps} sweeps")
    assert found.status is not InferenceStatus.SWEEPS_EXHAUSTED


@pytest.mark.parametrize("times", [1, 2, 4, 8])
def test_growing_sizes(benchmark: Any, times: int) -> None:
    measured(benchmark, table(1000 * times, 1000 * times, 5, "plain"), 3, f"x {times}")


def test_a_thousand_papers(benchmark: Any) -> None:
    measured(benchmark, table(1000, 1000, 5, "own noise"), 3, "own noise")


@pytest.mark.parametrize("kind", [*KINDS, "ranks"])
def test_twenty_thousand_papers(benchmark: Any, kind: str) -> None:
    measured(benchmark, conference(kind), 1, f"22,000 papers, {kind}")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["integers", "ranks"])
def test_whole_numbers_converge(benchmark: Any, kind: str, seed: int) -> None:
    measured(benchmark, conference(kind, seed), 1, f"{kind}, seed {seed}")


def test_a_cold_start(benchmark: Any) -> None:
    def taken() -> float:
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

    benchmark._timer = taken
    benchmark.pedantic(subprocess.run, ([sys.executable, "-c", COLD],), {"check": True}, rounds=2)
    print(f"\ncold start: {benchmark.stats.stats.min:.2f} s")


def test_the_mixed_model(benchmark: Any) -> None:
    mixedlm = pytest.importorskip("mixedlm")
    import pandas as pd

    who, what, score, *_ = table(1000, 1000, 5, "plain")
    data = pd.DataFrame({"score": score, "reviewer": who.astype(str), "item": what.astype(str)})
    formula = "score ~ 1 + (1 | item) + (1 | reviewer)"
    anchor(benchmark, lambda: mixedlm.lmer(formula, data), "mixedlm")


def test_least_squares_by_cvxpy(benchmark: Any) -> None:
    who, what, score, n_reviewers, n_items = table(1000, 1000, 5, "plain")
    reviews = Reviews.from_codes(who, what, score, reviewers=n_reviewers, items=n_items)

    def solve() -> None:
        scaled, _ = in_units(formulate(reviews, "linear")[0])
        state(scaled).problem.solve(solver="CLARABEL")

    anchor(benchmark, solve, "CVXPY")


def anchor(benchmark: Any, fit: Callable[[], object], name: str) -> None:
    """Time another method beside the posterior on the same scores."""
    arguments = table(1000, 1000, 5, "plain")
    ours = []
    for _ in range(3):
        began = time.process_time()
        infer(*arguments)
        ours.append(time.process_time() - began)
    benchmark.pedantic(fit, rounds=1, warmup_rounds=1)
    theirs = benchmark.stats.stats.min
    print(f"\n{name}: {theirs:.2f} s, posterior {min(ours):.2f} s")
