"""Posterior and linear calibration of a table on a Dask cluster.

Results are columns over items and reviewers that stay on the cluster, as Dask data frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from lsc._inference.beliefs import Beliefs, InferenceStatus
from lsc._inference.large import infer_on_cluster
from lsc._model.hypotheses import Hypothesis
from lsc._solver.clustered import minimise_clustered
from lsc.calibration import NEARLY, SHARP, CalibrationStatus
from lsc.estimate import central_interval, warn_unconverged
from lsc.evidence.support import ReportingScale, scale_given
from lsc.posteriors import LEAST_SCORES, teller
from lsc.selection import LEVEL
from lsc.streams import expect_scores, line_of
from reviewgraph._base import FloatArray, IntArray, Progress, Result, checked, counted, or_none, whole_seed
from reviewgraph.streams import ClusterTable, Grid, Share, components_of, load_part, split

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
        own = {"status": self.status.value, "hypothesis": self.hypothesis, "objective": self.objective}
        return {"method": "lsc", **own}


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
    deviation = _deviation(table.grid)

    def exact(noise: float, spread: float) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(spread, lower * deviation) or lower))

    best = minimise_clustered(table.grid, line, exact, sharp=SHARP, progress=progress)
    values = _reported(table.grid, best.quality, 1.0 / lower, fixes_unit=line.fixes_unit)
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return ClusterCalibration(table, values, line.name, best.objective, status, best.message)


def _sum_of_scores(share: Share) -> float:
    return float(share.scored().score.sum())


def _squares(share: Share, mean: float) -> float:
    residual = share.scored().score - mean
    return float(residual @ residual)


def _deviation(table: Grid) -> float:
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
    who = share.reviewer
    score = share.score - np.broadcast_to(mean, m)[who]
    return np.column_stack([np.bincount(who, value, m) for value in (np.ones(score.size), score, score**2)])


def _rows(quality: FloatArray, totals: FloatArray, centre: Any) -> FloatArray:
    """Return 1, quality and average of each item less centres, and their squares, shape (n, 5); 0 without a score."""
    size, total = totals.T
    average = np.divide(total, size, out=np.zeros(size.size), where=size > 0)
    both = np.array([quality, average]) - centre
    return np.where(size > 0, np.array([np.ones(size.size), *both, *both**2]), 0.0).T


def _scaled(
    quality: FloatArray, totals: FloatArray, slope: FloatArray, offset: FloatArray, group: IntArray
) -> FloatArray:
    size, total = totals.T
    average = np.divide(total, size, out=np.full(size.size, np.nan), where=size > 0)
    scaled = np.where(size > 0, slope * quality + offset, np.nan)
    return np.array([scaled, np.full(size.size, np.nan), average, group])


def _pair(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.array([one, other])


def _reported(table: Grid, quality: list[Future], max_slope: float, *, fixes_unit: bool) -> list[Future]:
    """Return quality on the reported scale, no standard error, average and group, by shard."""
    found = components_of(table, scored=True)
    totals = table.store(table.to_shards(table.each(_totals, table.shares, table.cuts)))
    # Mean and standard deviation of the scores of each component, in two passes.
    firsts = table.each(_by_reviewer, table.shares, [0.0] * len(table.shares))
    number, total, _ = found.sums(table, found.reviewers, firsts).T
    size = np.maximum(number, 1.0)
    means = found.numbered(table, total / size)[0]
    seconds = table.each(_by_reviewer, table.shares, means)
    spread = np.sqrt(found.sums(table, found.reviewers, seconds).T[2] / size)
    # The same of its qualities and averages.
    rows = table.each(_rows, quality, totals, [0.0] * len(quality))
    count, middle, mean, *_ = found.sums(table, found.items, rows).T
    count = np.maximum(count, 1.0)
    centres = (found.numbered(table, values / count)[1] for values in (middle, mean))
    rows = table.each(_rows, quality, totals, table.each(_pair, *centres))
    *_, first, second = found.sums(table, found.items, rows).T
    moments = (middle / count, np.sqrt(first / count)), (mean / count, np.sqrt(second / count))
    linked = (found.pieces.linking > 0) & fixes_unit
    none = np.zeros(linked.size, np.bool_)
    scale: ReportingScale = scale_given(*moments, spread, none, linked, max_slope)
    slope = np.where(scale.flat, 0.0, scale.slope)
    slopes, offsets = (found.numbered(table, values)[1] for values in (slope, scale.offset))
    return table.store(table.each(_scaled, quality, totals, slopes, offsets, found.groups(table)))
