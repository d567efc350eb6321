"""Data of the solver: reviews in its units, and faces of projections; distances, and the system of linear reviewers."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Programme, Units
from lsc._model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.graph import kernel

#: Item codes: half the memory traffic of 64 bits, and no check for negative indices.
ItemArray: TypeAlias = npt.NDArray[np.uint32]

#: Seconds per array element of the solver's kernels in plain Python: small tables are solved without importing Numba,
#: a thousand papers are compiled after a few calls.
ELEMENT = 10e-6

#: Maximum number of reviews for which a reviewer's matrices over pairs of reviews are stored.
SMALL = 12


class Table(NamedTuple):
    """The reviews in the solver's units: scores centred per reviewer, ascending.

    ``unit``: centred scores divided by ``norm``, their length per reviewer (0 if constant); ``kind``: shape of a
    reviewer, :data:`IDLE` if unconstrained.
    """

    start: IntArray
    item: ItemArray
    score: FloatArray
    unit: FloatArray
    norm: FloatArray
    kind: IntArray
    lower: FloatArray
    upper: FloatArray


class Face(NamedTuple):
    """Face of each reviewer's set that holds the projection, on which it is affine.

    Linear: whether the slope is free, ``slope_free``. Monotone: reviews ``r`` to ``end[r] - 1`` are a block if ``r``
    begins one. Convex and concave: a broken line with bends at the levels ``bent``, each review between the nodes
    ``node`` and ``node + 1`` of its reviewer with weight ``share`` on the second, ``nodes`` per reviewer, normal
    equations factored into ``pivot`` and ``link``; with few reviews, ``block`` is identity minus the projector, the
    entry of reviews a and b at ``begin[j] + a * size + b``, valid if ``known``; ``unchanged``: whose face is the
    previous one. ``changed`` is set whenever a face changes.
    """

    slope_free: BoolArray
    end: IntArray
    bent: IntArray
    node: IntArray
    share: FloatArray
    nodes: IntArray
    pivot: FloatArray
    link: FloatArray
    begin: IntArray
    block: FloatArray
    known: BoolArray
    unchanged: BoolArray
    changed: BoolArray


class Common(NamedTuple):
    """One line in the raw scores for all reviews; the distance from it selects among several minimisers.

    ``degree`` (N,): reviews of an item; ``tilt`` (N,): sums of its centred raw scores; ``spread``: sum of squares of
    all centred scores; ``reviews``: their number; bounds on the slope.
    """

    degree: FloatArray
    tilt: FloatArray
    spread: float
    reviews: float
    lower: float
    upper: float


class Weights(NamedTuple):
    """Weights of the distances from lines in each reviewer's scores, and from the common line."""

    line: float
    common: float


class Gradients(NamedTuple):
    """Half the gradients of the terms of the objective, shapes (N,): of F, of G, of T, and the anchor of T."""

    fit: FloatArray
    line: FloatArray
    tilt: FloatArray
    anchor: FloatArray


class Descent(NamedTuple):
    """Vectors of conjugate gradients, shapes (N,); ``inverse`` is the inverse of the diagonal, the preconditioner."""

    inverse: FloatArray
    residual: FloatArray
    search: FloatArray
    image: FloatArray
    direction: FloatArray


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


def first_face(table: Table) -> Face:
    """Return a face for the projections to write, without blocks and bends."""
    # The face of a linear reviewer is only whether the slope is free.
    straight = bool(np.all((table.kind == LINEAR) | (table.kind == IDLE)))
    reviews = 0 if straight else len(table.item)
    reviewers = len(table.kind)
    begin = pairs_of(table, (table.kind == CONVEX) | (table.kind == CONCAVE))
    return Face(
        slope_free=np.zeros(reviewers, dtype=np.bool_),
        end=np.arange(1, reviews + 1, dtype=np.int64),
        bent=np.zeros(reviews, dtype=np.int64),
        node=np.zeros(reviews, dtype=np.int64),
        share=np.zeros(reviews),
        nodes=np.zeros(reviewers, dtype=np.int64),
        pivot=np.ones(reviews),
        link=np.zeros(reviews),
        begin=begin,
        block=np.zeros(begin[-1]),
        known=np.zeros(reviewers, dtype=np.bool_),
        unchanged=np.zeros(reviewers, dtype=np.bool_),
        changed=np.ones(reviewers, dtype=np.bool_),
    )


def pairs_of(table: Table, wanted: BoolArray) -> IntArray:
    """Return the first pair of reviews of each wanted reviewer with few reviews, shape (M + 1,)."""
    size = np.diff(table.start)
    pairs = np.where((size <= SMALL) & wanted, size * size, 0)
    return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)


# Distances from all sets.


@kernel(element=ELEMENT)
def distances(
    table: Table, face: Face, with_lines: bool, x: FloatArray, perceived: FloatArray, fit_gradient: FloatArray,
    line_gradient: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Project linear reviewers, and sum distances and gradients of all; O(E).

    ::

        F(x) = sum_j dist^2(x[I_j], K_j),    G(x) = sum_j dist^2(x[I_j], lines in the scores of j)

    The other reviewers have been projected to ``perceived`` (E,). Adds half the gradients of F and, ``with_lines``, of
    G (over reviewers who need not be linear) to ``fit_gradient`` and ``line_gradient`` (N,); returns F and G.
    """
    starts, item, _, unit, norms, kinds, lowers, uppers = table
    slope_free = face.slope_free
    changed = face.changed
    fit = 0.0
    line = 0.0
    for j in range(len(kinds)):
        # Unsigned positions need no check for negative ones, a third of the time.
        start = np.uint64(starts[j])
        end = np.uint64(starts[j + 1])
        if kinds[j] == IDLE:
            for r in range(start, end):
                perceived[r] = x[item[r]]
            continue
        # Mean and slope of the regression line: the projection of a linear reviewer, up to the bounds.
        linear = kinds[j] == LINEAR
        mean = 0.0
        slope = 0.0
        if linear or with_lines:
            for r in range(start, end):
                value = x[item[r]]
                mean += value
                slope += unit[r] * value
            mean /= end - start
        # Residuals are the gradient; separate sums per reviewer avoid one long chain of additions.
        squares = 0.0
        line_squares = 0.0
        if linear:
            # Clip the slope; a clipped or fixed slope is not free in the face.
            clipped = 0.0
            if norms[j] > 0.0:
                clipped = min(max(slope, lowers[j] * norms[j]), uppers[j] * norms[j])
            free = norms[j] > 0.0 and clipped == slope and lowers[j] < uppers[j]
            if slope_free[j] != free:
                slope_free[j] = free
                changed[j] = True
            for r in range(start, end):
                i = item[r]
                projected = mean + clipped * unit[r]
                gap = x[i] - projected
                perceived[r] = projected
                fit_gradient[i] += gap
                squares += gap * gap
        else:
            for r in range(start, end):
                i = item[r]
                gap = x[i] - perceived[r]
                fit_gradient[i] += gap
                squares += gap * gap
                if with_lines:
                    gap = x[i] - mean - slope * unit[r]
                    line_gradient[i] += gap
                    line_squares += gap * gap
        fit += squares
        line += line_squares
    return fit, line


# The Newton system of linear reviewers: conjugate gradients by passes over the reviews.


@kernel(element=ELEMENT)
def common_line(common: Common, x: FloatArray, gradient: FloatArray) -> tuple[float, bool]:
    """Squared distance of all qualities from one line in the raw scores, and whether its slope is free; O(N).

    ::

        T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper

    Writes half the gradient.
    """
    total, moment = line_sums(common, x)
    mean, slope, free = line_given(common, total, moment)
    return line_distance(common, x, mean, slope, gradient) + slope * (slope * common.spread - 2.0 * moment), free


@kernel(element=ELEMENT)
def line_sums(common: Common, x: FloatArray) -> tuple[float, float]:
    """Return the sums of qualities over the reviews of some items, and those of their products with scores."""
    total = 0.0
    moment = 0.0
    for i in range(len(x)):
        total += common.degree[i] * x[i]
        moment += common.tilt[i] * x[i]
    return total, moment


@kernel(element=ELEMENT)
def line_given(common: Common, total: float, moment: float) -> tuple[float, float, bool]:
    """Return mean and clipped slope of the regression line, and whether the slope is free, from these sums.

    Scores are centred, so mean and slope are orthogonal.
    """
    slope = moment / common.spread if common.spread > 0.0 else common.lower
    free = common.spread > 0.0 and common.lower < slope < common.upper
    return total / common.reviews, min(max(slope, common.lower), common.upper), free


@kernel(element=ELEMENT)
def line_distance(common: Common, x: FloatArray, mean: float, slope: float, gradient: FloatArray) -> float:
    """Write half the gradient of the distance from a line at some items; returns their squares about the mean."""
    distance = 0.0
    for i in range(len(x)):
        distance += common.degree[i] * (x[i] - mean) * (x[i] - mean)
        gradient[i] = common.degree[i] * (x[i] - mean) - slope * common.tilt[i]
    return distance


@kernel
def common_diagonal(common: Common, common_free: bool, common_weight: float, diagonal: FloatArray) -> None:
    """Write the diagonal of the common line's term: identity minus a projector of rank one or two."""
    for i in range(len(diagonal)):
        diagonal[i] = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
        if common_free:
            diagonal[i] -= common.tilt[i] * common.tilt[i] / common.spread
        diagonal[i] *= common_weight


@kernel
def multiply_lines(table: Table, slope_free: BoolArray, pair: FloatArray) -> float:
    """Add the product of ``pair[:, 0]`` with identity minus the projectors on lines to ``pair[:, 1]``.

    Returns the inner product of both. The vectors are interleaved: the two numbers of an item share a cache line.
    """
    starts, item, _, unit, _, kinds, _, _ = table
    total = 0.0
    for j in range(len(kinds)):
        if kinds[j] != LINEAR:
            continue
        # Unsigned as in distances
        start = np.uint64(starts[j])
        end = np.uint64(starts[j + 1])
        mean = 0.0
        slope = 0.0
        for r in range(start, end):
            value = pair[item[r], 0]
            mean += value
            slope += unit[r] * value
        mean /= end - start
        if not slope_free[j]:
            slope = 0.0
        squares = 0.0  # per reviewer: one sum over all reviews would be a long chain of additions
        for r in range(start, end):
            i = item[r]
            gap = pair[i, 0] - mean - slope * unit[r]
            pair[i, 1] += gap
            squares += gap * gap
        total += squares
    return total


@kernel
def start_descent(vectors: Descent, fixed: BoolArray, gradient: FloatArray, first: int, last: int) -> float:
    """Initialise conjugate gradients at 0 with the diagonal in ``inverse``; returns the squared residual norm.

    The residual is the negative gradient, 0 at fixed items; a zero diagonal counts as 1. Like :func:`update_search` and
    :func:`take_step`, for items ``first`` to ``last - 1``.
    """
    inverse, residual, search, _, direction = vectors
    rho = 0.0
    for i in range(first, last):
        inverse[i] = 0.0 if fixed[i] else (1.0 / inverse[i] if inverse[i] > 0.0 else 1.0)
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i] = 0.0
        search[i] = 0.0
        rho += residual[i] * inverse[i] * residual[i]
    return rho


@kernel
def update_search(
    vectors: Descent, common: Common, common_weight: float, beta: float, first: int, last: int
) -> tuple[float, float, float]:
    """Update the search direction, and write the diagonal part of its image under the common line's term.

    Returns the sums that :func:`common_image` takes.
    """
    inverse, residual, search, image, _ = vectors
    squares = 0.0
    mean = 0.0
    slope = 0.0
    for i in range(first, last):
        value = inverse[i] * residual[i] + beta * search[i]
        part = common.degree[i] * value
        search[i] = value
        image[i] = common_weight * part
        mean += part
        slope += common.tilt[i] * value
        squares += part * value
    return squares, mean, slope


@kernel
def common_image(
    common: Common, common_free: bool, common_weight: float, squares: float, mean: float, slope: float
) -> tuple[float, float, float]:
    """Return the curvature of the common line's term, and the coefficients of degrees and tilts in its image."""
    mean /= common.reviews
    slope_weight = common_weight / common.spread if common_free else 0.0
    curvature = common_weight * (squares - mean * mean * common.reviews) - slope_weight * slope * slope
    return curvature, common_weight * mean, slope_weight * slope


@kernel
def take_step(
    vectors: Descent, common: Common, alpha: float, mean: float, slope: float, first: int, last: int
) -> float:
    """Step to the minimum along the search direction; returns the squared norm of the new residual."""
    inverse, residual, search, image, direction = vectors
    new_rho = 0.0
    for i in range(first, last):
        direction[i] += alpha * search[i]
        new = residual[i] - alpha * (image[i] - mean * common.degree[i] - slope * common.tilt[i])
        residual[i] = new
        new_rho += new * new * inverse[i]
    return new_rho


@kernel(element=ELEMENT)
def lines_direction(
    table: Table, slope_free: BoolArray, common: Common, common_free: bool, common_weight: float, fixed: BoolArray,
    gradient: FloatArray, tolerance: float, max_steps: int, direction: FloatArray, work: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """Solve the Newton system of linear reviewers by conjugate gradients, preconditioned with its diagonal.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E). ``work`` has the shape (4N,).
    """
    starts, item, _, unit, _, kinds, _, _ = table
    n = len(gradient)
    pair = work[: 2 * n].reshape((n, 2))
    inverse = work[2 * n : 3 * n]
    vectors = Descent(inverse, work[3 * n :], pair[:, 0], pair[:, 1], direction)
    # The diagonal: the common line's, and 1 - 1 / k_j of each reviewer, less the squared unit score of a free slope.
    common_diagonal(common, common_free, common_weight, inverse)
    for j in range(len(kinds)):
        if kinds[j] == LINEAR:
            share = 1.0 - 1.0 / (starts[j + 1] - starts[j])
            bent = 1.0 if slope_free[j] else 0.0
            for r in range(starts[j], starts[j + 1]):
                inverse[item[r]] += share - bent * unit[r] * unit[r]
    rho = start_descent(vectors, fixed, gradient, 0, n)
    beta = 0.0
    step = 0
    while step < max_steps and rho > tolerance * tolerance:
        squares, mean, slope = update_search(vectors, common, common_weight, beta, 0, n)
        curvature, mean, slope = common_image(common, common_free, common_weight, squares, mean, slope)
        curvature += multiply_lines(table, slope_free, pair)
        if curvature <= 0.0:
            break
        new_rho = take_step(vectors, common, rho / curvature, mean, slope, 0, n)
        beta = new_rho / rho
        rho = new_rho
        step += 1
    return step, np.sqrt(rho)
