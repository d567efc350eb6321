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
#: Good enough to try the next extension of the model.
ROUGH_STILL, ROUGH_GAIN = 1e-2, 5e-2
#: Or the height has not changed by as much over so many sweeps: steps were too short to follow a flat direction.
PLATEAU = 12
#: Sweeps before hyperparameters move: messages have to arrive first.
WARM_UP = 2
MOST_SWEEPS, MOST_ROUGH_SWEEPS, MOST_HURRIED = 150, 60, 30
#: Sweeps after which messages that will not settle, with nothing left to learn, are calmed.
PATIENCE = 20
#: Sweeps after which means are compared that swing, a multiple of most periods, and how far they may swing in place.
PERIOD, SWING = 12, 0.05
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


class Rest:
    """Whether means have come to rest, once nothing is left to learn: none moves, or those that do swing in place.

    In a large table a few means swing for ever, by hundredths of their errors. They swing in place where none is far
    from where it was a :data:`PERIOD` before: as if none had moved by more than ``still`` in any of these sweeps.
    """

    def __init__(self, still: float) -> None:
        self.still, self.count, self.swings = still, 0, False
        self.anchor = np.empty(0)

    def seen(self, mean: FloatArray, sd: FloatArray, moved: float) -> bool:
        """Take note of the means after a sweep, and of how far one moved at most, in standard errors."""
        if self.count % PERIOD == 0:
            drift = float((np.abs(mean - self.anchor) / sd).max()) if self.anchor.size else np.inf
            self.anchor, self.swings = mean, drift < PERIOD * self.still
        self.count += 1
        return moved < (SWING if self.swings else self.still)


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
    rest = Rest(still)
    hurry = problem.compiled and not state.extent.kappa
    slack = LOSS + LOSS_A_REVIEW * problem.n_reviews
    for count in range(1, most + 1):
        learn = bool(free.any()) and count > warm_up
        found = sweep(problem, state, learn=learn, calm=rest.count > PATIENCE)
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
        rest.swings = rest.swings and learned_all
        settled = learned_all and rest.seen(found.mean, np.sqrt(found.variance), _moved(found, before))
        if (settled and count > warm_up) or count == most:
            break
        before, state = found.mean, found.state
        if learn:
            if best is None or height > best.height:
                best = Best(height, state)
            state = standardised(problem, learned(state, step.theta))
            if step.gain < gain and hurry:
                # Only messages have to settle yet, and few: without waiting for the others.
                before, state, hurry = _hurried(problem, state, before, rest)
    return Climb(state, found.evidence, found.mean, count, bool(settled), step.information)


def _hurried(problem: Problem, state: State, before: FloatArray, rest: Rest) -> tuple[FloatArray, State, bool]:
    """Sweep over reviewers whose items still move.

    Returns the means before the last sweep, the state after it, and whether all items have come to rest: where some
    are on the move for long it is not worth while again.
    """
    for _ in range(MOST_HURRIED):
        precision, shift = beliefs(problem, state)
        mean, sd = shift / precision, 1 / np.sqrt(precision)
        far = np.abs(mean - before) / sd
        moved = far > 0.5 * rest.still
        if (rest.seen(mean, sd, float(far.max())) and rest.swings) or not moved.any():
            return before, state, True
        before, state = mean, standardised(problem, sweep(problem, state, learn=False, moved=moved).state)
    return before, state, False


def settle(problem: Problem, state: State, sweeps: int, *, gauge: bool = False) -> Climb:
    """Let messages answer to a change for a few sweeps; of hyperparameters at most the scale moves, with ``gauge``."""
    for _ in range(sweeps):
        state = sweep(problem, state, learn=False).state
        if gauge:
            state = standardised(problem, state)
    last = sweep(problem, state, learn=False)
    return Climb(state, last.evidence, last.mean, sweeps + 1, False, np.eye(state.theta.size))


def _moved(found: Sweep, before: FloatArray | None) -> float:
    """Largest change of a mean in its standard errors."""
    if before is None:
        return np.inf
    return float((np.abs(found.mean - before) / np.sqrt(found.variance)).max())
