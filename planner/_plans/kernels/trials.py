"""Trials of joins: how large the block would be that two blocks make, without joining them.

In closed blocks one more review grows exactly one block: every other pair of blocks shares the same items as before. So
the gain of a join is computed by growing that one block, item by item, and discarded by raising a stamp; nothing is
copied and nothing undone. The items of the largest block, the anchor, are not visited: of every other block the one
item is known that it shares with the anchor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from reviewgraph.graph.kernels.blocks import ABSORBED, PUT

if TYPE_CHECKING:
    from reviewgraph._base import IntArray
    from reviewgraph.graph.kernels.blocks import Blocks


@dataclass(eq=False, repr=False)
class Trial:
    """Working space of :func:`try_join`, and what it found.

    Marks count only if they are the stamp of this trial, or the present mark of the anchor.
    """

    items: IntArray  # The items of the grown block that were reached, ``covered`` of them
    seen: IntArray  # The last trial that reached each item, shape (N,)
    taken: IntArray  # The last trial that took each block in, shape (M,)
    hit: IntArray  # The last trial that met each block, and the first item that the block shares with the grown one
    hit_item: IntArray
    inside: IntArray  # The mark of the items of the anchor
    touch: IntArray  # The item that each other block shares with the anchor, or -1
    touched: IntArray  # The blocks that a trial met, ``met`` of them
    near: IntArray  # The distinct blocks of an item
    near_mark: IntArray  # The last list of these that each block was in
    gain: IntArray  # The gain of joining each block with the anchor, the trial in which it was weighed, and a
    weighed: IntArray
    blur: IntArray  # random part that breaks ties
    covered: int = 0
    met: int = 0
    stamp: int = 0
    anchored: bool = False  # Whether the trial took the anchor in
    beyond: int = 0  # Items of the trial outside the anchor
    steps: int = 0  # Reviews and blocks visited, by which work is counted
    anchor: int = 0
    mark: int = 0
    kept: bool = False  # Whether the anchor has grown since it was chosen, with its marks
    near_stamp: int = 0


def new_trial(n_blocks: int, n_items: int) -> Trial:
    """Return the working space for this many blocks and items."""
    items, seen, inside = np.zeros((3, n_items), np.int64)
    taken, hit, hit_item, touch, touched = np.zeros((5, n_blocks), np.int64)
    near, near_mark, gain, weighed, blur = np.zeros((5, n_blocks), np.int64)
    return Trial(
        items=items,
        seen=seen,
        taken=taken,
        hit=hit,
        hit_item=hit_item,
        inside=inside,
        touch=touch,
        touched=touched,
        near=near,
        near_mark=near_mark,
        gain=gain,
        weighed=weighed,
        blur=blur,
    )


def extend(blocks: Blocks, trial: Trial, reviewer: int, item: int) -> int:
    """Add a review, and count the work; returns the number of items that its block covers then."""
    before = blocks.steps
    covered = blocks.add(reviewer, item)
    trial.steps += blocks.steps - before
    return covered


def largest(blocks: Blocks) -> int:
    """Return the largest block; of equals the first."""
    main = blocks.root_of(0)
    for block in range(len(blocks.parent)):
        if blocks.parent[block] == block and blocks.covered[block] > blocks.covered[main]:
            main = block
    return main


def close(blocks: Blocks, trial: Trial, block: IntArray, item: IntArray, size: int) -> int:
    """Add the first ``size`` reviews; returns the largest cover."""
    with cython.nogil:
        most = blocks.covered[largest(blocks)]
        for place in range(size):
            most = max(most, extend(blocks, trial, block[place], item[place]))
    return most


def extend_unfinished(
    blocks: Blocks, trial: Trial, block: IntArray, item: IntArray, order: IntArray, leaves: IntArray
) -> None:
    """Add reviews in the given order while no block covers all items; ``leaves`` marks those that would finish."""
    n_items = len(blocks.degree)
    with cython.nogil:
        for place in range(len(order)):
            k = order[place]
            leaves[k] = 0
            before = blocks.n_trail
            if extend(blocks, trial, block[k], item[k]) == n_items:
                blocks.undo(before)
                leaves[k] = 1


def leaving(blocks: Blocks, block: IntArray, item: IntArray, leaves: IntArray) -> None:
    """Mark the reviews of items that their blocks do not cover."""
    with cython.nogil:
        for k in range(len(block)):
            leaves[k] = 0
            if blocks.bringer(blocks.root_of(block[k]), item[k]) < 0:
                leaves[k] = 1


def take_inside(blocks: Blocks, trial: Trial, thing: int) -> None:
    """Mark an item as one of the anchor, unless it is, and the blocks that share it."""
    if trial.inside[thing] == trial.mark:
        return
    trial.inside[thing] = trial.mark
    review = blocks.top[thing]
    while review >= 0:
        trial.steps += 1
        trial.touch[blocks.root_of(blocks.reviewer[review])] = thing
        review = blocks.beside[review]


def drop_anchor(blocks: Blocks, trial: Trial) -> int:
    """Make the block with the largest cover the anchor of trials; return it."""
    # The blocks are closed: another one shares at most one item with the anchor, so one number suffices.
    main = largest(blocks)
    trial.anchor = main
    trial.kept = False
    trial.mark += 1
    for block in range(len(blocks.parent)):
        trial.touch[block] = -1
    trial.steps += len(blocks.parent)
    review = blocks.first[main]
    for _ in range(blocks.length[main]):
        take_inside(blocks, trial, blocks.item[review])
        review = blocks.following[review]
    return main


def keep_anchor(blocks: Blocks, trial: Trial, since: int) -> None:
    """Bring the marks of the anchor up to date, which has grown since the trail had a length."""
    if blocks.root_of(trial.anchor) != trial.anchor:
        drop_anchor(blocks, trial)
    n_items = len(blocks.degree)
    for place in range(since, blocks.n_trail):
        kind = blocks.trail[place] % 4
        step = blocks.trail[place] // 4
        if kind == ABSORBED:
            trial.touch[step] = -1
        elif kind == PUT and step // n_items == trial.anchor:
            take_inside(blocks, trial, step % n_items)
    trial.kept = True


def take_on_trial(blocks: Blocks, trial: Trial, block: int) -> None:
    """Add a block other than the anchor to a trial."""
    stamp = trial.stamp
    mark = trial.mark
    trial.taken[block] = stamp
    count = trial.covered
    beyond = trial.beyond
    if blocks.length[block] == 0:
        return
    review = blocks.first[block]
    for _ in range(blocks.length[block]):
        thing = blocks.item[review]
        if trial.seen[thing] != stamp:
            trial.seen[thing] = stamp
            trial.items[count] = thing
            count += 1
            if trial.inside[thing] != mark:
                beyond += 1
        review = blocks.following[review]
    trial.covered = count
    trial.beyond = beyond


def try_take(blocks: Blocks, trial: Trial, block: int) -> None:
    """Add a block to a trial; the anchor adds those that share one more item with it."""
    stamp = trial.stamp
    if trial.taken[block] == stamp:
        return
    if block != trial.anchor:
        take_on_trial(blocks, trial, block)
        return
    # A block that was hit once in this trial and shares another item with the anchor shares two with the union.
    trial.taken[block] = stamp
    trial.anchored = True
    for place in range(trial.met):
        neighbour = trial.touched[place]
        shared = trial.touch[neighbour]
        if trial.taken[neighbour] != stamp and shared >= 0 and shared != trial.hit_item[neighbour]:
            take_on_trial(blocks, trial, neighbour)


def try_join(blocks: Blocks, trial: Trial, a: int, b: int) -> int:
    """Return the number of items of the block that two blocks would make, without visiting the anchor's."""
    trial.covered = 0
    trial.met = 0
    trial.anchored = False
    trial.beyond = 0
    trial.stamp += 1
    stamp = trial.stamp
    mark = trial.mark
    done = 0
    steps = 1
    try_take(blocks, trial, a)
    try_take(blocks, trial, b)
    rest = len(blocks.degree) - blocks.covered[trial.anchor]
    while done < trial.covered:
        # With the anchor in, its items need not be visited: ``touch`` holds those they share.
        if trial.anchored and trial.beyond == rest:
            break
        thing = trial.items[done]
        done += 1
        if trial.anchored and trial.inside[thing] == mark:
            continue
        review = blocks.top[thing]
        while review >= 0:
            steps += 1
            neighbour = blocks.root_of(blocks.reviewer[review])
            review = blocks.beside[review]
            if trial.taken[neighbour] == stamp:
                continue
            # A block that is hit by two items joins, and its items are appended.
            if trial.hit[neighbour] != stamp:
                trial.hit[neighbour] = stamp
                trial.hit_item[neighbour] = thing
                trial.touched[trial.met] = neighbour
                trial.met += 1
                if trial.anchored and trial.touch[neighbour] >= 0 and trial.touch[neighbour] != thing:
                    try_take(blocks, trial, neighbour)
            elif trial.hit_item[neighbour] != thing:
                try_take(blocks, trial, neighbour)
    trial.steps += steps
    # The anchor's items were not collected, those beyond it were counted.
    if trial.anchored:
        return trial.beyond + blocks.covered[trial.anchor]
    return trial.covered


def blocks_of(blocks: Blocks, trial: Trial, thing: int) -> int:
    """List in ``near`` the distinct blocks that cover an item and at least one more; return their number."""
    trial.near_stamp += 1
    stamp = trial.near_stamp
    count = 0
    review = blocks.top[thing]
    while review >= 0:
        block = blocks.root_of(blocks.reviewer[review])
        if blocks.covered[block] > 1 and trial.near_mark[block] != stamp:
            trial.near_mark[block] = stamp
            trial.near[count] = block
            count += 1
        review = blocks.beside[review]
    trial.steps += count
    return count
