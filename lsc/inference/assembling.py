"""From messages to the result, and the results where there is no signal or no score at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.inference.averages import Averages
from lsc.inference.beliefs import Hyperparameter, Posterior, Quantity, Reviewers, Status
from lsc.inference.bending import bend_variance
from lsc.inference.climbing import Climb
from lsc.inference.describing import for_people, people, typical
from lsc.inference.model import LOG_OMEGA, LOG_OWN, LOG_S_R, LOG_TAU_LEFT, LOG_TAU_RIGHT, LOGIT_W, MU, NAMES, NU, Extent
from lsc.inference.preparing import Scores
from lsc.inference.references import NONE, References
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

NOBODY = np.empty(0)


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
    layout, state = scores.problem.layout, found.state
    precision, shift = state.precision[layout.slot], state.shift[layout.slot]
    alike, drawn = state.likeness_precision[layout.slot], state.likeness_shift[layout.slot]
    prior = 1.0 - state.extent.kappa
    sums = _sums(prior, item, precision + alike, shift + drawn, references, layout.n_items)
    who = people(scores.problem, state)
    offset, slope = typical(who, np.bincount(reviewer, minlength=layout.n_reviewers))
    noise = np.exp(who.log_noise)
    return Posterior(
        *sums,
        location=scores.location + scores.spread * offset,
        scale=scores.spread * slope,
        reviewer=reviewer,
        item=item,
        precision=precision,
        shift=shift,
        likeness_precision=alike,
        likeness_shift=drawn,
        reference_item=references.item,
        reference_value=references.value,
        reference_precision=references.precision,
        reference_shift=references.shift,
        prior=prior,
        kappa=state.extent.kappa,
        slope=who.slope,
        offset=who.offset,
        noise_variance=noise,
        slope_variance=who.slope_variance,
        reviewers=for_people(who, offset, slope, scores.spread, np.where(np.isnan(noise), np.nan, state.orders)),
        hyperparameters=_hyperparameters(found),
        theta=found.state.theta,
        extent=state.extent,
        evidence=found.last.evidence,
        null_evidence=averages.evidence,
        status=Status.CONVERGED if found.converged else Status.SWEEPS_EXHAUSTED,
        sweeps=found.sweeps,
    )


def from_averages(
    reviewer: IntArray,
    item: IntArray,
    scores: Scores,
    averages: Averages,
    found: Climb,
    references: References = NONE,
) -> Posterior:
    """Give every review the same precision, so that a quality is its average drawn to the middle."""
    layout = scores.problem.layout
    precision = np.full(item.size, averages.slope**2 / averages.noise)
    shift = averages.slope / averages.noise * (scores.standard - averages.mean)
    alike = np.where(np.bincount(reviewer, minlength=layout.n_reviewers) > 0, 1.0, np.nan)
    noise = scores.spread * np.sqrt(averages.noise) * alike
    same, one, equal = (Quantity(value, value, value) for value in (0 * alike, alike, noise))
    return Posterior(
        *_sums(1.0, item, precision, shift, references, layout.n_items),
        location=scores.location + scores.spread * averages.mean,
        scale=scores.spread * averages.slope,
        reviewer=reviewer,
        item=item,
        precision=precision,
        shift=shift,
        likeness_precision=np.zeros(item.size),
        likeness_shift=np.zeros(item.size),
        reference_item=references.item,
        reference_value=references.value,
        reference_precision=references.precision,
        reference_shift=references.shift,
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
        evidence=found.last.evidence,
        null_evidence=averages.evidence,
        status=Status.NO_SIGNAL,
        sweeps=found.sweeps,
    )


def _sums(
    prior: float, item: IntArray, precision: FloatArray, shift: FloatArray, references: References, n_items: int
) -> Sums:
    """Sum messages over items, in the order that the account of an item has too."""
    said, drawn = references.per_item(n_items)
    known = (np.bincount(item, minlength=n_items) > 0) | (said > 0)
    total = prior + np.bincount(item, precision, n_items) + said
    mean = np.where(known, (np.bincount(item, shift, n_items) + drawn) / total, np.nan)
    bend = np.full(n_items, np.nan)
    bend[known] = bend_variance(mean[known])
    return Sums(mean, np.where(known, 1 / total, np.nan), np.ones(n_items), bend)


def with_unheard(found: Posterior, reviewer: IntArray, item: IntArray, heard: BoolArray) -> Posterior:
    """Put back the reviews of those who were not heard; they say nothing."""

    def back(value: FloatArray) -> FloatArray:
        full = np.zeros(heard.size)
        full[heard] = value
        return full

    return replace(
        found,
        reviewer=reviewer,
        item=item,
        precision=back(found.precision),
        shift=back(found.shift),
        likeness_precision=back(found.likeness_precision),
        likeness_shift=back(found.likeness_shift),
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
