"""The best few reviews when the target is out of reach of a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner import explain, search

if TYPE_CHECKING:
    from planner._task import Task
    from planner.plan import Target
    from reviewgraph.labels import IntArray


#: Reviews of a partial plan where no budget was set and time ran out.
AT_MOST = 64


def best_few(task: Task, target: Target, pairs: IntArray | None, allowed: int | None) -> IntArray:
    """Return at most ``allowed`` reviews after which the largest group covers most items.

    The better of two: the reviews of a whole plan in the order in which they help most, and a cascade that stops.
    """
    length = task.start.item.size - int(task.start.entries[0]) - 2
    allowed = min(length, AT_MOST if allowed is None else allowed)
    options = []
    if pairs is not None:
        options.append(pairs[explain.by_effect(task, pairs)][:allowed])
    if target == "double" or pairs is None:
        options.append(search.begin(task, allowed, seed=0)[0].pairs)
    return max(options, key=lambda few: largest(task, few))


def largest(task: Task, pairs: IntArray) -> int:
    """Items in the largest doubly connected group after some reviews."""
    return int(task.after(pairs).cover.max(initial=0))


def how_far(task: Task, target: Target, pairs: IntArray, allowed: int | None, *, found: bool) -> list[str]:
    """Say how far a partial plan gets."""
    before, after = largest(task, np.empty((0, 2), np.int64)), largest(task, pairs)
    limit = (
        f"{len(pairs)} reviews" if allowed is not None else "the reviews that loads and conflicts allowed the search"
    )
    reach = (
        f"with {limit} the largest group of papers comparable for certain grows from {before} to {after} "
        f"of {task.n_items}"
    )
    if found:
        return [f"the target {target} needs more reviews than are allowed; {reach}"]
    return [f"no plan for the target {target} was found in time, and none was proved impossible; {reach}"]
