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
from lsc._model.hypotheses import CONVEX, LINEAR, MONOTONE
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.graph import kernel


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
    primal, dual, gap = _reviewer_residuals(
        programme.start,
        programme.item,
        programme.score,
        programme.shape,
        programme.lower,
        programme.upper,
        quality,
        perceived,
    )
    pull = np.bincount(programme.item, perceived - quality[programme.item], minlength=programme.n_items)
    off = np.abs(quality - programme.reference)[programme.is_reference]
    free = np.abs(pull)[~programme.is_reference]
    return Residuals(
        max(float(primal), float(off.max(initial=0.0))),
        max(float(dual), float(free.max(initial=0.0))),
        2.0 * float(gap),
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


@kernel
def _reviewer_residuals(
    start: IntArray,
    item: IntArray,
    score: FloatArray,
    shape: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    quality: FloatArray,
    perceived: FloatArray,
) -> tuple[float, float, float]:
    """Return the largest primal and dual violation and the sum of the gaps over all reviewers."""
    primal = 0.0
    dual = 0.0
    gap = 0.0
    for j in range(start.size - 1):
        first = start[j]
        last = start[j + 1]
        if last == first:
            continue
        eps = perceived[first:last] - quality[item[first:last]]
        rise = score[first:last] - score[first]
        violations = _violations(shape[j], rise, perceived[first:last], eps, lower[j], upper[j])
        primal = max(primal, violations[0])
        dual = max(dual, violations[1])
        gap = gap + violations[2]
    return primal, dual, gap


@kernel
def _violations(
    shape: int, rise: FloatArray, perceived: FloatArray, eps: FloatArray, lower: float, upper: float
) -> tuple[float, float, float]:
    """Return the violations of one reviewer."""
    # Levels: the point, the sum of the noise, and the height above the lowest score of each.
    count = rise.size
    point = np.zeros(count)
    push = np.zeros(count)
    height = np.zeros(count)
    primal = 0.0
    dual = float(abs(np.sum(eps)))
    level = -1
    for r in range(count):
        if r == 0 or rise[r] > rise[r - 1]:
            level += 1
            height[level] = rise[r]
            point[level] = perceived[r]
        primal = max(primal, abs(perceived[r] - point[level]))
        push[level] += eps[r]
    # Multipliers: the derivative of the objective if all points from a step on are shifted.
    levels = level + 1
    if levels == 1:
        return primal, dual, 0.0
    dy = np.diff(height[:levels])
    step = np.diff(point[:levels])
    total = np.zeros(levels - 1)
    running = 0.0
    for k in range(levels - 1, 0, -1):
        running += push[k]
        total[k - 1] = running
    for k in range(levels - 1):
        primal = max(primal, lower * dy[k] - step[k], step[k] - upper * dy[k])
    # By shape: independent steps, one slope, or ramps.
    if shape == MONOTONE:
        return _bounded(primal, dual, total, step, lower * dy, upper * dy)
    if shape == LINEAR:
        slope = (point[levels - 1] - point[0]) / height[levels - 1]
        for k in range(levels):
            primal = max(primal, abs(point[k] - point[0] - slope * height[k]))
        reach = height[levels - 1]
        turn = np.array([np.sum(dy * total) / reach])
        return _bounded(
            primal, dual, turn, np.array([slope * reach]), np.array([lower * reach]), np.array([upper * reach])
        )
    if shape == CONVEX:  # a concave function from the top
        dy = dy[::-1].copy()
        step = step[::-1].copy()
        total = total[::-1].copy()
    return _ramps(primal, dual, dy, step, total, lower)


@kernel
def _bounded(
    primal: float, dual: float, force: FloatArray, step: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float, float]:
    """Add the gaps of steps between bounds: a positive force needs the lower bound, a negative one the upper."""
    gap = 0.0
    for k in range(force.size):
        if force[k] >= 0:
            gap += force[k] * abs(step[k] - low[k])
        elif np.isfinite(high[k]):
            gap -= force[k] * abs(high[k] - step[k])
        else:
            dual = max(dual, -force[k])
    return primal, dual, gap


@kernel
def _ramps(
    primal: float, dual: float, dy: FloatArray, step: FloatArray, total: FloatArray, lower: float
) -> tuple[float, float, float]:
    """Increasing slopes: slope_l = lower + the sum of w_m over m <= l, w >= 0."""
    count = dy.size
    force = np.zeros(count)
    reach = np.zeros(count)
    running = 0.0
    length = 0.0
    # A change of w_m changes all later slopes: its force is the sum of theirs, over the length that they span.
    for m in range(count - 1, -1, -1):
        running += dy[m] * total[m]
        length += dy[m]
        force[m] = running
        reach[m] = length
    gap = 0.0
    before = lower
    before_dy = 0.0
    for m in range(count):
        # Primal: w_m >= 0. Dual: forces >= 0. Gap: their products.
        slope = step[m] / dy[m]
        bend = slope - before
        if m > 0:
            primal = max(primal, -bend * dy[m] * before_dy / (dy[m] + before_dy))
        before = slope
        before_dy = dy[m]
        if force[m] < 0:
            dual = max(dual, -force[m] / reach[m])
        else:
            gap += force[m] * abs(bend)
    return primal, dual, gap


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
