"""Of the reviews that do the same join, take the one of largest gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from planner.plans.objectives.objective import Objective
    from reviewgraph.arrays import IntArray
    from reviewgraph.clock import Clock


def favoured(aim: Objective, target: Target, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Exchange the reviews of a plan, one after another, for stand-ins that cost no more and gain more.

    Parameters
    ----------
    aim
        What a review gains.
    target, task, pairs
        A plan that reaches the target, shape (P, 2), without the fixed reviews.
    clock
        When to end.

    Notes
    -----
    The plan stays as long, costs no more, reaches the target, and nobody's load rises above the largest so far. The
    time is that of the target's stand-ins, once a review.
    """
    for place in range(len(pairs)):
        if clock.over():
            break
        other = _best(aim, target, task, pairs, place, clock)
        if other is not None:
            pairs = pairs.copy()
            pairs[place] = other
    return pairs


def _best(
    aim: Objective, target: Target, task: Task, pairs: IntArray, place: int, clock: Clock
) -> tuple[int, int] | None:
    """Return the stand-in of largest gain, the first of equals; None where the review itself gains as much."""
    own = (int(pairs[place, 0]), int(pairs[place, 1]))
    load = np.bincount(np.concatenate([pairs, task.constraints.fixed])[:, 0], minlength=task.spare.size)
    cost, most = task.constraints.cost_of, int(load.max())
    options = [
        other
        for other in target.stand_ins(task, pairs, place, clock)
        if cost(*other) <= cost(*own) and load[other[0]] + (other[0] != own[0]) <= most
    ]
    who, what = np.array([own, *options], np.int64).T
    extra = aim.beliefs.brought_by(np.delete(pairs, place, axis=0))[what]
    gain = aim.losses(what, extra) - aim.losses(what, extra + aim.beliefs.review_precision[who])
    best = int(np.argmax(gain))
    return options[best - 1] if best else None
