"""The rules on one attribute as nodes of the flow, where nobody has two values of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.steps.flow import Arcs, Via, cheapest_assignment, cheapest_flow

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Route(NamedTuple):
    """Nodes between papers and the panel groups of one attribute.

    Parameters
    ----------
    free
        The pairs that may be assigned or not, shape (A,).
    via
        The nodes, with a bonus of 1 where one is due.
    alone
        Pairs that earn a reward by themselves, shape (A,): nobody else could bring the value.
    """

    free: IntArray
    via: Via
    alone: BoolArray

    @property
    def n_nodes(self) -> int:
        """Nodes that the rules add."""
        return int(self.via.item.size + (0 if self.via.spare is None else np.count_nonzero(self.via.spare >= 0)))


def partitions(problem: Problem) -> list[int]:
    """Attributes of which nobody has two values that matter."""
    panels = problem.panels
    owner, size = np.repeat(np.arange(problem.n_reviewers), np.diff(panels.start)), max(panels.different.size, 1)
    key, count = np.unique(owner * size + panels.attribute[panels.group], return_counts=True)
    single: list[int] = np.setdiff1d(np.arange(panels.different.size), key[count > 1] % size).tolist()
    return single


def route_of(problem: Problem, attribute: int) -> Route | None:
    """Lay nodes where a limit could bite or a reward is due; None where too few pairs could do what is asked.

    Units to a group of which a paper needs some, or that are more than the paper may take of it, must pass one node.
    Where different groups are asked for, so many units at most are no first ones of their group.
    """
    panels, free = problem.panels, np.flatnonzero(~problem.given)
    size, ours = max(panels.n_groups, 1), np.flatnonzero(panels.attribute == attribute)
    arc, cell = _cells(problem, free, attribute)
    cells, number, n_arcs = np.unique(cell, return_inverse=True, return_counts=True)
    standing = np.sort(_cells(problem, np.flatnonzero(problem.given), attribute)[1])
    have = np.searchsorted(standing, cells, "right") - np.searchsorted(standing, cells)
    group, place = cells % size, cells // size
    # What each paper lacks of groups, and of different groups.
    for g in ours[panels.least[ours] > 0].tolist():
        could = np.bincount(place[group == g], (n_arcs + have)[group == g], problem.n_items)
        there = np.bincount(standing[standing % size == g] // size, minlength=problem.n_items)
        if (problem.bound & (np.maximum(could, there) < panels.least[g])).any():
            return None
    lack = panels.different[attribute] - np.bincount(np.unique(standing) // size, minlength=problem.n_items)
    lack = np.where(problem.bound, np.maximum(lack, 0), 0)
    low, room = np.maximum(panels.least[group] - have, 0), np.maximum(panels.most[group] - have, 0)
    fresh, due = have == 0, (have == 0) & (panels.reward[attribute] > 0)
    node = (room < n_arcs) | (low > 0) | (due & (n_arcs > 1)) | ((lack[place] > 0) & fresh)
    code = np.where(node, np.cumsum(node) - 1, -1)
    through, alone = np.full(free.size, -1), np.zeros(free.size, np.bool_)
    through[arc] = code[number]
    alone[arc] = (due & ~node)[number]
    # Units that nodes pass on beforehand are no first ones beyond one each.
    spare = np.where(lack > 0, problem.open_demand() - lack, -1)
    beyond = np.bincount(place, np.maximum(low - fresh, 0), problem.n_items).astype(np.int64)
    if (lack > problem.open_demand()).any() or (beyond > spare)[lack > 0].any():
        return None
    spare = np.where(lack > 0, spare - beyond, -1)
    via = Via(through, place[node], low[node], np.minimum(room, n_arcs)[node], due[node].astype(np.int64))
    return Route(free, via._replace(spare=spare if (lack > 0).any() else None, fresh=fresh[node]), alone)


def _cells(problem: Problem, pairs: IntArray, attribute: int) -> tuple[IntArray, IntArray]:
    """Memberships of pairs on bound papers in groups of an attribute: place of the pair, and item * G + group."""
    place, group = problem.panels.of(problem.reviewer[pairs])
    mine = problem.bound[problem.item[pairs[place]]] & (problem.panels.attribute[group] == attribute)
    return place[mine], (problem.item[pairs[place]] * max(problem.panels.n_groups, 1) + group)[mine]


def unrouted(problem: Problem, cost: IntArray, barred: BoolArray | None = None) -> BoolArray | None:
    """Return the best assignment within demands and loads, without the pairs that are barred; None if there is none."""
    closed = problem.given if barred is None else problem.given | barred
    free, (load, least) = np.flatnonzero(~closed), problem.open_loads()
    found = cheapest_assignment(
        problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
    )
    if found is None:
        return None
    chosen = problem.given.copy()
    chosen[free[found]] = True
    return chosen


def routed(
    problem: Problem, route: Route, bonus: int, cost: IntArray, barred: BoolArray | None = None
) -> BoolArray | None:
    """Return the best assignment within demands, loads and the rules of the route; None where there is none.

    Without the pairs that are barred, by default none.
    """
    kept = np.ones(route.free.size, np.bool_) if barred is None else ~barred[route.free]
    free = route.free[kept]
    via = route.via._replace(bonus=route.via.bonus * bonus, node=route.via.node[kept])
    return through(problem, free, cost[free] - np.where(route.alone[kept], bonus, 0), via)


def through(problem: Problem, free: IntArray, cost: IntArray, via: Via) -> BoolArray | None:
    """Return the best assignment by free pairs, at a cost each, by way of some nodes; None if there is none."""
    load, least = problem.open_loads()
    arcs = Arcs(problem.item[free], problem.reviewer[free], cost, np.ones(free.size, np.int64))
    flow = cheapest_flow(arcs, problem.open_demand(), load, least, via)
    if flow is None:
        return None
    chosen = problem.given.copy()
    chosen[free[flow > 0]] = True
    return chosen
