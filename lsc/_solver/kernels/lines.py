"""Distances from lines: the objective from its terms, and the system of linear reviewers by conjugate gradients.

For tables of many items reviews lie in slots, block of items by block, see :mod:`lsc._solver.passes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np

if not cython.compiled:
    from math import inf, sqrt

    from lsc._model.hypotheses import LINEAR
    from lsc._solver.kernels.projections import distances, project_bent, project_chains

    INFINITY = inf

if TYPE_CHECKING:
    import numpy.typing as npt

    from lsc._solver.kernels.projections import Face, Levels, Table
    from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray

    ShortArray = npt.NDArray[np.uint16]


@dataclass(eq=False, repr=False)
class Common:
    """One line in the raw scores for all reviews; the distance from it selects among several minimisers."""

    degree: FloatArray  # Reviews of an item, shape (N,)
    tilt: FloatArray  # Sums of its centred raw scores, (N,)
    spread: float  # Sum of squares of all centred scores
    reviews: float  # Their number
    lower: float  # Bounds on the slope
    upper: float


@dataclass(eq=False, repr=False)
class Gradients:
    """Half the gradients of the terms of the objective, shapes (N,): of F, of G, of T, and the anchor of T."""

    fit: FloatArray
    line: FloatArray
    tilt: FloatArray
    anchor: FloatArray


@dataclass(eq=False, repr=False)
class Descent:
    """Vectors of conjugate gradients, shapes (N,), and what goes from one step to the next."""

    inverse: FloatArray  # Inverse of the diagonal, the preconditioner
    residual: FloatArray
    search: FloatArray
    image: FloatArray
    direction: FloatArray
    rho: float = 0.0  # Squared norm of the residual
    beta: float = 0.0


@dataclass(eq=False, repr=False)
class Part:
    """The reviews of some linear reviewers, ascending in score: those of number j are ``start[j]:start[j + 1]``.

    The slots of block b are ``slot[b]:slot[b + 1]``, reviewer by reviewer. A block has ``size`` items.
    """

    start: IntArray
    block: ShortArray  # Block of each item, by review
    unit: FloatArray  # Unit scores
    place: ShortArray  # The items' positions in their blocks, by slot
    floor: FloatArray  # Bounds on slopes for unit scores, both 0 if constant
    ceiling: FloatArray
    slot: IntArray
    size: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Parts go to workers, their arrays as NumPy's."""
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        return type(self), tuple(value if isinstance(value, int) else np.asarray(value) for value in values)


# The objective.


def combine(
    common: Common, fixed: BoolArray, squares: float, line: float, line_weight: float, common_weight: float,
    gradients: Gradients, x: FloatArray, gradient: FloatArray,
) -> tuple[float, bool, float, float]:  # fmt: skip
    """Value and gradient of the objective, from F and G and half their gradients; O(N).

    The distance of all qualities from one line in the raw scores is ::

        T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper

    Returns the value, whether the slope of this line is free, and the norms per review of the gradients of f and of
    F / 2, each item's part divided by the root of its number of reviews; references have no gradient.
    """
    mean = 0.0
    moment = 0.0
    distance = 0.0
    along = 0.0
    norm = 0.0
    stationarity = 0.0
    with cython.nogil:
        # The common line: scores are centred, so mean and slope are orthogonal.
        for i in range(len(x)):
            mean += common.degree[i] * x[i]
            moment += common.tilt[i] * x[i]
        mean /= common.reviews
        slope = moment / common.spread if common.spread > 0.0 else common.lower
        free = common.spread > 0.0 and common.lower < slope < common.upper
        slope = min(max(slope, common.lower), common.upper)
        for i in range(len(x)):
            gap = x[i] - mean
            distance += common.degree[i] * gap * gap
            gradients.tilt[i] = common.degree[i] * gap - slope * common.tilt[i]
        distance += slope * (slope * common.spread - 2.0 * moment)
        # The sum of the terms.
        for i in range(len(x)):
            along += gradients.anchor[i] * x[i]
            fit = gradients.fit[i]
            total = fit + common_weight * (gradients.tilt[i] - gradients.anchor[i])
            if line_weight > 0.0:
                total += line_weight * gradients.line[i]
            if fixed[i]:
                fit = 0.0
                total = 0.0
                gradients.fit[i] = 0.0
            gradient[i] = total
            share = 1.0 / max(common.degree[i], 1.0)
            norm += total * total * share
            stationarity += fit * fit * share
    value = 0.5 * squares + 0.5 * line_weight * line + common_weight * (0.5 * distance - along)
    return value, free, sqrt(norm / common.reviews), sqrt(stationarity / common.reviews)


def evaluate(
    table: Table, face: Face, levels: Levels, common: Common, fixed: BoolArray, line_weight: float,
    common_weight: float, gradients: Gradients, x: FloatArray, perceived: FloatArray, gradient: FloatArray,
) -> tuple[float, float, bool, float, float]:  # fmt: skip
    """Project all reviewers; returns F, and what :func:`combine` returns."""
    project_chains(table, face, levels, x, perceived)
    project_bent(table, face, levels, x, perceived)
    with cython.nogil:
        for i in range(len(x)):
            gradients.fit[i] = 0.0
            gradients.line[i] = 0.0
    with_lines = line_weight > 0.0
    squares, line = distances(
        table, face, with_lines, x, perceived, gradients.fit, gradients.line, 0, len(table.kind)
    )  # fmt: skip
    value, free, norm, stationarity = combine(
        common, fixed, squares, line, line_weight, common_weight, gradients, x, gradient
    )
    return squares, value, free, norm, stationarity


# Conjugate gradients: parts of a step, for items ``first`` to ``last - 1``.


def common_diagonal(common: Common, common_free: bool, common_weight: float, diagonal: FloatArray) -> None:
    """Write the diagonal of the common line's term: identity minus a projector of rank one or two."""
    with cython.nogil:
        for i in range(len(diagonal)):
            entry = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
            if common_free:
                entry -= common.tilt[i] * common.tilt[i] / common.spread
            diagonal[i] = entry * common_weight


def start_descent(vectors: Descent, fixed: BoolArray, gradient: FloatArray, first: int, last: int) -> float:
    """Begin at 0 with the diagonal in ``inverse``; returns the squared residual norm.

    The residual is the negative gradient, 0 at fixed items; a zero diagonal counts as 1.
    """
    rho = 0.0
    with cython.nogil:
        for i in range(first, last):
            residual = 0.0
            inverse = 0.0
            if not fixed[i]:
                residual = -gradient[i]
                inverse = 1.0 / vectors.inverse[i] if vectors.inverse[i] > 0.0 else 1.0
            vectors.inverse[i] = inverse
            vectors.residual[i] = residual
            vectors.direction[i] = 0.0
            vectors.search[i] = 0.0
            rho += residual * inverse * residual
    return rho


def update_search(
    vectors: Descent, common: Common, common_weight: float, beta: float, first: int, last: int
) -> tuple[float, float, float]:
    """Update the search direction, and write the diagonal part of its image under the common line's term.

    Returns the sums that :func:`common_image` takes.
    """
    squares = 0.0
    mean = 0.0
    slope = 0.0
    with cython.nogil:
        for i in range(first, last):
            value = vectors.inverse[i] * vectors.residual[i] + beta * vectors.search[i]
            part = common.degree[i] * value
            vectors.search[i] = value
            vectors.image[i] = common_weight * part
            mean += part
            slope += common.tilt[i] * value
            squares += part * value
    return squares, mean, slope


def common_image(
    common: Common, common_free: bool, common_weight: float, squares: float, mean: float, slope: float
) -> tuple[float, float, float]:
    """Return the curvature of the common line's term, and the coefficients of degrees and tilts in its image."""
    mean = mean / common.reviews
    slope_weight = common_weight / common.spread if common_free else 0.0
    curvature = common_weight * (squares - mean * mean * common.reviews) - slope_weight * slope * slope
    return curvature, common_weight * mean, slope_weight * slope


def take_step(
    vectors: Descent, common: Common, alpha: float, mean: float, slope: float, first: int, last: int
) -> float:
    """Step to the minimum along the search direction; returns the squared norm of the new residual."""
    rho = 0.0
    with cython.nogil:
        for i in range(first, last):
            vectors.direction[i] += alpha * vectors.search[i]
            image = vectors.image[i] - mean * common.degree[i] - slope * common.tilt[i]
            residual = vectors.residual[i] - alpha * image
            vectors.residual[i] = residual
            rho += residual * residual * vectors.inverse[i]
    return rho


# Tables that fit in the cache: reviewers read and write items directly.


def multiply_lines(table: Table, face: Face, vectors: Descent) -> float:
    """Add the product of the search direction with identity minus the projectors on lines to its image.

    Returns the inner product of both.
    """
    item = table.item
    unit = table.unit
    search = vectors.search
    image = vectors.image
    total = 0.0
    with cython.nogil:
        for j in range(len(table.kind)):
            if table.kind[j] != LINEAR:
                continue
            start = table.start[j]
            end = table.start[j + 1]
            mean = 0.0
            slope = 0.0
            for r in range(start, end):
                value = search[item[r]]
                mean += value
                slope += unit[r] * value
            mean /= end - start
            if not face.slope_free[j]:
                slope = 0.0
            squares = 0.0  # per reviewer: one sum over all reviews would be a long chain of additions
            for r in range(start, end):
                i = item[r]
                gap = search[i] - mean - slope * unit[r]
                image[i] += gap
                squares += gap * gap
            total += squares
    return total


def start_lines(
    table: Table, face: Face, common: Common, common_free: bool, common_weight: float, fixed: BoolArray,
    gradient: FloatArray, vectors: Descent,
) -> None:  # fmt: skip
    """Begin to solve the Newton system of linear reviewers, preconditioned with its diagonal."""
    # The diagonal: the common line's, and 1 - 1 / k_j of each reviewer, less the squared unit score of a free slope.
    common_diagonal(common, common_free, common_weight, vectors.inverse)
    with cython.nogil:
        for j in range(len(table.kind)):
            if table.kind[j] == LINEAR:
                share = 1.0 - 1.0 / (table.start[j + 1] - table.start[j])
                bent = 1.0 if face.slope_free[j] else 0.0
                for r in range(table.start[j], table.start[j + 1]):
                    vectors.inverse[table.item[r]] += share - bent * table.unit[r] * table.unit[r]
    vectors.rho = start_descent(vectors, fixed, gradient, 0, len(gradient))
    vectors.beta = 0.0


def descend_lines(
    table: Table, face: Face, common: Common, common_free: bool, common_weight: float, vectors: Descent,
    tolerance: float, max_steps: int,
) -> int:  # fmt: skip
    """Go on to solve the system; returns the number of steps, less than ``max_steps`` at the end. A step costs O(E).

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal
    """
    n = len(vectors.search)
    step = 0
    while step < max_steps and vectors.rho > tolerance * tolerance:
        squares, mean, slope = update_search(vectors, common, common_weight, vectors.beta, 0, n)
        curvature, mean, slope = common_image(common, common_free, common_weight, squares, mean, slope)
        curvature += multiply_lines(table, face, vectors)
        if curvature <= 0.0:
            break
        rho = take_step(vectors, common, vectors.rho / curvature, mean, slope, 0, n)
        vectors.beta = rho / vectors.rho
        vectors.rho = rho
        step += 1
    return step


# Larger tables: reviewers read and write slots.


def write_places(item: CodeArray, block: ShortArray, cursor: IntArray, size: int, place: ShortArray) -> None:
    """Write the positions of items in their blocks; ``cursor`` is where each block begins."""
    with cython.nogil:
        for r in range(len(item)):
            b = block[r]
            place[cursor[b]] = item[r] - b * size
            cursor[b] += 1


def gather(part: Part, x: FloatArray, slots: FloatArray) -> None:
    """Copy the items' entries to their slots."""
    place = part.place
    with cython.nogil:
        for b in range(len(part.slot) - 1):
            begin = b * part.size
            for s in range(part.slot[b], part.slot[b + 1]):
                slots[s] = x[begin + place[s]]


def scatter_add(part: Part, slots: FloatArray, out: FloatArray) -> None:
    """Add the slots to the items' entries."""
    place = part.place
    with cython.nogil:
        for b in range(len(part.slot) - 1):
            begin = b * part.size
            for s in range(part.slot[b], part.slot[b + 1]):
                out[begin + place[s]] += slots[s]


def line_residuals(part: Part, slope_free: BoolArray, fit: bool, slots: FloatArray, cursor: IntArray) -> float:
    """Replace the slots by residuals from the lines of their reviewers; returns the squares.

    With ``fit`` the slots hold qualities: slopes are clipped to their bounds, and ``slope_free`` is written; otherwise
    a direction, along which only free slopes change. ``cursor`` is the first slot in each block.
    """
    starts = part.start
    block = part.block
    unit = part.unit
    largest = 0
    for j in range(len(starts) - 1):
        largest = max(largest, starts[j + 1] - starts[j])
    value = np.empty(largest)
    slot = np.empty(largest, np.int64)
    total = 0.0
    with cython.nogil:
        for j in range(len(starts) - 1):
            start = starts[j]
            size = starts[j + 1] - start
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
                clipped = min(max(slope, part.floor[j]), part.ceiling[j])
                slope_free[j] = slope == clipped and part.floor[j] < part.ceiling[j]
                slope = clipped
            elif not slope_free[j]:
                slope = 0.0
            for k in range(size):
                gap = value[k] - mean - slope * unit[start + k]
                slots[slot[k]] = gap
                total += gap * gap
    return total


def line_diagonal(part: Part, slope_free: BoolArray, fit: bool, slots: FloatArray, cursor: IntArray) -> float:
    """Write the diagonal of the reviewers' matrices: 1 - 1 / k_j, minus the squared unit score of free slopes.

    Same arguments and result as :func:`line_residuals`.
    """
    starts = part.start
    total = 0.0
    with cython.nogil:
        for j in range(len(starts) - 1):
            if starts[j] == starts[j + 1]:
                continue
            share = 1.0 - 1.0 / (starts[j + 1] - starts[j])
            bent = 1.0 if slope_free[j] else 0.0
            for r in range(starts[j], starts[j + 1]):
                b = part.block[r]
                s = cursor[b]
                cursor[b] = s + 1
                slots[s] = share - bent * part.unit[r] * part.unit[r]
                total += slots[s]
    return total


# Items with a single review.


def keep_shared(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, degree: IntArray, keep: BoolArray, first: IntArray
) -> None:
    """Write which reviews remain, all true before, and where those of each reviewer begin then."""
    with cython.nogil:
        for j in range(len(start) - 1):
            singles = 0
            low = INFINITY
            high = -INFINITY
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


def extrapolate_singles(
    start: IntArray, item: IntArray | CodeArray, score: FloatArray, keep: BoolArray, lower: FloatArray,
    upper: FloatArray, quality: FloatArray,
) -> None:  # fmt: skip
    """Write the qualities of removed items: on the regression line through those kept, its slope clipped."""
    with cython.nogil:
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
            mean /= count
            mean_rise /= count
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
