"""Reviews laid out for whole-array steps: reviewers of about the same number of reviews side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Loads up to this one have blocks of their own; above, a block holds loads that differ by at most a sixth.
EXACT_LOADS = 8
WASTE = 7 / 6
#: Reviews in a block: its arrays over 15 nodes then stay in the processor's cache.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Block:
    """Reviewers of nearly equal load; a slot is a place for a review, of which some are empty.

    Parameters
    ----------
    reviewer
        Shape (m,): their codes.
    first, last
        The slots of the block, those of one reviewer ``m`` apart: ``slots[first:last].reshape(k, m)``.
    score
        Shape (k, m), 0 in empty slots.
    used
        Shape (k, m): 1 where a slot holds a review, 0 where it is empty.
    load
        Shape (m,): reviews of each.
    """

    reviewer: IntArray
    first: int
    last: int
    score: FloatArray
    used: FloatArray
    load: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Slots a reviewer and reviewers."""
        return self.score.shape[0], self.score.shape[1]

    @property
    def full(self) -> bool:
        """Whether no slot is empty."""
        return bool(self.load.min() == self.score.shape[0])


@dataclass(frozen=True, eq=False)
class Layout:
    """All blocks.

    Parameters
    ----------
    blocks
        In order of load.
    item
        Shape (S,): item of each slot; N in an empty one.
    slot
        Shape (E,): the slot of each review, in the order of the input.
    n_reviewers, n_items
        M and N.
    """

    blocks: Iterable[Block]
    item: IntArray
    slot: IntArray
    n_reviewers: int
    n_items: int

    def spread(self, value: FloatArray, empty: float = 0.0) -> FloatArray:
        """From one value a review, shape (E,), to one a slot, shape (S,)."""
        slots = np.full(self.item.size, empty)
        slots[self.slot] = value
        return slots

    def add_per_item(self, value: FloatArray, total: FloatArray) -> None:
        """Add slots to sums over items, shape (N + 1,); entry N belongs to empty slots."""
        np.add.at(total, self.item, value)


def lay_out(reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, n_items: int) -> Layout:
    """Group reviewers by load, in time linear in reviews but for a sort.

    Parameters
    ----------
    reviewer, item, score
        Shape (E,), in any order.
    """
    order = np.lexsort((item, reviewer))
    load = np.bincount(reviewer, minlength=n_reviewers)
    start = np.concatenate([[0], np.cumsum(load)])
    slot, item_of, blocks, first = np.empty(item.size, np.int64), [], [], 0
    for k, members in grouped(load):
        m = members.size
        place = np.arange(k)[:, None]
        used: BoolArray = place < load[members]
        row = order[np.where(used, start[members] + place, 0)]
        slot[row[used]] = first + np.flatnonzero(used.ravel())
        item_of.append(np.where(used, item[row], n_items).ravel())
        blocks.append(
            Block(
                members.astype(np.int64),
                first,
                first + k * m,
                np.where(used, score[row], 0.0),
                used.astype(np.float64),
                load[members].astype(np.float64),
            )
        )
        first += k * m
    items = np.concatenate(item_of) if item_of else np.empty(0, np.int64)
    return Layout(tuple(blocks), items, slot, n_reviewers, n_items)


def grouped(load: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield the blocks of reviewers of so many reviews: slots a reviewer, and their codes."""
    width = _widths(load)
    by_width = np.argsort(width, kind="stable")
    by_width = by_width[width[by_width] > 0]
    for members in _pieces(by_width, width):
        yield int(width[members[0]]), members


def _widths(load: IntArray) -> IntArray:
    """Slots given to each reviewer: her load, rounded up to one of few sizes above ``EXACT_LOADS``."""
    sizes = [*range(EXACT_LOADS + 1)]
    while sizes[-1] < load.max(initial=0):
        sizes.append(int(np.ceil(sizes[-1] * WASTE)))
    known = np.array(sizes)
    width = known[np.searchsorted(known, load)]
    # No wider than the widest reviewer of the same size needs.
    widest = np.zeros(known[-1] + 1, np.int64)
    np.maximum.at(widest, width, load)
    return np.asarray(widest[width], np.int64)


def _pieces(members: IntArray, width: IntArray) -> list[IntArray]:
    """Cut reviewers, sorted by width, into runs of one width and of about ``BLOCK`` slots."""
    cuts = np.flatnonzero(np.diff(width[members])) + 1
    pieces = []
    for run in np.split(members, cuts):
        if run.size:
            parts = max(1, int(np.ceil(run.size * width[run[0]] / BLOCK)))
            pieces.extend(np.array_split(run, min(parts, run.size)))
    return pieces
