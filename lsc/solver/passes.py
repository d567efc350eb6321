"""The objective and the Newton directions of many linear reviewers, by passes over their reviews, wherever these lie.

Two threads take half the items or reviewers each, and what they find is added in a fixed order: no answer depends on
how many processors there are.

Reviews are laid out so that a pass over them reads memory in order. Places of millions of items in no order are what
a processor waits for. So items are cut into blocks that its cache holds, and each review has a slot, block by block:
qualities are copied to the slots, reviewers take theirs from as many ascending slots as there are blocks and put
their answers there, and these are added up block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc.solver.faces import distances
from lsc.solver.lines import advance, aim, begin_descent, common_diagonal, common_image
from lsc.solver.merit import Objective, weigh
from lsc.solver.tables import ELEMENT, Common, ItemArray, Table, first_face
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

ShortArray: TypeAlias = npt.NDArray[np.uint16]

#: Items of one block at most, whose places take 16 bits, and blocks at least.
BLOCK, LEAST_BLOCKS = 1 << 16, 16
#: The diagonal only speeds up conjugate gradients: it is kept while fewer slopes than this part become free or fixed.
STALE = 1 / 16


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


class Parts(Protocol):
    """Reviews that can be passed over."""

    @property
    def n_reviewers(self) -> int:
        """How many reviewers there are."""
        ...

    @property
    def longest(self) -> int:
        """Reviews of the longest part."""
        ...

    def parts(self) -> Iterator[tuple[slice, Part]]:
        """Pass over the reviews once: reviewers, and their reviews."""
        ...


class Held(NamedTuple):
    """Reviews in memory, in one part."""

    part: Part

    @property
    def n_reviewers(self) -> int:
        """How many reviewers there are."""
        return len(self.part.floor)

    @property
    def longest(self) -> int:
        """How many reviews there are."""
        return len(self.part.block)

    def parts(self) -> Iterator[tuple[slice, Part]]:
        """Return them all."""
        yield slice(0, self.n_reviewers), self.part


def held(table: Table, n_items: int) -> Held:
    """Lay out a table of linear reviewers, tied scores being equal."""
    layout, block, place = laid_out(table.start, table.item, n_items)
    floor, ceiling = slopes(table.norm, table.lower, table.upper)
    return Held(Part(table.start, block, table.unit, place, floor, ceiling, *layout))


def _middle(slot: IntArray) -> int:
    """Return the block with which the second half of the slots begins."""
    return int(np.searchsorted(slot, slot[-1] // 2))


def perceived_by(table: Table, x: FloatArray) -> FloatArray:
    """Return the perceived quality of each review of linear reviewers at given qualities, shape (E,)."""
    perceived, start = np.empty(len(table.item)), table.start
    form = distances.form(distances.element * len(table.item))

    def half(first: int, last: int) -> None:
        theirs, own = table._replace(start=start[first : last + 1]), slice(first, last)
        theirs = theirs._replace(norm=table.norm[own], kind=table.kind[own], tied=table.tied[own])
        theirs = theirs._replace(lower=table.lower[own], upper=table.upper[own])
        form(theirs, first_face(theirs), False, x, perceived, np.zeros(x.size), np.zeros(0))

    middle = int(np.searchsorted(start, start[-1] // 2))
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(half, (0, middle), (middle, start.size - 1)))
    return perceived


class Passes(Objective):
    """The objective of linear reviewers; a product is one pass, and so are value and gradient."""

    def __init__(self, reviews: Parts, common: Common, fixed: BoolArray) -> None:
        super().__init__(common, fixed)
        n, m = fixed.size, reviews.n_reviewers
        self.reviews, self.sloped = reviews, np.zeros(m, np.bool_)
        self._room = np.empty(reviews.longest)
        self._heading, self._image, self._inverse, self._residual = (np.zeros(n) for _ in range(4))
        # Of the reviewers' part of the diagonal: the slopes that were free then.
        self._diagonal, self._free_then = np.zeros(n), np.ones(m, np.bool_)
        self._threads = ThreadPoolExecutor(2)
        self.products = 0

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities), by one pass."""
        self.pull[:] = 0.0
        self.squares = self._pass(leave_lines, x, self.pull, fit=True)
        gradient = np.empty(x.size)
        value, self._slope_free, self.length, self.stationarity = weigh(
            self.common, self.fixed, self.squares, 0.0, 0.0, self.common_weight,
            self.anchor, x, self.pull, np.empty(0), self.tilt, gradient,
        )  # fmt: skip
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction, by one pass for each step of conjugate gradients."""
        common, free, weight, heading = self.common, self._slope_free, self.common_weight, self._heading
        vectors = self._inverse, self._residual, heading
        self._precondition()
        rho, beta = sum(self._by_items(begin_descent, self.fixed, gradient, *vectors, self.direction)), 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            sums = np.sum(self._by_items(aim, common, weight, beta, *vectors, self._image), axis=0).tolist()
            curvature, mean, slope = common_image(common, free, weight, *sums)
            curvature += self._pass(leave_lines, heading, self._image)
            if curvature <= 0.0:
                break
            steps = common, rho / curvature, mean, slope, *vectors, self._image, self.direction
            fresh = sum(self._by_items(advance, *steps))
            beta, rho = fresh / rho, fresh
            self.products += 1
        return self.direction

    def _precondition(self) -> None:
        """Write the diagonal of the matrix into the room of its inverse."""
        if np.count_nonzero(self.sloped != self._free_then) > STALE * self.sloped.size or not self._diagonal.any():
            self._diagonal[:], self._free_then = 0.0, self.sloped.copy()
            self._pass(leave_diagonal, None, self._diagonal)
        common_diagonal(self.common, self._slope_free, self.common_weight, self._inverse)
        self._inverse += self._diagonal

    def _pass(self, kernel: Kernel[..., float], x: FloatArray | None, out: FloatArray, *, fit: bool = False) -> float:
        """Look items up, run a kernel on the reviewers, and add what it leaves to ``out``; returns its sum."""
        total = 0.0
        for hers, part in self.reviews.parts():
            reviews, cut, sloped = part.block.size, _middle(part.slot), self.sloped[hers]
            blocks, room = ((0, cut), (cut, part.slot.size - 1)), self._room[:reviews]
            reviewers = ((part.slot[:-1], 0, part.middle), (part.halfway, part.middle, part.floor.size))
            if x is not None:
                self._both(look_up, reviews, *((part, x, room, *ends) for ends in blocks))
            total += sum(
                self._both(
                    *(kernel, reviews),
                    *((part, sloped, fit, room, begin.copy(), *ends) for begin, *ends in reviewers),
                )
            )
            self._both(hand_back, reviews, *((part, room, out, *ends) for ends in blocks))
        return total

    def _by_items(self, kernel: Kernel[..., Any], *given: Any) -> list[Any]:
        """Run a kernel on each half of the items, and return both answers."""
        n = self.fixed.size
        return self._both(kernel, n, (*given, 0, n // 2), (*given, n // 2, n))

    def _both(self, kernel: Kernel[..., Any], size: int, *given: tuple[Any, ...]) -> list[Any]:
        """Run a kernel on the arguments of both halves of so many elements, and return both answers."""
        form = kernel.form(kernel.element * size)
        return list(self._threads.map(lambda one: form(*one), given))
