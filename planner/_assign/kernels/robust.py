"""What the core of an assignment still covers after any one reviewer drops out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from planner._assign.kernels.core import grow

if TYPE_CHECKING:
    from planner._assign.kernels.core import Groups, Grown
    from planner._assign.kernels.flow import Network
    from reviewgraph._base import BoolArray, IntArray


@dataclass(eq=False, repr=False)
class Outside:
    """Components outside the core: chains of reviewers, under the name of their first one."""

    # used: reviewers through whom others were merged, shape (M,)
    used: BoolArray
    # root, following, last: the component of each reviewer, the next one of it, and the last one of a root
    root: IntArray
    following: IntArray
    last: IntArray
    # In scan ``stamp[d]``, ``common[d]`` is the one item shared with component d so far, by reviewer ``through[d]``
    stamp: IntArray
    common: IntArray
    through: IntArray
    # seen, seen_by: the last scan of each item, and by which reviewer, shape (N,)
    seen: IntArray
    seen_by: IntArray
    scan: int = 0  # scans so far


def nothing_outside(n_items: int, n_reviewers: int) -> Outside:
    """Allocate the space to merge this number of reviewers."""
    return Outside(
        used=np.zeros(n_reviewers, np.bool_),
        root=np.empty(n_reviewers, np.int64),
        following=np.empty(n_reviewers, np.int64),
        last=np.empty(n_reviewers, np.int64),
        stamp=np.zeros(n_reviewers, np.int64),
        common=np.empty(n_reviewers, np.int64),
        through=np.empty(n_reviewers, np.int64),
        seen=np.zeros(n_items, np.int64),
        seen_by=np.empty(n_items, np.int64),
    )


def note(net: Network, groups: Groups, grown: Grown, outside: Outside, item: int, without: int) -> None:
    """Mark one reviewer of the core who covers an item as used, unless one of them is so already."""
    chosen = -1
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        j = net.reviewer[net.panel[slot]]
        if j != without and grown.joined[groups.label[j]]:
            if outside.used[j]:
                return
            chosen = j
    if chosen >= 0:
        outside.used[chosen] = True


def append_chain(outside: Outside, c: int, d: int) -> None:
    """Put the chain of component d at the end of that of c."""
    outside.following[outside.last[c]] = d
    outside.last[c] = outside.last[d]
    m = d
    while m >= 0:
        outside.root[m] = c
        m = outside.following[m]


def absorb(net: Network, groups: Groups, grown: Grown, outside: Outside, required: BoolArray, first: int) -> int:
    """Take a chain of reviewers into the core; returns the number of required items that this adds."""
    brought = 0
    j = first
    while j >= 0:
        grown.joined[groups.label[j]] = True
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            i = net.item[net.held[slot]]
            if not grown.covered[i]:
                grown.covered[i] = True
                brought += required[i]
        j = outside.following[j]
    return brought


def close_outside(
    net: Network, groups: Groups, grown: Grown, outside: Outside, required: BoolArray, without: int
) -> int:
    """Merge reviewers outside the core among themselves, and those into it who then share two items with it.

    Growth takes in one reviewer at a time; two who share two items may belong together where neither does alone.
    Returns the number of required items that this adds; ``grown`` is updated. Reviewers through whom others were merged
    are marked as used. Each pass grows every component once; the last one changes nothing.
    """
    n_reviewers = len(outside.root)
    for j in range(n_reviewers):
        outside.root[j] = j
        outside.following[j] = -1
        outside.last[j] = j
    root = outside.root
    common = outside.common
    stamp = outside.stamp
    used = outside.used
    brought = 0
    again = True
    while again:
        again = False
        for c in range(n_reviewers):
            if root[c] != c or c == without or grown.joined[groups.label[c]]:
                continue
            # Walk along the items of component c, including those of whoever joins it meanwhile.
            outside.scan += 1
            inside = -1
            absorbed = False
            j = c
            while j >= 0 and not absorbed:
                for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
                    i = net.item[net.held[slot]]
                    if outside.seen[i] == outside.scan:
                        continue
                    outside.seen[i] = outside.scan
                    outside.seen_by[i] = j
                    # Two items within the cover: all of c belongs to the core.
                    if grown.covered[i]:
                        if inside >= 0:
                            note(net, groups, grown, outside, i, without)
                            note(net, groups, grown, outside, inside, without)
                            if outside.following[c] >= 0:
                                used[j] = True
                                used[outside.seen_by[inside]] = True
                            absorbed = True
                            break
                        inside = i
                    # A second shared item merges another component d into c: its chain goes to the end of c's.
                    for place in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
                        r = net.reviewer[net.panel[place]]
                        d = root[r]
                        if d == c or r == without or grown.joined[groups.label[r]]:
                            continue
                        if stamp[d] != outside.scan:
                            stamp[d] = outside.scan
                            common[d] = i
                            outside.through[d] = r
                        elif common[d] != i:
                            # A component of one reviewer hangs on nobody else.
                            if outside.following[c] >= 0:
                                used[j] = True
                                used[outside.seen_by[common[d]]] = True
                            if outside.following[d] >= 0:
                                used[r] = True
                                used[outside.through[d]] = True
                            append_chain(outside, c, d)
                            again = True
                j = outside.following[j]
            # The cover grows by all items of c, which may absorb others: one more pass.
            if absorbed:
                again = True
                brought += absorb(net, groups, grown, outside, required, c)
    return brought


def reached(
    net: Network, groups: Groups, grown: Grown, outside: Outside, required: BoolArray, seed: int, shared: int,
    without: int,
) -> int:  # fmt: skip
    """Count required items that the component of a seed covers without a reviewer (-1: with all)."""
    count = grow(net, groups, grown, required, seed, shared, without)
    for j in range(len(outside.used)):
        group = groups.label[j]  # of the two of a seed, one may have joined through the other
        outside.used[j] = grown.first[group] > 0 or groups.start[group + 1] - groups.start[group] > 1
    if shared > 1:
        count += close_outside(net, groups, grown, outside, required, without)
    return count


def spared(net: Network, groups: Groups, grown: Grown, required: BoolArray, reviewer: int) -> bool:
    """Whether others of the core cover every required item of a reviewer."""
    for slot in range(net.held_start[reviewer], net.held_start[reviewer] + net.n_held[reviewer]):
        i = net.item[net.held[slot]]
        covered = not required[i]
        for place in range(net.panel_start[i], net.panel_start[i] + net.n_panel[i]):
            r = net.reviewer[net.panel[place]]
            covered = covered or (r != reviewer and grown.joined[groups.label[r]])
        if not covered:
            return False
    return True


def clear(
    net: Network, groups: Groups, grown: Grown, outside: Outside, required: BoolArray, seed: int, shared: int,
    total: int, missing: IntArray,
) -> bool:  # fmt: skip
    """Set ``missing`` to 0 for reviewers without whom nothing is missing, as far as a growth with everybody shows.

    A reviewer through whom nobody was merged, in some growth that covers all, can drop out. Returns whether it does.
    """
    with cython.nogil:
        if reached(net, groups, grown, outside, required, seed, shared, -1) < total:
            return False
        for j in range(len(outside.used)):
            if not outside.used[j] and spared(net, groups, grown, required, j):
                missing[j] = 0
    return True


def uncovered_without(
    net: Network, groups: Groups, grown: Grown, outside: Outside, required: BoolArray, seeds: IntArray, shared: int,
    total: int, who: IntArray, missing: IntArray,
) -> None:  # fmt: skip
    """Count in ``missing`` the required items that no component of a seed covers, after each of ``who`` drops out."""
    with cython.nogil:
        for place in range(len(who)):
            best = 0
            for k in range(len(seeds)):
                best = max(best, reached(net, groups, grown, outside, required, seeds[k], shared, who[place]))
                if best == total:
                    break
            missing[who[place]] = total - best
