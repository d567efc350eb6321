"""The inference from scores to qualities: which model the scores support, and the assembly of the result.

Reviewers are alike, or differ, and then papers of one reviewer are similar or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Beliefs, InferenceStatus, Posterior, Quantity, Reviewers
from lsc._inference.fitting import LEAST_KAPPA, LEAST_NOISE, Fit, Population, Problem, fit, spectrum_of
from lsc._inference.scores import Unit, check, prepare
from lsc._inference.step import WIDTH, Moments, Part, PartState, keep_state, pieces_of, settle_state, state_of
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.parts import Part as Reviewed
from reviewgraph.parts import Parts, Vectors

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


def infer(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    *,
    weight: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[str], None] | None = None,
) -> Posterior:
    """Infer qualities of items from scores, of which there is at least one.

    The model is that of :mod:`lsc._inference.kernels.step` and :mod:`lsc._inference.fitting`. Qualities, slopes and
    offsets are integrated out by expectation propagation (Minka 2001) with one factor per reviewer; the hyperparameters
    maximise its evidence times weak priors. Reviewers with constant scores are ignored, unless equal scores are likely
    by chance. Where reviewers of as many papers all give the same scores in another order, these are ranks, and become
    normal scores. A sweep is O(E); the number of sweeps is some tens whatever the size.

    ``reviewer``, ``item``, ``score`` (E,): in any order, higher is better; ``weight`` (E,): positive reliability, whose
    effect is learned; ``seed`` of the trace estimator. InputError if a score is a likely data-entry error, or units
    differ.
    """
    tell = progress or (lambda _: None)
    scores = prepare(reviewer, item, score, n_reviewers, weight)
    state = state_of(scores.part)
    problem = problem_of(pieces_of(state, n_items))
    best = best_fit(problem, scores.unit.rounding, np.random.default_rng(seed), tell)
    beliefs = assemble(problem, scores.unit, best)

    # Site parameters in the order of the input; those of ignored reviewers are 0.
    sites = np.zeros((4, reviewer.size))
    if beliefs.signal:
        sites[:, scores.order] = state.sites
    else:
        slope, offset, noise = beliefs.alike
        sites[0, scores.order] = slope**2 / noise
        sites[1, scores.order] = slope * (scores.part.score - offset) / noise
    posterior = Posterior(
        **vars(beliefs),
        reviewer=reviewer,
        item=item,
        precision=sites[0],
        shift=sites[1],
        likeness_precision=sites[2],
        likeness_shift=sites[3],
        scores=scores,
        state=state,
        items=best.items,
    )
    return posterior.with_prior(item)


def infer_parts(scored: Parts, seed: int, tell: Callable[[str], None]) -> Beliefs:
    """Infer qualities from the reviews with a score of a table in parts, as :func:`infer` does."""
    stage = "checking the scores"
    sweeps = 0

    def begin(words: str) -> None:
        nonlocal stage
        stage = words
        tell(words)

    def count() -> None:
        nonlocal sweeps
        sweeps += 1
        tell(f"{stage}, pass {sweeps:,}")

    begin(stage)
    used, unit, _ = check(scored)
    problem = problem_of(used.derive(_state_of, (), unit))
    best = best_fit(problem, unit.rounding, np.random.default_rng(seed), begin, count)
    return assemble(problem, unit, best)


def _state_of(part: Reviewed, _: Vectors, unit: Unit) -> PartState:
    """Return reviews with standardised scores, and a state of zeros."""
    return state_of(
        Part(part.start, part.item.astype(np.int32), unit.standardised(part.score), np.empty(0)), part.first
    )


def problem_of(parts: Parts) -> Problem:
    """Return the problem of a table in parts."""
    (count, degree), load = parts.map(_degrees, (np.zeros(parts.n_items),))
    return Problem(parts, np.concatenate(load), count.astype(np.int64), degree)


def _degrees(state: PartState, vectors: Vectors) -> tuple[Vectors, IntArray]:
    """Return of each paper the reviews and their degree, see :class:`Problem`; and the load of each reviewer."""
    size = vectors[0].size
    item = state.part.item
    load = state.load
    count = np.asarray(np.bincount(item, minlength=size), np.float64)
    return (count, np.bincount(item, np.repeat(1 - 1 / np.maximum(load, 1), load), size)), load


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
    import scipy.sparse

    [columns] = vectors
    part = state.part
    shape = (state.load.size, len(columns))
    reviewed = scipy.sparse.csr_array((np.ones(part.item.size), part.item, part.start), shape)
    means = (reviewed @ columns) / np.maximum(state.load, 1)[:, None]
    return (reviewed.T @ means,), None


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
) -> Fit:
    """Fit the model in which reviewers differ; papers of one reviewer are similar if the evidence rises by it.

    ``rounding`` is the variance of rounding, standardised. The parts then have the state of the fit.
    """
    tell("severity, slope and noise of reviewers")
    first, *others = first_populations(problem, rounding)
    best = fit(problem, first, tell=at_sweep)
    # Whether the parts have the state of the best fit; otherwise they keep a copy of it.
    held = True
    for start in others:
        problem.parts.map(keep_state)
        other = fit(problem, start, tell=at_sweep)
        held = other.evidence > best.evidence
        best = other if held else best
    spectrum = None
    if best.squares < best.plain * float(problem.degree[problem.known].mean()):
        spectrum = spectrum_of(laplacian(problem), problem.degree, problem.known, rng)
    if spectrum is not None and spectrum.promise(best.squares, best.plain) >= MIN_PROMISE:
        tell("similarity of papers that share reviewers")
        if held:
            problem.parts.map(keep_state)
        kappa = max(spectrum.best(best.squares, best.plain), LEAST_KAPPA)
        similar = fit(problem, best.population._replace(kappa=kappa), spectrum, tell=at_sweep)
        held = similar.evidence > best.evidence + MIN_GAIN
        if held:
            best = similar
    problem.parts.map(settle_state, (), held)
    return best


def assemble(problem: Problem, unit: Unit, best: Fit) -> Beliefs:
    """Return the beliefs under the fitted model, or under that of alike reviewers if it has enough evidence."""
    averages = averages_of(problem, unit.rounding)
    if unit.ranked or best.evidence >= averages.evidence + SIGNAL:
        return _full_beliefs(problem, unit, averages, best)
    return _null_beliefs(problem, unit, averages, best)


def _full_beliefs(problem: Problem, unit: Unit, averages: Averages, best: Fit) -> Beliefs:
    """Beliefs under the full model."""
    population = best.population
    _, noises = problem.parts.map(_noise, (), population)
    values = [np.concatenate(parts) for parts in zip(*best.moments, strict=True)]
    values += [np.concatenate(parts) for parts in zip(*noises, strict=True)]
    scored = problem.load > 0
    *moments, noise, noise_sd = np.where(scored, values, np.nan)
    of = Moments(*moments)
    log_slope_sd = np.sqrt(np.maximum(of.log_slope_square - of.log_slope**2, 0.0))
    offset = of.offset

    # Noise of a score where the slope is that of the reviewer, and its error, rounding included.
    scaled = noise * np.exp(2 * population.rho * (of.log_slope - population.mu))
    variance = scaled + population.rounding
    relative_sd = np.hypot(noise_sd, 2 * population.rho * log_slope_sd) * scaled / variance

    # A typical reviewer: averages over reviews.
    typical_offset = float(np.average(offset[scored], weights=problem.load[scored]))
    typical_slope = float(np.average(of.slope[scored], weights=problem.load[scored]))
    severity = unit.spread * (typical_offset - offset)
    error = unit.spread * WIDTH * np.sqrt(np.maximum(of.offset_square - of.offset**2, 0.0))
    factor = np.exp(WIDTH * log_slope_sd)
    stretch = np.exp(of.log_slope) / typical_slope
    spread = unit.spread * np.sqrt(variance)
    wider = np.exp(0.5 * WIDTH * relative_sd)
    return Beliefs(
        mean=np.where(problem.known, best.items.shift / best.items.precision, np.nan),
        variance=np.where(problem.known, 1 / best.items.precision, np.nan),
        location=unit.location + unit.spread * typical_offset,
        scale=unit.spread * typical_slope,
        slope=of.slope,
        offset=offset,
        noise_variance=variance,
        reviewers=Reviewers(
            Quantity(severity, severity - error, severity + error),
            Quantity(of.slope / typical_slope, stretch / factor, stretch * factor),
            Quantity(spread, spread / wider, spread * wider),
        ),
        population=population,
        evidence=best.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.SWEEPS_EXHAUSTED if best.off else InferenceStatus.CONVERGED,
        sweeps=best.sweeps,
        off=best.off,
    )


def _noise(state: PartState, _: Vectors, population: Population) -> tuple[Vectors, tuple[FloatArray, FloatArray]]:
    """Return the noise variance of each reviewer at the mode of slopes, and the error of its logarithm."""
    return (), (state.nodes.noise, np.sqrt(2 / (state.information + population.freedom)))


def _null_beliefs(problem: Problem, unit: Unit, averages: Averages, best: Fit) -> Beliefs:
    """Beliefs under the model in which reviewers are alike."""
    ones = np.where(problem.load > 0, 1.0, np.nan)
    zeros = 0 * ones
    noise = unit.spread * float(np.sqrt(averages.noise)) * ones
    (total,), _ = problem.parts.map(totals, (problem.count,))
    # The posterior of N(0, 1) given measurements y = g + a x + e.
    ratio = averages.slope / averages.noise
    precision = 1.0 + ratio * averages.slope * problem.count
    mean = ratio * (total - problem.count * averages.mean) / precision
    return Beliefs(
        mean=np.where(problem.known, mean, np.nan),
        variance=np.where(problem.known, 1 / precision, np.nan),
        location=unit.location + unit.spread * averages.mean,
        scale=unit.spread * averages.slope,
        slope=averages.slope * ones,
        offset=averages.mean * ones,
        noise_variance=averages.noise * ones,
        reviewers=Reviewers(Quantity(zeros, zeros, zeros), Quantity(ones, ones, ones), Quantity(noise, noise, noise)),
        population=None,
        evidence=best.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.NO_SIGNAL,
        sweeps=best.sweeps,
        off=0.0,
    )
