"""The inference from scores to qualities: the null model, model selection, and the assembly of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lsc._inference.beliefs import (
    Beliefs,
    Fitted,
    Hyperparameter,
    InferenceStatus,
    Member,
    Posterior,
    Quantity,
    Reviewers,
    loop_factors,
)
from lsc._inference.categories import (
    MAX_REVIEWS,
    Averages,
    evidence_of_averages,
    evidence_of_numbers,
    fit_levels,
    is_preferred,
    levels_of,
    may_be_ordinal,
    observations,
)
from lsc._inference.halves import Threads, describe_halves
from lsc._inference.mixture import TEMPERATURE, combine, straightened, tempered
from lsc._inference.model import (
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    LOWEST,
    MU,
    NAMES,
    NU,
    RHO,
    Extent,
)
from lsc._inference.scale_users import offsets_given, slopes_at
from lsc._inference.states import (
    NO_REFERENCES,
    Expected,
    ItemPosterior,
    Messages,
    Problem,
    References,
    Rows,
    Scores,
    State,
    Unit,
    are_rankings,
    check_no_outlier,
    counts,
    equal_scores,
    extremes,
    initial_state,
    item_posterior,
    parts_with_messages,
    prepare,
    read_references,
    require_one_unit,
    subset_of,
    uninformative,
)
from lsc._inference.sweeps import (
    Fit,
    block_inputs,
    free_of,
    most_evident,
    optimise,
    run_members,
    run_stages,
    sweep,
    with_references,
)
from reviewgraph._base import BoolArray, FloatArray, IntArray, snapped

#: Minimum gain in nats over the model without reviewer effects (null tables: at most 4.4 of 18).
SIGNAL = 5.0

# The null model, without reviewer effects: the posterior of a quality is an average shrunk towards the mean.
#
# ::
#
#     y_ij = g + a x_i + e_ij,   x_i ~ N(0, 1),  e_ij ~ N(0, s^2)

#: Grid of ratios of variances a^2 / s^2, and number of refinements around the best.
RATIOS = np.geomspace(1e-4, 1e4, 81)
REFINEMENTS = 6
#: Prior standard deviation of the log ratio, relevant only if no item has two scores, where it is not identified.
VAGUE = 2.0
#: Steps to the slope that agrees with prior means of qualities.
SLOPE_STEPS = 8


def fit_averages(item: IntArray, score: FloatArray, least_noise: float) -> Averages:
    """Maximise the evidence of the null model, in closed form up to one ratio; ``least_noise`` bounds the variance."""
    _, code, count = np.unique(item, return_inverse=True, return_counts=True)
    average = np.bincount(code, score) / count
    within = float(((score - average[code]) ** 2).sum())
    return best_averages(count, average, within, least_noise)


def averages_given(item: IntArray, score: FloatArray, least_noise: float, expected: Expected | None) -> Averages:
    """Maximise it with prior means of the qualities, in units of what they leave unexplained."""
    averages = fit_averages(item, score, least_noise)
    if expected is None or not expected.quality.any():
        return averages
    for _ in range(SLOPE_STEPS):
        averages = fit_averages(item, score - averages.slope * expected.quality[item], least_noise)
    return averages


def best_averages(count: IntArray, average: FloatArray, within: float, least_noise: float) -> Averages:
    """Maximise it from the number and average of each item's scores, and the sum of squares about the averages."""
    return best_of_sums(sums_by_count(count, average), within, least_noise)


class SumsByCount(NamedTuple):
    """Sufficient statistics of items with the same number of scores: number, sum and sum of squares of averages."""

    size: IntArray
    number: IntArray
    total: FloatArray
    square: FloatArray


def sums_by_count(count: IntArray, average: FloatArray) -> SumsByCount:
    """Return them from the number and average of each item's scores."""
    size, kind = np.unique(count, return_inverse=True)
    total, square = (np.asarray(np.bincount(kind, value), np.float64) for value in (average, average**2))
    return SumsByCount(size, np.bincount(kind), total, square)


def best_of_sums(sums: SumsByCount, within: float, least_noise: float) -> Averages:
    """Maximise the evidence from these and the sum of squares about the averages."""
    size, number, total, square = sums
    n_scores = int(size @ number)

    def profile(ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        precision = size / (1 + size * ratio[:, None])
        mean = (precision * total).sum(axis=1) / (precision * number).sum(axis=1)
        spread = square - 2 * mean[:, None] * total + mean[:, None] ** 2 * number
        squares = within + (precision * spread).sum(axis=1)
        noise = np.maximum(squares / n_scores, least_noise)
        fit = squares / noise + (number * np.log1p(size * ratio[:, None])).sum(axis=1)
        return -0.5 * (n_scores * np.log(2 * np.pi * noise) + fit), mean, noise

    ratio = RATIOS
    for _ in range(REFINEMENTS):
        best = int(np.argmax(profile(ratio)[0] - 0.5 * (np.log(ratio) / VAGUE) ** 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = (float(value[4]) for value in profile(ratio))
    return Averages(mean, float(np.sqrt(ratio[4] * noise)), noise, evidence)


# Posterior of the reviewers: slope, offset and noise.

#: Normal quantile .95: half the width of a central 90 % interval in standard deviations.
WIDTH = 1.6448536269514722
#: Normal quantiles .1, .3, .5, .7, .9: five equally likely values that represent the posterior of a reviewer.
FIFTHS = np.array([-1.2815515655446004, -0.5244005127080407, 0.0, 0.5244005127080407, 1.2815515655446004])[:, None]


class ReviewerMoments(NamedTuple):
    """Posterior moments of each reviewer, shapes (M,), NaN without scores: a, b, logs of slope and of noise s^2."""

    slope: FloatArray
    slope_variance: FloatArray
    offset: FloatArray
    offset_variance: FloatArray
    log_slope: FloatArray
    log_slope_sd: FloatArray
    log_noise: FloatArray
    log_noise_sd: FloatArray


def reviewer_moments(problem: Problem, state: State, posterior: ItemPosterior | None = None) -> ReviewerMoments:
    """Posterior moments of each reviewer's parameters, by one more quadrature; ``posterior`` as in a sweep."""
    values = np.full((len(ReviewerMoments._fields), problem.n_reviewers), np.nan)
    rows, posterior = ReviewerMoments(*values), posterior or item_posterior(problem, state)
    with Threads() as threads:
        for part, messages in parts_with_messages(problem, state):
            if problem.compiled:
                describe_halves(threads, part.layout, messages, posterior, state, float(problem.rounding), values)
                continue
            for block, cavity, nodes, factor, _ in block_inputs(part, messages, posterior, state):
                # Probabilities of the nodes, and the noise of a review on average, without empty slots.
                at = slopes_at(nodes, state.theta)
                variance = at.noise * factor[:, None] + problem.rounding_of(block)
                offsets = offsets_given(block, cavity, at, variance, np.exp(2 * state.theta[LOG_OMEGA]))
                share = np.exp(offsets.log_weight - offsets.log_weight.max(axis=0))
                share /= share.sum(axis=0)
                typical_factor = (factor * block.used).sum(axis=0) / block.load
                if state.extent.ordinal:
                    # Intervals differ in width: noise of the same precision on average.
                    level = np.log(block.load / (block.used[:, None] / variance).sum(axis=0))
                else:
                    level = np.log(at.noise * typical_factor + problem.rounding)
                who = block.reviewer
                rows.slope[who], rows.slope_variance[who] = _moments(share, at.slope)
                rows.log_slope[who], rows.log_slope_sd[who] = _moments(share, at.log_slope, sd=True)
                rows.log_noise[who], rows.log_noise_sd[who] = _moments(share, level, sd=True)
                rows.offset[who], between = _moments(share, offsets.mean)
                rows.offset_variance[who] = between + (share / offsets.precision).sum(axis=0)
    return rows


def _moments(share: FloatArray, value: FloatArray, *, sd: bool = False) -> tuple[FloatArray, FloatArray]:
    mean = (share * value).sum(axis=0)
    variance = (share * (value - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(variance) if sd else variance


def interquartile_range(quantity: Quantity) -> tuple[float, float]:
    """Return the quartiles of a property over reviewers.

    Each reviewer enters with their posterior, not only its mean: means of reviewers with few scores are shrunk
    together, and a reviewer with many would look unusual among them.

    Examples
    --------
    >>> exact = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> interquartile_range(Quantity(exact, exact, exact))
    (1.0, 3.0)
    """
    mean, low, high = (value[np.isfinite(value)] for value in quantity)
    half_width = np.where(FIFTHS > 0, high - mean, mean - low) / WIDTH
    first, third = np.quantile(mean + FIFTHS * half_width, [0.25, 0.75])
    return float(first), float(third)


# From messages to the result, with and without signal, and without scores.
#
# Variance of a common bend (:func:`bend_variance`): scores identify qualities only up to an increasing function common
# to all reviewers. The prior says that qualities are normal; so an alternative estimate puts each paper at the normal
# quantile of its rank. The distance of the two estimates measures the bend, and intervals should cover both.

EMPTY = np.empty(0)


def bend_variance(mean: FloatArray) -> FloatArray:
    """Return the variance that a common bend adds to the quality of each item, shape (n,), from posterior means.

    The squared distance of the two estimates, times the share of it that the sampling variance of normal order
    statistics (Mosteller 1946: ``p (1 - p) / n phi^2`` at the quantile of p) leaves unexplained: 0 where qualities look
    normal.
    """
    size = mean.size
    if size < 3 or np.ptp(mean) <= 0:
        return np.zeros(size)
    # Ties share their average rank.
    deviation = float(mean.std())
    tied = snapped(mean, deviation)
    ordered = np.sort(tied)
    rank = 0.5 * (np.searchsorted(ordered, tied, "left") + np.searchsorted(ordered, tied, "right") + 1)
    square, scatter = distances_to_normal(mean, float(mean.mean()), deviation, np.asarray(rank), size)
    return np.asarray(unexplained_share(float(square.sum()), float(scatter.sum())) * square)


def distances_to_normal(
    mean: FloatArray, centre: float, deviation: float, rank: FloatArray, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return squared distances of posterior means from the quantiles of their ranks, and their sampling variances."""
    from scipy.special import ndtri

    probability = (rank - 0.375) / (size + 0.25)
    normal = ndtri(probability)
    scatter = deviation**2 * probability * (1 - probability) / size * 2 * np.pi * np.exp(normal**2)
    return (mean - centre - deviation * normal) ** 2, scatter


def unexplained_share(square: float, scatter: float) -> float:
    """Return the share of the sum of squared distances that sampling leaves unexplained."""
    return max(0.0, 1.0 - scatter / square) if square > 0 else 0.0


class ItemMoments(NamedTuple):
    """Mean, variance, loop factor (1) and bend variance of each item, shape (N,); NaN without data."""

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    bend: FloatArray


def assemble(
    rows: Rows, scores: Scores, averages: Averages, fit: Fit, references: References = NO_REFERENCES
) -> Posterior:
    """Sum messages, in the order of the input; under the null model all reviews have the same precision."""
    [(_, by_slot)] = parts_with_messages(scores.problem, fit.state)
    messages = Messages(*(value[scores.slot] for value in by_slot))
    problem, item, fitted = references.applied_to(scores.problem), rows.item, fitted_of(fit.state, messages)
    if fit.state.extent.ordinal:
        fitted = fitted._replace(observed=observations(scores))
    if has_signal(fit, averages):
        prior, beliefs_under = 1.0 - fit.state.extent.kappa, full_beliefs
    else:
        prior, beliefs_under, none = 1.0, null_beliefs, np.zeros(item.size)
        precision = np.full(item.size, averages.slope**2 / averages.noise)
        shift = averages.slope / averages.noise * (scores.standard - averages.mean)
        messages = Messages(precision, shift, none, none)
    # By item, in the order in which contributions to an item are summed.
    sums = messages.precision + messages.likeness_precision, messages.shift + messages.likeness_shift
    by_item = [np.asarray(np.bincount(item, value, problem.n_items), np.float64) for value in sums]
    moments = item_moments(prior, problem, (by_item[0], by_item[1]), references)
    beliefs = beliefs_under(problem, scores.unit, averages, fit, moments)
    return with_parts(beliefs, rows.reviewer, item, messages, fitted, references, problem.expected)


def reviewers_given(
    moments: ReviewerMoments, offset: float, slope: float, spread: float, orders: FloatArray
) -> Reviewers:
    """Return properties of reviewers in points of the scores, ``spread`` of which are one internal unit."""
    severity = spread * (offset - moments.offset)
    error = spread * WIDTH * np.sqrt(moments.offset_variance)
    ends = (0.0, -WIDTH, WIDTH)
    stretch = [np.exp(moments.log_slope + width * moments.log_slope_sd) / slope for width in ends[1:]]
    deviation = [spread * np.exp(0.5 * (moments.log_noise + width * moments.log_noise_sd)) for width in ends]
    return Reviewers(
        Quantity(severity, severity - error, severity + error),
        Quantity(moments.slope / slope, *stretch),
        Quantity(*deviation),
        np.where(np.isnan(moments.log_noise), np.nan, orders),
    )


def has_signal(fit: Fit, averages: Averages) -> bool:
    """Whether the evidence of reviewer effects is sufficient."""
    return fit.evidence >= averages.evidence + SIGNAL


def fitted_of(state: State, messages: Messages) -> Fitted:
    return Fitted(np.array(messages), np.concatenate([state.nodes, state.fresh]), state.theta, state.extent)


def full_beliefs(problem: Problem, unit: Unit, averages: Averages, fit: Fit, sums: ItemMoments) -> Beliefs:
    """Beliefs under the full model."""
    state, moments = fit.state, reviewer_moments(problem, fit.state)
    if problem.expected is not None:
        moments = moments._replace(offset=moments.offset + problem.expected.offset)
    # Probabilities of the last sweep belong to the messages before it.
    orders = sweep(problem, state, learn=False).state.orders if state.extent.orders else state.orders
    # Offset and slope of a typical reviewer: averages over reviews.
    scored = problem.load > 0
    offset, slope = (
        float(np.average(value[scored], weights=problem.load[scored])) for value in (moments.offset, moments.slope)
    )
    noise = np.exp(moments.log_noise)
    reviewers = reviewers_given(moments, offset, slope, unit.spread, orders)
    return Beliefs(
        *sums,
        location=unit.location + unit.spread * offset,
        scale=unit.spread * slope,
        prior=1.0 - state.extent.kappa,
        kappa=state.extent.kappa,
        slope=moments.slope,
        offset=moments.offset,
        noise_variance=noise,
        slope_variance=moments.slope_variance,
        reviewers=reviewers,
        hyperparameters=hyperparameters_of(fit),
        theta=state.theta,
        extent=state.extent,
        evidence=fit.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.CONVERGED if fit.converged else InferenceStatus.SWEEPS_EXHAUSTED,
        sweeps=fit.sweeps,
        off=fit.off,
    )


def null_beliefs(problem: Problem, unit: Unit, averages: Averages, fit: Fit, sums: ItemMoments) -> Beliefs:
    """Beliefs under the null model."""
    ones = np.where(problem.load > 0, 1.0, np.nan)
    noise = unit.spread * np.sqrt(averages.noise) * ones
    offset = averages.mean * ones + (0.0 if problem.expected is None else problem.expected.offset)
    scored = problem.load > 0
    typical = float(np.average(offset[scored], weights=problem.load[scored])) if scored.any() else averages.mean
    severities = unit.spread * (typical - offset)
    severity, stretch, noise_quantity = (Quantity(value, value, value) for value in (severities, ones, noise))
    return Beliefs(
        *sums,
        location=unit.location + unit.spread * typical,
        scale=unit.spread * averages.slope,
        prior=1.0,
        kappa=0.0,
        slope=averages.slope * ones,
        offset=offset,
        noise_variance=averages.noise * ones,
        slope_variance=0 * ones,
        reviewers=Reviewers(severity, stretch, noise_quantity, 0 * ones),
        hyperparameters={
            "slope": Hyperparameter(averages.slope),
            "g0": Hyperparameter(averages.mean),
            "noise": Hyperparameter(float(np.sqrt(averages.noise))),
        },
        theta=EMPTY,
        extent=Extent(),
        evidence=fit.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.NO_SIGNAL,
        sweeps=fit.sweeps,
        off=0.0,
    )


def item_moments(
    prior: float, problem: Problem, sums: tuple[FloatArray, FloatArray], references: References = NO_REFERENCES
) -> ItemMoments:
    """Sum prior, messages (``sums`` of precisions and shifts, shapes (N,)), and references."""
    reference_precision, reference_shift = references.per_item(problem.n_items)
    has_data = problem.known | (reference_precision > 0)
    total = prior + sums[0] + reference_precision
    expected = 0.0 if problem.expected is None else prior * problem.expected.quality
    mean = np.where(has_data, (sums[1] + reference_shift + expected) / total, np.nan)
    bend = np.full(problem.n_items, np.nan)
    bend[has_data] = bend_variance(mean[has_data])
    return ItemMoments(mean, np.where(has_data, 1 / total, np.nan), np.ones(problem.n_items), bend)


def with_parts(
    beliefs: Beliefs,
    reviewer: IntArray,
    item: IntArray,
    messages: Messages,
    fitted: Fitted,
    references: References = NO_REFERENCES,
    expected: Expected | None = None,
) -> Posterior:
    """Add the site parameters, shapes (E,), and the prior means of covariates, if any, to the beliefs."""
    return Posterior(
        **vars(beliefs),
        **messages._asdict(),
        reviewer=reviewer,
        item=item,
        reference_item=references.item,
        reference_value=references.value,
        reference_precision=references.precision,
        reference_shift=references.shift,
        fitted=fitted,
        expected=expected,
    )


def hyperparameters_of(fit: Fit) -> Mapping[str, Hyperparameter]:
    """Hyperparameters by name; scales and slope exponentiated, with errors by the delta method."""
    theta = fit.state.theta
    error = np.sqrt(np.diag(np.linalg.inv(fit.information)))
    names = {MU: "slope", NU: "noise", LOG_TAU_LEFT: "tau_left", LOG_TAU_RIGHT: "tau_right"}
    names |= {LOG_OMEGA: "omega", LOG_OWN: "own", LOG_S_R: "perception"}
    values = {}
    for entry, name in enumerate(NAMES):
        if entry in names:
            value = float(np.exp(theta[entry]))
            values[names[entry]] = Hyperparameter(value, float(value * error[entry]))
        elif entry != LOGIT_W:
            values[name] = Hyperparameter(float(theta[entry]), float(error[entry]))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    values["orders"] = Hyperparameter(float(share), float(share * (1 - share) * error[LOGIT_W]))
    extent = fit.state.extent
    if not extent.orders:
        values["orders"], values["perception"] = Hyperparameter(0.0), Hyperparameter(np.nan)
    if not extent.own:
        values["own"] = Hyperparameter(0.0)
    return values | {"kappa": Hyperparameter(extent.kappa)}


#: Likelihood of the scores: numbers, levels, or levels where the evidence prefers them.
Likelihood: TypeAlias = Literal["auto", "normal", "ordinal"]


def with_likelihood(
    rows: Rows, scores: Scores, averages: Averages, fit: Fit, likelihood: Likelihood, tell: Callable[[str], None]
) -> tuple[Scores, Averages, Fit]:
    """Replace the fit of numbers by that of levels if it is asked for, or preferred."""
    if likelihood == "normal":
        return scores, averages, fit
    if likelihood == "auto" and (rows.score.size > MAX_REVIEWS or not may_be_ordinal(rows.score)):
        return scores, averages, fit
    # Of a ranking the order alone is chance: how likely its scores are as levels says nothing.
    if likelihood == "auto" and fit.state.extent.orders and are_rankings(scores.problem):
        return scores, averages, fit
    tell("scores as levels")
    numbers, (ordinal, problem) = evidence_of_numbers(rows, scores, fit), fit_levels(rows, scores, fit)
    if likelihood == "auto" and not is_preferred(ordinal, numbers, rows):
        return scores, averages, fit
    # The null model's evidence as a probability of scores, below that of a likelihood that is asked for.
    null = min(evidence_of_averages(rows, scores, averages), ordinal.evidence - SIGNAL)
    scores = scores._replace(problem=problem, unit=levels_of(rows.score)[0].unit)
    return scores, averages._replace(evidence=null), ordinal


#: Largest number of reviews of which models are averaged.
LARGEST_MIXTURE = 40_000


def infer(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    *,
    weight: FloatArray | None = None,
    reference_item: IntArray | None = None,
    reference_value: FloatArray | None = None,
    likelihood: Likelihood = "auto",
    average_models: bool = False,
    expected: Expected | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[str], None] | None = None,
) -> Posterior:
    """Infer qualities of items from scores, of which there is at least one.

    The model is that of :mod:`lsc._inference.model`. Qualities, slopes and offsets are integrated out by expectation
    propagation (Minka 2001) with one factor per reviewer; the hyperparameters maximise its evidence times weak priors.
    Assortment, own noise of each reviewer and ordinal reviewers are added if they increase the evidence. Reviewers with
    constant scores are ignored, unless equal scores are likely by chance.

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
    reference_item, reference_value
        Shape (R,): items with an external value, on a scale of its own, taken as a noisy measurement.
    likelihood
        ``"normal"``: scores are numbers; ``"ordinal"``: levels of latent scores (:mod:`lsc._inference.categories`);
        ``"auto"``, the default: levels where there are few and the evidence prefers them. Without reviewer effects
        scores are numbers.
    average_models
        Average over models (:mod:`lsc._inference.mixture`) instead of choosing the one with the highest evidence, in
        tables that are not large and show reviewer effects.
    expected
        Prior means of qualities and offsets, from covariates (:mod:`lsc._inference.covariates`); 0 by default.
    seed
        Seed of the stochastic trace estimator.
    progress
        Called with one line of text per stage.

    Raises
    ------
    InputError
        If a score lies so far from all others that it is a likely data-entry error, units differ, or references fit
        neither the scores nor a scale of their own.

    Notes
    -----
    A sweep is O(E); the number of sweeps is some tens whatever the size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.repeat(np.arange(30), 4), np.arange(120) % 31
    >>> score = 5 + np.sin(item) + 3 * rng.standard_normal(30)[reviewer] + 0.1 * rng.standard_normal(120)
    >>> posterior = infer(reviewer, item, score, 30, 31)
    >>> posterior.status.value, bool(np.corrcoef(posterior.quality, np.sin(np.arange(31)))[0, 1] > 0.9)
    ('converged', True)
    """
    check_no_outlier(score)
    low, high = extremes(reviewer, score, n_reviewers)
    require_one_unit(low, high)
    used = ~uninformative(np.bincount(reviewer, minlength=n_reviewers), low == high, equal_scores(score))[reviewer]
    rows, rng = Rows(reviewer, item, score, weight).only(used), np.random.default_rng(seed)
    scores = prepare(rows, n_reviewers, n_items, expected=expected)
    averages = averages_given(rows.item, scores.standard, scores.unit.rounding, expected)
    subset, part = subset_of([rows], n_reviewers, n_items, rng), None
    # The subset is standardised with the unit of the whole table.
    if subset is not None:
        part = prepare(subset, *counts(subset), unit=scores.unit, compiled=scores.problem.compiled).problem
    tell = progress or (lambda _: None)
    average_models = average_models and rows.score.size <= LARGEST_MIXTURE
    if average_models:
        fits = run_members(scores.problem, rng, tell, tempered)
        fit = fits[most_evident(fits)]
    else:
        fits = [fit := run_stages(scores.problem, rng, tell, part)]
    models = [Modelled(scores, averages, fit)]
    if has_signal(fit, averages):
        chosen = with_likelihood(rows, scores, averages, fit, likelihood, tell)
        models = [Modelled(*chosen)]
        if average_models and likelihood != "ordinal":
            models = _all_models(rows, (scores, averages), fits, models[0], tell)
    finish = partial(_finished, rows, used, (reviewer, item), (reference_item, reference_value))
    weight = tempered([model.relative_evidence for model in models])
    kept = [(float(w), model) for w, model in zip(weight, models, strict=True) if w > 0]
    if len(kept) == 1:
        return finish(kept[0][1])
    mixture = combine([Member(w, finish(model.as_member), model.straightened) for w, model in kept])
    known, bend = np.isfinite(mixture.mean), mixture.bend.copy()
    known[mixture.by_prior] = False
    bend[known] = bend_variance(mixture.mean[known])
    return replace(mixture, bend=bend)


class Modelled(NamedTuple):
    """A fitted model: scores as it takes them, the null model of these, the fit, and whether they are normal scores.

    ``gain`` is added to the evidence where it is compared with that of other models: levels have another likelihood.
    """

    scores: Scores
    averages: Averages
    fit: Fit
    straightened: bool = False
    gain: float = 0.0

    @property
    def as_member(self) -> Modelled:
        """The same with a null model that has less evidence: a member is kept whatever its own evidence."""
        # The next smaller number, since adding :data:`SIGNAL` again may round below the evidence.
        least = min(self.averages.evidence, math.nextafter(self.fit.evidence - SIGNAL, -math.inf))
        return self._replace(averages=self.averages._replace(evidence=least))

    @property
    def relative_evidence(self) -> float:
        """Log evidence as compared with those of the other models."""
        return self.fit.evidence + self.gain


def _all_models(
    rows: Rows,
    numbers: tuple[Scores, Averages],
    fits: list[Fit],
    chosen: Modelled,
    tell: Callable[[str], None],
) -> list[Modelled]:
    """Return the models of a mixture: those of numbers, of their normal scores, and of levels where preferred."""
    scores, averages = numbers
    best = fits[most_evident(fits)]
    tell("normal scores")
    of_numbers = [fit for fit in fits if not fit.state.extent.orders]
    base = of_numbers[most_evident(of_numbers)] if of_numbers else best
    models = [Modelled(scores, averages, fit) for fit in fits]
    models += _of_normal_scores(rows, scores, base.state, best.evidence)
    if chosen.fit is not best and chosen.fit.state.extent.ordinal:
        # Levels are preferred: as much as all other models together.
        relative = np.array([model.fit.evidence - best.evidence for model in models])
        total = TEMPERATURE * float(np.log(np.exp(relative / TEMPERATURE).sum()))
        models.append(chosen._replace(gain=best.evidence + total - chosen.fit.evidence))
    return models


def _of_normal_scores(rows: Rows, scores: Scores, base: State, evidence: float) -> list[Modelled]:
    """Fit normal scores with the extensions of a fit of numbers, and with offsets alone, if they have a weight."""
    straight = rows._replace(score=straightened(rows.score))
    own = prepare(straight, scores.problem.n_reviewers, scores.problem.n_items)
    null = fit_averages(straight.item, own.standard, own.unit.rounding)
    theta, extent = base.theta.copy(), base.extent._replace(orders=False)
    alike = theta.copy()
    alike[[LOG_TAU_LEFT, LOG_TAU_RIGHT]], alike[RHO] = LOWEST[[LOG_TAU_LEFT, LOG_TAU_RIGHT]], 0.0
    found = []
    for start, kind in ((theta, extent), (alike, extent._replace(own=False, alike=True))):
        free = free_of(kind, weighted=scores.problem.weighted)
        fit = optimise(own.problem, initial_state(own.problem, start, kind), free, rough=True)
        if tempered([evidence, fit.evidence])[1] > 0:
            fit = optimise(own.problem, fit.state, free, warm_up=0)
            found.append(Modelled(own, null, fit, straightened=True))
    return found


def _finished(
    rows: Rows,
    used: BoolArray,
    codes: tuple[IntArray, IntArray],
    references: tuple[IntArray | None, FloatArray | None],
    model: Modelled,
) -> Posterior:
    """Assemble the posterior of a fitted model, with references, loops, and the reviews that it ignores."""
    scores, averages, fit = model.scores, model.averages, model.fit
    posterior = assemble(rows, scores, averages, fit)
    reference_item, reference_value = references
    if reference_item is not None and reference_value is not None and reference_item.size:
        read = read_references(
            posterior.mean, posterior.variance, reference_item, reference_value, posterior.location, posterior.scale
        )
        if posterior.signal:
            fit = with_references(scores.problem, fit, read)
        posterior = replace(assemble(rows, scores, averages, fit, read), fitted=posterior.fitted)
    posterior = replace(posterior, loops=loop_factors(posterior))
    if used.all():
        return posterior

    def expand(value: FloatArray) -> FloatArray:
        """Insert zero messages of the ignored reviews."""
        full = np.zeros((*value.shape[:-1], used.size))
        full[..., used] = value
        return full

    unused = np.unique(codes[1][~used])
    posterior = posterior.with_prior(unused, None if posterior.expected is None else posterior.expected.quality)
    messages: dict[str, Any] = {name: expand(getattr(posterior, name)) for name in Messages._fields}
    observed = None if posterior.fitted.observed is None else expand(posterior.fitted.observed)
    fitted = posterior.fitted._replace(messages=expand(posterior.fitted.messages), observed=observed)
    return replace(posterior, reviewer=codes[0], item=codes[1], fitted=fitted, **messages)
