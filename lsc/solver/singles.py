"""Items that one reviewer alone has scored: left out of the programme of linear reviewers, put back at its solution.

Such an item goes wherever its reviewer's line through her other scores takes it, without noise, so the minimum is that
without it. Left in, it costs what it does not tell: lines through two close scores throw a single item far, and each
is a direction in which the objective is nearly flat, the flattest the flatter the larger the table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lsc.model.programme import Minimiser, Programme
from lsc.solver.tables import ELEMENT, ItemArray
from reviewgraph.kernels.compiling import kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray


def kept(
    start: IntArray, item: IntArray | ItemArray, score: FloatArray, degree: IntArray
) -> tuple[BoolArray, IntArray]:
    """Return which reviews stay, and where those of each reviewer begin then.

    All stay but those of single items whose reviewers have other scores, not all alike.

    Parameters
    ----------
    start, item, score
        Reviews of linear reviewers, those of number j being ``start[j]:start[j + 1]``.
    degree
        Shape (N,): reviews of each item, or any other number for an item that is to stay.

    Examples
    --------
    >>> keep, start = kept(np.array([0, 3]), np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]), np.array([2, 1, 2]))
    >>> keep.tolist(), start.tolist()
    ([True, False, True], [0, 2])
    """
    keep, first = np.ones(item.size, np.bool_), np.zeros(start.size, np.int64)
    _leave_out(start, item, score, degree, keep, first)
    return keep, first


@kernel(element=ELEMENT)
def _leave_out(
    start: IntArray,
    item: IntArray | ItemArray,
    score: FloatArray,
    degree: IntArray,
    keep: BoolArray,
    first: IntArray,
) -> None:
    """Write false for the reviews that are left out, and where those of each reviewer begin without them."""
    for j in range(len(start) - 1):
        singles, low, high = 0, np.inf, -np.inf
        for r in range(start[j], start[j + 1]):
            if degree[item[r]] == 1:
                singles += 1
            else:
                low, high = min(low, score[r]), max(high, score[r])
        first[j + 1] = first[j] + start[j + 1] - start[j]
        if singles > 0 and low < high:
            first[j + 1] -= singles
            for r in range(start[j], start[j + 1]):
                keep[r] = degree[item[r]] != 1


@kernel(element=ELEMENT)
def put_back(
    start: IntArray,
    item: IntArray | ItemArray,
    score: FloatArray,
    keep: BoolArray,
    lower: FloatArray,
    upper: FloatArray,
    quality: FloatArray,
) -> None:
    """Write the qualities of items whose reviews were left out: on the best line through those that were kept.

    ``lower`` and ``upper`` bound the slope of each reviewer.
    """
    for j in range(len(start) - 1):
        first, last, count, mean, height = start[j], start[j + 1], 0, 0.0, 0.0
        for r in range(first, last):
            if keep[r]:
                count += 1
                mean += quality[item[r]]
                height += score[r] - score[first]
        if count == last - first:
            continue
        mean, height = mean / count, height / count
        squares, product = 0.0, 0.0
        for r in range(first, last):
            if keep[r]:
                rise = score[r] - score[first] - height
                squares += rise * rise
                product += rise * quality[item[r]]
        slope = min(max(product / squares, lower[j]), upper[j])
        for r in range(first, last):
            if not keep[r]:
                quality[item[r]] = mean + slope * (score[r] - score[first] - height)


def without_singles(programme: Programme) -> tuple[Programme, BoolArray | None]:
    """Return the programme without the reviews that can be left out, and which stay; None where all do."""
    degree = np.bincount(programme.item, minlength=programme.n_items)
    degree[programme.is_reference] = 0
    keep, start = kept(programme.start, programme.item, programme.score, degree)
    if keep.all():
        return programme, None
    return replace(programme, start=start, item=programme.item[keep], score=programme.score[keep]), keep


def with_singles(programme: Programme, keep: BoolArray, found: Minimiser) -> Minimiser:
    """Return the minimiser of a programme from that without the reviews left out."""
    quality, perceived = found.quality, np.empty(keep.size)
    perceived[keep] = found.perceived
    put_back(programme.start, programme.item, programme.score, keep, programme.lower, programme.upper, quality)
    perceived[~keep] = quality[programme.item[~keep]]
    if not programme.is_reference.any():  # then qualities have the mean 0
        reviewed = np.bincount(programme.item, minlength=programme.n_items) > 0
        shift = float(quality[reviewed].mean())
        perceived -= shift
        quality[reviewed] -= shift
    return found._replace(quality=quality, perceived=perceived)
