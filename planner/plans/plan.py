"""A plan of extra reviews: what to add, how far it gets, and what proves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from planner.plans.model.reach import Reach
    from planner.plans.proof.bounds import Bound
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews

Target: TypeAlias = Literal["double", "recoverable", "connected"]
Status: TypeAlias = Literal["optimal", "feasible", "infeasible", "budget_exhausted"]


@dataclass(frozen=True)
class PlannedReview:
    """One extra review.

    Parameters
    ----------
    reviewer, item
        Labels.
    cost
        Its cost.
    joins
        What it joins, in words.
    covers
        Items in the largest group once this review and those before it have arrived.
    """

    reviewer: Label
    item: Label
    cost: float
    joins: str
    covers: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The fewest extra reviews that were found, in the order in which they help most.

    Parameters
    ----------
    status
        ``optimal``: proved fewest, and cheapest among those. ``feasible``: reaches the target, and the bound says
        how many fewer might do. ``infeasible``: proved impossible; ``explanation`` says why. ``budget_exhausted``:
        the reviews (or the time) allowed do not suffice; these are the best found.
    target
        The level asked for.
    reviews
        The extra reviews, fixed ones included.
    bounds
        Lower bounds with their proofs; :attr:`lower_bound` is the largest.
    explanation
        Sentences a chair can read: why it is impossible, how far a partial plan gets, what is proved.
    constraints
        What was to be respected.
    pairs
        The reviews by code, shape (P, 2), in the same order.
    use_scores
        Whether the scores decided what the existing reviews connect.
    merges
        Certificate for the target ``double``: merges of reviewers, to be replayed by
        :func:`reviewgraph.verify_merges` on :attr:`reviews_with_plan`.
    prices
        Certificate for the target ``recoverable`` within loads, where matroid intersection found the plan: a price by
        reviewer code in millionths, positive only for full loads; with these prices added to the costs, no
        plan is cheaper even if loads do not count.
    short
        Certificate of impossibility for ``recoverable``: codes of reviewers who together make so few links,
        whatever they read, that the loads of the others do not suffice.
    """

    status: Status
    target: Target
    reviews: tuple[PlannedReview, ...]
    bounds: tuple[Bound, ...]
    explanation: tuple[str, ...]
    constraints: Constraints = field(repr=False)
    pairs: IntArray = field(repr=False)
    use_scores: bool
    merges: IntArray = field(repr=False)
    _find_alternatives: Callable[[int, int], list[tuple[int, int]]] = field(repr=False)
    prices: IntArray | None = field(repr=False, default=None)
    short: IntArray | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        reviews = "1 review" if self.count == 1 else f"{self.count} reviews"
        needed = "1 is" if self.lower_bound == 1 else f"{self.lower_bound} are"
        return f"<Plan: {self.status}, {reviews} to {self.target}, at least {needed} needed>"

    @property
    def count(self) -> int:
        """Number of extra reviews."""
        return len(self.reviews)

    @property
    def cost(self) -> float:
        """Sum of the costs."""
        return float(sum(review.cost for review in self.reviews))

    @property
    def lower_bound(self) -> int:
        """No plan needs fewer reviews than this."""
        return max((bound.value for bound in self.bounds), default=0)

    @property
    def largest_load(self) -> int:
        """Most extra reviews that one reviewer gets."""
        loads: dict[Label, int] = {}
        for review in self.reviews:
            loads[review.reviewer] = loads.get(review.reviewer, 0) + 1
        return max(loads.values(), default=0)

    @cached_property
    def reviews_with_plan(self) -> Reviews:
        """The table with the extra reviews as planned ones.

        With ``use_scores`` they hold stand-in scores instead, unlike any other score of their reviewer.
        """
        from planner.plans.check.verifying import with_extra

        return with_extra(self.constraints.reviews, self.pairs, use_scores=self.use_scores)

    @cached_property
    def reach(self) -> tuple[Reach, Reach]:
        """How far the existing reviews get, and these with them: papers in the largest group, and expected error."""
        from planner.plans.model.reach import reach

        before, after = self.constraints.reviews, self.reviews_with_plan
        return tuple(reach(table, self.target, use_scores=self.use_scores) for table in (before, after))  # type: ignore[return-value]

    def alternatives(self, reviewer: Label, item: Label) -> list[tuple[Label, Label]]:
        """Pairs that can stand in for one of the reviews if it is declined, the rest being kept; cheapest first.

        Raises
        ------
        InputError
            If the plan holds no such review.
        """
        from reviewgraph.errors import InputError

        table = self.constraints.reviews
        for review, pair in zip(self.reviews, self.pairs.tolist(), strict=True):
            if (review.reviewer, review.item) == (reviewer, item):
                return [(table.reviewers[j], table.items[i]) for j, i in self._find_alternatives(*pair)]
        message = f"alternatives: expected a review of the plan, found reviewer {reviewer!r} and item {item!r}"
        raise InputError(message)

    def mail(self) -> dict[Label, str]:
        """Return one line a reviewer, ready to mail; who accepted already (fixed reviews) is not asked again."""
        items: dict[Label, list[Label]] = {}
        fixed = set(map(tuple, self.constraints.fixed.tolist()))
        for review, pair in zip(self.reviews, self.pairs.tolist(), strict=True):
            if tuple(pair) not in fixed:
                items.setdefault(review.reviewer, []).append(review.item)
        titles = self.constraints.reviews.titles
        lines = {}
        for reviewer, papers in items.items():
            named = [f"{paper} ({titles[paper]})" if titles.get(paper) else str(paper) for paper in papers]
            listed = named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]
            what = "one more paper" if len(named) == 1 else f"{len(named)} more papers"
            lines[reviewer] = (
                f"Dear {reviewer}, could you review {what} for us: {listed}? "
                "It helps us compare the scores of all papers on one scale."
            )
        return lines
