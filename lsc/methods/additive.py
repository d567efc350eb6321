"""The additive model of scores, paper effect plus reviewer effect plus noise, by sparse products only.

::

    y_ij = f_i + b_j + e_ij,    f_i ~ N(0, s_f),  b_j ~ N(0, s_b),  e_ij ~ N(0, s_e)

Given the ratios s_e / s_f and s_e / s_b the expected effects solve a linear system. Eliminating f leaves M equations,

    (K + r_b I - A' (D + r_f I)^-1 A) b = rhs,

K and D the numbers of reviews of each reviewer and item and A (N, M) who reviewed what: conjugate gradients need one
pass over the reviews a step, so that a conference of 20,000 papers takes seconds where factors would fill in.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.reviews import FloatArray, Reviews

#: Steps of conjugate gradients before giving up on more accuracy; well-conditioned systems need about 20.
MAX_STEPS = 2_000


class AdditiveModel:
    """The additive model of some scored reviews at given variance ratios.

    Parameters
    ----------
    scored
        Reviews that all have a score.
    item_ratio, reviewer_ratio
        r_f and r_b: variance of the noise over that of the effects, 0 for free effects.
    """

    def __init__(self, scored: Reviews, item_ratio: float, reviewer_ratio: float) -> None:
        from scipy import sparse

        rows = np.arange(scored.n_reviews)
        one = np.ones(rows.size)
        self.of_item = sparse.csr_array((one, (scored.item, rows)), (scored.n_items, rows.size))
        self.of_reviewer = sparse.csr_array((one, (scored.reviewer, rows)), (scored.n_reviewers, rows.size))
        self.reviewed = sparse.csr_array(self.of_item @ self.of_reviewer.T)
        self.reviewing = sparse.csr_array(self.reviewed.T)
        weight = scored.reviews_per_item + item_ratio
        self.item_weight = np.where(weight > 0, weight, 1.0)[:, None]
        self.reviewer_weight = (scored.loads + reviewer_ratio)[:, None]
        self.diagonal = self.reviewer_weight - (self.reviewing @ (1.0 / self.item_weight))
        self.diagonal = np.where(self.diagonal > 1e-12, self.diagonal, 1.0)

    def __matmul__(self, effects: FloatArray) -> FloatArray:
        """Return the reduced matrix times reviewer effects, shape (M, S)."""
        moved: FloatArray = self.reviewing @ ((self.reviewed @ effects) / self.item_weight)
        return self.reviewer_weight * effects - moved

    def reviewer_effects(self, residual: FloatArray, accuracy: float) -> FloatArray:
        """Return the expected reviewer effects (M, S) of centred scores (E, S)."""
        explained = self.reviewing @ ((self.of_item @ residual) / self.item_weight)
        return self.solve(self.of_reviewer @ residual - explained, accuracy)

    def item_effects(self, residual: FloatArray, reviewer_effects: FloatArray) -> FloatArray:
        """Return the expected item effects (N, S) of centred scores once the reviewer effects are known."""
        found: FloatArray = (self.of_item @ residual - self.reviewed @ reviewer_effects) / self.item_weight
        return found

    def solve(self, rhs: FloatArray, accuracy: float) -> FloatArray:
        """Conjugate gradients with the diagonal as preconditioner, all columns at once, from zero."""
        found = np.zeros_like(rhs)
        left = rhs.copy()
        ready = left / self.diagonal
        direction = ready.copy()
        energy = np.einsum("ms,ms->s", left, ready)
        goal = accuracy**2 * energy
        for _ in range(MAX_STEPS):
            if (energy <= goal).all():
                break
            image = self @ direction
            curvature = np.einsum("ms,ms->s", direction, image)
            moving = (energy > goal) & (curvature > 0)
            if not moving.any():
                break
            step = np.divide(energy, curvature, out=np.zeros_like(energy), where=moving)
            found += step * direction
            left -= step * image
            ready = left / self.diagonal
            before, energy = energy, np.einsum("ms,ms->s", left, ready)
            direction = ready + np.divide(energy, before, out=np.zeros_like(energy), where=before > 0) * direction
        return found
