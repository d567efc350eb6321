"""The results of the inference as plain arrays, joint draws and differences of qualities, and their decomposition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lsc._inference.model import Extent
from reviewgraph._base import FloatArray, InputError, IntArray, Label, Status, snapped
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    import scipy.sparse

    from lsc._inference.states import Expected


#: Probability of the credible intervals of reviewers.
LEVEL = 0.9


class InferenceStatus(Status):
    """Outcome of the inference; ``.text`` describes it."""

    CONVERGED = "converged", "messages and hyperparameters have converged"
    NO_SIGNAL = (
        "no_signal",
        "the scores show no differences between reviewers: qualities are averages shrunk towards the mean",
    )
    SWEEPS_EXHAUSTED = (
        "sweeps_exhausted",
        "qualities still changed in the last sweep; a warning estimates how far off they are",
    )


class Quantity(NamedTuple):
    """A property of each reviewer, shapes (M,): posterior mean and ends of the central 90 % interval."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Reviewers:
    """Posterior of the reviewers; NaN without scores.

    Attributes
    ----------
    severity
        How much lower than a typical reviewer they score an average paper, in points of the scores.
    stretch
        Their slope relative to a typical reviewer: 2 spreads papers twice as far apart.
    noise
        Standard deviation of the residual noise of one score, in points of the scores, rounding included.
    orders
        Shape (M,): probability that the reviewer is ordinal, their scores carrying only a ranking.
    """

    severity: Quantity
    stretch: Quantity
    noise: Quantity
    orders: FloatArray


class Hyperparameter(NamedTuple):
    """Estimate of a hyperparameter and its standard error, where the curvature gives one."""

    value: float
    standard_error: float = np.nan


class Fitted(NamedTuple):
    """Final state of the inference, from which a fixed point can be verified.

    ``messages`` (4, E): site precision and shift of each review, and those of the assortment prior. ``nodes`` (8, M):
    mean and standard deviation of log slope and of log own noise of each reviewer, and the same given fresh papers.
    ``theta`` (P,) and ``extent``: hyperparameters and extensions. ``observed`` (2, E): where scores are levels, the
    pseudo-score of each review and its variance. Without signal, the state of the rejected full model.
    """

    messages: FloatArray
    nodes: FloatArray
    theta: FloatArray
    extent: Extent
    observed: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior of items and reviewers.

    Internally qualities have mean 0 and mean square about 1; ``location + scale * mean`` is the score a typical
    reviewer gives.

    Attributes
    ----------
    mean, variance
        Shape (N,), internal scale, marginal; NaN for an item without scores and references.
    loops
        Shape (N,): factor, at least 1, that corrects the variance for loops in the graph of reviews.
    bend
        Shape (N,), internal scale: variance from a bend of the scale common to all reviewers, which no score can
        reveal. It widens the interval of a single paper, but does not affect differences and ranks.
    location, scale
        From the internal scale to that of a typical reviewer.
    prior
        Prior precision of each item: ``1 - kappa``; of a mixture one per item, shape (N,).
    kappa
        Assortment: 0 for random assignment, towards 1 where similar papers share reviewers.
    slope, offset, noise_variance, slope_variance
        Shape (M,), internal scale: posterior means of a, b and s^2, and variance of a.
    reviewers
        Posterior of the reviewers in points of the scores.
    hyperparameters, theta
        By name, and as the vector of :mod:`lsc._inference.model`; the latter is empty without signal.
    extent
        Extensions of the model in use: own noise, ordinal reviewers, assortment.
    evidence, null_evidence
        Log evidence of the standardised scores under the model and under that without reviewer effects.
    status, sweeps
        Outcome, and number of passes over the reviews.
    off
        Estimated largest distance of a quality from its converged value, in its standard errors; 0 if converged.
    by_prior
        Codes of the items all of whose reviewers are ignored: their quality is that of the prior.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    bend: FloatArray
    location: float
    scale: float
    prior: float | FloatArray
    kappa: float
    slope: FloatArray
    offset: FloatArray
    noise_variance: FloatArray
    slope_variance: FloatArray
    reviewers: Reviewers
    hyperparameters: Mapping[str, Hyperparameter]
    theta: FloatArray
    extent: Extent
    evidence: float
    null_evidence: float
    status: InferenceStatus
    sweeps: int
    off: float
    by_prior: IntArray = field(default_factory=lambda: np.empty(0, np.int64), kw_only=True)

    @property
    def quality(self) -> FloatArray:
        """Shape (N,): posterior mean on the scale of a typical reviewer."""
        return self.location + self.scale * self.mean

    @property
    def standard_error(self) -> FloatArray:
        """Shape (N,): of one paper's quality on the scale of a typical reviewer, a common bend included."""
        return self.scale * np.sqrt(self.variance * self.loops + self.bend)

    @property
    def order_error(self) -> FloatArray:
        """Shape (N,): standard error without a common bend, for whatever depends on ranks only."""
        return self.scale * np.sqrt(self.variance * self.loops)

    @property
    def signal(self) -> bool:
        """Whether the scores show differences between reviewers."""
        return self.status is not InferenceStatus.NO_SIGNAL

    def with_prior(self, scored: IntArray, expected: FloatArray | None = None) -> Self:
        """Return the beliefs in which those of the codes ``scored`` that have no mean have that of the prior.

        ``expected`` (N,) are prior means; 0 by default. The other items stay as they are.
        """
        item = scored[np.isnan(self.mean[scored])]
        if not item.size:
            return self
        arrays = {name: getattr(self, name).copy() for name in ("mean", "variance", "loops", "bend")}
        values = (0.0 if expected is None else expected[item], 1.0 / self.prior, 1.0, 0.0)
        for array, value in zip(arrays.values(), values, strict=True):
            array[item] = value
        return replace(self, **arrays, by_prior=item)


@dataclass(frozen=True, eq=False)
class Posterior(Beliefs):
    """Beliefs with their site parameters, from :func:`lsc._inference.inferring.infer`.

    Sums over the reviews r and references q of item i are exact::

        variance_i = 1 / (prior_i + sum_r precision_r + sum_r likeness_precision_r + sum_q reference_precision_q)
        mean_i = variance_i * (sum_r shift_r + sum_r likeness_shift_r + sum_q reference_shift_q + prior_i expected_i)

    So a review contributes ``variance_i * shift_r`` with weight ``variance_i * precision_r``; its own estimate is
    ``shift_r / precision_r``.

    Attributes
    ----------
    reviewer, item
        Shape (E,): codes of the reviews, in the order of the input.
    precision, shift
        Shape (E,): site parameters of each review.
    likeness_precision, likeness_shift
        Shape (E,): those of the assortment prior; 0 where ``kappa`` is 0.
    reference_item, reference_value, reference_precision, reference_shift
        Shape (R,): the same for references, and their values as passed.
    fitted
        Final state, before references.
    members
        Of a mixture (:mod:`lsc._inference.mixture`); empty for one model. ``prior`` has then shape (N,), and site
        parameters are those that sum to mean and variance of the mixture. Hyperparameters, extensions, state and
        evidence are those of the member of the largest weight.
    expected
        Prior means of qualities and offsets from covariates; None without.
    """

    reviewer: IntArray
    item: IntArray
    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray
    reference_item: IntArray
    reference_value: FloatArray
    reference_precision: FloatArray
    reference_shift: FloatArray
    fitted: Fitted
    members: tuple[Member, ...] = ()
    expected: Expected | None = None

    @property
    def expected_offset(self) -> FloatArray:
        """Shape (M + 1,): what covariates expect of offsets, in the unit of scores; 0 for a new reviewer."""
        size = self.slope.size
        return np.zeros(size + 1) if self.expected is None else np.append(self.expected.offset, 0.0)


class Member(NamedTuple):
    """A model of a mixture: its weight, its posterior, and whether its scores are normal scores of their ranks."""

    weight: float
    posterior: Posterior
    straightened: bool = False


# Joint distribution: correlations of papers that share reviewers.
#
# Expectation propagation gives marginal means and variances. Correlations come from the model linearised around them:
# reviewer j's scores y = b + a x + e give their papers the precision a^2 V^-1, V = s^2 I + U diag(omega^2, sigma_a^2)
# U', U with columns 1 and x + g1. Summed over reviewers, with the prior: Q = D - W W', D diagonal, W sparse.
#
# Loops in the graph of reviews make marginal variances too small: where uncertainty is shared by many papers (the level
# of one community relative to the next), each takes the agreement of the others for independent evidence. In the
# linearised model both the fixed point of the messages and the exact variances are available; in a Gaussian model they
# differ by loops alone (means are exact, Weiss and Freeman 2001), so their ratio inflates the posterior's variances.

#: Largest number of items for which Q is factorised; above, conjugate gradients.
DENSE = 2500
#: Relative tolerance of conjugate gradients for one difference, and for draws (sampling noise dominates); step limit.
ACCURACY, ROUGH_ACCURACY, MAX_STEPS = 1e-6, 1e-3, 2000
#: Columns solved together, also the number of probes for the diagonal of Q^-1.
BATCH = 64
#: Sweep limit, and tolerance on the relative change of precisions.
MAX_SWEEPS, TOLERANCE = 30, 1e-4
#: Largest number of reviews with loop factors: beyond, the probes dominate the running time.
MAX_REVIEWS = 50_000


class LinearModel(NamedTuple):
    """The linearised model, one row per review.

    ``precision``: a^2 / s^2, times the probability that the reviewer is not ordinal; ``diagonal``: the site precision,
    times the probability that they are. ``likeness``: kappa / dbar; ``load``: reviews of the reviewer; ``noise``: s^2.
    ``design`` (E, 2): U, with columns 1 and x + g1 scaled by omega and sigma_a; ``half`` (E, 2): U C^(1/2), C = (s^2 I
    + U'U)^-1.
    """

    precision: FloatArray
    diagonal: FloatArray
    likeness: FloatArray
    load: FloatArray
    design: FloatArray
    half: FloatArray
    noise: FloatArray


def used_reviews(posterior: Posterior) -> tuple[IntArray, IntArray]:
    """Return reviewers and items of the reviews with a positive site precision."""
    used = posterior.precision > 0
    return posterior.reviewer[used], posterior.item[used]


def linearise(posterior: Posterior) -> LinearModel:
    """Linearise the model around a posterior; O(E)."""
    who, what = used_reviews(posterior)
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
    noise_level = np.where(np.isfinite(posterior.noise_variance), posterior.noise_variance, 1.0)
    value, vector = np.linalg.eigh(square + noise_level[:, None, None] * np.eye(2))
    root = vector / np.sqrt(value)[:, None, :]
    half = np.einsum("ep,epq->eq", design, root[who])
    pairs = np.bincount(what, 1.0 - 1.0 / load, posterior.mean.size)
    degree = np.delete(pairs, posterior.by_prior)[np.isfinite(np.delete(posterior.mean, posterior.by_prior))]
    likeness = np.full(who.size, posterior.kappa / degree.mean() if posterior.kappa else 0.0)
    return LinearModel(
        uses * slope**2 / noise,
        (1 - uses) * posterior.precision[posterior.precision > 0],
        likeness,
        load,
        design,
        half,
        noise,
    )


def draw_perturbation(posterior: Posterior, item: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw from N(0, Q), shape (items, n), as a sum of independent terms, one per part of Q."""
    import scipy.sparse

    # Sums over reviews by item and by reviewer, as sparse matrices.
    parts, (who, what) = linearise(posterior), used_reviews(posterior)
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
    # The assortment prior: deviations from the mean of each reviewer; then the independent part of the prior.
    if posterior.kappa:
        z = rng.standard_normal((n_reviews, n))
        z -= ((to_reviewer @ z) / np.maximum(to_reviewer.sum(axis=1), 1)[:, None])[who]
        inside += np.sqrt(parts.likeness)[:, None] * z
    references = np.bincount(posterior.reference_item, posterior.reference_precision, posterior.mean.size)[item]
    prior = np.sqrt(posterior.prior + references)[:, None] * rng.standard_normal((item.size, n))
    return np.asarray(to_item @ inside + prior)


class Difference(NamedTuple):
    """Difference of two qualities in points of a typical reviewer."""

    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint distribution of the items with a score; build it once for many draws or differences.

    ``item`` (n,): their codes; ``diagonal`` (n,) and ``factor`` (n, columns): D and W of Q = D - W W'.
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

        Each probe contributes the conditional mean of a paper given all others; ``1 / Q_ii`` is added exactly (Siden,
        Lindgren, Bolin and Villani 2018).
        """
        if self.item.size <= DENSE:
            from scipy.linalg.lapack import dtrtri

            inverse, _ = dtrtri(self._cholesky, lower=1)
            return np.asarray((inverse**2).sum(axis=0))
        right = draw_perturbation(self.posterior, self.item, BATCH, np.random.default_rng(0))
        x = conjugate_gradients(self.product, right, self.diagonal, ROUGH_ACCURACY)
        own = self.diagonal - np.asarray((self.factor**2).sum(axis=1)).ravel()
        conditional_mean = x - self.product(x) / own[:, None]
        return np.asarray(1 / own + (conditional_mean**2).mean(axis=1))

    @property
    def _sd(self) -> FloatArray:
        return self.posterior.order_error / self.posterior.scale

    def product(self, x: FloatArray) -> FloatArray:
        """Return Q x, shapes (n, columns)."""
        return np.asarray(self.diagonal[:, None] * x - self.factor @ (self.factor.T @ x))

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw qualities jointly, shape (n, N); NaN for items without a score."""
        quality, size = np.full((n, self.posterior.mean.size), np.nan), self.item.size
        mean, sd = self.posterior.mean[self.item], self._sd[self.item]
        for first in range(0, n, BATCH):
            count = min(BATCH, n - first)
            if size <= DENSE:
                from scipy.linalg import solve_triangular

                normal = rng.standard_normal((size, count))
                deviation = solve_triangular(self._cholesky, normal, lower=True, trans="T")
            else:
                # Q^-1 times a draw from N(0, Q) is one from N(0, Q^-1).
                right = draw_perturbation(self.posterior, self.item, count, rng)
                deviation = conjugate_gradients(self.product, right, self.diagonal, ROUGH_ACCURACY)
            standard = mean[:, None] + deviation * (sd / np.sqrt(self.variance))[:, None]
            quality[first : first + count, self.item] = standard.T
        return self.posterior.location + self.posterior.scale * quality

    def difference(self, first: int, second: int) -> Difference:
        """Return the first quality minus the second, with its standard error."""
        position = np.searchsorted(self.item, [first, second])
        if first == second or np.any(self.item[np.minimum(position, self.item.size - 1)] != [first, second]):
            message = f"first, second: expected two different items with scores, found {first} and {second}"
            raise InputError(message)
        unit = np.zeros((self.item.size, 2))
        unit[position, [0, 1]] = 1.0
        if self.item.size <= DENSE:
            from scipy.linalg import cho_solve

            covariance = cho_solve((self._cholesky, True), unit)[position]
        else:
            covariance = conjugate_gradients(self.product, unit, self.diagonal)[position]
        correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        mean, sd = self.posterior.mean[[first, second]], self._sd[[first, second]]
        variance = (sd**2).sum() - 2 * correlation * sd.prod()
        scale = self.posterior.scale
        return Difference(float(scale * (mean[0] - mean[1])), float(scale * np.sqrt(max(variance, 0.0))))


def joint(posterior: Posterior) -> Joint:
    """Linearise the model around a posterior; O(E)."""
    import scipy.sparse

    item = np.flatnonzero(np.isfinite(posterior.mean))
    place = np.full(posterior.mean.size, -1)
    place[item] = np.arange(item.size)
    parts = linearise(posterior)
    n_reviewers = posterior.slope.size
    who, what = used_reviews(posterior)
    # D: precisions of the reviews, by item.
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

    Up to 2,500 items one Cholesky factorisation; above, conjugate gradients for 64 draws at a time, O(E) per step.

    >>> from lsc._inference.inferring import infer
    >>> reviewer, item = np.divmod(np.arange(12), 4)
    >>> posterior = infer(reviewer, item, np.array([1.0, 2, 3, 4, 2, 3, 4, 4, 1, 1, 3, 5]), 3, 4)
    >>> draws(posterior, 5, np.random.default_rng(0)).shape
    (5, 4)
    """
    return joint(posterior).draws(n, rng)


def difference(posterior: Posterior, first: int, second: int) -> Difference:
    """Return the difference of two qualities with its standard error, correlations through shared reviewers included.

    For several differences call :func:`joint` once and its ``difference``. Raises InputError if the items are the same,
    or one of them has no score.

    >>> from lsc._inference.inferring import infer
    >>> reviewer, item = np.divmod(np.arange(12), 4)
    >>> posterior = infer(reviewer, item, np.array([1.0, 2, 3, 4, 2, 3, 4, 4, 1, 1, 3, 5]), 3, 4)
    >>> bool(difference(posterior, 3, 0).mean > 0)
    True
    """
    return joint(posterior).difference(first, second)


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], right: FloatArray, diagonal: FloatArray, accuracy: float = ACCURACY
) -> FloatArray:
    """Solve Q x = right, shapes (n, columns), Q symmetric positive definite, with its diagonal as preconditioner.

    ``product`` maps x to Q x; a column has converged at ``accuracy`` relative to its start.
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal[:, None]
    direction, inner = scaled.copy(), (residual * scaled).sum(axis=0)
    target = accuracy**2 * inner
    for _ in range(MAX_STEPS):
        if (inner <= target).all():
            break
        product_of_direction = product(direction)
        step = inner / np.maximum((direction * product_of_direction).sum(axis=0), 1e-300)
        x += step * direction
        residual -= step * product_of_direction
        scaled = residual / diagonal[:, None]
        previous, inner = inner, (residual * scaled).sum(axis=0)
        direction = scaled + inner / np.maximum(previous, 1e-300) * direction
    return x


def loop_factors(posterior: Posterior) -> FloatArray:
    """Return the factors, at least 1, by which loops inflate the variances of items, shape (N,).

    All 1 without reviewer effects, and in tables of more than 50,000 reviews. O(N^3) up to 2,500 items; above,
    conjugate gradients for 64 probes, accurate to a few hundredths.
    """
    factor = np.ones(posterior.mean.size)
    if posterior.signal and posterior.item.size <= MAX_REVIEWS:
        exact = joint(posterior)
        factor[exact.item] = np.maximum(exact.variance / fixed_point_variances(posterior)[exact.item], 1.0)
    return factor


def fixed_point_variances(posterior: Posterior) -> FloatArray:
    """Run expectation propagation in the linearised model to its fixed point; return the variances, shape (N,)."""
    (who, what), parts, n_reviewers = used_reviews(posterior), linearise(posterior), posterior.slope.size

    def review_sites(variance: FloatArray) -> FloatArray:
        """Site precisions of the reviews given the variances of their cavities, shapes (E,)."""
        part = 1 / (1 + parts.precision * variance)
        outer = parts.design[:, :, None] * parts.design[:, None, :] * (part / parts.noise)[:, None, None]
        square = np.zeros((n_reviewers, 2, 2)) + np.eye(2)
        np.add.at(square, who, outer)
        inverse = np.linalg.inv(square)[who]
        shared = np.einsum("ep,epq,eq->e", parts.design, inverse, parts.design) / parts.noise
        # [T^-1]_ii, T the covariance of a reviewer's scores, cavities included.
        precision = parts.precision * part * (1 - part * shared)
        return np.asarray(precision / (1 - variance * precision))

    def assortment_sites(variance: FloatArray) -> FloatArray:
        """Those of the assortment prior."""
        total = 1 / variance + parts.likeness
        sums = np.bincount(who, parts.likeness / parts.load / total, n_reviewers)[who]
        return np.asarray(1 / (1 / total + parts.likeness / parts.load / total**2 / (1 - sums)) - 1 / variance)

    size, used = posterior.mean.size, posterior.precision > 0
    base = posterior.prior + np.bincount(what, parts.diagonal, size)
    base += np.bincount(posterior.reference_item, posterior.reference_precision, size)
    site, assortment = posterior.precision[used], posterior.likeness_precision[used]
    for _ in range(MAX_SWEEPS):
        total = base + np.bincount(what, site + assortment, size)
        new = review_sites(1 / (total[what] - site))
        if posterior.kappa:
            assortment = assortment_sites(1 / (total[what] - assortment))
        converged = (np.abs(new - site) <= TOLERANCE * total[what]).all()
        site = new
        if converged:
            break
    return np.asarray(1 / (base + np.bincount(what, site + assortment, size)))


# Contributions to a paper's quality, which sum to it exactly.

#: Weight below which a source has no estimate of its own.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Part:
    """Contribution of one source to the quality of a paper.

    Attributes
    ----------
    source
        ``"review"``, ``"likeness"`` (the other papers of its reviewers), ``"reference"``, ``"covariate"`` (what is
        known of the paper beside its scores), or ``"middle"`` (the prior mean).
    reviewer
        Label, for a review and for likeness.
    score
        As passed, that of a reference on its own scale; None for the other sources.
    severity, stretch
        Corrections added to the score: for the reviewer's severity, and for their slope and other papers.
    says
        Estimate of the quality from this source alone: for a review score + severity + stretch.
    weight
        Its share in the result; weights sum to 1.
    moves
        Contribution to the quality relative to the prior mean: weight x (says - middle).
    criteria
        Points that each criterion adds to the score of a review, by name, what it takes from the target's own score
        included; empty without criteria. ``says`` is then score + criteria + severity + stretch.
    covariate
        Name of a covariate. It moves the prior mean of the paper: its own weight is 0, and ``moves`` is the weight of
        the middle x (says - middle).
    by_covariate
        Of the severity, the points that each covariate of reviewers explains, by name; empty without.
    """

    source: str
    reviewer: Label | None
    score: float | None
    severity: float
    stretch: float
    says: float
    weight: float
    moves: float
    criteria: Mapping[str, float] = field(default_factory=dict)
    covariate: str | None = None
    by_covariate: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries, without criteria and covariates if there are none."""
        optional = ("criteria", "covariate", "by_covariate")
        return {name: value for name, value in vars(self).items() if name not in optional or value}


@dataclass(frozen=True)
class Account:
    """Contributions to the quality of one paper: ``middle + sum of moves = quality``, to rounding.

    Attributes
    ----------
    item
        Label.
    quality, standard_error, average
        As in the result, in the direction of the scores.
    middle
        The prior mean, common to all papers.
    parts
        Reviews in the order of reviewers, then the other sources.
    lower_is_better
        Whether 1 is the best score.

    Examples
    --------
    >>> review = Part("review", "ann", 7.0, 0.5, 0.0, 7.5, 0.4, 1.0)
    >>> account = Account("p1", 6.0, 0.3, 7.0, 5.0, (review, Part("middle", None, None, 0.0, 0.0, 5.0, 0.6, 0.0)))
    >>> account.total
    6.0
    """

    item: Label
    quality: float
    standard_error: float
    average: float
    middle: float
    parts: tuple[Part, ...]
    lower_is_better: bool = False

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.middle + sum(part.moves for part in self.parts)

    def anonymous(self) -> Account:
        """Return the same with labels "Reviewer 1", "Reviewer 2", ..., by descending score.

        The order depends on the contributions alone, so it identifies nobody.

        >>> scores = [("ann", 3), ("bob", 7)]
        >>> parts = tuple(Part("review", who, score, 0.0, 0.0, score, 0.5, 0.0) for who, score in scores)
        >>> anonymous = Account("p1", 5.0, 0.3, 5.0, 5.0, parts).anonymous()
        >>> [(part.reviewer, part.score) for part in anonymous.parts]
        [('Reviewer 1', 7), ('Reviewer 2', 3)]
        """
        likeness = {part.reviewer: (part.weight, part.moves) for part in self.parts if part.source == "likeness"}
        # Reviews first, in the new order; the other sources keep theirs.
        reviews = [part for part in self.parts if part.source == "review"]
        keys = [
            (-(part.score or 0.0), -part.says, -part.weight, *likeness.get(part.reviewer, (0.0, 0.0)))
            for part in reviews
        ]
        order = np.lexsort([snapped(column) for column in np.array(keys).reshape(-1, 5).T[::-1]])
        reviews = [reviews[place] for place in order.tolist()]
        name = {part.reviewer: f"Reviewer {rank}" for rank, part in enumerate(reviews, 1)}
        rank = {reviewer: number for number, reviewer in enumerate(name)}
        others = [part for part in self.parts if part.source != "review"]
        others.sort(key=lambda part: rank.get(part.reviewer, len(rank)))
        parts = [
            part if part.reviewer is None else replace(part, reviewer=name[part.reviewer])
            for part in [*reviews, *others]
        ]
        return replace(self, parts=tuple(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return the entries that the command's ``--json`` prints."""
        numbers = {name: getattr(self, name) for name in ("item", "quality", "standard_error", "average", "middle")}
        return {**numbers, "parts": [part.to_dict() for part in self.parts]}


def accounts_of(
    beliefs: Posterior,
    reviews: Reviews,
    items: Iterable[int],
    criteria: Mapping[str, FloatArray] | None = None,
    covariates: Mapping[str, FloatArray] | None = None,
) -> Iterator[Account]:
    """Yield the contributions to the quality of items, in the direction of the scores, with one sort of the reviews.

    ``criteria`` are the points that each adds to the scores of the reviews, by name, shapes (E,); ``covariates`` what
    each adds to the prior mean of the items, by name, shapes (N,), internal scale.
    """
    order = np.lexsort((beliefs.reviewer, beliefs.item))
    sorted_items, score = beliefs.item[order], reviews.score[reviews.scored]
    for item in items:
        first, last = np.searchsorted(sorted_items, [item, item + 1]).tolist()
        pulls = {name: float(value[item]) for name, value in (covariates or {}).items()}
        yield _account(beliefs, reviews, item, order[first:last], score, criteria or {}, pulls)


def _account(
    beliefs: Posterior,
    reviews: Reviews,
    item: int,
    rows: IntArray,
    score: FloatArray,
    criteria: Mapping[str, FloatArray],
    covariates: Mapping[str, float],
) -> Account:
    """Return the contributions to an item's quality from its rows, in the order of reviewers.

    With v the variance of the item, a source r has weight v precision_r and moves the mean by v shift_r; the prior, of
    mean 0, has the remaining weight and moves nothing.
    """
    sign = float(reviews.printed([1.0])[0])
    middle, variance = beliefs.location, float(beliefs.variance[item])

    def part(
        source: str,
        precision: float,
        shift: float,
        reviewer: int | None = None,
        score: float | None = None,
        further: Mapping[str, float] = MappingProxyType({}),
    ) -> Part:
        weight, moves = variance * precision, beliefs.scale * variance * shift
        estimate = middle + (moves / weight if weight > NEGLIGIBLE else 0.0)
        severity = stretch = 0.0
        if score is not None and reviewer is not None:
            severity = float(beliefs.reviewers.severity.mean[reviewer])
            stretch = estimate - score - sum(further.values()) - severity
        return Part(
            source,
            None if reviewer is None else reviews.reviewers[reviewer],
            None if score is None else sign * float(score),
            sign * severity,
            sign * stretch,
            sign * estimate,
            weight,
            sign * moves,
            {name: sign * value for name, value in further.items()},
        )

    parts = [
        part(
            "review",
            beliefs.precision[r],
            beliefs.shift[r],
            int(beliefs.reviewer[r]),
            float(score[r]),
            {name: float(value[r]) for name, value in criteria.items()},
        )
        for r in rows.tolist()
    ]
    parts += [
        part("likeness", beliefs.likeness_precision[r], beliefs.likeness_shift[r], int(beliefs.reviewer[r]))
        for r in rows.tolist()
        if beliefs.kappa > 0
    ]
    parts += [
        part("reference", beliefs.reference_precision[q], beliefs.reference_shift[q], None, beliefs.reference_value[q])
        for q in np.flatnonzero(beliefs.reference_item == item).tolist()
    ]
    # Covariates move the mean to which the prior, with its weight, draws the paper.
    prior = float(np.broadcast_to(beliefs.prior, beliefs.mean.shape)[item])
    for name, value in covariates.items():
        pull = part("covariate", 0.0, prior * value)
        parts.append(replace(pull, says=sign * (middle + beliefs.scale * value), covariate=name))
    parts.append(part("middle", prior, 0.0))
    return Account(
        reviews.items[item],
        sign * float(beliefs.quality[item]),
        float(beliefs.standard_error[item]),
        sign * float(score[rows].mean()) if rows.size else float("nan"),
        sign * middle,
        tuple(parts),
        reviews.lower_is_better,
    )
