"""Papers that share reviewers are alike: the prior of Leroux, a Gaussian factor a reviewer.

::

    x ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar,  L = sum_j (I - 11' / k_j)

L acts on the papers of reviewer j; dbar is its mean diagonal. The factor exp(-c/2 sum_i (x_i - xbar)^2), c = kappa /
dbar, is that of an unknown middle z of which each of her papers is a measurement with variance 1 / c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.inference.halves import Threads, take_middles
from lsc.inference.layout import Block
from lsc.inference.scale_users import Cavity
from lsc.inference.states import Problem
from reviewgraph.reviews import FloatArray

if TYPE_CHECKING:
    import scipy.sparse

#: Up to so many items eigenvalues are exact; above, steps of Lanczos, and at least the fewer where kappa is small.
EXACT, STEPS, FEW_STEPS = 400, 20, 8
#: Probes, that is random signs, and items times probes that are enough: the more items, the more a probe tells.
PROBES, ENOUGH = 16, 2_000_000


class Likeness(NamedTuple):
    """Messages, shape (k, m), and log evidence, shape (m,), of the factors of a block."""

    precision: FloatArray
    shift: FloatArray
    log_evidence: FloatArray


def likeness_step(block: Block, cavity: Cavity, strength: float) -> Likeness:
    """Tell each paper what the reviewer's other papers say of their common middle.

    Parameters
    ----------
    strength
        c = kappa / dbar.
    """
    weight = block.used / (cavity.variance + 1 / strength)
    total, weighted = weight.sum(axis=0), weight * cavity.mean
    middle = weighted.sum(axis=0)
    others, told = total - weight, middle - weighted
    # A paper alone learns nothing: there are no others.
    others = np.where((block.used > 0) & (block.load > 1), others, 0.0)
    precision = strength * others / (strength + others)
    shift = np.divide(precision * told, others, out=np.zeros_like(told), where=others > 0)
    removed = (block.used * np.log1p(strength * cavity.variance)).sum(axis=0)
    evidence = 0.5 * (np.log(strength * block.load / total) - removed)
    evidence -= 0.5 * ((weighted * cavity.mean).sum(axis=0) - middle**2 / total)
    return Likeness(precision, shift, evidence)


class Spectrum(NamedTuple):
    """Eigenvalues of L / dbar over the items with scores and how many each stands for; dbar."""

    value: FloatArray
    weight: FloatArray
    diagonal: float

    def log_determinant(self, kappa: float) -> float:
        """Return log det K."""
        return float(self.weight @ np.log1p(kappa * (self.value - 1.0)))

    def mean_square(self, kappa: float) -> float:
        """Mean square of qualities about their mean that the prior expects: tr K^-1 / N less that of the mean."""
        size = self.weight.sum()
        total = self.weight @ (1 / (1.0 + kappa * (self.value - 1.0)))
        return float(max(total - 1 / (1.0 - kappa), 0.05 * size) / size)


def spectrum(problem: Problem, rng: np.random.Generator, steps: int = STEPS) -> Spectrum:
    """Find the spectrum of L, exactly for few items and else by stochastic Lanczos quadrature.

    Parameters
    ----------
    steps
        Of Lanczos, where eigenvalues are not exact.

    Notes
    -----
    As much work as so many products of L with up to ``PROBES`` columns, each linear in reviews.
    """
    # L = D - B B', B with entries 1 / sqrt k_j, whose squares sum to 1 over the papers of a reviewer.
    known = problem.known
    size, degree = int(known.sum()), problem.count.astype(np.float64)
    mean = float((degree.sum() - np.count_nonzero(problem.load)) / size)
    if mean <= 0:
        return Spectrum(np.zeros(1), np.array([float(size)]), 0.0)
    if size <= EXACT:
        shared, dense = _matrix(problem)[np.flatnonzero(known)], np.diag(degree[known])
        value = np.linalg.eigvalsh(dense - (shared @ shared.T).toarray())
        return Spectrum(np.maximum(value, 0.0) / mean, np.ones(size), mean)
    probes = min(PROBES, -(-ENOUGH // size))
    start = np.zeros((problem.n_items + 1, probes))
    start[:-1][known] = rng.choice([-1.0, 1.0], (size, probes)) / np.sqrt(size)
    value, weight = _lanczos(_laplacian(problem), start, steps)
    return Spectrum(np.maximum(value, 0.0) / mean, weight * size, mean)


def _laplacian(problem: Problem) -> Callable[[FloatArray], FloatArray]:
    """Return the product of L with columns, shape (N + 1, P); the last row belongs to empty slots."""
    degree = np.append(problem.count, 0)[:, None]
    if not problem.compiled:
        shared = _matrix(problem)
        return lambda now: degree * now - shared @ (shared.T @ now)

    def passed(now: FloatArray) -> FloatArray:
        # Two threads would write to the same items.
        images = degree * now, np.zeros_like(now)
        with Threads() as threads:
            for part in problem.parts:
                take_middles(threads, part.layout, now, images)
        return images[0] + images[1]

    return passed


def _matrix(problem: Problem) -> scipy.sparse.csr_array:
    """Return B, items by reviewers."""
    import scipy.sparse

    parts = []
    for part in problem.parts:
        used = part.layout.item < problem.n_items
        parts.append((part.layout.item[used], part.layout.reviewer[used]))
    item, who = (np.concatenate(each) for each in zip(*parts, strict=True))
    shape = problem.n_items + 1, problem.n_reviewers
    return scipy.sparse.csr_array((problem.load[who] ** -0.5, (item, who)), shape)


def _lanczos(product: Callable[[FloatArray], FloatArray], now: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    """Ritz values, and their weights, that sum to 1, from columns of length 1."""
    probes = now.shape[1]
    before, beta = np.zeros_like(now), np.zeros(probes)
    alphas, betas = [], []
    for _ in range(steps):
        image = product(now)
        image -= beta * before
        alpha = np.einsum("ip,ip->p", image, now)
        image -= alpha * now
        beta = np.sqrt(np.einsum("ip,ip->p", image, image))
        alphas.append(alpha)
        betas.append(beta)
        image /= np.maximum(beta, 1e-12)
        before, now = now, image
    matrix = np.zeros((probes, steps, steps))
    line = np.arange(steps)
    matrix[:, line, line] = np.array(alphas).T
    matrix[:, line[1:], line[:-1]] = matrix[:, line[:-1], line[1:]] = np.array(betas[:-1]).T
    value, vector = np.linalg.eigh(matrix)
    return value.ravel(), (vector[:, 0] ** 2).ravel() / probes
