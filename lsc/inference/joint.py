"""Joint draws of qualities and differences of two: papers that share a reviewer move together.

Expectation propagation gives each paper's mean and variance. How papers move together is taken from the linear model
around it, whose precision is ``Q = D - W W'``, D diagonal and W sparse. Its correlations, with the standard errors of
the posterior, make the joint distribution.

With reviewer j's scores ``y = b + a x + e`` linearised in their slope, their papers have the precision ``a^2 V^-1``,
``V = s^2 I + U diag(omega^2, sigma_a^2) U'``, U the columns 1 and ``x + g1``. Summed over reviewers and with the prior
that is Q, the precision of all papers.

Loops in the graph of reviews add to the variances of expectation propagation. Messages tell of one paper at a time.
Where a doubt is common to many papers (how one community stands to the next, which a single reviewer tells), each
takes the others' agreement for news of its own, and variances come out too small. In the linear model both are known:
the variances that messages settle at, and the exact ones. Their ratio is due to loops alone, since the model is
Gaussian (messages then find exact means, but variances that are off: Weiss and Freeman 2001), and by it the variances
of the posterior are raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.inference.beliefs import Posterior
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
#: Sweeps at most, and the part of its precision by which no paper's may still move.
MOST_SWEEPS, STILL = 30, 1e-4
#: Reviews up to which exact variances are sought: beyond, the probes that estimate them take longer than all else.
UP_TO = 50_000


class Parts(NamedTuple):
    """The linear model, one row a review.

    Parameters
    ----------
    precision
        a^2 / s^2 of reviewers who use the scale, by the probability that they do.
    diagonal
        Precision of what is only told of single papers: the message, by the probability that she only orders.
    likeness
        kappa / dbar.
    load
        Reviews of the reviewer.
    design
        U, shape (E, 2): columns 1 and x + g1, times their prior standard deviations omega and sigma_a.
    half
        Shape (E, 2): U C^(1/2), C = (s^2 I + U'U)^-1 with this U.
    noise
        s^2.
    """

    precision: FloatArray
    diagonal: FloatArray
    likeness: FloatArray
    load: FloatArray
    design: FloatArray
    half: FloatArray
    noise: FloatArray


def heard_reviews(posterior: Posterior) -> tuple[IntArray, IntArray]:
    """Return reviewers and items of the reviews that say something."""
    heard = posterior.precision > 0
    return posterior.reviewer[heard], posterior.item[heard]


def parts_of(posterior: Posterior) -> Parts:
    """Linearise the model around a posterior, in time linear in reviews."""
    who, what = heard_reviews(posterior)
    hyper, n_reviewers = posterior.hyperparameters, posterior.slope.size
    slope, noise = posterior.slope[who], posterior.noise_variance[who]
    uses = 1.0 - posterior.reviewers.orders[who]
    load = np.bincount(who, minlength=n_reviewers)[who].astype(np.float64)
    design = np.zeros((who.size, 2))
    if "omega" in hyper:
        tau = np.sqrt(0.5 * (hyper["tau_left"].value ** 2 + hyper["tau_right"].value ** 2))
        design[:, 0] = hyper["omega"].value
        design[:, 1] = (posterior.mean[what] + hyper["g1"].value) * slope * tau
    # C^(1/2) from the eigenvectors of s^2 I + U'U, 2 by 2 for each reviewer.
    square = np.empty((n_reviewers, 2, 2))
    for first in range(2):
        for second in range(2):
            square[:, first, second] = np.bincount(who, design[:, first] * design[:, second], n_reviewers)
    level = np.where(np.isfinite(posterior.noise_variance), posterior.noise_variance, 1.0)
    value, vector = np.linalg.eigh(square + level[:, None, None] * np.eye(2))
    root = vector / np.sqrt(value)[:, None, :]
    half = np.einsum("ep,epq->eq", design, root[who])
    pairs = np.bincount(what, 1.0 - 1.0 / load, posterior.mean.size)
    seen = pairs[np.isfinite(posterior.mean)]
    likeness = np.full(who.size, posterior.kappa / seen.mean() if posterior.kappa else 0.0)
    return Parts(
        uses * slope**2 / noise,
        (1 - uses) * posterior.precision[posterior.precision > 0],
        likeness,
        load,
        design,
        half,
        noise,
    )


def perturbation(posterior: Posterior, item: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw from N(0, Q), shape (items, n), as a sum of independent parts with the precisions that make up Q."""
    import scipy.sparse

    parts, (who, what) = parts_of(posterior), heard_reviews(posterior)
    n_reviewers, n_reviews = posterior.slope.size, who.size
    place = np.full(posterior.mean.size, -1)
    place[item] = np.arange(item.size)
    rows = np.arange(n_reviews)
    to_item = scipy.sparse.csr_array((np.ones(n_reviews), (place[what], rows)), (item.size, n_reviews))
    to_reviewer = scipy.sparse.csr_array((np.ones(n_reviews), (who, rows)), (n_reviewers, n_reviews))
    # a V^-1 z with z ~ N(0, V): precision a^2 V^-1.
    z = np.sqrt(parts.noise)[:, None] * rng.standard_normal((n_reviews, n))
    for column in range(2):
        z += parts.design[:, column, None] * rng.standard_normal((n_reviewers, n))[who]
    inside = z.copy()
    for column in range(2):
        half = parts.half[:, column, None]
        inside -= half * (to_reviewer @ (half * z))[who]
    inside *= np.sqrt(parts.precision / parts.noise)[:, None]
    inside += np.sqrt(parts.diagonal)[:, None] * rng.standard_normal((n_reviews, n))
    if posterior.kappa:
        z = rng.standard_normal((n_reviews, n))
        z -= ((to_reviewer @ z) / np.maximum(to_reviewer.sum(axis=1), 1)[:, None])[who]
        inside += np.sqrt(parts.likeness)[:, None] * z
    alone = np.bincount(posterior.reference_item, posterior.reference_precision, posterior.mean.size)[item]
    prior = np.sqrt(posterior.prior + alone)[:, None] * rng.standard_normal((item.size, n))
    return np.asarray(to_item @ inside + prior)


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


def loop_factors(posterior: Posterior) -> FloatArray:
    """Return the factors, at least 1, by which loops raise the variances of the items, shape (N,).

    All 1 where there are no reviewer effects, and in tables of more than 50,000 reviews.

    Notes
    -----
    Up to 2,500 items the cube of their number; above, conjugate gradients for 64 probes, by which a factor is known to
    a few hundredths.
    """
    factor = np.ones(posterior.mean.size)
    if posterior.signal and posterior.item.size <= UP_TO:
        told = joint(posterior)
        factor[told.item] = np.maximum(told.variance / settled_variances(posterior)[told.item], 1.0)
    return factor


@dataclass(frozen=True, eq=False)
class _Factors:
    """The linear model by reviews: who, of what, how much."""

    who: IntArray
    what: IntArray
    parts: Parts
    n_reviewers: int

    def told(self, variance: FloatArray) -> FloatArray:
        """Precision of what each review says, shape (E,), given the variance of its cavity."""
        parts = self.parts
        part = 1 / (1 + parts.precision * variance)
        outer = parts.design[:, :, None] * parts.design[:, None, :] * (part / parts.noise)[:, None, None]
        square = np.zeros((self.n_reviewers, 2, 2)) + np.eye(2)
        np.add.at(square, self.who, outer)
        inverse = np.linalg.inv(square)[self.who]
        shared = np.einsum("ep,epq,eq->e", parts.design, inverse, parts.design) / parts.noise
        # [T^-1]_ii, T the covariance of what the reviewer's scores say of her papers, cavities included.
        precision = parts.precision * part * (1 - part * shared)
        return np.asarray(precision / (1 - variance * precision))

    def alike(self, variance: FloatArray) -> FloatArray:
        """Precision of what an item learns from the other items of its reviewer, shape (E,)."""
        strength, load = self.parts.likeness, self.parts.load
        total = 1 / variance + strength
        sums = np.bincount(self.who, strength / load / total, self.n_reviewers)[self.who]
        return np.asarray(1 / (1 / total + strength / load / total**2 / (1 - sums)) - 1 / variance)


def settled_variances(posterior: Posterior) -> FloatArray:
    """Return the variances at which messages of the linear model settle, shape (N,), started from the posterior's."""
    who, what = heard_reviews(posterior)
    factors = _Factors(who, what, parts_of(posterior), posterior.slope.size)
    size, heard = posterior.mean.size, posterior.precision > 0
    base = posterior.prior + np.bincount(what, factors.parts.diagonal, size)
    base += np.bincount(posterior.reference_item, posterior.reference_precision, size)
    told, alike = posterior.precision[heard], posterior.likeness_precision[heard]
    for _ in range(MOST_SWEEPS):
        total = base + np.bincount(what, told + alike, size)
        new = factors.told(1 / (total[what] - told))
        if posterior.kappa:
            alike = factors.alike(1 / (total[what] - alike))
        still = (np.abs(new - told) <= STILL * total[what]).all()
        told = new
        if still:
            break
    return np.asarray(1 / (base + np.bincount(what, told + alike, size)))
