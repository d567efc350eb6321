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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from lsc._solver.kernels.lines import ShortArray


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


class Layout(NamedTuple):
    """Slots of a part: those of block b are ``slot[b]:slot[b + 1]``, reviewer by reviewer.

    Those of reviewers from number ``middle`` on begin at ``halfway[b]``. A block has ``size`` items.
    """

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


def lay_out(start: IntArray, item: CodeArray, n_items: int) -> tuple[Layout, ShortArray, ShortArray]:
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


def in_memory(table: Table, n_items: int) -> list[tuple[slice, Part]]:
    """Lay out a table of linear reviewers, in one part."""
    layout, block, place = lay_out(np.asarray(table.start), np.asarray(table.item), n_items)
    floor, ceiling = unit_slopes(np.asarray(table.norm), np.asarray(table.lower), np.asarray(table.upper))
    part = Part(table.start, block, table.unit, place, floor, ceiling, *layout)
    return [(slice(0, floor.size), part)]


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
        fit = np.asarray(self.gradients.fit)
        fit[:] = 0.0
        self.squares = self.over(line_residuals, x, fit, fit=True)
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
        changes = np.count_nonzero(self.slope_free != self._diagonal_free)
        if changes > STALE * self.slope_free.size or not self._diagonal.any():
            self._diagonal_free = self.slope_free.copy()
            self._diagonal[:] = 0.0
            self.over(line_diagonal, None, self._diagonal)
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
            slot = np.asarray(part.slot)
            reviews = len(part.block)
            n_blocks = slot.size - 1
            cut = int(np.searchsorted(slot, reviews // 2))
            if self._slots.size < reviews:
                self._slots = np.empty(reviews)
            slots = self._slots[:reviews]
            slope_free = self.slope_free[reviewers]
            n_reviewers = slope_free.size
            lower_half = (part, slope_free, fit, slots, slot[:n_blocks].copy(), 0, part.middle)
            upper_half = (part, slope_free, fit, slots, np.array(part.halfway), part.middle, n_reviewers)
            if x is not None:
                self._both(gather, (part, x, slots, 0, cut), (part, x, slots, cut, n_blocks))
            total += sum(self._both(kernel, lower_half, upper_half))
            self._both(scatter_add, (part, slots, out, 0, cut), (part, slots, out, cut, n_blocks))
        return total

    def _by_items(self, kernel: Any, *arguments: Any) -> list[Any]:
        """Run a kernel on each half of the items; returns both results."""
        n = self.fixed.size
        return self._both(kernel, (*arguments, 0, n // 2), (*arguments, n // 2, n))

    def _both(self, kernel: Any, *halves: tuple[Any, ...]) -> list[Any]:
        """Run a kernel on the arguments of both halves, in two threads; returns both results."""
        return list(self._threads.map(lambda arguments: kernel(*arguments), halves))


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
