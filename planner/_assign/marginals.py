"""The probabilities of pairs: as much expected affinity as caps on them allow, and random draws with these.

Probabilities that meet demands and loads are those of lotteries over assignments (Birkhoff and von Neumann; Budish,
Che, Kojima and Milgrom 2013), so a flow computes them: one assignment has one unit per review, probabilities have
:data:`~planner._assign.marginals.UNITS`. Draws are by dependent rounding (:func:`drawn`, :func:`decomposed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import Arcs, Via, cheapest_flow, whole_costs
from planner._assign.kernels.marginals import Rounding, round_cycles
from planner.rules import NO_MOST
from reviewgraph._base import reaches, starts

if TYPE_CHECKING:
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray


# Units of probability, and rules as nodes of the flow.

#: Units of one whole review: probabilities are whole multiples of a ten-thousandth.
UNITS = 10_000


def through_rules(problem: Problem, unit: int = UNITS) -> Via | None:
    """Return the rules on one attribute of which each reviewer has at most one value, as nodes of a flow; None if none.

    Such rules partition the candidates of a paper, so a flow can represent them, and draws keep them. Of several
    attributes it is the one that random panels break most: every breach of the others has to be repaired in a draw.
    Nodes that limit nothing, as they have too few candidates, are left out.
    """
    group = _parted(problem)
    if group is None:
        return None
    panels = problem.panels
    width = problem.panels.n_groups
    member = group[problem.reviewer]
    inside = (member >= 0) & problem.bound[problem.item]
    keys, node = np.unique(np.where(inside, problem.item * width + member, -1), return_inverse=True)
    candidates = np.bincount(node, minlength=keys.size)
    given = np.bincount(node[problem.given], minlength=keys.size)
    least = np.where(keys >= 0, panels.least[keys // width, keys % width], 0)
    most = np.maximum(np.where(keys >= 0, panels.most[keys // width, keys % width], NO_MOST), given)
    kept = (keys >= 0) & ((candidates > most) | (least > 0))
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    item = keys[kept] // width
    return Via(number[node], item, least[kept] * unit, np.minimum(most, candidates)[kept] * unit)


def all_through(problem: Problem) -> bool:
    """Whether the flow represents all rules on panels, so that draws obey them."""
    panels = problem.panels
    group = _parted(problem)
    limited = ((panels.least > 0) | (panels.most < NO_MOST)).any(axis=0)
    ours = np.zeros(panels.n_groups, np.bool_)
    ours[[] if group is None else group[group >= 0]] = True
    return not (panels.different > 0).any() and not (limited & ~ours).any()


def _parted(problem: Problem) -> IntArray | None:
    """Return each reviewer's group under the attribute with a minimum, or else the most limits; -1 for none."""
    panels = problem.panels
    who, group = panels.of(np.arange(problem.n_reviewers))
    limited = ((panels.least > 0) | (panels.most < NO_MOST)).any(axis=0)
    number = np.bincount(panels.attribute[limited], minlength=panels.n_attributes)
    # Random panels break a minimum more often than a limit.
    least = np.bincount(panels.attribute[panels.least.any(axis=0)], minlength=number.size)
    for attribute in np.lexsort((-number, -least)).tolist():
        ours = panels.attribute[group] == attribute
        if number[attribute] and ours.any() and np.bincount(who[ours], minlength=1).max() <= 1:
            member = np.full(problem.n_reviewers, -1)
            member[who[ours]] = group[ours]
            return member
    return None


#: Half width of the first segments around a solution, in parts of a review.
WIDE = 0.5

#: Minimum weight of a square relative to that of a pair of mean worth: pairs without worth share equally, too.
FLAT = 1e-3


class Limits(NamedTuple):
    """Minimum and maximum probability of each pair, in units, shape (P,)."""

    least: IntArray
    most: IntArray


class Marginals(NamedTuple):
    """The probability of each pair, in units, shape (P,); their gain, and an upper bound on that of any others."""

    units: IntArray
    value: float
    bound: float


class Gain(NamedTuple):
    r"""The gain of a pair of probability x: ``v x - beta |v| x^2`` for its worth v, which is concave."""

    worth: FloatArray  # v, shape (P,)
    beta: float  # the perturbation; 0 for expected worth
    unit: int = UNITS  # units of probability in one whole review

    @property
    def curve(self) -> FloatArray:
        """Weight of the square of each pair's probability, shape (P,)."""
        size = np.abs(self.worth)
        curve: FloatArray = self.beta * np.maximum(size, FLAT * float(size.mean()) if size.size else 0.0)
        return curve

    def of(self, units: IntArray) -> float:
        x = units / self.unit
        return float((self.worth * x - self.curve * x * x).sum())

    def slope(self, start: IntArray, end: IntArray, pairs: IntArray) -> FloatArray:
        """Return the slope of the gain between two probabilities: of the chord, or of the tangent if they are equal."""
        chord: FloatArray = self.worth[pairs] - self.curve[pairs] * (start + end) / self.unit
        return chord


def limits_of(problem: Problem, most: float | FloatArray, unit: int = UNITS) -> Limits:
    """Return caps in units, rounded down; pairs that are fixed or of a first phase have probability 1 in any case."""
    cap = np.floor(np.broadcast_to(most, problem.item.shape) * unit + 1e-6).astype(np.int64)
    return Limits(np.where(problem.given, unit, 0), np.where(problem.given, unit, cap))


def best_marginals(problem: Problem, gain: Gain, limits: Limits) -> Marginals | None:
    r"""Find the probabilities of the largest gain; None if there are none.

    .. math::
        \max \sum_p g_p(x_p) \quad \text{subject to} \quad \sum_{p \ni i} x_p = d_i, \quad
        l_j \le \sum_{p \ni j} x_p \le u_j, \quad q^-_p \le x_p \le q_p

    and, in expectation, the rules on one attribute (:func:`through_rules`). Where gains are linear the bound is the
    value; otherwise it is the value and the gap of Frank and Wolfe: the best along the tangent.

    Linear gains take one flow: 20,000 papers and reviewers with 2 million pairs 13 s. Concave ones are replaced by
    chords, which lie below them, so that each flow with chords half as wide around the last solution gains more or the
    same; the last ones are one unit wide, so pairs of equal worth and equal competition share equally up to units.
    """
    graph = _Graph(problem, gain.unit, limits)
    free = np.flatnonzero(limits.most > limits.least)
    whole = free, limits.least[free], limits.most[free]
    units = graph.flow(*whole, gain)
    if units is None:
        return None
    if gain.beta == 0:
        return Marginals(units, gain.of(units), gain.of(units))
    # Halve the segments around the solution down to a unit.
    width = max(int(WIDE * gain.unit), 1)
    while width > 0:
        better = graph.flow(*_segments(units, width, limits), gain)
        if better is not None and reaches(gain.of(better), gain.of(units)):
            units = better
        width //= 2
    # The tangent at the solution lies above the gain: its best vertex bounds it.
    vertex = graph.flow(*whole, gain, at=units)
    value = gain.of(units)
    rise = np.inf
    if vertex is not None:
        tangent = gain.slope(units[free], units[free], free)
        rise = max(float((tangent * (vertex - units)[free]).sum() / gain.unit), 0.0)
    return Marginals(units, value, value + rise)


def _segments(units: IntArray, width: int, limits: Limits) -> tuple[IntArray, IntArray, IntArray]:
    """Return pair, start and end of the non-empty segments: two around a solution, and the rest on both sides.

    Pairs at their minimum have one segment, of the width: all may enter, and at no great cost.
    """
    low, high = limits
    edges = np.clip(np.stack([low, units - width, units, units + width, high]), low, high)
    edges[-1] = np.where(units > low, high, edges[-2])
    start = edges[:-1].ravel()
    end = edges[1:].ravel()
    kept = end > start
    return np.tile(np.arange(low.size), len(edges) - 1)[kept], start[kept], end[kept]


class _Graph:
    """The flow of probabilities: what the pairs' minima leave of demands, loads and rules."""

    def __init__(self, problem: Problem, unit: int, limits: Limits) -> None:
        self.problem = problem
        self.limits = limits
        taken_item = np.bincount(problem.item, limits.least, problem.n_items).astype(np.int64)
        taken = np.bincount(problem.reviewer, limits.least, problem.n_reviewers).astype(np.int64)
        self.demand = problem.demand * unit - taken_item
        self.load = problem.load * unit - taken
        self.least = np.maximum(problem.least * unit - taken, 0)
        self.rules = through_rules(problem, unit)

    def flow(
        self, pairs: IntArray, start: IntArray, end: IntArray, gain: Gain, at: IntArray | None = None
    ) -> IntArray | None:
        """Return units, shape (P,), when segments have the slopes of chords, or of the tangents at a solution."""
        if (self.demand < 0).any() or (self.load < 0).any() or (self.limits.most < self.limits.least).any():
            return None
        slope = gain.slope(start, end, pairs) if at is None else gain.slope(at[pairs], at[pairs], pairs)
        arcs = Arcs(self.problem.item[pairs], self.problem.reviewer[pairs], whole_costs(slope, 0), end - start)
        via = self.rules
        if via is not None:
            inside = via.node >= 0
            taken = np.bincount(via.node[inside], self.limits.least[inside], via.item.size).astype(np.int64)
            most = via.most - taken
            least = np.maximum(via.least - taken, 0)
            if (most < 0).any():
                return None
            via = via._replace(node=via.node[pairs], least=least, most=most)
        through = cheapest_flow(arcs, self.demand, self.load, self.least, via)
        if through is None:
            return None
        units = self.limits.least.copy()
        np.add.at(units, pairs, through)
        return units


# Draws with given probabilities in which every demand, load and rule of the flow holds: dependent rounding.
#
# Gandhi et al. ([Gandhi06]_) round a bipartite graph; here the probabilities are a flow from papers, through nodes of
# rules, to reviewers and a sink. Flow is conserved at nodes and demands are whole, so no node has one fractional arc
# alone, and the fractional arcs contain a cycle. Flow is pushed around it one way or the other, as far as some arc
# allows, with the probabilities that leave every arc's expectation unchanged; that arc is whole from then on.


class Flow(NamedTuple):
    """Arcs with a fractional part, and the arcs at each node."""

    # tail, head: nodes of each arc, shape (A,)
    tail: IntArray
    head: IntArray
    part: IntArray  # units of each arc beyond whole reviews, 1 to ``unit - 1``, shape (A,)
    # start, arc: the arcs at node v are ``arc[start[v]:start[v + 1]]``
    start: IntArray
    arc: IntArray
    pair: IntArray  # the pairs of the first arcs
    whole: BoolArray  # pairs that are assigned in every draw, shape (P,)
    unit: int  # units of one whole review


def flow_of(
    item: IntArray,
    reviewer: IntArray,
    units: IntArray,
    n_items: int,
    n_reviewers: int,
    via: Via | None = None,
    unit: int = UNITS,
) -> Flow:
    """Lay out probabilities, in units, shape (P,), as a flow; sums over each item must be whole.

    Nodes are the items, the reviewers, the sink and the nodes of ``via``. A reviewer's arc to the sink carries their
    load and that to a node of a rule what passes it, so that both are rounded to the whole number below or above.
    """
    sink = n_items + n_reviewers
    n_via = 0 if via is None else via.item.size
    node = np.full(item.size, -1) if via is None else via.node
    passed = np.bincount(node[node >= 0], units[node >= 0], n_via).astype(np.int64)
    load = np.bincount(reviewer, units, n_reviewers).astype(np.int64)
    tail = np.concatenate(
        [
            np.where(node >= 0, sink + 1 + node, item),
            np.empty(0, np.int64) if via is None else via.item,
            n_items + np.arange(n_reviewers),
        ]
    )
    head = np.concatenate([n_items + reviewer, sink + 1 + np.arange(n_via), np.full(n_reviewers, sink)])
    part = np.concatenate([units, passed, load]) % unit
    kept = np.flatnonzero(part > 0)
    tail = tail[kept]
    head = head[kept]
    ends = np.concatenate([tail, head])
    start = starts(ends, sink + n_via + 1)
    arc = np.argsort(ends, kind="stable") % max(kept.size, 1)
    return Flow(tail, head, part[kept], start, arc, kept[kept < item.size], units == unit, unit)


def drawn(flow: Flow, rng: np.random.Generator) -> BoolArray:
    """Draw the pairs that are assigned, shape (P,).

    Takes O(A C) for A arcs and cycles of C arcs on average, which are short in practice.
    """
    part = flow.part.copy()
    n_nodes = flow.start.size - 1
    rounding = Rounding(
        tail=flow.tail,
        head=flow.head,
        part=part,
        start=flow.start,
        arc=flow.arc.copy(),
        first=flow.start[:-1].copy(),
        chance=rng.random(part.size),
        path=np.empty(n_nodes + 1, np.int64),
        sign=np.empty(n_nodes + 1, np.int64),
        nodes=np.empty(n_nodes + 1, np.int64),
        place=np.full(n_nodes, -1, np.int64),
        units=flow.unit,
    )
    round_cycles(rounding)
    chosen = flow.whole.copy()
    chosen[flow.pair] = part[: flow.pair.size] == flow.unit
    return chosen


class Independent(NamedTuple):
    """Probabilities from which assignments are drawn, one independent of another."""

    flow: Flow
    shown: IntArray  # the pairs of the flow that are published

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each published pair, shape (n, S)."""
        draws = np.zeros((n, self.shown.size), np.bool_)
        for k in range(n):
            draws[k] = drawn(self.flow, rng)[self.shown]
        return draws


def decomposed(problem: Problem, counts: IntArray, count: int, rng: np.random.Generator) -> list[IntArray]:
    """Split probabilities in units of ``1 / count``, shape (P,), into ``count`` assignments with these frequencies.

    Each is drawn with the probabilities of the remainder. A draw takes each pair, load and node of a rule with its
    expectation rounded down or up, so the remainder is within demands, loads and rules of the others, and ends at zero.
    """
    support = np.flatnonzero(counts)
    via = through_rules(problem, count)
    via = None if via is None else via._replace(node=via.node[support])
    where = problem.item[support], problem.reviewer[support]
    remaining = counts[support]
    assignments = []
    for unit in range(count, 0, -1):
        chosen = drawn(flow_of(*where, remaining, problem.n_items, problem.n_reviewers, via, unit), rng)
        remaining -= chosen
        assignments.append(support[chosen])
    return assignments
