"""Score tables drawn from models that the tests know."""

from typing import NamedTuple

import numpy as np

from reviewgraph._base import FloatArray, IntArray
from reviewgraph.graph import random_assignment


class Simulated(NamedTuple):
    """Codes of reviewers and items, scores, shapes (E,), and the true qualities, shape (N,)."""

    who: IntArray
    what: IntArray
    score: FloatArray
    truth: FloatArray


def table(
    seed: int = 0,
    n_items: int = 200,
    n_reviewers: int = 200,
    load: int = 5,
    slope: float = 0.3,
    offset: float = 0.8,
    noise: float = 0.6,
    own: float = 0.0,
    centre: float = 0.0,
) -> Simulated:
    """Draw linear reviewers with log-normal slopes, normal offsets and noises of their own.

    ``centre`` is the quality at which those of equal offsets agree.
    """
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng)
    truth = rng.standard_normal(n_items)
    a = rng.lognormal(0.0, slope, n_reviewers)
    b = rng.normal(0.0, offset, n_reviewers)
    s = noise * rng.lognormal(0.0, own, n_reviewers)
    who, what = design.reviewer, design.item
    score = b[who] + a[who] * (truth[what] - centre) + s[who] * rng.standard_normal(who.size)
    return Simulated(who, what, 5.0 + 1.5 * score, truth)


def tracks(seed: int = 0, n: int = 200, load: int = 4, groups: int = 20, between: float = 0.8) -> Simulated:
    """Draw reviewers of one track each, in which papers are similar; some have one paper of another track.

    ``between`` is the share of the variance of qualities between tracks.
    """
    rng = np.random.default_rng(seed)
    track = np.arange(n) % groups
    truth = np.sqrt(between) * rng.standard_normal(groups)[track] + np.sqrt(1 - between) * rng.standard_normal(n)
    item = []
    for reviewer in range(n):
        own = rng.choice(np.flatnonzero(track == track[reviewer]), load, replace=False)
        if reviewer % (10 // load + 1) == 0:
            own[0] = rng.choice(np.flatnonzero(track != track[reviewer]))
        item.append(own)
    who, what = np.repeat(np.arange(n), load), np.concatenate(item)
    score = rng.normal(0, 0.8, n)[who] + rng.lognormal(0, 0.3, n)[who] * truth[what]
    return Simulated(who, what, 5.0 + score + 0.6 * rng.standard_normal(what.size), truth)


def awkward(seed: int) -> Simulated:
    """Draw a table of any shape, with scores of any size, heavy tails, few levels or constant reviewers."""
    rng = np.random.default_rng([seed, 7])
    who, what = (np.unique(code, return_inverse=True)[1] for code in DESIGNS[seed % len(DESIGNS)](rng))
    truth, n_reviewers = rng.standard_normal(int(what.max()) + 1), int(who.max()) + 1
    slope = rng.lognormal(0, rng.choice([0.0, 0.3, 1.0]), n_reviewers)
    offset = rng.choice([0.0, 1.0, 5.0]) * rng.standard_normal(n_reviewers)
    noise = rng.choice([0.01, 0.5, 3.0]) * rng.lognormal(0, rng.choice([0.0, 1.0]), n_reviewers)
    error = rng.standard_t(2, who.size) if rng.random() < 0.3 else rng.standard_normal(who.size)
    score = offset[who] + slope[who] * truth[what] + noise[who] * error
    kinds = (
        score,
        np.clip(np.rint(3 + score), 1, 5),
        np.where(score > np.median(score), 1.0, 0.0),
        np.rint(np.where((rng.random(n_reviewers) < 0.3)[who], offset[who], 2 * score)),
        np.sign(score) * np.abs(score) ** 2.5,
        np.rint(100 * score) * (1 if seed % 2 else 1e-6),
    )
    return Simulated(who, what, kinds[seed // len(DESIGNS) % len(kinds)], truth)


Codes = tuple[IntArray, IntArray]


def _random(rng: np.random.Generator) -> Codes:
    size = int(rng.integers(3, 60))
    design = random_assignment(size, int(rng.integers(2, 60)), int(min(rng.integers(2, 7), size)), rng)
    return design.reviewer, design.item


def _pairs(rng: np.random.Generator) -> Codes:
    """Two papers for each reviewer."""
    size = int(rng.integers(4, 120))
    first = rng.integers(0, size, size)
    return np.repeat(np.arange(size), 2), np.column_stack([first, first + rng.integers(1, size, size)]).ravel() % size


def _block(rng: np.random.Generator) -> Codes:
    """Few reviewers who score all, or one."""
    load = int(rng.integers(2, 60))
    return np.divmod(np.arange(int(rng.integers(1, 5)) * load), load)


def _one_item(rng: np.random.Generator) -> Codes:
    size = int(rng.integers(1, 30))
    return np.arange(size), np.zeros(size, np.int64)


def _star(rng: np.random.Generator) -> Codes:
    """One reviewer of all papers, and one more for each of some of them."""
    size = int(rng.integers(2, 80))
    some = rng.permutation(size)[: int(rng.integers(1, size + 1))]
    return np.concatenate([np.zeros(size, np.int64), 1 + np.arange(some.size)]), np.concatenate([np.arange(size), some])


def _islands(rng: np.random.Generator) -> Codes:
    """Components that nothing joins, some of a single score."""
    sizes = [rng.integers(1, 5, 2).tolist() for _ in range(int(rng.integers(2, 20)))]
    codes = [np.divmod(np.arange(n * m), m) for n, m in sizes]
    first, second = (np.concatenate([code[side] + 10 * k for k, code in enumerate(codes)]) for side in range(2))
    return first, second


def _skewed(rng: np.random.Generator) -> Codes:
    """Loads from one to a hundred, papers of very different numbers of reviews."""
    loads = np.minimum((rng.pareto(0.8, int(rng.integers(3, 40))) + 1).astype(np.int64), 100)
    size = int(rng.integers(loads.max(), 2 * loads.max() + 2))
    popular = rng.pareto(1.0, size) + 0.1
    items = [rng.choice(size, load, replace=False, p=popular / popular.sum()) for load in loads.tolist()]
    return np.repeat(np.arange(loads.size), loads), np.concatenate(items)


def _ring(rng: np.random.Generator) -> Codes:
    """A circle of reviewers of two papers each."""
    size = int(rng.integers(3, 60))
    return np.repeat(np.arange(size), 2), (np.arange(size)[:, None] + np.arange(2)).ravel() % size


DESIGNS = (_random, _pairs, _block, _one_item, _star, _islands, _skewed, _ring)
