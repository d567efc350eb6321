"""Checks of a plan that share no code with the search that made it.

What decides is what the plan says: its reviews, its status, its bounds. Nothing here imports the search, its proofs or
its targets; levels are tested by :mod:`reviewgraph.levels`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from planner.errors import InvalidPlan
from planner.panels.rules import asked_rules
from planner.plans.check.case import Case, case_of
from planner.plans.check.loads import wrong_load
from planner.plans.check.matroids import wrong_prices, wrong_shortage
from planner.plans.check.persons import shortest, wrong_pairs
from planner.plans.check.recount import check_bound, check_parts
from planner.plans.check.trying import TooMany, smallest_cost
from planner.plans.model.constraints import HEEDED, constrain
from planner.plans.model.status import PlanStatus
from planner.plans.model.tables import no_pairs
from reviewgraph.arguments import checked
from reviewgraph.components import Components, covers_all, verify_merges
from reviewgraph.errors import CertificateError, InputError
from reviewgraph.levels import Double, Recoverable

if TYPE_CHECKING:
    from planner.plans.plan import Plan
    from reviewgraph.rules import Rules

#: Losses drawn to see how likely a level is kept, and standard errors by which a probability may be off.
DRAWN, FAR_OFF = 200, 6
#: Reviews up to which plans are sought by trying where there is said to be none.
TRIED_UP_TO = 8
#: Sums of gains agree to this.
ROUNDING = 1e-6


@checked
def verify_plan(plan: Plan, rules: Rules | None = None) -> None:
    """Check a plan of any status against its constraints and its claims, without the search.

    Pairs must be new, distinct and allowed, the fixed ones among them; loads, limits, rules, the floor and the budget
    must hold. A plan called optimal or feasible must give every item the reviews and the people that it must
    have, and reach its target, for ``double`` by replaying its merges; no other plan may. One called optimal must have
    as many reviews as its bound. Every lower bound is computed again by other code. Prices and shortages are checked
    by ranks of the count matroid; the least largest load, where there are no costs, by giving out smaller ones. Where
    there is said to be no plan, all allowed reviews together must miss what is asked for, or a shortage prove it, or
    small sets are tried. The probability of keeping a level is estimated from other draws and may differ by 6 standard
    errors.

    Taken on trust: bounds of the kind ``cuts`` of more than 8 reviews, or where more than 2,000 tables would have to
    be looked at; the same for there being no plan, and for no plan of the same length being cheaper, where neither
    :attr:`Plan.prices` nor :attr:`Plan.short` proves it; lists of more than 2,000 groups.

    Takes time near-linear in the reviews for ``double`` and ``connected``, and seconds for a bound made of groups, by
    expansion or by trying.

    Parameters
    ----------
    plan
        The plan. It holds the constraints that it was made under.
    rules
        Rules that its reviews must keep to as well, as :func:`plan_extra_reviews` takes them.

    Raises
    ------
    InvalidPlan
        If something does not hold; the message says what.
    InputError
        If the rules do not fit the reviews of the plan, or a plan heeds no such rule.

    Examples
    --------
    >>> from planner import plan_extra_reviews
    >>> from reviewgraph import Reviews
    >>> verify_plan(plan_extra_reviews(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])))
    """
    if plan.status not in list(PlanStatus):
        _fail(f"unknown status {plan.status!r}")
    try:
        case = case_of(plan)
    except InputError as error:
        _fail(str(error))
    _check_constraints(plan)
    if rules is not None:
        _check_constraints(_under(plan, rules))
    _check_status(plan)
    if PlanStatus(plan.status).reaches:
        _check_target(plan, case)
    elif PlanStatus(plan.status).is_partial and case.reached(_new(plan)):
        _fail(f"called {plan.status}, and the target is reached")
    _check_bounds(plan, case)
    _check_certificates(plan, case)
    if plan.keeping is not None:
        _check_keeping(plan, case)
    if plan.status == PlanStatus.INFEASIBLE:
        _check_there_is_none(plan, case)
    if plan.status == PlanStatus.OPTIMAL and case.rules.cost and plan.prices is None:
        _check_cheapest(plan, case)
    wrong = wrong_load(plan, case)
    if wrong:
        _fail(wrong)


def _under(plan: Plan, rules: Rules) -> Plan:
    """Return a plan as if it had been made under other rules, by the same prices."""
    own = plan.constraints
    stated = constrain(own.reviews, asked_rules("verify_plan", rules, {}, HEEDED))
    if stated.reviews.n_reviews != own.reviews.n_reviews:
        _fail("made of reviews by people who are gone")
    return replace(plan, constraints=replace(stated, cost=own.cost))


def _check_status(plan: Plan) -> None:
    """Compare the status with the number of reviews and the bound."""
    reaches = PlanStatus(plan.status).reaches
    if plan.count < plan.lower_bound and reaches:
        _fail(f"{plan.count} reviews are fewer than the bound {plan.lower_bound}")
    if plan.status == PlanStatus.OPTIMAL and plan.count != plan.lower_bound:
        _fail(f"called optimal with {plan.count} reviews and a bound of {plan.lower_bound}")
    if not reaches and not plan.explanation:
        _fail(f"called {plan.status} without a reason")
    if plan.status == PlanStatus.CHOSEN and plan.bounds:
        _fail("no level was asked for, and there is a bound on reviews to one")
    if plan.purchase is not None and abs(_gained(plan) - plan.purchase.before + plan.purchase.after) > ROUNDING:
        _fail("the gains of the reviews do not sum to what the plan is said to buy")
    if plan.status == PlanStatus.INFEASIBLE and plan.count:
        _fail("called infeasible with reviews in it")


def _gained(plan: Plan) -> float:
    return sum(review.gain for review in plan.reviews if review.gain is not None)


def _check_constraints(plan: Plan) -> None:
    rules = plan.constraints
    table, closed = rules.reviews, set(rules.conflicts.tolist())
    # Labels are for people, codes are what is proved: both must tell of the same reviews.
    pairs = [(int(j), int(i)) for j, i in plan.pairs]
    named = [(table.reviewer_code.get(review.reviewer), table.item_code.get(review.item)) for review in plan.reviews]
    if named != pairs:
        _fail("labels and codes name different reviews")
    if [review.cost for review in plan.reviews] != [rules.cost_of(j, i) for j, i in pairs]:
        _fail("the costs of the reviews are not those of the constraints")
    # Each review is new and allowed.
    if len(set(pairs)) < len(pairs):
        _fail("a review stands twice")
    for j, i in pairs:
        name = f"reviewer {table.reviewers[j]!r} and item {table.items[i]!r}"
        if j * table.n_items + i in closed:
            _fail(f"{name} are in conflict")
        if i in table.items_of(j):
            _fail(f"{name} are a review already")
    # Loads, limits, fixed pairs and the budget hold for all of them together.
    for (who, count), limit in (((j, n), rules.spare[j]) for j, n in Counter(j for j, _ in pairs).items()):
        if count > limit:
            _fail(f"reviewer {table.reviewers[who]!r} gets {count} reviews, and {limit} are spare")
    for (what, count), limit in (((i, n), rules.room[i]) for i, n in Counter(i for _, i in pairs).items()):
        if count > limit:
            _fail(f"item {table.items[what]!r} gets {count} reviews, and {limit} are allowed")
    wrong = wrong_pairs(rules, _new(plan), pairs)
    if wrong is not None:
        _fail(wrong)
    missing = {(int(j), int(i)) for j, i in rules.fixed} - set(pairs)
    if missing and plan.status != PlanStatus.INFEASIBLE:
        _fail(f"{len(missing)} fixed reviews are not in the plan")
    if plan.max_reviews is not None and plan.count > plan.max_reviews:
        _fail(f"{plan.count} reviews, and the budget allows {plan.max_reviews}")


def _check_target(plan: Plan, case: Case) -> None:
    """Replay the merges, where the level has such a certificate; ask the level itself elsewhere; count the reviews."""
    short = sum(number > 0 for number in shortest(plan.constraints, case.with_pairs(_new(plan))))
    if short:
        _fail(f"{short} items are short of reviews, or of people")
    if not isinstance(case.level, Double):
        if not case.reached(_new(plan)):
            _fail(f"the level {plan.target} is not reached")
        return
    table = case.with_pairs(_new(plan))
    try:
        labels = verify_merges(table, plan.merges, use_scores=plan.use_scores)
    except CertificateError as error:
        message = f"plan: {error}"
        raise InvalidPlan(message) from error
    counted = table.only_scored() if plan.use_scores else table
    proved = Components(labels, np.empty(0, np.int64), plan.merges, counted)
    if not covers_all(proved, use_scores=plan.use_scores):
        _fail("the merges do not give a component that covers all items")


def _check_bounds(plan: Plan, case: Case) -> None:
    """Compute every bound again; of those made of parts the largest is replayed, which carries the others."""
    for bound in plan.bounds:
        wrong = check_bound(case, bound)
        if wrong is not None:
            _fail(wrong)
    listed = [bound for bound in plan.bounds if bound.parts or bound.kind in ("parts", "groups")]
    if listed:
        check_parts(case, max(listed, key=lambda bound: bound.value))


def _check_certificates(plan: Plan, case: Case) -> None:
    """Check prices and shortages, which say something of the level *recoverable* alone."""
    if (plan.prices is not None or plan.short is not None) and not isinstance(case.level, Recoverable):
        _fail(f"prices and shortages prove nothing for the target {plan.target}")
    wrong = None
    if plan.prices is not None:
        wrong = wrong_prices(case, _new(plan), plan.prices)
    if wrong is None and plan.short is not None:
        wrong = wrong_shortage(case, plan.short)
        if plan.status != PlanStatus.INFEASIBLE:
            wrong = f"called {plan.status}, with a proof that there is no plan"
    if wrong is not None:
        _fail(wrong)


def _check_keeping(plan: Plan, case: Case) -> None:
    """Draw losses anew, and compare how often the level is kept with what the plan says of it."""
    keeping = plan.keeping
    if keeping is None:
        return
    rng = np.random.default_rng(len(plan.pairs))
    for name, pairs in (("before", no_pairs()), ("after", np.array(_new(plan), np.int64).reshape(-1, 2))):
        said, table = getattr(keeping, name), case.with_pairs(pairs)
        kept = sum(case.holds(table.subset(rng.random(table.n_reviews) >= keeping.missing)) for _ in range(DRAWN))
        share = (kept + 1) / (DRAWN + 2)
        if abs(share - said.probability) > FAR_OFF * np.hypot(
            said.standard_error, np.sqrt(share * (1 - share) / DRAWN)
        ):
            _fail(f"says that the level is kept with probability {said.probability:g} {name}, and it is {share:g}")


def _check_there_is_none(plan: Plan, case: Case) -> None:
    """Look for a plan where there is said to be none."""
    beyond = plan.max_reviews is not None and len(case.rules.fixed) > plan.max_reviews
    if plan.short is not None or beyond or min([*case.spare, *case.room], default=0) < 0:
        return
    try:
        most = len(case.pairs)
        if case.reached(case.pairs) and smallest_cost(case, min(most, TRIED_UP_TO)) is not None:
            _fail("called infeasible, and there is a plan")
    except TooMany:
        return


def _check_cheapest(plan: Plan, case: Case) -> None:
    """Look for a cheaper plan of the same length."""
    new = _new(plan)
    try:
        cheapest = smallest_cost(case, len(new)) if len(new) <= TRIED_UP_TO else None
    except TooMany:
        return
    unit = case.rules.cost.unit
    if cheapest is not None and cheapest < sum(round(case.rules.cost_of(j, i) / unit) for j, i in new):
        _fail(f"called optimal, and a plan of cost {cheapest * unit:g} beside the fixed reviews exists")


def _new(plan: Plan) -> list[tuple[int, int]]:
    """Reviews of the plan that are not fixed."""
    fixed = set(map(tuple, plan.constraints.fixed.tolist()))
    return [(j, i) for j, i in plan.pairs.tolist() if (j, i) not in fixed]


def _fail(reason: str) -> NoReturn:
    message = f"plan: {reason}"
    raise InvalidPlan(message)
