"""Calibration and posterior of tables larger than memory: by passes over the reviews on disk, or on a Dask cluster.

Results of passes are vectors over items, written in parts; those of a cluster are Dask data frames, and stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from lsc._inference.beliefs import Beliefs, InferenceStatus
from lsc._inference.large import infer_by_passes, infer_on_cluster
from lsc._model.hypotheses import Hypothesis, Shape, classes, hypothesis_of
from lsc._solver.clustered import minimise_clustered
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

    @property
    def reviews(self) -> Stream:
        """The table, by the name that it has in results in memory."""
        return self.stream

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

    totals = totals_of(stream)
    squares = partial(_squares_by_passes, stream)
    deviation = _deviation(*totals, squares)

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * deviation) or lower))

    best = minimise_streamed(stream, line, exact, sharp=SHARP, progress=progress)
    group, linked = scored_groups(stream)
    quality, average = _reported(best.quality, *totals, squares, group, 1.0 / lower, linked & line.fixes_unit)
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return StreamedCalibration(stream, quality, average, group, line.name, best.objective, status, best.message)


#: The sum of squared differences of the scores of each item from a centre of its own, from these centres, shapes (N,).
Squares: TypeAlias = Callable[[FloatArray], FloatArray]


def _squares_by_passes(stream: Stream, centre: FloatArray) -> FloatArray:
    squares = np.zeros(stream.n_items)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        np.add.at(squares, item, (score - centre[item]) ** 2)
    return squares


def _deviation(count: FloatArray, total: FloatArray, squares: Squares) -> float:
    """Return the standard deviation of all scores."""
    mean = np.full(count.size, total.sum() / count.sum())
    return float(np.sqrt(squares(mean).sum() / count.sum()))


def _reported(
    quality: FloatArray,
    count: FloatArray,
    total: FloatArray,
    squares: Squares,
    group: IntArray,
    max_slope: float,
    fixed: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return qualities on the reported scale, and plain averages, NaN for items without a score."""
    # Mean and standard deviation of the scores of each group.
    groups = int(group.max())
    place = group - 1
    size = np.maximum(np.bincount(place, count, groups), 1.0)
    mean = np.bincount(place, total, groups) / size
    spread = np.sqrt(np.bincount(place, squares(mean[place]), groups) / size)
    average = _averages(count, total)
    references = np.zeros(count.size, np.bool_)
    scale = reporting_scale(quality, average, spread, group, references, max_slope, fixed)
    return np.where(count > 0, scale.apply(quality, group), np.nan), average


def _averages(count: FloatArray, total: FloatArray) -> FloatArray:
    average = np.full(count.size, np.nan)
    np.divide(total, count, out=average, where=count > 0)
    return average


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
            What :meth:`selection` returned, None (default) without one.

        Returns
        -------
        dict
            What ``calibrate --stream --json`` prints.

        Examples
        --------
        ``result.to_dict()["status"]`` is ``"converged"`` for a result of :func:`posterior_stream` that has converged.
        """
        keys: dict[str, Any] = {"method": "posterior", "status": self.status.value, "gain": None, "reviewers": None}
        keys["by_prior"] = self.by_prior
        return {**super().to_dict(), **keys, **({} if selection is None else selection.to_dict())}

    def parts(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of a posterior, and of a selection, in parts of ``rows`` rows.

        Parameters
        ----------
        rows
            Most rows per part.
        selection
            What :meth:`selection` returned, None (default) without one.

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
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    return StreamedPosterior(stream, beliefs.quality, _averages(count, total), scored_groups(stream)[0], beliefs)


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
    count, total = _totals_on(grid)
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    error = beliefs.standard_error if table.n_scored >= LEAST_SCORES else np.full(count.size, np.nan)
    group = np.concatenate(grid.fetch(components_of(grid, scored=True).groups(grid)))
    values = np.array([beliefs.quality, error, _averages(count, total), group])
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
    A step of conjugate gradients sends 8 bytes per item and partition that uses it, and as many back. The client holds
    some 80 bytes per item at the end.

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
    grid = table.grid
    totals = _totals_on(grid)
    squares = partial(_squares_on, grid)
    deviation = _deviation(*totals, squares)

    def exact(noise: float, spread: float) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(spread, lower * deviation) or lower))

    best = minimise_clustered(grid, line, exact, sharp=SHARP, progress=progress)
    components = components_of(grid, scored=True)
    group = np.concatenate(grid.fetch(components.groups(grid)))
    linked = components.pieces.linking[components.largest_first] > 0
    solution = np.concatenate(grid.fetch(best.quality))
    quality, average = _reported(solution, *totals, squares, group, 1.0 / lower, linked & line.fixes_unit)
    values = np.array([quality, np.full(quality.size, np.nan), average, group])
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    sent = _sent(grid, values, grid.first_item)
    return ClusterCalibration(table, sent, line.name, best.objective, status, best.message)


def _totals_on(grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return number and sum of the scores of each item, shapes (N,)."""
    count, total = np.concatenate(grid.fetch(grid.to_shards(grid.each(_totals, grid.shares, grid.cuts)))).T
    return count, total


def _totals(share: Share, cut: IntArray) -> list[FloatArray]:
    n = share.items.size
    share = share.scored()
    total = np.bincount(share.item, share.score, n)
    return split(np.column_stack([np.bincount(share.item, minlength=n), total]), cut)


def _squares_on(grid: Grid, centre: FloatArray) -> FloatArray:
    centres = grid.to_partitions(_sent(grid, centre, grid.first_item))
    return np.concatenate(grid.fetch(grid.to_shards(grid.each(_squares, grid.shares, centres, grid.cuts))))


def _squares(share: Share, centres: list[FloatArray], cut: IntArray) -> list[FloatArray]:
    n = share.items.size
    centre = np.concatenate(centres)
    share = share.scored()
    return split(np.bincount(share.item, (share.score - centre[share.item]) ** 2, n), cut)
