"""The scores that a posterior hears, as arrays, and the model without differences between reviewers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.verify.passes import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.tables import Pair, Table

#: The least noise variance of standardised scores.
LEAST_NOISE = 1e-4
#: Who gives equal scores that by chance were rarer than that is not heard, where at most one in so many is like that.
BY_CHANCE, ONE_IN = 0.01, 10


class Heard(NamedTuple):
    """All scores, higher is better, with codes of reviewers and items, shapes (E,), who is heard, and the problem."""

    who: IntArray
    what: IntArray
    score: FloatArray
    kept: BoolArray
    problem: Problem


def heard_scores(scored: Table, weights: Mapping[Pair, float] | None) -> Heard:
    """Return the scores of a table that is not empty, with the weights of some reviews, 1 of the others."""
    people, papers = ({name: place for place, name in enumerate(names)} for names in (scored.reviewers, scored.items))
    who = np.array([people[reviewer] for reviewer, _ in scored.score])
    what = np.array([papers[item] for _, item in scored.score])
    sign = -1.0 if scored.lower_is_better else 1.0
    score = sign * np.array(list(scored.score.values()), np.float64)
    load = np.bincount(who, minlength=len(people))
    low, high = np.full(len(people), np.inf), np.full(len(people), -np.inf)
    np.minimum.at(low, who, score)
    np.maximum.at(high, who, score)
    idle = (load > 1) & (low == high) & (_equal(score) ** np.maximum(load - 1.0, 0.0) < BY_CHANCE)
    kept = ~(idle if idle.sum() * ONE_IN <= (load > 0).sum() else np.zeros_like(idle))[who]
    logs = np.zeros(who.size) if weights is None else np.log([weights.get(pair, 1.0) for pair in scored.score])
    own = score[kept]
    spread = float(own.std())
    unit = float(own.mean()), 1.0 if spread <= 1e-12 * np.abs(own).max() else spread
    rounding = np.pi / 3 * _equal(own) ** 2 + LEAST_NOISE
    sizes = len(people), len(papers)
    everything = np.ones(len(own), np.bool_)
    problem = Problem(
        who[kept], what[kept], (own - unit[0]) / unit[1], logs[kept], unit, rounding, sizes, _silent(sizes)
    )
    return Heard(who, what, score, kept, problem.only(everything))


def _silent(sizes: tuple[int, int]) -> FloatArray:
    return np.zeros((2, sizes[1]))


def _equal(score: FloatArray) -> float:
    """Return the probability that two scores are equal."""
    count = np.unique(score, return_counts=True)[1]
    return float((count * (count - 1.0)).sum()) / max(score.size * (score.size - 1.0), 1.0)


class Averages(NamedTuple):
    """``y = mean + slope x + e``, e of a variance ``noise``: the best of these, and its log evidence."""

    mean: float
    slope: float
    noise: float
    evidence: float


def fit_averages(what: IntArray, score: FloatArray, least_noise: float) -> Averages:
    """Fit the model in which reviewers do not differ, along the ratio of both variances."""
    total, count = np.bincount(what, score), np.bincount(what)
    count, average = count[count > 0], (total / np.maximum(count, 1))[count > 0]
    within = float((score**2).sum() - (count * average**2).sum())
    # Items of equally many scores go together.
    sizes, kind = np.unique(count, return_inverse=True)
    number, first, second = np.bincount(kind), np.bincount(kind, average), np.bincount(kind, average**2)

    def at(ratio: FloatArray) -> FloatArray:
        precision = sizes / (1 + sizes * ratio[:, None])
        mean = (precision * first).sum(axis=1) / (precision * number).sum(axis=1)
        square = second - 2 * mean[:, None] * first + mean[:, None] ** 2 * number
        squares = within + (precision * square).sum(axis=1)
        noise = np.maximum(squares / score.size, least_noise)
        log = (
            score.size * np.log(2 * np.pi * noise)
            + squares / noise
            + (number * np.log1p(sizes * ratio[:, None])).sum(axis=1)
        )
        return np.array([-log / 2, mean, noise])

    ratio = np.geomspace(1e-4, 1e4, 81)
    for _ in range(6):
        best = int(np.argmax(at(ratio)[0] - (np.log(ratio) / 2) ** 2 / 2))
        ratio = np.geomspace(ratio[max(best - 1, 0)], ratio[min(best + 1, ratio.size - 1)], 9)
    evidence, mean, noise = at(ratio)[:, 4].tolist()
    return Averages(mean, float(np.sqrt(ratio[4] * noise)), noise, evidence)
