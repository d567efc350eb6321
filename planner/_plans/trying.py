"""The best of all sets of reviews, where these are few: a proof by trying.

Values of sets must be monotone: further reviews never lower them. A set that falls short is made as large as it can get
without doing better; then no set inside the larger one needs to be tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._plans.task import Task
    from reviewgraph._base import Clock, IntArray

#: Sets up to which all are listed, and pairs: bits of whole numbers.
MOST_SETS = 1 << 20
MOST_PAIRS = 62


class Sets(NamedTuple):
    """Sets of pairs within loads, limits and rules: the smallest, cheapest, and of the smallest largest load first.

    Bit k of a ``code`` (S,) tells whether ``pairs[k]`` is in.
    """

    pairs: IntArray
    code: IntArray

    def of(self, code: int) -> IntArray:
        chosen: IntArray = self.pairs[(code >> np.arange(len(self.pairs))) & 1 == 1]
        return chosen


def all_sets(task: Task, pairs: IntArray, least: int, most: int) -> Sets | None:
    """List all sets of ``least`` to ``most`` of some allowed pairs; None if there are too many."""
    if len(pairs) > MOST_PAIRS:
        return None
    places = task.constraints.places
    #: Pairs that share a load, a limit or a place, as bits, and how many of them there may be.
    limits: dict[tuple[int, int, int], tuple[int, int]] = {}
    code = np.zeros(1, np.int64)
    for k, (j, i) in enumerate(pairs.tolist()):
        fits = np.bitwise_count(code) < most
        stated = [((0, j, 0), task.spare[j]), ((1, i, 0), task.room[i])]
        stated += [((2, i, group), places.free[i, group]) for group in places.of(j)]
        for key, number in stated:
            among, free = limits.get(key, (0, int(number)))
            if among.bit_count() >= free:
                fits &= np.bitwise_count(code & among) < free
            limits[key] = (among | 1 << k, free)
        code = np.concatenate([code, code[fits] | 1 << k])
        if code.size > MOST_SETS:
            return None
    code = code[np.bitwise_count(code) >= least]
    return Sets(pairs, code[_order(task, pairs, code)])


def _order(task: Task, pairs: IntArray, code: IntArray) -> IntArray:
    """Order sets by number, cost, largest load, and index."""
    cost = np.zeros(code.size, np.int64)
    prices = task.constraints.cost.whole(task.codes(pairs))
    if task.constraints.cost:
        for k, price in enumerate(prices.tolist()):
            cost += (code >> k & 1) * price
    load = np.full(code.size, task.loads(no_pairs()).max(initial=0))
    before = task.loads(no_pairs())
    for j in np.unique(pairs[:, 0]).tolist():
        among = sum(1 << k for k in np.flatnonzero(pairs[:, 0] == j).tolist())
        load = np.maximum(load, before[j] + np.bitwise_count(code & among))
    return np.lexsort((load, cost, np.bitwise_count(code)))


def best_of(
    sets: Sets, value: Callable[[IntArray], int], enough: int, clock: Clock, least: int = -1
) -> tuple[IntArray | None, bool]:
    """Return the first set of the greatest value above ``least``, and whether no other is better.

    The search ends at a value that is ``enough``, or when the clock is over.
    """
    best: IntArray | None = None
    left = sets.code
    while left.size and least < enough:
        if clock.over():
            return best, False
        code = int(left[0])
        reached = value(sets.of(code))
        if reached > least:
            best = sets.of(code)
            least = reached
        # All that the largest set of no greater value holds is tried with it.
        for k in range(len(sets.pairs)):
            if not code >> k & 1 and value(sets.of(code | 1 << k)) <= least:
                code |= 1 << k
        left = left[left & ~code != 0]
    return best, True
