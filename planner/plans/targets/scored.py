"""Plans for the target *double* when tied scores carry no scale: a greedy that asks the score-aware closure each step.

A new review is taken to be scored unlike the others of its reviewer. So a reviewer j of the main group who shares
item u with a reviewer j' elsewhere joins the two groups by reading an item that j' scored otherwise than u; and one who
shares nothing, by reading two items that j' scored differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Bound
from planner.plans.model.tables import as_pairs, no_pairs
from planner.plans.model.task import new_task
from planner.plans.targets.by_growth import cheap_bounds
from reviewgraph.components import doubly_connected_components, is_recovery_resilient

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task
    from reviewgraph.components import Components
    from reviewgraph.labels import IntArray

#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 200_000


def fill(task: Task, ledger: Ledger) -> None:
    """Find a plan; the lower bounds are those of the structure, which scores can only raise."""
    if _done(task, no_pairs()):
        ledger.nothing_to_do(no_pairs())
        return
    # What joins with ties joins without them, so a bound of the structure alone holds here too.
    structural = new_task(task.constraints, 4)
    if structural.is_done:
        ledger.prove(Bound(1, "unfinished", "tied scores leave papers apart"))
    else:
        cheap_bounds(structural, ledger)
    if task.n_items > 1 and not task.start.class_of.any():
        ledger.infeasible = True
        ledger.reasons.append(
            "reviewers' tied scores chain all papers together, so that no two have different qualities"
        )
        return
    if not _possible(task):
        ledger.infeasible = True
        return
    # Greedily: each round adds what joins most now, until all is joined; then what is not needed goes.
    pairs = no_pairs()
    while ledger.in_time:
        if _done(task, pairs):
            ledger.offer(_pruned(task, pairs, ledger))
            ledger.cheapest = not task.constraints.cost
            return
        more = _next(task, pairs)
        if not more:
            return
        pairs = np.vstack([pairs, np.array(more, np.int64)])


def _done(task: Task, pairs: IntArray) -> bool:
    return is_recovery_resilient(task.table(pairs), use_scores=True)


def _possible(task: Task) -> bool:
    if int((task.spare > 0).sum()) * task.n_items > RELAX_UP_TO:
        return True
    return _done(task, _every_candidate(task))


def _every_candidate(task: Task) -> IntArray:
    """Return all allowed pairs; an item of the reviewer's own group may help, for its score is a new one."""
    rules = task.constraints
    taken = set(map(tuple, rules.fixed.tolist()))
    found = [
        (j, i)
        for j in np.flatnonzero(task.spare > 0).tolist()
        for i in rules.readable(j).tolist()
        if task.room[i] > 0 and (j, i) not in taken
    ]
    return as_pairs(found)


def _pruned(task: Task, pairs: IntArray, ledger: Ledger) -> IntArray:
    """Remove reviews that are not needed, the first ones first."""
    place = 0
    while place < len(pairs) and ledger.in_time:
        fewer = np.delete(pairs, place, axis=0)
        if _done(task, fewer):
            pairs = fewer
        else:
            place += 1
    return pairs


def _next(task: Task, pairs: IntArray) -> list[tuple[int, int]]:
    """One review that joins a group to the main one, or two, or one that brings an item; or none."""
    groups = doubly_connected_components(task.table(pairs), use_scores=True)
    rules = _Rules(task, pairs, groups)
    best, chosen = 0, None
    for other in np.flatnonzero(groups.labels != rules.main).tolist():
        gain = rules.gain(int(groups.labels[other]))
        if gain > best:
            join = rules.join(other)
            if join is not None:
                best, chosen = gain, [join]
    return chosen or rules.join_by_two() or rules.bring()


class _Rules:
    """What may be read next, and what the groups are."""

    def __init__(self, task: Task, pairs: IntArray, groups: Components) -> None:
        self.constraints, self.groups, self.table = task.constraints, groups, groups.reviews
        self.main = int(np.argmax(groups.cover_sizes))
        self.left = task.left(pairs)
        self.spare = self.left.spare
        self.inside = set(groups.covers[self.main].tolist())
        self.members = sorted(np.flatnonzero(groups.labels == self.main).tolist(), key=lambda j: -int(self.spare[j]))
        self.scores = dict(
            zip(zip(self.table.reviewer.tolist(), self.table.item.tolist(), strict=True), self.table.score, strict=True)
        )

    def gain(self, group: int) -> int:
        """Items a group would bring."""
        return len(set(self.groups.covers[group].tolist()) - self.inside)

    def free(self, reviewer: int, item: int) -> bool:
        """Whether a pair may still be read."""
        return (
            self.left.open(reviewer, item)
            and (reviewer, item) not in self.scores
            and self.constraints.may_read(reviewer, item)
        )

    def join(self, other: int) -> tuple[int, int] | None:
        """Find a review by a member of the main group that joins the group of ``other``."""
        items = self.table.items_of(other).tolist()
        for u in items:
            for j in self.table.reviewers_of(u).tolist():
                if self.groups.labels[j] == self.main and self.spare[j] > 0:
                    for i in items:
                        if self.scores[other, i] != self.scores[other, u] and self.free(j, i):
                            return j, i
        return None

    def join_by_two(self) -> list[tuple[int, int]]:
        """Two reviews by one member of the main group, of items that an outsider scored differently."""
        outside = [j for j in range(self.table.n_reviewers) if self.groups.labels[j] != self.main]
        for other in sorted(outside, key=lambda j: -self.gain(int(self.groups.labels[j]))):
            items = self.table.items_of(other).tolist()
            if self.gain(int(self.groups.labels[other])) < 2:
                break
            for j in self.members:
                if self.spare[j] < 2:
                    break
                free = [i for i in items if self.free(j, i)]
                differ = [i for i in free if self.scores[other, i] != self.scores[other, free[0]]]
                if differ:
                    return [(j, free[0]), (j, differ[0])]
        return []

    def bring(self) -> list[tuple[int, int]]:
        """Find a review by the main group of an item that it lacks, or one that enlists an outsider."""
        lacking = [i for i in range(self.table.n_items) if i not in self.inside]
        for j in self.members:
            for i in lacking:
                if self.free(j, i):
                    return [(j, i)]
        for j in np.flatnonzero((self.groups.labels != self.main) & (self.spare > 1)).tolist():
            for i in sorted(self.inside):
                if self.free(j, i):
                    return [(j, i)]
        return []
