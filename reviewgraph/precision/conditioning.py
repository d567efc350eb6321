"""How noise in the scores becomes error in the recovered qualities: the conditioning of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.labels import IntArray
from reviewgraph.precision.inverses import EXACT_UP_TO, Matrix, by_reviewer, exact_diagonal, solve, sparse_by_reviewer
from reviewgraph.reviews import BoolArray, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp


class Effort(NamedTuple):
    """How carefully variances are estimated where they cannot be worked out.

    Parameters
    ----------
    exact_up_to
        Items up to which the matrix is inverted: exact, in O(N^3).
    probes
        Beyond; the relative error of a variance is near 1 / sqrt(probes), that of a standard error half of it.
    steps
        Most steps of conjugate gradients: with fewer than it takes, the sum of variances is a lower bound.
    """

    exact_up_to: int
    probes: int
    steps: int


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

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,), from 0 without gaps; together they must be recoverable, else some variances are infinite.
    quality
        The qualities at which it is linearised, shape (N,). None where reviewers differ in severity only: then P_j
        projects on span(1), the variances are exact and relative to the shift alone, and a connected graph suffices.
    rng
        For the probes, where the diagonal is estimated; seed 0 by default.
    sloped
        Shape (M,): whether the slope of a reviewer is unknown (of all by default). Of the others P_j projects on
        span(1); where there are any, they fix the scale, and variances are relative to the shift alone.
    effort
        By default exact up to 2,000 items, and beyond 96 probes, which estimate each variance to about 10 %.

    Returns
    -------
    FloatArray
        Shape (N,); NaN throughout where the matrix has further null vectors, as for qualities that line up by
        coincidence.

    Notes
    -----
    Takes O(N^3) where it is exact, O(E) for each step of conjugate gradients beyond.

    Examples
    --------
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
