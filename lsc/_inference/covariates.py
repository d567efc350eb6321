"""Covariates of papers and of reviewers with shrunken effects, learned around the inference from scores.

::

    x      ~ N(Z g, K^-1)                       quality of papers, K as without covariates
    b_j    ~ N(g0 + g1 a_j + W_j d, omega^2)    offset of reviewers
    g, d   ~ N(0, t_f^2) for each factor f

A factor is a column of numbers, the levels of a category, or the authors' own rankings. Effects are at their posterior
mode given the standard deviations t_f, and these maximise the evidence, the effects integrated out by Laplace's method:
the log evidence of the scores given effects is expanded to second order around the present ones. Its gradient is that
of the inference: Z' K (E x - Z g) for papers, W' (E b - g0 - g1 a - W d) / omega^2 for reviewers. Its curvature is that
of generalised least squares in the model linearised in slopes (:func:`lsc._inference.beliefs.linearise`), with papers,
offsets and slopes integrated out: so effects of papers and of reviewers that are hard to tell apart are uncertain.

A factor is used if the evidence with it exceeds that without it by :data:`MIN_GAIN`, hyperparameters being those of
the present inference: first those without covariates, which explain a part of what it could; then those with it. All in
use together are compared with an inference without them, that has hyperparameters of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from lsc._inference.beliefs import InferenceStatus, Posterior, conjugate_gradients, joint, linearise, used_reviews
from lsc._inference.states import Expected
from reviewgraph._base import FloatArray, IntArray, snapped

#: Gain in log evidence from which a factor, and the covariates as a whole, are used.
MIN_GAIN = 2.0
#: Bounds and start of the variances t^2, in squared units of unexplained quality, or of standardised scores.
LEAST, START, MOST = 1e-8, 0.05, 25.0
#: Least share of the unexplained variance of qualities that prior means may leave in one step.
LEAST_REST = 0.25
#: Maximum number of inferences, and the change of prior means, in standard deviations, that counts as converged.
MAX_STEPS, TOLERANCE = 8, 5e-3

Kind: TypeAlias = Literal["number", "category", "ranking"]


class Factor(NamedTuple):
    """A covariate: columns whose effects share a variance.

    ``design`` (N or M, L): a column per level, one for a number or a ranking; rows of unknown values, and the mean of
    each column over items or reviewers with a score, are 0. ``levels``: names of the columns. ``known``: number of
    items or reviewers with a value. ``of_items``: whether it is one of items. The effect of a ranking is not negative.
    """

    name: str
    kind: Kind
    of_items: bool
    levels: tuple[str, ...]
    design: FloatArray
    known: int


class Quadratic(NamedTuple):
    """Second-order expansion of the log evidence of the scores in the effects, shapes (F,), (F, F) and (N, F).

    ``linear`` and ``curvature``: log evidence = constant + linear g - g' curvature g / 2. ``constant`` is that at no
    effects. ``sensitivity``: derivatives of the posterior means of items.
    """

    constant: float
    linear: FloatArray
    curvature: FloatArray
    sensitivity: FloatArray


class Learned(NamedTuple):
    """Variances t^2 by factor, mode and covariance of the effects, and log evidence with the effects integrated out."""

    variance: FloatArray
    mean: FloatArray
    covariance: FloatArray
    evidence: float


class Effects(NamedTuple):
    """What the covariates turned out to be worth.

    ``factors`` in use, their ``effects`` and ``covariance``, shapes (F,) and (F, F), on the internal scale of qualities
    for items and in units of standardised scores for reviewers; ``gains``: rise of the log evidence by each factor that
    was tried, by position; ``gain``: rise by all in use.
    """

    factors: tuple[Factor, ...]
    effects: FloatArray
    covariance: FloatArray
    gains: FloatArray
    gain: float

    def slices(self) -> list[slice]:
        """Return the entries of each factor."""
        return _slices(self.factors)


def log_evidence(posterior: Posterior) -> float:
    """Return the log evidence of the model in use: the full one, or that without reviewer effects."""
    return posterior.evidence if posterior.signal else posterior.null_evidence


def _slices(factors: Sequence[Factor]) -> list[slice]:
    ends = np.cumsum([0, *(factor.design.shape[1] for factor in factors)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def expected_of(factors: Sequence[Factor], effects: FloatArray, sizes: tuple[int, int]) -> Expected:
    """Return the prior means of qualities and offsets; ``sizes`` are M and N."""
    quality, offset = np.zeros(sizes[1]), np.zeros(sizes[0])
    for factor, entries in zip(factors, _slices(factors), strict=True):
        target = quality if factor.of_items else offset
        target += factor.design @ effects[entries]
    return Expected(quality, offset)


# The expansion of the log evidence.


def expand(posterior: Posterior, standard: FloatArray, factors: Sequence[Factor], effects: FloatArray) -> Quadratic:
    """Expand the log evidence around the effects with which the posterior was inferred; O(E F), and one solution of F.

    ``standard`` (E,): scores in the unit of the inference.
    """
    gradient = _gradient(posterior, standard, factors)
    curvature, sensitivity = _curvature(posterior, factors)
    linear = gradient + curvature @ effects
    constant = log_evidence(posterior) - linear @ effects + 0.5 * effects @ curvature @ effects
    return Quadratic(float(constant), linear, curvature, sensitivity)


def _gradient(posterior: Posterior, standard: FloatArray, factors: Sequence[Factor]) -> FloatArray:
    """Return the derivatives of the log evidence by the effects, shape (F,)."""
    who, what = used_reviews(posterior)
    n_reviewers, n_items = posterior.slope.size, posterior.mean.size
    expected = posterior.expected or Expected(np.zeros(n_items), np.zeros(n_reviewers))
    # Items: K (E x - m), with the Laplacian of those that share reviewers.
    rest = np.nan_to_num(posterior.mean - expected.quality)
    of_items = posterior.prior * rest
    if posterior.kappa:
        parts = linearise(posterior)
        centre = np.bincount(who, rest[what], n_reviewers) / np.maximum(np.bincount(who, minlength=n_reviewers), 1)
        of_items = of_items + np.bincount(what, parts.likeness * (rest[what] - centre[who]), n_items)
    if posterior.signal:
        hyper = posterior.hyperparameters
        off = posterior.offset - expected.offset - hyper["g0"].value - hyper["g1"].value * posterior.slope
        uses = 1.0 - posterior.reviewers.orders
        of_reviewers = np.nan_to_num(uses * off) / hyper["omega"].value ** 2
    else:
        used = posterior.precision > 0
        residual = standard[used] - posterior.offset[who] - posterior.slope[who] * posterior.mean[what]
        of_reviewers = np.asarray(np.bincount(who, residual / posterior.noise_variance[who], n_reviewers), np.float64)
    values = [factor.design.T @ (of_items if factor.of_items else of_reviewers) for factor in factors]
    return np.concatenate(values)


def _curvature(posterior: Posterior, factors: Sequence[Factor]) -> tuple[FloatArray, FloatArray]:
    """Return X' S^-1 X, S the covariance of the scores and X their derivatives by the effects, and the sensitivity.

    With A the slopes of the items, V the covariance of scores given qualities and Q = K + A' V^-1 A the precision of
    the items: S^-1 = V^-1 - V^-1 A Q^-1 A' V^-1.
    """
    (who, what), parts, everything = used_reviews(posterior), linearise(posterior), joint(posterior)
    slope = posterior.slope[who]
    columns = [slope[:, None] * factor.design[what] if factor.of_items else factor.design[who] for factor in factors]
    design = np.concatenate(columns, axis=1)
    # V^-1 = D (I - H H') D by reviewer.
    root = np.sqrt(parts.precision) / slope
    scaled = root[:, None] * design
    inside = scaled.copy()
    for half in parts.half.T[:, :, None]:
        inside -= half * _summed(who, half * scaled, posterior.slope.size)[who]
    weighted = root[:, None] * inside
    right = _summed(what, slope[:, None] * weighted, posterior.mean.size)[everything.item]
    solved = conjugate_gradients(everything.product, right, everything.diagonal)
    curvature = design.T @ weighted - right.T @ solved
    # E x rises with its own prior mean, less what the scores would have said of it.
    sensitivity = np.zeros((posterior.mean.size, design.shape[1]))
    direct = [
        factor.design if factor.of_items else np.zeros((posterior.mean.size, factor.design.shape[1]))
        for factor in factors
    ]
    sensitivity[everything.item] = np.concatenate(direct, axis=1)[everything.item] - solved
    return 0.5 * (curvature + curvature.T), sensitivity


def _summed(code: IntArray, value: FloatArray, size: int) -> FloatArray:
    """Sum rows by code, shape (size, F)."""
    import scipy.sparse

    matrix = scipy.sparse.csr_array((np.ones(code.size), (code, np.arange(code.size))), (size, code.size))
    return np.asarray(matrix @ value)


# Variances of the effects, by evidence.


def integrate(quadratic: Quadratic, variance: FloatArray) -> Learned:
    """Integrate effects out, given their variances, shape (F,)."""
    root = np.sqrt(variance)
    inner = np.eye(root.size) + root[:, None] * quadratic.curvature * root
    lower = np.linalg.cholesky(inner)
    half = np.linalg.solve(lower, np.diag(root))
    covariance = half.T @ half
    mean = covariance @ quadratic.linear
    evidence = quadratic.constant - float(np.log(np.diag(lower)).sum()) + 0.5 * float(quadratic.linear @ mean)
    return Learned(variance, mean, covariance, evidence)


def learn(quadratic: Quadratic, factors: Sequence[Factor]) -> Learned:
    """Maximise the evidence over the variances of the factors; a ranking with a negative effect has none."""
    from scipy.optimize import minimize

    entries = _slices(factors)
    sizes = [part.stop - part.start for part in entries]
    upper = np.full(len(entries), np.log(MOST))

    def objective(logs: FloatArray) -> tuple[float, FloatArray]:
        found = integrate(quadratic, np.repeat(np.exp(logs), sizes))
        square = (found.mean**2 + np.diag(found.covariance)) / found.variance - 1.0
        return -found.evidence, -0.5 * np.array([square[part].sum() for part in entries])

    while True:
        bounds = list(zip([np.log(LEAST)] * len(entries), upper.tolist(), strict=True))
        start = np.minimum(np.log(START), upper)
        best = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B").x
        found = integrate(quadratic, np.repeat(np.exp(best), sizes))
        wrong = [
            place
            for place, (factor, part) in enumerate(zip(factors, entries, strict=True))
            if factor.kind == "ranking" and found.mean[part.start] < 0 and upper[place] > np.log(LEAST)
        ]
        if not wrong:
            return found
        upper[wrong] = np.log(LEAST)


def without(quadratic: Quadratic, factors: Sequence[Factor], place: int) -> tuple[Quadratic, list[Factor]]:
    """Return the expansion with the effects of one factor at 0, and the other factors."""
    kept = np.ones(quadratic.linear.size, bool)
    kept[_slices(factors)[place]] = False
    smaller = Quadratic(
        quadratic.constant,
        quadratic.linear[kept],
        quadratic.curvature[np.ix_(kept, kept)],
        quadratic.sensitivity[:, kept],
    )
    return smaller, [factor for other, factor in enumerate(factors) if other != place]


def gains_of(quadratic: Quadratic, factors: Sequence[Factor], learned: Learned) -> FloatArray:
    """Return by how much the evidence falls without each factor, the variances of the others maximised again."""
    gains = []
    for place in range(len(factors)):
        smaller, others = without(quadratic, factors, place)
        gains.append(learned.evidence - (learn(smaller, others).evidence if others else quadratic.constant))
    return np.maximum(gains, 0.0)


# The loop around the inference.


def _in_new_units(
    posterior: Posterior, factors: Sequence[Factor], effects: FloatArray, old: FloatArray, new: FloatArray
) -> FloatArray:
    """Return effects in the unit of the next inference, that of what the new prior means of items leave unexplained.

    The mean square of qualities is what the old prior means and the rest add to. Without this step each inference would
    correct half of the unit; the fixed point is the same. Without reviewer effects the unit follows at once.
    """
    if not posterior.signal:
        return effects
    known = np.isfinite(posterior.mean)
    rest = posterior.extent.mean_square
    remaining = max(rest + float((old[known] ** 2).mean() - (new[known] ** 2).mean()), LEAST_REST * rest)
    ratios = [np.sqrt(rest / remaining) if factor.of_items else 1.0 for factor in factors]
    return np.asarray(effects * np.repeat(ratios, [factor.design.shape[1] for factor in factors]))


def infer_with(
    run: Callable[[Expected | None], Posterior],
    base: Posterior,
    standard: Callable[[Posterior], FloatArray],
    factors: Sequence[Factor],
) -> tuple[Posterior, Effects]:
    """Infer with covariates: alternate the inference given effects, ``run``, and the effects given its expansion.

    ``base`` is the posterior without covariates; ``standard`` returns the scores in the unit of a posterior. Returns
    ``base`` where no factor is used. The uncertainty of effects is added to the variance of items, in ``loops``.
    """
    sizes, size = (base.slope.size, base.mean.size), len(factors)
    gains, active = np.zeros(size), list(range(size))
    posterior, effects = base, np.zeros(sum(factor.design.shape[1] for factor in factors))
    none = Effects((), np.zeros(0), np.zeros((0, 0)), gains, 0.0)
    for step in range(MAX_STEPS + 1):
        chosen = [factors[place] for place in active]
        quadratic = expand(posterior, standard(posterior), chosen, effects)
        learned = learn(quadratic, chosen)
        changed = False
        # Factors that are worth too little leave one by one.
        while active:
            each = gains_of(quadratic, chosen, learned)
            gains[active] = each
            weakest = int(np.argmin(snapped(each)))
            if each[weakest] >= MIN_GAIN:
                break
            kept = np.ones(effects.size, bool)
            kept[_slices(chosen)[weakest]] = False
            quadratic, chosen = without(quadratic, chosen, weakest)
            active.pop(weakest)
            effects, changed = effects[kept], True
            if active:
                learned = learn(quadratic, chosen)
        if not active:
            return base, none
        new, old = (expected_of(chosen, each, sizes) for each in (learned.mean, effects))
        change = max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(new, old, strict=True))
        converged = step > 0 and not changed and change < TOLERANCE
        if converged or step == MAX_STEPS:
            break
        effects = _in_new_units(posterior, chosen, learned.mean, old.quality, new.quality)
        posterior = run(expected_of(chosen, effects, sizes))
    gain = learned.evidence - log_evidence(base)
    if gain < MIN_GAIN:
        return base, none
    if not converged and posterior.signal:
        off = max(posterior.off, change / float(np.sqrt(np.nanmin(posterior.variance))))
        posterior = replace(posterior, status=InferenceStatus.SWEEPS_EXHAUSTED, off=off)
    extra = ((quadratic.sensitivity @ learned.covariance) * quadratic.sensitivity).sum(axis=1)
    posterior = replace(posterior, loops=posterior.loops + extra / posterior.variance)
    if len(active) == 1:
        gains[active] = gain
    return posterior, Effects(tuple(chosen), effects, learned.covariance, gains, gain)
