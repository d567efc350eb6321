"""The objective *precision*: the smallest expected error of all papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.objectives.kernels import variance_left
from planner.plans.objectives.objective import Objective

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray


class Precision(Objective):
    """A review is worth the variance that it takes off: an item's loss is its share of the mean square error."""

    name: ClassVar[str] = "precision"
    words: ClassVar[str] = "after scores, smallest expected error of all papers"
    helps: ClassVar[str] = "know more precisely how good the papers are"
    unit: ClassVar[str] = "points of expected error, root mean square over papers"

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Ask :func:`planner.plans.objectives.kernels.variance_left`."""
        return variance_left(self.beliefs.sd[item], self.beliefs.pending[item] + precision) / self.beliefs.sd.size

    def total(self, losses: float) -> float:
        """Return the root mean square."""
        return float(np.sqrt(max(losses, 0.0)))

    def effect(self, item: int, label: str, before: float, after: float) -> str:
        """Tell both standard errors."""
        coming = self.beliefs.pending[item] + np.array([before, after])
        known = np.sqrt(variance_left(self.beliefs.sd[[item, item]], coming))
        return f"{label} would be known to {known[0]:.2f} points: this makes it {known[1]:.2f}"
