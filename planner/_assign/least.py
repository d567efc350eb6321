"""A lower bound on the affinity that a level costs, by linear programming duality and a count of missing links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._assign.core import NO_PAIRS
from planner._assign.flow import TIE_BITS
from reviewgraph._base import distinct
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.core import Core
    from planner._assign.linking import Cycles
    from planner._assign.problem import Problem
    from reviewgraph._base import Clock, IntArray


#: Steps of bisection for the number of cheap pairs that leave the level out of reach.
STEPS = 5


def least_loss(core: Core, cycles: Cycles, problem: Problem, clock: Clock) -> int:
    """Bound from below the cost of the level, in whole units, at the unconstrained optimum with settled potentials.

    Another assignment loses at least the reduced costs of its new pairs (linear programming duality). Take all pairs
    of reduced cost below some value as assigned: if groups and covers still miss the level, some new pairs must be
    dearer and leave the cover of their reviewer's group, at least the number of links that the level counts as missing,
    because one pair adds one link at most. The number of cheap pairs is increased until the level is in reach, then
    narrowed down by bisection, and the best bound counts. Takes O(log P) closures.
    """
    net = core.net
    reduced = np.maximum(cycles.losses(np.arange(cycles.cost.size)), 0).astype(np.int64)
    order = np.flatnonzero(~net.assigned & ~net.locked)
    order = order[np.argsort(reduced[order], kind="stable")]
    # Papers left behind after a first phase need no links, so only one is certain there.
    single = bool(problem.old.any())
    groups = _Groups(core, np.arange(problem.n_reviewers)).joined(np.flatnonzero(net.assigned))
    best, high = groups.bound(reduced, order, single=single)
    # Fewer pairs than links cannot reach it; then four times as many each time, until they are enough for the level.
    low = 0
    while high < order.size and not clock.over():
        wider = groups.joined(order[low:high])
        if not wider.missing():
            break
        groups = wider
        low = high
        best = max(best, groups.bound(reduced, order[low:], single=single)[0])
        high *= 4
    # Bisection: the level is out of reach with ``low`` pairs and in reach with ``high``.
    high = min(high, order.size)
    for _ in range(STEPS):
        middle = (low + high) // 2
        if middle <= low or clock.over():
            break
        wider = groups.joined(order[low:middle])
        if wider.missing():
            groups = wider
            low = middle
            best = max(best, groups.bound(reduced, order[low:], single=single)[0])
        else:
            high = middle
    # Rounding and ties, per pair removed and added.
    return max(best - (2 * int(net.assigned.sum()) << TIE_BITS), 0)


class _Groups:
    """Groups of reviewers with some pairs: ``label`` of each reviewer, shape (M,), and sorted group * N + item."""

    def __init__(self, core: Core, label: IntArray, covers: IntArray = NO_PAIRS) -> None:
        self.core = core
        self.label = label
        self.covers = covers
        size = int(label.max(initial=-1)) + 1
        self.n_items = core.required.size
        self.table = Reviews.from_codes(
            covers // self.n_items, covers % self.n_items, reviewers=size, items=self.n_items
        )

    def joined(self, pairs: IntArray) -> _Groups:
        """Return the groups with more pairs."""
        more = _Groups(self.core, self.label, distinct(self.covers, self._numbers(pairs)))
        label = self.core.aim.groups(more.table).labels
        covers = distinct(label[more.table.reviewer] * self.n_items + more.table.item)
        return _Groups(self.core, label[self.label], covers)

    def _numbers(self, pairs: IntArray) -> IntArray:
        net = self.core.net
        return np.asarray(self.label[net.reviewer[pairs]] * self.n_items + net.item[pairs])

    def missing(self) -> bool:
        """Whether the level is missed."""
        covered = np.bincount(self.table.reviewer, self.core.required[self.table.item], 1)
        return bool(covered.max() < self.core.total) and not self.core.aim.holds_early(lambda: self.table)

    def bound(self, reduced: IntArray, order: IntArray, *, single: bool) -> tuple[int, int]:
        """Return the least loss of pairs that supply the missing links, the cheapest of an order, and their number."""
        links = 1 if single else max(self.core.aim.links(self.table), 1)
        cross = NO_PAIRS
        end = 0
        while cross.size < links and end < order.size:
            pairs = order[end : end + max(2 * links, end)]
            end += pairs.size
            numbers = self._numbers(pairs)
            # Beyond the last cover, of which there is none where nobody has a paper, stands no number.
            nearest = np.append(self.covers, -1)[np.searchsorted(self.covers, numbers)]
            cross = np.append(cross, pairs[nearest != numbers])
        return int(reduced[cross[:links]].sum()) if cross.size >= links else 0, links
