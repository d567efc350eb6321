"""What each target asks of a plan: whether it is reached, and which cuts forbid a structure that misses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from planner.plans.check.verifying import pieces, reaches, with_extra
from planner.plans.model.growth import close, copy_structure, extend_unfinished, leaving
from reviewgraph.components import connected_components
from reviewgraph.recoverable import degrees_of_freedom, recoverability
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.growth import Structure
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

    #: The candidates that leave a structure, how many must, and reviewers who are no part of a block yet.
    Cut: TypeAlias = tuple[IntArray, int, set[int]]

#: Larger structures made from one that was found unfinished.
LARGER = 8


class Oracle:
    """A target, for one task.

    ``allowed`` are the candidate reviews, shape (K, 2); ``threshold`` is the number of items from which a reviewer
    is a part of the structure.
    """

    threshold = 2

    def __init__(self, task: Task) -> None:
        self.task = task
        self.allowed = candidates(task)

    def reaches(self, pairs: IntArray) -> bool:
        """Whether the target is reached with these reviews and the fixed ones."""
        raise NotImplementedError

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cuts that these reviews break."""
        raise NotImplementedError

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews."""
        rules = self.task.constraints
        return with_extra(rules.reviews, np.concatenate([rules.fixed, pairs]))


class Double(Oracle):
    """One doubly connected component covers all items."""

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        super().__init__(task)
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
        return leaves, max(1, missing_links_of(self.task, structure)), set(np.flatnonzero(cover < 2).tolist())


class Recoverable(Oracle):
    """No degrees of freedom; the structures are the maximal recoverable blocks."""

    def reaches(self, pairs: IntArray) -> bool:
        """Ask the pebble game."""
        return recoverability(self.table(pairs)).recoverable

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Reviews inside a recoverable block do not help; the others must be as many as the degrees of freedom."""
        table = self.table(pairs)
        found = recoverability(table)
        label = found.block_labels
        inside = {(int(b), int(i)) for b, cover in enumerate(found.block_covers) for i in cover}
        own = set(zip(table.reviewer.tolist(), table.item.tolist(), strict=True))
        leaves = np.array(
            [(int(label[j]), i) not in inside and (j, i) not in own for j, i in self.allowed.tolist()], np.int64
        )
        yield leaves, max(1, found.degrees_of_freedom), set(np.flatnonzero(label < 0).tolist())


class Connected(Oracle):
    """One piece holds all items."""

    threshold = 1

    def reaches(self, pairs: IntArray) -> bool:
        """Count the pieces that hold items."""
        return reaches(self.table(pairs), "connected")

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Reviews between pieces must be one fewer than the pieces."""
        table = self.table(pairs)
        found = connected_components(table)
        leaves = found.labels[self.allowed[:, 0]] != found.item_labels[self.allowed[:, 1]]
        yield leaves.astype(np.int64), max(1, pieces(table) - 1), set(np.flatnonzero(table.loads == 0).tolist())


def candidates(task: Task) -> IntArray:
    """Shape (K, 2): allowed (reviewer, item) pairs whose item the reviewer's block does not cover yet."""
    count = int(task.start.entries[0])
    root = task.block_labels(task.start)
    covered = set(zip(root[task.start.block[:count]].tolist(), task.start.item[:count].tolist(), strict=True))
    found = [
        (j, i)
        for j in np.flatnonzero(task.spare > 0).tolist()
        for i in task.constraints.readable(j).tolist()
        if task.room[i] > 0 and (int(root[task.home[j]]), i) not in covered
    ]
    return np.array(found, np.int64).reshape(-1, 2)


def missing_links_of(task: Task, structure: Structure) -> int:
    """Degrees of freedom of the graph in which every block is one reviewer."""
    count = int(structure.entries[0])
    owner = task.block_labels(structure)[structure.block[:count]]
    pairs = np.unique(owner * task.n_items + structure.item[:count])
    table = Reviews.from_codes(
        pairs // task.n_items, pairs % task.n_items, reviewers=len(task.components), items=task.n_items
    )
    return degrees_of_freedom(table)


def can_reach(oracle: Oracle) -> bool:
    """Whether all candidates together, loads and limits left aside, reach the target."""
    task = oracle.task
    if not isinstance(oracle, Double):
        return oracle.reaches(oracle.allowed)
    from planner.plans.model.growth import new_structure

    count, block = int(task.start.entries[0]), task.home[oracle.allowed[:, 0]].astype(np.int64)
    root = task.block_labels(task.start)
    existing = np.unique(root[task.start.block[:count]] * task.n_items + task.start.item[:count])
    state = new_structure(
        existing // task.n_items, existing % task.n_items, len(task.components), task.start.class_of, block.size
    )
    most = task.form(close)(state, task.space, root[block], np.ascontiguousarray(oracle.allowed[:, 1]), block.size)
    return int(most) >= task.n_items
