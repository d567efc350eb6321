"""Kernels that tell what the core still covers after any one reviewer drops out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.core import Groups, Grown, grow
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


@kernel
def note(net: Network, groups: Groups, grown: Grown, item: int, without: int, used: BoolArray) -> None:
    """Mark one reviewer of the core who covers an item as needed, unless one of them is so already."""
    chosen = -1
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        j = net.reviewer[net.panel[slot]]
        if j != without and grown.joined[groups.label[j]]:
            if used[j]:
                return
            chosen = j
    if chosen >= 0:
        used[chosen] = True


@kernel
def append_chain(root: IntArray, following: IntArray, last: IntArray, c: int, d: int) -> None:
    """Put the chain of component d behind that of c."""
    following[last[c]], last[c] = d, last[d]
    m = d
    while m >= 0:
        root[m] = c
        m = following[m]


@kernel
def absorb(net: Network, groups: Groups, grown: Grown, required: BoolArray, following: IntArray, first: int) -> int:
    """Take a chain of reviewers into the core; returns how many required items that brings."""
    brought, j = 0, first
    while j >= 0:
        grown.joined[groups.label[j]] = True
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            i = net.item[net.held[slot]]
            if not grown.covered[i]:
                grown.covered[i] = True
                brought += 1 if required[i] else 0
        j = following[j]
    return brought


@kernel
def close_outside(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, without: int, used: BoolArray
) -> int:
    """Merge reviewers outside the core among themselves, and those into it who then share two items with it.

    Growth takes in one reviewer at a time; two who share two items may belong together where neither does alone.
    Returns how many required items that brings; ``grown`` takes them up. Reviewers through whom others were merged
    are marked in ``used``. Each pass grows every component once; the last one finds nothing.
    """
    # Components outside the core are chains of reviewers: root of each, the one that follows, the last of a root.
    n_reviewers, n_items = net.n_held.size, required.size
    root, following, last = np.arange(n_reviewers), np.full(n_reviewers, -1, np.int64), np.arange(n_reviewers)
    # In scan number ``scan``: ``common[d]`` is the one item shared with component d so far, found ``through[d]``.
    stamp, common = np.full(n_reviewers, -1, np.int64), np.full(n_reviewers, -1, np.int64)
    through, seen = np.full(n_reviewers, -1, np.int64), np.full(n_items, -1, np.int64)
    seen_by, scan, brought, again = np.full(n_items, -1, np.int64), 0, 0, True
    while again:
        again = False
        for c in range(n_reviewers):
            if root[c] != c or c == without or grown.joined[groups.label[c]]:
                continue
            # Walk along the items of component c, including those of whoever joins it meanwhile.
            scan += 1
            inside, j, alone = -1, c, following[c] < 0
            absorbed = False
            while j >= 0 and not absorbed:
                for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
                    i = net.item[net.held[slot]]
                    if seen[i] == scan:
                        continue
                    seen[i], seen_by[i] = scan, j
                    # Two items within the cover: all of c belongs to the core.
                    if grown.covered[i]:
                        if inside >= 0:
                            note(net, groups, grown, i, without, used)
                            note(net, groups, grown, inside, without, used)
                            if following[c] >= 0:
                                used[j], used[seen_by[inside]] = True, True
                            absorbed = True
                            break
                        inside = i
                    # A second shared item merges another component d into c: its chain goes to the end of c's.
                    for other in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                        r = net.reviewer[net.panel[other]]
                        d = root[r]
                        if d == c or r == without or grown.joined[groups.label[r]]:
                            continue
                        if stamp[d] != scan:
                            stamp[d], common[d], through[d] = scan, i, r
                        elif common[d] != i:
                            if not alone:
                                used[j], used[seen_by[common[d]]] = True, True
                            if following[d] >= 0:
                                used[r], used[through[d]] = True, True
                            append_chain(root, following, last, c, d)
                            alone, again = False, True
                j = following[j]
            # The cover grows by all that c reads, which may absorb others: one more pass.
            if absorbed:
                again = True
                brought += absorb(net, groups, grown, required, following, c)
    return brought


@kernel
def reached(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, seed: int, shared: int, without: int,
    used: BoolArray,
) -> int:  # fmt: skip
    """Count required items that the component of a seed covers without a reviewer (-1: with all)."""
    count = grow(net, groups, grown, required, seed, shared, without)
    for j in range(used.size):
        group = groups.label[j]  # of the two of a seed, one may have joined by way of the other
        used[j] = grown.first[group] > 0 or groups.start[group + 1] - groups.start[group] > 1
    return count + close_outside(net, groups, grown, required, without, used) if shared > 1 else count


@kernel
def spared(net: Network, groups: Groups, grown: Grown, required: BoolArray, reviewer: int) -> bool:
    """Whether others of the core cover every required item of a reviewer."""
    for slot in range(net.held_start[reviewer], net.held_start[reviewer] + net.n_held[reviewer]):
        i = net.item[net.held[slot]]
        others = not required[i]
        for other in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
            r = net.reviewer[net.panel[other]]
            others = others or (r != reviewer and grown.joined[groups.label[r]])
        if not others:
            return False
    return True


@kernel
def clear(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, seeds: IntArray, shared: int, left: IntArray
) -> IntArray:
    """Set ``left`` to 0 for reviewers without whom nothing is missing, as far as growths with everybody tell.

    Whoever nobody was merged through, in some growth that covers all, can drop out. Returns the seeds of these
    growths, the first seed where there are none.
    """
    total, used = 0, np.zeros(net.n_held.size, np.bool_)
    for i in range(required.size):
        if required[i]:
            total += 1
    good, n_good = seeds.copy(), 0
    for seed in seeds:
        if reached(net, groups, grown, required, seed, shared, -1, used) == total:
            good[n_good] = seed
            n_good += 1
            for j in range(net.n_held.size):
                if not used[j] and spared(net, groups, grown, required, j):
                    left[j] = 0
    return good[: max(n_good, 1)]


@kernel
def uncovered_without(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, seeds: IntArray, shared: int, who: IntArray,
    left: IntArray,
) -> None:  # fmt: skip
    """Count in ``left`` the required items that no component of a seed covers, after each of ``who`` drops out."""
    total, used = 0, np.zeros(net.n_held.size, np.bool_)
    for i in range(required.size):
        if required[i]:
            total += 1
    for j in who:
        best = 0
        for seed in seeds:
            best = max(best, reached(net, groups, grown, required, seed, shared, j, used))
            if best == total:
                break
        left[j] = total - best
