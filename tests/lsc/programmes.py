"""Programmes for the solver's tests: the paper's generators, and small ones that aim at what breaks."""

from __future__ import annotations

import numpy as np

from lsc._model.formulation import Programme
from lsc._model.hypotheses import Shape, classes


def assignment(n_items, n_reviewers, size, rng):
    """Items of each reviewer, shape (M, k): every item about equally often, none twice by one reviewer."""
    deck: list[int] = []
    rows = np.empty((n_reviewers, size), dtype=np.int64)
    for j in range(n_reviewers):
        hand: list[int] = []
        while len(hand) < size:
            if not set(deck) - set(hand):
                deck = [*rng.permutation(n_items).tolist(), *deck]
            taken = next(at for at in range(len(deck) - 1, -1, -1) if deck[at] not in hand)
            hand.append(deck.pop(taken))
        rows[j] = hand
    return rows


def from_rows(item, score, n_items, shape, max_slope=10.0, upper=np.inf):
    """A programme from items and scores of reviewers, both (M, k)."""
    m, k = item.shape
    order = np.lexsort((item, score), axis=1)
    return Programme(
        n_items=n_items,
        start=np.arange(m + 1) * k,
        item=np.take_along_axis(item, order, 1).ravel(),
        score=np.take_along_axis(score, order, 1).ravel(),
        kind=np.broadcast_to(np.asarray(shape, dtype=np.int64), (m,)).copy(),
        lower=np.full(m, 1.0 / max_slope),
        upper=np.full(m, upper),
        is_reference=np.zeros(n_items, dtype=bool),
        reference=np.zeros(n_items),
    )


def _weights(rng, m):
    a = rng.random((m, 1))
    b = rng.random((m, 1)) * (1 - a)
    return a, b, 1 - a - b


def scores(scoring, perceived, rng):
    """Scores of perceived qualities (M, k) by the paper's random scoring functions (appendix)."""
    m, k = perceived.shape
    if scoring == "linear":
        return rng.uniform(0, 2, m)[:, None] * perceived + rng.normal(0, 2, m)[:, None]
    a, b, c = _weights(rng, m)
    if scoring == "convex":
        p, q, s = rng.random((3, m, 1))
        return a * p * perceived**2 + b * q * perceived**2.5 + c * s * perceived**3
    if scoring == "concave":
        p, q, s = (rng.uniform(1, 10 / 10 ** (1 / d), (m, 1)) for d in (2, 3, 4))
        return a * p * perceived**0.5 + b * q * perceived ** (1 / 3) + c * s * perceived**0.25
    ranks = perceived.argsort(axis=1).argsort(axis=1)
    return np.take_along_axis(np.sort(rng.uniform(0, 10, (m, k)), axis=1), ranks, 1)


def conference(n_items, n_reviewers, size, sigma, shape, scoring, seed):
    """The paper's setting: a programme and the true qualities. ``shape`` "mixed": a third each, scored accordingly."""
    rng = np.random.default_rng(seed)
    item = assignment(n_items, n_reviewers, size, rng)
    truth = np.clip(rng.normal(5.32, 1.2, n_items), 0, 10)
    perceived = np.clip(truth[item] + sigma * rng.normal(size=item.shape), 0, 10)
    if scoring == "mixed":
        third = np.arange(n_reviewers) % 3
        score = np.empty(item.shape)
        for number, name in enumerate(("monotone", "convex", "concave")):
            score[third == number] = scores(name, perceived[third == number], rng)
        return from_rows(item, score, n_items, third + 1), truth
    return from_rows(item, scores(scoring, perceived, rng), n_items, Shape[shape.upper()]), truth


def small(seed):
    """A programme with few of everything and much that is special: ties, constants, bounds, references, no reviews."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 14)), int(rng.integers(1, 12))
    most, grid = min(n, int(rng.integers(1, 9))), rng.random() < 0.5
    item, score, start = [], [], [0]
    for _ in range(m):
        size = int(rng.integers(0, most + 1))
        mine = rng.choice(n, size, replace=False)
        y = rng.integers(0, rng.integers(2, 7), size) * 1.0 if grid else rng.normal(size=size) * rng.choice([0.1, 1, 3])
        if rng.random() < 0.1:
            y = np.zeros(size)
        order = np.lexsort((mine, y))
        item.append(mine[order])
        score.append(y[order])
        start.append(start[-1] + size)
    lower = np.full(m, 1 / rng.choice([1.0, 10.0, 100.0])) * (1.0 if rng.random() < 0.7 else rng.uniform(0.2, 3, m))
    kind = rng.choice(len(classes()), m).astype(np.int64)
    linear = np.array([each.shape == Shape.LINEAR for each in classes()])[kind]
    bounded = (rng.random(m) < 0.7) & linear & (rng.random() < 0.4)
    given = np.array([each().fixes_unit for each in classes()])[kind]
    is_reference = (rng.random(n) < 0.3) & (rng.random() < 0.35)
    return Programme(
        n_items=n,
        start=np.array(start),
        item=np.concatenate(item).astype(np.int64),
        score=np.concatenate(score),
        kind=kind,
        lower=lower,
        upper=np.where(given, lower, np.where(bounded, lower * rng.choice([1, 1.5, 4, 20], m), np.inf)),
        is_reference=is_reference,
        reference=np.where(is_reference, rng.normal(size=n) * rng.choice([0.1, 1, 10]), 0.0),
    )
