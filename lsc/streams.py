"""Calibration and posterior of tables larger than memory, by passes over the reviews on disk.

Results are vectors over items, and are written in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc._inference.beliefs import Beliefs
from lsc._inference.large import infer_by_passes
from lsc._model.hypotheses import Hypothesis, Shape, classes, hypothesis_of
from lsc._solver.newton import minimise_streamed
from lsc.calibration import NEARLY, SHARP, CalibrationStatus
from lsc.estimate import best_first, central_interval, ranks, warn_unconverged
from lsc.evidence.support import numbered, reporting_scale
from lsc.posteriors import LEAST_SCORES, teller
from lsc.selection import LEVEL, Selection, Uncertain
from reviewgraph._base import (
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    Progress,
    Result,
    checked,
    counted,
    or_none,
    whole_seed,
)
from reviewgraph.streams import ROWS, ClusterTable, Labels, Stream, pieces_of


@dataclass(frozen=True, eq=False, repr=False)
class StreamedEstimate(Result):
    """Qualities of the items of a table larger than memory.

    Parameters
    ----------
    stream
        The table.
    quality, average
        Shape (N,): on the reported scale, higher is better, and plain averages; NaN for an item without a score.
    group
        Shape (N,): the connected component of each item, from 1 for the largest; scores compare within one only.
    """

    stream: Stream = field(repr=False)
    quality: FloatArray
    average: FloatArray
    group: IntArray

    @property
    def items(self) -> Labels:
        """Labels of the items, in the order of :attr:`quality`."""
        return self.stream.items

    @cached_property
    def rank(self) -> IntArray:
        """Shape (N,): the rank within its group, 1 for the best, ties by index; 0 for an item without a score."""
        return ranks(self.quality, self.group)

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): standard error of each quality, NaN if the method has none."""
        return np.full(self.stream.n_items, np.nan)

    @checked
    def best(self, n_selected: int) -> IntArray:
        """Return the codes of the best items of the largest group, best first.

        Parameters
        ----------
        n_selected
            Number of items to select.

        Returns
        -------
        ndarray
            Codes of at most ``n_selected`` items.

        Examples
        --------
        ``[result.items[i] for i in result.best(10)]`` are the ten best of the result of :func:`calibrate_stream`.
        """
        return best_first(np.where(self.group == 1, self.quality, np.nan))[:n_selected]

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of every estimate; ``items`` is None, since there may be too many."""
        keys = ("method", "status", "hypothesis", "objective", "unique", "items")
        return {**dict.fromkeys(keys), **self.stream.origin.to_dict()}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return all of :meth:`parts` at once."""
        columns: dict[str, list[Any]] = {}
        for part in self.parts():
            for name, values in part.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def parts(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return columns item, quality, average, rank, standard_error and group, in parts of ``rows`` rows.

        Parameters
        ----------
        rows
            Most rows per part.

        Yields
        ------
        dict
            Columns by name.

        Examples
        --------
        ``next(result.parts(1000))`` are the first thousand rows of the result of :func:`calibrate_stream`.
        """
        for first in range(0, self.stream.n_items, rows):
            part = slice(first, first + rows)
            yield {
                "item": self.items[part],
                "quality": or_none(self.stream.printed(self.quality[part])),
                "average": or_none(self.stream.printed(self.average[part])),
                "rank": [rank or None for rank in self.rank[part].tolist()],
                "standard_error": or_none(self.standard_error[part]),
                "group": self.group[part].tolist(),
            }

    def headline(self) -> str:
        """Return the numbers of items and scores."""
        return f"{counted(self.stream.n_items, 'item')}, {counted(self.stream.n_scored, 'score')}"


def expect_scores(table: Stream | ClusterTable) -> None:
    """Raise if no review has a score."""
    if not table.n_scored:
        message = "reviews: expected scores, found none; calibrate after the scores have arrived"
        raise InputError(message)


def line_of(hypothesis: str | Hypothesis, max_slope: float | None, where: str) -> Hypothesis:
    """Return the class of scoring functions; raise unless they are lines."""
    kind = hypothesis_of(hypothesis, max_slope=max_slope)
    if kind.shape is not Shape.LINEAR:
        lines = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
        message = f"hypothesis: expected {lines} for a table {where}, found {kind.name!r}"
        raise InputError(message)
    return kind


def scores_given(stream: Stream) -> IntArray:
    """Return the number of scores of each reviewer, shape (M,)."""
    loads = [np.diff(chunk.only_scored().start) for chunk in stream.chunks()]
    return np.concatenate([np.empty(0, np.int64), *loads])


def totals_of(stream: Stream) -> tuple[FloatArray, FloatArray]:
    """Return number and sum of the scores of each item, shapes (N,)."""
    count = np.zeros(stream.n_items)
    total = np.zeros(stream.n_items)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        np.add.at(count, item, 1.0)
        np.add.at(total, item, score)
    return count, total


def scored_groups(stream: Stream) -> tuple[IntArray, BoolArray]:
    """Return the connected component of each item, and whether a reviewer of each component has two scores or more.

    Components are numbered as by :func:`lsc.evidence.support.groups_of`.
    """
    vertices, pieces = pieces_of(stream, scored=True)
    M = stream.n_reviewers
    group = numbered(vertices[M:])
    number = np.zeros(pieces, np.int64)  # 0 for reviewers without scores
    number[vertices[M:]] = group
    linked = np.zeros(pieces, np.bool_)
    for chunk in stream.chunks():
        several = np.diff(chunk.only_scored().start) > 1
        linked[number[vertices[chunk.first : chunk.first + several.size][several]] - 1] = True
    return group, linked[: int(group.max())]


# Least Square Calibration: linear reviewers, by passes over the reviews.


@dataclass(frozen=True, eq=False, repr=False)
class StreamedCalibration(StreamedEstimate):
    """Qualities of the items of a table larger than memory, see :func:`calibrate_stream`.

    Parameters
    ----------
    hypothesis
        Name of the hypothesis class.
    objective, status, message
        As those of :class:`lsc.Calibration`.

    Examples
    --------
    See :func:`calibrate_stream`, which returns it.
    """

    hypothesis: str
    objective: float
    status: CalibrationStatus
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a calibration; ``items`` is None, since there may be too many."""
        own = {"method": "lsc", "status": self.status.value, "hypothesis": self.hypothesis}
        return {**super().to_dict(), **own, "objective": self.objective}

    def headline(self) -> str:
        """Return class, status, objective and sizes."""
        return f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; {super().headline()}"


@checked
def calibrate_stream(
    stream: Stream,
    hypothesis: str | Hypothesis = "linear",
    *,
    max_slope: float | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> StreamedCalibration:
    """Calibrate a table larger than memory: the qualities of :func:`lsc.calibrate`, by passes over the reviews.

    Equal scores of one reviewer mean equal perceived qualities, and there are no references.

    Parameters
    ----------
    stream
        The table, open, with scores; planned reviews are ignored.
    hypothesis
        The class of scoring functions: ``"linear"`` (default) or ``"offset"``, or an object of their classes.
    max_slope
        C, the maximum slope of a scoring function (10 by default), for a hypothesis given by name; an error with an
        object.
    progress
        Called after each step.

    Returns
    -------
    StreamedCalibration
        With qualities, ranks and groups, as in memory.

    Raises
    ------
    InputError
        If no review has a score, or the hypothesis is not one of lines.

    Notes
    -----
    Memory: about 30 numbers per item and 6 per reviewer. A step of conjugate gradients is one pass.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path, rows = f"{folder}/scores.parquet", {"reviewer": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 2]}
    ...     pa.parquet.write_table(pa.table({**rows, "score": [2, 4, 6, 5, 6]}), path)
    ...     with stream_reviews(path) as stream:
    ...         result = calibrate_stream(stream)
    ...         result.rank.tolist(), result.status.value
    ([3, 2, 1], 'optimal')
    """
    line = line_of(hypothesis, max_slope, "larger than memory")
    expect_scores(stream)
    lower = line.bounds[0]

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * _deviation(stream)) or lower))

    best = minimise_streamed(stream, line, exact, sharp=SHARP, progress=progress)
    group, linked = scored_groups(stream)
    quality, average = _reported(stream, best.quality, group, 1.0 / lower, linked & line.fixes_unit)
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return StreamedCalibration(stream, quality, average, group, line.name, best.objective, status, best.message)


def _reported(
    stream: Stream, quality: FloatArray, group: IntArray, max_slope: float, fixed: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return qualities on the reported scale, and plain averages, NaN for items without a score."""
    # Mean and standard deviation of the scores of each group, in two passes.
    N = stream.n_items
    groups = int(group.max())
    place = group - 1
    count, total = totals_of(stream)
    size = np.maximum(np.bincount(place, count, groups), 1.0)
    mean = np.bincount(place, total, groups) / size
    squares = np.zeros(groups)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        home = place[item]
        np.add.at(squares, home, (score - mean[home]) ** 2)
    average = np.divide(total, count, out=np.full(N, np.nan), where=count > 0)
    references = np.zeros(N, np.bool_)
    scale = reporting_scale(quality, average, np.sqrt(squares / size), group, references, max_slope, fixed)
    return np.where(count > 0, scale.apply(quality, group), np.nan), average


def _deviation(stream: Stream) -> float:
    """Return the standard deviation of all scores, in two passes."""

    def scores() -> Iterator[FloatArray]:
        return (chunk.score[~np.isnan(chunk.score)] for chunk in stream.chunks())

    # Loops, because sum() of floats rounds differently in different versions of Python.
    total = squares = 0.0
    for score in scores():
        total += float(score.sum())
    for score in scores():
        residual = score - total / stream.n_scored
        squares += float(residual @ residual)
    return float(np.sqrt(squares / stream.n_scored))


# The posterior: site parameters are on disk, and a sweep is a pass over the reviews.


@dataclass(frozen=True, eq=False, repr=False)
class StreamedPosterior(StreamedEstimate, Uncertain):
    """Qualities of a table larger than memory, with their uncertainty, see :func:`posterior_stream`.

    Parameters
    ----------
    beliefs
        Means and variances of items, reviewers and hyperparameters, as arrays.

    Examples
    --------
    See :func:`posterior_stream`, which returns it.
    """

    beliefs: Beliefs = field(repr=False)

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): posterior standard deviation of each quality, NaN without a score."""
        errors = self.beliefs.standard_error
        return errors if self.stream.n_scored >= LEAST_SCORES else np.full(errors.size, np.nan)

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the keys of a posterior, and of a selection; ``items`` and ``gain`` are None.

        Parameters
        ----------
        selection
            A selection, whose lists are added; none by default.

        Returns
        -------
        dict
            The content of ``reviewgraph calibrate --stream --json``.

        Examples
        --------
        ``result.to_dict(result.selection(10))["selected"]`` are the labels of the ten best.
        """
        own: dict[str, Any] = {"method": "posterior", "status": self.status.value, "gain": None, "reviewers": None}
        own["by_prior"] = self.by_prior
        return {**super().to_dict(), **own, **({} if selection is None else selection.to_dict())}

    def parts(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of a posterior, and of a selection, in parts of ``rows`` rows.

        Parameters
        ----------
        rows
            Most rows per part.
        selection
            A selection, whose probabilities become a column; none by default.

        Yields
        ------
        dict
            Columns by name.

        Examples
        --------
        ``next(result.parts(1000))`` are the first thousand rows of the result of :func:`posterior_stream`.
        """
        lists = None if selection is None else selection.lists
        probability = None if selection is None else selection.probability
        for first, columns in zip(range(0, self.stream.n_items, rows), super().parts(rows), strict=True):
            part = slice(first, first + rows)
            ends = central_interval(self.quality[part], self.standard_error[part], LEVEL)
            low, high = np.sort(self.stream.printed(ends), axis=1).T
            columns |= {"interval_low": or_none(low), "interval_high": or_none(high)}
            if probability is not None and lists is not None:
                columns |= {"probability": probability[part], "list": lists[part]}
            yield columns


@checked
def posterior_stream(
    stream: Stream, *, seed: int | np.random.Generator = 0, progress: Callable[[Progress], object] | None = None
) -> StreamedPosterior:
    """Infer the qualities of a table larger than memory: those of :func:`lsc.posterior`, by passes over the reviews.

    The models and, up to rounding, the results are the same. The benefit of the correction, joint draws, contributions
    to single estimates, weights and references need the reviews in memory.

    Parameters
    ----------
    stream
        The table, open, with scores; planned reviews are ignored.
    seed
        Seed for the stochastic trace estimator (default 0).
    progress
        Called at each stage and pass.

    Returns
    -------
    StreamedPosterior
        With qualities, standard errors and selections, as in memory.

    Raises
    ------
    InputError
        If no review has a score, a score is so far from all others that it must be a data-entry error, or the disk is
        full.

    Warns
    -----
    ConvergenceWarning
        If the inference has not converged; the message estimates how far off qualities are.

    Notes
    -----
    A sweep is a pass; some tens of sweeps are needed for any size. Temporary files take some 130 bytes per review.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path, rows = f"{folder}/scores.parquet", {"reviewer": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 2]}
    ...     pa.parquet.write_table(pa.table({**rows, "score": [2, 4, 6, 5, 6]}), path)
    ...     with stream_reviews(path) as stream:
    ...         result = posterior_stream(stream)
    ...         result.rank.tolist(), result.status.value
    ([3, 2, 1], 'no_signal')
    """
    expect_scores(stream)
    beliefs = infer_by_passes(stream, seed=whole_seed(seed), progress=teller(progress))
    warn_unconverged(beliefs.off)
    count, total = totals_of(stream)
    average = np.divide(total, count, out=np.full(stream.n_items, np.nan), where=count > 0)
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    return StreamedPosterior(stream, beliefs.quality, average, scored_groups(stream)[0], beliefs)
