"""The model without reviewer effects, in which the posterior of a quality is an average drawn to the middle.

::

    y_ij = g + a x_i + e_ij,   x_i ~ N(0, 1),  e_ij ~ N(0, s^2)

Its evidence is what the full model has to beat, and its posterior is what comes out where it does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Ratios of variances a^2 / s^2 that are tried, then refined around the best.
RATIOS = np.geomspace(1e-4, 1e4, 81)
REFINEMENTS = 6
#: Standard deviation of the log ratio beforehand. Only where no item has two scores does it matter: quality and noise
#: then cannot be told apart, and count as equal.
VAGUE = 2.0


class Averages(NamedTuple):
    """Mean g, slope a, noise variance s^2 and log evidence at their best."""

    mean: float
    slope: float
    noise: float
    evidence: float


def fit_averages(item: IntArray, score: FloatArray, least_noise: float) -> Averages:
    """Maximise the evidence of the model without reviewer effects, which is exact and takes one pass.

    Parameters
    ----------
    item, score
        Shape (E,).
    least_noise
        Noise variance is at least this: that of rounding.
    """
    _, code, count = np.unique(item, return_inverse=True, return_counts=True)
    average = np.bincount(code, score) / count
    within = float(((score - average[code]) ** 2).sum())
    return best_averages(count, average, within, least_noise)


def best_averages(count: IntArray, average: FloatArray, within: float, least_noise: float) -> Averages:
    """Do so from the number and the average of each item's scores, and all squares about these averages.

    Parameters
    ----------
    count, average
        Shape of the items with a score.
    """
    # Items with equally many scores enter only by number, sum and sum of squares of their averages.
    size, kind = np.unique(count, return_inverse=True)
    number, total = np.bincount(kind), np.bincount(kind, average)
    square, n_scores = np.bincount(kind, average**2), int(count.sum())

    def at(ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        precision = size / (1 + size * ratio[:, None])
        mean = (precision * total).sum(axis=1) / (precision * number).sum(axis=1)
        spread = square - 2 * mean[:, None] * total + mean[:, None] ** 2 * number
        squares = within + (precision * spread).sum(axis=1)
        noise = np.maximum(squares / n_scores, least_noise)
        fit = squares / noise + (number * np.log1p(size * ratio[:, None])).sum(axis=1)
        return -0.5 * (n_scores * np.log(2 * np.pi * noise) + fit), mean, noise

    ratio = RATIOS
    for _ in range(REFINEMENTS):
        best = int(np.argmax(at(ratio)[0] - 0.5 * (np.log(ratio) / VAGUE) ** 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = (float(value[4]) for value in at(ratio))
    return Averages(mean, float(np.sqrt(ratio[4] * noise)), noise, evidence)
