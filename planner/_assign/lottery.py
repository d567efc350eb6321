"""Randomised assignments: probabilities, a list of assignments with these frequencies at the level, and a draw.

Probabilities that meet demands and loads are those of lotteries over assignments (Birkhoff and von Neumann; Budish,
Che, Kojima and Milgrom 2013), so a flow computes them: one assignment has one unit per review, probabilities have
:data:`UNITS`. :class:`Support` rounds them to assignments, by halves.
:class:`Lottery` runs the stages: the best assignment, the best probabilities within the caps, then either dependent
rounding (without a level) or :func:`mixture`, a list of assignments each repaired to the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.assignment import Assignment, Listed, Randomised, total_of
from planner._assign.core import Core
from planner._assign.enumeration import best_at_level
from planner._assign.flow import Arcs, Via, cheapest_flow, cost_scale, settle, unrouted, whole_costs
from planner._assign.linking import Cycles, Linker, Programmed
from planner._assign.problem import Problem, restricted
from planner._assign.programme import PanelSolution, best_under_rules, broken_items, depends_on_rules, relaxation_of
from planner._assign.spanning import span
from planner._assign.stages import Run
from planner._assign.why_none import level_alone, why_apart, why_capped
from planner.errors import InternalError
from planner.rules import NO_MOST
from reviewgraph._base import BoolArray, FloatArray, IntArray, ranks, snapped

if TYPE_CHECKING:
    from planner._assign.levels import Aim


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


class Marginals(NamedTuple):
    """The probability of each pair, in units, shape (P,), and their expected worth, more than which no others have."""

    units: IntArray
    value: float


def cap_of(probability: float, unit: int = UNITS) -> int:
    """Return a cap in units, rounded down."""
    return int(probability * unit + 1e-6)


def best_marginals(problem: Problem, cap: int, unit: int = UNITS) -> Marginals | None:
    r"""Find the probabilities of the largest expected worth, in units of which one review has ``unit``; None if none.

    .. math::
        \max \sum_p v_p x_p \quad \text{subject to} \quad \sum_{p \ni i} x_p = d_i, \quad
        l_j \le \sum_{p \ni j} x_p \le u_j, \quad 0 \le x_p \le q

    and, in expectation, the rules on one attribute (:func:`through_rules`); given pairs have probability 1. It is one
    flow: 20,000 papers and reviewers with 2 million pairs take 13 s.
    """
    pairs = np.flatnonzero(~problem.given)
    units = np.where(problem.given, unit, 0)
    arcs = Arcs(
        problem.item[pairs], problem.reviewer[pairs], whole_costs(problem.worth[pairs], 0), np.full(pairs.size, cap)
    )
    load, least = problem.open_loads()
    via = through_rules(problem, unit)
    passed = _through(via, units)
    via = Via(via.node[pairs], via.item, np.maximum(via.least - passed, 0), via.most - passed)
    through = cheapest_flow(arcs, problem.open_demand() * unit, load * unit, least * unit, via)
    if through is None:
        return None
    units[pairs] = through
    return Marginals(units, total_of(problem.worth * units) / unit)


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
            raise InternalError("probabilities that meet demands and loads are those of assignments, and there is none")
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


# Repair of one assignment of a lottery, among the pairs that the others leave room for.

#: Maximum number of rows of an enumeration.
MOST_ROWS = 2_000


#: Work of bringing an assignment of a list to the level.
LINKING = 2.0


class Repaired(NamedTuple):
    """The pairs assigned, shape (P,), and whether they satisfy the request."""

    chosen: BoolArray
    reached: bool


def repaired(problem: Problem, first: BoolArray, asked: Run, rng: np.random.Generator) -> Repaired:
    """Bring an assignment to what was requested, at little loss.

    1. The best assignment of the problem under its rules.
    2. The level: where few assignments are possible, by enumeration; else by cheapest cycles (:mod:`.linking`), where
       many papers are apart by a skeleton (:mod:`.spanning`), under rules by forced pairs.
    """
    aim = asked.aim
    clock = asked.clock
    ruled = depends_on_rules(problem)
    cost = whole_costs(problem.affinity, int(rng.integers(1 << 31)))
    if ruled:
        solution = best_under_rules(problem, first, clock)
        chosen = solution.chosen
    else:
        chosen = unrouted(problem, cost)
    if chosen is None or aim.level is None:
        return Repaired(first if chosen is None else chosen, chosen is not None)
    tiny = best_at_level(problem, aim, clock, most=MOST_ROWS)
    if tiny is not None:
        reached = tiny.chosen is not None and not tiny.exposed
        return Repaired(chosen if tiny.chosen is None else tiny.chosen, reached)
    core = Core(problem.network(chosen), problem.required, aim)
    if ruled:
        relaxation = solution.relaxation or relaxation_of(problem, chosen, clock)
        if relaxation is None:
            return Repaired(chosen, False)
        linker = Linker(core, Programmed(core.net, problem, relaxation), clock, rng, math.inf)
        bridged = False
    else:
        settle(core.net, cost)
        cycles = Cycles(core.net, cost, clock)
        linker = Linker(core, cycles, clock, rng, math.inf)
        bridged = span(problem, linker, cycles, free=False)
    reached = bridged or linker.link(LINKING)
    if reached and asked.aim.outlives:
        linker.exposed[:] = True
        reached = linker.link(LINKING)
    return Repaired(core.net.assigned.copy() if reached else chosen, reached)


# A lottery over a list of assignments at a level, whose frequencies are the published probabilities.
#
# One assignment of the list is drawn, each with equal probability. So the published probabilities are exact: a pair is
# assigned with the share of the assignments that hold it, no share exceeds its cap, and every assignment satisfies the
# request.

#: Assignments of which one is drawn.
DRAWS = 100

#: Maximum number of exchanges that are tried in vain.
MOST_TRADES = 100

#: Best pairs per paper and per reviewer that may come in besides the support, before all others may.
NEAR = 10


class Mixture(NamedTuple):
    """Assignments of which one is drawn."""

    holds: BoolArray  # whether each assignment holds each pair, shape (K, P)
    reached: BoolArray  # whether each satisfies the request, shape (K,)


def mixture(problem: Problem, cap: int, counts: IntArray, asked: Run) -> Mixture:
    """List :data:`DRAWS` assignments with frequencies near the given ones, up to a cap, that satisfy the request.

    1. The frequencies are split into one assignment per unit of a review (:meth:`.marginals.Support.split`).
    2. One after the other is repaired among its own pairs and those below the cap, so that it holds throughout.
       Those that miss the request are repaired again at the end: the others may have left pairs below their limit.
    3. Where no pair is below its limit, it exchanges pairs with another one.

    Each takes a flow and the search for the level over the support and some of the best pairs of each paper and
    reviewer; over all pairs where that is not enough.
    """
    rng = np.random.default_rng(0)
    counts = counts.copy()
    pairs = np.flatnonzero(counts)
    holds = np.zeros((DRAWS, counts.size), np.bool_)
    holds[:, pairs] = support_of(problem, pairs).split(counts[pairs], DRAWS, rng)
    mixed = Mixture(holds, np.zeros(DRAWS, np.bool_))
    near = (counts > 0) | problem.given
    for side in (problem.item, problem.reviewer):
        near |= ranks(side, snapped(problem.worth)) < NEAR
    for turn in range(2 * DRAWS):
        k = turn % DRAWS
        if asked.clock.over():
            break
        if turn >= DRAWS and (mixed.reached[k] or not mixed.reached.any()):
            continue
        asked.say(f"{DRAWS} assignments to draw from", min(turn / DRAWS, 1.0))
        first = holds[k].copy()
        mixed.reached[k] = _satisfies(problem, first, asked.aim)
        if mixed.reached[k] and not asked.aim.outlives:
            continue
        room = (counts < cap) | first
        result = _repaired_among(problem, first, room & (near | first), asked, rng)
        if not result.reached and not asked.clock.over():
            # Pairs that link this assignment may link the next ones, too.
            result = _repaired_among(problem, first, room, asked, rng)
            near |= result.chosen
        mixed.reached[k] = result.reached
        if result.reached:
            counts += result.chosen.astype(np.int64) - first
            holds[k] = result.chosen
    _trade(problem, mixed, asked, rng)
    return mixed


def _trade(problem: Problem, mixed: Mixture, asked: Run, rng: np.random.Generator) -> None:
    """Exchange pairs between an assignment that misses the request and another, so that both satisfy it."""
    holds = mixed.holds
    left = MOST_TRADES
    for k in np.flatnonzero(~mixed.reached).tolist():
        # An exchange may have repaired it; equal ones are tried once.
        others = [] if mixed.reached[k] else np.unique(holds, axis=0, return_index=True)[1].tolist()
        for other in others:
            if not left or asked.clock.over():
                return
            both = holds[k].astype(np.int64) + holds[other]
            mine = _repaired_among(problem, holds[k], both > 0, asked, rng)
            rest = both - mine.chosen
            traded = mine.reached and rest.max(initial=0) == 1
            # Among its own pairs alone nothing is changed, and loads, rules and the level are tested.
            if traded and _repaired_among(problem, rest > 0, rest > 0, asked, rng).reached:
                holds[k] = mine.chosen
                holds[other] = rest > 0
                mixed.reached[[k, other]] = True
                break
            left -= 1


def _satisfies(problem: Problem, chosen: BoolArray, aim: Aim) -> bool:
    """Whether an assignment obeys the rules and is at the level, before any drop-out."""
    if depends_on_rules(problem) and broken_items(problem, chosen).size:
        return False
    return aim.level is None or Core(problem.network(chosen), problem.required, aim).at_level()


def _repaired_among(
    problem: Problem, first: BoolArray, allowed: BoolArray, asked: Run, rng: np.random.Generator
) -> Repaired:
    """Repair one of the assignments among some pairs."""
    pairs = np.flatnonzero(allowed)
    some = replace(restricted(problem, pairs), affinity=problem.worth[pairs], concerns=None)
    result = repaired(some, first[pairs], asked, rng)
    chosen = np.zeros(first.size, np.bool_)
    chosen[pairs] = result.chosen
    return result._replace(chosen=chosen)


@dataclass
class Lottery(Run):
    """The stages of :func:`planner.assign` where the assignment is drawn."""

    max_probability: float = 1.0

    def result(self) -> Assignment:
        cap = cap_of(self.max_probability)
        lottery = cap < UNITS and not self.problem.given.all()
        # Without caps the best assignment is the only one; otherwise it is the reference for draws, for which it needs
        # no level, and it explains why there is none.
        best = self.start() if lottery else super().result()
        if isinstance(best, Assignment) and (lottery or not best.reviews.n_reviews):
            return best
        apart = why_apart(self.problem, self.aim) if lottery and self.aim.core_decides else ""
        if apart:
            return self.infeasible(level_alone(self.aim, apart))
        problem = self.problem
        if isinstance(best, Assignment):
            # Its pairs have probability 1.
            key = problem.item * problem.n_reviewers + problem.reviewer
            chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
            bound = max(self.solution.bound, float(problem.worth[chosen].sum()))
            return replace(best, randomised=self._described(problem, chosen.astype(float), bound, None))
        marginals = best_marginals(problem, cap)
        if marginals is None:
            return self.infeasible(why_capped(problem, cap, UNITS))
        plain = self.aim.level is None and all_through(problem)
        return self._rounded(problem, marginals) if plain else self._listed(problem, marginals)

    def _rounded(self, problem: Problem, marginals: Marginals) -> Assignment:
        """Draw by rounding, which has exactly the probabilities, and keeps demands, loads and rules."""
        self.say("the draw")
        pairs = np.flatnonzero(marginals.units)
        units = marginals.units[pairs]
        independent = Independent(support_of(problem, pairs), units, ~problem.old[pairs])
        chosen = np.zeros(problem.item.size, np.bool_)
        chosen[pairs] = independent.support.draw(units, UNITS, np.random.default_rng(self.seed))
        randomised = self._described(problem, marginals.units / UNITS, marginals.value, None)
        randomised = replace(randomised, rounding=independent)
        return replace(self._drawn(problem, marginals.units > 0, chosen, reached=True), randomised=randomised)

    def _listed(self, problem: Problem, marginals: Marginals) -> Assignment:
        """Draw one of a list of assignments that are all at the level."""
        # Probabilities in multiples of one draw.
        cap = cap_of(self.max_probability, DRAWS)
        coarse = best_marginals(problem, cap, DRAWS)
        if coarse is None:
            why = f"As one of {DRAWS} assignments is drawn, caps are rounded down to multiples of 1/{DRAWS}, and leave"
            return self.infeasible(f"{why} no probabilities then. Raise --max-probability.")
        mixed = mixture(problem, cap, coarse.units, self)
        # The assignment of the seed.
        self.say("the draw")
        holds = mixed.holds
        counts = holds.sum(axis=0)
        k = int(np.random.default_rng(self.seed).integers(DRAWS))
        reached = bool(mixed.reached[k])
        assignment = self._drawn(problem, counts > 0, holds[k], reached=reached)
        if not reached and not self.clock.over():
            missed = f"Under these caps {int((~mixed.reached).sum())} of {DRAWS} assignments to draw from miss"
            what = "the level" if self.aim.level else "rules"
            why = f"{missed} {what}, this one among them; raise caps, demands or loads."
            assignment = replace(assignment, explanation=why)
        listed = Listed(holds[:, (counts > 0) & ~problem.old], float(mixed.reached.mean()))
        shares = counts / DRAWS
        return replace(assignment, randomised=self._described(problem, shares, marginals.value, listed))

    def _drawn(self, problem: Problem, support: BoolArray, chosen: BoolArray, *, reached: bool) -> Assignment:
        pairs = np.flatnonzero(support)
        self.problem = restricted(problem, pairs)
        self.solution = PanelSolution(None, False, self.solution.bound)
        self.unfair = None
        assignment = self.answer(chosen[pairs], () if self.aim.outlives and reached else None, 0, reached=reached)
        return replace(assignment, least_loss=None)

    def _described(self, problem: Problem, probability: FloatArray, bound: float, listed: Listed | None) -> Randomised:
        """Return the lottery for people; pairs of a first phase are no part of it."""
        shown = np.flatnonzero((probability > 0) & ~problem.old)
        return Randomised(
            item=problem.item[shown],
            reviewer=problem.reviewer[shown],
            probability=probability[shown],
            items=problem.items,
            reviewers=problem.reviewers,
            max_probability=self.max_probability,
            certain=int((problem.given & ~problem.old).sum()),
            expected=total_of((problem.affinity * probability)[shown]),
            best=self.unconstrained,
            # With a previous assignment the bound is on few changes, too.
            most=bound if problem.concerns is None else math.inf,
            listed=listed,
        )
