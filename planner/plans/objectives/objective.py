"""What planning asks of an objective. One class an objective stands beside this module; nothing asks for its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from planner.plans.objectives.beliefs import Beliefs
    from reviewgraph.arrays import FloatArray, IntArray


class Objective(ABC):
    """What extra reviews are for: a loss of each item, which more reviews are expected to lower.

    Parameters
    ----------
    beliefs
        Qualities, and what one more score tells.

    Attributes
    ----------
    name
        What commands and arguments call it.
    words
        What it is, for help.
    helps
        What its reviews help the chair to do, for who is asked: "it helps us ..."; empty for a level, of which
        all plans speak in one way.
    unit
        What :meth:`total` counts, as in "12.3 wrong of those selected".
    needs_level
        Whether a plan is made to a level although none was named.
    selects
        Whether it must be told how many items will be selected.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    helps: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    needs_level: ClassVar[bool] = False
    selects: ClassVar[bool] = False

    def __init__(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> Self | None:
        """Return the objective for what is believed and how many items will be selected; None where neither matters.

        Raises
        ------
        InputError
            If ``select`` is not what it needs.
        """
        return cls(beliefs())

    @abstractmethod
    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Return the expected loss of items, shape (K,), after reviews of a precision beyond those to come anyhow."""

    @abstractmethod
    def total(self, losses: float) -> float:
        """Return what a sum of losses over all items means to people."""

    @abstractmethod
    def effect(self, item: int, label: str, before: float, after: float) -> str:
        """Say what a review does that raises the precision beyond what comes anyhow from ``before`` to ``after``."""

    def worth_reading(self) -> int | None:
        """Return how many reviews to plan where nobody said; None, by default, where somebody must."""
        return None

    def borderline(self) -> IntArray | None:
        """Return the items in the order in which averages alone would ask for reviews; None where they would not."""
        return None

    def left(self, extra: FloatArray) -> float:
        """Return the total after reviews of precisions ``extra``, shape (N,), beyond those to come anyhow."""
        return float(self.total(float(self.losses(np.arange(extra.size), extra).sum())))
