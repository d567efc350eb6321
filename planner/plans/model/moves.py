"""A plan in the making, and who may still read what: the working space of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.growth import COUNT

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray

#: Register of ``Board.dice``.
STATE = 0


class Board(NamedTuple):
    """Who may still read what.

    Block b of the start is made of the reviewers ``member[member_start[b]:member_start[b + 1]]``. ``load`` is
    what a reviewer was given, ``spare`` (by reviewer) and ``room`` (by item) are what is left. Reviewer j may not
    read the items ``barred[barred_start[j]:barred_start[j + 1]]``, ascending. The panel groups of reviewer j that may
    get full are ``group[group_start[j]:group_start[j + 1]]``, and ``free[item, group]`` places of them are left.
    ``dice[STATE]`` is the state of the random numbers.
    """

    home: IntArray
    member_start: IntArray
    member: IntArray
    load: IntArray
    spare: IntArray
    room: IntArray
    barred_start: IntArray
    barred: IntArray
    group_start: IntArray
    group: IntArray
    free: IntArray
    dice: IntArray


class Moves(NamedTuple):
    """A plan in the making: reviewer, item, and the block of the reviewer; ``length[COUNT]`` of them."""

    reviewer: IntArray
    item: IntArray
    block: IntArray
    length: IntArray

    @property
    def made(self) -> int:
        """Reviews chosen so far."""
        return int(self.length[COUNT])

    @property
    def pairs(self) -> IntArray:
        """Shape (P, 2): the chosen (reviewer, item) pairs."""
        return np.column_stack([self.reviewer[: self.made], self.item[: self.made]])


def new_moves(length: int) -> Moves:
    """Return room for a plan of some length."""
    return Moves(*np.full((3, length), -1, np.int64), np.zeros(1, np.int64))  # type: ignore[call-arg]
