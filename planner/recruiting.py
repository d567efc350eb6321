"""What is missing where capacity is short, and whom to recruit for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewgraph.words import counted

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
    why
        Why the reviews cannot be had, for people.
    joining
        Where the level is missed: recruits with whom there is a whole plan, and the papers of their reviews; None where
        none were found, or none are needed.

    Examples
    --------
    >>> gaps = Shortage((("p1", 2), ("p7", 1)), load=5)
    >>> gaps.reviews, gaps.reviewers
    (3, 2)
    >>> print(" ".join(gaps.sentences()))
    2 papers are short of 3 reviews in all: p1 (2), p7 (1). To recruit: 2 reviewers without conflicts, of 5 reviews each at most, for 3 reviews of these papers.
    """  # noqa: E501

    missing: tuple[tuple[Label, int], ...]
    load: int
    why: str = ""
    joining: tuple[int, tuple[Label, ...]] | None = None

    @property
    def wanted(self) -> dict[Label, int]:
        """Reviews that recruits write, by paper."""
        return dict(self.missing if self.joining is None else Counter(self.joining[1]))

    @property
    def reviewers(self) -> int:
        """Recruits that are enough: nobody reviews a paper twice, or more than the load.

        Where only reviews are missing fewer are not enough, whoever of the others reviews what.
        """
        if self.joining is not None:
            return self.joining[0]
        return max([*self.wanted.values(), -(-self.reviews // max(self.load, 1))], default=0)

    @property
    def reviews(self) -> int:
        """Reviews that recruits write in all."""
        return sum(self.wanted.values())

    def sentences(self) -> list[str]:
        """Say what is missing and whom to recruit."""
        said, papers = [], "these papers"
        if self.missing:
            count, total = len(self.missing), sum(number for _, number in self.missing)
            said.append(
                f"{counted(count, 'paper is', 'papers are')} short of {counted(total, 'review')} in all: "
                f"{_named(dict(self.missing))}."
            )
        if self.joining is not None:
            papers = f"{counted(len(self.wanted), 'paper')} ({_named(self.wanted)}), which reach the level, too"
        if self.wanted:
            said.append(
                f"To recruit: {counted(self.reviewers, 'reviewer')} without conflicts, of "
                f"{counted(self.load, 'review')} each at most, for {counted(self.reviews, 'review')} of {papers}."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the keys ``short`` and ``recruit`` of the command's ``--json``."""
        recruit = {
            "reviewers": self.reviewers,
            "reviews": self.reviews,
            "load": self.load,
            "papers": [{"item": item, "reviews": number} for item, number in self.wanted.items()],
            "reaches_level": self.joining is not None,
        }
        return {
            "short": [{"item": item, "missing": number} for item, number in self.missing],
            "recruit": recruit if self.wanted else None,
        }


#: The same keys where nothing is missing, or nothing was given for want of it.
NOTHING_SHORT: dict[str, Any] = {"short": [], "recruit": None}


def _named(numbers: dict[Label, int]) -> str:
    words = [f"{item} ({number})" for item, number in numbers.items()]
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def usual_load(loads: list[int]) -> int:
    """Return what one more reviewer is taken to write: the median of the loads above 0, the lower one of two; or 1.

    >>> usual_load([0, 2, 5, 9, 6])
    5
    """
    given = sorted(load for load in loads if load > 0)
    return given[(len(given) - 1) // 2] if given else 1
