"""What exchanges for smaller errors gave up and bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviewgraph.assumptions import Assumptions
    from reviewgraph.reviews import FloatArray

#: Part of the affinity that may be given up for smaller errors by default.
CONDITIONING = 0.0005

#: Part of the papers that a selection takes, where the share of right ones is given.
SELECTED = 0.1


@dataclass(frozen=True)
class Exchanges:
    """Figures before and after exchanges of reviews, under the same assumptions.

    Parameters
    ----------
    lost
        Affinity given up for them.
    error
        Expected standard error of a paper's quality once scores are in (root mean square over the papers), before and
        after, in points of the assumed spread.
    right
        Expected share of the best tenth of the papers among those selected, before and after.
    assumptions
        What is assumed of the scores.
    """

    lost: float
    error: tuple[float, float]
    right: tuple[float, float]
    assumptions: Assumptions

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray, lost: float, assumptions: Assumptions) -> Exchanges:
        """Sum up error variances of the papers, in units of the variance of qualities, before and after."""
        import numpy as np

        from reviewgraph.precision.selecting import expected_share

        count = max(1, round(SELECTED * before.size))
        error = tuple(assumptions.spread * float(np.sqrt(variance.mean())) for variance in (before, after))
        right = tuple(expected_share(variance, count) for variance in (before, after))
        return cls(lost, (error[0], error[1]), (right[0], right[1]), assumptions)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "affinity": self.lost,
            "expected_error": {"before": self.error[0], "after": self.error[1]},
            "expected_right": {"before": self.right[0], "after": self.right[1]},
            "assumptions": dict(vars(self.assumptions)),
        }
