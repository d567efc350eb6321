"""Good plans for the target *double*: a cascade, then taking reviews out and completing the plan anew.

An anytime method: every call of :func:`improve` makes a given number of rounds and never makes the plan longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.growth import Structure, copy_structure
from planner.plans.search import cascade

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from planner.plans.search.cascade import Board, Moves
    from reviewgraph.labels import IntArray


#: Reviews added between two looks at the clock.
AT_ONCE = 16
#: Entries from which a cascade grows the largest block only, after its first step.
LOCAL_FROM = 20_000


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


def begin(
    task: Task, length: int, seed: int, noise: int = 0, keep_going: Callable[[], bool] = lambda: True
) -> tuple[Search, bool]:
    """Plan by one cascade; returns the plan and whether it reaches the target.

    Each step joins the two blocks whose union grows largest (in large tables, from the second step on, the largest
    block and another). Takes time of the order of the plan's length times the pairs of blocks that share an item.

    Parameters
    ----------
    task
        What is planned.
    length
        Reviews that may be added at most.
    seed, noise
        Randomness: sizes are blurred by up to ``noise`` items.
    keep_going
        Asked now and then; the cascade stops when it says False.
    """
    search = Search(
        task,
        task.board(seed),
        task.moves(length + 1),
        task.moves(length + 1),
        copy_structure(task.start),
        np.zeros(length + 1, np.int64),
    )
    extend = task.form(cascade.cascade)
    while True:
        size = int(search.moves.length[0])
        most = min(size + AT_ONCE, length)
        done = extend(search.state, task.space, search.board, search.moves, noise, _is_local(task), most)
        if done or int(search.moves.length[0]) < most or most == length or not keep_going():
            return search, bool(done)


def _is_local(task: Task) -> int:
    return int(task.start.entries[0] >= LOCAL_FROM)


def prune(search: Search) -> None:
    """Remove reviews that are not needed; the target stays reached."""
    task = search.task
    task.form(cascade.prune)(task.start, search.state, task.space, search.board, search.moves, search.keep)


def improve(search: Search, rounds: int) -> bool:
    """Take some reviews out and complete the plan anew, ``rounds`` times; true if the plan became shorter."""
    task, local = search.task, _is_local(search.task)
    gained = task.form(cascade.improve)(
        *(task.start, search.state, task.space, search.board, search.moves, search.trial, search.keep, local, rounds)
    )
    return int(gained) > 0
