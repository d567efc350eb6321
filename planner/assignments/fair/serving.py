"""The stage that serves papers fairly, between the best affinity and the level, and guards that afterwards.

The level may need a review of a paper that is served badly. So the search for it runs under guards, the strictest
first, those left out that are proved to keep the level out of reach:

1. The worst-served tenth lose nothing, and no other paper falls among them.
2. No paper falls below the smallest score.
3. No paper falls further below it than by some part of the spread of affinities, which grows.
4. Only what the floor asks for is kept: papers at the floor stay there, those below it lose nothing.

Once the level holds no paper loses anything more, where a fair way was asked for: exchanges for smaller errors are
made only where both papers have as much as before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.fair.bounding import Bound, smallest_at_most
from planner.assignments.fair.exact import small, with_floor
from planner.assignments.fair.guarding import allowed, within_reach
from planner.assignments.fair.lifting import Lifting, panel_scores, reach_of
from planner.assignments.findings.fairness import WORST, Fairness
from planner.assignments.model.network import flip
from planner.assignments.wishes.floors import NO_FLOOR, unit_of, whole_floor

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.fair.ways import Way
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.state import Network
    from planner.assignments.steps.linking import Linker
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Parts of the spread of affinities by which papers may fall where the level cannot be had without.
LOWER = (0.06, 0.12, 0.25, 0.5, 1.0)


@dataclass
class Fair:
    """Serve papers fairly.

    Parameters
    ----------
    problem
        Who may review what, with its floors.
    way
        What is sought beside the floors, if anything.
    say
        Told in words what goes on.
    bound
        Found on the way: what the smallest score is at most.
    cannot
        Found on the way: papers that cannot reach the floor, each by itself; empty where that is no reason.
    impossible
        Found on the way: whether the floor is proved out of reach.
    proved
        Found on the way: whether the sorted scores before the level are proved the best possible.
    lost
        Found on the way: affinity given up for fairness.
    guards
        Found on the way: least scores under which the level was sought, the strictest first, shape (N,) each.
    """

    problem: Problem
    way: Way | None
    say: Callable[[str], object]
    bound: Bound | None = None
    cannot: tuple[int, ...] = ()
    impossible: bool = False
    proved: bool = False
    lost: float = 0.0
    guards: list[IntArray] = field(default_factory=list)

    def serve(self, linker: Linker, best: BoolArray) -> None:
        """Make an assignment fair, or find out that a floor is impossible; ``best`` is the most affinity there is."""
        net, problem = linker.net, self.problem
        self.before, served = panel_scores(problem.network(best)), problem.served
        if not served.any():
            return
        self.say("the worst-served papers")
        lifting = Lifting(linker, served, reach_of(net, problem.demand), self._count)
        self.cannot = tuple(np.flatnonzero(served & (lifting.reach < self._floor())).tolist())
        self.impossible = bool(self.cannot)
        if self.impossible:
            return
        if not (small(problem) and self._exactly(linker)):
            self._lift(lifting)
        linker.core.regroup()
        self.lost = float(problem.affinity[best].sum() - problem.affinity[net.assigned].sum())
        if self.way is not None or problem.floors.total is not None:
            self._bound(linker)

    def link(self, linker: Linker) -> bool:
        """Bring a fair assignment to the level, under the strictest guard that allows it."""
        net = linker.net
        net.floored[0] = True
        self.guards = self._guards(panel_scores(net))
        for guard in self.guards:
            net.floor[:] = guard
            barred = ~net.locked & ~net.assigned & ~allowed(net, guard, self.problem.demand)
            net.locked[barred] = True
            reached = within_reach(linker.core) and linker.link()
            net.locked[barred] = False
            if reached:
                self.keep(net)
            if reached or linker.clock.over():
                return reached
        return False

    def keep(self, net: Network) -> None:
        """Let no paper lose anything from here on, where a fair way is asked for."""
        if self.way is not None:
            net.floor[:] = np.where(self.problem.served, panel_scores(net), NO_FLOOR)

    def result(self, assigned: BoolArray) -> Fairness:
        """Sum up an assignment."""
        problem = self.problem
        unit, served = unit_of(problem.affinity), problem.served
        after = panel_scores(problem.network(assigned))
        below = np.flatnonzero(served & (after < self._floor()))
        (first, worst), (last, better) = (_lowest(score[served]) for score in (self.before, after))
        return Fairness(
            self.way.name if self.way else "",
            problem.floors,
            (unit * first, unit * last),
            (unit * worst, unit * better),
            None if self.bound is None else max(self.bound.value, unit * last),
            self.proved,
            self.lost,
            tuple(problem.items[int(i)] for i in below),
        )

    def _floor(self) -> int:
        problem = self.problem
        return whole_floor(problem.floors.total, problem.affinity, int(problem.demand.max(initial=0)))

    def _count(self, lifts: int) -> None:
        self.say(f"the worst-served papers: {lifts} lifted")

    def _exactly(self, linker: Linker) -> bool:
        """Take the answer of an integer programme, where there is one; true if nothing is left to do."""
        problem, total = self.problem, self.problem.floors.total
        if self.way is not None:
            chosen, self.proved = self.way.exactly(problem, linker.clock)
        elif total is not None:
            chosen, self.impossible = with_floor(problem, total)
        else:
            return True
        if chosen is not None:
            flip(linker.net, np.flatnonzero(chosen != linker.net.assigned))
        return chosen is not None or self.impossible

    def _lift(self, lifting: Lifting) -> None:
        if self.way is not None:
            self.way.lift(lifting)
        elif self.problem.floors.total is not None:
            lifting.run(self._floor(), self._floor())

    def _bound(self, linker: Linker) -> None:
        """Bound the smallest score, and see whether that rules the floor out where it was not reached."""
        problem = self.problem
        unit, score = unit_of(problem.affinity), panel_scores(linker.net)
        smallest, floor = int(score[problem.served].min()), self._floor()
        self.say("what the worst-served paper can have at most")
        self.bound = smallest_at_most(problem, unit * smallest, linker.clock)
        self.impossible |= smallest < floor and (self.proved or self.bound.value < unit * floor)

    def _guards(self, score: IntArray) -> list[IntArray]:
        """Least scores while the level is sought, the strictest first, shape (N,) each."""
        problem = self.problem
        if not problem.served.any():
            return [np.full(score.size, NO_FLOOR)]
        low = np.sort(score[problem.served])
        tenth, floor = int(low[_worst(low.size) - 1]), self._floor()
        spread = float(np.ptp(problem.affinity)) / unit_of(problem.affinity)
        steps = [int(low[0]) - round(part * spread) for part in LOWER]
        caps = [max(cap, floor) for cap in (tenth, int(low[0]), *steps, floor)] if self.way is not None else [floor]
        return [np.where(problem.served, np.minimum(score, cap), NO_FLOOR) for cap in caps]


def _worst(size: int) -> int:
    return max(1, round(WORST * size))


def _lowest(score: IntArray) -> tuple[float, float]:
    """Return the smallest score, and the mean of the lowest tenth; NaN without scores."""
    low = np.sort(score)[: _worst(score.size)]
    return (float(low[0]), float(low.mean())) if low.size else (float("nan"), float("nan"))
