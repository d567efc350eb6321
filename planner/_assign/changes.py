"""Two ways to change an assignment around forced pairs: cheapest cycles of a flow, and a programme where rules hold.

Both keep the assignment optimal, or near that, beside the pairs that are locked. The flow is faster by far; where pairs
depend on others, by rules or floors, the change around a pair is no cycle of a network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planner._assign.core import NO_LIMIT, NO_PAIRS
from planner._assign.kernels.flow import cheapest_path, flip, workspace

if TYPE_CHECKING:
    from planner._assign.problem import Network, Problem
    from planner._assign.programme import Relaxation
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


class Changes(Protocol):
    """A way to change an assignment, in place, beside the pairs that are locked."""

    effort: Clock  # where work is counted

    def begin(self) -> None:
        """Prepare losses and changes of the assignment."""

    def total(self) -> float:
        """Return the cost of the assignment."""

    def losses(self, pairs: IntArray) -> FloatArray:
        """Return lower bounds on the losses of forcing pairs."""

    def loss(self, pair: int) -> float:
        """Return the loss of forcing a pair alone; infinite where that is not possible."""

    def take(self, pairs: IntArray) -> bool:
        """Assign and lock pairs; false if that is not possible, with some done."""

    def drop(self, pair: int) -> bool:
        """Unlock a pair, and re-optimise; false if it stays locked."""


#: Work of a search for a cycle, per pair that may be assigned.
SEARCH = 4e-9


class Cycles:
    """Changes by cheapest cycles, of pairs of some costs; needs potentials with non-negative reduced costs."""

    def __init__(self, net: Network, cost: IntArray, effort: Clock) -> None:
        self.net = net
        self.cost = cost
        self.effort = effort
        self.work = workspace(cost, net.potential.size)
        self.path: IntArray = np.asarray(self.work.path)

    def begin(self) -> None:
        pass

    def total(self) -> float:
        return int(self.cost[self.net.assigned].sum())

    def losses(self, pairs: IntArray) -> FloatArray:
        """Return the reduced costs of pairs."""
        net = self.net
        end = net.item_start.size - 1 + net.reviewer[pairs]
        reduced = self.cost[pairs] + net.potential[net.item[pairs]] - net.potential[end]
        return np.asarray(reduced, float)

    def change(self, pair: int, limit: int = NO_LIMIT) -> IntArray:
        """Return the cheapest pairs to flip along with one; empty if there are none within the limit.

        The limit is on the loss beyond the pair's own reduced cost.
        """
        self.effort.spend(SEARCH * self.cost.size)
        length = cheapest_path(self.net, self.work, pair, limit)
        return self.path[: max(length, 0)].copy()

    def loss(self, pair: int) -> float:
        pairs = self.change(pair)
        cost = np.where(self.net.assigned[pairs], -self.cost[pairs], self.cost[pairs])
        return float(cost.sum()) if pairs.size else math.inf

    def take(self, pairs: IntArray) -> bool:
        for pair in pairs[::-1].tolist():
            if not self.net.assigned[pair]:
                cycle = self.change(pair)
                if not cycle.size:
                    return False
                flip(self.net, cycle)
            self.net.locked[pair] = True
        return True

    def drop(self, pair: int) -> bool:
        cycle = self.change(pair, max(int(self.losses(np.array([pair]))[0]), 0))
        if not cycle.size:
            return False
        flip(self.net, cycle)
        self.net.locked[pair] = False
        return True


#: Whole units of a largest value, for losses.
UNITS = 1 << 30


class Programmed:
    """Changes by the programme of an assignment under rules, from its last basis."""

    def __init__(self, net: Network, problem: Problem, relaxation: Relaxation) -> None:
        self.net = net
        self.problem = problem
        self.relaxation = relaxation
        self.pairs = relaxation.programme.pairs
        # Pairs that are no columns stay as they are.
        outside = np.ones(net.assigned.size, np.bool_)
        outside[self.pairs] = False
        net.locked[outside] = True

    @property
    def effort(self) -> Clock:
        return self.relaxation.effort

    @effort.setter
    def effort(self, effort: Clock) -> None:
        self.relaxation.effort = effort

    def begin(self) -> None:
        self._relax()
        relaxation = self.relaxation
        self.best = float(relaxation.value @ relaxation.z)
        self.cost = np.zeros(self.net.assigned.size)
        self.cost[self.pairs] = np.maximum(-relaxation.reduced(), 0) * UNITS
        self._put(self._solved())

    def total(self) -> float:
        """Return the negative value of the pairs beside given ones, as the programme has it: equal where that is."""
        programme = self.relaxation.programme
        return -programme.worth(np.asarray(self.net.assigned, np.bool_)[self.pairs])

    def losses(self, pairs: IntArray) -> FloatArray:
        return self.cost[pairs]

    def loss(self, pair: int) -> float:
        """Return the loss of the relaxation."""
        self._relax(np.array([pair]), priced=False)
        relaxation = self.relaxation
        return math.inf if relaxation.short else (self.best - float(relaxation.value @ relaxation.z)) * UNITS

    def take(self, pairs: IntArray) -> bool:
        if not self._put(self._solved(pairs)):
            return False
        self.net.locked[pairs] = True
        return True

    def drop(self, pair: int) -> bool:
        self.net.locked[pair] = False
        if self._put(self._solved(priced=False)):
            return True
        self.net.locked[pair] = True
        return False

    def _put(self, assigned: BoolArray | None) -> bool:
        if assigned is not None:
            flip(self.net, np.flatnonzero(self.net.assigned != assigned))
        return assigned is not None

    def _relax(self, taken: IntArray = NO_PAIRS, *, priced: bool = True) -> None:
        """Re-optimise the relaxation with some pairs taken and those locked as they are."""
        relaxation = self.relaxation
        locked = np.asarray(self.net.locked, np.bool_)[self.pairs]
        assigned = np.asarray(self.net.assigned, np.bool_)[self.pairs]
        lower = locked & assigned
        lower[np.searchsorted(self.pairs, taken)] = True
        upper = lower | ~locked
        moved = np.flatnonzero((lower != relaxation.lower) | (upper != relaxation.upper))
        relaxation.bounds(moved, lower[moved].astype(float), upper[moved].astype(float))
        relaxation.solve(priced=priced)

    def _solved(self, taken: IntArray = NO_PAIRS, *, priced: bool = True) -> BoolArray | None:
        """Return the assignment with some pairs taken and those locked as they are; None if there is none."""
        self._relax(taken, priced=priced)
        relaxation = self.relaxation
        relaxation.dive()
        if relaxation.short:
            return None
        return relaxation.programme.assigned(relaxation.chosen(), self.problem.given)
