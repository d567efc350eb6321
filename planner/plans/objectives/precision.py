"""The objective *precision*: the smallest expected error of all papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from planner.plans.objectives.objective import Objective

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.objectives.aim import Aim
    from planner.plans.objectives.beliefs import Beliefs


class Precision(Objective):
    """A review is worth the variance that it takes off."""

    name: ClassVar[str] = "precision"
    words: ClassVar[str] = "after scores, smallest expected error of all papers"
    helps: ClassVar[str] = "know more precisely how good the papers are"

    def aim(self, beliefs: Callable[[], Beliefs], select: int | None) -> Aim:
        """Take the beliefs as they are; whatever is selected."""
        from planner.plans.objectives.smallest_error import SmallestError

        return SmallestError(beliefs())
