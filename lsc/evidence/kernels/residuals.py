"""Violations of the optimality conditions by each reviewer, see :func:`lsc.evidence.optimality.residuals`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from math import fabs, isfinite

    from lsc._model.hypotheses import CONVEX, LINEAR, MONOTONE

if TYPE_CHECKING:
    from reviewgraph._base import FloatArray, IntArray


@dataclass(eq=False, repr=False)
class Violations:
    """The largest primal and dual violation and the sum of the gaps so far; the levels of one reviewer."""

    # Of a level: the point, its height above the lowest score, and the sum of the noise
    point: FloatArray
    height: FloatArray
    push: FloatArray
    # Of a step from a level to the next: in score, in quality, and the derivative of the objective if all points from
    # there on are shifted
    rise: FloatArray
    step: FloatArray
    total: FloatArray
    # Of a ramp that begins with a step: its force, and the length that it spans
    force: FloatArray
    reach: FloatArray
    primal: float = 0.0
    dual: float = 0.0
    gap: float = 0.0


def no_violations(start: IntArray) -> Violations:
    """Allocate space for the reviewers that begin there."""
    return Violations(*np.empty((8, int(np.diff(start).max(initial=0)))))


def add_reviewers(
    start: IntArray, item: IntArray, score: FloatArray, shape: IntArray, lower: FloatArray, upper: FloatArray,
    quality: FloatArray, perceived: FloatArray, state: Violations,
) -> None:  # fmt: skip
    """Add the violations of all reviewers."""
    with cython.nogil:
        for j in range(len(start) - 1):
            first = start[j]
            if start[j + 1] == first:
                continue
            levels = 0
            noise = 0.0
            for r in range(first, start[j + 1]):
                height = score[r] - score[first]
                if levels == 0 or height > state.height[levels - 1]:
                    state.height[levels] = height
                    state.point[levels] = perceived[r]
                    state.push[levels] = 0.0
                    levels += 1
                gap = perceived[r] - quality[item[r]]
                noise += gap
                state.push[levels - 1] += gap
                state.primal = max(state.primal, fabs(perceived[r] - state.point[levels - 1]))
            state.dual = max(state.dual, fabs(noise))
            if levels > 1:
                add_steps(levels, shape[j], lower[j], upper[j], state)


def add_steps(levels: int, shape: int, lower: float, upper: float, state: Violations) -> None:
    """Add the violations of a reviewer with several levels."""
    # Multipliers: the derivative of the objective if all points from a step on are shifted.
    running = 0.0
    for k in range(levels - 2, -1, -1):
        running += state.push[k + 1]
        state.total[k] = running
        state.rise[k] = state.height[k + 1] - state.height[k]
        state.step[k] = state.point[k + 1] - state.point[k]
    for k in range(levels - 1):
        low = lower * state.rise[k]
        high = upper * state.rise[k]
        state.primal = max(state.primal, low - state.step[k], state.step[k] - high)
    # By shape: independent steps, one slope, or ramps.
    if shape == MONOTONE:
        for k in range(levels - 1):
            add_bounded(state.total[k], state.step[k], lower * state.rise[k], upper * state.rise[k], state)
    elif shape == LINEAR:
        reach = state.height[levels - 1]
        slope = (state.point[levels - 1] - state.point[0]) / reach
        for k in range(levels):
            state.primal = max(state.primal, fabs(state.point[k] - state.point[0] - slope * state.height[k]))
        turn = 0.0
        for k in range(levels - 1):
            turn += state.rise[k] * state.total[k]
        add_bounded(turn / reach, slope * reach, lower * reach, upper * reach, state)
    else:
        add_ramps(levels - 1, shape == CONVEX, lower, state)


def add_bounded(force: float, step: float, low: float, high: float, state: Violations) -> None:
    """Add the gap of a step between bounds: a positive force needs the lower bound, a negative one the upper."""
    if force >= 0:
        state.gap += force * fabs(step - low)
    elif isfinite(high):
        state.gap -= force * fabs(high - step)
    else:
        state.dual = max(state.dual, -force)


def add_ramps(count: int, backward: bool, lower: float, state: Violations) -> None:
    """Add the violations of increasing slopes: slope_l = lower + the sum of w_m over m <= l, w >= 0.

    ``backward`` counts steps from the top: a convex function has them from there.
    """
    # A change of w_m changes all later slopes: its force is the sum of theirs, over the length that they span.
    running = 0.0
    length = 0.0
    for m in range(count - 1, -1, -1):
        k = count - 1 - m if backward else m
        running += state.rise[k] * state.total[k]
        length += state.rise[k]
        state.force[m] = running
        state.reach[m] = length
    slope_before = lower
    rise_before = 0.0
    for m in range(count):
        # Primal: w_m >= 0. Dual: forces >= 0. Gap: their products.
        k = count - 1 - m if backward else m
        rise = state.rise[k]
        slope = state.step[k] / rise
        bend = slope - slope_before
        if m > 0:
            state.primal = max(state.primal, -bend * rise * rise_before / (rise + rise_before))
        slope_before = slope
        rise_before = rise
        if state.force[m] < 0:
            state.dual = max(state.dual, -state.force[m] / state.reach[m])
        else:
            state.gap += state.force[m] * fabs(bend)
