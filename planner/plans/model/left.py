"""What a plan in the making has left: spare loads, limits, and places for panel groups."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from reviewgraph.labels import IntArray


class Left:
    """Loads, limits and places after some more reviews.

    ``spare`` (M,) and ``room`` (N,) are what is left, of what the fixed reviews left at first; ``taken`` counts the
    places of panel groups on items that the reviews take, fixed ones left out.
    """

    def __init__(self, rules: Constraints, spare: IntArray, room: IntArray, pairs: IntArray) -> None:
        self.places = rules.places
        self.spare = spare - np.bincount(pairs[:, 0], minlength=spare.size)
        self.room = room - np.bincount(pairs[:, 1], minlength=room.size)
        self.taken: Counter[tuple[int, int]] = Counter()
        if self.places.any:
            self.taken.update((i, group) for j, i in pairs.tolist() for group in self.places.of(j))

    def open(self, reviewer: int, item: int) -> bool:
        """Whether a pair that is allowed alone may be added to what is there."""
        return bool(self.spare[reviewer] > 0 and self.room[item] > 0) and not self.full(reviewer, item)

    def full(self, reviewer: int, item: int) -> bool:
        """Whether the item has as many of one of the reviewer's panel groups as it may."""
        if not self.places.any:
            return False
        free = self.places.free
        return any(free[item, group] <= self.taken[item, group] for group in self.places.of(reviewer))

    def take(self, reviewer: int, item: int, times: int = 1) -> None:
        """Use a pair that is open."""
        self.spare[reviewer] -= times
        self.room[item] -= times
        for group in self.places.of(reviewer):
            self.taken[item, group] += times

    def give_back(self, reviewer: int, item: int) -> None:
        """Undo a :meth:`take`."""
        self.take(reviewer, item, -1)
