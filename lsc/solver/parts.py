"""Reviews of many linear reviewers, laid out so that a pass over them reads memory in order.

Places of millions of items in no order are what a processor waits for. So items are cut into blocks that its cache
holds, and each review has a slot, block by block: qualities are copied to the slots, reviewers take theirs from as many
ascending slots as there are blocks and put their answers there, and these are added up block by block.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc.solver.tables import ELEMENT, ItemArray
from reviewgraph.kernels.compiling import kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

ShortArray: TypeAlias = npt.NDArray[np.uint16]

#: Items of one block at most, whose places take 16 bits, and blocks at least.
BLOCK, LEAST_BLOCKS = 1 << 16, 16


class Layout(NamedTuple):
    """Where the slots of a part are.

    Those of block b are ``slot[b]:slot[b + 1]``, reviewer by reviewer, and those of the reviewers from number
    ``middle`` on begin at ``halfway[b]``. A block has ``size`` items.
    """

    slot: IntArray
    middle: int
    halfway: IntArray
    size: int


class Part(NamedTuple):
    """The reviews of some linear reviewers, ascending in score: those of number j are ``start[j]:start[j + 1]``.

    ``unit``, their unit scores, and ``block``, that of their items, stand reviewer by reviewer; ``place``, the items'
    places in their blocks, slot by slot. ``floor`` and ``ceiling`` bound slopes for unit scores, and are both 0 where
    scores are constant. The rest is the :class:`Layout`, flat as kernels take it.
    """

    start: IntArray
    block: ShortArray
    unit: FloatArray
    place: ShortArray
    floor: FloatArray
    ceiling: FloatArray
    slot: IntArray
    middle: int
    halfway: IntArray
    size: int


def slopes(norm: FloatArray, lower: FloatArray | float, upper: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return bounds on slopes for unit scores, from those for scores of this length; 0 where scores are constant.

    >>> slopes(np.array([0.0, 2.0]), 0.5, np.inf)
    (array([0., 1.]), array([ 0., inf]))
    """
    return lower * norm, np.multiply(upper, norm, out=np.zeros(norm.size), where=norm > 0.0)


def laid_out(start: IntArray, item: ItemArray, n_items: int) -> tuple[Layout, ShortArray, ShortArray]:
    """Lay out items of reviews that come reviewer by reviewer: where slots are, blocks and places.

    >>> layout, block, place = laid_out(np.array([0, 2, 4]), np.array([17, 3, 2, 16], np.uint32), 32)
    >>> block.tolist(), place.tolist(), layout.size, layout.middle, layout.slot[8:10].tolist()
    ([8, 1, 1, 8], [1, 0, 1, 0], 2, 1, [2, 4])
    """
    size = max(1, min(BLOCK, -(-n_items // LEAST_BLOCKS)))
    blocks, middle = -(-n_items // size), int(np.searchsorted(start, start[-1] // 2))
    block = (item // np.uint32(size)).astype(np.uint16)
    count, early = (np.bincount(some, minlength=blocks) for some in (block, block[: start[middle]]))
    slot, place = np.concatenate([[0], np.cumsum(count)]), np.empty(item.size, np.uint16)
    give_places(item, block, slot[:-1].copy(), size, place)
    return Layout(slot, middle, slot[:-1] + early, size), block, place


@kernel(element=ELEMENT)
def give_places(item: ItemArray, block: ShortArray, cursor: IntArray, size: int, place: ShortArray) -> None:
    """Write the places of items in their blocks, block by block; ``cursor`` is where each block begins."""
    for r in range(len(item)):
        b = block[r]
        place[cursor[b]] = item[r] % size
        cursor[b] += 1


@kernel(element=ELEMENT)
def look_up(part: Part, x: FloatArray, room: FloatArray, first: int, last: int) -> None:
    """Copy the items' entries to the slots of blocks ``first`` to ``last - 1``."""
    for b in range(first, last):
        near = x[b * part.size : (b + 1) * part.size]
        for s in range(part.slot[b], part.slot[b + 1]):
            room[s] = near[part.place[s]]


@kernel(element=ELEMENT)
def hand_back(part: Part, room: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """Add what stands in the slots of blocks ``first`` to ``last - 1`` to the items' entries."""
    for b in range(first, last):
        near = out[b * part.size : (b + 1) * part.size]
        for s in range(part.slot[b], part.slot[b + 1]):
            near[part.place[s]] += room[s]


@kernel(element=ELEMENT)
def leave_lines(
    part: Part, sloped: BoolArray, fit: bool, room: FloatArray, cursor: IntArray, first: int, last: int
) -> float:
    """Replace what stands in the slots of reviewers ``first`` to ``last - 1`` by its distance from their lines.

    With ``fit`` these are qualities: slopes are clipped to their bounds, and ``sloped`` is written; otherwise they are
    a direction, which moves slopes where they are free. ``cursor`` is where the slots begin in each block. Returns the
    sum of squares.
    """
    starts, block, unit = part.start, part.block, part.unit
    total, longest = 0.0, 0
    for j in range(first, last):
        longest = max(longest, starts[j + 1] - starts[j])
    value, slot = np.empty(longest), np.empty(longest, np.int64)
    for j in range(first, last):
        start, size = starts[j], starts[j + 1] - starts[j]
        if size == 0:
            continue
        mean, slope = 0.0, 0.0
        for k in range(size):
            b = block[start + k]
            s = cursor[b]
            cursor[b] = s + 1
            slot[k], value[k] = s, room[s]
            mean += value[k]
            slope += unit[start + k] * value[k]
        mean /= size
        if fit:
            # Where the slope is clipped, or given, the face has none.
            free = slope
            slope = min(max(slope, part.floor[j]), part.ceiling[j])
            sloped[j] = slope == free and part.floor[j] < part.ceiling[j]
        elif not sloped[j]:
            slope = 0.0
        for k in range(size):
            gap = value[k] - mean - slope * unit[start + k]
            room[slot[k]] = gap
            total += gap * gap
    return total


@kernel(element=ELEMENT)
def leave_diagonal(
    part: Part, sloped: BoolArray, fit: bool, room: FloatArray, cursor: IntArray, first: int, last: int
) -> float:
    """Write the reviewers' parts of the diagonal: 1 - 1 / k_j, less the square of the unit score where slopes are free.

    Takes and returns what :func:`leave_lines` does.
    """
    starts, block, unit, total = part.start, part.block, part.unit, 0.0
    for j in range(first, last):
        if starts[j] == starts[j + 1]:
            continue
        share, bent = 1.0 - 1.0 / (starts[j + 1] - starts[j]), 1.0 if sloped[j] else 0.0
        for r in range(starts[j], starts[j + 1]):
            s = cursor[block[r]]
            cursor[block[r]] = s + 1
            room[s] = share - bent * unit[r] * unit[r]
            total += room[s]
    return total
