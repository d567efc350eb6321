"""Who can step in: for each paper the next best reviewers any one of whom can replace anybody of its panel.

An alternate for a paper may review it, has room in her load, and can take one reviewer's place such that what must hold
on the paper does and the level is kept. Her place is checked against every reviewer of the panel: first come those who
can replace everyone, by affinity, then those who can replace most. Each exchange is judged by itself, so two papers may
call on one person, who has room for one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.findings.standing_by import Alternate, Alternates, Lack, Missing
from planner.assignments.model.fitting import FAR, free_of_rivals, toll
from planner.assignments.steps.grouping import Core
from planner.assignments.steps.replacing import Replacing

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Candidates of a paper that are looked at, the best first, where too few of them can replace everyone.
LOOKED = 20


def alternates_of(problem: Problem, assigned: BoolArray, aim: Aim, number: int, clock: Clock) -> Alternates:
    """Find the alternates of every paper, so many each.

    Where the level holds it must hold after the exchange; where it was missed, no fewer papers may be in the core
    (:mod:`planner.assignments.steps.replacing`): O(E) for each review, and for each candidate beside a review on which
    the level hangs; O(E^2) in all at worst. Papers without an open place in the answer have none; once time is up, the
    rest is missing.
    """
    search = _Search(problem, assigned, aim)
    listed: list[Alternate] = []
    missing: list[Missing] = []
    for item in np.flatnonzero(problem.served).tolist():
        if clock.over():
            missing.append(Missing(problem.items[item], 0, Lack.STOPPED))
            continue
        found, why = search.best(item, number)
        listed += [search.named(pair, panel) for pair, panel in found]
        full = sum(panel.size == search.panel(item).size for _, panel in found)
        if full < number:
            missing.append(Missing(problem.items[item], full, why))
    return Alternates(number, tuple(listed), tuple(missing))


class _Search:
    """An assignment that is final, and what may be exchanged in it."""

    def __init__(self, problem: Problem, assigned: BoolArray, aim: Aim) -> None:
        self.problem = problem
        self.net = problem.network(assigned)
        levelled = aim.level is not None
        self.level = Replacing(Core(self.net, problem.required, aim)) if levelled else None

    def panel(self, item: int) -> IntArray:
        """Pairs of an item's panel, without those of a first phase."""
        net = self.net
        pairs = np.sort(net.panel[net.panel_start[item] :][: net.n_panel[item]])
        return pairs[~self.problem.old[pairs]]

    def best(self, item: int, number: int) -> tuple[list[tuple[int, IntArray]], Lack]:
        """Find the best pairs with the reviews that each could replace, and what rules out further ones."""
        panel, net, level = self.panel(item), self.net, self.level
        first, last = net.item_start[item], net.item_start[item + 1]
        others = np.arange(first, last)[~net.assigned[first:last]]
        person = net.reviewer[others]
        room = others[net.n_held[person] < (net.held_start[1:] - net.held_start[:-1])[person]]
        found: list[tuple[int, IntArray]] = []
        why = Lack.NOBODY if not others.size else Lack.ROOM if not room.size else Lack.RULES
        for pair in room[np.argsort(-self.problem.affinity[room], kind="stable")][:LOOKED].tolist():
            fitting = [
                q
                for q in panel.tolist()
                if free_of_rivals(net, pair, q) and toll(net, item, net.reviewer[q], net.reviewer[pair]) < FAR
            ]
            replaced = np.array([q for q in fitting if level is None or level.keeps(q, pair)], np.int64)
            why = Lack.LEVEL if len(fitting) > replaced.size else why
            if replaced.size:
                found.append((pair, replaced))
            if sum(part.size == panel.size for _, part in found) == number:
                break
        found.sort(key=lambda one: -one[1].size)
        return found[:number], why

    def named(self, pair: int, replaced: IntArray) -> Alternate:
        """Put labels to a pair and the reviews it could replace."""
        problem = self.problem
        item = int(problem.item[pair])
        people = problem.reviewer[replaced].tolist()
        return Alternate(
            problem.items[item],
            problem.reviewers[int(problem.reviewer[pair])],
            float(problem.affinity[pair]),
            tuple(problem.reviewers[j] for j in people),
            replaced.size == self.panel(item).size,
        )
