"""The result of an assignment: who reviews what, how much affinity that has, and what the level cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import FloatArray

Target: TypeAlias = Literal["double", "recoverable", "connected", "none"]
Status: TypeAlias = Literal["optimal", "feasible", "level_missed", "infeasible"]

#: What each status means.
MEANING: Mapping[Status, str] = {
    "optimal": "no assignment within the constraints has more affinity, and it reaches the level",
    "feasible": "the constraints hold and the level is reached; the affinity lost for that may not be the least",
    "level_missed": "the constraints hold but the search did not reach the level; give it more time, or add reviews",
    "infeasible": "proved: no assignment obeys everything that was asked for",
}


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Who reviews what, and what it cost to make the scores comparable.

    Parameters
    ----------
    status
        ``optimal``, ``feasible``, ``level_missed`` or ``infeasible``, as :data:`MEANING` has it.
    target
        The level asked for.
    reviews
        The assignment: planned reviews, without those of a first phase; no reviews when infeasible.
    affinities
        Affinity of each review, shape (E,); 0 where unscored.
    affinity_unconstrained
        The largest total under the same demands, loads, conflicts and fixed pairs without a connection level; NaN
        when there is none.
    critical
        Reviewers without whom the level would not hold; None if they were not looked for.
    forced
        Pairs that the level forced in, beyond what affinity chose.
    explanation
        Why the assignment is infeasible or misses the level; empty otherwise.
    standard_error
        Expected standard error of a paper's quality (root mean square, as a multiple of the noise in the scores)
        before and after exchanges for a better conditioned graph; None if these were not looked for.
    least_loss
        Affinity that the level costs at least, whatever the assignment; None where that is not known.
    loads
        Reviews of each reviewer in the assignment, shape (M,).
    """

    status: Status
    target: Target
    reviews: Reviews
    affinities: FloatArray
    affinity_unconstrained: float
    critical: tuple[Label, ...] | None = None
    forced: int = 0
    explanation: str = ""
    standard_error: tuple[float, float] | None = None
    least_loss: float | None = None
    loads: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __repr__(self) -> str:
        return f"<Assignment: {self.status}, {self.reviews.n_reviews} reviews, affinity {self.affinity:.6g}>"

    @property
    def affinity(self) -> float:
        """Total affinity of the assignment."""
        return math.fsum(self.affinities.tolist())

    @property
    def mean_affinity(self) -> float:
        """Mean affinity of a review; NaN without reviews."""
        return float(self.affinities.mean()) if self.affinities.size else float("nan")

    @property
    def minimum_affinity(self) -> float:
        """Least affinity of a review; NaN without reviews."""
        return float(self.affinities.min()) if self.affinities.size else float("nan")

    @property
    def price(self) -> float:
        """Affinity lost against the unconstrained optimum, in percent of it; an upper bound on what it must be."""
        if self.status == "infeasible":
            return float("nan")
        lost = self.affinity_unconstrained - self.affinity
        scale = abs(self.affinity_unconstrained)
        return 100.0 * lost / scale if scale > 0 else 0.0

    @property
    def least_price(self) -> float | None:
        """What the price must be at least, in percent; None where that is not known."""
        if self.least_loss is None:
            return None
        scale = abs(self.affinity_unconstrained)
        return 100.0 * self.least_loss / scale if scale > 0 else 0.0

    @property
    def survives(self) -> bool | None:
        """Whether the level holds after any one reviewer drops out; None if that was not looked into."""
        return None if self.critical is None else self.status in ("optimal", "feasible") and not self.critical
