"""Whether the state in which a posterior ended moves: by one pass, and by steps of the hyperparameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.verify.passes import Model, Pass, Problem, State, beliefs, evidences, one_pass, rescaled, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.arrays import FloatArray

#: Where hyperparameters may be.
BOUNDS = {
    "mu": (-6.0, 4.0),
    "log_tau_left": (np.log(0.04), np.log(3.0)),
    "log_tau_right": (np.log(0.04), np.log(3.0)),
    "g0": (-9.0, 9.0),
    "g1": (-9.0, 9.0),
    "log_omega": (np.log(0.05), np.log(9.0)),
    "nu": (-4.0, 3.0),
    "rho": (-1.0, 2.0),
    "gamma": (-3.0, 3.0),
    "log_own": (np.log(0.05), np.log(2.0)),
    "logit_w": (-6.0, 4.0),
    "log_s_r": (np.log(0.1), np.log(3.0)),
}
#: Centres and scales of priors that are normal, and scales of those of exponentials that are half-normal.
NORMAL = {
    "g1": (0.0, 5.0),
    "rho": (0.5, 0.5),
    "gamma": (0.0, 1.0),
    "log_own": (np.log(0.63), 0.5),
    "logit_w": (-2.0, 2.0),
    "log_s_r": (np.log(0.5), 1.0),
}
HALF_NORMAL = {"log_tau_left": 1.0, "log_tau_right": 1.0, "log_omega": 2.0}
#: Messages rest where no mean moves further in a sweep, in standard errors, one in a thousand 25 times as far.
STILL, ONE_IN, FURTHER = 2e-3, 1_000, 25.0
#: Sweeps: at most, before they count, and until messages go half of the way.
MOST, WARM_UP, PATIENCE = 150, 2, 20
#: Passes after which a model that was refused has answered to its last step.
SETTLING = 5
#: A step by which derivatives are taken, and the part of the information's diagonal that is added to it.
DIFFERENCE, RIDGE = 1e-5, 0.02


class Moves(NamedTuple):
    """What a pass would move: means in standard errors, messages in what they do to these, and nodes.

    Each is the most, or a 25th of it where only one in a thousand moves further.
    """

    mean: float
    message: float
    node: float


def _most(moved: FloatArray) -> float:
    return max(float(np.sort(moved, axis=None)[-1 - moved.size // ONE_IN]), float(moved.max()) / FURTHER)


def moves(problem: Problem, model: Model, state: State, found: Pass) -> Moves:
    """Return what a pass moved, but for the scale of qualities, which scores do not tell."""
    new = rescaled(problem, model, found, found.state)
    seen, sd = problem.counts > 0, np.sqrt(found.variance)
    mean = np.abs(beliefs(problem, model, new)[0] - found.mean) / sd
    change = new.messages - state.messages
    said = np.abs(change[:2] - np.array([0 * change[0], change[0] * found.mean[problem.what]]))
    scaled = said * np.array([sd[problem.what] ** 2, sd[problem.what]])
    heard = problem.load > 0
    kinds = [row for row in (0, 2, 4, 6) if (row % 4 == 0 or model.own) and (row < 4 or model.orders)]
    moved = [np.abs(new.nodes[row] - state.nodes[row]) / state.nodes[row + 1] for row in kinds]
    wider = [np.abs(np.log(new.nodes[row + 1] / state.nodes[row + 1])) for row in kinds]
    return Moves(_most(mean[seen]), _most(scaled), _most(np.array(moved + wider)[:, heard]))


def settled_with(problem: Problem, model: Model, state: State) -> State:
    """Sweep until messages have answered to references, as the posterior does."""
    before, rested = None, 0
    for count in range(1, MOST + 1):
        found, damping = one_pass(problem, model, state), rested
        rested += count > WARM_UP
        far = None if before is None else np.abs(found.mean - before) / np.sqrt(found.variance)
        if count == MOST or (far is not None and rested and rests(far)):
            break
        damped = state.nodes + (found.state.nodes - state.nodes) / (1 + damping)
        told = (found.state.messages + state.messages) / 2 if damping > PATIENCE else found.state.messages
        before, state = found.mean, State(told, damped)
    return state


def rests(far: FloatArray) -> bool:
    """Whether means rest that moved so far."""
    return bool(np.count_nonzero(far > STILL) * ONE_IN <= far.size + 1 and far.max() <= FURTHER * STILL)


def swept(problem: Problem, model: Model, sweeps: int) -> FloatArray:
    """Return the means of the items, shape (N,), after so many sweeps from silence."""
    state = start(problem, model)
    for _ in range(sweeps):
        state = one_pass(problem, model, state).state
    return beliefs(problem, model, state)[0]


def log_prior(theta: Mapping[str, float]) -> float:
    """Return the log prior density of hyperparameters, up to a constant."""
    value = -2 * (theta["log_tau_left"] - theta["log_tau_right"]) ** 2
    value -= sum(np.exp(2 * theta[name]) / scale**2 for name, scale in HALF_NORMAL.items()) / 2
    value -= sum(((theta[name] - at) / scale) ** 2 for name, (at, scale) in NORMAL.items() if name in theta) / 2
    return float(value)


def gain_left(problem: Problem, model: Model, state: State, names: list[str]) -> float:
    """Return the log probability that a Newton step of the hyperparameters would gain, but for the scale of qualities.

    Derivatives are differences of each reviewer's log evidence, messages as they are: at rest these do not matter.
    """
    base, heard = evidences(problem, model, state), problem.load > 1
    each, prior, curvature = [], [], []
    for name in names:
        there, back = ({**model.theta, name: model.theta[name] + step} for step in (DIFFERENCE, -DIFFERENCE))
        each.append((evidences(problem, model._replace(theta=there), state) - base)[heard] / DIFFERENCE)
        prior.append((log_prior(there) - log_prior(back)) / (2 * DIFFERENCE))
        curvature.append(_curvature(model.theta, name))
    slopes = np.array(each)
    total = slopes.sum(axis=1)
    slope = total + prior
    information = slopes @ slopes.T - 0.9 * np.outer(total, total) / max(problem.sizes[0], 1) + np.diag(curvature)
    information += np.diag(RIDGE * np.diag(information) + 1e-3)
    outwards = [
        (model.theta[name] <= BOUNDS[name][0] and push < 0) or (model.theta[name] >= BOUNDS[name][1] and push > 0)
        for name, push in zip(names, slope, strict=True)
    ]
    free = np.flatnonzero(~np.array(outwards))
    # A change of the scale of qualities and all that goes with it, and a shift.
    along = np.zeros((len(names), 2))
    for column, change in enumerate(({"mu": 1.0, "log_s_r": -1.0, "g1": -model.theta["g1"]}, {"g1": 1.0})):
        along[[names.index(name) for name in change if name in names], column] = [
            value for name, value in change.items() if name in names
        ]
    inner, slope, along = information[np.ix_(free, free)], slope[free], along[free]
    whole = float(slope @ np.linalg.solve(inner, slope))
    of_scale = along.T @ slope
    return (whole - float(of_scale @ np.linalg.pinv(along.T @ inner @ along, hermitian=True) @ of_scale)) / 2


def refused(problem: Problem, model: Model, state: State, names: list[str]) -> tuple[float, float]:
    """Return the highest log evidence of a few passes, and what a step of the hyperparameters would then gain."""
    most = -math.inf
    for _ in range(SETTLING):
        found = one_pass(problem, model, state)
        most, state = max(most, found.evidence), found.state
    return most, gain_left(problem, model, state, names)


def _curvature(theta: Mapping[str, float], name: str) -> float:
    if name in NORMAL:
        return 1.0 / NORMAL[name][1] ** 2
    if name in HALF_NORMAL:
        return 2 * float(np.exp(2 * theta[name])) / HALF_NORMAL[name] ** 2 + 4.0 * (name != "log_omega")
    return 0.0
