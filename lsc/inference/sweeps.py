"""Sweeps of expectation propagation: all reviewers at once, each from what all others say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lsc.inference.layout import Block, Layout
from lsc.inference.model import GAMMA, LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, SIZE, rescaled
from lsc.inference.scale_users import Cavity, Nodes, message, step
from reviewgraph.reviews import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """What does not change while messages do.

    Parameters
    ----------
    layout
        The reviews.
    log_weight
        Shape (S,): centred logarithms of the weights of reviews, where there are any.
    rounding
        Variance r^2 of rounding.
    known
        Shape (N,): items that a score speaks of.
    """

    layout: Layout
    log_weight: FloatArray | None
    rounding: float
    known: BoolArray


@dataclass(frozen=True, eq=False)
class State:
    """Messages, nodes and hyperparameters.

    Parameters
    ----------
    precision, shift
        Shape (S,): the message of each review.
    centre, spread
        Shape (M,): mean and standard deviation of each reviewer's log slope.
    own, own_spread
        Shape (M,): mean and standard deviation of the log of each reviewer's own factor c of the noise variance.
    theta
        Shape (P,): hyperparameters.
    with_own
        Whether reviewers have a noise of their own.
    """

    precision: FloatArray
    shift: FloatArray
    centre: FloatArray
    spread: FloatArray
    own: FloatArray
    own_spread: FloatArray
    theta: FloatArray
    with_own: bool = False


class Inputs(NamedTuple):
    """What a step of one block needs; see :func:`lsc.inference.scale_users.step`."""

    block: Block
    cavity: Cavity
    nodes: Nodes
    factor: FloatArray
    log_weight: FloatArray | None


class Sweep(NamedTuple):
    """What a sweep finds.

    Parameters
    ----------
    state
        The state with new messages, nodes and own noises.
    evidence
        Log evidence of the old state.
    gradient
        Shape (P, M): its derivatives by the hyperparameters, a column a reviewer.
    mean, variance
        Shape (N + 1,): beliefs of the old state; entry N belongs to empty slots.
    """

    state: State
    evidence: float
    gradient: FloatArray
    mean: FloatArray
    variance: FloatArray


def start(problem: Problem, theta: FloatArray) -> State:
    """Return the state in which no review has spoken."""
    layout = problem.layout
    tau = np.exp(0.5 * (theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    everyone, silent = np.ones(layout.n_reviewers), np.zeros(layout.item.size)
    return State(
        silent, silent, theta[MU] * everyone, tau * everyone, 0 * everyone, np.exp(theta[LOG_OWN]) * everyone, theta
    )


def beliefs(problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
    """Posterior precision and shift of the items, shapes (N + 1,)."""
    layout = problem.layout
    precision, shift = np.ones(layout.n_items + 1), np.zeros(layout.n_items + 1)
    precision[:-1] += layout.per_item(state.precision)
    shift[:-1] += layout.per_item(state.shift)
    return precision, shift


def sweep(problem: Problem, state: State, part: float = 1.0) -> Sweep:
    """Do one step for every reviewer, all from the messages of the old state, and go part of the way."""
    layout = problem.layout
    new = replace(
        state,
        precision=state.precision.copy(),
        shift=state.shift.copy(),
        centre=state.centre.copy(),
        spread=state.spread.copy(),
        own=state.own.copy(),
        own_spread=state.own_spread.copy(),
    )
    gradient, evidence = np.zeros((SIZE, layout.n_reviewers)), 0.0
    precision, shift = beliefs(problem, state)
    for block, cavity, nodes, factor, log_weight in inputs(problem, state):
        slots = slice(block.first, block.last)
        found = step(block, cavity, nodes, state.theta, factor, log_weight, problem.rounding)
        evidence += _potential(cavity, block)
        told = message(cavity, found.mean, found.second)
        new.precision[slots] += part * ((told.precision * block.used).ravel() - state.precision[slots])
        new.shift[slots] += part * ((told.shift * block.used).ravel() - state.shift[slots])
        who = block.reviewer
        new.centre[who], new.spread[who] = found.nodes[:2]
        if found.nodes.own_spread is not None:
            new.own[who], new.own_spread[who] = found.nodes[2:]
        gradient[:, who] = found.gradient
        evidence += float(found.log_evidence.sum())
    mean, variance = shift / precision, 1 / precision
    # log Z = sum_j log Z_j + sum of reviews Psi(cavity) - Psi(q) + sum of items Psi(q) - Psi(prior)
    potential = 0.5 * (np.log(variance) + mean**2 * precision)
    evidence += float(potential.sum() - potential[layout.item].sum())
    return Sweep(new, evidence, gradient, mean, variance)


def _potential(cavity: Cavity, block: Block) -> float:
    """Sum of Psi = 1/2 log v + m^2 / 2 v over the cavities of a block."""
    potential = 0.5 * (np.log(cavity.variance) + cavity.mean**2 / cavity.variance)
    return float((potential * block.used).sum())


def inputs(problem: Problem, state: State) -> Iterator[Inputs]:
    """Yield what a step needs, block by block."""
    layout = problem.layout
    precision, shift = beliefs(problem, state)
    cavity_precision = precision[layout.item] - state.precision
    cavity_mean = (shift[layout.item] - state.shift) / cavity_precision
    for block in layout.blocks:
        slots, who = slice(block.first, block.last), block.reviewer
        cavity = Cavity(cavity_mean[slots].reshape(block.shape), 1 / cavity_precision[slots].reshape(block.shape))
        factor, log_weight = np.ones((1, who.size)), None
        if problem.log_weight is not None:
            log_weight = problem.log_weight[slots].reshape(block.shape)
            factor = np.exp(-state.theta[GAMMA] * log_weight)
        own_spread = state.own_spread[who] if state.with_own else None
        yield Inputs(
            block, cavity, Nodes(state.centre[who], state.spread[who], state.own[who], own_spread), factor, log_weight
        )


def learned(state: State, theta: FloatArray) -> State:
    """Take new hyperparameters, and let nodes follow as the posterior of a slope would: a prior of precision 1 / tau^2

    (the wider side) joined with what the scores said, so that a reviewer of whom little is known moves with the mode.
    """
    old = np.exp(-2 * max(state.theta[LOG_TAU_LEFT], state.theta[LOG_TAU_RIGHT]))
    new = np.exp(-2 * max(theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT]))
    told = np.maximum(state.spread**-2 - old, 0.0)
    centre = state.centre + (theta[MU] - state.theta[MU]) * new / (new + told)
    return replace(state, centre=centre, spread=(new + told) ** -0.5, theta=theta)


def standardised(problem: Problem, state: State) -> State:
    """Rescale qualities to mean 0 and mean square 1 over items with a score, with messages, slopes and offsets.

    The prior stays where it is, so this is a move along the direction in which all else is free; without it the scale
    of qualities creeps.
    """
    precision, shift = beliefs(problem, state)
    known = problem.known
    mean, variance = (shift / precision)[:-1][known], 1 / precision[:-1][known]
    centre = float(mean.mean())
    spread = float(np.sqrt((mean**2 + variance).mean() - centre**2))
    return replace(
        state,
        precision=state.precision * spread**2,
        shift=(state.shift - state.precision * centre) * spread,
        centre=state.centre + np.log(spread),
        theta=rescaled(state.theta, centre, spread),
    )
