"""The core of an assignment under change: the group of reviewers that covers most required items, after losses, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.kernels import core as kernels
from reviewgraph._base import distinct
from reviewgraph.graph import Units, missing_without_units
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Network
    from reviewgraph._base import BoolArray, Clock, IntArray


#: Beyond every limit on a path: distances stay below.
NO_LIMIT = 1 << 61

#: No pairs at all.
NO_PAIRS = np.empty(0, np.int64)


def largest_cover(aim: Aim, table: Reviews, required: BoolArray) -> int:
    """Count the required items that the largest group of a table covers."""
    covers = distinct(aim.groups(table).labels[table.reviewer] * table.n_items + table.item)
    return int(np.bincount(covers // table.n_items, required[covers % table.n_items], 1).max()) if covers.size else 0


@dataclass
class Core:
    """The group of reviewers that covers most required items of an assignment that changes."""

    net: Network
    required: BoolArray  # items that the core must cover, shape (N,)
    aim: Aim  # the level, which defines when two groups merge

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())

    def count(self, more: IntArray = NO_PAIRS, without: int = -1) -> int:
        """Count required items that the core covers, with more pairs and without a reviewer (-1: with all)."""
        return int(kernels.largest_cover(self.net, more, without, self.required, self.aim.shared))

    def missing(self, more: IntArray = NO_PAIRS, without: int = -1) -> int:
        """Count required items outside the core, at least 1 where the level does not hold, and 0 where it does."""
        missing = self.total - self.count(more, without)
        if (not missing and self.aim.core_suffices) or (without < 0 and self.aim.holds_early(lambda: self.table(more))):
            return 0
        return max(missing, 1)

    def at_level(self) -> bool:
        return not self.missing()

    def growing(self) -> IntArray:
        """Return the pairs by which the core grows at once: further items of its reviewers, and further reviewers."""
        net = self.net
        table = self.table()
        groups = self.aim.groups(table).labels
        covers = distinct(groups[table.reviewer] * table.n_items + table.item)
        sizes = np.bincount(covers // table.n_items, self.required[covers % table.n_items])
        in_core = groups == np.argmax(sizes)
        covered = np.zeros(table.n_items, np.bool_)
        covered[table.item[in_core[table.reviewer]]] = True
        shared = np.bincount(table.reviewer, covered[table.item], net.n_held.size)
        joins = covered[net.item] & (shared[net.reviewer] >= self.aim.shared - 1)
        grows = np.where(in_core[net.reviewer], ~covered[net.item], joins)
        return np.flatnonzero(grows & ~np.asarray(net.assigned, np.bool_))

    def table(self, more: IntArray = NO_PAIRS) -> Reviews:
        """Return the pairs assigned, and more, as a table of reviews."""
        net = self.net
        assigned = net.assigned.copy()
        assigned[more] = True
        pairs = np.flatnonzero(assigned)
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )


# What must not be lost: exact counts, by adding and undoing reviews.


def missing_without(core: Core, clock: Clock, who: BoolArray | None = None, more: IntArray = NO_PAIRS) -> IntArray:
    """Count required items outside the best component after each reviewer, or each of ``who``, drops out; shape (M,).

    Reviewers are divided and conquered in O(E log M) steps and joins, O(M E) joins at worst. Raises Clock.Over.
    """
    reviews, required = _sharing_two(core, more)
    tested = np.arange(core.net.n_held.size) if who is None else np.flatnonzero(who)
    units = Units(reviews.reviewer_start, np.arange(reviews.n_reviews))
    return missing_without_units(reviews, units, tested, required, clock)


def missing_without_reviews(core: Core, clock: Clock) -> IntArray:
    """Count required items outside the best component after each assigned pair is lost, shape (P,)."""
    reviews, required = _sharing_two(core)
    row = np.arange(reviews.n_reviews + 1)
    tested = np.flatnonzero(reviews.item < core.required.size)
    counts = np.zeros(core.net.assigned.size, np.int64)
    pairs = np.flatnonzero(core.net.assigned)
    pairs = pairs[np.argsort(core.net.reviewer[pairs], kind="stable")]
    counts[pairs] = missing_without_units(reviews, Units(row, row[:-1]), tested, required, clock)[tested]
    return counts


def exposed_of(core: Core, clock: Clock) -> BoolArray:
    """Return the reviewers by whose loss the level may fail where it must survive a loss, shape (M,).

    Only those of critical reviews where single reviews are lost: surviving a reviewer implies surviving their reviews.
    """
    exposed = np.ones(core.net.n_held.size, np.bool_)
    if core.aim.loses_reviews:
        exposed[:] = False
        exposed[core.net.reviewer[missing_without_reviews(core, clock) > 0]] = True
    return exposed


def _sharing_two(core: Core, more: IntArray = NO_PAIRS) -> tuple[Reviews, BoolArray]:
    """Return a table whose doubly connected components are those of the core, and the items that they must cover."""
    reviews = core.table(more)
    if core.aim.shared > 1:
        return reviews, core.required
    # Where one shared item suffices, everybody reviews one more, so that it makes two.
    common = reviews.n_items
    reviewer = np.concatenate([reviews.reviewer, np.arange(reviews.n_reviewers)])
    item = np.concatenate([reviews.item, np.full(reviews.n_reviewers, common)])
    extended = Reviews.from_codes(reviewer, item, reviewers=reviews.n_reviewers, items=common + 1)
    return extended, np.append(core.required, True)
