"""Similarity of papers that share reviewers: the Leroux prior, with one Gaussian factor per reviewer.

::

    x ~ N(0, K^-1),   K = (1 - kappa) I + kappa L / dbar,   L = sum_j (I - 11' / k_j)

L acts on the papers of reviewer j; dbar is its mean diagonal over papers with a score. The factor
exp(-c/2 sum_i (x_i - xbar)^2), c = kappa / dbar, is that of a latent centre z, of which each paper is a measurement
with variance 1 / c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reviewgraph._base import BoolArray, FloatArray

#: Papers up to which eigenvalues are exact; beyond, steps and probes of stochastic Lanczos quadrature, and the number
#: of probes times papers that is enough.
EXACT = 400
STEPS = 20
PROBES = 16
ENOUGH = 2_000_000
#: Values of kappa among which it is chosen.
KAPPAS = np.concatenate([np.linspace(0.0, 0.9, 19), [0.93, 0.95, 0.965, 0.975, 0.985]])


class Spectrum(NamedTuple):
    """Eigenvalues of L / dbar over papers with a score, their weights, which sum to the number of these, and dbar."""

    value: FloatArray
    weight: FloatArray
    diagonal: float

    def log_determinant(self, kappa: FloatArray | float) -> FloatArray:
        """Return log det K for one or several kappa."""
        return np.asarray(np.log1p(np.multiply.outer(kappa, self.value - 1.0)) @ self.weight)

    def best(self, squares: float, plain: float) -> float:
        """Return the kappa of largest expected log density; ``squares`` = E x'L x and ``plain`` = E x'x."""
        density = self.log_determinant(KAPPAS) - KAPPAS * (squares / self.diagonal - plain)
        return float(KAPPAS[int(np.argmax(density))])

    def promise(self, squares: float, plain: float) -> float:
        """Return the gain in log evidence that a step from kappa = 0 predicts: score^2 / (2 information)."""
        score = 0.5 * (plain - squares / self.diagonal)
        information = 0.5 * float(self.weight @ (self.value - 1.0) ** 2)
        return score**2 / (2 * information) if score > 0 and information > 0 else 0.0


def spectrum_of(
    product: Callable[[FloatArray], FloatArray], degree: FloatArray, known: BoolArray, rng: np.random.Generator
) -> Spectrum | None:
    """Return the spectrum of L, exact or by stochastic Lanczos quadrature; None where no two papers share a reviewer.

    ``product`` maps columns, shape (N, P), to L times these; ``degree`` (N,) is the diagonal of L. O(E) per step.
    """
    size = int(known.sum())
    diagonal = float(degree[known].mean()) if size else 0.0
    if diagonal <= 0:
        return None
    if size <= EXACT:
        columns = np.zeros((known.size, size))
        columns[known] = np.eye(size)
        value = np.linalg.eigvalsh(product(columns)[known])
        return Spectrum(np.maximum(value, 0.0) / diagonal, np.ones(size), diagonal)
    # Lanczos: L V = V T with T tridiagonal, from random probes of unit length. A probe's quadrature has the eigenvalues
    # of T as nodes, and the squared first components of its eigenvectors as weights.
    probes = min(PROBES, max(1, -(-ENOUGH // size)))
    vector = np.zeros((known.size, probes))
    vector[known] = rng.choice([-1.0, 1.0], (size, probes)) / math.sqrt(size)
    previous = np.zeros_like(vector)
    beta = np.zeros(probes)
    matrix = np.zeros((probes, STEPS, STEPS))
    for step in range(STEPS):
        image = product(vector) - beta * previous
        alpha = (image * vector).sum(axis=0)
        image -= alpha * vector
        beta = np.sqrt((image**2).sum(axis=0))
        matrix[:, step, step] = alpha
        if step + 1 < STEPS:
            matrix[:, step + 1, step] = beta
        previous = vector
        vector = image / np.maximum(beta, 1e-12)
    value, vectors = np.linalg.eigh(matrix)
    weight = vectors[:, 0] ** 2 * size / probes
    return Spectrum(np.maximum(value.ravel(), 0.0) / diagonal, weight.ravel(), diagonal)
