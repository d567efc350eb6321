"""Cuts for the target *double*: structures that the closure has closed and that miss the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.growth import close, copy_structure, extend_unfinished, leaving, new_structure
from planner.plans.model.oracle import Cut, Oracle
from reviewgraph.recoverable import degrees_of_freedom
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.growth import Structure
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Larger structures made from one that was found unfinished.
LARGER = 8


class DoubleOracle(Oracle):
    """One doubly connected component covers all items."""

    def __init__(self, task: Task, rng: np.random.Generator, allowed: IntArray | None = None) -> None:
        super().__init__(task, allowed)
        self.rng = rng
        self.block = task.home[self.allowed[:, 0]].astype(np.int64)
        self.item = np.ascontiguousarray(self.allowed[:, 1])

    def reaches(self, pairs: IntArray) -> bool:
        """Close and look at the largest cover."""
        return self.task.reaches(pairs)

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cut off the closed structure by its degrees of freedom, and larger unfinished ones at random."""
        structure = self.task.after(pairs)
        yield self._cut(structure)
        for _ in range(LARGER):
            larger = copy_structure(structure)
            order = self.rng.permutation(len(self.allowed))
            self.task.form(extend_unfinished)(
                larger, self.task.space, self.block, self.item, order, np.zeros(len(order), np.int64)
            )
            yield self._cut(larger)

    def _cut(self, structure: Structure) -> Cut:
        leaves = np.zeros(len(self.allowed), np.int64)
        self.task.form(leaving)(structure, self.block, self.item, leaves)
        cover = structure.cover[self.task.block_labels(structure)[self.task.home]]
        return Cut(leaves, max(1, missing_links_of(self.task, structure)), set(np.flatnonzero(cover < 2).tolist()))

    def possible(self) -> bool:
        """Close the structure with all candidates in it."""
        task, start = self.task, self.task.start
        root = task.block_labels(start)
        existing = np.unique(root[start.block[: start.size]] * task.n_items + start.item[: start.size])
        state = new_structure(
            existing // task.n_items, existing % task.n_items, len(task.components), start.class_of, self.block.size
        )
        most = task.form(close)(state, task.space, root[self.block], self.item, self.block.size)
        return int(most) >= task.n_items


def missing_links_of(task: Task, structure: Structure) -> int:
    """Degrees of freedom of the graph in which every block is one reviewer."""
    count = structure.size
    owner = task.block_labels(structure)[structure.block[:count]]
    pairs = np.unique(owner * task.n_items + structure.item[:count])
    table = Reviews.from_codes(
        pairs // task.n_items, pairs % task.n_items, reviewers=len(task.components), items=task.n_items
    )
    return degrees_of_freedom(table)
