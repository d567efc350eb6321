"""The inference for tables larger than memory: the same parts, in mapped temporary files or on a Dask cluster.

On a cluster the parts are partitions of reviewers, whose state stays on the workers. Vectors over papers stay with the
client, which sends each partition the entries of its papers, in a file that all workers see, and adds up what
partitions return, in their order. A task is a function of its arguments, so that Dask repeats those of a worker that
died; states are stored every few steps, so that few are repeated.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lsc._inference.beliefs import Beliefs
from lsc._inference.inferring import infer_parts
from lsc._inference.parts import PartState, Vectors, pieces_of, state_of
from lsc._inference.scores import ArrayTable, Unit, check, normal_scores, starts
from lsc._inference.step import Part, Sites
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.streams import Grid, Share, Stored, load_part, no_room

if TYPE_CHECKING:
    from reviewgraph.streams import Stream

#: Reviews per piece that is read.
PIECE = 1 << 22
#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any
R = TypeVar("R")

#: Steps after which states are stored in files: the maximum number repeated when a worker dies.
STORE_AFTER = 5
#: In the place of the reviews of a state that is kept without them.
NO_REVIEWS = Part(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))


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


class ClusterParts:
    """Parts on a cluster.

    ``reviews``: those of each partition, on the cluster, with codes of its own for its papers; ``papers``: the code of
    each of these in the table, by partition, at the client.
    """

    def __init__(self, grid: Grid, reviews: Sequence[Future], papers: Sequence[CodeArray]) -> None:
        self.grid = grid
        self.reviews = reviews
        self.papers = papers
        self.states = grid.each(_first_state, reviews, grid.first_reviewer[:-1].tolist())
        # Steps since the states were stored, and the files from which they can be repeated.
        self._age = 0
        self._files: list[Stored] = []

    def map(self, step: Callable[..., tuple[Vectors, R]], vectors: Vectors, *shared: Any) -> tuple[Vectors, list[R]]:
        """Apply a step to each partition."""
        grid = self.grid
        sent = grid.put([value[papers[: len(value)]] for value in vectors] for papers in self.papers)
        self._files.append(Stored(sent, sent))
        done = grid.each(_run, self.reviews, self.states, sent, step=step, shared=shared)
        self.states, answers = grid.sent(done, 2)
        totals: list[FloatArray] = []
        results: list[R] = []
        for papers, answer in zip(self.papers, answers, strict=True):
            [(sums, result)] = grid.fetch([answer])
            if not results:
                totals = [np.zeros((grid.n_items if len(part) else 0, *part.shape[1:])) for part in sums]
            for total, part in zip(totals, sums, strict=True):
                total[papers[: len(part)]] += part
            results.append(result)
        self._age += 1
        if self._age == STORE_AFTER:
            self._age = 0
            stored = grid.store(self.states)
            self.states = stored
            self._files = [stored]
        return tuple(totals), results


def _first_state(reviews: Part, first: int) -> PartState:
    return _kept(state_of(reviews, first))


def _run(
    reviews: Part, state: PartState, path: str, step: Callable[..., tuple[Vectors, R]], shared: tuple[Any, ...]
) -> tuple[PartState, tuple[Vectors, R]]:
    """Apply a step to a copy of a state, with the vectors in a file."""
    state = deepcopy(state)
    size = reviews.item.size
    sites = Sites(*(value if value.size else np.zeros(size) for value in state.sites))
    state = state._replace(part=reviews, sites=sites)
    answer = step(state, tuple(load_part(path)), *shared)
    return _kept(state), answer


def _kept(state: PartState) -> PartState:
    """Return a state without its reviews, and without sites that are 0."""
    sites = Sites(*(value if value.any() else np.empty(0) for value in state.sites))
    return state._replace(part=NO_REVIEWS, sites=sites)


def infer_on_cluster(grid: Grid, seed: int, tell: Callable[[str], None]) -> Beliefs:
    """Infer qualities of items as :func:`lsc._inference.inferring.infer` does, with equal results up to rounding.

    The client holds vectors over items and reviewers and, for each partition, 4 bytes per item that it uses; 8 bytes
    per review are in a temporary file while scores are checked.
    """
    tell("checking the scores")
    table = ClusterTable(grid)
    unit = check(table)
    reviews = grid.store(grid.each(_part_of, table.shares, unit=unit))
    parts = ClusterParts(grid, reviews, grid.fetch(grid.each(_papers, grid.shares)))
    return infer_parts(parts, grid.n_items, unit, np.random.default_rng(seed), tell)


def _papers(share: Share) -> CodeArray:
    return share.items.astype(np.uint32)


class ClusterTable:
    """Scores in partitions: the client decides, from sorted scores and from numbers of each reviewer."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.shares = grid.each(Share.scored, grid.shares)
        self.size = grid.n_scored

    def ordered(self) -> FloatArray:
        """Return the scores in ascending order, in a file of the client."""
        ordered = mapped(self.size, np.float64)
        first = 0
        for future in self.grid.each(_sorted_scores, self.shares):
            [part] = self.grid.fetch([future])
            ordered[first : first + part.size] = part
            first += part.size
        ordered.sort(kind="stable")
        return ordered

    def place_of(self, score: float) -> int:
        before = 0
        for place, size in self.grid.fetch(self.grid.each(_place_in, self.shares, score=score)):
            before += place
            if place < size:
                break
        return before

    def by_reviewer(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        parts = self.grid.fetch(self.grid.each(_by_reviewer, self.shares))
        load, low, high, sums = (np.concatenate(values) for values in zip(*parts, strict=True))
        return load, low, high, sums

    def remove(self, ignored: BoolArray) -> None:
        self.shares = self.grid.each(_without, self.shares, np.split(ignored, self.grid.first_reviewer[1:-1]))
        self.size = sum(size for _, size in self.grid.fetch(self.grid.each(_place_in, self.shares, score=np.nan)))

    def rank(self, mean: float, spread: float) -> None:
        self.shares = self.grid.each(_as_normal, self.shares, mean=mean, spread=spread)


def _sorted_scores(share: Share) -> FloatArray:
    return np.sort(share.score)


def _place_in(share: Share, score: float) -> tuple[int, int]:
    """Return the place of the first review with a score, the number of reviews if there is none, and that number."""
    return int(np.argmax(np.append(share.score == score, True))), share.score.size


def _by_reviewer(share: Share) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    return ArrayTable(share.start, share.item, share.score).by_reviewer()


def _without(share: Share, ignored: BoolArray) -> Share:
    return share.only(~ignored[share.reviewer])


def _as_normal(share: Share, mean: float, spread: float) -> Share:
    return share._replace(score=normal_scores(share.reviewer, share.score, mean, spread))


def _part_of(share: Share, unit: Unit) -> Part:
    return Part(share.start, share.item.astype(np.int32), unit.standardised(share.score), np.empty(0))
