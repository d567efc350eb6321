"""Sweeps of expectation propagation: all reviewers at once, each from what all others say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.inference.halves import Threads, add_up, step_halves
from lsc.inference.layout import Block, Layout
from lsc.inference.learning import Gradient
from lsc.inference.likeness import likeness_step
from lsc.inference.model import GAMMA, LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, Extent, rescaled
from lsc.inference.orders import LONGEST, Mixed, mixed_step, rows
from lsc.inference.scale_users import FURTHEST, LEAST_PRECISION, Cavity, Message, Nodes, message, step
from lsc.inference.states import Believed, Gauge, Messages, Part, Problem, State, beliefs, is_nothing, spoken
from reviewgraph.reviews import BoolArray, FloatArray

#: Sweeps after which messages that will not settle, with nothing left to learn, go half of the way.
PATIENCE = 20


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
        Its derivatives by the hyperparameters, of reviewers of two scores or more.
    mean, variance
        Shape (N + 1,): beliefs of the old state; entry N belongs to empty slots.
    """

    state: State
    evidence: float
    gradient: Gradient
    mean: FloatArray
    variance: FloatArray


def sweep(
    problem: Problem, state: State, *, learn: bool = True, moved: BoolArray | None = None, rested: int = 0
) -> Sweep:
    """Do one step for every reviewer, all from the messages of the old state.

    Parameters
    ----------
    learn
        Whether gradients are asked for.
    moved
        Shape (N + 1,): only reviewers of these items need the step, if it runs compiled, and there is no evidence then.
    rested
        Sweeps since nothing was left to learn: nodes go ``1 / (1 + rested)`` of the way, and beyond :data:`PATIENCE`
        messages half of theirs. Neither changes where all is at rest, and what swings comes to rest.
    """
    believed, moved = beliefs(problem, state), np.empty(0, np.bool_) if moved is None else moved
    mean, variance = believed.shift / believed.precision, 1 / believed.precision
    potential = 0.5 * (np.log(variance) + mean**2 * believed.precision)
    new = _to_be_filled(problem, state)
    evidence, gradient = state.extent.half_log_determinant, Gradient.none()
    with Threads() as threads:
        for part, told in spoken(problem, state):
            fresh = Messages.room(part.layout.item.size, alike=state.extent.kappa > 0)
            given = part.layout, told, believed, state, new, fresh, problem.rounding
            if problem.compiled and not state.extent.orders:
                found = step_halves(threads, *given, moved, learn=learn)
            else:
                found = _step_blocks(problem, part, *given[1:-1], learn=learn)
            evidence, gradient = evidence + found[0], gradient.plus(found[1])
            if state.extent.kappa:
                evidence += _likeness(part, told, believed, state, fresh)
            if rested > PATIENCE:
                _halve(fresh, told)
            new.messages.append(fresh)
            if problem.compiled:
                add_up(threads, part.layout.item, fresh, new.sums)
                continue
            for value, total in zip(fresh, new.sums, strict=True):
                if not is_nothing(total):
                    np.add.at(total, part.layout.item, value)
    new.nodes[:] = state.nodes + (new.nodes - state.nodes) / (1 + rested)
    # log Z = sum of factors, of Psi(cavity) - Psi(q) over their messages, and of Psi(q) over items with a score: of the
    # others the prior, whose determinant is that of these alone, says nothing.
    messages = 2.0 if state.extent.kappa else 1.0
    between = float((problem.known - messages * problem.count) @ potential[:-1])
    return Sweep(new, evidence + between, gradient, mean, variance)


def _halve(fresh: Messages, told: Messages) -> None:
    """Take messages half of the way back."""
    for value, before in zip(fresh, told, strict=True):
        if not is_nothing(value):
            value += before
            value *= 0.5


def _to_be_filled(problem: Problem, state: State) -> State:
    messages, sums = problem.store(), Messages.room(problem.n_items + 1, alike=state.extent.kappa > 0)
    new = replace(_with_nodes(state, np.copy), messages=messages, sums=sums, gauge=Gauge())
    return replace(new, orders=state.orders.copy()) if state.extent.orders else new


def _step_blocks(
    problem: Problem,
    part: Part,
    told: Messages,
    believed: Believed,
    state: State,
    new: State,
    fresh: Messages,
    *,
    learn: bool,
) -> tuple[float, Gradient]:
    """Do the step of every reviewer of a part, block by block; returns the evidence and its derivatives."""
    evidence, gradient = 0.0, Gradient.none()
    for given in inputs(part, told, believed, state):
        block, who = given.block, given.block.reviewer
        found = _block_step(problem, state, given, learn)
        said = damped(message(given.cavity, found.mean, found.second), block, told.shift)
        _write(block, said, fresh.precision, fresh.shift)
        new.nodes[: len(found.nodes), who] = found.nodes
        if state.extent.orders:
            new.fresh[: len(found.fresh), who], new.orders[who] = found.fresh, found.orders
        if learn:
            # One score tells of its reviewer only through the shape of all scores, not for slopes to explain.
            gradient = gradient.plus(Gradient.of(found.gradient * (block.load > 1)))
        evidence += float(found.log_evidence.sum()) + _potential(given.cavity, block)
    return evidence, gradient


def _block_step(problem: Problem, state: State, given: Inputs, learn: bool) -> Mixed:
    """Step of one block, with reviewers who only order mixed in where the model has them, of not too many papers."""
    found = step(*given[:3], state.theta, given.factor, given.log_weight, problem.rounding, learn=learn)
    if state.extent.orders and given.block.shape[0] <= LONGEST:
        fresh = nodes_of(state.fresh, given.block, state.extent)
        same = (state.theta, given.factor, problem.rounding)
        return mixed_step(given.block, given.cavity, found, fresh, *same, learn=learn)
    who = given.block.reviewer
    return Mixed(
        *found[:2], rows(found.nodes), np.zeros((0, who.size)), found.log_evidence, found.gradient, np.zeros(who.size)
    )


def _likeness(part: Part, told: Messages, believed: Believed, state: State, fresh: Messages) -> float:
    """Renew what papers learn from those that share reviewers, and return the evidence of these factors."""
    evidence = 0.0
    for block, cavity in cavities(part.layout, believed, told.likeness_precision, told.likeness_shift):
        found = likeness_step(block, cavity, state.extent.strength)
        _write(block, Message(found.precision, found.shift), fresh.likeness_precision, fresh.likeness_shift)
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
    layout: Layout, believed: Believed, precision: FloatArray, shift: FloatArray
) -> Iterator[tuple[Block, Cavity]]:
    """Yield each block with its cavities: beliefs without messages of the given precisions and shifts."""
    left = believed.precision[layout.item] - precision
    mean = (believed.shift[layout.item] - shift) / left
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        yield block, Cavity(mean[slots].reshape(block.shape), 1 / left[slots].reshape(block.shape))


def inputs(part: Part, told: Messages, believed: Believed, state: State) -> Iterator[Inputs]:
    """Yield what a step needs, block by block."""
    for block, cavity in cavities(part.layout, believed, told.precision, told.shift):
        factor, log_weight = np.ones((1, block.reviewer.size)), None
        if part.log_weight is not None:
            log_weight = part.log_weight[block.first : block.last].reshape(block.shape)
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

    def followed(nodes: FloatArray) -> FloatArray:
        centre, spread = nodes[0::2], nodes[1::2]
        told = np.maximum(spread**-2 - old, 0.0)
        moved = np.empty_like(nodes)
        moved[0::2] = centre + shift * new / (new + told)
        moved[1::2] = (new + told) ** -0.5
        return moved

    return replace(_with_nodes(state, followed), theta=theta)


def _with_nodes(state: State, change: Callable[[FloatArray], FloatArray]) -> State:
    """Change the nodes, and those given fresh papers where these are others."""
    nodes = change(state.nodes)
    return replace(state, nodes=nodes, fresh=change(state.fresh) if state.extent.orders else nodes)


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
    moved = Gauge(centre, spread)

    def stretched(nodes: FloatArray) -> FloatArray:
        nodes = nodes.copy()
        nodes[0] += np.log(spread)
        return nodes

    same = _with_nodes(state, stretched)
    return replace(same, gauge=state.gauge.then(moved), theta=rescaled(state.theta, *moved))
