"""Least Square Calibration of tables larger than memory: linear reviewers, by passes over the reviews on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.calibration import NEARLY, SHARP, Status
from lsc.estimate import best_first, ranks
from lsc.evidence.scale import reporting_scale
from lsc.model.classes.hypothesis import MAX_SLOPE, Hypothesis
from lsc.model.hypotheses import hypothesis_of
from lsc.model.shapes import Shape
from lsc.solver.newton import MAX_ITERATIONS
from lsc.solver.streamed import Solved, minimise_streamed
from reviewgraph.arguments import checked
from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.errors import InputError
from reviewgraph.results import Progress, Result
from reviewgraph.streams.connection import ROWS, pieces_of
from reviewgraph.streams.table import Stream
from reviewgraph.words import counted


@dataclass(frozen=True, eq=False, repr=False)
class StreamedCalibration(Result):
    """Qualities of the items of a table larger than memory, see :func:`calibrate_stream`.

    Parameters
    ----------
    stream
        The table.
    quality, average
        Shape (N,): on the reported scale, higher being better, and plain averages; NaN for an item without a score.
    group
        Shape (N,): the connected component of each item, from 1 for the largest; scores compare within one only.
    hypothesis
        Name of the hypothesis class.
    objective, status, message, iterations
        As those of :class:`lsc.Calibration`.
    """

    stream: Stream = field(repr=False)
    quality: FloatArray
    average: FloatArray
    group: IntArray
    hypothesis: str
    objective: float
    status: Status
    message: str
    iterations: int

    @cached_property
    def rank(self) -> IntArray:
        """Shape (N,): the rank within its group, 1 for the best, ties by index; 0 for an item without a score."""
        return ranks(self.quality, self.group)

    def best(self, n: int) -> list[tuple[str, float, float]]:
        """Return label, quality and average of the ``n`` best items of the largest group, in the scores' direction."""
        order = best_first(np.where(self.group == 1, self.quality, np.nan))[:n]
        values = (self.stream.printed(given[order]).tolist() for given in (self.quality, self.average))
        return list(zip([self.stream.items[i] for i in order.tolist()], *values, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a calibration; ``items`` is None, for there may be too many."""
        return {
            "method": "lsc",
            "status": self.status.value,
            "hypothesis": self.hypothesis,
            "objective": self.objective,
            "unique": None,
            "items": None,
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return all of :meth:`parts` at once."""
        found: dict[str, list[Any]] = {}
        for part in self.parts():
            for name, values in part.items():
                found.setdefault(name, []).extend(values)
        return found

    def parts(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return columns item, quality, average, rank, standard_error (None) and group, so many rows at a time."""
        for first in range(0, self.stream.n_items, rows):
            mine = slice(first, first + rows)
            items, none = self.stream.items[mine], np.isnan(self.quality[mine])
            yield {
                "item": items,
                "quality": _or_none(self.stream.printed(self.quality[mine]), none),
                "average": _or_none(self.stream.printed(self.average[mine]), none),
                "rank": [rank or None for rank in self.rank[mine].tolist()],
                "standard_error": [None] * len(items),
                "group": self.group[mine].tolist(),
            }

    def headline(self) -> str:
        """Return class, status and objective, and what was calibrated."""
        scored = counted(self.stream.n_scored, "score")
        return (
            f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; "
            f"{counted(self.stream.n_items, 'item')}, {scored}"
        )


@checked
def calibrate_stream(
    stream: Stream,
    hypothesis: str | Hypothesis = "linear",
    *,
    max_slope: float = MAX_SLOPE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Callable[[Progress], object] | None = None,
) -> StreamedCalibration:
    """Calibrate a table larger than memory: the qualities of :func:`lsc.calibrate`, by passes over the reviews.

    Equal scores of one reviewer mean the same perceived quality, and there are no references.

    Parameters
    ----------
    stream
        The table, open, with scores; planned reviews are ignored.
    hypothesis
        How reviewers may differ: ``"linear"`` (default) or ``"offset"``, or an object of their classes.
    max_slope
        C, the steepest slope of a scoring function (10 by default), for a hypothesis given by name.
    max_iterations
        Newton steps.
    progress
        Called as the solver goes on.

    Raises
    ------
    InputError
        If no review has a score, or the hypothesis is not one of lines.

    Notes
    -----
    About 25 numbers an item and 4 a reviewer are held. A step of conjugate gradients is one pass.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path, rows = f"{folder}/scores.parquet", {"reviewer": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 2]}
    ...     pa.parquet.write_table(pa.table({**rows, "score": [2, 4, 6, 5, 6]}), path)
    ...     with stream_reviews(path) as stream:
    ...         found = calibrate_stream(stream)
    ...         found.rank.tolist(), found.status.value
    ([3, 2, 1], 'optimal')
    """
    given = hypothesis_of(hypothesis, max_slope=max_slope)
    if given.shape is not Shape.LINEAR:
        message = f"hypothesis: expected linear or offset for a table larger than memory, found {given.name!r}"
        raise InputError(message)
    if not stream.n_scored:
        message = "reviews: expected scores, found none; calibrate after the scores have arrived"
        raise InputError(message)
    lower = given.bounds[0]

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * _deviation(stream)) or lower))

    found = minimise_streamed(stream, given, exact, sharp=SHARP, max_iterations=max_iterations, progress=progress)
    group, linked = _groups(stream)
    quality, average = _reported(stream, found, group, 1.0 / lower, linked & given.fixes_unit)
    return StreamedCalibration(
        *(stream, quality, average, group, given.name, found.objective),
        *(Status.OPTIMAL if found.converged else Status.INACCURATE, found.message, found.iterations),
    )


def _groups(stream: Stream) -> tuple[IntArray, BoolArray]:
    """Return the connected component of each item by the scores, as :func:`lsc.evidence.support.groups_of` does.

    And of each component whether a reviewer in it has two scores or more.
    """
    vertices, pieces = pieces_of(stream, scored=True)
    M = stream.n_reviewers
    count = np.bincount(vertices[M:], minlength=pieces)
    first = np.full(pieces, stream.n_items)
    first[vertices[M:][::-1]] = np.arange(stream.n_items)[::-1]
    # Largest first, ties by the first item; pieces of reviewers without scores hold no item and come last.
    number = np.empty(pieces, np.int64)
    number[np.lexsort((first, -count))] = np.arange(1, pieces + 1)
    linked = np.zeros(pieces, np.bool_)
    for chunk in stream.chunks():
        several = np.diff(chunk.only_scored().start) > 1
        linked[number[vertices[chunk.first : chunk.first + several.size][several]] - 1] = True
    return number[vertices[M:]], linked[: int(np.count_nonzero(count))]


def _reported(
    stream: Stream, found: Solved, group: IntArray, max_slope: float, fixed: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return qualities on the reported scale, and plain averages, NaN for items without a score."""
    N, groups = stream.n_items, int(group.max())
    count, total, place = np.zeros(N), np.zeros(N), group - 1
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        np.add.at(count, item, 1.0)
        np.add.at(total, item, score)
    size = np.maximum(np.bincount(place, count, groups), 1.0)
    mean, squares = np.bincount(place, total, groups) / size, np.zeros(groups)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        home = place[item]
        np.add.at(squares, home, (score - mean[home]) ** 2)
    average = np.divide(total, count, out=np.full(N, np.nan), where=count > 0)
    nobody = np.zeros(N, np.bool_)
    scale = reporting_scale(found.quality, average, np.sqrt(squares / size), group, nobody, max_slope, fixed)
    return np.where(count > 0, scale.apply(found.quality, group), np.nan), average


def _deviation(stream: Stream) -> float:
    """Return the standard deviation of all scores."""
    total, squares = 0.0, 0.0
    for power in (1, 2):
        mean = total / stream.n_scored
        for chunk in stream.chunks():
            score = chunk.score[~np.isnan(chunk.score)] - mean
            total, squares = (
                (total + float(score.sum()), squares) if power == 1 else (total, squares + float(score @ score))
            )
    return float(np.sqrt(squares / stream.n_scored))


def _or_none(values: FloatArray, none: BoolArray) -> list[float | None]:
    return [None if missing else value for value, missing in zip(values.tolist(), none.tolist(), strict=True)]
