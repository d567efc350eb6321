"""Bring an assignment to a connection level at the least loss: force useful pairs along cheapest cycles.

1. Group the reviewers into components and take the one that covers most (the core).
2. Rank the pairs that would bring items into the core by their loss (a reduced cost: a lower bound) per item.
3. Force the best pair by the cheapest cycle of the residual network; take it back if the core shrinks by what the
   cycle removes, and try again around the reviews that were missed.
4. When the core covers every required item, free the forced pairs one by one where it still does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.network import Network, Work, cheapest_path, flip
from planner.assignments.steps.core import Groups, Grown, groups_of, grow, nothing_grown, promise
from reviewgraph import Reviews, connected_components, doubly_connected_components

if TYPE_CHECKING:
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Seeds tried when a core is to be regrown reviewer by reviewer.
SEEDS = 12

#: Pairs ranked at a time, and the share of the missing items after which they are ranked anew.
RANKED, SHARE = 256, 0.05

#: Ways tried around reviews that the core cannot do without.
DETOURS = 4

#: By how much each search in vain raises what the next may go to.
ALLOWANCE = 1.5

#: Forced pairs whose mean loss per item is what a search may go to at once.
MEMORY = 20

#: While the core covers less than this share, its own reviews stay where they are: it is too small to lose any.
SMALL = 0.05

#: A path may cost this much more than promised before the next pair in the ranking gets its turn.
PATIENCE = 2.0


@dataclass
class Linker:
    """An assignment under change, with its core.

    Parameters
    ----------
    net, cost, work
        The assignment, the cost of each pair, scratch space.
    required
        Items that the core must cover, shape (N,).
    shared
        Items that two components must share to be one: 2 for ``double``, 1 for ``connected``.
    clock
        When to stop.
    say
        Told how many required items the core covers, now and then.
    """

    net: Network
    cost: IntArray
    work: Work
    required: BoolArray
    shared: int
    clock: Clock
    say: Callable[[int], object] = lambda count: None
    forced: list[int] = field(default_factory=list)
    enough: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())
        self.usual = 0.0
        self.regroup()

    # The core

    def table(self) -> Reviews:
        """Present assignment as a table of reviews."""
        net = self.net
        pairs = np.flatnonzero(net.assigned)
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )

    def regroup(self) -> None:
        """Find the components anew, and the core among them."""
        reviews = self.table()
        doubly = self.shared > 1
        components = doubly_connected_components(reviews) if doubly else connected_components(reviews)
        label = components.labels
        pairs = np.unique(label[reviews.reviewer] * max(reviews.n_items, 1) + reviews.item)
        weight = self.required[pairs % max(reviews.n_items, 1)].astype(np.float64)
        covered = np.bincount(pairs // max(reviews.n_items, 1), weight, int(label.max(initial=-1)) + 1)
        core = int(np.argmax(covered))
        if doubly and np.count_nonzero(label == core) > 1:
            label, core = self._regrow(reviews, label, core, components.merges)
        self._use(label, core)

    def _use(self, label: IntArray, core: int) -> None:
        self.groups, self.core = groups_of(label), core
        self.sizes = np.diff(self.groups.start)
        n_items = self.net.item_start.size - 1
        self.grown = nothing_grown(n_items, self.sizes.size)
        self.spare = nothing_grown(n_items, self.sizes.size)
        self.count = self._grow(self.groups, self.grown, core)

    def _grow(self, groups: Groups, grown: Grown, core: int, without: int = -1) -> int:
        return grow(self.net, groups, grown, self.required, core, self.shared, without)

    def _regrow(self, reviews: Reviews, label: IntArray, core: int, merges: IntArray) -> tuple[IntArray, int]:
        """Take the core apart into a seed of two reviewers and single ones, so that changes are quick to judge.

        What does not grow back from the seed keeps together in components of its own.
        """
        inside = label == core
        alone = np.where(inside, label.max() + 1 + np.arange(label.size), label)
        best, best_label, best_seed, best_alone = -1, label, core, inside
        for a, b in seeds_of(reviews, merges[inside[merges[:, 0]]]):
            trial = alone.copy()
            trial[b] = trial[a]
            groups = groups_of(trial)
            grown = nothing_grown(reviews.n_items, groups.start.size - 1)
            count = self._grow(groups, grown, int(trial[a]))
            if count > best:
                best, best_label, best_seed = count, trial, int(trial[a])
                best_alone = inside & ~grown.joined[trial]
        if best_alone.any():
            rest = doubly_connected_components(reviews.subset(best_alone[reviews.reviewer]))
            best_label[best_alone] = best_label.max() + 1 + rest.labels[best_alone]
        distinct, compact = np.unique(best_label, return_inverse=True)
        return compact.astype(np.int64), int(np.searchsorted(distinct, best_seed))

    # Changes

    def change(self, pair: int, limit: int = 1 << 61) -> tuple[IntArray, bool]:
        """Cheapest set of pairs to flip along with one, empty if there is none; false if it exceeds the limit.

        The limit is on the loss beyond the pair's own reduced cost.
        """
        length = cheapest_path(self.net, self.cost, self.work, pair, limit)
        return self.work.path[: max(length, 0)].copy(), length >= 0

    def loss_of(self, pairs: IntArray) -> int:
        """Cost of flipping pairs."""
        return int(np.where(self.net.assigned[pairs], -self.cost[pairs], self.cost[pairs]).sum())

    def reduced(self, pair: int) -> int:
        """Reduced cost of a pair, a lower bound on the loss of forcing it."""
        net = self.net
        end = net.item_start.size - 1 + net.reviewer[pair]
        return int(self.cost[pair] + net.potential[net.item[pair]] - net.potential[end])

    def holds_after(self, pairs: IntArray, least: int) -> bool:
        """Whether the core covers ``least`` required items after pairs were flipped; if so, note what it covers."""
        removed = pairs[~self.net.assigned[pairs]]
        if (self.sizes[self.groups.label[self.net.reviewer[removed]]] > 1).any():
            before = (self.groups, self.core, self.sizes, self.grown, self.spare, self.count)
            self.regroup()
            if self.count >= least:
                return True
            self.groups, self.core, self.sizes, self.grown, self.spare, self.count = before
            return False
        count = self._grow(self.groups, self.spare, self.core)
        if count < least:
            return False
        self.grown, self.spare, self.count = self.spare, self.grown, count
        return True

    def useful(self, pair: int) -> bool:
        """Whether a pair would still bring something into the core, or halfway."""
        item, group = self.net.item[pair], self.groups.label[self.net.reviewer[pair]]
        inside, joined = self.grown.covered[item], self.grown.joined[group]
        movable = not (self.net.assigned[pair] or self.net.locked[pair])
        return bool(movable and inside != joined and self.grown.witness[group] != item)

    def force(self, pair: int, pairs: IntArray, holds: Callable[[IntArray], bool]) -> bool:
        """Flip pairs and keep them if that holds; else look for ways around the reviews that were removed."""
        net, avoided = self.net, []
        try:
            for _ in range(DETOURS):
                if pairs.size == 0:
                    return False
                flip(net, pairs)
                net.locked[pair] = True
                if holds(pairs):
                    self.forced.append(pair)
                    return True
                flip(net, pairs)
                net.locked[pair] = False
                removed = pairs[net.assigned[pairs]]
                net.locked[removed] = True
                avoided += removed.tolist()
                pairs, _ = self.change(pair)
            return False
        finally:
            net.locked[avoided] = False

    # The search

    def link(self) -> bool:
        """Force pairs until the core covers every required item; false if no further pair helps or time is up."""
        blocked = np.zeros(self.cost.size, np.bool_)
        floor = 1 + int(np.median(np.abs(self.cost))) // 10_000 if self.cost.size else 1
        while self.count < self.total and not self.enough():
            if self.clock.over():
                return False
            self.say(self.count)
            loss, follow, gain = promise(
                self.net, self.cost, self.groups, self.grown, self.required, self.shared, floor
            )
            useful = np.flatnonzero((gain > 0) & ~blocked)
            if useful.size == 0:
                return False
            score = (loss + follow)[useful] / gain[useful]
            if useful.size > RANKED:
                nearest = np.argpartition(score, RANKED)[:RANKED]
                useful, score = useful[nearest], score[nearest]
            held = self._hold_core()
            if not self._force_ranked(list(zip(score.tolist(), useful.tolist(), strict=True)), follow, gain, blocked):
                self.regroup()
            self.net.locked[held] = False
        return True

    def _hold_core(self) -> IntArray:
        """Lock the reviews of a small core; returns those that were not locked before."""
        net = self.net
        if self.count >= SMALL * self.total:
            return np.empty(0, np.int64)
        inside = net.assigned & ~net.locked & self.grown.joined[self.groups.label[net.reviewer]]
        held = np.flatnonzero(inside & self.grown.covered[net.item])
        net.locked[held] = True
        return held

    def _force_ranked(
        self, ranked: list[tuple[float, int]], follow: IntArray, gain: IntArray, blocked: BoolArray
    ) -> bool:
        """Force pairs in the order of loss per item until the core has grown by a share; false if none could be."""
        heapq.heapify(ranked)
        start, forced = self.count, 0
        enough = max(1.0, SHARE * (self.total - start))
        while ranked and forced < enough and self.count - start <= 4 * enough and self.count < self.total:
            score, pair = heapq.heappop(ranked)
            if not self.useful(pair):
                continue
            bar = PATIENCE * max(score, ranked[0][0], self.usual) if ranked and self.usual > 0 else np.inf
            beyond = bar * gain[pair] - follow[pair] - self.reduced(pair)
            pairs, within = self.change(pair, int(min(max(beyond, 0), 1 << 61)))
            if not within:
                self.usual *= ALLOWANCE
                heapq.heappush(ranked, (bar, pair))
                continue
            least = self.count
            price = self.loss_of(pairs) / gain[pair]
            if self.force(pair, pairs, lambda pairs, least=least: self.holds_after(pairs, least)):  # type: ignore[misc]
                forced += 1
                self.usual += (price - self.usual) / min(len(self.forced), MEMORY)
            else:
                blocked[pair] = True
            if self.clock.over():
                break
        return forced > 0

    def release(self, holds: Callable[[IntArray], bool]) -> None:
        """Give forced pairs up again, dearest first, where the level holds without them."""
        net = self.net
        n_items = net.item_start.size - 1
        forced = np.array(self.forced, np.int64)
        loss = self.cost[forced] + net.potential[net.item[forced]] - net.potential[n_items + net.reviewer[forced]]
        kept = []
        for pair in forced[np.argsort(-loss, kind="stable")].tolist():
            if self.clock.over():
                kept.append(pair)
                continue
            pairs, _ = self.change(pair, max(self.reduced(pair), 0))
            if pairs.size == 0:
                kept.append(pair)
                continue
            flip(net, pairs)
            net.locked[pair] = False
            if not holds(pairs):
                flip(net, pairs)
                net.locked[pair] = True
                kept.append(pair)
        self.forced = kept


def seeds_of(reviews: Reviews, merges: IntArray) -> list[tuple[int, int]]:
    """Pairs of reviewers who share two items themselves, spread over a certificate."""
    found = []
    for row in np.unique(np.linspace(0, len(merges) - 1, 4 * SEEDS).astype(np.int64)).tolist() if len(merges) else []:
        a, b = merges[row, :2].tolist()
        if np.intersect1d(reviews.items_of(a), reviews.items_of(b), assume_unique=True).size > 1:
            found.append((a, b))
    return found[:: max(1, len(found) // SEEDS)]
