"""Matrices ``diag(weight) - A A^T`` of a table: the diagonals of their inverses, and systems of equations.

A has a few columns a reviewer, which are not zero at her items. Small ones are dense arrays, which need no SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph.arrays import FloatArray, IntArray

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

    Parameters
    ----------
    matrix
        A, shape (N, K).
    weight
        Shape (N,).
    basis
        B, shape (N, L); none by default.

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
    """Solve ``(diag(weight) - A A^T) x = target`` by conjugate gradients, all columns at once.

    Parameters
    ----------
    matrix
        A, shape (N, K).
    weight
        Shape (N,); also the preconditioner.
    target
        Shape (N, P), each column in the range of the matrix.
    most_steps
        1,000 by default; each takes time linear in the entries of A, times P. ``target^T x`` grows with every step.
    """
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
