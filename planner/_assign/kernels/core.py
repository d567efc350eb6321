"""The component of an assignment that covers most items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np

if TYPE_CHECKING:
    from planner._assign.kernels.flow import Network
    from reviewgraph._base import BoolArray, IntArray


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


def largest_cover(net: Network, more: IntArray, without: int, required: BoolArray, shared: int) -> int:
    """Count the required items of the largest component, with more pairs and without a reviewer (-1: with all).

    Each component in turn absorbs all that share ``shared`` (1 or 2) items with its cover, until none does any more, or
    one covers all required items. A growth takes time linear in the reviews of the items it covers.
    """
    n_items = len(required)
    n_reviewers = len(net.n_held)
    # The reviews, and those by reviewer and by item.
    item = np.empty(len(net.panel) + len(more), np.int64)
    reviewer = np.empty(len(net.panel) + len(more), np.int64)
    held = np.empty(len(item), np.int64)
    panel = np.empty(len(item), np.int64)
    held_start = np.zeros(n_reviewers + 1, np.int64)
    panel_start = np.zeros(n_items + 1, np.int64)
    # The members of a component follow each other in a list, from the one that gives it its name.
    label = np.arange(n_reviewers)
    last = np.arange(n_reviewers)
    following = np.full(n_reviewers, -1, np.int64)
    covered_in = np.full(n_items, -1, np.int64)
    met_in = np.full(n_reviewers, -1, np.int64)
    # The one item that each other component shares with the one that grows, where it has met that.
    witness = np.empty(n_reviewers, np.int64)
    items = np.empty(n_items, np.int64)
    size = 0
    growth = 0
    total = 0
    most = 0
    joined = True
    with cython.nogil:
        for i in range(n_items):
            total += required[i]
            for slot in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                item[size] = i
                reviewer[size] = net.reviewer[net.panel[slot]]
                size += reviewer[size] != without
        for place in range(len(more)):
            item[size] = net.item[more[place]]
            reviewer[size] = net.reviewer[more[place]]
            size += reviewer[size] != without
        sort_by(reviewer, item, size, held_start, held)
        sort_by(item, reviewer, size, panel_start, panel)
        while joined and most < total:
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
                most = max(most, count)
                if most == total:
                    break
    return most
