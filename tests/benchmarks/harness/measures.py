"""Measures of one estimate, and summaries over draws."""

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

    def __format__(self, spec: str) -> str:
        if not np.isfinite(self.mean):
            return ""
        error = f" ± {self.error:{spec.lstrip('+')}}" if np.isfinite(self.error) else ""
        return f"{self.mean:{spec}}{error}"


def among_best(truth: FloatArray, n: int) -> FloatArray:
    """Return the share of each item that is among the n best: 1, 0, or that of the places left for those tied."""
    cut = np.sort(truth)[-n]
    tied = truth == cut
    return np.where(tied, (n - (truth > cut).sum()) / tied.sum(), truth > cut).astype(np.float64)


def wrongly_selected(quality: FloatArray, truth: FloatArray, n: int) -> float:
    """Return the expected share of the n selected that are not among the n best, ties of quality broken at random.

    With h of the n best strictly above the tie at the cut, and r places left for t tied items of which g are among the
    best, h + g r / t are expected to be right.
    """
    best = among_best(truth, n)
    cut = np.sort(quality)[-n]
    tied = np.abs(quality - cut) <= TIED * float(np.ptp(quality))
    above = (quality > cut) & ~tied
    places = n - int(above.sum())
    right = best[above].sum() + best[tied].sum() * places / tied.sum()
    return float(1.0 - right / n)


def pairs_in_order(quality: FloatArray, truth: FloatArray) -> float:
    """Return the share of pairs of different truth that the qualities put in order; tied qualities count one half."""
    higher = truth[:, None] > truth[None, :]
    gap = quality[:, None] - quality[None, :]
    won = np.where(np.abs(gap) <= TIED * float(np.ptp(quality)), 0.5, gap > 0)
    return float((higher * won).sum() / higher.sum()) if higher.any() else float("nan")


def on_scale_of(quality: FloatArray, truth: FloatArray) -> FloatArray:
    """Return the truth on the scale of the estimate, by the least-squares line of truth on quality.

    Scores do not determine an origin and a unit. The slope of truth on quality is 1 for posterior means in their own
    unit, however strongly they are shrunk (that of quality on truth is the share of variance explained). Where it is
    not positive, the truth gets the spread of the estimate.
    """
    off = quality - quality.mean()
    gap = truth - truth.mean()
    square = float(off @ off)
    slope = float(off @ gap) / square if square > 0 else 0.0
    if slope <= 0:
        slope = float(gap.std() / off.std()) if square > 0 else 1.0
    return np.asarray(quality.mean() + gap / slope)


def coverage(interval: FloatArray, truth: FloatArray) -> float:
    """Return the share of truths, shape (N,), inside their intervals, shape (N, 2), ends included."""
    return float(((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean())


def forecast_bins(probability: FloatArray, share: FloatArray) -> list[list[float]]:
    """Return for each bin of forecasts their number, their sum, and the sum of what happened: shape (BINS, 3)."""
    bin_of = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    columns = [np.ones(probability.size), probability, share]
    return np.column_stack([np.bincount(bin_of, column, BINS) for column in columns]).tolist()


def calibration_error(bins: Sequence[Sequence[Sequence[float]]]) -> float:
    """Return the mean over forecasts of |mean forecast - frequency| in their bin, over the bins of several draws."""
    total = np.sum(np.asarray(bins, np.float64), axis=0)
    return float(np.abs(total[:, 1] - total[:, 2]).sum() / total[:, 0].sum())


def summary(values: Sequence[float]) -> Summary:
    """Return mean and standard error of draws."""
    array = np.asarray(values, np.float64)
    if not array.size:
        return Summary(float("nan"), float("nan"))
    error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else float("nan")
    return Summary(float(array.mean()), error)


def paired(ours: dict[int, float], theirs: dict[int, float]) -> Summary:
    """Return the mean difference over the draws that both have, with its paired standard error."""
    common = sorted(ours.keys() & theirs.keys())
    return summary([ours[draw] - theirs[draw] for draw in common])
