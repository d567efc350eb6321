"""Dependent rounding: fractional arcs of a flow are made whole, cycle by cycle, with expectations as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from reviewgraph._base import FloatArray, IntArray


@dataclass(eq=False, repr=False)
class Rounding:
    """A flow under rounding."""

    # tail, head: nodes of each arc, shape (A,)
    tail: IntArray
    head: IntArray
    part: IntArray  # units of each arc, shape (A,)
    # start, arc: the arcs at node v are ``arc[start[v]:start[v + 1]]``, of which those before ``first[v]`` are whole
    start: IntArray
    arc: IntArray
    first: IntArray
    chance: FloatArray  # a uniform number for each arc
    # path, sign, nodes: arcs of the current walk, 1 for those along it and -1 for others, and its nodes; shape (V + 1,)
    path: IntArray
    sign: IntArray
    nodes: IntArray
    place: IntArray  # the place of each node on the walk, or -1, shape (V,)
    units: int  # units of one whole review
    cycles: int = 0  # cycles so far


def next_arc(state: Rounding, node: int, entered: int) -> int:
    """Return a fractional arc at a node other than the one entered by; -1 if there is none."""
    # Arcs that are whole stay whole: skip them for good. The one entered by may come first; then search behind it.
    end = state.start[node + 1]
    while state.first[node] < end:
        a = state.arc[state.first[node]]
        if state.part[a] == 0 or state.part[a] == state.units:
            state.first[node] += 1
        elif a != entered:
            return a
        else:
            break
    for slot in range(state.first[node] + 1, end):
        a = state.arc[slot]
        if 0 < state.part[a] < state.units:
            # Between the one entered by and this slot all arcs are whole, and are not examined again.
            state.arc[slot] = state.arc[state.first[node] + 1]
            state.arc[state.first[node] + 1] = a
            return a
    return -1


def push(state: Rounding, begin: int, end: int) -> None:
    """Push flow around a cycle of the path, one way or the other, until an arc of it is whole."""
    units = state.units
    up = units
    down = units
    for k in range(begin, end):
        here = state.part[state.path[k]]
        if state.sign[k] > 0:
            up = min(up, units - here)
            down = min(down, here)
        else:
            up = min(up, here)
            down = min(down, units - here)
    # Up with probability down / (up + down): expectations stay as they are.
    step = up if state.chance[state.cycles] * (up + down) < down else -down
    state.cycles += 1
    for k in range(begin, end):
        state.part[state.path[k]] += step * state.sign[k]


def round_from(state: Rounding, root: int) -> None:
    """Walk along fractional arcs from a node until there are none at it; a node reached again closes a cycle."""
    length = 0
    node = root
    state.nodes[0] = root
    state.place[root] = 0
    while True:
        a = next_arc(state, node, state.path[length - 1] if length > 0 else -1)
        if a < 0:
            break
        state.path[length] = a
        if state.tail[a] == node:
            state.sign[length] = 1
            node = state.head[a]
        else:
            state.sign[length] = -1
            node = state.tail[a]
        length += 1
        if state.place[node] < 0:
            state.nodes[length] = node
            state.place[node] = length
            continue
        # The walk continues from the node that closes a cycle.
        begin = state.place[node]
        push(state, begin, length)
        for k in range(begin + 1, length):
            state.place[state.nodes[k]] = -1
        length = begin
    state.place[root] = -1


def round_cycles(state: Rounding) -> None:
    """Make every arc 0 or ``units``, cycle by cycle."""
    with cython.nogil:
        for root in range(len(state.place)):
            round_from(state, root)
