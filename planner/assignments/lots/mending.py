"""Assignments of a lottery brought to a connection level, each among the pairs that the others leave room for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.findings.changed import Reason
from planner.assignments.model.comparing import concerns_among
from planner.assignments.stages.deciding import decide
from planner.assignments.steps.flow import whole_costs
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.linking import Linker
from planner.assignments.steps.robust import harden
from planner.assignments.teams.panels import broken_items, repair
from planner.assignments.teams.routing import unrouted
from planner.assignments.teams.settling import depending
from planner.assignments.teams.settling import settle as settle_potentials

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Whole units of the span of affinities, for costs of changes.
SPAN_BITS = 30

#: What a change costs beside what it loses, in spans.
CHANGE = 0.5


class Mended(NamedTuple):
    """The pairs assigned, shape (P,), whether they are what was asked for, and how many were forced in."""

    chosen: BoolArray
    reached: bool
    forced: int = 0


def within(problem: Problem, pairs: IntArray) -> Problem:
    """Return the problem with some of its pairs only."""
    columns = {name: getattr(problem, name)[pairs] for name in ("item", "reviewer", "affinity", "given", "old")}
    concerns = concerns_among(problem, pairs, Reason.CHOICE)
    return replace(problem, **columns, rivals=problem.rivals.among(pairs), concerns=concerns)


def mended(
    problem: Problem, first: BoolArray, aim: Aim, survive: int, clock: Clock, rng: np.random.Generator
) -> Mended:
    """Bring an assignment to what was asked for, at little loss.

    1. Where nothing is asked of panels: the best assignment of the problem in its place, unless that holds rivals.
       Otherwise the panels that break a rule are reassigned.
    2. The level, by cheapest cycles (:mod:`.linking`); from the best assignment these are the cheapest in affinity,
       from another they change few pairs. Where few pairs are allowed an exact method has the last word.
    """
    cost = whole_costs(problem.affinity, int(rng.integers(1 << 31)))
    best = None if problem.panels.binding else unrouted(problem, cost)
    if best is not None and problem.rivals.couples_among(best).size:
        best = None
    chosen = first if best is None else best
    if best is None:
        cost = costs_of_changes(problem.affinity, first)
        if broken_items(problem, first).size:
            # By few changes, as for the level: the most affinity would undo what lots have drawn.
            worth: FloatArray = -cost / (1 << SPAN_BITS)
            repaired = repair(replace(problem, affinity=worth), first, clock, quick=True).chosen
            if repaired is None:
                return Mended(first, False)
            chosen = repaired
            cost = costs_of_changes(problem.affinity, chosen)
    if aim.level is None:
        return Mended(chosen, True)
    net = problem.network(chosen)
    if best is not None:
        settle_potentials(net, cost, depending(problem, chosen), exact=True)
    core = Core(net, problem.required, aim)
    linker = Linker(core, cost, clock)
    reached = linker.link()
    if reached and aim.core_decides:
        linker.release(lambda pairs: core.holds_after(pairs, core.total))
    if reached and survive:
        found = harden(linker, rng)
        reached = found is not None and not found.exposed.any()
    if not reached:
        decided = decide(problem, aim, chosen, clock, survive=bool(survive)).chosen
        return Mended(chosen if decided is None else decided, decided is not None)
    return Mended(net.assigned.copy(), True, len(linker.forced))


def costs_of_changes(worth: FloatArray, chosen: BoolArray) -> IntArray:
    """Cost of each pair such that any change of the assignment costs something, whatever it is.

    A pair that enters costs how much less it is worth than the best of all, one that leaves how much more than the
    worst, and a fee; so reduced costs are not negative at potentials of 0.
    """
    low, high = float(worth.min(initial=0.0)), float(worth.max(initial=0.0))
    share = (worth - low) / (high - low) if high > low else np.zeros(worth.size)
    cost: IntArray = np.rint(np.where(chosen, -share, 1.0 - share + CHANGE) * (1 << SPAN_BITS)).astype(np.int64)
    return cost
