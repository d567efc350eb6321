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

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Half width of the first segments around a solution, in parts of a review.
WIDE = 0.5

#: Least weight of a square beside that of a pair of mean worth: what is worth nothing is shared equally, too.
FLAT = 1e-3


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
    unit
        Units of probability in one whole review.
    """

    worth: FloatArray
    beta: float
    unit: int = UNITS

    @property
    def curve(self) -> FloatArray:
        """Weight of the square of each pair's probability, shape (P,)."""
        size = np.abs(self.worth)
        curve: FloatArray = self.beta * np.maximum(size, FLAT * float(size.mean()) if size.size else 0.0)
        return curve

    def of(self, units: IntArray) -> float:
        """Gain of all pairs together."""
        x = units / self.unit
        return float((self.worth * x - self.curve * x * x).sum())

    def slope(self, start: IntArray, end: IntArray, pairs: IntArray) -> FloatArray:
        """Gain a probability between two of them: that of the chord, or of the tangent where they are one."""
        chord: FloatArray = self.worth[pairs] - self.curve[pairs] * (start + end) / self.unit
        return chord


def limits_of(problem: Problem, most: float | FloatArray, unit: int = UNITS) -> Limits:
    """Caps in units, rounded down; what stands already, fixed or of a first phase, has probability 1 whatever its cap.

    >>> limits_of(problem, 0.55555).most.tolist()  # doctest: +SKIP
    [5555, 5555, 10000]
    """
    cap = np.floor(np.broadcast_to(most, problem.item.shape) * unit + 1e-6).astype(np.int64)
    return Limits(np.where(problem.given, unit, 0), np.where(problem.given, unit, cap))


def best_marginals(problem: Problem, gain: Gain, limits: Limits) -> Marginals | None:
    r"""Find the probabilities of the largest gain.

    .. math::
        \max \sum_p g_p(x_p) \quad \text{subject to} \quad \sum_{p \ni i} x_p = d_i, \quad
        l_j \le \sum_{p \ni j} x_p \le u_j, \quad q^-_p \le x_p \le q_p

    and, in expectation, what the rules on one attribute ask of each paper (:func:`.units.through_rules`).

    Parameters
    ----------
    problem, gain, limits
        The pairs, what their probabilities count, and within which limits.

    Returns
    -------
    Marginals
        None if there are none. Where gains are linear the bound is the value; else it is the value and the gap of
        Frank and Wolfe: no other probabilities gain more than the best along the tangent.

    Notes
    -----
    Linear gains take one flow: 20,000 papers and reviewers with 2 million pairs 13 s. Concave ones are replaced by
    chords, which lie below them, so that each flow with chords half as wide around the last solution gains more or the
    same; the last ones are one unit wide, so pairs of equal worth and equal competition share equally up to units.
    """
    graph = _Graph(problem, gain.unit, limits)
    everything = np.flatnonzero(graph.free)
    units = graph.flow(everything, *graph.range(everything), gain)
    if units is None:
        return None
    value = gain.of(units)
    return Marginals(units, value, value) if gain.beta == 0 else _refined(graph, gain, units)


def _refined(graph: _Graph, gain: Gain, units: IntArray) -> Marginals:
    """Halve the segments around the solution down to a unit; ``units`` is any solution to begin with."""
    width = max(int(WIDE * gain.unit), 1)
    while width > 0:
        better = graph.flow(*_segments(units, width, graph.limits), gain)
        units = units if better is None or gain.of(better) < gain.of(units) else better
        width //= 2
    # The tangent at the solution lies above the gain: its best vertex bounds it.
    everything = np.flatnonzero(graph.free)
    vertex = graph.flow(everything, *graph.range(everything), gain, at=units)
    value, rise = gain.of(units), np.inf
    if vertex is not None:
        tangent = gain.slope(units[everything], units[everything], everything)
        rise = max(float((tangent * (vertex - units)[everything]).sum() / gain.unit), 0.0)
    return Marginals(units, value, value + rise)


def _segments(units: IntArray, width: int, limits: Limits) -> tuple[IntArray, IntArray, IntArray]:
    """Pair, start and end of each segment that is not empty: two around a solution, and what is left on both sides.

    Pairs at their least have one segment, of the width: all may enter, and at no great cost.
    """
    low, high = limits
    edges = np.clip(np.stack([low, units - width, units, units + width, high]), low, high)
    edges[-1] = np.where(units > low, high, edges[-2])
    start, end = edges[:-1].ravel(), edges[1:].ravel()
    kept = end > start
    return np.tile(np.arange(low.size), len(edges) - 1)[kept], start[kept], end[kept]


class _Graph:
    """The flow of probabilities: what the pairs' least leaves of demands, loads and rules."""

    def __init__(self, problem: Problem, unit: int, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.free = limits.most > limits.least
        taken_item = np.bincount(problem.item, limits.least, problem.n_items).astype(np.int64)
        taken = np.bincount(problem.reviewer, limits.least, problem.n_reviewers).astype(np.int64)
        self.demand = problem.demand * unit - taken_item
        self.load = problem.load * unit - taken
        self.least = np.maximum(problem.least * unit - taken, 0)
        self.rules = through_rules(problem, unit)

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
