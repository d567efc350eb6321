"""Covariates of papers and of reviewers, whose shrunken effects are learned with the population of reviewers.

::

    x      ~ N(Z g, K^-1)                       quality of papers, K as without covariates
    b_j    ~ N(g0 + g1 a_j + W_j d, omega^2)    offset of reviewers
    g, d   ~ N(0, t_f^2) for each factor f

A factor is a column of numbers, the levels of a category, or the authors' own rankings. Effects are at their mode given
the variances t_f^2, and both are learned in the steps of EM. The evidence integrates the effects out by Laplace's
method; their information counts papers and reviewers only as far as scores determine them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base import FloatArray

#: Bounds and start of the variances t^2, in squared units of unexplained quality, or of standardised scores.
LEAST = 1e-8
START = 0.05
MOST = 25.0

Kind: TypeAlias = Literal["number", "category", "ranking"]


class Factor(NamedTuple):
    """A covariate: columns whose effects share a variance.

    ``design`` (N or M, L): a column per level, one for a number or a ranking; rows of unknown values, and the mean of
    each column over papers or reviewers with a score, are 0. ``levels``: names of the columns. ``known``: number of
    papers or reviewers with a value. ``of_items``: whether it is one of papers. The effect of a ranking is not
    negative.
    """

    name: str
    kind: Kind
    of_items: bool
    levels: tuple[str, ...]
    design: FloatArray
    known: int


@dataclass(frozen=True, eq=False)
class Effects:
    """Factors with their effects, variances and covariance.

    Attributes
    ----------
    factors
        Those in use.
    mean, covariance
        Shapes (F,) and (F, F): effects, factor by factor; on the internal scale of qualities for papers, in
        standardised scores for reviewers.
    variance
        Shape (number of factors,): t^2.
    """

    factors: tuple[Factor, ...]
    mean: FloatArray
    covariance: FloatArray
    variance: FloatArray

    @classmethod
    def start(cls, factors: Sequence[Factor]) -> Effects:
        """Return effects of 0."""
        size = sum(factor.design.shape[1] for factor in factors)
        return cls(tuple(factors), np.zeros(size), np.zeros((size, size)), np.full(len(factors), START))

    def slices(self) -> list[slice]:
        """Return the entries of each factor."""
        ends = np.cumsum([0, *(factor.design.shape[1] for factor in self.factors)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def expected(self, size: int, *, of_items: bool) -> FloatArray:
        """Return the prior means of papers, or of offsets of reviewers, shape (N,) or (M,)."""
        total = np.zeros(size)
        for factor, entries in zip(self.factors, self.slices(), strict=True):
            if factor.of_items == of_items:
                total += factor.design @ self.mean[entries]
        return total

    def improved(self, target: FloatArray, weight: FloatArray, unit: float, *, of_items: bool) -> Effects:
        """Return the mode given the expected quality of papers, or offset of reviewers, and the next variances.

        ``weight`` is the share of each that scores determine, 0 without a score, and ``unit`` the variance about the
        prior means: mode = argmin sum_i (target_i - Z_i g)^2 / unit + sum_f |g_f|^2 / t_f^2 over those with a score.
        """
        places = [place for place, factor in enumerate(self.factors) if factor.of_items == of_items]
        if not places:
            return self
        slices = self.slices()
        entries = np.concatenate([np.arange(slices[place].start, slices[place].stop) for place in places])
        design = np.concatenate([self.factors[place].design for place in places], axis=1)
        shrinkage = np.repeat(1 / self.variance[places], [self.factors[place].design.shape[1] for place in places])
        known = weight > 0
        complete = design[known].T @ design[known] / unit + np.diag(shrinkage)
        informed = (design * weight[:, None]).T @ design / unit + np.diag(shrinkage)
        mean = self.mean.copy()
        covariance = self.covariance.copy()
        variance = self.variance.copy()
        mean[entries] = np.linalg.solve(complete, design[known].T @ target[known] / unit)
        covariance[np.ix_(entries, entries)] = np.linalg.inv(informed)
        for place in places:
            effects = slices[place]
            if self.factors[place].kind == "ranking":
                mean[effects] = np.maximum(mean[effects], 0.0)
            square = (mean[effects] ** 2 + np.diag(covariance)[effects]).mean()
            variance[place] = min(max(float(square), LEAST), MOST)
        return replace(self, mean=mean, covariance=covariance, variance=variance)

    def rescaled(self, spread: float) -> Effects:
        """Return the effects when qualities are divided by ``spread``."""
        by_factor = np.array([1 / spread if factor.of_items else 1.0 for factor in self.factors])
        by_entry = np.repeat(by_factor, [factor.design.shape[1] for factor in self.factors])
        return replace(
            self,
            mean=self.mean * by_entry,
            covariance=self.covariance * np.outer(by_entry, by_entry),
            variance=np.maximum(self.variance * by_factor**2, LEAST),
        )

    @property
    def log_prior(self) -> float:
        """Log of the prior of the effects over the height of their posterior: what integrating them out adds."""
        prior = np.repeat(self.variance, [factor.design.shape[1] for factor in self.factors])
        _, volume = np.linalg.slogdet(self.covariance / np.sqrt(np.outer(prior, prior)))
        return float(0.5 * volume - 0.5 * (self.mean**2 / prior).sum())
