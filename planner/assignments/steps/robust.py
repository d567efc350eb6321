"""Changes that make the level hold after any one reviewer drops out: a tabu search over cheapest cycles."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.core import promise
from planner.assignments.steps.watching import Watch, missing_without
from reviewgraph.clock import TimeOver

if TYPE_CHECKING:
    from planner.assignments.steps.grouping import Core
    from planner.assignments.steps.linking import Linker
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Candidates tried for a reviewer on whom the level hangs before the best of them is taken or she has to wait.
TRIES = 16

#: Candidates ranked for her.
RANKED = 256

#: Steps without progress after which the search goes back to the best assignment found, and restarts in all.
STALE, RESTARTS = 40, 12

#: Seconds for a last look at what is missing where time is over.
CLOSING = 0.3

#: Rounds of mending where mending may expose others.
ROUNDS = 4


class Hardened(NamedTuple):
    """What is missing without each reviewer, and without each of those who are exposed, 0 for the others: both (M,)."""

    missing: IntArray
    exposed: IntArray


def harden(linker: Linker, rng: np.random.Generator) -> Hardened | None:
    """Change the assignment until the level outlives what it shall; None where it is not known in time whether it does.

    Ends with the assignment of which least is missing, pairs forced for that being freed again where it survives
    without them; it never gives up the level itself. Who is exposed says the aim: all reviewers, or those of critical
    reviews; mending these may expose others, who join them in the next round.
    """
    core, clock, exposed = linker.core, linker.clock, np.zeros(linker.net.n_held.size, np.bool_)
    given = linker.net.locked.copy()
    given[linker.forced] = False
    with suppress(TimeOver):
        for _ in range(ROUNDS):
            found, missing = core.aim.exposed(core.table(), clock), missing_without(core, clock)
            if not missing[found].any():
                return Hardened(missing, np.where(found, missing, 0))
            exposed |= found
            search = _Search(linker, rng, exposed, given)
            if search.run():
                linker.release(Robust(core, clock, exposed).holds)
            linker.net.locked[:] = given
            linker.net.locked[linker.forced] = True
            core.regroup()
            if found.all():
                break
    try:
        until = clock.no_less_than(CLOSING)
        found, missing = core.aim.exposed(core.table(), until), missing_without(core, until)
    except TimeOver:
        return None
    return Hardened(missing, np.where(found, missing, 0))


class Robust:
    """Whether an assignment under change still survives any one reviewer of those watched, by default of all."""

    def __init__(self, core: Core, clock: Clock, exposed: BoolArray | None = None) -> None:
        self.core, self.clock, self.watch = core, clock, Watch(core)
        self.exposed = np.ones(core.net.n_held.size, np.bool_) if exposed is None else exposed

    def holds(self, pairs: IntArray) -> bool:
        """Whether nothing is missing after pairs were flipped; false where time is over before that is known."""
        if not self.watch.sound():
            self.watch = Watch(self.core)
        try:
            return not self.watch.missing(self.clock)[self.exposed].any()
        except TimeOver:
            return False


class _Search:
    """Tabu search for an assignment without critical reviewers.

    A step takes a reviewer on whom items hang, ranks the pairs that would join these without her as the planner
    does, and forces the first one after which less is missing over all drop-outs; if none of those tried does, the
    one after which least is missing. Pairs forced stay, and pairs removed stay away, for some steps.
    """

    def __init__(self, linker: Linker, rng: np.random.Generator, exposed: BoolArray, given: BoolArray) -> None:
        self.linker, self.rng, self.step = linker, rng, 0
        self.exposed, self.given = exposed, given
        self.watch = Watch(linker.core)
        self.missing = self._missing(self.watch)
        self.base = linker.net.locked.copy()
        self.until = np.zeros(linker.cost.size, np.int64)
        self.noise = 0.0
        self.best = int(self.missing.sum())
        self.kept = (linker.net.assigned.copy(), list(linker.forced))

    def run(self) -> bool:
        """Search until nothing is missing, or time and restarts are used up; leaves the best assignment found."""
        with suppress(TimeOver):
            self._steps()
        self._back()
        return self.best == 0

    def _steps(self) -> None:
        stale, restarts = 0, 0
        while self.best > 0 and not self.linker.clock.over() and restarts < RESTARTS:
            self.step += 1
            self._one_step()
            stale += 1
            # Remember the best so far; after many steps in vain go back to it, and let the ranking err from then on.
            if int(self.missing.sum()) < self.best:
                stale, self.best = 0, int(self.missing.sum())
                self.kept = (self.linker.net.assigned.copy(), list(self.linker.forced))
            elif stale > STALE:
                stale, restarts, self.noise = 0, restarts + 1, 0.5
                self._back()
                self.base = self.given.copy()
                self.watch = Watch(self.linker.core)
                self.missing = self._missing(self.watch)

    def _missing(self, watch: Watch) -> IntArray:
        """Items missing without each reviewer who is to be mended; 0 for the others."""
        return np.where(self.exposed, watch.missing(self.linker.clock), 0)

    def _back(self) -> None:
        """Return to the best assignment so far."""
        linker = self.linker
        assigned, forced = self.kept
        flip(linker.net, np.flatnonzero(assigned != linker.net.assigned))
        linker.forced = list(forced)
        self.until[:] = 0

    def _one_step(self) -> None:
        # Tabu list: pairs forced of late stay (locked); pairs removed of late are left out of the ranking.
        linker, net = self.linker, self.linker.net
        net.locked[:] = self.base | (net.assigned & (self.until > self.step))
        # A reviewer on whom items hang, those on whom much hangs more likely.
        waiting = np.flatnonzero(self.missing > 0)
        weight = self.missing[waiting] * self.rng.random(waiting.size)
        reviewer = int(waiting[np.argmax(weight)])
        found = self._look(reviewer, self._ranked(reviewer))
        if found is None:
            return
        # The move is made even where it is for the worse: that leads out of local optima.
        pairs, self.missing, self.watch = found
        flip(net, pairs)
        linker.forced.append(int(pairs[0]))
        linker.forced = [p for p in dict.fromkeys(linker.forced) if net.assigned[p]]
        stay = 3 + int(self.rng.integers(1 + min(20, net.n_held.size // 4)))
        self.until[pairs[0]] = self.step + stay
        self.until[pairs[~net.assigned[pairs]]] = self.step + stay

    def _ranked(self, reviewer: int) -> IntArray:
        """Pairs that would bring items without this reviewer, least loss for each item first."""
        linker, net, watch = self.linker, self.linker.net, self.watch
        watch.missing_one(reviewer)
        core = linker.core
        loss, follow, gain = promise(net, linker.cost, watch.groups, watch.grown, core.required, core.aim.shared, 1)
        useful = np.flatnonzero((gain > 0) & (net.reviewer != reviewer) & (self.until <= self.step))
        score = (loss + follow)[useful] / gain[useful]
        if self.noise:
            score *= np.exp(self.noise * self.rng.normal(size=score.size))
        return useful[np.argsort(score, kind="stable")[:RANKED]]

    def _look(self, reviewer: int, ranked: IntArray) -> tuple[IntArray, IntArray, Watch] | None:
        """Find the first change after which less is missing, or else the best one of those tried."""
        linker, net, now = self.linker, self.linker.net, int(self.missing.sum())
        alone, tried = int(self.missing[reviewer]), 0
        best: tuple[int, tuple[IntArray, IntArray, Watch]] | None = None
        for pair in ranked.tolist():
            if tried >= TRIES or linker.clock.over():
                break
            pairs, _ = linker.change(pair)
            if pairs.size == 0:
                continue
            # Try the change, judge it, take it back.
            flip(net, pairs)
            try:
                judged = self._judge(reviewer, alone)
            finally:
                flip(net, pairs)
            if judged is None:
                continue
            tried += 1
            total = int(judged[0].sum())
            if total < now:
                return pairs, *judged
            if best is None or total < best[0]:
                best = (total, (pairs, *judged))
        return None if best is None else best[1]

    def _judge(self, reviewer: int, alone: int) -> tuple[IntArray, Watch] | None:
        """Count what is missing for each; None where the level itself is lost or nothing gained for this reviewer."""
        watch = self.watch if self.watch.sound() else Watch(self.linker.core)
        if watch.missing_one(-1) > 0 or watch.missing_one(reviewer) > alone:
            return None
        return self._missing(watch), watch
