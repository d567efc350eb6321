"""The objective *level*: a level of connection, and nothing beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from planner.plans.objectives.objective import Objective

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.objectives.beliefs import Beliefs


class OnlyLevel(Objective):
    """A plan ends where its level is reached."""

    name: ClassVar[str] = "level"
    words: ClassVar[str] = "fewest reviews to the level of --target"
    needs_level: ClassVar[bool] = True

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> None:
        """Return none: no review beyond the level is chosen."""
