"""Probabilities of being among the best against exact integrals."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from reviewgraph._base import probability_in_top
from tests.oracles.oracle import Oracle

#: Chances by the cut and exact chances: the cut is itself in doubt, most where one item is known ten times as well as
#: eight others, which are alike. There they are .214 apart, the most that a search among these questions found.
CHANCES = 0.22
POINTS = 2001


class Chosen(NamedTuple):
    mean: Any
    sd: Any
    n: int


def chosen(rng: np.random.Generator) -> Chosen:
    """Means and standard errors of a few items, ties among them, and how many are to be chosen."""
    size = int(rng.integers(2, 13))
    mean = rng.normal(size=size) if rng.random() < 0.6 else rng.integers(0, 3, size) * 1.0
    return Chosen(mean, rng.uniform(0.2, 2.0, size), int(rng.integers(0, size + 1)))


def our_chances(asked: Chosen) -> Any:
    return probability_in_top(*asked)


def exact_chances(asked: Chosen) -> Any:
    """By the cut, found by another search; and the chance that fewer than n others are better, by quadrature."""
    mean, sd, n = asked
    if n in (0, mean.size):
        whole = np.full(mean.size, n / mean.size)
        return whole, whole
    low, high = float((mean - 9 * sd).min()), float((mean + 9 * sd).max())
    cut = brentq(lambda t: norm.sf((t - mean) / sd).sum() - n, low, high, xtol=1e-14)
    grid = np.linspace(low, high, POINTS)
    above = norm.sf((grid - mean[:, None]) / sd[:, None])
    exact = np.empty(mean.size)
    for i in range(mean.size):
        better = np.zeros((n, POINTS))  # the probability that so many others are better
        better[0] = 1.0
        for k in range(mean.size):
            if k != i:
                better[1:] = better[1:] * (1 - above[k]) + better[:-1] * above[k]
                better[0] *= 1 - above[k]
        exact[i] = np.trapezoid(norm.pdf(grid, mean[i], sd[i]) * better.sum(axis=0), grid)
    return norm.sf((cut - mean) / sd), exact


def other_chances(asked: Chosen, ours: Any, theirs: Any) -> str:
    stated, exact = theirs
    if np.abs(ours - stated).max() > 1e-9:
        return f"found {ours}, expected {stated}: {asked}"
    off = float(np.abs(ours - exact).max())
    return f"{off:.3f} off the exact chances {exact}: {asked}" if off > CHANCES else ""


ORACLES = [Oracle("chances", "exact integrals", chosen, our_chances, exact_chances, other_chances)]
