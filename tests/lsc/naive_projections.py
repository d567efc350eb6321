"""The programme stated one constraint at a time, and its optimality checked without a solver."""

from itertools import pairwise

import numpy as np

from lsc._model.hypotheses import Shape
from tests.lsc.certificates import rows, unexplained


def limits(programme, j):
    """What reviewer j's class allows: equalities and inequalities, row by row."""
    score = programme.score[programme.start[j] : programme.start[j + 1]]
    shape = Shape(programme.shape[j]).name.lower()
    return rows(score.tolist(), shape, float(programme.lower[j]), float(programme.upper[j]))


def violation(programme, perceived):
    """The largest violation of a constraint, in units of perceived quality."""
    worst = 0.0
    for j, (start, stop) in enumerate(pairwise(programme.start)):
        mine = perceived[start:stop]
        equal, at_least = limits(programme, j)
        for row, right in equal:
            worst = max(worst, abs(row @ mine - right) / np.abs(row).sum())
        for row, low in at_least:
            worst = max(worst, (low - row @ mine) / np.abs(row).sum())
    return worst


def not_normal(programme, quality, perceived, near):
    """How far the residuals are from the normal cones at the perceived qualities: 0 for projections.

    Constraints within ``near`` of holding with equality count as active.
    """
    worst = 0.0
    for j, (start, stop) in enumerate(pairwise(programme.start)):
        mine = perceived[start:stop]
        eps = mine - quality[programme.item[start:stop]]
        worst = max(worst, unexplained(eps, *limits(programme, j), mine, near))
    return worst


def imbalance(programme, quality, perceived):
    """The gradient over the qualities that are not known: sums of residuals, largest in absolute value."""
    residual = quality[programme.item] - perceived
    pull = np.bincount(programme.item, residual, programme.n_items)
    return float(np.abs(np.where(programme.is_reference, 0.0, pull)).max(initial=0.0))
