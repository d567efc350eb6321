"""Scores brought to mean 0 and standard deviation 1, and laid out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.layout import lay_out
from lsc.inference.sweeps import Problem
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Noise of the standardised scores is at least .01: nobody's scores say more, and messages keep their digits.
LEAST_NOISE = 1e-4
#: Equal scores of a reviewer are taken for chance above this probability; and as reviewers who do not look unless
#: more than this part of all are so.
BY_CHANCE, FEW = 0.01, 0.1


class Scores(NamedTuple):
    """Standardised scores, shape (E,), the problem made of them, and the way back."""

    standard: FloatArray
    problem: Problem
    location: float
    spread: float


class Rows(NamedTuple):
    """Reviews, shapes (E,): codes, scores and weights."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    weight: FloatArray | None


def prepare(rows: Rows, n_reviewers: int, n_items: int, unit: Scores | None = None) -> Scores:
    """Standardise scores and lay them out; weights become centred logarithms.

    With ``unit``, scores are standardised as those were, of which they are a part.
    """
    reviewer, item, score, weight = rows
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
    silent = np.zeros(n_items)
    return Scores(standard, Problem(layout, log_weight, rounding, known, silent, silent), location, spread)


def idle(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> BoolArray:
    """Return the reviewers, shape (M,), who give everyone the same score, and not by chance.

    k scores are equal by chance with probability p^(k - 1), p that of two scores of the table. Such a reviewer does not
    look; she says nothing of any paper. Where many are like that it is the table that is so, and all are heard.
    """
    load = np.bincount(reviewer, minlength=n_reviewers)
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    np.minimum.at(low, reviewer, score)
    np.maximum.at(high, reviewer, score)
    constant = (load > 1) & (low == high)
    found: BoolArray = constant & (equal_scores(score) ** np.maximum(load - 1.0, 0.0) < BY_CHANCE)
    return found if found.sum() <= FEW * (load > 0).sum() else np.zeros(n_reviewers, bool)


def equal_scores(score: FloatArray) -> float:
    """Return the probability that two scores of the table are equal."""
    if score.size < 2:
        return 0.0
    _, count = np.unique(score, return_counts=True)
    return float((count * (count - 1.0)).sum()) / (score.size * (score.size - 1.0))


def _rounding(score: FloatArray) -> float:
    """Return the variance of rounding, in units of the scores' own, from the probability p that two scores are equal.

    Normal scores rounded to a grid of width d are equal with probability d / (2 sqrt(pi) sigma), and rounding adds
    d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    return float(np.pi / 3 * equal_scores(score) ** 2)
