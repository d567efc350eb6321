"""How far reviews get: the papers of the largest group, and how precisely their scores would place them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.components import connected_components, doubly_connected_components
from reviewgraph.precision import error_variances, projections
from reviewgraph.recoverable import recoverability

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews

#: Draws of true qualities, of which the median counts; fewer in large groups, where a draw takes seconds.
DRAWS, FEW_DRAWS, MANY_ITEMS = 5, 1, 300
#: Items of a group up to which an error is computed; for *connected* by a dense inverse.
ERROR_UP_TO, DENSE_UP_TO = 5000, 2000

LEVELS = {
    "double": "comparable for certain",
    "recoverable": "comparable, coincidences aside,",
    "connected": "linked to one another",
}


class Reach(NamedTuple):
    """How far reviews get.

    Parameters
    ----------
    papers
        Papers in the largest group at the level of the target.
    of
        Papers in all.
    error
        Expected standard error of a paper in that group, in units of the noise of one score; None where the group is
        too large for it.
    """

    papers: int
    of: int
    error: float | None


def reach(table: Reviews, target: str, *, use_scores: bool = False) -> Reach:
    """Return how far the reviews of a table get."""
    counted = table.only_scored() if use_scores else table
    group = largest_group(counted, target, use_scores=use_scores)
    return Reach(group.size, table.n_items, expected_error(counted, group, target))


def largest_group(table: Reviews, target: str, *, use_scores: bool = False) -> IntArray:
    """Items of the largest group at a level, ascending; of equals the one whose items come first.

    Takes the time of the level's own algorithm.

    >>> from reviewgraph import Reviews
    >>> table = Reviews.from_pairs([("ann", 1), ("ann", 2), ("ann", 3), ("bob", 3), ("bob", 4)])
    >>> largest_group(table, "double").tolist(), largest_group(table, "connected").tolist()
    ([0, 1, 2], [0, 1, 2, 3])
    """
    if target == "recoverable":
        covers = list(recoverability(table).block_covers) or [table.item[:1]]
    else:
        groups = (
            connected_components(table)
            if target == "connected"
            else doubly_connected_components(table, use_scores=use_scores)
        )
        covers = [groups.covers[c] for c in np.flatnonzero(groups.cover_sizes == groups.largest_cover).tolist()]
    most = max((cover.size for cover in covers), default=0)
    first: list[int] = min((cover.tolist() for cover in covers if cover.size == most), default=[])
    return np.array(first, np.int64)


def qualities(n_items: int, target: str, size: int) -> FloatArray:
    """Shape (D, N): true qualities drawn for errors; all zero where slopes do not count, as for *connected*."""
    if target == "connected":
        return np.zeros((1, n_items))
    draws: FloatArray = np.random.default_rng(0).standard_normal((DRAWS, n_items))
    return draws if size <= MANY_ITEMS else draws[:FEW_DRAWS]


def inside(table: Reviews, items: IntArray, least: int) -> tuple[IntArray, IntArray]:
    """Reviews of some items by reviewers of ``least`` of them or more: reviewers and items numbered anew."""
    place = np.full(table.n_items, -1, np.int64)
    place[items] = np.arange(items.size)
    keep = place[table.item] >= 0
    load = np.bincount(table.reviewer[keep], minlength=table.n_reviewers)
    keep &= load[table.reviewer] >= least
    return np.unique(table.reviewer[keep], return_inverse=True)[1].astype(np.int64), place[table.item[keep]]


def information(owner: IntArray, item: IntArray, quality: FloatArray) -> FloatArray:
    """Shape (N, N): sum over reviewers of I - P_j, see :func:`reviewgraph.precision.projections`."""
    matrix, count = projections(owner, item, quality[item], quality.size)
    dense: FloatArray = np.diag(count) - (matrix @ matrix.T).toarray()
    return dense


def expected_error(table: Reviews, items: IntArray, target: str) -> float | None:
    """Return the expected standard error of the quality of an item of a group, for noise of one in each score.

    The root mean square over the items, relative to the shift of all of them and (but for the target ``connected``)
    to the scale; the median over draws of qualities (one draw for more than 300 items). Reviews outside the group are
    left out. None where there are no items, or more than 5,000 (2,000 for ``connected``).

    Takes O(N^3) for N items up to 2,000, and the time of conjugate gradients beyond.

    >>> from reviewgraph import Reviews
    >>> thrice = Reviews.from_pairs([(j, i) for j in range(3) for i in range(4)])
    >>> twice = Reviews.from_pairs([(j, i) for j in range(2) for i in range(4)])
    >>> [round(expected_error(table, np.arange(4), "connected"), 3) for table in (twice, thrice)]
    [0.612, 0.5]
    """
    if not 0 < items.size <= (DENSE_UP_TO if target == "connected" else ERROR_UP_TO):
        return None
    if items.size <= (1 if target == "connected" else 2):
        return 0.0
    owner, item = inside(table, items, 1 if target == "connected" else 2)
    found = []
    for quality in qualities(table.n_items, target, items.size)[:, items]:
        if target == "connected":
            whole = information(owner, item, quality) + 1.0 / items.size
            variances = np.diag(np.linalg.inv(whole)) - 1.0 / items.size
        else:
            variances = error_variances(owner, item, quality)
        found.append(float(np.sqrt(np.mean(variances))))
    return float(np.median(np.where(np.isnan(found), np.inf, found)))
