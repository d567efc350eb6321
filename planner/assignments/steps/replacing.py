"""Whether the level outlives that another reviewer takes a review over: closure once a review, growth a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import flip
from planner.assignments.steps.core import coverage, groups_of, grow, nothing_grown
from planner.assignments.steps.watching import Watch

if TYPE_CHECKING:
    from planner.assignments.steps.core import Groups, Grown
    from planner.assignments.steps.grouping import Core


class _Parts(NamedTuple):
    """The components of an assignment without one review, and space to grow from them."""

    groups: Groups
    grown: Grown


class Replacing:
    """An assignment of which one review at a time is given to somebody else; after each question it is as before.

    Where the level holds it must hold afterwards; where it was missed, no component may cover fewer required items. A
    further review never parts a component. So a review that can be lost can be given to anybody, and growth from a few
    seeds clears most of them, in O(E) each. Without one of the others the components are found once, in O(E) or little
    more. A pair that enters changes what its reviewer's component covers and no other one, so whatever merges does so
    with this component: growth from it decides, in O(E), exactly.

    Parameters
    ----------
    core
        The assignment and its level.
    """

    def __init__(self, core: Core) -> None:
        self.core, self.watch = core, Watch(core)
        self.least = core.total if core.at_level() else core.count
        # Where groups are not all there is to a level, its own test is asked of every exchange.
        self.tested = core.at_level() and not core.aim.core_suffices
        self.parts: dict[int, _Parts | None] = {}

    def keeps(self, gone: int, entering: int) -> bool:
        """Whether the level is kept when one pair takes the place of another."""
        if self.tested:
            flip(self.core.net, np.array([gone, entering]))
            holds = self.core.at_level()
            flip(self.core.net, np.array([gone, entering]))
            return holds
        if gone not in self.parts:
            self.parts[gone] = self._without(gone)
        parts = self.parts[gone]
        if parts is None:
            return True
        net, aim = self.core.net, self.core.aim
        both = np.array([gone, entering])
        flip(net, both)
        seed = int(parts.groups.label[net.reviewer[entering]])
        reached = grow(net, parts.groups, parts.grown, self.core.required, seed, aim.shared, -1)
        holds = reached >= self.least or (self.least == self.core.total and aim.holds_early(self.core.table))
        flip(net, both)
        return holds

    def _without(self, gone: int) -> _Parts | None:
        """Find the components without a review; None where the level does without it."""
        core, one = self.core, np.array([gone])
        flip(core.net, one)
        parts = None if self.watch.reaches(self.least) else self._parts()
        flip(core.net, one)
        return parts

    def _parts(self) -> _Parts | None:
        core, reviews = self.core, self.core.table()
        label = core.aim.groups(reviews).labels
        most = coverage(label, reviews.reviewer, reviews.item, core.required).max(initial=0)
        if most >= self.least or (self.least == core.total and core.aim.holds_early(core.table)):
            return None
        groups = groups_of(label)
        return _Parts(groups, nothing_grown(core.required.size, groups.start.size - 1))
