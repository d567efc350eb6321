"""Measures of agreement between an estimate and the truth (section 5 and Appendix B of [Tan21]_).

All functions take ``quality`` and ``truth``, shapes (N,), higher is better. Items without a known truth (NaN) are
omitted; items without a quality (NaN) rank last. T is the list of the n truly best items and S the n items selected,
both best first, with n for ``n_selected``. **Ties are not broken**: a measure is its expected value over all orders
of tied items, on either side (for :func:`average_precision` to first order), so neither labels nor the order of rows
matter. Correlations of ranks are in :mod:`scipy.stats`.
"""

from __future__ import annotations

__all__ = [
    "average_gap",
    "average_l1",
    "average_precision",
    "ndcg",
    "precision",
]

import numpy as np

from reviewgraph._base import FloatArray, InputError, checked, order_of, snapped


@checked
def precision(quality: FloatArray, truth: FloatArray, n_selected: int) -> float:
    """Return the share of the n selected items that are among the n best.

    Parameters
    ----------
    quality, truth
        Shapes (N,), higher is better: the estimate and the truth, NaN where there is none.
    n_selected
        Number of items to select, from 1 to that of items with a known truth.

    Returns
    -------
    float
        From 0 to 1, the best.

    Raises
    ------
    InputError
        If ``n_selected`` is out of range, or no truth is known.

    Examples
    --------
    >>> precision(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0]), 2)
    0.5
    """
    selected, best, _ = _shares(quality, truth, n_selected)
    return float((selected * best).sum() / n_selected)


@checked
def average_gap(quality: FloatArray, truth: FloatArray, n_selected: int) -> float:
    """Return the mean true quality of the n best items minus that of the n selected.

    Parameters
    ----------
    quality, truth
        Shapes (N,), higher is better: the estimate and the truth, NaN where there is none.
    n_selected
        Number of items to select, from 1 to that of items with a known truth.

    Returns
    -------
    float
        In the unit of the truth; 0 is the best.

    Raises
    ------
    InputError
        If ``n_selected`` is out of range, or no truth is known.

    Examples
    --------
    >>> average_gap(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0]), 2)
    0.5
    """
    selected, best, truth = _shares(quality, truth, n_selected)
    return float((best * truth).sum() / n_selected - (selected * truth).sum() / n_selected)


def average_l1(quality: FloatArray, truth: FloatArray) -> float:
    """Return the mean over items of the absolute difference between rank and true rank.

    Parameters
    ----------
    quality, truth
        Shapes (N,), higher is better: the estimate and the truth, NaN where there is none.

    Returns
    -------
    float
        In ranks; 0 is the best.

    Raises
    ------
    InputError
        If no truth is known.

    Examples
    --------
    >>> average_l1(np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]))
    0.6666666666666666
    """
    quality, truth = _known(quality, truth)
    (low, high) = _places(quality)
    (true_low, true_high) = _places(truth)
    return float(_mean_distance(low, high, true_low, true_high).mean())


@checked
def average_precision(quality: FloatArray, truth: FloatArray, n_selected: int) -> float:
    """Return the mean, over selected items that are among the best, of the precision down to that item.

    ``sum_i p(i) / i [i-th selected is in T] / p(n)``, p(i) the number of the first i that are in T; 0 if p(n) is 0.
    The formula printed in [Tan21]_ lacks the division by i, without which it would exceed 1 (its code divides).

    Parameters
    ----------
    quality, truth
        Shapes (N,), higher is better: the estimate and the truth, NaN where there is none.
    n_selected
        Number of items to select, from 1 to that of items with a known truth.

    Returns
    -------
    float
        From 0 to 1, the best.

    Raises
    ------
    InputError
        If ``n_selected`` is out of range, or no truth is known.

    Examples
    --------
    >>> average_precision(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 0.0, 2.0, 1.0]), 3)
    0.8333333333333333
    """
    _, best, _ = _shares(quality, truth, n_selected)
    hit = _hits(_known(quality, truth)[0], best)[:n_selected]
    if not hit.any():
        return 0.0
    before = np.cumsum(hit) - hit
    return float((hit * (1.0 + before) / np.arange(1, n_selected + 1)).sum() / hit.sum())


@checked
def ndcg(quality: FloatArray, truth: FloatArray, n_selected: int) -> float:
    """Return the normalised discounted cumulative gain, with discounts 1 / log(rank + 1).

    Relevance is membership in T, so the order within T does not matter: for S = T in any order the NDCG is 1.

    Parameters
    ----------
    quality, truth
        Shapes (N,), higher is better: the estimate and the truth, NaN where there is none.
    n_selected
        Number of items to select, from 1 to that of items with a known truth.

    Returns
    -------
    float
        From 0 to 1, the best.

    Raises
    ------
    InputError
        If ``n_selected`` is out of range, or no truth is known.

    Examples
    --------
    >>> round(ndcg(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]), 2), 6)
    0.613147
    """
    _, best, _ = _shares(quality, truth, n_selected)
    weight = 1.0 / np.log(np.arange(2, n_selected + 2))
    return float((_expected_discounts(_known(quality, truth)[0], weight) * best).sum() / weight.sum())


def _known(quality: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both for the items of known truth."""
    quality = np.asarray(quality, np.float64)
    truth = np.asarray(truth, np.float64)
    if quality.shape != truth.shape or truth.ndim != 1:
        message = f"quality, truth: expected one number per item, found shapes {quality.shape} and {truth.shape}"
        raise InputError(message)
    has_truth = np.isfinite(truth)
    if not has_truth.any():
        raise InputError("truth: expected at least one known quality, found none")
    return np.where(np.isfinite(quality[has_truth]), quality[has_truth], -np.inf), truth[has_truth]


def _selection_shares(values: FloatArray, n_selected: int) -> FloatArray:
    """Return each item's probability of being among the largest when ties are broken at random, shape (N,)."""
    low, high = _places(values)
    shares: FloatArray = np.clip(n_selected - low, 0.0, high - low) / (high - low)
    return shares


def _expected_discounts(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the mean weight of the ranks that each item may have among its ties, shape (N,).

    ``weight`` has those of the first ranks; later ranks have weight 0.
    """
    low, high = _places(values)
    total = np.concatenate([[0.0], np.cumsum(weight)])
    last = weight.size
    reached = total[np.minimum(high, last).astype(np.int64)] - total[np.minimum(low, last).astype(np.int64)]
    mean: FloatArray = reached / (high - low)
    return mean


def _places(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of values that are larger, and at least as large."""
    from scipy.stats import rankdata

    values = snapped(values)
    return rankdata(-values, "min") - 1.0, rankdata(-values, "max")


def _hits(quality: FloatArray, best: FloatArray) -> FloatArray:
    """Return the expected membership in T of the item at each place of the ranking by quality, shape (N,)."""
    order = order_of(-quality)
    low = _places(quality)[0][order].astype(np.int64)
    total = np.bincount(low, best[order], quality.size)
    mean: FloatArray = (total / np.maximum(np.bincount(low, minlength=quality.size), 1))[low]
    return mean


def _mean_distance(low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
    """Mean of |r - s| with r uniform on low + 1..high and s on other_low + 1..other_high.

    sum_{r <= a} sum_{s <= b} |r - s| has a closed form; the mean over a rectangle combines four values of it.
    """

    def below(a: FloatArray, b: FloatArray) -> FloatArray:
        small = np.minimum(a, b)
        large = np.maximum(a, b)
        square = small * (small**2 - 1.0) / 3.0  # sum over r, s <= small
        rest = small * (large - small) * large / 2.0  # sum over r <= small < s <= large
        return np.asarray(square + rest)

    total = below(high, other_high) - below(low, other_high) - below(high, other_low) + below(low, other_low)
    mean: FloatArray = total / ((high - low) * (other_high - other_low))
    return mean


def _shares(quality: FloatArray, truth: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the shares in S and in T, and the truth, for the items of known truth."""
    quality, truth = _known(quality, truth)
    if not 1 <= n <= truth.size:
        raise InputError(f"n_selected: expected 1 to {truth.size} items to select (those of known truth), found {n}")
    return _selection_shares(quality, n), _selection_shares(truth, n), truth


def __dir__() -> list[str]:
    return __all__
