"""What is short where not all demands are met: reviews of papers, and the reviewers to recruit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.rules import first_named
from reviewgraph._base import counted

if TYPE_CHECKING:
    from reviewgraph._base import Label


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
    load: int  # maximum reviews per recruit
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
        recruits = f"{counted(self.reviewers, 'reviewer')} without conflicts, of {counted(self.load, 'review')} each"
        return {
            "Lacking": f"{counted(len(self.missing), 'paper is', 'papers are')} short of {total} in all: {named}",
            "To recruit": f"{recruits} at most, for {total} of these papers",
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the keys ``short`` and ``recruit`` of the command's ``--json``."""
        short = [{"item": item, "missing": number} for item, number in self.missing]
        if not self.missing:
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
