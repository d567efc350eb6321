"""Error of the recovered qualities from noise in the scores: the conditioning of the graph.

The matrices of a table are ``diag(weight) - A A^T``, where A has a few columns per reviewer, non-zero at their items:
here are the diagonals of their inverses, and systems of equations. A small A is a dense array, which needs no SciPy.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from reviewgraph._base.arrays import TIE

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray

    Matrix: TypeAlias = FloatArray | sp.csr_array
else:
    Matrix = object

#: Maximum entries of a dense A.
DENSE_UP_TO = 300_000
#: Maximum items of a matrix that is inverted: 2,000 take half a second; beyond, the diagonal is estimated.
EXACT_UP_TO = 2000
#: Random probes beyond: the relative error of a variance is near 1 / sqrt(probes), that of a standard error half of it.
PROBES = 96
#: Relative residual of the conjugate gradients, well below the error of the probes.
TOLERANCE = 1e-4
#: Maximum steps of the conjugate gradients: well-conditioned matrices take tens, chains hundreds.
MOST_STEPS = 1000


def by_reviewer(
    values: FloatArray, reviewer: IntArray, item: IntArray, n_items: int, dense_up_to: int = DENSE_UP_TO
) -> Matrix:
    """Return A, shape (N, C M), of values (C, E) of the reviews: C columns per reviewer; dense up to a size.

    >>> by_reviewer(np.array([[1.0, 2.0]]), np.array([0, 1]), np.array([1, 0]), 3).tolist()
    [[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]
    """
    kinds = len(values)
    n_reviewers = int(reviewer.max(initial=-1)) + 1
    column = (reviewer + n_reviewers * np.arange(kinds)[:, np.newaxis]).ravel()
    places = (np.tile(item, kinds), column)
    shape = (n_items, kinds * n_reviewers)
    if shape[0] * shape[1] > dense_up_to:
        import scipy.sparse as sp

        return sp.csr_array((values.ravel(), places), shape=shape)
    dense = np.zeros(shape)
    dense[places] = values.ravel()
    return dense


def exact_diagonal(matrix: Matrix, weight: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Diagonal of ``(diag(weight) - A A^T + B B^T)^-1``; NaN throughout where it is not positive definite.

    A (N, K), weight (N,), B (N, L) or None.

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
    # The factor exists if the matrix is positive definite, and M^-1 = L^-T L^-1.
    diagonal = np.full(weight.size, np.nan)
    if dense:
        with suppress(np.linalg.LinAlgError):
            diagonal = (np.linalg.inv(np.linalg.cholesky(whole)) ** 2).sum(axis=0)
    else:  # SciPy is loaded already, and takes a third of the time
        from scipy.linalg.lapack import dpotrf, dpotri

        factor, failed = dpotrf(whole, lower=True)
        diagonal = diagonal if failed else np.diag(dpotri(factor, lower=True)[0])
    return diagonal if bool(np.isfinite(diagonal).all()) else np.full(weight.size, np.nan)


def solve(matrix: Matrix, weight: FloatArray, target: FloatArray) -> FloatArray:
    """Solve ``(diag(weight) - A A^T) x = target`` by conjugate gradients, all columns at once.

    A (N, K), weight (N,), which is also the preconditioner, target (N, P) with columns in the range of the matrix. A
    step takes time linear in the entries of A, times P; ``target^T x`` grows with every step.
    """
    transposed = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
    weight = weight[:, np.newaxis]
    nothing = np.zeros(target.shape[1])
    solution = np.zeros_like(target)
    residual = target.copy()
    direction = residual / weight
    square = np.einsum("ij,ij->j", residual, direction)
    goal = TOLERANCE**2 * square
    for _ in range(MOST_STEPS):
        # A column that has converged takes steps of zero.
        image = weight * direction - matrix @ (transposed @ direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(square, curvature, out=nothing.copy(), where=(curvature > 0) & (square > goal))
        solution += step * direction
        residual -= step * image
        before = square
        square = np.einsum("ij,ij->j", residual, residual / weight)
        if (square <= goal).all() or not step.any():
            break
        direction = residual / weight + np.divide(square, before, out=nothing.copy(), where=before > 0) * direction
    return solution


def error_variances(
    reviewer: IntArray,
    item: IntArray,
    quality: FloatArray | None,
    rng: np.random.Generator | None = None,
    sloped: BoolArray | None = None,
    exact_up_to: int = EXACT_UP_TO,
    probes: int = PROBES,
) -> FloatArray:
    """Variance of each recovered quality for noise of variance one, scoring functions being linear and unknown.

    ::

        diagonal of L^+,   L = sum_j (I - P_j) over the items of each reviewer,  P_j the projection on span(1, quality)

    To first order in the noise, and relative to the shift and the scale of all qualities, which no scores reveal.

    Codes (E,) without gaps, of a recoverable table (else some variances are infinite), linearised at ``quality`` (N,).
    Without ``quality`` reviewers differ in severity only: P_j projects on span(1), variances are exact and relative to
    the shift alone, and a connected graph suffices. ``sloped`` (M,) marks the reviewers of unknown slope (default all);
    for the others P_j projects on span(1), and as they fix the scale, variances are relative to the shift alone.

    Returns shape (N,); NaN throughout where the matrix has further null vectors, as for qualities that line up by
    coincidence. By default exact up to 2,000 items in O(N^3); beyond, 96 probes (seed 0 unless ``rng`` is passed)
    estimate each variance to about 10 %, in O(E) per step of conjugate gradients.

    >>> reviewer, item = np.repeat([0, 1, 2, 3], 3), np.tile([0, 1, 2], 4)
    >>> error_variances(reviewer, item, np.array([0.0, 1.0, 3.0])).round(3).tolist()
    [0.071, 0.161, 0.018]
    """
    size = int(item.max(initial=-1)) + 1 if quality is None else quality.size
    level = np.ones((size, 1))
    if quality is None:
        value = np.zeros(item.size)
        basis = level / np.sqrt(size)
    elif sloped is not None and not sloped.all():
        value = np.where(sloped[reviewer], quality[item], 0.0)
        basis = level / np.sqrt(size)
    else:
        value = quality[item]
        (basis, _) = np.linalg.qr(np.column_stack([level, quality - quality.mean()]))
    matrix = by_reviewer(_directions(reviewer, value), reviewer, item, size)
    count = _counted(item, size)
    if size <= exact_up_to:
        # The inverse of L + B B^T is L^+ + B B^T.
        variances = exact_diagonal(matrix, count, basis) - (basis**2).sum(axis=1)
        # An eigenvalue that is tied with 0 is 0.
        if (variances * count > 1.0 / TIE).any():
            variances[:] = np.nan
    else:
        variances = _estimate(matrix, count, basis, rng or np.random.default_rng(0), probes)
    # Rounding and probes may leave small negative variances.
    return np.asarray(np.maximum(variances, 0.0))


def projections(reviewer: IntArray, item: IntArray, value: FloatArray, n_items: int) -> tuple[sp.csr_array, FloatArray]:
    """Return A (N, 2 M) and count (N,) with ``diag(count) - A A^T`` the sum over reviewers of I - P_j.

    ``P_j`` projects on the span of one and of ``value`` (E,) over the reviews of j, of one alone where it is constant.

    >>> A, count = projections(np.array([0, 0]), np.array([0, 1]), np.array([1.0, 2.0]), 2)
    >>> (np.diag(count) - (A @ A.T).toarray()).round(12).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    matrix = by_reviewer(_directions(reviewer, value), reviewer, item, n_items, dense_up_to=-1)
    return cast("sp.csr_array", matrix), _counted(item, n_items)


def _directions(reviewer: IntArray, value: FloatArray) -> FloatArray:
    """Return two orthonormal vectors over the reviews of each reviewer that span one and the values, shape (2, E)."""
    loads = np.maximum(np.bincount(reviewer), 1)
    centred = value - (np.bincount(reviewer, value) / loads)[reviewer]
    norm = np.sqrt(np.bincount(reviewer, centred**2))
    varied = norm > TIE * np.abs(value).max(initial=0.0)
    tilt = np.divide(centred, norm[reviewer], out=np.zeros(value.size), where=varied[reviewer])
    return np.stack([1.0 / np.sqrt(loads[reviewer]), tilt])


def _counted(item: IntArray, n_items: int) -> FloatArray:
    return np.bincount(item, minlength=n_items).astype(np.float64)


def _estimate(
    matrix: Matrix, count: FloatArray, basis: FloatArray, rng: np.random.Generator, probes: int
) -> FloatArray:
    """Average ``probe * (L^+ probe)`` over random signs, by conjugate gradients on all probes at once."""
    # Hutchinson: the mean of z * (M z) over random signs z is the diagonal of M.
    probe = rng.choice([-1.0, 1.0], (count.size, probes))
    image = solve(matrix, count, probe - basis @ (basis.T @ probe))
    # Rounding adds components of the null space.
    image -= basis @ (basis.T @ image)
    return np.asarray(np.mean(probe * image, axis=1))
