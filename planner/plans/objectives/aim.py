"""An objective with what is known: what a review gains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from planner.plans.objectives.beliefs import Beliefs
    from reviewgraph.arrays import FloatArray, IntArray


class Aim(ABC):
    """An objective with what is known: a loss of each item, which more reviews are expected to lower.

    Parameters
    ----------
    beliefs
        Qualities, and what one more score tells.

    Attributes
    ----------
    unit
        What :meth:`total` counts, as in "12.3 wrong of those selected".
    """

    unit: ClassVar[str]

    def __init__(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs

    @abstractmethod
    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Return the expected loss of items, shape (K,), after reviews of a precision beyond those to come anyhow."""

    @abstractmethod
    def total(self, losses: float) -> float:
        """Return what a sum of losses over all items means to people."""

    @abstractmethod
    def words(self, item: int, label: str, before: float, after: float) -> str:
        """Say what a review does that raises the precision beyond what comes anyhow from ``before`` to ``after``."""

    @abstractmethod
    def worth_reading(self) -> int | None:
        """Return how many reviews to plan where nobody said; None where somebody must."""

    def borderline(self) -> IntArray | None:
        """Return the items in the order in which averages alone would ask for reviews; None where they would not."""
        return None

    def left(self, extra: FloatArray) -> float:
        """Return the total after reviews of precisions ``extra``, shape (N,), beyond those to come anyhow."""
        return float(self.total(float(self.losses(np.arange(extra.size), extra).sum())))
