"""What the core still covers after any one reviewer drops out: kernels, and a watch that calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.core import Groups, Grown, groups_of, grow, nothing_grown
from planner.assignments.steps.linking import seeds_of
from reviewgraph import connected_components, doubly_connected_components
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.network import Network
    from planner.assignments.steps.linking import Linker
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Disjoint seeds to grow from.
WATCHED = 4


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
def close_outside(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, without: int, used: BoolArray
) -> int:
    """Merge reviewers outside the core among themselves, and those into it who then share two items with it.

    Growth takes in one reviewer at a time; two who share two items may belong together where neither does alone.
    Returns how many required items that brings; ``grown`` takes them up. Reviewers through whom others were merged
    are marked in ``used``. Each pass grows every component once; the last one finds nothing.
    """
    n_reviewers, n_items = net.n_held.size, required.size
    root, following, last = np.arange(n_reviewers), np.full(n_reviewers, -1, np.int64), np.arange(n_reviewers)
    stamp, common = np.full(n_reviewers, -1, np.int64), np.full(n_reviewers, -1, np.int64)
    through, seen = np.full(n_reviewers, -1, np.int64), np.full(n_items, -1, np.int64)
    seen_by, scan, brought, again = np.full(n_items, -1, np.int64), 0, 0, True
    while again:
        again = False
        for c in range(n_reviewers):
            if root[c] != c or c == without or grown.joined[groups.label[c]]:
                continue
            scan += 1
            inside, j, alone = -1, c, following[c] < 0
            absorbed = False
            while j >= 0 and not absorbed:
                for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
                    i = net.item[net.held[slot]]
                    if seen[i] == scan:
                        continue
                    seen[i], seen_by[i] = scan, j
                    if grown.covered[i]:
                        if inside >= 0:
                            note(net, groups, grown, i, without, used)
                            note(net, groups, grown, inside, without, used)
                            if following[c] >= 0:
                                used[j], used[seen_by[inside]] = True, True
                            absorbed = True
                            break
                        inside = i
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
                            following[last[c]], last[c] = d, last[d]
                            alone, again, m = False, True, d
                            while m >= 0:
                                root[m] = c
                                m = following[m]
                j = following[j]
            if absorbed:
                again, j = True, c
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
def uncovered_without(
    net: Network, groups: Groups, grown: Grown, required: BoolArray, seeds: IntArray, shared: int
) -> IntArray:
    """Count required items that no component of a seed covers, after each reviewer in turn drops out.

    Whoever nobody was merged through, in some growth that covers all, can drop out; the others are tried.
    """
    n_reviewers, total = net.n_held.size, 0
    for i in range(required.size):
        if required[i]:
            total += 1
    left, used = np.full(n_reviewers, -1, np.int64), np.zeros(n_reviewers, np.bool_)
    good, n_good = seeds.copy(), 0
    for seed in seeds:
        if reached(net, groups, grown, required, seed, shared, -1, used) == total:
            good[n_good] = seed
            n_good += 1
            for j in range(n_reviewers):
                if left[j] < 0 and not used[j] and spared(net, groups, grown, required, j):
                    left[j] = 0
    for j in range(n_reviewers):
        best = 0
        if left[j] == 0:
            continue
        for seed in good[: max(n_good, 1)]:
            best = max(best, reached(net, groups, grown, required, seed, shared, j, used))
            if best == total:
                break
        left[j] = total - best
    return left


class Watch:
    """Growth from a few disjoint seeds with one reviewer left out, so that no drop-out takes all of them.

    A seed is two reviewers who share two items, or one reviewer where there are too few of those; :meth:`sound`
    says whether they still do after the assignment has changed.
    """

    def __init__(self, linker: Linker) -> None:
        self.linker = linker
        reviews = linker.table()
        label = np.arange(reviews.n_reviewers)
        used: set[int] = set()
        self.pairs: list[tuple[int, int]] = []
        merges = doubly_connected_components(reviews).merges if linker.shared > 1 else np.empty((0, 4), np.int64)
        for a, b in seeds_of(reviews, merges):
            if not used & {a, b} and len(self.pairs) < WATCHED:
                used |= {a, b}
                label[b] = a
                self.pairs.append((a, b))
        busiest = np.argsort(-reviews.loads, kind="stable")[: 3 * WATCHED].tolist()
        first = [a for a, _ in self.pairs] + [j for j in busiest if j not in used]
        distinct, compact = np.unique(label, return_inverse=True)
        self.groups = groups_of(compact.astype(np.int64))
        self.seeds = np.searchsorted(distinct, np.array(first[:WATCHED], np.int64)).astype(np.int64)
        self.grown = nothing_grown(linker.required.size, self.groups.start.size - 1)
        self.used = np.zeros(label.size, np.bool_)

    def sound(self) -> bool:
        """Whether the reviewers of each seed still share two items."""
        net = self.linker.net

        def items_of(j: int) -> set[int]:
            first = int(net.held_start[j])
            return set(net.item[net.held[first : first + int(net.n_held[j])]].tolist())

        return all(len(items_of(a) & items_of(b)) > 1 for a, b in self.pairs)

    def missing(self) -> IntArray:
        """Items that no growth reaches without each reviewer in turn: at least what is truly missing."""
        link = self.linker
        return uncovered_without(link.net, self.groups, self.grown, link.required, self.seeds, link.shared)

    def missing_one(self, reviewer: int) -> int:
        """Items that no growth reaches without one reviewer; ``grown`` is left as the best growth has it."""
        counts = [self._reached(seed, reviewer) for seed in self.seeds.tolist()]
        best = int(np.argmax(counts))
        if best != len(counts) - 1:
            self._reached(int(self.seeds[best]), reviewer)
        return self.linker.total - counts[best]

    def _reached(self, seed: int, without: int) -> int:
        link = self.linker
        return reached(link.net, self.groups, self.grown, link.required, seed, link.shared, without, self.used)


def missing_without(linker: Linker) -> IntArray:
    """Count required items outside the best component after each reviewer in turn drops out, shape (M,); exact.

    Growth from seeds in the core, one reviewer after another, clears most reviewers; the others get the full
    closure. Takes O(M E).
    """
    left = Watch(linker).missing()
    for reviewer in np.flatnonzero(left > 0).tolist():
        left[reviewer] = truly_missing(linker, reviewer)
    return left


def truly_missing(linker: Linker, reviewer: int) -> int:
    """Count required items outside the best component after one reviewer drops out, by the full closure."""
    reviews = linker.table()
    rest = reviews.subset(reviews.reviewer != reviewer)
    components = doubly_connected_components(rest) if linker.shared > 1 else connected_components(rest)
    label, n_items = components.labels, max(reviews.n_items, 1)
    pairs = np.unique(label[rest.reviewer] * n_items + rest.item)
    weight = linker.required[pairs % n_items].astype(np.float64)
    return linker.total - int(np.bincount(pairs // n_items, weight, 1).max(initial=0))
