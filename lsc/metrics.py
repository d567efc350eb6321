"""How close an estimate comes to the truth, by the measures of the paper (section 5 and Appendix B of [Tan21]_).

All functions take ``quality`` and ``truth``, shapes (N,), higher is better. Items without a known truth (NaN) are left
out; items without a quality (NaN) rank last. T is the list of the n truly best items and S the n items selected, both
best first, **ties by index**. Kendall's and Spearman's coefficients treat ties as their definitions do (tau-b, mean
ranks) and leave out items without a quality.
"""

from __future__ import annotations

import numpy as np

from lsc.methods.estimate import best_first, ranks
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray


def precision(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return the part of the n selected items that are among the n best.

    >>> precision(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0]), 2)
    0.5
    """
    _, _, hit = _selection(quality, truth, n)
    return float(hit.mean())


def average_gap(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return mean true quality of the n best items less that of the n selected.

    >>> average_gap(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0]), 2)
    0.5
    """
    selected, truth, _ = _selection(quality, truth, n)
    return float(truth[best_first(truth)[:n]].mean() - truth[selected].mean())


def average_l1(quality: FloatArray, truth: FloatArray) -> float:
    """Return the mean over items of how far the rank lies from the true rank.

    >>> average_l1(np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]))
    0.6666666666666666
    """
    quality, truth = _known(quality, truth)
    group = np.ones(truth.size, np.int64)
    return float(np.abs(ranks(quality, group) - ranks(truth, group)).mean())


def average_precision(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return the mean, over selected items that are among the best, of the precision down to that item.

    ``sum_i p(i) / i [i-th selected is in T] / p(n)``, p(i) the number of the first i that are in T; 0 where none is.
    The formula printed in [Tan21]_ lacks the division by i, without which it would exceed 1 (its code divides).

    >>> average_precision(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 0.0, 2.0, 1.0]), 3)
    0.8333333333333333
    """
    _, _, hit = _selection(quality, truth, n)
    if not hit.any():
        return 0.0
    return float((np.cumsum(hit) / np.arange(1, hit.size + 1))[hit].mean())


def ndcg(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return the discounted part of the selection that is among the best: ranks count 1 / log(rank + 1).

    Relevance is membership in T, so the order within T does not matter: of any n best items selected the NDCG is 1.

    >>> round(ndcg(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]), 2), 6)
    0.613147
    """
    _, _, hit = _selection(quality, truth, n)
    weight = 1.0 / np.log(np.arange(2, hit.size + 2))
    return float(weight[hit].sum() / weight.sum())


def kendall(quality: FloatArray, truth: FloatArray) -> float:
    """Return Kendall's tau-b; NaN where either side is constant.

    >>> round(kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 6)
    0.333333
    """
    from scipy.stats import kendalltau

    return _coefficient(kendalltau, quality, truth)


def spearman(quality: FloatArray, truth: FloatArray) -> float:
    """Return Spearman's rank correlation, ties at mean ranks; NaN where either side is constant.

    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 6)
    0.5
    """
    from scipy.stats import spearmanr

    return _coefficient(spearmanr, quality, truth)


def _coefficient(function: object, quality: FloatArray, truth: FloatArray) -> float:
    quality, truth = _known(quality, truth)
    both = np.isfinite(quality)
    quality, truth = quality[both], truth[both]
    if quality.size < 2 or np.ptp(quality) == 0 or np.ptp(truth) == 0:
        return float("nan")
    return float(function(quality, truth).statistic)  # type: ignore[operator]


def _known(quality: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both for the items whose truth is known."""
    quality, truth = np.asarray(quality, np.float64), np.asarray(truth, np.float64)
    if quality.shape != truth.shape or truth.ndim != 1:
        message = f"quality, truth: expected one number an item each, found shapes {quality.shape} and {truth.shape}"
        raise InputError(message)
    known = np.isfinite(truth)
    if not known.any():
        message = "truth: expected at least one known quality, found none"
        raise InputError(message)
    return np.where(np.isfinite(quality[known]), quality[known], -np.inf), truth[known]


def _selection(quality: FloatArray, truth: FloatArray, n: int) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return S as indices, the truth of the items known, and which of S are in T."""
    quality, truth = _known(quality, truth)
    if not 1 <= n <= truth.size:
        message = f"n: expected 1 to {truth.size} items to select (those of known truth), found {n}"
        raise InputError(message)
    selected = np.argsort(-quality, kind="stable")[:n]
    return selected, truth, np.isin(selected, best_first(truth)[:n])
