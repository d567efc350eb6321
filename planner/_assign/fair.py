"""Fair assignments: the largest minimum of the papers' scores, and floors on them.

A paper's score is the sum of the affinities of its reviewers. Floors are rows of :mod:`.programme`;
:func:`largest_minimum` finds the highest floor that all papers can reach.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.problem import NO_FLOOR, unit_of
from planner._assign.programme import COARSE, Relaxation, best_under_rules, first_columns, programme_of, under_floors

if TYPE_CHECKING:
    from planner._assign.problem import Problem
    from planner._assign.programme import PanelSolution
    from reviewgraph._base import BoolArray, Clock

#: Relative distance between floors at which the search ends, maximum number of floors tried, and of those that are
#: neither reached nor proved out of reach, and the work of each.
NEAR = 1e-5
TRIES = 24
UNDECIDED = 4
TRY_WORK = 4.0

#: Parts of the spread of affinities by which the minimum may fall where the level needs it.
LOWER = (0.06, 0.12, 0.25, 0.5, 1.0)


class Minimum(NamedTuple):
    """The largest floor reached, in whole units, the best assignment under it, and an upper bound on any floor."""

    floor: int
    solution: PanelSolution
    at_most: int

    @property
    def proved(self) -> bool:
        """Whether no assignment has a larger minimum, up to the resolution of the programmes."""
        return is_most(self.floor, self.at_most)


def is_most(smallest: int, at_most: int) -> bool:
    """Whether a smallest score is as large as its upper bound, up to the resolution of the programmes; whole units."""
    return at_most - smallest <= 1 << (COARSE + 2)


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
    programme = programme_of(replace(problem, least_score=None))
    if alone <= low or programme is None or not programme.pairs.size:
        return alone
    # The last column y is the share of the span by which all scores exceed the smallest one now: t = low + span y.
    last = programme.value.size
    floors = under_floors(problem, programme.pairs, np.where(served, low, NO_FLOOR))
    items = np.arange(floors.low.size)
    rising = floors._replace(
        row=np.concatenate([floors.row, items]),
        column=np.concatenate([floors.column, np.full(items.size, last)]),
        weight=np.concatenate([floors.weight, np.full(items.size, -span)]),
    )
    value = np.zeros(last + 1)
    value[last] = span
    start = np.append(first_columns(problem, programme, chosen), True)
    programme = programme._replace(rows=(*programme.rows, rising), value=value)
    relaxation = Relaxation(programme, start, clock, seed=None)
    relaxation.solve()
    most = relaxation.prices().bound
    return min(alone, low + (int(np.ceil(most)) << COARSE)) if np.isfinite(most) else alone


def largest_minimum(
    problem: Problem, solution: PanelSolution, start: BoolArray, clock: Clock, *, seed: int = 0
) -> Minimum:
    """Find the largest floor on all scores and the most affinity under it, from the best one without.

    ``start`` is the assignment of that solution.

    The bound is tried first, which is reached where one paper alone decides; then floors between it and the smallest
    score so far, by bisection.
    """
    served = problem.served
    low = int(problem.scores(start)[served].min())
    high = most_possible(problem, start, clock)
    best = Minimum(low, solution, max(high, low))
    floor = high
    undecided = 0
    for _ in range(TRIES):
        if best.proved or undecided == UNDECIDED or clock.over():
            break
        above = best_under_rules(at_floor(problem, floor), start, clock, seed=seed, work=TRY_WORK)
        low = best.floor if above.chosen is None else int(problem.scores(above.chosen)[served].min())
        if above.chosen is not None and low > best.floor:
            best = Minimum(low, above, max(best.at_most, low))
        else:
            high = floor
            undecided += not above.proved
            best = best._replace(at_most=max(floor, best.floor) if above.proved else best.at_most)
        floor = (best.floor + high) // 2
        if high - best.floor <= NEAR * abs(high):
            break
    return best


def at_floor(problem: Problem, floor: int) -> Problem:
    """Return the problem with a floor in whole units; none where it is below every score."""
    if floor == problem.floor:
        return problem
    slack = int(problem.demand.max(initial=0))
    total = None if floor <= NO_FLOOR // 2 else (floor + slack) * unit_of(problem.affinity)
    return replace(problem, least_score=total)


def lower_floors(problem: Problem, lowest: int) -> list[int]:
    """Return the floors under which the level is sought, the strictest first, not below ``lowest``; in whole units."""
    spread = float(np.ptp(problem.affinity)) / unit_of(problem.affinity)
    steps = [problem.floor - round(part * spread) for part in LOWER]
    return [max(floor, lowest) for floor in (problem.floor, *steps, lowest)]
