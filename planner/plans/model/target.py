"""What planning asks of a level of connection. One subclass a level stands in :mod:`planner.plans.targets`.

Search, proofs, words and the result are given a target and never ask for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from planner.plans.model.task import looked_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.losses import Losses
    from planner.plans.model.oracle import Oracle
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.levels import Level
    from reviewgraph.reviews import Reviews


class Groups(NamedTuple):
    """Reviewers and items that are at a level among themselves.

    Group ``labels[j]`` (0, 1, ...) holds reviewer j; it covers the items ``covers[labels[j]]``, ascending. Groups
    after those of the reviewers hold items that nobody reviews.
    """

    labels: IntArray
    covers: tuple[IntArray, ...]


class Target(ABC):
    """How to plan to a level, how to see how far reviews get, and what a step of a plan does.

    Attributes
    ----------
    level
        The level itself: name, words for people, test.
    together
        What the papers of a group are: "the largest group of papers ... grows".
    apart
        What they would not be: "some papers would not be ...".
    scales
        Whether reviewers may stretch or compress the scale at this level, so that errors count two numbers each.
    losses
        What may be lost at this level without harm; None where nothing may.
    """

    level: ClassVar[Level]
    together: ClassVar[str]
    apart: ClassVar[str]
    scales: ClassVar[bool]
    losses: ClassVar[Losses | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a target that lacks what it must say of itself."""
        super().__init_subclass__(**options)
        missing = [name for name in ("level", "together", "apart", "scales") if not hasattr(cls, name)]
        if missing and not cls.__dict__.get("abstract", False):
            message = f"{cls.__module__}.{cls.__name__}: a target must say its {', '.join(missing)}"
            raise TypeError(message)

    @property
    def name(self) -> str:
        """The name of the level."""
        return self.level.name

    @abstractmethod
    def reaches(self, reviews: Reviews, *, use_scores: bool = False) -> bool:
        """Whether a table is at the level; quicker than to ask the level itself."""

    def reaches_in_time(self, reviews: Reviews, clock: Clock, *, use_scores: bool = False) -> bool:
        """Whether a table is at the level, false where that is not known in time; most levels are quick."""
        clock.spend(looked_at(reviews))
        return self.reaches(reviews, use_scores=use_scores)

    @abstractmethod
    def groups(self, reviews: Reviews, *, use_scores: bool = False) -> Groups:
        """Return the maximal groups at the level."""

    @abstractmethod
    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """For each review in turn, one reviewer of each further group that joins the reviewer's and the item's.

        Whoever covers the item alone is left out; so is who is in the reviewer's group already. The task knows no
        fixed reviews.
        """

    @abstractmethod
    def order(self, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
        """Return the order of some reviews in which the largest group grows fastest, as indices."""

    @abstractmethod
    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Search for a plan, prove bounds, and write both into the ledger until they meet or time is over."""

    @abstractmethod
    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        """Give sets of at most ``most`` reviews that let the largest group grow, to choose among and to begin from."""

    @abstractmethod
    def stand_ins(self, task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
        """Return pairs that complete a plan without its review number ``place``: cheapest, then lightest, first."""

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """Return what the exact method asks; None where it does not know this target, or these scores."""
        return None

    def certificate(self, reviews: Reviews, *, use_scores: bool = False) -> IntArray:
        """Return merges that anyone can replay to see the level reached, shape (K, 4); none unless a level has them."""
        return np.empty((0, 4), np.int64)

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Items of the largest group after the fixed and some more reviews."""
        table = task.table(pairs)
        if clock is not None:
            clock.spend(looked_at(table))
        return int(self.largest_group(table, use_scores=task.use_scores).size)

    def largest_group(self, reviews: Reviews, *, use_scores: bool = False) -> IntArray:
        """Items of the largest group, ascending; of equals the one whose items come first."""
        covers = self.groups(reviews, use_scores=use_scores).covers
        most = max((cover.size for cover in covers), default=0)
        first: list[int] = min((cover.tolist() for cover in covers if cover.size == most), default=[])
        return np.array(first, np.int64)

    def __repr__(self) -> str:
        return f"<Target: {self.name}>"
