"""What an assignment was to respect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reviewgraph.verify.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.verify.panels import PanelRule
    from reviewgraph.verify.tables import Pair


@dataclass(frozen=True)
class Market:
    """What an assignment was to respect.

    Parameters
    ----------
    demand
        Reviews of each paper.
    loads
        Fewest and most reviews of each reviewer.
    affinity
        Of each pair that has one.
    any_pair
        Whether pairs without affinity may be assigned, for 0.
    barred, fixed
        Pairs that may not be, and that must be.
    phase_one
        Reviews that link, beyond demands and loads; they may not be assigned again.
    target
        The level; ``none`` where none is asked for.
    survive
        Whether it shall hold without any one reviewer.
    panels
        Rules on who reviews a paper together.
    previous
        The assignment before; None without one.
    min_affinity, floor, floor_best
        Thresholds of pairs and of papers; None without.
    plain
        Whether demands, loads and pairs are all that the most affinity without a level depends on.
    named
        Whether somebody asked for the target.
    """

    demand: Mapping[str, int]
    loads: Mapping[str, tuple[int, int]]
    affinity: Mapping[Pair, float] = field(default_factory=dict)
    any_pair: bool = True
    barred: frozenset[Pair] = frozenset()
    fixed: tuple[Pair, ...] = ()
    phase_one: frozenset[Pair] = frozenset()
    target: str = "none"
    survive: bool = False
    panels: tuple[PanelRule, ...] = ()
    previous: frozenset[Pair] | None = None
    min_affinity: float | None = None
    floor: float | None = None
    floor_best: float | None = None
    plain: bool = True
    named: bool = False

    @property
    def asks_more(self) -> bool:
        """Whether there is more to respect than demands, loads, pairs and a level."""
        floors = self.floor is not None or self.floor_best is not None
        return bool(self.panels) or floors or not self.plain

    def may(self, pair: Pair) -> bool:
        """Whether a pair may be assigned."""
        if pair in self.fixed:
            return True
        return pair not in self.barred | self.phase_one and (self.any_pair or pair in self.affinity)

    def pairs(self) -> dict[Pair, float]:
        """Return all pairs that may be assigned, with their affinities."""
        every = ((reviewer, item) for item in self.demand for reviewer in self.loads)
        return {pair: self.affinity.get(pair, 0.0) for pair in every if self.may(pair)}

    def table(self, pairs: list[Pair]) -> Table:
        """Return the reviews that link."""
        linked = [pair for pair in (*self.phase_one, *pairs) if pair[1] in self.demand]
        reviewers = dict.fromkeys([*self.loads, *(reviewer for reviewer, _ in linked)])
        return Table(tuple(reviewers), tuple(self.demand), dict.fromkeys(linked))
