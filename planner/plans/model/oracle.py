"""What the exact method asks of a target: whether it is reached, and which cuts forbid a structure that misses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.tables import as_pairs

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray


class Cut(NamedTuple):
    """A condition on every plan.

    Parameters
    ----------
    leaves
        Shape (K,): 1 for the candidates that leave a structure.
    least
        How many of them a plan needs.
    alone
        Reviewers who are no part of a block yet: their first reviews do not count.
    """

    leaves: IntArray
    least: int
    alone: set[int]


class Oracle(ABC):
    """A target, for one task.

    ``allowed`` are the candidate reviews, shape (K, 2), by default :func:`candidates`; ``threshold`` is the number of
    items from which a reviewer is a part of the structure.
    """

    threshold = 2

    def __init__(self, task: Task, allowed: IntArray | None = None) -> None:
        self.task = task
        self.allowed = candidates(task) if allowed is None else allowed

    @abstractmethod
    def reaches(self, pairs: IntArray) -> bool:
        """Whether the target is reached with these reviews and the fixed ones."""

    @abstractmethod
    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cuts that these reviews break."""

    def possible(self) -> bool:
        """Whether all candidates together, loads and limits left aside, reach the target."""
        return self.reaches(self.allowed)


def candidates(task: Task) -> IntArray:
    """Shape (K, 2): allowed pairs whose item the reviewer's block does not cover yet, or is short of reviews."""
    count = task.start.size
    root = task.block_labels(task.start)
    covered = set(zip(root[task.start.block[:count]].tolist(), task.start.item[:count].tolist(), strict=True))
    short = task.needs.each > 0
    return as_pairs(
        (j, i)
        for j in np.flatnonzero(task.spare > 0).tolist()
        for i in task.constraints.readable(j).tolist()
        if task.room[i] > 0 and (short[i] or (int(root[task.home[j]]), i) not in covered)
    )
