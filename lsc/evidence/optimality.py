"""Residuals of the optimality conditions, computed from the data alone, and fitted scoring functions."""

from __future__ import annotations

__all__ = [
    "Residuals",
    "ScoringFunction",
    "fit_through",
    "residuals",
    "scale",
]

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._model.formulation import Programme
from lsc.evidence.kernels.residuals import add_reviewers, no_violations
from reviewgraph._base import FloatArray


class Residuals(NamedTuple):
    """Violations of the Karush-Kuhn-Tucker conditions of a :class:`~lsc._model.formulation.Programme`.

    ``primal`` is the largest violation of a constraint and ``dual`` the largest component of the gradient that no
    multiplier of the right sign cancels, in units of quality; ``gap`` the sum of multiplier times slack, in units of
    the objective.
    """

    primal: float
    dual: float
    gap: float


def residuals(programme: Programme, quality: FloatArray, perceived: FloatArray) -> Residuals:
    """Check the Karush-Kuhn-Tucker conditions of ``min 1/2 sum (perceived - quality[item])^2``.

    With ``eps = perceived - quality[item]``: the perceived qualities satisfy the constraints of every reviewer's class;
    ``eps`` sums to zero over the reviews of each item that is not a reference; and the ``eps`` of every reviewer are a
    combination of their binding constraints with multipliers of the right sign. The multipliers are sums of ``eps``,
    since each class is a cone with simple generators: steps (monotone), one slope (linear), ramps (convex, concave).
    Runs in O(E).

    Parameters
    ----------
    programme
        The programme in arrays.
    quality
        Shape (N,): qualities in its units.
    perceived
        Shape (E,): perceived qualities, in the order of its reviews.

    Returns
    -------
    Residuals
        Primal and dual residual and duality gap; all 0 at an optimum.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc._model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0)]))
    >>> residuals(programme, np.array([0.0, 0.1]), np.array([0.0, 0.1]))
    Residuals(primal=0.0, dual=0.0, gap=0.0)
    """
    found = no_violations(programme.start)
    add_reviewers(
        programme.start, programme.item, programme.score, programme.shape, programme.lower, programme.upper, quality,
        perceived, found,
    )  # fmt: skip
    pull = np.bincount(programme.item, perceived - quality[programme.item], minlength=programme.n_items)
    off = np.abs(quality - programme.reference)[programme.is_reference]
    free = np.abs(pull)[~programme.is_reference]
    return Residuals(
        max(found.primal, float(off.max(initial=0.0))),
        max(found.dual, float(free.max(initial=0.0))),
        2.0 * found.gap,
    )


def scale(programme: Programme, quality: FloatArray) -> float:
    """Return the unit of residuals: the standard deviation of qualities, or of the scores over C if that is larger.

    1 / C if both are 0.

    Parameters
    ----------
    programme
        The programme in arrays.
    quality
        Shape (N,): qualities in its units.

    Returns
    -------
    float
        A positive number.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc._model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0)]))
    >>> scale(programme, np.array([0.0, 2.0]))
    1.0
    """
    lower = programme.median_lower
    return max(float(np.std(quality)), lower * float(np.std(programme.score))) or lower


# Fitted scoring functions.

#: Perceived qualities closer than this part of their range are equal: solvers are exact to 1e-12 and better.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ScoringFunction:
    """A reviewer's scoring function, from quality on the reported scale to score.

    It is piecewise linear, with the slopes of the first and last piece outside the knots, and constant if all scores of
    the reviewer are equal. It fits every score: ``f(quality + noise) = score``.

    Parameters
    ----------
    qualities, scores
        The knots, shapes (K,) and (K,), ascending in both.
    slope, offset
        Coefficients of ``score = slope * quality + offset`` for a linear reviewer with different scores, otherwise
        None.

    Examples
    --------
    >>> f = ScoringFunction(np.array([1.0, 2.0, 4.0]), np.array([3.0, 4.0, 5.0]))
    >>> float(f(1.5)), f([3.0, 6.0]).tolist()
    (3.5, [4.5, 6.0])
    """

    qualities: FloatArray
    scores: FloatArray
    slope: float | None = None
    offset: float | None = None

    def __call__(self, quality: float | FloatArray | list[float]) -> FloatArray:
        """Return the score of a paper perceived to be of this quality; arrays work elementwise."""
        x = np.asarray(quality, np.float64)
        if self.slope is not None and self.offset is not None:
            return np.asarray(self.slope * x + self.offset)
        inside = np.interp(x, self.qualities, self.scores)
        if self.qualities.size < 2:
            return np.asarray(inside)
        low = _slope(self.qualities[:2], self.scores[:2])
        high = _slope(self.qualities[-2:], self.scores[-2:])
        below = np.minimum(x - self.qualities[0], 0.0) * low
        return np.asarray(inside + below + np.maximum(x - self.qualities[-1], 0.0) * high)

    def __repr__(self) -> str:
        if self.slope is not None:
            return f"<ScoringFunction: score = {self.slope:.4g} * quality + {self.offset:.4g}>"
        return f"<ScoringFunction: {self.qualities.size} knots>"


def _slope(x: FloatArray, y: FloatArray) -> float:
    return float((y[1] - y[0]) / (x[1] - x[0])) if x[1] > x[0] else 0.0


def fit_through(perceived: FloatArray, score: FloatArray, *, linear: bool) -> ScoringFunction:
    """Return the scoring function through these points, shapes (K,), any order; ``linear`` if they lie on a line.

    Parameters
    ----------
    perceived, score
        Shapes (K,): the points.
    linear
        Whether they lie on a line.

    Returns
    -------
    ScoringFunction
        Piecewise linear, or a line.

    Examples
    --------
    >>> fit_through(np.array([2.0, 1.0]), np.array([5.0, 4.0]), linear=True)
    <ScoringFunction: score = 1 * quality + 3>
    """
    order = np.lexsort((perceived, score))
    perceived = perceived[order]
    score = score[order]
    apart = ROUNDING * max(float(np.ptp(perceived)), float(np.abs(perceived).max()) * ROUNDING)
    new = np.ones(score.size, np.bool_)
    new[1:] = (np.diff(score) > 0) | (np.diff(perceived) > apart)  # equal points are one knot
    perceived = perceived[new]
    score = score[new]
    if not linear or score[0] == score[-1]:
        return ScoringFunction(perceived, score)
    slope = float((score[-1] - score[0]) / (perceived[-1] - perceived[0]))
    return ScoringFunction(perceived, score, slope, float(np.mean(score - slope * perceived)))


def __dir__() -> list[str]:
    return __all__
