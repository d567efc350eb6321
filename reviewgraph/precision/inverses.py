"""Diagonals of inverses of sparse matrices ``diag(d) - A A^T``: exact by Cholesky's factors, or from random probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph.arrays import FloatArray

#: Items up to which a matrix is inverted: 2,000 take half a second; beyond, the diagonal is estimated.
EXACT_UP_TO = 2000
#: Relative residual of the conjugate gradients, well below the error of the probes.
TOLERANCE = 1e-4
#: Steps of the conjugate gradients: well-conditioned matrices take tens, chains hundreds.
MOST_STEPS = 1000


def exact_diagonal(matrix: sp.csr_array, weight: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Diagonal of ``(diag(weight) - A A^T + B B^T)^-1``; NaN throughout where it is not positive definite.

    Parameters
    ----------
    matrix
        A, shape (N, K).
    weight
        Shape (N,).
    basis
        B, shape (N, L); none by default.

    >>> import scipy.sparse as sp
    >>> exact_diagonal(sp.csr_array(np.array([[1.0], [1.0]])), np.array([2.0, 2.0])).round(3).tolist()
    [nan, nan]
    >>> exact_diagonal(sp.csr_array(np.array([[1.0], [0.0]])), np.array([2.0, 2.0])).round(3).tolist()
    [1.0, 0.5]
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    whole = np.diag(weight) - (matrix @ matrix.T).toarray()
    if basis is not None:
        whole += basis @ basis.T
    factor, failed = dpotrf(whole, lower=True)
    inverse, _ = dpotri(factor, lower=True)
    diagonal = np.diag(inverse)
    sound = not failed and bool(np.isfinite(diagonal).all())
    return diagonal if sound else np.full(weight.size, np.nan)


def solve(matrix: sp.csr_array, weight: FloatArray, target: FloatArray, most_steps: int = MOST_STEPS) -> FloatArray:
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
    transposed, weight = matrix.T.tocsr(), weight[:, np.newaxis]
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
