"""Calibration and posterior of tables in parts: on disk, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc._inference.inferring import infer_parts
from lsc._inference.validity import without_references
from lsc._model.hypotheses import Hypothesis, Shape, classes, hypothesis_of
from lsc._solver.parted import minimise_parts
from lsc.calibration import NEARLY, SHARP, Calibration, CalibrationStatus
from lsc.estimate import Estimate, central_interval, warn_unconverged
from lsc.evidence.support import numbered, reporting_scale
from lsc.posteriors import LEAST_SCORES, PosteriorEstimate
from lsc.selection import LEVEL, Selection
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray, Progress, or_none, write_whole, csv_parts
from reviewgraph.graph.connection import pieces_of
from reviewgraph.parts import ROWS, Part, PartedReviews, Parts, TooLarge, Vectors, only_scored

if TYPE_CHECKING:
    import os


def _refuse(result: object) -> Any:
    message = (
        "reviews: this takes all of them at once, and the table is in parts; expected one that fits into memory "
        "(read_reviews), or what is known of items and reviewers alone"
    )
    raise TooLarge(message)


#: What takes all reviews at once, in the place of an attribute or a method of a result.
AT_ONCE: Any = property(_refuse)


class InParts(Estimate):
    """What all estimates of tables in parts have: averages and groups are known, columns come in blocks."""

    in_parts = True
    reviews: PartedReviews  # type: ignore[assignment]

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the keys of every estimate, and of a selection; ``items`` is None, since there may be too many.

        Parameters
        ----------
        selection
            What ``selection`` returned, None (default) without one.

        Returns
        -------
        dict
            What ``calibrate --stream --json`` prints.

        Examples
        --------
        ``result.to_dict()["status"]`` is the status of a result.
        """
        keys = ("method", "status", "hypothesis", "objective", "unique", "units", "items")
        record = {**dict.fromkeys(keys), "method": self.method, "status": self.status.value}  # type: ignore[attr-defined]
        return {**record, **self.reviews.origin.to_dict(), **({} if selection is None else selection.to_dict())}

    def blocks(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of the result in blocks of rows.

        Parameters
        ----------
        rows
            Most rows per block.
        selection
            What ``selection`` returned, None (default) without one.

        Yields
        ------
        dict
            Columns by name.

        Examples
        --------
        ``next(result.blocks(1000))`` are the first thousand rows of a result.
        """
        printed = self.reviews.printed
        for first in range(0, self.reviews.n_items, rows):
            some = slice(first, first + rows)
            yield {
                "item": list(self.items[some]),
                "quality": or_none(printed(self.quality[some])),
                "average": or_none(printed(self.average[some])),
                "rank": [rank or None for rank in self.rank[some].tolist()],
                "standard_error": or_none(self.standard_error[some]),
                "group": self.group[some].tolist(),
            }

    def to_columns(self, selection: Selection | None = None) -> dict[str, list[Any]]:
        """Return all :meth:`blocks` at once.

        Parameters
        ----------
        selection
            What ``selection`` returned, None (default) without one.

        Returns
        -------
        dict
            Columns by name.

        Examples
        --------
        ``result.to_columns()["quality"]`` are the qualities of a result.
        """
        columns: dict[str, list[Any]] = {}
        for block in self.blocks(selection=selection):
            for name, values in block.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def save(self, path: str | os.PathLike[str], selection: Selection | None = None) -> None:
        """Write a row per item, in blocks: Parquet if the name ends in ``.parquet``, else CSV.

        Parameters
        ----------
        path
            Where to.
        selection
            What ``selection`` returned, None (default) without one.

        Examples
        --------
        ``result.save("qualities.parquet")`` writes the qualities of a result.
        """
        blocks = self.blocks(selection=selection)
        if not str(path).endswith(".parquet"):
            write_whole(path, csv_parts(blocks))
            return
        import pyarrow as pa
        import pyarrow.parquet

        tables = map(pa.table, blocks)
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table.cast(first.schema))


@dataclass(frozen=True, eq=False, repr=False)
class PartedPosterior(InParts, PosteriorEstimate):
    """The posterior of a table in parts: qualities with their uncertainty, and reviewers.

    Parameters
    ----------
    average, group
        As those of every estimate.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`.
    """

    average: FloatArray = ...  # type: ignore[assignment]
    group: IntArray = ...  # type: ignore[assignment]

    gain = misfit = modelled = score = AT_ONCE
    accounts = difference = draws = predict = probability_better = rank_probabilities = residuals = to_arviz = AT_ONCE

    @property
    def standard_error(self) -> FloatArray:  # type: ignore[override]
        """Shape (N,): posterior standard deviation of each quality, NaN without a score."""
        errors = self.beliefs.standard_error
        return errors if self.reviews.n_scored >= LEAST_SCORES else np.full(errors.size, np.nan)

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        record = super().to_dict(selection)
        return {**record, "gain": None, "reviewers": None, "by_prior": self.by_prior}

    def blocks(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        lists = None if selection is None else selection.lists
        probability = None if selection is None else selection.probability
        for first, block in zip(range(0, self.reviews.n_items, rows), super().blocks(rows), strict=True):
            some = slice(first, first + rows)
            ends = central_interval(self.quality[some], self.standard_error[some], LEVEL)
            low, high = np.sort(self.reviews.printed(ends), axis=1).T
            block |= {"interval_low": or_none(low), "interval_high": or_none(high)}
            if probability is not None and lists is not None:
                block |= {"probability": probability[some], "list": lists[some]}
            yield block


@dataclass(frozen=True, eq=False, repr=False)
class PartedCalibration(InParts, Calibration):
    """Least Square Calibration of a table in parts.

    Parameters
    ----------
    average, group
        As those of every estimate.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`.
    """

    average: FloatArray = ...  # type: ignore[assignment]
    group: IntArray = ...  # type: ignore[assignment]

    kinds = noise = residuals = scoring_function = support = unique = is_optimal = AT_ONCE

    @property
    def standard_error(self) -> FloatArray:  # type: ignore[override]
        """Shape (N,): NaN, since errors take all reviews at once."""
        return np.full(self.reviews.n_items, np.nan)

    @property
    def undetermined(self) -> list[Any]:
        """None that are known: which items the reviews do not determine takes all of them at once."""
        return []

    def headline(self) -> str:
        return f"{self.hypothesis}, {self.status}, objective {self.objective:.6g}; {self.reviews!r}"

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        record = super().to_dict(selection)
        return {**record, "hypothesis": self.hypothesis, "objective": self.objective}


def expect_scores(table: PartedReviews) -> None:
    """Raise if no review has a score."""
    if not table.n_scored:
        message = "reviews: expected scores, found none; calibrate after the scores have arrived"
        raise InputError(message)


def posterior_of_parts(table: PartedReviews, seed: int, tell: Callable[[str], None]) -> PartedPosterior:
    """Infer the qualities of a table in parts, by passes over them: those of :func:`lsc.posterior`, up to rounding.

    A sweep is a pass; some tens of sweeps are needed for any size. Temporary files take some 130 bytes per review.
    """
    expect_scores(table)
    beliefs = infer_parts(table.parts, seed, tell)
    warn_unconverged(beliefs.off)
    scored = table.parts.derive(only_scored)
    count, total = totals_of(scored)
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    group, _ = groups_of(scored)
    return PartedPosterior(
        table,
        beliefs.quality,
        "posterior",
        beliefs,
        without_references(table.n_items),
        seed,
        average=averages(count, total),
        group=group,
    )


def calibrate_parts(
    table: PartedReviews,
    hypothesis: str | Hypothesis,
    max_slope: float | None,
    progress: Callable[[Progress], object] | None,
) -> PartedCalibration:
    """Calibrate a table in parts with reviewers who are lines: the qualities of :func:`lsc.calibrate`.

    A step of conjugate gradients is a pass. Memory: about 30 numbers per item and 6 per reviewer.
    """
    line = hypothesis_of(hypothesis, max_slope=max_slope)
    if line.shape is not Shape.LINEAR:
        lines = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
        message = f"hypothesis: expected {lines} for a table in parts, found {line.name!r}"
        raise InputError(message)
    expect_scores(table)
    lower = line.bounds[0]
    scored = table.parts.derive(only_scored)
    count, total = totals_of(scored)

    def squares_from(centre: FloatArray) -> FloatArray:
        """Return the sum of squared differences of the scores of each item from a centre of its own."""
        (squares,), _ = scored.map(_squares, (centre,))
        return squares

    mean = np.full(count.size, total.sum() / count.sum())
    deviation = float(np.sqrt(squares_from(mean).sum() / count.sum()))

    def exact(noise: float, quality: FloatArray) -> bool:
        return bool(np.sqrt(noise) <= NEARLY * (max(float(np.std(quality)), lower * deviation) or lower))

    best = minimise_parts(scored, table.n_reviewers, line, exact, sharp=SHARP, progress=progress)
    group, linked = groups_of(scored)

    # The reported scale: mean and standard deviation of the scores of each group.
    groups = int(group.max())
    place = group - 1
    size = np.maximum(np.bincount(place, count, groups), 1.0)
    centre = np.bincount(place, total, groups) / size
    spread = np.sqrt(np.bincount(place, squares_from(centre[place]), groups) / size)
    average = averages(count, total)
    references = np.zeros(count.size, np.bool_)
    fixed = linked & line.fixes_unit
    scale = reporting_scale(best.quality, average, spread, group, references, 1.0 / lower, fixed)
    status = CalibrationStatus.OPTIMAL if best.converged else CalibrationStatus.INACCURATE
    return PartedCalibration(
        reviews=table,
        quality=np.where(count > 0, scale.apply(best.quality, group), np.nan),
        method="lsc",
        hypothesis=line.name,
        objective=best.objective,
        status=status,
        message=best.message,
        iterations=best.iterations,
        solution=None,  # type: ignore[arg-type]
        average=average,
        group=group,
    )


def totals_of(scored: Parts) -> tuple[FloatArray, FloatArray]:
    """Return number and sum of the scores of each item, shapes (N,)."""
    (count, total), _ = scored.map(_totals, (np.zeros(scored.n_items),))
    return count, total


def averages(count: FloatArray, total: FloatArray) -> FloatArray:
    """Return the mean score of each item, NaN without a score."""
    return np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)


def groups_of(scored: Parts) -> tuple[IntArray, BoolArray]:
    """Return the component of each item, and whether a reviewer of each component has two scores or more.

    Components are numbered as by :func:`lsc.evidence.support.groups_of`.
    """
    pieces = pieces_of(scored)
    group = numbered(pieces.item)
    number = np.zeros(pieces.items.size + 1, np.int64)
    number[pieces.item] = group
    _, several = scored.map(_several)
    linked = np.zeros(pieces.items.size, np.bool_)
    linked[number[pieces.reviewer[np.concatenate(several)]] - 1] = True
    return group, linked


def _totals(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    n = vectors[0].size
    return (np.bincount(part.item, np.ones(part.item.size), n), np.bincount(part.item, part.score, n)), None


def _squares(part: Part, vectors: Vectors) -> tuple[Vectors, None]:
    [centre] = vectors
    return (np.bincount(part.item, (part.score - centre[part.item]) ** 2, centre.size),), None


def _several(part: Part, _: Vectors) -> tuple[Vectors, BoolArray]:
    return (), part.load > 1
