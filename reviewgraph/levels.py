"""The levels of connection: each one object, with its name, its words for people and its test.

A level lives here and nowhere else: the command's choices, the words of pages and the checks of arguments all come
from :data:`LEVELS` and :data:`ROBUST`. What it takes to *reach* a level is the planner's business
(``planner.plans.targets``), which holds one target a level and says so at import where one is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from reviewgraph.naming import named

#: Where no review connects all items, a selection is made inside the largest connected component if it holds at least
#: this part of the items with a score, and the others are set aside; where components are nearer in size it is refused.
LARGEST_SHARE = 0.9


class Findings(Protocol):
    """What the levels ask of a check: one answer each (:class:`reviewgraph.checking.Structure` has them)."""

    @property
    def recovery_resilient(self) -> bool:
        """Whether one doubly connected component covers all items."""
        ...

    @property
    def recoverable(self) -> bool:
        """Whether there are no degrees of freedom left."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether all items lie in one piece."""
        ...

    @property
    def survives_any_reviewer(self) -> bool:
        """Whether one doubly connected component covers all items after the loss of any one reviewer."""
        ...

    @property
    def survives_any_review(self) -> bool:
        """Whether one doubly connected component covers all items after the loss of any one review."""
        ...


class Level(ABC):
    """What may be said of comparing items, given who reviews what.

    Attributes
    ----------
    name
        What commands, JSON and arguments call it.
    term
        The term of the field.
    words
        What a chair may say of the papers: "the papers are ...".
    differ
        How reviewers may differ for it to hold.
    shared
        Items that two groups of reviewers must share to become one.
    heeds_ties
        Whether tied scores count less than scores that differ.
    goes_by_scores
        Whether it may be asked of the scores themselves, not only of who reviews what.
    """

    name: ClassVar[str]
    term: ClassVar[str]
    words: ClassVar[str]
    differ: ClassVar[str]
    shared: ClassVar[int]
    heeds_ties: ClassVar[bool] = False
    goes_by_scores: ClassVar[bool] = True

    @abstractmethod
    def holds(self, structure: Findings) -> bool:
        """Whether a table of reviews is at this level, scores left aside."""

    @abstractmethod
    def verdict(self, papers: str, groups: str, missing: str) -> str:
        """Return what a chair may say where this is the highest level that holds.

        Parameters
        ----------
        papers
            "All 7 papers are".
        groups
            How many doubly connected components there are.
        missing
            How many links are missing.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        return level_named, (self.name,)

    def __repr__(self) -> str:
        return f"<Level: {self.name}, {self.words}>"


class Double(Level):
    """Doubly connected: one component covers all items (Theorem 3.4 of [Tan21]_)."""

    name = "double"
    term = "doubly connected"
    words = "comparable for certain"
    differ = "in severity and in how widely they spread their scores"
    shared = 2
    heeds_ties = True

    def holds(self, structure: Findings) -> bool:
        """Look for a doubly connected component that covers all items."""
        return structure.recovery_resilient

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        """Say so."""
        return f"{papers} {self.words} (one doubly connected component covers them all)."


class Recoverable(Level):
    """Generically recoverable: no degrees of freedom for almost every vector of qualities."""

    name = "recoverable"
    term = "generically recoverable"
    words = "comparable unless qualities line up by coincidence"
    differ = "the same"
    shared = 2

    def holds(self, structure: Findings) -> bool:
        """Ask the count matroid."""
        return structure.recoverable

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        """Say so, and what is short of certainty."""
        return f"{papers} {self.words} ({self.term}); not for certain: they fall into {groups}."


class Connected(Level):
    """Connected: one piece of the reviewer-item graph holds all items."""

    name = "connected"
    term = "connected"
    words = "comparable only if reviewers differ just in severity"
    differ = "in severity only"
    shared = 1

    def holds(self, structure: Findings) -> bool:
        """Count the pieces."""
        return structure.is_connected

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        """Say so, and what is missing where reviewers also differ in scale."""
        return (
            f"{papers} {self.words} ({self.term}). "
            f"If they also stretch or compress the scale: {missing}; the papers fall into {groups}."
        )


class _Survives(Level):
    """Doubly connected, and still so after a loss."""

    differ = Double.differ
    shared = Double.shared
    goes_by_scores = False

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        """Say so."""
        return f"{papers} {self.words} ({self.term})."


class SurvivesReviewer(_Survives):
    """Doubly connected after any one reviewer is lost, with all her reviews."""

    name = "survives-reviewer"
    term = "doubly connected without any one reviewer"
    words = "comparable for certain even if any one reviewer drops out"

    def holds(self, structure: Findings) -> bool:
        """Look for a reviewer whose loss lowers the level."""
        return structure.survives_any_reviewer


class SurvivesReview(_Survives):
    """Doubly connected after any one review is lost."""

    name = "survives-review"
    term = "doubly connected without any one review"
    words = "comparable for certain even if any one review fails to arrive"

    def holds(self, structure: Findings) -> bool:
        """Look for a review whose loss lowers the level."""
        return structure.survives_any_review


#: The levels of a table as it stands, the strongest first; each implies those after it.
LEVELS: tuple[Level, ...] = (Double(), Recoverable(), Connected())

#: Their names, in the same order.
NAMES: tuple[str, ...] = tuple(level.name for level in LEVELS)

#: The levels that outlive a loss, the strongest first; each implies those after it, and the strongest of the table.
ROBUST: tuple[Level, ...] = (SurvivesReviewer(), SurvivesReview())

#: Every level there is, the strongest first.
ALL: tuple[Level, ...] = ROBUST + LEVELS

#: Their names, in the same order.
ALL_NAMES: tuple[str, ...] = tuple(level.name for level in ALL)


def described() -> str:
    """Return the levels with their words, the strongest first, for the help of options.

    >>> described().split("; ")[2]
    'double: papers are comparable for certain'
    """
    return "; ".join(f"{level.name}: papers are {level.words}" for level in ALL)


def level_named(name: str, argument: str = "level") -> Level:
    """Return the level of a name.

    Parameters
    ----------
    name
        One of :data:`ALL_NAMES`.
    argument
        What the message calls the argument.

    Raises
    ------
    InputError
        If no level bears the name.

    Examples
    --------
    >>> level_named("double").words
    'comparable for certain'
    """
    return named(ALL, name, argument)
