"""The choices of an assignment: levels as aims, ``none`` included, and criteria of fairness.

The meaning of a level, and its words for people, are in :mod:`reviewgraph.graph.levels`, where it names its aim, too.
Nothing heavy is imported here, so that the command's choices and help come from :func:`aims`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from reviewgraph._base import named
from reviewgraph.graph import ALL_NAMES, Level, level_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.graph import Components
    from reviewgraph.table import Reviews


class Aim:
    """A level to reach, None for most affinity, whatever it connects.

    ``shared`` are the items that two groups of reviewers must share to merge. ``core_suffices`` is whether the level
    holds if one group covers all items, and ``core_decides`` whether only then: so the steps that examine this group
    (freeing pairs, critical reviewers, proofs that the level is out of reach) are about the level itself.
    ``outlives`` is whether it holds after any one loss, and ``loses_reviews`` whether that is a review, not a reviewer.
    """

    def __init__(self, level: Level | None) -> None:
        self.level = level
        self.name = "none" if level is None else level.name
        self.shared = 1 if level is None else level.shared
        self.outlives = level is not None and level.outlives
        self.loses_reviews = level is not None and level.loses_reviews
        self.core_decides = level is not None and level.core_decides
        self.core_suffices = level is None or level.core_suffices

    def groups(self, reviews: Reviews) -> Components:
        """Return the groups of reviewers who share enough to merge."""
        from reviewgraph.graph import connected_components, doubly_connected_components

        return connected_components(reviews) if self.shared == 1 else doubly_connected_components(reviews)

    def links(self, reviews: Reviews) -> int:
        """Return the minimum number of new pairs that reach the level: one pair removes at most one missing link."""
        import numpy as np

        from reviewgraph.graph import recoverability

        if self.shared == 1:
            return int(np.unique(self.groups(reviews).labels[reviews.reviewer]).size) - 1
        return recoverability(reviews).degrees_of_freedom

    def holds_early(self, reviews: Callable[[], Reviews]) -> bool:
        """Whether the level holds although no group covers all items; the table is made only if needed."""
        if self.level is None or self.core_decides:
            return self.level is None
        from reviewgraph.graph import structure_of

        return self.level.holds(structure_of(reviews()))

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


def aims() -> list[Aim]:
    """Return the aims: the levels, the strongest first, and none."""
    return [*(Aim(level_named(name)) for name in ALL_NAMES), Aim(None)]


def aim_named(name: str, argument: str = "target") -> Aim:
    """Return the aim of a name, or raise InputError.

    >>> aim_named("connected").shared
    1
    """
    return named(aims(), name, argument)


#: The values of ``fair``.
FAIR = ("maximin",)


#: The names of the targets, for type hints; those of registered levels are accepted, too.
AssignmentTarget: TypeAlias = Literal[
    "double", "recoverable", "connected", "none", "survives-reviewer", "survives-review"
]
