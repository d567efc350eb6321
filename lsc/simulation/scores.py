"""Scoring functions drawn at random: those of one hypothesis class, or of a class for each reviewer.

All have the form ``(reviewer (E,), perceived (E,), rng) -> score (E,)`` and draw one function per reviewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from lsc.model.hypotheses import Concave, Convex, Linear, Monotone, simulated
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Draws a scoring function for every reviewer and applies it: ``(reviewer (E,), perceived (E,), rng) -> scores (E,)``.
Scoring: TypeAlias = Callable[[IntArray, FloatArray, np.random.Generator], FloatArray]

linear_scores: Scoring = Linear.draw_scores
convex_scores: Scoring = Convex.draw_scores
concave_scores: Scoring = Concave.draw_scores
monotone_scores: Scoring = Monotone.draw_scores

#: By name of the hypothesis class.
SCORINGS: Mapping[str, Scoring] = {kind.name: kind.draw_scores for kind in simulated()}


def scores_by_kind(kinds: Sequence[str]) -> Scoring:
    """Return the scoring in which reviewer j's function is of kind ``kinds[j]``.

    Parameters
    ----------
    kinds
        For each reviewer the name of a hypothesis class, of those that can be simulated: ``"linear"``, ``"convex"``,
        ``"concave"`` or ``"monotone"``.

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
        size = 1 + int(reviewer.max(initial=-1))
        if size > len(kinds):
            message = f"kinds: expected one for each of {size} reviewers, found {len(kinds)}"
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
