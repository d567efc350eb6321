"""The stages of the model: each extension is kept where the evidence asks for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lsc.posterior.climbing import Climb, climb, settle, with_own_noise
from lsc.posterior.model import GAMMA, LOG_OWN, SIZE, START
from lsc.posterior.sweeps import Problem, start
from reviewgraph.reviews import BoolArray

#: Spread of log own noise at which it is tried, and sweeps of the trial.
OWN_TRIAL, TRIAL_SWEEPS = 0.3, 3


def run_stages(problem: Problem, rng: np.random.Generator, tell: Callable[[str], None]) -> Climb:
    """Fit reviewers who use the scale, then try a noise of her own for each."""
    free: BoolArray = np.ones(SIZE, bool)
    free[GAMMA], free[LOG_OWN] = problem.log_weight is not None, False
    tell("reviewers who use the scale")
    plain = climb(problem, start(problem, START), free, rough=True)
    tell("a noise of her own for each reviewer")
    trial = settle(problem, with_own_noise(plain.state, np.log(OWN_TRIAL), LOG_OWN), TRIAL_SWEEPS)
    if trial.last.evidence > plain.last.evidence:
        own = climb(problem, trial.state, _freed(free, LOG_OWN))
        if own.last.evidence > plain.last.evidence:
            return own
    return climb(problem, plain.state, free, warm_up=0)


def _freed(free: BoolArray, place: int) -> BoolArray:
    wider = free.copy()
    wider[place] = True
    return wider
