"""The objective of the Newton solver, its gradient and its Newton directions.

For many linear reviewers both take passes over the reviews, wherever these are stored, with two threads for half the
items or reviewers each; sums are added in a fixed order, so results do not depend on the number of processors. The
layout makes a pass read memory sequentially, since random access to millions of items is limited by latency: items are
cut into blocks that fit in the cache, and each review has a slot, block by block. Qualities are gathered to the slots,
reviewers read theirs from as many ascending slots as there are blocks and write results there, which are added to the
items block by block.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Minimiser, Programme
from lsc._model.hypotheses import CONCAVE, CONVEX, MONOTONE
from lsc._solver.blocks import clustered_direction, pattern_of, system_of
from lsc._solver.faces import (
    ELEMENT,
    Common,
    Descent,
    Face,
    Gradients,
    ItemArray,
    Table,
    Weights,
    common_diagonal,
    common_image,
    common_line,
    distances,
    first_face,
    lines_direction,
    start_descent,
    take_step,
    update_search,
)
from lsc._solver.projections import project_bent, project_chains
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.graph import kernel


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product without a threaded linear algebra library, which costs more and changes last digits."""
    return float(np.einsum("i,i->", a, b))


#: Without secondary objectives.
FIT_ALONE = Weights(0.0, 0.0)


class Objective(ABC):
    """Objective of Newton's method: squared distances from the sets of the reviewers, and two secondary objectives.

    ::

        f(x) = F(x) / 2 + line_weight G(x) / 2 + common_weight (T(x) / 2 - anchor x)

    F sums squared distances from the sets K_j, G from lines in the reviewer's scores; T is the squared distance from
    one line in the raw scores. An anchor equal to half the gradient of T at a point z makes T a squared distance from
    z: a proximal-point step, which leaves the minimisers of F unbiased.

    At the last point evaluated, ``squares`` is F, and ``norm`` and ``stationarity`` are the norms per review of the
    gradients of f and of F / 2 alone.
    """

    #: Whether some reviewer need not be linear.
    bends = False

    def __init__(self, common: Common, fixed: BoolArray, weights: Weights = FIT_ALONE) -> None:
        n = len(fixed)
        self.common = common
        self.fixed = fixed
        self.weights = weights
        self.squares = 0.0
        self.norm = 0.0
        self.stationarity = 0.0
        self.gradients = Gradients(*(np.zeros(n) for _ in Gradients._fields))
        self.direction = np.zeros(n)
        self._slope_free = False
        self.products = 0

    @abstractmethod
    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at references); the face is that of ``x``."""

    @abstractmethod
    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the Newton direction at the last point evaluated, solved to ``tolerance``."""

    def anchor_here(self, weight: float) -> None:
        """Replace the secondary objectives by the weighted distance from the last point evaluated."""
        self.weights = Weights(0.0, weight)
        self.gradients.anchor[:] = self.gradients.tilt


@kernel(element=ELEMENT)
def combine(
    common: Common, fixed: BoolArray, squares: float, line: float, weights: Weights, gradients: Gradients,
    x: FloatArray, gradient: FloatArray,
) -> tuple[float, bool, float, float]:  # fmt: skip
    """Value and gradient of the objective, from F and G and half their gradients.

    Returns the value, whether the slope of the common line is free, and the norms per review of the gradients of f and
    of F / 2, each item's part divided by the root of its number of reviews; references have no gradient.
    """
    distance, free = common_line(common, x, gradients.tilt)
    along, norm, stationarity = combine_items(common, fixed, weights, gradients, x, gradient)
    value = 0.5 * squares + 0.5 * weights.line * line + weights.common * (0.5 * distance - along)
    return value, free, math.sqrt(norm / common.reviews), math.sqrt(stationarity / common.reviews)


@kernel(element=ELEMENT)
def combine_items(
    common: Common, fixed: BoolArray, weights: Weights, gradients: Gradients, x: FloatArray, gradient: FloatArray
) -> tuple[float, float, float]:
    """Write the gradient at some items; returns their part of the anchor's product, and of both squared norms."""
    fit, of_line, tilt, anchor = gradients
    along = 0.0
    norm = 0.0
    stationarity = 0.0
    for i in range(len(x)):
        along += anchor[i] * x[i]
        gradient[i] = fit[i] + weights.common * (tilt[i] - anchor[i])
        if weights.line > 0.0:
            gradient[i] += weights.line * of_line[i]
        if fixed[i]:
            fit[i] = gradient[i] = 0.0
        share = 1.0 / max(common.degree[i], 1.0)
        norm += gradient[i] * gradient[i] * share
        stationarity += fit[i] * fit[i] * share
    return along, norm, stationarity


@kernel(element=ELEMENT)
def evaluate(
    table: Table, face: Face, common: Common, fixed: BoolArray, weights: Weights, gradients: Gradients, x: FloatArray,
    perceived: FloatArray, gradient: FloatArray,
) -> tuple[float, tuple[float, bool, float, float]]:  # fmt: skip
    """Squared distances from the projections of reviewers who need not be linear, and what :func:`combine` returns."""
    for i in range(len(gradients.fit)):
        gradients.fit[i] = 0.0
    for i in range(len(gradients.line)):
        gradients.line[i] = 0.0
    squares, line = distances(table, face, weights.line > 0.0, x, perceived, gradients.fit, gradients.line)
    return squares, combine(common, fixed, squares, line, weights, gradients, x, gradient)


class Merit(Objective):
    """The objective of reviews in memory."""

    def __init__(self, table: Table, common: Common, fixed: BoolArray, weights: Weights = FIT_ALONE) -> None:
        super().__init__(common, fixed, weights)
        n = len(fixed)
        self.face = first_face(table)
        self.table = table
        self.perceived = np.zeros(len(table.item))
        self._chains = bool(np.any(table.kind == MONOTONE))
        self._bent = bool(np.any((table.kind == CONVEX) | (table.kind == CONCAVE)))
        self.bends = self._chains or self._bent
        if self.bends:
            self._pattern = pattern_of(table, n)
            self._system = system_of(self._pattern)
        else:
            self._work = np.zeros(4 * n)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at references); face and perceived qualities are those of ``x``."""
        if self._chains:
            project_chains(self.table, self.face, x, self.perceived)
        if self._bent:
            project_bent(self.table, self.face, x, self.perceived)
        weights = self.weights if self.bends else Weights(0.0, self.weights.common)
        gradient = np.empty(len(x))
        arrays = (self.gradients, x, self.perceived)
        self.squares, combined = evaluate(self.table, self.face, self.common, self.fixed, weights, *arrays, gradient)
        value, self._slope_free, self.norm, self.stationarity = combined
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        accuracy = self.fixed, gradient, tolerance, max_steps, self.direction
        if self.bends:
            matrix = self.table, self.face, self.common, self._slope_free, self.weights, self._pattern, self._system
            steps, _ = clustered_direction(*matrix, *accuracy)
        else:
            lines = self.table, self.face.slope_free, self.common, self._slope_free, self.weights.common
            steps, _ = lines_direction(*lines, *accuracy, self._work)
        self.products += steps
        return self.direction


ShortArray: TypeAlias = npt.NDArray[np.uint16]

#: Maximum number of items of a block, with places of 16 bits, and minimum number of blocks.
BLOCK = 1 << 16
MIN_BLOCKS = 16
#: Share of slopes that may become free or fixed before the diagonal, a preconditioner, is recomputed.
STALE = 1 / 16


class Layout(NamedTuple):
    """Slots of a part: those of block b are ``slot[b]:slot[b + 1]``, reviewer by reviewer.

    Those of reviewers from number ``middle`` on begin at ``halfway[b]``. A block has ``size`` items.
    """

    slot: IntArray
    middle: int
    halfway: IntArray
    size: int


class Part(NamedTuple):
    """The reviews of some linear reviewers, ascending in score: those of number j are ``start[j]:start[j + 1]``.

    ``unit``: unit scores, and ``block``: block of each item, by review; ``place``: the items' positions in their
    blocks, by slot; ``floor``, ``ceiling``: bounds on slopes for unit scores, both 0 if constant. Then the
    :class:`Layout`, flat.
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


def unit_slopes(
    norm: FloatArray, lower: FloatArray | float, upper: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on slopes for unit scores, from those for scores of this length; 0 if constant.

    >>> unit_slopes(np.array([0.0, 2.0]), 0.5, np.inf)
    (array([0., 1.]), array([ 0., inf]))
    """
    return lower * norm, np.multiply(upper, norm, out=np.zeros(norm.size), where=norm > 0.0)


def lay_out(start: IntArray, item: ItemArray, n_items: int) -> tuple[Layout, ShortArray, ShortArray]:
    """Return layout, blocks and places of reviews that are sorted by reviewer.

    >>> layout, block, place = lay_out(np.array([0, 2, 4]), np.array([17, 3, 2, 16], np.uint32), 32)
    >>> block.tolist(), place.tolist(), layout.size, layout.middle, layout.slot[8:10].tolist()
    ([8, 1, 1, 8], [1, 0, 1, 0], 2, 1, [2, 4])
    """
    size = max(1, min(BLOCK, -(-n_items // MIN_BLOCKS)))
    blocks = -(-n_items // size)
    middle = int(np.searchsorted(start, start[-1] // 2))
    block = (item // np.uint32(size)).astype(np.uint16)
    count, first_half = (np.bincount(part, minlength=blocks) for part in (block, block[: start[middle]]))
    slot = np.concatenate([[0], np.cumsum(count)])
    place = np.empty(item.size, np.uint16)
    write_places(item, block, slot[:-1].copy(), size, place)
    return Layout(slot, middle, slot[:-1] + first_half, size), block, place


@kernel(element=ELEMENT)
def write_places(item: ItemArray, block: ShortArray, cursor: IntArray, size: int, place: ShortArray) -> None:
    """Write the positions of items in their blocks; ``cursor`` is where each block begins."""
    for r in range(len(item)):
        b = block[r]
        place[cursor[b]] = item[r] % size
        cursor[b] += 1


@kernel(element=ELEMENT)
def gather(part: Part, x: FloatArray, slots: FloatArray, first: int, last: int) -> None:
    """Copy the items' entries to the slots of blocks ``first`` to ``last - 1``."""
    for b in range(first, last):
        near = x[b * part.size : (b + 1) * part.size]
        for s in range(part.slot[b], part.slot[b + 1]):
            slots[s] = near[part.place[s]]


@kernel(element=ELEMENT)
def scatter_add(part: Part, slots: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """Add the slots of blocks ``first`` to ``last - 1`` to the items' entries."""
    for b in range(first, last):
        near = out[b * part.size : (b + 1) * part.size]
        for s in range(part.slot[b], part.slot[b + 1]):
            near[part.place[s]] += slots[s]


@kernel(element=ELEMENT)
def line_residuals(
    part: Part, slope_free: BoolArray, fit: bool, slots: FloatArray, cursor: IntArray, first: int, last: int
) -> float:
    """Replace the slots of reviewers ``first`` to ``last - 1`` by residuals from their lines; returns the squares.

    With ``fit`` the slots hold qualities: slopes are clipped to their bounds, and ``slope_free`` is written; otherwise
    a direction, along which only free slopes change. ``cursor`` is the first slot in each block.
    """
    starts = part.start
    block = part.block
    unit = part.unit
    total = 0.0
    largest = 0
    for j in range(first, last):
        largest = max(largest, starts[j + 1] - starts[j])
    value = np.empty(largest)
    slot = np.empty(largest, np.int64)
    for j in range(first, last):
        start = starts[j]
        size = starts[j + 1] - starts[j]
        if size == 0:
            continue
        mean = 0.0
        slope = 0.0
        for k in range(size):
            b = block[start + k]
            s = cursor[b]
            cursor[b] = s + 1
            value[k] = slots[s]
            slot[k] = s
            mean += value[k]
            slope += unit[start + k] * value[k]
        mean /= size
        if fit:
            # A clipped or fixed slope is not free in the face.
            unclipped = slope
            slope = min(max(slope, part.floor[j]), part.ceiling[j])
            slope_free[j] = slope == unclipped and part.floor[j] < part.ceiling[j]
        elif not slope_free[j]:
            slope = 0.0
        for k in range(size):
            gap = value[k] - mean - slope * unit[start + k]
            slots[slot[k]] = gap
            total += gap * gap
    return total


@kernel(element=ELEMENT)
def line_diagonal(
    part: Part, slope_free: BoolArray, fit: bool, slots: FloatArray, cursor: IntArray, first: int, last: int
) -> float:
    """Write the diagonal of the reviewers' matrices: 1 - 1 / k_j, minus the squared unit score of free slopes.

    Same arguments and result as :func:`line_residuals`.
    """
    starts = part.start
    block = part.block
    unit = part.unit
    total = 0.0
    for j in range(first, last):
        if starts[j] == starts[j + 1]:
            continue
        share = 1.0 - 1.0 / (starts[j + 1] - starts[j])
        bent = 1.0 if slope_free[j] else 0.0
        for r in range(starts[j], starts[j + 1]):
            s = cursor[block[r]]
            cursor[block[r]] = s + 1
            slots[s] = share - bent * unit[r] * unit[r]
            total += slots[s]
    return total


def in_memory(table: Table, n_items: int) -> list[tuple[slice, Part]]:
    """Lay out a table of linear reviewers, in one part."""
    layout, block, place = lay_out(table.start, table.item, n_items)
    floor, ceiling = unit_slopes(table.norm, table.lower, table.upper)
    part = Part(table.start, block, table.unit, place, floor, ceiling, *layout)
    return [(slice(0, floor.size), part)]


def perceived_of_lines(table: Table, x: FloatArray) -> FloatArray:
    """Return the perceived quality of each review of linear reviewers, shape (E,)."""
    perceived = np.empty(len(table.item))
    start = table.start
    form = distances.form(distances.element * len(table.item))

    def half(first: int, last: int) -> None:
        theirs = table._replace(start=start[first : last + 1])
        own = slice(first, last)
        theirs = theirs._replace(norm=table.norm[own], kind=table.kind[own])
        theirs = theirs._replace(lower=table.lower[own], upper=table.upper[own])
        form(theirs, first_face(theirs), False, x, perceived, np.zeros(x.size), np.zeros(0))

    middle = int(np.searchsorted(start, start[-1] // 2))
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(half, (0, middle), (middle, start.size - 1)))
    return perceived


class Passes(Objective):
    """The objective of linear reviewers by passes: one per evaluation, one per product.

    ``reviews`` is iterated over repeatedly: the reviewers of each part, as a slice, and their reviews.
    """

    def __init__(
        self, reviews: Iterable[tuple[slice, Part]], n_reviewers: int, common: Common, fixed: BoolArray
    ) -> None:
        super().__init__(common, fixed)
        n = fixed.size
        m = n_reviewers
        self.slope_free = np.zeros(m, np.bool_)
        self.reviews = reviews
        self._slots = np.empty(0)
        self._vectors = Descent(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), self.direction)
        # Diagonal of the reviewers' terms, and the free slopes it was computed with.
        self._diagonal, self._diagonal_free = np.zeros(n), np.ones(m, np.bool_)
        self._threads = ThreadPoolExecutor(2)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        self.gradients.fit[:] = 0.0
        self.squares = self.over(line_residuals, x, self.gradients.fit, fit=True)
        gradient = np.empty(x.size)
        weights = Weights(0.0, self.weights.common)
        value, self._slope_free, self.norm, self.stationarity = combine(
            self.common, self.fixed, self.squares, 0.0, weights, self.gradients, x, gradient
        )
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        common = self.common
        free = self._slope_free
        weight = self.weights.common
        vectors = self._vectors
        # The diagonal of the matrix; that of the reviewers' terms is kept while few slopes become free or fixed.
        changes = np.count_nonzero(self.slope_free != self._diagonal_free)
        if changes > STALE * self.slope_free.size or not self._diagonal.any():
            self._diagonal_free = self.slope_free.copy()
            self._diagonal[:] = 0.0
            self.over(line_diagonal, None, self._diagonal)
        common_diagonal(common, free, weight, vectors.inverse)
        vectors.inverse[:] += self._diagonal
        # Conjugate gradients from 0: update the direction, multiply it by the matrix, and step to the minimum along it.
        rho = sum(self._by_items(start_descent, vectors, self.fixed, gradient))
        beta = 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            sums = np.sum(self._by_items(update_search, vectors, common, weight, beta), axis=0).tolist()
            curvature, mean, slope = common_image(common, free, weight, *sums)
            curvature += self.over(line_residuals, vectors.search, vectors.image)
            if curvature <= 0.0:
                break
            new_rho = sum(self._by_items(take_step, vectors, common, rho / curvature, mean, slope))
            beta = new_rho / rho
            rho = new_rho
            self.products += 1
        return self.direction

    def over(self, kernel: Any, x: FloatArray | None, out: FloatArray, *, fit: bool = False) -> float:
        """Gather items, run a kernel on the reviewers, and add the slots to ``out``; returns the sum of its results."""
        total = 0.0
        for reviewers, part in self.reviews:
            reviews = part.block.size
            slope_free = self.slope_free[reviewers]
            cut = int(np.searchsorted(part.slot, part.slot[-1] // 2))
            if self._slots.size < reviews:
                self._slots = np.empty(reviews)
            blocks = ((0, cut), (cut, part.slot.size - 1))
            slots = self._slots[:reviews]
            halves = ((part.slot[:-1], 0, part.middle), (part.halfway, part.middle, part.floor.size))
            if x is not None:
                self._both(gather, reviews, *((part, x, slots, *ends) for ends in blocks))
            total += sum(
                self._both(
                    *(kernel, reviews),
                    *((part, slope_free, fit, slots, begin.copy(), *ends) for begin, *ends in halves),
                )
            )
            self._both(scatter_add, reviews, *((part, slots, out, *ends) for ends in blocks))
        return total

    def _by_items(self, kernel: Any, *arguments: Any) -> list[Any]:
        """Run a kernel on each half of the items; returns both results."""
        n = self.fixed.size
        return self._both(kernel, n, (*arguments, 0, n // 2), (*arguments, n // 2, n))

    def _both(self, kernel: Any, size: int, *arguments: tuple[Any, ...]) -> list[Any]:
        """Run a kernel on the arguments of both halves of ``size`` elements; returns both results."""
        form = kernel.form(kernel.element * size)
        return list(self._threads.map(lambda one: form(*one), arguments))


# Items with a single review: removed from the programme of linear reviewers, and extrapolated at its solution.
#
# Such an item lies on its reviewer's line through the other scores, without noise, so the minimum is the same without
# it. Including it is costly: a line through two close scores extrapolates far, a direction in which the objective is
# nearly flat, the more so the larger the table.


@kernel(element=ELEMENT)
def reviews_to_keep(
    start: IntArray, item: IntArray | ItemArray, score: FloatArray, degree: IntArray
) -> tuple[BoolArray, IntArray]:
    """Return which reviews remain, and where those of each reviewer begin then.

    All remain but those of single items whose reviewers have other, not constant scores. ``degree`` (N,): reviews of
    each item, or any other number for an item that has to remain.

    >>> start, item, score, degree = map(np.array, ([0, 3], [0, 1, 2], [1.0, 2.0, 4.0], [2, 1, 2]))
    >>> keep, start = reviews_to_keep(start, item, score, degree)
    >>> keep.tolist(), start.tolist()
    ([True, False, True], [0, 2])
    """
    keep = np.ones(len(item), np.bool_)
    first = np.zeros(len(start), np.int64)
    for j in range(len(start) - 1):
        singles = 0
        low = np.inf
        high = -np.inf
        for r in range(start[j], start[j + 1]):
            if degree[item[r]] == 1:
                singles += 1
            else:
                low = min(low, score[r])
                high = max(high, score[r])
        first[j + 1] = first[j] + start[j + 1] - start[j]
        if singles > 0 and low < high:
            first[j + 1] -= singles
            for r in range(start[j], start[j + 1]):
                keep[r] = degree[item[r]] != 1
    return keep, first


@kernel(element=ELEMENT)
def extrapolate_singles(
    start: IntArray, item: IntArray | ItemArray, score: FloatArray, keep: BoolArray, lower: FloatArray,
    upper: FloatArray, quality: FloatArray,
) -> None:  # fmt: skip
    """Write the qualities of removed items: on the regression line through those kept, its slope clipped."""
    for j in range(len(start) - 1):
        first = start[j]
        last = start[j + 1]
        count = 0
        mean = 0.0
        mean_rise = 0.0
        for r in range(first, last):
            if keep[r]:
                count += 1
                mean += quality[item[r]]
                mean_rise += score[r] - score[first]
        if count == last - first:
            continue
        mean = mean / count
        mean_rise = mean_rise / count
        squares = 0.0
        product = 0.0
        for r in range(first, last):
            if keep[r]:
                rise = score[r] - score[first] - mean_rise
                squares += rise * rise
                product += rise * quality[item[r]]
        slope = min(max(product / squares, lower[j]), upper[j])
        for r in range(first, last):
            if not keep[r]:
                quality[item[r]] = mean + slope * (score[r] - score[first] - mean_rise)


def without_singles(programme: Programme) -> tuple[Programme, BoolArray | None]:
    """Return the programme without removable reviews, and the mask of those kept; None if all are."""
    degree = np.bincount(programme.item, minlength=programme.n_items)
    degree[programme.is_reference] = 0
    keep, start = reviews_to_keep(programme.start, programme.item, programme.score, degree)
    if keep.all():
        return programme, None
    return replace(programme, start=start, item=programme.item[keep], score=programme.score[keep]), keep


def with_singles(programme: Programme, keep: BoolArray, reduced: Minimiser) -> Minimiser:
    """Return the minimiser of a programme from that of the reduced one."""
    quality = reduced.quality
    perceived = np.empty(keep.size)
    perceived[keep] = reduced.perceived
    extrapolate_singles(
        programme.start, programme.item, programme.score, keep, programme.lower, programme.upper, quality
    )
    perceived[~keep] = quality[programme.item[~keep]]
    if not programme.is_reference.any():  # then qualities have mean 0
        reviewed = np.bincount(programme.item, minlength=programme.n_items) > 0
        shift = float(quality[reviewed].mean())
        perceived -= shift
        quality[reviewed] -= shift
    return reduced._replace(quality=quality, perceived=perceived)
