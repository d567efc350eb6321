"""The posterior of tables larger than memory: messages lie on disk, and a sweep is a pass over the reviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.decisions.selecting import chances, select
from lsc.decisions.selection import ERROR_RATE, Selection
from lsc.estimate import central_interval, or_none
from lsc.inference.beliefs import Beliefs, Reviewers, Status
from lsc.inference.streaming import infer_by_passes
from lsc.posteriors import LEAST_SCORES, LEVEL
from lsc.streams.estimate import StreamedEstimate, expect_scores, scored_groups, totals_of
from reviewgraph.arguments import checked
from reviewgraph.arrays import FloatArray
from reviewgraph.clock import Clock
from reviewgraph.results import Progress
from reviewgraph.streams.connection import ROWS
from reviewgraph.streams.table import Stream


@dataclass(frozen=True, eq=False, repr=False)
class StreamedPosterior(StreamedEstimate):
    """Qualities of a table larger than memory with their uncertainty, see :func:`posterior_stream`.

    Parameters
    ----------
    beliefs
        Means and variances of items, reviewers and hyperparameters, as arrays.
    """

    beliefs: Beliefs = field(repr=False)

    @property
    def status(self) -> Status:
        """How the inference ended; ``status.text`` explains."""
        return self.beliefs.status

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): posterior standard deviation of each quality, NaN where the data say nothing."""
        found = self.beliefs.standard_error
        return found if self.stream.n_scored >= LEAST_SCORES else np.full(found.size, np.nan)

    @property
    def reviewers(self) -> Reviewers:
        """Severity, stretch and noise of every reviewer, with intervals, shapes (M,)."""
        return self.beliefs.reviewers

    @checked
    def interval(self, level: float = LEVEL) -> FloatArray:
        """Return the central interval of each quality, shape (N, 2), that holds with a probability.

        Raises
        ------
        InputError
            If ``level`` is not between 0 and 1.
        """
        return central_interval(self.quality, self.standard_error, level)

    @checked
    def probability_in_top(self, n: int) -> FloatArray:
        """Return each item's probability of being among the best ``n``, shape (N,); they sum to n.

        Raises
        ------
        InputError
            If ``n`` is negative or more than the number of items with a score.
        """
        return chances(self.quality, self.beliefs.order_error, n)

    @checked
    def selection(self, n: int, *, error_rate: float = ERROR_RATE, across_groups: bool = False) -> Selection:
        """Sort items into in, to be discussed and out, as :meth:`lsc.PosteriorEstimate.selection` does.

        Raises
        ------
        InputError
            If ``n`` is negative or more than the number of items with a score, or ``error_rate`` is not between 0 and
            one half.
        Incomparable
            If no review connects the items, ``across_groups`` is not set, and the largest group holds less than 90 %
            of the items with a score, or fewer than ``n``.
        """
        known = self.quality, self.beliefs.order_error, self.average, self.group
        return select(self.items, *known, n, error_rate=error_rate, across_groups=across_groups)

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the keys of a posterior, and of a selection; ``items`` and ``gain`` are None."""
        told = {"method": "posterior", "status": self.status.value, "gain": None, "reviewers": None}
        return {**super().to_dict(), **told, **({} if selection is None else selection.to_dict())}

    def parts(self, rows: int = ROWS, selection: Selection | None = None) -> Iterator[dict[str, list[Any]]]:
        """Return the columns of a posterior, and of a selection, so many rows at a time."""
        lists = None if selection is None else selection.lists
        probability = None if selection is None else selection.probability
        for first, columns in zip(range(0, self.stream.n_items, rows), super().parts(rows), strict=True):
            mine = slice(first, first + rows)
            ends = central_interval(self.quality[mine], self.standard_error[mine], LEVEL)
            low, high = np.sort(self.stream.printed(ends), axis=1).T
            columns |= {"interval_low": or_none(low), "interval_high": or_none(high)}
            if probability is not None and lists is not None:
                columns |= {"probability": probability[mine], "list": lists[mine]}
            yield columns


@checked
def posterior_stream(
    stream: Stream, *, seed: int = 0, progress: Callable[[Progress], object] | None = None
) -> StreamedPosterior:
    """Infer the qualities of a table larger than memory: those of :func:`lsc.posterior`, by passes over the reviews.

    All models that the posterior knows are tried, and the answers are the same to rounding. What the correction is
    worth, joint draws, accounts of single items, weights and references need the reviews in memory.

    Parameters
    ----------
    stream
        The table, open, with scores; planned reviews are ignored.
    seed
        Of the random probes that estimate traces, 0 by default.
    progress
        Called at each stage and pass.

    Raises
    ------
    InputError
        If no review has a score, a score lies so far from all others that it must be a slip, or the disk is full.

    Notes
    -----
    A sweep is a pass; sweeps number some tens whatever the size. Temporary files take up to about 300 bytes a review.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path, rows = f"{folder}/scores.parquet", {"reviewer": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 2]}
    ...     pa.parquet.write_table(pa.table({**rows, "score": [2, 4, 6, 5, 6]}), path)
    ...     with stream_reviews(path) as stream:
    ...         found = posterior_stream(stream)
    ...         found.rank.tolist(), found.status.value
    ([3, 2, 1], 'no_signal')
    """
    expect_scores(stream)
    clock = Clock(None)

    def tell(words: str) -> None:
        if progress is not None:
            progress(Progress(clock.elapsed(), words))

    beliefs = infer_by_passes(stream, seed=seed, progress=tell)
    count, total = totals_of(stream)
    average = np.divide(total, count, out=np.full(stream.n_items, np.nan), where=count > 0)
    return StreamedPosterior(stream, beliefs.quality, average, scored_groups(stream)[0], beliefs)
