"""What the step of expectation propagation takes and gives, see :mod:`lsc._inference.kernels.step`."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reviewgraph._base import CodeArray, FloatArray, IntArray
from reviewgraph.parts import LARGE, LocalParts, Vectors, borders, copied

#: Half the width of 90 % intervals in standard deviations.
WIDTH = 1.6448536269514722
#: Nodes of the log slope, and the distance of the outer ones from the centre, in spreads.
NODES = 11
REACH = 4.0


class Part(NamedTuple):
    """Reviews of some of the reviewers, sorted by reviewer.

    ``start`` (m + 1,): first review of each reviewer; ``item``, ``score`` (E,): code of the paper and standardised
    score; ``log_weight`` (E,): standardised logarithm of the weight, or empty.
    """

    start: IntArray
    item: CodeArray
    score: FloatArray
    log_weight: FloatArray


class Sites(NamedTuple):
    """Site parameters of reviews, shapes (E,); those of the similarity of papers are empty where there is none."""

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray


class Nodes(NamedTuple):
    """Of each reviewer, shapes (m,): centre and spread of the nodes, and noise variance."""

    centre: FloatArray
    spread: FloatArray
    noise: FloatArray


class Moments(NamedTuple):
    """Posterior moments of each reviewer, shapes (m,); 0 before a step.

    ``log_slope``, ``slope``, ``offset`` and their squares, and ``product``, of slope and offset; ``below``,
    ``below_sum``, ``below_square``: probability of a log slope below the mode, and there its expectation and squared
    distance from the mode; ``squares``: expected sum of squared residuals, in units of the noise of the node and weight
    relative to that of the reviewer; ``information``: what they say about the log of the noise, as a number of scores.
    ``rho``, ``rho_curvature``, ``gamma``, ``gamma_curvature``: derivatives of the expected log density by the exponents
    of the noise, for gamma twice; ``evidence``: log evidence of the scores given the cavities, with the potentials of
    these.
    """

    log_slope: FloatArray
    log_slope_square: FloatArray
    slope: FloatArray
    slope_square: FloatArray
    offset: FloatArray
    offset_square: FloatArray
    product: FloatArray
    below: FloatArray
    below_sum: FloatArray
    below_square: FloatArray
    squares: FloatArray
    information: FloatArray
    rho: FloatArray
    rho_curvature: FloatArray
    gamma: FloatArray
    gamma_curvature: FloatArray
    evidence: FloatArray


class Quadrature(NamedTuple):
    """Reviewers at their nodes, shapes (m, G): probability, slope, noise variance, mean and variance of the offset."""

    share: FloatArray
    slope: FloatArray
    noise: FloatArray
    offset: FloatArray
    offset_variance: FloatArray


class Gauge(NamedTuple):
    """A change of the scale of qualities to ``(x - centre) / spread`` that sites and nodes have not seen yet."""

    centre: float = 0.0
    spread: float = 1.0


class Items(NamedTuple):
    """Precision and shift of the posterior of each paper, shapes (N,), after the gauge."""

    precision: FloatArray
    shift: FloatArray


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
