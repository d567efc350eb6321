"""Randomised assignments: probabilities, a list of assignments with these frequencies at the level, and a draw.

:class:`Lottery` runs the stages: the best assignment, the best probabilities within the caps, then either dependent
rounding (without a level) or :func:`mixture`, a list of assignments each repaired to the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._assign.assignment import Assignment, AssignmentStatus, percent_of
from planner._assign.best_flow import settle, unrouted
from planner._assign.changes import Cycles, Programmed
from planner._assign.core import Core
from planner._assign.enumeration import all_at_level, best_at_level
from planner._assign.findings import Listed, Randomised, Reason
from planner._assign.flow import whole_costs
from planner._assign.linking import Linker
from planner._assign.marginals import (
    UNITS,
    Gain,
    Independent,
    Limits,
    Marginals,
    all_through,
    best_marginals,
    limits_of,
    support_of,
)
from planner._assign.problem import Randomisation, restricted
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
from planner.solving import integer_programme
from reviewgraph._base import counted, ranks, snapped

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


# Repair of one assignment of a lottery, among the pairs that the others leave room for.

#: Maximum number of rows of an enumeration.
MOST_ROWS = 2_000


#: Work of bringing an assignment of a list to the level.
LINKING = 2.0


class Repaired(NamedTuple):
    """The pairs assigned, shape (P,), whether they satisfy the request, and the number of pairs forced in."""

    chosen: BoolArray
    reached: bool
    forced: int = 0


def within(problem: Problem, pairs: IntArray) -> Problem:
    return replace(restricted(problem, pairs, Reason.CHOICE), rivals=problem.rivals.among(pairs))


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
    tiny = best_at_level(problem, aim, clock, survive=bool(asked.survive), most=MOST_ROWS)
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
        bridged = span(problem, linker, cycles, np.random.default_rng(0), tries=1)
    reached = bridged or linker.link(LINKING)
    if reached and asked.survive:
        linker.exposed[:] = True
        reached = linker.link(LINKING)
    return Repaired(core.net.assigned.copy() if reached else chosen, reached, len(linker.forced))


# A lottery over a list of assignments at a level, whose frequencies are the published probabilities.
#
# One assignment of the list is drawn, each with equal probability. So the published probabilities are exact: a pair is
# assigned with the share of the assignments that hold it, no share exceeds its cap, and every assignment satisfies the
# request.

#: Best pairs per paper and per reviewer that may come in besides the support, before all others may.
NEAR = 10


class Mixture(NamedTuple):
    """Assignments of which one is drawn."""

    holds: BoolArray  # whether each assignment holds each pair, shape (K, P)
    reached: BoolArray  # whether each satisfies the request, shape (K,)
    at_once: BoolArray  # whether each did so before any repair, except for surviving drop-outs, shape (K,)
    # forced, changed: pairs forced in for the level, and pairs that entered in all, shape (K,)
    forced: IntArray
    changed: IntArray


def mixture(problem: Problem, gain: Gain, limits: Limits, counts: IntArray, asked: Run) -> Mixture:
    """List assignments with frequencies near the given ones, within the limits, that all satisfy the request.

    1. The frequencies are split into one assignment per unit of a review (:meth:`.marginals.Support.split`).
    2. One after the other is repaired among its own pairs and those below their limit, so that limits hold throughout;
       the objective is the change of the gain of all assignments together.

    Each takes a flow and the search for the level over the support and some of the best pairs of each paper and
    reviewer; over all pairs where that is not enough.
    """
    rng = np.random.default_rng(0)
    size = gain.unit
    counts = counts.copy()
    pairs = np.flatnonzero(counts)
    holds = np.zeros((size, counts.size), np.bool_)
    holds[:, pairs] = support_of(problem, pairs).split(counts[pairs], size, rng)
    mixed = Mixture(holds, *np.zeros((2, size), np.bool_), *np.zeros((2, size), np.int64))
    near = (counts > 0) | problem.given
    for side in (problem.item, problem.reviewer):
        near |= ranks(side, snapped(problem.worth)) < NEAR
    for k in range(size):
        if asked.clock.over():
            break
        asked.say(f"{size} assignments to draw from", k / size)
        first = holds[k].copy()
        mixed.reached[k] = mixed.at_once[k] = _satisfies(problem, first, asked.aim)
        if mixed.reached[k] and not asked.survive:
            continue
        room = (counts < limits.most) | first
        result = _repaired_among(problem, gain, counts, first, room & (near | first), asked, rng)
        if not result.reached and not asked.clock.over():
            # Pairs that link this assignment may link the next ones, too.
            result = _repaired_among(problem, gain, counts, first, room, asked, rng)
            near |= result.chosen
        mixed.reached[k] = result.reached
        mixed.forced[k] = result.forced
        if result.reached:
            counts += result.chosen.astype(np.int64) - first
            holds[k] = result.chosen
            mixed.changed[k] = np.count_nonzero(result.chosen & ~first)
    return mixed


def _satisfies(problem: Problem, chosen: BoolArray, aim: Aim) -> bool:
    """Whether an assignment obeys the rules and is at the level, before any drop-out."""
    if problem.panels.binding and broken_items(problem, chosen).size:
        return False
    return aim.level is None or Core(problem.network(chosen), problem.required, aim).at_level()


def _repaired_among(
    problem: Problem,
    gain: Gain,
    counts: IntArray,
    first: BoolArray,
    allowed: BoolArray,
    asked: Run,
    rng: np.random.Generator,
) -> Repaired:
    """Repair one of the assignments of which ``counts`` hold each pair, among some pairs."""
    pairs = np.flatnonzero(allowed)
    # The gain of one more assignment with each pair, of the last one for assigned pairs.
    start = (counts - first)[pairs]
    some = replace(within(problem, pairs), affinity=gain.slope(start, start + 1, pairs), concerns=None)
    result = repaired(some, first[pairs], asked, rng)
    chosen = np.zeros(first.size, np.bool_)
    chosen[pairs] = result.chosen
    return result._replace(chosen=chosen)


# A small lottery: the best list of all assignments at the level, by an integer programme.

#: Maximum number of assignments, at a time and at the level; and of those, at random, among which lists are sought.
MOST_COLUMNS = 20_000
LISTED = 1_000

#: Segments of the gain of a pair, and work of a programme.
SEGMENTS = 20
WORK = 0.5

#: Status of SciPy's answer where there is no solution.
INFEASIBLE = 2


def best_list(gain: Gain, limits: Limits, columns: BoolArray, effort: Clock, *, whole: bool = True) -> Any:
    r"""Return SciPy's answer, of which ``x`` begins with how often the list of most gain has each assignment.

    .. math::
        \max \sum_p g_p(x_p) \quad \text{subject to} \quad x = A^T n, \quad x \le q, \quad \sum_k n_k = N

    for assignments n among the rows of A and N draws. Gains are replaced by chords; without ``whole`` n need not be.
    """
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import block_array, coo_array, csc_array

    n_rows, n_pairs = columns.shape
    # Segments of each pair from 0 to its limit, whose slopes fall.
    edges = np.unique(np.linspace(0, gain.unit, SEGMENTS + 1).astype(np.int64) if gain.beta else [0, gain.unit])
    pair = np.repeat(np.arange(n_pairs), edges.size - 1)
    start = np.tile(edges[:-1], n_pairs)
    end = np.tile(edges[1:], n_pairs)
    # How often each pair is drawn is within its limits, and is the sum of its segments.
    drawn = csc_array(columns.T.astype(float))
    segments = coo_array((-np.ones(pair.size), (pair, np.arange(pair.size))), shape=(n_pairs, pair.size))
    draws = coo_array(np.ones((1, n_rows)))
    return integer_programme(
        -np.append(np.zeros(n_rows), gain.slope(start, end, pair) / gain.unit),
        effort,
        gap=1e-6,
        constraints=LinearConstraint(
            block_array([[drawn, segments], [drawn, None], [draws, None]], format="csc"),
            np.concatenate([np.zeros(n_pairs), limits.least, [gain.unit]]),
            np.concatenate([np.zeros(n_pairs), limits.most, [gain.unit]]),
        ),
        bounds=Bounds(0.0, np.append(np.full(n_rows, float(gain.unit)), (end - start).astype(float))),
        integrality=np.append(np.full(n_rows, int(whole)), np.zeros(pair.size)),
    )


#: All assignments at the level together do not leave room for the caps.
_NO_LOTTERY = (
    "No lottery over the assignments at the level has these caps: some pairs are in too many of them. Raise "
    "--max-probability, loads or demands."
)

#: Only rivals are in the way, and nothing is proved.
_ONLY_RIVALS = (
    "No probabilities under these caps were found that keep apart the pairs that may not be assigned together."
)


@dataclass
class Lottery(Run):
    """The stages of :func:`planner.assign` where the assignment is drawn."""

    randomisation: Randomisation = field(default_factory=Randomisation)
    best: float = 0.0  # affinity of the best assignment within the rules

    def result(self) -> Assignment:
        asked = self.randomisation.caps(self.problem)
        usable = np.flatnonzero(self.problem.given | (asked * UNITS >= 1))
        asked = asked[usable]
        beta = self.randomisation.perturbation
        caps = limits_of(within(self.problem, usable), asked)
        lottery = beta > 0 or usable.size < self.problem.item.size or bool((caps.most < UNITS).any())
        # Without caps and perturbation the best assignment is the only one; otherwise it is the reference for draws,
        # for which it needs no level, and it explains why there is none.
        best = self.start() if lottery else super().result()
        if isinstance(best, Assignment) and (lottery or not best.reviews.n_reviews):
            return best
        apart = why_apart(self.problem, self.aim) if lottery and self.aim.core_decides else ""
        if apart:
            return self.infeasible(level_alone(self.aim, apart))
        problem = within(self.problem, usable)
        if isinstance(best, Assignment):
            # Its pairs have probability 1.
            key = problem.item * problem.n_reviewers + problem.reviewer
            chosen = np.isin(key, best.reviews.item * problem.n_reviewers + best.reviews.reviewer) | problem.given
            value = float(problem.worth[chosen].sum())
            bound = max(self.solution.bound, value)
            return replace(best, randomised=self._described(problem, chosen.astype(float), value, bound, None))
        self.best = math.fsum(self.problem.affinity[best.chosen].tolist())
        gain = Gain(problem.worth, beta)
        marginals = best_marginals(problem, gain, caps)
        if marginals is None:
            return self.infeasible(why_capped(problem, caps.most / UNITS, UNITS))
        plain = self.aim.level is None and all_through(problem)
        exact = None if plain and not problem.rivals.any else self._of_all(problem, asked, marginals.bound)
        if exact is not None:
            return exact
        return self._rounded(problem, gain, caps, marginals) if plain else self._listed(problem, asked, marginals)

    def _of_all(self, problem: Problem, caps: FloatArray, bound: float) -> Assignment | None:
        """Draw one of the best list of all assignments at the level; None where these are too many, or none."""
        count = self.randomisation.draws
        columns = all_at_level(problem, self.aim, self.clock, survive=bool(self.survive), most=MOST_COLUMNS)
        if columns is None or not len(columns):
            return None
        # The linear relaxation proves a bound, or that there is no lottery; lists are sought among some columns.
        gain = Gain(problem.worth, self.randomisation.perturbation, count)
        effort = self.clock.effort(WORK)
        real = Limits(np.where(problem.given, count, 0), np.where(problem.given, count, caps * count))
        lottery = best_list(gain, real, columns, effort, whole=False)
        if lottery.x is None:
            return self.infeasible(_NO_LOTTERY) if lottery.status == INFEASIBLE else None
        some = np.random.default_rng(0).permutation(len(columns))[:LISTED]
        some = np.union1d(some, np.flatnonzero(lottery.x[: len(columns)] > 0))
        best = best_list(gain, limits_of(problem, caps, count), columns[some], effort)
        if best.x is None:
            return None
        holds = np.repeat(columns[some], np.rint(best.x[: some.size]).astype(np.int64), axis=0)
        mixed = Mixture(holds, *np.ones((2, count), np.bool_), *np.zeros((2, count), np.int64))
        bound = bound if gain.beta else min(bound, -lottery.fun)
        return self._of_list(problem, gain, mixed, holds.sum(axis=0), bound)

    def _rounded(self, problem: Problem, gain: Gain, caps: Limits, marginals: Marginals) -> Assignment:
        """Draw by rounding, which has exactly the probabilities, and keeps demands, loads and rules."""
        kept = without_rivals(problem, gain, caps, marginals)
        if kept is None:
            return self.nothing(AssignmentStatus.LEVEL_MISSED, _ONLY_RIVALS)
        self.say("the draw")
        pairs = np.flatnonzero(kept.units)
        units = kept.units[pairs]
        independent = Independent(support_of(problem, pairs), units, ~problem.old[pairs])
        chosen = np.zeros(problem.item.size, np.bool_)
        chosen[pairs] = independent.support.draw(units, UNITS, np.random.default_rng(self.seed))
        randomised = self._described(problem, kept.units / UNITS, kept.value, marginals.bound, None)
        randomised = replace(randomised, rounding=independent)
        return replace(self._drawn(problem, kept.units > 0, chosen, 0, reached=True), randomised=randomised)

    def _listed(self, problem: Problem, caps: FloatArray, marginals: Marginals) -> Assignment:
        """Draw one of a list of assignments that are all at the level."""
        # Probabilities in multiples of one draw, without rivals.
        count = self.randomisation.draws
        gain = Gain(problem.worth, self.randomisation.perturbation, count)
        limits = limits_of(problem, caps, count)
        coarse = best_marginals(problem, gain, limits)
        if coarse is None:
            whole = counted(count, "assignment")
            why = f"As one of {whole} is drawn, caps are rounded down to multiples of 1/{count}, and leave no"
            return self.infeasible(f"{why} probabilities then. Raise --draws or --max-probability.")
        kept = without_rivals(problem, gain, limits, coarse)
        if kept is None:
            return self.nothing(AssignmentStatus.LEVEL_MISSED, _ONLY_RIVALS)
        mixed = mixture(problem, gain, limits, kept.units, self)
        return self._of_list(problem, gain, mixed, kept.units, marginals.bound)

    def _of_list(self, problem: Problem, gain: Gain, mixed: Mixture, rounded: IntArray, bound: float) -> Assignment:
        """Draw one of a list."""
        count = gain.unit
        # The assignment of the seed.
        self.say("the draw")
        holds = mixed.holds
        counts = holds.sum(axis=0)
        k = int(np.random.default_rng(self.seed).integers(count))
        reached = bool(mixed.reached[k])
        assignment = self._drawn(problem, counts > 0, holds[k], int(mixed.forced[k]), reached=reached)
        if not reached and not self.clock.over():
            missed = (
                f"Under these caps {int((~mixed.reached).sum())} of {counted(count, 'assignment')} to draw from miss"
            )
            why = f"{missed} the level, this one among them; raise caps, demands or loads."
            assignment = replace(assignment, explanation=why)
        # What is published of the list, and how repair changed the rounded ones.
        listed = Listed(
            holds=holds[:, (counts > 0) & ~problem.old],
            at_level=float(mixed.at_once.mean()),
            repaired=float(mixed.reached.mean()),
            changed=float(mixed.changed.mean()),
            lost=float((problem.affinity * (rounded - counts)).sum() / count),
        )
        shares = counts / count
        value = gain.of(counts)
        return replace(assignment, randomised=self._described(problem, shares, value, bound, listed))

    def _drawn(
        self, problem: Problem, support: BoolArray, chosen: BoolArray, forced: int, *, reached: bool
    ) -> Assignment:
        pairs = np.flatnonzero(support)
        self.problem = within(problem, pairs)
        self.solution = PanelSolution(None, False, self.solution.bound)
        self.unfair = None
        assignment = self.answer(chosen[pairs], () if self.survive and reached else None, forced, reached=reached)
        # The price of the rules is that of the best assignment; the rest of a draw's loss is the lottery's.
        kept = assignment.kept and replace(assignment.kept, affinity=self.best)
        authors = assignment.authors and replace(assignment.authors, affinity=self.best)
        return replace(assignment, kept=kept, authors=authors, least_loss=None)

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
            max_probability=self.randomisation.one_cap,
            perturbation=self.randomisation.perturbation,
            certain=int((problem.given & ~problem.old).sum()),
            expected=float((problem.affinity * probability)[shown].sum()),
            best=self.unconstrained,
            # Where there is no bound, or nothing that it is relative to, no gap is proved.
            gap=percent_of(max(bound - value, 0.0), bound) / 100.0 if np.isfinite(bound) and bound else None,
            listed=listed,
        )


def without_rivals(problem: Problem, gain: Gain, limits: Limits, marginals: Marginals) -> Marginals | None:
    """Bar one of each two rivals of the support, the one of less gain, until it holds none: then no draw does.

    None if that leaves nothing, which is no proof that nothing is left by other choices.
    """
    most = limits.most.copy()
    least = limits.least.copy()
    while (couples := problem.rivals.couples_among(marginals.units > 0)).size:
        value = snapped(marginals.units * gain.worth)
        for couple in couples.tolist():
            if most[couple].all():
                lesser = min(couple, key=lambda pair: (bool(problem.given[pair]), value[pair]))
                most[lesser] = least[lesser] = 0
        again = best_marginals(problem, gain, Limits(least, most))
        if again is None:
            return None
        marginals = again
    return marginals
