"""From messages to the result, and the results where there is no signal or no score at all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lsc.posterior.averages import Averages
from lsc.posterior.beliefs import Hyperparameter, Posterior, Quantity, Reviewers, Status
from lsc.posterior.climbing import Climb
from lsc.posterior.describing import for_people, people, typical
from lsc.posterior.model import LOG_OMEGA, LOG_OWN, LOG_S_R, LOG_TAU_LEFT, LOG_TAU_RIGHT, LOGIT_W, MU, NAMES, NU, Extent
from lsc.posterior.preparing import Scores
from reviewgraph.labels import IntArray

NOBODY = np.empty(0)


def from_messages(reviewer: IntArray, item: IntArray, scores: Scores, averages: Averages, found: Climb) -> Posterior:
    """Sum messages up, each review's in the order of the input."""
    layout, state = scores.problem.layout, found.state
    precision, shift = state.precision[layout.slot], state.shift[layout.slot]
    alike, drawn = state.likeness_precision[layout.slot], state.likeness_shift[layout.slot]
    total = 1.0 - state.extent.kappa + np.bincount(item, precision + alike, layout.n_items)
    known = scores.problem.known
    who = people(scores.problem, state)
    offset, slope = typical(who, np.bincount(reviewer, minlength=layout.n_reviewers))
    noise = np.exp(who.log_noise)
    return Posterior(
        mean=np.where(known, np.bincount(item, shift + drawn, layout.n_items) / total, np.nan),
        variance=np.where(known, 1 / total, np.nan),
        bend=np.where(known, 0.0, np.nan),
        location=scores.location + scores.spread * offset,
        scale=scores.spread * slope,
        reviewer=reviewer,
        item=item,
        precision=precision,
        shift=shift,
        likeness_precision=alike,
        likeness_shift=drawn,
        reference_item=NOBODY.astype(np.int64),
        reference_precision=NOBODY,
        reference_shift=NOBODY,
        prior=1.0 - state.extent.kappa,
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


def from_averages(reviewer: IntArray, item: IntArray, scores: Scores, averages: Averages, found: Climb) -> Posterior:
    """Give every review the same precision, so that a quality is its average drawn to the middle."""
    layout, known = scores.problem.layout, scores.problem.known
    precision = np.full(item.size, averages.slope**2 / averages.noise)
    shift = averages.slope / averages.noise * (scores.standard - averages.mean)
    total = 1.0 + np.bincount(item, precision, layout.n_items)
    seen = np.bincount(reviewer, minlength=layout.n_reviewers) > 0
    alike = np.where(seen, 1.0, np.nan)
    noise = scores.spread * np.sqrt(averages.noise) * alike
    return Posterior(
        mean=np.where(known, np.bincount(item, shift, layout.n_items) / total, np.nan),
        variance=np.where(known, 1 / total, np.nan),
        bend=np.where(known, 0.0, np.nan),
        location=scores.location + scores.spread * averages.mean,
        scale=scores.spread * averages.slope,
        reviewer=reviewer,
        item=item,
        precision=precision,
        shift=shift,
        likeness_precision=np.zeros(item.size),
        likeness_shift=np.zeros(item.size),
        reference_item=NOBODY.astype(np.int64),
        reference_precision=NOBODY,
        reference_shift=NOBODY,
        prior=1.0,
        kappa=0.0,
        slope=averages.slope * alike,
        offset=averages.mean * alike,
        noise_variance=averages.noise * alike,
        slope_variance=0 * alike,
        reviewers=Reviewers(
            Quantity(0 * alike, 0 * alike, 0 * alike),
            Quantity(alike, alike, alike),
            Quantity(noise, noise, noise),
            0 * alike,
        ),
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


def without_scores(n_reviewers: int, n_items: int) -> Posterior:
    """Return the result that says nothing."""
    unknown, nobody = np.full(n_items, np.nan), np.full(n_reviewers, np.nan)
    nothing, none = Quantity(nobody, nobody, nobody), NOBODY.astype(np.int64)
    return Posterior(
        mean=unknown,
        variance=unknown,
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
        else:
            values[name] = Hyperparameter(float(theta[place]), float(error[place]))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    values["orders"] = Hyperparameter(float(share), float(share * (1 - share) * error[LOGIT_W]))
    extent = found.state.extent
    if not extent.orders:
        values["orders"], values["perception"] = Hyperparameter(0.0), Hyperparameter(np.nan)
    if not extent.own:
        values["own"] = Hyperparameter(0.0)
    return values | {"kappa": Hyperparameter(extent.kappa)}
