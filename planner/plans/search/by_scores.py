"""Plans for the target *double* when tied scores carry no scale: a greedy that asks the score-aware closure each step.

A new review is taken to be scored unlike the others of its reviewer. So a reviewer j of the main group who shares
item u with a reviewer j' elsewhere joins the two groups by reading an item that j' scored otherwise than u; and one who
shares nothing, by reading two items that j' scored differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import as_pairs
from planner.plans.model.task import looked_at
from reviewgraph.components import doubly_connected_components, is_recovery_resilient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.components import Components
    from reviewgraph.labels import IntArray

#: Reviews taken out at once in an exchange, at most.
TAKEN_OUT = 4
#: Work, see :class:`reviewgraph.clock.Clock`, of the next review of a plan, for each review of the table.
NEXT = 1e-5


def reached(task: Task, pairs: IntArray) -> bool:
    """Whether some more reviews, scored unlike all others, reach the target."""
    return is_recovery_resilient(task.table(pairs), use_scores=True)


def merges(task: Task, pairs: IntArray) -> Iterator[list[int]]:
    """For each review in turn, one reviewer of each further group that joins the reviewer's.

    Scores join groups that no structure of covers does: of two reviewers who tell the same two items apart.
    """
    before = doubly_connected_components(task.table(pairs[:0]), use_scores=True).labels
    for place, (j, _) in enumerate(pairs.tolist()):
        after = doubly_connected_components(task.table(pairs[: place + 1]), use_scores=True).labels
        groups, first = np.unique(before, return_index=True)
        joined = (after[first] == after[j]) & (groups != before[j])
        yield first[joined].tolist()
        before = after


def completed(task: Task, pairs: IntArray, clock: Clock, rng: np.random.Generator | None = None) -> IntArray | None:
    """Add reviews until the target is reached; None where that gets stuck or time ends.

    Parameters
    ----------
    task, pairs
        What to plan, and reviews to begin with.
    clock
        When to end.
    rng
        Orders in which groups, reviewers and items are tried; by default the largest group first, then by index.
    """
    while not clock.over():
        if reached(task, pairs):
            return pairs
        more = _next(task, pairs, rng)
        clock.spend(NEXT * task.constraints.reviews.n_reviews)
        if not more:
            return None
        pairs = np.vstack([pairs, as_pairs(more)])
    return None


def pruned(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Remove reviews that are not needed, the first ones first."""
    place = 0
    while place < len(pairs) and not clock.over():
        fewer = np.delete(pairs, place, axis=0)
        clock.spend(looked_at(task.constraints.reviews))
        if reached(task, fewer):
            pairs = fewer
        else:
            place += 1
    return pairs


def exchanged(task: Task, pairs: IntArray, clock: Clock, rng: np.random.Generator) -> IntArray:
    """Take some reviews out at random and complete the plan anew; the plan itself where that is longer."""
    gone = rng.permutation(len(pairs))[: rng.integers(1, min(TAKEN_OUT, len(pairs)) + 1)]
    found = completed(task, rng.permutation(np.delete(pairs, gone, axis=0)), clock, rng)
    if found is None:
        return pairs
    found = pruned(task, found, clock)
    return found if len(found) <= len(pairs) else pairs


def _next(task: Task, pairs: IntArray, rng: np.random.Generator | None) -> list[tuple[int, int]]:
    """One review that joins a group to the main one, or two, or one that brings an item; or none."""
    rules = _Rules(task, pairs, doubly_connected_components(task.table(pairs), use_scores=True), rng)
    best, chosen = 0.0, None
    for other in rules.outside:
        gain = rules.worth(other)
        if gain > best:
            join = rules.join(other)
            if join is not None:
                best, chosen = gain, [join]
    return chosen or rules.join_by_two() or rules.bring()


class _Rules:
    """What may be read next, and what the groups are."""

    def __init__(self, task: Task, pairs: IntArray, groups: Components, rng: np.random.Generator | None) -> None:
        self.constraints, self.groups, self.table, self.rng = task.constraints, groups, groups.reviews, rng
        self.main = self._main_group()
        self.left = task.left(pairs)
        self.spare = self.left.spare
        self.inside = set(groups.covers[self.main].tolist())
        self.outside = self._shuffled(np.flatnonzero(groups.labels != self.main))
        members = self._shuffled(np.flatnonzero(groups.labels == self.main))
        self.members = sorted(members, key=lambda j: -int(self.spare[j])) if rng is None else members
        self.scores = dict(
            zip(zip(self.table.reviewer.tolist(), self.table.item.tolist(), strict=True), self.table.score, strict=True)
        )

    def _main_group(self) -> int:
        """Return the group that is to grow: the largest, or one at random, larger ones more often."""
        sizes = self.groups.cover_sizes
        if self.rng is None or not sizes.any():
            return int(np.argmax(sizes))
        return int(self.rng.choice(sizes.size, p=sizes**2 / (sizes**2).sum()))

    def _shuffled(self, codes: IntArray) -> list[int]:
        found: list[int] = (codes if self.rng is None else codes[self.rng.permutation(len(codes))]).tolist()
        return found

    def gain(self, group: int) -> int:
        """Items a group would bring."""
        return len(set(self.groups.covers[group].tolist()) - self.inside)

    def worth(self, other: int) -> float:
        """Items that the group of a reviewer would bring; times 1 to 2 at random, where orders are random."""
        return self.gain(int(self.groups.labels[other])) * (1.0 if self.rng is None else 1.0 + self.rng.random())

    def free(self, reviewer: int, item: int) -> bool:
        """Whether a pair may still be read."""
        return (
            self.left.open(reviewer, item)
            and (reviewer, item) not in self.scores
            and self.constraints.may_read(reviewer, item)
        )

    def join(self, other: int) -> tuple[int, int] | None:
        """Find a review by a member of either group that joins the main group and that of ``other``."""
        items = self._shuffled(self.table.items_of(other))
        for u in items:
            for j in self._shuffled(self.table.reviewers_of(u)):
                if self.groups.labels[j] != self.main:
                    continue
                for reader, things, seen in ((j, items, other), (other, self.table.items_of(j).tolist(), j)):
                    for i in things if self.spare[reader] > 0 else ():
                        if self.scores[seen, i] != self.scores[seen, u] and self.free(reader, i):
                            return reader, i
        return None

    def join_by_two(self) -> list[tuple[int, int]]:
        """Two reviews by one member of the main group, of items that an outsider scored differently."""
        for other in sorted(self.outside, key=lambda j: -self.worth(j)):
            items = self._shuffled(self.table.items_of(other))
            if self.gain(int(self.groups.labels[other])) < 2:
                continue
            for j in self.members:
                free = [i for i in items if self.free(j, i)] if self.spare[j] > 1 else []
                differ = [i for i in free if self.scores[other, i] != self.scores[other, free[0]]]
                if differ:
                    return [(j, free[0]), (j, differ[0])]
        return []

    def bring(self) -> list[tuple[int, int]]:
        """Find a review by the main group of an item that it lacks, or one that enlists an outsider."""
        lacking = self._shuffled(np.setdiff1d(np.arange(self.table.n_items), list(self.inside)))
        for j in self.members:
            for i in lacking:
                if self.free(j, i):
                    return [(j, i)]
        for j in self.outside:
            for i in self._shuffled(np.array(sorted(self.inside), np.int64)) if self.spare[j] > 1 else ():
                if self.free(j, i):
                    return [(j, i)]
        return []
