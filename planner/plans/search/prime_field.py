"""Linear algebra over a prime field: no rounding, and a random point misses a polynomial's zeros almost surely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray

#: Products of two residues fit into 64 bits.
PRIME = 2_147_483_647


def null_space(matrix: IntArray) -> IntArray:
    """Return a basis of the solutions of ``matrix @ v = 0`` over the prime field, as columns.

    >>> null_space(np.array([[1, 2, 3]])).T.tolist() == [[PRIME - 2, 1, 0], [PRIME - 3, 0, 1]]
    True
    """
    reduced = matrix.copy()
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        rank = len(pivots)
        rows = np.flatnonzero(reduced[rank:, column])
        if rows.size:
            swap = np.array([rank, rank + int(rows[0])])
            reduced[swap] = reduced[swap[::-1]]
            clear(reduced, rank, column)
            pivots.append(column)
    free = np.setdiff1d(np.arange(matrix.shape[1]), pivots)
    basis = np.zeros((matrix.shape[1], free.size), np.int64)
    basis[free, np.arange(free.size)] = 1
    basis[np.array(pivots, np.int64)] = (PRIME - reduced[: len(pivots)][:, free]) % PRIME
    return basis


def clear(matrix: IntArray, row: int, column: int) -> None:
    """Pivot: make a column a unit vector, in place."""
    matrix[row] = matrix[row] * pow(int(matrix[row, column]), -1, PRIME) % PRIME
    others = np.flatnonzero(matrix[:, column])
    others = others[others != row]
    matrix[others] = (matrix[others] - matrix[others, column][:, np.newaxis] * matrix[row] % PRIME) % PRIME
