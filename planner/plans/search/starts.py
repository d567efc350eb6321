"""A few reviews that let one group grow, to begin from where a whole plan is out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import as_pairs, no_pairs, with_extra
from planner.plans.search import cascading
from reviewgraph.components import connected_components

if TYPE_CHECKING:
    from planner.plans.model.left import Left
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Cascades tried, more and more at random.
CASCADES = 8


def cascades(task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
    """Cascades that stop after ``most`` reviews, each more at random than the one before."""
    for seed in range(CASCADES):
        yield cascading.begin(task, most, seed, 4 * seed, clock)[0].pairs[:most]
        if clock.over():
            return


def joined_pieces(task: Task, most: int, clock: Clock) -> IntArray:
    """Join the largest piece to the next largest that may be joined, one review each, as long as there is time."""
    pieces = connected_components(with_extra(task.constraints.reviews, task.constraints.fixed))
    left = task.left(no_pairs())
    sizes = np.diff(pieces.cover_start)
    order = np.argsort(-sizes, kind="stable").tolist()
    main, chosen = order[:1], list[tuple[int, int]]()
    for piece in order[1:]:
        if len(chosen) == most or clock.over():
            break
        pair = _link(task, pieces.labels, pieces.item_labels, main, piece, left)
        if pair is not None:
            chosen.append(pair)
            left.take(*pair)
            main.append(piece)
    return as_pairs(chosen)


def _link(task: Task, who: IntArray, what: IntArray, main: list[int], piece: int, left: Left) -> tuple[int, int] | None:
    """Find a review by one of two sides of an item of the other."""
    for readers, items in ((main, [piece]), ([piece], main)):
        things = np.flatnonzero(np.isin(what, items) & (left.room > 0)).tolist()
        for j in np.flatnonzero(np.isin(who, readers) & (left.spare > 0)).tolist():
            for i in things:
                if left.open(j, i) and task.constraints.may_read(j, i):
                    return j, i
    return None
