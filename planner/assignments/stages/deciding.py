"""The last word on a level where few pairs are allowed: an integer programme, and a cut for each way to miss it.

More reviews never harm a level. So where an assignment misses it, pairs are added as long as it is missed still: what
reaches the level has one of the pairs that are left. Such cuts are added until the best assignment that obeys them
reaches the level, or nothing obeys them, in the word of two solvers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.teams.programme import improved, programme_of, solve
from planner.assignments.teams.rows import Rows
from planner.assignments.wishes.floors import NO_FLOOR, whole_values
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Bits of a score that are left out where solvers are asked for it.
COARSE = 16
#: Pairs that are not given up to which it is tried, programmes solved, and cuts made of each answer.
MOST_PAIRS, ROUNDS, CUTS = 64, 200, 24
#: Work that one programme may take.
WORK = 5.0


class Decided(NamedTuple):
    """The best assignment that reaches the level, or None: then ``proved`` says whether there is none."""

    chosen: BoolArray | None
    proved: bool


def decide(
    problem: Problem, aim: Aim, chosen: BoolArray, clock: Clock, *, survive: bool, least: IntArray | None = None
) -> Decided:
    """Find the best assignment at a level, or prove that there is none; where that takes too much work, neither.

    Parameters
    ----------
    problem, aim
        What to assign, and the level to reach.
    chosen
        An assignment under the rules, which stands if it reaches the level.
    clock
        When to end.
    survive
        Whether the level must hold after any one reviewer drops out, too, or what the aim asks to be lost.
    least
        Shape (N,): the least score of each paper, in whole units of affinity, less what rounding takes; None asks for
        nothing.
    """
    unsettled = Decided(None, False)
    if np.count_nonzero(~problem.given) > MOST_PAIRS:
        return unsettled
    programme = programme_of(problem, chosen, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return unsettled
    if least is not None:
        programme = programme._replace(rows=(*programme.rows, _least_scores(problem, programme.pairs, least)))
    level = _Level(problem, aim, programme.pairs, survive)
    if level.holds(chosen[programme.pairs]):
        return Decided(chosen, True)
    if not level.holds(np.ones(programme.pairs.size, np.bool_)):
        return Decided(None, True)
    cuts = list(level.cuts(chosen[programme.pairs]))
    for _ in range(ROUNDS):
        if clock.over():
            return unsettled
        cut = programme._replace(rows=(*programme.rows, _rows(cuts)))
        ending = improved(cut, np.ones(cut.value.size, np.bool_), np.zeros(0, np.int64), None, clock.effort(WORK))
        if ending.picked is None:
            return Decided(None, ending.proved and solve(cut, clock.effort(WORK)).proved)
        picked = ending.picked[: programme.pairs.size]
        if level.holds(picked):
            return Decided(level.whole(picked), True)
        cuts += level.cuts(picked)
    return unsettled


def _rows(cuts: list[IntArray]) -> Rows:
    """Ask for one at least of the columns of each cut."""
    size = [cut.size for cut in cuts]
    row, column, low = np.repeat(np.arange(len(cuts)), size), np.concatenate(cuts), np.ones(len(cuts), np.int64)
    return Rows(row, column, low, np.array(size, np.int64).clip(1), np.ones(row.size, np.int64))


def _least_scores(problem: Problem, pairs: IntArray, least: IntArray) -> Rows:
    """Ask for the least score of each paper that has one, in units that solvers count exactly."""
    value = whole_values(problem.affinity)
    given = np.bincount(problem.item[problem.given], value[problem.given], problem.n_items).astype(np.int64)
    asked = np.flatnonzero(least > NO_FLOOR // 2)
    row = np.full(problem.n_items, -1)
    row[asked] = np.arange(asked.size)
    column = np.flatnonzero(row[problem.item[pairs]] >= 0)
    # Rounding may take half a unit from each review.
    low = ((least - given)[asked] >> COARSE) - problem.demand[asked]
    weight = np.rint(value[pairs[column]] / 2.0**COARSE).astype(np.int64)
    return Rows(row[problem.item[pairs[column]]], column, low, np.full(asked.size, 1 << 40), weight)


class _Level:
    """Whether some of the pairs of a programme, beside those given, reach a level."""

    def __init__(self, problem: Problem, aim: Aim, pairs: IntArray, survive: bool) -> None:
        self.problem, self.aim, self.pairs, self.survive = problem, aim, pairs, survive
        self.required = sum(1 << i for i in np.flatnonzero(problem.required).tolist())

    def whole(self, picked: BoolArray) -> BoolArray:
        """Shape (P,): the assignment of some of the pairs."""
        assigned = self.problem.given.copy()
        assigned[self.pairs] = picked
        return assigned

    def holds(self, picked: BoolArray) -> bool:
        """Whether the level is reached."""
        problem, assigned = self.problem, self.whole(picked)
        pairs = (problem.reviewer[assigned], problem.item[assigned])
        covers = [0] * problem.n_reviewers
        for j, i in zip(*map(np.ndarray.tolist, pairs), strict=True):
            covers[j] |= 1 << i
        if not (self.aim.core_suffices and self._covered(covers)):
            table = partial(Reviews.from_codes, *pairs, reviewers=problem.n_reviewers, items=problem.n_items)
            if not self.aim.holds_early(table):
                return False
        return not self.survive or all(map(self._covered, self.aim.after_losses(covers)))

    def _covered(self, covers: list[int]) -> bool:
        """Whether one group covers all that is required; items are bits, quicker than tables where there are few."""
        shared, groups = self.aim.shared, list[int]()
        for cover in covers:
            # Whoever shares enough joins, and with more items others may.
            while near := [group for group in groups if (group & cover).bit_count() >= shared]:
                groups = [group for group in groups if (group & cover).bit_count() < shared]
                for group in near:
                    cover |= group
            groups.append(cover)
        return any(group & self.required == self.required for group in groups)

    def cuts(self, picked: BoolArray) -> list[IntArray]:
        """Give columns of which whatever reaches the level picks one at least; several such sets, from some orders."""
        rng, others = np.random.default_rng(0), np.flatnonzero(~picked)
        found: dict[bytes, IntArray] = {}
        for _ in range(CUTS):
            most = self._extended(picked, rng.permutation(others))
            found[most.tobytes()] = np.flatnonzero(~most)
        return list(found.values())

    def _extended(self, picked: BoolArray, more: IntArray) -> BoolArray:
        """Add what leaves the level missed, halves at once where that is possible."""
        trial = picked.copy()
        trial[more] = True
        if not self.holds(trial):
            return trial
        if more.size <= 1:
            return picked
        half = more.size // 2
        return self._extended(self._extended(picked, more[:half]), more[half:])
