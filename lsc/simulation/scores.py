"""Scoring functions drawn at random: linear, convex, concave and arbitrary monotone, or a kind for each reviewer.

All have the form ``(reviewer (E,), perceived (E,), rng) -> score (E,)`` and draw one function a reviewer, with the
distributions of Appendix B of [Tan21]_; where its text leaves weights open, those of its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Draws a scoring function for every reviewer and applies it: ``(reviewer (E,), perceived (E,), rng) -> scores (E,)``.
Scoring: TypeAlias = Callable[[IntArray, FloatArray, np.random.Generator], FloatArray]

#: Exponents of the powers whose mixtures are the paper's convex and concave functions.
CONVEX_POWERS = (2.0, 2.5, 3.0)
CONCAVE_POWERS = (1 / 2, 1 / 3, 1 / 4)
#: Range of an arbitrary monotone function.
SCORE_RANGE = (0.0, 10.0)


def linear_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Score linearly: slope U(0, 2) and offset N(0, 2) for each reviewer.

    >>> scores = linear_scores(np.array([0, 0]), np.array([1.0, 2.0]), np.random.default_rng(0))
    >>> bool(0 <= scores[1] - scores[0] <= 2)
    True
    """
    size = _size(reviewer)
    slope, offset = rng.uniform(0.0, 2.0, size), rng.normal(0.0, 2.0, size)
    return slope[reviewer] * perceived + offset[reviewer]


def convex_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Score by ``a c1 x^2 + b c2 x^2.5 + c c3 x^3``, c1..c3 ~ U(0, 1), the weights a, b, c as in the paper's code.

    >>> scores = convex_scores(np.zeros(3, int), np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
    >>> bool(0 < scores[1] - scores[0] < scores[2] - scores[1])
    True
    """
    size = _size(reviewer)
    height = rng.uniform(0.0, 1.0, (len(CONVEX_POWERS), size))
    return _powers(reviewer, perceived, CONVEX_POWERS, height * _weights(size, rng))


def concave_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Score by ``a p2 x^(1/2) + b p3 x^(1/3) + c p4 x^(1/4)``, p_q ~ U(1, 10 / 10^(1/q)), the weights as for convex.

    >>> scores = concave_scores(np.zeros(3, int), np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
    >>> bool(scores[1] - scores[0] > scores[2] - scores[1] > 0)
    True
    """
    size = _size(reviewer)
    most = 10.0 ** (1.0 - np.array(CONCAVE_POWERS))[:, None]
    height = rng.uniform(1.0, most, (len(CONCAVE_POWERS), size))
    return _powers(reviewer, perceived, CONCAVE_POWERS, height * _weights(size, rng))


def monotone_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Score by as many sorted U(0, 10) values as a reviewer has items, in the order of perceived quality, ties by row.

    >>> scores = monotone_scores(np.zeros(3, int), np.array([3.0, 1.0, 2.0]), np.random.default_rng(0))
    >>> bool(scores[1] < scores[2] < scores[0])
    True
    """
    drawn = rng.uniform(*SCORE_RANGE, reviewer.size)
    score = np.empty(reviewer.size)
    score[np.lexsort((perceived, reviewer))] = drawn[np.lexsort((drawn, reviewer))]
    return score


SCORINGS: Mapping[str, Scoring] = {
    "linear": linear_scores,
    "convex": convex_scores,
    "concave": concave_scores,
    "monotone": monotone_scores,
}


def scores_by_kind(kinds: Sequence[str]) -> Scoring:
    """Return the scoring in which reviewer j's function is of kind ``kinds[j]``.

    Parameters
    ----------
    kinds
        For each reviewer ``"linear"``, ``"convex"``, ``"concave"`` or ``"monotone"``: names of hypotheses too.

    Raises
    ------
    InputError
        If a kind is none of these, or the scoring meets a reviewer beyond the last kind.

    Examples
    --------
    >>> scoring = scores_by_kind(["linear", "convex"])
    >>> scoring(np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 1.0, 2.0]), np.random.default_rng(0)).shape
    (4,)
    """
    wrong = [kind for kind in kinds if kind not in SCORINGS]
    if wrong:
        message = f"kinds: expected each to be one of {', '.join(SCORINGS)}, found {wrong[0]!r}"
        raise InputError(message)

    def scoring(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        if _size(reviewer) > len(kinds):
            message = f"kinds: expected one for each of {_size(reviewer)} reviewers, found {len(kinds)}"
            raise InputError(message)
        score = np.empty(reviewer.size)
        kind = np.array(kinds, dtype=object)[reviewer]
        for name, function in SCORINGS.items():
            if name in kinds:
                rows = np.flatnonzero(kind == name)
                score[rows] = function(reviewer[rows], perceived[rows], rng)
        return score

    return scoring


def draw_kinds(shares: Mapping[str, float], n_reviewers: int, seed: int | np.random.Generator) -> list[str]:
    """Give each reviewer a kind, in random order, so that the counts come as near to the shares as they can.

    Parameters
    ----------
    shares
        Weight of each kind, at least 0, not all 0.

    Raises
    ------
    InputError
        If a share is negative or all are 0.

    Examples
    --------
    >>> sorted(draw_kinds({"linear": 1, "monotone": 3}, 4, 0))
    ['linear', 'monotone', 'monotone', 'monotone']
    """
    weight = np.array(list(shares.values()), np.float64)
    if not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        message = f"shares: expected weights of at least 0, not all 0, found {dict(shares)}"
        raise InputError(message)
    last = np.rint(np.cumsum(weight) / weight.sum() * n_reviewers).astype(np.int64)
    kinds = np.repeat(np.array(list(shares), dtype=object), np.diff(last, prepend=0))
    return [str(kind) for kind in np.random.default_rng(seed).permutation(kinds)]


def _size(reviewer: IntArray) -> int:
    return int(reviewer.max(initial=-1)) + 1


def _weights(size: int, rng: np.random.Generator) -> FloatArray:
    """Weights (a, b, c), shape (3, size): a ~ U(0, 1), a + b ~ U(a, 1), c the rest."""
    first = rng.uniform(0.0, 1.0, size)
    second = rng.uniform(first, 1.0)
    return np.array([first, second - first, 1.0 - second])


def _powers(reviewer: IntArray, perceived: FloatArray, powers: Sequence[float], coefficient: FloatArray) -> FloatArray:
    terms = np.maximum(perceived, 0.0) ** np.array(powers)[:, None]
    score: FloatArray = (coefficient[:, reviewer] * terms).sum(axis=0)
    return score
