"""What is measured of one estimate, and how draws are put together. Arrays in, numbers out; no package imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: Qualities closer than this part of their range are tied: sums of the same scores in another order differ by rounding.
TIED = 1e-9
#: Bins of equal width over which forecast and frequency are compared.
BINS = 10


class Summary(NamedTuple):
    """A mean over draws and its standard error (NaN for a single draw)."""

    mean: float
    error: float


def expected_precision(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return the part of the n selected that are among the n truly best, ties at the cut drawn by lot.

    Items without a quality come last, all tied. With h of the n best strictly above the tie at the cut, and r places
    left for t tied items of which g are among the best, the expected number found is h + g r / t.
    """
    known = np.isfinite(quality)
    span = float(np.ptp(quality[known])) if known.any() else 0.0
    value = np.where(known, quality, -np.inf)
    best = np.zeros(truth.size, np.bool_)
    best[np.argsort(-truth, kind="stable")[:n]] = True
    cut = np.sort(value)[-n]
    tied = np.abs(value - cut) <= TIED * span if np.isfinite(cut) else ~known
    above = (value > cut) & ~tied
    places = n - int(above.sum())
    return float((best[above].sum() + best[tied].sum() * places / tied.sum()) / n)


def pairs_in_order(quality: FloatArray, truth: FloatArray) -> float:
    """Return the share of pairs of different truth that the qualities put in order; tied qualities count one half."""
    higher = truth[:, None] > truth[None, :]
    return _won(quality, higher.astype(np.float64))


def area(quality: FloatArray, best: FloatArray) -> float:
    """Return the area under the ROC curve: how often one of the best has a higher quality than one of the others.

    ``best``, shape (N,), is the share of an item that is among the best: those tied at the cut belong to it in part.
    Tied qualities count one half.
    """
    share = best[:, None] * (1.0 - best[None, :])
    np.fill_diagonal(share, 0.0)
    return _won(quality, share)


def _won(quality: FloatArray, weight: FloatArray) -> float:
    """Return the weighted share of pairs in which the first has the higher quality, ties as one half."""
    gap = quality[:, None] - quality[None, :]
    won = np.where(np.abs(gap) <= TIED * float(np.ptp(quality)), 0.5, gap > 0)
    return float((weight * won).sum() / weight.sum()) if weight.any() else float("nan")


def among_best(truth: FloatArray, n: int) -> FloatArray:
    """Return the share of each item that is among the n best: 1, 0, or that of the places left for those tied."""
    cut = np.sort(truth)[-n]
    level = truth == cut
    return np.where(level, (n - (truth > cut).sum()) / level.sum(), truth > cut).astype(np.float64)


def on_scale_of(quality: FloatArray, truth: FloatArray) -> FloatArray:
    """Return the truth on the scale of the estimate, by the least-squares line of truth on quality.

    An origin and a unit cannot be known from scores: an estimate stands on the scale of a typical reviewer. The slope
    of truth on quality is 1 for posterior means in their own unit, however strongly they are shrunk (that of quality
    on truth is not: it is the share of variance explained), so it is the one that gives the unit. Where it is not
    positive nothing connects the two; the truth then gets the spread of the estimate.
    """
    off, gap = quality - quality.mean(), truth - truth.mean()
    square = float(off @ off)
    slope = float(off @ gap) / square if square > 0 else 0.0
    if slope <= 0:
        slope = float(gap.std() / off.std()) if square > 0 else 1.0
    return np.asarray(quality.mean() + gap / slope)


def coverage(interval: FloatArray, truth: FloatArray) -> float:
    """Return the share of truths, shape (N,), inside their intervals, shape (N, 2), ends included."""
    return float(((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean())


def forecast_bins(probability: FloatArray, happened: npt.NDArray[np.bool_]) -> list[list[float]]:
    """Return for each bin of forecasts how many, their sum, and how many came true: shape (BINS, 3), additive."""
    bin_of = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    columns = [np.ones(probability.size), probability, happened.astype(np.float64)]
    return np.column_stack([np.bincount(bin_of, column, BINS) for column in columns]).tolist()


def calibration_error(bins: Sequence[Sequence[Sequence[float]]]) -> float:
    """Return the mean over forecasts of |mean forecast - frequency| in their bin, over the bins of several draws."""
    total = np.sum(np.asarray(bins, np.float64), axis=0)
    return float(np.abs(total[:, 1] - total[:, 2]).sum() / total[:, 0].sum())


def summary(values: Sequence[float]) -> Summary:
    """Return mean and standard error of draws."""
    found = np.asarray(values, np.float64)
    if not found.size:
        return Summary(float("nan"), float("nan"))
    error = float(found.std(ddof=1) / np.sqrt(found.size)) if found.size > 1 else float("nan")
    return Summary(float(found.mean()), error)


def paired(ours: dict[int, float], theirs: dict[int, float]) -> Summary:
    """Return the mean difference over the draws that both have, with its paired standard error."""
    common = sorted(ours.keys() & theirs.keys())
    return summary([ours[draw] - theirs[draw] for draw in common])


def clustered(difference: FloatArray, cluster: npt.NDArray[np.int64]) -> Summary:
    """Return the mean of differences and its standard error where those of one cluster depend on each other."""
    centred = difference - difference.mean()
    of_cluster = np.bincount(cluster, centred)
    return Summary(float(difference.mean()), float(np.sqrt((of_cluster**2).sum()) / difference.size))
