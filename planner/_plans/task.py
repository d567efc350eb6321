"""A planning task as the kernels see it: blocks of the existing and the fixed reviews, and who may still read what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from planner._plans.constraints import Constraints, Needs, no_pairs, with_extra
from planner._plans.kernels.cascade import Board
from planner._plans.kernels.trials import Trial, close, new_trial
from reviewgraph._base import BoolArray, Clock, IntArray, Label, Mentions, distinct, occurs
from reviewgraph.graph import Blocks, Components, doubly_connected_components, level_named

if TYPE_CHECKING:
    from reviewgraph.table import Reviews

    Mentioned: TypeAlias = Sequence[Label] | Mentions

#: Work, see :class:`reviewgraph._base.clock.Clock`, of one step of a growth; and of a pass over a table, per review and
#: in addition.
STEP = 16e-9
READ = 1e-6
CALL = 2e-4


@dataclass(frozen=True, eq=False)
class Task:
    """The blocks of existing and fixed reviews, and the data of a search.

    ``components`` are the doubly connected components of the existing reviews; blocks are numbered as they are.
    ``start`` are the blocks with the fixed reviews, never changed. ``spare`` and ``room`` remain after the
    fixed reviews. A plan has ``most`` reviews at most.
    """

    constraints: Constraints
    components: Components
    start: Blocks
    spare: IntArray
    room: IntArray
    most: int

    @property
    def n_items(self) -> int:
        return self.constraints.reviews.n_items

    @property
    def codes(self) -> Callable[[IntArray], IntArray]:
        return self.constraints.codes

    @property
    def candidates_up_to(self) -> int:
        """Upper bound on the number of candidate reviews."""
        return int((self.spare > 0).sum()) * self.n_items

    @cached_property
    def trial(self) -> Trial:
        return new_trial(len(self.components), self.n_items)

    @property
    def home(self) -> IntArray:
        """Shape (M,): the block of each reviewer."""
        return self.components.labels

    @property
    def is_done(self) -> bool:
        """Whether one block covers all items without a further review."""
        return largest_cover(self.start) >= self.n_items

    def worked(self) -> float:
        """Return the work of growths and trials since the last call."""
        steps = self.trial.steps
        self.trial.steps = 0
        return STEP * steps

    def board(self, pairs: IntArray, seed: int = 0) -> Board:
        """Return loads, limits and places that remain after some more reviews; ``seed`` breaks ties."""
        member = np.argsort(self.components.labels, kind="stable").astype(np.int64)
        member_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.components.sizes)])
        places = self.constraints.places
        free = places.free.copy()
        np.subtract.at(free.ravel(), places.held_by(pairs)[1], 1)
        return Board(
            home=self.home.astype(np.int64),
            member_start=member_start,
            member=member,
            load=self.loads(pairs).astype(np.int64),
            spare=self.spare - np.bincount(pairs[:, 0], minlength=self.spare.size),
            room=self.room - np.bincount(pairs[:, 1], minlength=self.room.size),
            barred_start=self.constraints.barred_start,
            barred=self.constraints.barred,
            group_start=places.start,
            group=places.group,
            free=free,
            dice=seed & 0x7FFFFFFF,
        )

    @cached_property
    def needs(self) -> Needs:
        rules = self.constraints
        return rules.people.needs(with_extra(rules.reviews, rules.fixed))

    def loads(self, pairs: IntArray) -> IntArray:
        """Shape (M,): extra reviews of each reviewer, fixed ones included."""
        return np.bincount(np.concatenate([pairs[:, 0], self.constraints.fixed[:, 0]]), minlength=self.spare.size)

    def capacity(self, pairs: IntArray) -> int:
        """Return an upper bound on the reviews that loads, limits and conflicts allow after some more."""
        left = self.board(pairs)
        closed = np.column_stack(np.divmod(self.constraints.barred_pairs, max(self.n_items, 1)))
        return at_most(np.asarray(left.spare), np.asarray(left.room), np.concatenate([closed, pairs]))

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews."""
        rules = self.constraints
        return with_extra(rules.reviews, np.concatenate([rules.fixed, pairs]))

    def is_cheapest(self, pairs: IntArray | None) -> bool:
        """Whether as many reviews cannot cost less: without costs, or as no pairs do."""
        rules = self.constraints
        return not rules.cost or (pairs is not None and rules.price_of(pairs) <= rules.least_price(len(pairs)))

    def after(self, pairs: IntArray) -> Blocks:
        """Return the blocks after some more reviews, shape (P, 2)."""
        blocks = self.start.copy()
        block = self.home[pairs[:, 0]].astype(np.int64)
        item = np.ascontiguousarray(pairs[:, 1])
        close(blocks, self.trial, block, item, block.size)
        return blocks

    def reaches(self, pairs: IntArray) -> bool:
        return largest_cover(self.after(pairs)) >= self.n_items


def at_most(spare: IntArray, room: IntArray, barred: IntArray) -> int:
    """Return an upper bound on the reviews that loads ``spare`` (M,), limits ``room`` (N,) and ``barred`` pairs allow.

    The smaller of two sums, over reviewers and over papers, of what each allows alone; the pairs, shape (P, 2), are
    distinct.

    >>> at_most(np.array([9, 1]), np.array([2, 2, 2]), np.array([[0, 0]]))
    3
    """
    who = spare > 0
    what = room > 0
    inside = barred[who[barred[:, 0]] & what[barred[:, 1]]]
    papers = what.sum() - np.bincount(inside[:, 0], minlength=spare.size)
    readers = who.sum() - np.bincount(inside[:, 1], minlength=room.size)
    return int(min(np.minimum(spare, papers)[who].sum(), np.minimum(room, readers)[what].sum()))


def looked_at(table: Reviews) -> float:
    """Work of one pass over a table: its groups, a test of its level, or a task made of it."""
    return CALL + READ * table.n_reviews


def new_task(constraints: Constraints, most: int) -> Task:
    """Contract the existing reviews to doubly connected components, and add the fixed reviews."""
    reviews = constraints.reviews
    components = doubly_connected_components(reviews)
    fixed = constraints.fixed
    start = closed_blocks(components.cover_start, components.cover_item, reviews.n_items)
    task = Task(
        constraints,
        components,
        start,
        np.maximum(constraints.spare - np.bincount(fixed[:, 0], minlength=reviews.n_reviewers), 0),
        np.maximum(constraints.room - np.bincount(fixed[:, 1], minlength=reviews.n_items), 0),
        most,
    )
    return replace(task, start=task.after(fixed)) if len(fixed) else task


def closed_blocks(start: IntArray, item: IntArray, n_items: int) -> Blocks:
    """Return blocks that cannot be joined; block b covers ``item[start[b]:start[b + 1]]``, ascending."""
    every = np.arange(start.size - 1)
    blocks = Blocks(np.repeat(every, np.diff(start)), item, every.size, n_items)
    blocks.enter_rows()
    return blocks


def largest_cover(blocks: Blocks) -> int:
    """Return the number of items that the largest block covers."""
    return int(np.asarray(blocks.covered).max(initial=0))


def minimal(
    pairs: IntArray, places: Iterable[int], suffices: Callable[[IntArray], bool], goes_on: Callable[[int], bool]
) -> IntArray:
    """Remove the reviews at some places, in turn, without which the others suffice.

    ``goes_on`` is called with the number of reviews before each trial; false ends the search.
    """
    keep = np.ones(len(pairs), np.bool_)
    for place in places:
        if not goes_on(int(keep.sum())):
            break
        keep[place] = False
        keep[place] = not suffices(pairs[keep])
    return pairs[keep]


# Who may still read what, as pairs.

#: Readers tried for each review that is wanted, in :func:`few_short_pairs`, before an item goes without.
TURNS = 4


def allowed_pairs(task: Task, among: BoolArray | None = None) -> IntArray:
    """Shape (K, 2): pairs that may be planned, each alone and rules on panels aside, ascending; of some items only."""
    open_ = task.room > 0 if among is None else among & (task.room > 0)
    chunks = [no_pairs()]
    for j in np.flatnonzero(task.spare > 0).tolist():
        items = task.constraints.readable(j)
        items = items[open_[items]]
        chunks.append(np.column_stack([np.full(items.size, j), items]))
    return np.concatenate(chunks)


def short_pairs(task: Task) -> IntArray:
    """Shape (K, 2): allowed pairs of the items that are short of reviews."""
    pairs = allowed_pairs(task, task.needs.each > 0)
    return pairs[task.constraints.places.open(pairs)]


def few_short_pairs(task: Task, few: int) -> IntArray:
    """Shape (K, 2): for each item short of reviews some allowed pairs, ``few`` more than it needs.

    The readers of an item follow each other among those with spare load; each item begins with another one.
    """
    able = np.flatnonzero(task.spare > 0)
    chunks = [no_pairs()]
    for i in np.flatnonzero((task.needs.each > 0) & (task.room > 0)).tolist():
        wanted = int(task.needs.each[i]) + few
        readers = able[(7 * i + np.arange(min(wanted * TURNS, able.size))) % max(able.size, 1)]
        pairs = np.column_stack([readers, np.full(readers.size, i)])
        free = ~occurs(task.codes(pairs), task.constraints.barred_pairs) & task.constraints.places.open(pairs)
        chunks.append(pairs[free][:wanted])
    return np.concatenate(chunks)


# The oracle of the exact method: whether a target is reached, and which cuts forbid a structure that misses it.

#: Candidates listed at once.
AT_ONCE = 10_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a round of the exact method, for each candidate.
ROUND = 2e-5


class Cut(NamedTuple):
    """Condition on every plan: ``least`` of the candidates that leave a structure, marked in ``leaves`` (K,)."""

    leaves: IntArray
    least: int


class Oracle(ABC):
    """A target, for one task."""

    def __init__(self, task: Task, allowed: IntArray | None = None) -> None:
        self.candidates = Candidates(task)
        self.task = task
        if allowed is not None:
            self.allowed = allowed

    @property
    def work(self) -> float:
        """Work of a round of the exact method, besides that of its solver: to state, test and cut."""
        return ROUND * len(self.allowed)

    @cached_property
    def allowed(self) -> IntArray:
        """Shape (K, 2): the candidate reviews; millions in large tables, see ``candidates`` for an iterator."""
        return np.concatenate([no_pairs(), *self.candidates.chunks()])

    @abstractmethod
    def reaches(self, pairs: IntArray) -> bool:
        """Whether the target is reached with these reviews and the fixed ones."""

    @abstractmethod
    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Yield cuts that these reviews violate."""


class Candidates:
    """Allowed pairs whose item the reviewer's block does not cover yet, or is short of reviews.

    In large tables they are too many to be stored, so they are recomputed whenever they are iterated over.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.root = task.start.labels()
        owner, item = task.start.entries()
        order = np.argsort(owner, kind="stable")
        self.covered = item[order]
        self.start = np.searchsorted(owner[order], np.arange(self.root.size + 1))

    def of(self, reviewer: int) -> IntArray:
        """Return the useful items for a reviewer, ascending."""
        task = self.task
        if task.spare[reviewer] <= 0:
            return np.empty(0, np.int64)
        block = self.root[task.home[reviewer]]
        useful = np.ones(task.n_items, np.bool_)
        useful[self.covered[self.start[block] : self.start[block + 1]]] = False
        useful = (useful | (task.needs.each > 0)) & (task.room > 0)
        items = task.constraints.readable(reviewer)
        return items[useful[items]]

    def chunks(self, reviewers: IntArray | None = None) -> Iterator[IntArray]:
        """Yield the pairs of all reviewers, or some, ascending, in arrays of moderate size."""
        chunk = [no_pairs()]
        for j in (np.arange(self.task.spare.size) if reviewers is None else reviewers).tolist():
            items = self.of(j)
            chunk.append(np.column_stack([np.full(items.size, j), items]))
            if sum(map(len, chunk)) >= AT_ONCE:
                yield np.concatenate(chunk)
                chunk = [no_pairs()]
        yield np.concatenate(chunk)


# Losses, one at a time, and the planning task that remains after each.
#
# A plan survives if the remaining reviews reach *double* after each loss. Reviews of the plan may be lost like all
# others. Lost pairs cannot be planned again: they count as conflicts.

#: Work, see :class:`reviewgraph._base.clock.Clock`, of leaving out all reviewers or reviews in turn, per review.
LEFT_OUT = 35e-6


class Loss(NamedTuple):
    """Reviews that fail to arrive: all of a reviewer's, or with ``item`` >= 0 one; none if ``reviewer`` is -1."""

    reviewer: int = -1
    item: int = -1

    def takes(self, reviewer: IntArray, item: IntArray) -> BoolArray:
        """Which of some pairs, given by reviewer and by item, are lost."""
        mine: BoolArray = reviewer == self.reviewer
        return mine if self.item < 0 else mine & (item == self.item)


@dataclass(frozen=True)
class Losses:
    """The loss of any reviewer, with all reviews, or of any review if ``single``, those of the plan included.

    Of single losses, a cut that a plan must cross n times after the loss must be crossed n + 1 times before it.
    """

    single: bool

    def every(self, table: Reviews) -> list[Loss]:
        """List all losses, that of nothing first."""
        if self.single:
            return [Loss(), *map(Loss._make, zip(table.reviewer.tolist(), table.item.tolist(), strict=True))]
        return [Loss(), *map(Loss, range(table.n_reviewers))]

    def failing(self, table: Reviews, clock: Clock | None = None) -> list[Loss]:
        """List the losses after which no doubly connected component covers all items; only that of nothing, if so.

        Takes the time of :func:`reviewgraph.graph.fragility.critical_reviews`, or of the same for reviewers. Raises
        Clock.Over if the clock is over first.
        """
        clock = clock or Clock(None)
        if not doubly_connected_components(table).covers_all:
            clock.spend(looked_at(table))
            return [Loss()]
        clock.spend(LEFT_OUT * table.n_reviews)
        finder = level_named("double").part("finder")
        if not self.single:
            return list(map(Loss, finder.critical_reviewers(table, clock).tolist()))
        rows = finder.critical_reviews(table, clock)
        return list(map(Loss._make, zip(table.reviewer[rows].tolist(), table.item[rows].tolist(), strict=True)))

    def words(self, loss: Loss, reviewers: Mentioned, items: Mentioned) -> str:
        """Describe a loss."""
        reviewer = reviewers[loss.reviewer]
        return (
            f"should {reviewer} not review paper {items[loss.item]}" if self.single else f"should {reviewer} drop out"
        )


def after_loss(task: Task, pairs: IntArray, loss: Loss) -> Task:
    """Return the task that remains when some reviews were planned and a loss occurs."""
    table = task.table(pairs)
    lost = loss.takes(table.reviewer, table.item)
    left = task.board(pairs)
    spare = np.array(left.spare)
    if loss.item < 0 <= loss.reviewer:
        spare[loss.reviewer] = 0
    rules = task.constraints
    # Lost reviews were still asked for: nobody may read them again, and they count where a rule limits people.
    lost_pairs = table.reviewer[lost] * max(task.n_items, 1) + table.item[lost]
    barred = distinct(lost_pairs, rules.people.excluded(table))
    after = replace(
        rules,
        reviews=table.subset(~lost),
        spare=spare,
        room=np.array(left.room),
        conflicts=distinct(rules.conflicts, barred),
        fixed=no_pairs(),
        people=rules.people.without(table.subset(lost)),
    )
    # As much room as the task had: ``room`` leaves out two entries.
    return new_task(after, task.most)
