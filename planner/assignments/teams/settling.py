"""Potentials for an assignment that is the best under rules on panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.network import settle_potentials
from planner.assignments.steps.flow import TIE_BITS

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.state import Network
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Passes over all pairs until the search for potentials gives up.
PASSES = 1_000

#: What a pair may cost less than its reduced cost says where no flow found the assignment: rounding and ties.
SLACK = 2 << TIE_BITS


def settle(net: Network, cost: IntArray, held: BoolArray, *, exact: bool) -> bool:
    """Find potentials with which reduced costs are not negative but for pairs that are held; false if there are none.

    Pairs are held where what they cost, or whether they may change, depends on who else is on the panel: without them a
    cycle changes each panel once at most and breaks no rule, so at the best assignment none gains. Where it is not
    ``exact`` the best, up to the last bit, reduced costs may be negative by a little.
    """
    locked = net.locked.copy()
    net.locked[held] = True
    settled = settle_potentials(net, cost if exact else cost + np.where(net.assigned, -SLACK, SLACK), PASSES)
    net.locked[:] = locked
    return settled


def depending(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Pairs whose coming or going breaks a rule, gains a reward or loses one, unless something else happens there."""
    panels, size = problem.panels, max(problem.panels.n_groups, 1)
    pair, group = panels.of(problem.reviewer)
    mine = problem.bound[problem.item[pair]]
    pair, group = pair[mine], group[mine]
    cell, on = problem.item[pair] * size + group, chosen[pair]
    present, count = np.unique(cell[on], return_counts=True)
    place = np.minimum(np.searchsorted(present, cell), max(present.size - 1, 0))
    there = np.where(present[place] == cell, count[place], 0) if present.size else np.zeros(cell.size, np.int64)
    owner = panels.attribute[group]
    # The last of its group takes away a different one.
    key = problem.item[pair] * max(panels.different.size, 1) + owner
    attributes = np.append(panels.attribute, 0)
    distinct, several = np.unique(
        present // size * max(panels.different.size, 1) + attributes[present % size], return_counts=True
    )
    spot = np.minimum(np.searchsorted(distinct, key), max(distinct.size - 1, 0))
    kinds = np.where(distinct[spot] == key, several[spot], 0) if distinct.size else np.zeros(key.size, np.int64)
    single = (there == 1) & (kinds <= panels.different[owner]) & (panels.different[owner] > 0)
    rewarded = panels.reward[owner] > 0
    leaves = (there <= panels.least[group]) | (rewarded & (there == 1)) | single
    comes = (there >= panels.most[group]) | (rewarded & (there == 0))
    held = np.zeros(problem.item.size, np.bool_)
    held[pair[np.where(on, leaves, comes)]] = True
    return held | (problem.rivals.count_among(chosen) > 0)
