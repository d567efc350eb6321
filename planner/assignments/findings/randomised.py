"""With what probability each pair is assigned, and what draws were measured to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import FloatArray

#: Draws measured by default.
DRAWS = 100


@dataclass(frozen=True)
class Measured:
    """What draws did, over ``count`` of them.

    A draw as rounded has exactly the probabilities that are published, so only what mending moves is measured.

    Parameters
    ----------
    count
        Draws measured.
    at_level, mended
        Share of the draws at the level and within all rules as drawn, and after mending.
    changed
        Pairs that mending changes in a draw, on average.
    lost
        Affinity that mending costs a draw, on average; negative where it gains.
    excess, excess_error
        The largest probability beyond its cap with which any pair is assigned, and its standard error; 0 if none is
        beyond.
    deviation, deviation_error
        The largest difference of any pair from its published probability, and its standard error.
    """

    count: int
    at_level: float
    mended: float
    changed: float
    lost: float
    excess: float
    excess_error: float
    deviation: float
    deviation_error: float


@dataclass(frozen=True, eq=False)
class Randomised:
    """A lottery over assignments, by the probability of each pair.

    Parameters
    ----------
    item, reviewer, probability
        The pairs that may be drawn, by item: their codes and probabilities, shape (S,).
    items, reviewers
        Labels.
    max_probability
        The cap on every probability; None where it is a table.
    perturbation
        Weight of the square of a probability in the gain.
    certain
        Fixed pairs, whose probability is 1 whatever the cap.
    expected
        Expected affinity of a draw before mending.
    best
        Affinity of the best assignment without a lottery and without a level.
    gap
        What no other probabilities within the caps can gain more than, in parts of the gain.
    measured
        What draws did; None if they were not measured.
    """

    item: IntArray
    reviewer: IntArray
    probability: FloatArray
    items: Sequence[Label]
    reviewers: Sequence[Label]
    max_probability: float | None
    perturbation: float
    certain: int
    expected: float
    best: float
    gap: float
    measured: Measured | None

    @property
    def percent(self) -> float:
        """Expected affinity in percent of the best."""
        return 100.0 * self.expected / self.best if self.best else 100.0

    @property
    def support(self) -> int:
        """Pairs that may be drawn."""
        return int(self.probability.size)

    @property
    def entropy(self) -> float:
        """Sum of ``-x ln x`` over the probabilities x."""
        import numpy as np

        return abs(float((self.probability * np.log(self.probability)).sum()))

    @property
    def largest(self) -> float:
        """Largest probability."""
        return float(self.probability.max(initial=0.0))

    @property
    def mean_largest(self) -> float:
        """Largest probability of each item's pairs, on average."""
        import numpy as np

        most = np.zeros(len(self.items))
        np.maximum.at(most, self.item, self.probability)
        served = most[most > 0]
        return float(served.mean()) if served.size else 0.0

    def to_columns(self) -> dict[str, list[Any]]:
        """Return ``item``, ``reviewer`` and ``probability`` of each pair that may be drawn, by item."""
        return {
            "item": [self.items[code] for code in self.item.tolist()],
            "reviewer": [self.reviewers[code] for code in self.reviewer.tolist()],
            "probability": self.probability.tolist(),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the same, a dictionary a pair."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        found = self.measured
        return {
            "max_probability": self.max_probability,
            "perturbation": self.perturbation,
            "certain": self.certain,
            "expected_affinity": self.expected,
            "expected_percent": self.percent,
            "gap_percent": 100.0 * self.gap,
            "support": self.support,
            "entropy": self.entropy,
            "largest_probability": self.largest,
            "mean_largest_probability": self.mean_largest,
            "measured": 0 if found is None else found.count,
            "at_level": None if found is None else found.at_level,
            "at_level_mended": None if found is None else found.mended,
            "changed": None if found is None else found.changed,
            "lost_by_mending": None if found is None else found.lost,
            "excess": None if found is None else found.excess,
            "excess_error": None if found is None else found.excess_error,
            "deviation": None if found is None else found.deviation,
            "deviation_error": None if found is None else found.deviation_error,
        }
