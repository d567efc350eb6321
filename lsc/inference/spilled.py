"""Parts and messages in temporary files: written once, read pass by pass, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from weakref import finalize

import numpy as np

from lsc.inference.layout import Block, Layout, grouped
from lsc.inference.preparing import Rows
from lsc.inference.states import Messages, Part
from reviewgraph.arrays import FloatArray, IntArray
from reviewgraph.streams.spill import Spill, ranges


class SpilledParts:
    """All parts of a problem, on disk; in memory is the code of each reviewer.

    Blocks are those of the table in memory, so that steps round as they do there, however many blocks a part has.

    Parameters
    ----------
    load
        Shape (M,): reviews of each reviewer.
    n_items
        N.
    most
        Slots of a part at most, unless one block has more.
    tell
        Called before each pass.
    """

    def __init__(self, load: IntArray, n_items: int, most: int, tell: Callable[[], None]) -> None:
        self.load, self.n_items, self.tell = load, n_items, tell
        blocks = [(width, members.astype(np.uint32)) for width, members in grouped(load)]
        self.width, self.members = [width for width, _ in blocks], [members for _, members in blocks]
        self.first = np.cumsum([0, *(width * members.size for width, members in blocks)])
        self.cuts = list(ranges(self.first, most))
        self.item, self.score = Spill("<u4"), Spill("<f8")
        for spill in (self.item, self.score):
            finalize(self, spill.close)

    def fill(self, pieces: Iterable[Rows]) -> None:
        """Write the reviews, which come reviewer by reviewer."""
        at, step, width = np.zeros((3, self.load.size), np.int64)
        for first, slots, members in zip(self.first.tolist(), self.width, self.members, strict=False):
            at[members], step[members], width[members] = first + np.arange(members.size), members.size, slots
        for rows in pieces:
            begin = np.flatnonzero(np.diff(rows.reviewer, prepend=-1))
            who = rows.reviewer[begin]
            # All slots of each reviewer, the empty ones last.
            hers = np.repeat(np.arange(who.size), width[who])
            place = np.arange(hers.size) - (np.cumsum(width[who]) - width[who])[hers]
            used = place < self.load[who][hers]
            row = np.where(used, begin[hers] + place, 0)
            self._write(
                np.asarray(at[who][hers] + place * step[who][hers], np.int64),
                np.where(used, rows.item[row], self.n_items),
                np.where(used, rows.score[row], 0.0),
            )

    def _write(self, slot: IntArray, item: IntArray, score: FloatArray) -> None:
        order = np.argsort(slot)
        slot, item, score = slot[order], item[order], score[order]
        runs = np.flatnonzero(np.diff(slot, prepend=-2) != 1).tolist()
        for low, high in zip(runs, [*runs[1:], slot.size], strict=True):
            self.item.write(int(slot[low]), item[low:high])
            self.score.write(int(slot[low]), score[low:high])

    def __iter__(self) -> Iterator[Part]:
        """Pass over all parts."""
        self.tell()
        for cut in self.cuts:
            low, high = (int(self.first[block]) for block in cut)
            item = self.item.read(low, high).astype(np.int64)
            slot = np.flatnonzero(item < self.n_items)
            yield Part(Layout(_Blocks(self, range(*cut)), item, slot, self.load.size, self.n_items))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Some of the blocks: their scores are read when a pass asks for them."""

    parts: SpilledParts
    numbers: range

    def __iter__(self) -> Iterator[Block]:
        parts, low = self.parts, int(self.parts.first[self.numbers.start])
        score = parts.score.read(low, int(parts.first[self.numbers.stop]))
        for number in self.numbers:
            reviewer, width = parts.members[number].astype(np.int64), parts.width[number]
            load = parts.load[reviewer].astype(np.float64)
            used = (np.arange(width)[:, None] < load).astype(np.float64)
            first, last = (int(parts.first[place]) - low for place in (number, number + 1))
            yield Block(reviewer, first, last, score[first:last].reshape(used.shape), used, load)


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
