"""The target *double*: one doubly connected component covers all items."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from planner._plans import lower_bounds
from planner._plans.cascade import Repairer
from planner._plans.constraints import no_pairs, with_extra
from planner._plans.target import Bound, Groups
from planner._plans.targets import growth
from planner._plans.targets.growth import DoubleOracle
from planner._plans.targets.searched import SearchedTarget, settle
from planner._plans.task import (
    CALL,
    AnyReview,
    AnyReviewer,
    Cut,
    Losses,
    Oracle,
    after_loss,
    allowed_pairs,
    largest_cover,
    looked_at,
)
from reviewgraph._base import Clock, Mentions
from reviewgraph.graph import Level, doubly_connected_components, level_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._plans.target import Ledger
    from planner._plans.task import Task
    from reviewgraph._base import BoolArray, IntArray
    from reviewgraph.table import Reviews


class DoubleTarget(SearchedTarget):
    """Groups are doubly connected components; a review grows one of them, and others follow."""

    level: ClassVar[Level] = level_named("double")
    together = "comparable for certain"
    apart = "comparable for certain"
    scales = True

    def reaches(self, reviews: Reviews) -> bool:
        return doubly_connected_components(reviews).covers_all

    def groups(self, reviews: Reviews) -> Groups:
        components = doubly_connected_components(reviews)
        return Groups(components.labels, components.covers)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """Grow one block per review."""
        blocks = task.start.copy()
        first = np.unique(task.home, return_index=True)[1]
        for reviewer, item in pairs.tolist():
            own = blocks.root_of(task.home[reviewer])
            before = blocks.n_trail
            blocks.add(own, item)
            joined = {*blocks.absorbed(before).tolist(), blocks.root_of(own)} - {own}
            yield [int(first[block]) for block in sorted(joined)]

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        return DoubleOracle(task, rng)

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        growth.fill(task, ledger, rng)

    def certificate(self, reviews: Reviews) -> IntArray:
        """Return merges of reviewers, see :func:`reviewgraph.verify_merges`."""
        return doubly_connected_components(reviews).merges

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        covered = largest_cover(task.after(pairs))
        if clock is not None:
            clock.spend(CALL + task.worked())
        return covered


# Cuts for the targets that survive a loss: those of *double* after each loss.
#
# After a loss a plan must cross every cut of *double* as often as links are missing, with reviews that are not lost.
# If one review is lost at a time, those of the plan included, it must cross a cut of the whole table once more: the
# lost review may be one that crosses.

#: Losses that are cut off in one round of the programme.
AT_ONCE = 3
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a test of one loss.
PART = 5e-4


class _Part(NamedTuple):
    """One loss: the oracle of *double* after it, the remaining candidates, and the extra crossings of a cut."""

    oracle: DoubleOracle
    left: BoolArray
    more: int


class RobustOracle(Oracle):
    """*Double* after each loss.

    Reviewers of few reviews are treated as all others (``threshold`` 0): that leaves cuts weaker, but valid.
    """

    threshold = 0

    def __init__(self, task: Task, losses: Losses, rng: np.random.Generator) -> None:
        super().__init__(task, allowed_pairs(task))
        self.parts = list[_Part]()
        self.single = losses.single
        for loss in losses.every(task.table(no_pairs())):
            left = ~loss.takes(self.allowed[:, 0], self.allowed[:, 1])
            oracle = DoubleOracle(after_loss(task, no_pairs(), loss), rng, self.allowed[left])
            self.parts.append(_Part(oracle, left, int(losses.single and loss.reviewer < 0)))

    @property
    def work(self) -> float:
        return super().work + PART * len(self.parts)

    def reaches(self, pairs: IntArray) -> bool:
        return next(self._failing(pairs), None) is None

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        for part, rest in islice(self._failing(pairs), AT_ONCE):
            for cut in part.oracle.cuts(rest):
                leaves = np.zeros(len(self.allowed), np.int64)
                leaves[part.left] = cut.leaves
                yield Cut(leaves, cut.least + part.more, set())

    def _failing(self, pairs: IntArray) -> Iterator[tuple[_Part, IntArray]]:
        """Losses after which the target is missed, each with the remaining ones of the chosen reviews."""
        taken = self.marks(pairs)
        for part in self.parts:
            rest = self.allowed[taken & part.left]
            if not part.oracle.reaches(rest):
                yield part, rest
        if self.single:
            # Nothing is lost but one of the reviews chosen.
            for place in range(len(pairs)):
                rest = np.delete(pairs, place, axis=0)
                if not self.parts[0].oracle.reaches(rest):
                    yield self.parts[0], rest


# The targets that survive a loss: *double* after any one reviewer, or any one review, fails to arrive.
#
# 1. Bounds: two reviews per paper; the links missing after a loss, plus one if the plan's own may be lost.
# 2. A greedy by scenarios, :mod:`planner._plans.cascade`, and its improvement.
# 3. In small tables the implicit hitting set, with the cuts of *double* after each loss.

#: Candidate reviews, and these times losses, up to which the integer programme is stated.
EXACT_UP_TO = 1_500
EXACT_WORK = 100_000
#: Greedy plans tried, with increasing randomness, before loads and conflicts are assumed to prevent a plan.
ATTEMPTS = 8
#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 200_000
#: Losses whose missing links are counted, and the shares of time and work for this and the integer programme.
COUNTED = 200
SHARE = 0.2
HALF = 0.5


class RobustTarget(DoubleTarget):
    """Groups are those of *double*, with nothing lost."""

    abstract = True
    together = "comparable for certain as long as nothing is lost"
    losses: ClassVar[Losses]

    def reaches(self, reviews: Reviews) -> bool:
        return not self.losses.failing(reviews)

    def reaches_in_time(self, reviews: Reviews, clock: Clock) -> bool:
        with suppress(Clock.Over):
            return not self.losses.failing(reviews, clock)
        return False

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        if not self.losses.failing(task.table(no_pairs()), ledger.clock):
            ledger.nothing_to_do(no_pairs())
            return
        if not task.home.size:
            ledger.infeasible = True
            return
        self._prove(task, ledger)
        repairer = Repairer(task, self, self.losses, rng, ledger.clock)
        self._first_plan(repairer, ledger)
        if ledger.infeasible:
            return
        self._exact(task, ledger, rng)
        repairer.improve(ledger)

    def certificate(self, reviews: Reviews) -> IntArray:
        """Return none: merges replay one table, not those after each loss."""
        return np.empty((0, 4), np.int64)

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Items of the largest group; if these are all, rank by the number of losses that lower the level.

        So partial plans are ranked first by how far they get to *double*, then by the losses they survive, if there is
        time.
        """
        covered = super().papers(task, pairs, clock)
        if covered < task.n_items:
            return covered
        everything = task.n_items * (task.n_items + task.home.size + 1)
        with suppress(Clock.Over):
            return everything - len(self.losses.failing(task.table(pairs), clock))
        return covered

    def _prove(self, task: Task, ledger: Ledger) -> None:
        """Count the reviews that papers lack, and the links that are missing after losses."""
        table = task.table(no_pairs())
        ledger.prove(Bound(1, "unfinished", "there is a loss after which some papers are not comparable"))
        lacking = int(np.maximum(2 - table.reviews_per_item, 0).sum())
        words = f"each paper needs two reviews, to keep one if the other is lost, and {lacking} are missing"
        ledger.prove(Bound(lacking, "two a paper", words))
        clock = ledger.clock.share(SHARE)
        # Nothing lost first, then reviewers of most reviews.
        size = np.append(table.loads, table.n_items + 1)
        for loss in sorted(self.losses.every(table), key=lambda loss: -size[loss.reviewer])[:COUNTED]:
            left = after_loss(task, no_pairs(), loss)
            clock.spend(2 * looked_at(table))
            missing = lower_bounds.missing_links(left.table(no_pairs()), left.constraints, left.spare)
            value = missing.value
            words = missing.words
            what = "with nothing lost"
            if loss.reviewer >= 0:
                what = self.losses.words(loss, Mentions.REVIEWERS, Mentions.PAPERS)
            elif self.losses.single and not left.is_done:
                # The reviews of the plan that repair the table must do so without any one of them.
                words = words if value else "1 review is missing"
                value = max(value, 1) + 1
                words = f"{words}, and one review more, for one of these may be lost"
            ledger.prove(Bound(value, "a loss", words, lost=what))
            if clock.over():
                return

    def _first_plan(self, repairer: Repairer, ledger: Ledger) -> None:
        for attempt in range(ATTEMPTS):
            pairs = repairer.repaired(no_pairs(), 4 * attempt)
            if pairs is not None:
                ledger.offer(repairer.pruned(pairs))
                return
            if not ledger.in_time:
                return
            if attempt == 0 and not self._can_reach(repairer.task, ledger.clock):
                ledger.infeasible = True
                return

    def _can_reach(self, task: Task, clock: Clock) -> bool:
        """Whether the candidates together reach the target; true if they are too many to test."""
        if task.candidates_up_to > RELAX_UP_TO:
            return True
        return not self.losses.failing(with_extra(task.table(no_pairs()), allowed_pairs(task)), clock)

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        candidates = task.candidates_up_to
        losses = len(self.losses.every(task.table(no_pairs())))
        few = candidates <= EXACT_UP_TO and candidates * losses <= EXACT_WORK
        return RobustOracle(task, self.losses, rng) if few else None

    def _exact(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        settled = ledger.closed and task.is_cheapest(ledger.pairs)
        oracle = None if settled or not ledger.in_time else self.oracle(task, rng)
        if oracle is not None:
            settle(oracle, ledger, "some loss unrepaired", ledger.clock.share(HALF))


class SurvivesReviewerTarget(RobustTarget):
    level: ClassVar[Level] = level_named("survives-reviewer")
    apart = "comparable for certain if some reviewer dropped out"
    losses = AnyReviewer()


class SurvivesReviewTarget(RobustTarget):
    level: ClassVar[Level] = level_named("survives-review")
    apart = "comparable for certain if some review failed to arrive"
    losses = AnyReview()
