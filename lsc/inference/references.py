"""References: qualities known from elsewhere, as measurements with noise and on a scale of their own.

::

    value_q = alpha + beta x_i + e_q,  e ~ N(0, s^2)

Given the scores, ``E value = alpha + beta E x``: a regression on posterior means is unbiased, and its residuals have
the variance ``beta^2 Var x + s^2``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.inference.states import Problem
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: From so many references on different values they have a scale of their own; fewer are read as scores.
ENOUGH = 3
#: Standard deviation of a reference's error, in units of quality: at least this, and for fewer than ENOUGH exactly.
LEAST_ERROR, ASSUMED_ERROR = 0.1, 0.3


class References(NamedTuple):
    """References read as messages.

    Parameters
    ----------
    item, value
        Shape (R,): which item, and its value as it was given.
    precision, shift
        Shape (R,): what each says of its item, on the internal scale.
    """

    item: IntArray
    value: FloatArray
    precision: FloatArray
    shift: FloatArray

    def per_item(self, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return sums of precisions and shifts over items, shapes (N,)."""
        precision = np.bincount(self.item, self.precision, n_items)
        return np.asarray(precision), np.asarray(np.bincount(self.item, self.shift, n_items))

    def heard_in(self, problem: Problem) -> Problem:
        """Return a problem in which they are heard."""
        precision, shift = self.per_item(problem.n_items)
        return replace(problem, reference_precision=precision, reference_shift=shift)


NONE = References(np.empty(0, np.int64), *np.empty((3, 0)))


#: A reference read as a score, this many standard deviations of quality off the middle, is on another scale.
FAR = 10.0


def read_references(
    mean: FloatArray, variance: FloatArray, item: IntArray, value: FloatArray, location: float, scale: float
) -> References:
    """Learn the scale and the error of references from what the scores say of the same items.

    The scale only serves to read them: qualities stay on that of a typical reviewer.

    Parameters
    ----------
    mean, variance
        Shape (N,): posterior of qualities without references, NaN where there is no score.
    location, scale
        Of a typical reviewer: the scale of references that are too few or too much alike to have their own.

    Raises
    ------
    InputError
        If references have no scale of their own, and are no scores either.
    """
    seen = np.isfinite(mean[item])
    x, v, y = mean[item][seen], variance[item][seen], value[seen]
    error = ASSUMED_ERROR
    if x.size >= ENOUGH and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            residual = (y - location) / scale - x
            left = float((residual**2).sum()) / (x.size - 2) - float(v.mean())
            error = max(LEAST_ERROR, np.sqrt(max(left, 0.0)))
    said = (value - location) / scale
    if np.abs(said).max(initial=0.0) > FAR:
        message = (
            f"references: expected {ENOUGH} or more whose values rise with their scores, or values on the scale of the "
            f"scores; found {value.size} that are neither; give more, or values as a typical reviewer would score"
        )
        raise InputError(message)
    precision = np.full(item.size, error**-2)
    return References(item, value, precision, said * precision)
