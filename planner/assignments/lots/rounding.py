"""Draws with given probabilities in which every demand, load and rule of the flow holds: dependent rounding.

Gandhi et al. ([Gandhi06]_) round a bipartite graph; here the probabilities are a flow from
papers, through nodes of rules, to reviewers and a sink. What enters a node leaves it and demands are whole, so no node
has one fractional arc alone, and the fractional arcs hold a cycle. Flow is pushed around it one way or the other, as
far as some arc allows, with the chances that leave every arc's expectation as it is; that arc is whole from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.lots.units import UNITS, through_rules
from reviewgraph.arrays import starts
from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.flow import Via
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, FloatArray


class Flow(NamedTuple):
    """Arcs with a fractional part, and the arcs at each node.

    Parameters
    ----------
    tail, head
        Nodes of each arc, shape (A,).
    part
        Units of each arc beyond whole reviews, 1 to ``unit - 1``, shape (A,).
    start, arc
        The arcs at node v are ``arc[start[v]:start[v + 1]]``.
    pair
        The pairs that the first arcs stand for.
    whole
        Pairs that are assigned whatever is drawn, shape (P,).
    unit
        Units of one whole review.
    """

    tail: IntArray
    head: IntArray
    part: IntArray
    start: IntArray
    arc: IntArray
    pair: IntArray
    whole: BoolArray
    unit: int


def flow_of(
    item: IntArray,
    reviewer: IntArray,
    units: IntArray,
    n_items: int,
    n_reviewers: int,
    via: Via | None = None,
    unit: int = UNITS,
) -> Flow:
    """Lay out probabilities, in units, shape (P,), as a flow; sums over each item must be whole.

    Nodes are the items, the reviewers, the sink and the nodes of ``via``. A reviewer's arc to the sink carries her
    load and that to a node of a rule what passes it, so that both come out as the whole number below or above.
    """
    sink, n_via = n_items + n_reviewers, 0 if via is None else via.item.size
    node = np.full(item.size, -1) if via is None else via.node
    passed = np.bincount(node[node >= 0], units[node >= 0], n_via).astype(np.int64)
    load = np.bincount(reviewer, units, n_reviewers).astype(np.int64)
    tail = np.concatenate(
        [
            np.where(node >= 0, sink + 1 + node, item),
            np.empty(0, np.int64) if via is None else via.item,
            n_items + np.arange(n_reviewers),
        ]
    )
    head = np.concatenate([n_items + reviewer, sink + 1 + np.arange(n_via), np.full(n_reviewers, sink)])
    part = np.concatenate([units, passed, load]) % unit
    kept = np.flatnonzero(part > 0)
    tail, head = tail[kept], head[kept]
    ends = np.concatenate([tail, head])
    start = starts(ends, sink + n_via + 1)
    arc = np.argsort(ends, kind="stable") % max(kept.size, 1)
    return Flow(tail, head, part[kept], start, arc, kept[kept < item.size], units == unit, unit)


def drawn(flow: Flow, rng: np.random.Generator) -> BoolArray:
    """Draw the pairs that are assigned, shape (P,).

    Takes O(A C) for A arcs and cycles of C arcs on average, which are short in practice.
    """
    part = flow.part.copy()
    round_cycles(flow.tail, flow.head, part, flow.start, flow.arc.copy(), rng.random(part.size), flow.unit)
    chosen = flow.whole.copy()
    chosen[flow.pair] = part[: flow.pair.size] == flow.unit
    return chosen


def laid_out(problem: Problem, units: IntArray, unit: int = UNITS) -> Flow:
    """Lay out probabilities of a problem's pairs, in units, shape (P,), as a flow through its rules."""
    sizes = problem.n_items, problem.n_reviewers
    return flow_of(problem.item, problem.reviewer, units, *sizes, through_rules(problem, unit), unit)


def decomposed(problem: Problem, counts: IntArray, count: int, rng: np.random.Generator) -> list[IntArray]:
    """Split probabilities in units of ``1 / count``, shape (P,), into ``count`` assignments with these frequencies.

    Each is drawn with the probabilities of what is left. A draw takes each pair, load and node of a rule as often as
    expected, rounded down or up, so what it leaves is within demands, loads and rules of the others, and none is left.

    Returns
    -------
    list of IntArray
        The pairs of each assignment, ascending.
    """
    support, via = np.flatnonzero(counts), through_rules(problem, count)
    via = None if via is None else via._replace(node=via.node[support])
    where = problem.item[support], problem.reviewer[support]
    left, found = counts[support], []
    for unit in range(count, 0, -1):
        chosen = drawn(flow_of(*where, left, problem.n_items, problem.n_reviewers, via, unit), rng)
        left -= chosen
        found.append(support[chosen])
    return found


@kernel
def next_arc(part: IntArray, arc: IntArray, first: IntArray, end: int, node: int, entered: int, units: int) -> int:
    """Find a fractional arc at a node other than the one entered by; -1 if there is none."""
    # Arcs that are whole stay whole: skip them for good. The one entered by may stand first; then look behind it.
    while first[node] < end:
        a = arc[first[node]]
        if part[a] == 0 or part[a] == units:
            first[node] += 1
        elif a != entered:
            return int(a)
        else:
            break
    for slot in range(first[node] + 1, end):
        a = arc[slot]
        if 0 < part[a] < units:
            # Behind the one entered by: what lies between is whole, and is not looked at again.
            arc[slot], arc[first[node] + 1] = arc[first[node] + 1], a
            return int(a)
    return -1


@kernel
def push(part: IntArray, path: IntArray, sign: IntArray, begin: int, end: int, chance: float, units: int) -> None:
    """Push flow around a cycle of the path, one way or the other, until an arc of it is whole."""
    up, down = units, units
    for k in range(begin, end):
        here = part[path[k]]
        if sign[k] > 0:
            up, down = min(up, units - here), min(down, here)
        else:
            up, down = min(up, here), min(down, units - here)
    # Up with probability down / (up + down): expectations stay as they are.
    step = up if chance * (up + down) < down else -down
    for k in range(begin, end):
        part[path[k]] += step * sign[k]


@kernel
def round_cycles(
    tail: IntArray, head: IntArray, part: IntArray, start: IntArray, arc: IntArray, chance: FloatArray, units: int
) -> None:
    """Make every arc 0 or ``units``, cycle by cycle; ``chance`` has a uniform number for each arc."""
    n_nodes = start.size - 1
    first, place = start[:-1].copy(), np.full(n_nodes, -1, np.int64)
    path, sign = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1, np.int64)
    nodes = np.empty(n_nodes + 1, np.int64)
    cycles = 0
    for root in range(n_nodes):
        # Walk along fractional arcs; a node met again closes a cycle, after which the walk goes on from there.
        length, node, nodes[0], place[root] = 0, root, root, 0
        while True:
            entered = path[length - 1] if length > 0 else -1
            a = next_arc(part, arc, first, start[node + 1], node, entered, units)
            if a < 0:
                break
            forth = tail[a] == node
            path[length], sign[length] = a, 1 if forth else -1
            length += 1
            node = head[a] if forth else tail[a]
            if place[node] < 0:
                nodes[length], place[node] = node, length
                continue
            begin = place[node]
            push(part, path, sign, begin, length, chance[cycles], units)
            cycles += 1
            for k in range(begin + 1, length):
                place[nodes[k]] = -1
            length = begin
        place[root] = -1
