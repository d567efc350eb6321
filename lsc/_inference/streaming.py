"""The inference for tables larger than memory: the same parts, in mapped temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lsc._inference.beliefs import Beliefs
from lsc._inference.choosing import best_fit
from lsc._inference.inferring import assemble, averages_of, pieces_of, problem_of
from lsc._inference.parts import PartState
from lsc._inference.scores import (
    Unit,
    are_rankings,
    check_no_outlier,
    equal_scores,
    normal_scores,
    ranking_sums,
    require_one_unit,
    uninformative,
    unit_of,
)
from lsc._inference.step import Nodes, Part, Sites
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.streams import no_room

if TYPE_CHECKING:
    from reviewgraph.streams import Stream

#: Reviews per piece that is read.
PIECE = 1 << 22


def mapped(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of zeros in a temporary file without a name, whose room on disk is reserved.

    >>> mapped(3, np.float64).tolist()
    [0.0, 0.0, 0.0]
    """
    kind = np.dtype(dtype)
    if not size:
        return np.empty(0, kind)
    with tempfile.TemporaryFile(prefix="reviewgraph-") as file:
        try:
            reserve = getattr(os, "posix_fallocate", None)
            if reserve is not None:
                reserve(file.fileno(), 0, size * kind.itemsize)
            else:
                file.truncate(size * kind.itemsize)
        except OSError as error:
            raise no_room(error) from error
        return np.asarray(np.memmap(file, kind, "r+", shape=(size,)))


class _Table:
    """The scored reviews of a stream in mapped files, of all reviewers or of some."""

    def __init__(self, stream: Stream, kept: BoolArray | None = None) -> None:
        self.load = np.zeros(stream.n_reviewers, np.int64)
        for chunk in stream.chunks(PIECE):
            load = np.diff(chunk.only_scored().start)
            self.load[chunk.first : chunk.first + load.size] = load
        if kept is not None:
            self.load[~kept] = 0
        self.start: IntArray = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.load)])
        size = int(self.start[-1])
        self.item, self.score = mapped(size, np.int32), mapped(size, np.float64)
        at = 0
        for chunk in stream.chunks(PIECE):
            first, start, item, score = chunk.only_scored()
            if kept is not None:
                rows = np.repeat(kept[first : first + start.size - 1], np.diff(start))
                item = item[rows]
                score = score[rows]
            self.item[at : at + item.size] = item
            self.score[at : at + item.size] = score
            at += item.size

    def by_reviewer(
        self, function: np.ufunc, of: Callable[[FloatArray], FloatArray] = lambda score: score
    ) -> FloatArray:
        """Reduce scores, or a function of them, by reviewer, shape (M,); NaN without scores."""
        result = np.full(self.load.size, np.nan)
        step = max(1, PIECE // max(int(self.load.max(initial=1)), 1))
        for low in range(0, self.load.size, step):
            start = self.start[low : low + step + 1]
            some = np.flatnonzero(np.diff(start))
            if some.size:
                part = of(self.score[start[0] : start[-1]])
                result[low + some] = function.reduceat(part, start[:-1][some] - start[0])
        return result


def infer_by_passes(stream: Stream, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Beliefs:
    """Infer qualities of items as :func:`lsc._inference.inferring.infer` does, with equal results up to rounding.

    ``stream`` is open, with scores; ``seed`` is that of the stochastic trace estimator; ``progress`` is called with one
    line of text per stage and pass. Raises InputError if a score is a likely data-entry error, units differ, or the
    disk is full.
    """
    tell = progress or (lambda _: None)
    doing = ["reading the scores"]
    passes = [0]

    def step(words: str) -> None:
        doing[0] = words
        tell(words)

    def count() -> None:
        passes[0] += 1
        tell(f"{doing[0]}, pass {passes[0]:,}")

    tell(doing[0])
    table, unit = _used_scores(stream)
    table.score -= unit.location
    table.score /= unit.spread
    E = table.score.size
    M = table.load.size
    part = Part(table.start, table.item, table.score, np.empty(0))
    sites = Sites(*(mapped(E, np.float64) for _ in Sites._fields))
    state = PartState(part, sites, Nodes(*np.zeros((4, M))), 0, table.load, *np.zeros((2, M)))
    problem = problem_of(pieces_of(state), stream.n_items)
    rng = np.random.default_rng(seed)
    best, _ = best_fit(problem, unit.rounding, rng, step, at_sweep=count)
    return assemble(problem, unit, averages_of(problem, unit), best)


def _used_scores(stream: Stream) -> tuple[_Table, Unit]:
    """Check the scores; return those of reviewers who are not ignored, rankings as normal scores, and their unit."""
    table = _Table(stream)
    ordered = _sorted(table.score)
    check_no_outlier(ordered, lambda worst: int(np.argmax(table.score == worst)))
    low = table.by_reviewer(np.minimum)
    high = table.by_reviewer(np.maximum)
    require_one_unit(low, high)
    ignored = uninformative(table.load, low == high, equal_scores(ordered))
    if ignored.any():
        table = _Table(stream, ~ignored)
        ordered = _sorted(table.score)
    sums = np.nan_to_num(table.by_reviewer(np.add, ranking_sums))
    ranked = are_rankings(table.load, sums, equal_scores(ordered))
    if ranked:
        mean = float(table.score.mean())
        spread = float(table.score.std())
        who = np.repeat(np.arange(table.load.size), table.load)
        table.score[:] = normal_scores(who, table.score, mean, spread)
        ordered = _sorted(table.score)
    return table, unit_of(table.score, equal_scores(ordered))._replace(ranked=ranked)


def _sorted(score: FloatArray) -> FloatArray:
    """Return the scores in ascending order, in a file of their own."""
    ordered = mapped(score.size, np.float64)
    ordered[:] = score
    ordered.sort()
    return ordered
