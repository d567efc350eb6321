"""Calibration and posterior of tables larger than memory: by passes over the reviews on disk, or on a Dask cluster.

Results of passes are vectors over items, written in parts; those of a cluster are Dask data frames, and stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from lsc._inference.beliefs import Beliefs, InferenceStatus
from lsc._inference.large import infer_by_passes, infer_on_cluster
from lsc._model.hypotheses import Hypothesis, Shape, classes, hypothesis_of
from lsc._solver.clustered import minimise_clustered
from lsc._solver.newton import minimise_streamed
from lsc.calibration import NEARLY, SHARP, CalibrationStatus
from lsc.estimate import best_first, central_interval, ranks, warn_unconverged
from lsc.evidence.support import ReportingScale, numbered, reporting_scale, scale_given
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
from reviewgraph.streams import (
    ROWS,
    ClusterTable,
    Grid,
    Labels,
    Share,
    Stream,
    components_of,
    load_part,
    pieces_of,
    split,
)


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
        keys = {"method": "lsc", "status": self.status.value, "hypothesis": self.hypothesis}
        return {**super().to_dict(), **keys, "objective": self.objective}

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
        """Return the keys of a posterior, and of a selection; ``items`` and ``gain`` are None."""
        keys: dict[str, Any] = {"method": "posterior", "status": self.status.value, "gain": None, "reviewers": None}
        keys["by_prior"] = self.by_prior
        return {**super().to_dict(), **keys, **({} if selection is None else selection.to_dict())}

    def parts(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of a posterior, and of a selection, in parts of ``rows`` rows."""
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


# The same on a Dask cluster.

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class ClusterEstimate(Result):
    """Qualities of the items of a table on a cluster.

    Parameters
    ----------
    table
        The table.
    values
        Quality, standard error, average and group of the items of each shard, shapes (4, n), on the cluster.

    Examples
    --------
    See :func:`posterior_cluster` and :func:`calibrate_cluster`.
    """

    table: ClusterTable = field(repr=False)
    values: list[Future] = field(repr=False)

    def items(self) -> Any:
        """Return a Dask data frame with a row per item, in the order of the codes, a partition per shard.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns label, quality, average, standard_error, interval_low, interval_high and group: scores compare
            within a group, 1 for the largest.

        Examples
        --------
        ``result.items().to_parquet("qualities")`` writes them without collecting them.
        """
        sign = -1.0 if self.table.grid.lower_is_better else 1.0
        columns = self.table.grid.sent(self.table.grid.each(_columns, self.values, sign=sign), len(COLUMNS))
        return self.table.grid.frame(1, dict(zip(COLUMNS, columns, strict=True)))

    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of :meth:`items`, collected."""
        labels = [label for part in self.table.grid.fetch(self.table.grid.labels_of(1)) for label in part]
        whole = np.concatenate(self.table.grid.fetch(self.values), axis=1)
        columns = _columns(whole, -1.0 if self.table.grid.lower_is_better else 1.0)
        return {"item": labels} | {
            name: values.tolist() if name == "group" else or_none(values)
            for name, values in zip(COLUMNS, columns, strict=True)
        }

    def headline(self) -> str:
        """Return the numbers of items and scores."""
        return f"{counted(self.table.n_items, 'item')}, {counted(self.table.n_scored, 'score')}"


#: Columns of the data frame of items, after the labels.
COLUMNS = ("quality", "average", "standard_error", "interval_low", "interval_high", "group")


def _columns(values: FloatArray, sign: float) -> list[Any]:
    quality, error, average, group = values
    low, high = np.sort(sign * central_interval(quality, error, LEVEL), axis=1).T
    return [sign * quality, sign * average, error, low, high, group.astype(np.int64)]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterPosterior(ClusterEstimate):
    """Qualities of a table on a cluster, with their uncertainty, see :func:`posterior_cluster`.

    Parameters
    ----------
    beliefs
        Means and variances of items, reviewers and hyperparameters, as arrays at the client.

    Examples
    --------
    See :func:`posterior_cluster`, which returns it.
    """

    beliefs: Beliefs = field(repr=False)

    @property
    def status(self) -> InferenceStatus:
        """Status of the inference; ``status.text`` explains it."""
        return self.beliefs.status

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Hyperparameters by name."""
        return self.beliefs.hyperparameters

    def reviewers(self) -> Any:
        """Return a Dask data frame with a row per reviewer, in the order of the codes, a partition for each.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns label, severity, stretch and noise, each with the ends of its 90 % interval (``_low``, ``_high``).

        Examples
        --------
        ``result.reviewers().nlargest(10, "severity").compute()`` are the ten most severe.
        """
        grid = self.table.grid
        columns: dict[str, Sequence[Future]] = {}
        for name in ("severity", "stretch", "noise"):
            for end, values in zip(("", "_low", "_high"), getattr(self.beliefs.reviewers, name), strict=True):
                columns[f"{name}{end}"] = _sent(grid, values, grid.first_reviewer)
        return grid.frame(0, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return status, hyperparameters and log evidences."""
        beliefs = self.beliefs
        return {
            "method": "posterior",
            "status": beliefs.status.value,
            "sweeps": beliefs.sweeps,
            "hyperparameters": beliefs.hyperparameters,
            "evidence": beliefs.evidence,
            "null_evidence": beliefs.null_evidence,
        }


@checked
def posterior_cluster(
    table: ClusterTable, *, seed: int | np.random.Generator = 0, progress: Callable[[Progress], object] | None = None
) -> ClusterPosterior:
    """Infer the qualities of a table on a cluster: those of :func:`lsc.posterior_stream`, up to rounding.

    The model and its selection are the same. Weights, references, joint draws and selections are not available. A
    worker that dies costs the time since site parameters were last stored, at most five sweeps.

    Parameters
    ----------
    table
        The table, open, with scores; planned reviews are ignored.
    seed
        Seed for the stochastic trace estimator (default 0).
    progress
        Called at each stage.

    Returns
    -------
    ClusterPosterior
        Items and reviewers as Dask data frames.

    Raises
    ------
    InputError
        If no review has a score, a score is so far from all others that it must be a data-entry error, units differ, or
        no scheduler answers.

    Notes
    -----
    A sweep sends 16 bytes per item and partition that uses it, and as many back, 32 where papers that share reviewers
    are similar. A worker holds 24 bytes per review of its partitions, and up to three times 16 (or 32) for site
    parameters. The client holds some 150 bytes per item and 300 per reviewer.

    Examples
    --------
    >>> from reviewgraph import cluster_reviews
    >>> from distributed import Client  # doctest: +SKIP
    >>> with cluster_reviews("scores/*.parquet", Client("tcp://head:8786"), "/shared") as table:  # doctest: +SKIP
    ...     posterior_cluster(table).items().to_parquet("/shared/qualities")
    """
    expect_scores(table)
    grid = table.grid
    beliefs = infer_on_cluster(grid, whole_seed(seed), teller(progress))
    warn_unconverged(beliefs.off)
    totals = grid.fetch(grid.to_shards(grid.each(_totals, grid.shares, grid.cuts)))
    count, total = np.concatenate(totals).T
    average = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    error = beliefs.standard_error if table.n_scored >= LEAST_SCORES else np.full(count.size, np.nan)
    group = np.concatenate(grid.fetch(components_of(grid, scored=True).groups(grid)))
    values = np.array([beliefs.quality, error, average, group])
    return ClusterPosterior(table, _sent(grid, values, grid.first_item), beliefs)


def _sent(grid: Grid, values: FloatArray, first: IntArray) -> list[Future]:
    """Send the ranges of values, axis -1, to the cluster; they stay in files until the table is closed."""
    return grid.each(load_part, grid.put(np.split(values, first[1:-1], axis=-1)))


@dataclass(frozen=True, eq=False, repr=False)
class ClusterCalibration(ClusterEstimate):
    """Qualities of a table on a cluster by Least Square Calibration, see :func:`calibrate_cluster`.

    Parameters
    ----------
    hypothesis
        Name of the hypothesis class.
    objective, status, message
        As those of :class:`lsc.Calibration`.

    Examples
    --------
    See :func:`calibrate_cluster`, which returns it.
    """

    hypothesis: str
    objective: float
    status: CalibrationStatus
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return class, status and objective."""
        keys = {"status": self.status.value, "hypothesis": self.hypothesis, "objective": self.objective}
        return {"method": "lsc", **keys}


@checked
def calibrate_cluster(
    table: ClusterTable,
    hypothesis: str | Hypothesis = "linear",
    *,
    max_slope: float | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> ClusterCalibration:
    """Calibrate a table on a cluster: the qualities of :func:`lsc.calibrate_stream`, up to rounding.

    Parameters
    ----------
    table
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
    ClusterCalibration
        Items as a Dask data frame.

    Raises
    ------
    InputError
        If no review has a score, the hypothesis is not one of lines, or no scheduler answers.

    Notes
    -----
    A step of conjugate gradients sends 8 bytes per item and partition that uses it, and as many back.

    Examples
    --------
    >>> from reviewgraph import cluster_reviews
    >>> from distributed import Client  # doctest: +SKIP
    >>> with cluster_reviews("scores/*.parquet", Client("tcp://head:8786"), "/shared") as table:  # doctest: +SKIP
    ...     calibrate_cluster(table).items().to_parquet("/shared/qualities")
    """
    line = line_of(hypothesis, max_slope, "on a cluster")
    expect_scores(table)
    lower = line.bounds[0]
    deviation = _deviation_on_cluster(table.grid)

    def exact(noise: float, spread: float) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(spread, lower * deviation) or lower))

    best = minimise_clustered(table.grid, line, exact, sharp=SHARP, progress=progress)
    values = _reported_on_cluster(table.grid, best.quality, 1.0 / lower, fixes_unit=line.fixes_unit)
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return ClusterCalibration(table, values, line.name, best.objective, status, best.message)


def _sum_of_scores(share: Share) -> float:
    return float(share.scored().score.sum())


def _squares(share: Share, mean: float) -> float:
    residual = share.scored().score - mean
    return float(residual @ residual)


def _deviation_on_cluster(table: Grid) -> float:
    """Return the standard deviation of all scores, in two passes."""
    mean = float(table.total(table.each(_sum_of_scores, table.shares))) / table.n_scored
    return float(np.sqrt(table.total(table.each(_squares, table.shares, mean=mean)) / table.n_scored))


def _totals(share: Share, cut: IntArray) -> list[FloatArray]:
    n = share.items.size
    share = share.scored()
    total = np.bincount(share.item, share.score, n)
    return split(np.column_stack([np.bincount(share.item, minlength=n), total]), cut)


def _by_reviewer(share: Share, mean: FloatArray | float) -> FloatArray:
    """Return number, sum and sum of squares of the scores of each reviewer less a mean, shape (m, 3)."""
    m = share.start.size - 1
    share = share.scored()
    reviewer = share.reviewer
    score = share.score - np.broadcast_to(mean, m)[reviewer]
    return np.column_stack([np.bincount(reviewer, value, m) for value in (np.ones(score.size), score, score**2)])


def _rows(quality: FloatArray, totals: FloatArray, centre: Any) -> FloatArray:
    """Return 1, quality and average of each item less centres, and their squares, shape (n, 5); 0 without a score."""
    size, total = totals.T
    average = np.divide(total, size, out=np.zeros(size.size), where=size > 0)
    centred = np.array([quality, average]) - centre
    return np.where(size > 0, np.array([np.ones(size.size), *centred, *centred**2]), 0.0).T


def _scaled(
    quality: FloatArray, totals: FloatArray, slope: FloatArray, offset: FloatArray, group: IntArray
) -> FloatArray:
    size, total = totals.T
    average = np.divide(total, size, out=np.full(size.size, np.nan), where=size > 0)
    scaled = np.where(size > 0, slope * quality + offset, np.nan)
    return np.array([scaled, np.full(size.size, np.nan), average, group])


def _pair(quality: FloatArray, average: FloatArray) -> FloatArray:
    return np.array([quality, average])


def _reported_on_cluster(table: Grid, quality: list[Future], max_slope: float, *, fixes_unit: bool) -> list[Future]:
    """Return quality on the reported scale, no standard error, average and group, by shard."""
    components = components_of(table, scored=True)
    totals = table.store(table.to_shards(table.each(_totals, table.shares, table.cuts)))
    # Mean and standard deviation of the scores of each component, in two passes.
    firsts = table.each(_by_reviewer, table.shares, [0.0] * len(table.shares))
    number, total, _ = components.sums(table, components.reviewers, firsts).T
    size = np.maximum(number, 1.0)
    means = components.numbered(table, total / size)[0]
    seconds = table.each(_by_reviewer, table.shares, means)
    spread = np.sqrt(components.sums(table, components.reviewers, seconds).T[2] / size)
    # The same of its qualities and averages.
    rows = table.each(_rows, quality, totals, [0.0] * len(quality))
    count, middle, mean, *_ = components.sums(table, components.items, rows).T
    count = np.maximum(count, 1.0)
    centres = (components.numbered(table, values / count)[1] for values in (middle, mean))
    rows = table.each(_rows, quality, totals, table.each(_pair, *centres))
    *_, first, second = components.sums(table, components.items, rows).T
    moments = (middle / count, np.sqrt(first / count)), (mean / count, np.sqrt(second / count))
    linked = (components.pieces.linking > 0) & fixes_unit
    none = np.zeros(linked.size, np.bool_)
    scale: ReportingScale = scale_given(*moments, spread, none, linked, max_slope)
    slope = np.where(scale.flat, 0.0, scale.slope)
    slopes, offsets = (components.numbered(table, values)[1] for values in (slope, scale.offset))
    return table.store(table.each(_scaled, quality, totals, slopes, offsets, components.groups(table)))
