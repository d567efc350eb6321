"""Tables and markets on which speed and size are measured."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from lsc._model.formulation import formulate, in_units
from lsc.programs import state
from lsc.simulation import simulate
from reviewgraph import Reviews
from reviewgraph.graph import random_assignment

NOISE = 0.5
CLASSES = ("linear", "monotone", "convex", "concave", "mixed")


def linear_reviewers(n_items: int, n_reviewers: int, load: int) -> Reviews:
    """Return a table of the paper's setting."""
    return simulate(n_items, n_reviewers, load, noise=NOISE, seed=np.random.default_rng(0)).reviews


def uneven_loads() -> Reviews:
    """22,000 papers, 20,000 reviewers, 90,000 reviews: loads of 4 and 5."""
    rng = np.random.default_rng(0)
    loads = [4 + j % 2 for j in range(20_000)]
    return simulate(noise=NOISE, seed=rng, assignment=random_assignment(22_000, 20_000, loads, rng)).reviews


def hypothesis_of(reviews: Reviews, name: str) -> Any:
    """Return a hypothesis, or one of four classes for each reviewer."""
    if name != "mixed":
        return name
    return {j: CLASSES[j % 4] for j in range(reviews.n_reviewers)}


def by_cvxpy(reviews: Reviews, hypothesis: Any, solver: str = "CLARABEL") -> tuple[float, float]:
    """CPU seconds and objective of CVXPY, building included, at the solver's own accuracy."""
    programme, _ = formulate(reviews, hypothesis)
    scaled, units = in_units(programme)
    started = time.process_time()
    value = state(scaled).problem.solve(solver=solver)
    return time.process_time() - started, float(value) * units.unit**2


def ten_million() -> Reviews:
    """Ten million reviews of two million papers by linear reviewers."""
    rng = np.random.default_rng(0)
    n_items = 2_000_000
    n_reviewers = 1_000_000
    item = np.sort(rng.integers(0, n_items, (n_reviewers, 10)), axis=1)
    distinct = np.diff(item, axis=1, prepend=-1).ravel() > 0
    reviewer = np.repeat(np.arange(n_reviewers), 10)[distinct]
    item = item.ravel()[distinct]
    truth = rng.normal(5.32, 1.2, n_items)
    slope = rng.uniform(0, 2, n_reviewers)
    offset = rng.normal(0, 2, n_reviewers)
    score = slope[reviewer] * (truth[item] + NOISE * rng.standard_normal(item.size)) + offset[reviewer]
    return Reviews.from_codes(reviewer, item, score, reviewers=n_reviewers, items=n_items)


def conference(kind: str, seed: int) -> tuple[Any, ...]:
    """Arguments of ``infer``: whole scores (``"integers"``), or reviewers with noise of their own (``"own noise"``)."""
    rng = np.random.default_rng(seed)
    n_items = 22_000
    whole = kind == "integers"
    n_reviewers = 18_000 if whole else 20_000
    load = 5 if whole else [4 + j % 2 for j in range(n_reviewers)]
    design = random_assignment(n_items, n_reviewers, load, rng)
    truth = rng.standard_normal(n_items)
    slope = rng.lognormal(0, 0.3, n_reviewers)
    offset = rng.normal(0, 0.8, n_reviewers)
    noise = 0.6 * rng.lognormal(0, 0.0 if whole else 0.5, n_reviewers)
    score = offset[design.reviewer] + slope[design.reviewer] * truth[design.item]
    score += noise[design.reviewer] * rng.standard_normal(design.n_reviews)
    if whole:
        score = np.clip(np.round(5.5 + 1.8 * score), 1, 10)
    return design.reviewer, design.item, score, n_reviewers, n_items


def random_pairs() -> Reviews:
    """90,000 pairs of 22,000 reviewers and 20,000 papers."""
    rng = np.random.default_rng(0)
    return _distinct(rng.integers(0, 22_000, 90_000), rng.integers(0, 20_000, 90_000), 22_000, 20_000)


def power_law(size: int) -> Reviews:
    """Reviews of papers with popularity 1 / rank, five a reviewer, and a hub that a tenth of them shares."""
    rng = np.random.default_rng(0)
    n_reviewers = size // 5
    n_items = size // 10
    popularity = np.cumsum(1 / np.arange(1, n_items + 1))
    item = np.minimum(np.searchsorted(popularity, rng.random(size) * popularity[-1]), n_items - 1)
    reviewer = rng.integers(0, n_reviewers, size)
    item[: size // 10] = 0
    reviewer[: size // 10] = np.arange(size // 10)
    return _distinct(reviewer, item, n_reviewers, n_items)


def _distinct(reviewer: np.ndarray, item: np.ndarray, n_reviewers: int, n_items: int) -> Reviews:
    key = np.unique(reviewer.astype(np.int64) * n_items + item)
    reviews = Reviews.from_codes(key // n_items, key % n_items, reviewers=n_reviewers, items=n_items)
    _ = reviews.reviewer_start, reviews.item_start, reviews.by_item
    return reviews


def clustered_affinities(n: int, candidates: int) -> Any:
    """Sparse affinities of n reviewers and n papers in 200 clusters, ``candidates`` for each paper."""
    from scipy.sparse import coo_array

    rng = np.random.default_rng(0)
    centre = rng.normal(size=(200, 16))
    items = centre[rng.integers(200, size=n)] + 0.7 * rng.normal(size=(n, 16))
    people = centre[rng.integers(200, size=n)] + 0.7 * rng.normal(size=(n, 16))
    items /= np.linalg.norm(items, axis=1)[:, None]
    people /= np.linalg.norm(people, axis=1)[:, None]
    reviewer = []
    score = []
    for first in range(0, n, 1000):
        block = (1 + items[first : first + 1000] @ people.T) / 2
        best = np.argpartition(-block, candidates, axis=1)[:, :candidates]
        reviewer.append(best.ravel())
        score.append(np.take_along_axis(block, best, 1).ravel())
    item = np.repeat(np.arange(n), candidates)
    return coo_array((np.concatenate(score), (np.concatenate(reviewer), item)), shape=(n, n))


def write_files(items: int, reviewers: int, per_item: int, rng: np.random.Generator) -> dict[str, str]:
    """Write a table of integer scores and one of affinities to this folder; returns their names."""
    names = {name: f"{name}-{items}.csv" for name in ("TABLE", "ITEMS", "REVIEWERS", "AFFINITY")}
    quality, severity = rng.normal(5.5, 1.5, items), rng.normal(0.0, 0.8, reviewers)
    rows, pairs = ["reviewer,item,score"], ["reviewer,item,affinity"]
    for i in range(items):
        for j in rng.choice(reviewers, per_item, replace=False).tolist():
            score = int(np.clip(np.rint(quality[i] + severity[j] + rng.normal()), 1, 10))
            rows.append(f"r{j},p{i},{score}")
        pairs += [f"r{j},p{i},{rng.beta(1, 6):.4f}" for j in rng.choice(reviewers, min(40, reviewers), replace=False)]
    Path(names["TABLE"]).write_text("\n".join(rows) + "\n")
    Path(names["AFFINITY"]).write_text("\n".join(pairs) + "\n")
    Path(names["ITEMS"]).write_text("item\n" + "".join(f"p{i}\n" for i in range(items)))
    Path(names["REVIEWERS"]).write_text("reviewer,load\n" + "".join(f"r{j},6\n" for j in range(reviewers)))
    return names
