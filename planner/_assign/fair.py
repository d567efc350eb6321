"""Fair assignments: floors on the affinity of each paper, and the largest minimum.

A paper's score is the sum of the affinities of its reviewers. Floors on scores are rows of the integer programmes of
:mod:`.panel_programme`; :func:`largest_minimum` finds the highest floor that all papers can reach, and
:func:`link_above` the level under it. A good reviewer for every paper is a flow (:func:`best_with_good`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import Via, shortfall
from planner._assign.panel_programme import COARSE, FEW, most_worth, programme_of, repair, under_floors
from planner._assign.panels import through
from planner._assign.problem import NO_FLOOR, unit_of
from reviewgraph._base import ranks

if TYPE_CHECKING:
    from planner._assign.flow import Shortfall
    from planner._assign.linking import Linker
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, IntArray


# The largest minimum: a bound by linear programming duality, and a search among the floors below it.

#: Pairs per item that the linear programme starts with.
START = 12

#: Relative distance between floors at which the search ends.
NEAR = 1e-5

#: Floors that are tried, and the work of one of them and of the bound.
TRIES = 24
TRY_WORK = 4.0
BOUND_WORK = 30.0


class Minimum(NamedTuple):
    """The largest floor reached, in whole units, an assignment that reaches it, and an upper bound on any floor."""

    floor: int
    chosen: BoolArray
    at_most: int

    @property
    def proved(self) -> bool:
        """Whether no assignment has a larger minimum, up to the resolution of the programmes."""
        return self.at_most - self.floor <= 1 << (COARSE + 2)


def most_possible(problem: Problem, chosen: BoolArray, clock: Clock) -> int:
    r"""Bound the smallest score of any assignment from above, in whole units; ``chosen`` is an assignment.

    .. math::
        \max t \quad \text{subject to} \quad \sum_{p \ni i} a_p z_p \ge t \quad \text{for all items } i

    within the linear relaxation of everything else. Its duals prove the bound, whatever solver they come from.
    """
    served = problem.served
    alone = int(problem.reach(problem.open_demand())[served].min())
    low = int(problem.scores(chosen)[served].min())
    span = ((alone - low) >> COARSE) + 1
    everywhere = np.ones(problem.n_items, np.bool_)
    programme = programme_of(replace(problem, floors=problem.floors._replace(total=None)), problem.given, everywhere)
    if alone <= low or programme is None or not programme.pairs.size:
        return alone
    # The last column y is the share of the span by which all scores exceed the smallest one now: t = low + span y.
    last = programme.value.size
    floors = under_floors(problem, served, programme.pairs, np.where(served, low, NO_FLOOR))
    items = np.arange(floors.low.size)
    rising = floors._replace(
        row=np.concatenate([floors.row, items]),
        column=np.concatenate([floors.column, np.full(items.size, last)]),
        weight=np.concatenate([floors.weight, np.full(items.size, -span)]),
    )
    value = np.zeros(last + 1)
    value[last] = span
    programme = programme._replace(rows=(*programme.rows, rising), value=value)
    active = np.ones(last + 1, np.bool_)
    pairs = programme.pairs
    active[: pairs.size] = chosen[pairs] | (ranks(problem.item[pairs], problem.whole[pairs]) < START)
    most = most_worth(programme, active, clock.effort(BOUND_WORK))
    return min(alone, low + (int(np.ceil(most)) << COARSE)) if np.isfinite(most) else alone


def largest_minimum(problem: Problem, chosen: BoolArray, clock: Clock) -> Minimum:
    """Find the largest floor on all scores, from an assignment within all other constraints.

    The bound is tried first, which is reached where one paper alone decides; then floors between it and the smallest
    score so far, by bisection.
    """
    served = problem.served
    low = int(problem.scores(chosen)[served].min())
    high = most_possible(problem, chosen, clock)
    best = Minimum(low, chosen, max(high, low))
    floor = high
    for _ in range(TRIES):
        if best.proved or clock.over():
            break
        repaired = repair(at_floor(problem, floor), chosen, clock, quick=problem.item.size > FEW, work=TRY_WORK)
        low = best.floor if repaired.chosen is None else int(problem.scores(repaired.chosen)[served].min())
        if repaired.chosen is not None and low > best.floor:
            best = Minimum(low, repaired.chosen, max(best.at_most, low))
        else:
            high = floor
            best = best._replace(at_most=max(floor, best.floor) if repaired.proved else best.at_most)
        floor = (best.floor + high) // 2
        if high - best.floor <= NEAR * abs(high):
            break
    return best


# The level under floors.

#: Parts of the spread of affinities by which the minimum may fall where the level needs it.
LOWER = (0.06, 0.12, 0.25, 0.5, 1.0)


def at_floor(problem: Problem, floor: int) -> Problem:
    """Return the problem with a floor in whole units; none where it is below every score."""
    slack = int(problem.demand.max(initial=0))
    total = None if floor <= NO_FLOOR // 2 else (floor + slack) * unit_of(problem.affinity)
    return replace(problem, floors=problem.floors._replace(total=total))


def lower_floors(problem: Problem, lowest: int) -> list[int]:
    """Return the floors under which the level is sought, the strictest first, not below ``lowest``; in whole units."""
    spread = float(np.ptp(problem.affinity)) / unit_of(problem.affinity)
    steps = [problem.floor - round(part * spread) for part in LOWER]
    return [max(floor, lowest) for floor in (problem.floor, *steps, lowest)]


def link_above(linker: Linker, problem: Problem) -> bool:
    """Bring an assignment to the level with no score below the floor of a problem."""
    net = linker.net
    net.floor[:] = np.where(problem.served, problem.floor, NO_FLOOR)
    # Where all pairs that keep their item above the floor miss the level together, so does every assignment.
    barred = ~net.locked & ~net.assigned & ~problem.able
    net.locked[barred] = True
    core = linker.core
    able = np.flatnonzero(~net.assigned & ~net.locked)
    reached = (not core.aim.core_decides or core.holds_with(able)) and linker.link()
    net.locked[barred] = False
    return reached


# A good reviewer for every paper: a flow with a node between each paper and the reviewers above the floor.


def sole(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Return the pairs that are an item's only one at the floor for the best reviewer, shape (P,)."""
    if problem.floors.best is None:
        return np.zeros(chosen.size, np.bool_)
    good = chosen & problem.strong
    count = np.bincount(problem.item[good], minlength=problem.n_items)
    return np.asarray(good & (count == 1)[problem.item])


def best_with_good(problem: Problem, cost: IntArray) -> BoolArray | None:
    """Return the pairs of least cost with a good reviewer on every paper, exactly; None if there are none."""
    free = np.flatnonzero(~problem.given)
    wanted = problem.wanting
    items = np.flatnonzero(wanted)
    number = np.where(wanted, np.cumsum(wanted) - 1, -1)
    node = np.where(problem.strong[free], number[problem.item[free]], -1)
    demand = problem.open_demand()
    if (demand[items] < 1).any():
        return None
    nothing = np.zeros(items.size, np.int64)
    via = Via(node, items, nothing + 1, demand[items], nothing)
    return through(problem, free, cost[free], via)


def too_few_good(problem: Problem) -> Shortfall | None:
    """Return papers with too few good reviewers, whatever else they need: a cut of the flow of good pairs."""
    load, _ = problem.open_loads()
    pairs = np.flatnonzero(problem.strong & ~problem.given & (load[problem.reviewer] > 0))
    wanted = problem.wanting.astype(np.int64)
    return shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))
