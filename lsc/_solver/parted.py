"""Least Square Calibration of linear reviewers, of a table in parts: the same objective, directions and stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._model.formulation import Minimiser, order_by_score, tied_up_to_rounding
from lsc._solver import newton
from lsc._solver.kernels.lines import Common, Lines
from lsc._solver.newton import TOLERANCE, Listener, descend
from lsc._solver.passes import Passes, lines_of, of_singles, reviews_to_keep, unit_slopes
from lsc._solver.tabulating import centred
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.parts import Part, Parts, Vectors

if TYPE_CHECKING:
    from lsc._model.hypotheses import Hypothesis


class Ordered(NamedTuple):
    """Scored reviews of a part by reviewer and score, and which remain without single items.

    ``start`` (m + 1,), ``item``, ``score`` (E,); ``keep``, ``kept_start``: of those that remain.
    """

    start: IntArray
    item: CodeArray
    score: FloatArray
    keep: BoolArray
    kept_start: IntArray

    def kept(self) -> tuple[CodeArray, FloatArray, IntArray]:
        """Return item, score and reviewer of the reviews that remain."""
        load = np.diff(self.kept_start)
        return self.item[self.keep], self.score[self.keep], np.repeat(np.arange(load.size), load)


def minimise_parts(
    parts: Parts,
    n_reviewers: int,
    hypothesis: Hypothesis,
    exact: Callable[[float, FloatArray], bool],
    *,
    sharp: float,
    progress: Listener | None = None,
) -> Minimiser:
    """Solve the programme of linear reviewers without references, by passes over the parts of a table.

    ``parts`` are reviews with scores; ``hypothesis`` is a class of lines. ``exact`` decides from the mean square noise
    and the qualities whether the noise may be zero; then the gradient tolerance is ``sharp``. Qualities are 0 without a
    score; perceived qualities are not returned.
    """
    N = parts.n_items
    (degree,), results = parts.map(_overview, (np.zeros(N, np.int64),))
    largest, totals = zip(*results, strict=True)
    n_scored = int(degree.sum())
    mean = sum(totals) / n_scored
    rows = parts.derive(_ordered, (degree,), max(largest))

    # Units: scores of spread 1, lower slope 1; the common line uses the scores that were kept.
    (count, tilt, centred_total), results = rows.map(_sums, (np.zeros(N),), mean)
    squares, raw_total, raw_squares = np.sum(results, axis=0).tolist()
    n_kept = float(count.sum())
    lower, upper = hypothesis.bounds
    unit = lower or 1.0
    scale = unit * float(np.sqrt(squares / n_kept)) or 1.0
    factor = scale / unit
    shift = raw_total / n_kept
    spread = (raw_squares - shift * raw_total) / factor**2
    common = Common(count, (tilt - shift * count) / factor, spread, n_kept, lower / unit, upper / unit)
    lines = rows.derive(_lines, (), factor, (lower / unit, upper / unit))

    begin = centred_total / factor / np.maximum(count, 1.0)
    reviewed = degree > 0
    tolerance = TOLERANCE
    for last_stage_only in (False, True):
        merit = Passes(lines, n_reviewers, common, np.zeros(N, np.bool_))
        run = descend(merit, begin, tolerance, newton.MAX_ITERATIONS, progress, last_stage_only=last_stage_only)
        converged, message = run.outcome(tolerance)
        if last_stage_only and not converged:  # the first solution stands
            break
        quality = np.where(count > 0.0, scale * run.x, 0.0)
        (extrapolated,), _ = rows.map(_extrapolated, (quality,), hypothesis.bounds)
        quality = quality + extrapolated
        quality = np.where(reviewed, quality - float(quality[reviewed].mean()), 0.0)
        objective = scale * scale * merit.squares
        solution = Minimiser(quality, np.empty(0), objective, run.iterations, converged, message)
        if not converged or not exact(objective / n_scored, quality):
            break
        begin = quality / scale
        tolerance = sharp
    return solution


def _overview(part: Part, vectors: Vectors) -> tuple[Vectors, tuple[float, float]]:
    """Return the number of scores by item; the largest absolute score, and the sum of all."""
    degree = np.bincount(part.item, minlength=vectors[0].size)
    return (degree,), (float(np.abs(part.score).max(initial=0.0)), float(part.score.sum()))


def _ordered(part: Part, vectors: Vectors, largest: float) -> Ordered:
    """Sort the reviews of a part by score, and leave out single items."""
    order = order_by_score(part.start, part.score)
    item = part.item[order]
    score = tied_up_to_rounding(part.score[order], part.reviewer, largest)
    return Ordered(part.start, item, score, *reviews_to_keep(part.start, item, score, vectors[0]))


def _sums(rows: Ordered, vectors: Vectors, mean: float) -> tuple[Vectors, FloatArray]:
    """Return number and sums of raw and of centred scores by item; the squares of centred and the sums of raw ones."""
    n = vectors[0].size
    item, score, reviewer = rows.kept()
    deviation = centred(score, rows.kept_start, reviewer)
    raw = score - mean
    by_item = np.bincount(item, np.ones(item.size), n), np.bincount(item, raw, n), np.bincount(item, deviation, n)
    return by_item, np.array([deviation @ deviation, raw.sum(), raw @ raw])


def _lines(rows: Ordered, vectors: Vectors, factor: float, bounds: tuple[float, float]) -> Lines:
    """Lay out the reviews of a part in the solver's units."""
    item, score, reviewer = rows.kept()
    start = rows.kept_start
    deviation = centred(score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, deviation * deviation, start.size - 1))
    unit = deviation / np.where(norm > 0.0, norm, 1.0)[reviewer]
    return lines_of(start, item, unit, unit_slopes(norm / factor, *bounds))


def _extrapolated(rows: Ordered, vectors: Vectors, bounds: tuple[float, float]) -> tuple[Vectors, None]:
    """Return the qualities of single items, 0 for others."""
    [quality] = vectors
    extrapolated = np.zeros(quality.size)
    if not rows.keep.all():
        single = rows.item[~rows.keep]
        extrapolated[single] = of_singles(rows.start, rows.item, rows.score, rows.keep, bounds, quality)
    return (extrapolated,), None
