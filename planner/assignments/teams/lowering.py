r"""Demands that can be met, where those that were asked for cannot.

.. math::
    \min \sum_i \sum_{k \le s_i} (B k) - \sum_p a_p z_p \quad \text{subject to} \quad
    \sum_{p \ni i} z_p + s_i = d_i, \quad l_j \le \sum_{p \ni j} z_p \le u_j, \quad z_p \in \{0, 1\}

for what item i lacks, s_i, and B above all affinity that an exchange can gain. Served demands are the independent
vectors of a polymatroid, so fewest reviews are missing in the end; of these solutions it is one that spreads them
evenly: the largest lack is as small as can be, then the next largest; and of those one of most affinity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.flow import AFFINITY_BITS, SOLVER_BITS, Arcs, cheapest_flow
from planner.assignments.teams.routing import partitions, route_of

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.flow import Via
    from reviewgraph.labels import IntArray


def missing_reviews(problem: Problem) -> IntArray | None:
    """Shape (N,): reviews that items lack when as many demands as possible are met; None where no loads can be kept.

    Conflicts, loads, fixed pairs and the limits of one rule on values of which nobody has two are heeded; other rules
    are left to what assigns by the lowered demands. Takes the time of a minimum-cost flow.
    """
    demand, (load, least) = problem.open_demand(), problem.open_loads()
    free, via = np.flatnonzero(~problem.given), _limits(problem)
    item = np.repeat(np.arange(demand.size), demand)
    k = 1 + np.arange(item.size) - np.repeat(np.cumsum(demand) - demand, demand)
    # Affinities in so few bits that B times the largest lack stays within what the solver can count.
    nodes = demand.size + load.size + 2 + (0 if via is None else via.item.size)
    bits = min(SOLVER_BITS - 2 * nodes.bit_length() - int(k.max(initial=1)).bit_length() - 4, AFFINITY_BITS)
    bits = max(bits, 1)
    worth, step = problem.affinity[free], 1 << (bits + nodes.bit_length() + 1)
    scale = 2.0**bits / (float(np.abs(worth).max(initial=0.0)) or 1.0)
    arcs = Arcs(
        np.concatenate([problem.item[free], item]),
        np.concatenate([problem.reviewer[free], np.full(item.size, load.size)]),
        np.concatenate([-np.rint(worth * scale).astype(np.int64), step * k]),
        np.ones(free.size + item.size, np.int64),
    )
    if via is not None:
        via = via._replace(node=np.concatenate([via.node, np.full(item.size, -1)]))
    flow = cheapest_flow(arcs, demand, np.append(load, item.size), np.append(least, 0), via)
    return None if flow is None else np.bincount(item[flow[free.size :] > 0], minlength=demand.size)


def _limits(problem: Problem) -> Via | None:
    """Return the nodes of a rule that only limits the reviewers of a value; None where there is none."""
    for attribute in partitions(problem):
        mine = problem.panels.attribute == attribute
        if problem.panels.least[mine].any() or problem.panels.different[attribute]:
            continue
        route = route_of(problem, attribute)
        if route is not None and route.via.item.size:
            return route.via._replace(bonus=np.zeros_like(route.via.bonus))
    return None
