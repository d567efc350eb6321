"""The programme of Least Square Calibration as arrays: what every solver takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc.model.hypotheses import classes
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Programme:
    """Minimise the sum of squared perception errors over qualities and perceived qualities.

    ::

        minimise    sum_r (perceived_r - x[item_r])^2
        subject to  for every reviewer j, her reviews r = 1, 2, ... in ascending order of score:
                    lower_j dy_r <= perceived_r - perceived_(r-1) <= upper_j dy_r,  dy_r = score_r - score_(r-1)
                    linear, offset   the slopes (perceived_r - perceived_(r-1)) / dy_r are all equal
                    convex           they decrease in r (f convex, so its inverse is concave)
                    concave          they increase in r
                    x[i] = reference_i  where i is a reference

    With ``ties_equal``, reviews of one reviewer with equal scores have equal perceived qualities; otherwise a
    monotone reviewer's tied reviews are free within their level: the largest perceived quality of a level plus
    ``lower_j dy`` is at most the smallest of the next. A reviewer with constant scores and free ties is unconstrained.

    Parameters
    ----------
    n_items
        N.
    start
        Shape (M + 1,): the reviews of reviewer j are ``start[j]:start[j + 1]``, ascending by score, ties by item.
    item, score
        Shape (E,).
    kind
        Shape (M,): the hypothesis class of each reviewer, int64 places in :func:`~lsc.model.hypotheses.classes`.
    lower, upper
        Shape (M,): bounds on the slope of the inverse, 1 / C > 0 and 1 / c (infinite by default).
    ties_equal
        Whether tied scores mean equal perceived qualities.
    is_reference, reference
        Shape (N,): which qualities are known, and their values.
    """

    n_items: int
    start: IntArray
    item: IntArray
    score: FloatArray
    kind: IntArray
    lower: FloatArray
    upper: FloatArray
    ties_equal: bool
    is_reference: BoolArray
    reference: FloatArray

    @property
    def shape(self) -> IntArray:
        """Shape (M,): codes of :class:`~lsc.model.hypotheses.Shape`, the form of set that each reviewer has."""
        return np.asarray(np.array([kind.shape for kind in classes()], np.int64)[self.kind])


class Minimiser(NamedTuple):
    """What a solver returns: qualities (N,), perceived qualities (E,), and how it went."""

    quality: FloatArray
    perceived: FloatArray
    objective: float
    iterations: int
    converged: bool
    message: str
