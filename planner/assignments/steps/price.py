"""What a connection level must cost at least."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.flow import TIE_BITS
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.linking import Linker
    from reviewgraph.labels import IntArray

#: Steps that narrow down how many cheap pairs leave the level out of reach.
STEPS = 5


class _Groups(NamedTuple):
    """Reviewers by group, shape (M,), and the covers: sorted numbers group * N + item."""

    label: IntArray
    covers: IntArray


def least_loss(linker: Linker, problem: Problem, scale: float) -> float:
    """Bound from below what affinity the level costs, at the unconstrained optimum with settled potentials.

    ``scale`` is the steps of rounding in a unit of affinity.

    Another assignment loses the reduced costs of its new pairs at least (linear programming duality). Take all pairs
    of reduced cost below some value as assigned: if groups and covers still miss the level, some new pairs must be
    dearer and leave the cover of their reviewer's group, as many as the level counts links to be missing, because one
    pair brings one link at most. The number of cheap pairs is raised until the level is in reach, then narrowed down,
    and the best bound counts. Takes O(log P) closures.
    """
    net = linker.net
    reduced = np.maximum(linker.reduced(np.arange(linker.cost.size)), 0)
    movable = np.flatnonzero(~net.assigned & ~net.locked)
    order = movable[np.argsort(reduced[movable], kind="stable")]
    search = _Bounds(linker, problem, reduced, order)
    # Four times as many cheap pairs each time, until they are enough for the level.
    high = 1
    while high < order.size and not linker.clock.over() and search.out_of_reach(high):
        high *= 4
    # Bisection: the level is out of reach with ``search.cheap`` pairs and in reach with ``high``.
    for _ in range(STEPS):
        middle = (search.cheap + min(high, order.size)) // 2
        if middle <= search.cheap or linker.clock.over():
            break
        if not search.out_of_reach(middle):
            high = middle
    best = search.best - (2 * int(net.assigned.sum()) << TIE_BITS)  # rounding and ties, of a pair gone and one come
    return max(best, 0) / scale / 2.0**TIE_BITS if scale > 0 else 0.0


class _Bounds:
    """Groups with the ``cheap`` cheapest pairs assigned, while the level is out of reach, and the best bound so far."""

    def __init__(self, linker: Linker, problem: Problem, reduced: IntArray, order: IntArray) -> None:
        self.linker, self.problem, self.reduced, self.order = linker, problem, reduced, order
        alone = np.arange(problem.n_reviewers)
        assigned = self._numbers(np.flatnonzero(linker.net.assigned), alone)
        self.groups, self.cheap = self._merged(_Groups(alone, np.unique(assigned))), 0
        self.best = self._bound()

    def out_of_reach(self, cheap: int) -> bool:
        """Whether the level is missed even with so many cheap pairs; if so, go on from there."""
        core, label = self.linker.core, self.groups.label
        more = self._numbers(self.order[self.cheap : cheap], label)
        then = self._merged(_Groups(label, np.union1d(self.groups.covers, more)))
        table = self._table(then)
        covered = np.bincount(table.reviewer, core.required[table.item].astype(float), 1)
        if covered.max() >= core.total or core.aim.holds_early(lambda: table):
            return False
        self.groups, self.cheap = then, cheap
        self.best = max(self.best, self._bound())
        return True

    def _numbers(self, pairs: IntArray, label: IntArray) -> IntArray:
        """Give a number to each pair's group and item."""
        net = self.linker.net
        numbers: IntArray = label[net.reviewer[pairs]] * self.problem.n_items + net.item[pairs]
        return numbers

    def _table(self, groups: _Groups) -> Reviews:
        """Make a table of reviews of groups and the items they cover."""
        size, n_items = int(groups.label.max(initial=-1)) + 1, self.problem.n_items
        return Reviews.from_codes(groups.covers // n_items, groups.covers % n_items, reviewers=size, items=n_items)

    def _merged(self, groups: _Groups) -> _Groups:
        """Merge groups that share enough."""
        n_items = self.problem.n_items
        merged = self.linker.core.aim.groups(self._table(groups)).labels
        covers = np.unique(merged[groups.covers // n_items] * n_items + groups.covers % n_items)
        return _Groups(merged[groups.label], covers)

    def _bound(self) -> int:
        """Loss of the pairs that must come beside those already within the groups."""
        net, covers = self.linker.net, self.groups.covers
        numbers = self._numbers(np.arange(self.reduced.size), self.groups.label)
        place = np.minimum(np.searchsorted(covers, numbers), covers.size - 1)
        cross = self.reduced[~net.assigned & ~net.locked & (covers[place] != numbers)]
        # Papers left behind after a first phase need no links, so only one is sure there.
        missing = 1 if self.problem.old.any() else self.linker.core.aim.links(self._table(self.groups))
        needed = max(missing, 1)
        return int(np.partition(cross, needed - 1)[:needed].sum()) if cross.size >= needed else 0
