"""How sure qualities will be once the scores are in, known before any score: expected standard errors.

A reviewer of k items scores ``y = b + a x + e``. Linearised about ``a = 1``, her severity b and her stretch a make her
scores covary by ``V = s^2 I + U U^T``, U the columns ``severity`` and ``stretch x``: she tells of her items with the
precision ``V^-1``. With the prior N(0, I) of the qualities that sums up to ``Q = I + sum_j V_j^-1``, and the expected
errors are the roots of the diagonal of its inverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.arguments import checked
from reviewgraph.assumptions import Assumptions
from reviewgraph.errors import InputError
from reviewgraph.framed import as_reviews
from reviewgraph.learned import learned_from
from reviewgraph.normal import quantile
from reviewgraph.precision.inverses import EXACT_UP_TO, Matrix, by_reviewer, exact_diagonal, solve

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray
    from reviewgraph.framed import ReviewsLike

#: Vectors of qualities over which variances are averaged, as many at least in the largest tables, and probes for each.
DRAWS, FEWEST_DRAWS, PROBES = 8, 2, 4
#: Reviews times draws beyond the exact ones: fewer draws are taken where they would be more.
MOST_WORK = 400_000


@checked
def expected_errors(
    reviews: ReviewsLike,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """Return the standard error that each quality is expected to have once all scores are in and calibrated.

    Parameters
    ----------
    reviews
        Who reviews what; all reviews count, with a score or without.
    like
        A table with scores that these are assumed to resemble, such as last year's; errors are then in its points, as
        those of ``lsc.posterior(like)``.
    assumptions
        What is assumed of the scores, where ``like`` is not given: by default noise 1, severity 0.5 and stretch 0.2,
        and errors are in units of the spread of qualities.
    rng
        For the qualities about which is linearised, and for probes beyond 2,000 items; seed 0 by default.

    Returns
    -------
    FloatArray
        Shape (N,), finite whatever the level: at most the spread of qualities, the error of an item nobody reviews.

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
    >>> errors = expected_errors(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    >>> errors.round(1).tolist()
    [0.7, 0.6, 0.7]
    """
    reviews = as_reviews(reviews)
    given = assumed(like, assumptions)
    variances = expected_variances(reviews.reviewer, reviews.item, reviews.n_items, given, rng)
    return given.spread * np.sqrt(variances)


def assumptions_like(reviews: ReviewsLike) -> Assumptions:
    """Return what the scores of a table say of noise, severity, stretch and the spread of qualities.

    Raises
    ------
    InputError
        If there are no scores, or no calibration is installed.
    """
    reviews = as_reviews(reviews)
    return learned_from(reviews, n_draws=0).assumptions


def assumed(like: ReviewsLike | None, assumptions: Assumptions | None) -> Assumptions:
    """Return the assumptions given, those learned from a table, or the default ones.

    Raises
    ------
    InputError
        If both are given, or nothing can be learned from the table.
    """
    if like is None:
        return assumptions or Assumptions()
    if assumptions is not None:
        message = "assumptions: expected none beside like, from which they are learned"
        raise InputError(message)
    like = as_reviews(like, "like")
    if not like.scored.any():
        message = "like: expected a table with scores to learn from, found planned reviews only"
        raise InputError(message)
    return assumptions_like(like)


def average_errors(reviews: ReviewsLike, assumptions: Assumptions | None = None) -> FloatArray:
    """Return the expected standard errors of plain averages, drawn to the middle as far as their reviews are few.

    A reviewer's severity and stretch are noise there: n reviews leave the variance ``1 / (1 + n / w)``, w that of a
    single score.

    Parameters
    ----------
    reviews
        Who reviews what.
    assumptions
        As in :func:`expected_errors`.

    >>> from reviewgraph import Reviews
    >>> average_errors(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])).round(2).tolist()
    [0.75, 0.63, 0.75]
    """
    reviews = as_reviews(reviews)
    given = assumptions or Assumptions()
    single = given.noise**2 + given.severity**2 + given.stretch**2
    return given.spread / np.sqrt(1.0 + reviews.reviews_per_item / single)


def expected_variances(
    reviewer: IntArray,
    item: IntArray,
    n_items: int,
    assumptions: Assumptions,
    rng: np.random.Generator | None = None,
    exact_up_to: int = EXACT_UP_TO,
) -> FloatArray:
    """Return expected posterior variances, shape (n_items,), in units of the variance of qualities.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,).
    n_items
        N, items without a review included.
    assumptions
        Noise, severity and stretch.
    rng
        For qualities and probes; seed 0 by default.
    exact_up_to
        Items up to which the matrix is inverted.
    """
    if not n_items:
        return np.zeros(0)
    rng = rng or np.random.default_rng(0)
    exact = n_items <= exact_up_to
    affordable = DRAWS if exact else min(DRAWS, max(FEWEST_DRAWS, MOST_WORK // max(item.size, 1)))
    # Without stretch nothing depends on the qualities: one draw of them is all, with all the probes.
    draws = affordable if assumptions.stretch else 1
    probes = PROBES * affordable // draws
    total = np.zeros(n_items)
    for quality in stratified(n_items, draws, rng):
        matrix, weight = information(reviewer, item, quality, assumptions)
        total += exact_diagonal(matrix, weight) if exact else _estimated(matrix, weight, quality, probes, rng)
    return np.minimum(total / draws, 1.0)


def information(
    reviewer: IntArray, item: IntArray, quality: FloatArray, assumptions: Assumptions
) -> tuple[Matrix, FloatArray]:
    """Return A (N, 2 M) and weight (N,) with ``diag(weight) - A A^T = I + sum_j V_j^-1``, the posterior precision.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,).
    quality
        Shape (N,): about which is linearised.
    assumptions
        Noise, severity and stretch.

    >>> few = Assumptions(noise=1.0, severity=1.0, stretch=0.0)
    >>> A, weight = information(np.array([0, 0]), np.array([0, 1]), np.zeros(2), few)
    >>> (np.diag(weight) - A @ A.T).round(3).tolist()
    [[1.667, -0.333], [-0.333, 1.667]]
    """
    n_reviewers = int(reviewer.max(initial=-1)) + 1
    # Woodbury: V^-1 = (I - U C U^T) / s^2 with C = (s^2 I + U^T U)^-1, two by two a reviewer; A holds U C^(1/2) / s.
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

    So every item has the same mean square, one, and none looks better known by luck.

    >>> np.sort(stratified(2, 2, np.random.default_rng(0)), axis=0).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
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
    term is exact and most of it, the second has no diagonal. Of M the directions of a common shift and of a common
    scale are exact too, which scores of little noise leave open; the rest is left to the probes (as in [Meyer21]_).
    """
    own = (weight - (matrix**2).sum(axis=1))[:, np.newaxis]
    basis, _ = np.linalg.qr(np.column_stack([np.ones(weight.size), quality]))
    probe = rng.choice([-1.0, 1.0], (weight.size, probes))
    probe -= basis @ (basis.T @ probe)
    # R D^-1 z = z - Q D^-1 z, and D^-1 R u = u - D^-1 Q u, where Q u is known already.
    columns = np.column_stack([probe, basis])
    scaled = columns / own
    right = columns - weight[:, np.newaxis] * scaled + matrix @ (matrix.T @ scaled)
    image = solve(matrix, weight, right) - right / own
    seen = image[:, probes:]
    common = (basis * (2.0 * seen - basis @ (basis.T @ seen))).sum(axis=1)
    return np.asarray(1.0 / own[:, 0] + np.maximum(common + np.mean(probe * image[:, :probes], axis=1), 0.0))
