"""Scores brought to mean 0 and standard deviation 1, and laid out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.layout import lay_out
from lsc.inference.sweeps import Problem
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Noise of the standardised scores is at least .01: nobody's scores say more, and messages keep their digits.
LEAST_NOISE = 1e-4


class Scores(NamedTuple):
    """Standardised scores, shape (E,), the problem made of them, and the way back."""

    standard: FloatArray
    problem: Problem
    location: float
    spread: float


def prepare(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    weight: FloatArray | None,
    unit: Scores | None = None,
) -> Scores:
    """Standardise scores and lay them out; weights become centred logarithms.

    With ``unit``, scores are standardised as those were, of which they are a part.
    """
    location, spread = (unit.location, unit.spread) if unit else (float(score.mean()), float(score.std()))
    # All scores equal, but for rounding in their mean: there is no unit.
    if spread <= 1e-12 * np.abs(score).max():
        spread = 1.0
    standard = (score - location) / spread
    layout = lay_out(reviewer, item, standard, n_reviewers, n_items)
    log_weight = None
    if weight is not None and np.ptp(weight) > 0:
        logs = np.log(weight)
        log_weight = layout.spread((logs - logs.mean()) / logs.std())
    known = np.bincount(item, minlength=n_items) > 0
    rounding = unit.problem.rounding if unit else _rounding(score) + LEAST_NOISE
    return Scores(standard, Problem(layout, log_weight, rounding, known), location, spread)


def _rounding(score: FloatArray) -> float:
    """Variance of rounding, in units of the scores' own, from the probability p that two scores are equal.

    Normal scores rounded to a grid of width d are equal with probability d / (2 sqrt(pi) sigma), and rounding adds
    d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    if score.size < 2:
        return 0.0
    _, count = np.unique(score, return_counts=True)
    equal = float((count * (count - 1.0)).sum()) / (score.size * (score.size - 1.0))
    return np.pi / 3 * equal**2
