"""What plans and assignments report of their constraints: fixed pairs against limits, and the reviews that are short.

Fixed pairs are existing agreements, which are kept and counted whatever limits they exceed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planner.rules import first_named
from reviewgraph._base import BoolArray, IntArray, Label, counted, listed


class Pair(NamedTuple):
    """A reviewer and an item."""

    reviewer: Label
    item: Label


class AboveDemand(NamedTuple):
    """A paper with more fixed pairs than its demand, or its limit of extra reviews."""

    item: Label
    reviews: int
    demand: int


class AboveLoad(NamedTuple):
    """A reviewer with more fixed pairs than their load."""

    reviewer: Label
    reviews: int
    load: int


class Facts(NamedTuple):
    """The fixed pairs, and which limits they exceed."""

    kept: int  # their number
    conflicts: tuple[Pair, ...] = ()  # those in conflict: by the conflicts, as meta reviews or by the authors' file
    crowded: tuple[Pair, ...] = ()  # those of more reviewers of a paper than a rule allows
    unwilling: tuple[Pair, ...] = ()  # those of reviewers who are not among the willing ones
    below: tuple[Pair, ...] = ()  # those of affinity below the minimum, or without affinity
    above_demand: tuple[AboveDemand, ...] = ()  # papers with more of them than their demand or limit
    above_load: tuple[AboveLoad, ...] = ()  # reviewers with more of them than their load

    def named(self) -> dict[str, list[str]]:
        """Return what exceeds each limit, by the words for the limit."""
        pairs = {
            "a conflict": self.conflicts,
            "a rule": self.crowded,
            "the willing reviewers": self.unwilling,
            "the minimum affinity": self.below,
        }
        named = {limit: [f"{who} for {what}" for who, what in exceeding] for limit, exceeding in pairs.items()}
        named["a demand"] = [f"{item} has {reviews} of {demand}" for item, reviews, demand in self.above_demand]
        named["a load"] = [f"{reviewer} has {reviews} of {load}" for reviewer, reviews, load in self.above_load]
        return named

    def warnings(self) -> list[str]:
        """Return a sentence on each limit that is exceeded."""
        return [f"Fixed against {limit}, and kept: {listed(names)}." for limit, names in self.named().items() if names]

    def to_dict(self) -> dict[str, Any]:
        """Return them as the commands' ``--json`` prints them."""
        exceeding = {name: [entry._asdict() for entry in getattr(self, name)] for name in self._fields[1:]}
        return {"kept": self.kept, **exceeding}


def facts_of(
    pairs: IntArray,
    against: Mapping[str, BoolArray],
    limits: tuple[IntArray, IntArray],
    labels: tuple[Sequence[Label], Sequence[Label]],
) -> Facts | None:
    """Return which limits fixed pairs, shape (F, 2), exceed; None without any.

    ``against`` tells which pairs are against each limit on single pairs, shape (F,). ``limits`` are the loads (M,) and
    the limits of items (N,), ``labels`` the reviewers and the items.
    """
    if not len(pairs):
        return None
    reviewers, items = labels
    named = {
        name: tuple(Pair(reviewers[j], items[i]) for j, i in pairs[exceeds].tolist())
        for name, exceeds in against.items()
    }
    load, demand = limits
    written = np.bincount(pairs[:, 0], minlength=load.size)
    read = np.bincount(pairs[:, 1], minlength=demand.size)
    above_load = [
        AboveLoad(reviewers[j], int(written[j]), int(load[j])) for j in np.flatnonzero(written > load).tolist()
    ]
    above_demand = [AboveDemand(items[i], int(read[i]), int(demand[i])) for i in np.flatnonzero(read > demand).tolist()]
    return Facts(len(pairs), **named, above_load=tuple(above_load), above_demand=tuple(above_demand))


class Gap(NamedTuple):
    """The number of reviews that a paper lacks; by its type an anonymous report knows that there is a label."""

    item: Label
    reviews: int


@dataclass(frozen=True)
class Shortage:
    """Reviews that papers lack, and the reviewers without conflicts who could write them.

    >>> gaps = Shortage((("p1", 2), ("p7", 1)), load=5)
    >>> gaps.reviews, gaps.reviewers
    (3, 2)
    >>> print(gaps.facts()["Lacking"])
    2 papers are short of 3 reviews in all: p1 (2), p7 (1)
    """

    missing: tuple[tuple[Label, int], ...]  # papers that lack reviews, and the number of them, in their order
    load: int  # maximum reviews per recruit; 0 if it is not reviewers that are lacking
    why: str = ""  # the reason in words

    @property
    def reviewers(self) -> int:
        """The number of recruits, at one review per recruit and paper and at most ``load`` reviews each.

        It is sufficient, and necessary for any reviews by the others.
        """
        return max([*dict(self.missing).values(), -(-self.reviews // max(self.load, 1))], default=0)

    @property
    def reviews(self) -> int:
        """Total reviews of recruits."""
        return sum(number for _, number in self.missing)

    def facts(self) -> dict[str, str]:
        """Return facts on missing reviews and recruits by name."""
        if not self.missing:
            return {}
        total = counted(self.reviews, "review")
        named = first_named([f"{item} ({number})" for item, number in self.missing])
        lacking = f"{counted(len(self.missing), 'paper is', 'papers are')} short of {total} in all: {named}"
        if not self.load:
            return {"Lacking": lacking}
        recruits = f"{counted(self.reviewers, 'reviewer')} without conflicts, of {counted(self.load, 'review')} each"
        return {"Lacking": lacking, "To recruit": f"{recruits} at most, for {total} of these papers"}

    def to_dict(self) -> dict[str, Any]:
        """Return the keys ``short`` and ``recruit`` of the command's ``--json``."""
        short = [{"item": item, "missing": number} for item, number in self.missing]
        if not self.missing or not self.load:
            return {"short": short, "recruit": None}
        papers = [{"item": item, "reviews": number} for item, number in self.missing]
        sizes = {"reviewers": self.reviewers, "reviews": self.reviews, "load": self.load}
        return {"short": short, "recruit": {**sizes, "papers": papers}}


#: The same keys without a shortage.
NOTHING_SHORT: dict[str, Any] = {"short": [], "recruit": None}


def usual_load(loads: list[int]) -> int:
    """Return the assumed load of a recruit: the lower median of the loads above 0, or 1.

    >>> usual_load([0, 2, 5, 9, 6])
    5
    """
    positive = sorted(load for load in loads if load > 0)
    return positive[(len(positive) - 1) // 2] if positive else 1
