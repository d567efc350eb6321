"""Checks of a plan that share no code with the search that made it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from planner.errors import InvalidPlan
from planner.plans.check.replay import most_links, replay_parts
from planner.plans.proof.bounds import expansion
from reviewgraph.components import (
    Components,
    connected_components,
    covers_all,
    doubly_connected_components,
    is_recovery_resilient,
    verify_merges,
)
from reviewgraph.errors import CertificateError
from reviewgraph.recoverable import degrees_of_freedom, recoverability
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from planner.plans.plan import Plan
    from reviewgraph.labels import IntArray


def with_extra(reviews: Reviews, pairs: IntArray, *, use_scores: bool = False) -> Reviews:
    """Return a table with more reviews, given by code; planned, or with scores unlike all others of the reviewer."""
    score = None
    if use_scores:
        highest = np.abs(reviews.score[reviews.scored]).max(initial=0.0)
        score = highest + 1.0 + np.arange(len(pairs))
    return reviews.with_codes(pairs[:, 0], pairs[:, 1], score)


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
    optimal or feasible must reach its target, for ``double`` by replaying its merges, and no other plan may; one
    called optimal must have as many reviews as its bound. Lower bounds are computed again, the largest one made of
    parts and groups by other code and as far as its groups are few. Prices and shortages are checked by ranks of the
    count matroid.

    Taken on trust: bounds of the kind ``cuts``; that no plan of the same length is cheaper, and that there is none at
    all, where neither :attr:`Plan.prices` nor :attr:`Plan.short` proves it.

    Takes time near-linear in the reviews for ``double`` and ``connected``, and seconds for a bound made of groups.

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
    if plan.status not in ("optimal", "feasible", "infeasible", "budget_exhausted"):
        _fail(f"unknown status {plan.status!r}")
    _check_constraints(plan)
    if plan.count < plan.lower_bound and plan.status in ("optimal", "feasible"):
        _fail(f"{plan.count} reviews are fewer than the bound {plan.lower_bound}")
    if plan.status == "optimal" and plan.count != plan.lower_bound:
        _fail(f"called optimal with {plan.count} reviews and a bound of {plan.lower_bound}")
    if plan.status in ("optimal", "feasible"):
        _check_target(plan)
    elif not plan.explanation:
        _fail(f"called {plan.status} without a reason")
    if plan.status == "infeasible" and plan.count:
        _fail("called infeasible with reviews in it")
    if plan.status == "budget_exhausted" and _is_reached(plan, plan.reviews_with_plan):
        _fail("called budget_exhausted, and the target is reached")
    if plan.bounds:
        _check_bounds(plan)
    if plan.prices is not None:
        _check_prices(plan, plan.prices)
    if plan.short is not None:
        _check_shortage(plan, plan.short)


def _check_constraints(plan: Plan) -> None:
    rules = plan.constraints
    table, closed = rules.reviews, set(rules.conflicts.tolist())
    pairs = [(int(j), int(i)) for j, i in plan.pairs]
    named = [(table.reviewer_code.get(review.reviewer), table.item_code.get(review.item)) for review in plan.reviews]
    if named != pairs:
        _fail("labels and codes name different reviews")
    if [review.cost for review in plan.reviews] != [rules.cost_of(j, i) for j, i in pairs]:
        _fail("the costs of the reviews are not those of the constraints")
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
        if not _is_reached(plan, table):
            _fail(f"the level {plan.target} is not reached")
        return
    try:
        labels = verify_merges(table, plan.merges, use_scores=plan.use_scores)
    except CertificateError as error:
        message = f"plan: {error}"
        raise InvalidPlan(message) from error
    counted = table.only_scored() if plan.use_scores else table
    proved = Components(labels, np.empty(0, np.int64), plan.merges, counted)
    if not covers_all(proved, use_scores=plan.use_scores):
        _fail("the merges do not give a component that covers all items")


def _is_reached(plan: Plan, table: Reviews) -> bool:
    return reaches(table, plan.target, use_scores=plan.use_scores)


def _check_bounds(plan: Plan) -> None:
    """Check that no bound says more than what its kind says of existing and fixed reviews."""
    table, spare, _ = _with_fixed(plan)
    fixed, N = len(plan.constraints.fixed), table.n_items
    listed = [bound for bound in plan.bounds if bound.kind in ("parts", "groups")]
    for bound in plan.bounds:
        claimed = bound.value - fixed
        if bound.kind == "unfinished":
            now = with_extra(plan.constraints.reviews, plan.constraints.fixed, use_scores=plan.use_scores)
            found = int(not _is_reached(plan, now))
        elif bound.kind == "pieces" and plan.target == "connected":
            found = max(1, pieces(table) - 1)
        elif bound.kind in ("degrees of freedom", "loads") and plan.target != "connected":
            found = degrees_of_freedom(table)
            allowed = np.bincount(allowed_pairs(plan.constraints, table, spare)[:, 0], minlength=spare.size)
            lost = claimed - found
            if bound.kind == "loads" and most_links(table.loads, np.minimum(spare, allowed), lost - 1) < found:
                found = claimed
        elif bound.kind == "expansion" and plan.target == "double":
            live = doubly_connected_components(table)
            again = expansion(live.cover_start, live.cover_item, N)
            found = 0 if again is None else again.value
        elif bound.kind in ("parts", "groups", "cuts") and (plan.target == "double" or bound.kind == "cuts"):
            found = claimed
        else:
            _fail(f"unknown kind {bound.kind!r} of bound for the target {plan.target}")
        if claimed > found:
            _fail(f"a bound says {bound.value} ({bound.kind}), and {fixed + found} were found")
    if listed:
        replay_parts(table, max(listed, key=lambda bound: bound.value), fixed)


def useful_loads(rules: Constraints, table: Reviews, spare: IntArray, short: IntArray) -> tuple[int, int]:
    """Links that some reviewers can make whatever they read, and that the loads of the others allow at most.

    p new reviews by a reviewer of d < 2 reviews make at most p - (2 - d) links.
    """
    pairs = allowed_pairs(rules, table, spare)
    count = np.bincount(pairs[:, 0], minlength=spare.size)
    useful = np.maximum(np.minimum(spare, count) - np.maximum(2 - table.loads, 0), 0)
    chosen = np.isin(pairs[:, 0], short) & (table.loads[pairs[:, 0]] >= 2)
    others = np.ones(spare.size, np.bool_)
    others[short[table.loads[short] >= 2]] = False
    before, after = degrees_of_freedom(table), degrees_of_freedom(with_extra(table, pairs[chosen]))
    return before - after, int(useful[others].sum())


def allowed_pairs(rules: Constraints, table: Reviews, spare: IntArray) -> IntArray:
    """Shape (K, 2): pairs that are allowed and no reviews yet."""
    found = []
    for j in np.flatnonzero(spare > 0).tolist():
        items = np.setdiff1d(rules.readable(j), table.items_of(j))
        found.append(np.column_stack([np.full(items.size, j), items]))
    return np.concatenate([np.empty((0, 2), np.int64), *found])


def _with_fixed(plan: Plan) -> tuple[Reviews, IntArray, IntArray]:
    """Existing and fixed reviews, what is left of the loads, and the other reviews of the plan."""
    rules = plan.constraints
    spare = rules.spare - np.bincount(rules.fixed[:, 0], minlength=rules.spare.size)
    fixed = set(map(tuple, rules.fixed.tolist()))
    new = [pair for pair in plan.pairs.tolist() if tuple(pair) not in fixed]
    return with_extra(rules.reviews, rules.fixed), spare, np.array(new, np.int64).reshape(-1, 2)


def _check_prices(plan: Plan, prices: IntArray) -> None:
    """Check that the reviews are a base of least cost plus price: at each of their prices they span what is cheaper."""
    table, spare, new = _with_fixed(plan)
    load = np.bincount(new[:, 0], minlength=spare.size)
    if (prices < 0).any() or (load[prices > 0] < spare[prices > 0]).any():
        _fail("a price is negative, or stands on a reviewer who has spare load left")

    def price(pairs: IntArray) -> IntArray:
        cost = [round(plan.constraints.cost_of(j, i) * 1_000_000) for j, i in pairs.tolist()]
        return np.array(cost, np.int64) + prices[pairs[:, 0]]

    pairs = allowed_pairs(plan.constraints, table, spare)
    pairs = pairs[table.loads[pairs[:, 0]] >= 2]
    offered, paid, missing = price(pairs), np.sort(price(new)), degrees_of_freedom(table)
    if missing != len(new):
        _fail(f"{len(new)} reviews for {missing} missing links: the prices prove nothing")
    for value in np.unique(paid).tolist():
        cheaper = with_extra(table, pairs[offered < value])
        if missing - degrees_of_freedom(cheaper) != int((paid < value).sum()):
            _fail("with the prices given, a cheaper plan exists")


def _check_shortage(plan: Plan, short: IntArray) -> None:
    table, spare, _ = _with_fixed(plan)
    links, others = useful_loads(plan.constraints, table, spare, short)
    missing = degrees_of_freedom(table)
    if plan.status != "infeasible" or links + others >= missing:
        _fail(f"{links} and {others} links suffice for the {missing} missing ones: no proof that there is no plan")


def _fail(reason: str) -> NoReturn:
    message = f"plan: {reason}"
    raise InvalidPlan(message)
