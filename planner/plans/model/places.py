"""Places that items have left for panel groups: how many more reviewers of a group each may get."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.arrays import spread

if TYPE_CHECKING:
    from planner.panels.groups import Panels
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Places(NamedTuple):
    """The panel groups that may get full, and their places.

    Parameters
    ----------
    start, group
        The groups of reviewer j are ``group[start[j]:start[j + 1]]``, shapes (M + 1,) and (K,).
    free
        Shape (N, G): reviewers of a group that an item may still get. Below 0 where it has too many.
    """

    start: IntArray
    group: IntArray
    free: IntArray

    @property
    def any(self) -> bool:
        """Whether any group may get full."""
        return bool(self.group.size)

    def of(self, reviewer: int) -> list[int]:
        """Return the groups of a reviewer."""
        found: list[int] = self.group[self.start[reviewer] : self.start[reviewer + 1]].tolist()
        return found

    def held_by(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the places that pairs take: the place of the pair in the list, and that in ``free`` as one row."""
        count = np.diff(self.start)[pairs[:, 0]]
        group = self.group[spread(self.start[pairs[:, 0]], count)]
        return np.repeat(np.arange(len(pairs)), count), np.repeat(pairs[:, 1], count) * self.free.shape[1] + group

    def open(self, pairs: IntArray) -> BoolArray:
        """Return which pairs find a place, each alone."""
        pair, place = self.held_by(pairs)
        shut = np.bincount(pair[self.free.ravel()[place] <= 0], minlength=len(pairs))
        return np.asarray(shut == 0)

    def hold(self, pairs: IntArray) -> bool:
        """Whether there are places for all of some pairs."""
        taken, count = np.unique(self.held_by(pairs)[1], return_counts=True)
        return bool((count <= self.free.ravel()[taken]).all())


def places(panels: Panels, free: IntArray, kept: IntArray, n_reviewers: int) -> Places:
    """Return the places of some of the panel groups, given by number, ascending."""
    number = np.full(panels.n_groups, -1, np.int64)
    number[kept] = np.arange(kept.size)
    if not kept.size:
        return Places(np.zeros(n_reviewers + 1, np.int64), np.empty(0, np.int64), np.empty((len(free), 0), np.int64))
    counts = number[panels.group] >= 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return Places(before[panels.start], number[panels.group[counts]], np.ascontiguousarray(free[:, kept]))
