"""Parts and messages in temporary files: written once, read pass by pass, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import finalize

import numpy as np

from lsc.inference.layout import Block, Layout
from lsc.inference.states import Messages, Part
from reviewgraph.arrays import CodeArray, FloatArray, IntArray
from reviewgraph.streams.spill import Spill


class _Outline(NamedTuple):
    """Where a part lies, and its blocks: ``reviewer[start[b]:start[b + 1]]`` of ``width[b]`` slots each."""

    at: int
    slots: int
    reviewer: CodeArray
    start: IntArray
    width: IntArray


class SpilledParts:
    """All parts of a problem, on disk; in memory is the code of each reviewer.

    Parameters
    ----------
    load
        Shape (M,): reviews of each reviewer.
    n_items
        N.
    tell
        Called before each pass.
    """

    def __init__(self, load: IntArray, n_items: int, tell: Callable[[], None]) -> None:
        self.load, self.n_items, self.tell = load, n_items, tell
        self.item, self.score = Spill("<u4"), Spill("<f8")
        self.outlines: list[_Outline] = []
        for spill in (self.item, self.score):
            finalize(self, spill.close)

    def append(self, layout: Layout, first: int) -> None:
        """Write the next part, laid out with codes of reviewers that begin at ``first``."""
        blocks = list(layout.blocks)
        reviewer = np.concatenate([first + block.reviewer for block in blocks]).astype(np.uint32)
        start = np.cumsum([0, *(block.reviewer.size for block in blocks)])
        width = np.array([block.shape[0] for block in blocks])
        self.outlines.append(_Outline(len(self.item), layout.item.size, reviewer, start, width))
        self.item.append(layout.item)
        for block in blocks:
            self.score.append(block.score.ravel())

    def __iter__(self) -> Iterator[Part]:
        """Pass over all parts."""
        self.tell()
        for outline in self.outlines:
            item = self.item.read(outline.at, outline.at + outline.slots).astype(np.int64)
            slot = np.flatnonzero(item < self.n_items)
            yield Part(Layout(_Blocks(self, outline), item, slot, self.load.size, self.n_items))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The blocks of a part: scores are read when a pass asks for them."""

    parts: SpilledParts
    outline: _Outline

    def __iter__(self) -> Iterator[Block]:
        at, slots, members, start, width = self.outline
        score, first = self.parts.score.read(at, at + slots), 0
        for place, k in enumerate(width.tolist()):
            reviewer = members[start[place] : start[place + 1]].astype(np.int64)
            load = self.parts.load[reviewer].astype(np.float64)
            last = first + k * reviewer.size
            used = (np.arange(k)[:, None] < load).astype(np.float64)
            yield Block(reviewer, first, last, score[first:last].reshape(used.shape), used, load)
            first = last


class SpilledMessages:
    """The messages of all parts, on disk; what is zero throughout takes no room. Gone when nobody holds it any more."""

    def __init__(self) -> None:
        self.spill = Spill("<f8")
        finalize(self, self.spill.close)
        self.kept: list[tuple[int, int, int]] = []

    def append(self, told: Messages) -> None:
        """Write those of the next part."""
        kinds = 4 if told.likeness_precision.any() else 2 if told.precision.any() else 0
        self.kept.append((len(self.spill), kinds, told.precision.size))
        for values in told[:kinds]:
            self.spill.append(values)

    def __iter__(self) -> Iterator[Messages]:
        """Read them, part by part."""
        for at, kinds, slots in self.kept:
            values: list[FloatArray] = [*self.spill.read(at, at + kinds * slots).reshape(kinds, slots)]
            yield Messages(*values, *[np.zeros(slots)] * (4 - kinds))
