"""The order of the reviews of a plan in which the largest group grows fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner.plans.model.growth import arrive, copy_structure, find_block, overwrite

if TYPE_CHECKING:
    from planner.plans.model.growth import Structure
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Work (reviews squared times entries) up to which a plan is put in the order in which each step helps most.
ORDER_UP_TO = 100_000_000
#: Work, see :class:`reviewgraph.clock.Clock`, of a review tried: in all, and to copy an entry.
TRY, COPY = 2e-5, 5e-9


def by_effect(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Order in which the largest doubly connected group grows fastest, first come first among equals.

    Long plans keep their order, and so do reviews that are left once the clock is over. Takes the time of a growth for
    every pair of reviews.
    """
    if not len(pairs) or len(pairs) ** 2 * task.start.size > ORDER_UP_TO:
        return np.arange(len(pairs))
    state, left, order = copy_structure(task.start), list(range(len(pairs))), []
    trial = copy_structure(state)
    while left and not clock.over():
        # The state is closed, so what a review brings is one growth, tried on a copy.
        sizes = []
        for k in left:
            overwrite(trial, state)
            read(task, trial, pairs[k])
            sizes.append(int(trial.cover[find_block.python(trial.root, int(task.home[pairs[k, 0]]))]))
        clock.spend(task.worked() + len(left) * (TRY + COPY * task.start.size))
        chosen = left.pop(int(np.argmax(sizes)))
        read(task, state, pairs[chosen])
        order.append(chosen)
    return np.array(order + left, np.int64)


def read(task: Task, state: Structure, pair: Any) -> bool:
    """Let a review arrive in a closed structure; false, and nothing, where its reviewer's block covers the item."""
    return bool(task.form(arrive)(state, task.space, int(task.home[pair[0]]), int(pair[1])))
