"""A table in parts: reviews cut by reviewer, and the state that the inference keeps with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lsc._inference.step import Nodes, Part, Sites
from reviewgraph._base import FloatArray, IntArray

R = TypeVar("R")
#: Arrays over papers, shapes (N, ...); empty ones stand for none.
Vectors: TypeAlias = tuple[npt.NDArray[Any], ...]
#: Reviews per part of a large table, and from which a table in memory has two parts, for two threads.
PIECE = 1 << 24
LARGE = 200_000


class PartState(NamedTuple):
    """A part with its state.

    ``first``: code of its first reviewer; ``load`` (m,): reviews of each reviewer; ``squares``, ``information`` (m,):
    expected squared residuals of the last sweep, and what they say about the noise; 0 before the first.
    """

    part: Part
    sites: Sites
    nodes: Nodes
    first: int
    load: IntArray
    squares: FloatArray
    information: FloatArray


class Parts(Protocol):
    """The parts of a table, in memory, on disk or on a cluster."""

    def map(self, step: Callable[..., tuple[Vectors, R]], vectors: Vectors, *shared: Any) -> tuple[Vectors, list[R]]:
        """Apply ``step(state, vectors, *shared)`` to each part, which may change its state in place.

        A step returns vectors, whose sums over the parts are returned, and another result, returned in the order of
        parts. A part may have codes of its own for its papers: vectors that it sees and returns are over these.
        """
        ...


@dataclass(frozen=True, eq=False)
class LocalParts:
    """Parts in memory, or in mapped files, whose state is changed in place."""

    states: Sequence[PartState]

    def map(self, step: Callable[..., tuple[Vectors, R]], vectors: Vectors, *shared: Any) -> tuple[Vectors, list[R]]:
        """Apply a step to each part, two at a time."""

        def run(state: PartState) -> tuple[Vectors, R]:
            return step(state, vectors, *shared)

        if len(self.states) == 1:
            return _added(map(run, self.states))
        with ThreadPoolExecutor(2) as pool:
            return _added(pool.map(run, self.states))


def _added(answers: Iterable[tuple[Vectors, R]]) -> tuple[Vectors, list[R]]:
    """Add up the vectors of the parts, in order, and list their results."""
    totals: Vectors = ()
    results: list[R] = []
    for sums, result in answers:
        if results:
            for total, more in zip(totals, sums, strict=True):
                total += more
        else:
            totals = sums
        results.append(result)
    return totals, results


def state_of(
    part: Part, first: int = 0, room: Callable[[int, npt.DTypeLike], npt.NDArray[Any]] = np.zeros
) -> PartState:
    """Return a part with its state of zeros; ``room`` returns an array for the sites."""
    load = np.diff(part.start)
    sites = Sites(*(room(part.item.size, np.float64) for _ in Sites._fields))
    return PartState(part, sites, Nodes(*np.zeros((4, load.size))), first, load, *np.zeros((2, load.size)))


def pieces_of(state: PartState) -> LocalParts:
    """Return the parts of a table in memory or in mapped files."""
    size = state.part.item.size
    return LocalParts(cut(state, max(-(-size // PIECE), 2 if size >= LARGE else 1)))


def cut(state: PartState, pieces: int) -> list[PartState]:
    """Cut a part into pieces of about equal numbers of reviews, which share its memory."""
    start = state.part.start
    ends = np.searchsorted(start, np.linspace(0, start[-1], pieces + 1)[1:-1]).tolist()
    borders = [0, *ends, start.size - 1]
    return [_piece(state, slice(low, high)) for low, high in pairwise(borders) if low < high]


def _piece(state: PartState, reviewers: slice) -> PartState:
    start = state.part.start[reviewers.start : reviewers.stop + 1]
    rows = slice(*start[[0, -1]].tolist())
    return PartState(
        Part(start - rows.start, state.part.item[rows], state.part.score[rows], state.part.log_weight[rows]),
        Sites(*(value[rows] for value in state.sites)),
        Nodes(*(value[reviewers] for value in state.nodes)),
        state.first + reviewers.start,
        state.load[reviewers],
        state.squares[reviewers],
        state.information[reviewers],
    )
