"""Probabilities that draws can keep to: a support that reaches the level, and caps that hold after draws are mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.lots.draws import Lots, mended, within
from planner.assignments.lots.marginals import Limits, best_marginals, good
from planner.assignments.lots.measuring import Moves
from planner.assignments.lots.rounding import drawn
from planner.assignments.lots.units import UNITS
from planner.assignments.words.why_none import joined_by_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.lots.marginals import Gain, Marginals
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.reviews import BoolArray, FloatArray

#: Rounds of draws on trial, and fewest and most draws in each.
ROUNDS, FEWEST, MOST = 4, 20, 100

#: Standard errors beyond which mended draws are taken to exceed a cap.
DOUBT = 1.5

#: Below this an excess is rounding.
TINY = 1e-9

#: Most draws that are mended over all pairs in one round, to find pairs that link.
MOST_WIDE = 8

#: Best of each paper and each reviewer among which mending looks for them first.
NEAR = 10


class Settled(NamedTuple):
    """Probabilities, draws from them, and what no probabilities within the caps can gain more than."""

    marginals: Marginals
    lots: Lots
    bound: float


def settle(
    problem: Problem,
    gain: Gain,
    caps: Limits,
    aim: Aim,
    survive: int,
    clock: Clock,
    say: Callable[[str], object],
    draws: int,
) -> Settled | None:
    """Find the best probabilities whose draws reach the level within their support and keep to the caps.

    1. The best probabilities within the caps, by a flow: their bound is that of all that follow.
    2. Draws on trial, mended within the support. Where some cannot be, or mending assigns a pair more often than its
       cap allows, draws are mended over all pairs, and the pairs that this brings get a least probability: how often
       they came. Caps that were exceeded are lowered by the excess.
    3. Again, until neither happens; what is left of it after the last round is measured and said.

    The trials have seeds of their own, so that the probabilities do not depend on who draws. None if the caps leave no
    probabilities.
    """
    start = best_marginals(problem, gain, caps)
    apart = None if start is None else _apart(problem, gain, caps, start)
    if start is None or apart is None:
        return None
    bound, (found, limits) = start.bound, apart
    lots = Lots(problem, found.units, limits, aim, survive, clock)
    for number in range(ROUNDS):
        say(f"draws on trial, round {number + 1}")
        rng = np.random.default_rng([number])
        trial = _trial(lots, caps, rng, min(max(draws, FEWEST), MOST))
        if trial is None:
            break
        stricter = _stricter(problem, caps, limits, lots, trial, rng)
        solved = best_marginals(problem, gain, stricter, found.units)
        again = None if solved is None else _apart(problem, gain, stricter, solved)
        # Stricter limits may leave nothing: then those before stand, and what is measured says by how much they fail.
        if again is None or clock.over():
            break
        found, limits = again
        lots = Lots(problem, found.units, limits, aim, survive, clock)
    return Settled(found, lots, bound)


def _apart(problem: Problem, gain: Gain, limits: Limits, found: Marginals) -> tuple[Marginals, Limits] | None:
    """Bar one of each two rivals of the support, the one of less gain, until it holds none: then no draw does.

    None where that leaves nothing, which is no proof that nothing is left by other choices.
    """
    most, least = limits.most.copy(), limits.least.copy()
    while (couples := problem.rivals.couples_among(found.units > 0)).size:
        value = found.units * gain.worth
        for couple in couples.tolist():
            if most[couple].all():
                lesser = min(couple, key=lambda pair: (bool(problem.given[pair]), value[pair]))
                most[lesser] = least[lesser] = 0
        again = best_marginals(problem, gain, Limits(least, most), found.units)
        if again is None:
            return None
        found = again
    return found, Limits(least, most)


class _Trial(NamedTuple):
    """First draws that could not be mended or, where all could, some others; excess over the caps by support pair."""

    first: list[BoolArray]
    excess: FloatArray


def _trial(lots: Lots, caps: Limits, rng: np.random.Generator, count: int) -> _Trial | None:
    """Draw on trial; None where all draws could be mended and keep to the caps."""
    none = np.zeros(lots.pairs.size)
    if lots.aim.level is not None and joined_by_all(lots.within, lots.aim) < lots.within.required.sum():
        return _Trial([drawn(lots.flow, rng) for _ in range(MOST_WIDE)], none)
    # What is no lottery is drawn once.
    moves = Moves(lots.pairs.size)
    kept: list[BoolArray] = []
    failed: list[BoolArray] = []
    while moves.count < (count if lots.flow.part.size else 1) and not lots.clock.over():
        draw = lots.draw(rng)
        moves.add(draw)
        kept = [*kept, draw.first][:MOST_WIDE]
        failed += [] if draw.reached else [draw.first]
    excess, doubt = moves.excess(lots, caps)
    excess = np.where(excess > DOUBT * doubt + TINY, excess, 0.0)
    return _Trial(failed or kept, excess) if failed or excess.any() else None


def _stricter(
    problem: Problem, caps: Limits, limits: Limits, lots: Lots, trial: _Trial, rng: np.random.Generator
) -> Limits:
    """Lower the caps that were exceeded, and give a least probability to pairs that mending over all pairs brings."""
    most, least = limits.most.copy(), limits.least.copy()
    most[lots.pairs] -= np.ceil(trial.excess * UNITS).astype(np.int64)
    most = np.maximum(most, least)
    # Pairs without room, and those that an earlier draw brought, enter last: so links spread over many pairs.
    full = np.zeros(problem.item.size, np.bool_)
    full[lots.pairs[(lots.room <= 0) & (lots.units < UNITS)]] = True
    free = caps.most[~problem.given & (caps.most > 0)]
    wide = min(1 + int(np.ceil(2 * UNITS / max(np.median(free), 1))), MOST_WIDE) if free.size else 1
    brought, near = np.zeros(problem.item.size, np.int64), lots.support | good(problem, problem.worth, NEAR)
    for first in trial.first[:wide]:
        chosen = problem.given.copy()
        chosen[lots.pairs] = first
        new = _widely(problem, chosen, full | (caps.most == 0), near, lots, rng) & ~lots.support
        brought += new
        full |= new
    links = (brought > 0) & (caps.most > 0)
    least[links] = np.maximum(least, np.minimum(most, brought * UNITS // wide))[links]
    return Limits(least, most)


def _widely(
    problem: Problem, chosen: BoolArray, full: BoolArray, near: BoolArray, lots: Lots, rng: np.random.Generator
) -> BoolArray:
    """Mend a draw beyond the support, among the pairs that are near, and among all where those do not do.

    The search takes time in proportion to the pairs that it meets, and most are never worth a change.
    """
    for pairs in (np.flatnonzero(near | problem.given), np.arange(near.size)):
        found = mended(within(problem, pairs), chosen[pairs], full[pairs], lots.aim, lots.survive, lots.clock, rng)
        if found.reached or pairs.size == near.size or lots.clock.over():
            break
    result = np.zeros(near.size, np.bool_)
    result[pairs] = found.chosen
    return result
