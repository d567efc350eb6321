"""What may fail to arrive, one loss at a time, and the planning task that is left when it does.

A plan survives where the reviews that are left reach *double* after each loss. Reviews of the plan may be lost like all
others, and who or what is lost can mend nothing: its pairs count as conflicts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.tables import no_pairs
from planner.plans.model.task import looked_at, new_task
from reviewgraph.arrays import distinct
from reviewgraph.components import is_recovery_resilient
from reviewgraph.fragility.double import critical_reviewers, critical_reviews

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.mentions import Mentions
    from reviewgraph.reviews import BoolArray, Reviews

    Mentioned: TypeAlias = Sequence[Label] | Mentions


#: Work, see :class:`reviewgraph.clock.Clock`, of leaving out all reviewers or reviews in turn, for each review.
LEFT_OUT = 35e-6


class Loss(NamedTuple):
    """What fails to arrive.

    Parameters
    ----------
    reviewer
        Who drops out, or whose review is lost; -1 where nothing is.
    item
        The item of the review that is lost; -1 where all of the reviewer's are.
    """

    reviewer: int = -1
    item: int = -1

    def takes(self, reviewer: IntArray, item: IntArray) -> BoolArray:
        """Which of some pairs, given by reviewer and by item, are lost."""
        mine: BoolArray = reviewer == self.reviewer
        return mine if self.item < 0 else mine & (item == self.item)


class Losses(ABC):
    """A kind of loss.

    Attributes
    ----------
    single
        Whether one review is lost at a time, those of the plan included: then a cut that a plan must cross so often
        after the loss must be crossed once more before it.
    """

    single: bool

    @abstractmethod
    def every(self, table: Reviews) -> list[Loss]:
        """List the losses there may be."""

    @abstractmethod
    def critical(self, table: Reviews, clock: Clock | None) -> list[Loss]:
        """List the losses after which a doubly connected table is so no more."""

    @abstractmethod
    def words(self, loss: Loss, reviewers: Mentioned, items: Mentioned) -> str:
        """Say what is lost."""

    def failing(self, table: Reviews, clock: Clock | None = None) -> list[Loss]:
        """List the losses after which no doubly connected component covers all items; the loss of nothing alone, if so.

        Takes the time of :func:`reviewgraph.fragility.double.critical_reviews`, or of the same for reviewers.

        Raises
        ------
        TimeOver
            If the clock is over before they are known.
        """
        found = self.critical(table, clock) if is_recovery_resilient(table) else [Loss()]
        if clock is not None:
            clock.spend(looked_at(table) if found == [Loss()] else LEFT_OUT * table.n_reviews)
        return found


class AnyReviewer(Losses):
    """A reviewer drops out, with all reviews."""

    single = False

    def every(self, table: Reviews) -> list[Loss]:
        """List the reviewers."""
        return [Loss(), *(Loss(j) for j in range(table.n_reviewers))]

    def critical(self, table: Reviews, clock: Clock | None) -> list[Loss]:
        """Ask for the critical reviewers."""
        return [Loss(j) for j in critical_reviewers(table, clock).tolist()]

    def words(self, loss: Loss, reviewers: Mentioned, items: Mentioned) -> str:
        """Name the reviewer."""
        return f"should {reviewers[loss.reviewer]} drop out"


class AnyReview(Losses):
    """A review fails to arrive."""

    single = True

    def every(self, table: Reviews) -> list[Loss]:
        """List the reviews."""
        return [Loss(), *map(Loss._make, zip(table.reviewer.tolist(), table.item.tolist(), strict=True))]

    def critical(self, table: Reviews, clock: Clock | None) -> list[Loss]:
        """Ask for the critical reviews."""
        rows = critical_reviews(table, clock)
        return [Loss(*pair) for pair in zip(table.reviewer[rows].tolist(), table.item[rows].tolist(), strict=True)]

    def words(self, loss: Loss, reviewers: Mentioned, items: Mentioned) -> str:
        """Name reviewer and paper."""
        return f"should {reviewers[loss.reviewer]} not review paper {items[loss.item]}"


def after_loss(task: Task, pairs: IntArray, loss: Loss) -> Task:
    """Return what is to be planned when some reviews were planned and a loss occurs."""
    table = task.table(pairs)
    spare = task.spare - np.bincount(pairs[:, 0], minlength=task.spare.size)
    if loss.item < 0 <= loss.reviewer:
        spare[loss.reviewer] = 0
    return with_rows_lost(task, pairs, loss.takes(table.reviewer, table.item), spare)


def with_rows_lost(task: Task, pairs: IntArray, lost: BoolArray, spare: IntArray | None = None) -> Task:
    """Return what is to be planned when some reviews were planned and others, marked by row of their table, are lost.

    Parameters
    ----------
    task, pairs
        What was to be planned, and the reviews planned, shape (P, 2).
    lost
        Shape (E,), over the rows of ``task.table(pairs)``.
    spare
        What is left of the loads; by default what the planned reviews leave.
    """
    table, rules, N = task.table(pairs), task.constraints, max(task.n_items, 1)
    # What is lost was asked for all the same: nobody may read it again, and it counts where a rule limits people.
    barred = distinct(table.reviewer[lost] * N + table.item[lost], rules.people.beside(table))
    left = task.spare - np.bincount(pairs[:, 0], minlength=task.spare.size) if spare is None else spare
    after = replace(
        rules,
        reviews=table.subset(~lost),
        spare=left,
        room=task.room - np.bincount(pairs[:, 1], minlength=task.room.size),
        conflicts=distinct(rules.conflicts, barred),
        fixed=no_pairs(),
        people=rules.people.without(table.subset(lost)),
    )
    # As much room as the task had: two entries are kept back of what is said to be left.
    return new_task(after, task.start.room + 2)
