"""The best assignment under the rules on panels, before any level: by the flow, or else by integer programmes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.findings.kept import Kept, KeptRule
from planner.assignments.steps.flow import cost_scale, whole
from planner.assignments.teams.columns import ERROR, best_columns
from planner.assignments.teams.panels import broken_items, crowded_items, objective, presence, repair, rewards
from planner.assignments.teams.programme import programme_of
from planner.assignments.teams.routing import partitions, route_of, routed, unrouted
from planner.assignments.teams.rows import rival_rows
from planner.assignments.teams.separating import most_without_couples, separate
from planner.panels.groups import ruled_by

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.teams.routing import Route
    from planner.assignments.teams.separating import Flow
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

    Routes = dict[int, Route]

#: Pairs up to which programmes over all papers are tried, and work that they get.
MOST_PAIRS, MOST_WORK = 600_000, 10.0


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
    effort, couples = clock.effort(MOST_WORK), start.met
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
