"""Which model a table supports: reviewers alike, reviewers who differ, and papers of one reviewer similar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lsc._inference.covariates import Effects
from lsc._inference.fitting import LEAST_KAPPA, Fit, Population, Problem, fit
from lsc._inference.likeness import Spectrum, add_means, spectrum_of
from lsc._inference.parts import PartState, Vectors
from reviewgraph._base import FloatArray, IntArray

#: Gain in log evidence, predicted and then found, from which papers that share reviewers are modelled as similar.
MIN_GAIN = 2.0
#: Gain in log evidence over the model in which reviewers are alike, from which they differ.
SIGNAL = 3.0
#: Grid of ratios of the variance of qualities to that of noise, and refinements around the best.
RATIOS = np.geomspace(1e-4, 1e4, 81)
REFINEMENTS = 6
#: Standard deviation of the prior of the log ratio, relevant only if no paper has two scores.
VAGUE = 2.0


class Averages(NamedTuple):
    """The model in which reviewers are alike, y = g + a x + e: mean g, slope a, noise variance, log evidence."""

    mean: float
    slope: float
    noise: float
    evidence: float


def fit_averages(count: IntArray, total: FloatArray, squares: float, least_noise: float) -> Averages:
    """Maximise its evidence, in closed form up to one ratio.

    ``count``, ``total`` (N,): number and sum of the standardised scores of each paper; ``squares``: sum of their
    squares.
    """
    known = count > 0
    average = total[known] / count[known]
    within = max(squares - float((count[known] * average**2).sum()), 0.0)
    size, kind = np.unique(count[known], return_inverse=True)
    number = np.bincount(kind)
    sums = np.bincount(kind, average)
    square = np.bincount(kind, average**2)
    scores = int(size @ number)

    def profile(ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log evidence, mean and noise for each ratio."""
        precision = size / (1 + size * ratio[:, None])
        mean = (precision @ sums) / (precision @ number)
        between = square - 2 * mean[:, None] * sums + mean[:, None] ** 2 * number
        residual = within + (precision * between).sum(axis=1)
        noise = np.maximum(residual / scores, least_noise)
        value = residual / noise + np.log1p(size * ratio[:, None]) @ number + scores * np.log(2 * np.pi * noise)
        return -0.5 * value, mean, noise

    ratio = RATIOS
    for _ in range(REFINEMENTS):
        best = int(np.argmax(profile(ratio)[0] - 0.5 * (np.log(ratio) / VAGUE) ** 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = (float(value[4]) for value in profile(ratio))
    return Averages(mean, math.sqrt(ratio[4] * noise), noise, evidence)


def laplacian(problem: Problem) -> Callable[[FloatArray], FloatArray]:
    """Return the product of L with columns, shape (N, P)."""

    def product(columns: FloatArray) -> FloatArray:
        (means,), _ = problem.parts.map(_means, (columns,))
        return np.asarray(problem.count[:, None] * columns - means)

    return product


def _means(state: PartState, vectors: Vectors) -> tuple[Vectors, None]:
    """Return for each paper the sum of the means of columns over the papers of its reviewers."""
    [columns] = vectors
    total = np.zeros_like(columns)
    add_means(state.part, columns, total, np.zeros(columns.shape[1]))
    return (total,), None


def best_fit(
    problem: Problem,
    population: Population,
    rng: np.random.Generator,
    tell: Callable[[str], None],
    effects: Effects | None = None,
    at_sweep: Callable[[], None] = lambda: None,
) -> tuple[Fit, Spectrum | None]:
    """Fit the model in which reviewers differ; papers of one reviewer are similar if the evidence rises by it.

    Returns the fit and, with similar papers, the spectrum of their prior.
    """
    tell("severity, slope and noise of reviewers")
    plain = fit(problem, population, effects=effects, tell=at_sweep)
    spectrum = None
    if plain.squares < plain.own * float(problem.degree[problem.known].mean()):
        spectrum = spectrum_of(laplacian(problem), problem.degree, problem.known, rng)
    if spectrum is None or spectrum.promise(plain.squares, plain.own) < MIN_GAIN:
        return plain, None
    tell("similarity of papers that share reviewers")
    kappa = max(spectrum.best(plain.squares, plain.own), LEAST_KAPPA)
    similar = fit(problem, plain.population._replace(kappa=kappa), spectrum, effects, at_sweep)
    if similar.evidence > plain.evidence + MIN_GAIN:
        return similar, spectrum
    return fit(problem, population, effects=effects, tell=at_sweep), None
