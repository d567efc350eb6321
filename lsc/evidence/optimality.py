"""Residuals of the optimality conditions, computed from the data alone, and fitted scoring functions."""

from __future__ import annotations

__all__ = [
    "Residuals",
    "ScoringFunction",
    "residuals",
]

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc._model.formulation import Programme
from lsc._model.hypotheses import CONCAVE, CONVEX, LINEAR, MONOTONE
from reviewgraph._base import BoolArray, FloatArray, IntArray


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
    >>> programme, _ = formulate(Reviews([("ann", "p1", 1.0), ("ann", "p2", 2.0)]))
    >>> residuals(programme, np.array([0.0, 0.1]), np.array([0.0, 0.1]))
    Residuals(primal=0.0, dual=0.0, gap=0.0)
    """
    owner = np.repeat(np.arange(programme.kind.size), np.diff(programme.start))
    noise = perceived - quality[programme.item]
    # Reviews of one reviewer with the same score are a level.
    begins = np.ones(owner.size, np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (programme.score[1:] > programme.score[:-1])
    level = np.cumsum(begins) - 1
    point = perceived[begins]
    steps = _steps(owner[begins], programme.score[begins], point, np.bincount(level, noise))
    lower = programme.lower[steps.owner] * steps.rise
    upper = programme.upper[steps.owner] * steps.rise
    parts = [
        _Violations(np.abs(perceived - point[level]), np.bincount(owner, noise)),
        _Violations(np.maximum(lower - steps.step, steps.step - upper)),
    ]
    # By shape: independent steps, one slope, or ramps, which a convex function has from the top.
    shape = programme.shape[steps.owner]
    alone = shape == MONOTONE
    parts.append(_bounded(steps.force[alone], steps.step[alone], lower[alone], upper[alone]))
    parts += _of_lines(programme, steps.only(shape == LINEAR))
    parts.append(_of_ramps(programme, steps.only(shape == CONCAVE)))
    parts.append(_of_ramps(programme, steps.only(shape == CONVEX).only(slice(None, None, -1))))
    # References are at their values; of other items the noise sums to zero.
    pull = np.bincount(programme.item, noise, minlength=programme.n_items)
    off = np.abs(quality - programme.reference)
    parts.append(_Violations(off[programme.is_reference], pull[~programme.is_reference]))
    return Residuals(
        max(float(part.primal.max(initial=0.0)) for part in parts),
        max(float(np.abs(part.dual).max(initial=0.0)) for part in parts),
        2.0 * sum(float(part.gap.sum()) for part in parts),
    )


_NONE = np.empty(0)


class _Violations(NamedTuple):
    """Violations of constraints, parts of the gradient that no multiplier cancels, and multipliers times slacks."""

    primal: FloatArray = _NONE
    dual: FloatArray | IntArray = _NONE
    gap: FloatArray = _NONE


class _Steps(NamedTuple):
    """Steps from a level of a reviewer to the next, reviewer by reviewer: in score, in quality, and their forces.

    The force of a step is the derivative of half the objective if all perceived qualities beyond it are shifted.
    """

    owner: IntArray
    rise: FloatArray
    step: FloatArray
    force: FloatArray

    def only(self, kept: BoolArray | slice) -> _Steps:
        return _Steps(self.owner[kept], self.rise[kept], self.step[kept], self.force[kept])


def _steps(owner: IntArray, score: FloatArray, point: FloatArray, push: FloatArray | IntArray) -> _Steps:
    """Return the steps between levels, each with the sum of its noise."""
    later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    rise = score[later] - score[later - 1]
    return _Steps(owner[later], rise, point[later] - point[later - 1], _from_here(push, owner)[later])


def _from_here(value: FloatArray | IntArray, owner: IntArray) -> FloatArray:
    """Return the sums of values and of the later ones of the same reviewer.

    They are differences of sums over all reviewers, which have more digits than double precision for large tables.
    """
    total = np.append(np.cumsum(value[::-1], dtype=np.longdouble)[::-1], 0.0)
    last = np.flatnonzero(np.append(owner[1:] != owner[:-1], owner.size > 0))
    return np.asarray(total[:-1] - np.repeat(total[last + 1], np.diff(last, prepend=-1)), np.float64)


def _bounded(
    force: FloatArray | IntArray, step: FloatArray | IntArray, low: FloatArray, high: FloatArray
) -> _Violations:
    """Check steps between bounds: a positive force needs the lower bound, a negative one the upper if there is one."""
    rises = force >= 0.0
    free = ~rises & np.isinf(high)
    slack = np.where(rises, step - low, np.where(free, 0.0, high - step))
    return _Violations(dual=force[free], gap=np.abs(force * slack))


def _of_lines(programme: Programme, steps: _Steps) -> list[_Violations]:
    """Check lines: one slope per reviewer, a change of which moves all levels."""
    owner = steps.owner
    size = programme.kind.size
    reach = np.bincount(owner, steps.rise, size)
    several = reach > 0.0
    extent = np.bincount(owner, steps.step, size)
    slope = np.divide(extent, reach, out=np.zeros(size), where=several)
    turn = np.bincount(owner, steps.rise * steps.force, size)[several] / reach[several]
    low = programme.lower[several] * reach[several]
    high = programme.upper[several] * reach[several]
    off = _from_here(steps.step - slope[owner] * steps.rise, owner)
    return [_Violations(np.abs(off)), _bounded(turn, extent[several], low, high)]


def _of_ramps(programme: Programme, steps: _Steps) -> _Violations:
    """Check slopes that increase: each is the bound plus the sum of the bends w >= 0 up to it."""
    owner = steps.owner
    rise = steps.rise
    # A bend changes all later slopes: its force is the sum of theirs, over the length that they span.
    force = _from_here(rise * steps.force, owner)
    reach = _from_here(rise, owner)
    slope = steps.step / rise
    begins = np.append(True, owner[1:] != owner[:-1])[: owner.size]
    bend = slope - np.where(begins, programme.lower[owner], np.roll(slope, 1))
    before = np.roll(rise, 1)
    negative = force < 0.0
    return _Violations(
        (-bend * rise * before / (rise + before))[~begins],
        (force / reach)[negative],
        (force * np.abs(bend))[~negative],
    )


# Fitted scoring functions.


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


def __dir__() -> list[str]:
    return __all__
