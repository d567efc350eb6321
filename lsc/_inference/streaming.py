"""The inference of :mod:`lsc._inference.inferring` for tables larger than memory, by passes over a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import finalize

import numpy as np

from lsc._inference.beliefs import MAX_REVIEWS, Beliefs, loop_factors
from lsc._inference.categories import Averages
from lsc._inference.inferring import (
    best_averages,
    fitted_of,
    full_beliefs,
    has_signal,
    item_moments,
    null_beliefs,
    with_parts,
)
from lsc._inference.model import Layout, blocks_of
from lsc._inference.states import (
    COMPILE_FROM,
    MIN_SCORES,
    Messages,
    Part,
    Passes,
    Problem,
    Rows,
    Unit,
    counts,
    extremes,
    is_zeros_view,
    n_extreme,
    parts_with_messages,
    prepare,
    require_no_outlier,
    require_one_unit,
    subset_of,
    uninformative,
    unit_of,
    zeros_view,
)
from lsc._inference.sweeps import run_stages
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.streams import Spill, ranges

if TYPE_CHECKING:
    from reviewgraph.streams import Stream


#: Reviews per piece: more would take memory and save no time.
PIECE = 1 << 19


class SpilledParts:
    """All parts of a problem, on disk; only codes and loads of reviewers are in memory.

    Blocks are those of the table in memory, so that steps round as they do there. A part has at most ``max_slots``
    slots, unless one block has more; ``tell`` is called before each pass.
    """

    def __init__(self, load: IntArray, n_items: int, max_slots: int, tell: Callable[[], None]) -> None:
        self.load, self.n_items, self.tell = load, n_items, tell
        self.first, self.start, self.member = blocks_of(load)
        self.cuts = list(ranges(self.first, max_slots))
        self.item, self.score = Spill("<u4"), Spill("<f8")
        for spill in (self.item, self.score):
            finalize(self, spill.close)

    def fill(self, pieces: Iterable[Rows]) -> None:
        """Write the reviews, which are sorted by reviewer."""
        at, step, width = np.zeros((3, self.load.size), np.int64)
        size = np.diff(self.start)
        of = np.repeat(np.arange(size.size), size)
        at[self.member] = self.first[of] + np.arange(of.size) - self.start[of]
        step[self.member], width[self.member] = size[of], np.diff(self.first)[of] // size[of]
        for rows in pieces:
            begin = np.flatnonzero(np.diff(rows.reviewer, prepend=-1))
            who = rows.reviewer[begin]
            # All slots of each reviewer, empty ones last.
            owner = np.repeat(np.arange(who.size), width[who])
            place = np.arange(owner.size) - (np.cumsum(width[who]) - width[who])[owner]
            used = place < self.load[who][owner]
            row = np.where(used, begin[owner] + place, 0)
            self._write(
                np.asarray(at[who][owner] + place * step[who][owner], np.int64),
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
        self.tell()
        for cut in self.cuts:
            first, start = (ends[cut[0] : cut[1] + 1] for ends in (self.first, self.start))
            low, high = int(first[0]), int(first[-1])
            members = self.member[start[0] : start[-1]]
            read = self.item.read(low, high), self.score.read(low, high)
            yield Part(Layout(first - low, start - start[0], members, self.load, *read))


class SpilledMessages:
    """The messages of all parts, on disk until garbage-collected; zeros are not stored."""

    def __init__(self) -> None:
        self.spill = Spill("<f8")
        finalize(self, self.spill.close)
        self.kept: list[tuple[int, int, int]] = []

    def append(self, messages: Messages) -> None:
        written = [values for values in messages if not is_zeros_view(values)]
        self.kept.append((len(self.spill), len(written), messages.precision.size))
        if written:  # side by side, as kernels read them
            self.spill.append(np.stack(written, axis=1).ravel())

    def __iter__(self) -> Iterator[Messages]:
        for at, kinds, slots in self.kept:
            values: list[FloatArray] = [*self.spill.read(at, at + kinds * slots).reshape(slots, kinds).T]
            yield Messages(*values, *[zeros_view(slots)] * (4 - kinds))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Re-iterable pieces of the scored reviews, sorted by reviewer; ``used`` (M,) restricts the reviewers."""

    stream: Stream
    used: BoolArray | None = None

    def __iter__(self) -> Iterator[Rows]:
        for chunk in self.stream.chunks(PIECE):
            first, start, item, score = chunk.only_scored()
            rows = Rows(np.repeat(first + np.arange(start.size - 1), np.diff(start)), item.astype(np.int64), score)
            rows = rows if self.used is None else rows.only(self.used[rows.reviewer])
            if rows.score.size:
                yield rows

    def scores(self) -> Iterator[FloatArray]:
        return (rows.score for rows in self)


def ranges_of(pieces: Pieces, n_reviewers: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return number, lowest and highest of the scores of each reviewer, shapes (M,); infinite without scores."""
    load = np.zeros(n_reviewers, np.int64)
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    for rows in pieces:
        # Reviewers of a piece are consecutive, and in no other piece.
        first, last = int(rows.reviewer[0]), int(rows.reviewer[-1]) + 1
        load[first:last] = np.bincount(rows.reviewer - first)
        low[first:last], high[first:last] = extremes(rows.reviewer - first, rows.score, last - first)
    return load, low, high


@contextmanager
def sorted_scores(scores: Passes, batch: int) -> Iterator[Spill]:
    """Sort all scores on disk.

    >>> with sorted_scores(lambda: [np.array([3.0, -1.0]), np.array([-7.0, 3.0])], 1) as ordered:
    ...     ordered.read(0, 4).tolist(), equal_scores_of(ordered)
    ([-7.0, -1.0, 3.0, 3.0], 0.16666666666666666)
    """
    with Spill("<f8") as ordered:
        ordered.write_sorted(scores, batch)
        yield ordered


def check_no_outlier_by_passes(scores: Passes, ordered: Spill) -> None:
    """Do as :func:`lsc._inference.states.check_no_outlier`; ``ordered`` are the same scores, sorted."""
    size = len(ordered)
    if size < MIN_SCORES:
        return
    median = float(ordered.read((size - 1) // 2, size // 2 + 1).mean())
    # The scores farthest from the median are at both ends.
    few = n_extreme(size) + 1
    ends = np.concatenate([ordered.read(0, few), ordered.read(max(few, size - few), size)])
    usual = float(np.partition(np.abs(ends - median), -few)[-few])
    largest, worst, place, first = -1.0, 0.0, 0, 0
    for score in scores():
        if (distance := np.abs(score - median)).max() > largest:
            largest, place = float(distance.max()), first + int(distance.argmax())
            worst = float(score[place - first])
        first += score.size
    require_no_outlier(worst, place, median, usual, size)


def equal_scores_of(ordered: Spill) -> float:
    """Return the probability that two of these scores, which are sorted, are equal."""
    size, pairs, run, last = len(ordered), 0.0, 0.0, np.nan
    if size < 2:
        return 0.0
    for part in ordered.parts(PIECE):
        begin = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        count = np.diff(begin, append=part.size).astype(np.float64)
        if part[0] == last:  # a run goes on from the part before
            count[0] += run
        else:
            pairs += run * (run - 1.0)
        pairs += float((count[:-1] * (count[:-1] - 1.0)).sum())
        run, last = float(count[-1]), part[-1]
    return (pairs + run * (run - 1.0)) / (size * (size - 1.0))


def infer_by_passes(stream: Stream, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Beliefs:
    """Infer qualities of items as :func:`lsc._inference.inferring.infer` does, with equal results up to rounding.

    Messages are in temporary files. ``stream`` is open, with scores; ``seed`` is that of the stochastic trace
    estimator; ``progress`` is called with one line of text per stage and pass. Raises InputError if a score is a likely
    data-entry error, or units differ.
    """
    tell = progress or (lambda _: None)
    tell("reading the scores")
    pieces, equal = _used_scores(stream)
    unit = unit_of(pieces.scores, equal)
    doing, passes = ["laying out the reviews"], [0]

    def step(words: str) -> None:
        doing[0] = words
        tell(words)

    def count() -> None:
        passes[0] += 1
        tell(f"{doing[0]}, pass {passes[0]:,}")

    problem = _write_problem(stream, pieces, unit, count)
    averages, average = _averages(pieces, problem, unit)
    rng = np.random.default_rng(seed)
    subset = subset_of(pieces, stream.n_reviewers, stream.n_items, rng)
    part = None if subset is None else prepare(subset, *counts(subset), unit, problem.compiled).problem
    fit = run_stages(problem, rng, step, part)
    if not has_signal(fit, averages):
        # The null model: all reviews have the same precision.
        ratio, size = averages.slope / averages.noise, problem.count.astype(np.float64)
        sums = ratio * averages.slope * size, ratio * size * (average - averages.mean)
        return null_beliefs(problem, unit, averages, fit, item_moments(1.0, problem, sums))
    total = fit.state.sums.rescaled(fit.state.gauge)
    sums = (total.precision + total.likeness_precision)[:-1], (total.shift + total.likeness_shift)[:-1]
    beliefs = full_beliefs(problem, unit, averages, fit, item_moments(1.0 - fit.state.extent.kappa, problem, sums))
    if problem.n_reviews > MAX_REVIEWS:
        return beliefs
    # Loop factors of a small table, from reviewers, items and messages of all its reviews.
    who, what, by_part = [], [], []
    for part_of_reviews, values in parts_with_messages(problem, fit.state):
        layout = part_of_reviews.layout
        used = layout.item < problem.n_items
        who.append(layout.reviewer[used])
        what.append(layout.item[used].astype(np.int64))
        by_part.append(Messages(*(value[used] for value in values)))
    messages = Messages(*map(np.concatenate, zip(*by_part, strict=True)))
    fitted = fitted_of(fit.state, messages)
    posterior = with_parts(beliefs, np.concatenate(who), np.concatenate(what), messages, fitted)
    return replace(beliefs, loops=loop_factors(posterior))


def _used_scores(stream: Stream) -> tuple[Pieces, float]:
    """Check the scores; return those of reviewers who are not ignored, and the probability of equal scores."""
    pieces = Pieces(stream)
    with sorted_scores(pieces.scores, stream.batch) as ordered:
        check_no_outlier_by_passes(pieces.scores, ordered)
        load, low, high = ranges_of(pieces, stream.n_reviewers)
        require_one_unit(low, high)
        equal = equal_scores_of(ordered)
    ignored = uninformative(load, low == high, equal)
    if not ignored.any():
        return pieces, equal
    pieces = Pieces(stream, ~ignored)
    with sorted_scores(pieces.scores, stream.batch) as ordered:
        return pieces, equal_scores_of(ordered)


def _write_problem(stream: Stream, pieces: Pieces, unit: Unit, tell: Callable[[], None]) -> Problem:
    """Write standardised scores to disk."""
    load, count = np.zeros(stream.n_reviewers, np.int64), np.zeros(stream.n_items, np.int64)
    for rows in pieces:
        np.add.at(load, rows.reviewer, 1)
        np.add.at(count, rows.item, 1)
    parts = SpilledParts(load, stream.n_items, min(stream.batch, PIECE), tell)
    parts.fill(rows._replace(score=unit.standardised(rows.score)) for rows in pieces)
    zeros = np.zeros(stream.n_items)
    return Problem(
        parts, load, count, unit.rounding, False, zeros, zeros, int(load.sum()) >= COMPILE_FROM, SpilledMessages
    )


def _averages(pieces: Pieces, problem: Problem, unit: Unit) -> tuple[Averages, FloatArray]:
    """Fit the null model by two passes; returns it and the average of each item, shape (N,)."""
    total, within, has_score = np.zeros(problem.n_items), 0.0, problem.known
    for rows in pieces:
        np.add.at(total, rows.item, unit.standardised(rows.score))
    average = total / np.maximum(problem.count, 1)
    for rows in pieces:
        within += float(((unit.standardised(rows.score) - average[rows.item]) ** 2).sum())
    return best_averages(problem.count[has_score], average[has_score], within, float(problem.rounding)), average
