"""The core of an assignment under change: the group of reviewers that covers most required items.

Kernels grow one component from a seed, or all of them, and rank the pairs that would add to the core; :class:`Core`
keeps the groups up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import FAR, clash
from reviewgraph._base import distinct, starts
from reviewgraph.graph import kernel
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.levels import Aim
    from planner._assign.problem import Network
    from reviewgraph._base import BoolArray, FloatArray, IntArray


class Groups(NamedTuple):
    """Sets of reviewers that are components: ``label`` of each reviewer, members of set c in ``member``."""

    label: IntArray
    start: IntArray
    member: IntArray


class Grown(NamedTuple):
    """The growth of a seed: items ``covered``, groups ``joined``, and the one shared item of the others or -1.

    ``first`` counts the items that each group was the first to cover: a group that has none could be left out.
    """

    covered: BoolArray
    joined: BoolArray
    witness: IntArray
    first: IntArray


def groups_of(label: IntArray) -> Groups:
    return Groups(label, starts(label, int(label.max(initial=-1)) + 1), np.argsort(label, kind="stable"))


def nothing_grown(n_items: int, n_groups: int) -> Grown:
    return Grown(
        np.zeros(n_items, np.bool_), np.zeros(n_groups, np.bool_), np.full(n_groups, -1), np.zeros(n_groups, int)
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


@kernel
def open_group(net: Network, groups: Groups, grown: Grown, group: int, without: int, items: IntArray, end: int) -> int:
    """Cover the items of a group; new ones are appended to a queue, whose new length is returned."""
    for m in range(groups.start[group], groups.start[group + 1]):
        j = groups.member[m]
        if j == without:
            continue
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            i = net.item[net.held[slot]]
            if not grown.covered[i]:
                grown.covered[i] = True
                grown.first[group] += 1
                items[end] = i
                end += 1
    return end


@kernel
def grow(net: Network, groups: Groups, grown: Grown, required: BoolArray, seed: int, shared: int, without: int) -> int:
    """Grow from a group: others join while they share ``shared`` (1 or 2) items with the cover.

    Returns the number of required items covered; reviewer ``without`` does not count (-1: all do). Linear time.
    """
    items = np.empty(grown.covered.size, np.int64)
    waiting = np.empty(grown.joined.size, np.int64)
    for i in range(grown.covered.size):
        grown.covered[i] = False
    for group in range(grown.joined.size):
        grown.joined[group] = False
        grown.witness[group] = -1
        grown.first[group] = 0
    grown.joined[seed] = True
    waiting[0] = seed
    # Two queues: items[now:end] are covered but not examined, waiting[entered:joined] joined but not opened.
    now = 0
    end = 0
    joined = 1
    entered = 0
    reached = 0
    while entered < joined or now < end:
        # Groups first: everything that they cover is covered before the next item is examined.
        if entered < joined:
            end = open_group(net, groups, grown, waiting[entered], without, items, end)
            entered += 1
            continue
        # Invariant: a group outside has shared no examined item, or its witness alone.
        i = items[now]
        now += 1
        if required[i]:
            reached += 1
        for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
            j = net.reviewer[net.panel[slot]]
            group = groups.label[j]
            if j == without or grown.joined[group]:
                continue
            if shared == 1 or (grown.witness[group] >= 0 and grown.witness[group] != i):
                grown.joined[group] = True
                waiting[joined] = group
                joined += 1
            else:
                grown.witness[group] = i
    return reached


@kernel
def second_steps(
    net: Network, cost: IntArray, groups: Groups, grown: Grown, floor: int
) -> tuple[IntArray, IntArray, IntArray]:
    """For each group outside the core: the least loss of getting an item of the core, that item, and the next loss."""
    # The two least losses per group, of different items: the second applies where the first pair takes the best item.
    n_items = net.item_start.size - 1
    n_groups = groups.start.size - 1
    best = np.full(n_groups, FAR, np.int64)
    second = np.full(n_groups, FAR, np.int64)
    best_item = np.full(n_groups, -1, np.int64)
    for i in range(n_items):
        if not grown.covered[i]:
            continue
        for p in range(net.item_start[i], net.item_start[i + 1]):
            group = groups.label[net.reviewer[p]]
            if grown.joined[group] or net.assigned[p] or net.locked[p]:
                continue
            loss = max(cost[p] + net.potential[i] - net.potential[n_items + net.reviewer[p]], floor)
            if loss < best[group]:
                if best_item[group] != i:
                    second[group] = best[group]
                best[group] = loss
                best_item[group] = i
            elif best_item[group] != i and loss < second[group]:
                second[group] = loss
    return best, best_item, second


@kernel
def brought(net: Network, groups: Groups, grown: Grown, required: BoolArray) -> IntArray:
    """Count required items outside the cover by the group that would add them."""
    weight = np.zeros(groups.start.size - 1, np.int64)
    for i in range(required.size):
        if required[i] and not grown.covered[i]:
            for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                weight[groups.label[net.reviewer[net.panel[slot]]]] += 1
    return weight


@kernel
def promise(
    net: Network, cost: IntArray, groups: Groups, grown: Grown, required: BoolArray, shared: int, floor: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return loss, further loss and gain of forcing each pair: its least loss, that of what must follow, and the items.

    A group that lacks one shared item adds all its items. One that lacks two must take another item of the core
    afterwards, which is the further loss. The gain is 0 for pairs of no use.
    """
    n_items = net.item_start.size - 1
    n_pairs = cost.size
    weight = brought(net, groups, grown, required)
    best, best_item, second = second_steps(net, cost, groups, grown, floor)
    loss = np.zeros(n_pairs, np.int64)
    follow = np.zeros(n_pairs, np.int64)
    gain = np.zeros(n_pairs, np.int64)
    for i in range(n_items):
        # An item outside adds itself and the groups for which it is the second shared item.
        direct = 0
        if not grown.covered[i]:
            direct = 1 if required[i] else 0
            for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                group = groups.label[net.reviewer[net.panel[slot]]]
                if grown.witness[group] >= 0 or shared == 1:
                    direct += weight[group] - 1 if required[i] else weight[group]
        for p in range(net.item_start[i], net.item_start[i + 1]):
            group = groups.label[net.reviewer[p]]
            if net.assigned[p] or net.locked[p] or grown.covered[i] == grown.joined[group]:
                continue
            # One end in the core, the other out: the pair adds the item, or the group of its reviewer.
            loss[p] = max(cost[p] + net.potential[i] - net.potential[n_items + net.reviewer[p]], floor)
            if not grown.covered[i]:
                gain[p] = direct
            elif grown.witness[group] >= 0 or shared == 1:
                gain[p] = weight[group] if grown.witness[group] != i else 0
            else:
                next_loss = second[group] if best_item[group] == i else best[group]
                gain[p] = weight[group] if next_loss < FAR else 0
                follow[p] = next_loss
    return loss, follow, gain


@kernel
def largest_of(reviewer: IntArray, item: IntArray, required: BoolArray, n_reviewers: int, shared: int) -> int:
    """Count the required items that the largest component of some reviews covers; the reviews are sorted by item.

    Each component in turn absorbs all that share ``shared`` (1 or 2) items with its cover, until none does any more.
    A growth takes time linear in the reviews of the items it covers.
    """
    n_items = required.size
    total = required.sum()
    held_start = np.zeros(n_reviewers + 1, np.int64)
    item_start = np.zeros(n_items + 1, np.int64)
    for e in range(item.size):
        held_start[reviewer[e] + 1] += 1
        item_start[item[e] + 1] += 1
    held_start = np.cumsum(held_start)
    item_start = np.cumsum(item_start)
    held = np.empty(item.size, np.int64)
    end = held_start.copy()
    for e in range(item.size):
        held[end[reviewer[e]]] = item[e]
        end[reviewer[e]] += 1
    # A component goes by its first reviewer; the others follow in a list.
    label = np.arange(n_reviewers)
    last = np.arange(n_reviewers)
    following = np.full(n_reviewers, -1, np.int64)
    covered_in = np.full(n_items, -1, np.int64)
    met_in = np.full(n_reviewers, -1, np.int64)
    witness = np.empty(n_reviewers, np.int64)
    items = np.empty(n_items, np.int64)
    growth = 0
    best = 0
    joined = True
    while joined:
        joined = False
        for seed in range(n_reviewers):
            if label[seed] != seed or held_start[seed] == held_start[seed + 1]:
                continue
            growth += 1
            member = seed
            now = 0
            covers = 0
            count = 0
            while member >= 0 or now < covers:
                if member >= 0:
                    for place in range(held_start[member], held_start[member + 1]):
                        if covered_in[held[place]] != growth:
                            covered_in[held[place]] = growth
                            items[covers] = held[place]
                            covers += 1
                            count += required[held[place]]
                    member = following[member]
                    continue
                i = items[now]
                now += 1
                for e in range(item_start[i], item_start[i + 1]):
                    first = label[reviewer[e]]
                    if first == seed:
                        continue
                    if shared > 1 and (met_in[first] != growth or witness[first] == i):
                        met_in[first] = growth
                        witness[first] = i
                        continue
                    # All of that component joins, at the end of the list.
                    joined = True
                    m = first
                    while m >= 0:
                        label[m] = seed
                        m = following[m]
                    following[last[seed]] = first
                    last[seed] = last[first]
                    member = first if member < 0 else member
            best = max(best, count)
            if best == total:
                return best
    return best


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
        if self.aim.core_suffices and largest_of(net.reviewer[pairs], net.item[pairs], *within) == self.total:
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
        return grow(self.net, groups, grown, self.required, seed, self.aim.shared, -1)

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
