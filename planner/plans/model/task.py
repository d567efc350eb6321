"""A planning task as the kernels see it: blocks of the existing and the fixed reviews, and who may still read what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.plans.model.growth import (
    STEPS,
    Growth,
    Structure,
    close,
    copy_structure,
    find_block,
    new_structure,
    working_space,
)
from planner.plans.model.left import Left
from planner.plans.model.moves import Board
from planner.plans.model.tables import with_extra
from reviewgraph.components import Components, doubly_connected_components, tie_classes
from reviewgraph.kernels.compiling import POLICY

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from planner.plans.model.people import Needs
    from planner.plans.model.places import Places
    from reviewgraph.kernels.compiling import Kernel
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Work, see :class:`reviewgraph.clock.Clock`, of one step of a growth; and of a look at a table, for each review and
#: for all else.
STEP, READ, CALL = 16e-9, 1e-6, 2e-4
#: Seconds that a first plan and its bounds take as plain Python for each entry of the covers, as far as one kernel
#: goes; and those of a search that stops at its deadline.
ENTRY, SEARCH = 0.5e-3, 60.0


@dataclass(frozen=True, eq=False)
class Task:
    """The structure that existing and fixed reviews make, closed; and what the search needs beside it.

    Parameters
    ----------
    constraints
        What the plan must respect.
    components
        The doubly connected components of the existing reviews; blocks are numbered as they are.
    start
        The structure with the fixed reviews in it, closed. Nobody may change it.
    spare, room
        What is left after the fixed reviews.
    use_scores
        Whether tied scores carry no scale.
    """

    constraints: Constraints
    components: Components
    start: Structure
    spare: IntArray
    room: IntArray
    use_scores: bool = False

    @property
    def n_items(self) -> int:
        """N."""
        return self.constraints.reviews.n_items

    @property
    def candidates_up_to(self) -> int:
        """Most candidate reviews there can be: everybody with load left, on every item."""
        return int((self.spare > 0).sum()) * self.n_items

    @cached_property
    def space(self) -> Growth:
        """Working space for growths."""
        return working_space(len(self.components), self.n_items)

    @property
    def home(self) -> IntArray:
        """Shape (M,): the block of each reviewer."""
        return self.components.labels

    @property
    def is_done(self) -> bool:
        """Whether one block covers all items without a further review."""
        return int(self.start.cover.max(initial=0)) >= self.n_items

    def form(self, kernel: Kernel[..., Any]) -> Any:
        """Return the form of a kernel that suits the size of the task."""
        return kernel.compiled if POLICY.pays(kernel, self.seconds) else kernel.python

    def has_time(self, *kernels: Kernel[..., Any]) -> bool:
        """Whether a step is begun that is worth taking only if its kernels are compiled before time is over."""
        return all(POLICY.fits(kernel, self.seconds) for kernel in kernels)

    @cached_property
    def seconds(self) -> float:
        """What a first plan takes as plain Python."""
        return ENTRY * self.start.size

    def worked(self) -> float:
        """Return the work of growths in :attr:`space` since this was last asked."""
        steps, self.space.extent[STEPS] = int(self.space.extent[STEPS]), 0
        return STEP * steps

    def warm_up(self) -> None:
        """Compile from now on, if the task is not tiny: a long search is to come."""
        POLICY.expect(SEARCH)

    def board(self, seed: int) -> Board:
        """Return spare loads and limits that a search may use up."""
        order = np.argsort(self.components.labels, kind="stable").astype(np.int64)
        member_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.components.sizes)])
        return Board(
            self.home.astype(np.int64),
            member_start,
            order,
            np.bincount(self.constraints.fixed[:, 0], minlength=self.spare.size).astype(np.int64),
            self.spare.copy(),
            self.room.copy(),
            self.constraints.barred_start,
            self.constraints.barred,
            *self.places(),
            np.array([seed & 0x7FFFFFFF], np.int64),
        )

    def places(self) -> Places:
        """Return the places that panel groups have left after the fixed reviews, for a search to use up."""
        left = self.constraints.places
        return left._replace(free=left.free.copy())

    @cached_property
    def needs(self) -> Needs:
        """Reviews that items are short of after the fixed ones."""
        rules = self.constraints
        return rules.people.needs(with_extra(rules.reviews, rules.fixed))

    def left(self, pairs: IntArray) -> Left:
        """Return what loads, limits and rules leave after some more reviews."""
        return Left(self.constraints, self.spare, self.room, pairs)

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews."""
        rules = self.constraints
        return with_extra(rules.reviews, np.concatenate([rules.fixed, pairs]), use_scores=self.use_scores)

    def after(self, pairs: IntArray) -> Structure:
        """Return the closed structure after some more reviews, shape (P, 2)."""
        state = copy_structure(self.start)
        block, item = self.home[pairs[:, 0]].astype(np.int64), np.ascontiguousarray(pairs[:, 1])
        self.form(close)(state, self.space, block, item, block.size)
        return state

    def reaches(self, pairs: IntArray) -> bool:
        """Whether some more reviews let one block cover all items."""
        return int(self.after(pairs).cover.max(initial=0)) >= self.n_items

    def block_labels(self, state: Structure) -> IntArray:
        """Shape (B,): the root of each block of the start."""
        return np.array([find_block.python(state.root, block) for block in range(len(self.components))], np.int64)


def looked_at(table: Reviews) -> float:
    """Return the work of a look at a table: its groups, whether it is at a level, or a task made of it."""
    return CALL + READ * table.n_reviews


def new_task(constraints: Constraints, room_for: int, *, use_scores: bool = False) -> Task:
    """Contract the existing reviews to doubly connected components, and add the fixed reviews."""
    reviews = constraints.reviews
    components = doubly_connected_components(reviews, use_scores=use_scores)
    class_of = tie_classes(components.reviews) if use_scores else np.arange(reviews.n_items)
    block = np.repeat(np.arange(len(components)), components.cover_sizes)
    fixed = constraints.fixed
    start = new_structure(block, components.cover_item, len(components), class_of, room_for + len(fixed))
    task = Task(
        constraints,
        components,
        start,
        constraints.spare - np.bincount(fixed[:, 0], minlength=reviews.n_reviewers),
        constraints.room - np.bincount(fixed[:, 1], minlength=reviews.n_items),
        use_scores,
    )
    return replace(task, start=task.after(fixed)) if len(fixed) else task
