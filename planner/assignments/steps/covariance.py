"""The expected posterior covariance of the qualities under an assignment, averaged information in, before any score."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.precision.averaged import mean_information

if TYPE_CHECKING:
    import scipy.sparse as sp

    from planner.assignments.model.state import Network
    from reviewgraph.assumptions import Assumptions
    from reviewgraph.reviews import BoolArray, FloatArray


class Covariance(NamedTuple):
    """``C = (I + sum_j F_j)^-1`` over all papers.

    Parameters
    ----------
    matrix
        C, shape (N, N).
    holds
        Which reviewer holds which paper, shape (N, M), sparse.
    within, share
        ``F_j = within I - share 1 1^T`` on the papers of reviewer j, shape (M,).
    counts
        Whose errors are summed, shape (N,).
    """

    matrix: FloatArray
    holds: sp.csr_array
    within: FloatArray
    share: FloatArray
    counts: BoolArray

    @property
    def variances(self) -> FloatArray:
        """Error variances of the papers that count."""
        counted: FloatArray = np.diag(self.matrix)[self.counts]
        return counted

    @property
    def total(self) -> float:
        """Their sum."""
        return float(self.variances.sum())

    def square(self) -> FloatArray:
        """Return ``C diag(counts) C``, shape (N, N)."""
        from scipy.linalg.blas import dsyrk

        return _whole(dsyrk(1.0, self.matrix[:, self.counts], lower=True))


def covariance(net: Network, counts: BoolArray, assumptions: Assumptions) -> Covariance:
    """Invert the precision of an assignment; ``counts`` says whose errors are summed, shape (N,). Takes O(N^3)."""
    from scipy.linalg.lapack import dpotrf, dpotri
    from scipy.sparse import csr_array

    pairs = np.flatnonzero(net.assigned)
    item, reviewer = net.item[pairs], net.reviewer[pairs]
    within, common = mean_information(net.n_held, assumptions)
    share = (within - common) / np.maximum(net.n_held, 1)
    holds = csr_array((np.ones(pairs.size), (item, reviewer)), shape=(counts.size, share.size))
    # Precision: the prior's I, a diagonal by item, and a rank one for each reviewer.
    precision = np.diag(1.0 + np.bincount(item, within[reviewer], counts.size))
    precision -= ((holds * share) @ holds.T).toarray()
    factor, _ = dpotrf(precision, lower=True)
    lower, _ = dpotri(factor, lower=True)
    return Covariance(_whole(lower), holds, within, share, counts)


def _whole(lower: FloatArray) -> FloatArray:
    """Return the symmetric matrix of which the lower triangle is given."""
    below = np.tril(lower)
    return np.asarray(below + np.tril(below, -1).T)
