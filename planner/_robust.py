"""Whether the level holds after any one reviewer drops out, and changes that make it so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from planner._linking import seeds_of
from planner._network import flip
from planner._spread import groups_of, grow, nothing_grown, promise, uncovered_without
from reviewgraph import connected_components, doubly_connected_components

if TYPE_CHECKING:
    from planner._linking import Linker
    from reviewgraph.labels import IntArray

#: Candidates tried for a reviewer on whom the level hangs before she is left for a later round.
TRIES = 200

#: Disjoint seeds to grow from.
WATCHED = 4

#: Rounds over all such reviewers.
ROUNDS = 6


def missing_without(linker: Linker) -> IntArray:
    """Count required items outside the best component after each reviewer in turn drops out, shape (M,); exact.

    Growth from seeds in the core, one reviewer after another, clears most reviewers; the others get the full
    closure. Takes O(M E).
    """
    left = Watch(linker).missing()
    for reviewer in np.flatnonzero(left > 0).tolist():
        left[reviewer] = _missing(linker, reviewer)
    return left


def _missing(linker: Linker, reviewer: int) -> int:
    reviews = linker.table()
    rest = reviews.subset(reviews.reviewer != reviewer)
    components = doubly_connected_components(rest) if linker.shared > 1 else connected_components(rest)
    label, n_items = components.labels, max(reviews.n_items, 1)
    pairs = np.unique(label[rest.reviewer] * n_items + rest.item)
    weight = linker.required[pairs % n_items].astype(np.float64)
    return linker.total - int(np.bincount(pairs // n_items, weight, 1).max(initial=0))


class Watch:
    """Growth from a few disjoint seeds with one reviewer left out, so that no drop-out takes all of them."""

    def __init__(self, linker: Linker) -> None:
        self.linker = linker
        label, seeds = _seeds(linker)
        distinct, compact = np.unique(label, return_inverse=True)
        self.groups = groups_of(compact.astype(np.int64))
        self.seeds = np.searchsorted(distinct, np.array(seeds, np.int64)).astype(np.int64)
        self.grown = nothing_grown(linker.required.size, self.groups.start.size - 1)

    def missing(self) -> IntArray:
        """Items that no growth reaches without each reviewer in turn: at least what is truly missing."""
        link = self.linker
        return uncovered_without(link.net, self.groups, self.grown, link.required, self.seeds, link.shared)

    def missing_one(self, reviewer: int) -> int:
        """Items that no growth reaches without one reviewer; ``grown`` is left as the best growth has it."""
        link = self.linker
        counts = [self._grow(seed, reviewer) for seed in self.seeds.tolist()]
        return link.total - self._grow(int(self.seeds[int(np.argmax(counts))]), reviewer)

    def _grow(self, seed: int, without: int) -> int:
        link = self.linker
        return grow(link.net, self.groups, self.grown, link.required, seed, link.shared, without)


def _seeds(linker: Linker) -> tuple[IntArray, list[int]]:
    reviews = linker.table()
    label = np.arange(reviews.n_reviewers)
    largest = np.argsort(-reviews.loads, kind="stable").tolist()
    if linker.shared == 1:
        return label, largest[:WATCHED]
    used: set[int] = set()
    seeds = []
    for a, b in seeds_of(reviews, doubly_connected_components(reviews).merges):
        if not used & {a, b}:
            used |= {a, b}
            label[b] = a
            seeds.append(a)
    return label, seeds[:WATCHED] or largest[:1]


def harden(linker: Linker) -> IntArray:
    """Force pairs until the level survives any one reviewer, as far as that goes; returns what is missing for each.

    For a reviewer on whom items hang, the pairs that would join them without her are tried, cheapest first; a pair
    stays if less is missing over all reviewers than before.
    """
    exact = missing_without(linker)
    if not exact.any():
        return exact
    missing = Watch(linker).missing()
    for _ in range(ROUNDS):
        before = int(missing.sum())
        for reviewer in np.argsort(-missing, kind="stable").tolist():
            if missing[reviewer] > 0 and time.monotonic() < linker.deadline and _missing(linker, reviewer) > 0:
                missing = _support(linker, reviewer, missing)
        if int(missing.sum()) in (0, before):
            break
    linker.regroup()
    return missing_without(linker)


def _support(linker: Linker, reviewer: int, missing: IntArray) -> IntArray:
    """Force one pair that joins what hangs on a reviewer; returns what is missing afterwards."""
    net, watch = linker.net, Watch(linker)
    alone = watch.missing_one(reviewer)
    loss, follow, gain = promise(net, linker.cost, watch.groups, watch.grown, linker.required, linker.shared, 1)
    useful = np.flatnonzero((gain > 0) & (net.reviewer != reviewer))
    score = (loss + follow)[useful] / gain[useful]
    for pair in useful[np.argsort(score, kind="stable")[:TRIES]].tolist():
        if time.monotonic() > linker.deadline:
            break
        pairs, _ = linker.change(pair)
        if pairs.size == 0:
            continue
        flip(net, pairs)
        if watch.missing_one(reviewer) < alone:
            now = watch.missing()
            if int(now.sum()) < int(missing.sum()):
                net.locked[pair] = True
                linker.forced.append(pair)
                return now
        flip(net, pairs)
    return missing
