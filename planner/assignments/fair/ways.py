"""What is called fair, in one object a way; nothing heavy is imported, the command's choices come from ``WAYS``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from reviewgraph.naming import named

if TYPE_CHECKING:
    from planner.assignments.fair.lifting import Lifting
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.reviews import BoolArray


class Way(ABC):
    """A way to be fair.

    Attributes
    ----------
    name
        What commands, JSON and arguments call it.
    words
        What a chair may say of it.
    """

    name: ClassVar[str]
    words: ClassVar[str]

    @abstractmethod
    def exactly(self, problem: Problem, clock: Clock) -> tuple[BoolArray | None, bool]:
        """Return the pairs of the fairest assignment of a small problem, None if not found, and whether proved."""

    @abstractmethod
    def lift(self, lifting: Lifting) -> None:
        """Make an assignment fairer, as far as exchanges do."""


class Leximin(Way):
    """The smallest score of a paper as large as can be, then the second smallest, and so on."""

    name, words = "leximin", "the worst-served paper first"

    def exactly(self, problem: Problem, clock: Clock) -> tuple[BoolArray | None, bool]:
        """Solve one integer programme for each place in the order."""
        from planner.assignments.fair.exact import leximin

        return leximin(problem, clock)

    def lift(self, lifting: Lifting) -> None:
        """Lift the lowest, over and over."""
        from planner.assignments.fair.lifting import NO_CEILING

        lifting.run(NO_CEILING)


#: What ``fair`` may be.
WAYS: tuple[Way, ...] = (Leximin(),)


def way_named(name: str) -> Way:
    """Return the way of a name.

    Raises
    ------
    InputError
        If none bears the name.

    Examples
    --------
    >>> way_named("leximin").words
    'the worst-served paper first'
    """
    return named(WAYS, name, "fair")
