"""Alternates: who can step in on a paper when somebody of its panel drops out, and why nobody can."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from reviewgraph.labels import Label


class Lack(Enum):
    """Why a paper has fewer alternates than asked for: what rules out the last who would be left."""

    NOBODY = "nobody else may review it"
    ROOM = "nobody else who may review it has room"
    RULES = "what must hold on each paper rules out those who have room"
    LEVEL = "the level would be lost with those who have room and fit"
    STOPPED = "the search was stopped before it came to them"


class Alternate(NamedTuple):
    """A reviewer who can take the place of some of a paper's panel.

    Parameters
    ----------
    item, reviewer
        The paper, and who can step in.
    affinity
        Her affinity with it; 0 where unscored.
    replaces
        Reviewers of the paper any one of whom she can replace.
    everyone
        Whether these are all of them.
    """

    item: Label
    reviewer: Label
    affinity: float
    replaces: tuple[Label, ...]
    everyone: bool


class Missing(NamedTuple):
    """A paper with fewer alternates for everyone than asked for: how many it has, and why not more."""

    item: Label
    found: int
    why: Lack


@dataclass(frozen=True)
class Alternates:
    """Alternates of all papers.

    Parameters
    ----------
    asked
        How many were asked for, for each paper.
    listed
        The alternates, paper by paper, the best first.
    missing
        Papers with fewer than asked who can replace everyone.
    """

    asked: int
    listed: tuple[Alternate, ...]
    missing: tuple[Missing, ...]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row an alternate; ``replaces`` is ``all``, or names separated by semicolons."""
        rank: Counter[Label] = Counter()
        places = []
        for one in self.listed:
            rank[one.item] += 1
            places.append(rank[one.item])
        return {
            "item": [one.item for one in self.listed],
            "alternate": places,
            "reviewer": [one.reviewer for one in self.listed],
            "affinity": [one.affinity for one in self.listed],
            "replaces": ["all" if one.everyone else ";".join(map(str, one.replaces)) for one in self.listed],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of them."""
        return {
            "alternates": [one._asdict() | {"replaces": list(one.replaces)} for one in self.listed],
            "alternates_missing": [
                {"item": one.item, "found": one.found, "why": one.why.value} for one in self.missing
            ],
        }
