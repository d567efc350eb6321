"""The levels of connection, the strongest first: one class per level, and one list of them, :data:`ALL`.

The choices of commands, the words of pages and the checks of arguments come from that list. A level names its parts in
other packages (its finder of critical losses, its planning target, its verifier), see
:meth:`Level.part`; a general method based on :meth:`Level.holds` replaces each part that it does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from reviewgraph._base.text import named

T = TypeVar("T")

#: The names of the levels, for type hints; registered ones are accepted, too.
LevelName: TypeAlias = Literal["double", "recoverable", "connected", "survives-reviewer", "survives-review"]

#: Where no review connects all items, a selection is made inside the largest connected component if it holds at least
#: this share of the items with a score, and the others are set aside; otherwise a selection is refused.
LARGEST_SHARE = 0.9


class Level:
    """A statement on comparing items, given who reviews what. More reviews never break a level."""

    name: ClassVar[str]  # As in commands, JSON and arguments
    term: ClassVar[str]  # The term of the field
    words: ClassVar[str]  # Plain words for the papers: "the papers are ..."
    finding: ClassVar[str]  # The attribute of a structure that tells whether it holds, unless ``holds`` is overridden
    shared: ClassVar[int]  # Items that two groups of reviewers must share to become one
    outlives: ClassVar[bool] = False  # Whether it is about any one loss
    core_suffices: ClassVar[bool] = False  # Whether it holds if one group covers all items, losses aside
    core_decides: ClassVar[bool] = False  # Whether it holds only then, losses aside
    loses_reviews: ClassVar[bool] = False  # Whether it survives the loss of a review, not of a reviewer
    #: Parts in other modules, as ``"module:name"`` or the object itself; None, by default, for a general method.
    #: ``finder`` has ``holds``, ``critical_reviewers`` and ``critical_reviews`` of a table of reviews; without it each
    #: loss is tried in turn. ``target`` is a class derived from ``planner._plans.target.Target``; without it there
    #: are no plans. ``verifier`` is a test of a :class:`reviewgraph._verify.graphs.Table` that shares no code
    #: with :meth:`holds`; without it ``reviewgraph verify`` does not check the level.
    finder: ClassVar[Any] = None
    target: ClassVar[Any] = None
    verifier: ClassVar[Any] = None

    def holds(self, structure: Any) -> bool:
        """Whether a table, as its :class:`reviewgraph.graph.components.Structure`, is at this level by who reviews."""
        return bool(getattr(structure, self.finding))

    def decided(self, *, pieces: int, missing: int, covered: bool) -> bool | None:
        """Whether the level holds, from bounds for a table larger than memory; None if these do not decide it.

        ``pieces`` connected components, at least ``missing`` missing links, and whether some doubly connected component
        is known to cover all items.
        """
        return None

    def part(self, which: str) -> Any:
        """Return ``finder``, ``target`` or ``verifier`` of the class itself, not of its base; or None."""
        part = vars(type(self)).get(which)
        if isinstance(part, str):
            return resolve_name(part)
        return part.__func__ if isinstance(part, staticmethod) else part

    @property
    def compares(self) -> bool:
        """Whether papers at this level can be compared: it is ``connected``, or stronger."""
        return self.implies(level_named(Connected.name))

    def implies(self, other: Level) -> bool:
        """Whether a table at this level is at the other: the same, or a later one of :data:`ALL`."""
        return ALL.index(self) <= ALL.index(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return level_named, (self.name,)

    def __repr__(self) -> str:
        return f"<Level: {self.name}, {self.words}>"


class Double(Level):
    """Doubly connected: one component covers all items (Theorem 3.4 of [Tan21]_)."""

    name = "double"
    term = "doubly connected"
    words = "comparable for certain"
    finding = "recovery_resilient"
    shared = 2
    core_suffices = core_decides = True
    finder = "reviewgraph.graph.fragility:DOUBLE_FINDER"
    target = "planner._plans.targets.double:DoubleTarget"
    verifier = "reviewgraph._verify.graphs:is_double"

    def decided(self, *, pieces: int, missing: int, covered: bool) -> bool | None:
        """Confirm it where a component covers all items."""
        return covered or None


class Recoverable(Level):
    """Generically recoverable: no degrees of freedom for almost every vector of qualities."""

    name = "recoverable"
    term = "generically recoverable"
    words = "comparable unless qualities line up by coincidence"
    finding = "recoverable"
    shared = 2
    core_suffices = True
    finder = "reviewgraph.graph.fragility:RECOVERABLE_FINDER"
    target = "planner._plans.targets.searched:RecoverableTarget"
    verifier = "reviewgraph._verify.graphs:is_recoverable"

    def decided(self, *, pieces: int, missing: int, covered: bool) -> bool | None:
        """Deny it where links are missing."""
        return False if missing else None


class Connected(Level):
    """Connected: one piece of the reviewer-item graph holds all items."""

    name = "connected"
    term = "connected"
    words = "comparable only if reviewers differ just in severity"
    finding = "is_connected"
    shared = 1
    core_suffices = core_decides = True
    finder = "reviewgraph.graph.fragility:CONNECTED_FINDER"
    target = "planner._plans.targets.searched:ConnectedTarget"
    verifier = "reviewgraph._verify.graphs:is_connected"

    def decided(self, *, pieces: int, missing: int, covered: bool) -> bool | None:
        """Count the pieces."""
        return pieces == 1


class _Survives(Level):
    shared = Double.shared
    core_suffices = core_decides = True
    outlives = True


class SurvivesReviewer(_Survives):
    """Doubly connected after the loss of any one reviewer with all their reviews."""

    name = "survives-reviewer"
    term = "doubly connected without any one reviewer"
    words = "comparable for certain even if any one reviewer drops out"
    finding = "survives_any_reviewer"
    target = "planner._plans.targets.double:SurvivesReviewerTarget"
    verifier = "reviewgraph._verify.graphs:survives_reviewer"


class SurvivesReview(_Survives):
    """Doubly connected after the loss of any one review."""

    name = "survives-review"
    term = "doubly connected without any one review"
    words = "comparable for certain even if any one review fails to arrive"
    finding = "survives_any_review"
    loses_reviews = True
    target = "planner._plans.targets.double:SurvivesReviewTarget"
    verifier = "reviewgraph._verify.graphs:survives_review"


#: Every level, the strongest first; each implies those after it.
ALL: list[Level] = [SurvivesReviewer(), SurvivesReview(), Double(), Recoverable(), Connected()]


class Derived(Sequence[T]):
    """A list that is computed from :data:`ALL` as it is now."""

    def __init__(self, make: Callable[[], list[T]]) -> None:
        self._make = make

    def __getitem__(self, place: Any) -> Any:
        return self._make()[place]

    def __len__(self) -> int:
        return len(self._make())

    def __repr__(self) -> str:
        return repr(self._make())


#: The levels of a table as it stands, the strongest first.
LEVELS: Sequence[Level] = Derived(lambda: [level for level in ALL if not level.outlives])

#: The names of :data:`LEVELS`, and of :data:`ALL`, in the same order.
NAMES: Sequence[str] = Derived(lambda: [level.name for level in LEVELS])
ALL_NAMES: Sequence[str] = Derived(lambda: [level.name for level in ALL])


def highest(structure: Any) -> Level | None:
    """Return the strongest of :data:`LEVELS` that holds, or None; RuntimeError if they are out of order.

    Each level implies those after it, so that none that fails comes after one that holds.
    """
    held = [level for level in LEVELS if level.holds(structure)]
    for strong, weak in pairwise(LEVELS):
        if strong in held and weak not in held:
            raise RuntimeError(
                f"levels: expected that each implies those after it, found a table at {strong.name!r} that is not at "
                f"{weak.name!r}; change the order of reviewgraph.graph.levels.ALL"
            )
    return held[0] if held else None


def described() -> str:
    """Return the levels with their words, the strongest first, for the help of options."""
    return "; ".join(f"{level.name}: papers are {level.words}" for level in ALL)


def level_named(name: str, argument: str = "level") -> Level:
    """Return the level of a name; an unknown one raises InputError, which names the argument and the levels."""
    return named(ALL, name, argument)
