"""The inference from scores to qualities: choice of the model, and the assembly of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lsc._inference.beliefs import Beliefs, InferenceStatus, Posterior, Quantity, Reviewers
from lsc._inference.choosing import SIGNAL, Averages, averages_of, best_fit, totals
from lsc._inference.covariates import Effects, Factor, Gains
from lsc._inference.fitting import Fit, Population, Problem, fit
from lsc._inference.likeness import Spectrum
from lsc._inference.parts import Parts, PartState, Vectors, pieces_of, state_of
from lsc._inference.scores import Unit, prepare
from lsc._inference.step import WIDTH, Moments
from reviewgraph._base import FloatArray, IntArray

#: Gain in log evidence from which a factor of covariates is used.
MIN_GAIN = 2.0


def infer(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    *,
    weight: FloatArray | None = None,
    factors: Sequence[Factor] = (),
    seed: int | np.random.Generator = 0,
    progress: Callable[[str], None] | None = None,
) -> tuple[Posterior, Gains]:
    """Infer qualities of items from scores, of which there is at least one.

    The model is that of :mod:`lsc._inference.step` and :mod:`lsc._inference.likeness`. Qualities, slopes and offsets
    are integrated out by expectation propagation (Minka 2001) with one factor per reviewer; the hyperparameters
    maximise its evidence times weak priors. Reviewers with constant scores are ignored, unless equal scores are likely
    by chance. Where reviewers of as many papers all give the same scores in another order, these are ranks, and become
    normal scores.

    Parameters
    ----------
    reviewer, item
        Codes of the reviews, shape (E,), in any order.
    score
        Shape (E,), higher is better, finite.
    n_reviewers, n_items
        M and N; codes are below them.
    weight
        Shape (E,): positive reliability weights (confidence, expertise); their effect is learned. None by default.
    factors
        Covariates of items and reviewers (:mod:`lsc._inference.covariates`); each is used if the log evidence rises by
        2 or more.
    seed
        Seed of the stochastic trace estimator.
    progress
        Called with one line of text per stage.

    Returns
    -------
    tuple
        The posterior, and what each factor gains.

    Raises
    ------
    InputError
        If a score lies so far from all others that it is a likely data-entry error, or units differ.

    Notes
    -----
    A sweep is O(E); the number of sweeps is some tens whatever the size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.repeat(np.arange(30), 4), np.arange(120) % 31
    >>> score = 5 + np.sin(item) + 3 * rng.standard_normal(30)[reviewer] + 0.1 * rng.standard_normal(120)
    >>> posterior, _ = infer(reviewer, item, score, 30, 31)
    >>> posterior.status.value, bool(np.corrcoef(posterior.quality, np.sin(np.arange(31)))[0, 1] > 0.9)
    ('converged', True)
    """
    tell = progress or (lambda _: None)
    scores = prepare(reviewer, item, score, n_reviewers, weight)
    state = state_of(scores.part)
    problem = problem_of(pieces_of(state), n_items)
    best, spectrum = best_fit(problem, scores.unit.rounding, np.random.default_rng(seed), tell)
    gains = Gains(np.zeros(len(factors)), 0.0, ())
    if factors:
        tell("covariates of papers and reviewers")
        best, gains = with_factors(problem, best, spectrum, factors)
    beliefs = assemble(problem, scores.unit, best)

    # Site parameters in the order of the input; those of ignored reviewers are 0.
    sites = np.zeros((4, reviewer.size))
    if beliefs.signal:
        sites[:, scores.order] = state.sites
    else:
        slope, offset, noise = beliefs.alike
        sites[0, scores.order] = slope**2 / noise
        sites[1, scores.order] = slope * (scores.part.score - offset) / noise
    effects = best.effects if beliefs.signal else None
    expected_offset = np.zeros(n_reviewers + 1)
    if effects is not None:
        expected_offset[:-1] = effects.expected(n_reviewers, of_items=False)
    posterior = Posterior(
        **vars(beliefs),
        reviewer=reviewer,
        item=item,
        precision=sites[0],
        shift=sites[1],
        likeness_precision=sites[2],
        likeness_shift=sites[3],
        expected_offset=expected_offset,
        scores=scores,
        state=state,
        items=best.items,
        effects=effects,
    )
    return posterior.with_prior(item), gains


def infer_parts(
    parts: Parts,
    n_items: int,
    unit: Unit,
    rng: np.random.Generator,
    tell: Callable[[str], None],
    at_sweep: Callable[[], None] = lambda: None,
) -> Beliefs:
    """Infer qualities from the standardised scores of a table in parts, which keep the site parameters."""
    problem = problem_of(parts, n_items)
    best, _ = best_fit(problem, unit.rounding, rng, tell, at_sweep)
    return assemble(problem, unit, best)


def problem_of(parts: Parts, n_items: int) -> Problem:
    """Return the problem of a table in parts."""
    (count, degree), load = parts.map(_degrees, (np.zeros(n_items),))
    return Problem(parts, np.concatenate(load), count.astype(np.int64), degree)


def _degrees(state: PartState, vectors: Vectors) -> tuple[Vectors, IntArray]:
    """Return of each paper the reviews and their degree, see :class:`Problem`; and the load of each reviewer."""
    size = vectors[0].size
    item = state.part.item
    load = state.load
    count = np.asarray(np.bincount(item, minlength=size), np.float64)
    return (count, np.bincount(item, np.repeat(1 - 1 / np.maximum(load, 1), load), size)), load


def with_factors(
    problem: Problem, best: Fit, spectrum: Spectrum | None, factors: Sequence[Factor]
) -> tuple[Fit, Gains]:
    """Fit the factors one by one, then those together that raise the evidence enough.

    Returns the fit with the factors in use, whose state the problem has, or ``best`` again without any.
    """
    base = fit(problem, best.population, spectrum)

    def fitted(places: Sequence[int]) -> Fit:
        return fit(problem, base.population, spectrum, Effects.start([factors[place] for place in places]))

    gains = np.zeros(len(factors))
    for place, factor in enumerate(factors):
        if factor.design.shape[1]:
            gains[place] = fitted([place]).evidence - base.evidence
    used = np.flatnonzero(gains >= MIN_GAIN).tolist()
    if used:
        together = fitted(used)
        gain = together.evidence - base.evidence
        if gain >= MIN_GAIN:
            return together, Gains(gains, gain, tuple(used))
    return fit(problem, base.population, spectrum), Gains(gains, 0.0, ())


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
    if best.effects is not None:
        offset = offset + best.effects.expected(offset.size, of_items=False)

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
