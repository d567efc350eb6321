"""What the exact method asks of a target: whether it is reached, and which cuts forbid a structure that misses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.tables import no_pairs

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Candidates listed at once; and up to which it is tested whether all of them together reach a target.
AT_ONCE, RELAX_UP_TO = 10_000, 3_000_000
#: Work, see :class:`reviewgraph.clock.Clock`, of a round of the exact method, for each candidate.
ROUND = 2e-5


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

    ``threshold`` is the number of items from which a reviewer is a part of the structure.
    """

    threshold = 2

    def __init__(self, task: Task, allowed: IntArray | None = None) -> None:
        self.task = task
        self.candidates = Candidates(task)
        if allowed is not None:
            self.allowed = allowed

    @property
    def work(self) -> float:
        """Work of a round of the exact method, beside what its solver counts: to state, look and cut."""
        return ROUND * len(self.allowed)

    @cached_property
    def allowed(self) -> IntArray:
        """Shape (K, 2): the candidate reviews; millions in large tables, see ``candidates`` for them one by one."""
        return np.concatenate([no_pairs(), *self.candidates.chunks()])

    @abstractmethod
    def reaches(self, pairs: IntArray) -> bool:
        """Whether the target is reached with these reviews and the fixed ones."""

    @abstractmethod
    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cuts that these reviews break."""

    def possible(self) -> bool:
        """Whether all candidates together, loads and limits aside, reach the target; true where they are too many."""
        return self.task.candidates_up_to > RELAX_UP_TO or self.reaches(self.allowed)


class Candidates:
    """Allowed pairs whose item the reviewer's block does not cover yet, or is short of reviews, reviewer by reviewer.

    In large tables they are too many to be held at once, so they are found anew whenever they are gone through.
    """

    def __init__(self, task: Task) -> None:
        count = task.start.size
        self.task, self.root = task, task.block_labels(task.start)
        owner, item = self.root[task.start.block[:count]], task.start.item[:count]
        order = np.argsort(owner, kind="stable")
        self.covered = item[order]
        self.start = np.searchsorted(owner[order], np.arange(self.root.size + 1))
        self.closed = task.needs.each <= 0

    def of(self, reviewer: int) -> IntArray:
        """Items that a reviewer may be given to some use, ascending."""
        task, block = self.task, self.root[self.task.home[reviewer]]
        if task.spare[reviewer] <= 0:
            return np.empty(0, np.int64)
        free = np.zeros(task.n_items, np.bool_)
        free[task.constraints.readable(reviewer)] = True
        free &= task.room > 0
        own = self.covered[self.start[block] : self.start[block + 1]]
        free[own[self.closed[own]]] = False
        return np.flatnonzero(free)

    def chunks(self, reviewers: IntArray | None = None) -> Iterator[IntArray]:
        """Pairs of all reviewers, or some, ascending, so many at once that an array of them is no burden."""
        some = np.flatnonzero(self.task.spare > 0) if reviewers is None else reviewers
        chunk: list[IntArray] = []
        size = 0
        for j in some.tolist():
            items = self.of(j)
            chunk.append(np.column_stack([np.full(items.size, j), items]))
            size += items.size
            if size >= AT_ONCE:
                yield np.concatenate(chunk)
                chunk, size = [], 0
        if chunk:
            yield np.concatenate(chunk)

    def more_than(self, most: int, reviewers: IntArray | None = None) -> bool:
        """Whether there are more than some number of them, without a list of all."""
        some, count = np.flatnonzero(self.task.spare > 0) if reviewers is None else reviewers, 0
        for j in some.tolist():
            count += self.of(j).size
            if count > most:
                return True
        return False
