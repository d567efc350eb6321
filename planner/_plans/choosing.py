"""Choose reviews one after another by their expected gain.

1. A paper's rate is the largest mean gain of its next few reviews: if a decision is far from open the first review
   alone changes nothing, and two or three together do.
2. The paper of highest rate gets a review; of equals the first.
3. Among the allowed reviewers, the cheapest writes it, then one of fewest new reviews, then of highest precision.

Gains of different papers add up. If every further review of a paper gains less than the one before, reviewers are
alike and no load, conflict or limit binds, no other choice gains more; otherwise there is no guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import as_pairs
from reviewgraph._base import TIE, largest, snapped

if TYPE_CHECKING:
    from planner._plans.objectives import Objective
    from planner._plans.task import Left, Task
    from reviewgraph._base import BoolArray, FloatArray, IntArray

#: Reviews of one paper that are evaluated together.
TOGETHER = 3


def choose(aim: Objective, task: Task, taken: IntArray, most: int, worth: float = 0.0) -> IntArray:
    """Choose at most ``most`` reviews in addition to those ``taken``, shape (T, 2), of rates above ``worth``.

    Returns them in the order chosen, shape (P, 2). Takes N evaluations at first, then the time of N + M per review.
    """
    left = task.left(taken)
    readers = _Readers(task, taken, left)
    extra = aim.beliefs.brought_by(taken)
    every = np.arange(task.constraints.reviews.n_items)
    open_ = np.ones(every.size, np.bool_)
    whole = float(aim.losses(every, extra).sum())
    least = max(TIE * whole, worth)
    precision = snapped(aim.beliefs.review_precision)
    rate = rates(aim, every, extra, left.room, most)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < most:
        item = largest(np.where(open_, rate, -np.inf), whole)
        if not open_[item] or rate[item] <= least:
            break
        reviewer = readers.best(item, precision)
        if reviewer is None:
            open_[item] = False
            continue
        readers.take(reviewer, item)
        pairs.append((reviewer, item))
        extra[item] += aim.beliefs.review_precision[reviewer]
        # The last few reviews of the budget limit the number per paper.
        remaining = most - len(pairs)
        changed = every if remaining < TOGETHER else every[item : item + 1]
        rate[changed] = rates(aim, changed, extra[changed], left.room[changed], remaining)
    return as_pairs(pairs)


def rates(aim: Objective, item: IntArray, extra: FloatArray, room: IntArray, most: int) -> FloatArray:
    """Return the best gain per review over the next few typical reviews of each item, shape (K,).

    ``extra`` is the precision beyond the pending one and ``room`` the number of reviews each item may get, shape (K,);
    ``most`` reviews are left in all.
    """
    now = aim.losses(item, extra)
    best = np.zeros(item.size)
    for count in range(1, min(TOGETHER, most) + 1):
        then = aim.losses(item, extra + count * aim.beliefs.typical)
        best = np.maximum(best, np.where(room >= count, (now - then) / count, 0.0))
    return best


class _Readers:
    """Reviewers who may still review an item, and the number of new reviews each has."""

    def __init__(self, task: Task, taken: IntArray, left: Left) -> None:
        self.rules = task.constraints
        self.left = left
        n_reviewers = left.spare.size
        n_items = left.room.size
        everything = np.concatenate([self.rules.fixed, taken])
        self.load = np.bincount(everything[:, 0], minlength=n_reviewers)
        who = np.concatenate([np.repeat(np.arange(n_reviewers), np.diff(self.rules.barred_start)), everything[:, 0]])
        what = np.concatenate([self.rules.barred, everything[:, 1]])
        order = np.argsort(what, kind="stable")
        self.first = np.searchsorted(what[order], np.arange(n_items + 1))
        self.barred = who[order]
        self.new: dict[int, list[int]] = {}

    def best(self, item: int, precision: FloatArray) -> int | None:
        who = np.flatnonzero(self._may(item))
        if not who.size:
            return None
        cost = self.rules.cost.whole(who * self.left.room.size + item) if self.rules.cost else np.zeros(who.size)
        return int(who[np.lexsort((who, -precision[who], self.load[who], cost))[0]])

    def take(self, reviewer: int, item: int) -> None:
        self.left.take(reviewer, item)
        self.load[reviewer] += 1
        self.new.setdefault(item, []).append(reviewer)

    def _may(self, item: int) -> BoolArray:
        may: BoolArray = (self.left.spare > 0) & (self.left.room[item] > 0)
        may[self.barred[self.first[item] : self.first[item + 1]]] = False
        may[self.new.get(item, [])] = False
        if self.left.places.any:
            may &= ~np.array([self.left.full(j, item) for j in range(may.size)])
        return may
