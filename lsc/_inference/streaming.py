"""The inference for tables larger than memory: the same parts, in mapped temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lsc._inference.beliefs import Beliefs
from lsc._inference.inferring import infer_parts
from lsc._inference.parts import pieces_of, state_of
from lsc._inference.scores import ArrayTable, check, starts
from lsc._inference.step import Part
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


def infer_by_passes(stream: Stream, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Beliefs:
    """Infer qualities of items as :func:`lsc._inference.inferring.infer` does, with equal results up to rounding.

    ``stream`` is open, with scores; ``seed`` is that of the stochastic trace estimator; ``progress`` is called with one
    line of text per stage and pass. Raises InputError if a score is a likely data-entry error, units differ, or the
    disk is full.
    """
    tell = progress or (lambda _: None)
    stage = "reading the scores"
    passes = 0

    def begin(words: str) -> None:
        nonlocal stage
        stage = words
        tell(words)

    def count() -> None:
        nonlocal passes
        passes += 1
        tell(f"{stage}, pass {passes:,}")

    begin(stage)
    load = np.zeros(stream.n_reviewers, np.int64)
    for chunk in stream.chunks(PIECE):
        part_load = np.diff(chunk.only_scored().start)
        load[chunk.first : chunk.first + part_load.size] = part_load
    start = starts(load)
    item = mapped(start[-1], np.int32)
    score = mapped(start[-1], np.float64)
    for chunk in stream.chunks(PIECE):
        first, part_start, part_item, part_score = chunk.only_scored()
        rows = slice(start[first], start[first + part_start.size - 1])
        item[rows] = part_item
        score[rows] = part_score

    table = ArrayTable(start, item, score, mapped)
    unit = check(table)
    table.score -= unit.location
    table.score /= unit.spread
    state = state_of(Part(table.start, table.item, table.score, np.empty(0)), room=mapped)
    return infer_parts(pieces_of(state), stream.n_items, unit, np.random.default_rng(seed), begin, count)
