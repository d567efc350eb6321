"""Programmes for the solver's tests: the paper's generators, and small ones that aim at what breaks."""

import numpy as np

from lsc._model.formulation import Programme, formulate
from lsc._model.hypotheses import classes
from lsc.simulation import MIXED, Setting


def from_rows(item, score, n_items, shape, max_slope=10.0):
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
        upper=np.full(m, np.inf),
        is_reference=np.zeros(n_items, dtype=bool),
        reference=np.zeros(n_items),
    )


def conference(n_items, n_reviewers, size, sigma, shape, scoring, seed):
    """The paper's setting: a programme and the true qualities. ``"mixed"``: a third each of three classes."""
    shares = MIXED if scoring == "mixed" else ((scoring, 1.0),)
    drawn = Setting(n_items, n_reviewers, size, sigma, shares=shares).draw(seed)
    hypothesis = dict(enumerate(drawn.kinds)) if shape == "mixed" else shape
    return formulate(drawn.reviews, hypothesis)[0], drawn.truth


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
    given = np.array([each().fixes_unit for each in classes()])[kind]
    is_reference = (rng.random(n) < 0.3) & (rng.random() < 0.35)
    return Programme(
        n_items=n,
        start=np.array(start),
        item=np.concatenate(item).astype(np.int64),
        score=np.concatenate(score),
        kind=kind,
        lower=lower,
        upper=np.where(given, lower, np.inf),
        is_reference=is_reference,
        reference=np.where(is_reference, rng.normal(size=n) * rng.choice([0.1, 1, 10]), 0.0),
    )
