"""Choose reviews one after another by what they are expected to gain.

1. A paper's rate is the gain of its next few reviews over their number, at its best: where a decision is far from open
   the first review alone changes nothing, and two or three together do.
2. The paper of highest rate gets a review; of equals the first.
3. Of those who may write it, the cheapest, then whoever has fewest new reviews, then who tells most, does.

Gains of different papers add up. Where every further review of a paper gains less than the one before, reviewers are
alike and no load, conflict or limit binds, no other choice gains more; elsewhere nothing is promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.tables import as_pairs
from reviewgraph.arrays import starts

if TYPE_CHECKING:
    from planner.plans.model.left import Left
    from planner.plans.model.task import Task
    from planner.plans.objectives.objective import Objective
    from reviewgraph.arrays import BoolArray, FloatArray, IntArray

#: Reviews of one paper that are looked at together.
TOGETHER = 3
#: Gains below this share of all that is to be lost are rounding.
NOTHING = 1e-12


class Chosen(NamedTuple):
    """Reviews in the order in which they were chosen.

    ``pairs`` (P, 2), and for each the precision beyond what comes anyhow that its item had ``before`` it and has
    ``after`` it, shape (P,).
    """

    pairs: IntArray
    before: FloatArray
    after: FloatArray


def choose(aim: Objective, task: Task, taken: IntArray, most: int) -> Chosen:
    """Choose at most ``most`` reviews beside those taken already.

    Parameters
    ----------
    aim
        What a review gains.
    task
        Who may write what.
    taken
        Shape (T, 2): reviews that are planned already, beside the fixed ones.
    most
        How many.

    Notes
    -----
    N evaluations to begin with, then the time of N + M a review.
    """
    left, rules = task.left(taken), task.constraints
    readers = _Readers(task, taken, left)
    extra = aim.beliefs.brought_by(taken)
    every = np.arange(rules.reviews.n_items)
    open_ = np.ones(every.size, np.bool_)
    least = NOTHING * float(aim.losses(every, extra).sum())
    rate = rates(aim, every, extra, left.room, most)
    pairs: list[tuple[int, int]] = []
    before, after = [], []
    while len(pairs) < most:
        item = int(np.argmax(np.where(open_, rate, -np.inf)))
        if not open_[item] or rate[item] <= least:
            break
        reviewer = readers.best(item, aim.beliefs.review_precision)
        if reviewer is None:
            open_[item] = False
            continue
        readers.take(reviewer, item)
        pairs.append((reviewer, item))
        before.append(extra[item])
        extra[item] += aim.beliefs.review_precision[reviewer]
        after.append(extra[item])
        # The last few reviews of the budget cannot be many of one paper.
        still = most - len(pairs)
        changed = every if still < TOGETHER else every[item : item + 1]
        rate[changed] = rates(aim, changed, extra[changed], left.room[changed], still)
    return Chosen(as_pairs(pairs), np.array(before), np.array(after))


def rates(aim: Objective, item: IntArray, extra: FloatArray, room: IntArray, most: int) -> FloatArray:
    """Return the best gain a review of the next few typical reviews of each item, shape (K,).

    Parameters
    ----------
    aim
        What a review gains.
    item, extra, room
        Shape (K,): items, the precision they have already beyond what comes anyhow, and reviews they may get.
    most
        Reviews that are left in all.
    """
    now = aim.losses(item, extra)
    found = np.zeros(item.size)
    for count in range(1, min(TOGETHER, most) + 1):
        then = aim.losses(item, extra + count * aim.beliefs.typical)
        found = np.maximum(found, np.where(room >= count, (now - then) / count, 0.0))
    return found


class _Readers:
    """Who may still review which item, and how many new reviews each has."""

    def __init__(self, task: Task, taken: IntArray, left: Left) -> None:
        self.rules, self.left = task.constraints, left
        n_reviewers, n_items = left.spare.size, left.room.size
        everything = np.concatenate([self.rules.fixed, taken])
        self.load = np.bincount(everything[:, 0], minlength=n_reviewers)
        who = np.concatenate([np.repeat(np.arange(n_reviewers), np.diff(self.rules.barred_start)), everything[:, 0]])
        what = np.concatenate([self.rules.barred, everything[:, 1]])
        order = np.argsort(what, kind="stable")
        self.barred, self.first = who[order], starts(what[order], n_items)
        self.new: dict[int, list[int]] = {}

    def best(self, item: int, precision: FloatArray) -> int | None:
        """Return the reviewer for an item; None where nobody is left."""
        who = np.flatnonzero(self._may(item))
        if not who.size:
            return None
        cost = np.array([self.rules.cost_of(j, item) for j in who.tolist()]) if self.rules.cost else np.zeros(who.size)
        return int(who[np.lexsort((who, -precision[who], self.load[who], cost))[0]])

    def take(self, reviewer: int, item: int) -> None:
        """Note a new review."""
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
