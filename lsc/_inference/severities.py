"""Severity of each reviewer on each criterion, from a Gaussian mixed model of all scores of all reviews.

With z_ij the standardised scores of a review, the target's first::

    z_ij = u_i + b_j + e_ij    u_i ~ N(0, G) by paper,   b_j ~ N(0, B) by reviewer,   e_ij ~ N(0, S) by review

The covariances are those of :mod:`lsc._inference.criteria`: B from products of the scores of two papers by one
reviewer, as G from those of two reviewers of one paper. The conditional mean of b_j then shrinks the severity on each
criterion to that on the others, as far as severities correlate over reviewers, and to 0, as far as they are small.
Reviews may lack criteria.

Means are exact. Variances come from messages: papers and reviewers learn of each other's uncertainty, but not of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lsc._inference.criteria import Moments, moments
from reviewgraph._base import BoolArray, FloatArray, IntArray, Label, Result, counted

#: Passes over papers and reviewers, the change of a severity in standard deviations that ends them, and those of
#: variances.
MAX_PASSES, TOLERANCE, VARIANCE_PASSES = 500, 1e-4, 3
#: Correlation with the target, negated, from which a criterion falls with it.
TURNED = 0.1
#: Normal quantiles .95, of intervals, and .995: a reviewer is severe on a criterion of their own if 0 lies beyond.
WIDTH, NOTABLE = 1.6448536269514722, 2.5758293035489004


class Effects(NamedTuple):
    """Conditional means and covariances of the reviewers, shapes (M, C + 1) and (M, C + 1, C + 1), and B."""

    mean: FloatArray
    covariance: FloatArray
    population: FloatArray


def effects(
    reviewer: IntArray, item: IntArray, standard: FloatArray, found: Moments, population: FloatArray
) -> Effects:
    """Return the distribution of the effects of reviewers given all scores, O(E C^2) per pass.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,).
    standard
        Shape (E, C + 1), NaN where missing.
    found
        Covariances G of papers and S of reviews.
    population
        Covariance B of reviewers.
    """
    there = np.isfinite(standard)
    n_items, n_reviewers = int(item.max()) + 1, int(reviewer.max()) + 1
    of_paper, of_reviewer = _inverse(found.paper), _inverse(population)
    weight = _inverse_of_known(np.broadcast_to(found.review, (len(there), *found.review.shape)), there)
    shift = _times(weight, np.where(there, standard, 0.0))
    paper = _inverse(of_paper + _sums(item, weight, n_items))
    person = _inverse(of_reviewer + _sums(reviewer, weight, n_reviewers))
    mean = np.zeros((n_reviewers, there.shape[1]))
    for _ in range(MAX_PASSES):
        quality = _times(paper, _sums(item, shift - _times(weight, mean[reviewer]), n_items))
        before, mean = mean, _times(person, _sums(reviewer, shift - _times(weight, quality[item]), n_reviewers))
        if np.abs(mean - before).max() < TOLERANCE:
            break
    # A paper is known as well as the other reviews of it say, with the uncertainty of their reviewers; and so on.
    covariance = person
    for _ in range(VARIANCE_PASSES):
        told = _inverse_of_known(found.review + covariance[reviewer], there)
        others = _inverse((of_paper + _sums(item, told, n_items))[item] - told)
        told = _inverse_of_known(found.review + others, there)
        covariance = _inverse(of_reviewer + _sums(reviewer, told, n_reviewers))
    return Effects(mean, covariance, population)


def _inverse(matrices: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrices), np.float64)


def _inverse_of_known(matrices: FloatArray, there: BoolArray) -> FloatArray:
    """Return the inverses of the blocks of known criteria, 0 elsewhere, shapes (E, C + 1, C + 1)."""
    both = there[:, :, None] & there[:, None, :]
    inverse = _inverse(np.where(both, matrices, np.eye(there.shape[1])))
    return np.asarray(np.where(both, inverse, 0.0))


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _sums(code: IntArray, value: FloatArray, size: int) -> FloatArray:
    """Sum arrays by code, shape (size, ...)."""
    flat = value.reshape(len(value), -1)
    sums = np.column_stack([np.bincount(code, column, size) for column in flat.T])
    return np.asarray(sums.reshape(size, *value.shape[1:]), np.float64)


class Severities(NamedTuple):
    """Severities in points of each criterion, shapes (M, C + 1); NaN where a reviewer has no score of it.

    Attributes
    ----------
    mean, sd
        By how much the reviewer scores lower than a typical one, and its standard deviation.
    own, own_sd
        By how much more severe the reviewer is on this criterion than on theirs on average.
    """

    mean: FloatArray
    sd: FloatArray
    own: FloatArray
    own_sd: FloatArray


def severities(reviewer: IntArray, item: IntArray, columns: FloatArray) -> Severities:
    """Estimate severities from the columns of scores, shape (E, C + 1), the target first, NaN where missing.

    On criteria that fall with the target a reviewer is severe who scores high: there ``own`` compares in the direction
    of the target, but is in points of the criterion like ``mean``.
    """
    there = np.isfinite(columns)
    spread = np.nanstd(columns, axis=0)
    standard = (columns - np.nanmean(columns, axis=0)) / spread
    found = moments(reviewer, item, standard)
    # Directions by the scores of all papers and reviews together: those of papers alone may be near 0.
    together = found.paper + found.review
    size = np.sqrt(np.diag(together))
    sign = np.where(together[0] < -TURNED * size[0] * size, -1.0, 1.0)
    # Roles exchanged: the products of two papers of a reviewer.
    population = moments(item, reviewer, standard, sign=sign).paper
    mean, covariance, _ = effects(reviewer, item, standard, found, population)
    known = _sums(reviewer, there.astype(np.float64), len(mean)) > 0
    # A typical reviewer is the average over scores.
    typical = (np.where(there, mean[reviewer], 0.0)).sum(axis=0) / there.sum(axis=0)
    against = known * sign / np.maximum(known.sum(axis=1, keepdims=True), 1)
    contrast = np.eye(there.shape[1]) - sign[:, None] * against[:, None, :]
    variance = np.einsum("mci,mij,mcj->mc", contrast, covariance, contrast)
    own = np.einsum("mci,mi->mc", contrast, mean - typical)
    sd = np.sqrt(np.einsum("mcc->mc", covariance))
    values = (typical - mean, sd, -own, np.sqrt(np.maximum(variance, 0.0)))
    return Severities(*(np.where(known, spread * value, np.nan) for value in values))


@dataclass(frozen=True, eq=False, repr=False)
class CriterionSeverities(Result):
    """Severity of each reviewer on each score of the form, a row each: ``to_frame()``, ``to_dict()``.

    Attributes
    ----------
    reviewers, criteria
        Labels, and names of the scores, the target first.
    values
        Arrays of shape (M, C + 1).
    """

    reviewers: Sequence[Label]
    criteria: tuple[str, ...]
    values: Severities = field(repr=False)

    @property
    def notable(self) -> BoolArray:
        """Whether a reviewer is more or less severe on a criterion than on theirs on average: 99 % interval."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.values.own) > NOTABLE * self.values.own_sd)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return reviewer, criterion, severity with its 90 % interval, and the part beyond the reviewer's average."""
        who, what = (code.tolist() for code in np.nonzero(np.isfinite(self.values.mean)))
        mean, sd, own, own_sd = (value[who, what] for value in self.values)
        numbers = {
            "severity": mean,
            "interval_low": mean - WIDTH * sd,
            "interval_high": mean + WIDTH * sd,
            "own": own,
            "own_low": own - WIDTH * own_sd,
            "own_high": own + WIDTH * own_sd,
        }
        labels: dict[str, list[Any]] = {
            "reviewer": [self.reviewers[j] for j in who],
            "criterion": [self.criteria[c] for c in what],
        }
        return labels | {name: value.tolist() for name, value in numbers.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return a list of objects, intervals as pairs."""
        columns = self.to_columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row in rows:
            row["interval"] = [row.pop("interval_low"), row.pop("interval_high")]
            row["own_interval"] = [row.pop("own_low"), row.pop("own_high")]
        return {"severities": rows}

    def headline(self) -> str:
        """Return the number of reviewers who are unusual on one criterion."""
        unusual = int(self.notable.any(axis=1).sum())
        scores = counted(len(self.criteria), "criterion", "criteria")
        return f"{scores}, {counted(unusual, 'reviewer')} more severe or lenient on one than on the others"
