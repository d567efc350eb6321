"""The posterior against a long Gibbs sampler, chances against exact integrals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from lsc._inference.inferring import infer
from reviewgraph._base import probability_in_top
from tests.lsc.inference.simulated_tables import table
from tests.oracles.gibbs import sample
from tests.oracles.oracle import Oracle, Untold

#: Means of the posterior may be off by so many standard errors (root mean square), and errors by such a factor.
MEANS, ERRORS = 0.15, 0.15
SWEEPS = 3000
#: Chances by the cut and exact chances: the cut is itself in doubt, most where one item is known ten times as well as
#: eight others, which are alike. There they are .214 apart, the most that a search among these questions found.
CHANCES = 0.22
POINTS = 2001


class Scores(NamedTuple):
    reviewer: Any
    item: Any
    score: Any
    size: int


def scores(rng: np.random.Generator) -> Scores:
    """Draw a small conference with severe and lenient reviewers."""
    size, load = int(rng.integers(20, 41)), int(rng.integers(3, 6))
    who, what, score, _ = table(int(rng.integers(2**31)), size, size, load, noise=float(rng.uniform(0.3, 0.8)))
    return Scores(who, what, score, size)


def our_posterior(asked: Scores) -> Any:
    return infer(asked.reviewer, asked.item, asked.score, asked.size, asked.size)[0]


def sampled(asked: Scores) -> Any:
    """The chain needs hyperparameters and noises, which are the posterior's own: what is compared are the qualities."""
    posterior = our_posterior(asked)
    if posterior.population is None:
        raise Untold
    standard = posterior.scores.unit.standardised(asked.score)
    noise, rng = posterior.state.nodes.noise, np.random.default_rng(1)
    return sample(asked.reviewer, asked.item, standard, noise, posterior.population, SWEEPS, rng).quality


def another_posterior(asked: Scores, ours: Any, drawn: Any) -> str:
    sd = np.sqrt(ours.variance)
    off = float(np.sqrt((((drawn.mean(axis=0) - ours.mean) / sd) ** 2).mean()))
    ratio = float((drawn.std(axis=0) / sd).mean())
    if off <= MEANS and abs(ratio - 1) <= ERRORS:
        return ""
    return f"means off by {off:.3f} standard errors, errors by a factor of {ratio:.3f}: {asked.size} papers"


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


ORACLES = [
    Oracle("posterior", "a Gibbs sampler", scores, our_posterior, sampled, another_posterior),
    Oracle("chances", "exact integrals", chosen, our_chances, exact_chances, other_chances),
]
