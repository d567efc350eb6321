"""The planner: the fewest extra reviews after which all items can be compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.verifying import reaches, with_extra
from planner.plans.model.constraints import Constraints, constrain
from planner.plans.model.task import Task, new_task
from planner.plans.plan import Plan, PlannedReview, Status, Target
from reviewgraph.components import doubly_connected_components
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from planner.plans.model.constraints import Pair
    from planner.plans.proof.bounds import Bound
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews

TARGETS: tuple[Target, ...] = ("double", "recoverable", "connected")

#: Share of the time for a whole plan where a budget may be too small for one, and seconds for the best few at least.
BEFORE_BUDGET, LEAST_FOR_BUDGET = 0.5, 0.5


@dataclass(frozen=True)
class Progress:
    """How far planning is: seconds, reviews of the best plan (None: no plan yet) and the lower bound."""

    seconds: float
    count: int | None
    lower_bound: int


@dataclass
class Ledger:
    """The best plan and the bounds found so far, and who is told.

    Parameters
    ----------
    deadline
        On the clock of :func:`time.monotonic`.
    report
        Told of every change.
    budget
        Reviews that are allowed beyond the fixed ones; None if any number is.
    """

    started: float
    deadline: float
    report: Callable[[Progress], object] | None = None
    budget: int | None = None
    pairs: IntArray | None = None
    bounds: list[Bound] = field(default_factory=list)
    cheapest: bool = False
    infeasible: bool = False
    reasons: list[str] = field(default_factory=list)
    prices: IntArray | None = None
    short: IntArray | None = None

    @property
    def lower_bound(self) -> int:
        """Largest of the bounds."""
        return max((bound.value for bound in self.bounds), default=0)

    @property
    def closed(self) -> bool:
        """Whether plan and bound meet, or the bound rules the budget out."""
        return self.out_of_reach or (self.pairs is not None and len(self.pairs) <= self.lower_bound)

    @property
    def out_of_reach(self) -> bool:
        """Whether the bound is above the budget."""
        return self.budget is not None and self.lower_bound > self.budget

    @property
    def in_time(self) -> bool:
        """Whether time is left."""
        return time.monotonic() < self.deadline

    def offer(self, pairs: IntArray) -> None:
        """Take a plan that reaches the target if it is shorter than the one we have."""
        if self.pairs is None or len(pairs) < len(self.pairs):
            self.pairs = pairs
            self.tell()

    def prove(self, bound: Bound | None) -> None:
        """Note a lower bound if it is the largest."""
        if bound is not None and (bound.value > self.lower_bound or not self.bounds):
            self.bounds.append(bound)
            self.tell()

    def tell(self) -> None:
        """Report how far we are."""
        if self.report is not None:
            count = None if self.pairs is None else len(self.pairs)
            self.report(Progress(time.monotonic() - self.started, count, self.lower_bound))


def plan_extra_reviews(
    reviews: Reviews,
    target: Target = "double",
    *,
    conflicts: Iterable[Pair] = (),
    capacity: Mapping[Label, int] | None = None,
    spare: int | None = None,
    cost: Mapping[Pair, float] | None = None,
    max_per_item: int | None = None,
    fixed: Iterable[Pair] = (),
    max_reviews: int | None = None,
    time_limit: float = 60.0,
    seed: int | np.random.Generator = 0,
    use_scores: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Plan:
    """Find the fewest extra reviews that reach a level of connection and cover every item.

    ::

        minimise    the number of new (reviewer, item) pairs, then their cost, then the largest extra load
        subject to  conflicts, spare loads, limits an item, fixed pairs;
                    existing and new reviews together are at the level target, every item reviewed

    Parameters
    ----------
    reviews
        Who reviews what. Items nobody reviewed must be among ``reviews.items``.
    target
        ``double`` (default), ``recoverable`` or ``connected``.
    conflicts
        Pairs (reviewer, item) that may not be; unknown names do no harm.
    capacity
        Extra reviews by reviewer; names that are new are emergency reviewers. Without it loads are unlimited.
    spare
        Extra reviews for everyone not in ``capacity``: by default 0 if there is a ``capacity``, else unlimited.
    cost
        Cost by pair, 1 where none is given.
    max_per_item
        Extra reviews an item at most; unlimited by default.
    fixed
        Pairs that must be in the plan, whatever they help.
    max_reviews
        A budget, fixed pairs included. If it is too small, the plan holds the reviews that let the largest group
        cover most items, and among those the ones with the least expected error; see :attr:`Plan.reach`.
    time_limit
        Seconds. The best plan so far is returned when they are over, and on Ctrl-C.
    seed
        Seed or generator of the search; what is found before the time limit depends on it alone.
    use_scores
        Let tied scores of the existing reviews carry no scale (target ``double`` only). A new review is taken to
        be scored unlike the others of its reviewer.
    progress
        Called with a :class:`Progress` whenever the plan or the bound gets better.

    Returns
    -------
    Plan
        With status, lower bound, and the certificate of both.

    Raises
    ------
    InputError
        If an argument is malformed, or a fixed pair is unknown or in conflict.

    Notes
    -----
    ``connected`` takes time near-linear in the allowed pairs. ``recoverable`` is a matroid greedy over the allowed
    pairs, each offered to the pebble game; where loads, limits or reviewers of fewer than two reviews stand in
    the way, and for ``double`` always, the problem contains set cover: a cascade gives a plan, taking reviews out and
    completing it anew improves it, and bounds (degrees of freedom, expansion, listing what fewer reviews can make,
    an implicit hitting set) say how good it is. Sources: Remark 3.5 of [Tan21]_ asks for a review at a time;
    Whiteley (1989) for the matroid.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> chain = Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])
    >>> plan = plan_extra_reviews(chain)
    >>> plan.status, plan.count, plan.lower_bound
    ('optimal', 1, 1)
    """
    _check_arguments(target, max_reviews, time_limit, use_scores=use_scores)
    rules = constrain(
        reviews,
        conflicts=conflicts,
        capacity=capacity,
        spare=spare,
        cost=cost,
        max_per_item=max_per_item,
        fixed=fixed,
    )
    started = time.monotonic()
    budget = None if max_reviews is None else max_reviews - len(rules.fixed)
    share = 1.0 if budget is None else BEFORE_BUDGET
    ledger = Ledger(started, started + share * time_limit, progress, budget)
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    task = new_task(rules, _room_for(reviews), use_scores=use_scores)
    if (task.spare < 0).any() or (task.room < 0).any():
        return _refuse_fixed(task, target, use_scores)
    until = started + time_limit
    try:
        _fill(task, target, ledger, rng, use_scores=use_scores)
    except KeyboardInterrupt:
        ledger.reasons.append("interrupted: this is the best found so far")
        until = started
    return _finish(task, target, ledger, until, use_scores=use_scores)


def _check_arguments(target: str, max_reviews: int | None, time_limit: float, *, use_scores: bool) -> None:
    if target not in TARGETS:
        message = f"target: expected one of {', '.join(TARGETS)}, found {target!r}"
        raise InputError(message)
    if max_reviews is not None and (not isinstance(max_reviews, int | np.integer) or max_reviews < 0):
        message = f"max_reviews: expected a whole number, 0 or more, found {max_reviews!r}"
        raise InputError(message)
    if not time_limit >= 0:
        message = f"time_limit: expected seconds, 0 or more, found {time_limit!r}"
        raise InputError(message)
    if use_scores and target != "double":
        message = f"use_scores: expected target 'double', found {target!r}; scores do not matter to the other levels"
        raise InputError(message)


def _room_for(reviews: Reviews) -> int:
    """Reviews that a plan can hold at most: joins, uncovered items, and first reviews of new reviewers."""
    return 3 * (reviews.n_items + reviews.n_reviewers) + 64


def _fill(task: Task, target: Target, ledger: Ledger, rng: np.random.Generator, *, use_scores: bool) -> None:
    """Search for a plan and bounds."""
    from planner.plans.targets import double, linked

    if target == "double":
        double.fill(task, ledger, rng, use_scores=use_scores)
    else:
        linked.fill(task, target, ledger)


def _refuse_fixed(task: Task, target: Target, use_scores: bool) -> Plan:
    table = task.constraints.reviews
    over = [
        f"reviewer {table.reviewers[j]} has more fixed reviews than spare load"
        for j in np.flatnonzero(task.spare < 0).tolist()
    ]
    over += [
        f"paper {table.items[i]} has more fixed reviews than its limit" for i in np.flatnonzero(task.room < 0).tolist()
    ]
    return _plan(task, "infeasible", target, np.empty((0, 2), np.int64), [], over, use_scores=use_scores)


def _finish(task: Task, target: Target, ledger: Ledger, until: float, *, use_scores: bool) -> Plan:
    """Make the plan of what was found: whole, partial within a budget, or none."""
    from planner.plans.words import effects

    fixed, reasons = task.constraints.fixed, ledger.reasons
    bounds = [replace(bound, value=bound.value + len(fixed)) for bound in ledger.bounds]
    none = np.empty((0, 2), np.int64)
    if ledger.infeasible:
        reasons += [] if ledger.short is not None else effects.why_not(task, target)
        plan = _plan(task, "infeasible", target, none, [], reasons, use_scores=use_scores)
        return replace(plan, short=ledger.short)
    if ledger.budget is not None and ledger.budget < 0:
        reasons.append(f"{len(fixed)} reviews are fixed, which is more than the {len(fixed) + ledger.budget} allowed")
        return _plan(task, "infeasible", target, none, bounds, reasons, use_scores=use_scores)
    if ledger.pairs is None or (ledger.budget is not None and len(ledger.pairs) > ledger.budget):
        return _part_of_the_way(task, target, ledger, bounds, until, use_scores=use_scores)
    status: Status = "optimal" if ledger.closed and ledger.cheapest else "feasible"
    if ledger.closed and not ledger.cheapest:
        reasons.append("the number of reviews is proved smallest; that none are cheaper is not proved")
    plan = _plan(task, status, target, ledger.pairs, bounds, reasons, use_scores=use_scores)
    return replace(plan, prices=ledger.prices)


def _part_of_the_way(
    task: Task, target: Target, ledger: Ledger, bounds: list[Bound], until: float, *, use_scores: bool
) -> Plan:
    """Make the best plan within a budget, or of what was found in time."""
    from planner.plans.search import budget

    if ledger.out_of_reach:
        reason = f"the target {target} needs more reviews than the budget allows"
    elif ledger.pairs is not None:
        reason = f"no plan for the target {target} within the budget was found; that there is none is not proved"
    else:
        reason = f"no plan for the target {target} was found in time, and none was proved impossible"
    until = max(until, time.monotonic() + LEAST_FOR_BUDGET)
    pairs, sure = budget.best_few(task, target, ledger.pairs, ledger.budget, until, use_scores=use_scores)
    everything = np.concatenate([task.constraints.fixed, pairs])
    if reaches(with_extra(task.constraints.reviews, everything, use_scores=use_scores), target, use_scores=use_scores):
        return _plan(task, "feasible", target, pairs, bounds, ledger.reasons, use_scores=use_scores)
    plan = _plan(task, "budget_exhausted", target, pairs, bounds, [*ledger.reasons, reason], use_scores=use_scores)
    return replace(
        plan,
        explanation=(*plan.explanation, *budget.how_far(target, plan.reach, ledger.budget, plan.count, sure)),
    )


def _plan(
    task: Task,
    status: Status,
    target: Target,
    pairs: IntArray,
    bounds: list[Bound],
    reasons: list[str],
    *,
    use_scores: bool,
) -> Plan:
    from planner.plans.search.substitutes import stand_ins
    from planner.plans.words import effects

    rules: Constraints = task.constraints
    fixed = rules.fixed if status != "infeasible" else rules.fixed[:0]
    ordered = pairs[effects.by_effect(task, pairs)]
    everything = np.concatenate([fixed, ordered])
    plain = new_task(_without_fixed(rules), len(everything) + 1, use_scores=use_scores) if len(fixed) else task
    words, covers = effects.joins(plain, everything)
    table = rules.reviews
    chosen = tuple(
        PlannedReview(table.reviewers[j], table.items[i], rules.cost_of(j, i), text, cover)
        for (j, i), text, cover in zip(everything.tolist(), words, covers, strict=True)
    )
    merges = np.empty((0, 4), np.int64)
    if target == "double" and status in ("optimal", "feasible"):
        after = with_extra(table, everything, use_scores=use_scores)
        merges = doubly_connected_components(after, use_scores=use_scores).merges

    def alternatives(reviewer: int, item: int) -> list[tuple[int, int]]:
        return stand_ins(plain, target, everything, (reviewer, item), use_scores=use_scores)

    return Plan(
        status, target, chosen, tuple(bounds), tuple(reasons), rules, everything, use_scores, merges, alternatives
    )


def _without_fixed(rules: Constraints) -> Constraints:
    return replace(rules, fixed=rules.fixed[:0])
