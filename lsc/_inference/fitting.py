"""The posterior of papers and the population of reviewers: sweeps of expectation propagation with a step of EM in each.

A table is cut by reviewer into parts (:mod:`lsc._inference.parts`). A sweep updates the sites of all reviewers from the
papers before it; the sums of each part then give the next papers and the next population, whose parameters maximise the
expected log density of papers and reviewers. After each sweep qualities are standardised again, with all that refers to
them (parameter-expanded EM, Liu, Rubin and Wu 1998): without this the scale of qualities converges slowly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._inference.covariates import Effects
from lsc._inference.likeness import KAPPAS, Likeness, Spectrum, step_likeness
from lsc._inference.parts import Parts, PartState, Vectors, reset_part
from lsc._inference.step import Gauge, Hyper, Items, Moments, no_moments, step_reviewers, workspace
from reviewgraph._base import BoolArray, FloatArray, IntArray

#: Priors. Scales of log slopes: 20 reviewers' worth of .2. Exponent of the noise: N(.5, .2^2).
TAU = 0.2
TAU_REVIEWERS = 20.0
RHO = 0.5
RHO_SD = 0.2
#: Quality at which reviewers agree: N(0, .3^2). Exponent of weights: N(0, 1).
G1_SD = 0.3
GAMMA_SD = 1.0
#: Pseudo-scores that pool the noise of each reviewer: log normal about 25.
FREEDOM = 25.0
FREEDOM_SD = 0.3
FREEDOM_RANGE = (2.0, 300.0)
#: Where they start: from more, noises that differ much are not found.
FIRST_FREEDOM = 6.0
#: Least noise variance and variance of offsets, of standardised scores, and least variance of log slopes.
LEAST_NOISE = 1e-4
LEAST_OMEGA = 1e-3
LEAST_TAU = 1e-4
#: Most that the logarithm of the noise moves in a sweep.
MOST_STEP = 1.0
#: Share of the way that sites move in a sweep; factor by which it is lowered where they overshoot, and its minimum.
DAMPING = 0.7
LESS = 0.8
LEAST_DAMPING = 0.1
#: Largest number of sweeps; largest changes of a mean, in its standard deviation, and of the log evidence, in all and
#: per review, that count as converged.
MAX_SWEEPS = 500
TOLERANCE = 0.01
GAIN = 0.05
RELATIVE_GAIN = 1e-6
#: Sweeps from one extrapolation of the population to the next, largest rate of its steps, and largest change.
AITKEN = 6
FASTEST = 0.95
FARTHEST = 0.5
_PLACES = ("mu", "g0", "g1", "rho", "gamma")
_SCALES = ("tau_left", "tau_right", "omega", "pooled", "freedom")
#: An estimate of the distance from the limit, in changes of the last sweep.
FAR = 10.0
#: Least kappa while it is learned.
LEAST_KAPPA = 0.05
#: Moments that the effects of covariates of reviewers need.
_OF_OFFSET = ("slope", "offset", "offset_square")


class Population(NamedTuple):
    """Hyperparameters: of slopes, offsets and noise of reviewers, and the similarity of papers that share reviewers.

    ``pooled`` is the noise variance that those of reviewers are shrunk to, with ``freedom`` pseudo-scores.
    """

    mu: float = math.log(0.7)
    tau_left: float = TAU
    tau_right: float = TAU
    g0: float = 0.0
    g1: float = 0.0
    omega: float = 0.4
    rho: float = RHO
    gamma: float = 0.0
    pooled: float = 0.5
    freedom: float = FIRST_FREEDOM
    rounding: float = 0.0
    kappa: float = 0.0

    @property
    def tau(self) -> float:
        """Standard deviation of log slopes about their mode."""
        return math.sqrt(0.5 * (self.tau_left**2 + self.tau_right**2))

    def scales(self, node: FloatArray) -> FloatArray:
        """Return the scale on the side of each node, the mean of both at the mode: weights of the trapezoidal rule."""
        return np.asarray(0.5 * (self.tau_left + self.tau_right + np.sign(node) * (self.tau_right - self.tau_left)))

    @property
    def hyper(self) -> Hyper:
        """As kernels take them."""
        return Hyper(
            self.mu,
            self.tau_left,
            self.tau_right,
            self.g0,
            self.g1,
            self.omega**2,
            self.rho,
            self.gamma,
            self.rounding,
            1.0 - self.kappa,
        )


class Sums(NamedTuple):
    """Sums over the reviewers of a part.

    ``reviewers``, ``reviews``: their numbers; ``moments``: sums of their moments, shapes (); ``squares``: squared
    residuals relative to the noise of the reviewer; ``evidence``, that of the similarity of papers included;
    ``freedom``: derivative of the log density of the noises by the number of pseudo-scores; ``likeness``: expected sum
    of (x_i - xbar)^2 over the papers of each.
    """

    reviewers: float
    reviews: float
    moments: Moments
    squares: float
    evidence: float
    freedom: float
    likeness: float

    def plus(self, other: Sums) -> Sums:
        """Return the sum."""
        moments = Moments(*(a + b for a, b in zip(self.moments, other.moments, strict=True)))
        return Sums(
            self.reviewers + other.reviewers,
            self.reviews + other.reviews,
            moments,
            self.squares + other.squares,
            self.evidence + other.evidence,
            self.freedom + other.freedom,
            self.likeness + other.likeness,
        )


class Shared(NamedTuple):
    """What every part needs for a sweep beside papers: hyperparameters, and the gauge that its sites have not seen."""

    population: Population
    gauge: Gauge
    strength: float
    damping: float
    offset: FloatArray


class Swept(NamedTuple):
    """Result of a sweep over a part: sums over reviewers; moments of each in the last sweep and for covariates."""

    sums: Sums
    moments: Moments | None


def sweep_part(state: PartState, vectors: Vectors, shared: Shared) -> tuple[Vectors, Swept]:
    """Update the sites and nodes of a part in place.

    ``vectors``: precision, shift and prior mean of each paper; returns sums of the sites by paper: precision and shift,
    and of the similarity of papers.
    """
    items = Items(*vectors[:2])
    expected = vectors[2]
    population = shared.population
    hyper = shared.population.hyper
    nodes = state.nodes
    load = state.load
    size = items.precision.size

    # The noise of each reviewer has a scaled inverse chi^2 prior; a step of Fisher scoring towards its mode.
    if state.squares.any():
        relative = population.pooled / nodes.noise
        gradient = state.squares / nodes.noise - load + population.freedom * (relative - 1.0)
        step = gradient / (state.information + population.freedom * np.maximum(relative, 1.0))
        nodes.noise[:] = np.maximum(nodes.noise * np.exp(np.clip(step, -MOST_STEP, MOST_STEP)), LEAST_NOISE)
    else:
        nodes.noise[:] = population.pooled
    if shared.offset.size:
        nodes.offset[:] = shared.offset[state.first : state.first + load.size]
    moments = no_moments(load.size)
    sites = Items(np.zeros(size), np.zeros(size))
    longest = int(load.max(initial=0))
    step_reviewers(
        state.part,
        state.sites,
        nodes,
        items,
        hyper,
        shared.gauge,
        shared.damping,
        sites,
        moments,
        workspace(longest),
    )
    likeness = Items(np.zeros(size), np.zeros(size)) if shared.strength else Items(np.empty(0), np.empty(0))
    of_likeness = Likeness(0.0, 0.0)
    # Without similarity its expected squares are computed only where the state is final.
    if shared.strength or not shared.damping:
        of_likeness = step_likeness(
            state.part,
            state.sites,
            items,
            expected,
            hyper.prior,
            shared.strength,
            shared.gauge,
            shared.damping,
            likeness,
            np.zeros(longest),
            np.zeros(longest),
        )
    state.squares[:] = moments.squares
    state.information[:] = moments.information
    sums = _summed(moments, load, nodes.noise, population, of_likeness)
    used = not shared.damping or shared.offset.size
    return (*sites, *likeness), Swept(sums, moments if used else None)


def _summed(moments: Moments, load: IntArray, noise: FloatArray, population: Population, of_likeness: Likeness) -> Sums:
    """Add up the moments of reviewers, which are 0 without reviews."""
    from scipy.special import digamma

    used = load > 0
    count = moments.information[used]
    relative = noise[used] / population.pooled
    freedom = population.freedom
    # Occam factor of each reviewer's noise, by Laplace: prior density at the mode over the height of the posterior.
    away = np.log(relative) + 1.0 / relative - 1.0
    occam = -0.5 * freedom * away + 0.5 * np.log(freedom / (count + freedom))
    # Derivative of the expected log density of the noises by the number of pseudo-scores.
    by_freedom = 0.5 * (digamma((count + freedom) / 2) - np.log((count + freedom) / 2) - away)
    return Sums(
        reviewers=float(used.sum()),
        reviews=float(load.sum()),
        moments=Moments(*(np.asarray(value.sum()) for value in moments)),
        squares=float((moments.squares[used] / noise[used]).sum()),
        evidence=float(moments.evidence.sum() + occam.sum() + of_likeness.evidence),
        freedom=float(by_freedom.sum()),
        likeness=of_likeness.squares,
    )


def maximised(population: Population, sums: Sums) -> Population:
    """Return the population of largest expected log density given the sums of a sweep."""
    n = sums.reviewers
    total = sums.moments
    mode, left, right = _slopes(population, n, total)

    # Regression of offsets on slopes, that of the slope shrunk.
    shrinkage = (population.omega / G1_SD) ** 2
    gram = np.array([[n, total.slope], [total.slope, total.slope_square + shrinkage]])
    g0, g1 = np.linalg.solve(gram, [total.offset, total.product]).tolist()
    residual = total.offset_square - 2 * (g0 * total.offset + g1 * total.product)
    residual += n * g0**2 + 2 * g0 * g1 * total.slope + g1**2 * total.slope_square

    # Noise, and its exponents, by a step of Fisher scoring.
    by_noise = (sums.squares - sums.reviews) / (float(total.information) + 1.0)
    rho_step = (total.rho - (population.rho - RHO) / RHO_SD**2) / (total.rho_curvature + RHO_SD**-2)
    of_gamma = 0.5 * total.gamma - population.gamma / GAMMA_SD**2
    gamma_step = of_gamma / (0.5 * total.gamma_curvature + GAMMA_SD**-2)
    return population._replace(
        mu=mode,
        tau_left=left,
        tau_right=right,
        g0=g0,
        g1=g1,
        omega=math.sqrt(max(float(residual) / n, LEAST_OMEGA)),
        rho=min(max(population.rho + float(rho_step), -0.5), 1.5),
        gamma=min(max(population.gamma + float(gamma_step), -3.0), 3.0),
        pooled=max(population.pooled * math.exp(min(max(by_noise, -MOST_STEP), MOST_STEP)), LEAST_NOISE),
        freedom=_next_freedom(population.freedom, sums),
    )


def _slopes(population: Population, n: float, total: Moments) -> tuple[float, float, float]:
    """Return mode and scales of the two-piece normal distribution of log slopes, shrunk to one scale.

    With L and R the sums of squares on both sides of the mode, of n reviewers, the density is largest for
    left^2 = L / n (1 + (R / L)^(1/3)) and right^2 = R / n (1 + (L / R)^(1/3)).
    """
    mode = population.mu
    square = float(total.log_slope_square - 2 * mode * total.log_slope + n * mode**2)
    below = float(total.below)
    below_sum = float(total.below_sum)
    prior = 0.5 * TAU_REVIEWERS * TAU**2
    lower = float(total.below_square) + prior
    upper = square - float(total.below_square) + prior
    ratio = (upper / lower) ** (1 / 3)
    left = math.sqrt(max(lower / (n + TAU_REVIEWERS) * (1 + ratio), LEAST_TAU))
    right = math.sqrt(max(upper / (n + TAU_REVIEWERS) * (1 + 1 / ratio), LEAST_TAU))
    above_sum = float(total.log_slope) - below_sum
    weight = below / left**2 + (n - below) / right**2
    return (below_sum / left**2 + above_sum / right**2) / weight, left, right


def _next_freedom(freedom: float, sums: Sums) -> float:
    """Return the number of pseudo-scores after a step on its logarithm."""
    from scipy.special import digamma, polygamma

    half = freedom / 2
    n = sums.reviewers
    gradient = freedom * (sums.freedom + 0.5 * n * (math.log(half) - float(digamma(half))))
    gradient -= math.log(freedom / FREEDOM) / FREEDOM_SD**2
    # Curvature of reviewers of the mean number of scores.
    more = half + 0.5 * float(sums.moments.information) / n
    curvature = 0.25 * n * float(polygamma(1, half) - polygamma(1, more) - 1 / half + 1 / more)
    step = gradient / (freedom**2 * max(curvature, 0.0) + FREEDOM_SD**-2)
    # Half of it: the noises of reviewers follow a sweep later, and whole steps can oscillate.
    moved = freedom * math.exp(min(max(0.5 * step, -0.5), 0.5))
    return min(max(moved, FREEDOM_RANGE[0]), FREEDOM_RANGE[1])


@dataclass(frozen=True, eq=False)
class Problem:
    """A table for the inference.

    ``parts``: its reviews; ``load`` (M,), ``count`` (N,): scores of each reviewer and paper; ``degree`` (N,): of these
    reviews, each counts one less one over the number of its reviewer's papers.
    """

    parts: Parts
    load: IntArray
    count: IntArray
    degree: FloatArray

    @property
    def known(self) -> BoolArray:
        """Shape (N,): papers with a score."""
        return self.count > 0


class Fit(NamedTuple):
    """Result of the inference.

    ``items``: precision and shift of the posterior of papers; ``likeness``: of these, what the similarity of papers
    adds; ``moments``: of reviewers, by part; ``effects``: of covariates, or None; ``evidence``: log evidence of the
    standardised scores; ``off``: largest distance of a mean from its limit, in standard deviations, 0 if converged;
    ``squares``, ``own``: E x'L x and E x'x about the prior means.
    """

    items: Items
    population: Population
    moments: list[Moments]
    effects: Effects | None
    evidence: float
    sweeps: int
    off: float
    squares: float
    own: float


def fit(
    problem: Problem,
    population: Population,
    spectrum: Spectrum | None = None,
    effects: Effects | None = None,
    tell: Callable[[], None] = lambda: None,
    max_sweeps: int = MAX_SWEEPS,
    *,
    learn: bool = True,
) -> Fit:
    """Alternate sweeps and steps of the population until papers no longer move and the evidence no longer rises.

    Without ``learn`` the population keeps its parameters, and qualities their scale.
    """
    problem.parts.map(reset_part, (), population)
    known = problem.known
    size = known.size
    diagonal = spectrum.diagonal if spectrum is not None else 1.0
    gauge = Gauge()
    damping = DAMPING
    last = np.zeros(size)
    last_evidence = -math.inf
    off = math.inf
    path: list[Population] = []
    expected, offset = _expected(problem, effects)
    prior = 1.0 - population.kappa
    items = Items(np.full(size, prior), prior * expected if expected.size else np.zeros(size))
    count = 0
    while count < max_sweeps:
        count += 1
        tell()
        strength = population.kappa / diagonal
        shared = Shared(population, gauge, strength, damping, offset)
        sums, sites, likeness, moments = _collected(problem.parts, items, expected, shared)
        evidence = _evidence(items, sums, known, spectrum, population, expected, effects)
        if learn:
            next_population = maximised(population, sums)
            if spectrum is not None and strength:
                kappa = spectrum.best(sums.likeness, _own_squares(items, expected, known))
                next_population = next_population._replace(kappa=min(max(kappa, LEAST_KAPPA), KAPPAS[-1]))
            if effects is not None:
                effects = _improved(effects, problem, items, moments, population, next_population, offset)
            items, gauge = _standardised(sites, likeness, sums, known, prior, strength, expected)
            population = _regauged(next_population, gauge)
            path = [*path[-2:], population]
            if count % AITKEN == 0:
                population = _extrapolated(path)
                path = []
            effects = None if effects is None else effects.rescaled(gauge.spread)
            expected, offset = _expected(problem, effects)
            prior = 1.0 - population.kappa
        else:
            items = Items(sites.precision + likeness.precision, sites.shift + likeness.shift)
        items = Items(prior + items.precision, items.shift + prior * expected if expected.size else items.shift)

        mean = items.shift / items.precision
        off = float((np.abs(mean - last) * np.sqrt(items.precision)).max())
        gain = evidence - last_evidence
        last = mean
        last_evidence = evidence
        # Sites that overshoot lower the evidence.
        if gain < -GAIN:
            damping = max(LESS * damping, LEAST_DAMPING)
        if off <= TOLERANCE and abs(gain) <= max(GAIN, RELATIVE_GAIN * sums.reviews):
            break

    # The state in the last gauge, without a further step.
    shared = Shared(population, gauge, population.kappa / diagonal, 0.0, offset)
    sums, _, _, moments = _collected(problem.parts, items, expected, shared)
    evidence = _evidence(items, sums, known, spectrum, population, expected, effects)
    far = 0.0 if off <= TOLERANCE else FAR * off
    own = _own_squares(items, expected, known)
    return Fit(items, population, moments, effects, evidence, count, far, sums.likeness, own)


def _expected(problem: Problem, effects: Effects | None) -> tuple[FloatArray, FloatArray]:
    """Return the prior means of papers and of offsets of reviewers, empty without covariates."""
    if effects is None:
        return np.empty(0), np.empty(0)
    quality = effects.expected(problem.count.size, of_items=True)
    return quality, effects.expected(problem.load.size, of_items=False)


def _own_squares(items: Items, expected: FloatArray, known: BoolArray) -> float:
    """Return E x'x about the prior means, over papers with a score."""
    mean = items.shift[known] / items.precision[known]
    if expected.size:
        mean = mean - expected[known]
    return float((mean**2 + 1 / items.precision[known]).sum())


def _improved(
    effects: Effects,
    problem: Problem,
    items: Items,
    moments: list[Moments],
    population: Population,
    next_population: Population,
    offset: FloatArray,
) -> Effects:
    """Return the effects given the moments of papers and reviewers."""
    known = problem.known
    mean = items.shift / items.precision
    share = np.where(known, 1 - (1 - population.kappa) / items.precision, 0.0)
    effects = effects.improved(mean - mean[known].mean(), share, 1.0, of_items=True)
    slope, own, square = (np.concatenate([getattr(part, name) for part in moments]) for name in _OF_OFFSET)
    variance = next_population.omega**2
    share = np.where(problem.load > 0, np.clip(1 - (square - own**2) / variance, 0.0, 1.0), 0.0)
    target = own + offset - next_population.g0 - next_population.g1 * slope
    return effects.improved(target, share, variance, of_items=False)


def _standardised(
    sites: Items,
    likeness: Items,
    sums: Sums,
    known: BoolArray,
    prior: float,
    strength: float,
    expected: FloatArray,
) -> tuple[Items, Gauge]:
    """Return sums of sites when papers have the mean 0 and the mean square of their prior, and the gauge to that."""
    precision = prior + sites.precision + likeness.precision
    shift = sites.shift + likeness.shift
    mean = (shift + prior * expected if expected.size else shift) / precision
    residual = mean - expected if expected.size else mean
    centre = float(residual[known].mean())
    own = float(((residual[known] - centre) ** 2 + 1 / precision[known]).sum())
    squares = prior * own + (strength * sums.likeness if strength else 0.0)
    spread = math.sqrt(squares / int(known.sum()))
    items = Items(
        sites.precision * spread**2 + likeness.precision,
        (sites.shift - sites.precision * centre) * spread + (likeness.shift - likeness.precision * centre) / spread,
    )
    return items, Gauge(centre, spread)


def _collected(
    parts: Parts, items: Items, expected: FloatArray, shared: Shared
) -> tuple[Sums, Items, Items, list[Moments]]:
    """Sweep all parts; add up their sums in order."""
    totals, results = parts.map(sweep_part, (*items, expected), shared)
    sums = results[0].sums
    for swept in results[1:]:
        sums = sums.plus(swept.sums)
    likeness = Items(*totals[2:]) if shared.strength else Items(*np.zeros((2, items.shift.size)))
    return sums, Items(*totals[:2]), likeness, [swept.moments for swept in results if swept.moments is not None]


def _evidence(
    items: Items,
    sums: Sums,
    known: BoolArray,
    spectrum: Spectrum | None,
    population: Population,
    expected: FloatArray,
    effects: Effects | None,
) -> float:
    """Return the log evidence at the state before a sweep."""
    precision = items.precision[known]
    shift = items.shift[known]
    value = sums.evidence + 0.5 * float((shift**2 / precision - np.log(precision)).sum())
    if spectrum is not None and population.kappa:
        value += 0.5 * float(spectrum.log_determinant(population.kappa))
    if effects is not None:
        value += effects.log_prior - 0.5 * (1 - population.kappa) * float((expected[known] ** 2).sum())
    return value


def _extrapolated(path: list[Population]) -> Population:
    """Return the limit of three populations in a row if their steps shrink geometrically (Aitken's delta-squared)."""
    scaled = [name for name in _SCALES if getattr(path[0], name) > 0]
    old, middle, new = (
        np.array([*(getattr(one, name) for name in _PLACES), *(math.log(getattr(one, name)) for name in scaled)])
        for one in path
    )
    before = middle - old
    step = new - middle
    rate = np.divide(step, before, out=np.zeros_like(step), where=np.abs(before) > 1e-12)
    # Only steps that shrink, and slowly, have a limit worth guessing.
    rate = np.where((rate > 0) & (rate < 1), np.minimum(rate, FASTEST), 0.0)
    limit = new + np.clip(step * rate / (1 - rate), -FARTHEST, FARTHEST)
    places = dict(zip(_PLACES, limit[: len(_PLACES)].tolist(), strict=True))
    scales = dict(zip(scaled, np.exp(limit[len(_PLACES) :]).tolist(), strict=True))
    return path[-1]._replace(**places, **scales)


def _regauged(population: Population, gauge: Gauge) -> Population:
    """Return the population when qualities become ``(x - centre) / spread``."""
    return population._replace(
        mu=population.mu + math.log(gauge.spread), g1=(population.g1 + gauge.centre) / gauge.spread
    )
