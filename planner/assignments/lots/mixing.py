"""A lottery over a list of assignments at a level, whose frequencies are the probabilities that are published.

One assignment of the list is drawn, each as likely as any other. So what is published holds exactly: a pair is assigned
with the share of the assignments that hold it, no share exceeds its cap, and every assignment obeys what is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.lots.mending import Mended, mended, within
from planner.assignments.lots.rounding import decomposed
from planner.assignments.steps.grouping import Core
from planner.assignments.teams.panels import broken_items
from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from planner.assignments.lots.marginals import Gain, Limits
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from planner.assignments.stages.ends import Say
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray

#: Best of each paper and each reviewer that may come in beside the support, before all others may.
NEAR = 10

#: What a pair costs that enters beyond its limit, in spans of worth; trials to mend others that hold it; and for how
#: many assignments these may be in vain.
DEAR, TRADES, IN_VAIN = 4.0, 40, 2


class Asked(NamedTuple):
    """What each assignment shall reach, and when to stop."""

    aim: Aim
    survive: int
    clock: Clock
    say: Say


class Mixture(NamedTuple):
    """Assignments of which one is drawn.

    Parameters
    ----------
    pairs
        The pairs of each assignment.
    counts
        How many of the assignments hold each pair, shape (P,).
    reached
        Whether each is what was asked for, shape (K,).
    at_once
        Whether each was so before anything was changed, but for drop-outs that it shall survive, shape (K,).
    forced, changed
        Pairs forced in for the level, and pairs that came in all, shape (K,).
    needed
        How many of the assignments hold some pair at most once those are mended that cannot be under the caps; None
        where all were, or it is not known.
    """

    pairs: list[IntArray]
    counts: IntArray
    reached: BoolArray
    at_once: BoolArray
    forced: IntArray
    changed: IntArray
    needed: int | None


def mixture(problem: Problem, gain: Gain, limits: Limits, counts: IntArray, asked: Asked) -> Mixture:
    """List assignments that have frequencies near the given ones, within the limits, and are all that is asked for.

    1. The frequencies are parted into as many assignments as a review has units (:func:`.rounding.decomposed`).
    2. One after the other is brought to the level among its own pairs and those below their limit, so that limits hold
       throughout; what a pair counts there is what the gain of all assignments together gains or loses by it.
    3. Where that fails it is mended beyond the limits, and others of those that hold a pair too many give it up.

    Each takes a flow and the search for the level over the support and some of the best pairs of each paper and
    reviewer; over all pairs where that does not do.
    """
    rng = np.random.default_rng(0)
    parts = _Parts(problem, gain, limits, counts, asked, decomposed(problem, counts, gain.unit, rng))
    size, rounded = len(parts.pairs), list(parts.pairs)
    reached, at_once = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    forced = np.zeros(size, np.int64)
    for k in range(size):
        if asked.clock.over():
            break
        asked.say(f"{size} assignments to draw from", k / size)
        reached[k] = at_once[k] = parts.holds(k)
        if not at_once[k] or asked.survive:
            found = parts.mend(k, rng)
            reached[k], forced[k] = found.reached, found.forced
    in_vain = 0
    for k in np.flatnonzero(~reached).tolist():
        if in_vain == IN_VAIN or asked.clock.over():
            break
        found = parts.trade(k, rng)
        reached[k], forced[k] = found.reached, found.forced
        in_vain += not found.reached
    needed = None if reached.all() or asked.clock.over() else parts.needed(np.flatnonzero(~reached), rng)
    moved = [np.setdiff1d(*both, assume_unique=True).size for both in zip(parts.pairs, rounded, strict=True)]
    return Mixture(parts.pairs, parts.counts, reached, at_once, forced, np.array(moved), needed)


class _Parts:
    """The assignments, while they are mended."""

    def __init__(
        self, problem: Problem, gain: Gain, limits: Limits, counts: IntArray, asked: Asked, pairs: list[IntArray]
    ) -> None:
        self.problem, self.gain, self.most, self.asked = problem, gain, limits.most, asked
        self.counts, self.pairs = counts.copy(), pairs
        self.near = (counts > 0) | problem.given
        for side in (problem.item, problem.reviewer):
            self.near |= ranks(side, problem.worth) < NEAR

    def holds(self, k: int) -> bool:
        """Whether an assignment obeys the rules and is at the level as it is, before anybody drops out."""
        problem, chosen, aim = self.problem, self._chosen(k), self.asked.aim
        if problem.panels.binding and broken_items(problem, chosen).size:
            return False
        return aim.level is None or Core(problem.network(chosen), problem.required, aim).at_level()

    def mend(self, k: int, rng: np.random.Generator) -> Mended:
        """Bring an assignment to what is asked for within the limits, and count its pairs anew if that was done."""
        first = self._chosen(k)
        room = (self.counts < self.most) | first
        found = self._mended(first, room & (self.near | first), self._worth(first), rng)
        if not found.reached and not self.asked.clock.over():
            # What links this one may link the next ones, too.
            found = self._mended(first, room, self._worth(first), rng)
            self.near |= found.chosen
        if found.reached:
            self._put(k, found.chosen)
        return found

    def trade(self, k: int, rng: np.random.Generator) -> Mended:
        """Mend an assignment beyond the limits, and others of those that hold the pairs beyond them without these."""
        kept = self.counts.copy(), self.pairs.copy()
        found = self._beyond(k, rng)
        for _ in range(TRADES if found.reached else 0):
            beyond = self.counts > self.most
            if not beyond.any():
                return found
            holders = [other for other in range(len(self.pairs)) if other != k and beyond[self.pairs[other]].any()]
            other = holders[int(rng.integers(len(holders)))]
            first = self._chosen(other)
            room = (self.counts < self.most) | (first & ~beyond)
            again = self._mended(first, room, self._worth(first), rng)
            if again.reached and again.chosen.sum() == first.sum():
                self._put(other, again.chosen)
        self.counts, self.pairs = kept
        return found._replace(reached=False)

    def needed(self, missed: IntArray, rng: np.random.Generator) -> int | None:
        """Mend assignments beyond the limits, at a high price; how often some pair is then held, None if some fail."""
        kept = self.counts.copy(), self.pairs.copy()
        try:
            for k in missed.tolist():
                if not self._beyond(k, rng).reached:
                    return None
            return int(self.counts[~self.problem.given].max(initial=0))
        finally:
            self.counts, self.pairs = kept

    def _beyond(self, k: int, rng: np.random.Generator) -> Mended:
        """Bring an assignment to what is asked for, pairs at their limits entering at a high price."""
        first, span = self._chosen(k), float(np.ptp(self.problem.worth))
        worth = self._worth(first) - DEAR * span * ((self.counts >= self.most) & ~first)
        found = self._mended(first, self.most > 0, worth, rng)
        if found.reached:
            self._put(k, found.chosen)
        return found

    def _chosen(self, k: int) -> BoolArray:
        chosen = np.zeros(self.counts.size, np.bool_)
        chosen[self.pairs[k]] = True
        return chosen

    def _worth(self, first: BoolArray) -> FloatArray:
        """Gain of one more assignment with each pair, of the last one for pairs that are assigned, shape (P,)."""
        start = self.counts - first
        return self.gain.slope(start, start + 1, np.arange(start.size))

    def _mended(self, first: BoolArray, allowed: BoolArray, worth: FloatArray, rng: np.random.Generator) -> Mended:
        pairs = np.flatnonzero(allowed)
        problem = replace(within(self.problem, pairs), affinity=worth[pairs], concerns=None)
        aim, survive, clock, _ = self.asked
        found = mended(problem, first[pairs], aim, survive, clock, rng)
        chosen = np.zeros(first.size, np.bool_)
        chosen[pairs] = found.chosen
        return found._replace(chosen=chosen)

    def _put(self, k: int, chosen: BoolArray) -> None:
        self.counts[self.pairs[k]] -= 1
        self.pairs[k] = np.flatnonzero(chosen)
        self.counts[self.pairs[k]] += 1
