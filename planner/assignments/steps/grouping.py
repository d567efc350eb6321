"""The components of an assignment under change, and the one that covers most: the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.core import Groups, Grown, coverage, groups_of, grow, largest_of, nothing_grown
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Seeds tried when a core is to be regrown reviewer by reviewer.
SEEDS = 12


class _State(NamedTuple):
    """What :meth:`Core.regroup` finds: all of it is replaced together, and put back together."""

    groups: Groups
    seed: int
    sizes: IntArray
    grown: Grown
    spare: Grown
    covered: int


@dataclass
class Core:
    """The group of reviewers that covers most required items, kept up while the assignment changes.

    Parameters
    ----------
    net
        The assignment.
    required
        Items that the core must cover, shape (N,).
    aim
        The level: what makes two groups one.

    Attributes
    ----------
    total
        Required items.
    count
        Those that the core covers.
    groups, seed, grown
        The groups, the one that the core grows from, and what it covers and has joined.
    """

    net: Network
    required: BoolArray
    aim: Aim

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())
        self.regroup()

    @property
    def groups(self) -> Groups:
        """Groups of reviewers."""
        return self._now.groups

    @property
    def seed(self) -> int:
        """The group that the core grows from."""
        return self._now.seed

    @property
    def grown(self) -> Grown:
        """What the core covers."""
        return self._now.grown

    @property
    def count(self) -> int:
        """Required items that the core covers."""
        return self._now.covered

    def complete(self) -> bool:
        """Whether the core covers every required item."""
        return self.count == self.total

    def at_level(self) -> bool:
        """Whether the level holds."""
        return (self.aim.core_suffices and self.complete()) or self.aim.holds_early(self.table)

    def holds_with(self, more: IntArray) -> bool:
        """Whether the level would hold with further pairs beside those assigned, whatever demands and loads."""
        net = self.net
        assigned = net.assigned.copy()
        assigned[more] = True
        pairs = np.flatnonzero(assigned)
        within = (self.required, net.n_held.size, self.aim.shared)
        if self.aim.core_suffices and largest_of(net.reviewer[pairs], net.item[pairs], *within) == self.total:
            return True
        return self.aim.holds_early(lambda: self._table(pairs))

    def table(self) -> Reviews:
        """Present assignment as a table of reviews."""
        return self._table(np.flatnonzero(self.net.assigned))

    def _table(self, pairs: IntArray) -> Reviews:
        net = self.net
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )

    def regroup(self) -> None:
        """Find the components anew, and the core among them."""
        reviews = self.table()
        components = self.aim.groups(reviews)
        label = components.labels
        core = int(np.argmax(coverage(label, reviews.reviewer, reviews.item, self.required)))
        if self.aim.shared > 1 and np.count_nonzero(label == core) > 1:
            label, core = self._apart(reviews, label, core, components.merges)
        groups = groups_of(label)
        n_items, n_groups = self.required.size, groups.start.size - 1
        grown, spare = nothing_grown(n_items, n_groups), nothing_grown(n_items, n_groups)
        count = self._grow(groups, grown, core)
        self._now = _State(groups, core, np.diff(groups.start), grown, spare, count)

    def _grow(self, groups: Groups, grown: Grown, seed: int) -> int:
        return grow(self.net, groups, grown, self.required, seed, self.aim.shared, -1)

    def _apart(self, reviews: Reviews, label: IntArray, core: int, merges: IntArray) -> tuple[IntArray, int]:
        """Take the core apart into a seed of two reviewers and single ones, so that changes are quick to judge.

        What does not grow back from the seed keeps together in components of its own.
        """
        inside = label == core
        alone = np.where(inside, label.max() + 1 + np.arange(label.size), label)
        best, best_label, best_seed, best_rest = -1, label, core, inside
        for a, b in seeds_of(reviews, merges[inside[merges[:, 0]]]):
            # Everybody of the core stands alone but for the two of this seed; grow from them.
            trial = alone.copy()
            trial[b] = trial[a]
            groups = groups_of(trial)
            grown = nothing_grown(reviews.n_items, groups.start.size - 1)
            count = self._grow(groups, grown, int(trial[a]))
            if count > best:
                best, best_label, best_seed = count, trial, int(trial[a])
                best_rest = inside & ~grown.joined[trial]
        # One reviewer at a time does not join groups that only belong together as wholes: these stay whole.
        if best_rest.any():
            rest = self.aim.groups(reviews.subset(best_rest[reviews.reviewer]))
            best_label[best_rest] = best_label.max() + 1 + rest.labels[best_rest]
        distinct, compact = np.unique(best_label, return_inverse=True)
        return compact.astype(np.int64), int(np.searchsorted(distinct, best_seed))

    def holds_after(self, pairs: IntArray, least: int) -> bool:
        """Whether the core covers ``least`` required items after pairs were flipped; if so, note what it covers.

        Growth alone decides where only reviewers that are groups by themselves lost a review; a group of several
        may have fallen apart, and then the components are found anew.
        """
        now = self._now
        removed = pairs[~self.net.assigned[pairs]]
        if (now.sizes[now.groups.label[self.net.reviewer[removed]]] > 1).any():
            self.regroup()
            if self.count >= least:
                return True
            self._now = now
            return False
        count = self._grow(now.groups, now.spare, now.seed)
        if count < least:
            return False
        self._now = now._replace(grown=now.spare, spare=now.grown, covered=count)
        return True

    def gains_by(self, pair: int) -> bool:
        """Whether a pair would still bring something into the core, or halfway."""
        item, group = self.net.item[pair], self.groups.label[self.net.reviewer[pair]]
        inside, joined = self.grown.covered[item], self.grown.joined[group]
        movable = not (self.net.assigned[pair] or self.net.locked[pair])
        return bool(movable and inside != joined and self.grown.witness[group] != item)


def seeds_of(reviews: Reviews, merges: IntArray) -> list[tuple[int, int]]:
    """Pairs of reviewers who share two items themselves, spread over a certificate."""
    found = []
    for row in np.unique(np.linspace(0, len(merges) - 1, 4 * SEEDS).astype(np.int64)).tolist() if len(merges) else []:
        a, b = merges[row, :2].tolist()
        if np.intersect1d(reviews.items_of(a), reviews.items_of(b), assume_unique=True).size > 1:
            found.append((a, b))
    return found[:: max(1, len(found) // SEEDS)]
