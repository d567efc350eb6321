"""The best assignment under the rules on panels, before any level: by the flow, or else by integer programmes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.groups import ruled_by
from planner.assignments.model.kept import Kept, KeptRule
from planner.assignments.steps.columns import ERROR, best_columns
from planner.assignments.steps.flow import cost_scale, whole
from planner.assignments.steps.panels import broken_items, crowded_items, presence, repair
from planner.assignments.steps.programme import programme_of
from planner.assignments.steps.routing import partitions, route_of, routed
from reviewgraph.clock import Clock

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.routing import Route
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

    Routes = dict[int, Route]

#: Pairs up to which programmes over all papers are tried, and seconds that they get.
MOST_PAIRS, MOST_SECONDS = 600_000, 10.0


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
    """

    chosen: BoolArray | None
    proved: bool
    bound: float
    by_flow: bool = False


def objective(problem: Problem, chosen: BoolArray) -> float:
    """Sum up affinity and rewards of an assignment."""
    return math.fsum(problem.affinity[chosen].tolist()) + rewards(problem, chosen)


def rewards(problem: Problem, chosen: BoolArray) -> float:
    """Sum up what the different groups on the panels of an assignment are worth."""
    panels, size = problem.panels, max(problem.panels.n_groups, 1)
    item, group, _ = presence(problem, chosen)
    distinct = np.unique((item * size + group)[problem.bound[item]]) % size
    return float(np.bincount(panels.attribute[distinct], minlength=panels.reward.size) @ panels.reward)


def kept_by(problem: Problem, assigned: BoolArray, teams: Teams) -> Kept:
    """Say of each rule where an assignment keeps it, and what all of them cost."""
    n_bound, rules = int(np.count_nonzero(problem.bound)), []
    for rule, attribute in zip(problem.ruled.rules, problem.ruled.attributes, strict=True):
        papers, earned = n_bound, None
        if rule.terms(attribute).reward > 0:
            alone = replace(problem, ruled=ruled_by([(rule, attribute)], problem.n_reviewers))
            item, group, _ = presence(alone, assigned)
            cells = np.unique((item * alone.panels.n_groups + group)[problem.bound[item]])
            papers, earned = int(np.unique(cells // max(alone.panels.n_groups, 1)).size), int(cells.size)
        rules.append(KeptRule(rule.text, rule.words(attribute), papers, earned))
    ours = assigned & ~problem.old
    best = ours if teams.chosen is None else teams.chosen
    return Kept(tuple(rules), math.fsum(problem.affinity[best].tolist()), rewards(problem, assigned), teams.bound)


def routes_of(problem: Problem) -> Routes:
    """Lay a route through the flow for each attribute that has one; without those that counting shows to be in vain."""
    laid = {attribute: route_of(problem, attribute) for attribute in partitions(problem)}
    return {attribute: route for attribute, route in laid.items() if route is not None}


def scale_of(problem: Problem, routes: Routes) -> float:
    """Return the steps of rounding in a unit of affinity that leave room for all nodes of the flow."""
    nodes = max((route.n_nodes for route in routes.values()), default=0) + problem.n_items + problem.n_reviewers + 1
    largest = max(float(np.abs(problem.affinity).max(initial=0.0)), float(problem.panels.reward.max(initial=0.0)))
    return cost_scale(largest, nodes)


def best_teams(problem: Problem, best: BoolArray, routes: Routes, cost: IntArray, scale: float, clock: Clock) -> Teams:
    """Find the best assignment that obeys the rules, from the best one without them.

    1. Where that obeys them and nothing is rewarded, it is the best.
    2. The flow by way of the nodes of one attribute: where that obeys all rules, it is the best; else it is a bound.
    3. Integer programmes over all papers; and where these take too long, over the papers whose panels break a rule.
    """
    if crowded_items(problem, problem.given).size:
        return Teams(None, True, -math.inf)
    rewarded = problem.panels.reward > 0
    plain = objective(problem, best)
    if not rewarded.any() and not broken_items(problem, best).size:
        return Teams(best, True, plain, by_flow=True)
    start, bound = best, plain if not rewarded.any() else math.inf
    for attribute, route in routes.items():
        bonus = int(whole(problem.panels.reward[attribute : attribute + 1], scale)[0])
        found = routed(problem, route, cost, bonus)
        if found is None or np.delete(rewarded, attribute).any():
            start = start if found is None else found
            continue
        value = objective(problem, found)
        if not broken_items(problem, found).size:
            return Teams(found, True, value, by_flow=True)
        if value < bound:
            start, bound = found, value
    return _by_programmes(problem, start, bound, clock)


def _by_programmes(problem: Problem, start: BoolArray, bound: float, clock: Clock) -> Teams:
    """Look for the best assignment over all papers, or mend the panels that break a rule."""
    exact = _over_all(problem, start, clock) if problem.item.size <= MOST_PAIRS else None
    chosen = None if exact is None else exact.chosen
    if chosen is None:
        mended = repair(problem, start, clock)
        if mended.chosen is None:
            return Teams(None, mended.proved, bound)
        chosen = mended.chosen
    # A bound below what was found is wrong, whoever says it.
    value = objective(problem, chosen)
    error = ERROR * max(abs(value), 1.0)
    if exact is not None and value - error <= exact.bound < bound:
        bound = exact.bound
    return Teams(chosen, bound - value <= error, max(bound, value))


def _over_all(problem: Problem, start: BoolArray, clock: Clock) -> Teams | None:
    """Solve the programme over all papers, as far as time allows; None where counting shows that nothing obeys it."""
    programme = programme_of(problem, problem.given, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return None
    first = np.ones(programme.value.size, np.bool_)
    first[: programme.pairs.size] = start[programme.pairs]
    found = best_columns(programme, problem.item[programme.pairs], first, Clock(min(MOST_SECONDS, clock.left())))
    # What stands already is no column.
    beside = objective(problem, problem.given)
    if found.picked is None:
        return Teams(None, False, found.bound + beside)
    chosen = problem.given.copy()
    chosen[programme.pairs] = found.picked[: programme.pairs.size]
    return Teams(chosen, False, found.bound + beside)
