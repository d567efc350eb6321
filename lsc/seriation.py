"""Matrix seriation: the same calibration with the noise outside the scoring function (Theorem 4.2 of [Tan21]_).

::

    minimise  sum_ij (y_ij - f_j(x_i))^2   over x and non-decreasing f_j

For a given order of the items, each reviewer's best f_j is the isotonic regression of their scores in that order; the
problem is the choice among N! orders. Programme (2), with the noise inside, is convex; this one is NP-hard, even if
every reviewer scores two items 0 and 1 (minimum feedback arc set, [Karp72]_).
"""

from __future__ import annotations

__all__ = [
    "Seriation",
    "seriate",
]

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lsc.baselines import average
from lsc.calibration import calibrate
from lsc.estimate import Estimate
from reviewgraph._base import TIE, FloatArray, order_of
from reviewgraph.table import Reviews, ReviewsLike, as_reviews

#: Number of perturbations of the local search, and of items that each moves to random places.
KICKS = 60
KICKED = 3


@dataclass(frozen=True, eq=False, repr=False)
class Seriation(Estimate):
    """An order of the items, as qualities 1 to N for the items that have a score, and its objective.

    Parameters
    ----------
    objective
        Sum of squared deviations of the scores from the best monotone fits in this order.
    fitted
        Shape (E,): the fitted score of each review, NaN where planned.
    """

    objective: float
    fitted: FloatArray


def seriate(reviews: ReviewsLike, *, seed: int | np.random.Generator = 0, kicks: int = KICKS) -> Seriation:
    """Find an order of the items with small isotonic residuals of all reviewers' scores.

    Three orders, by average and by Least Square Calibration with linear and with monotone scoring functions, are
    improved by moving one item at a time to its best place until no move helps; the best is perturbed and improved
    again, ``kicks`` times. The result is a local optimum, not necessarily global. A pass over all items takes time
    O(sum_i sum_{j reviews i} k_j^2) for loads k_j.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    seed
        Seed or generator of the perturbations.
    kicks
        Number of perturbations, 0 or more.

    Returns
    -------
    Seriation
        The order and its sum of squared residuals.

    Examples
    --------
    >>> rows = [("ann", "p1", 1.0), ("ann", "p2", 2.0), ("bob", "p2", 5.0), ("bob", "p3", 9.0)]
    >>> result = seriate(Reviews(rows))
    >>> result.ranking(), result.objective
    (['p3', 'p2', 'p1'], 0.0)
    """
    reviews = as_reviews(reviews)
    rng = np.random.default_rng(seed)
    scored = reviews.only_scored()
    starts = [average(scored)]
    if scored.n_reviews:
        starts += [calibrate(scored, "linear"), calibrate(scored, "monotone")]
    search = _Search(scored)
    best, *further = (search.improved(order_of(start.quality)) for start in starts)
    for order in further:
        best = search.better(order, best)
    for _ in range(kicks if scored.n_items > 2 else 0):
        if search.cost(best) <= search.least_gain:
            break
        best = search.better(search.improved(_kicked(best, rng)), best)
    place = np.empty(reviews.n_items)
    place[best] = np.arange(1, reviews.n_items + 1)
    fitted = np.full(reviews.n_reviews, np.nan)
    fitted[reviews.scored] = _fits(scored, place)
    objective = float(((reviews.score[reviews.scored] - fitted[reviews.scored]) ** 2).sum())
    quality = np.where(scored.reviews_per_item > 0, place, np.nan)
    return Seriation(reviews, quality, "seriation", objective, fitted)


def _fits(scored: Reviews, place: FloatArray) -> FloatArray:
    """Return each reviewer's isotonic regression of their scores by ``place``, ties by index, shape (E,)."""
    fitted = np.empty(scored.n_reviews)
    for start, stop in zip(scored.reviewer_start, scored.reviewer_start[1:], strict=False):
        rows = start + np.argsort(place[scored.item[start:stop]], kind="stable")
        fitted[rows] = _isotonic(scored.score[rows].tolist())
    return fitted


def _isotonic(score: Sequence[float]) -> list[float]:
    """Return the non-decreasing sequence nearest to ``score``, by pooling adjacent violators."""
    total: list[float] = []  # blocks of equal fit, by their sums and sizes
    size: list[int] = []
    for value in score:
        total.append(value)
        size.append(1)
        # the mean of the last block must exceed the one before, or both are one
        while len(total) > 1 and total[-2] * size[-1] >= total[-1] * size[-2]:
            last = total.pop()
            number = size.pop()
            total[-1] += last
            size[-1] += number
    return [value / number for value, number in zip(total, size, strict=True) for _ in range(number)]


def _deviation(score: Sequence[float]) -> float:
    return sum((y - z) ** 2 for y, z in zip(score, _isotonic(score), strict=True))


def _kicked(order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move a few items to random places."""
    moved = rng.choice(order, min(KICKED, order.size), replace=False)
    rest = [item for item in order.tolist() if item not in set(moved.tolist())]
    for item in moved.tolist():
        rest.insert(int(rng.integers(len(rest) + 1)), item)
    return np.array(rest)


class _Search:
    """Local search over orders, which are arrays of items from worst to best."""

    def __init__(self, scored: Reviews) -> None:
        self.scored = scored
        self.score_of = [
            dict(zip(scored.items_of(j).tolist(), scored.score[start:stop].tolist(), strict=True))
            for j, (start, stop) in enumerate(zip(scored.reviewer_start, scored.reviewer_start[1:], strict=False))
        ]
        self.least_gain = TIE * float((scored.score**2).sum())

    def cost(self, order: np.ndarray) -> float:
        place = np.empty(order.size)
        place[order] = np.arange(order.size)
        return float(((self.scored.score - _fits(self.scored, place)) ** 2).sum())

    def better(self, order: np.ndarray, best: np.ndarray) -> np.ndarray:
        """Return the first order if it costs less than the second, otherwise that."""
        return order if self.cost(order) < self.cost(best) - self.least_gain else best

    def improved(self, order: np.ndarray) -> np.ndarray:
        """Move items one at a time to their best places until no move helps."""
        place = np.empty(order.size)
        place[order] = np.arange(order.size)
        moving = True
        while moving:
            moving = False
            for item in range(order.size):
                target = self._best_place(item, place)
                if target is not None:
                    place[item] = target
                    place[np.argsort(place, kind="stable")] = np.arange(order.size)
                    moving = True
        return np.argsort(place, kind="stable")

    def _best_place(self, item: int, place: np.ndarray) -> float | None:
        """Return the best place of an item, if it lowers the cost.

        The cost changes only if the item passes another item of one of its reviewers.
        """
        reviewers = self.scored.reviewers_of(item).tolist()
        scored_too = [sorted((i for i in self.score_of[j] if i != item), key=place.__getitem__) for j in reviewers]
        marks = sorted({float(place[i]) for row in scored_too for i in row})
        if not marks:
            return None
        gaps = [marks[0] - 0.5, *((low + high) / 2 for low, high in pairwise(marks))]
        gaps += [marks[-1] + 0.5]
        now = sum(1 for mark in marks if mark < place[item])
        total = [0.0] * len(gaps)
        for j, row in zip(reviewers, scored_too, strict=True):
            score = [self.score_of[j][i] for i in row]
            slots = [
                _deviation([*score[:slot], self.score_of[j][item], *score[slot:]]) for slot in range(len(score) + 1)
            ]
            for number, gap in enumerate(gaps):
                total[number] += slots[sum(1 for i in row if place[i] < gap)]
        least = min(total) + self.least_gain
        best = next(number for number, cost in enumerate(total) if cost <= least)
        if total[best] >= total[now] - self.least_gain:
            return None
        # Between two neighbouring places there may be items that share no reviewer; all places there cost the same.
        return gaps[best] if gaps[best] % 1 else gaps[best] + 0.25


def __dir__() -> list[str]:
    return __all__
