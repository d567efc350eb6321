"""The choices of an assignment: levels as aims, one class each, ``none`` included, criteria of fairness, and designs.

The meaning of a level, and its words for people, are in :mod:`reviewgraph.graph.levels`, where it names its aim, too.
Nothing heavy is imported here, so that the command's choices and help come from :func:`aims`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from reviewgraph._base import named
from reviewgraph.graph import ALL_NAMES, Level, level_named

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from reviewgraph.graph import Components
    from reviewgraph.table import Reviews


class Aim(ABC):
    """A level to reach."""

    name: ClassVar[str]  # in commands, JSON and arguments
    level: ClassVar[Level | None]  # None if none is requested
    shared: ClassVar[int]  # items that two groups of reviewers must share to merge
    core_suffices: ClassVar[bool] = True  # whether the level holds if one group of reviewers covers all items
    # Whether the level holds only if one group covers all items: then the steps that examine this group (freeing pairs,
    # critical reviewers, proofs that the level is out of reach) are about the level itself.
    core_decides: ClassVar[bool]
    may_survive: ClassVar[bool]  # whether it can be required to hold after any one reviewer drops out
    outlives: ClassVar[bool] = False  # whether it holds after any one loss by definition
    loses_reviews: ClassVar[bool] = False  # whether a loss is that of one review, not of a reviewer

    @abstractmethod
    def groups(self, reviews: Reviews) -> Components:
        """Return the groups of reviewers who share enough to merge."""

    @abstractmethod
    def links(self, groups: Reviews) -> int:
        """Return the minimum number of new pairs that reach the level, from a table of groups and their items."""

    def holds_early(self, reviews: Callable[[], Reviews]) -> bool:
        """Whether the level holds although no group covers all items; the table is made only if needed."""
        return False

    @property
    def counts_joins(self) -> bool:
        """Whether the level needs all items joined, so that counting what reviewers join can rule it out."""
        joined = level_named("recoverable" if self.shared > 1 else "connected")
        return self.level is not None and self.level.implies(joined)

    @property
    def sharing(self) -> str:
        """What the reviewers of one group share, in words."""
        return "share a paper" if self.shared == 1 else "share two papers"

    @property
    def joins(self) -> str:
        """Maximum number of further papers that a reviewer of k papers joins to a group, as a formula."""
        return f"k - {self.shared}"

    def __repr__(self) -> str:
        return f"<Aim: {self.name}>"


class _SharingTwo(Aim):
    """Groups are doubly connected components; their distance to one is counted in degrees of freedom."""

    shared = 2

    def groups(self, reviews: Reviews) -> Components:
        from reviewgraph.graph import doubly_connected_components

        return doubly_connected_components(reviews)

    def links(self, groups: Reviews) -> int:
        """Count degrees of freedom: one new pair removes at most one."""
        from reviewgraph.graph import recoverability

        return recoverability(groups).degrees_of_freedom


class ToDouble(_SharingTwo):
    """One doubly connected component covers all items."""

    name = "double"
    level = level_named("double")
    core_decides = may_survive = True


class ToSurviveReviewer(ToDouble):
    """The same after any one reviewer drops out: ``double`` with ``survive``."""

    name = "survives-reviewer"
    level = level_named("survives-reviewer")
    outlives = True


class ToSurviveReview(ToDouble):
    """The same after any one review fails to arrive: only critical reviews matter."""

    name = "survives-review"
    level = level_named("survives-review")
    outlives = loses_reviews = True
    may_survive = False


class ToRecoverable(_SharingTwo):
    """No degrees of freedom; doubly connected components grow towards it, and it may hold before they merge."""

    name = "recoverable"
    level = level_named("recoverable")
    core_decides = may_survive = False

    def holds_early(self, reviews: Callable[[], Reviews]) -> bool:
        from reviewgraph.graph import recoverability

        return recoverability(reviews()).recoverable


class _SharingOne(Aim):
    """Groups are connected components."""

    shared = 1

    def groups(self, reviews: Reviews) -> Components:
        from reviewgraph.graph import connected_components

        return connected_components(reviews)

    def links(self, groups: Reviews) -> int:
        """Count the components but one."""
        import numpy as np

        return int(np.unique(groups.reviewer).size) - 1


class ToConnected(_SharingOne):
    """One component holds all items."""

    name = "connected"
    level = level_named("connected")
    core_decides = may_survive = True


class ToNothing(_SharingOne):
    """Most affinity, whatever it connects."""

    name = "none"
    level = None
    core_decides = may_survive = False

    def holds_early(self, reviews: Callable[[], Reviews]) -> bool:
        return True


def aim_of(aimed: Level) -> Aim:
    """Return the aim that a level names, or one whose groups grow towards the level until its own test holds."""
    named_aim: type[Aim] | None = aimed.part("aim")
    if named_aim is not None:
        return named_aim()
    base = _SharingOne if aimed.shared == 1 else _SharingTwo

    class Tested(base):  # type: ignore[misc, valid-type]
        name = aimed.name
        level = aimed
        core_suffices = core_decides = may_survive = False

        def holds_early(self, reviews: Callable[[], Reviews]) -> bool:
            from reviewgraph.graph import structure_of

            return aimed.holds(structure_of(reviews()))

    return Tested()


def aims() -> list[Aim]:
    """Return the aims: the levels, the strongest first, and none."""
    return [*map(aim_of, map(level_named, ALL_NAMES)), ToNothing()]


def aim_named(name: str, argument: str = "target") -> Aim:
    """Return the aim of a name, or raise InputError.

    >>> aim_named("connected").joins
    'k - 1'
    """
    return named(aims(), name, argument)


#: The values of ``fair``.
FAIR = ("maximin",)

#: Default number of assignments of which one is drawn.
DRAWS = 100


class Design(NamedTuple):
    """A way to assign by loads alone, for a chair without affinities.

    ``name`` in commands and arguments, ``words`` for their help, ``maker`` the function of :mod:`reviewgraph.graph`.
    """

    name: str
    words: str
    maker: str

    def draw(self, n_items: int, loads: Sequence[int], rng: np.random.Generator) -> Reviews:
        """Draw an assignment in which reviewer j has ``loads[j]`` reviews."""
        drawn: Reviews = getattr(import_module("reviewgraph.graph"), self.maker)(n_items, len(loads), loads, rng)
        return drawn


DESIGNS = (
    Design("random", "at random (Algorithm 2 of the paper)", "random_assignment"),
    Design("double", "at random and doubly connected (Algorithm 3)", "doubly_connected_assignment"),
)


def design_named(name: str) -> Design:
    """Return the design of a name, or raise InputError.

    >>> design_named("random").words
    'at random (Algorithm 2 of the paper)'
    """
    return named(DESIGNS, name, "design")


#: The names of the targets, for type hints; those of registered levels are accepted, too.
AssignmentTarget: TypeAlias = Literal[
    "double", "recoverable", "connected", "none", "survives-reviewer", "survives-review"
]
