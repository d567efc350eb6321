"""The objective *decision*: fewest wrong among the papers that will be selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from planner.plans.objectives.objective import Objective
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.objectives.aim import Aim
    from planner.plans.objectives.beliefs import Beliefs


class Decision(Objective):
    """A review is worth the wrong selections that it is expected to prevent."""

    name: ClassVar[str] = "decision"
    words: ClassVar[str] = "after scores, fewest wrong among the papers of --select"
    helps: ClassVar[str] = "be surer of which papers to select"
    selects: ClassVar[bool] = True

    def aim(self, beliefs: Callable[[], Beliefs], select: int | None) -> Aim:
        """Place the cut.

        Raises
        ------
        InputError
            If ``select`` is missing, or not from 1 to one less than the items with scores.
        """
        if select is None:
            message = "select: objective 'decision' needs to know how many papers will be selected; found none"
            raise InputError(message)
        from planner.plans.objectives.fewest_wrong import FewestWrong

        known = beliefs()
        if isinstance(select, bool) or not 0 < select < known.scored:
            message = f"select: expected 1 to {known.scored - 1}, with {known.scored} papers scored; found {select!r}"
            raise InputError(message)
        return FewestWrong(known, int(select))
