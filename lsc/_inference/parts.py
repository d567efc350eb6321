"""A table in parts: reviews cut by reviewer, and the state that the inference keeps with them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lsc._inference.step import Nodes, Part, Sites
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.parts import LARGE, LocalParts, Vectors, borders, copied


class PartState(NamedTuple):
    """A part with its state.

    ``first``: code of its first reviewer; ``load`` (m,): reviews of each reviewer; ``squares``, ``information`` (m,):
    expected squared residuals of the last sweep, and what they say about the noise; 0 before the first; ``kept``: a
    copy of all that sweeps change, if there is one.
    """

    part: Part
    sites: Sites
    nodes: Nodes
    first: int
    load: IntArray
    squares: FloatArray
    information: FloatArray
    kept: list[FloatArray]

    @property
    def changing(self) -> tuple[FloatArray, ...]:
        """What sweeps change."""
        return (*self.sites, *self.nodes, self.squares, self.information)


def keep_state(state: PartState, _: Vectors) -> tuple[Vectors, None]:
    """Keep a copy of the state of a part beside it."""
    state.kept[:] = [copied(array) for array in state.changing]
    return (), None


def settle_state(state: PartState, _: Vectors, held: bool) -> tuple[Vectors, None]:
    """Return a part to the state that was kept, unless that is held already; the copy is given up."""
    if not held:
        for array, copy in zip(state.changing, state.kept, strict=True):
            array[:] = copy
    state.kept.clear()
    return (), None


def state_of(part: Part, first: int = 0) -> PartState:
    """Return a part with its state of zeros."""
    load = np.diff(part.start)
    sites = Sites(*(np.zeros(part.item.size) for _ in Sites._fields))
    nodes = Nodes(*np.zeros((3, load.size)))
    return PartState(part, sites, nodes, first, load, np.zeros(load.size), np.zeros(load.size), [])


def pieces_of(state: PartState, n_items: int) -> LocalParts:
    """Return the parts of a table in memory: two of a large one, for two threads."""
    size = state.part.item.size
    return LocalParts(cut(state, 2 if size >= LARGE else 1), n_items)


def cut(state: PartState, pieces: int) -> list[PartState]:
    """Cut a part into pieces of about equal numbers of reviews, which share its memory."""
    return [_piece(state, slice(low, high)) for low, high in pairwise(borders(state.part.start, pieces))]


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
        [],
    )
