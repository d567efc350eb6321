"""Take rivals apart that are both assigned: one of each couple leaves by the cheapest cycle, within every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.changing import NO_LIMIT, Changes

if TYPE_CHECKING:
    from planner.assignments.model.rivals import Rivals
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Passes over what was taken apart, in search of something better.
PASSES = 4


def separate(changes: Changes, rivals: Rivals, clock: Clock) -> bool:
    """Take away one of every couple of rivals, the one that loses less for each couple it stood in.

    A pair cannot come in while a rival is assigned, so no new couple arises and the number of couples falls with
    every step. Then the choices are looked at again, while time lasts: whatever came to be free, and whether the other
    one of a couple had better gone. False where a couple cannot be taken apart by one cycle.
    """
    net = changes.net
    left = []
    for couple in rivals.couples_among(net.assigned).tolist():
        if net.assigned[couple].all():
            found = _cheapest(changes, couple)
            if found is None:
                return False
            flip(net, found)
            left.append(int(found[0]))
    for _ in range(PASSES):
        if clock.over() or not _improve(changes, rivals, np.array(left, np.int64), clock):
            break
    return True


def _cheapest(changes: Changes, couple: list[int]) -> IntArray | None:
    """The change that takes one of a couple away for the least, by the number of couples that it ends."""
    net, best, found = changes.net, np.inf, None
    for pair in couple:
        if net.locked[pair]:
            continue
        ends = int(net.n_rivals[pair])
        room = NO_LIMIT if found is None else int(best * ends) + int(changes.reduced(np.array([pair]))[0])
        pairs, _ = changes.change(pair, max(room, 0))
        if pairs.size and changes.loss_of(pairs) / ends < best:
            best, found = changes.loss_of(pairs) / ends, pairs
    return found


def _improve(changes: Changes, rivals: Rivals, left: IntArray, clock: Clock) -> bool:
    """Bring pairs in again where that gains, their rivals leaving for them; whether anything was gained."""
    net, gained = changes.net, False
    reduced = changes.reduced(np.arange(net.item.size))
    free = np.flatnonzero(~net.assigned & ~net.locked & (net.n_rivals == 0) & (reduced < 0))
    for pair in np.union1d(left, free).tolist():
        if clock.over():
            break
        if not net.assigned[pair]:
            gained |= _swap(changes, rivals, pair)
    return gained


def _swap(changes: Changes, rivals: Rivals, pair: int) -> bool:
    """Bring a pair in and its rivals out, one cheapest cycle after another; back again unless that gains."""
    net, done, loss = changes.net, [], 0
    potential = net.potential.copy()
    row = rivals.rival[rivals.start[pair] : rivals.start[pair + 1]]
    for move in [*row[net.assigned[row]].tolist(), pair]:
        # A cycle may have taken a rival away already.
        if move != pair and not net.assigned[move]:
            continue
        found, _ = changes.change(move)
        if net.locked[move] or not found.size:
            break
        loss += changes.loss_of(found)
        flip(net, found)
        done.append(found)
    if net.assigned[pair] and loss < 0:
        return True
    for found in reversed(done):
        flip(net, found)
    net.potential[:] = potential
    return False
