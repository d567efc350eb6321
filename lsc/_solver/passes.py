"""The objective and the Newton directions of many linear reviewers, by passes over their reviews, wherever these lie.

Two threads take half the items or reviewers each, and what they find is added in a fixed order: no answer depends on
how many processors there are.

Reviews are laid out so that a pass over them reads memory in order. Places of millions of items in no order are what
a processor waits for. So items are cut into blocks that its cache holds, and each review has a slot, block by block:
qualities are copied to the slots, reviewers take theirs from as many ascending slots as there are blocks and put
their answers there, and these are added up block by block.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Minimiser, Programme
from lsc._model.hypotheses import CONCAVE, CONVEX, MONOTONE
from lsc._solver.blocks import clustered_direction, pattern_of, system_of
from lsc._solver.faces import (
    advance,
    aim,
    begin_descent,
    common_diagonal,
    common_image,
    common_line,
    distances,
    lines_direction,
    project_bents,
    project_chains,
)
from lsc._solver.projections import ELEMENT, Common, Face, ItemArray, Table, first_face
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.graph.kernels.compiling import Kernel, kernel

# The function the fast solver minimises, with its gradient and Newton direction.


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product, without the threads of a linear algebra library: they cost more and change last digits."""
    return float(np.einsum("i,i->", a, b))


class Objective(ABC):
    """What Newton's method minimises: squared distances from the sets of the reviewers, and two secondary objectives.

    ::

        f(x) = F(x) / 2 + line_weight G(x) / 2 + common_weight (T(x) / 2 - anchor x)

    F sums squared distances from what each reviewer's class allows, G from lines in her scores, T is the squared
    distance from one line in the raw scores. An anchor equal to half the gradient of T at a point z makes T a squared
    distance from z: a proximal-point step, which leaves the minimisers of F unbiased.

    At the point evaluated last, ``squares`` is F, and ``length`` and ``stationarity`` are the lengths per review of the
    gradients of f and of F / 2 alone.
    """

    #: Whether some reviewer need not be linear.
    bends = False

    def __init__(self, common: Common, fixed: BoolArray, line_weight: float = 0.0, common_weight: float = 0.0) -> None:
        n = len(fixed)
        self.common, self.fixed = common, fixed
        self.line_weight, self.common_weight = line_weight, common_weight
        self.squares, self.length, self.stationarity = 0.0, 0.0, 0.0
        self.pull, self.tilt = np.zeros(n), np.zeros(n)
        self.anchor, self.direction = np.zeros(n), np.zeros(n)
        self._slope_free = False

    @abstractmethod
    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities); the face is that of ``x``."""

    @abstractmethod
    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction of Newton's method at the point evaluated last, solved to ``tolerance``."""

    def stay(self, weight: float) -> None:
        """Measure distances from the point evaluated last, with a weight, instead of secondary objectives."""
        self.line_weight, self.common_weight = 0.0, weight
        self.anchor = self.tilt.copy()


def _weigh(
    common: Common,
    fixed: BoolArray,
    squares: float,
    line: float,
    line_weight: float,
    common_weight: float,
    anchor: FloatArray,
    x: FloatArray,
    pull: FloatArray,
    bend: FloatArray,
    tilt: FloatArray,
    gradient: FloatArray,
) -> tuple[float, bool, float, float]:
    """Value and gradient of the objective, from F and G and half their gradients ``pull`` and ``bend``.

    Returns the value, whether the slope of the common line is free, and the lengths per review of the gradients of f
    and of F / 2, each item's part divided by the root of its number of reviews; known qualities have no gradient.
    """
    distance, free = common_line(common, x, tilt)
    along, length, stationarity = 0.0, 0.0, 0.0
    for i in range(len(x)):
        along += anchor[i] * x[i]
        gradient[i] = pull[i] + common_weight * (tilt[i] - anchor[i])
        if line_weight > 0.0:
            gradient[i] += line_weight * bend[i]
        if fixed[i]:
            pull[i] = gradient[i] = 0.0
        share = 1.0 / max(common.degree[i], 1.0)
        length += gradient[i] * gradient[i] * share
        stationarity += pull[i] * pull[i] * share
    value = 0.5 * squares + 0.5 * line_weight * line + common_weight * (0.5 * distance - along)
    return value, free, math.sqrt(length / common.reviews), math.sqrt(stationarity / common.reviews)


weigh = Kernel(_weigh, element=ELEMENT)


def _measure(
    table: Table,
    face: Face,
    common: Common,
    fixed: BoolArray,
    line_weight: float,
    common_weight: float,
    anchor: FloatArray,
    x: FloatArray,
    perceived: FloatArray,
    pull: FloatArray,
    bend: FloatArray,
    tilt: FloatArray,
    gradient: FloatArray,
) -> tuple[float, tuple[float, bool, float, float]]:
    """Squared distances from the projections of reviewers who need not be linear, and what :func:`_weigh` returns."""
    pull[:] = 0.0
    bend[:] = 0.0
    squares, line = distances(table, face, line_weight > 0.0, x, perceived, pull, bend)
    weighed = weigh(common, fixed, squares, line, line_weight, common_weight, anchor, x, pull, bend, tilt, gradient)
    return squares, weighed


measure = Kernel(_measure, element=ELEMENT)


class Merit(Objective):
    """The objective of reviews in memory."""

    def __init__(
        self, table: Table, common: Common, fixed: BoolArray, line_weight: float = 0.0, common_weight: float = 0.0
    ) -> None:
        super().__init__(common, fixed, line_weight, common_weight)
        n = len(fixed)
        self.table = table
        self.face: Face = first_face(table)
        self.perceived, self.bend = np.zeros(len(table.item)), np.zeros(n)
        self._chains = bool(np.any(table.kind == MONOTONE))
        self._bents = bool(np.any((table.kind == CONVEX) | (table.kind == CONCAVE)))
        self.bends = self._chains or self._bents
        if self.bends:
            self._pattern = pattern_of(table, n)
            self._system = system_of(self._pattern)
        else:
            self._vectors = np.zeros(4 * n)
        self.products = 0

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities); the face and perceived qualities are those of ``x``."""
        if self._chains:
            project_chains(self.table, self.face, x, self.perceived)
        if self._bents:
            project_bents(self.table, self.face, x, self.perceived)
        gradient = np.empty(len(x))
        self.squares, weighed = measure(
            self.table, self.face, self.common, self.fixed, self.line_weight if self.bends else 0.0, self.common_weight,
            self.anchor, x, self.perceived, self.pull, self.bend, self.tilt, gradient,
        )  # fmt: skip
        value, self._slope_free, self.length, self.stationarity = weighed
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction of Newton's method at the point evaluated last, solved to ``tolerance``."""
        if self.bends:
            steps, _ = clustered_direction(
                self.table, self.face, self.common, self._slope_free, self.line_weight, self.common_weight,
                self._pattern, self._system, self.fixed, gradient, tolerance, max_steps, self.direction,
            )  # fmt: skip
        else:
            steps, _ = lines_direction(
                self.table, self.face.sloped, self.common, self._slope_free, self.common_weight,
                self.fixed, gradient, tolerance, max_steps, self.direction, self._vectors,
            )  # fmt: skip
        self.products += steps
        return self.direction


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


# Items that one reviewer alone has scored: left out of the programme of linear reviewers, put back at its solution.
#
# Such an item goes wherever its reviewer's line through her other scores takes it, without noise, so the minimum is
# that
# without it. Left in, it costs what it does not tell: lines through two close scores throw a single item far, and each
# is a direction in which the objective is nearly flat, the flattest the flatter the larger the table.


def kept(
    start: IntArray, item: IntArray | ItemArray, score: FloatArray, degree: IntArray
) -> tuple[BoolArray, IntArray]:
    """Return which reviews stay, and where those of each reviewer begin then.

    All stay but those of single items whose reviewers have other scores, not all alike.

    Parameters
    ----------
    start, item, score
        Reviews of linear reviewers, those of number j being ``start[j]:start[j + 1]``.
    degree
        Shape (N,): reviews of each item, or any other number for an item that is to stay.

    Examples
    --------
    >>> keep, start = kept(np.array([0, 3]), np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]), np.array([2, 1, 2]))
    >>> keep.tolist(), start.tolist()
    ([True, False, True], [0, 2])
    """
    keep, first = np.ones(item.size, np.bool_), np.zeros(start.size, np.int64)
    _leave_out(start, item, score, degree, keep, first)
    return keep, first


@kernel(element=ELEMENT)
def _leave_out(
    start: IntArray,
    item: IntArray | ItemArray,
    score: FloatArray,
    degree: IntArray,
    keep: BoolArray,
    first: IntArray,
) -> None:
    """Write false for the reviews that are left out, and where those of each reviewer begin without them."""
    for j in range(len(start) - 1):
        singles, low, high = 0, np.inf, -np.inf
        for r in range(start[j], start[j + 1]):
            if degree[item[r]] == 1:
                singles += 1
            else:
                low, high = min(low, score[r]), max(high, score[r])
        first[j + 1] = first[j] + start[j + 1] - start[j]
        if singles > 0 and low < high:
            first[j + 1] -= singles
            for r in range(start[j], start[j + 1]):
                keep[r] = degree[item[r]] != 1


@kernel(element=ELEMENT)
def put_back(
    start: IntArray,
    item: IntArray | ItemArray,
    score: FloatArray,
    keep: BoolArray,
    lower: FloatArray,
    upper: FloatArray,
    quality: FloatArray,
) -> None:
    """Write the qualities of items whose reviews were left out: on the best line through those that were kept.

    ``lower`` and ``upper`` bound the slope of each reviewer.
    """
    for j in range(len(start) - 1):
        first, last, count, mean, height = start[j], start[j + 1], 0, 0.0, 0.0
        for r in range(first, last):
            if keep[r]:
                count += 1
                mean += quality[item[r]]
                height += score[r] - score[first]
        if count == last - first:
            continue
        mean, height = mean / count, height / count
        squares, product = 0.0, 0.0
        for r in range(first, last):
            if keep[r]:
                rise = score[r] - score[first] - height
                squares += rise * rise
                product += rise * quality[item[r]]
        slope = min(max(product / squares, lower[j]), upper[j])
        for r in range(first, last):
            if not keep[r]:
                quality[item[r]] = mean + slope * (score[r] - score[first] - height)


def without_singles(programme: Programme) -> tuple[Programme, BoolArray | None]:
    """Return the programme without the reviews that can be left out, and which stay; None where all do."""
    degree = np.bincount(programme.item, minlength=programme.n_items)
    degree[programme.is_reference] = 0
    keep, start = kept(programme.start, programme.item, programme.score, degree)
    if keep.all():
        return programme, None
    return replace(programme, start=start, item=programme.item[keep], score=programme.score[keep]), keep


def with_singles(programme: Programme, keep: BoolArray, found: Minimiser) -> Minimiser:
    """Return the minimiser of a programme from that without the reviews left out."""
    quality, perceived = found.quality, np.empty(keep.size)
    perceived[keep] = found.perceived
    put_back(programme.start, programme.item, programme.score, keep, programme.lower, programme.upper, quality)
    perceived[~keep] = quality[programme.item[~keep]]
    if not programme.is_reference.any():  # then qualities have the mean 0
        reviewed = np.bincount(programme.item, minlength=programme.n_items) > 0
        shift = float(quality[reviewed].mean())
        perceived -= shift
        quality[reviewed] -= shift
    return found._replace(quality=quality, perceived=perceived)
