"""The best n of items whose qualities are known with a standard error each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lsc.decisions.selection import Selection
from lsc.errors import Incomparable
from lsc.estimate import best_first, expect_number
from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.chances import probability_in_top
from reviewgraph.errors import InputError
from reviewgraph.labels import Label
from reviewgraph.levels import LARGEST_SHARE


def chances(quality: FloatArray, order_error: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best ``n``, shape (N,); they sum to n.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a quality.
    """
    expect_number(n, quality)
    return probability_in_top(quality, order_error, n)


def comparable(quality: FloatArray, group: IntArray, n: int, *, across_groups: bool) -> BoolArray:
    """Return the items among which ``n`` are selected, shape (N,): all with a quality, or those of the largest group.

    Parameters
    ----------
    quality, group
        Shape (N,): NaN without a score; connected components, from 1 for the largest.
    n
        How many are to be selected.
    across_groups
        Take all groups, though no review connects them.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a quality.
    Incomparable
        If there are several groups, ``across_groups`` is not set, and the largest holds less than
        90 % of the items with a quality, or fewer than ``n``.

    Examples
    --------
    >>> quality, group = np.arange(20.0), np.array([1] * 19 + [2])
    >>> np.flatnonzero(~comparable(quality, group, 5, across_groups=False)).tolist()
    [19]
    """
    expect_number(n, quality)
    scored = np.isfinite(quality)
    groups, size = np.unique(group[scored], return_counts=True)
    if groups.size < 2 or across_groups:
        return scored
    largest, total = int(size.max()), int(size.sum())
    most = largest >= LARGEST_SHARE * total
    if most and largest >= n:
        inside: BoolArray = scored & (group == groups[int(size.argmax())])
        return inside
    short = f"{n:,} are to be selected" if most else f"less than {100 * LARGEST_SHARE:.0f} %"
    message = (
        f"select: no review connects the {groups.size:,} groups of papers, so nothing says how they compare, and the "
        f"largest holds {largest:,} of {total:,} papers with a score ({short}); add the reviews of reviewgraph plan, "
        "select within a group, or say --by-group-average (in Python across_groups=True, of least squares "
        "by_group_average=True) to compare groups all the same"
    )
    raise Incomparable(message)


def select(
    labels: Sequence[Label],
    quality: FloatArray,
    order_error: FloatArray,
    average: FloatArray,
    group: IntArray,
    n: int,
    *,
    error_rate: float,
    across_groups: bool,
) -> Selection:
    """Sort items into in, to be discussed and out; see :meth:`lsc.PosteriorEstimate.selection`.

    Parameters
    ----------
    labels
        Of the items.
    quality, order_error, average, group
        Shape (N,): NaN without a score; the standard errors are those that matter to the order.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a score, or ``error_rate`` is not between 0 and
        one half.
    Incomparable
        As :func:`comparable` raises it.
    """
    if not 0.0 < error_rate < 0.5:
        message = f"error_rate: expected a probability between 0 and 0.5, found {error_rate}"
        raise InputError(message)
    scored = np.isfinite(quality)
    inside = comparable(quality, group, n, across_groups=across_groups)
    quality, average = np.where(inside, quality, np.nan), np.where(inside, average, np.nan)
    ranked, aside = best_first(quality), np.flatnonzero(scored & ~inside)
    chance = chances(quality, order_error, n)
    main = group[ranked].min(initial=group.max(initial=1))
    return Selection(labels, n, error_rate, ranked[:n], best_first(average)[:n], chance, ranked, group == main, aside)
