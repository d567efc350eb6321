"""Papers that share reviewers are alike: the prior of Leroux, a Gaussian factor a reviewer.

::

    x ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar,  L = sum_j (I - 11' / k_j)

L acts on the papers of reviewer j; dbar is its mean diagonal. The factor exp(-c/2 sum_i (x_i - xbar)^2), c = kappa /
dbar, is that of an unknown middle z of which each of her papers is a measurement with variance 1 / c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsc.inference.layout import Block, Layout
from lsc.inference.scale_users import Cavity
from lsc.inference.states import Problem
from reviewgraph.reviews import FloatArray

if TYPE_CHECKING:
    import scipy.sparse

#: Up to so many items eigenvalues are exact; above, probes and steps of Lanczos.
EXACT, PROBES, STEPS = 400, 16, 20


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


class Shared:
    """B, reviewer by reviewer: a matrix for each part, which lives as long as that is in memory."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.place = problem, np.cumsum(problem.known) - 1
        self._made: WeakKeyDictionary[Layout, scipy.sparse.csr_array] = WeakKeyDictionary()

    def __iter__(self) -> Iterator[scipy.sparse.csr_array]:
        """Pass over all reviewers; rows are the items with a score."""
        for part in self.problem.parts:
            if part.layout not in self._made:
                self._made[part.layout] = self._matrix(part.layout)
            yield self._made[part.layout]

    def _matrix(self, layout: Layout) -> scipy.sparse.csr_array:
        import scipy.sparse

        rows, columns, entries, count = [], [], [], 0
        for block in layout.blocks:
            slots = layout.item[block.first : block.last].reshape(block.shape)
            inside, who = np.nonzero(block.used.T)[::-1]
            rows.append(self.place[slots[inside, who]])
            columns.append(count + who)
            entries.append(1 / np.sqrt(block.load[who]))
            count += block.reviewer.size
        shape = int(np.count_nonzero(self.problem.known)), count
        row, column, value = (np.concatenate(each) for each in (rows, columns, entries))
        return scipy.sparse.csr_array((value, (row, column)), shape)


def spectrum(problem: Problem, rng: np.random.Generator) -> Spectrum:
    """Find the spectrum of L, exactly for few items and else by stochastic Lanczos quadrature.

    Notes
    -----
    As much work as ``STEPS`` products of L with ``PROBES`` columns, each linear in reviews.
    """
    known, shared = problem.known, Shared(problem)
    # L = D - B B', B with entries 1 / sqrt k_j, whose squares sum to 1 over the papers of a reviewer.
    size, degree = int(known.sum()), problem.count[known].astype(np.float64)
    mean = float((degree.sum() - np.count_nonzero(problem.load)) / size)
    if mean <= 0:
        return Spectrum(np.zeros(1), np.array([float(size)]), 0.0)
    if size <= EXACT:
        dense = np.diag(degree)
        for matrix in shared:
            dense -= (matrix @ matrix.T).toarray()
        return Spectrum(np.maximum(np.linalg.eigvalsh(dense), 0.0) / mean, np.ones(size), mean)
    value, weight = _lanczos(degree, shared, rng)
    return Spectrum(np.maximum(value, 0.0) / mean, weight, mean)


def _lanczos(degree: FloatArray, shared: Shared, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Ritz values and weights of random signs, that together sum to the number of items."""
    size = degree.size
    now = rng.choice([-1.0, 1.0], (size, PROBES)) / np.sqrt(size)
    before, beta = np.zeros_like(now), np.zeros(PROBES)
    alphas, betas = [], []
    for _ in range(STEPS):
        image = degree[:, None] * now
        for matrix in shared:
            image -= matrix @ (matrix.T @ now)
        image -= beta * before
        alpha = (image * now).sum(axis=0)
        image -= alpha * now
        beta = np.sqrt((image**2).sum(axis=0))
        alphas.append(alpha)
        betas.append(beta)
        before, now = now, image / np.maximum(beta, 1e-12)
    matrix = np.zeros((PROBES, STEPS, STEPS))
    line = np.arange(STEPS)
    matrix[:, line, line] = np.array(alphas).T
    matrix[:, line[1:], line[:-1]] = matrix[:, line[:-1], line[1:]] = np.array(betas[:-1]).T
    value, vector = np.linalg.eigh(matrix)
    return value.ravel(), (vector[:, 0] ** 2).ravel() * size / PROBES
