"""Maximal recoverable blocks, and when they become one as the reviews of a plan arrive.

Blocks only grow, and what happens inside a block depends on its reviews alone. So the plan is halved: the blocks of the
half-way table are worked on apart from each other, and are one body each for the second half. Every review lies
in some log P contracted tables, which is what the pebble games take in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.target import Groups
from reviewgraph.arrays import distinct
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


def recoverable_groups(reviews: Reviews) -> Groups:
    """Maximal recoverable blocks of reviewers, numbered by their first reviewers; who has fewer than two is alone.

    >>> table = Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 1), ("cleo", 3)])
    >>> recoverable_groups(table).labels.tolist()
    [0, 0, 1]
    """
    found = recoverability(reviews)
    label = found.block_labels.copy()
    alone = np.flatnonzero(label < 0)
    label[alone] = len(found.block_covers) + np.arange(alone.size)
    covers = [*found.block_covers, *(reviews.items_of(j) for j in alone.tolist())]
    first = np.unique(label, return_index=True)[1]
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return Groups(rank[label], tuple(covers[k] for k in np.argsort(first).tolist()))


def merges(reviews: Reviews, pairs: IntArray) -> list[list[int]]:
    """For each review in turn, one reviewer of each further block that becomes one with the reviewer's.

    Reviewers of fewer than two items count as blocks once they are part of one. Takes the time of the pebble game on
    the blocks, times the logarithm of the number of reviews.
    """
    groups = recoverable_groups(reviews)
    first = np.unique(groups.labels, return_index=True)[1]
    found: list[list[int]] = [[] for _ in range(len(pairs))]
    bodies = {int(j): cover for j, cover in zip(first, groups.covers, strict=True)}
    home = first[groups.labels]
    _Halving(pairs, found).run(0, len(pairs), bodies, home[pairs[:, 0]])
    return found


class _Halving:
    """The recursion; a body is named after one of its reviewers and has the items it covers."""

    def __init__(self, pairs: IntArray, found: list[list[int]]) -> None:
        self.pairs, self.found = pairs, found

    def run(self, low: int, high: int, bodies: dict[int, IntArray], owner: IntArray) -> list[list[int]]:
        """Find the merges of some bodies among the reviews ``low`` to ``high``, read by ``owner[low:high]``.

        Returns the blocks that they make, as lists of names.
        """
        blocks = self._blocks(low, high, bodies, owner)
        number = {name: k for k, names in enumerate(blocks) for name in names}
        reads: list[list[int]] = [[] for _ in blocks]
        for place in range(low, high):
            reads[number[int(owner[place])]].append(place)
        for names, mine in zip(blocks, reads, strict=True):
            self._join(names, np.array(mine, np.int64), bodies, owner)
        return blocks

    def _join(self, names: list[int], reads: IntArray, bodies: dict[int, IntArray], owner: IntArray) -> None:
        """Find the merges of bodies that some reviews make one block: by one, or some by the first half of them."""
        if len(names) == 1:
            return
        if reads.size == 1:
            reader = int(owner[reads[0]])
            self.found[int(reads[0])] = [name for name in names if name != reader]
            return
        self._halve(reads, {name: bodies[name] for name in names}, owner)

    def _halve(self, reads: IntArray, bodies: dict[int, IntArray], owner: IntArray) -> None:
        """Work on the first half of some reviews, then on the second with the blocks of the first as bodies."""
        inner = _Halving(self.pairs[reads], [[] for _ in range(reads.size)])
        half, own = reads.size // 2, owner[reads]
        name_of = {name: names[0] for names in inner.run(0, half, bodies, own) for name in names}
        named = np.array([name_of[name] for name in own.tolist()], np.int64)
        covers: dict[int, list[IntArray]] = {}
        for name, cover in bodies.items():
            covers.setdefault(name_of[name], []).append(cover)
        for name, item in zip(named[:half].tolist(), inner.pairs[:half, 1:], strict=True):
            covers[name].append(item)
        merged = {name: distinct(*parts) if len(parts) > 1 else parts[0] for name, parts in covers.items()}
        inner._join(sorted(merged), np.arange(half, reads.size), merged, named)
        for place, joined in zip(reads.tolist(), inner.found, strict=True):
            self.found[place] = joined

    def _blocks(self, low: int, high: int, bodies: dict[int, IntArray], owner: IntArray) -> list[list[int]]:
        """Blocks that some bodies make with the reviews ``low`` to ``high``, as lists of names."""
        names = sorted(bodies)
        place = {name: k for k, name in enumerate(names)}
        reader = np.concatenate(
            [
                np.repeat(np.arange(len(names)), [bodies[name].size for name in names]),
                np.array([place[name] for name in owner[low:high].tolist()], np.int64),
            ]
        )
        item = np.concatenate([*(bodies[name] for name in names), self.pairs[low:high, 1]])
        known = distinct(item)
        rows = distinct(reader * max(known.size, 1) + np.searchsorted(known, item))
        table = Reviews.from_codes(
            rows // max(known.size, 1), rows % max(known.size, 1), reviewers=len(names), items=int(known.size)
        )
        label = recoverable_groups(table).labels.tolist()
        found: dict[int, list[int]] = {}
        for name, block in zip(names, label, strict=True):
            found.setdefault(block, []).append(name)
        return list(found.values())
