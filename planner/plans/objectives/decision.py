"""The objective *decision*: fewest wrong among the papers that will be selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.objectives.kernels import misplaced, settled
from planner.plans.objectives.objective import Aim, Objective
from reviewgraph.chances import cut_of
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from planner.plans.objectives.beliefs import Beliefs
    from reviewgraph.arrays import FloatArray, IntArray

#: A paper is settled when it is in, or out, with at most this chance of being wrong.
ERROR_RATE = 0.1


class Decision(Objective):
    """A review is worth the wrong selections that it is expected to prevent."""

    name: ClassVar[str] = "decision"
    words: ClassVar[str] = "after scores, fewest wrong among the papers of --select"
    selects: ClassVar[bool] = True

    def aim(self, beliefs: Beliefs, select: int | None) -> Aim:
        """Place the cut.

        Raises
        ------
        InputError
            If ``select`` is missing, or not from 1 to one less than the items with scores.
        """
        if select is None or isinstance(select, bool) or not 0 < select < beliefs.scored:
            message = (
                f"select: expected how many papers will be selected, 1 to {beliefs.scored - 1} of the {beliefs.scored} "
                f"with scores, as objective 'decision' needs; found {select!r}"
            )
            raise InputError(message)
        return FewestWrong(beliefs, cut_of(beliefs.mean, beliefs.sd, int(select)))


class FewestWrong(Aim):
    """An item's loss is its chance of ending on the wrong side of the cut; each wrong selection is two of these."""

    unit: ClassVar[str] = "wrong among those selected"

    def __init__(self, beliefs: Beliefs, cut: float) -> None:
        super().__init__(beliefs)
        self.distance = beliefs.mean - cut

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Ask :func:`planner.plans.objectives.kernels.misplaced`."""
        return misplaced(self.distance[item], self.beliefs.sd[item], self.beliefs.pending[item] + precision)

    def total(self, losses: float) -> float:
        """Return wrong selections: one item too many above the cut, and one too few."""
        return 0.5 * losses

    def words(self, item: int, label: str, before: float, after: float) -> str:
        """Tell the chance of being in, and how often the reviews so far settle it."""
        from scipy.special import ndtr

        chance = float(ndtr(self.distance[item] / self.beliefs.sd[item]))
        coming = self.beliefs.pending[item] + np.array([before, after])
        often = settled(np.full(2, self.distance[item]), np.full(2, self.beliefs.sd[item]), coming, ERROR_RATE)
        with_others = ", with those before it," if coming[0] > 0 else ""
        return f"{label} is in with {chance:.0%}: this{with_others} settles it {often[1]:.0%} of the time"

    def worth_reading(self) -> int | None:
        """One review for each paper to be discussed."""
        loss = self.losses(np.arange(self.distance.size), np.zeros(self.distance.size))
        return int((loss > ERROR_RATE).sum())
