"""The targets that survive a loss: *double* after any one reviewer, or any one review, fails to arrive.

1. Bounds: two reviews a paper; the links that are missing after a loss, one more where the plan's own may be lost.
2. A greedy by scenarios, :mod:`planner.plans.search.mending`, and what improves it.
3. In small tables the implicit hitting set, with the cuts of *double* after each loss.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planner.plans.model.allowed import allowed_pairs
from planner.plans.model.ledger import Bound
from planner.plans.model.losses import AnyReview, AnyReviewer, Losses, after_loss
from planner.plans.model.tables import no_pairs, with_extra
from planner.plans.model.task import looked_at
from planner.plans.proof import bounds
from planner.plans.search.mending import Mender
from planner.plans.search.substitutes import by_testing
from planner.plans.targets.double import DoubleTarget
from planner.plans.targets.exactly import settle
from planner.plans.targets.robust_oracle import RobustOracle
from reviewgraph.clock import Clock, TimeOver
from reviewgraph.levels import Level, SurvivesReview, SurvivesReviewer, level_named
from reviewgraph.mentions import PAPERS, REVIEWERS

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.oracle import Oracle
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Candidate reviews, and these times losses, up to which the integer programme is stated.
EXACT_UP_TO, EXACT_WORK = 1_500, 100_000
#: Greedy plans tried, more and more at random, before loads and conflicts are held to stand in the way.
ATTEMPTS = 8
#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 200_000
#: Losses whose missing links are counted, and the shares of time and work that this and the integer programme may take.
COUNTED, SHARE, HALF = 200, 0.2, 0.5


class RobustTarget(DoubleTarget):
    """Groups are those of *double*, with nothing lost."""

    abstract = True
    together = "comparable for certain as long as nothing is lost"
    losses: ClassVar[Losses]

    def reaches(self, reviews: Reviews, *, use_scores: bool = False) -> bool:
        """Look for a loss after which the level fails."""
        return not self.losses.failing(reviews)

    def reaches_in_time(self, reviews: Reviews, clock: Clock, *, use_scores: bool = False) -> bool:
        """Look for a loss after which the level fails, as long as there is time."""
        with suppress(TimeOver):
            return not self.losses.failing(reviews, clock)
        return False

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Bounds, the greedy by scenarios, the integer programme, and what time is left for improving."""
        if not self.losses.failing(task.table(no_pairs()), ledger.clock):
            ledger.nothing_to_do(no_pairs())
            return
        if not task.home.size:
            ledger.infeasible = True
            return
        self._prove(task, ledger)
        mender = Mender(task, self.losses, rng, ledger.clock)
        self._first_plan(mender, ledger)
        if ledger.infeasible:
            return
        self._exact(task, ledger, rng)
        mender.improve(ledger)
        ledger.cheapest = ledger.cheapest or not task.constraints.cost

    def stand_ins(self, task: Task, pairs: IntArray, place: int, clock: Clock) -> list[tuple[int, int]]:
        """Test one pair after the other."""
        return by_testing(self, task, pairs, place, clock)

    def certificate(self, reviews: Reviews, *, use_scores: bool = False) -> IntArray:
        """Return none: merges replay one table, not what is left of it after each loss."""
        return np.empty((0, 4), np.int64)

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Items of the largest group; where these are all, less those losses that lower the level.

        So parts of a plan are ranked: first by how far they get to *double*, then by how much they mend, where there is
        time to see that.
        """
        covered = super().papers(task, pairs, clock)
        if covered < task.n_items:
            return covered
        everything = task.n_items * (task.n_items + task.home.size + 1)
        with suppress(TimeOver):
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
        for loss in sorted(self.losses.every(table), key=lambda loss: -_weight(loss.reviewer, table))[:COUNTED]:
            left = after_loss(task, no_pairs(), loss)
            clock.spend(2 * looked_at(table))
            found = bounds.missing_links(left.table(no_pairs()), left.constraints, left.spare)
            more = int(self.losses.single and loss.reviewer < 0 < found.value)
            what = self.losses.words(loss, REVIEWERS, PAPERS) if loss.reviewer >= 0 else "with nothing lost"
            extra = ", and one review more, for one of these may be lost" if more else ""
            ledger.prove(Bound(found.value + more, "a loss", f"{found.words}{extra}", lost=what))
            if clock.over():
                return

    def _first_plan(self, mender: Mender, ledger: Ledger) -> None:
        for attempt in range(ATTEMPTS):
            found = mender.mended(no_pairs(), 4 * attempt)
            if found is not None:
                ledger.offer(mender.pruned(found))
                return
            if not ledger.in_time:
                return
            if attempt == 0 and not self._can_reach(mender.task, ledger.clock):
                ledger.infeasible = True
                return

    def _can_reach(self, task: Task, clock: Clock) -> bool:
        """Whether the candidates together could do it; true where there are too many of them to say."""
        if task.candidates_up_to > RELAX_UP_TO:
            return True
        table = task.table(no_pairs())
        pairs = allowed_pairs(task.constraints, table, task.spare)
        return not self.losses.failing(with_extra(table, pairs[task.room[pairs[:, 1]] > 0]), clock)

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        """State the cuts of *double* after each loss, where these are few enough."""
        candidates = task.candidates_up_to
        losses = len(self.losses.every(task.table(no_pairs())))
        few = candidates <= EXACT_UP_TO and candidates * losses <= EXACT_WORK
        return RobustOracle(task, self.losses, rng) if few else None

    def _exact(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Run the implicit hitting set, where it is small enough."""
        settled = ledger.closed and not task.constraints.cost
        oracle = None if settled or not ledger.in_time else self.oracle(task, rng)
        if oracle is not None:
            settle(oracle, ledger, "some loss unmended", ledger.clock.share(HALF))


def _weight(reviewer: int, table: Reviews) -> int:
    """Order in which losses are counted: nothing lost first, then reviewers of most reviews."""
    return table.n_items + 1 if reviewer < 0 else int(table.loads[reviewer])


class SurvivesReviewerTarget(RobustTarget):
    """*Double* after any one reviewer drops out."""

    level: ClassVar[Level] = level_named(SurvivesReviewer.name)
    apart = "comparable for certain if some reviewer dropped out"
    losses = AnyReviewer()


class SurvivesReviewTarget(RobustTarget):
    """*Double* after any one review fails to arrive."""

    level: ClassVar[Level] = level_named(SurvivesReview.name)
    apart = "comparable for certain if some review failed to arrive"
    losses = AnyReview()
