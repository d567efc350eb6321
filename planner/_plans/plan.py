"""A plan of extra reviews, its effect, and its certificates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from planner._plans.constraints import Constraints, with_extra
from planner._plans.outcome import PlanStatus, Purchase, RuleStanding, standing
from planner._plans.target import Bound, Reach, target_named
from planner.facts import NOTHING_SHORT, Shortage, usual_load
from reviewgraph._base import IntArray, Label, Result, counted
from reviewgraph.formats import COMPARE, Outgoing, letters
from reviewgraph.graph import Assumptions, outlook_of, structure_of

if TYPE_CHECKING:
    from planner._plans.process import Rounds
    from reviewgraph.table import Reviews

#: Reviews up to which the errors to be expected before and after a plan are computed.
ERRORS_UP_TO = 20_000


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
        What it joins, in a few words that can be checked by counting papers; the reviewer's group comes first.
    covers
        Items in the largest group at the level of the target, after this review and those before it.
    groups
        Number of groups at that level then.
    affinity
        Its affinity, 0 if it has none; None without affinities.
    gain
        Expected gain over the reviews before it, in the unit of :attr:`Plan.purchase`; None without one, and for a
        fixed review.
    buys
        The same in words.

    Examples
    --------
    >>> import planner
    >>> from reviewgraph import Reviews
    >>> plan = planner.plan(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    >>> plan.added[0].reviewer in ("ann", "bob")
    True
    """

    reviewer: Label
    item: Label
    cost: float
    joins: str
    covers: int
    groups: int
    affinity: float | None = None
    gain: float | None = None
    buys: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """The fewest extra reviews found, most helpful first.

    Parameters
    ----------
    status
        ``optimal``: proved fewest, and cheapest among those. ``feasible``: reaches the target; the lower bound limits
        how many fewer might suffice. ``infeasible``: proved impossible; ``explanation`` has the reasons.
        ``budget_exhausted``: the budget does not suffice; these are the best reviews found. ``level_missed``: the
        search did not reach the target. ``best_effort``: as close as possible to an infeasible request. ``extended``:
        the target is reached and more reviews serve an objective. ``chosen``: all serve an objective, without a target.
    target
        The target level; for a plan without one, the level that ``joins`` and ``covers`` refer to.
    added
        The extra reviews, fixed ones included.
    bounds
        Lower bounds with their proofs; :attr:`lower_bound` is the largest.
    explanation
        Sentences for a chair: why it is impossible, how far a partial plan gets, what is proved.
    constraints
        The constraints.
    pairs
        The reviews by code, shape (P, 2), in the same order.
    merges
        Certificate for the target ``double``: merges of reviewers, to be replayed by
        :func:`reviewgraph.graph.verify_merges` on :attr:`reviews`.
    max_reviews
        The budget, fixed reviews included; None without one.
    purchase
        Expected gain of the reviews; None if only a level was requested.
    least_load
        Lower bound on :attr:`largest_load` of plans with as many reviews at this cost; 0 if none is proved.
    rounds
        For a round of a process: what is held back, and what each round is expected to save; otherwise None.
    levelled
        Whether a target was asked for.
    timed_out
        Whether a time limit ended the search, or the summary of the plan, early.

    Examples
    --------
    >>> import planner
    >>> from reviewgraph import Reviews
    >>> planner.plan(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])).count
    1
    """

    status: PlanStatus
    target: str
    added: tuple[PlannedReview, ...]
    bounds: tuple[Bound, ...]
    explanation: tuple[str, ...]
    constraints: Constraints
    pairs: IntArray
    merges: IntArray
    max_reviews: int | None = None
    purchase: Purchase | None = None
    least_load: int = 0
    rounds: Rounds | None = None
    levelled: bool = True
    timed_out: bool = False

    _paged_by: ClassVar[str] = "planner._plans.page:page_of"
    _verified_by: ClassVar[str] = "planner.verifying:of_plan"
    _rows_are: ClassVar[str] = "added"

    @property
    def _why_none(self) -> str:
        """Why there is no plan, empty where there is one."""
        none = self.status == PlanStatus.INFEASIBLE and not self.added
        return "; ".join(self.explanation) if none else ""

    def headline(self) -> str:
        """Return status, length and bound."""
        deal = self.purchase
        length = f"{self.status}, {counted(self.count, 'review')}"
        if deal is not None:
            return f"{length}: {deal.before:.2f} to {deal.after:.2f} {deal.unit}"
        return f"{length} to {self.target}, lower bound {self.lower_bound}"

    @property
    def attained(self) -> bool:
        """Whether the plan reaches its target, if it has one, and gives papers the reviews that they must have."""
        return PlanStatus(self.status).may_grow and self.shortage is None

    @property
    def count(self) -> int:
        """Number of extra reviews."""
        return len(self.added)

    @property
    def cost(self) -> float:
        """Sum of the costs."""
        return float(sum(review.cost for review in self.added))

    @property
    def affinity(self) -> float | None:
        """Sum of the affinities; None without affinities."""
        values = [review.affinity for review in self.added if review.affinity is not None]
        return None if self.constraints.cost.best is None else float(sum(values))

    @property
    def lower_bound(self) -> int:
        """Lower bound on the number of reviews of a plan."""
        return max((bound.value for bound in self.bounds), default=0)

    @property
    def smallest(self) -> bool:
        """Whether the plan reaches its target, and provably no plan of fewer reviews does."""
        return PlanStatus(self.status).reaches and self.count == self.lower_bound

    @property
    def largest_load(self) -> int:
        """Maximum extra reviews per reviewer."""
        return max(Counter(review.reviewer for review in self.added).values(), default=0)

    @property
    def largest_load_lower_bound(self) -> int | None:
        """Lower bound on :attr:`largest_load` of plans as short and as cheap; None without a target reached."""
        return self.least_load if PlanStatus(self.status).reaches and self.least_load else None

    @cached_property
    def reviews(self) -> Reviews:
        """The table with the extra reviews as planned ones."""
        return with_extra(self.constraints.reviews, self.pairs)

    @property
    def _has_part(self) -> bool:
        """Whether there is no plan to the level but a partial one: the budget allows the fixed reviews."""
        fits = self.max_reviews is None or len(self.constraints.fixed) <= self.max_reviews
        none = self.status == PlanStatus.INFEASIBLE and self.levelled
        return none and fits and bool((self.constraints.spare > 0).any())

    @cached_property
    def shortage(self) -> Shortage | None:
        """The reviews that papers lack in a best effort, and recruits who could write them; None for other plans.

        Also, without recruits, those that papers lack since the budget of a round is too small.
        """
        if self.status not in (PlanStatus.BEST_EFFORT, PlanStatus.CHOSEN):
            return None
        table = self.reviews
        lacking = self.constraints.people.needs(table).each
        missing = tuple((table.items[i], int(lacking[i])) for i in np.flatnonzero(lacking).tolist())
        if self.status == PlanStatus.CHOSEN:
            return Shortage(missing, 0) if missing else None
        # A recruit is assumed to write as many reviews as the median reviewer has.
        return Shortage(missing, usual_load(self.constraints.reviews.loads.tolist()))

    @cached_property
    def rules(self) -> list[RuleStanding]:
        """The status of the rules on who reviews an item together; empty if there is no plan."""
        none = self.status == PlanStatus.INFEASIBLE
        return [] if none else standing(self.constraints.people, self.reviews)

    @cached_property
    def reach(self) -> tuple[Reach, Reach]:
        """Papers in the largest group, of the existing reviews and with the plan."""
        target = target_named(self.target)
        tables = self.constraints.reviews, self.reviews
        before, after = (Reach(target.largest_group(table).size, table.n_items) for table in tables)
        return before, after

    @cached_property
    def expected_errors(self) -> tuple[float, float] | None:
        """The median expected error of a paper before and with the plan, as a check has it; None for large tables."""
        tables = self.constraints.reviews, self.reviews
        if not 0 < tables[1].n_reviews <= ERRORS_UP_TO:
            return None
        before, after = (outlook_of(structure_of(table), Assumptions()).error for table in tables)
        return float(np.median(before)), float(np.median(after))

    def mail(self) -> dict[Label, str]:
        """Return a letter to each reviewer invited; fixed reviews need no invitation.

        Returns
        -------
        dict
            Text by reviewer.

        Examples
        --------
        >>> import planner
        >>> from reviewgraph import Reviews
        >>> plan = planner.plan(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
        >>> list(plan.mail()) == [plan.added[0].reviewer]
        True
        """
        return letters(self._outgoing())

    def _outgoing(self) -> Outgoing:
        """Return the reviews as :mod:`reviewgraph.formats.systems` write them; fixed ones need no invitation."""
        table = self.constraints.reviews
        # With a target, reviews for an objective are explained by the target, too.
        helps = COMPARE
        if self.purchase is not None and not self.levelled:
            helps = self.purchase.helps if self.rounds is None else self.rounds.helps
        return Outgoing(
            self.to_columns(),
            table.titles,
            None if self.affinity is None else [review.affinity or 0.0 for review in self.added],
            helps,
            {(table.reviewers[j], table.items[i]) for j, i in self.constraints.fixed.tolist()},
            people=table.reviewers,
            outsiders=table.origin.outsiders or (),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as ``--json`` prints it."""
        errors = self.expected_errors
        match = None if self.rounds is None else self.rounds.match
        reach = self.reach if PlanStatus(self.status).is_partial else None
        return {
            "status": self.status,
            "target": self.target if self.levelled else None,
            "count": self.count,
            "cost": self.cost,
            "affinity": self.affinity,
            "lower_bound": self.lower_bound,
            "largest_load": self.largest_load,
            "largest_load_lower_bound": self.largest_load_lower_bound,
            "bounds": [{"value": bound.value, "kind": bound.kind, "words": bound.sentence} for bound in self.bounds],
            "explanation": list(self.explanation),
            "timed_out": self.timed_out,
            "purchase": None if self.purchase is None else self.purchase.to_dict(),
            "largest_group": None if reach is None else {"before": reach[0].papers, "after": reach[1].papers},
            "expected_errors": None if errors is None else {"before": errors[0], "after": errors[1]},
            **(NOTHING_SHORT if self.shortage is None else self.shortage.to_dict()),
            "rules": [rule._asdict() for rule in self.rules],
            "fixed": None if self.constraints.facts is None else self.constraints.facts.to_dict(),
            "reviews": [asdict(review) for review in self.added],
            "mail": [{"reviewer": reviewer, "text": text} for reviewer, text in self.mail().items()],
            "merges": self.merges,
            "rounds": None if self.rounds is None else self.rounds.to_dict(),
            "match": None if match is None else match.to_dict(),
            **self.constraints.reviews.origin.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the reviews by column, as ``-o`` writes them."""
        price = "cost" if self.constraints.cost.best is None else "affinity"
        names = ("item", "reviewer", price, "joins", *(["gain"] if self.purchase is not None else []))
        return {name: [getattr(review, name) for review in self.added] for name in names}

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        bounds = {name: [getattr(bound, name) for bound in self.bounds] for name in ("value", "kind", "sentence")}
        return {**super()._tables(), "reviews": self.reviews.to_columns, "bounds": lambda: bounds}
