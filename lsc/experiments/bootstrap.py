"""How sure a difference to the average is: bootstrap intervals over items."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lsc.metrics import expected_discounts, selection_shares
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Resamples, and the tails left out on each side.
RESAMPLES, TAIL = 2000, 0.025
#: Resamples measured at a time, which bounds the memory.
BATCH = 100


def resamples_of(truth: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> IntArray:
    """Draw items of known truth with replacement, as many as there are, shape (resamples, number of them).

    >>> resamples_of(np.array([1.0, np.nan, 2.0]), np.random.default_rng(0), 2).tolist()
    [[2, 2], [2, 0]]
    """
    known = np.flatnonzero(np.isfinite(truth))
    return rng.choice(known, (resamples, known.size))


def intervals(
    quality: FloatArray, average: FloatArray, truth: FloatArray, n: int, draws: IntArray
) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals of the difference to the average, by measure.

    The estimates are made once, from all reviews; every measure of both is taken on the same resamples of items, ties
    as in :mod:`lsc.metrics`. An interval that misses the estimate itself, as a skewed measure may have it, is widened
    to hold it.

    Parameters
    ----------
    quality, average, truth
        Shape (N,): the estimate, the plain averages, and the truth.
    n
        How many items are selected.
    draws
        Resamples of items, one a row.

    Returns
    -------
    dict
        The 2.5 % and 97.5 % quantiles of the difference in precision and NDCG, both in percent, and in Spearman's
        coefficient, over the resamples that have one; NaN where none has.

    Examples
    --------
    >>> truth = np.arange(20.0)
    >>> draws = resamples_of(truth, np.random.default_rng(0), 50)
    >>> low, high = intervals(truth, -truth, truth, 4, draws)["precision"]
    >>> low > 50.0, high
    (True, 100.0)
    """
    rows: list[Mapping[str, FloatArray]] = []
    for first in range(0, len(draws), BATCH):
        chosen = draws[first : first + BATCH]
        rows.append(_apart(quality, average, truth, n, chosen))
    itself = _apart(quality, average, truth, n, np.flatnonzero(np.isfinite(truth))[None, :])
    return {name: _interval(np.concatenate([row[name] for row in rows]), float(itself[name][0])) for name in itself}


def _apart(
    quality: FloatArray, average: FloatArray, truth: FloatArray, n: int, chosen: IntArray
) -> dict[str, FloatArray]:
    """Return by how much the estimate is ahead of the average, a row of chosen items each."""
    ours, plain = (resampled(values[chosen], truth[chosen], n) for values in (quality, average))
    return {name: ours[name] - plain[name] for name in ours}


def _interval(apart: FloatArray, itself: float) -> tuple[float, float]:
    apart = apart[np.isfinite(apart)]
    if not apart.size:
        return np.nan, np.nan
    low, high = np.quantile(apart, [TAIL, 1.0 - TAIL]).tolist()
    return (min(low, itself), max(high, itself)) if np.isfinite(itself) else (low, high)


def resampled(quality: FloatArray, truth: FloatArray, n: int) -> dict[str, FloatArray]:
    """Return the measures of :mod:`lsc.metrics` of each row, all of known truth; shapes (R, S) to (R,).

    >>> quality, truth = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    >>> found = resampled(quality, truth, 1)
    >>> found["precision"].tolist(), found["spearman"].tolist()
    ([100.0, 0.0], [1.0, -1.0])
    """
    quality_or_last = np.where(np.isfinite(quality), quality, -np.inf)
    selected, best = selection_shares(quality_or_last, n), selection_shares(truth, n)
    weight = 1.0 / np.log(np.arange(2, n + 2))
    return {
        "precision": 100.0 * (selected * best).sum(axis=1) / n,
        "ndcg": 100.0 * (expected_discounts(quality_or_last, weight) * best).sum(axis=1) / weight.sum(),
        "spearman": _spearman(quality, truth),
    }


def _spearman(quality: FloatArray, truth: FloatArray) -> FloatArray:
    """Spearman's coefficient of each row among the items that have a quality; NaN where a side is constant."""
    from scipy.stats import rankdata

    known = np.isfinite(quality)
    one, other = (rankdata(np.where(known, values, np.inf), axis=1) for values in (quality, truth))
    count = known.sum(axis=1, keepdims=True)
    centre = (count + 1) / 2.0  # the mean of ranks 1 to count, ties or not; unknown items rank after all others
    one, other = (np.where(known, ranks - centre, 0.0) for ranks in (one, other))
    scale = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    product: FloatArray = (one * other).sum(axis=1)
    found: FloatArray = np.divide(product, scale, out=np.full(scale.size, np.nan), where=scale > 0)
    return found
