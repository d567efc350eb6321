"""Even loads for a plan that is found: the level, the number of reviews and the cost stay.

What fills needs may be written by anybody. What the level takes may be written by any reviewer of the same group: such
reviews make the same groups one. The level is tested once more in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import no_pairs
from planner.plans.search.evening import even, share, takers

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Seconds, and work, at least to even loads, whatever is left.
LEAST = 1.0
#: Entries of the covers looked at in search of somebody of another group who can do what the level takes.
TESTED = 200_000


def lighten(target: Target, task: Task, ledger: Ledger) -> None:
    """Even the loads of the ledger's plan, where they are not as small as they can be."""
    pairs, M = ledger.pairs, task.spare.size
    # Prices prove a plan cheapest within loads, and are about its own reviewers.
    if pairs is None or not len(pairs) or ledger.prices is not None:
        return
    clock, least = ledger.clock.no_less_than(LEAST), max(least_load(task, ledger), 1)
    groups = target.groups(task.table(no_pairs()), use_scores=task.use_scores).labels
    tries = iter(range(TESTED // max(task.start.size, 1)))

    def goes_on() -> bool:
        return not clock.over() and next(tries, None) is not None

    while pairs is not None and largest_load(task, pairs) > least:
        ledger.pairs = pairs
        tied = _level_takes(target, task, pairs, clock)
        # Groups share what a review does at most levels; where they do not, what the level takes stays.
        for group in (groups, np.arange(M)):
            found = even(task, pairs, clock, tied, group).pairs
            if _does(target, task, found, clock):
                ledger.pairs = pairs = found
                break
        pairs = _relieved(target, task, pairs, clock, goes_on)


def _relieved(
    target: Target, task: Task, pairs: IntArray, clock: Clock, goes_on: Callable[[], bool]
) -> IntArray | None:
    """Let a lighter reviewer of whatever group take over a review of the heaviest; None where the level forbids it."""
    load = np.bincount(np.concatenate([pairs[:, 0], task.constraints.fixed[:, 0]]), minlength=task.spare.size)
    for place in np.flatnonzero(load[pairs[:, 0]] == load.max()).tolist():
        for j in takers(task, pairs, place).tolist():
            if load[j] + 1 >= load.max():
                break
            if not goes_on():
                return None
            changed = pairs.copy()
            changed[place, 0] = j
            if _does(target, task, changed, clock):
                return changed
    return None


def largest_load(task: Task, pairs: IntArray) -> int:
    """Return the most reviews that one reviewer gets, fixed ones among them."""
    return int(np.bincount(np.concatenate([pairs[:, 0], task.constraints.fixed[:, 0]])).max(initial=0))


def least_load(task: Task, ledger: Ledger) -> int:
    """Return what the largest extra load of a plan as short and as cheap as the ledger's is at least."""
    if ledger.pairs is None:
        return 0
    least, (fills, load) = share(task, len(ledger.pairs)), ledger.fills or (no_pairs(), 0)
    # What a plan fills needs with costs as much as the cheapest only where the whole plan does.
    size, cost = len(fills) == len(ledger.pairs), _cost(task, fills) == _cost(task, ledger.pairs)
    alike = not task.constraints.cost or (size and cost)
    return max(least, load) if alike else least


def _cost(task: Task, pairs: IntArray) -> int:
    return int(task.constraints.cost.whole(pairs[:, 0] * task.n_items + pairs[:, 1]).sum()) if len(pairs) else 0


def _level_takes(target: Target, task: Task, pairs: IntArray, clock: Clock) -> BoolArray:
    """Shape (P,): the first reviews, in the order in which they help most, that reach the level."""
    order = target.order(task, pairs, clock)
    low, high = 0, len(pairs)
    while task.needs.total and low < high and not clock.over():
        middle = (low + high) // 2
        if target.reaches_in_time(task.table(pairs[order[:middle]]), clock, use_scores=task.use_scores):
            high = middle
        else:
            low = middle + 1
    tied = np.zeros(len(pairs), np.bool_)
    tied[order[:high]] = True
    return tied


def _does(target: Target, task: Task, pairs: IntArray, clock: Clock) -> bool:
    """Whether reviews reach the level and leave nothing short."""
    table = task.table(pairs)
    short = task.constraints.people.needs(table).total
    return short == 0 and target.reaches_in_time(table, clock, use_scores=task.use_scores)
