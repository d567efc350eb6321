"""Joint distribution of qualities: draws and differences of papers that share reviewers.

Expectation propagation gives marginal means and variances. Correlations come from the model linearised around them:
reviewer j's scores y = b + a x + e give their papers the precision a^2 V^-1, V = S + U U', S the noise and U with
columns omega and (x + g1) sd(a). Summed over reviewers, with the prior: Q = D - W W', D diagonal, W sparse. Draws have
these correlations and the marginal variances of expectation propagation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.beliefs import Posterior
from reviewgraph._base import FloatArray, IntArray

if TYPE_CHECKING:
    import scipy.sparse

#: Largest number of items for which Q is factorised; above, conjugate gradients.
DENSE = 2500
#: Relative tolerance of conjugate gradients for one difference, and for draws (sampling noise dominates); step limit.
ACCURACY = 1e-6
ROUGH_ACCURACY = 1e-3
MAX_STEPS = 2000
#: Columns solved together.
BATCH = 64


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint distribution of the items with a score; build it once for many draws or differences.

    ``item`` (n,): codes; ``diagonal`` (n,) and ``factor`` (n, columns): D and W of Q = D - W W'. Of the linearised
    model, one row per review in use: ``who``, ``what``: reviewer and place of the item; ``precision``: a^2 / s^2;
    ``noise``: s^2; ``design`` (E, 2): U; ``half`` (E, 2): U C^(1/2), C = (s^2 I + U'U)^-1. ``likeness``: kappa / dbar.
    """

    posterior: Posterior
    item: IntArray
    diagonal: FloatArray
    factor: scipy.sparse.csr_array
    who: IntArray
    what: IntArray
    precision: FloatArray
    noise: FloatArray
    design: FloatArray
    half: FloatArray
    likeness: float

    @cached_property
    def _cholesky(self) -> FloatArray:
        wide = self.factor @ self.factor.T
        return np.linalg.cholesky(np.diag(self.diagonal) - wide.toarray())

    def product(self, x: FloatArray) -> FloatArray:
        """Return Q x, shapes (n, columns)."""
        return np.asarray(self.diagonal[:, None] * x - self.factor @ (self.factor.T @ x))

    def solve(self, right: FloatArray, accuracy: float = ACCURACY) -> FloatArray:
        """Return Q^-1 times columns, shapes (n, columns)."""
        if self.item.size <= DENSE:
            from scipy.linalg import cho_solve

            return np.asarray(cho_solve((self._cholesky, True), right))
        return conjugate_gradients(self.product, right, self.diagonal, accuracy)

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw qualities jointly, shape (n, N); NaN for items without a score."""
        quality = np.full((n, self.posterior.mean.size), np.nan)
        mean = self.posterior.mean[self.item]
        variance = self.posterior.variance[self.item]
        deviations = [self._deviations(min(BATCH, n - first), rng) for first in range(0, n, BATCH)]
        if deviations:
            deviation = np.concatenate(deviations, axis=1)
            standard = deviation * np.sqrt(variance / self._variances(deviation))[:, None]
            quality[:, self.item] = (mean[:, None] + standard).T
        return self.posterior.location + self.posterior.scale * quality

    def _deviations(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw from N(0, Q^-1), shape (items, n)."""
        if self.item.size <= DENSE:
            from scipy.linalg import solve_triangular

            normal = rng.standard_normal((self.item.size, n))
            return np.asarray(solve_triangular(self._cholesky, normal, lower=True, trans="T"))
        # Q^-1 times a draw from N(0, Q) is one from N(0, Q^-1).
        return self.solve(self._perturbation(n, rng), ROUGH_ACCURACY)

    def _variances(self, deviation: FloatArray) -> FloatArray:
        """Return the diagonal of Q^-1: exact, or from draws.

        Each draw contributes the conditional mean of a paper given all others; ``1 / Q_ii`` is added exactly (Siden,
        Lindgren, Bolin and Villani 2018).
        """
        if self.item.size <= DENSE:
            from scipy.linalg.lapack import dtrtri

            inverse, _ = dtrtri(self._cholesky, lower=1)
            return np.asarray((inverse**2).sum(axis=0))
        precision = self.diagonal - np.asarray((self.factor**2).sum(axis=1)).ravel()
        conditional_mean = deviation - self.product(deviation) / precision[:, None]
        return np.asarray(1 / precision + (conditional_mean**2).mean(axis=1))

    def _perturbation(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw from N(0, Q), shape (items, n), as a sum of independent terms, one per part of Q."""
        import scipy.sparse

        E = self.who.size
        M = self.posterior.slope.size
        rows = np.arange(E)
        to_item = scipy.sparse.csr_array((np.ones(E), (self.what, rows)), (self.item.size, E))
        to_reviewer = scipy.sparse.csr_array((np.ones(E), (self.who, rows)), (M, E))
        # a V^-1 z with z ~ N(0, V): precision a^2 V^-1.
        z = np.sqrt(self.noise)[:, None] * rng.standard_normal((E, n))
        for column in range(2):
            z += self.design[:, column, None] * rng.standard_normal((M, n))[self.who]
        inside = z.copy()
        for column in range(2):
            half = self.half[:, column, None]
            inside -= half * (to_reviewer @ (half * z))[self.who]
        inside *= np.sqrt(self.precision / self.noise)[:, None]
        if self.likeness:
            # The similarity of papers: deviations from the mean of each reviewer.
            z = rng.standard_normal((E, n))
            z -= ((to_reviewer @ z) / np.maximum(to_reviewer.sum(axis=1), 1)[:, None])[self.who]
            inside += np.sqrt(self.likeness) * z
        prior = np.sqrt(self.posterior.prior) * rng.standard_normal((self.item.size, n))
        return np.asarray(to_item @ inside + prior)

    def correlation(self, first: int, second: int) -> float:
        """Return the correlation of two qualities of items with a score."""
        position = np.searchsorted(self.item, [first, second])
        unit = np.zeros((self.item.size, 2))
        unit[position, [0, 1]] = 1.0
        covariance = self.solve(unit)[position]
        return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def joint(posterior: Posterior) -> Joint:
    """Linearise the model around a posterior; O(E)."""
    import scipy.sparse

    item = np.flatnonzero(np.isfinite(posterior.mean))
    rows = posterior.used
    who = posterior.reviewer[rows]
    code = posterior.item[rows]
    what = np.searchsorted(item, code)
    n_reviewers = posterior.slope.size
    slope = posterior.slope[who]
    noise = posterior.noise_variance[who]
    load = np.bincount(who, minlength=n_reviewers)[who]
    design = np.zeros((who.size, 2))
    likeness = 0.0
    if posterior.population is not None:
        population = posterior.population
        design[:, 0] = population.omega
        design[:, 1] = (posterior.mean[code] + population.g1) * slope * population.tau
        likeness = posterior.kappa / float((1 - 1 / load).sum() / np.unique(what).size) if posterior.kappa else 0.0

    # C^(1/2) from the eigenvectors of s^2 I + U'U, 2 by 2 for each reviewer.
    square = np.empty((n_reviewers, 2, 2))
    for first in range(2):
        for second in range(2):
            square[:, first, second] = np.bincount(who, design[:, first] * design[:, second], n_reviewers)
    level = np.where(np.isfinite(posterior.noise_variance), posterior.noise_variance, 1.0)
    value, vector = np.linalg.eigh(square + level[:, None, None] * np.eye(2))
    root = vector / np.sqrt(value)[:, None, :]
    half = np.einsum("ep,epq->eq", design, root[who])

    # D: precisions of the reviews, by item. W: for each reviewer two columns a / s U C^(1/2), and one of the prior,
    # sqrt(kappa / (dbar k)).
    precision = slope**2 / noise
    diagonal = np.asarray(posterior.prior + np.bincount(what, precision + likeness, item.size), np.float64)
    columns = [*(np.sqrt(precision) * half.T), np.sqrt(likeness / load)]
    place = np.concatenate([who + kind * n_reviewers for kind in range(3)])
    shape = (item.size, 3 * n_reviewers)
    factor = scipy.sparse.csr_array((np.concatenate(columns), (np.tile(what, 3), place)), shape=shape)
    factor.eliminate_zeros()
    return Joint(posterior, item, diagonal, factor, who, what, precision, noise, design, half, likeness)


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], right: FloatArray, diagonal: FloatArray, accuracy: float = ACCURACY
) -> FloatArray:
    """Solve Q x = right, shapes (n, columns), Q symmetric positive definite, with its diagonal as preconditioner.

    ``product`` maps x to Q x; a column has converged at ``accuracy`` relative to its start, and stops there.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal[:, None]
    direction = scaled.copy()
    inner = np.einsum("nc,nc->c", residual, scaled)
    target = accuracy**2 * inner
    for _ in range(MAX_STEPS):
        if (inner <= target).all():
            break
        image = product(direction)
        curvature = np.einsum("nc,nc->c", direction, image)
        active = (inner > target) & (curvature > 0)
        if not active.any():
            break
        step = np.divide(inner, curvature, out=np.zeros_like(inner), where=active)
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal[:, None]
        previous = inner
        inner = np.einsum("nc,nc->c", residual, scaled)
        direction = scaled + np.divide(inner, previous, out=np.zeros_like(inner), where=previous > 0) * direction
    return x
