"""The expansion bound once more: not the eigenvalue is computed, but that it is as large as the claim needs is proved.

A claim of v reviews needs some slope s; the smallest s that gives v is found by halving, and a Cholesky factorisation
of the Laplacian less s times the identity (the constant vector lifted out of the way) shows that no eigenvalue is
below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.components import doubly_connected_components

if TYPE_CHECKING:
    from reviewgraph.reviews import FloatArray, Reviews

#: Halvings of the slope, of which a claim is off by 2^-40 of the largest.
HALVINGS = 40
#: The factorisation may not tell an eigenvalue from one this much smaller, relative to the largest weight of an item.
SLACK = 1e-8


def holds(reviews: Reviews, claimed: int) -> bool:
    """Whether the expansion of a table proves that a plan for *double* takes ``claimed`` reviews.

    Takes O(N^3) for the factorisation and O(N^2) for each halving.
    """
    laplacian, largest = _laplacian(reviews)
    slope = least_slope(np.diag(laplacian), largest, claimed)
    return slope is not None and (slope == 0.0 or rises(laplacian, slope))


def least_slope(weight: FloatArray, largest: int, claimed: int) -> float | None:
    """Return a slope, rounded up, that a claim needs; 0 if it needs none, None if none suffices.

    ``weight`` holds what each item has of the components, ``largest`` is the largest of them.
    """
    if claimed <= 0:
        return 0.0
    low, high = 0.0, float(2 * weight.max(initial=0.0))
    if _needed(weight, high, largest) < claimed:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _needed(weight, middle, largest) >= claimed else (middle, high)
    return high


def rises(laplacian: FloatArray, slope: float) -> bool:
    """Whether no eigenvalue of a Laplacian but that of the constant vector is below a slope."""
    n_items, top = len(laplacian), float(2 * np.diag(laplacian).max(initial=0.0))
    lifted = laplacian + (top + slope + 1.0) / n_items - (slope + SLACK * top) * np.eye(n_items)
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _laplacian(reviews: Reviews) -> tuple[FloatArray, int]:
    """Laplacian of the items, each component of n spreading n - 2 evenly over its ordered pairs; and the largest n."""
    found, n_items = doubly_connected_components(reviews), reviews.n_items
    matrix = np.zeros((n_items, n_items))
    for cover in found.covers:
        if cover.size > 2:
            share = (cover.size - 2) / (cover.size * (cover.size - 1))
            matrix[np.ix_(cover, cover)] -= share
            matrix[cover, cover] += share * cover.size
    return matrix, found.largest_cover


def _needed(weight: FloatArray, slope: float, largest: int) -> int:
    """Reviews that two blocks need whose union is the first of t items or more, for the best t."""
    n_items = weight.size
    size = np.arange(1, n_items + 1)
    # A block of b items needs b - 2 less what lies inside: at most its weights less the cut, slope b (N - b) / N.
    need = np.maximum(np.cumsum(np.sort(1.0 - weight)) + slope * size * (n_items - size) / n_items - 2.0, 0.0)
    best = 0.0
    for t in range(largest + 1, n_items + 1):
        below = need[: t - 1]
        # The partner of a block of b items has t - b or more.
        from_size_on = np.minimum.accumulate(below[::-1])[::-1]
        best = max(best, float((below + from_size_on[::-1]).min(initial=np.inf)))
    return int(np.ceil(best - 1e-7)) if np.isfinite(best) else 0
