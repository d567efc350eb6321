"""One score per review from its target and its criteria.

Scores of one review share a halo, so criteria are not reviews of their own. The target of a review is regressed on the
mean scores of the k - 1 other reviews of its item, offsets of reviewers removed. The weights estimate those of the best
linear predictor, (G + S / (k - 1))^-1 G_0, with the covariances G of items and S of reviews of one item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base import TIE, BoolArray, FloatArray, IntArray, snapped
from reviewgraph.table import Reviews

#: Smallest number of reviews whose items have others, ridge of the regression, and smallest share of a variance.
LEAST_REVIEWS = 50
RIDGE = 0.01
LEAST = 0.02
#: Passes of the additive fit, and its pseudo-scores of 0 per item and per reviewer.
PASSES = 8
OF_ITEM = 1.0
OF_REVIEWER = 3.0


class Joined(NamedTuple):
    """Scores of reviews (E,) in points of the target, and ``parts`` (E, C), points of each criterion in use.

    ``weights`` (C,) are points per standard deviation of each. ``gain`` is the expected relative decrease of the
    squared error in predicting targets of other reviews, with its standard error; NaN with too few reviews.
    """

    score: FloatArray
    parts: FloatArray
    weights: FloatArray
    names: tuple[str, ...]
    rejected: tuple[str, ...]
    gain: float
    gain_error: float

    def __repr__(self) -> str:
        """Return which criteria are used, and which are not."""
        return f"<Joined: {self.words}>"

    @property
    def used(self) -> bool:
        """Whether criteria are joined with the score."""
        return bool(self.names)

    @property
    def words(self) -> str:
        """Which criteria are used, and which are not."""
        groups = {"used": self.names, "not used": self.rejected}
        return "; ".join(f"criteria {verb}: {', '.join(map(repr, names))}" for verb, names in groups.items() if names)

    def moves(self, reviews: Reviews) -> dict[str, FloatArray]:
        """Return the points by which criteria move the scores of the reviews, the target's own weight first."""
        target = self.score - self.parts.sum(axis=1) - reviews.score[reviews.scored]
        moves = {reviews.target or "score": target, **dict(zip(self.names, self.parts.T, strict=True))}
        return moves if self.used else {}

    def with_names(self, names: Mapping[str, str]) -> Joined:
        """Return the same with other names of the criteria."""
        rejected = tuple(names[name] for name in self.rejected)
        return self._replace(names=tuple(names[name] for name in self.names), rejected=rejected)

    def to_dict(self, target: str | None) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of the criteria."""
        return {
            "target": target,
            "used": [*self.names],
            "rejected": [*self.rejected],
            "weights": dict(zip(self.names, self.weights.tolist(), strict=True)),
            "gain": None if np.isnan(self.gain) else self.gain,
            "gain_error": None if np.isnan(self.gain_error) else self.gain_error,
        }


def join(reviewer: IntArray, item: IntArray, target: FloatArray, criteria: Mapping[str, FloatArray]) -> Joined:
    """Join criteria with the target as far as they predict targets of other reviews beyond chance; O(E C^2).

    Codes and scores have shape (E,); scores of criteria are NaN where missing.
    """
    alone = Joined(target, np.zeros((target.size, 0)), np.zeros(0), (), tuple(criteria), np.nan, np.nan)
    standard, spread = _standardised(np.column_stack([target, *criteria.values()]))
    known = np.isfinite(standard)
    offset = _offsets(reviewer, item, standard)[reviewer]
    deviation = np.where(known, standard - offset, 0.0)
    # A missing score is predicted from the target of the review.
    squares = (known * deviation[:, :1] ** 2).sum(axis=0)
    slope = deviation[:, 0] @ deviation / np.maximum(squares, LEAST)
    deviation = np.where(known, deviation, slope * deviation[:, :1])
    mean_of_others = _mean_of_others(item, deviation)
    several = np.isfinite(mean_of_others[:, 0])
    if several.sum() < LEAST_REVIEWS or np.isinf(spread[0]):
        return alone
    response = deviation[several, 0]
    predictors = mean_of_others[several]
    product = predictors.T @ predictors
    product[1:, 1:] += RIDGE * np.trace(product) / len(product) * np.eye(len(criteria))
    # Regression on the target alone, and by how much its weights change with the criteria.
    plain = np.zeros(len(product))
    plain[0] = predictors[:, 0] @ response / product[0, 0]
    error = response - predictors @ plain
    change = np.linalg.solve(product, predictors.T @ error)
    # James and Stein: of the decrease of squared error, c' P^-1 c with c = predictors' error, the share stays that is
    # beyond chance, trace(P^-1 var c) with the variance of c between items; less what the target alone has of it.
    scatter = _sums(item[several], predictors * error[:, None])
    chance = np.trace(np.linalg.solve(product, scatter.T @ scatter)) - scatter[:, 0] @ scatter[:, 0] / product[0, 0]
    decrease = float(error @ predictors @ change)
    kept = max(1.0 - chance / decrease, 0.0) if decrease > TIE else 0.0
    weights = plain + kept * change
    joined = deviation[several] @ weights
    covariance = float(joined @ predictors[:, 0])
    if kept == 0.0 or covariance <= 0.0:
        return alone._replace(gain=0.0)
    # In units of the target: the variance of the joined quality becomes its covariance with that of the target. So the
    # joined score varies no more than the target does.
    variance = max(float(joined @ predictors @ weights), TIE)
    largest = float(np.sqrt(response @ response / (joined @ joined)))
    points = spread[0] * min(covariance / variance, largest) * weights
    parts = np.where(known, standard, 0.0) * points
    gained = np.bincount(item[several], error**2 - (response - predictors @ weights) ** 2)
    used = points[1:] != 0.0
    return Joined(
        # Reviews with the same scores have the same joined score.
        score=snapped(target.mean() + (offset + deviation) @ points),
        parts=parts[:, 1:][:, used],
        weights=points[1:][used],
        names=tuple(np.array([*criteria], object)[used]),
        rejected=tuple(np.array([*criteria], object)[~used]),
        gain=kept**2 * decrease / float(error @ error),
        gain_error=float(np.sqrt(gained @ gained) / (error @ error)),
    )


def _standardised(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns of mean 0 and variance 1, and their spread; 0 and infinite if all scores are equal."""
    count = np.maximum(np.isfinite(columns).sum(axis=0), 1)
    mean = np.nansum(columns, axis=0) / count
    spread = np.sqrt(np.nansum((columns - mean) ** 2, axis=0) / count)
    spread = np.where(spread > TIE * np.abs(mean), spread, np.inf)
    return (columns - mean) / spread, spread


def _offsets(reviewer: IntArray, item: IntArray, scores: FloatArray) -> FloatArray:
    """Return the offsets of reviewers of a shrunken additive fit, shape (M, C)."""
    known = np.isfinite(scores)
    of_item = _sums(item, known) + OF_ITEM
    of_reviewer = _sums(reviewer, known) + OF_REVIEWER
    offset = np.zeros(of_reviewer.shape)
    for _ in range(PASSES):
        quality = _sums(item, np.where(known, scores - offset[reviewer], 0.0)) / of_item
        offset = _sums(reviewer, np.where(known, scores - quality[item], 0.0)) / of_reviewer
    return offset


def _mean_of_others(item: IntArray, scores: FloatArray) -> FloatArray:
    """Return the mean scores of the other reviews of the item, NaN without one."""
    known = np.isfinite(scores)
    filled = np.where(known, scores, 0.0)
    count = _sums(item, known)[item] - known
    return np.where(count > 0, (_sums(item, filled)[item] - filled) / np.maximum(count, 1.0), np.nan)


def _sums(code: IntArray, values: FloatArray | BoolArray) -> FloatArray:
    return np.column_stack([np.bincount(code, column) for column in values.T])
