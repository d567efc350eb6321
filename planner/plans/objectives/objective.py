"""What planning asks of an objective. One class an objective stands beside this module; nothing asks for its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.objectives.aim import Aim
    from planner.plans.objectives.beliefs import Beliefs


class Objective(ABC):
    """What extra reviews are for.

    Attributes
    ----------
    name
        What commands and arguments call it.
    words
        What it is, for help.
    helps
        What its reviews help the chair to do, for who is asked: "it helps us ..."; empty for a level, of which
        all plans speak in one way.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    helps: ClassVar[str] = ""
    #: Whether a plan is made to a level although none was named.
    needs_level: ClassVar[bool] = False
    #: Whether it must be told how many items will be selected.
    selects: ClassVar[bool] = False

    @abstractmethod
    def aim(self, beliefs: Callable[[], Beliefs], select: int | None) -> Aim | None:
        """Return the objective for what is believed and how many items will be selected; None where neither matters."""

    def __repr__(self) -> str:
        return f"<Objective: {self.name}, {self.words}>"
