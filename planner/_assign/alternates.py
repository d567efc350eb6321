"""Alternates: who can replace a reviewer such that rules and the level are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._assign.assignment import Alternate, Alternates, Lack, Missing
from planner._assign.core import Core
from planner._assign.kernels.flow import flip
from planner._assign.programme import may_replace
from reviewgraph._base import order_of

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, IntArray


# Whether the level survives another reviewer taking a review over: one closure per review, one per candidate.


class Replacing:
    """An assignment of which one review at a time is given to somebody else; after each query it is as before.

    Where the level holds it must hold afterwards; where it was missed, no component may cover fewer required items. A
    further review never separates a component, so a review that can be lost can be given to anybody.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.least = core.total if core.at_level() else core.count()
        # Where groups do not suffice for a level, its own test decides.
        self.tested = core.at_level() and not core.aim.core_suffices
        self.spared: dict[int, bool] = {}  # by review, whether the level does without it

    def keeps(self, gone: int, entering: int) -> bool:
        """Whether the level is kept when one pair takes the place of another."""
        if gone not in self.spared:
            self.spared[gone] = self._after([gone])
        return self.spared[gone] or self._after([gone, entering])

    def _after(self, pairs: list[int]) -> bool:
        """Whether the level is kept when pairs are flipped."""
        core = self.core
        exchange = np.array(pairs)
        flip(core.net, exchange)
        holds = not self.tested and core.count() >= self.least
        holds = holds or (self.least == core.total and core.aim.holds_early(core.table))
        flip(core.net, exchange)
        return holds


# Alternates: for each paper the next best reviewers any one of whom can replace anybody of its panel.
#
# An alternate for a paper may review it, has room in their load, and can take one reviewer's place such that the rules
# hold on the paper and the level is kept. The place is checked against every reviewer of the panel: first come those
# who can replace everyone, by affinity, then those who can replace most. Each exchange is checked by itself, so two
# papers may list one person, who has room for one of them.

#: Candidates of a paper that are examined, the best first, where too few of them can replace everyone.
LOOKED = 20


def alternates_of(problem: Problem, assigned: BoolArray, aim: Aim, number: int, clock: Clock) -> Alternates:
    """Return the alternates of every paper, ``number`` each.

    Takes a closure for each review, and for each candidate of a review on which the level depends.
    Papers without an open place in the assignment have none; once time is up, the rest is missing.
    """
    net = problem.network(assigned)
    level = Replacing(Core(net, problem.required, aim)) if aim.level is not None else None
    listed: list[Alternate] = []
    missing: list[Missing] = []
    for item in np.flatnonzero(problem.served).tolist():
        label = problem.items[item]
        if clock.over():
            missing.append(Missing(label, 0, Lack.STOPPED))
            continue
        # The panel without reviews of a first phase, and others who may review the item, of whom some have room.
        panel = np.sort(net.panel[net.panel_start[item] :][: net.n_panel[item]])
        panel = panel[~problem.old[panel]]
        first = net.item_start[item]
        last = net.item_start[item + 1]
        candidates = np.arange(first, last)[~net.assigned[first:last]]
        person = net.reviewer[candidates]
        room = candidates[net.n_held[person] < (net.held_start[1:] - net.held_start[:-1])[person]]
        # The reviews that each of the best could replace, until enough of them could replace any.
        alternates: list[tuple[int, IntArray]] = []
        why = Lack.RULES if room.size else Lack.ROOM
        if not candidates.size:
            why = Lack.NOBODY
        for pair in room[order_of(-problem.affinity[room])][:LOOKED].tolist():
            fitting = [q for q in panel.tolist() if may_replace(problem, assigned, pair, q)]
            replaced = np.array([q for q in fitting if level is None or level.keeps(q, pair)], np.int64)
            why = Lack.LEVEL if len(fitting) > replaced.size else why
            if replaced.size:
                alternates.append((pair, replaced))
            if sum(part.size == panel.size for _, part in alternates) == number:
                break
        alternates.sort(key=lambda alternate: -alternate[1].size)
        full = sum(part.size == panel.size for _, part in alternates[:number])
        for pair, replaced in alternates[:number]:
            listed.append(
                Alternate(
                    item=label,
                    reviewer=problem.reviewers[int(problem.reviewer[pair])],
                    affinity=float(problem.affinity[pair]),
                    replaces=tuple(problem.reviewers[j] for j in problem.reviewer[replaced].tolist()),
                    everyone=replaced.size == panel.size,
                )
            )
        if full < number:
            missing.append(Missing(label, full, why))
    return Alternates(number, tuple(listed), tuple(missing))
