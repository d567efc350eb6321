"""Expected standard errors of the qualities, before any score is known.

A reviewer of k items scores ``y = b + a x + e``. Linearised about ``a = 1``, severity b and stretch a give these scores
the covariance ``V = s^2 I + U U^T``, U with the columns ``severity`` and ``stretch x``, and so the information
``V^-1``. With the prior N(0, I) of the qualities the posterior precision is ``Q = I + sum_j V_j^-1``; the expected
errors are the square roots of the diagonal of its inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import entry_points
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from reviewgraph._base.arguments import checked, refuse
from reviewgraph._base.arrays import TIE, BoolArray, FloatArray, IntArray, cdf, cut_of, quantile, snapped
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import ranks
from reviewgraph._base.text import LISTED
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph.graph.components import Structure

    Matrix: TypeAlias = FloatArray | sp.csr_array

#: Maximum entries of a dense A.
DENSE_UP_TO = 300_000
#: Maximum items of a matrix that is inverted: 2,000 take half a second; beyond, the diagonal is estimated.
EXACT_UP_TO = 2000
#: Random probes of :func:`error_variances` beyond: a variance has a relative error near 1 / sqrt(probes).
CONDITIONING_PROBES = 96
#: Relative residual of the conjugate gradients, well below the error of the probes.
TOLERANCE = 1e-4
#: Maximum steps of the conjugate gradients: well-conditioned matrices take tens, chains hundreds.
MOST_STEPS = 1000
#: Bounds of standard deviations; the lower one applies where 0 is not allowed.
SMALLEST = 1e-12
LARGEST = 1e6


@dataclass(frozen=True)
class Assumptions:
    """Standard deviations of the components of a score, in units of that of the qualities.

    A reviewer scores an item ``b + a x + e``: quality x of variance one, severity b, stretch a around one, noise e.

    Parameters
    ----------
    noise
        Standard deviation of the residual noise of a single score; 1 by default, which matches the disagreement of two
        committees of one conference that reviewed the same papers.
    severity
        Standard deviation of the severities of reviewers; 0.5 by default.
    stretch
        Standard deviation of the log stretches of reviewers; 0.2 by default.
    spread
        Standard deviation of qualities, in points of the scores; 1 by default.

    Raises
    ------
    InputError
        If a number is below 0 or above a million, or ``noise`` or ``spread`` below 1e-12.

    Examples
    --------
    >>> Assumptions(noise=0.8).noise
    0.8
    """

    noise: float = 1.0
    severity: float = 0.5
    stretch: float = 0.2
    spread: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError unless each is a standard deviation within the bounds."""
        for name, value in vars(self).items():
            refuse(name, value, "float")
            least = SMALLEST if name in ("noise", "spread") else 0.0
            if not least <= value <= LARGEST:
                message = f"{name}: expected a standard deviation from {least:g} to {LARGEST:g}, found {value!r}"
                raise InputError(message)


#: Entry points of calibrations, functions ``(reviews, n_draws, seed) -> Learned``: checks and plans learn from scores
#: through this group alone, so that neither this package nor the planner imports a calibration.
GROUP = "reviewgraph.graph.precision"


@dataclass(frozen=True, eq=False)
class Learned:
    """Posterior of items and reviewers given scores, higher being better; in points of a typical reviewer."""

    assumptions: Assumptions  # Noise of the scores and differences between reviewers
    mean: FloatArray  # Shape (N,): quality of each item; NaN without a score
    error: FloatArray  # Shape (N,): its standard error; NaN without a score
    draws: FloatArray  # Shape (S, N): joint draws of the qualities
    # Shape (M,): standard error of one more score of each reviewer, corrected for severity, as a measurement of a
    # quality; that of a typical reviewer for those without scores
    review_error: FloatArray


def learned_from(reviews: ReviewsLike, n_draws: int = 1000, seed: int = 0, name: str = "reviews") -> Learned:
    """Return the posterior given the scores, with joint draws of the qualities; messages are about ``name``."""
    reviews = as_reviews(reviews, name)
    if not reviews.scored.any():
        raise InputError(f"{name}: expected scores to learn from, found planned reviews only")
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        learn = cast("Callable[[Reviews, int, int], Learned]", point.load())
        return learn(reviews, n_draws, seed)
    message = f"reviews: expected an installed calibration to learn from them (entry points {GROUP!r}), found none"
    raise InputError(message)


#: Draws of the qualities over which variances are averaged, their minimum in large tables, and probes per draw.
DRAWS = 8
FEWEST_DRAWS = 2
PROBES = 4
#: Maximum of reviews times draws where variances are estimated: large tables get fewer draws.
MOST_WORK = 400_000


@checked
def expected_errors(
    reviews: ReviewsLike,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    seed: int | np.random.Generator = 0,
) -> FloatArray:
    """Return the expected standard error of each quality once all scores are in and calibrated.

    Parameters
    ----------
    reviews
        Who reviews what; all reviews count, with a score or without.
    like
        A table whose scores these are assumed to resemble, such as last year's; errors are then in its points, as
        those of ``lsc.posterior(like)``.
    assumptions
        Assumed standard deviations where ``like`` is not passed: by default noise 1, severity 0.5 and stretch 0.2,
        and errors are in units of the spread of qualities.
    seed
        Seed or generator of the qualities at which the model is linearised, and of probes beyond 2,000 items.

    Returns
    -------
    FloatArray
        Shape (N,), finite at every level: at most the spread of qualities, the error of an item without a review.

    Raises
    ------
    InputError
        If both ``like`` and ``assumptions`` are given, ``like`` has no scores, or no calibration is installed to learn
        from it.

    Notes
    -----
    Takes O(N^3) up to 2,000 items and time near-linear in the reviews beyond, where errors are estimated to 0.1 %
    for noise 1, 1 to 2 % for noise 0.3. Variances are means over draws of the qualities, stratified as in [McKay79]_.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> errors = expected_errors(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    >>> errors.round(1).tolist()
    [0.7, 0.6, 0.7]
    """
    reviews = as_reviews(reviews)
    assumptions = assumed(like, assumptions)
    variances = expected_variances(
        reviews.reviewer, reviews.item, reviews.n_items, assumptions, np.random.default_rng(seed)
    )
    return assumptions.spread * np.sqrt(variances)


def assumed(like: ReviewsLike | None, assumptions: Assumptions | None) -> Assumptions:
    """Return the assumptions passed, those estimated from a table, or the default ones; not both."""
    if like is None:
        return assumptions or Assumptions()
    if assumptions is not None:
        raise InputError("assumptions: expected none beside like, from which they are learned")
    return learned_from(like, n_draws=0, name="like").assumptions


def expected_variances(
    reviewer: IntArray,
    item: IntArray,
    n_items: int,
    assumptions: Assumptions,
    rng: np.random.Generator | None = None,
    exact_up_to: int = EXACT_UP_TO,
) -> FloatArray:
    """Return expected posterior variances, shape (n_items,), in units of the variance of qualities.

    Exact up to ``exact_up_to`` items, estimated beyond; ``rng`` draws qualities and probes (seed 0 by default).
    """
    if not n_items:
        return np.zeros(0)
    rng = rng or np.random.default_rng(0)
    exact = n_items <= exact_up_to
    affordable = DRAWS if exact else min(DRAWS, max(FEWEST_DRAWS, MOST_WORK // max(item.size, 1)))
    # Without stretch nothing depends on the qualities: one draw suffices, and gets all probes.
    draws = affordable if assumptions.stretch else 1
    probes = PROBES * affordable // draws
    # The mean over draws of the qualities at which the model is linearised.
    total = np.zeros(n_items)
    for quality in stratified(n_items, draws, rng):
        matrix, weight = information(reviewer, item, quality, assumptions)
        total += exact_diagonal(matrix, weight) if exact else _estimated(matrix, weight, quality, probes, rng)
    return np.minimum(total / draws, 1.0)


def information(
    reviewer: IntArray, item: IntArray, quality: FloatArray, assumptions: Assumptions
) -> tuple[Matrix, FloatArray]:
    """Return A (N, 2 M) and weight (N,) with ``diag(weight) - A A^T = I + sum_j V_j^-1``, the posterior precision.

    Codes of reviewers and items (E,); linearised at ``quality`` (N,).

    >>> few = Assumptions(noise=1.0, severity=1.0, stretch=0.0)
    >>> A, weight = information(np.array([0, 0]), np.array([0, 1]), np.zeros(2), few)
    >>> (np.diag(weight) - A @ A.T).round(3).tolist()
    [[1.667, -0.333], [-0.333, 1.667]]
    """
    n_reviewers = int(reviewer.max(initial=-1)) + 1
    # Woodbury: V^-1 = (I - U C U^T) / s^2 with C = (s^2 I + U^T U)^-1, 2 x 2 per reviewer; A holds U C^(1/2) / s.
    design = np.column_stack([np.full(item.size, assumptions.severity), assumptions.stretch * quality[item]])
    square = np.empty((n_reviewers, 2, 2))
    for row, column in np.ndindex(2, 2):
        square[:, row, column] = np.bincount(reviewer, design[:, row] * design[:, column], n_reviewers)
    root = np.linalg.cholesky(np.linalg.inv(square + assumptions.noise**2 * np.eye(2)))
    values = np.einsum("ep,epq->qe", design, root[reviewer]) / assumptions.noise
    matrix = by_reviewer(values, reviewer, item, quality.size)
    return matrix, 1.0 + np.bincount(item, minlength=quality.size) / assumptions.noise**2


def stratified(n_items: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw vectors of normal qualities, shape (draws, N): over the draws each item is once in every quantile.

    So every item has the same mean square, one, and no item seems better known by chance.
    """
    if draws == 1:
        return rng.choice([-1.0, 1.0], (1, n_items))
    middle = quantile((np.arange(draws) + 0.5) / draws)
    order = rng.permuted(np.tile(np.arange(draws), (n_items, 1)), axis=1)
    return np.asarray((middle / np.sqrt((middle**2).mean()))[order].T)


def _estimated(
    matrix: Matrix, weight: FloatArray, quality: FloatArray, probes: int, rng: np.random.Generator
) -> FloatArray:
    """Estimate the diagonal of ``Q^-1``, ``Q = diag(weight) - A A^T``, by random signs.

    With D the diagonal of Q and R = D - Q, ``Q^-1 = D^-1 + D^-1 R D^-1 + M``, ``M = D^-1 R Q^-1 R D^-1``. The first
    term is exact and the largest, the second has no diagonal. In M the directions of a common shift and of a common
    scale, which dominate when noise is small, are exact too; probes estimate the rest (as in [Meyer21]_).
    """
    of_q = (weight - (matrix**2).sum(axis=1))[:, np.newaxis]
    basis, _ = np.linalg.qr(np.column_stack([np.ones(weight.size), quality]))
    probe = rng.choice([-1.0, 1.0], (weight.size, probes))
    probe -= basis @ (basis.T @ probe)
    # R D^-1 z = z - Q D^-1 z, and D^-1 R u = u - D^-1 Q u, where Q u is computed already.
    columns = np.column_stack([probe, basis])
    scaled = columns / of_q
    right = columns - weight[:, np.newaxis] * scaled + matrix @ (matrix.T @ scaled)
    image = solve(matrix, weight, right) - right / of_q
    seen = image[:, probes:]
    common = (basis * (2.0 * seen - basis @ (basis.T @ seen))).sum(axis=1)
    return np.asarray(1.0 / of_q[:, 0] + np.maximum(common + np.mean(probe * image[:, :probes], axis=1), 0.0))


# The expected share of right selections, from expected errors alone.

#: Nodes of the quadrature over the posterior mean of a selected item: exact to two digits.
SELECTION_NODES = 16
#: More than MANY_ITEMS items are represented by that number of quantiles of their variances if at least ENOUGH of
#: these are selected: the few items with extreme variances then hardly matter.
MANY_ITEMS = 600
ENOUGH = 6
#: Minimum prior and posterior variance of a mean, in units of the variance of qualities.
TRIFLE = 1e-9
#: Minimum probability whose quantile is computed.
LEAST = 1e-300


def expected_share(variance: FloatArray, n: int) -> float:
    """Return the expected share of the true best n among the n items of largest posterior mean.

    ::

        sum_i P(m_i > t, x_i > u) / n,   m_i ~ N(0, 1 - v_i),   x_i | m_i ~ N(m_i, v_i)

    with t and u the cuts above which n means and n qualities are expected, v (N,) the expected posterior variances in
    units of the variance of qualities, and 1 <= n <= N. The errors of two items are taken as independent of each other
    and of the cuts: the share is slightly too high for n below 10.

    >>> round(expected_share(np.full(100, 0.5), 10), 2), round(expected_share(np.zeros(100), 10), 2)
    (0.47, 1.0)
    """
    if n >= variance.size:
        return 1.0
    selected: float = n
    if n * MANY_ITEMS >= ENOUGH * variance.size > ENOUGH * MANY_ITEMS:
        selected = n * MANY_ITEMS / variance.size
        variance = np.quantile(variance, (np.arange(MANY_ITEMS) + 0.5) / MANY_ITEMS)
    unknown = np.clip(variance, TRIFLE, 1.0 - TRIFLE)
    spread = np.sqrt(1.0 - unknown)
    best = -NormalDist().inv_cdf(selected / variance.size)
    # Integrate over the means above the cut by their probability: from 0 to that of being selected.
    chosen = cdf(-cut_of(np.zeros(unknown.size), spread, selected) / spread)
    node, weight = np.polynomial.legendre.leggauss(SELECTION_NODES)
    # At each node the probability that the quality is above its cut, given the mean.
    mean = -spread * quantile(np.maximum(np.outer((node + 1.0) / 2.0, chosen), LEAST))
    right = chosen * (weight / 2.0 @ cdf((mean - best) / np.sqrt(unknown)))
    return float(right.sum() / selected)


# The outlook of a check: expected errors, and the gain from more reviews.

#: A check stays quick by inverting small matrices only.
QUICK_UP_TO = 500
#: Reviews added along the curve, as shares of the number of items.
ADDED = (0.0, 0.25, 0.5, 1.0)


class Step(NamedTuple):
    """A point of the curve."""

    added: int  # Reviews added, one each to the weakest items
    right: float  # Expected share of right selections


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expected errors of the items of a table once all its reviews have scores."""

    structure: Structure  # What the table promises without noise
    assumptions: Assumptions  # Of noise, severity, stretch and the spread of qualities
    n_selected: int  # How many of the best will be selected
    variance: FloatArray  # Shape (N,): expected posterior variances in units of the variance of qualities

    @property
    def reviews(self) -> Reviews:
        """The table, all its reviews counting."""
        return self.structure.reviews

    @property
    def error(self) -> FloatArray:
        """Expected standard errors, shape (N,), in points."""
        return self.assumptions.spread * np.sqrt(self.variance)

    @cached_property
    def average(self) -> FloatArray:
        """Expected standard errors of plain averages, shrunk towards the mean the more the fewer their reviews."""
        # Severity and stretch act as noise: n reviews leave the variance 1 / (1 + n / w), w that of a single score.
        of = self.assumptions
        single = of.noise**2 + of.severity**2 + of.stretch**2
        return of.spread / np.sqrt(1.0 + self.reviews.reviews_per_item / single)

    @property
    def with_one_more(self) -> FloatArray:
        """Expected standard errors after one more review by a typical reviewer whose severity and stretch are known."""
        return self.assumptions.spread * np.sqrt(one_more(self.variance, self.assumptions.noise))

    @cached_property
    def weakest(self) -> IntArray:
        """All items, the largest expected error first, ties in the order of their labels."""
        return np.lexsort((ranks(self.reviews.items), -snapped(self.variance)))

    @cached_property
    def curve(self) -> list[Step]:
        """Expected share of right selections against reviews added, one each to the weakest items."""
        steps = []
        for added in sorted({round(share * self.variance.size) for share in ADDED}):
            variance = self.variance.copy()
            weakest = self.weakest[:added]
            variance[weakest] = one_more(variance[weakest], self.assumptions.noise)
            steps.append(Step(added, expected_share(variance, self.n_selected)))
        return steps

    @cached_property
    def right_by_average(self) -> float:
        """Expected share of right selections by plain averages, without reviews added."""
        return expected_share((self.average / self.assumptions.spread) ** 2, self.n_selected)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        items = self.reviews.items
        error = self.error
        more = self.with_one_more
        return {
            "median": _six_digits(np.median(error)),
            "average": _six_digits(np.median(self.average)),
            "worst": [
                {"item": items[code], "error": _six_digits(error[code]), "with_one_more": _six_digits(more[code])}
                for code in self.weakest[:LISTED].tolist()
            ],
            "assumptions": {name: _six_digits(value) for name, value in asdict(self.assumptions).items()},
            "selected": self.n_selected,
            "curve": [{"added": step.added, "right": _six_digits(step.right)} for step in self.curve],
        }


def _six_digits(value: float | np.floating) -> float:
    """Round off the digits that differ between machines."""
    return float(f"{value:.6g}")


def one_more(variance: FloatArray, noise: float) -> FloatArray:
    """Return variances after one more score with this noise, of a reviewer whose severity and stretch are known."""
    # Sherman and Morrison for the rank-one update e e^T / s^2.
    return variance - variance**2 / (noise**2 + variance)


def outlook_of(structure: Structure, assumptions: Assumptions, n_selected: int | None = None) -> Outlook:
    """Return the outlook of a table, all its reviews counting; takes time near-linear in their number.

    ``n_selected`` is by default a tenth of the items, at least one.

    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph.precision import Assumptions
    >>> from reviewgraph.graph.components import structure_of
    >>> pairs = [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3)]
    >>> outlook = outlook_of(structure_of(Reviews(pairs)), Assumptions())
    >>> int(outlook.weakest[0]), outlook.error.round(1).tolist(), outlook.with_one_more.round(1).tolist()
    (2, [0.6, 0.6, 0.7], [0.5, 0.5, 0.6])
    """
    reviews = structure.reviews
    variance = expected_variances(reviews.reviewer, reviews.item, reviews.n_items, assumptions, exact_up_to=QUICK_UP_TO)
    selected = max(1, round(0.1 * reviews.n_items)) if n_selected is None else n_selected
    return Outlook(structure, assumptions, selected, variance)


# Linear algebra. The matrices of a table are ``diag(weight) - A A^T``, where A has a few columns per reviewer, non-zero
# at their items: here are the diagonals of their inverses, and systems of equations. A small A is a dense array, which
# needs no SciPy.


def by_reviewer(
    values: FloatArray, reviewer: IntArray, item: IntArray, n_items: int, dense_up_to: int = DENSE_UP_TO
) -> Matrix:
    """Return A, shape (N, C M), of values (C, E) of the reviews: C columns per reviewer; dense up to a size.

    >>> by_reviewer(np.array([[1.0, 2.0]]), np.array([0, 1]), np.array([1, 0]), 3).tolist()
    [[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]
    """
    kinds = len(values)
    n_reviewers = int(reviewer.max(initial=-1)) + 1
    column = (reviewer + n_reviewers * np.arange(kinds)[:, np.newaxis]).ravel()
    places = (np.tile(item, kinds), column)
    shape = (n_items, kinds * n_reviewers)
    if shape[0] * shape[1] > dense_up_to:
        import scipy.sparse as sp

        return sp.csr_array((values.ravel(), places), shape=shape)
    dense = np.zeros(shape)
    dense[places] = values.ravel()
    return dense


def exact_diagonal(matrix: Matrix, weight: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Diagonal of ``(diag(weight) - A A^T + B B^T)^-1``; NaN throughout where it is not positive definite.

    A (N, K), weight (N,), B (N, L) or None.

    >>> exact_diagonal(np.array([[1.0], [0.0]]), np.array([2.0, 2.0])).round(3).tolist()
    [1.0, 0.5]
    >>> exact_diagonal(np.array([[1.0], [1.0]]), np.array([1.0, 1.0])).tolist()
    [nan, nan]
    """
    dense = isinstance(matrix, np.ndarray)
    gram = matrix @ matrix.T
    whole = np.diag(weight) - (gram if dense else cast("sp.csr_array", gram).toarray())
    if basis is not None:
        whole += basis @ basis.T
    # The factor exists if the matrix is positive definite, and M^-1 = L^-T L^-1.
    diagonal = np.full(weight.size, np.nan)
    if dense:
        with suppress(np.linalg.LinAlgError):
            diagonal = (np.linalg.inv(np.linalg.cholesky(whole)) ** 2).sum(axis=0)
    else:  # SciPy is loaded already, and takes a third of the time
        from scipy.linalg.lapack import dpotrf, dpotri

        factor, failed = dpotrf(whole, lower=True)
        diagonal = diagonal if failed else np.diag(dpotri(factor, lower=True)[0])
    return diagonal if bool(np.isfinite(diagonal).all()) else np.full(weight.size, np.nan)


def solve(matrix: Matrix, weight: FloatArray, target: FloatArray) -> FloatArray:
    """Solve ``(diag(weight) - A A^T) x = target`` by conjugate gradients, all columns at once.

    A (N, K), weight (N,), which is also the preconditioner, target (N, P) with columns in the range of the matrix. A
    step takes time linear in the entries of A, times P; ``target^T x`` grows with every step.
    """
    transposed = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
    weight = weight[:, np.newaxis]
    nothing = np.zeros(target.shape[1])
    solution = np.zeros_like(target)
    residual = target.copy()
    direction = residual / weight
    square = np.einsum("ij,ij->j", residual, direction)
    goal = TOLERANCE**2 * square
    for _ in range(MOST_STEPS):
        # A column that has converged takes steps of zero.
        image = weight * direction - matrix @ (transposed @ direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(square, curvature, out=nothing.copy(), where=(curvature > 0) & (square > goal))
        solution += step * direction
        residual -= step * image
        before = square
        square = np.einsum("ij,ij->j", residual, residual / weight)
        if (square <= goal).all() or not step.any():
            break
        direction = residual / weight + np.divide(square, before, out=nothing.copy(), where=before > 0) * direction
    return solution


def error_variances(
    reviewer: IntArray,
    item: IntArray,
    quality: FloatArray | None,
    rng: np.random.Generator | None = None,
    sloped: BoolArray | None = None,
    exact_up_to: int = EXACT_UP_TO,
    probes: int = CONDITIONING_PROBES,
) -> FloatArray:
    """Variance of each recovered quality for noise of variance one, scoring functions being linear and unknown.

    ::

        diagonal of L^+,   L = sum_j (I - P_j) over the items of each reviewer,  P_j the projection on span(1, quality)

    To first order in the noise, and relative to the shift and the scale of all qualities, which no scores reveal.
    Codes (E,) without gaps, of a recoverable table, linearised at ``quality`` (N,). Reviewers that are not ``sloped``
    (M,), or all without ``quality``, differ in severity only: P_j projects on span(1), and as they fix the scale,
    variances are relative to the shift alone.

    Returns shape (N,); NaN throughout where the matrix has further null vectors, as for qualities that line up by
    coincidence. Exact up to 2,000 items in O(N^3); beyond, probes (seed 0 unless ``rng`` is passed) estimate each
    variance to about 10 %, in O(E) per step of conjugate gradients.

    >>> reviewer, item = np.repeat([0, 1, 2, 3], 3), np.tile([0, 1, 2], 4)
    >>> error_variances(reviewer, item, np.array([0.0, 1.0, 3.0])).round(3).tolist()
    [0.071, 0.161, 0.018]
    """
    size = int(item.max(initial=-1)) + 1 if quality is None else quality.size
    level = np.ones((size, 1))
    if quality is None:
        value = np.zeros(item.size)
        basis = level / np.sqrt(size)
    elif sloped is not None and not sloped.all():
        value = np.where(sloped[reviewer], quality[item], 0.0)
        basis = level / np.sqrt(size)
    else:
        value = quality[item]
        (basis, _) = np.linalg.qr(np.column_stack([level, quality - quality.mean()]))
    matrix = by_reviewer(_directions(reviewer, value), reviewer, item, size)
    count = _counted(item, size)
    if size <= exact_up_to:
        # The inverse of L + B B^T is L^+ + B B^T.
        variances = exact_diagonal(matrix, count, basis) - (basis**2).sum(axis=1)
        # An eigenvalue that is tied with 0 is 0.
        if (variances * count > 1.0 / TIE).any():
            variances[:] = np.nan
    else:
        variances = _estimate(matrix, count, basis, rng or np.random.default_rng(0), probes)
    # Rounding and probes may leave small negative variances.
    return np.asarray(np.maximum(variances, 0.0))


def projections(reviewer: IntArray, item: IntArray, value: FloatArray, n_items: int) -> tuple[sp.csr_array, FloatArray]:
    """Return A (N, 2 M) and count (N,) with ``diag(count) - A A^T`` the sum over reviewers of I - P_j.

    ``P_j`` projects on the span of one and of ``value`` (E,) over the reviews of j, of one alone where it is constant.
    """
    matrix = by_reviewer(_directions(reviewer, value), reviewer, item, n_items, dense_up_to=-1)
    return cast("sp.csr_array", matrix), _counted(item, n_items)


def _directions(reviewer: IntArray, value: FloatArray) -> FloatArray:
    """Return two orthonormal vectors over the reviews of each reviewer that span one and the values, shape (2, E)."""
    loads = np.maximum(np.bincount(reviewer), 1)
    centred = value - (np.bincount(reviewer, value) / loads)[reviewer]
    norm = np.sqrt(np.bincount(reviewer, centred**2))
    varied = norm > TIE * np.abs(value).max(initial=0.0)
    tilt = np.divide(centred, norm[reviewer], out=np.zeros(value.size), where=varied[reviewer])
    return np.stack([1.0 / np.sqrt(loads[reviewer]), tilt])


def _counted(item: IntArray, n_items: int) -> FloatArray:
    return np.bincount(item, minlength=n_items).astype(np.float64)


def _estimate(
    matrix: Matrix, count: FloatArray, basis: FloatArray, rng: np.random.Generator, probes: int
) -> FloatArray:
    """Average ``probe * (L^+ probe)`` over random signs, by conjugate gradients on all probes at once."""
    # Hutchinson: the mean of z * (M z) over random signs z is the diagonal of M.
    probe = rng.choice([-1.0, 1.0], (count.size, probes))
    image = solve(matrix, count, probe - basis @ (basis.T @ probe))
    # Rounding adds components of the null space.
    image -= basis @ (basis.T @ image)
    return np.asarray(np.mean(probe * image, axis=1))
