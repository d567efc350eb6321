"""One component of an assignment grown from a seed, what each pair would add to it, and the largest of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from planner._assign.kernels.flow import FAR

if TYPE_CHECKING:
    from planner._assign.kernels.flow import Network
    from reviewgraph._base import BoolArray, IntArray


@dataclass(eq=False, repr=False)
class Groups:
    """Sets of reviewers that are components: ``label`` of each reviewer, members of set c in ``member``."""

    label: IntArray
    start: IntArray
    member: IntArray


@dataclass(eq=False, repr=False)
class Grown:
    """The growth of a seed: items ``covered``, groups ``joined``, and the one shared item of the others or -1.

    ``first`` counts the items that each group was the first to cover: a group that has none could be left out.
    """

    covered: BoolArray
    joined: BoolArray
    witness: IntArray
    first: IntArray
    # items, waiting: scratch space, queues of items and of groups
    items: IntArray
    waiting: IntArray


def open_group(net: Network, groups: Groups, grown: Grown, group: int, without: int, end: int) -> int:
    """Cover the items of a group; new ones are appended to the queue, whose new length is returned."""
    for m in range(groups.start[group], groups.start[group + 1]):
        j = groups.member[m]
        if j == without:
            continue
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            i = net.item[net.held[slot]]
            if not grown.covered[i]:
                grown.covered[i] = True
                grown.first[group] += 1
                grown.items[end] = i
                end += 1
    return end


def grow(net: Network, groups: Groups, grown: Grown, required: BoolArray, seed: int, shared: int, without: int) -> int:
    """Grow from a group: others join while they share ``shared`` (1 or 2) items with the cover.

    Returns the number of required items covered; reviewer ``without`` does not count (-1: all do). Linear time.
    """
    for i in range(len(grown.covered)):
        grown.covered[i] = False
    for group in range(len(grown.joined)):
        grown.joined[group] = False
        grown.witness[group] = -1
        grown.first[group] = 0
    grown.joined[seed] = True
    grown.waiting[0] = seed
    # Two queues: items[now:end] are covered but not examined, waiting[entered:joined] joined but not opened.
    now = 0
    end = 0
    joined = 1
    entered = 0
    reached = 0
    while entered < joined or now < end:
        # Groups first: everything that they cover is covered before the next item is examined.
        if entered < joined:
            end = open_group(net, groups, grown, grown.waiting[entered], without, end)
            entered += 1
            continue
        # Invariant: a group outside has shared no examined item, or its witness alone.
        i = grown.items[now]
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
                grown.waiting[joined] = group
                joined += 1
            else:
                grown.witness[group] = i
    return reached


@dataclass(eq=False, repr=False)
class Steps:
    """What each group outside the core would add, and its two cheapest ways to an item of the core; shapes (C,)."""

    weight: IntArray  # required items outside the cover that the group would add
    # best, best_item, second: the least loss of getting an item of the core, that item, and the least of another one
    best: IntArray
    best_item: IntArray
    second: IntArray


def no_steps(n_groups: int) -> Steps:
    """Allocate the steps of this number of groups."""
    return Steps(
        weight=np.zeros(n_groups, np.int64),
        best=np.full(n_groups, FAR, np.int64),
        best_item=np.full(n_groups, -1, np.int64),
        second=np.full(n_groups, FAR, np.int64),
    )


def find_weights(net: Network, groups: Groups, grown: Grown, required: BoolArray, steps: Steps) -> None:
    """Count required items outside the cover by the group that would add them."""
    with cython.nogil:
        for i in range(len(required)):
            if required[i] and not grown.covered[i]:
                for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                    steps.weight[groups.label[net.reviewer[net.panel[slot]]]] += 1


def find_steps(net: Network, cost: IntArray, groups: Groups, grown: Grown, floor: int, steps: Steps) -> None:
    """Find the two least losses of each group outside the core, of different items of the core.

    The second applies where the first pair takes the best item.
    """
    n_items = len(net.item_start) - 1
    with cython.nogil:
        for i in range(n_items):
            if not grown.covered[i]:
                continue
            for p in range(net.item_start[i], net.item_start[i + 1]):
                group = groups.label[net.reviewer[p]]
                if grown.joined[group] or net.assigned[p] or net.locked[p]:
                    continue
                loss = max(cost[p] + net.potential[i] - net.potential[n_items + net.reviewer[p]], floor)
                if loss < steps.best[group]:
                    if steps.best_item[group] != i:
                        steps.second[group] = steps.best[group]
                    steps.best[group] = loss
                    steps.best_item[group] = i
                elif steps.best_item[group] != i and loss < steps.second[group]:
                    steps.second[group] = loss


def rate_pairs(
    net: Network, cost: IntArray, groups: Groups, grown: Grown, required: BoolArray, shared: int, floor: int,
    steps: Steps, loss: IntArray, follow: IntArray, gain: IntArray,
) -> None:  # fmt: skip
    """Write loss, further loss and gain of forcing each pair: its least loss, that of what must follow, and the items.

    A group that lacks one shared item adds all its items. One that lacks two must take another item of the core
    afterwards, which is the further loss. The gain is 0 for pairs of no use.
    """
    n_items = len(net.item_start) - 1
    with cython.nogil:
        for i in range(n_items):
            outside = not grown.covered[i]
            # An item outside adds itself and the groups for which it is the second shared item.
            direct = 0
            if outside:
                direct = required[i]
                for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                    group = groups.label[net.reviewer[net.panel[slot]]]
                    if grown.witness[group] >= 0 or shared == 1:
                        direct += steps.weight[group] - required[i]
            for p in range(net.item_start[i], net.item_start[i + 1]):
                group = groups.label[net.reviewer[p]]
                if net.assigned[p] or net.locked[p] or outside != grown.joined[group]:
                    continue
                # One end in the core, the other out: the pair adds the item, or the group of its reviewer.
                loss[p] = max(cost[p] + net.potential[i] - net.potential[n_items + net.reviewer[p]], floor)
                if outside:
                    gain[p] = direct
                elif grown.witness[group] >= 0 or shared == 1:
                    gain[p] = steps.weight[group] if grown.witness[group] != i else 0
                else:
                    next_loss = steps.second[group] if steps.best_item[group] == i else steps.best[group]
                    gain[p] = steps.weight[group] if next_loss < FAR else 0
                    follow[p] = next_loss


def largest_of(reviewer: IntArray, item: IntArray, required: BoolArray, n_reviewers: int, shared: int) -> int:
    """Count the required items that the largest component of some reviews covers; the reviews are sorted by item.

    Each component in turn absorbs all that share ``shared`` (1 or 2) items with its cover, until none does any more.
    A growth takes time linear in the reviews of the items it covers.
    """
    n_items = len(required)
    held_start = np.zeros(n_reviewers + 1, np.int64)
    item_start = np.zeros(n_items + 1, np.int64)
    end = np.empty(n_reviewers, np.int64)
    held = np.empty(len(item), np.int64)
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
    total = 0
    joined = True
    with cython.nogil:
        for i in range(n_items):
            total += required[i]
        for e in range(len(item)):
            held_start[reviewer[e] + 1] += 1
            item_start[item[e] + 1] += 1
        for j in range(n_reviewers):
            held_start[j + 1] += held_start[j]
            end[j] = held_start[j]
        for i in range(n_items):
            item_start[i + 1] += item_start[i]
        for e in range(len(item)):
            held[end[reviewer[e]]] = item[e]
            end[reviewer[e]] += 1
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
                            i = held[place]
                            if covered_in[i] != growth:
                                covered_in[i] = growth
                                items[covers] = i
                                covers += 1
                                count += required[i]
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
                        if member < 0:
                            member = first
                best = max(best, count)
                if best == total:
                    return best
    return best
