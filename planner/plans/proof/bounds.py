"""Lower bounds on the number of extra reviews, each with the words and the figures that prove it.

Every bound holds for the target *double*; degrees of freedom and loads hold for *recoverable* as well, because
*double* implies it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Bound
from planner.plans.model.people import UNLIMITED
from reviewgraph.recoverable import degrees_of_freedom

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from planner.plans.model.constraints import Constraints
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews

#: Items up to which the expansion bound is computed: one eigenvalue of an N x N matrix, by Lanczos.
EXPANSION_UP_TO = 5_000
#: What the computed eigenvalue may be off by, relative to the largest; Lanczos converges to 1e-9 here.
EIGENVALUE_SLACK = 1e-6


def missing_links(reviews: Reviews, constraints: Constraints, spare: IntArray) -> Bound:
    """Degrees of freedom, and what reviewers of fewer than two reviews waste where they are needed.

    A reviewer of d < 2 reviews wastes 2 - d new ones: p new reviews remove at most p - (2 - d) degrees of freedom.
    Where the others' spare loads do not suffice, the cheapest set of such reviewers is added. Takes the time of the
    pebble game.

    Parameters
    ----------
    reviews
        Existing and fixed reviews.
    constraints, spare
        The constraints, and what is left of the loads.
    """
    degrees = degrees_of_freedom(reviews)
    missing = "1 link is missing" if degrees == 1 else f"{degrees} links are missing"
    waste = least_waste(reviews.loads, usable_loads(constraints, spare), degrees)
    if waste is None or waste == 0:
        return Bound(degrees, "degrees of freedom", f"{missing} (degrees of freedom)")
    lost = "1 review" if waste == 1 else f"{waste} reviews"
    words = f"{missing}, and the reviewers who can be asked lose {lost} to be linked at all"
    return Bound(degrees + waste, "loads", words)


def usable_loads(constraints: Constraints, spare: IntArray) -> IntArray:
    """Shape (M,): extra reviews each reviewer can take, limited by the items he may read."""
    barred = np.diff(constraints.barred_start)
    usable: IntArray = np.maximum(np.minimum(spare, constraints.reviews.n_items - barred), 0)
    return usable


def least_waste(loads: IntArray, usable: IntArray, needed: int) -> int | None:
    """Fewest wasted reviews among reviewers whose useful reviews reach ``needed``; None if none suffice.

    >>> least_waste(np.array([3, 0, 1]), np.array([1, 4, 2]), 3)
    2
    """
    short = needed - int(np.minimum(usable[loads >= 2], UNLIMITED).sum())
    if short <= 0:
        return 0
    totals = []
    for d in (1, 0):
        gain = np.sort(np.maximum(usable[loads == d] - (2 - d), 0))[::-1]
        totals.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(gain)]))
    least: int | None = None
    for ones, total in enumerate(totals[0].tolist()):
        zeros = int(np.searchsorted(totals[1], short - total))
        if zeros < totals[1].size and (least is None or ones + 2 * zeros < least):
            least = ones + 2 * zeros
    return least


def expansion(cover_start: IntArray, cover_item: IntArray, n_items: int) -> Bound | None:
    r"""Bound from the expansion of the graph, for the target *double*.

    A doubly connected block whose cover B grew from components c, merged by two shared items each, took at least
    ``|B| - 2 - sum over components inside B of (n_c - 2)`` new reviews. With weights
    ``(n_c - 2) / (n_c (n_c - 1))`` on the pairs of items of each component, that sum is the weight inside B, which
    ``lambda_2 |B| (N - |B|) / N`` bounds, lambda_2 the second smallest eigenvalue of their Laplacian. Some block of
    t items or more is first, joined from two smaller ones; the bound is the best t. A block that grows by a review
    of its own counts as one joined with a block of one item.

    Takes the time of a few hundred products with the Laplacian, and O(N^2).
    """
    sizes = np.diff(cover_start)
    if not spreads(cover_start, cover_item, n_items):
        return None
    weight = np.maximum(sizes - 2, 0) / np.maximum(sizes * (sizes - 1), 1)
    slope = second_eigenvalue(pairs_together(cover_start, cover_item, n_items, weight))
    value = needed_half_way(cover_start, cover_item, n_items, slope)
    words = (
        f"the reviews spread too widely for fewer: any group of papers half-way to all of them needs {value} new "
        f"reviews (expansion, second eigenvalue {slope:.4f})"
    )
    return Bound(value, "expansion", words)


def spreads(cover_start: IntArray, cover_item: IntArray, n_items: int) -> bool:
    """Whether a table is of a size, and its components so few and small, that its expansion may tell something."""
    sizes = np.diff(cover_start)
    if not 8 <= n_items <= EXPANSION_UP_TO or sizes.size < 3 or not (sizes > 2).any():
        return False
    return bool(_least_surplus(cover_start, cover_item, n_items)[n_items // 2 - 1] >= -0.25 * n_items)


def needed_half_way(cover_start: IntArray, cover_item: IntArray, n_items: int, slope: float) -> int:
    """Reviews needed where the components that b items cut weigh at least ``slope * b * (N - b) / N``, for all b."""
    b = np.arange(1, n_items + 1)
    surplus = _least_surplus(cover_start, cover_item, n_items)
    alone = np.maximum(surplus + slope * b * (n_items - b) / n_items - 2.0, 0.0)
    return _first_large_block(alone, int(np.diff(cover_start).max()))


def _least_surplus(cover_start: IntArray, cover_item: IntArray, n_items: int) -> FloatArray:
    """Shape (N,): least of b items less their shares ``(n_c - 2) / n_c`` of the components, for b = 1, ..., N."""
    sizes = np.diff(cover_start)
    share = np.repeat(np.maximum(sizes - 2, 0) / np.maximum(sizes, 1), sizes)
    surplus: FloatArray = np.cumsum(np.sort(1.0 - np.bincount(cover_item, weights=share, minlength=n_items)))
    return surplus


def _first_large_block(alone: FloatArray, largest: int) -> int:
    """Most, over thresholds t, of the least two blocks below t that make one of t or more need together."""
    n_items, best_value = alone.size, 0.0
    for t in np.unique(np.linspace(max(largest + 1, n_items // 4), n_items - 1, 24).astype(int)):
        below = alone[: t - 1]  # blocks of 1..t-1 items
        tail = np.minimum.accumulate(below[::-1])[::-1]  # least need among blocks of at least that many items
        partner = tail[np.maximum(t - np.arange(1, t), 1) - 1]
        best_value = max(best_value, float((below + partner).min()))
    return int(np.ceil(best_value - 1e-9))


def pairs_together(cover_start: IntArray, cover_item: IntArray, n_items: int, weight: FloatArray) -> csr_array:
    """Shape (N, N): for each pair of items, the ``weight`` of the components that cover both."""
    from scipy.sparse import csr_array, diags_array

    member = csr_array((np.ones(cover_item.size), cover_item, cover_start), shape=(weight.size, n_items))
    return (member.T @ (diags_array(weight) @ member)).tocsr()


def second_eigenvalue(together: csr_array) -> float:
    """Second smallest eigenvalue of the Laplacian of weights on pairs of items, rounded down."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    n_items = together.shape[0]
    degree = np.asarray(together.sum(axis=1)).ravel()
    top = 2.0 * float(degree.max())
    flipped = diags_array(top - degree) + together
    constant = np.ones(n_items) / np.sqrt(n_items)
    shifted = flipped - top * _outer(constant) if n_items < 64 else None
    if shifted is not None:
        return float(max(top - np.linalg.eigvalsh(np.asarray(shifted)).max() - EIGENVALUE_SLACK * top, 0.0))
    start = np.random.default_rng(0).standard_normal(n_items)
    values = eigsh(flipped, k=2, which="LA", v0=start, tol=1e-9, return_eigenvectors=False)
    return float(max(top - values.min() - EIGENVALUE_SLACK * top, 0.0))


def _outer(vector: FloatArray) -> FloatArray:
    return np.outer(vector, vector)
