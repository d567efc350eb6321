"""What judges say about the quality that is wanted: references as measurements of it by a more trusted judge.

::

    w_i = c + d q_i + u_i,   u_i ~ N(0, omega^2)     wanted quality, q the quality that the judges agree on
    y_i = w_i + v_i                                  a reference

Errors that all judges share are invisible in their scores. References show them: regression of the references on the
posterior means of q is unbiased for c and d, since E y = c + d E q given the scores, and its residual variance is
omega^2 + d^2 Var q. Every wanted quality then has the error of c, d and u beside that of q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reviewgraph._base import FloatArray, InputError

#: Least number of references.
MIN_REFERENCES = 3
#: Prior of omega^2: this many references without any relation to the judges.
PSEUDO_REFERENCES = 1.0
#: Share of omega^2 that is the error of the reference itself; a single score cannot tell it from that of the judges.
OWN_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Validity:
    """How the quality that references measure follows from that which the judges agree on.

    ``intercept``, ``slope``: c and d >= 0, or 0 and 1 without references; ``estimate``, ``slope_error``: least-squares
    estimate of d, which may be negative, and half the width of its central 90 % interval; ``sd``: omega, in points of
    the references, what the judges leave unexplained, 0 without; ``spread``: standard deviation of the wanted quality
    of all papers, which that of the references is not if they were chosen; ``n``: number of references whose papers
    have a quality. By item, shapes (N,): ``value``, the references, NaN without; ``share``, the weight of the reference
    in the paper's quality, 0 without; ``error``, the variance of the wanted quality beside that of q.
    """

    intercept: float
    slope: float
    estimate: float
    slope_error: float
    sd: float
    spread: float
    n: int
    value: FloatArray
    share: FloatArray
    error: FloatArray

    @property
    def is_learned(self) -> bool:
        """Whether there are references."""
        return self.n > 0

    @property
    def slope_interval(self) -> tuple[float, float]:
        """Central 90 % interval of the slope."""
        return self.estimate - self.slope_error, self.estimate + self.slope_error

    @property
    def unexplained(self) -> float:
        """Share of the spread of the wanted quality that the judges leave unexplained, from 0 to 1."""
        return min(self.sd / self.spread, 1.0) if self.spread > 0 else 0.0

    @property
    def is_predictive(self) -> bool:
        """Whether the 90 % interval of the slope lies above 0."""
        return self.slope_interval[0] > 0

    def quality(self, quality: FloatArray) -> FloatArray:
        """Return the expected wanted quality given that of the judges, shape (..., N)."""
        by_reference = self.share * np.where(self.share > 0, self.value, 0.0)
        return np.asarray((1 - self.share) * (self.intercept + self.slope * quality) + by_reference)

    def standard_error(self, error: FloatArray) -> FloatArray:
        """Return the posterior standard deviations given those of the judges' quality, shapes (N,)."""
        inherited = (1 - self.share) * self.slope * error
        return np.asarray(np.sqrt(inherited**2 + self.error))

    def draws(self, quality: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return draws of the wanted quality given those of q, shapes (D, N)."""
        if not self.n:
            return quality
        return np.asarray(self.quality(quality) + np.sqrt(self.error) * rng.standard_normal(quality.shape))

    def to_dict(self) -> dict[str, Any]:
        """Return the entries that the command's ``--json`` prints."""
        low, high = self.slope_interval
        return {
            "slope": self.estimate,
            "slope_interval": [low, high],
            "sd": self.sd,
            "n": self.n,
            "unexplained": self.unexplained,
        }


def without_references(n_items: int) -> Validity:
    """Return the validity that takes the judges' quality for the wanted one."""
    zeros = np.zeros(n_items)
    return Validity(
        intercept=0.0,
        slope=1.0,
        estimate=1.0,
        slope_error=0.0,
        sd=0.0,
        spread=0.0,
        n=0,
        value=np.full(n_items, np.nan),
        share=zeros,
        error=zeros,
    )


def validity_of(quality: FloatArray, standard_error: FloatArray, full: FloatArray) -> Validity:
    """Learn how references follow from the judges' quality, shapes (N,), NaN where there is none.

    Raises InputError unless there are three or more, of different values, of papers whose qualities differ.
    """
    from scipy.special import stdtrit

    variance = standard_error**2
    known = np.isfinite(quality)
    referenced = known & np.isfinite(full)
    scored = np.flatnonzero(referenced)
    x = quality[scored]
    y = full[scored]
    n = x.size
    if n < MIN_REFERENCES or np.ptp(y) <= 0 or np.ptp(x) <= 0:
        raise InputError(
            f"references: expected {MIN_REFERENCES} or more of different values, of papers whose qualities differ, "
            f"found {n}; pass more, or none"
        )

    # Least squares; a negative slope means that the judges say nothing, not that they are to be turned round.
    centre = float(x.mean())
    square = float(((x - centre) ** 2).sum())
    estimate = float(((x - centre) @ (y - y.mean())) / square)
    slope = max(estimate, 0.0)
    residual = y - y.mean() - slope * (x - centre)
    prior = PSEUDO_REFERENCES * float(y.var(ddof=1))
    total = (float(residual @ residual) + prior) / (n - 2 + PSEUDO_REFERENCES)
    omega_square = max(total - slope**2 * float(variance[scored].mean()), 0.05 * total)
    of_judges = float(quality[known].var() + variance[known].mean())

    # Error of the line at each paper, and of u; a reference's own share of omega^2 is its error.
    error = omega_square + total * (1 / n + (quality - centre) ** 2 / square)
    of_reference = OWN_SHARE * omega_square
    by_judges = error + slope**2 * variance - of_reference
    share = np.where(referenced, by_judges / (by_judges + of_reference), 0.0)
    remaining = np.where(referenced, share * of_reference - ((1 - share) * slope) ** 2 * variance, error)
    return Validity(
        intercept=float(y.mean() - slope * centre),
        slope=slope,
        estimate=estimate,
        slope_error=float(stdtrit(n - 2 + PSEUDO_REFERENCES, 0.95) * np.sqrt(total / square)),
        sd=float(np.sqrt(omega_square)),
        spread=float(np.sqrt(slope**2 * of_judges + omega_square)),
        n=n,
        value=full,
        share=share,
        error=np.maximum(remaining, 0.0),
    )
