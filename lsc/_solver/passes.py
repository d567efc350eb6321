"""The objective of the Newton solver, its gradient and its Newton directions.

If all reviewers are linear, both take passes over the parts of a table, wherever these are; sums are added in a fixed
order, so results do not depend on the number of processors. Other reviewers have a matrix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lsc._model.formulation import Minimiser, Programme, Units
from lsc._model.hypotheses import IDLE, LINEAR
from lsc._solver.kernels.blocks import assemble, descend_gradients, start_gradients, system_of
from lsc._solver.kernels.lines import Common, Lines, line_residuals
from lsc._solver.kernels.projections import (
    Table,
    distances,
    first_face,
    levels_of,
    project_bent,
    project_chains,
)
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.parts import LocalParts, Parts, Vectors, borders


def tabulate(programme: Programme) -> tuple[Table, Common, Units]:
    """Convert a programme to the solver's units: scores of spread 1 within reviewers, typical lower slope 1."""
    start = np.ascontiguousarray(programme.start, dtype=np.int64)
    item = np.ascontiguousarray(programme.item, dtype=np.uint32)
    size = np.diff(start)
    reviewer = np.repeat(np.arange(len(size)), size)
    # Offsets are free, so only centred scores matter.
    score = centred(programme.score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, score * score, len(size)))
    slope = programme.median_lower or 1.0
    # Units: scores of spread 1, median lower slope 1, references of range at most 1.
    known = programme.reference[programme.is_reference]
    origin = float(known.mean()) if len(known) else 0.0
    scale = slope * float(np.sqrt(np.sum(norm * norm) / len(item)))
    scale = max(scale, float(np.ptp(known)) if len(known) else 0.0)
    units = Units(origin, scale if scale > 0.0 else 1.0)
    score /= units.unit / slope
    norm /= units.unit / slope
    unit = score / np.where(norm > 0.0, norm, 1.0)[reviewer]
    # Constant scores make a line.
    kind = np.where(norm == 0.0, LINEAR, programme.shape).astype(np.int64)
    kind[size < 2] = IDLE
    lower = programme.lower / slope
    upper = programme.upper / slope
    table = Table(start, item, score, unit, norm, kind, lower, upper)
    # The common line uses raw scores, which retain differences between reviewers.
    raw = (programme.score - programme.score.mean()) / (units.unit / slope)
    degree = np.bincount(item, minlength=programme.n_items).astype(np.float64)
    tilt = np.bincount(item, weights=raw, minlength=programme.n_items).astype(np.float64)
    return (
        table,
        Common(degree, tilt, float(np.sum(raw * raw)), float(len(item)), float(lower.min()), float(upper.max())),
        units,
    )


def centred(score: FloatArray, start: IntArray, reviewer: IntArray) -> FloatArray:
    """Subtract each reviewer's mean, after their first score, so that a large common shift costs no digits.

    >>> import numpy as np
    >>> centred(np.array([1e9, 1e9 + 1, 5.0]), np.array([0, 2, 3]), np.array([0, 0, 1])).tolist()
    [-0.5, 0.5, 0.0]
    """
    size = np.diff(start)
    first = np.zeros(len(size))
    first[size > 0] = score[start[:-1][size > 0]]
    rest = score - first[reviewer]
    mean = np.bincount(reviewer, rest, len(size)) / np.maximum(size, 1)
    return np.asarray(rest - mean[reviewer])


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
    gradients of f and of F / 2 alone, each item's part divided by the root of its number of reviews.
    """

    #: Whether some reviewer need not be linear.
    bends: bool

    def __init__(self, common: Common, fixed: BoolArray, weights: Weights = FIT_ALONE) -> None:
        self.common = common
        self.degree = np.asarray(common.degree)
        self.tilt = np.asarray(common.tilt)
        self.fixed = fixed
        self.weights = weights
        self.squares = 0.0
        self.norm = 0.0
        self.stationarity = 0.0
        self.products = 0
        self._slope_free = False
        self._common_gradient = np.zeros(fixed.size)
        self._anchor = np.zeros(fixed.size)
        self._share = 1.0 / (common.reviews * np.maximum(self.degree, 1.0))

    @abstractmethod
    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at references); the face is that of ``x``."""

    @abstractmethod
    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the Newton direction at the last point evaluated.

        It solves ``H direction = -gradient`` to ``tolerance`` in the norm of the inverse diagonal of H.
        """

    def anchor_here(self, weight: float) -> None:
        """Replace the secondary objectives by the weighted distance from the last point evaluated."""
        self.weights = Weights(0.0, weight)
        self._anchor = self._common_gradient

    def _sum_of_terms(
        self, x: FloatArray, squares: float, fit: FloatArray, line: float = 0.0, off_lines: FloatArray | float = 0.0
    ) -> tuple[float, FloatArray]:
        """Return value and gradient of the objective, from F and G and half their gradients; O(N).

        The distance of all qualities from one line in the raw scores is ::

            T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper
        """
        common = self.common
        # The common line: scores are centred, so mean and slope are orthogonal.
        off = x - inner(self.degree, x) / common.reviews
        moment = inner(self.tilt, x)
        slope = moment / common.spread if common.spread > 0.0 else common.lower
        self._slope_free = common.spread > 0.0 and common.lower < slope < common.upper
        slope = min(max(slope, common.lower), common.upper)
        gradient = self.degree * off
        distance = inner(gradient, off) + slope * (slope * common.spread - 2.0 * moment)
        gradient -= slope * self.tilt
        self._common_gradient = gradient
        # The sum of the terms; references have no gradient.
        along = inner(self._anchor, x)
        total = fit + self.weights.line * off_lines + self.weights.common * (gradient - self._anchor)
        total[self.fixed] = 0.0
        fit[self.fixed] = 0.0
        self.squares = squares
        self.norm = math.sqrt(inner(total * total, self._share))
        self.stationarity = math.sqrt(inner(fit * fit, self._share))
        value = 0.5 * (squares + self.weights.line * line) + self.weights.common * (0.5 * distance - along)
        return value, total


#: Diagonal steps of conjugate gradients after which items are clustered, from then on.
DIAGONAL_STEPS = 20
#: Entries of the matrix and reviews that conjugate gradients read before Python may interrupt, in some 30 milliseconds.
PRODUCTS = 10_000_000


class Merit(Objective):
    """The objective of reviews in memory, of reviewers of any class."""

    bends = True

    def __init__(self, table: Table, common: Common, fixed: BoolArray, weights: Weights = FIT_ALONE) -> None:
        super().__init__(common, fixed, weights)
        self.face = first_face(table)
        self.levels = levels_of(table)
        self.table = table
        self.perceived = np.zeros(len(table.item))
        self._clustered = False
        self._system = system_of(table, fixed.size)
        self._steps_at_once = 1 + PRODUCTS // (len(table.item) + len(self._system.column))

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at references); face and perceived qualities are those of ``x``."""
        project_chains(self.table, self.face, self.levels, x, self.perceived)
        project_bent(self.table, self.face, self.levels, x, self.perceived)
        fit, off_lines = np.zeros((2, x.size))
        with_lines = self.weights.line > 0.0
        squares, line = distances(self.table, self.face, with_lines, x, self.perceived, fit, off_lines)
        return self._sum_of_terms(x, squares, fit, line, off_lines)

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        system = self._system
        assemble(self.table, self.face, self.common, *self.weights, system, self.fixed)
        np.negative(gradient, out=np.asarray(system.residual))
        direction = np.zeros(gradient.size)
        # The diagonal is enough while the matrix is well-conditioned, as in the first stages; clusters continue.
        left = max_steps
        if not self._clustered:
            start_gradients(system, self.common, False)
            left -= self._descend(direction, tolerance, min(DIAGONAL_STEPS, max_steps))
            self._clustered = left > 0 and math.sqrt(system.squares) > tolerance
        if self._clustered:
            start_gradients(system, self.common, True)
            self._descend(direction, tolerance, left)
        return direction

    def _descend(self, direction: FloatArray, tolerance: float, max_steps: int) -> int:
        """Take up to a number of steps of conjugate gradients, not too many at once; returns those taken."""
        taken = 0
        while taken < max_steps:
            most = min(self._steps_at_once, max_steps - taken)
            steps = descend_gradients(
                self.table, self.face, self.common, self._slope_free, self._system, tolerance, most, direction
            )
            taken += steps
            if steps < most:
                break
        self.products += taken
        return taken


#: Share of slopes that may become free or fixed before the diagonal, a preconditioner, is recomputed.
STALE = 1 / 16
#: Number of reviews in memory from which they are two parts, for two threads.
MANY_REVIEWS = 500_000


def unit_slopes(
    norm: FloatArray, lower: FloatArray | float, upper: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on slopes for unit scores, from those for scores of this length; 0 if constant.

    >>> unit_slopes(np.array([0.0, 2.0]), 0.5, np.inf)
    (array([0., 1.]), array([ 0., inf]))
    """
    return lower * norm, np.multiply(upper, norm, out=np.zeros(norm.size), where=norm > 0.0)


def lines_of(start: IntArray, item: CodeArray, unit: FloatArray, bounds: tuple[FloatArray, FloatArray]) -> Lines:
    """Return reviews that are sorted by reviewer and score, with unit scores, and bounds on their slopes."""
    reviewers = start.size - 1
    return Lines(start, item, unit, *bounds, np.zeros(reviewers, np.bool_), np.ones(reviewers, np.bool_))


def in_memory(table: Table, n_items: int) -> LocalParts:
    """Return a table of linear reviewers as parts, one or two."""
    start = np.asarray(table.start)
    item = np.asarray(table.item)
    unit = np.asarray(table.unit)
    floor, ceiling = unit_slopes(np.asarray(table.norm), np.asarray(table.lower), np.asarray(table.upper))
    states = []
    for first, last in pairwise(borders(start, 2 if item.size >= MANY_REVIEWS else 1)):
        rows = slice(int(start[first]), int(start[last]))
        bounds = floor[first:last], ceiling[first:last]
        states.append(lines_of(start[first : last + 1] - rows.start, item[rows], unit[rows], bounds))
    return LocalParts(states, n_items)


def perceived_of_lines(table: Table, x: FloatArray) -> FloatArray:
    """Return the perceived quality of each review of linear reviewers, shape (E,)."""
    size = np.diff(table.start)
    reviewer = np.repeat(np.arange(size.size), size)
    quality = x[np.asarray(table.item)]
    unit = np.asarray(table.unit)
    bounds = unit_slopes(np.asarray(table.norm), np.asarray(table.lower), np.asarray(table.upper))
    mean = np.bincount(reviewer, quality, size.size) / np.maximum(size, 1)
    slope = np.clip(np.bincount(reviewer, unit * quality, size.size), *bounds)
    return np.asarray(mean[reviewer] + slope[reviewer] * unit)


class Passes(Objective):
    """The objective of linear reviewers by passes over parts: one per evaluation, one per product.

    Parameters
    ----------
    parts
        The reviews, :class:`~lsc._solver.kernels.lines.Lines` each.
    n_reviewers
        Number of reviewers.
    common, fixed
        As those of :class:`Objective`.
    """

    bends = False

    def __init__(self, parts: Parts, n_reviewers: int, common: Common, fixed: BoolArray) -> None:
        super().__init__(common, fixed)
        self.parts = parts
        self.n_reviewers = n_reviewers
        # Diagonal of the reviewers' terms, and how many slopes have become free or fixed since.
        self._diagonal: FloatArray | None = None
        self._changes = 0

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        (fit,), results = self.parts.map(_fit, (x,))
        squares, changes = zip(*results, strict=True)
        self._changes = sum(changes)
        return self._sum_of_terms(x, sum(squares), fit)

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        # The diagonal of the matrix; that of the reviewers' terms is kept while few slopes become free or fixed.
        if self._diagonal is None or self._changes > STALE * self.n_reviewers:
            (self._diagonal,), _ = self.parts.map(_diagonal, (np.zeros(gradient.size),))
            self._changes = 0
        weight = self.weights.common
        steep = 1.0 / self.common.spread if self._slope_free else 0.0
        diagonal = self._diagonal + weight * (self.degree * (1.0 - self.degree / self.common.reviews))
        diagonal -= weight * steep * self.tilt**2
        # Conjugate gradients from 0.
        unit = np.where(self.fixed, 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))
        residual = -unit * gradient
        direction, search = np.zeros((2, gradient.size))
        rho = inner(residual, residual)
        beta = 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            search = residual + beta * search
            along = unit * search
            (image,), _ = self.parts.map(_multiply, (along,))
            # The common line takes mean and slope from qualities along the direction.
            mean = inner(self.degree, along) / self.common.reviews
            slope = steep * inner(self.tilt, along)
            image += weight * (self.degree * (along - mean) - slope * self.tilt)
            curvature = inner(along, image)
            if curvature <= 0.0:
                break
            step = rho / curvature
            direction += step * search
            residual -= step * (unit * image)
            before = rho
            rho = inner(residual, residual)
            beta = rho / before
            self.products += 1
        return unit * direction


def _fit(lines: Lines, vectors: Vectors) -> tuple[Vectors, tuple[float, int]]:
    """Fit the lines: residuals by item, their squares, and the slopes that differ from those of the diagonal."""
    residuals = np.zeros(vectors[0].size)
    squares = line_residuals(lines, True, vectors[0], residuals)
    changes = int(np.count_nonzero(np.asarray(lines.slope_free) != np.asarray(lines.diagonal_free)))
    return (residuals,), (squares, changes)


def _multiply(lines: Lines, vectors: Vectors) -> tuple[Vectors, None]:
    """Return the image of a direction, along which only free slopes change."""
    image = np.zeros(vectors[0].size)
    line_residuals(lines, False, vectors[0], image)
    return (image,), None


def _diagonal(lines: Lines, vectors: Vectors) -> tuple[Vectors, None]:
    """Return the diagonal of the reviewers' terms, 1 - 1 / k_j - unit^2 with a free slope; note which slopes are."""
    load = np.diff(lines.start)
    reviewer = np.repeat(np.arange(load.size), load)
    free = np.asarray(lines.slope_free)
    np.asarray(lines.diagonal_free)[:] = free
    unit = np.where(free[reviewer], lines.unit, 0.0)
    diagonal = 1.0 - 1.0 / load[reviewer] - unit**2
    return (np.bincount(lines.item, diagonal, vectors[0].size),), None


# Items with a single review: removed from the programme of linear reviewers, and extrapolated at its solution.
#
# Such an item lies on its reviewer's line through the other scores, without noise, so the minimum is the same without
# it. Including it is costly: a line through two close scores extrapolates far, a direction in which the objective is
# nearly flat, the more so the larger the table.


def reviews_to_keep(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, degree: IntArray
) -> tuple[BoolArray, IntArray]:
    """Return which reviews remain, and where those of each reviewer begin then.

    All remain but those of single items whose reviewers have other, not constant scores, which ascend. ``degree`` (N,):
    reviews of each item, or any other number for an item that has to remain.

    >>> start, item, score, degree = map(np.array, ([0, 3], [0, 1, 2], [1.0, 2.0, 4.0], [2, 1, 2]))
    >>> keep, start = reviews_to_keep(start, item, score, degree)
    >>> keep.tolist(), start.tolist()
    ([True, False, True], [0, 2])
    """
    load = np.diff(start)
    reviewer = np.repeat(np.arange(load.size), load)
    shared = degree[item] != 1
    owner = reviewer[shared]
    rises = (owner[1:] == owner[:-1]) & (np.diff(score[shared]) > 0.0)
    varied = np.zeros(load.size, np.bool_)
    varied[owner[1:][rises]] = True
    keep = shared | ~varied[reviewer]
    kept = np.bincount(reviewer[keep], minlength=load.size)
    return keep, np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])


def of_singles(
    start: IntArray,
    item: IntArray | CodeArray,
    score: FloatArray,
    keep: BoolArray,
    bounds: tuple[FloatArray | float, FloatArray | float],
    quality: FloatArray,
) -> FloatArray:
    """Return the quality of each removed review's item: on the line through those kept, its slope within bounds."""
    load = np.diff(start)
    reviewer = np.repeat(np.arange(load.size), load)

    def by_reviewer(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(reviewer[keep], value[keep], load.size), np.float64)

    count = np.maximum(by_reviewer(np.ones(item.size)), 1.0)
    rise = score - score[start[reviewer]]
    rise -= (by_reviewer(rise) / count)[reviewer]
    along = by_reviewer(rise * quality[item])
    squares = by_reviewer(rise * rise)
    slope = np.clip(np.divide(along, squares, out=np.zeros(load.size), where=squares > 0.0), *bounds)
    mean = by_reviewer(quality[item]) / count
    removed = reviewer[~keep]
    return np.asarray(mean[removed] + slope[removed] * rise[~keep])


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
    bounds = programme.lower, programme.upper
    perceived[~keep] = of_singles(programme.start, programme.item, programme.score, keep, bounds, quality)
    quality[programme.item[~keep]] = perceived[~keep]
    if not programme.is_reference.any():  # then qualities have mean 0
        reviewed = np.bincount(programme.item, minlength=programme.n_items) > 0
        shift = float(quality[reviewed].mean())
        perceived -= shift
        quality[reviewed] -= shift
    return reduced._replace(quality=quality, perceived=perceived)
