"""Randomised assignments: probabilities, a list of assignments with these frequencies at the level, and a draw.

:class:`Lottery` runs the stages: the best assignment, the best probabilities within the caps, then either dependent
rounding (without a level) or :func:`mixture`, a list of assignments each repaired to the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.assignment import Assignment, percent_of
from planner._assign.best_flow import settle, unrouted
from planner._assign.changes import Cycles, Programmed
from planner._assign.core import Core
from planner._assign.enumeration import best_at_level
from planner._assign.findings import Listed, Randomised
from planner._assign.flow import whole_costs
from planner._assign.linking import Linker
from planner._assign.marginals import (
    UNITS,
    Independent,
    Limits,
    Marginals,
    all_through,
    best_marginals,
    limits_of,
    support_of,
)
from planner._assign.problem import caps_of, one_cap, restricted
from planner._assign.programme import (
    PanelSolution,
    best_under_rules,
    broken_items,
    depends_on_rules,
    relaxation_of,
)
from planner._assign.spanning import span
from planner._assign.stages import Run
from planner._assign.why_none import level_alone, why_apart, why_capped
from reviewgraph._base import ranks, snapped

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import MaxProbability, Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray


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
       many papers are apart by a skeleton (:mod:`.spanning`), under rules by forced pairs (:mod:`.changes`).
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


def mixture(problem: Problem, limits: Limits, counts: IntArray, asked: Run) -> Mixture:
    """List :data:`DRAWS` assignments with frequencies near the given ones, within limits, that satisfy the request.

    1. The frequencies are split into one assignment per unit of a review (:meth:`.marginals.Support.split`).
    2. One after the other is repaired among its own pairs and those below their limit, so that limits hold throughout.
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
        room = (counts < limits.most) | first
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

    max_probability: MaxProbability = 1.0

    def result(self) -> Assignment:
        asked = caps_of(self.problem, self.max_probability)
        usable = np.flatnonzero(self.problem.given | (asked * UNITS >= 1))
        asked = asked[usable]
        caps = limits_of(restricted(self.problem, usable), asked)
        lottery = usable.size < self.problem.item.size or bool((caps.most < UNITS).any())
        # Without caps the best assignment is the only one; otherwise it is the reference for draws, for which it needs
        # no level, and it explains why there is none.
        best = self.start() if lottery else super().result()
        if isinstance(best, Assignment) and (lottery or not best.reviews.n_reviews):
            return best
        apart = why_apart(self.problem, self.aim) if lottery and self.aim.core_decides else ""
        if apart:
            return self.infeasible(level_alone(self.aim, apart))
        problem = restricted(self.problem, usable)
        if isinstance(best, Assignment):
            # Its pairs have probability 1.
            key = problem.item * problem.n_reviewers + problem.reviewer
            chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
            value = float(problem.worth[chosen].sum())
            bound = max(self.solution.bound, value)
            return replace(best, randomised=self._described(problem, chosen.astype(float), value, bound, None))
        marginals = best_marginals(problem, caps)
        if marginals is None:
            return self.infeasible(why_capped(problem, caps.most / UNITS, UNITS))
        plain = self.aim.level is None and all_through(problem)
        return self._rounded(problem, marginals) if plain else self._listed(problem, asked, marginals)

    def _rounded(self, problem: Problem, marginals: Marginals) -> Assignment:
        """Draw by rounding, which has exactly the probabilities, and keeps demands, loads and rules."""
        self.say("the draw")
        pairs = np.flatnonzero(marginals.units)
        units = marginals.units[pairs]
        independent = Independent(support_of(problem, pairs), units, ~problem.old[pairs])
        chosen = np.zeros(problem.item.size, np.bool_)
        chosen[pairs] = independent.support.draw(units, UNITS, np.random.default_rng(self.seed))
        randomised = self._described(problem, marginals.units / UNITS, marginals.value, marginals.value, None)
        randomised = replace(randomised, rounding=independent)
        return replace(self._drawn(problem, marginals.units > 0, chosen, reached=True), randomised=randomised)

    def _listed(self, problem: Problem, caps: FloatArray, marginals: Marginals) -> Assignment:
        """Draw one of a list of assignments that are all at the level."""
        # Probabilities in multiples of one draw.
        limits = limits_of(problem, caps, DRAWS)
        coarse = best_marginals(problem, limits, DRAWS)
        if coarse is None:
            why = f"As one of {DRAWS} assignments is drawn, caps are rounded down to multiples of 1/{DRAWS}, and leave"
            return self.infeasible(f"{why} no probabilities then. Raise --max-probability.")
        mixed = mixture(problem, limits, coarse.units, self)
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
        value = float(problem.worth @ shares)
        return replace(assignment, randomised=self._described(problem, shares, value, marginals.value, listed))

    def _drawn(self, problem: Problem, support: BoolArray, chosen: BoolArray, *, reached: bool) -> Assignment:
        pairs = np.flatnonzero(support)
        self.problem = restricted(problem, pairs)
        self.solution = PanelSolution(None, False, self.solution.bound)
        self.unfair = None
        assignment = self.answer(chosen[pairs], () if self.aim.outlives and reached else None, 0, reached=reached)
        return replace(assignment, least_loss=None)

    def _described(
        self, problem: Problem, probability: FloatArray, value: float, bound: float, listed: Listed | None
    ) -> Randomised:
        """Return the lottery for people; pairs of a first phase are no part of it."""
        shown = np.flatnonzero((probability > 0) & ~problem.old)
        return Randomised(
            item=problem.item[shown],
            reviewer=problem.reviewer[shown],
            probability=probability[shown],
            items=problem.items,
            reviewers=problem.reviewers,
            max_probability=one_cap(self.max_probability),
            certain=int((problem.given & ~problem.old).sum()),
            expected=float((problem.affinity * probability)[shown].sum()),
            best=self.unconstrained,
            # Where there is no bound, or nothing that it is relative to, no gap is proved.
            gap=percent_of(max(bound - value, 0.0), bound) / 100.0 if np.isfinite(bound) and bound else None,
            listed=listed,
        )
