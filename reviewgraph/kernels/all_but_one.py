"""Kernels that find which units, reviews or reviewers, one doubly connected component of all items cannot do without.

A certificate, the reviews that some merges and the cover need, clears whatever unit it does not need. Those left are
divided and conquered: a range of them is looked at while everything outside of it is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.growth import TRAIL, bringer, enter, take_back

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray
    from reviewgraph.kernels.growth import Growth
    from reviewgraph.labels import IntArray


class Units(NamedTuple):
    """What is lost at once.

    Parameters
    ----------
    start, review
        Unit u is the reviews ``review[start[u]:start[u + 1]]``.
    """

    start: IntArray
    review: IntArray


class Frames(NamedTuple):
    """The ranges that are being looked at, the whole first and each half of the one before.

    Parameters
    ----------
    low, high
        The range.
    turn
        0 before either half, 1 after the first, 2 after both.
    trail
        How long the trail was when it began.
    most
        The most items that a component covered then.
    """

    low: IntArray
    high: IntArray
    turn: IntArray
    trail: IntArray
    most: IntArray


@kernel
def enter_all(state: Growth, units: Units, order: IntArray, low: int, high: int) -> int:
    """Let a range of units in; returns the most items that a component with one of them covers."""
    most = 0
    for place in range(low, high):
        for e in range(units.start[order[place]], units.start[order[place] + 1]):
            most = max(most, enter(state, units.review[e]))
    return most


@kernel
def need(state: Growth, review: int, needed: BoolArray, wanted: BoolArray) -> None:
    """Mark a review as needed, and its reviewer and all she was absorbed by as wanted."""
    needed[review] = True
    j = state.reviewer[review]
    while not wanted[j]:
        wanted[j] = True
        j = state.parent[j]


@kernel(element=2e-6, in_lists=True)
def certify(state: Growth, needed: BoolArray, wanted: BoolArray) -> bool:
    """Mark the reviews that a certificate needs; false if no component covers all items."""
    E, M, N = len(state.reviewer), len(state.parent), len(state.degree)
    chosen = -1
    for j in range(M):
        if state.parent[j] == j and state.covered[j] == N:
            chosen = j
            break
    if chosen < 0:
        return False
    for thing in range(N):
        need(state, bringer(state, chosen, thing), needed, wanted)
    # The last union first: what it joined is needed only if something of it is, for the cover or a later union.
    for place in range(state.counters[TRAIL] - 1, -1, -1):
        absorbed = state.trail[place] - E
        if 0 <= absorbed < M and wanted[absorbed]:
            for k in range(4 * absorbed, 4 * absorbed + 4):
                need(state, state.witness[k], needed, wanted)
    return True


@kernel(element=20e-6, in_lists=True)
def divide(
    state: Growth, units: Units, order: IntArray, frames: Frames, critical: BoolArray, depth: int, steps: int
) -> int:
    """Mark the units of ``order`` without which no component covers all items; all other units are in.

    Begins at depth 0; after so many steps it returns the depth to go on from, -1 where all is done. A node holds
    everything outside its range; it lets one half in, looks at the other, and takes back. So each review enters
    O(log U) times. A node at which a component covers all items clears its whole range.
    """
    low, high, turn, trail, most = frames
    N = len(state.degree)
    while depth >= 0 and steps > 0:
        steps -= 1
        middle = (low[depth] + high[depth]) // 2
        if turn[depth] > 0:
            take_back(state, trail[depth])
        if turn[depth] == 2 or most[depth] == N or low[depth] == high[depth]:
            depth -= 1
            continue
        if high[depth] - low[depth] == 1:
            critical[order[low[depth]]] = True
            depth -= 1
            continue
        # The first half is looked at with the second one in, then the second with the first.
        trail[depth] = state.counters[TRAIL]
        first = turn[depth] == 0
        turn[depth] += 1
        below, above = (middle, high[depth]) if first else (low[depth], middle)
        most[depth + 1] = max(most[depth], enter_all(state, units, order, below, above))
        low[depth + 1], high[depth + 1] = (low[depth], middle) if first else (middle, high[depth])
        turn[depth + 1] = 0
        depth += 1
    return depth
