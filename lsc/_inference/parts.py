"""A table in parts: reviews cut by reviewer, and the state that the inference keeps with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
#: Site precisions before the first sweep.
FIRST_PRECISION = 1e-3
#: Reviews from which a table in memory has two parts, for two threads.
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


class Start(Protocol):
    """What the first state needs of a population of reviewers."""

    @property
    def mu(self) -> float: ...

    @property
    def tau(self) -> float: ...

    @property
    def pooled(self) -> float: ...

    @property
    def kappa(self) -> float: ...


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
        if len(self.states) == 1:
            sums, result = step(self.states[0], vectors, *shared)
            return sums, [result]
        totals: Vectors = ()
        results: list[R] = []
        with ThreadPoolExecutor(2) as pool:
            for sums, result in pool.map(lambda state: step(state, vectors, *shared), self.states):
                if results:
                    for total, more in zip(totals, sums, strict=True):
                        total += more
                else:
                    totals = sums
                results.append(result)
        return totals, results


def state_of(part: Part, first: int = 0) -> PartState:
    """Return a part with room for its state."""
    load = np.diff(part.start)
    nodes = Nodes(*np.zeros((4, load.size)))
    sites = Sites(*np.zeros((4, part.item.size)))
    return PartState(part, sites, nodes, first, load, *np.zeros((2, load.size)))


def reset_part(state: PartState, _: Vectors, population: Start) -> tuple[Vectors, None]:
    """Set the state of a part to that before the first sweep."""
    state.sites.precision[:] = FIRST_PRECISION
    state.sites.shift[:] = FIRST_PRECISION * state.part.score
    if population.kappa:
        state.sites.likeness_precision[:] = 0.0
        state.sites.likeness_shift[:] = 0.0
    state.nodes.centre[:] = population.mu
    state.nodes.spread[:] = population.tau
    state.nodes.noise[:] = population.pooled
    state.nodes.offset[:] = 0.0
    state.squares[:] = 0.0
    return (), None


def cut(state: PartState, pieces: int) -> list[PartState]:
    """Cut a part into pieces of about equal numbers of reviews, which share its memory."""
    start = state.part.start
    ends = np.searchsorted(start, np.linspace(0, start[-1], pieces + 1)[1:-1]).tolist()
    borders = [0, *ends, start.size - 1]
    return [_piece(state, low, high) for low, high in pairwise(borders) if low < high]


def _piece(state: PartState, low: int, high: int) -> PartState:
    """Return the reviewers from ``low`` to before ``high``."""
    first, last = state.part.start[[low, high]].tolist()
    part = state.part._replace(
        start=state.part.start[low : high + 1] - first,
        item=state.part.item[first:last],
        score=state.part.score[first:last],
        log_weight=state.part.log_weight[first:last],
    )
    return PartState(
        part,
        Sites(*(value[first:last] for value in state.sites)),
        Nodes(*(value[low:high] for value in state.nodes)),
        state.first + low,
        state.load[low:high],
        state.squares[low:high],
        state.information[low:high],
    )
