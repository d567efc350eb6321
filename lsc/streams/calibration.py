"""Least Square Calibration of tables larger than memory: linear reviewers, by passes over the reviews on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsc.calibration import NEARLY, SHARP, Status
from lsc.evidence.scale import reporting_scale
from lsc.model.hypotheses import Hypothesis, Shape, classes, hypothesis_of
from lsc.solver.newton import MAX_ITERATIONS
from lsc.solver.streamed import Solved, minimise_streamed
from lsc.streams.estimate import StreamedEstimate, expect_scores, scored_groups, totals_of
from reviewgraph.arguments import checked
from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.errors import InputError
from reviewgraph.results import Progress
from reviewgraph.streams.table import Stream


@dataclass(frozen=True, eq=False, repr=False)
class StreamedCalibration(StreamedEstimate):
    """Qualities of the items of a table larger than memory, see :func:`calibrate_stream`.

    Parameters
    ----------
    hypothesis
        Name of the hypothesis class.
    objective, status, message, iterations
        As those of :class:`lsc.Calibration`.
    """

    hypothesis: str
    objective: float
    status: Status
    message: str
    iterations: int

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a calibration; ``items`` is None, for there may be too many."""
        told = {"method": "lsc", "status": self.status.value, "hypothesis": self.hypothesis}
        return {**super().to_dict(), **told, "objective": self.objective}

    def headline(self) -> str:
        """Return class, status and objective, and what was calibrated."""
        return f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; {super().headline()}"


@checked
def calibrate_stream(
    stream: Stream,
    hypothesis: str | Hypothesis = "linear",
    *,
    max_slope: float | None = None,
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
        C, the steepest slope of a scoring function (10 by default), for a hypothesis given by name; refused
        beside an object.
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
    About 30 numbers an item and 6 a reviewer are held. A step of conjugate gradients is one pass.

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
        lines = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
        message = f"hypothesis: expected {lines} for a table larger than memory, found {given.name!r}"
        raise InputError(message)
    expect_scores(stream)
    lower = given.bounds[0]

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * _deviation(stream)) or lower))

    found = minimise_streamed(stream, given, exact, sharp=SHARP, max_iterations=max_iterations, progress=progress)
    group, linked = scored_groups(stream)
    quality, average = _reported(stream, found, group, 1.0 / lower, linked & given.fixes_unit)
    return StreamedCalibration(
        *(stream, quality, average, group, given.name, found.objective),
        *(Status.OPTIMAL if found.converged else Status.INACCURATE, found.message, found.iterations),
    )


def _reported(
    stream: Stream, found: Solved, group: IntArray, max_slope: float, fixed: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return qualities on the reported scale, and plain averages, NaN for items without a score."""
    N, groups, place = stream.n_items, int(group.max()), group - 1
    count, total = totals_of(stream)
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
