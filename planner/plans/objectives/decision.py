"""The objective *decision*: fewest wrong among the papers that will be selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.objectives.kernels import misplaced, settled
from planner.plans.objectives.objective import Objective
from reviewgraph.chances import cut_of, probability_in_top
from reviewgraph.errors import InputError
from reviewgraph.words import noun

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from planner.plans.objectives.beliefs import Beliefs
    from reviewgraph.arrays import FloatArray, IntArray

#: A paper is settled when it is in, or out, with at most this chance of being wrong.
ERROR_RATE = 0.1
#: A price of 0 or 1 would make all papers, or none, worth selecting.
LEAST_PRICE = 1e-9


class Decision(Objective):
    """A review is worth the wrong selections that it is expected to prevent, among the n that will be selected.

    Parameters
    ----------
    beliefs
        Qualities, and what one more score tells.
    n
        How many will be selected.
    """

    name: ClassVar[str] = "decision"
    words: ClassVar[str] = "after scores, fewest wrong among the papers of --select"
    helps: ClassVar[str] = "be surer of which papers to select"
    unit: ClassVar[str] = "wrong among those selected"
    selects: ClassVar[bool] = True

    def __init__(self, beliefs: Beliefs, n: int) -> None:
        super().__init__(beliefs)
        self.n = n
        self.distance = beliefs.mean - cut_of(beliefs.mean, beliefs.sd, n)
        self.chance = probability_in_top(beliefs.mean, beliefs.sd, n)
        # The price of a place lies between the chances of the last paper in and of the first one out.
        last = np.sort(self.chance)[::-1][n - 1 : n + 1]
        self.price = float(np.clip(last.mean(), LEAST_PRICE, 1.0 - LEAST_PRICE))

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> Self:
        """Place the cut.

        Raises
        ------
        InputError
            If ``select`` is missing, or not from 1 to one less than the items with scores.
        """
        if select is None:
            message = "select: objective 'decision' needs to know how many papers will be selected; found none"
            raise InputError(message)
        believed = beliefs()
        if isinstance(select, bool) or not 0 < select < believed.scored:
            message = (
                f"select: expected 1 to {believed.scored - 1}, with {believed.scored} papers scored; found {select!r}"
            )
            raise InputError(message)
        return cls(believed, int(select))

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Ask :func:`planner.plans.objectives.kernels.misplaced`."""
        coming = self.beliefs.pending[item] + precision
        return misplaced(self.distance[item], self.beliefs.sd[item], coming, self.price)

    def total(self, losses: float) -> float:
        """Return wrong selections: losses are such."""
        return losses

    def effect(self, item: int, label: str, before: float, after: float) -> str:
        """Tell the chance of being in, and how often the reviews so far settle it."""
        coming = self.beliefs.pending[item] + np.array([before, after])
        distance, sd = np.full(2, self.distance[item]), np.full(2, self.beliefs.sd[item])
        often = settled(distance, sd, coming, ERROR_RATE)[1]
        those = "all so far settle" if coming[0] > 0 else "this settles"
        return f"{label} is in with {self.chance[item]:.0%}: {those} it {_times(often)}"

    def worth_reading(self) -> int | None:
        """One review for each paper to be discussed."""
        return int((np.minimum(self.chance, 1.0 - self.chance) > ERROR_RATE).sum())

    def borderline(self) -> IntArray | None:
        """Items by the distance of their plain average from the cut of the averages."""
        average = np.where(np.isfinite(self.beliefs.average), self.beliefs.average, np.inf)
        cut = np.sort(average[np.isfinite(average)])[::-1][self.n - 1 : self.n + 1].mean()
        return np.argsort(np.abs(average - cut), kind="stable")


def _times(often: float) -> str:
    """Say a share in tenths.

    >>> _times(0.38), _times(0.01)
    ('4 times in 10', 'less than once in 20')
    """
    tenths = int(10.0 * often + 0.5)
    return "less than once in 20" if not tenths else f"{tenths} {noun(tenths, 'time')} in 10"
