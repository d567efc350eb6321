"""How noise in the scores becomes error in the recovered qualities: the conditioning of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import scipy.sparse as sp


# Matrices ``diag(weight) - A A^T`` of a table: the diagonals of their inverses, and systems of equations.
#
# A has a few columns a reviewer, which are not zero at her items. Small ones are dense arrays, which need no SciPy.

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph._base.arrays import FloatArray, IntArray

    Matrix: TypeAlias = FloatArray | sp.csr_array
else:
    Matrix = object

#: Entries up to which A is a dense array.
DENSE_UP_TO = 300_000
#: Items up to which a matrix is inverted: 2,000 take half a second; beyond, the diagonal is estimated.
EXACT_UP_TO = 2000
#: Relative residual of the conjugate gradients, well below the error of the probes.
TOLERANCE = 1e-4
#: Steps of the conjugate gradients: well-conditioned matrices take tens, chains hundreds.
MOST_STEPS = 1000


def by_reviewer(values: FloatArray, reviewer: IntArray, item: IntArray, n_items: int) -> Matrix:
    """Return A, shape (N, C M): values (C, E) of the reviews, in C columns a reviewer.

    >>> by_reviewer(np.array([[1.0, 2.0]]), np.array([0, 1]), np.array([1, 0]), 3).tolist()
    [[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]
    """
    (row, column), shape = _places(len(values), reviewer, item, n_items)
    if shape[0] * shape[1] > DENSE_UP_TO:
        return sparse_by_reviewer(values, reviewer, item, n_items)
    dense = np.zeros(shape)
    dense[row, column] = values.ravel()
    return dense


def sparse_by_reviewer(values: FloatArray, reviewer: IntArray, item: IntArray, n_items: int) -> sp.csr_array:
    """Return the same as a sparse array, whatever its size."""
    import scipy.sparse as sp

    places, shape = _places(len(values), reviewer, item, n_items)
    return sp.csr_array((values.ravel(), places), shape=shape)


def _places(
    kinds: int, reviewer: IntArray, item: IntArray, n_items: int
) -> tuple[tuple[IntArray, IntArray], tuple[int, int]]:
    n_reviewers = int(reviewer.max(initial=-1)) + 1
    column = (reviewer + n_reviewers * np.arange(kinds)[:, np.newaxis]).ravel()
    return (np.tile(item, kinds), column), (n_items, kinds * n_reviewers)


def exact_diagonal(matrix: Matrix, weight: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Diagonal of ``(diag(weight) - A A^T + B B^T)^-1``; NaN throughout where it is not positive definite.

    >>> exact_diagonal(np.array([[1.0], [0.0]]), np.array([2.0, 2.0])).round(3).tolist()
    [1.0, 0.5]
    >>> exact_diagonal(np.array([[1.0], [1.0]]), np.array([1.0, 1.0])).tolist()
    [nan, nan]
    """
    dense = isinstance(matrix, np.ndarray)
    gram = matrix @ matrix.T
    whole = np.diag(weight) - (gram if dense else cast("sp.csr_array", gram).toarray())
    if basis is not None:
        whole += basis @ basis.T
    diagonal = (_inverted if dense else _inverted_by_lapack)(whole)
    return diagonal if bool(np.isfinite(diagonal).all()) else np.full(weight.size, np.nan)


def _inverted(whole: FloatArray) -> FloatArray:
    try:
        # The factor tells whether it is positive definite, and M^-1 = L^-T L^-1.
        root = np.linalg.inv(np.linalg.cholesky(whole))
    except np.linalg.LinAlgError:
        return np.full(len(whole), np.nan)
    return np.asarray((root**2).sum(axis=0))


def _inverted_by_lapack(whole: FloatArray) -> FloatArray:
    """Return the same in a third of the time."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(whole, lower=True)
    inverse, _ = dpotri(factor, lower=True)
    return np.full(len(whole), np.nan) if failed else np.diag(inverse)


def solve(matrix: Matrix, weight: FloatArray, target: FloatArray, most_steps: int = MOST_STEPS) -> FloatArray:
    """Solve ``(diag(weight) - A A^T) x = target`` by conjugate gradients, all columns at once."""
    transposed = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
    weight = weight[:, np.newaxis]
    nothing = np.zeros(target.shape[1])
    found, residual = np.zeros_like(target), target.copy()
    direction = residual / weight
    square = np.einsum("ij,ij->j", residual, direction)
    goal = TOLERANCE**2 * square
    for _ in range(most_steps):
        # A column that has reached its goal takes steps of zero.
        image = weight * direction - matrix @ (transposed @ direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(square, curvature, out=nothing.copy(), where=(curvature > 0) & (square > goal))
        found += step * direction
        residual -= step * image
        before, square = square, np.einsum("ij,ij->j", residual, residual / weight)
        if (square <= goal).all() or not step.any():
            break
        direction = residual / weight + np.divide(square, before, out=nothing.copy(), where=before > 0) * direction
    return found


class Effort(NamedTuple):
    """How carefully variances are estimated where they cannot be worked out."""

    exact_up_to: int  # Items up to which the matrix is inverted: exact, in O(N^3)
    # Beyond; the relative error of a variance is near 1 / sqrt(probes), that of a standard error half of it
    probes: int
    steps: int  # Most steps of conjugate gradients: with fewer than it takes, the sum of variances is a lower bound


THOROUGH = Effort(EXACT_UP_TO, 96, 1000)


def error_variances(
    reviewer: IntArray,
    item: IntArray,
    quality: FloatArray | None,
    rng: np.random.Generator | None = None,
    sloped: BoolArray | None = None,
    effort: Effort = THOROUGH,
) -> FloatArray:
    """Variance of each recovered quality for noise of variance one, scoring functions being linear and unknown.

    ::

        diagonal of L^+,   L = sum_j (I - P_j) over the items of each reviewer,  P_j the projection on span(1, quality)

    To first order in the noise, and relative to the shift and the scale of all qualities, which no scores reveal.

    Takes O(N^3) where it is exact, O(E) for each step of conjugate gradients beyond.

    >>> reviewer, item = np.repeat([0, 1, 2, 3], 3), np.tile([0, 1, 2], 4)
    >>> error_variances(reviewer, item, np.array([0.0, 1.0, 3.0])).round(3).tolist()
    [0.071, 0.161, 0.018]
    """
    size = int(item.max(initial=-1)) + 1 if quality is None else quality.size
    level = np.ones((size, 1))
    if quality is None:
        value, basis = np.zeros(item.size), level / np.sqrt(size)
    elif sloped is not None and not sloped.all():
        value, basis = np.where(sloped[reviewer], quality[item], 0.0), level / np.sqrt(size)
    else:
        value, (basis, _) = quality[item], np.linalg.qr(np.column_stack([level, quality - quality.mean()]))
    matrix, count = by_reviewer(_directions(reviewer, value), reviewer, item, size), _counted(item, size)
    if size <= effort.exact_up_to:
        # The inverse of L + B B^T is L^+ + B B^T.
        variances = exact_diagonal(matrix, count, basis) - (basis**2).sum(axis=1)
    else:
        variances = _estimate(matrix, count, basis, rng or np.random.default_rng(0), effort)
    # A variance is never negative, whatever rounding and probes say.
    return np.asarray(np.maximum(variances, 0.0))


def projections(reviewer: IntArray, item: IntArray, value: FloatArray, n_items: int) -> tuple[sp.csr_array, FloatArray]:
    """Return A (N, 2 M) and count (N,) with ``diag(count) - A A^T`` the sum over reviewers of I - P_j.

    ``P_j`` projects on the span of one and of ``value`` (E,) over the reviews of j, of one alone where it is constant.

    >>> A, count = projections(np.array([0, 0]), np.array([0, 1]), np.array([1.0, 2.0]), 2)
    >>> (np.diag(count) - (A @ A.T).toarray()).round(12).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return sparse_by_reviewer(_directions(reviewer, value), reviewer, item, n_items), _counted(item, n_items)


def _directions(reviewer: IntArray, value: FloatArray) -> FloatArray:
    """Return two orthonormal vectors over the reviews of each reviewer that span one and the values, shape (2, E)."""
    loads = np.maximum(np.bincount(reviewer), 1)
    centred = value - (np.bincount(reviewer, value) / loads)[reviewer]
    norm = np.sqrt(np.bincount(reviewer, centred**2))
    tilt = np.divide(centred, norm[reviewer], out=np.zeros(value.size), where=norm[reviewer] > 0)
    return np.stack([1.0 / np.sqrt(loads[reviewer]), tilt])


def _counted(item: IntArray, n_items: int) -> FloatArray:
    return np.bincount(item, minlength=n_items).astype(np.float64)


def _estimate(
    matrix: Matrix, count: FloatArray, basis: FloatArray, rng: np.random.Generator, effort: Effort
) -> FloatArray:
    """Average ``probe * (L^+ probe)`` over random signs, by conjugate gradients on all probes at once."""
    # Hutchinson: the mean of z * (M z) over random signs z is the diagonal of M.
    probe = rng.choice([-1.0, 1.0], (count.size, effort.probes))
    found = solve(matrix, count, probe - basis @ (basis.T @ probe), effort.steps)
    # What rounding has added of the null space is taken out again.
    found -= basis @ (basis.T @ found)
    return np.asarray(np.mean(probe * found, axis=1))
