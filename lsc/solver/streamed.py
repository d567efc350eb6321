"""Linear reviewers whose reviews lie on disk: the same objective and directions, one pass over a file a product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.model.formulation import order_by_score, tied_up_to_rounding
from lsc.model.shapes import IDLE, LINEAR
from lsc.solver.newton import MAX_ITERATIONS, TOLERANCE, Listener, descend
from lsc.solver.passes import HALVES, Passes, middle
from lsc.solver.tables import Common, ItemArray, Table, centred
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray
from reviewgraph.streams.spill import Spill, ranges

if TYPE_CHECKING:
    from lsc.model.classes.hypothesis import Hypothesis
    from reviewgraph.streams.table import Chunk, Stream

#: Reviews that are read at once: what is read stays in a processor's cache until it is used.
NEAR = 1 << 16


class Lines(NamedTuple):
    """The scored reviews of linear reviewers as the solver wants them, on disk.

    Hers of number j are ``start[j]:start[j + 1]``, ascending in score: ``item``, and ``unit``, the centred score
    divided by its length over her reviews, ``norm``. ``lower`` and ``upper`` bound all slopes; ``batch`` reviews are
    held at once.
    """

    start: IntArray
    item: Spill
    unit: Spill
    norm: FloatArray
    lower: float
    upper: float
    batch: int

    def half(self, number: int) -> Iterator[tuple[slice, Table]]:
        """Pass over one half of the reviewers once: who they are, and their reviews, as many as the cache holds."""
        cuts = (0, middle(self.start), self.norm.size)
        for first, last in ranges(self.start[cuts[number] : cuts[number + 1] + 1], min(self.batch, NEAR)):
            hers = slice(cuts[number] + first, cuts[number] + last)
            low, high, size = int(self.start[hers.start]), int(self.start[hers.stop]), last - first
            start = self.start[hers.start : hers.stop + 1] - low
            # No kernel for lines reads scores beside the unit ones.
            unit = self.unit.read(low, high)
            yield (
                hers,
                Table(
                    *(start, self.item.read(low, high), unit, unit, self.norm[hers]),
                    np.where(np.diff(start) < 2, IDLE, LINEAR),
                    *(np.full(size, self.lower), np.full(size, self.upper), np.ones(size, np.bool_)),
                ),
            )


class Solved(NamedTuple):
    """Qualities (N,) in the units of the programme, 0 without a score, the objective, and how it went."""

    quality: FloatArray
    objective: float
    iterations: int
    converged: bool
    message: str


def minimise_streamed(
    stream: Stream,
    hypothesis: Hypothesis,
    exact: Callable[[float, FloatArray], bool],
    *,
    sharp: float,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
) -> Solved:
    """Solve the programme of linear reviewers without references, tied scores being equal, by passes over the reviews.

    Parameters
    ----------
    stream
        The table, open; some review has a score.
    hypothesis
        A class of lines.
    exact
        Asked of the mean square noise and the qualities whether there may be no noise at all.
    sharp
        The gradient to reach then; by default that of :func:`lsc.solver.newton.minimise`.
    max_iterations, progress
        As :func:`lsc.solver.newton.minimise` takes them.
    """
    with Spill("<u4") as item, Spill("<f8") as unit:
        lines, common, scale = _tabulate(stream, hypothesis.bounds, item, unit)
        begin, tolerance, reviewed = _centred_averages(lines, common), TOLERANCE, common.degree > 0.0
        for near in (False, True):
            merit = Passes(lines, common, np.zeros(common.degree.size, np.bool_))
            walk = descend(merit, begin, tolerance, max_iterations, progress, near=near)
            converged, message = walk.ending(tolerance)
            if near and not converged:  # the first solution stands
                break
            quality = np.where(reviewed, scale * (walk.x - float(walk.x[reviewed].mean())), 0.0)
            found = Solved(quality, scale * scale * merit.squares, walk.iterations, converged, message)
            if not converged or not exact(found.objective / common.reviews, quality):
                break
            begin, tolerance = quality / scale, sharp
            del merit, walk
        return found


def _tabulate(stream: Stream, bounds: tuple[float, float], item: Spill, unit: Spill) -> tuple[Lines, Common, float]:
    """Write the reviews in the solver's units; returns them, the common line and the scale of qualities."""
    slope = bounds[0] or 1.0
    largest, total, count = 0.0, 0.0, 0
    for chunk in stream.chunks():
        score = chunk.score[~np.isnan(chunk.score)]
        largest, count = max(largest, float(np.abs(score).max(initial=0.0))), count + score.size
        total += float(score.sum())
    M, N, mean = stream.n_reviewers, stream.n_items, total / count
    size, norm = np.zeros(M, np.int64), np.zeros(M)
    degree, tilt, spread = np.zeros(N), np.zeros(N), 0.0
    for chunk in stream.chunks():
        start, items, score = by_score(chunk, largest)
        hers = np.diff(start)
        mine, reviewer = slice(chunk.first, chunk.first + hers.size), np.repeat(np.arange(hers.size), hers)
        middle = centred(score, start, reviewer)
        size[mine], norm[mine] = hers, np.sqrt(np.bincount(reviewer, middle * middle, hers.size))
        raw = score - mean
        np.add.at(degree, items, 1.0)
        np.add.at(tilt, items, raw)
        spread += float(np.sum(raw * raw))
        item.append(items)
        unit.append(middle / np.where(norm[mine] > 0.0, norm[mine], 1.0)[reviewer])
    # Scores are divided by what makes their spread 1 and the lower slope 1.
    scale = slope * float(np.sqrt(np.sum(norm * norm) / count)) or 1.0
    factor, (lower, upper) = scale / slope, (bound / slope for bound in bounds)
    lines = Lines(np.concatenate([[0], np.cumsum(size)]), item, unit, norm / factor, lower, upper, stream.batch)
    return lines, Common(degree, tilt / factor, spread / factor**2, float(count), lower, upper), scale


def by_score(chunk: Chunk, largest: float) -> tuple[IntArray, ItemArray, FloatArray]:
    """Return where each reviewer's scored reviews begin, their items and scores: ascending, ties by item."""
    _, start, item, score = chunk.only_scored()
    reviewer = np.repeat(np.arange(start.size - 1), np.diff(start))
    order = order_by_score(start, score)
    return start, item[order], tied_up_to_rounding(score[order], reviewer, largest)


def _centred_averages(lines: Lines, common: Common) -> FloatArray:
    """Return the average of each item's centred scores, from which the solver begins."""
    total = np.zeros(len(common.degree))
    for half in HALVES:
        for _, table in lines.half(half):
            np.add.at(total, table.item, table.unit * np.repeat(table.norm, np.diff(table.start)))
    return np.asarray(total / np.maximum(common.degree, 1.0))
