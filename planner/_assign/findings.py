"""Parts of an assignment's result: fairness, changes, rules, the lottery, alternates."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.fixed import Pair
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label


def _as_rows(parts: Sequence[Any]) -> list[dict[str, Any]]:
    return [part._asdict() for part in parts]


@dataclass(frozen=True)
class Fairness:
    """The smallest score of a paper (sum of its affinities) before and after fairness."""

    fairly: bool  #: whether the largest smallest score was requested, or floors alone
    floor: float | None  #: lower bound for each paper; None without one
    #: Smallest score of a paper: by affinity alone, within the rules on panels and authors, and in the assignment
    smallest: tuple[float, float]
    at_most: float | None  #: upper bound on it before the level; None where only floors were requested
    bound: float  #: upper bound on affinity within rules and floors, the smallest score reached included

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "way": "maximin" if self.fairly else None,
            "floor": self.floor,
            "smallest": {"before": self.smallest[0], "after": self.smallest[1], "at_most": self.at_most},
        }


class Changes(NamedTuple):
    """A previous assignment against the one that replaces it."""

    kept: tuple[Pair, ...]  #: pairs of both
    dropped: tuple[Pair, ...]  #: pairs of the previous one alone
    new: tuple[Pair, ...]  #: pairs of this one alone
    #: New pairs that demands, loads, conflicts and fixed pairs make necessary, proved by a flow
    fewest: int

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as the command's ``--json`` prints them, with the number of pairs kept."""
        pairs = {"dropped": _as_rows(self.dropped), "new": _as_rows(self.new)}
        return {"kept": len(self.kept), **pairs, "fewest": self.fewest}


class UsualLoad(NamedTuple):
    """The maximum load of reviewers for whom none is stated."""

    load: int
    least: int  #: The smallest with which as many demands are met as with any; the level may need a larger one.


class KeptRule(NamedTuple):
    """A rule that holds on every paper."""

    option: str  #: as an option of the command
    words: str  #: what holds on each paper
    papers: int  #: papers that it is about


@dataclass(frozen=True)
class Kept:
    """The rules that an assignment keeps."""

    rules: tuple[KeptRule, ...]  #: each of them
    bound: float  #: upper bound on affinity under the rules


class Listed(NamedTuple):
    """Assignments of which one is drawn with equal probability.

    Probabilities are the shares of the assignments that hold each pair, so they hold exactly, and with them the caps.
    """

    holds: BoolArray  #: whether each assignment holds each pair that may be drawn, shape (K, S)
    reached: float  #: share of the assignments that are at the level and within all rules


class Rounding(Protocol):
    """What draws assignments with given probabilities, one independent of another."""

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each pair that may be drawn, shape (n, S)."""


@dataclass(frozen=True, eq=False)
class Randomised:
    """A lottery over assignments, by the probability of each pair."""

    #: item, reviewer, probability: the pairs that may be drawn, by item: their codes and probabilities, shape (S,)
    item: IntArray
    reviewer: IntArray
    probability: FloatArray
    #: items, reviewers: labels
    items: Sequence[Label]
    reviewers: Sequence[Label]
    max_probability: float | None  #: the cap on every probability; None where it is a table
    certain: int  #: fixed pairs, whose probability is 1 whatever the cap
    expected: float  #: expected affinity of a draw
    best: float  #: affinity of the best assignment without a lottery and without a level
    #: Upper bound on the additional gain of other probabilities within the caps, relative to the bound; None if unknown
    gap: float | None
    #: The assignments of which one is drawn; None where the probabilities are rounded anew for each draw
    listed: Listed | None
    #: What draws where they are; None where one of ``listed`` is drawn, or all probabilities are 1
    rounding: Rounding | None = None

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each pair, shape (n, S)."""
        if self.listed is not None:
            held: BoolArray = self.listed.holds[rng.integers(len(self.listed.holds), size=n)]
            return held
        return np.ones((n, self.support), np.bool_) if self.rounding is None else self.rounding.draw(n, rng)

    @property
    def percent(self) -> float:
        """Expected affinity in percent of the best."""
        return 100.0 * self.expected / self.best if self.best else 100.0

    @property
    def support(self) -> int:
        """Pairs that may be drawn."""
        return int(self.probability.size)

    @property
    def largest(self) -> float:
        """Largest probability."""
        return float(self.probability.max(initial=0.0))

    @property
    def mean_largest(self) -> float:
        """Largest probability of each item's pairs, on average."""
        most = np.zeros(len(self.items))
        np.maximum.at(most, self.item, self.probability)
        served = most[most > 0]
        return float(served.mean()) if served.size else 0.0

    def to_columns(self) -> dict[str, list[Any]]:
        """Return ``item``, ``reviewer`` and ``probability`` of each pair that may be drawn, by item."""
        return {
            "item": [self.items[code] for code in self.item.tolist()],
            "reviewer": [self.reviewers[code] for code in self.reviewer.tolist()],
            "probability": self.probability.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        listed = self.listed
        return {
            "max_probability": self.max_probability,
            "certain": self.certain,
            "expected_affinity": self.expected,
            "expected_percent": self.percent,
            "gap_percent": None if self.gap is None else 100.0 * self.gap,
            "support": self.support,
            "largest_probability": self.largest,
            "mean_largest_probability": self.mean_largest,
            "assignments": None if listed is None else len(listed.holds),
            "at_level": None if listed is None else listed.reached,
        }


class Lack(Enum):
    """Why a paper has fewer alternates than requested: what rules out the remaining candidates."""

    NOBODY = "nobody else may review it"
    ROOM = "nobody else who may review it has room"
    RULES = "the rules on each paper exclude those who have room"
    LEVEL = "the level would be lost with those who have room and fit"
    STOPPED = "the search was stopped before it came to them"


class Alternate(NamedTuple):
    """A reviewer who can replace members of a paper's panel."""

    #: item, reviewer: the paper, and the alternate
    item: Label
    reviewer: Label
    affinity: float  #: their affinity; 0 where unscored
    replaces: tuple[Label, ...]  #: reviewers of the paper any one of whom the alternate can replace
    everyone: bool  #: whether these are all of them


class Missing(NamedTuple):
    """A paper with fewer alternates for everyone than requested: their number, and why there are no more."""

    item: Label
    found: int
    why: Lack


class Alternates(NamedTuple):
    """Alternates of all papers."""

    asked: int  #: number requested per paper
    listed: tuple[Alternate, ...]  #: the alternates, paper by paper, the best first
    missing: tuple[Missing, ...]  #: papers with too few alternates who can replace everyone

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per alternate; ``replaces`` is ``all``, or names separated by semicolons."""
        rank: defaultdict[Label, count[int]] = defaultdict(lambda: count(1))
        return {
            "item": [alternate.item for alternate in self.listed],
            "alternate": [next(rank[alternate.item]) for alternate in self.listed],
            "reviewer": [alternate.reviewer for alternate in self.listed],
            "affinity": [alternate.affinity for alternate in self.listed],
            "replaces": [
                "all" if alternate.everyone else ";".join(map(str, alternate.replaces)) for alternate in self.listed
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the alternates as the command's ``--json`` prints them."""
        missing = [paper._asdict() | {"why": paper.why.value} for paper in self.missing]
        return {"alternates": _as_rows(self.listed), "alternates_missing": missing}
