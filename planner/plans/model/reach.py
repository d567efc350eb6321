"""How far reviews get: the papers of the largest group, and how precisely their scores would place them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.precision.conditioning import error_variances, projections

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews

#: Draws of true qualities, of which the median counts; fewer in large groups, where a draw takes seconds.
DRAWS, FEW_DRAWS, MANY_ITEMS = 5, 1, 300
#: Items of a group up to which an error is computed, by a dense inverse: it is told after the time limit, in a second.
ERROR_UP_TO = 2000


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


def reach(table: Reviews, target: Target, *, use_scores: bool = False) -> Reach:
    """Return how far the reviews of a table get."""
    counted = table.only_scored() if use_scores else table
    group = target.largest_group(counted, use_scores=use_scores)
    return Reach(group.size, table.n_items, expected_error(counted, group, scales=target.scales))


def qualities(n_items: int, size: int, *, scales: bool) -> FloatArray:
    """Shape (D, N): true qualities drawn for errors; all zero where reviewers differ in severity only."""
    if not scales:
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
    """Shape (N, N): sum over reviewers of I - P_j, see :func:`reviewgraph.precision.conditioning.projections`."""
    matrix, count = projections(owner, item, quality[item], quality.size)
    dense: FloatArray = np.diag(count) - (matrix @ matrix.T).toarray()
    return dense


def expected_error(table: Reviews, items: IntArray, *, scales: bool) -> float | None:
    """Return the expected standard error of the quality of an item of a group, for noise of one in each score.

    The root mean square over the items, relative to the shift of all of them and, with ``scales``, to the scale; the
    median over draws of qualities (one draw for more than 300 items). Reviews outside the group are left out. None
    where there are no items, or more than 2,000.

    Takes O(N^3) for N items.

    >>> from reviewgraph import Reviews
    >>> thrice = Reviews.from_pairs([(j, i) for j in range(3) for i in range(4)])
    >>> twice = Reviews.from_pairs([(j, i) for j in range(2) for i in range(4)])
    >>> [round(expected_error(table, np.arange(4), scales=False), 3) for table in (twice, thrice)]
    [0.612, 0.5]
    """
    least = numbers_a_reviewer(scales=scales)
    if not 0 < items.size <= ERROR_UP_TO:
        return None
    if items.size <= least:
        return 0.0
    owner, item = inside(table, items, least)
    found = []
    for quality in qualities(table.n_items, items.size, scales=scales)[:, items]:
        if scales:
            variances = error_variances(owner, item, quality)
        else:
            whole = information(owner, item, quality) + 1.0 / items.size
            variances = np.diag(np.linalg.inv(whole)) - 1.0 / items.size
        found.append(float(np.sqrt(np.mean(variances))))
    return float(np.median(np.where(np.isnan(found), np.inf, found)))


def numbers_a_reviewer(*, scales: bool) -> int:
    """Numbers by which a reviewer's scores differ from the truth: severity, and the scale where it is free."""
    return 2 if scales else 1
