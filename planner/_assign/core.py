"""The core of an assignment under change: the group of reviewers that covers most required items.

:func:`promise` ranks the pairs that would add to the core; :class:`Core` keeps the groups up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.kernels import core as kernels
from planner._assign.problem import Readable
from reviewgraph._base import distinct
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Network
    from reviewgraph._base import BoolArray, IntArray


class Parts(Readable, kernels.Parts):
    """The components of an assignment, for kernels and for NumPy."""


def largest_cover(aim: Aim, table: Reviews, required: BoolArray) -> int:
    """Count the required items that the largest group of a table covers."""
    covers = distinct(aim.groups(table).labels[table.reviewer] * table.n_items + table.item)
    return int(np.bincount(covers // table.n_items, required[covers % table.n_items], 1).max()) if covers.size else 0


def promise(
    net: Network, cost: IntArray, parts: Parts, required: BoolArray, shared: int, floor: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return loss, further loss and gain of forcing each pair, see :func:`.kernels.core.rate_pairs`; shapes (P,)."""
    steps = kernels.no_steps(net.n_held.size)
    kernels.find_weights(net, parts, required, steps)
    kernels.find_steps(net, cost, parts, floor, steps)
    loss, follow, gain = np.zeros((3, cost.size), np.int64)
    kernels.rate_pairs(net, cost, parts, required, shared, floor, steps, loss, follow, gain)
    return loss, follow, gain


#: Beyond every limit on a path: distances stay below.
NO_LIMIT = 1 << 61

#: No pairs at all.
NO_PAIRS = np.empty(0, np.int64)


@dataclass
class Core:
    """The group of reviewers that covers most required items, updated while the assignment changes.

    ``parts`` are the groups of reviewers, ``count`` the number of required items that the core covers, of ``total``.
    """

    net: Network
    required: BoolArray  # items that the core must cover, shape (N,)
    aim: Aim  # the level, which defines when two groups merge

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())
        self.regroup()

    def regroup(self) -> None:
        """Compute the components, and the core among them."""
        self.parts = self.parts_with()

    def parts_with(self, more: IntArray = NO_PAIRS, without: int = -1) -> Parts:
        """Return the components of the assignment with more pairs, and without a reviewer (-1: with all)."""
        n_reviewers = self.net.n_held.size
        parts = Parts(
            label=np.empty(n_reviewers, np.int64),
            covered=np.empty(self.required.size, np.bool_),
            witness=np.empty(n_reviewers, np.int64),
        )
        kernels.find_parts(parts, kernels.lists_of(self.net, more, without), self.required, self.aim.shared)
        return parts

    @property
    def count(self) -> int:
        return self.parts.count

    def at_level(self) -> bool:
        return (self.aim.core_suffices and self.count == self.total) or self.aim.holds_early(self.table)

    def holds_with(self, more: IntArray = NO_PAIRS) -> bool:
        """Whether the level would hold with further pairs in addition to those assigned, whatever demands and loads."""
        if self.aim.core_suffices and self.parts_with(more).count == self.total:
            return True
        return self.aim.holds_early(lambda: self.table(more))

    def table(self, more: IntArray = NO_PAIRS) -> Reviews:
        """Return the pairs assigned, and more, as a table of reviews."""
        net = self.net
        assigned = net.assigned.copy()
        assigned[more] = True
        pairs = np.flatnonzero(assigned)
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )

    def holds_after(self, least: int) -> bool:
        """Whether the core covers ``least`` required items of an assignment that has changed; if so, it is updated."""
        parts = self.parts_with()
        if parts.count < least:
            return False
        self.parts = parts
        return True

    def gains_by(self, pair: int) -> bool:
        """Whether a pair would still add something to the core, or halfway."""
        item = self.net.item[pair]
        group = self.parts.label[self.net.reviewer[pair]]
        movable = not (self.net.assigned[pair] or self.net.locked[pair])
        parted = self.parts.covered[item] != (group == self.parts.core)
        return bool(movable and parted and self.parts.witness[group] != item)
