"""Who must not drop out: growth from a few seeds with one reviewer left out, and the exact closure behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.core import groups_of, largest_cover, nothing_grown
from planner.assignments.steps.dropouts import clear, reached, uncovered_without
from planner.assignments.steps.grouping import seeds_of

if TYPE_CHECKING:
    from planner.assignments.steps.grouping import Core
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Disjoint seeds to grow from.
WATCHED = 4


class Watch:
    """Growth from a few disjoint seeds with one reviewer left out, so that no drop-out takes all of them.

    A seed is two reviewers who share two items, or one reviewer where there are too few of those; :meth:`sound`
    says whether they still do after the assignment has changed.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        reviews = core.table()
        label = np.arange(reviews.n_reviewers)
        used: set[int] = set()
        self.pairs: list[tuple[int, int]] = []
        merges = core.aim.groups(reviews).merges if core.aim.shared > 1 else np.empty((0, 4), np.int64)
        for a, b in seeds_of(reviews, merges):
            if not used & {a, b} and len(self.pairs) < WATCHED:
                used |= {a, b}
                label[b] = a
                self.pairs.append((a, b))
        busiest = np.argsort(-reviews.loads, kind="stable")[: 3 * WATCHED].tolist()
        first = [a for a, _ in self.pairs] + [j for j in busiest if j not in used]
        distinct, compact = np.unique(label, return_inverse=True)
        self.groups = groups_of(compact.astype(np.int64))
        self.seeds = np.searchsorted(distinct, np.array(first[:WATCHED], np.int64)).astype(np.int64)
        self.grown = nothing_grown(core.required.size, self.groups.start.size - 1)
        self.used = np.zeros(label.size, np.bool_)

    def sound(self) -> bool:
        """Whether the reviewers of each seed still share two items."""
        net = self.core.net

        def items_of(j: int) -> set[int]:
            first = int(net.held_start[j])
            return set(net.item[net.held[first : first + int(net.n_held[j])]].tolist())

        return all(len(items_of(a) & items_of(b)) > 1 for a, b in self.pairs)

    def reaches(self, least: int) -> bool:
        """Whether the component of some seed covers so many required items; false where a seed has fallen apart."""
        return self.sound() and any(self._reached(seed, -1) >= least for seed in self.seeds.tolist())

    def missing(self, clock: Clock) -> IntArray:
        """Items that no growth reaches without each reviewer in turn: at least what is truly missing.

        Raises
        ------
        TimeOver
            If the clock is over before all were left out.
        """
        core = self.core
        within = (core.net, self.groups, self.grown, core.required)
        left = np.full(core.net.n_held.size, -1, np.int64)
        good = clear(*within, self.seeds, core.aim.shared, left)
        # First growths with everybody clear most; the others leave one after another.
        waiting = np.flatnonzero(left < 0)
        for first, last in clock.pieces(waiting.size):
            uncovered_without(*within, good, core.aim.shared, waiting[first:last], left)
        return left

    def missing_one(self, reviewer: int) -> int:
        """Items that no growth reaches without one reviewer; ``grown`` is left as the best growth has it."""
        counts = [self._reached(seed, reviewer) for seed in self.seeds.tolist()]
        best = int(np.argmax(counts))
        if best != len(counts) - 1:
            self._reached(int(self.seeds[best]), reviewer)
        return self.core.total - counts[best]

    def _reached(self, seed: int, without: int) -> int:
        core = self.core
        return reached(core.net, self.groups, self.grown, core.required, seed, core.aim.shared, without, self.used)


def missing_without(core: Core, clock: Clock) -> IntArray:
    """Count required items outside the best component after each reviewer in turn drops out, shape (M,); exact.

    Growth from seeds in the core, one reviewer after another, clears most reviewers; the others get the full
    closure. Takes O(M E).

    Raises
    ------
    TimeOver
        If the clock is over before it is known of all.
    """
    left = Watch(core).missing(clock)
    for reviewer in clock.watch(np.flatnonzero(left > 0).tolist()):
        left[reviewer] = truly_missing(core, reviewer)
    return left


def truly_missing(core: Core, reviewer: int) -> int:
    """Count required items outside the best component after one reviewer drops out, by the full closure."""
    reviews = core.table()
    rest = reviews.subset(reviews.reviewer != reviewer)
    return core.total - largest_cover(core.aim, rest, core.required)
