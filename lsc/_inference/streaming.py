"""The inference of a table larger than memory: that of :mod:`lsc._inference.inferring`, by passes over a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias
from weakref import finalize

import numpy as np
import numpy.typing as npt

from lsc._inference.beliefs import UP_TO, Beliefs, loop_factors
from lsc._inference.inferring import (
    SIGNAL,
    Averages,
    best_averages,
    by_averages,
    by_messages,
    fitted_of,
    summed,
    with_parts,
)
from lsc._inference.model import Layout, blocks_of
from lsc._inference.states import (
    LEAST,
    Messages,
    Part,
    Passes,
    Problem,
    Rows,
    Unit,
    counts,
    expect_no_slip,
    expect_one_unit,
    extremes,
    farthest,
    is_nothing,
    never_look,
    nothing,
    part_of,
    prepare,
    run_compiled,
    spoken,
    unit_of,
)
from lsc._inference.sweeps import Climb, run_stages
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.streams.coding import Spill, ranges

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
    """Raise as :func:`lsc._inference.states.check_no_slip` does."""
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
    """Return the probability that two of so many scores are equal, as :func:`lsc._inference.states.equal_scores`."""
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


def infer_by_passes(stream: Stream, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Beliefs:
    """Infer qualities of items as :func:`lsc._inference.inferring.infer` does, with the same answers to rounding.

    Messages lie in temporary files. What loops add is looked for up to as many reviews as in memory.

    Parameters
    ----------
    stream
        The table, open, with scores.
    seed
        Of the random probes by which traces are estimated.
    progress
        Called with a line of words at each stage and pass.

    Raises
    ------
    InputError
        If a score lies so far off all others that it must be a slip, or units differ.
    """
    tell = progress or (lambda _: None)
    tell("looking at the scores")
    pieces, equal = _heard(stream)
    unit = unit_of(pieces.scores, equal)
    doing, passes = ["laying out the reviews"], [0]

    def step(words: str) -> None:
        doing[0] = words
        tell(words)

    def count() -> None:
        passes[0] += 1
        tell(f"{doing[0]}, pass {passes[0]:,}")

    problem = _laid_out(stream, pieces, unit, count)
    averages, average = _averages(pieces, problem, unit)
    rng = np.random.default_rng(seed)
    some = part_of(pieces, stream.n_reviewers, stream.n_items, rng)
    part = None if some is None else prepare(some, *counts(some), unit, problem.compiled).problem
    found = run_stages(problem, rng, step, part)
    if found.evidence < averages.evidence + SIGNAL:
        return _from_averages(problem, unit, averages, average, found)
    return _from_messages(problem, unit, averages, found)


def _heard(stream: Stream) -> tuple[Pieces, float]:
    """Check the scores; return those of reviewers who look, and the probability that two of them are equal."""
    pieces, size = Pieces(stream), stream.n_scored
    check_no_slip_by_passes(pieces.scores, size)
    load, low, high = ranges_of(pieces, stream.n_reviewers)
    expect_one_unit((high - low)[high > low])
    equal = equal_scores_by_passes(pieces.scores, size)
    idle = never_look(load, low == high, equal)
    if not idle.any():
        return pieces, equal
    pieces = Pieces(stream, ~idle)
    return pieces, equal_scores_by_passes(pieces.scores, int(load[~idle].sum()))


def _laid_out(stream: Stream, pieces: Pieces, unit: Unit, tell: Callable[[], None]) -> Problem:
    """Write standardised scores to disk as steps want them."""
    load, count = np.zeros(stream.n_reviewers, np.int64), np.zeros(stream.n_items, np.int64)
    for rows in pieces:
        np.add.at(load, rows.reviewer, 1)
        np.add.at(count, rows.item, 1)
    parts = SpilledParts(load, stream.n_items, min(stream.batch, PIECE), tell)
    parts.fill(rows._replace(score=unit.standardised(rows.score)) for rows in pieces)
    silent = np.zeros(stream.n_items)
    return Problem(parts, load, count, unit.rounding, False, silent, silent, run_compiled(load), SpilledMessages)


def _averages(pieces: Pieces, problem: Problem, unit: Unit) -> tuple[Averages, FloatArray]:
    """Fit the model without reviewer effects by two passes; returns it and the average of each item, shape (N,)."""
    total, within, known = np.zeros(problem.n_items), 0.0, problem.known
    for rows in pieces:
        np.add.at(total, rows.item, unit.standardised(rows.score))
    average = total / np.maximum(problem.count, 1)
    for rows in pieces:
        within += float(((unit.standardised(rows.score) - average[rows.item]) ** 2).sum())
    return best_averages(problem.count[known], average[known], within, problem.rounding), average


def _from_averages(problem: Problem, unit: Unit, averages: Averages, average: FloatArray, found: Climb) -> Beliefs:
    """Give every review the same precision."""
    ratio = averages.slope / averages.noise
    count = problem.count.astype(np.float64)
    told = ratio * averages.slope * count, ratio * count * (average - averages.mean)
    return by_averages(problem, unit, averages, found, summed(1.0, problem, told))


def _from_messages(problem: Problem, unit: Unit, averages: Averages, found: Climb) -> Beliefs:
    """Sum messages up."""
    told = found.state.sums.moved(found.state.gauge)
    said = (told.precision + told.likeness_precision)[:-1], (told.shift + told.likeness_shift)[:-1]
    sums = summed(1.0 - found.state.extent.kappa, problem, said)
    beliefs = by_messages(problem, unit, averages, found, sums)
    if problem.n_reviews > UP_TO:
        return beliefs
    who, what, messages = _gathered(problem, found)
    alone = with_parts(beliefs, who, what, messages, fitted_of(found.state, messages))
    return replace(beliefs, loops=loop_factors(alone))


def _gathered(problem: Problem, found: Climb) -> tuple[IntArray, IntArray, Messages]:
    """Return reviewers, items and messages of all reviews of a small table, shapes (E,)."""
    who, what, messages = [], [], []
    for part, told in spoken(problem, found.state):
        layout = part.layout
        used = layout.item < problem.n_items
        who.append(layout.reviewer[used])
        what.append(layout.item[used].astype(np.int64))
        messages.append(Messages(*(value[used] for value in told)))
    return np.concatenate(who), np.concatenate(what), Messages(*map(np.concatenate, zip(*messages, strict=True)))
