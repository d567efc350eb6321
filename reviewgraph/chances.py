"""Probabilities of being among the best, and the cut that parts those from the rest."""

from __future__ import annotations

import math

import numpy as np

from reviewgraph.arrays import FloatArray
from reviewgraph.errors import InputError
from reviewgraph.normal import cdf

#: Steps towards the cut: where all of them halve the interval that holds it, it is exact to the last digit in the end.
STEPS = 240
#: Distance from n, as a part of it, at which the search may end before.
SETTLED = 1e-12
#: Standard errors beyond the extreme items between which the cut is sought.
BEYOND = 40.0
#: Least standard error, relative to the largest mean.
TRIFLE = 1e-12


def probability_in_top(mean: FloatArray, sd: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best n, shape (N,).

    ``Phi((mean_i - t) / sd_i)`` with the cut t at which they sum to n: exact but for the doubt about t. That is small
    beside the doubt about a single item where there are many; of twelve, of which one is known ten times as well as the
    others, its chance may be off by 0.21.

    Parameters
    ----------
    mean, sd
        Shape (N,): posterior means and standard errors; an item whose mean is NaN has probability 0.
    n
        How many will be selected, 0 to N.

    Raises
    ------
    InputError
        If ``n`` is negative or exceeds the number of items.

    Notes
    -----
    Linear in N.

    Examples
    --------
    >>> probability_in_top(np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0]), 1).round(2).tolist()
    [0.66, 0.28, 0.06]
    """
    if not 0 <= n <= mean.size:
        message = f"n: expected 0 to {mean.size} items to select, found {n}"
        raise InputError(message)
    known = np.isfinite(mean)
    found = np.zeros(mean.size)
    centre, spread = mean[known], least_spread(mean, sd)[known]
    found[known] = cdf((centre - cut_of(centre, spread, n)) / spread)
    return found


def cut_of(mean: FloatArray, sd: FloatArray, n: float) -> float:
    """Return the cut t above which n items are expected: where ``Phi((mean_i - t) / sd_i)`` sums to n.

    Parameters
    ----------
    mean, sd
        Shape (N,): posterior means and standard errors, finite, errors above 0.
    n
        How many will be selected, whole or not; the cut is infinite where that is none of them, or all.

    Notes
    -----
    Linear in N.

    Examples
    --------
    >>> round(cut_of(np.array([3.0, 1.0]), np.ones(2), 1), 6)
    2.0
    """
    if n <= 0 or n >= mean.size:
        return np.inf if n <= 0 else -np.inf
    low, high = float((mean - BEYOND * sd).min()), float((mean + BEYOND * sd).max())
    cut, before = 0.5 * (low + high), np.inf
    for _ in range(STEPS):
        above = (mean - cut) / sd
        excess = float(cdf(above).sum()) - n
        if abs(excess) <= SETTLED * n:
            break
        low, high = (cut, high) if excess > 0 else (low, cut)
        # Newton's step where it stays between the bounds and the last step brought the number nearer to n by half;
        # half-way elsewhere, as where errors of 0 make stairs.
        slope = float((np.exp(-0.5 * above * above) / sd).sum()) / math.sqrt(2.0 * math.pi)
        step = cut + excess / slope if slope > 0 else np.inf
        cut = step if low < step < high and abs(excess) < 0.5 * before else 0.5 * (low + high)
        before = abs(excess)
    return cut


def least_spread(mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Return standard errors, those of 0 replaced by a trifle, so that certainty is a limit like any other."""
    return np.maximum(sd, TRIFLE * max(1.0, float(np.abs(mean[np.isfinite(mean)]).max(initial=0.0))))
