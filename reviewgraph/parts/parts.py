"""A table is parts: the reviews of consecutive reviewers, in memory, in files or on a cluster, and steps over them.

A step runs on every part with vectors over items, and returns vectors, which are summed over the parts, and a result of
its own. Its state stays with the part. An algorithm is steps, written once: in memory there is one part or two, on disk
there are as many as memory asks for, and on a cluster parts are on the workers (:mod:`reviewgraph.parts.cluster`).
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import UNKNOWN, Origin
from reviewgraph.formats.engine import no_room
from reviewgraph.table.reviews import ReviewTable

#: Arrays with an entry for each item, shapes (N, ...); an empty array means that there is none.
Vectors: TypeAlias = tuple[npt.NDArray[Any], ...]
#: Least number of reviews per part on disk, and from which there are two parts, for two threads.
PIECE = 1 << 24
LARGE = 200_000
#: Entries from which an array of the state of a part on disk is in a file.
SMALL = 1 << 12


class Part(NamedTuple):
    """The reviews of the reviewers from ``first`` on: those of number j are ``start[j]:start[j + 1]``, by item.

    Scores of planned reviews are NaN.
    """

    first: int
    start: IntArray
    item: CodeArray
    score: FloatArray

    @property
    def load(self) -> IntArray:
        """Shape (m,): reviews of each reviewer."""
        return np.diff(self.start)

    @property
    def reviewer(self) -> IntArray:
        """Shape (E,): place of the reviewer of each review in the part."""
        return np.repeat(np.arange(self.start.size - 1), self.load)

    def only(self, kept: BoolArray) -> Part:
        """Return some of the reviews, by a mask, of the same reviewers."""
        if kept.all():
            return self
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return Part(self.first, start, self.item[kept], self.score[kept])


def only_scored(part: Part, vectors: Vectors = ()) -> Part:
    """Return the reviews that have a score, of the same reviewers."""
    return part.only(~np.isnan(part.score))


class Answer(NamedTuple):
    """What a step returned for a part: vectors over ``items``, codes or a slice, and its result."""

    items: Any
    vectors: Vectors
    result: Any


class Parts(ABC):
    """States of the parts of a table, one each, such as its reviews."""

    n_items: int
    closed = False

    def close(self) -> None:
        """Give up the states, at the end of the ``with`` in which their table is open."""
        self.closed = True

    def _expect_open(self) -> None:
        if self.closed:
            raise InputError("reviews: expected a table in parts within the with that opened it, found it closed")

    @abstractmethod
    def each(self, step: Callable[..., tuple[Vectors, Any]], vectors: Vectors = (), *shared: Any) -> Iterator[Answer]:
        """Apply ``step(state, vectors, *shared)`` to each part, in order; a step may change its state in place.

        A part may have codes of its own for its items: vectors that it sees and returns are over these.
        """

    @abstractmethod
    def derive(self, make: Callable[..., Any], vectors: Vectors = (), *shared: Any) -> Parts:
        """Return the same parts with other states: ``make(state, vectors, *shared)``."""

    def map(
        self, step: Callable[..., tuple[Vectors, Any]], vectors: Vectors = (), *shared: Any
    ) -> tuple[Vectors, list[Any]]:
        """Apply a step to each part; returns the sums of its vectors, and its results in the order of the parts."""
        totals: Vectors = ()
        results: list[Any] = []
        for items, sums, result in self.each(step, vectors, *shared):
            if not results:
                totals = tuple(self._room_for(items, part) for part in sums)
            for total, part in zip(totals, sums, strict=True):
                if part is not total and part.size:
                    total[items] += part
            results.append(result)
        return totals, results

    def _room_for(self, items: Any, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the first vector itself where it is over all items, else zeros over all."""
        if isinstance(items, slice) or not part.size:
            return part
        return np.zeros((self.n_items, *part.shape[1:]), part.dtype)


class LocalParts(Parts):
    """Parts in memory, or with large arrays in files, two of which are worked on at a time.

    Parameters
    ----------
    states
        One per part.
    n_items
        Number of items.
    on_disk
        Whether large arrays of derived states are put in temporary files.
    """

    def __init__(self, states: Sequence[Any], n_items: int, *, on_disk: bool = False) -> None:
        self.states = states
        self.n_items = n_items
        self.on_disk = on_disk

    def close(self) -> None:
        super().close()
        self.states = ()

    def each(self, step: Callable[..., tuple[Vectors, Any]], vectors: Vectors = (), *shared: Any) -> Iterator[Answer]:
        self._expect_open()

        def run(state: Any) -> Answer:
            return Answer(slice(None), *step(state, vectors, *shared))

        if len(self.states) == 1:
            yield run(self.states[0])
            return
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(run, state) for state in self.states[:2]]
            try:
                for place in range(len(self.states)):
                    yield running.pop(0).result()
                    if place + 2 < len(self.states):
                        running.append(pool.submit(run, self.states[place + 2]))
            finally:
                for future in running:
                    future.cancel()

    def derive(self, make: Callable[..., Any], vectors: Vectors = (), *shared: Any) -> LocalParts:
        self._expect_open()
        states = []
        for state in self.states:
            made = make(state, vectors, *shared)
            states.append(_in_files(made) if self.on_disk else made)
        return LocalParts(states, self.n_items, on_disk=self.on_disk)


def borders(start: IntArray, number: int) -> list[int]:
    """Return the first reviewer of each of ``number`` parts, or fewer, of about as many reviews each, and the end.

    >>> borders(np.array([0, 2, 3, 9, 10]), 2)
    [0, 3, 4]
    """
    ends = np.searchsorted(start, np.linspace(0, start[-1], number + 1)[1:-1])
    found: list[int] = np.unique(np.concatenate([[0], ends, [start.size - 1]])).tolist()
    return found


def pieces(part: Part, number: int) -> list[Part]:
    """Cut a part into ``number`` or fewer of about as many reviews each, which share its memory."""
    start = part.start
    cut_parts = []
    for low, high in pairwise(borders(start, number)):
        rows = slice(int(start[low]), int(start[high]))
        own_start = start[low : high + 1] - rows.start
        cut_parts.append(Part(part.first + low, own_start, part.item[rows], part.score[rows]))
    return cut_parts or [part]


# Arrays in files.


def mapped(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of zeros in a temporary file without a name, whose room on disk is reserved.

    Nothing is left of the file even where the process is killed.

    >>> mapped(3, np.float64).tolist()
    [0.0, 0.0, 0.0]
    """
    kind = np.dtype(dtype)
    if not size:
        return np.empty(0, kind)
    try:
        with tempfile.TemporaryFile(prefix="reviewgraph-") as file:
            reserve = getattr(os, "posix_fallocate", None)
            if reserve is not None:
                reserve(file.fileno(), 0, size * kind.itemsize)
            else:
                file.truncate(size * kind.itemsize)
            return np.asarray(np.memmap(file, kind, "r+", shape=(size,)))
    except OSError as error:
        raise no_room(error) from error


def copied(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of an array, in a file if the array is in one."""
    return _written(array) if isinstance(array.base, np.memmap) else array.copy()


def _written(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copy = mapped(array.size, array.dtype)
    if array.any():
        copy[:] = array
    return copy


def _in_files(state: Any) -> Any:
    """Return a state with its large arrays in files."""
    if isinstance(state, np.ndarray):
        return state if state.size < SMALL or isinstance(state.base, np.memmap) else _written(state)
    if isinstance(state, tuple):
        return type(state)(*map(_in_files, state))
    if is_dataclass(state) and not isinstance(state, type):
        values = (getattr(state, entry.name) for entry in fields(state))
        return type(state)(*(value if np.isscalar(value) else _in_files(np.asarray(value)) for value in values))
    return state


# The table: labels and sizes, and the parts.

#: Rows converted to text at once.
ROWS = 1 << 18


def joined(blocks: Iterable[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns of all blocks of rows.

    >>> joined([{"item": ["p1"]}, {"item": ["p2"]}])
    {'item': ['p1', 'p2']}
    """
    columns: dict[str, list[Any]] = {}
    for block in blocks:
        for name, values in block.items():
            columns.setdefault(name, []).extend(values)
    return columns


class TooLarge(InputError, AttributeError):
    """What is asked for takes all reviews of a table at once, which is in parts."""


@dataclass(frozen=True, eq=False, repr=False)
class PartedReviews(ReviewTable):
    """Reviews in parts, from ``stream_reviews`` or ``cluster_reviews`` and open within its ``with`` only.

    Parameters
    ----------
    reviewers, items
        Labels in the order of the codes.
    parts
        The reviews, a :class:`~reviewgraph.parts.parts.Part` each.
    loads, reviews_per_item
        Shapes (M,) and (N,): numbers of reviews.
    n_scored
        Number of reviews with a score.
    lower_is_better
        The scores came with 1 as the best and were negated on the way in.
    origin
        What is known of the source: the files that were read.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`, which opens it.
    """

    reviewers: Sequence[Any]
    items: Sequence[Any]
    parts: Parts = field(repr=False)
    loads: IntArray
    reviews_per_item: IntArray
    n_scored: int
    lower_is_better: bool = False
    origin: Origin = UNKNOWN

    def __repr__(self) -> str:
        sizes = (self.n_reviewers, "reviewer"), (self.n_items, "item"), (self.n_reviews, "review")
        return f"<PartedReviews: {', '.join(counted(size, noun) for size, noun in sizes)}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TooLarge(
            f"reviews: {name!r} takes all reviews at once, and this table is in parts; expected what check, posterior "
            "and calibrate answer for it, or a table that fits into memory (read_reviews)"
        )

    @property
    def n_reviews(self) -> int:
        """Number of reviews."""
        return int(self.loads.sum())


def opened(
    reviewers: Sequence[Any], items: Sequence[Any], parts: Parts, *, lower_is_better: bool, origin: Origin = UNKNOWN
) -> PartedReviews:
    """Return a table, whose parts are counted."""
    (per_item,), results = parts.map(_sizes, (np.zeros(parts.n_items, np.int64),))
    loads, scored = zip(*results, strict=True)
    return PartedReviews(reviewers, items, parts, np.concatenate(loads), per_item, sum(scored), lower_is_better, origin)


def _sizes(part: Part, vectors: Vectors) -> tuple[Vectors, tuple[IntArray, int]]:
    per_item = np.bincount(part.item, minlength=vectors[0].size)
    return (per_item,), (part.load, int(np.count_nonzero(~np.isnan(part.score))))
