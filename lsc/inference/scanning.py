"""What has to be known of all scores before they are standardised, by passes over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc.inference.checking import LEAST, expect_no_slip, farthest
from lsc.inference.preparing import Passes, Rows, extremes
from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.streams.spill import Spill

if TYPE_CHECKING:
    from reviewgraph.streams.table import Stream

#: Reviews that are looked at together: more would take memory and save no time.
PIECE = 1 << 19
#: Different scores that are held at once while equal ones are counted.
ROOM = 1 << 20
#: Files among which more are shared out: fewer than a process may open.
MOST_FILES = 256
#: Bits of a number that are counted in one pass, and how many it has.
DIGIT, BITS = 16, 64

KeyArray: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The reviews with a score, reviewer by reviewer; can be passed over again and again.

    Parameters
    ----------
    stream
        The table.
    heard
        Shape (M,): whose reviews; all by default.
    """

    stream: Stream
    heard: BoolArray | None = None

    def __iter__(self) -> Iterator[Rows]:
        """Pass over them."""
        for chunk in self.stream.chunks(PIECE):
            first, start, item, score = chunk.only_scored()
            rows = Rows(np.repeat(first + np.arange(start.size - 1), np.diff(start)), item.astype(np.int64), score)
            rows = rows if self.heard is None else rows.only(self.heard[rows.reviewer])
            if rows.score.size:
                yield rows

    def scores(self) -> Iterator[FloatArray]:
        """Pass over the scores alone."""
        return (rows.score for rows in self)


def ranges_of(pieces: Pieces, n_reviewers: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return number, lowest and highest of the scores of each reviewer, shapes (M,); infinite without scores."""
    load = np.zeros(n_reviewers, np.int64)
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    for rows in pieces:
        # Reviewers of a piece lie next to each other, and in no other piece.
        first, last = int(rows.reviewer[0]), int(rows.reviewer[-1]) + 1
        load[first:last] = np.bincount(rows.reviewer - first)
        low[first:last], high[first:last] = extremes(rows.reviewer - first, rows.score, last - first)
    return load, low, high


def check_no_slip_by_passes(scores: Passes, size: int) -> None:
    """Raise as :func:`lsc.inference.checking.check_no_slip` does."""
    if size < LEAST:
        return
    middle = 0.5 * (order_statistic(scores, (size - 1) // 2) + order_statistic(scores, size // 2))

    def far() -> Iterator[FloatArray]:
        return (np.abs(score - middle) for score in scores())

    most, worst, place, first = -1.0, 0.0, 0, 0
    for score in scores():
        if (off := np.abs(score - middle)).max() > most:
            most, place = float(off.max()), first + int(off.argmax())
            worst = float(score[place - first])
        first += score.size
    expect_no_slip(worst, place, middle, order_statistic(far, size - farthest(size) - 1), size)


def order_statistic(scores: Passes, rank: int) -> float:
    """Return the number that has ``rank`` others before it in ascending order, by four passes.

    >>> order_statistic(lambda: [np.array([3.0, -1.0]), np.array([-7.0, 3.0])], 2)
    3.0
    """
    found = np.uint64(0)
    for shift in range(BITS - DIGIT, -1, -DIGIT):
        count = np.zeros(1 << DIGIT, np.int64)
        for score in scores():
            key = _keys(score) >> np.uint64(shift)
            key = key[(key >> np.uint64(DIGIT)) == found]
            count += np.bincount((key & np.uint64((1 << DIGIT) - 1)).astype(np.int64), minlength=1 << DIGIT)
        below = np.cumsum(count)
        digit = int(np.searchsorted(below, rank, "right"))
        rank -= int(below[digit] - count[digit])
        found = (found << np.uint64(DIGIT)) | np.uint64(digit)
    sign = np.uint64(1 << (BITS - 1))
    bits = np.array(found ^ sign if found & sign else ~found)
    return float(bits.view(np.float64))


def _keys(score: FloatArray) -> KeyArray:
    """Bits of numbers, so that they are in the order of the numbers; 0 has no sign."""
    bits = np.ascontiguousarray(score + 0.0).view(np.uint64)
    sign = np.uint64(1 << (BITS - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def equal_scores_by_passes(scores: Passes, size: int) -> float:
    """Return the probability that two of so many scores are equal, as :func:`lsc.inference.preparing.equal_scores`."""
    if size < 2:
        return 0.0
    pairs = _pairs(scores())
    if pairs is None:
        pairs = _pairs_by_remainder(scores, min(-(-2 * size // ROOM), MOST_FILES))
    return pairs / (size * (size - 1.0))


def _pairs(pieces: Iterable[FloatArray]) -> float | None:
    """Count ordered pairs of equal scores; None if too many are different to be held."""
    value, count = np.empty(0, np.uint64), np.empty(0)
    for score in pieces:
        fresh, times = np.unique(_keys(score), return_counts=True)
        value, place = np.unique(np.concatenate([value, fresh]), return_inverse=True)
        count = np.asarray(np.bincount(place, np.concatenate([count, times]), value.size), np.float64)
        if value.size > ROOM:
            return None
    return _ordered(count)


def _pairs_by_remainder(scores: Passes, parts: int) -> float:
    """Count them by two passes: those of one remainder go to one file, and each file is sorted by itself."""
    with ExitStack() as stack:
        spills = [stack.enter_context(Spill("<u8")) for _ in range(parts)]
        for score in scores():
            key = _keys(score)
            home = (_mixed(key) % np.uint64(parts)).astype(np.int64)
            key, cuts = key[np.argsort(home, kind="stable")], np.cumsum(np.bincount(home, minlength=parts))
            for spill, mine in zip(spills, np.split(key, cuts[:-1]), strict=True):
                spill.append(mine)
        return sum(_ordered(np.unique(spill.read(0, len(spill)), return_counts=True)[1]) for spill in spills)


def _ordered(count: FloatArray | IntArray) -> float:
    """Return the number of ordered pairs within groups of these sizes."""
    each = count.astype(np.float64)
    return float((each * (each - 1.0)).sum())


def _mixed(key: KeyArray) -> KeyArray:
    """Mix the bits, for scores of few digits have the same last ones."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))
