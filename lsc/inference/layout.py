"""Reviews laid out for whole-array steps: reviewers of about the same number of reviews side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reviewgraph.arrays import CodeArray
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


class Layout(NamedTuple):
    """Some of the reviewers, in blocks in order of load; flat, as kernels take it.

    Parameters
    ----------
    first, start
        Shape (B + 1,): where the slots and the members of each block begin, and where the last end.
    member
        Codes of reviewers, block by block.
    load
        Shape (M,): reviews of each reviewer.
    item, score
        Shape (S,): of each slot; N and 0 in an empty one.
    """

    first: IntArray
    start: IntArray
    member: CodeArray
    load: IntArray
    item: CodeArray
    score: FloatArray

    @property
    def reviewer(self) -> IntArray:
        """Shape (S,): reviewer of each slot."""
        blocks = (np.tile(block.reviewer, block.shape[0]) for block in self.blocks)
        return np.concatenate([np.empty(0, np.int64), *blocks])

    @property
    def blocks(self) -> Iterator[Block]:
        """Each block."""
        for number in range(self.first.size - 1):
            reviewer = self.member[self.start[number] : self.start[number + 1]].astype(np.int64)
            first, last = self.first[number : number + 2].tolist()
            load = self.load[reviewer].astype(np.float64)
            score = self.score[first:last].reshape(-1, reviewer.size)
            used = (np.arange(len(score))[:, None] < load).astype(np.float64)
            yield Block(reviewer, first, last, score, used, load)


def lay_out(
    reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, n_items: int
) -> tuple[Layout, IntArray]:
    """Group reviewers by load, in time linear in reviews but for a sort; returns the slot of each review, too.

    Parameters
    ----------
    reviewer, item, score
        Shape (E,), in any order.
    """
    order = np.lexsort((item, reviewer))
    load = np.bincount(reviewer, minlength=n_reviewers)
    begin = np.concatenate([[0], np.cumsum(load)])
    first, start, member = blocks_of(load)
    slot, size = np.empty(item.size, np.int64), int(first[-1])
    item_of, score_of = np.full(size, n_items, np.uint32), np.zeros(size)
    for low, high, hers in zip(first[:-1], first[1:], np.split(member, start[1:-1]), strict=False):
        place = np.arange((high - low) // max(hers.size, 1))[:, None]
        used: BoolArray = place < load[hers]
        row = order[(begin[hers] + place)[used]]
        slot[row] = low + np.flatnonzero(used.ravel())
    item_of[slot], score_of[slot] = item, score
    return Layout(first, start, member, load, item_of, score_of), slot


def blocks_of(load: IntArray) -> tuple[IntArray, IntArray, CodeArray]:
    """Return where the slots and the members of each block begin, and where the last end, and all members."""
    width = _widths(load)
    by_width = np.argsort(width, kind="stable")
    by_width = by_width[width[by_width] > 0]
    pieces = _pieces(by_width, width)
    size = np.array([piece.size for piece in pieces], np.int64)
    slots = size * np.array([width[piece[0]] for piece in pieces], np.int64)
    first, start = (np.concatenate([[0], np.cumsum(each)]) for each in (slots, size))
    return first, start, by_width.astype(np.uint32)


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
