"""The interface of a level of connection for planning. Each level has one subclass in :mod:`planner._plans.targets`.

Search, proofs, words and the result take a target and never compare its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from planner._plans.task import Losses, Oracle, Task, allowed_pairs, looked_at
from reviewgraph._base import Clock, InputError, IntArray, Progress, noun
from reviewgraph.graph import ALL_NAMES, Level, level_named

if TYPE_CHECKING:
    from reviewgraph.table import Reviews


#: The names of the targets, for type hints; those of registered levels are accepted, too.
PlanTarget: TypeAlias = Literal["double", "recoverable", "connected", "survives-reviewer", "survives-review"]


class Groups(NamedTuple):
    """Reviewers and items that are at a level among themselves.

    Group ``labels[j]`` (0, 1, ...) holds reviewer j; it covers the items ``covers[labels[j]]``, ascending. Groups after
    those of the reviewers hold items without reviews.
    """

    labels: IntArray
    covers: tuple[IntArray, ...]


class Target(ABC):
    """How to plan to a level, how to measure how far reviews get, and what a step of a plan does.

    ``apart`` completes "some papers would not be ...". ``losses`` may occur at this level without harm; None if none
    may. Up to ``tested_up_to`` candidate reviews, it is tested whether all of them together reach the level.
    """

    level: ClassVar[Level]
    apart: ClassVar[str]
    losses: ClassVar[Losses | None] = None
    tested_up_to: ClassVar[int] = 3_000_000

    @property
    def name(self) -> str:
        return self.level.name

    @abstractmethod
    def reaches(self, reviews: Reviews) -> bool:
        """Whether a table is at the level; faster than the level's own test."""

    def reaches_in_time(self, reviews: Reviews, clock: Clock) -> bool:
        """Whether a table is known in time to be at the level; most levels are quick."""
        clock.spend(looked_at(reviews))
        return self.reaches(reviews)

    @abstractmethod
    def groups(self, reviews: Reviews) -> Groups:
        """Return the maximal groups at the level."""

    @abstractmethod
    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """For each review in turn, yield one reviewer of each further group that joins the reviewer's and the item's.

        A group of the item alone is left out; so is a reviewer in the reviewer's group already. The task has no fixed
        reviews.
        """

    @abstractmethod
    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Search for a plan, prove bounds, and write both into the ledger until they meet or time is over."""

    @abstractmethod
    def order(self, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
        """Return the order of some reviews in which the largest group grows fastest, as indices."""

    @abstractmethod
    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        """Yield sets of at most ``most`` reviews that grow the largest group, to choose among and to start from."""

    def can_reach(self, task: Task, clock: Clock) -> bool:
        """Whether all allowed reviews together reach the level; true if they are too many to test."""
        return task.candidates_up_to > self.tested_up_to or self.reaches_in_time(task.table(allowed_pairs(task)), clock)

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """Return the oracle of the exact method; None if it does not know this target, or these scores."""
        return None

    def certificate(self, reviews: Reviews) -> IntArray:
        """Return merges, shape (K, 4), whose replay proves the level; none unless a level has them."""
        return np.empty((0, 4), np.int64)

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Return the number of items of the largest group after the fixed and some more reviews."""
        table = task.table(pairs)
        if clock is not None:
            clock.spend(looked_at(table))
        return int(self.largest_group(table).size)

    def largest_group(self, reviews: Reviews) -> IntArray:
        """Items of the largest group, ascending; of equals the one whose items come first."""
        covers = self.groups(reviews).covers
        most = max((cover.size for cover in covers), default=0)
        return np.array(min((cover.tolist() for cover in covers if cover.size == most), default=[]), np.int64)

    def __repr__(self) -> str:
        return f"<Target: {self.name}>"


def target_named(name: str) -> Target:
    """Return the target of a level, or raise InputError.

    >>> target_named("double")
    <Target: double>
    """
    target: type[Target] | None = level_named(name, "target").part("target")
    if target is None:
        able = ", ".join(other for other in ALL_NAMES if level_named(other).part("target") is not None)
        raise InputError(f"target: expected a level that plans are made for ({able}), found {name!r}")
    return target()


# The state of a search: its best plan and bounds.


@dataclass(frozen=True)
class Bound:
    """Lower bound on the number of reviews of a plan.

    ``kind`` is ``degrees of freedom``, ``loads``, ``expansion``, ``flow``, ``parts``, ``groups`` (made by few reviews),
    ``pieces``, ``cuts``, ``coverage`` or ``unfinished``; ``words`` are the proof in a sentence, which begins with the
    loss ``lost`` if it is about one. ``parts`` (kinds ``parts`` and ``groups``) are the reviews for each part of the
    contracted graph; ``weights`` (kind ``flow``), by item of each component of three items or more, divide the flow
    among paths.
    """

    value: int
    kind: str
    words: str
    parts: tuple[int, ...] = ()
    weights: tuple[float, ...] = field(default=(), repr=False)
    lost: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.lost}, {self.words}" if self.lost else self.words


@dataclass(frozen=True)
class PlanProgress(Progress):
    """Progress of planning.

    Parameters
    ----------
    count
        Reviews of the best plan; None if there is no plan yet.
    lower_bound
        Lower bound on the number of reviews.

    Examples
    --------
    ``planner.plan(reviews, search=Search(progress=print))`` prints one whenever the plan or the bound improves.
    """

    count: int | None = None
    lower_bound: int = 0


@dataclass
class Ledger:
    """The best plan and the bounds so far, and who is notified.

    ``report`` is called after every change; work is counted on the ``clock``. ``budget`` bounds the reviews beyond the
    fixed ones, and ``pairs`` (P, 2) is the best plan without them. ``part`` is a partial plan, for the case that time
    ends first. ``bounds`` increase. With ``cheapest`` no plan of the same length is cheaper; ``infeasible`` means that
    provably no plan exists, and ``explained`` that the ``reasons`` are complete.
    """

    clock: Clock
    report: Callable[[PlanProgress], object] | None = None
    budget: int | None = None
    pairs: IntArray | None = None
    part: IntArray | None = None
    bounds: list[Bound] = field(default_factory=list)
    cheapest: bool = False
    infeasible: bool = False
    reasons: list[str] = field(default_factory=list)
    explained: bool = False

    @property
    def lower_bound(self) -> int:
        return max((bound.value for bound in self.bounds), default=0)

    @property
    def closed(self) -> bool:
        """Whether plan and bound meet, or the bound exceeds the budget."""
        return (self.pairs is not None and len(self.pairs) <= self.lower_bound) or self.out_of_reach

    def settled(self, task: Task) -> bool:
        """Whether plan and bound meet, and no plan of the same length is cheaper."""
        return self.closed and self.pairs is not None and (self.cheapest or task.is_cheapest(self.pairs))

    @property
    def out_of_reach(self) -> bool:
        return self.budget is not None and self.lower_bound > self.budget

    @property
    def in_time(self) -> bool:
        return not self.clock.over()

    def offer(self, pairs: IntArray) -> None:
        """Take a plan that reaches the target if it is shorter than the current one."""
        if self.pairs is None or len(pairs) < len(self.pairs):
            self.pairs = pairs
            self.notify()

    def prove(self, bound: Bound | None) -> None:
        """Record a lower bound if it is the largest."""
        if bound is not None and (bound.value > self.lower_bound or not self.bounds):
            self.bounds.append(bound)
            self.notify()

    def nothing_to_do(self) -> None:
        """Record that the target is reached without a further review."""
        self.prove(Bound(0, "unfinished", "nothing is missing"))
        self.cheapest = True
        self.offer(np.empty((0, 2), np.int64))

    def notify(self) -> None:
        if self.report is not None:
            count = None if self.pairs is None else len(self.pairs)
            best = "no plan yet" if count is None else f"{count} {noun(count, 'review')}"
            words = f"best so far: {best}   lower bound: {self.lower_bound}"
            self.report(PlanProgress(self.clock.elapsed(), words, None, count, self.lower_bound))


class Reach(NamedTuple):
    """Papers in the largest group at the level of the target, and papers in all."""

    papers: int
    of: int
