"""The planner: the fewest extra reviews after which all items can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.constraints import constrain
from planner.plans.model.ledger import Ledger
from planner.plans.model.status import PlanStatus
from planner.plans.model.tables import no_pairs, with_extra
from planner.plans.model.task import new_task
from planner.plans.plan import Plan, PlannedReview
from planner.plans.search import budget as budgets
from planner.plans.search.keeping import keep_level
from planner.plans.targets import target_named
from planner.plans.words import effects, partial, refusals
from reviewgraph.clock import Clock
from reviewgraph.errors import InputError
from reviewgraph.levels import LEVELS, Double

if TYPE_CHECKING:
    from planner.plans.model.constraints import Pair
    from planner.plans.model.keeping import Keeping
    from planner.plans.model.ledger import PlanProgress
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import Reviews

#: Share of the time for a whole plan where a budget may be too small for one, and seconds for the best few at least.
BEFORE_BUDGET, LEAST_FOR_BUDGET = 0.5, 0.5
#: Share of the time for a plan that reaches the level with nothing lost, where reviews may go missing; and the
#: probability with which the level is then to be kept.
BEFORE_KEEPING, KEEP = 0.1, 0.95


def plan_extra_reviews(
    reviews: Reviews,
    target: str = Double.name,
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
    missing: float | None = None,
    keep: float = KEEP,
    progress: Callable[[PlanProgress], object] | None = None,
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
        ``double`` (default), ``recoverable`` or ``connected``; or a level that outlives a loss, ``survives-reviewer``
        or ``survives-review``: ``double`` after any one reviewer, or review, old or new, fails to arrive.
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
        Let tied scores of the existing reviews carry no scale (``double`` only). A new review is taken to be
        scored unlike the others of its reviewer.
    missing, keep
        Let the plan grow until the level is kept with probability ``keep`` (.95 by default) when each review, old or
        new, with a score or without, fails to arrive with probability ``missing``, independently. By default nothing
        goes missing. What is attained is estimated by simulation, see :attr:`Plan.keeping`; that fewer reviews would
        not do is not claimed. Not for the levels that outlive a loss, nor with ``use_scores``.
    progress
        Called with a :class:`PlanProgress` whenever the plan or the bound gets better.

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
    chosen = _checked(target, max_reviews, time_limit, use_scores=use_scores)
    if missing is not None:
        _check_missing(chosen, missing, keep, use_scores=use_scores)
    rules = constrain(
        reviews,
        conflicts=conflicts,
        capacity=capacity,
        spare=spare,
        cost=cost,
        max_per_item=max_per_item,
        fixed=fixed,
    )
    # A budget may end the search for a whole plan; time is kept for the best part of the way.
    whole = Clock(time_limit)
    budget = None if max_reviews is None else max_reviews - len(rules.fixed)
    share = BEFORE_KEEPING if missing is not None else 1.0 if budget is None else BEFORE_BUDGET
    ledger = Ledger(whole if share == 1.0 else whole.share(share), progress, budget)
    task = new_task(rules, _room_for(reviews), use_scores=use_scores)
    too_many = refusals.fixed_too_many(task)
    if too_many:
        return _plan(task, chosen, ledger, PlanStatus.INFEASIBLE, no_pairs(), too_many)
    rng, keeping = np.random.default_rng(seed), None
    try:
        chosen.fill(task, ledger, rng)
        if missing is not None and not ledger.infeasible and not ledger.out_of_reach:
            keeping = keep_level(task, chosen, ledger, missing, keep, rng, whole)
    except KeyboardInterrupt:
        ledger.reasons.append("interrupted: this is the best found so far")
        whole = Clock(0.0)
    plan = _finish(task, chosen, ledger, whole)
    return plan if keeping is None else _told(plan, chosen, keeping)


def _checked(target: str, max_reviews: int | None, time_limit: float, *, use_scores: bool) -> Target:
    """Return the target, or refuse arguments that are malformed."""
    chosen = target_named(target)
    if max_reviews is not None and (not isinstance(max_reviews, int | np.integer) or max_reviews < 0):
        message = f"max_reviews: expected a whole number, 0 or more, found {max_reviews!r}"
        raise InputError(message)
    if not time_limit >= 0:
        message = f"time_limit: expected seconds, 0 or more, found {time_limit!r}"
        raise InputError(message)
    if use_scores and not chosen.level.heeds_ties:
        heeding = " or ".join(repr(level.name) for level in LEVELS if level.heeds_ties)
        message = f"use_scores: expected target {heeding}, found {target!r}; scores do not matter to the other levels"
        raise InputError(message)
    return chosen


def _check_missing(target: Target, missing: float, keep: float, *, use_scores: bool) -> None:
    """Refuse probabilities that are none, and levels for which losses are not drawn."""
    for name, value in (("missing", missing), ("keep", keep)):
        if not 0 < value < 1:
            message = f"{name}: expected a probability between 0 and 1, found {value!r}"
            raise InputError(message)
    if target.losses is not None or use_scores:
        found = f"target {target.name!r}" if target.losses is not None else "use_scores"
        message = f"missing: expected a level of the table as it stands, scores left aside, found {found}; drop one"
        raise InputError(message)


def _told(plan: Plan, target: Target, keeping: Keeping) -> Plan:
    """Say how likely the level is kept; called optimal is what needs no review beyond a proved plan for the level."""
    return replace(plan, keeping=keeping, explanation=(*plan.explanation, *partial.how_kept(target, keeping)))


def _room_for(reviews: Reviews) -> int:
    """Reviews that a plan can hold at most: joins, uncovered items, and first reviews of new reviewers."""
    return 3 * (reviews.n_items + reviews.n_reviewers) + 64


def _finish(task: Task, target: Target, ledger: Ledger, clock: Clock) -> Plan:
    """Make the plan of what was found: whole, partial within a budget, or none."""
    fixed, reasons = len(task.constraints.fixed), ledger.reasons
    if ledger.infeasible:
        reasons += [] if ledger.short is not None else refusals.why_not(task, target)
        ledger.bounds.clear()
        plan = _plan(task, target, ledger, PlanStatus.INFEASIBLE, no_pairs(), reasons)
        return replace(plan, short=ledger.short)
    if ledger.budget is not None and ledger.budget < 0:
        reasons.append(f"{fixed} reviews are fixed, which is more than the {fixed + ledger.budget} allowed")
        return _plan(task, target, ledger, PlanStatus.INFEASIBLE, no_pairs(), reasons)
    if ledger.pairs is None or (ledger.budget is not None and len(ledger.pairs) > ledger.budget):
        return _part_of_the_way(task, target, ledger, clock)
    status = PlanStatus.OPTIMAL if ledger.closed and ledger.cheapest else PlanStatus.FEASIBLE
    if ledger.closed and not ledger.cheapest:
        reasons.append("the number of reviews is proved smallest; that none are cheaper is not proved")
    plan = _plan(task, target, ledger, status, ledger.pairs, reasons)
    return replace(plan, prices=ledger.prices)


def _part_of_the_way(task: Task, target: Target, ledger: Ledger, clock: Clock) -> Plan:
    """Make the best plan within a budget, or of what was found in time."""
    until = Clock(max(clock.left(), LEAST_FOR_BUDGET))
    pairs, sure = budgets.best_few(task, target, ledger.pairs, ledger.budget, until)
    if target.reaches(task.table(pairs), use_scores=task.use_scores):
        return _plan(task, target, ledger, PlanStatus.FEASIBLE, pairs, ledger.reasons)
    reasons = [*ledger.reasons, partial.why_partial(target, ledger)]
    plan = _plan(task, target, ledger, PlanStatus.BUDGET_EXHAUSTED, pairs, reasons)
    far = partial.how_far(target, plan.reach, ledger.budget, plan.count, sure)
    return replace(plan, explanation=(*plan.explanation, *far))


def _plan(task: Task, target: Target, ledger: Ledger, status: PlanStatus, pairs: IntArray, reasons: list[str]) -> Plan:
    """Put the reviews in order, say what each joins, and add what proves them."""
    rules, scores = task.constraints, task.use_scores
    fixed = rules.fixed if status != PlanStatus.INFEASIBLE else rules.fixed[:0]
    everything = np.concatenate([fixed, pairs[target.order(task, pairs)]])
    plain = new_task(rules.without_fixed(), len(everything) + 1, use_scores=scores) if len(rules.fixed) else task
    # What a fixed review joins is told from the reviews without it.
    words, covers = effects.joins(plain, target, everything)
    table, shift = rules.reviews, len(rules.fixed)
    chosen = tuple(
        PlannedReview(table.reviewers[j], table.items[i], rules.cost_of(j, i), text, cover)
        for (j, i), text, cover in zip(everything.tolist(), words, covers, strict=True)
    )
    # Bounds are on the reviews that were sought; those that are fixed come on top.
    after = with_extra(table, everything, use_scores=scores)
    return Plan(
        status=status,
        target=target.name,
        reviews=chosen,
        bounds=tuple(replace(bound, value=bound.value + shift) for bound in ledger.bounds),
        explanation=tuple(reasons),
        constraints=rules,
        pairs=everything,
        use_scores=scores,
        merges=target.certificate(after, use_scores=scores) if status.reaches else np.empty((0, 4), np.int64),
        max_reviews=None if ledger.budget is None else ledger.budget + shift,
    )
