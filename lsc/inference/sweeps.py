"""Sweeps of expectation propagation: all reviewers at once, each from what all others say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lsc.inference.layout import Block, Layout
from lsc.inference.likeness import likeness_step
from lsc.inference.mixture import Mixed, mixed_step, rows
from lsc.inference.model import GAMMA, LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, SIZE, Extent, rescaled
from lsc.inference.scale_users import LEAST_PRECISION, Cavity, Message, Nodes, message, step
from reviewgraph.reviews import BoolArray, FloatArray

#: A message without precision moves a paper by so many standard deviations of the prior at most.
FURTHEST = 3.0


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
    reference_precision, reference_shift
        Shape (N,): what references say of the items.
    """

    layout: Layout
    log_weight: FloatArray | None
    rounding: float
    known: BoolArray
    reference_precision: FloatArray
    reference_shift: FloatArray


@dataclass(frozen=True, eq=False)
class State:
    """Messages, nodes and hyperparameters.

    Parameters
    ----------
    precision, shift
        Shape (S,): the message of each review.
    likeness_precision, likeness_shift
        Shape (S,): what each item learns from the other items of the reviewer.
    nodes, fresh
        Shape (4, M): mean and standard deviation of each reviewer's log slope and of the log of her own noise, given
        the papers as they are believed to be, and as if they were fresh.
    orders
        Shape (M,): probability that a reviewer only orders.
    theta
        Shape (P,): hyperparameters.
    extent
        What the model includes.
    """

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray
    nodes: FloatArray
    fresh: FloatArray
    orders: FloatArray
    theta: FloatArray
    extent: Extent


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
        The state with new messages and nodes.
    evidence
        Log evidence of the old state.
    gradient
        Shape (P, M): its derivatives by the hyperparameters, a column a reviewer of two scores or more.
    mean, variance
        Shape (N + 1,): beliefs of the old state; entry N belongs to empty slots.
    """

    state: State
    evidence: float
    gradient: FloatArray
    mean: FloatArray
    variance: FloatArray


def start(problem: Problem, theta: FloatArray, extent: Extent) -> State:
    """Return the state in which no review has spoken."""
    layout = problem.layout
    tau = np.exp(0.5 * (theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    nodes = np.array([theta[MU], tau, 0.0, np.exp(theta[LOG_OWN])])[:, None] * np.ones(layout.n_reviewers)
    silent = np.zeros(layout.item.size)
    return State(silent, silent, silent, silent, nodes, nodes, np.zeros(layout.n_reviewers), theta, extent)


def beliefs(problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
    """Posterior precision and shift of the items, shapes (N + 1,)."""
    layout = problem.layout
    precision, shift = np.ones(layout.n_items + 1), np.zeros(layout.n_items + 1)
    precision[:-1] += layout.per_item(state.precision + state.likeness_precision) - state.extent.kappa
    precision[:-1] += problem.reference_precision
    shift[:-1] += layout.per_item(state.shift + state.likeness_shift) + problem.reference_shift
    return precision, shift


def sweep(problem: Problem, state: State, *, learn: bool = True) -> Sweep:
    """Do one step for every reviewer, all from the messages of the old state; gradients only with ``learn``."""
    layout = problem.layout
    gradient, evidence = np.zeros((SIZE, layout.n_reviewers)), state.extent.half_log_determinant
    new = _copied(state)
    for given in inputs(problem, state):
        block, who = given.block, given.block.reviewer
        found = _block_step(problem, state, given, learn)
        told = damped(message(given.cavity, found.mean, found.second), block, state.shift)
        _write(block, told, new.precision, new.shift)
        new.nodes[: len(found.nodes), who], new.fresh[: len(found.fresh), who] = found.nodes, found.fresh
        # One score tells of its reviewer only through the shape of all scores, which is not for slopes to explain.
        new.orders[who], gradient[:, who] = found.orders, found.gradient * (block.load > 1)
        evidence += float(found.log_evidence.sum()) + _potential(given.cavity, block)
    if state.extent.kappa:
        evidence += _likeness(problem, state, new)
    # log Z = sum of factors, of Psi(cavity) - Psi(q) over their messages, and of Psi(q) over items.
    precision, shift = beliefs(problem, state)
    mean, variance = shift / precision, 1 / precision
    potential = 0.5 * (np.log(variance) + mean**2 * precision)
    messages = 2.0 if state.extent.kappa else 1.0
    evidence += float(potential.sum() - messages * potential[layout.item].sum())
    return Sweep(new, evidence, gradient, mean, variance)


def _copied(state: State) -> State:
    return replace(
        state,
        precision=state.precision.copy(),
        shift=state.shift.copy(),
        likeness_precision=state.likeness_precision.copy(),
        likeness_shift=state.likeness_shift.copy(),
        nodes=state.nodes.copy(),
        fresh=state.fresh.copy(),
        orders=state.orders.copy(),
    )


def _block_step(problem: Problem, state: State, given: Inputs, learn: bool) -> Mixed:
    """Step of one block, with reviewers who only order mixed in where the model has them."""
    found = step(*given[:3], state.theta, given.factor, given.log_weight, problem.rounding, learn=learn)
    if state.extent.orders:
        fresh = nodes_of(state.fresh, given.block, state.extent)
        same = (state.theta, given.factor, problem.rounding)
        return mixed_step(given.block, given.cavity, found, fresh, *same, learn=learn)
    who = given.block.reviewer
    return Mixed(
        *found[:2], rows(found.nodes), state.fresh[:2, who], found.log_evidence, found.gradient, np.zeros(who.size)
    )


def _likeness(problem: Problem, state: State, new: State) -> float:
    """Renew what papers learn from those that share reviewers, and return the evidence of these factors."""
    evidence = 0.0
    for block, cavity in cavities(problem, state, state.likeness_precision, state.likeness_shift):
        found = likeness_step(block, cavity, state.extent.strength)
        _write(block, Message(found.precision, found.shift), new.likeness_precision, new.likeness_shift)
        evidence += float(found.log_evidence.sum()) + _potential(cavity, block)
    return evidence


def damped(told: Message, block: Block, shift: FloatArray) -> Message:
    """Let messages without precision go half of the way from the old shift, and move a paper by ``FURTHEST`` at most.

    They keep the tilted mean, each of them against the same cavity: all reviewers of a paper at once would throw it to
    and fro, further each time.
    """
    old = shift[block.first : block.last].reshape(block.shape)
    weak = told.precision <= LEAST_PRECISION
    return Message(told.precision, np.where(weak, np.clip(0.5 * (old + told.shift), -FURTHEST, FURTHEST), told.shift))


def _write(block: Block, told: Message, precision: FloatArray, shift: FloatArray) -> None:
    precision[block.first : block.last] = (told.precision * block.used).ravel()
    shift[block.first : block.last] = (told.shift * block.used).ravel()


def _potential(cavity: Cavity, block: Block) -> float:
    """Sum of Psi = 1/2 log v + m^2 / 2 v over the cavities of a block."""
    potential = 0.5 * (np.log(cavity.variance) + cavity.mean**2 / cavity.variance)
    return float((potential * block.used).sum())


def cavities(
    problem: Problem, state: State, precision: FloatArray, shift: FloatArray
) -> Iterator[tuple[Block, Cavity]]:
    """Yield each block with its cavities: beliefs without messages of the given precisions and shifts."""
    layout = problem.layout
    total, total_shift = beliefs(problem, state)
    left = total[layout.item] - precision
    mean = (total_shift[layout.item] - shift) / left
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        yield block, Cavity(mean[slots].reshape(block.shape), 1 / left[slots].reshape(block.shape))


def inputs(problem: Problem, state: State) -> Iterator[Inputs]:
    """Yield what a step needs, block by block."""
    for block, cavity in cavities(problem, state, state.precision, state.shift):
        factor, log_weight = np.ones((1, block.reviewer.size)), None
        if problem.log_weight is not None:
            log_weight = problem.log_weight[block.first : block.last].reshape(block.shape)
            factor = np.exp(-state.theta[GAMMA] * log_weight)
        yield Inputs(block, cavity, nodes_of(state.nodes, block, state.extent), factor, log_weight)


def nodes_of(nodes: FloatArray, block: Block, extent: Extent) -> Nodes:
    """Nodes of the reviewers of a block."""
    centre, spread, own, own_spread = nodes[:, block.reviewer]
    return Nodes(centre, spread, own, own_spread if extent.own else None)


def learned(state: State, theta: FloatArray) -> State:
    """Take new hyperparameters, and let nodes follow as the posterior of a slope, or of own noise, would.

    That is a prior of precision 1 / tau^2 (of the wider side), or 1 / own^2, joined with what the scores said: a
    reviewer of whom little is known moves with the mode.
    """
    old, new = _prior_precisions(state.theta), _prior_precisions(theta)
    shift = np.array([[theta[MU] - state.theta[MU]], [0.0]])
    moved = []
    for nodes in (state.nodes, state.fresh):
        centre, spread = nodes[0::2], nodes[1::2]
        told = np.maximum(spread**-2 - old, 0.0)
        followed = np.empty_like(nodes)
        followed[0::2] = centre + shift * new / (new + told)
        followed[1::2] = (new + told) ** -0.5
        moved.append(followed)
    return replace(state, nodes=moved[0], fresh=moved[1], theta=theta)


def _prior_precisions(theta: FloatArray) -> FloatArray:
    """Precisions of the priors of log slope (on the wider side) and of log own noise, shape (2, 1)."""
    return np.asarray(np.exp(-2 * np.array([[max(theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT])], [theta[LOG_OWN]]])))


def standardised(problem: Problem, state: State) -> State:
    """Rescale qualities to mean 0 and mean square 1 over items with a score, with messages, slopes and offsets.

    The prior stays where it is, so this is a move along the direction in which all else is free; without it the scale
    of qualities creeps. With assortment the mean square is the one that the prior expects.
    """
    precision, shift = beliefs(problem, state)
    known = problem.known
    mean, variance = (shift / precision)[:-1][known], 1 / precision[:-1][known]
    centre = float(mean.mean())
    spread = float(np.sqrt(((mean**2 + variance).mean() - centre**2) / state.extent.mean_square))
    nodes, fresh = state.nodes.copy(), state.fresh.copy()
    nodes[0] += np.log(spread)
    fresh[0] += np.log(spread)
    # What papers learn from each other has the precision of the prior, which does not change.
    return replace(
        state,
        precision=state.precision * spread**2,
        shift=(state.shift - state.precision * centre) * spread,
        likeness_shift=(state.likeness_shift - state.likeness_precision * centre) / spread,
        nodes=nodes,
        fresh=fresh,
        theta=rescaled(state.theta, centre, spread),
    )
