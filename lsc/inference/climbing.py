"""Sweeps and steps of the hyperparameters in turn, until both have settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc.inference.learning import ascend, at_rest
from lsc.inference.model import log_prior
from lsc.inference.states import Problem, State, beliefs
from lsc.inference.sweeps import Sweep, learned, standardised, sweep
from reviewgraph.reviews import BoolArray, FloatArray

#: Settled: no mean moves by more than this part of its standard error, and a step would gain less than so many nats.
STILL, GAIN = 2e-3, 1e-2
#: Of large tables one mean in so many may still move, by so many times more at most.
ONE_IN, FURTHER = 1_000, 25.0
#: Good enough to try the next extension of the model.
ROUGH_STILL, ROUGH_GAIN = 1e-2, 5e-2
#: Or the height has not changed by as much over so many sweeps: steps were too short to follow a flat direction.
PLATEAU = 12
#: Sweeps before hyperparameters move: messages have to arrive first.
WARM_UP = 2
MOST_SWEEPS, MOST_ROUGH_SWEEPS, MOST_HURRIED = 150, 60, 30
#: A height lost by more than so many nats, and so many a review, sends the climb back; from then on it goes slower.
LOSS, LOSS_A_REVIEW, SLOWER, SLOWEST = 3.0, 0.005, 0.5, 0.1
#: From then on it may lose so many times more.
DEEPER = 2.0


class Best(NamedTuple):
    """The highest state so far."""

    height: float
    state: State


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended.

    Parameters
    ----------
    state
        From which the last sweep started.
    evidence, mean
        Its log evidence, and the means of the items, shape (N + 1,), as the last sweep found them.
    sweeps
        How many it took.
    converged
        Whether messages and hyperparameters have settled.
    information
        Shape (P, P): curvature of the log probability of the hyperparameters.
    """

    state: State
    evidence: float
    mean: FloatArray
    sweeps: int
    converged: bool
    information: FloatArray

    @property
    def objective(self) -> float:
        """Log evidence and log prior of the hyperparameters."""
        return self.evidence + log_prior(self.state.theta).value


def climb(problem: Problem, state: State, free: BoolArray, *, rough: bool = False, warm_up: int = WARM_UP) -> Climb:
    """Sweep and learn until both have settled.

    Parameters
    ----------
    free
        Shape (P,): hyperparameters to learn; with none the messages alone settle.
    rough
        Whether to stop as soon as the next extension of the model can be judged.
    warm_up
        Sweeps before the first step.
    """
    still, gain, most = (ROUGH_STILL, ROUGH_GAIN, MOST_ROUGH_SWEEPS) if rough else (STILL, GAIN, MOST_SWEEPS)
    step, before, best = at_rest(state.theta), None, None
    heights: list[float] = []
    rested = 0
    hurry = problem.compiled and not state.extent.kappa
    slack = LOSS + LOSS_A_REVIEW * problem.n_reviews
    for count in range(1, most + 1):
        learn = bool(free.any()) and count > warm_up
        found = sweep(problem, state, learn=learn, rested=rested)
        height = found.evidence + log_prior(state.theta).value
        if best is not None and height < best.height - slack:
            # The last steps led astray: go back to the best state, and go on from there more slowly. Where the way up
            # leads through a dip it is gone at last, for the next one may be deeper.
            step = at_rest(best.state.theta, max(step.limit * SLOWER, SLOWEST))
            slack *= DEEPER
            state, before = best.state, None
            continue
        if learn:
            step = ascend(state.theta, found.gradient, problem.n_reviewers, problem.n_reviews, free, step)
        heights.append(height)
        level = len(heights) > PLATEAU and abs(height - heights[-PLATEAU]) < gain
        learned_all = not learn or step.gain < gain or level
        rested = rested + 1 if learned_all and count > warm_up else 0
        settled = rested > 0 and before is not None and _at_rest(_moves(found, before), still)
        if settled or count == most:
            break
        before, state = found.mean, found.state
        if learn:
            if best is None or height > best.height:
                best = Best(height, state)
            if step.gain < gain and hurry:
                # Only messages have to settle yet, and few: without waiting for the others, and without a step that
                # all would have to answer.
                before, state, sweeps = _hurried(problem, standardised(problem, state), before, still, rested)
                rested, hurry = rested + sweeps, sweeps < MOST_HURRIED
            else:
                state = standardised(problem, learned(state, step.theta))
    return Climb(state, found.evidence, found.mean, count, bool(settled), step.information)


def _hurried(
    problem: Problem, state: State, before: FloatArray, still: float, rested: int
) -> tuple[FloatArray, State, int]:
    """Sweep over reviewers whose items still move.

    Returns the means before the last sweep, the state after it, and the number of sweeps; after
    :data:`MOST_HURRIED` some items are on the move for so long that it is not worth while again.
    """
    for count in range(MOST_HURRIED):
        precision, shift = beliefs(problem, state)
        mean = shift / precision
        moves = np.abs(mean - before) * np.sqrt(precision)
        if _at_rest(moves, 0.5 * still):
            return before, state, count
        moved = moves > 0.5 * still
        found = sweep(problem, state, learn=False, moved=moved, rested=rested + count)
        before, state = mean, standardised(problem, found.state)
    return before, state, MOST_HURRIED


def settle(problem: Problem, state: State, sweeps: int, *, gauge: bool = False) -> Climb:
    """Let messages answer to a change for a few sweeps; of hyperparameters at most the scale moves, with ``gauge``."""
    for _ in range(sweeps):
        state = sweep(problem, state, learn=False).state
        if gauge:
            state = standardised(problem, state)
    last = sweep(problem, state, learn=False)
    return Climb(state, last.evidence, last.mean, sweeps + 1, False, np.eye(state.theta.size))


def _moves(found: Sweep, before: FloatArray) -> FloatArray:
    """Return by how much each mean changed, in its standard errors."""
    return np.asarray(np.abs(found.mean - before) / np.sqrt(found.variance))


def _at_rest(moves: FloatArray, still: float) -> bool:
    """Whether no mean moves any more, or one in :data:`ONE_IN` at most and none far.

    >>> _at_rest(np.array([0.001, 0.003]), 0.002), _at_rest(np.repeat([0.001, 0.003], [999, 1]), 0.002)
    (False, True)
    """
    return bool(np.count_nonzero(moves > still) * ONE_IN <= moves.size and moves.max() <= FURTHER * still)
