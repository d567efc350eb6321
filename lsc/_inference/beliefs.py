"""What is believed once the scores are known: qualities, reviewers and hyperparameters, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc._inference.model import Extent
from reviewgraph._base import results
from reviewgraph._base.arrays import FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    import scipy.sparse


#: Probability that the intervals of reviewers hold.
LEVEL = 0.9


class InferenceStatus(results.Status):
    """How the inference ended; ``.text`` says it in words."""

    CONVERGED = "converged", "messages and hyperparameters have settled"
    NO_SIGNAL = (
        "no_signal",
        "the scores show no differences between reviewers: qualities are averages, drawn to the middle",
    )
    NO_SCORES = "no_scores", "there are no scores: nothing is known of any paper"
    SWEEPS_EXHAUSTED = (
        "sweeps_exhausted",
        "the last sweep still moved qualities; some may be off by more than their errors",
    )


class Quantity(NamedTuple):
    """A property of each reviewer, shapes (M,): posterior mean and the ends of the central 90 % interval."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Reviewers:
    """What is believed of each reviewer; NaN for a reviewer without scores.

    Parameters
    ----------
    severity
        How much *lower* she scores a middling paper than a typical reviewer, in points of the scores.
    stretch
        Her slope over that of a typical reviewer: 2 spreads papers twice as far apart.
    noise
        Standard deviation of her scores about what quality explains, in points of the scores, rounding included.
    orders
        Shape (M,): probability that her scores say only in which order she puts papers.
    """

    severity: Quantity
    stretch: Quantity
    noise: Quantity
    orders: FloatArray


class Hyperparameter(NamedTuple):
    """A number that all reviewers share: its estimate and, where the curvature gives one, its standard error."""

    value: float
    standard_error: float = np.nan


class Fitted(NamedTuple):
    """Where the inference ended, so that whoever did not run it can see that nothing moves.

    Without signal it is the state of the model that did not explain the scores better than averages.

    Parameters
    ----------
    messages
        Shape (4, E): precision and shift of each review, and those of likeness.
    nodes
        Shape (8, M): mean and standard deviation of each reviewer's log slope and of the log of their own noise, and
        the same given fresh papers.
    theta, extent
        Hyperparameters, shape (P,), and what of the model was tried last.
    """

    messages: FloatArray
    nodes: FloatArray
    theta: FloatArray
    extent: Extent


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of items, of reviewers, and of all of them.

    Internally qualities have mean 0 and mean square about 1; ``location + scale * mean`` is the score that a typical
    reviewer gives.

    Parameters
    ----------
    mean, variance
        Shape (N,), internal scale; NaN for an item of which no score or reference tells anything. The variance is that
        of messages, one paper at a time.
    loops
        Shape (N,): factor, at least 1, by which doubt that papers share raises the variance
        (:mod:`lsc._inference.beliefs`).
    bend
        Shape (N,), internal scale: added variance of a paper's place on the scale from a bend that all reviewers might
        share, which no score can show. It moves all papers together and leaves their order alone: it belongs into the
        interval of one paper, not into differences and probabilities of being among the best.
    location, scale
        From the internal scale to that of a typical reviewer.
    prior
        Precision of the prior of each item: ``1 - kappa``.
    kappa
        Assortment: 0 where papers fall to reviewers at random, towards 1 where like papers share reviewers.
    slope, offset, noise_variance, slope_variance
        Shape (M,), internal scale: posterior means of each reviewer's a, b and s^2, and variance of a; as
        :mod:`lsc._inference.beliefs` needs them.
    reviewers
        The same for people, with intervals.
    hyperparameters
        By name: see :mod:`lsc._inference.model`.
    theta
        The same as the vector that :mod:`lsc._inference.model` describes; empty without signal.
    extent
        What of the model was kept: own noise, reviewers who only order, assortment.
    evidence, null_evidence
        Log probability of the (standardised) scores under the model and under the model without reviewer effects.
    status, sweeps
        How the inference ended, and passes over the reviews.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    bend: FloatArray
    location: float
    scale: float
    prior: float
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

    @property
    def quality(self) -> FloatArray:
        """Shape (N,): posterior mean on the scale of a typical reviewer."""
        return self.location + self.scale * self.mean

    @property
    def standard_error(self) -> FloatArray:
        """Shape (N,): of a single paper's place on the scale of a typical reviewer, a common bend included."""
        return self.scale * np.sqrt(self.variance * self.loops + self.bend)

    @property
    def order_error(self) -> FloatArray:
        """Shape (N,): standard error without a common bend, for what depends on the order of papers only."""
        return self.scale * np.sqrt(self.variance * self.loops)

    @property
    def signal(self) -> bool:
        """Whether the scores show that reviewers differ."""
        return self.status not in (InferenceStatus.NO_SIGNAL, InferenceStatus.NO_SCORES)


@dataclass(frozen=True, eq=False)
class Posterior(Beliefs):
    """Beliefs with the parts they are made of, from :func:`lsc._inference.inferring.infer`.

    Every sum of parts is exact::

        variance_i = 1 / (prior_i + sum_r precision_r + sum_r likeness_precision_r + sum_q reference_precision_q)
        mean_i = variance_i * (sum_r shift_r + sum_r likeness_shift_r + sum_q reference_shift_q)

    r over the reviews of item i, q over its references. So a review moves its item by ``variance_i * shift_r``, has
    the weight ``variance_i * precision_r`` and by itself says ``shift_r / precision_r``.

    Parameters
    ----------
    reviewer, item
        Shape (E,): codes of the reviews, in the order of the input.
    precision, shift
        Shape (E,): natural parameters of what each review says of its item.
    likeness_precision, likeness_shift
        Shape (E,): what an item learns from the other items of each of its reviewers because like papers go to like
        reviewers; 0 throughout where ``kappa`` is 0.
    reference_item, reference_value, reference_precision, reference_shift
        Shape (R,): the same for references, and their values as given.
    fitted
        Where the inference ended, before any reference was heard.
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


# Joint draws of qualities and differences of two: papers that share a reviewer move together.
#
# Expectation propagation gives each paper's mean and variance. How papers move together is taken from the linear model
# around it, whose precision is ``Q = D - W W'``, D diagonal and W sparse. Its correlations, with the standard errors of
# the posterior, make the joint distribution.
#
# With reviewer j's scores ``y = b + a x + e`` linearised in their slope, their papers have the precision ``a^2 V^-1``,
# ``V = s^2 I + U diag(omega^2, sigma_a^2) U'``, U the columns 1 and ``x + g1``. Summed over reviewers and with the
# prior
# that is Q, the precision of all papers.
#
# Loops in the graph of reviews add to the variances of expectation propagation. Messages tell of one paper at a time.
# Where a doubt is common to many papers (how one community stands to the next, which a single reviewer tells), each
# takes the others' agreement for news of its own, and variances come out too small. In the linear model both are known:
# the variances that messages settle at, and the exact ones. Their ratio is due to loops alone, since the model is
# Gaussian (messages then find exact means, but variances that are off: Weiss and Freeman 2001), and by it the variances
# of the posterior are raised.

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
    >>> from lsc._inference.inferring import infer
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


# What a paper's quality is made of: parts that sum to it exactly.

#: A source of less weight than this says nothing by itself.
NOTHING = 1e-9


@dataclass(frozen=True)
class Part:
    """What one source says of a paper.

    Parameters
    ----------
    source
        ``"review"``, ``"likeness"`` (the other papers of its reviewers), ``"reference"``, or ``"middle"`` (what is
        believed of any paper before its scores are seen).
    reviewer
        Label, for a review and for likeness.
    score
        As given, that of a reference on its own scale; None but for reviews and references.
    severity, stretch
        What is added to the score for the reviewer's severity, and for how widely she spreads her scores and what
        her other papers taught of her.
    says
        The quality that the source speaks for by itself: for a review score + severity + stretch.
    weight
        Its share of the result; all weights sum to 1.
    moves
        By how much it moves the quality away from the middle: weight x (says - middle).
    """

    source: str
    reviewer: Label | None
    score: float | None
    severity: float
    stretch: float
    says: float
    weight: float
    moves: float


@dataclass(frozen=True)
class Account:
    """The account of one paper: ``middle + sum of moves = quality``, to rounding.

    Parameters
    ----------
    item
        Label.
    quality, standard_error, average
        As in the result, in the direction in which scores came.
    middle
        Where every paper starts.
    parts
        Reviews in the order of reviewers, then what comes from elsewhere.
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
        """Return the same with "Reviewer 1", "Reviewer 2", ... for labels: by what they say, the highest score first.

        Nothing that is not in the account decides their order, so it gives nobody away.

        Examples
        --------
        >>> given = [("ann", 3), ("bob", 7)]
        >>> parts = tuple(Part("review", who, score, 0.0, 0.0, score, 0.5, 0.0) for who, score in given)
        >>> told = Account("p1", 5.0, 0.3, 5.0, 5.0, parts).anonymous()
        >>> [(part.reviewer, part.score) for part in told.parts]
        [('Reviewer 1', 7), ('Reviewer 2', 3)]
        """
        also = {part.reviewer: (part.weight, part.moves) for part in self.parts if part.source == "likeness"}

        def says(part: Part) -> tuple[Any, ...]:
            return -(part.score or 0.0), -part.says, -part.weight, also.get(part.reviewer, ())

        reviews = sorted((part for part in self.parts if part.source == "review"), key=says)
        name = {part.reviewer: f"Reviewer {place}" for place, part in enumerate(reviews, 1)}
        place = {reviewer: number for number, reviewer in enumerate(name)}
        # Reviews come first, in the new order; what comes from elsewhere follows as it stood.
        others = sorted(
            (part for part in self.parts if part.source != "review"),
            key=lambda part: place.get(part.reviewer, len(place)),
        )
        told = [
            part if part.reviewer is None else replace(part, reviewer=name[part.reviewer])
            for part in [*reviews, *others]
        ]
        return replace(self, parts=tuple(told))

    def to_dict(self) -> dict[str, Any]:
        """Return the account as the command's ``--json`` prints it."""
        return {
            "item": self.item,
            "quality": self.quality,
            "standard_error": self.standard_error,
            "average": self.average,
            "middle": self.middle,
            "parts": [vars(part) for part in self.parts],
        }


def account_of(beliefs: Posterior, reviews: Reviews, item: int) -> Account:
    """Return the account of an item, given by code, in the direction in which scores came."""
    return next(accounts_of(beliefs, reviews, [item]))


def accounts_of(beliefs: Posterior, reviews: Reviews, items: Iterable[int]) -> Iterator[Account]:
    """Yield the accounts of items, given by code: one sort of the reviews serves all of them."""
    order = np.lexsort((beliefs.reviewer, beliefs.item))
    sorted_items, score = beliefs.item[order], reviews.score[reviews.scored]
    for item in items:
        first, last = np.searchsorted(sorted_items, [item, item + 1]).tolist()
        yield _account(beliefs, reviews, item, order[first:last], score)


def _account(beliefs: Posterior, reviews: Reviews, item: int, mine: IntArray, score: FloatArray) -> Account:
    """Return the account of an item from its rows, in the order of reviewers, of all scores.

    With v the variance of the item, every source r has the weight v precision_r and moves the mean by v shift_r
    (:class:`~lsc._inference.beliefs.Posterior`); the prior, of mean 0, has what is left of the weights and moves
    nothing, so the moves sum to the quality less the middle.
    """
    sign = float(reviews.printed([1.0])[0])
    middle, variance = beliefs.location, float(beliefs.variance[item])

    def part(
        source: str, precision: float, shift: float, reviewer: int | None = None, score: float | None = None
    ) -> Part:
        weight, moves = variance * precision, beliefs.scale * variance * shift
        says = middle + (moves / weight if weight > NOTHING else 0.0)
        severity = stretch = 0.0
        if score is not None and reviewer is not None:
            severity = float(beliefs.reviewers.severity.mean[reviewer])
            stretch = says - score - severity
        return Part(
            source,
            None if reviewer is None else reviews.reviewers[reviewer],
            None if score is None else sign * float(score),
            sign * severity,
            sign * stretch,
            sign * says,
            weight,
            sign * moves,
        )

    parts = [
        part("review", beliefs.precision[r], beliefs.shift[r], int(beliefs.reviewer[r]), float(score[r]))
        for r in mine.tolist()
    ]
    parts += [
        part("likeness", beliefs.likeness_precision[r], beliefs.likeness_shift[r], int(beliefs.reviewer[r]))
        for r in mine.tolist()
        if beliefs.kappa > 0
    ]
    parts += [
        part("reference", beliefs.reference_precision[q], beliefs.reference_shift[q], None, beliefs.reference_value[q])
        for q in np.flatnonzero(beliefs.reference_item == item).tolist()
    ]
    parts.append(part("middle", beliefs.prior, 0.0))
    return Account(
        reviews.items[item],
        sign * float(beliefs.quality[item]),
        float(beliefs.standard_error[item]),
        sign * float(score[mine].mean()) if mine.size else float("nan"),
        sign * middle,
        tuple(parts),
        reviews.lower_is_better,
    )
