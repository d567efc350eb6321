"""With what probability each pair is assigned: as much expected affinity as caps on the probabilities leave.

Probabilities that meet demands and loads are those of lotteries over assignments (Birkhoff and von Neumann; Budish,
Che, Kojima and Milgrom 2013), so a flow finds them: one assignment has one unit a review, probabilities have
:data:`~planner.assignments.lots.units.UNITS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.lots.units import UNITS, through_rules
from planner.assignments.steps.flow import Arcs, cheapest_flow, whole_costs
from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Segments of a concave gain at first, and those best of each paper and each reviewer that come into it.
SEGMENTS, BEST = 3, 40

#: Half widths of the segments around what was found, in units, one after the other.
WIDTHS: tuple[int, ...] = (1_500, 600, 240, 100, 40, 16, 6, 2)

#: The width to begin with around a solution that is near.
NEAR = 2

#: Gap, in parts of the value, at which a concave gain is solved.
GAP = 2e-4


class Limits(NamedTuple):
    """Least and largest probability of each pair, in units, shape (P,)."""

    least: IntArray
    most: IntArray


class Marginals(NamedTuple):
    """The probability of each pair, in units, shape (P,); their gain, and what no other probabilities can exceed."""

    units: IntArray
    value: float
    bound: float


class Gain(NamedTuple):
    r"""What a pair of probability x counts: ``v x - beta |v| x^2`` for its worth v, which is concave.

    Parameters
    ----------
    worth
        v, shape (P,).
    beta
        How much less the last of the probability counts; 0 for expected worth.
    """

    worth: FloatArray
    beta: float

    def of(self, units: IntArray) -> float:
        """Gain of all pairs together."""
        x = units / UNITS
        return float((self.worth * x - self.beta * np.abs(self.worth) * x * x).sum())

    def slope(self, start: IntArray, end: IntArray, pairs: IntArray) -> FloatArray:
        """Gain a probability between two of them: that of the chord, or of the tangent where they are one."""
        chord: FloatArray = self.worth[pairs] - self.beta * np.abs(self.worth[pairs]) * (start + end) / UNITS
        return chord


def limits_of(problem: Problem, most: float | FloatArray) -> Limits:
    """Caps in units, rounded down; what stands already, fixed or of a first phase, has probability 1 whatever its cap.

    >>> limits_of(problem, 0.55555).most.tolist()  # doctest: +SKIP
    [5555, 5555, 10000]
    """
    cap = np.floor(np.broadcast_to(most, problem.item.shape) * UNITS + 1e-6).astype(np.int64)
    return Limits(np.where(problem.given, UNITS, 0), np.where(problem.given, UNITS, cap))


def best_marginals(problem: Problem, gain: Gain, limits: Limits, near: IntArray | None = None) -> Marginals | None:
    r"""Find the probabilities of the largest gain.

    .. math::
        \max \sum_p g_p(x_p) \quad \text{subject to} \quad \sum_{p \ni i} x_p = d_i, \quad
        l_j \le \sum_{p \ni j} x_p \le u_j, \quad q^-_p \le x_p \le q_p

    and, in expectation, what the rules on one attribute ask of each paper (:func:`.units.through_rules`).

    Parameters
    ----------
    problem, gain, limits
        The pairs, what their probabilities count, and within which limits.
    near
        The solution under limits that were little different: concave gains are then solved around it.

    Returns
    -------
    Marginals
        None if there are none. Where gains are linear the bound is the value; else it is the value and the gap of
        Frank and Wolfe: no other probabilities gain more than the best along the tangent.

    Notes
    -----
    Linear gains take one flow: 20,000 papers and reviewers with 2 million pairs 13 s. Concave ones are replaced by
    chords, which lie below them, so that each flow with narrower ones around the last solution gains more or the same.
    Only pairs that are good for their paper or reviewer, or that some flow wanted, take part; the gap is over all.
    """
    graph = _Graph(problem, limits)
    everything = np.flatnonzero(graph.free)
    units = graph.flow(everything, *graph.range(everything), gain)
    if units is None:
        return None
    value = gain.of(units)
    return Marginals(units, value, value) if gain.beta == 0 else _refined(graph, gain, units, near)


def _refined(graph: _Graph, gain: Gain, units: IntArray, near: IntArray | None) -> Marginals:
    """Narrow the segments around the solution until the gap is small; ``units`` is any solution to begin with."""
    everything, low, high = np.flatnonzero(graph.free), graph.limits.least, graph.limits.most
    active = (units > low) | good(graph.problem, gain.worth, BEST)
    edges, widths, bound = np.linspace(low, high, SEGMENTS + 1).astype(np.int64), WIDTHS, np.inf
    if near is not None:
        active |= near > low
        edges, widths = _around(near, WIDTHS[NEAR], low, high), WIDTHS[NEAR + 1 :]
    for width in widths:
        pairs = np.flatnonzero(active & graph.free)
        better = graph.flow(*_segments(edges, pairs), gain)
        units = units if better is None or gain.of(better) < gain.of(units) else better
        # The tangent at the solution lies above the gain: its best vertex bounds it, and brings pairs that were left.
        vertex = graph.flow(everything, *graph.range(everything), gain, at=units)
        if vertex is None:
            break
        tangent = gain.slope(units[everything], units[everything], everything)
        rise = float((tangent * (vertex - units)[everything]).sum() / UNITS)
        bound = min(bound, gain.of(units) + max(rise, 0.0))
        if bound - gain.of(units) <= GAP * abs(bound):
            break
        active |= vertex > low
        edges = _around(units, width, low, high)
    return Marginals(units, gain.of(units), bound)


def _around(units: IntArray, width: int, low: IntArray, high: IntArray) -> IntArray:
    edges: IntArray = np.clip(np.stack([low, units - width, units, units + width, high]), low, high)
    return edges


def _segments(edges: IntArray, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Pair, start and end of each segment that is not empty."""
    start, end = edges[:-1, pairs].ravel(), edges[1:, pairs].ravel()
    kept = end > start
    return np.tile(pairs, len(edges) - 1)[kept], start[kept], end[kept]


class _Graph:
    """The flow of probabilities: what the pairs' least leaves of demands, loads and rules."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.free = limits.most > limits.least
        taken_item = np.bincount(problem.item, limits.least, problem.n_items).astype(np.int64)
        taken = np.bincount(problem.reviewer, limits.least, problem.n_reviewers).astype(np.int64)
        self.demand = problem.demand * UNITS - taken_item
        self.load = problem.load * UNITS - taken
        self.least = np.maximum(problem.least * UNITS - taken, 0)
        self.rules = through_rules(problem)

    def range(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Start and end of the one segment of each pair."""
        return self.limits.least[pairs], self.limits.most[pairs]

    def flow(
        self, pairs: IntArray, start: IntArray, end: IntArray, gain: Gain, at: IntArray | None = None
    ) -> IntArray | None:
        """Units of each pair, shape (P,), when segments have the slopes of chords, or of the tangents at a solution."""
        if (self.demand < 0).any() or (self.load < 0).any() or (self.limits.most < self.limits.least).any():
            return None
        slope = gain.slope(start, end, pairs) if at is None else gain.slope(at[pairs], at[pairs], pairs)
        arcs = Arcs(self.problem.item[pairs], self.problem.reviewer[pairs], whole_costs(slope, 0), end - start)
        via = self.rules
        if via is not None:
            inside = via.node >= 0
            taken = np.bincount(via.node[inside], self.limits.least[inside], via.item.size).astype(np.int64)
            most, least = via.most - taken, np.maximum(via.least - taken, 0)
            if (most < 0).any():
                return None
            via = via._replace(node=via.node[pairs], least=least, most=most)
        found = cheapest_flow(arcs, self.demand, self.load, self.least, via)
        if found is None:
            return None
        units = self.limits.least.copy()
        np.add.at(units, pairs, found)
        return units


def good(problem: Problem, worth: FloatArray, best: int) -> BoolArray:
    """Mark the pairs among the so many best of their paper or of their reviewer, shape (P,)."""
    found = np.zeros(worth.size, np.bool_)
    for side in (problem.item, problem.reviewer):
        found |= ranks(side, worth) < best
    return found
