"""Exchanges that cost little or no affinity and make the expected errors of the qualities smaller.

Before any score the posterior of the qualities has precision ``I + sum_j F_j`` in units of their spread: I the
prior's, F_j the information of reviewer j with her severity and stretch integrated out. Averaged over qualities it is
``w (I - 1 1^T / k) + c 1 1^T / k`` on her k papers (:func:`reviewgraph.precision.averaged.mean_information`): w counts
what her differences say and c what her sum does. Exchanges are to lower the trace of the inverse, the sum of error
variances. Each is judged alone, exactly; they are made in batches, and the trace has the last word.

As information is averaged before it is inverted, the errors come out a little small: by 0.1 % at the default
assumptions, by 8 % at noise 0.45, severity 1.7 and stretch 0.7 (:func:`reviewgraph.expected_errors` averages after).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.covariance import covariance
from planner.assignments.steps.exchanges import candidates, gains, make_best
from reviewgraph.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.exchanges import Swaps
    from planner.assignments.steps.grouping import Core
    from reviewgraph.assumptions import Assumptions
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Papers up to which it is done: it inverts a matrix of that size in every round.
MOST_ITEMS = 2_000

#: Rounds; part of what is left of the affinity that a round may give up, and part of the reviews that it may move.
ROUNDS, SPENT, MOVED = 40, 0.8, 0.16

#: Part of the variances that a round must take away for another one to follow.
LEAST = 5e-4

#: Part of the variances that all exchanges together must take away to be worth any affinity; half of it for errors.
WORTH = 2e-3

#: What an exchange counts as losing beside its affinity, in parts of the largest: else one that loses nothing and gains
#: nothing would come first.
FEE = 0.003

#: Decimals, in parts of the largest merit, by which exchanges are ranked: more would rank rounding errors.
DECIMALS = 9


class Variances(NamedTuple):
    """Error variances of the required papers before and after, and the affinity given up for the difference."""

    before: FloatArray
    after: FloatArray
    lost: float


def improve(
    core: Core,
    problem: Problem,
    budget: float,
    assumptions: Assumptions,
    rng: np.random.Generator,
    holds: Callable[[IntArray], bool],
    clock: Clock,
) -> Variances:
    """Exchange reviews for smaller errors, giving up at most so much worth, as long as ``holds`` says that they may.

    Where errors would fall by less than a thousandth, no affinity is given up.

    Takes O(N^3) a round, and memory for some matrices of N x N and N x M.
    """
    net, lost, start = core.net, 0.0, core.net.assigned.copy()
    now = covariance(net, core.required, assumptions)
    before = now.variances
    longest = 0.0
    for _ in range(ROUNDS):
        # A round has no result by halves: none is begun that is not likely to end in time.
        if clock.over():
            break
        if clock.left() < longest:
            clock.note_end()
            break
        round_ = Clock(None)
        # Draw exchanges, judge each alone, and make those that gain most for what they lose.
        part = SPENT * (budget - lost)
        most = max(int(MOVED * net.assigned.sum() / 2), 1)
        swaps = candidates(net, problem, part, rng)
        merit = _merit(gains(net, swaps, now), swaps.loss, problem)
        made = _held(core, swaps, make_best(net, swaps, merit, part, most), holds)
        # Together they must lower the trace; else they are undone, and that was the last round.
        then = covariance(net, core.required, assumptions) if made.size else now
        if then.total >= now.total:
            flip(net, _pairs(swaps, made))
            core.regroup()
            break
        lost += float(swaps.loss[made].sum())
        fall, now = 1.0 - then.total / now.total, then
        if fall < LEAST:
            break
        longest = max(longest, round_.elapsed())
    # What nobody would notice is worth nothing: then the assignment of most affinity stands.
    if lost > 0 and now.variances.mean() > (1.0 - WORTH) * before.mean():
        flip(net, np.flatnonzero(start != net.assigned))
        core.regroup()
        return Variances(before, before, 0.0)
    gone, come = (math.fsum(problem.affinity[pairs].tolist()) for pairs in (start, net.assigned))
    return Variances(before, now.variances, gone - come)


def _merit(gain: FloatArray, loss: FloatArray, problem: Problem) -> FloatArray:
    """Gain for what is lost, the largest of all being one."""
    fee = FEE * float(np.abs(problem.affinity).max(initial=0.0))
    merit = gain / (np.maximum(loss, 0.0) + fee) if fee > 0 else gain
    scale = float(np.abs(merit).max(initial=0.0))
    return np.round(merit / scale, DECIMALS) if scale > 0 else merit


def _held(core: Core, swaps: Swaps, made: IntArray, holds: Callable[[IntArray], bool]) -> IntArray:
    """Undo the lesser half of exchanges, and again, until the level holds; returns those that stay."""
    while made.size:
        if holds(_pairs(swaps, made)):
            return made
        half = made.size // 2
        flip(core.net, _pairs(swaps, made[half:]))
        made = made[:half]
    core.regroup()
    return made


def _pairs(swaps: Swaps, made: IntArray) -> IntArray:
    return np.concatenate([swaps.off[made].ravel(), swaps.on[made].ravel()])
