"""The posterior of papers and the population of reviewers: sweeps of expectation propagation with a step of EM in each.

A table is cut by reviewer into parts (:mod:`lsc._inference.step`). A sweep updates the sites of all reviewers from the
papers before it; the sums of each part then give the next papers and the next population, whose parameters maximise the
expected log density of papers and reviewers. After each sweep qualities are standardised again, with all that refers to
them (parameter-expanded EM, Liu, Rubin and Wu 1998): without this the scale of qualities converges slowly.

Papers that share reviewers may be similar: the Leroux prior, with one Gaussian factor per reviewer. ::

    x ~ N(0, K^-1),   K = (1 - kappa) I + kappa L / dbar,   L = sum_j (I - 11' / k_j)

L acts on the papers of reviewer j; dbar is its mean diagonal over papers with a score. The factor
exp(-c/2 sum_i (x_i - xbar)^2), c = kappa / dbar, is that of a latent centre z, of which each paper is a measurement
with variance 1 / c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._inference.kernels.likeness import step_likeness
from lsc._inference.kernels.step import Hyper, step_reviewers
from lsc._inference.step import Gauge, Items, Moments, PartState
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.parts import Parts, Vectors

#: Papers up to which eigenvalues are exact; beyond, steps and probes of stochastic Lanczos quadrature, and the number
#: of probes times papers that is enough.
EXACT = 400
STEPS = 20
PROBES = 16
ENOUGH = 2_000_000
#: Values of kappa among which it is chosen.
KAPPAS = np.concatenate([np.linspace(0.0, 0.9, 19), [0.93, 0.95, 0.965, 0.975, 0.985]])


class Spectrum(NamedTuple):
    """Eigenvalues of L / dbar over papers with a score, their weights, which sum to the number of these, and dbar."""

    value: FloatArray
    weight: FloatArray
    diagonal: float

    def log_determinant(self, kappa: FloatArray | float) -> FloatArray:
        """Return log det K for one or several kappa."""
        return np.asarray(np.log1p(np.multiply.outer(kappa, self.value - 1.0)) @ self.weight)

    def best(self, squares: float, plain: float) -> float:
        """Return the kappa of largest expected log density; ``squares`` = E x'L x and ``plain`` = E x'x."""
        density = self.log_determinant(KAPPAS) - KAPPAS * (squares / self.diagonal - plain)
        return float(KAPPAS[int(np.argmax(density))])

    def promise(self, squares: float, plain: float) -> float:
        """Return the gain in log evidence that a step from kappa = 0 predicts: score^2 / (2 information)."""
        score = 0.5 * (plain - squares / self.diagonal)
        information = 0.5 * float(self.weight @ (self.value - 1.0) ** 2)
        return score**2 / (2 * information) if score > 0 and information > 0 else 0.0


def spectrum_of(
    product: Callable[[FloatArray], FloatArray], degree: FloatArray, known: BoolArray, rng: np.random.Generator
) -> Spectrum | None:
    """Return the spectrum of L, exact or by stochastic Lanczos quadrature; None where no two papers share a reviewer.

    ``product`` maps columns, shape (N, P), to L times these; ``degree`` (N,) is the diagonal of L. O(E) per step.
    """
    size = int(known.sum())
    diagonal = float(degree[known].mean()) if size else 0.0
    if diagonal <= 0:
        return None
    if size <= EXACT:
        columns = np.zeros((known.size, size))
        columns[known] = np.eye(size)
        value = np.linalg.eigvalsh(product(columns)[known])
        return Spectrum(np.maximum(value, 0.0) / diagonal, np.ones(size), diagonal)
    # Lanczos: L V = V T with T tridiagonal, from random probes of unit length. A probe's quadrature has the eigenvalues
    # of T as nodes, and the squared first components of its eigenvectors as weights.
    probes = min(PROBES, max(1, -(-ENOUGH // size)))
    vector = np.zeros((known.size, probes))
    vector[known] = rng.choice([-1.0, 1.0], (size, probes)) / math.sqrt(size)
    previous = np.zeros_like(vector)
    beta = np.zeros(probes)
    matrix = np.zeros((probes, STEPS, STEPS))
    for step in range(STEPS):
        image = product(vector) - beta * previous
        alpha = (image * vector).sum(axis=0)
        image -= alpha * vector
        beta = np.sqrt((image**2).sum(axis=0))
        matrix[:, step, step] = alpha
        if step + 1 < STEPS:
            matrix[:, step + 1, step] = beta
        previous = vector
        vector = image / np.maximum(beta, 1e-12)
    value, vectors = np.linalg.eigh(matrix)
    weight = vectors[:, 0] ** 2 * size / probes
    return Spectrum(np.maximum(value.ravel(), 0.0) / diagonal, weight.ravel(), diagonal)


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
#: Site precisions before the first sweep.
FIRST_PRECISION = 1e-3
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
            mu=self.mu,
            tau_left=self.tau_left,
            tau_right=self.tau_right,
            g0=self.g0,
            g1=self.g1,
            omega_square=self.omega**2,
            rho=self.rho,
            gamma=self.gamma,
            rounding=self.rounding,
            prior=1.0 - self.kappa,
        )


class Sums(NamedTuple):
    """Sums over the reviewers of a part.

    ``reviewers``, ``reviews``: their numbers; ``squares``: squared residuals relative to the noise of the reviewer;
    ``evidence``, that of the similarity of papers included; ``freedom``: derivative of the log density of the noises by
    the number of pseudo-scores; ``likeness``: expected sum of (x_i - xbar)^2 over the papers of each.
    """

    reviewers: float
    reviews: float
    squares: float
    evidence: float
    freedom: float
    likeness: float


def reset_part(state: PartState, _: Vectors, population: Population) -> tuple[Vectors, None]:
    """Set the state of a part to that before the first sweep."""
    state.sites.precision[:] = FIRST_PRECISION
    state.sites.shift[:] = FIRST_PRECISION * state.part.score
    if population.kappa:
        state.sites.likeness_precision[:] = 0.0
        state.sites.likeness_shift[:] = 0.0
    state.nodes.centre[:] = population.mu
    state.nodes.spread[:] = population.tau
    state.nodes.noise[:] = population.pooled
    state.squares[:] = 0.0
    return (), None


def sweep_part(
    state: PartState, vectors: Vectors, population: Population, gauge: Gauge, strength: float, damping: float
) -> tuple[Vectors, tuple[Sums, Moments, Moments | None]]:
    """Update the sites and nodes of a part in place.

    ``vectors``: precision and shift of each paper; ``gauge``: what its sites have not seen; ``strength``: kappa / dbar.
    Returns sums of the sites by paper, precision and shift, and of the similarity of papers; sums of the part, also of
    moments; and in the last sweep, without ``damping``, the moments of each reviewer.
    """
    items = Items(*vectors)
    nodes = state.nodes
    load = state.load
    size = items.precision.size

    # The noise s of each reviewer has a scaled inverse chi^2 prior of f pseudo-scores with variance p; a step of Fisher
    # scoring on log s towards the mode, where S / s - k + f (p / s - 1) = 0.
    if state.squares.any():
        relative = population.pooled / nodes.noise
        gradient = state.squares / nodes.noise - load + population.freedom * (relative - 1.0)
        step = gradient / (state.information + population.freedom * np.maximum(relative, 1.0))
        nodes.noise[:] = np.maximum(nodes.noise * np.exp(np.clip(step, -MOST_STEP, MOST_STEP)), LEAST_NOISE)
    else:
        nodes.noise[:] = population.pooled

    hyper = population.hyper
    moments = Moments(*np.zeros((len(Moments._fields), load.size)))
    sites = Items(*np.zeros((2, size)))
    step_reviewers(state.part, state.sites, nodes, items, hyper, gauge, damping, sites, moments)
    state.squares[:] = moments.squares
    state.information[:] = moments.information

    # Without similarity its expected squares are computed only where the state is final.
    likeness = Items(*np.zeros((2, size if strength else 0)))
    evidence = 0.0
    squares = 0.0
    if strength or not damping:
        evidence, squares = step_likeness(
            state.part,
            state.sites,
            items,
            hyper.prior,
            strength,
            gauge,
            damping,
            likeness,
        )
    total = Moments(*(np.asarray(value.sum()) for value in moments))
    sums = _sums(moments, load, nodes.noise, population, evidence, squares)
    return (*sites, *likeness), (sums, total, None if damping else moments)


def _sums(
    moments: Moments, load: IntArray, noise: FloatArray, population: Population, evidence: float, squares: float
) -> Sums:
    """Return the sums of a part; the last two are those of the similarity of papers."""
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
        squares=float((moments.squares[used] / noise[used]).sum()),
        evidence=float(moments.evidence.sum() + occam.sum() + evidence),
        freedom=float(by_freedom.sum()),
        likeness=squares,
    )


def maximised(population: Population, sums: Sums, total: Moments) -> Population:
    """Return the population of largest expected log density given the sums of a sweep, also of moments."""
    n = sums.reviewers
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
        freedom=_next_freedom(population.freedom, sums, float(total.information)),
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


def _next_freedom(freedom: float, sums: Sums, information: float) -> float:
    """Return the number of pseudo-scores after a Newton step on its logarithm."""
    from scipy.special import digamma, polygamma

    half = freedom / 2
    n = sums.reviewers
    gradient = freedom * (sums.freedom + 0.5 * n * (math.log(half) - float(digamma(half))))
    gradient -= math.log(freedom / FREEDOM) / FREEDOM_SD**2
    # Curvature of reviewers of the mean number of scores.
    more = half + 0.5 * information / n
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

    ``items``: precision and shift of the posterior of papers; ``moments``: of reviewers, by part; ``evidence``: log
    evidence of the standardised scores; ``off``: largest distance of a mean from its limit, in standard deviations, 0
    if converged; ``squares``, ``plain``: E x'L x and E x'x.
    """

    items: Items
    population: Population
    moments: list[Moments]
    evidence: float
    sweeps: int
    off: float
    squares: float
    plain: float


class Sweeps:
    """The state between sweeps: population, papers, and the gauge that sites have not seen."""

    def __init__(self, problem: Problem, population: Population, spectrum: Spectrum | None) -> None:
        self.problem = problem
        self.population = population
        self.spectrum = spectrum
        self.gauge = Gauge()
        self.damping = DAMPING
        self.set_items(Items(*np.zeros((2, problem.count.size))))

    def set_items(self, sites: Items) -> None:
        """Set the posterior of papers: the sums of their sites times the prior N(0, 1 / (1 - kappa))."""
        self.items = Items(1.0 - self.population.kappa + sites.precision, sites.shift)

    def sweep(self, damping: float) -> None:
        """Sweep all parts; the log evidence is that of the state before."""
        known = self.problem.known
        population = self.population
        self.strength = population.kappa / self.spectrum.diagonal if self.spectrum is not None else 0.0
        totals, swept = self.problem.parts.map(sweep_part, self.items, population, self.gauge, self.strength, damping)
        self.sites = Items(*totals[:2])
        self.likeness = Items(*totals[2:]) if self.strength else Items(*np.zeros((2, known.size)))
        sums, total, moments = zip(*swept, strict=True)
        self.sums = Sums(*np.sum(sums, axis=0).tolist())
        self.total = Moments(*np.sum(total, axis=0))
        self.moments = [of_part for of_part in moments if of_part is not None]

        precision = self.items.precision[known]
        shift = self.items.shift[known]
        self.evidence = self.sums.evidence + 0.5 * float((shift**2 / precision - np.log(precision)).sum())
        if self.spectrum is not None and population.kappa:
            self.evidence += 0.5 * float(self.spectrum.log_determinant(population.kappa))

    def plain_squares(self) -> float:
        """Return E x'x over papers with a score."""
        precision = self.items.precision[self.problem.known]
        mean = self.items.shift[self.problem.known] / precision
        return float((mean**2 + 1 / precision).sum())

    def maximise(self) -> None:
        """Move the population to the largest expected log density, and standardise qualities again."""
        population = maximised(self.population, self.sums, self.total)
        if self.spectrum is not None and self.strength:
            kappa = self.spectrum.best(self.sums.likeness, self.plain_squares())
            population = population._replace(kappa=min(max(kappa, LEAST_KAPPA), KAPPAS[-1]))
        sites = self._standardised()
        self.population = population._replace(
            mu=population.mu + math.log(self.gauge.spread), g1=(population.g1 + self.gauge.centre) / self.gauge.spread
        )
        self.set_items(sites)

    def _standardised(self) -> Items:
        """Return sums of sites when papers have the mean 0 and the mean square of their prior; set the gauge to that.

        A site N(h / p, 1 / p) of x is one of (x - c) / s with the precision p s^2 and the shift (h - p c) s; those of
        the similarity of papers keep their precision.
        """
        known = self.problem.known
        sites = self.sites
        likeness = self.likeness
        prior = 1.0 - self.population.kappa
        precision = prior + sites.precision + likeness.precision
        mean = (sites.shift + likeness.shift) / precision
        centre = float(mean[known].mean())
        plain = float(((mean[known] - centre) ** 2 + 1 / precision[known]).sum())
        spread = math.sqrt((prior * plain + self.strength * self.sums.likeness) / int(known.sum()))
        self.gauge = Gauge(centre, spread)
        return Items(
            sites.precision * spread**2 + likeness.precision,
            (sites.shift - sites.precision * centre) * spread + (likeness.shift - likeness.precision * centre) / spread,
        )


def fit(
    problem: Problem,
    population: Population,
    spectrum: Spectrum | None = None,
    tell: Callable[[], None] = lambda: None,
    max_sweeps: int = MAX_SWEEPS,
    *,
    learn: bool = True,
) -> Fit:
    """Alternate sweeps and steps of the population until papers no longer move and the evidence no longer rises.

    Without ``learn`` the population keeps its parameters, and qualities their scale.
    """
    problem.parts.map(reset_part, (), population)
    state = Sweeps(problem, population, spectrum)
    last_mean = np.zeros(problem.count.size)
    last_evidence = -math.inf
    off = math.inf
    path: list[Population] = []
    count = 0
    while count < max_sweeps:
        count += 1
        tell()
        state.sweep(state.damping)
        if learn:
            state.maximise()
            path = [*path[-2:], state.population]
            if count % AITKEN == 0:
                state.population = _extrapolated(path)
                path = []
        else:
            precision = state.sites.precision + state.likeness.precision
            state.set_items(Items(precision, state.sites.shift + state.likeness.shift))

        mean = state.items.shift / state.items.precision
        off = float((np.abs(mean - last_mean) * np.sqrt(state.items.precision)).max())
        gain = state.evidence - last_evidence
        last_mean = mean
        last_evidence = state.evidence
        # Sites that overshoot lower the evidence.
        if gain < -GAIN:
            state.damping = max(LESS * state.damping, LEAST_DAMPING)
        if off <= TOLERANCE and abs(gain) <= max(GAIN, RELATIVE_GAIN * state.sums.reviews):
            break

    # The state in the last gauge, without a further step.
    state.sweep(0.0)
    return Fit(
        items=state.items,
        population=state.population,
        moments=state.moments,
        evidence=state.evidence,
        sweeps=count,
        off=0.0 if off <= TOLERANCE else FAR * off,
        squares=state.sums.likeness,
        plain=state.plain_squares(),
    )


def _extrapolated(path: list[Population]) -> Population:
    """Return the limit of three populations in a row if their steps shrink geometrically (Aitken's delta-squared)."""
    old, middle, new = (
        np.array([*(getattr(step, name) for name in _PLACES), *(math.log(getattr(step, name)) for name in _SCALES)])
        for step in path
    )
    before = middle - old
    step = new - middle
    rate = np.divide(step, before, out=np.zeros_like(step), where=np.abs(before) > 1e-12)
    # Only steps that shrink, and slowly, have a limit worth guessing.
    rate = np.where((rate > 0) & (rate < 1), np.minimum(rate, FASTEST), 0.0)
    limit = (new + np.clip(step * rate / (1 - rate), -FARTHEST, FARTHEST)).tolist()
    scales = map(math.exp, limit[len(_PLACES) :])
    return path[-1]._replace(**dict(zip((*_PLACES, *_SCALES), (*limit[: len(_PLACES)], *scales), strict=True)))
