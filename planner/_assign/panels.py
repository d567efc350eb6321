"""The best assignment under the rules on panels, before any level: by the flow, or else by integer programmes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from planner._assign.findings import Kept, KeptRule
from planner._assign.flow import (
    AFFINITY_BITS,
    SOLVER_BITS,
    TIE_BITS,
    Arcs,
    Via,
    cheapest_assignment,
    cheapest_flow,
    cost_scale,
    settle_potentials,
    whole,
    whole_costs,
)
from planner._assign.panel_programme import (
    ERROR,
    best_columns,
    broken_items,
    crowded_items,
    objective,
    presence,
    programme_of,
    repair,
    rewards,
    rival_rows,
)
from planner._assign.problem import AHEAD
from planner.errors import InternalError
from planner.rules import ruled_by

if TYPE_CHECKING:
    from planner._assign.problem import Concerns, Network, Problem
    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph._base.clock import Clock


# The rules on one attribute as nodes of the flow, where nobody has two values of it.


class Route(NamedTuple):
    """Nodes between papers and the panel groups of one attribute.

    Parameters
    ----------
    free
        The pairs that may be assigned or not, shape (A,).
    via
        The nodes, with a bonus of 1 where one is due.
    alone
        Pairs that earn a reward by themselves, shape (A,): nobody else could bring the value.
    """

    free: IntArray
    via: Via
    alone: BoolArray

    @property
    def n_nodes(self) -> int:
        """Nodes that the rules add."""
        return int(self.via.item.size + (0 if self.via.spare is None else np.count_nonzero(self.via.spare >= 0)))


if TYPE_CHECKING:
    Routes = dict[int, Route]


def partitions(problem: Problem) -> list[int]:
    """Attributes of which nobody has two values that matter."""
    panels = problem.panels
    owner, size = np.repeat(np.arange(problem.n_reviewers), np.diff(panels.start)), max(panels.different.size, 1)
    key, count = np.unique(owner * size + panels.attribute[panels.group], return_counts=True)
    single: list[int] = np.setdiff1d(np.arange(panels.different.size), key[count > 1] % size).tolist()
    return single


def route_of(problem: Problem, attribute: int) -> Route | None:
    """Lay nodes where a limit could bite or a reward is due; None where too few pairs could do what is asked.

    Units to a group of which a paper needs some, or that are more than the paper may take of it, must pass one node.
    Where different groups are asked for, so many units at most are no first ones of their group.
    """
    panels, free = problem.panels, np.flatnonzero(~problem.given)
    size, ours = max(panels.n_groups, 1), np.flatnonzero(panels.attribute == attribute)
    arc, cell = _cells(problem, free, attribute)
    cells, number, n_arcs = np.unique(cell, return_inverse=True, return_counts=True)
    standing = np.sort(_cells(problem, np.flatnonzero(problem.given), attribute)[1])
    have = np.searchsorted(standing, cells, "right") - np.searchsorted(standing, cells)
    group, place = cells % size, cells // size
    # What each paper lacks of groups, and of different groups.
    for g in ours[panels.least[ours] > 0].tolist():
        could = np.bincount(place[group == g], (n_arcs + have)[group == g], problem.n_items)
        there = np.bincount(standing[standing % size == g] // size, minlength=problem.n_items)
        if (problem.bound & (np.maximum(could, there) < panels.least[g])).any():
            return None
    lack = panels.different[attribute] - np.bincount(np.unique(standing) // size, minlength=problem.n_items)
    lack = np.where(problem.bound, np.maximum(lack, 0), 0)
    low, room = np.maximum(panels.least[group] - have, 0), np.maximum(panels.most[group] - have, 0)
    fresh, due = have == 0, (have == 0) & (panels.reward[attribute] > 0)
    node = (room < n_arcs) | (low > 0) | (due & (n_arcs > 1)) | ((lack[place] > 0) & fresh)
    code = np.where(node, np.cumsum(node) - 1, -1)
    through, alone = np.full(free.size, -1), np.zeros(free.size, np.bool_)
    through[arc] = code[number]
    alone[arc] = (due & ~node)[number]
    # Units that nodes pass on beforehand are no first ones beyond one each.
    spare = np.where(lack > 0, problem.open_demand() - lack, -1)
    beyond = np.bincount(place, np.maximum(low - fresh, 0), problem.n_items).astype(np.int64)
    if (lack > problem.open_demand()).any() or (beyond > spare)[lack > 0].any():
        return None
    spare = np.where(lack > 0, spare - beyond, -1)
    via = Via(through, place[node], low[node], np.minimum(room, n_arcs)[node], due[node].astype(np.int64))
    return Route(free, via._replace(spare=spare if (lack > 0).any() else None, fresh=fresh[node]), alone)


def _cells(problem: Problem, pairs: IntArray, attribute: int) -> tuple[IntArray, IntArray]:
    """Memberships of pairs on bound papers in groups of an attribute: place of the pair, and item * G + group."""
    place, group = problem.panels.of(problem.reviewer[pairs])
    mine = problem.bound[problem.item[pairs[place]]] & (problem.panels.attribute[group] == attribute)
    return place[mine], (problem.item[pairs[place]] * max(problem.panels.n_groups, 1) + group)[mine]


def unrouted(problem: Problem, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
    """Return the best assignment within demands and loads, without the pairs that are barred; None if there is none."""
    closed = problem.given if barred is None else problem.given | barred
    free, (load, least) = np.flatnonzero(~closed), problem.open_loads()
    found = cheapest_assignment(
        problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
    )
    if found is None:
        return None
    chosen = problem.given.copy()
    chosen[free[found]] = True
    return chosen


def routed(
    problem: Problem, route: Route, bonus: int, cost: IntArray, barred: BoolArray | None = None
) -> BoolArray | None:
    """Return the best assignment within demands, loads and the rules of the route; None where there is none.

    Without the pairs that are barred, by default none.
    """
    kept = np.ones(route.free.size, np.bool_) if barred is None else ~barred[route.free]
    free = route.free[kept]
    via = route.via._replace(bonus=route.via.bonus * bonus, node=route.via.node[kept])
    return through(problem, free, cost[free] - np.where(route.alone[kept], bonus, 0), via)


def through(problem: Problem, free: IntArray, cost: IntArray, via: Via) -> BoolArray | None:
    """Return the best assignment by free pairs, at a cost each, by way of some nodes; None if there is none."""
    load, least = problem.open_loads()
    arcs = Arcs(problem.item[free], problem.reviewer[free], cost, np.ones(free.size, np.int64))
    flow = cheapest_flow(arcs, problem.open_demand(), load, least, via)
    if flow is None:
        return None
    chosen = problem.given.copy()
    chosen[free[flow > 0]] = True
    return chosen


# Potentials for an assignment that is the best under rules on panels.

#: Passes over all pairs until the search for potentials gives up.
PASSES = 1_000

#: What a pair may cost less than its reduced cost says where no flow found the assignment: rounding and ties.
SLACK = 2 << TIE_BITS


def settle(net: Network, cost: IntArray, held: BoolArray, *, exact: bool) -> bool:
    """Find potentials with which reduced costs are not negative but for pairs that are held; false if there are none.

    Pairs are held where what they cost, or whether they may change, depends on who else is on the panel: without them a
    cycle changes each panel once at most and breaks no rule, so at the best assignment none gains. Where it is not
    ``exact`` the best, up to the last bit, reduced costs may be negative by a little.
    """
    locked = net.locked.copy()
    net.locked[held] = True
    settled = settle_potentials(net, cost if exact else cost + np.where(net.assigned, -SLACK, SLACK), PASSES)
    net.locked[:] = locked
    return settled


def depending(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Pairs whose coming or going breaks a rule, gains a reward or loses one, unless something else happens there."""
    panels, size = problem.panels, max(problem.panels.n_groups, 1)
    pair, group = panels.of(problem.reviewer)
    mine = problem.bound[problem.item[pair]]
    pair, group = pair[mine], group[mine]
    cell, on = problem.item[pair] * size + group, chosen[pair]
    present, count = np.unique(cell[on], return_counts=True)
    place = np.minimum(np.searchsorted(present, cell), max(present.size - 1, 0))
    there = np.where(present[place] == cell, count[place], 0) if present.size else np.zeros(cell.size, np.int64)
    owner = panels.attribute[group]
    # The last of its group takes away a different one.
    key = problem.item[pair] * max(panels.different.size, 1) + owner
    attributes = np.append(panels.attribute, 0)
    distinct, several = np.unique(
        present // size * max(panels.different.size, 1) + attributes[present % size], return_counts=True
    )
    spot = np.minimum(np.searchsorted(distinct, key), max(distinct.size - 1, 0))
    kinds = np.where(distinct[spot] == key, several[spot], 0) if distinct.size else np.zeros(key.size, np.int64)
    single = (there == 1) & (kinds <= panels.different[owner]) & (panels.different[owner] > 0)
    rewarded = panels.reward[owner] > 0
    leaves = (there <= panels.least[group]) | (rewarded & (there == 1)) | single
    comes = (there >= panels.most[group]) | (rewarded & (there == 0))
    held = np.zeros(problem.item.size, np.bool_)
    held[pair[np.where(on, leaves, comes)]] = True
    return held | (problem.rivals.count_among(chosen) > 0)


# Take rivals apart that are both assigned: one of each couple is barred and the flow solved anew; and a bound on that.
#
# What it must cost is bounded by prices (Lagrangian relaxation): each couple {x, y} gets a price that both pairs pay
# and
# that is paid back once. An assignment without couples then loses nothing by the prices, so the best one of all,
# couples
# or not, is worth as much at least. The prices follow the subgradient, by Polyak's steps.

#: Rounds of barring, and of letting pairs back in.
SEPARATING_ROUNDS, RETURNS = 50, 3

#: Flows that the bound takes at most, and pairs that they take together beyond the first few.
SEPARATING_STEPS, FEWEST, WORK = 60, 4, 6_000_000


class Flow(Protocol):
    """The best assignment at given costs without the pairs that are barred, or None; all but rivals is obeyed."""

    def __call__(self, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
        """Solve the flow."""


class Separated(NamedTuple):
    """An assignment without couples, None where none was found; pairs kept out for that, and couples met."""

    chosen: BoolArray | None
    barred: BoolArray
    met: IntArray


def separate(problem: Problem, best: BoolArray, cost: IntArray, flow: Flow, clock: Clock) -> Separated:
    """Bar one pair of each couple, the one that loses less, and solve the flow again, until no couple is left.

    Then barred pairs that no rival keeps out come back in, where reduced costs say that they would gain.
    """
    barred = np.zeros(best.size, np.bool_)
    found = _without_couples(problem, best, barred, cost, flow)
    for _ in range(RETURNS):
        if found.chosen is None or clock.over():
            break
        returning = found.barred & (problem.rivals.count_among(found.chosen) == 0)
        returning &= _reduced(problem, found.chosen, found.barred, cost) < 0
        if not returning.any():
            break
        barred = found.barred & ~returning
        again = _without_couples(problem, flow(cost, barred), barred, cost, flow)
        found = found._replace(met=np.concatenate([found.met, again.met]))
        if again.chosen is None or cost[again.chosen].sum() >= cost[found.chosen].sum():
            break
        found = again._replace(met=found.met)
    return found._replace(met=np.unique(found.met, axis=0))


def _without_couples(
    problem: Problem, chosen: BoolArray | None, barred: BoolArray, cost: IntArray, flow: Flow
) -> Separated:
    """Bar one of each couple, and again; barred pairs stay out, so it ends."""
    rivals, barred, met = problem.rivals, barred.copy(), [np.empty((0, 2), np.int64)]
    for _ in range(SEPARATING_ROUNDS):
        couples = np.empty((0, 2), np.int64) if chosen is None else rivals.couples_among(chosen)
        if chosen is None or not couples.size:
            break
        met.append(couples)
        # Of each couple the one that loses less, for each couple that it is in.
        loss = np.maximum(-_reduced(problem, chosen, barred, cost), 0)
        share = loss / np.maximum(np.bincount(couples.ravel(), minlength=loss.size), 1)
        barred[couples[np.arange(len(couples)), np.argmin(share[couples], axis=1)]] = True
        chosen = flow(cost, barred)
    apart = chosen is not None and not rivals.couples_among(chosen).size
    return Separated(chosen if apart else None, barred, np.concatenate(met))


def _reduced(problem: Problem, chosen: BoolArray, barred: BoolArray, cost: IntArray) -> IntArray:
    """Reduced costs at the best assignment without the barred pairs: what taking each pair loses at least."""
    net = problem.network(chosen)
    settle(net, cost, barred | depending(problem, chosen), exact=True)
    reduced: IntArray = cost + net.potential[net.item] - net.potential[problem.n_items + net.reviewer]
    return reduced


def most_without_couples(
    problem: Problem, flow: Flow, scale: float, value: float, bound: float, clock: Clock
) -> tuple[float, IntArray]:
    """Bound affinity and rewards of all assignments without couples from above, by prices.

    Parameters
    ----------
    problem
        What must hold.
    flow
        The best assignment at given costs.
    scale
        Steps of rounding in a unit of affinity.
    value
        What an assignment without couples is worth.
    bound
        What is known to be a bound.
    clock
        When to stop.

    Returns
    -------
    tuple
        The bound, and the couples that were met.
    """
    price, couples = np.zeros(0), np.empty((0, 2), np.int64)
    slack = 4 * int(problem.demand.sum()) / scale if scale > 0 else 0.0
    for step in range(SEPARATING_STEPS):
        if clock.over() or bound - value <= slack or (step >= FEWEST and step * problem.item.size > WORK):
            break
        worth = problem.worth.copy()
        np.subtract.at(worth, couples.ravel(), np.repeat(price, 2))
        chosen = flow(-whole(worth, scale))
        if chosen is None:
            break
        now = math.fsum(worth[chosen].tolist()) + rewards(problem, chosen) + math.fsum(price.tolist()) + slack
        bound = min(bound, now)
        # Polyak's step along what each couple has too much; couples that were met first start at price zero.
        couples, price = _met(couples, price, problem.rivals.couples_among(chosen), problem.item.size)
        excess = chosen[couples].sum(axis=1) - 1.0
        excess[(price == 0) & (excess < 0)] = 0.0
        norm = float(excess @ excess)
        if norm == 0:
            break
        price = np.maximum(price + (now - value) / norm * excess, 0.0)
    return bound, couples


def _met(couples: IntArray, price: FloatArray, new: IntArray, size: int) -> tuple[IntArray, FloatArray]:
    """Add couples that were not met yet, at price zero."""
    fresh = new[~np.isin(new[:, 0] * size + new[:, 1], couples[:, 0] * size + couples[:, 1])]
    return np.concatenate([couples, fresh]), np.concatenate([price, np.zeros(len(fresh))])


#: Pairs up to which programmes over all papers are tried, and work that they get.
MOST_PAIRS, BEST_WORK = 600_000, 10.0


class Teams(NamedTuple):
    """The best assignment under rules that was found.

    Parameters
    ----------
    chosen
        Its pairs, shape (P,), or None where there is none, or none was found.
    proved
        That ``chosen`` is the best, or that there is none.
    bound
        What affinity and rewards are at most, whatever the assignment.
    by_flow
        Whether it is the optimum of a flow, up to the last bit of its costs.
    barred
        Pairs that this flow does without, shape (P,), so that no rivals are together; None where there are none.
    met
        Couples of rivals that came up on the way, shape (K, 2).
    """

    chosen: BoolArray | None
    proved: bool
    bound: float
    by_flow: bool = False
    barred: BoolArray | None = None
    met: IntArray = np.empty((0, 2), np.int64)


def kept_by(problem: Problem, assigned: BoolArray, teams: Teams, bound: float) -> Kept:
    """Say of each rule where an assignment keeps it, what all of them cost, and what bounds affinity and rewards."""
    n_bound, rules = int(np.count_nonzero(problem.bound)), []
    for rule, attribute in zip(problem.ruled.rules, problem.ruled.attributes, strict=True):
        papers, earned = n_bound, None
        if rule.terms(attribute).reward > 0:
            alone = replace(problem, ruled=ruled_by([(rule, attribute)], problem.n_reviewers))
            item, group, _ = presence(alone, assigned)
            cells = np.unique((item * alone.panels.n_groups + group)[problem.bound[item]])
            papers, earned = int(np.unique(cells // max(alone.panels.n_groups, 1)).size), int(cells.size)
        rules.append(KeptRule(rule.text, rule.words(attribute), papers, earned))
    return Kept(tuple(rules), within_rules(problem, assigned, teams), rewards(problem, assigned), bound)


def within_rules(problem: Problem, assigned: BoolArray, teams: Teams) -> float:
    """Return the affinity of the best assignment found under the rules, of what is assigned where none was kept."""
    best = assigned & ~problem.old if teams.chosen is None else teams.chosen
    return math.fsum(problem.affinity[best].tolist())


def routes_of(problem: Problem) -> Routes:
    """Lay a route through the flow for each attribute that has one; without those that counting shows to be in vain."""
    laid = {attribute: route_of(problem, attribute) for attribute in partitions(problem)}
    return {attribute: route for attribute, route in laid.items() if route is not None}


def scale_of(problem: Problem, routes: Routes, worth: FloatArray) -> float:
    """Return the steps of rounding in a unit of worth, shape (P,), that leave room for all nodes of the flow."""
    nodes = max((route.n_nodes for route in routes.values()), default=0) + problem.n_items + problem.n_reviewers + 1
    largest = max(float(np.abs(worth).max(initial=0.0)), float(problem.panels.reward.max(initial=0.0)))
    return cost_scale(largest, nodes)


def best_teams(problem: Problem, best: BoolArray, routes: Routes, cost: IntArray, scale: float, clock: Clock) -> Teams:
    """Find the best assignment that obeys the rules, from the best one without them.

    1. Where that obeys them and nothing is rewarded, it is the best.
    2. The flow by way of the nodes of one attribute: where that obeys all rules, it is the best; else it is a bound.
    3. The same flow with one of each couple of rivals barred, and its bound by prices.
    4. Integer programmes over all papers; where these take too much work, over the papers whose panels break a rule.
    """
    if crowded_items(problem, problem.given).size:
        return Teams(None, True, -math.inf)
    rewarded = problem.panels.reward > 0
    plain = objective(problem, best)
    if not rewarded.any() and not broken_items(problem, best).size:
        return Teams(best, True, plain, by_flow=True)
    start, bound = best, plain if not rewarded.any() else math.inf
    flow: Flow = partial(unrouted, problem)
    for attribute, route in routes.items():
        bonus = int(whole(problem.panels.reward[attribute : attribute + 1], scale)[0])
        found = routed(problem, route, bonus, cost)
        if found is None or np.delete(rewarded, attribute).any():
            start = start if found is None else found
            continue
        value = objective(problem, found)
        if not broken_items(problem, found).size:
            return Teams(found, True, value, by_flow=True)
        if value < bound:
            start, bound, flow = found, value, partial(routed, problem, route, bonus)
    apart = _apart(problem, Teams(start, False, bound), flow, cost, scale, clock)
    if _proved(problem, apart):
        return apart._replace(proved=True)
    return _by_programmes(problem, apart, clock)


def _apart(problem: Problem, start: Teams, flow: Flow, cost: IntArray, scale: float, clock: Clock) -> Teams:
    """Take rivals apart along the flow, which must know all that is rewarded for its bound to hold."""
    if start.chosen is None or not problem.rivals.couples_among(start.chosen).size:
        return start
    found = separate(problem, start.chosen, cost, flow, clock)
    if found.chosen is None:
        return start._replace(barred=found.barred, met=found.met)
    value = objective(problem, found.chosen)
    bound, met = start.bound, np.empty((0, 2), np.int64)
    if math.isfinite(bound):
        bound, met = most_without_couples(problem, flow, scale, value, bound, clock)
    met = np.unique(np.concatenate([found.met, met]), axis=0)
    return Teams(found.chosen, False, bound, by_flow=True, barred=found.barred, met=met)


def _proved(problem: Problem, found: Teams) -> bool:
    """Whether an assignment breaks nothing and is worth what the bound says."""
    if found.chosen is None or not math.isfinite(found.bound) or broken_items(problem, found.chosen).size:
        return False
    return found.bound - objective(problem, found.chosen) <= _error(found.bound)


def _error(value: float) -> float:
    return ERROR * max(abs(value), 1.0)


def _by_programmes(problem: Problem, start: Teams, clock: Clock) -> Teams:
    """Look for the best assignment over all papers, or mend the panels that break a rule."""
    exact = _over_all(problem, start, clock) if problem.item.size <= MOST_PAIRS else None
    # What breaks no rule need not be mended, and stands where nothing better is found.
    chosen, by_flow = start.chosen, start.by_flow
    if chosen is not None and broken_items(problem, chosen).size:
        mended = repair(problem, chosen, clock) if exact is None or exact.chosen is None else exact
        chosen, by_flow = mended.chosen, False
        if chosen is None:
            return Teams(None, mended.proved, start.bound)
    if exact is not None and exact.chosen is not None and chosen is not None:
        better = objective(problem, exact.chosen) > objective(problem, chosen)
        chosen, by_flow = (exact.chosen, False) if better else (chosen, by_flow)
    if chosen is None:
        return Teams(None, False, start.bound)
    # A bound below what was found is wrong, whoever says it.
    value, bound = objective(problem, chosen), start.bound
    if exact is not None and value - _error(value) <= exact.bound < bound:
        bound = exact.bound
    return start._replace(
        chosen=chosen, proved=bound - value <= _error(value), bound=max(bound, value), by_flow=by_flow
    )


def _over_all(problem: Problem, start: Teams, clock: Clock) -> Teams | None:
    """Solve the programme over all papers, as far as the work allows; None where counting shows that nothing obeys it.

    Where rivals are too many to be written down, they get rows once they come up; the bound holds all the same.
    """
    programme = programme_of(problem, problem.given, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return None
    first = np.ones(programme.value.size, np.bool_)
    first[: programme.pairs.size] = (problem.given if start.chosen is None else start.chosen)[programme.pairs]
    # What stands already is no column.
    beside, bound = objective(problem, problem.given), math.inf
    effort, couples = clock.effort(BEST_WORK), start.met
    while True:
        rows = rival_rows(programme.pairs, couples)
        programme = programme._replace(rows=(*programme.rows, rows) if rows.low.size else programme.rows)
        found = best_columns(programme, problem.item[programme.pairs], first, effort)
        bound = min(bound, found.bound + beside)
        if found.picked is None:
            return Teams(None, False, bound)
        chosen = problem.given.copy()
        chosen[programme.pairs] = found.picked[: programme.pairs.size]
        couples = problem.rivals.couples_among(chosen)
        if not couples.size:
            return Teams(chosen, False, bound)
        if effort.over():
            return Teams(None, False, bound)


# Fewest pairs of the kinds that are to be few, and most affinity among the assignments that have no more of them.


class Settled(NamedTuple):
    """A problem with weights that put its concerns in order.

    Parameters
    ----------
    problem
        With these weights, so that its worth is what to maximise.
    cost, scale
        The worth in whole units, shape (P,), and the steps of rounding in one unit of it.
    best
        The assignment of most worth, shape (P,).
    fewest
        How many pairs of each kind there must be.
    """

    problem: Problem
    cost: IntArray
    scale: float
    best: BoolArray
    fewest: tuple[int, ...]


def fewest_first(problem: Problem, concerns: Concerns, routes: Routes, seed: int) -> Settled:
    """Find the assignment of most worth within demands and loads, where there is one.

    1. A flow of whole costs, in which a pair of one kind costs more than all reviews of the next can: the fewest pairs
       of the first kind, and of the second among the assignments that have no more of the first.
    2. A flow of worths. Where it has as many pairs of each kind, it has the most affinity of all that do, because the
       weights then take the same from all of them. Else the weight that was too small is raised, with those before it.

    Weights above the number of reviews times the range of affinities are always enough, so it ends; the first ones
    usually are.

    Parameters
    ----------
    problem, concerns
        The problem, and its concerns.
    routes
        Nodes that later flows have, for whose sake costs have fewer bits.
    seed
        Breaks ties.
    """
    rarest = _flow(problem, concerns.ranks(int(problem.demand.sum())))
    fewest = concerns.counts(rarest)
    while True:
        scale = scale_of(problem, routes, problem.worth)
        cost = whole_costs(problem.worth, seed, scale)
        best = _flow(problem, cost)
        found = concerns.counts(best)
        if found == fewest:
            return Settled(problem, cost, scale, best, fewest)
        wrong = next(place for place, pair in enumerate(zip(found, fewest, strict=True)) if pair[0] != pair[1])
        weights = (weight * (AHEAD if place <= wrong else 1.0) for place, weight in enumerate(problem.weights))
        problem = replace(problem, weights=tuple(weights))


def _flow(problem: Problem, cost: IntArray) -> BoolArray:
    found = unrouted(problem, cost)
    if found is None:
        message = "there was an assignment, and by other costs there is none"
        raise InternalError(message)
    return found


# Demands that can be met, where those that were asked for cannot.
#
# .. math::
#     \min \sum_i \sum_{k \le s_i} (B k) - \sum_p a_p z_p \quad \text{subject to} \quad
#     \sum_{p \ni i} z_p + s_i = d_i, \quad l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}
#
# for what item i lacks, s_i, and B above all affinity that an exchange can gain. Served demands are the independent
# vectors of a polymatroid, so fewest reviews are missing in the end; of these solutions it is one that spreads them
# evenly: the largest lack is as small as can be, then the next largest; and of those one of most affinity.


def missing_reviews(problem: Problem) -> IntArray | None:
    """Shape (N,): reviews that items lack when as many demands as possible are met; None where no loads can be kept.

    Conflicts, loads, fixed pairs and the limits of one rule on values of which nobody has two are heeded; other rules
    are left to what assigns by the lowered demands. Takes the time of a minimum-cost flow.
    """
    demand, (load, least) = problem.open_demand(), problem.open_loads()
    free, via = np.flatnonzero(~problem.given), _limits(problem)
    item = np.repeat(np.arange(demand.size), demand)
    k = 1 + np.arange(item.size) - np.repeat(np.cumsum(demand) - demand, demand)
    # Affinities in so few bits that B times the largest lack stays within what the solver can count.
    nodes = demand.size + load.size + 2 + (0 if via is None else via.item.size)
    bits = min(SOLVER_BITS - 2 * nodes.bit_length() - int(k.max(initial=1)).bit_length() - 4, AFFINITY_BITS)
    bits = max(bits, 1)
    worth, step = problem.affinity[free], 1 << (bits + nodes.bit_length() + 1)
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
    return None if flow is None else np.bincount(item[flow[free.size :] > 0], minlength=demand.size)


def _limits(problem: Problem) -> Via | None:
    """Return the nodes of a rule that only limits the reviewers of a value; None where there is none."""
    for attribute in partitions(problem):
        mine = problem.panels.attribute == attribute
        if problem.panels.least[mine].any() or problem.panels.different[attribute]:
            continue
        route = route_of(problem, attribute)
        if route is not None and route.via.item.size:
            return route.via._replace(bonus=np.zeros_like(route.via.bonus))
    return None
