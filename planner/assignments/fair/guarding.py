"""Which pairs a guard on papers' scores leaves, and whether these can bring the level at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.fair.lifting import reach_of
from planner.assignments.steps.core import largest_cover
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.assignments.model.state import Network
    from planner.assignments.steps.grouping import Core
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


def allowed(net: Network, guard: IntArray, demand: IntArray) -> BoolArray:
    """Pairs that leave their item at its guard if the rest of its panel is the best there could be, shape (P,)."""
    one_less = np.maximum(demand - 1, np.bincount(net.item[net.locked & net.assigned], minlength=demand.size))
    rest = reach_of(net, np.minimum(one_less, demand))
    return np.asarray(net.assigned | (net.value + rest[net.item] >= guard[net.item]), np.bool_)


def within_reach(core: Core) -> bool:
    """Whether one group would cover all papers if every pair that is not locked were assigned.

    False is a proof that the level is out of reach of these pairs, where the level is decided by one group.
    """
    net = core.net
    if not core.aim.core_decides:
        return True
    pairs = np.flatnonzero(net.assigned | ~net.locked)
    table = Reviews.from_codes(
        net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
    )
    return largest_cover(core.aim, table, core.required) >= core.total
