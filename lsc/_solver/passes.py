"""The objective of the Newton solver, its gradient and its Newton directions.

For many linear reviewers both take passes over the parts of a table, wherever these are; sums are added in a fixed
order, so results do not depend on the number of processors. The
layout makes a pass read memory sequentially, since random access to millions of items is limited by latency: items are
cut into blocks that fit in the cache, and each review has a slot, block by block. Qualities are gathered to the slots,
reviewers read theirs from as many ascending slots as there are blocks and write results there, which are added to the
items block by block.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lsc._model.formulation import Minimiser, Programme
from lsc._model.hypotheses import IDLE, LINEAR
from lsc._solver.kernels.blocks import assemble, descend_gradients, start_gradients, system_of
from lsc._solver.kernels.lines import (
    Common,
    Descent,
    Gradients,
    Part,
    combine,
    common_diagonal,
    common_image,
    descend_lines,
    evaluate,
    extrapolate_singles,
    gather,
    keep_shared,
    line_diagonal,
    line_residuals,
    scatter_add,
    start_descent,
    start_lines,
    take_step,
    update_search,
    write_places,
)
from lsc._solver.kernels.projections import Table, distances, first_face, levels_of
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.parts import LocalParts, Parts, Vectors, borders


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product without a threaded linear algebra library, which costs more and changes last digits."""
    return float(np.einsum("i,i->", a, b))


class Weights(NamedTuple):
    """Weights of the distances from lines in each reviewer's scores, and from the common line."""

    line: float
    common: float


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
        self.gradients = Gradients(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n))
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
        np.asarray(self.gradients.anchor)[:] = self.gradients.tilt


#: Diagonal steps of conjugate gradients after which items are clustered, from then on.
DIAGONAL_STEPS = 20
#: Entries of the matrix and reviews that conjugate gradients read before Python may interrupt, in some 30 milliseconds.
PRODUCTS = 10_000_000


class Merit(Objective):
    """The objective of reviews in memory."""

    def __init__(self, table: Table, common: Common, fixed: BoolArray, weights: Weights = FIT_ALONE) -> None:
        super().__init__(common, fixed, weights)
        n = len(fixed)
        self.face = first_face(table)
        self.levels = levels_of(table)
        self.table = table
        self.perceived = np.zeros(len(table.item))
        kind = np.asarray(table.kind)
        self.bends = bool(np.any((kind != LINEAR) & (kind != IDLE)))
        self._clustered = False
        entries = len(table.item)
        if self.bends:
            self._system = system_of(table, n)
            entries += len(self._system.column)
        else:
            self._vectors = Descent(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), self.direction)
        self._steps_at_once = 1 + PRODUCTS // max(entries, 1)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at references); face and perceived qualities are those of ``x``."""
        line_weight = self.weights.line if self.bends else 0.0
        gradient = np.empty(len(x))
        self.squares, value, self._slope_free, self.norm, self.stationarity = evaluate(
            self.table, self.face, self.levels, self.common, self.fixed, line_weight, self.weights.common,
            self.gradients, x, self.perceived, gradient,
        )  # fmt: skip
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        lines = self.table, self.face, self.common
        if not self.bends:
            lines_of = *lines, self._slope_free, self.weights.common
            start_lines(*lines_of, self.fixed, gradient, self._vectors)
            self._repeat(max_steps, lambda steps: descend_lines(*lines_of, self._vectors, tolerance, steps))
            return self.direction
        system = self._system
        assemble(*lines, *self.weights, system, self.fixed)
        np.negative(gradient, out=np.asarray(system.residual))
        self.direction[:] = 0.0

        def descend(steps: int) -> int:
            return descend_gradients(*lines, self._slope_free, system, tolerance, steps, self.direction)

        # The diagonal is enough while the matrix is well-conditioned, as in the first stages; clusters continue.
        left = max_steps
        if not self._clustered:
            start_gradients(system, self.common, False)
            left -= self._repeat(min(DIAGONAL_STEPS, max_steps), descend)
            self._clustered = left > 0 and math.sqrt(system.squares) > tolerance
        if self._clustered:
            start_gradients(system, self.common, True)
            self._repeat(left, descend)
        return self.direction

    def _repeat(self, max_steps: int, descend: Callable[[int], int]) -> int:
        """Take up to a number of steps of conjugate gradients, not too many at once; returns those taken."""
        taken = 0
        while taken < max_steps:
            most = min(self._steps_at_once, max_steps - taken)
            steps = descend(most)
            taken += steps
            if steps < most:
                break
        self.products += taken
        return taken


#: Maximum number of items of a block, with places of 16 bits, and minimum number of blocks.
BLOCK = 1 << 16
MIN_BLOCKS = 16
#: Share of slopes that may become free or fixed before the diagonal, a preconditioner, is recomputed.
STALE = 1 / 16


def unit_slopes(
    norm: FloatArray, lower: FloatArray | float, upper: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on slopes for unit scores, from those for scores of this length; 0 if constant.

    >>> unit_slopes(np.array([0.0, 2.0]), 0.5, np.inf)
    (array([0., 1.]), array([ 0., inf]))
    """
    return lower * norm, np.multiply(upper, norm, out=np.zeros(norm.size), where=norm > 0.0)


class Lines(NamedTuple):
    """The scored reviews of linear reviewers of a part of a table, and what passes over them keep.

    ``slope_free``, ``diagonal_free`` (m,): which slopes are free, now and when the diagonal was last computed.
    """

    part: Part
    slope_free: BoolArray
    diagonal_free: BoolArray


def lines_of(
    start: IntArray, item: CodeArray, unit: FloatArray, bounds: tuple[FloatArray, FloatArray], n_items: int
) -> Lines:
    """Lay out reviews that are sorted by reviewer and score, with unit scores, and bounds on their slopes.

    >>> bounds = np.zeros(2), np.ones(2)
    >>> lines = lines_of(np.array([0, 2, 4]), np.array([17, 3, 2, 16], np.uint32), np.zeros(4), bounds, 32)
    >>> part = lines.part
    >>> [np.asarray(values).tolist() for values in (part.block, part.place, part.slot[8:10])], part.size
    ([[8, 1, 1, 8], [1, 0, 1, 0], [2, 4]], 2)
    """
    size = max(1, min(BLOCK, -(-n_items // MIN_BLOCKS)))
    blocks = -(-n_items // size)
    block = (item // np.uint32(size)).astype(np.uint16)
    slot = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=blocks))])
    place = np.empty(item.size, np.uint16)
    write_places(item, block, slot[:-1].copy(), size, place)
    m = start.size - 1
    part = Part(start, block, unit, place, *bounds, slot, size)
    return Lines(part, np.zeros(m, np.bool_), np.ones(m, np.bool_))


def in_memory(table: Table, n_items: int) -> LocalParts:
    """Lay out a table of linear reviewers in two parts, for two threads."""
    start = np.asarray(table.start)
    item = np.asarray(table.item)
    unit = np.asarray(table.unit)
    floor, ceiling = unit_slopes(np.asarray(table.norm), np.asarray(table.lower), np.asarray(table.upper))
    states = []
    for first, last in pairwise(borders(start, 2)):
        rows = slice(int(start[first]), int(start[last]))
        bounds = floor[first:last], ceiling[first:last]
        states.append(lines_of(start[first : last + 1] - rows.start, item[rows], unit[rows], bounds, n_items))
    return LocalParts(states, n_items)


def perceived_of_lines(table: Table, x: FloatArray) -> FloatArray:
    """Return the perceived quality of each review of linear reviewers, shape (E,)."""
    perceived = np.empty(len(table.item))
    face = first_face(table)
    start = np.asarray(table.start)
    reviewers = start.size - 1
    middle = int(np.searchsorted(start, start[reviewers] // 2))

    def half(first: int, last: int) -> None:
        distances(table, face, False, x, perceived, np.zeros(x.size), np.zeros(0), first, last)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(half, (0, middle), (middle, reviewers)))
    return perceived


class Passes(Objective):
    """The objective of linear reviewers by passes over parts: one per evaluation, one per product.

    Parameters
    ----------
    parts
        The reviews, :class:`Lines` each.
    n_reviewers
        Number of reviewers.
    common, fixed
        As those of :class:`Objective`.
    """

    def __init__(self, parts: Parts, n_reviewers: int, common: Common, fixed: BoolArray) -> None:
        super().__init__(common, fixed)
        n = fixed.size
        self.parts = parts
        self.n_reviewers = n_reviewers
        self._vectors = Descent(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), self.direction)
        # Diagonal of the reviewers' terms, and how many slopes have become free or fixed since.
        self._diagonal: FloatArray | None = None
        self._changes = 0
        self._threads = ThreadPoolExecutor(2)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        (fit,), results = self.parts.map(_fit, (x,))
        squares, changes = zip(*results, strict=True)
        np.asarray(self.gradients.fit)[:] = fit
        self.squares = sum(squares)
        self._changes = sum(changes)
        gradient = np.empty(x.size)
        value, self._slope_free, self.norm, self.stationarity = combine(
            self.common, self.fixed, self.squares, 0.0, 0.0, self.weights.common, self.gradients, x, gradient
        )
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        common = self.common
        free = self._slope_free
        weight = self.weights.common
        vectors = self._vectors
        # The diagonal of the matrix; that of the reviewers' terms is kept while few slopes become free or fixed.
        if self._diagonal is None or self._changes > STALE * self.n_reviewers:
            (self._diagonal,), _ = self.parts.map(_diagonal, (np.zeros(gradient.size),))
            self._changes = 0
        common_diagonal(common, free, weight, vectors.inverse)
        np.asarray(vectors.inverse)[:] += self._diagonal
        # Conjugate gradients from 0: update the direction, multiply it by the matrix, and step to the minimum along it.
        rho = sum(self._by_items(start_descent, vectors, self.fixed, gradient))
        beta = 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            sums = np.sum(self._by_items(update_search, vectors, common, weight, beta), axis=0).tolist()
            curvature, mean, slope = common_image(common, free, weight, *sums)
            (image,), squares = self.parts.map(_multiply, (np.asarray(vectors.search),))
            np.asarray(vectors.image)[:] += image
            curvature += sum(squares)
            if curvature <= 0.0:
                break
            new_rho = sum(self._by_items(take_step, vectors, common, rho / curvature, mean, slope))
            beta = new_rho / rho
            rho = new_rho
            self.products += 1
        return self.direction

    def _by_items(self, kernel: Any, *arguments: Any) -> list[Any]:
        """Run a kernel on each half of the items, in two threads; returns both results."""
        n = self.fixed.size
        halves = (*arguments, 0, n // 2), (*arguments, n // 2, n)
        return list(self._threads.map(lambda half: kernel(*half), halves))


def _over(state: Lines, x: FloatArray, kernel: Any, *, fit: bool) -> tuple[FloatArray, float]:
    """Gather items to slots, run a kernel on the reviewers, and add the slots by item; returns these and its result."""
    part = state.part
    slots = np.empty(len(part.block))
    gather(part, x, slots)
    total = kernel(part, state.slope_free, fit, slots, np.array(part.slot))
    by_item = np.zeros(x.size)
    scatter_add(part, slots, by_item)
    return by_item, total


def _fit(state: Lines, vectors: Vectors) -> tuple[Vectors, tuple[float, int]]:
    """Fit the lines: residuals by item, their squares, and the slopes that differ from those of the diagonal."""
    residuals, squares = _over(state, vectors[0], line_residuals, fit=True)
    return (residuals,), (squares, int(np.count_nonzero(state.slope_free != state.diagonal_free)))


def _multiply(state: Lines, vectors: Vectors) -> tuple[Vectors, float]:
    """Return the image of a direction, along which only free slopes change, and its curvature."""
    image, squares = _over(state, vectors[0], line_residuals, fit=False)
    return (image,), squares


def _diagonal(state: Lines, vectors: Vectors) -> tuple[Vectors, None]:
    """Return the diagonal of the reviewers' terms, and note the slopes that are free."""
    diagonal, _ = _over(state, vectors[0], line_diagonal, fit=False)
    state.diagonal_free[:] = state.slope_free
    return (diagonal,), None


# Items with a single review: removed from the programme of linear reviewers, and extrapolated at its solution.
#
# Such an item lies on its reviewer's line through the other scores, without noise, so the minimum is the same without
# it. Including it is costly: a line through two close scores extrapolates far, a direction in which the objective is
# nearly flat, the more so the larger the table.


def reviews_to_keep(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, degree: IntArray
) -> tuple[BoolArray, IntArray]:
    """Return which reviews remain, and where those of each reviewer begin then.

    All remain but those of single items whose reviewers have other, not constant scores. ``degree`` (N,): reviews of
    each item, or any other number for an item that has to remain.

    >>> start, item, score, degree = map(np.array, ([0, 3], [0, 1, 2], [1.0, 2.0, 4.0], [2, 1, 2]))
    >>> keep, start = reviews_to_keep(start, item, score, degree)
    >>> keep.tolist(), start.tolist()
    ([True, False, True], [0, 2])
    """
    keep = np.ones(item.size, np.bool_)
    first = np.zeros(start.size, np.int64)
    keep_shared(start, item, score, degree, keep, first)
    return keep, first


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
