"""The best assignment under the rules on panels, before any level: by the flow, or else by integer programmes.

The rules on one attribute become nodes of the flow (:class:`Route`); rivals that the flow assigns together are
separated by barring pairs, with a bound by Lagrangian relaxation; :func:`best_panels` combines these and falls back on
integer programmes. :func:`fewest_first` puts changes and thresholds before affinity, :func:`missing_reviews` lowers
demands that cannot be met.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.findings import Kept, KeptRule
from planner._assign.flow import (
    AFFINITY_BITS,
    SOLVER_BITS,
    TIE_BITS,
    Arcs,
    Via,
    cheapest_flow,
    cost_scale,
    most_given,
    whole,
    whole_costs,
)
from planner._assign.kernels.flow import lower_potentials
from planner._assign.panel_programme import (
    best_columns,
    broken_items,
    crowded_items,
    objective,
    presence,
    programme_of,
    repair,
    rewards,
    rival_rows,
    tolerance,
)
from planner._assign.problem import AHEAD
from planner.errors import InternalError
from planner.rules import ruled_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.problem import Concerns, Network, Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


# The rules on one attribute as nodes of the flow, if no reviewer has two values of it.


class Route(NamedTuple):
    """Nodes between papers and the panel groups of one attribute."""

    free: IntArray  # the free pairs, shape (A,)
    via: Via  # the nodes, with a bonus of 1 where a reward is due
    alone: BoolArray  # pairs that earn a reward by themselves, shape (A,): no other pair of the paper has the value

    @property
    def n_nodes(self) -> int:
        return int(self.via.item.size + (0 if self.via.spare is None else np.count_nonzero(self.via.spare >= 0)))


if TYPE_CHECKING:
    Routes = dict[int, Route]
    #: The best assignment at given costs without barred pairs, if any, or None; it obeys everything except rivals.
    Flow = Callable[..., BoolArray | None]


def partitions(problem: Problem) -> list[int]:
    """Return the attributes of which no reviewer has two values that matter."""
    panels = problem.panels
    owner = np.repeat(np.arange(problem.n_reviewers), np.diff(panels.start))
    size = max(panels.n_attributes, 1)
    key, count = np.unique(owner * size + panels.attribute[panels.group], return_counts=True)
    single: list[int] = np.setdiff1d(np.arange(panels.n_attributes), key[count > 1] % size).tolist()
    return single


def route_of(problem: Problem, attribute: int) -> Route | None:
    """Add nodes where a limit could bind or a reward is due; None where too few pairs could satisfy the rules.

    Units to a group of which a paper needs some, or that exceed what the paper may take of it, must pass one node.
    Where k different groups are required of d reviews, at most d - k units are no first ones of their group.
    """
    panels = problem.panels
    free = np.flatnonzero(~problem.given)
    size = max(panels.n_groups, 1)
    ours = np.flatnonzero(panels.attribute == attribute)
    arc, cell = _cells(problem, free, attribute)
    cells, number, n_arcs = np.unique(cell, return_inverse=True, return_counts=True)
    standing = np.sort(_cells(problem, np.flatnonzero(problem.given), attribute)[1])
    have = np.searchsorted(standing, cells, "right") - np.searchsorted(standing, cells)
    group = cells % size
    place = cells // size
    # What each paper lacks of groups, and of different groups.
    for g in ours[panels.least[:, ours].any(axis=0)].tolist():
        could = np.bincount(place[group == g], (n_arcs + have)[group == g], problem.n_items)
        fixed = np.bincount(standing[standing % size == g] // size, minlength=problem.n_items)
        if (problem.bound & (np.maximum(could, fixed) < panels.least[:, g])).any():
            return None
    lack = panels.different[:, attribute] - np.bincount(np.unique(standing) // size, minlength=problem.n_items)
    lack = np.where(problem.bound, np.maximum(lack, 0), 0)
    low = np.maximum(panels.least[place, group] - have, 0)
    room = np.maximum(panels.most[place, group] - have, 0)
    fresh = have == 0
    due = (have == 0) & (panels.reward[place, attribute] > 0)
    node = (room < n_arcs) | (low > 0) | (due & (n_arcs > 1)) | ((lack[place] > 0) & fresh)
    code = np.where(node, np.cumsum(node) - 1, -1)
    through = np.full(free.size, -1)
    alone = np.zeros(free.size, np.bool_)
    through[arc] = code[number]
    alone[arc] = (due & ~node)[number]
    # Units that nodes pass on beforehand are no first ones, except one each.
    spare = np.where(lack > 0, problem.open_demand() - lack, -1)
    beyond = np.bincount(place, np.maximum(low - fresh, 0), problem.n_items).astype(np.int64)
    if (lack > problem.open_demand()).any() or (beyond > spare)[lack > 0].any():
        return None
    spare = np.where(lack > 0, spare - beyond, -1)
    via = Via(through, place[node], low[node], np.minimum(room, n_arcs)[node], due[node].astype(np.int64))
    return Route(free, via._replace(spare=spare if (lack > 0).any() else None, fresh=fresh[node]), alone)


def _cells(problem: Problem, pairs: IntArray, attribute: int) -> tuple[IntArray, IntArray]:
    """Return memberships of pairs on bound papers in groups of an attribute: the place, and item * G + group."""
    place, group = problem.panels.of(problem.reviewer[pairs])
    mine = problem.bound[problem.item[pairs[place]]] & (problem.panels.attribute[group] == attribute)
    return place[mine], (problem.item[pairs[place]] * max(problem.panels.n_groups, 1) + group)[mine]


def unrouted(problem: Problem, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
    """Return the best assignment within demands and loads, without the pairs that are barred; None if there is none."""
    free = np.flatnonzero(~(problem.given if barred is None else problem.given | barred))
    return through(problem, free, cost[free])


def routed(
    problem: Problem, route: Route, bonus: IntArray, cost: IntArray, barred: BoolArray | None = None
) -> BoolArray | None:
    """Return the best assignment within demands, loads and the rules of a route, without barred pairs, or None.

    ``bonus`` is the worth of a rewarded group on each item, in units of cost, shape (N,).
    """
    kept = np.ones(route.free.size, np.bool_) if barred is None else ~barred[route.free]
    free = route.free[kept]
    via = route.via._replace(bonus=route.via.bonus * bonus[route.via.item], node=route.via.node[kept])
    return through(problem, free, cost[free] - np.where(route.alone[kept], bonus[problem.item[free]], 0), via)


def through(problem: Problem, free: IntArray, cost: IntArray, via: Via | None = None) -> BoolArray | None:
    """Return the best assignment by free pairs, at a cost each, through nodes if there are any; None if none."""
    load, least = problem.open_loads()
    arcs = Arcs(problem.item[free], problem.reviewer[free], cost, np.ones(free.size, np.int64))
    flow = cheapest_flow(arcs, problem.open_demand(), load, least, via)
    if flow is None:
        return None
    chosen = problem.given.copy()
    chosen[free[flow > 0]] = True
    return chosen


# Potentials for an assignment that is the best under rules on panels.

#: Maximum passes over all pairs in the search for potentials.
PASSES = 1_000

#: Tolerance of reduced costs where no flow computed the assignment: rounding and ties.
SLACK = 2 << TIE_BITS


def settle(net: Network, cost: IntArray, held: BoolArray, *, exact: bool) -> bool:
    """Find potentials with non-negative reduced costs except for pairs that are held; false if there are none.

    Pairs are held where their cost, or whether they may change, depends on who else is on the panel: without them a
    cycle changes each panel once at most and breaks no rule, so at the best assignment none gains. Unless it is
    ``exact``, optimal up to the last bit, reduced costs may be negative by a little.

    Starts as if a source reached every node at cost 0; after a pass without a change every arc is settled.
    """
    locked = net.locked.copy()
    net.locked[held] = True
    net.potential[:] = 0
    slack = cost if exact else cost + np.where(net.assigned, -SLACK, SLACK)
    settled = any(not lower_potentials(net, slack) for _ in range(PASSES))
    net.locked[:] = locked
    return settled


def depending(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Return pairs whose coming or going alone breaks a rule, gains a reward or loses one."""
    panels = problem.panels
    size = max(problem.panels.n_groups, 1)
    pair, group = panels.of(problem.reviewer)
    mine = problem.bound[problem.item[pair]]
    pair = pair[mine]
    group = group[mine]
    item = problem.item[pair]
    cell = item * size + group
    on = chosen[pair]
    present, count = np.unique(cell[on], return_counts=True)
    place = np.minimum(np.searchsorted(present, cell), max(present.size - 1, 0))
    members = np.where(present[place] == cell, count[place], 0) if present.size else np.zeros(cell.size, np.int64)
    owner = panels.attribute[group]
    # The last of its group removes a different one.
    key = item * max(panels.n_attributes, 1) + owner
    attributes = np.append(panels.attribute, 0)
    distinct, several = np.unique(
        present // size * max(panels.n_attributes, 1) + attributes[present % size], return_counts=True
    )
    spot = np.minimum(np.searchsorted(distinct, key), max(distinct.size - 1, 0))
    kinds = np.where(distinct[spot] == key, several[spot], 0) if distinct.size else np.zeros(key.size, np.int64)
    needed = panels.different[item, owner]
    single = (members == 1) & (kinds <= needed) & (needed > 0)
    rewarded = panels.reward[item, owner] > 0
    leaves = (members <= panels.least[item, group]) | (rewarded & (members == 1)) | single
    comes = (members >= panels.most[item, group]) | (rewarded & (members == 0))
    held = np.zeros(problem.item.size, np.bool_)
    held[pair[np.where(on, leaves, comes)]] = True
    return held | (problem.rivals.count_among(chosen) > 0)


# Rivals that are both assigned are separated: one of each couple is barred, and the flow solved anew.

#: Rounds of barring, and of letting pairs back in.
SEPARATING_ROUNDS = 50
RETURNS = 3


def separate(problem: Problem, best: BoolArray, cost: IntArray, flow: Flow) -> tuple[BoolArray | None, BoolArray]:
    """Return the optimum of a flow without couples of rivals, None if not found, and the pairs barred for it.

    Of each couple the pair that loses less is barred, until there are none. Then barred pairs that no rival keeps out
    come back in, if reduced costs promise a gain.
    """
    rivals = problem.rivals
    barred = np.zeros(best.size, np.bool_)
    chosen: BoolArray | None = best
    apart: tuple[BoolArray | None, BoolArray] = None, barred
    returns = 0
    for _ in range(SEPARATING_ROUNDS):
        if chosen is None:
            break
        couples = rivals.couples_among(chosen)
        # Reduced costs at the optimum bound the loss of each pair, here for each couple that it belongs to.
        net = problem.network(chosen)
        settle(net, cost, barred | depending(problem, chosen), exact=True)
        reduced = cost + net.potential[net.item] - net.potential[problem.n_items + net.reviewer]
        if not couples.size:
            if apart[0] is None or cost[chosen].sum() < cost[apart[0]].sum():
                apart = chosen, barred.copy()
            returning = barred & (rivals.count_among(chosen) == 0) & (reduced < 0)
            returns += 1
            if returns > RETURNS or not returning.any():
                break
            barred = barred & ~returning
            chosen = flow(cost, barred)
            continue
        loss = np.maximum(-reduced, 0) / np.maximum(np.bincount(couples.ravel(), minlength=cost.size), 1)
        barred[couples[np.arange(len(couples)), np.argmin(loss[couples], axis=1)]] = True
        chosen = flow(cost, barred)
    return apart


#: Maximum number of pairs for programmes over all papers, and their work.
MOST_PAIRS = 600_000
BEST_WORK = 10.0


class PanelSolution(NamedTuple):
    """The best assignment found under the rules."""

    chosen: BoolArray | None  # its pairs, shape (P,), or None if there is none, or none was found
    proved: bool  # whether ``chosen`` is proved to be the best, or None
    bound: float  # upper bound on affinity and rewards of any assignment
    by_flow: bool = False  # whether it is the optimum of a flow, up to the last bit of its costs
    barred: BoolArray | None = None  # pairs that this flow excludes, shape (P,), so that no rivals are together


def kept_by(problem: Problem, assigned: BoolArray, solution: PanelSolution, bound: float) -> Kept:
    """Return where an assignment keeps each rule, the affinity under all of them, and the bound."""
    n_bound = int(np.count_nonzero(problem.bound))
    rules = []
    for rule, attribute in zip(problem.ruled.rules, problem.ruled.attributes, strict=True):
        papers = n_bound
        earned = None
        if rule.terms(attribute).reward.any():
            alone = replace(problem, ruled=ruled_by([(rule, attribute)], problem.n_reviewers, problem.n_items))
            item, group, _ = presence(alone, assigned)
            cells = np.unique((item * alone.panels.n_groups + group)[problem.bound[item]])
            papers = int(np.unique(cells // max(alone.panels.n_groups, 1)).size)
            earned = int(cells.size)
        rules.append(KeptRule(rule.text, rule.words(attribute), papers, earned))
    return Kept(tuple(rules), within_rules(problem, assigned, solution), rewards(problem, assigned), bound)


def within_rules(problem: Problem, assigned: BoolArray, solution: PanelSolution) -> float:
    """Return the affinity of the best assignment found under the rules, of the assigned pairs if there is none."""
    best = assigned & ~problem.old if solution.chosen is None else solution.chosen
    return math.fsum(problem.affinity[best].tolist())


def routes_of(problem: Problem) -> Routes:
    """Return a route through the flow for each attribute that has one, unless counting rules it out."""
    laid = {attribute: route_of(problem, attribute) for attribute in partitions(problem)}
    return {attribute: route for attribute, route in laid.items() if route is not None}


def scale_of(problem: Problem, routes: Routes, worth: FloatArray) -> float:
    """Return the rounding steps per unit of worth, shape (P,), that leave room for all nodes of the flow."""
    nodes = max((route.n_nodes for route in routes.values()), default=0) + problem.n_items + problem.n_reviewers + 1
    largest = max(float(np.abs(worth).max(initial=0.0)), float(problem.panels.reward.max(initial=0.0)))
    return cost_scale(largest, nodes)


def best_panels(
    problem: Problem, best: BoolArray, routes: Routes, cost: IntArray, scale: float, clock: Clock
) -> PanelSolution:
    """Find the best assignment that obeys the rules, from the best one without them.

    1. If that obeys them and nothing is rewarded, it is the best.
    2. The flow through the nodes of one attribute: if that obeys all rules, it is the best; else it is a bound.
    3. The same flow with one of each couple of rivals barred.
    4. Integer programmes over all papers; where these take too much work, over the papers whose panels break a rule.
    """
    if crowded_items(problem, problem.given).size:
        return PanelSolution(None, True, -math.inf)
    # 1. The optimum without rules.
    rewarded = problem.panels.reward.any(axis=0)
    plain = objective(problem, best)
    if not rewarded.any() and not broken_items(problem, best).size:
        return PanelSolution(best, True, plain, by_flow=True)
    start = best
    bound = plain if not rewarded.any() else math.inf
    flow: Flow = partial(unrouted, problem)
    # 2. The flow of each attribute that has a route.
    for attribute, route in routes.items():
        bonus = whole(problem.panels.reward[:, attribute], scale)
        chosen = routed(problem, route, bonus, cost)
        if chosen is None or np.delete(rewarded, attribute).any():
            start = start if chosen is None else chosen
            continue
        value = objective(problem, chosen)
        if not broken_items(problem, chosen).size:
            return PanelSolution(chosen, True, value, by_flow=True)
        if value < bound:
            start = chosen
            bound = value
            flow = partial(routed, problem, route, bonus)
    apart: BoolArray | None = None
    barred: BoolArray | None = None
    if problem.rivals.couples_among(start).size:
        apart, barred = separate(problem, start, cost, flow)
    solution = PanelSolution(start if apart is None else apart, False, bound, apart is not None, barred)
    return by_programmes(problem, solution, clock)


def by_programmes(problem: Problem, start: PanelSolution, clock: Clock) -> PanelSolution:
    """Solve for the best assignment over all papers, or repair the panels that break a rule."""
    exact = _over_all(problem, start, clock) if problem.item.size <= MOST_PAIRS else None
    # An assignment that breaks no rule needs no repair, and stands unless a better one is found.
    chosen = start.chosen
    by_flow = start.by_flow
    if chosen is not None and broken_items(problem, chosen).size:
        repaired = repair(problem, chosen, clock) if exact is None or exact.chosen is None else exact
        chosen = repaired.chosen
        by_flow = False
        if chosen is None:
            return PanelSolution(None, repaired.proved, start.bound)
    if exact is not None and exact.chosen is not None and chosen is not None:
        better = objective(problem, exact.chosen) > objective(problem, chosen)
        chosen, by_flow = (exact.chosen, False) if better else (chosen, by_flow)
    if chosen is None:
        return PanelSolution(None, False, start.bound)
    # A bound below the value of the assignment is wrong, whichever solver reports it.
    value = objective(problem, chosen)
    bound = start.bound
    if exact is not None and value - tolerance(value) <= exact.bound < bound:
        bound = exact.bound
    return start._replace(
        chosen=chosen, proved=bound - value <= tolerance(value), bound=max(bound, value), by_flow=by_flow
    )


def _over_all(problem: Problem, start: PanelSolution, clock: Clock) -> PanelSolution | None:
    """Solve the programme over all papers, as far as the work allows; None where counting rules it out.

    Where rivals are too many to be written down, they get rows once they come up; the bound is valid all the same.
    """
    programme = programme_of(problem, problem.given, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return None
    first = np.ones(programme.value.size, np.bool_)
    first[: programme.pairs.size] = (problem.given if start.chosen is None else start.chosen)[programme.pairs]
    # Given pairs are no columns.
    beside = objective(problem, problem.given)
    bound = math.inf
    effort = clock.effort(BEST_WORK)
    while True:
        solution = best_columns(programme, problem.item[programme.pairs], first, effort)
        bound = min(bound, solution.bound + beside)
        if solution.picked is None:
            return PanelSolution(None, False, bound)
        chosen = programme.assigned(solution.picked, problem.given)
        couples = problem.rivals.couples_among(chosen)
        if not couples.size:
            return PanelSolution(chosen, False, bound)
        if effort.over():
            return PanelSolution(None, False, bound)
        programme = programme.under(rival_rows(programme.pairs, couples))


# The fewest pairs of the kinds to be minimised first, and the most affinity among the assignments with no more of them.


class Settled(NamedTuple):
    """A problem with weights that put its concerns in order."""

    problem: Problem  # with these weights, so that its worth is the objective
    # cost, scale: the worth in whole units, shape (P,), and the rounding steps per unit of it
    cost: IntArray
    scale: float
    best: BoolArray  # the assignment of most worth, shape (P,)
    fewest: tuple[int, ...]  # the minimum number of pairs of each kind


def fewest_first(problem: Problem, concerns: Concerns, routes: Routes, seed: int) -> Settled:
    """Find the assignment of most worth within demands and loads, where there is one.

    1. A flow of whole costs, in which a pair of one kind costs more than all reviews of the next can: the fewest pairs
       of the first kind, and of the second among the assignments that have no more of the first.
    2. A flow of worths. If it has the same number of pairs of each kind, it has the most affinity of all that do,
       because the weights then subtract the same from all of them. Otherwise the weight that was too small is
       increased, with those before it, and the flow solved again.

    Weights above the number of reviews times the range of affinities always suffice, so it ends; the first ones
    usually do. ``routes`` are nodes of later flows, for which costs have fewer bits.
    """
    rarest = _flow(problem, concerns.ranks(int(problem.demand.sum())))
    fewest = concerns.counts(rarest)
    while True:
        scale = scale_of(problem, routes, problem.worth)
        cost = whole_costs(problem.worth, seed, scale)
        best = _flow(problem, cost)
        counts = concerns.counts(best)
        if counts == fewest:
            return Settled(problem, cost, scale, best, fewest)
        wrong = next(place for place, pair in enumerate(zip(counts, fewest, strict=True)) if pair[0] != pair[1])
        weights = (weight * (AHEAD if place <= wrong else 1.0) for place, weight in enumerate(problem.weights))
        problem = replace(problem, weights=tuple(weights))


def _flow(problem: Problem, cost: IntArray) -> BoolArray:
    chosen = unrouted(problem, cost)
    if chosen is None:
        message = "there was an assignment, and by other costs there is none"
        raise InternalError(message)
    return chosen


# Demands that can be met, where the given ones cannot.
#
# .. math::
#     \min \sum_i \sum_{k \le s_i} (B k) - \sum_p a_p z_p \quad \text{subject to} \quad
#     \sum_{p \ni i} z_p + s_i = d_i, \quad l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}
#
# for the reviews s_i that item i lacks, and B above all affinity that an exchange can gain. Served demands are the
# independent vectors of a polymatroid, so the total lack is minimal; of these solutions it is one that spreads the lack
# evenly: the largest lack is as small as can be, then the next largest; and of those one of most affinity.


def smallest_load(problem: Problem, reviewers: BoolArray) -> tuple[int, bool]:
    """Return the smallest load of ``reviewers``, shape (M,), with which as many demands are met as with any.

    Returned is also whether that are all of them. The loads of these reviewers in the problem are unlimited. Rules on
    who reviews together and minimum loads are not considered.
    """
    free = np.flatnonzero(~problem.given)
    need = np.maximum(problem.open_demand(), 0)
    room = np.maximum(problem.open_loads()[0], 0)
    # Reviews of a first phase come on top of loads.
    old, new = (
        np.bincount(problem.reviewer[some], minlength=problem.n_reviewers)
        for some in (problem.old, problem.given & ~problem.old)
    )

    def met(load: int) -> int:
        capped = np.where(reviewers, np.maximum(np.maximum(load, problem.least - old) - new, 0), room)
        # Nobody reviews more papers than there are, and no paper has more reviewers than there are.
        within = np.minimum(need, problem.n_reviewers)
        return most_given(problem.item[free], problem.reviewer[free], within, np.minimum(capped, problem.n_items))

    wanted = int(need.sum())
    elsewhere = int(room[~reviewers].sum())
    high = problem.n_items
    low = min(max(-(-(wanted - elsewhere) // max(int(reviewers.sum()), 1)), 0), high)
    if met(low) == wanted:
        return low, True
    most = met(high)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) == most else (middle, high)
    return high, most == wanted


def missing_reviews(problem: Problem) -> IntArray | None:
    """Return the reviews that items lack when most demands are met, shape (N,); None where no loads can be kept.

    Respects conflicts, loads, fixed pairs and the limits of one rule on values of which no reviewer has two; other
    rules are left to the assignment by the lowered demands. Takes the time of a minimum-cost flow.
    """
    load, least = problem.open_loads()
    free = np.flatnonzero(~problem.given)
    via = _limits(problem)
    # What a paper lacks whatever is assigned, since it needs more reviewers than there are, comes on top.
    demand = np.minimum(problem.open_demand(), problem.n_reviewers)
    beyond = problem.open_demand() - demand
    item = np.repeat(np.arange(demand.size), demand)
    k = 1 + np.arange(item.size) - np.repeat(np.cumsum(demand) - demand, demand)
    k += np.minimum(beyond, problem.n_reviewers)[item]
    # Few enough bits of affinity that B times the largest lack stays within the range of the solver.
    nodes = demand.size + load.size + 2 + (0 if via is None else via.item.size)
    bits = min(SOLVER_BITS - 2 * nodes.bit_length() - int(k.max(initial=1)).bit_length() - 4, AFFINITY_BITS)
    bits = max(bits, 1)
    worth = problem.affinity[free]
    step = 1 << (bits + nodes.bit_length() + 1)
    scale = 2.0**bits / (float(np.abs(worth).max(initial=0.0)) or 1.0)
    arcs = Arcs(
        np.concatenate([problem.item[free], item]),
        np.concatenate([problem.reviewer[free], np.full(item.size, load.size)]),
        np.concatenate([-np.rint(worth * scale).astype(np.int64), step * k]),
        np.ones(free.size + item.size, np.int64),
    )
    if via is not None:
        via = via._replace(node=np.concatenate([via.node, np.full(item.size, -1)]))
    flow = cheapest_flow(arcs, demand, np.append(load, item.size), np.append(least, 0), via)
    return None if flow is None else beyond + np.bincount(item[flow[free.size :] > 0], minlength=demand.size)


def _limits(problem: Problem) -> Via | None:
    """Return the nodes of a rule that only limits the reviewers of a value; None where there is none."""
    for attribute in partitions(problem):
        mine = problem.panels.attribute == attribute
        if problem.panels.least[:, mine].any() or problem.panels.different[:, attribute].any():
            continue
        route = route_of(problem, attribute)
        if route is not None and route.via.item.size:
            return route.via._replace(bonus=np.zeros_like(route.via.bonus))
    return None
