"""Which model a table supports: reviewers alike, reviewers who differ, and papers of one reviewer similar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lsc._inference.fitting import LEAST_KAPPA, LEAST_NOISE, Fit, Population, Problem, fit
from lsc._inference.likeness import Spectrum, add_means, spectrum_of
from lsc._inference.parts import PartState, Vectors
from reviewgraph._base import FloatArray, IntArray

#: Gain in log evidence that a score test must promise for similarity of papers that share reviewers to be tried, which
#: it underestimates, and from which they are modelled as similar.
MIN_PROMISE = 0.5
MIN_GAIN = 2.0
#: Variance of standardised scores within reviewers below which the inference starts from large severities, too.
SEVERE = 0.15
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


def averages_of(problem: Problem, least_noise: float) -> Averages:
    """Fit the model in which reviewers are alike to a table in parts."""
    (total,), squares = problem.parts.map(totals, (problem.count,))
    return fit_averages(problem.count, total, sum(squares), least_noise)


def totals(state: PartState, vectors: Vectors) -> tuple[Vectors, float]:
    """Return the sum of the scores of each paper, and that of all squares."""
    score = state.part.score
    return (np.bincount(state.part.item, score, vectors[0].size),), float(score @ score)


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


def first_populations(problem: Problem, rounding: float) -> list[Population]:
    """Return the populations from which the inference starts: the usual one, and one for large severities.

    With V the variance of standardised scores within reviewers, the second takes what lies between them for severity.
    It alone is worse where scores have heavy tails.
    """
    usual = Population(rounding=rounding)
    _, squares = problem.parts.map(_squares_within, ())
    within = max(sum(squares) / max(int(problem.load.sum()), 1), LEAST_NOISE)
    if within >= SEVERE:
        return [usual]
    severe = Population(
        mu=usual.mu + 0.5 * math.log(within),
        pooled=0.5 * within,
        omega=math.sqrt(1.0 - within),
        rounding=rounding,
    )
    return [severe, usual]


def _squares_within(state: PartState, _: Vectors) -> tuple[Vectors, float]:
    """Return the sum of squared deviations of the scores from the mean of their reviewer."""
    score = state.part.score
    scored = state.load > 0
    total = np.add.reduceat(score, state.part.start[:-1][scored])
    return (), float(score @ score - (total**2 / state.load[scored]).sum())


def best_fit(
    problem: Problem,
    rounding: float,
    rng: np.random.Generator,
    tell: Callable[[str], None],
    at_sweep: Callable[[], None] = lambda: None,
) -> tuple[Fit, Spectrum | None]:
    """Fit the model in which reviewers differ; papers of one reviewer are similar if the evidence rises by it.

    ``rounding`` is the variance of rounding, standardised. Returns the fit, whose state the parts have, and with
    similar papers the spectrum of their prior.
    """
    tell("severity, slope and noise of reviewers")
    starts = first_populations(problem, rounding)
    fits = [fit(problem, start, tell=at_sweep) for start in starts]
    best = int(np.argmax([result.evidence for result in fits]))
    fitted = fits[best]
    spectrum = None
    if fitted.squares < fitted.plain * float(problem.degree[problem.known].mean()):
        spectrum = spectrum_of(laplacian(problem), problem.degree, problem.known, rng)
    if spectrum is not None and spectrum.promise(fitted.squares, fitted.plain) >= MIN_PROMISE:
        tell("similarity of papers that share reviewers")
        kappa = max(spectrum.best(fitted.squares, fitted.plain), LEAST_KAPPA)
        similar = fit(problem, fitted.population._replace(kappa=kappa), spectrum, tell=at_sweep)
        if similar.evidence > fitted.evidence + MIN_GAIN:
            return similar, spectrum
    elif best == len(starts) - 1:
        return fitted, None
    # The parts have the state of another fit.
    return fit(problem, starts[best], tell=at_sweep), None
