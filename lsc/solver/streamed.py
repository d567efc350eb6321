"""Linear reviewers whose reviews lie on disk: the same objective and directions, one pass over a file a product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.model.formulation import order_by_score, tied_up_to_rounding
from lsc.model.shapes import IDLE, LINEAR
from lsc.solver.faces import distances
from lsc.solver.lines import (
    FAR,
    add_diagonal,
    advance,
    aim,
    begin_descent,
    common_diagonal,
    multiply_far_lines,
    multiply_lines,
    rooms,
)
from lsc.solver.merit import Objective
from lsc.solver.newton import MAX_ITERATIONS, TOLERANCE, Listener, descend
from lsc.solver.tables import Common, ItemArray, Table, centred, first_face
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray
from reviewgraph.streams.spill import Spill, ranges

if TYPE_CHECKING:
    from lsc.model.classes.hypothesis import Hypothesis
    from reviewgraph.streams.table import Chunk, Stream


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

    def tables(self) -> Iterator[tuple[int, Table]]:
        """Pass over the reviews once: the first reviewer of each part, and the part as kernels take it."""
        for first, last in ranges(self.start, self.batch):
            low, high = int(self.start[first]), int(self.start[last])
            start, size = self.start[first : last + 1] - low, last - first
            # No kernel for lines reads scores beside the unit ones.
            unit = self.unit.read(low, high)
            yield (
                first,
                Table(
                    *(start, self.item.read(low, high), unit, unit, self.norm[first:last]),
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


class StreamedMerit(Objective):
    """The objective of linear reviewers on disk; nothing is held of a review between two passes."""

    def __init__(self, lines: Lines, common: Common) -> None:
        n = len(common.degree)
        super().__init__(common, np.zeros(n, np.bool_))
        self.lines, self.sloped = lines, np.zeros(len(lines.norm), np.bool_)
        self._vectors = np.zeros(4 * n)
        self._multiply = multiply_far_lines if n > FAR else multiply_lines

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient, by one pass."""
        self.pull[:], self.squares, bend = 0.0, 0.0, np.zeros(0)
        for first, table in self.lines.tables():
            face = first_face(table)._replace(sloped=self.sloped[first : first + len(table.norm)])
            perceived = np.empty(len(table.item))
            self.squares += distances(table, face, False, x, perceived, self.pull, bend)[0]
        return self.weighed(x)

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction, by one pass for each step of conjugate gradients."""
        common, free, weight = self.common, self._slope_free, self.common_weight
        pair, inverse, residual = rooms.inner(self._vectors, len(gradient))
        common_diagonal(common, free, weight, inverse)
        for first, table in self.lines.tables():
            add_diagonal(table, self.sloped[first : first + len(table.norm)], inverse)
        rho, beta = begin_descent(self.fixed, gradient, self.direction, inverse, residual, pair), 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            curvature, mean, slope = aim(common, free, weight, beta, inverse, residual, pair)
            for first, table in self.lines.tables():
                curvature += self._multiply(table, self.sloped[first : first + len(table.norm)], pair)
            if curvature <= 0.0:
                break
            fresh = advance(common, rho / curvature, mean, slope, inverse, residual, pair, self.direction)
            beta, rho = fresh / rho, fresh
        return self.direction


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
            merit = StreamedMerit(lines, common)
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
    for _, table in lines.tables():
        size = np.diff(table.start)
        np.add.at(total, table.item, table.unit * np.repeat(table.norm, size))
    return np.asarray(total / np.maximum(common.degree, 1.0))
