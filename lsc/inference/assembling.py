"""From messages to the result, and the results where there is no signal or no score at all.

A bend of the scale that all reviewers share adds to the variances, see :func:`bend_variance`. If every reviewer
stretched the upper end alike, no score would show it: scores tell qualities up to one common increasing function.
What is known of that function is the prior, under which qualities are normal. So a second reading of the scores puts
each paper where its rank would stand among normal qualities; the misfit between the two shows in the shape of the
qualities, and an interval should reach both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.inference.averages import Averages
from lsc.inference.beliefs import Beliefs, Fitted, Hyperparameter, Posterior, Quantity, Reviewers, Status
from lsc.inference.climbing import Climb
from lsc.inference.describing import for_people, people, typical
from lsc.inference.model import LOG_OMEGA, LOG_OWN, LOG_S_R, LOG_TAU_LEFT, LOG_TAU_RIGHT, LOGIT_W, MU, NAMES, NU, Extent
from lsc.inference.preparing import Scores, Unit
from lsc.inference.references import NONE, References
from lsc.inference.states import Messages, Problem, State, spoken
from lsc.inference.sweeps import sweep
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

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
        status=Status.CONVERGED if found.converged else Status.SWEEPS_EXHAUSTED,
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
        status=Status.NO_SIGNAL,
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
        status=Status.NO_SCORES,
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
