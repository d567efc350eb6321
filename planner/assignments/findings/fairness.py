"""How the papers are served, the worst of them above all, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.assignments.wishes.floors import Floors
    from reviewgraph.labels import Label

#: Part of the papers that counts as the worst served.
WORST = 0.1


@dataclass(frozen=True)
class Fairness:
    """Scores of papers, sums of the affinities of their reviewers, before and after, and the price of the difference.

    Parameters
    ----------
    way
        What was sought, such as ``leximin``; empty where only floors were.
    floors
        What no paper was to fall below.
    smallest
        Smallest score of a paper: by affinity alone, within the rules on panels and authors, and in the assignment.
    worst_tenth
        Mean score of the worst-served tenth of the papers, likewise.
    at_most
        No assignment within demands, loads and conflicts has a smallest score above this; None where only a floor for
        the best reviewer was asked for.
    proved
        Whether the sorted scores before the level were proved the best possible, by two solvers.
    lost
        Affinity given up for it, before the level.
    below
        Papers whose sum is below the floor.
    """

    way: str
    floors: Floors
    smallest: tuple[float, float]
    worst_tenth: tuple[float, float]
    at_most: float | None
    proved: bool
    lost: float
    below: tuple[Label, ...] = ()

    def under(self, wider: Fairness) -> Fairness:
        """Return the same beside what is known of a wider problem: scores by affinity alone, and the bound."""
        at_most = None if wider.at_most is None else max(wider.at_most, self.smallest[1])
        return replace(
            self,
            smallest=(wider.smallest[0], self.smallest[1]),
            worst_tenth=(wider.worst_tenth[0], self.worst_tenth[1]),
            at_most=at_most,
            proved=False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "way": self.way or None,
            "floor": self.floors.total,
            "floor_best": self.floors.best,
            "smallest": {"before": self.smallest[0], "after": self.smallest[1], "at_most": self.at_most},
            "worst_tenth": {"before": self.worst_tenth[0], "after": self.worst_tenth[1]},
            "proved": self.proved,
            "affinity": self.lost,
            "below_floor": list(self.below),
        }
