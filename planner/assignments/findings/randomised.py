"""With what probability each pair is assigned, and the assignments of which one is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray, FloatArray

#: Assignments of which one is drawn, by default.
DRAWS = 100


@dataclass(frozen=True, eq=False)
class Listed:
    """Assignments of which one is drawn, each as likely as any other.

    Probabilities are the shares of the assignments that hold each pair, so they hold exactly, and with them the caps.

    Parameters
    ----------
    holds
        Whether each assignment holds each pair that may be drawn, shape (K, S).
    at_level, mended
        Share of the assignments at the level and within all rules as rounded from the best probabilities, and in the
        end.
    changed
        Pairs of an assignment that the level and the rules have changed, on average.
    lost
        Affinity of an assignment that they cost, on average; negative where it gains.
    """

    holds: BoolArray
    at_level: float
    mended: float
    changed: float
    lost: float

    @property
    def count(self) -> int:
        """K."""
        return len(self.holds)


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
        Expected affinity of a draw.
    best
        Affinity of the best assignment without a lottery and without a level.
    gap
        What no other probabilities within the caps can gain more than, in parts of the gain.
    listed
        The assignments of which one is drawn; None where the probabilities are rounded anew for each draw.
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
    listed: Listed | None

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
        found = self.listed
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
            "assignments": None if found is None else found.count,
            "at_level": None if found is None else found.at_level,
            "at_level_mended": None if found is None else found.mended,
            "changed": None if found is None else found.changed,
            "lost_by_mending": None if found is None else found.lost,
        }
