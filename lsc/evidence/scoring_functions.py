"""Fitted scoring functions: how one reviewer turns quality into a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reviewgraph.reviews import FloatArray

#: Perceived qualities closer than this part of their range coincide: solvers are exact to 1e-12 and better.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ScoringFunction:
    """A reviewer's scoring function, from quality on the reported scale to score.

    Between its knots it is straight; beyond them it goes on with the slope of the last piece, and where all her scores
    are the same it is constant. It meets every score: ``f(quality + noise) = score``.

    Parameters
    ----------
    qualities, scores
        The knots, shapes (K,) and (K,), ascending in both.
    slope, offset
        Of ``score = slope * quality + offset`` where the reviewer was taken to be linear and gave different scores;
        None otherwise.

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
        low, high = _slope(self.qualities[:2], self.scores[:2]), _slope(self.qualities[-2:], self.scores[-2:])
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

    >>> fit_through(np.array([2.0, 1.0]), np.array([5.0, 4.0]), linear=True)
    <ScoringFunction: score = 1 * quality + 3>
    """
    order = np.lexsort((perceived, score))
    perceived, score = perceived[order], score[order]
    apart = ROUNDING * max(float(np.ptp(perceived)), float(np.abs(perceived).max()) * ROUNDING)
    new = np.ones(score.size, np.bool_)
    new[1:] = (np.diff(score) > 0) | (np.diff(perceived) > apart)  # tied points that coincide are one knot
    perceived, score = perceived[new], score[new]
    if not linear or score[0] == score[-1]:
        return ScoringFunction(perceived, score)
    slope = float((score[-1] - score[0]) / (perceived[-1] - perceived[0]))
    return ScoringFunction(perceived, score, slope, float(np.mean(score - slope * perceived)))
