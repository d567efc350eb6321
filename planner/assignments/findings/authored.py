"""What an authors' file asked for and what is left of it in an assignment."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Authored:
    """Which rules of an authors' file hold, and what they came to.

    Parameters
    ----------
    author_distance
        0: nobody reviews a paper of her own; 1: nor one of a co-author.
    cycles_of_two, coauthors
        Whether two may review a paper of each other, and whether two who share a paper may review the same one.
    barred
        Scored pairs that the file rules out by themselves.
    rivals
        Couples of pairs that may not be together and that the most affinity alone would have.
    cycles_of_three
        Circles of three in the assignment: each reviews a paper of the next.
    affinity
        Affinity of the best assignment found within all rules before any level was asked for.
    bound
        What no assignment within all rules exceeds, in affinity and rewards, whatever its level.
    """

    author_distance: int
    cycles_of_two: bool
    coauthors: bool
    barred: int
    rivals: int
    cycles_of_three: int
    affinity: float
    bound: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return asdict(self)
