"""Checks of a plan that share no code with the search that made it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import InvalidPlan
from reviewgraph.components import (
    Components,
    connected_components,
    covers_all,
    is_recovery_resilient,
    verify_merges,
)
from reviewgraph.recoverable import recoverability
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plan import Plan
    from reviewgraph.labels import IntArray


def with_extra(reviews: Reviews, pairs: IntArray, *, use_scores: bool = False) -> Reviews:
    """Return a table with more reviews, given by code; planned, or with scores unlike all others of the reviewer."""
    size = len(pairs)
    score = np.concatenate([np.where(reviews.scored, reviews.score, 0.0), np.zeros(size)])
    scored = np.concatenate([reviews.scored, np.full(size, use_scores)])
    if use_scores:
        score[reviews.n_reviews :] = np.abs(score).max(initial=0.0) + 1.0 + np.arange(size)
    sign = -1.0 if reviews.lower_is_better else 1.0
    return Reviews.from_codes(
        np.concatenate([reviews.reviewer, pairs[:, 0]]),
        np.concatenate([reviews.item, pairs[:, 1]]),
        sign * score,
        scored=scored,
        reviewers=reviews.reviewers,
        items=reviews.items,
        titles=reviews.titles,
        lower_is_better=reviews.lower_is_better,
    )


def reaches(reviews: Reviews, target: str, *, use_scores: bool = False) -> bool:
    """Whether a table reaches a level."""
    if target == "connected":
        return pieces(reviews) <= 1 and bool((reviews.reviews_per_item > 0).all())
    if target == "recoverable":
        return recoverability(reviews).recoverable
    return is_recovery_resilient(reviews, use_scores=use_scores)


def pieces(reviews: Reviews) -> int:
    """Pieces of the reviewer-item graph that hold items."""
    return int(np.unique(connected_components(reviews).item_labels).size)


def verify_plan(plan: Plan) -> None:
    """Check a plan of any status against its constraints and its claims, without the search.

    Pairs must be new, distinct and allowed, the fixed ones among them; loads and limits must hold. A plan called
    optimal or feasible must reach its target, for ``double`` by replaying its merges; one called optimal must have
    as many reviews as its bound. Takes time near-linear in the reviews for ``double`` and ``connected``.

    Raises
    ------
    InvalidPlan
        If something does not hold; the message says what.

    Examples
    --------
    >>> from planner import plan_extra_reviews
    >>> from reviewgraph import Reviews
    >>> verify_plan(plan_extra_reviews(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])))
    """
    _check_constraints(plan)
    if plan.count < plan.lower_bound and plan.status != "budget_exhausted" and plan.status != "infeasible":
        _fail(f"{plan.count} reviews are fewer than the bound {plan.lower_bound}")
    if plan.status == "optimal" and plan.count != plan.lower_bound:
        _fail(f"called optimal with {plan.count} reviews and a bound of {plan.lower_bound}")
    if plan.status in ("optimal", "feasible"):
        _check_target(plan)
    if plan.status == "infeasible" and not plan.explanation:
        _fail("called infeasible without a reason")


def _check_constraints(plan: Plan) -> None:
    rules = plan.constraints
    table, closed = rules.reviews, set(rules.conflicts.tolist())
    pairs = [(int(j), int(i)) for j, i in plan.pairs]
    named = [(table.reviewer_code[review.reviewer], table.item_code[review.item]) for review in plan.reviews]
    if named != pairs:
        _fail("labels and codes name different reviews")
    if len(set(pairs)) < len(pairs):
        _fail("a review stands twice")
    for j, i in pairs:
        name = f"reviewer {table.reviewers[j]!r} and item {table.items[i]!r}"
        if j * table.n_items + i in closed:
            _fail(f"{name} are in conflict")
        if i in table.items_of(j):
            _fail(f"{name} are a review already")
    for (who, count), limit in (((j, n), rules.spare[j]) for j, n in Counter(j for j, _ in pairs).items()):
        if count > limit:
            _fail(f"reviewer {table.reviewers[who]!r} gets {count} reviews, and {limit} are spare")
    for (what, count), limit in (((i, n), rules.room[i]) for i, n in Counter(i for _, i in pairs).items()):
        if count > limit:
            _fail(f"item {table.items[what]!r} gets {count} reviews, and {limit} are allowed")
    missing = {(int(j), int(i)) for j, i in rules.fixed} - set(pairs)
    if missing and plan.status in ("optimal", "feasible"):
        _fail(f"{len(missing)} fixed reviews are not in the plan")


def _check_target(plan: Plan) -> None:
    table = plan.reviews_with_plan
    if plan.target != "double":
        if not reaches(table, plan.target):
            _fail(f"the level {plan.target} is not reached")
        return
    labels = verify_merges(table, plan.merges, use_scores=plan.use_scores)
    counted = table.only_scored() if plan.use_scores else table
    proved = Components(labels, np.empty(0, np.int64), plan.merges, counted)
    if not covers_all(proved, use_scores=plan.use_scores):
        _fail("the merges do not give a component that covers all items")


def _fail(reason: str) -> None:
    message = f"plan: {reason}"
    raise InvalidPlan(message)
