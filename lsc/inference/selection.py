"""Probabilities of being among the best."""

from __future__ import annotations

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.reviews import FloatArray

#: Halvings of the interval that holds the cut: its place is then exact to the last digit.
HALVINGS = 100
#: Standard errors beyond the extreme items between which the cut is sought.
BEYOND = 40.0


def probability_in_top(mean: FloatArray, sd: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best n, shape (N,).

    ``Phi((mean_i - t) / sd_i)`` with the cut t at which they sum to n: exact but for the doubt about t, which is small
    beside that about a single item.

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
    from scipy.special import ndtr

    known = np.isfinite(mean)
    found = np.zeros(mean.size)
    if n == 0 or not known.any():
        return found
    if n >= known.sum():
        found[known] = 1.0
        return found
    centre, spread = mean[known], np.maximum(sd[known], 1e-12 * max(1.0, float(np.abs(mean[known]).max())))
    low, high = float((centre - BEYOND * spread).min()), float((centre + BEYOND * spread).max())
    for _ in range(HALVINGS):
        cut = 0.5 * (low + high)
        low, high = (cut, high) if ndtr((centre - cut) / spread).sum() > n else (low, cut)
    found[known] = ndtr((centre - 0.5 * (low + high)) / spread)
    return found
