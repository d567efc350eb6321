"""The target *connected*: one piece of the reviewer-item graph holds all items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.model.ledger import Bound
from planner.plans.model.oracle import Cut, Oracle
from planner.plans.model.tables import no_pairs, pieces
from planner.plans.model.target import Groups
from planner.plans.search.greedy import greedy_connected
from planner.plans.search.starts import joined_pieces
from planner.plans.targets.linked import nothing_to_do, settle_exactly, take_greedy
from planner.plans.targets.searched import SearchedTarget
from reviewgraph.components import connected_components
from reviewgraph.kernels.union_find import find, union
from reviewgraph.levels import Connected, level_named
from reviewgraph.words import noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level
    from reviewgraph.reviews import Reviews


class ConnectedTarget(SearchedTarget):
    """Groups are pieces of the graph; a review between two of them makes them one."""

    level: ClassVar[Level] = level_named(Connected.name)
    together = "linked to one another"
    apart = "linked to the others"
    scales = False

    def reaches(self, reviews: Reviews, *, use_scores: bool = False) -> bool:
        """Count the pieces that hold items."""
        return pieces(reviews) <= 1 and bool((reviews.reviews_per_item > 0).all())

    def groups(self, reviews: Reviews, *, use_scores: bool = False) -> Groups:
        """Return the pieces; items nobody reviews are pieces of their own."""
        found = connected_components(reviews)
        return Groups(found.labels, found.covers)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """Join the pieces of the reviewer and of the item."""
        M = task.home.size
        found = connected_components(task.table(no_pairs()))
        parent = np.concatenate([found.labels, found.item_labels])
        parent = np.unique(parent, return_index=True)[1][parent]  # each piece by its first vertex, a reviewer's if any
        for j, i in pairs.tolist():
            other = find.python(parent, M + i)
            apart = union.python(parent, j, M + i)
            yield [other] if apart and other < M else []

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """State the cuts of this level."""
        return ConnectedOracle(task)

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Take a spanning tree of the pieces, cheapest reviews first; where loads stop it, the integer programme."""
        oracle = ConnectedOracle(task)
        if nothing_to_do(oracle, ledger):
            return
        missing = max(1, pieces(task.table(no_pairs())) - 1)
        words = f"{missing + 1} pieces need {missing} {noun(missing, 'link')}"
        bound = Bound(missing, "pieces", words if task.n_items > 1 else "the paper is not reviewed")
        pairs, free = greedy_connected(oracle, ledger)
        if take_greedy(oracle, ledger, bound, pairs, free=free):
            return
        ledger.clock.check()
        if ledger.pairs is None and not oracle.possible():
            ledger.infeasible = True
            return
        settle_exactly(oracle, ledger)

    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        """Join the largest pieces."""
        yield joined_pieces(task, most, clock)


class ConnectedOracle(Oracle):
    """One piece holds all items."""

    threshold = 1

    def reaches(self, pairs: IntArray) -> bool:
        """Count the pieces that hold items."""
        table = self.task.table(pairs)
        return pieces(table) <= 1 and bool((table.reviews_per_item > 0).all())

    def possible(self) -> bool:
        """Let each reviewer join all that he may be given; takes M (M + N) for M reviewers and N items."""
        table = self.task.table(no_pairs())
        found, read = connected_components(table), table.reviews_per_item > 0
        who, what = found.labels.copy(), found.item_labels.copy()
        for j in np.flatnonzero(self.task.spare > 0).tolist():
            items = self.candidates.of(j)
            read[items] = True
            joined = np.append(what[items], who[j])
            who[np.isin(who, joined)] = what[np.isin(what, joined)] = who[j]
        return bool(np.unique(what).size <= 1 and read.all())

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Reviews between pieces must be one fewer than the pieces."""
        table = self.task.table(pairs)
        found = connected_components(table)
        leaves = found.labels[self.allowed[:, 0]] != found.item_labels[self.allowed[:, 1]]
        yield Cut(leaves.astype(np.int64), max(1, pieces(table) - 1), set(np.flatnonzero(table.loads == 0).tolist()))
