"""Good plans for the target *double*: a cascade, then taking reviews out and completing the plan anew.

An anytime method: every call of :func:`improve` makes a given number of rounds and never makes the plan longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner import _cascade
from planner._growth import Structure, copy_structure

if TYPE_CHECKING:
    from planner._cascade import Board, Moves
    from planner._task import Task
    from reviewgraph.labels import IntArray


@dataclass
class Search:
    """A plan in the making.

    Parameters
    ----------
    task
        What is planned.
    board, moves
        What is left of loads and limits, and the reviews chosen so far.
    state
        The structure with these reviews.
    """

    task: Task
    board: Board
    moves: Moves
    trial: Moves
    state: Structure
    keep: IntArray

    @property
    def pairs(self) -> IntArray:
        """Shape (P, 2): the chosen (reviewer, item) pairs."""
        size = int(self.moves.length[0])
        return np.column_stack([self.moves.reviewer[:size], self.moves.item[:size]])


def begin(task: Task, length: int, seed: int, noise: int = 0) -> tuple[Search, bool]:
    """Plan by one cascade; returns the plan and whether it reaches the target.

    Each step joins the two blocks whose union grows largest. Takes time of the order of the plan's length times the
    pairs of blocks that share an item.

    Parameters
    ----------
    task
        What is planned.
    length
        Reviews that may be added at most.
    seed, noise
        Randomness: sizes are blurred by up to ``noise`` items.
    """
    search = Search(
        task,
        task.board(seed),
        task.moves(length + 1),
        task.moves(length + 1),
        copy_structure(task.start),
        np.zeros(length + 1, np.int64),
    )
    done = task.form(_cascade.cascade)(search.state, task.space, search.board, search.moves, noise, length)
    return search, bool(done)


def prune(search: Search) -> None:
    """Remove reviews that are not needed; the target stays reached."""
    task = search.task
    task.form(_cascade.prune)(task.start, search.state, task.space, search.board, search.moves, search.keep)


def improve(search: Search, rounds: int) -> bool:
    """Take some reviews out and complete the plan anew, ``rounds`` times; true if the plan became shorter."""
    task = search.task
    gained = task.form(_cascade.improve)(
        *(task.start, search.state, task.space, search.board, search.moves, search.trial, search.keep, rounds)
    )
    return int(gained) > 0
