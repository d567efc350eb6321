"""The components of an assignment, the core among them, and what each pair would add to that."""

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
class Parts:
    """The components of some reviews, each under the name of one of its reviewers; the core covers most items."""

    label: IntArray  # the component of each reviewer, shape (M,)
    covered: BoolArray  # whether the core covers each item, shape (N,)
    witness: IntArray  # the one item that each other component shares with the core, or -1, shape (M,)
    core: int = 0
    count: int = 0  # required items that the core covers


@dataclass(eq=False, repr=False)
class Lists:
    """Reviews by their ends: reviewer j has ``held[held_start[j]:held_start[j + 1]]``, item i as much of ``panel``."""

    held_start: IntArray
    held: IntArray
    panel_start: IntArray
    panel: IntArray


def lists_of(net: Network, more: IntArray, without: int) -> Lists:
    """List the assignment with more pairs, and without a reviewer (-1: with all)."""
    item = np.empty(len(net.panel) + len(more), np.int64)
    reviewer = np.empty(len(net.panel) + len(more), np.int64)
    size = 0
    with cython.nogil:
        for i in range(len(net.n_panel)):
            for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                item[size] = i
                reviewer[size] = net.reviewer[net.panel[slot]]
                size += reviewer[size] != without
        for place in range(len(more)):
            item[size] = net.item[more[place]]
            reviewer[size] = net.reviewer[more[place]]
            size += reviewer[size] != without
    held_start = np.zeros(len(net.n_held) + 1, np.int64)
    held = np.empty(size, np.int64)
    panel_start = np.zeros(len(net.n_panel) + 1, np.int64)
    panel = np.empty(size, np.int64)
    sort_by(reviewer, item, size, held_start, held)
    sort_by(item, reviewer, size, panel_start, panel)
    return Lists(held_start=held_start, held=held, panel_start=panel_start, panel=panel)


def sort_by(owner: IntArray, thing: IntArray, size: int, start: IntArray, things: IntArray) -> None:
    """Write the things of owner j, of the first ``size`` entries, at ``start[j]:start[j + 1]``; all starts are 0."""
    for e in range(size):
        start[owner[e] + 1] += 1
    # ``start[j + 1]`` is the end of owner j first, and falls to its beginning while its things are written.
    for j in range(len(start) - 1):
        start[j + 1] += start[j]
    for e in range(size - 1, -1, -1):
        start[owner[e] + 1] -= 1
        things[start[owner[e] + 1]] = thing[e]
    for j in range(len(start) - 1):
        start[j] = start[j + 1]
    start[len(start) - 1] = size


def find_parts(parts: Parts, lists: Lists, required: BoolArray, shared: int) -> None:
    """Find the components of reviews, and the core.

    Each component in turn absorbs all that share ``shared`` (1 or 2) items with its cover, until none does any more, or
    one covers all required items; then the others are left as they are. A growth takes time linear in the reviews of
    the items it covers.
    """
    n_reviewers = len(parts.label)
    n_items = len(required)
    held_start = lists.held_start
    held = lists.held
    panel_start = lists.panel_start
    panel = lists.panel
    # The members of a component follow each other in a list, from the one that gives it its name.
    label = parts.label
    last = np.arange(n_reviewers)
    following = np.full(n_reviewers, -1, np.int64)
    covers = np.zeros(n_reviewers, np.int64)
    covered_in = np.full(n_items, -1, np.int64)
    met_in = np.full(n_reviewers, -1, np.int64)
    witness = parts.witness
    items = np.empty(n_items, np.int64)
    growth = 0
    total = 0
    joined = True
    with cython.nogil:
        for i in range(n_items):
            total += required[i]
        for j in range(n_reviewers):
            label[j] = j
        while joined:
            joined = False
            for seed in range(n_reviewers):
                if label[seed] != seed or held_start[seed] == held_start[seed + 1]:
                    continue
                growth += 1
                member = seed
                now = 0
                end = 0
                count = 0
                while member >= 0 or now < end:
                    if member >= 0:
                        for place in range(held_start[member], held_start[member + 1]):
                            i = held[place]
                            if covered_in[i] != growth:
                                covered_in[i] = growth
                                items[end] = i
                                end += 1
                                count += required[i]
                        member = following[member]
                        continue
                    i = items[now]
                    now += 1
                    for place in range(panel_start[i], panel_start[i + 1]):
                        first = label[panel[place]]
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
                covers[seed] = count
                if count == total:
                    joined = False
                    break
        parts.core = label[0]
        for j in range(n_reviewers):
            if covers[label[j]] > covers[parts.core]:
                parts.core = label[j]
        parts.count = covers[parts.core]
        mark_core(parts, lists)


def mark_core(parts: Parts, lists: Lists) -> None:
    """Mark the items that the core covers, and those that the other components share with it."""
    for i in range(len(parts.covered)):
        parts.covered[i] = False
    for j in range(len(parts.label)):
        parts.witness[j] = -1
    for j in range(len(parts.label)):
        if parts.label[j] == parts.core:
            for place in range(lists.held_start[j], lists.held_start[j + 1]):
                parts.covered[lists.held[place]] = True
    for i in range(len(parts.covered)):
        if parts.covered[i]:
            for place in range(lists.panel_start[i], lists.panel_start[i + 1]):
                parts.witness[parts.label[lists.panel[place]]] = i


@dataclass(eq=False, repr=False)
class Steps:
    """What each component outside the core would add, and its two cheapest ways to an item of the core; shapes (M,)."""

    weight: IntArray  # required items outside the cover that the component would add
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


def find_weights(net: Network, parts: Parts, required: BoolArray, steps: Steps) -> None:
    """Count required items outside the cover by the group that would add them."""
    with cython.nogil:
        for i in range(len(required)):
            if required[i] and not parts.covered[i]:
                for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                    steps.weight[parts.label[net.reviewer[net.panel[slot]]]] += 1


def find_steps(net: Network, cost: IntArray, parts: Parts, floor: int, steps: Steps) -> None:
    """Find the two least losses of each component outside the core, of different items of the core.

    The second applies where the first pair takes the best item.
    """
    n_items = len(net.item_start) - 1
    with cython.nogil:
        for i in range(n_items):
            if not parts.covered[i]:
                continue
            for p in range(net.item_start[i], net.item_start[i + 1]):
                group = parts.label[net.reviewer[p]]
                if group == parts.core or net.assigned[p] or net.locked[p]:
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
    net: Network, cost: IntArray, parts: Parts, required: BoolArray, shared: int, floor: int,
    steps: Steps, loss: IntArray, follow: IntArray, gain: IntArray,
) -> None:  # fmt: skip
    """Write loss, further loss and gain of forcing each pair: its least loss, that of what must follow, and the items.

    A group that lacks one shared item adds all its items. One that lacks two must take another item of the core
    afterwards, which is the further loss. The gain is 0 for pairs of no use.
    """
    n_items = len(net.item_start) - 1
    with cython.nogil:
        for i in range(n_items):
            outside = not parts.covered[i]
            # An item outside adds itself and the groups for which it is the second shared item.
            direct = 0
            if outside:
                direct = required[i]
                for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                    group = parts.label[net.reviewer[net.panel[slot]]]
                    if parts.witness[group] >= 0 or shared == 1:
                        direct += steps.weight[group] - required[i]
            for p in range(net.item_start[i], net.item_start[i + 1]):
                group = parts.label[net.reviewer[p]]
                if net.assigned[p] or net.locked[p] or outside != (group == parts.core):
                    continue
                # One end in the core, the other out: the pair adds the item, or the group of its reviewer.
                loss[p] = max(cost[p] + net.potential[i] - net.potential[n_items + net.reviewer[p]], floor)
                if outside:
                    gain[p] = direct
                elif parts.witness[group] >= 0 or shared == 1:
                    gain[p] = steps.weight[group] if parts.witness[group] != i else 0
                else:
                    next_loss = steps.second[group] if steps.best_item[group] == i else steps.best[group]
                    gain[p] = steps.weight[group] if next_loss < FAR else 0
                    follow[p] = next_loss
