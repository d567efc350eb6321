"""Changes of an assignment along cheapest cycles of the residual network, within every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.fitting import clash
from planner.assignments.model.network import Work, cheapest_path, workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray

#: Beyond every limit on a path: distances stay below.
NO_LIMIT = 1 << 61

#: Ways tried around rivals that would come in together.
DETOURS = 4


def around_rivals(net: Network, find: Callable[[], IntArray]) -> IntArray:
    """Look for pairs to flip of which no two are rivals that come in together; none if each of a few ways has such."""
    avoided: list[int] = []
    try:
        for _ in range(DETOURS):
            pairs = find()
            # Two rivals may come in by one way: then one of them must not.
            rival = clash(net, pairs)
            if rival < 0:
                return pairs
            net.locked[rival] = True
            avoided.append(rival)
        return np.empty(0, np.int64)
    finally:
        net.locked[avoided] = False


class Changes:
    """What the cheapest change of an assignment is around one pair.

    Parameters
    ----------
    net
        The assignment.
    cost
        Cost of each pair in whole units, shape (P,).
    """

    def __init__(self, net: Network, cost: IntArray) -> None:
        self.net, self.cost = net, cost
        self.work: Work = workspace(net.potential.size)

    def change(self, pair: int, limit: int = NO_LIMIT) -> tuple[IntArray, bool]:
        """Cheapest set of pairs to flip along with one, empty if there is none; false if it exceeds the limit.

        The limit is on the loss beyond the pair's own reduced cost.
        """
        lengths: list[int] = []

        def find() -> IntArray:
            lengths.append(cheapest_path(self.net, self.cost, self.work, pair, limit))
            return self.work.path[: max(lengths[-1], 0)].copy()

        return around_rivals(self.net, find), lengths[-1] >= 0

    def loss_of(self, pairs: IntArray) -> int:
        """Cost of flipping pairs."""
        return int(np.where(self.net.assigned[pairs], -self.cost[pairs], self.cost[pairs]).sum())

    def reduced(self, pairs: IntArray) -> IntArray:
        """Reduced costs of pairs, lower bounds on the loss of forcing each."""
        net = self.net
        end = net.item_start.size - 1 + net.reviewer[pairs]
        reduced: IntArray = self.cost[pairs] + net.potential[net.item[pairs]] - net.potential[end]
        return reduced
