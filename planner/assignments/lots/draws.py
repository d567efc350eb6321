"""Draws at a connection level: rounded probabilities, mended within their support where they miss it.

A draw that misses the level is mended and not thrown away: drawing again would favour every pair that helps to connect,
mending moves a few pairs of the draw, and how it moves their probabilities is known without the noise of the draws.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.lots.rounding import drawn, flow_of
from planner.assignments.lots.units import UNITS, through_rules
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.linking import Linker
from planner.assignments.steps.robust import harden
from planner.assignments.teams.panels import broken_items, repair

if TYPE_CHECKING:
    from planner.assignments.lots.marginals import Limits
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Whole units of the span of affinities, for costs of changes.
SPAN_BITS = 30

#: What a change costs beside what it loses, in spans: each pair more, a random part of it, and a pair without room.
CHANGE, NOISE, NO_ROOM = 0.5, 0.5, 4.0

#: Draws until one can be mended.
TRIES = 10


class Draw(NamedTuple):
    """What was drawn, and what it was mended to, shape (P,); whether each is what was asked for; pairs forced in."""

    first: BoolArray
    chosen: BoolArray
    at_once: bool
    reached: bool
    forced: tuple[int, ...]


class Lots:
    """Draws from the probabilities of a problem's pairs.

    Parameters
    ----------
    problem
        The problem.
    units, limits
        Probabilities of its pairs and their caps, shape (P,).
    aim, survive
        The level that draws are to reach, and whether it shall outlive any one reviewer.
    clock
        When mending is to stop.

    Attributes
    ----------
    pairs
        The support: pairs of a probability above 0.
    """

    def __init__(self, problem: Problem, units: IntArray, limits: Limits, aim: Aim, survive: int, clock: Clock) -> None:
        self.pairs = np.flatnonzero(units > 0)
        self.within = within(problem, self.pairs)
        self.units, self.room = units[self.pairs], (limits.most - units)[self.pairs]
        self.aim, self.survive, self.clock = aim, survive, clock
        self.support = units > 0
        sizes = self.within.n_items, self.within.n_reviewers
        self.flow = flow_of(self.within.item, self.within.reviewer, self.units, *sizes, through_rules(self.within))

    @property
    def probability(self) -> FloatArray:
        """Probability of each pair of the support."""
        return self.units / UNITS

    def draw(self, rng: np.random.Generator) -> Draw:
        """Draw once, and mend what misses the level within the support."""
        return self.mended(drawn(self.flow, rng), rng)

    def best_of(self, rng: np.random.Generator) -> Draw:
        """Draw until a draw is what was asked for or could be mended, ten times at most."""
        found = self.draw(rng)
        for _ in range(TRIES - 1):
            if found.reached or self.clock.over():
                break
            found = self.draw(rng)
        return found

    def mended(self, first: BoolArray, rng: np.random.Generator) -> Draw:
        """Bring a draw to what was asked for by few changes that lose little, among pairs with room if possible."""
        room = (self.room <= 0) & (self.units < UNITS)
        return mended(self.within, first, room, self.aim, self.survive, self.clock, rng)


def within(problem: Problem, pairs: IntArray) -> Problem:
    """Return the problem with some of its pairs only."""
    columns = {name: getattr(problem, name)[pairs] for name in ("item", "reviewer", "affinity", "given", "old")}
    concerns = None if problem.concerns is None else problem.concerns.among(pairs)
    return replace(problem, **columns, rivals=problem.rivals.among(pairs), concerns=concerns)


def mended(
    problem: Problem, first: BoolArray, full: BoolArray, aim: Aim, survive: int, clock: Clock, rng: np.random.Generator
) -> Draw:
    """Bring an assignment to what was asked for by few changes that lose little, ``full`` pairs entering last."""
    chosen = first
    if problem.panels.binding and broken_items(problem, first).size:
        # By few changes, as for the level: the most affinity would undo what lots have drawn.
        worth: FloatArray = -costs_of_changes(problem.worth, first, full, rng) / (1 << SPAN_BITS)
        repaired = repair(replace(problem, affinity=worth, concerns=None), first, clock, quick=True).chosen
        if repaired is None:
            return Draw(first, first, False, False, ())
        chosen = repaired
    if aim.level is None:
        return Draw(first, chosen, chosen is first, True, ())
    core = Core(problem.network(chosen), problem.required, aim)
    at_once = core.at_level() and chosen is first
    linker = Linker(core, costs_of_changes(problem.worth, chosen, full, rng), clock)
    reached = linker.link()
    if reached and survive:
        found = harden(linker, rng)
        reached = found is not None and not found.exposed.any()
        at_once = at_once and bool((core.net.assigned == first).all())
    return Draw(first, core.net.assigned.copy(), at_once, reached, tuple(linker.forced))


def costs_of_changes(worth: FloatArray, chosen: BoolArray, full: BoolArray, rng: np.random.Generator) -> IntArray:
    """Cost of each pair such that any change of the assignment costs something, whatever it is.

    A pair that enters costs how much less it is worth than the best of all, one that leaves how much more than the
    worst, and a fee; so reduced costs are not negative at potentials of 0. Random fees spread mending over pairs.
    """
    low, high = float(worth.min(initial=0.0)), float(worth.max(initial=0.0))
    share = (worth - low) / (high - low) if high > low else np.zeros(worth.size)
    enters = 1.0 - share + CHANGE + NOISE * rng.random(worth.size) + NO_ROOM * full
    cost: IntArray = np.rint(np.where(chosen, -share, enters) * (1 << SPAN_BITS)).astype(np.int64)
    return cost
