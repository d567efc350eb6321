"""The best n of items whose qualities are known with a standard error each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lsc.decisions.selection import Selection
from lsc.estimate import best_first, comparable, expect_number
from reviewgraph.arrays import FloatArray, IntArray
from reviewgraph.chances import probability_in_top
from reviewgraph.errors import InputError
from reviewgraph.labels import Label


def chances(quality: FloatArray, order_error: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best ``n``, shape (N,); they sum to n.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a quality.
    """
    expect_number(n, quality)
    return probability_in_top(quality, order_error, n)


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
        As :func:`lsc.estimate.comparable` raises it.
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
