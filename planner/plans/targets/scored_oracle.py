"""Cuts for the target *double* when tied scores carry no scale: largest sets of reviews that still miss the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.oracle import Cut, Oracle
from planner.plans.model.tables import as_pairs, no_pairs
from reviewgraph.components import tie_classes

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Sets of reviews that miss the target, made from one that was found.
SETS = 4


class ScoredOracle(Oracle):
    """One group of the score-aware closure covers all items.

    A new review is scored unlike the others of its reviewer, so it takes nothing away: what reaches the target does so
    with any more reviews. If a set of reviews misses it, and does with none of the others, a plan holds one of the
    others.
    """

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        super().__init__(task)
        # An item of the reviewer's own group may help as well, for its score is a new one.
        self.allowed, self.rng, self.closure = every_candidate(task), rng, Closure(task)

    def reaches(self, pairs: IntArray) -> bool:
        """Close, and look for a group that covers all items."""
        return self.closure.finishes([tuple(pair) for pair in pairs.tolist()])

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Add candidates in random order as long as the target is missed; the others are what a plan needs one of."""
        place = {tuple(pair): k for k, pair in enumerate(self.allowed.tolist())}
        chosen = [tuple(pair) for pair in pairs.tolist()]
        for _ in range(SETS):
            rest = [pair for pair in place if pair not in set(chosen)]
            most = self._extended(chosen, [rest[k] for k in self.rng.permutation(len(rest))])
            leaves = np.ones(len(self.allowed), np.int64)
            leaves[[place[pair] for pair in most]] = 0
            yield Cut(leaves, 1, set())

    def _extended(self, chosen: list[tuple[int, ...]], more: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Add what leaves the target missed, whole halves at once."""
        if not self.closure.finishes(chosen + more):
            return chosen + more
        if len(more) == 1:
            return chosen
        half = len(more) // 2
        return self._extended(self._extended(chosen, more[:half]), more[half:])


class Closure:
    """The score-aware closure of few reviewers, on bit masks: sets of items are whole numbers.

    Two reviewers are of one group where each of them gives the items they share more than one score; two groups,
    where the items they share are of more than one tie class.
    """

    def __init__(self, task: Task) -> None:
        table = task.table(no_pairs()).only_scored()
        self.full = (1 << task.n_items) - 1
        self.covers, self.alike = [0] * table.n_reviewers, [dict[int, int]() for _ in range(table.n_reviewers)]
        by_score: dict[tuple[int, float], int] = {}
        rows = list(zip(table.reviewer.tolist(), table.item.tolist(), table.score.tolist(), strict=True))
        for j, i, score in rows:
            self.covers[j] |= 1 << i
            by_score[j, score] = by_score.get((j, score), 0) | 1 << i
        for j, i, score in rows:
            self.alike[j][i] = by_score[j, score]
        label = tie_classes(table)
        self.tied = [sum(1 << int(u) for u in np.flatnonzero(label == label[i])) for i in range(task.n_items)]
        self.apart = task.n_items < 2 or bool((label > 0).any())

    def finishes(self, pairs: list[tuple[int, ...]]) -> bool:
        """Whether some more reviews, each with a score of its own, make one group of all items."""
        covers = list(self.covers)
        for j, i in pairs:
            covers[j] |= 1 << i
        groups = self._joined_by_reviewers(covers)
        while True:
            merged = self._merged(groups)
            if len(merged) == len(groups):
                return self.apart and any(group == self.full for group in groups)
            groups = merged

    def _joined_by_reviewers(self, covers: list[int]) -> list[int]:
        """Covers of the groups that reviewers make two by two."""
        home = list(range(len(covers)))
        for j, cover in enumerate(covers):
            for k in range(j):
                shared = cover & covers[k]
                if home[j] != home[k] and self._varies(j, shared) and self._varies(k, shared):
                    old, new = home[j], home[k]
                    home = [new if place == old else place for place in home]
        found: dict[int, int] = {}
        for place, cover in zip(home, covers, strict=True):
            found[place] = found.get(place, 0) | cover
        return list(found.values())

    def _varies(self, reviewer: int, items: int) -> bool:
        """Whether a reviewer gives some items more than one score; a new review's is unlike all others."""
        first = items & -items
        return bool(items & ~self.alike[reviewer].get(first.bit_length() - 1, first))

    def _merged(self, groups: list[int]) -> list[int]:
        """Return the groups once each has taken in those of the ones before it that share items of two tie classes."""
        merged: list[int] = []
        for group in groups:
            apart = []
            for other in merged:
                shared = group & other
                if shared and shared & ~self.tied[(shared & -shared).bit_length() - 1]:
                    group |= other
                else:
                    apart.append(other)
            merged = [*apart, group]
        return merged


def every_candidate(task: Task) -> IntArray:
    """Return all allowed pairs, shape (K, 2)."""
    return as_pairs(
        (j, i) for j in np.flatnonzero(task.spare > 0).tolist() for i in _unfixed(task, j) if task.room[i] > 0
    )


def _unfixed(task: Task, reviewer: int) -> list[int]:
    fixed = task.constraints.fixed
    return [i for i in task.constraints.readable(reviewer).tolist() if not ((fixed == (reviewer, i)).all(axis=1)).any()]
