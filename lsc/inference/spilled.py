"""Parts and messages in temporary files: written once, read pass by pass, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from weakref import finalize

import numpy as np

from lsc.inference.layout import Layout, blocks_of
from lsc.inference.preparing import Rows
from lsc.inference.states import Messages, Part, is_nothing, nothing
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
        self.first, self.start, self.member = blocks_of(load)
        self.cuts = list(ranges(self.first, most))
        self.item, self.score = Spill("<u4"), Spill("<f8")
        for spill in (self.item, self.score):
            finalize(self, spill.close)

    def fill(self, pieces: Iterable[Rows]) -> None:
        """Write the reviews, which come reviewer by reviewer."""
        at, step, width = np.zeros((3, self.load.size), np.int64)
        size = np.diff(self.start)
        of = np.repeat(np.arange(size.size), size)
        at[self.member] = self.first[of] + np.arange(of.size) - self.start[of]
        step[self.member], width[self.member] = size[of], np.diff(self.first)[of] // size[of]
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
            first, start = (ends[cut[0] : cut[1] + 1] for ends in (self.first, self.start))
            low, high = int(first[0]), int(first[-1])
            members = self.member[start[0] : start[-1]]
            read = self.item.read(low, high), self.score.read(low, high)
            yield Part(Layout(first - low, start - start[0], members, self.load, *read))


class SpilledMessages:
    """The messages of all parts, on disk; what is nothing takes no room. Gone when nobody holds it any more."""

    def __init__(self) -> None:
        self.spill = Spill("<f8")
        finalize(self, self.spill.close)
        self.kept: list[tuple[int, int, int]] = []

    def append(self, told: Messages) -> None:
        """Write those of the next part."""
        told_of = [values for values in told if not is_nothing(values)]
        self.kept.append((len(self.spill), len(told_of), told.precision.size))
        for values in told_of:
            self.spill.append(values)

    def __iter__(self) -> Iterator[Messages]:
        """Read them, part by part."""
        for at, kinds, slots in self.kept:
            values: list[FloatArray] = [*self.spill.read(at, at + kinds * slots).reshape(kinds, slots)]
            yield Messages(*values, *[nothing(slots)] * (4 - kinds))
