"""Good plans for the target *double*: a cascade, then taking reviews out and completing the plan anew.

An anytime method: every call of :func:`improve` makes a given number of rounds and never makes the plan longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.growth import Structure, copy_structure
from planner.plans.model.moves import new_moves
from planner.plans.search import cascade
from reviewgraph.clock import LOOK

if TYPE_CHECKING:
    from planner.plans.model.moves import Board, Moves
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray


#: Reviews added between two looks at the clock at most.
AT_ONCE = 16
#: Entries, and reviews of a plan, from which a cascade grows the largest block only, after its first step.
LOCAL_FROM, LONG = 20_000, 300


@dataclass
class Search:
    """A plan in the making.

    Parameters
    ----------
    task
        What is planned.
    board, moves
        What is left of loads and limits, and the reviews chosen so far.
    trial
        Room for another plan, made of this one.
    state
        The structure with these reviews.
    keep
        Shape (P,): working space that marks the reviews to keep.
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
        return self.moves.pairs


def new_search(task: Task, length: int, seed: int = 0) -> Search:
    """Return an empty plan with room for so many reviews."""
    return Search(
        *(task, task.board(seed), new_moves(length + 1), new_moves(length + 1), copy_structure(task.start)),
        np.zeros(length + 1, np.int64),
    )


def begin(
    task: Task, length: int, seed: int, noise: int = 0, clock: Clock | None = None, grace: float = 0.0
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
    clock
        Looked at now and then, and the work counted; the cascade stops when it is over.
    grace
        Seconds and work that it may take all the same, once its kernel is loaded.
    """
    search, step, late = new_search(task, length, seed), 1, None
    extend = task.form(cascade.cascade)
    while True:
        size = search.moves.made
        # How often the clock is looked at changes no plan: what a step does changes at LONG alone.
        most = min(size + step, length, LONG if size < LONG else length)
        local = int(is_local(task) or size >= LONG)
        done = extend(search.state, task.space, search.board, search.moves, noise, local, most)
        work = task.worked()
        step = 1 if work > LOOK else min(2 * step, AT_ONCE)
        if clock is not None:
            (late or clock).spend(work)
            late = late or (clock.no_less_than(grace) if clock.over() else None)
        if done or search.moves.made < most or most == length or (late is not None and late.over()):
            return search, bool(done)


def is_local(task: Task) -> int:
    """Whether a cascade grows the largest block only, as kernels take it."""
    return int(task.start.size >= LOCAL_FROM)


def prune(search: Search, clock: Clock) -> None:
    """Remove reviews that are not needed, as far as there is time; the target stays reached."""
    task, size = search.task, search.moves.made
    if not task.has_time(cascade.unmark):
        return
    shift = task.form(cascade.roll)(search.board.dice, size) if size else 0
    search.keep[:size] = 1
    for turn in range(size):
        if clock.over():
            break
        form = task.form(cascade.unmark)
        form(task.start, search.state, task.space, search.moves, search.keep, shift, turn, turn + 1)
        clock.spend(task.worked())
    task.form(cascade.drop_moves)(search.board, search.moves, search.keep)


def improve(search: Search, rounds: int) -> bool:
    """Take some reviews out and complete the plan anew, ``rounds`` times; true if the plan became shorter."""
    task, local = search.task, is_local(search.task)
    gained = task.form(cascade.improve)(
        *(task.start, search.state, task.space, search.board, search.moves, search.trial, search.keep, local, rounds)
    )
    return int(gained) > 0
