"""The probabilities of pairs: as much expected affinity as caps on them allow, and random draws with these.

Probabilities that meet demands and loads are those of lotteries over assignments (Birkhoff and von Neumann; Budish,
Che, Kojima and Milgrom 2013), so a flow computes them: one assignment has one unit per review, probabilities have
:data:`~planner._assign.marginals.UNITS`. :class:`Support` rounds them to assignments, by halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import Arcs, Via, cheapest_flow, cost_scale, whole_costs
from planner.errors import InternalError
from planner.rules import NO_MOST

if TYPE_CHECKING:
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray


# Units of probability, and rules as nodes of the flow.

#: Units of one whole review: probabilities are whole multiples of a ten-thousandth.
UNITS = 10_000


def through_rules(problem: Problem, unit: int = UNITS) -> Via:
    """Return the rules on one attribute of which each reviewer has at most one value, as nodes of a flow.

    Such rules partition the candidates of a paper, so a flow can represent them, and draws keep them. Nodes that limit
    nothing, as they have too few candidates, are left out.
    """
    panels = problem.panels
    member = _parted(problem)[problem.reviewer]
    inside = np.flatnonzero((member >= 0) & problem.bound[problem.item])
    size = max(panels.n_groups, 1)
    cells, place = np.unique(problem.item[inside] * size + member[inside], return_inverse=True)
    item = cells // size
    candidates = np.bincount(place, minlength=cells.size)
    given = np.bincount(place[problem.given[inside]], minlength=cells.size)
    least = panels.least[item, cells % size]
    most = np.minimum(np.maximum(panels.most[item, cells % size], given), candidates)
    kept = (candidates > most) | (least > 0)
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    node = np.full(problem.item.size, -1)
    node[inside] = number[place]
    return Via(node, item[kept], least[kept] * unit, most[kept] * unit)


def all_through(problem: Problem) -> bool:
    """Whether the flow represents all rules on panels, so that draws obey them."""
    others = np.setdiff1d(np.flatnonzero(_limited(problem)), _parted(problem))
    return not others.size


def _limited(problem: Problem) -> BoolArray:
    panels = problem.panels
    return np.asarray(((panels.least > 0) | (panels.most < NO_MOST)).any(axis=0))


def _parted(problem: Problem) -> IntArray:
    """Return each reviewer's group under the attribute with a minimum, or else the most limits; -1 for none.

    It is the one that random panels break most: every breach of the others has to be repaired in a draw.
    """
    panels = problem.panels
    who, group = panels.of(np.arange(problem.n_reviewers))
    weight = _limited(problem) + panels.n_groups * panels.least.any(axis=0)
    number = np.bincount(panels.attribute, weight, panels.n_attributes)
    member = np.full(problem.n_reviewers, -1)
    for attribute in np.argsort(-number, kind="stable").tolist():
        ours = panels.attribute[group] == attribute
        if number[attribute] and ours.any() and np.bincount(who[ours]).max() == 1:
            member[who[ours]] = group[ours]
            break
    return member


class Limits(NamedTuple):
    """Minimum and maximum probability of each pair, in units, shape (P,)."""

    least: IntArray
    most: IntArray


class Marginals(NamedTuple):
    """The probability of each pair, in units, shape (P,), and their expected worth, more than which no others have."""

    units: IntArray
    value: float


def limits_of(problem: Problem, most: float | FloatArray, unit: int = UNITS) -> Limits:
    """Return caps in units, rounded down; pairs that are fixed or of a first phase have probability 1 in any case."""
    cap = np.floor(np.broadcast_to(most, problem.item.shape) * unit + 1e-6).astype(np.int64)
    return Limits(np.where(problem.given, unit, 0), np.where(problem.given, unit, cap))


def best_marginals(problem: Problem, limits: Limits, unit: int = UNITS) -> Marginals | None:
    r"""Find the probabilities of the largest expected worth, in units of which one review has ``unit``; None if none.

    .. math::
        \max \sum_p v_p x_p \quad \text{subject to} \quad \sum_{p \ni i} x_p = d_i, \quad
        l_j \le \sum_{p \ni j} x_p \le u_j, \quad q^-_p \le x_p \le q_p

    and, in expectation, the rules on one attribute (:func:`through_rules`). It is one flow: 20,000 papers and reviewers
    with 2 million pairs take 13 s.
    """
    if (limits.most < limits.least).any():
        return None
    pairs = np.flatnonzero(limits.most > limits.least)
    room = (limits.most - limits.least)[pairs]
    arcs = Arcs(problem.item[pairs], problem.reviewer[pairs], whole_costs(problem.worth[pairs], 0), room)
    # What the pairs' minima leave of demands, loads and rules.
    demand = problem.demand * unit - _sums(problem.item, limits.least, problem.n_items)
    taken = _sums(problem.reviewer, limits.least, problem.n_reviewers)
    load = problem.load * unit - taken
    least = np.maximum(problem.least * unit - taken, 0)
    via = through_rules(problem, unit)
    passed = _through(via, limits.least)
    via = Via(via.node[pairs], via.item, np.maximum(via.least - passed, 0), via.most - passed)
    through = cheapest_flow(arcs, demand, load, least, via)
    if through is None:
        return None
    units = limits.least.copy()
    units[pairs] += through
    return Marginals(units, float(problem.worth @ units) / unit)


# Rounding: draws with given probabilities in which every demand, load and rule of the flow holds.


class Support(NamedTuple):
    """Pairs with positive probabilities, shape (S,), and the nodes of rules that they go through."""

    item: IntArray
    reviewer: IntArray
    n_items: int
    n_reviewers: int
    via: Via

    def draw(self, units: IntArray, unit: int, rng: np.random.Generator) -> BoolArray:
        """Draw an assignment with probabilities in units of ``1 / unit``: dependent rounding ([Gandhi06]_) by halves.

        Takes O(S log(unit)), and a flow for each odd number on the way to 1.
        """
        if unit == 1:
            return units > 0
        if unit % 2 == 0:
            return self.draw(self._half(units, rng), unit // 2, rng)
        one = self._one(units, unit, rng)
        if unit * rng.random() < 1:
            return one > 0
        return self.draw(units - one, unit - 1, rng)

    def split(self, units: IntArray, unit: int, rng: np.random.Generator) -> list[BoolArray]:
        """Return ``unit`` assignments that hold each pair as often as it has units."""
        if unit == 1:
            return [units > 0]
        if unit % 2 == 0:
            half = self._half(units, rng)
            return self.split(half, unit // 2, rng) + self.split(units - half, unit // 2, rng)
        one = self._one(units, unit, rng)
        return [one > 0, *self.split(units - one, unit - 1, rng)]

    def _half(self, units: IntArray, rng: np.random.Generator) -> IntArray:
        """Round half the units of each pair up or down, with equal probability, as well as those of each node.

        Demands are even, so at each node an even number of arcs carries an odd number of units. Two by two they make
        closed walks (Euler); a walk is rounded up along one direction, and down along the other.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        tail, head, carried = self._arcs(units)
        odd = np.flatnonzero(carried % 2)
        size = odd.size
        if not size:
            return units // 2
        # Ends of arcs, two by two at each node: where one arc enters and the other leaves, both are rounded alike.
        order = np.lexsort((rng.random(2 * size), np.concatenate([tail[odd], head[odd]])))
        first = order[::2]
        second = order[1::2]
        alike = (first < size) != (second < size)
        # Number a means that arc a is rounded up, a + size that it is rounded down. A walk can be gone along in two
        # directions, so it has two components.
        one = first % size
        other = second % size
        start = np.concatenate([one, one + size])
        end = np.concatenate([np.where(alike, other, other + size), np.where(alike, other + size, other)])
        graph = coo_array((np.ones(2 * size), (start, end)), shape=(2 * size, 2 * size))
        number, label = connected_components(graph, directed=False)
        walk = np.minimum(label[:size], label[size:])
        half = carried // 2
        half[odd] += (label[:size] == walk) == (rng.random(number) < 0.5)[walk]
        return half[: units.size]

    def _arcs(self, units: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return tail, head and units of arcs: of pairs, of reviewers to the sink, and of items to nodes of rules."""
        sink = self.n_items + self.n_reviewers
        node = self.via.node
        nodes = sink + 1 + np.arange(self.via.item.size)
        reviewers = self.n_items + np.arange(self.n_reviewers)
        tail = [np.where(node < 0, self.item, sink + 1 + node), reviewers, self.via.item]
        head = [self.n_items + self.reviewer, np.full_like(reviewers, sink), nodes]
        carried = [units, _sums(self.reviewer, units, self.n_reviewers), _through(self.via, units)]
        return np.concatenate(tail), np.concatenate(head), np.concatenate(carried)

    def _one(self, units: IntArray, unit: int, rng: np.random.Generator) -> IntArray:
        """Return an assignment within the expectation of each pair and node, rounded down and up."""
        # Pairs that are certain come before random costs.
        scale = cost_scale(1.0, self.n_items + self.n_reviewers + self.via.item.size + 1)
        cost = whole_costs((units == unit).astype(float), int(rng.integers(1 << 31)), scale)
        demand = _sums(self.item, units, self.n_items) // unit
        loads = _sums(self.reviewer, units, self.n_reviewers)
        passed = _through(self.via, units)
        via = self.via._replace(least=passed // unit, most=-(-passed // unit))
        arcs = Arcs(self.item, self.reviewer, cost, np.minimum(units, 1))
        one = cheapest_flow(arcs, demand, -(-loads // unit), loads // unit, via)
        if one is None:
            message = "probabilities that meet demands and loads are those of assignments, and there is none"
            raise InternalError(message)
        return one


def support_of(problem: Problem, pairs: IntArray) -> Support:
    """Return some pairs and the rules of the flow on them."""
    via = through_rules(problem)
    nodes = via._replace(node=via.node[pairs])
    return Support(problem.item[pairs], problem.reviewer[pairs], problem.n_items, problem.n_reviewers, nodes)


def _through(via: Via, units: IntArray) -> IntArray:
    """Return the units through each node of rules."""
    inside = via.node >= 0
    return _sums(via.node[inside], units[inside], via.item.size)


def _sums(codes: IntArray, units: IntArray, size: int) -> IntArray:
    return np.bincount(codes, units, size).astype(np.int64)


class Independent(NamedTuple):
    """Probabilities from which assignments are drawn, one independent of another."""

    support: Support
    units: IntArray  # of each pair of the support
    shown: BoolArray  # pairs of the support that are published

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each published pair, shape (n, S)."""
        draws = [self.support.draw(self.units, UNITS, rng)[self.shown] for _ in range(n)]
        return np.array(draws, np.bool_).reshape(n, -1)
