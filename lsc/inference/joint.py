"""Joint draws of qualities and differences of two: papers that share a reviewer move together.

Expectation propagation gives each paper's mean and variance. How papers move together is taken from the linear model
around it (:mod:`lsc.inference.linear`), whose precision is ``Q = D - W W'``, D diagonal and W sparse. Its
correlations, with the standard errors of the posterior, make the joint distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.inference.beliefs import Posterior
from lsc.inference.linear import heard_reviews, parts_of, perturbation
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

if TYPE_CHECKING:
    import scipy.sparse

#: Up to so many items Q is factorised; above, systems are solved by conjugate gradients.
DENSE = 2500
#: Relative accuracy of conjugate gradients for one difference and for draws, whose own noise is far above, and the
#: most steps.
ACCURACY, ROUGH, MOST_STEPS = 1e-6, 1e-3, 2000
#: Columns solved at a time, which are also the probes for the variances of Q^-1.
BATCH = 64


class Difference(NamedTuple):
    """Quality of one item less that of another, on the scale of a typical reviewer."""

    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint distribution of the items with a score; build it once for many draws or differences.

    Parameters
    ----------
    posterior
        Means and variances.
    item
        Shape (n,): codes of the items that take part.
    diagonal, factor
        D, shape (n,), and W, shape (n, columns).
    """

    posterior: Posterior
    item: IntArray
    diagonal: FloatArray
    factor: scipy.sparse.csr_array

    @cached_property
    def _cholesky(self) -> FloatArray:
        wide = self.factor @ self.factor.T
        return np.linalg.cholesky(np.diag(self.diagonal) - wide.toarray())

    @cached_property
    def variance(self) -> FloatArray:
        """Shape (n,): the diagonal of Q^-1, exact or from probes.

        Of a draw from N(0, Q^-1) only the mean of a paper given all others is used: to its variance, which probes
        estimate, ``1 / Q_ii`` is added exactly (Siden, Lindgren, Bolin and Villani 2018).
        """
        if self.item.size <= DENSE:
            from scipy.linalg.lapack import dtrtri

            inverse, _ = dtrtri(self._cholesky, lower=1)
            return np.asarray((inverse**2).sum(axis=0))
        rest = perturbation(self.posterior, self.item, BATCH, np.random.default_rng(0))
        x = conjugate_gradients(self._product, rest, self.diagonal, ROUGH)
        own = self.diagonal - np.asarray((self.factor**2).sum(axis=1)).ravel()
        given_rest = x - self._product(x) / own[:, None]
        return np.asarray(1 / own + (given_rest**2).mean(axis=1))

    def _noise(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw from N(0, Q^-1), shape (n_items, n), by solving against a draw from N(0, Q)."""
        right = perturbation(self.posterior, self.item, n, rng)
        return conjugate_gradients(self._product, right, self.diagonal, ROUGH)

    @property
    def _sd(self) -> FloatArray:
        return self.posterior.order_error / self.posterior.scale

    def _product(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.diagonal[:, None] * x - self.factor @ (self.factor.T @ x))

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw qualities jointly, shape (n, N); NaN for items that take no part."""
        found, size = np.full((n, self.posterior.mean.size), np.nan), self.item.size
        mean, sd = self.posterior.mean[self.item], self._sd[self.item]
        for first in range(0, n, BATCH):
            count = min(BATCH, n - first)
            if size <= DENSE:
                from scipy.linalg import solve_triangular

                normal = rng.standard_normal((size, count))
                move = solve_triangular(self._cholesky, normal, lower=True, trans="T")
            else:
                move = self._noise(count, rng)
            inside = mean[:, None] + move * (sd / np.sqrt(self.variance))[:, None]
            found[first : first + count, self.item] = inside.T
        return self.posterior.location + self.posterior.scale * found

    def difference(self, first: int, second: int) -> Difference:
        """Return the quality of the first item less that of the second, with its standard error."""
        place = np.searchsorted(self.item, [first, second])
        if first == second or np.any(self.item[np.minimum(place, self.item.size - 1)] != [first, second]):
            message = f"first, second: expected two different items with scores, found {first} and {second}"
            raise InputError(message)
        unit = np.zeros((self.item.size, 2))
        unit[place, [0, 1]] = 1.0
        if self.item.size <= DENSE:
            from scipy.linalg import cho_solve

            covariance = cho_solve((self._cholesky, True), unit)[place]
        else:
            covariance = conjugate_gradients(self._product, unit, self.diagonal)[place]
        correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        mean, sd = self.posterior.mean[[first, second]], self._sd[[first, second]]
        variance = (sd**2).sum() - 2 * correlation * sd.prod()
        scale = self.posterior.scale
        return Difference(float(scale * (mean[0] - mean[1])), float(scale * np.sqrt(max(variance, 0.0))))


def joint(posterior: Posterior) -> Joint:
    """Linearise the model around a posterior, in time linear in reviews."""
    import scipy.sparse

    item = np.flatnonzero(np.isfinite(posterior.mean))
    place = np.full(posterior.mean.size, -1)
    place[item] = np.arange(item.size)
    parts = parts_of(posterior)
    n_reviewers = posterior.slope.size
    who, what = heard_reviews(posterior)
    row = place[what]
    own = np.asarray(np.bincount(row, parts.precision + parts.diagonal + parts.likeness, item.size), np.float64)
    # W: for each reviewer two columns a / s U C^(1/2), and one of the prior, sqrt(kappa / (dbar k)).
    columns = [np.sqrt(parts.precision) * parts.half[:, 0], np.sqrt(parts.precision) * parts.half[:, 1]]
    columns.append(np.sqrt(parts.likeness / parts.load))
    used = [np.flatnonzero(value) for value in columns]
    matrix = scipy.sparse.csr_array(
        (
            np.concatenate([value[rows] for value, rows in zip(columns, used, strict=True)]),
            (
                np.concatenate([row[rows] for rows in used]),
                np.concatenate([who[rows] + kind * n_reviewers for kind, rows in enumerate(used)]),
            ),
        ),
        shape=(item.size, len(columns) * n_reviewers),
    )
    own += np.bincount(posterior.reference_item, posterior.reference_precision, posterior.mean.size)[item]
    return Joint(posterior, item, posterior.prior + own, matrix)


def draws(posterior: Posterior, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw qualities jointly, shape (n, N), on the scale of a typical reviewer; NaN where the mean is.

    Notes
    -----
    Up to 2,500 items one Cholesky factorisation; above, conjugate gradients for 64 draws at a time, each step linear
    in reviews.

    Examples
    --------
    >>> from lsc.inference.inferring import infer
    >>> reviewer, item = np.divmod(np.arange(12), 4)
    >>> posterior = infer(reviewer, item, np.array([1.0, 2, 3, 4, 2, 3, 4, 4, 1, 1, 3, 5]), 3, 4)
    >>> draws(posterior, 5, np.random.default_rng(0)).shape
    (5, 4)
    """
    return joint(posterior).draws(n, rng)


def difference(posterior: Posterior, first: int, second: int) -> Difference:
    """Return the difference of two items with its standard error; two items of one reviewer share her errors.

    For several differences call :func:`joint` once and its ``difference``.

    Raises
    ------
    InputError
        If the items are the same, or one of them has no score.

    Examples
    --------
    >>> from lsc.inference.inferring import infer
    >>> reviewer, item = np.divmod(np.arange(12), 4)
    >>> posterior = infer(reviewer, item, np.array([1.0, 2, 3, 4, 2, 3, 4, 4, 1, 1, 3, 5]), 3, 4)
    >>> bool(difference(posterior, 3, 0).mean > 0)
    True
    """
    return joint(posterior).difference(first, second)


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], right: FloatArray, diagonal: FloatArray, accuracy: float = ACCURACY
) -> FloatArray:
    """Solve Q x = right for several columns at once, with the diagonal as preconditioner.

    Parameters
    ----------
    product
        x -> Q x, Q symmetric and positive definite.
    right
        Shape (n, columns).
    diagonal
        Shape (n,): roughly that of Q.
    accuracy
        At which a column is done, relative to its start.
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal[:, None]
    direction, inner = scaled.copy(), (residual * scaled).sum(axis=0)
    goal = accuracy**2 * inner
    for _ in range(MOST_STEPS):
        if (inner <= goal).all():
            break
        image = product(direction)
        length = inner / np.maximum((direction * image).sum(axis=0), 1e-300)
        x += length * direction
        residual -= length * image
        scaled = residual / diagonal[:, None]
        before, inner = inner, (residual * scaled).sum(axis=0)
        direction = scaled + inner / np.maximum(before, 1e-300) * direction
    return x
