"""The inference from scores to qualities: wires checks, stages and results together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import (
    Beliefs,
    Fitted,
    Hyperparameter,
    InferenceStatus,
    Posterior,
    Quantity,
    Reviewers,
    loop_factors,
)
from lsc._inference.halves import Threads, describe_halves
from lsc._inference.model import (
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    MU,
    NAMES,
    NU,
    Extent,
)
from lsc._inference.scale_users import offsets_given, slopes_at
from lsc._inference.states import (
    NONE,
    Messages,
    Problem,
    References,
    Rows,
    Scores,
    State,
    Unit,
    beliefs,
    check,
    counts,
    idle,
    part_of,
    prepare,
    read_references,
    spoken,
)
from lsc._inference.sweeps import Climb, Inputs, inputs, run_stages, settled_with, sweep
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray

# The model without reviewer effects, in which the posterior of a quality is an average drawn to the middle.
#
# ::
#
#     y_ij = g + a x_i + e_ij,   x_i ~ N(0, 1),  e_ij ~ N(0, s^2)
#
# Its evidence is what the full model has to beat, and its posterior is what comes out where it does not.

#: Ratios of variances a^2 / s^2 that are tried, then refined around the best.
RATIOS = np.geomspace(1e-4, 1e4, 81)
REFINEMENTS = 6
#: Standard deviation of the log ratio beforehand. Only where no item has two scores does it matter: quality and noise
#: then cannot be told apart, and count as equal.
VAGUE = 2.0


class Averages(NamedTuple):
    """Mean g, slope a, noise variance s^2 and log evidence at their best."""

    mean: float
    slope: float
    noise: float
    evidence: float


def fit_averages(item: IntArray, score: FloatArray, least_noise: float) -> Averages:
    """Maximise the evidence of the model without reviewer effects, which is exact and takes one pass.

    Parameters
    ----------
    item, score
        Shape (E,).
    least_noise
        Noise variance is at least this: that of rounding.
    """
    _, code, count = np.unique(item, return_inverse=True, return_counts=True)
    average = np.bincount(code, score) / count
    within = float(((score - average[code]) ** 2).sum())
    return best_averages(count, average, within, least_noise)


def best_averages(count: IntArray, average: FloatArray, within: float, least_noise: float) -> Averages:
    """Do so from the number and the average of each item's scores, and all squares about these averages.

    Parameters
    ----------
    count, average
        Shape of the items with a score.
    """
    # Items with equally many scores enter only by number, sum and sum of squares of their averages.
    size, kind = np.unique(count, return_inverse=True)
    number, total = np.bincount(kind), np.bincount(kind, average)
    square, n_scores = np.bincount(kind, average**2), int(count.sum())

    def at(ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        precision = size / (1 + size * ratio[:, None])
        mean = (precision * total).sum(axis=1) / (precision * number).sum(axis=1)
        spread = square - 2 * mean[:, None] * total + mean[:, None] ** 2 * number
        squares = within + (precision * spread).sum(axis=1)
        noise = np.maximum(squares / n_scores, least_noise)
        fit = squares / noise + (number * np.log1p(size * ratio[:, None])).sum(axis=1)
        return -0.5 * (n_scores * np.log(2 * np.pi * noise) + fit), mean, noise

    ratio = RATIOS
    for _ in range(REFINEMENTS):
        best = int(np.argmax(at(ratio)[0] - 0.5 * (np.log(ratio) / VAGUE) ** 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = (float(value[4]) for value in at(ratio))
    return Averages(mean, float(np.sqrt(ratio[4] * noise)), noise, evidence)


# What the messages say of each reviewer: slope, offset and noise, with spreads.

#: Standard errors on either side in a central 90 % interval.
WIDTH = 1.6448536269514722
#: The normal quantiles .1, .3, .5, .7, .9: five equally likely values that stand for one reviewer's posterior.
FIFTHS = np.array([-1.2815515655446004, -0.5244005127080407, 0.0, 0.5244005127080407, 1.2815515655446004])[:, None]


class People(NamedTuple):
    """Moments of each reviewer, shapes (M,), NaN without scores: slope a, offset b, logs of slope and of noise s^2."""

    slope: FloatArray
    slope_variance: FloatArray
    offset: FloatArray
    offset_variance: FloatArray
    log_slope: FloatArray
    log_slope_sd: FloatArray
    log_noise: FloatArray
    log_noise_sd: FloatArray


def people(problem: Problem, state: State) -> People:
    """Integrate each reviewer's factor once more, for her own sake."""
    found, believed = np.full((len(People._fields), problem.n_reviewers), np.nan), beliefs(problem, state)
    with Threads() as threads:
        for part, told in spoken(problem, state):
            if problem.compiled:
                describe_halves(threads, part.layout, told, believed, state, problem.rounding, found)
                continue
            for given in inputs(part, told, believed, state):
                _describe(problem, state, given, People(*found))
    return People(*found)


def _describe(problem: Problem, state: State, given: Inputs, found: People) -> None:
    """Write what is known of the reviewers of a block."""
    block, cavity, nodes, factor, _ = given
    at = slopes_at(nodes, state.theta)
    variance = at.noise * factor[:, None] + problem.rounding
    offsets = offsets_given(block, cavity, at, variance, np.exp(2 * state.theta[LOG_OMEGA]))
    share = np.exp(offsets.log_weight - offsets.log_weight.max(axis=0))
    share /= share.sum(axis=0)
    # Empty slots have no weight to be averaged.
    typical_factor = (factor * block.used).sum(axis=0) / block.load
    who, level = block.reviewer, np.log(at.noise * typical_factor + problem.rounding)
    found.slope[who], found.slope_variance[who] = _moments(share, at.slope)
    found.log_slope[who], found.log_slope_sd[who] = _moments(share, at.log_slope, sd=True)
    found.log_noise[who], found.log_noise_sd[who] = _moments(share, level, sd=True)
    found.offset[who], between = _moments(share, offsets.mean)
    found.offset_variance[who] = between + (share / offsets.precision).sum(axis=0)


def _moments(share: FloatArray, value: FloatArray, *, sd: bool = False) -> tuple[FloatArray, FloatArray]:
    mean = (share * value).sum(axis=0)
    variance = (share * (value - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(variance) if sd else variance


def typical(found: People, load: IntArray) -> tuple[float, float]:
    """Offset and slope of a typical reviewer: averages over reviews."""
    seen = load > 0
    return float(np.average(found.offset[seen], weights=load[seen])), float(
        np.average(found.slope[seen], weights=load[seen])
    )


def for_people(found: People, offset: float, slope: float, spread: float, orders: FloatArray) -> Reviewers:
    """Say it in points of the scores, ``spread`` of which are one unit inside."""
    severity = spread * (offset - found.offset)
    error = spread * WIDTH * np.sqrt(found.offset_variance)
    reach, range_ = WIDTH * found.log_slope_sd, WIDTH * found.log_noise_sd
    return Reviewers(
        Quantity(severity, severity - error, severity + error),
        Quantity(
            found.slope / slope,
            np.exp(found.log_slope - reach) / slope,
            np.exp(found.log_slope + reach) / slope,
        ),
        Quantity(
            spread * np.exp(0.5 * found.log_noise),
            spread * np.exp(0.5 * (found.log_noise - range_)),
            spread * np.exp(0.5 * (found.log_noise + range_)),
        ),
        orders,
    )


def middle_half(quantity: Quantity) -> tuple[float, float]:
    """Return the quartiles of a property over all reviewers: where the crowd is.

    Each reviewer stands there with all that she may be, not with her mean alone: means of reviewers with few scores are
    drawn together, and among them anyone of whom more is known would look unusual.

    Examples
    --------
    >>> exact = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> middle_half(Quantity(exact, exact, exact))
    (1.0, 3.0)
    """
    mean, low, high = (value[np.isfinite(value)] for value in quantity)
    reach = np.where(FIFTHS > 0, high - mean, mean - low) / WIDTH
    first, third = np.quantile(mean + FIFTHS * reach, [0.25, 0.75])
    return float(first), float(third)


# From messages to the result, and the results where there is no signal or no score at all.
#
# A bend of the scale that all reviewers share adds to the variances, see :func:`bend_variance`. If every reviewer
# stretched the upper end alike, no score would show it: scores tell qualities up to one common increasing function.
# What is known of that function is the prior, under which qualities are normal. So a second reading of the scores puts
# each paper where its rank would stand among normal qualities; the misfit between the two shows in the shape of the
# qualities, and an interval should reach both.

NOBODY = np.empty(0)


def bend_variance(mean: FloatArray) -> FloatArray:
    """Return the variance that a common bend adds to the place of each item, shape (n,).

    That is the squared distance of the two readings, times the part of all squared distances that the scatter of
    normal order statistics (Mosteller 1946: ``p (1 - p) / n phi^2`` at the quantile of p) does not explain: nothing
    where the qualities look normal, nearly all where they are bent.

    Parameters
    ----------
    mean
        Shape (n,): posterior means.
    """
    from scipy.special import ndtri

    size = mean.size
    if size < 3 or np.ptp(mean) <= 0:
        return np.zeros(size)
    # Equal means share the middle of their ranks, whatever their order.
    ordered = np.sort(mean)
    rank = 0.5 * (np.searchsorted(ordered, mean, "left") + np.searchsorted(ordered, mean, "right") + 1)
    level = (rank - 0.375) / (size + 0.25)
    normal = ndtri(level)
    square = (mean - mean.mean() - mean.std() * normal) ** 2
    scatter = mean.var() * level * (1 - level) / size * 2 * np.pi * np.exp(normal**2)
    total = float(square.sum())
    unexplained = max(0.0, 1.0 - float(scatter.sum()) / total) if total > 0 else 0.0
    return np.asarray(unexplained * square)


class Sums(NamedTuple):
    """Mean, variance, loops (none yet) and bend of each item, shape (N,); NaN where nothing speaks of it."""

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    bend: FloatArray


def from_messages(
    reviewer: IntArray,
    item: IntArray,
    scores: Scores,
    averages: Averages,
    found: Climb,
    references: References = NONE,
) -> Posterior:
    """Sum messages up, each review's in the order of the input."""
    said, problem = _said(scores, found.state), references.heard_in(scores.problem)
    sums = summed(1.0 - found.state.extent.kappa, problem, _per_item(said, problem, item), references)
    beliefs = by_messages(problem, scores.unit, averages, found, sums)
    return with_parts(beliefs, reviewer, item, said, fitted_of(found.state, said), references)


def from_averages(
    reviewer: IntArray,
    item: IntArray,
    scores: Scores,
    averages: Averages,
    found: Climb,
    references: References = NONE,
) -> Posterior:
    """Give every review the same precision, so that a quality is its average drawn to the middle."""
    precision = np.full(item.size, averages.slope**2 / averages.noise)
    shift = averages.slope / averages.noise * (scores.standard - averages.mean)
    said = Messages(precision, shift, np.zeros(item.size), np.zeros(item.size))
    sums = summed(1.0, scores.problem, _per_item(said, scores.problem, item), references)
    beliefs = by_averages(scores.problem, scores.unit, averages, found, sums)
    fitted = fitted_of(found.state, _said(scores, found.state))
    return with_parts(beliefs, reviewer, item, said, fitted, references)


def _said(scores: Scores, state: State) -> Messages:
    """Messages of the reviews, shapes (E,), in the order of the input."""
    [(_, told)] = spoken(scores.problem, state)
    return Messages(*(value[scores.slot] for value in told))


def fitted_of(state: State, said: Messages) -> Fitted:
    """Return the state in which the inference ended, messages in the order of the input."""
    return Fitted(np.array(said), np.concatenate([state.nodes, state.fresh]), state.theta, state.extent)


def by_messages(problem: Problem, unit: Unit, averages: Averages, found: Climb, sums: Sums) -> Beliefs:
    """Return what is believed where reviewers differ."""
    state, who = found.state, people(problem, found.state)
    # What the last sweep left is of the messages before it.
    orders = sweep(problem, state, learn=False).state.orders if state.extent.orders else state.orders
    offset, slope = typical(who, problem.load)
    noise = np.exp(who.log_noise)
    return Beliefs(
        *sums,
        location=unit.location + unit.spread * offset,
        scale=unit.spread * slope,
        prior=1.0 - state.extent.kappa,
        kappa=state.extent.kappa,
        slope=who.slope,
        offset=who.offset,
        noise_variance=noise,
        slope_variance=who.slope_variance,
        reviewers=for_people(who, offset, slope, unit.spread, np.where(np.isnan(noise), np.nan, orders)),
        hyperparameters=_hyperparameters(found),
        theta=state.theta,
        extent=state.extent,
        evidence=found.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.CONVERGED if found.converged else InferenceStatus.SWEEPS_EXHAUSTED,
        sweeps=found.sweeps,
    )


def by_averages(problem: Problem, unit: Unit, averages: Averages, found: Climb, sums: Sums) -> Beliefs:
    """Return what is believed where they do not."""
    alike = np.where(problem.load > 0, 1.0, np.nan)
    noise = unit.spread * np.sqrt(averages.noise) * alike
    same, one, equal = (Quantity(value, value, value) for value in (0 * alike, alike, noise))
    return Beliefs(
        *sums,
        location=unit.location + unit.spread * averages.mean,
        scale=unit.spread * averages.slope,
        prior=1.0,
        kappa=0.0,
        slope=averages.slope * alike,
        offset=averages.mean * alike,
        noise_variance=averages.noise * alike,
        slope_variance=0 * alike,
        reviewers=Reviewers(same, one, equal, 0 * alike),
        hyperparameters={
            "slope": Hyperparameter(averages.slope),
            "g0": Hyperparameter(averages.mean),
            "noise": Hyperparameter(float(np.sqrt(averages.noise))),
        },
        theta=NOBODY,
        extent=Extent(),
        evidence=found.evidence,
        null_evidence=averages.evidence,
        status=InferenceStatus.NO_SIGNAL,
        sweeps=found.sweeps,
    )


def summed(prior: float, problem: Problem, told: tuple[FloatArray, FloatArray], references: References = NONE) -> Sums:
    """Join prior, what reviews say of the items (sums of precisions and shifts, shapes (N,)), and references."""
    said, drawn = references.per_item(problem.n_items)
    known = problem.known | (said > 0)
    total = prior + told[0] + said
    mean = np.where(known, (told[1] + drawn) / total, np.nan)
    bend = np.full(problem.n_items, np.nan)
    bend[known] = bend_variance(mean[known])
    return Sums(mean, np.where(known, 1 / total, np.nan), np.ones(problem.n_items), bend)


def _per_item(said: Messages, problem: Problem, item: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sum messages over items, in the order that the account of an item has too."""
    told = said.precision + said.likeness_precision, said.shift + said.likeness_shift
    precision, shift = (np.asarray(np.bincount(item, value, problem.n_items), np.float64) for value in told)
    return precision, shift


def with_parts(
    beliefs: Beliefs,
    reviewer: IntArray,
    item: IntArray,
    said: Messages,
    fitted: Fitted,
    references: References = NONE,
) -> Posterior:
    """Put the parts beside the beliefs, shapes (E,)."""
    return Posterior(
        **vars(beliefs),
        **said._asdict(),
        reviewer=reviewer,
        item=item,
        reference_item=references.item,
        reference_value=references.value,
        reference_precision=references.precision,
        reference_shift=references.shift,
        fitted=fitted,
    )


def with_unheard(found: Posterior, reviewer: IntArray, item: IntArray, heard: BoolArray) -> Posterior:
    """Put back the reviews of those who were not heard; they say nothing."""

    def back(value: FloatArray) -> FloatArray:
        full = np.zeros((*value.shape[:-1], heard.size))
        full[..., heard] = value
        return full

    return replace(
        found,
        reviewer=reviewer,
        item=item,
        precision=back(found.precision),
        shift=back(found.shift),
        likeness_precision=back(found.likeness_precision),
        likeness_shift=back(found.likeness_shift),
        fitted=found.fitted._replace(messages=back(found.fitted.messages)),
    )


def without_scores(n_reviewers: int, n_items: int) -> Posterior:
    """Return the result that says nothing."""
    unknown, nobody = np.full(n_items, np.nan), np.full(n_reviewers, np.nan)
    nothing, none = Quantity(nobody, nobody, nobody), NOBODY.astype(np.int64)
    return Posterior(
        mean=unknown,
        variance=unknown,
        loops=unknown,
        bend=unknown,
        location=0.0,
        scale=1.0,
        reviewer=none,
        item=none,
        precision=NOBODY,
        shift=NOBODY,
        likeness_precision=NOBODY,
        likeness_shift=NOBODY,
        reference_item=none,
        reference_value=NOBODY,
        reference_precision=NOBODY,
        reference_shift=NOBODY,
        fitted=Fitted(np.empty((4, 0)), np.full((8, n_reviewers), np.nan), NOBODY, Extent()),
        prior=1.0,
        kappa=0.0,
        slope=nobody,
        offset=nobody,
        noise_variance=nobody,
        slope_variance=nobody,
        reviewers=Reviewers(nothing, nothing, nothing, nobody),
        hyperparameters={},
        theta=NOBODY,
        extent=Extent(),
        evidence=0.0,
        null_evidence=0.0,
        status=InferenceStatus.NO_SCORES,
        sweeps=0,
    )


def _hyperparameters(found: Climb) -> Mapping[str, Hyperparameter]:
    """Hyperparameters by name; scales and slope as themselves, their errors by the delta method."""
    theta = found.state.theta
    error = np.sqrt(np.diag(np.linalg.inv(found.information)))
    names = {MU: "slope", NU: "noise", LOG_TAU_LEFT: "tau_left", LOG_TAU_RIGHT: "tau_right"}
    names |= {LOG_OMEGA: "omega", LOG_OWN: "own", LOG_S_R: "perception"}
    values = {}
    for place, name in enumerate(NAMES):
        if place in names:
            value = float(np.exp(theta[place]))
            values[names[place]] = Hyperparameter(value, float(value * error[place]))
        elif place != LOGIT_W:
            values[name] = Hyperparameter(float(theta[place]), float(error[place]))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    values["orders"] = Hyperparameter(float(share), float(share * (1 - share) * error[LOGIT_W]))
    extent = found.state.extent
    if not extent.orders:
        values["orders"], values["perception"] = Hyperparameter(0.0), Hyperparameter(np.nan)
    if not extent.own:
        values["own"] = Hyperparameter(0.0)
    return values | {"kappa": Hyperparameter(extent.kappa)}


#: Reviewers differ where that explains the scores better by so many nats than no differences (18 tables without any
#: reached 4.4 at most).
SIGNAL = 5.0


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
    seed: int | np.random.Generator = 0,
    progress: Callable[[str], None] | None = None,
) -> Posterior:
    """Infer qualities of items from scores.

    The model is that of :mod:`lsc._inference.model`; qualities, slopes and offsets are integrated out by expectation
    propagation (Minka 2001), a reviewer a factor, and the hyperparameters maximise its evidence times weak priors.
    Assortment, a noise of her own for each reviewer, or reviewers who only order are kept where the evidence asks for
    them. Reviewers who give everyone the same score, and not by chance, are not heard.

    Parameters
    ----------
    reviewer, item
        Codes of the reviews, shape (E,), in any order.
    score
        Shape (E,), higher is better, finite.
    n_reviewers, n_items
        M and N; codes run below them.
    weight
        Shape (E,): positive numbers that may say how sure a review is (a confidence or expertise); how much they
        say is learned. None by default.
    reference_item, reference_value
        Shape (R,): items with a value known from elsewhere, on a scale of its own, taken as measurements with noise.
    seed
        Of the random probes by which traces are estimated.
    progress
        Called with a line of words at each stage.

    Raises
    ------
    InputError
        If shapes differ, codes lie outside their range, a score, weight or reference is not finite, a weight is not
        positive, or a score lies so far off all others that it must be a slip.

    Notes
    -----
    A sweep is linear in reviews; sweeps number some tens whatever the size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.repeat(np.arange(30), 4), np.arange(120) % 31
    >>> score = 5 + np.sin(item) + 3 * rng.standard_normal(30)[reviewer] + 0.1 * rng.standard_normal(120)
    >>> posterior = infer(reviewer, item, score, 30, 31)
    >>> posterior.status.value, bool(np.corrcoef(posterior.quality, np.sin(np.arange(31)))[0, 1] > 0.9)
    ('converged', True)
    """
    check(reviewer, item, score, n_reviewers, n_items, weight, reference_item, reference_value)
    if not score.size:
        return without_scores(n_reviewers, n_items)
    heard = ~idle(reviewer, score, n_reviewers)[reviewer]
    rows = Rows(reviewer[heard], item[heard], score[heard], None if weight is None else weight[heard])
    found = _infer(rows, n_reviewers, n_items, reference_item, reference_value, seed, progress or (lambda _: None))
    found = replace(found, loops=loop_factors(found))
    return found if heard.all() else with_unheard(found, reviewer, item, heard)


def _infer(
    rows: Rows,
    n_reviewers: int,
    n_items: int,
    reference_item: IntArray | None,
    reference_value: FloatArray | None,
    seed: int | np.random.Generator,
    tell: Callable[[str], None],
) -> Posterior:
    """Infer from reviews that all are heard."""
    scores = prepare(rows, n_reviewers, n_items)
    averages = fit_averages(rows.item, scores.standard, scores.problem.rounding)
    rng = np.random.default_rng(seed)
    some = part_of([rows], n_reviewers, n_items, rng)
    # The unit of the scores stays that of all of them.
    part = (
        None
        if some is None
        else prepare(some, *counts(some), unit=scores.unit, compiled=scores.problem.compiled).problem
    )
    found = run_stages(scores.problem, rng, tell, part)
    signal = found.evidence >= averages.evidence + SIGNAL
    assemble = from_messages if signal else from_averages
    alone = assemble(rows.reviewer, rows.item, scores, averages, found)
    if reference_item is None or reference_value is None or not reference_item.size:
        return alone
    read = read_references(alone.mean, alone.variance, reference_item, reference_value, alone.location, alone.scale)
    if signal:
        found = settled_with(scores.problem, found, read)
    return replace(assemble(rows.reviewer, rows.item, scores, averages, found, read), fitted=alone.fitted)
