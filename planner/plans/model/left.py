"""What a plan in the making has left: spare loads, limits, and institutions that items have no new review of yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray


class Left:
    """Loads, limits and institutions after the fixed and some more reviews.

    ``spare`` (M,) and ``room`` (N,) are what is left; ``held`` are the (item, institution) pairs of new reviews.
    """

    def __init__(self, task: Task, pairs: IntArray) -> None:
        self.task = task
        self.institution = task.constraints.people.institution
        self.spare = task.spare - np.bincount(pairs[:, 0], minlength=task.spare.size)
        self.room = task.room - np.bincount(pairs[:, 1], minlength=task.room.size)
        self.held: set[tuple[int, int]] = set()
        if task.constraints.people.has_institutions:
            everything = np.concatenate([task.constraints.fixed, pairs])
            self.held = set(zip(everything[:, 1].tolist(), self.institution[everything[:, 0]].tolist(), strict=True))

    def open(self, reviewer: int, item: int) -> bool:
        """Whether a pair that is allowed alone may be added to what is there."""
        return bool(self.spare[reviewer] > 0 and self.room[item] > 0) and not self.meets(reviewer, item)

    def meets(self, reviewer: int, item: int) -> bool:
        """Whether a new review of the item is by a colleague of the reviewer."""
        return bool(self.held) and self.institution[reviewer] >= 0 and (item, self.institution[reviewer]) in self.held

    def take(self, reviewer: int, item: int) -> None:
        """Use a pair that is open."""
        self.spare[reviewer] -= 1
        self.room[item] -= 1
        if self.institution.size and self.institution[reviewer] >= 0:
            self.held.add((item, int(self.institution[reviewer])))

    def give_back(self, reviewer: int, item: int) -> None:
        """Undo a :meth:`take`."""
        self.spare[reviewer] += 1
        self.room[item] += 1
        if self.institution.size and self.institution[reviewer] >= 0:
            self.held.discard((item, int(self.institution[reviewer])))


def clashes(task: Task, pairs: IntArray) -> bool:
    """Whether two of some reviews, or one and a fixed one, are of one item by people of one institution."""
    own = task.constraints.people.institution
    if not task.constraints.people.has_institutions:
        return False
    counted = pairs[own[pairs[:, 0]] >= 0]
    key = counted[:, 1] * own.size + own[counted[:, 0]]
    fixed = task.constraints.fixed[own[task.constraints.fixed[:, 0]] >= 0]
    held = fixed[:, 1] * own.size + own[fixed[:, 0]]
    return bool(np.unique(key).size < key.size or np.isin(key, held).any())
