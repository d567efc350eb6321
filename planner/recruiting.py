"""What is missing where capacity is short, and whom to recruit for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from reviewgraph.labels import Label

#: Papers named before the rest is only counted.
NAMED = 6


@dataclass(frozen=True)
class Shortage:
    """Reviews that papers lack, and the reviewers without conflicts who could write them.

    Parameters
    ----------
    missing
        Papers that lack reviews, and how many each, in the order of the papers.
    load
        Reviews that one recruit writes at most.
    apart
        Papers that are not in the largest group, where recruits can join them to it.
    shared
        Papers of the largest group that a recruit must review, too, to join others to it.
    why
        Why the reviews cannot be had, for people.

    Examples
    --------
    >>> gaps = Shortage((("p1", 2), ("p7", 1)), load=5)
    >>> gaps.reviews, gaps.reviewers
    (3, 2)
    >>> print(" ".join(gaps.sentences()))
    2 papers are short of 3 reviews in all: p1 (2), p7 (1). To recruit: 2 reviewers without conflicts, of 5 reviews each at most, who write 3 reviews of these papers.
    """  # noqa: E501

    missing: tuple[tuple[Label, int], ...]
    load: int
    apart: tuple[Label, ...] = ()
    shared: int = 0
    why: str = ""

    @property
    def wanted(self) -> dict[Label, int]:
        """Reviews that recruits write, by paper: what is missing, and one of each paper apart."""
        return {**dict.fromkeys(self.apart, 1), **dict(self.missing)}

    @property
    def reviewers(self) -> int:
        """Recruits that are enough: nobody reviews a paper twice, or more than the load.

        Where no paper is apart fewer are not enough: each review that is missing is missing whoever of the others
        reviews what.
        """
        each = self.load - self.shared if self.apart else self.load
        return max([*self.wanted.values(), -(-sum(self.wanted.values()) // max(each, 1))], default=0)

    @property
    def reviews(self) -> int:
        """Reviews that recruits write in all."""
        return sum(self.wanted.values()) + (self.shared * self.reviewers if self.apart else 0)

    def sentences(self) -> list[str]:
        """Say what is missing and whom to recruit."""
        said = []
        if self.missing:
            count, total = len(self.missing), sum(number for _, number in self.missing)
            said.append(
                f"{counted(count, 'paper is', 'papers are')} short of {counted(total, 'review')} in all: "
                f"{_named([f'{item} ({number})' for item, number in self.missing])}."
            )
        if self.apart:
            said.append(
                f"{counted(len(self.apart), 'paper is', 'papers are')} not in the largest group: "
                f"{_named([str(item) for item in self.apart])}."
            )
        if said:
            link = f", {self.shared} of them by each of other papers of the largest group" if self.apart else ""
            said.append(
                f"To recruit: {counted(self.reviewers, 'reviewer')} without conflicts, of "
                f"{counted(max(self.load, 1 + (self.shared if self.apart else 0)), 'review')} each at most, who "
                f"{noun(self.reviewers, 'writes', 'write')} {counted(self.reviews, 'review')} of these papers{link}."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the keys ``short`` and ``recruit`` of the command's ``--json``."""
        return {
            "short": [{"item": item, "missing": number} for item, number in self.missing],
            "recruit": {
                "reviewers": self.reviewers,
                "reviews": self.reviews,
                "load": self.load,
                "papers": [{"item": item, "reviews": number} for item, number in self.wanted.items()],
                "shared": self.shared if self.apart else 0,
            },
        }


#: The same keys where nothing is missing, or nothing was given for want of it.
NOTHING_SHORT: dict[str, Any] = {"short": [], "recruit": None}


def _named(words: list[str]) -> str:
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def usual_load(loads: list[int]) -> int:
    """Return what one more reviewer is taken to write: the median of the loads above 0, the lower one of two; or 1.

    >>> usual_load([0, 2, 5, 9, 6])
    5
    """
    given = sorted(load for load in loads if load > 0)
    return given[(len(given) - 1) // 2] if given else 1
