"""The core of an assignment under change: the group of reviewers that covers most required items.

:func:`promise` ranks the pairs that would add to the core; :class:`Core` keeps the groups up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.kernels import core as kernels
from planner._assign.kernels.flow import clash
from planner._assign.problem import Readable
from reviewgraph._base import distinct, starts
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.levels import Aim
    from planner._assign.problem import Network
    from reviewgraph._base import BoolArray, FloatArray, IntArray


class Groups(Readable, kernels.Groups):
    """Sets of reviewers that are components, for kernels and for NumPy."""


class Grown(Readable, kernels.Grown):
    """The growth of a seed, for kernels and for NumPy."""


def groups_of(label: IntArray) -> Groups:
    start = starts(label, int(label.max(initial=-1)) + 1)
    return Groups(label=label, start=start, member=np.argsort(label, kind="stable"))


def nothing_grown(n_items: int, n_groups: int) -> Grown:
    return Grown(
        covered=np.zeros(n_items, np.bool_),
        joined=np.zeros(n_groups, np.bool_),
        witness=np.full(n_groups, -1),
        first=np.zeros(n_groups, np.int64),
        items=np.empty(n_items, np.int64),
        waiting=np.empty(n_groups, np.int64),
    )


def coverage(label: IntArray, reviewer: IntArray, item: IntArray, required: BoolArray) -> FloatArray:
    """Count the required items that each group covers, by the group of each reviewer, shape (M,)."""
    n_items = max(required.size, 1)
    covers = distinct(label[reviewer] * n_items + item)
    weight = required[covers % n_items].astype(np.float64)
    return np.bincount(covers // n_items, weight, int(label.max(initial=-1)) + 1).astype(np.float64)


def largest_cover(aim: Aim, table: Reviews, required: BoolArray) -> int:
    """Count the required items that the largest group of a table covers."""
    label = aim.groups(table).labels
    return int(coverage(label, table.reviewer, table.item, required).max(initial=0))


def promise(
    net: Network, cost: IntArray, groups: Groups, grown: Grown, required: BoolArray, shared: int, floor: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return loss, further loss and gain of forcing each pair, see :func:`.kernels.core.rate_pairs`; shapes (P,)."""
    steps = kernels.no_steps(groups.start.size - 1)
    kernels.find_weights(net, groups, grown, required, steps)
    kernels.find_steps(net, cost, groups, grown, floor, steps)
    loss, follow, gain = np.zeros((3, cost.size), np.int64)
    kernels.rate_pairs(net, cost, groups, grown, required, shared, floor, steps, loss, follow, gain)
    return loss, follow, gain


# The components of an assignment under change, and the one that covers most: the core.

#: Seeds tried when a core is regrown reviewer by reviewer.
SEEDS = 12


@dataclass
class Core:
    """The group of reviewers that covers most required items, updated while the assignment changes.

    ``groups`` are the groups of reviewers, ``seed`` the one that the core grows from, ``grown`` the result of that, and
    ``count`` the number of required items that it covers, of ``total``.
    """

    net: Network
    required: BoolArray  # items that the core must cover, shape (N,)
    aim: Aim  # the level, which defines when two groups merge

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())
        self.regroup()

    def complete(self) -> bool:
        """Whether the core covers every required item."""
        return self.count == self.total

    def at_level(self) -> bool:
        return (self.aim.core_suffices and self.complete()) or self.aim.holds_early(self.table)

    def holds_with(self, more: IntArray) -> bool:
        """Whether the level would hold with further pairs in addition to those assigned, whatever demands and loads."""
        net = self.net
        assigned = net.assigned.copy()
        assigned[more] = True
        pairs = np.flatnonzero(assigned)
        within = (self.required, net.n_held.size, self.aim.shared)
        if self.aim.core_suffices and kernels.largest_of(net.reviewer[pairs], net.item[pairs], *within) == self.total:
            return True
        return self.aim.holds_early(lambda: self.table(pairs))

    def table(self, pairs: IntArray | None = None) -> Reviews:
        """Return some pairs, by default those assigned, as a table of reviews."""
        net = self.net
        pairs = np.flatnonzero(net.assigned) if pairs is None else pairs
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )

    def regroup(self) -> None:
        """Compute the components, and the core among them."""
        reviews = self.table()
        components = self.aim.groups(reviews)
        label = components.labels
        core = int(np.argmax(coverage(label, reviews.reviewer, reviews.item, self.required)))
        if self.aim.shared > 1 and np.count_nonzero(label == core) > 1:
            label, core = self._apart(reviews, label, core, components.merges)
        self.groups = groups_of(label)
        self.seed = core
        n_items = self.required.size
        n_groups = self.groups.start.size - 1
        self.grown = nothing_grown(n_items, n_groups)
        self.spare = nothing_grown(n_items, n_groups)
        self.sizes = np.diff(self.groups.start)
        self.count = self._grow(self.groups, self.grown, core)

    def _grow(self, groups: Groups, grown: Grown, seed: int) -> int:
        return kernels.grow(self.net, groups, grown, self.required, seed, self.aim.shared, -1)

    def _apart(self, reviews: Reviews, label: IntArray, core: int, merges: IntArray) -> tuple[IntArray, int]:
        """Split the core into a seed of two reviewers and single ones, so that changes are quick to evaluate.

        What does not grow back from the seed stays together in components of its own.
        """
        inside = label == core
        alone = np.where(inside, label.max() + 1 + np.arange(label.size), label)
        best = -1
        best_label = label
        best_seed = core
        best_rest = inside
        for a, b in seeds_of(reviews, merges[inside[merges[:, 0]]]):
            # Everybody of the core is alone except the two of this seed; grow from them.
            trial = alone.copy()
            trial[b] = trial[a]
            groups = groups_of(trial)
            grown = nothing_grown(reviews.n_items, groups.start.size - 1)
            count = self._grow(groups, grown, int(trial[a]))
            if count > best:
                best = count
                best_label = trial
                best_seed = int(trial[a])
                best_rest = inside & ~grown.joined[trial]
        # One reviewer at a time does not join groups that only belong together as a whole: these stay whole.
        if best_rest.any():
            rest = self.aim.groups(reviews.subset(best_rest[reviews.reviewer]))
            best_label[best_rest] = best_label.max() + 1 + rest.labels[best_rest]
        distinct, compact = np.unique(best_label, return_inverse=True)
        return compact.astype(np.int64), int(np.searchsorted(distinct, best_seed))

    def holds_after(self, pairs: IntArray, least: int) -> bool:
        """Whether the core covers ``least`` required items after pairs were flipped; if so, update its cover.

        Growth alone decides where only reviewers that are groups by themselves lost a review; a group of several
        may have fallen apart, and then the components are computed anew.
        """
        before = vars(self).copy()
        removed = pairs[~self.net.assigned[pairs]]
        if (self.sizes[self.groups.label[self.net.reviewer[removed]]] > 1).any():
            self.regroup()
            if self.count >= least:
                return True
            vars(self).update(before)
            return False
        count = self._grow(self.groups, self.spare, self.seed)
        if count < least:
            return False
        self.grown, self.spare = self.spare, self.grown
        self.count = count
        return True

    def gains_by(self, pair: int) -> bool:
        """Whether a pair would still add something to the core, or halfway."""
        item = self.net.item[pair]
        group = self.groups.label[self.net.reviewer[pair]]
        inside = self.grown.covered[item]
        joined = self.grown.joined[group]
        movable = not (self.net.assigned[pair] or self.net.locked[pair])
        return bool(movable and inside != joined and self.grown.witness[group] != item)


def seeds_of(reviews: Reviews, merges: IntArray) -> list[tuple[int, int]]:
    """Return pairs of reviewers who share two items themselves, spread over a certificate of merges."""
    seeds = []
    for row in np.unique(np.linspace(0, len(merges) - 1, 4 * SEEDS).astype(np.int64)).tolist() if len(merges) else []:
        a, b = merges[row, :2].tolist()
        if np.intersect1d(reviews.items_of(a), reviews.items_of(b), assume_unique=True).size > 1:
            seeds.append((a, b))
    return seeds[:: max(1, len(seeds) // SEEDS)]


# Changes of an assignment along cheapest cycles of the residual network, within every rule.

#: Beyond every limit on a path: distances stay below.
NO_LIMIT = 1 << 61

#: Maximum number of detours around rivals that would come in together.
DETOURS = 4


def around_rivals(net: Network, find: Callable[[], IntArray]) -> IntArray:
    """Find pairs to flip without two rivals that come in together; none if each of DETOURS tries has some."""
    avoided: list[int] = []
    try:
        for _ in range(DETOURS):
            pairs = find()
            # Two rivals may come in by one cycle: then one of them is excluded.
            rival = clash(net, pairs)
            if rival < 0:
                return pairs
            net.locked[rival] = True
            avoided.append(rival)
        return np.empty(0, np.int64)
    finally:
        net.locked[avoided] = False
