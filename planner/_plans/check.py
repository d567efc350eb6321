"""Checks of a plan that share no code with the search that made it.

The reviews, status and bounds of a plan are read as names and compared with the constraints by
:mod:`reviewgraph.verify`. The search, its proofs and its targets are not imported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from planner._plans.certificates import flow_proves, wrong_parts, wrong_prices, wrong_shortage
from planner._plans.constraints import HEEDED, constrain, with_extra
from planner._plans.outcome import PlanStatus
from planner.errors import InvalidPlan
from planner.rules import NO_MOST, asked_rules
from reviewgraph._base import InputError, checked, counted
from reviewgraph.graph import check, level_named
from reviewgraph.table import Reviews
from reviewgraph.verify import Case, PanelRule, PlainRules, Table, TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner._plans.constraints import Constraints
    from planner._plans.plan import Plan
    from planner._plans.target import Bound
    from reviewgraph._base import IntArray
    from reviewgraph.io import Rules

    Pair = tuple[str, str]


#: The levels that have certificates of their own.
DOUBLE = level_named("double")
RECOVERABLE = level_named("recoverable")
#: Reviews up to which claims that there is no plan, or none that is cheaper, are tested by trying.
TRIED_UP_TO = 8
#: Kinds of bounds made of parts, of which only the largest is replayed: it implies the others.
MADE_OF_PARTS = ("parts", "groups")
#: Sums of gains agree to this.
ROUNDING = 1e-6


@checked
def verify_plan(plan: Plan, rules: Rules | None = None) -> None:
    """Check a plan of any status against its constraints and its claims, without the search.

    Pairs must be new, distinct and allowed, the fixed ones among them; loads, limits, rules, the floor and the budget
    must hold. An optimal or feasible plan must meet the needs of every item and reach its target, for ``double`` by
    replaying its merges; no other plan may. An optimal plan must have as many reviews as its bound. Every lower bound
    is recomputed by other code. Prices and shortages are checked by ranks of the count matroid; the bound on the
    largest load, without costs, by assigning smaller ones. For an infeasible plan all allowed reviews together must
    miss the target or the needs, or a shortage prove it, or small sets are tried.

    Not checked: bounds of the kind ``cuts``, that there is no plan of up to 8 reviews, and that none of up to 8 is
    cheaper, if that takes more than 5,000 sets of reviews, or a million reviews in them; the last two also for longer
    plans, unless :attr:`Plan.prices` or :attr:`Plan.short` proves them; lists of more than 2,000 groups; bounds after
    a loss, if losses times reviews exceed 5 million.

    Takes time near-linear in the reviews for ``double`` and ``connected``, and seconds for a bound made of groups, by
    expansion or by trying.

    Parameters
    ----------
    plan
        The plan, which holds its constraints.
    rules
        Further rules for its reviews, as :func:`plan_extra_reviews` takes them.

    Raises
    ------
    InvalidPlan
        If a claim does not hold; the message names it.
    InputError
        If the rules do not fit the reviews of the plan, or plans use no such rule.

    Examples
    --------
    >>> from planner import plan_extra_reviews
    >>> from reviewgraph import Reviews
    >>> verify_plan(plan_extra_reviews(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])))
    """
    if plan.status not in list(PlanStatus):
        _fail(f"unknown status {plan.status!r}")
    try:
        level_named(plan.target, "target")
    except InputError as error:
        _fail(str(error))
    case = Case(rules_of(plan), plan.target)
    _check_constraints(plan, case)
    if rules is not None:
        under = _under(plan, rules)
        _check_constraints(under, Case(rules_of(under), plan.target))
    _check_status(plan)
    if PlanStatus(plan.status).reaches:
        _check_target(plan, case)
    elif PlanStatus(plan.status).is_partial and _reached(plan, case, _new(plan)):
        _fail(f"status {plan.status}, but the target is reached")
    _check_bounds(plan, case)
    _check_certificates(plan, case)
    if plan.status == PlanStatus.INFEASIBLE:
        _check_there_is_none(plan, case)
    if plan.status == PlanStatus.OPTIMAL and plan.constraints.cost and plan.prices is None:
        _check_cheapest(plan, case)
    _check_load(plan, case)


def _under(plan: Plan, rules: Rules) -> Plan:
    """Return a plan as if it had been made under other rules, at the same prices."""
    constraints = plan.constraints
    stated = constrain(constraints.reviews, asked_rules("verify_plan", rules, {}, HEEDED))
    if stated.reviews.n_reviews != constraints.reviews.n_reviews:
        _fail("made of reviews by people who are gone")
    return replace(plan, constraints=replace(stated, cost=constraints.cost))


def rules_of(plan: Plan) -> PlainRules:
    """Return the constraints of a plan as plain sets and dictionaries; codes serve as names."""
    constraints = plan.constraints
    table = plan.constraints.reviews
    N = max(table.n_items, 1)
    return PlainRules(
        table_of(table),
        spare={str(code): value for code, value in enumerate(constraints.spare.tolist())},
        barred=frozenset((str(code // N), str(code % N)) for code in constraints.conflicts.tolist()),
        fixed=tuple(_names(constraints.fixed)),
        panels=tuple(_panels(constraints)),
        min_reviews=constraints.people.min_reviews,
        max_per_item=int(constraints.room.min()) if constraints.room.size else None,
        max_reviews=plan.max_reviews,
        value={
            (str(code // N), str(code % N)): value
            for code, value in zip(constraints.cost.code.tolist(), constraints.cost.value.tolist(), strict=True)
        },
        default=constraints.cost.default,
        best=constraints.cost.best,
        use_scores=plan.use_scores,
    )


def table_of(reviews: Reviews) -> Table:
    pairs = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    scores = zip(reviews.score.tolist(), reviews.scored.tolist(), strict=True)
    score = {(str(j), str(i)): y if scored else None for (j, i), (y, scored) in zip(pairs, scores, strict=True)}
    return Table(tuple(map(str, range(reviews.n_reviewers))), tuple(map(str, range(reviews.n_items))), score)


def _panels(constraints: Constraints) -> Iterable[PanelRule]:
    """Yield one rule for each limit on a panel group, and for each number of groups that items need."""
    panels = constraints.people.panels
    groups = np.split(panels.group, panels.start[1:-1]) if panels.n_groups else []
    for attribute in range(len(panels.different)):
        mine = {
            str(j): tuple(g for g in held.tolist() if panels.attribute[g] == attribute) for j, held in enumerate(groups)
        }
        for group in np.flatnonzero(panels.attribute == attribute).tolist():
            least = int(panels.least[group])
            most = int(panels.most[group])
            if least:
                yield PanelRule(
                    PanelRule.at_least, constraints.people.ruled.kind(group), str(attribute), mine, least, group
                )
            if most < NO_MOST:
                groups_of = {name: (group,) for name, held in mine.items() if group in held}
                yield PanelRule(
                    PanelRule.at_most, constraints.people.ruled.kind(group), f"most {group}", groups_of, most, group
                )
        if panels.different[attribute]:
            yield PanelRule(PanelRule.at_least, "different", str(attribute), mine, int(panels.different[attribute]))


def _names(pairs: Iterable[Iterable[int]] | IntArray) -> list[Pair]:
    return [(str(j), str(i)) for j, i in pairs]


def _reached(plan: Plan, case: Case, pairs: list[Pair]) -> bool:
    """Whether no item is short and the level holds.

    Levels after a loss, and those without a test of the verifier, use their own test.
    """
    level = level_named(plan.target, "target")
    if not level.outlives and level.part("verifier") is not None:
        return case.reached(pairs)
    return not case.rules.lacks(pairs) and _holds(plan, _with(plan, pairs))


def _with(plan: Plan, pairs: list[Pair]) -> Reviews:
    """Return existing, fixed and further reviews; with scores if these count."""
    more = np.array([(int(j), int(i)) for j, i in pairs], np.int64).reshape(-1, 2)
    everything = np.concatenate([plan.constraints.fixed, more])
    return with_extra(plan.constraints.reviews, everything, use_scores=plan.use_scores)


def _holds(plan: Plan, table: Reviews) -> bool:
    """Whether a table is at the target by the level's own test."""
    bare = Reviews.from_codes(table.reviewer, table.item, reviewers=table.reviewers, items=table.items)
    return level_named(plan.target, "target").holds(check(bare).structure)


def _check_status(plan: Plan) -> None:
    reaches = PlanStatus(plan.status).reaches
    if plan.count < plan.lower_bound and reaches:
        _fail(f"{plan.count} reviews are fewer than the bound {plan.lower_bound}")
    if plan.status == PlanStatus.OPTIMAL and plan.count != plan.lower_bound:
        _fail(f"status optimal with {plan.count} reviews and a bound of {plan.lower_bound}")
    if not reaches and not plan.explanation:
        _fail(f"status {plan.status} without a reason")
    if plan.status == PlanStatus.CHOSEN and plan.bounds:
        _fail("expected no bound without a target level, found one")
    gained = sum(review.gain for review in plan.reviews if review.gain is not None)
    if plan.purchase is not None and abs(gained - plan.purchase.before + plan.purchase.after) > ROUNDING:
        _fail("the gains of the reviews do not sum to the gain of the plan")
    if plan.status == PlanStatus.INFEASIBLE and plan.count:
        _fail("status infeasible, but it has reviews")


def _check_constraints(plan: Plan, case: Case) -> None:
    rules = plan.constraints
    table = rules.reviews
    closed = set(rules.conflicts.tolist())
    # Labels are for people, proofs use codes: both must name the same reviews.
    pairs = [(int(j), int(i)) for j, i in plan.pairs]
    labelled = [(table.reviewer_code.get(review.reviewer), table.item_code.get(review.item)) for review in plan.reviews]
    if labelled != pairs:
        _fail("labels and codes name different reviews")
    if [review.cost for review in plan.reviews] != [rules.cost_of(j, i) for j, i in pairs]:
        _fail("the costs of the reviews are not those of the constraints")
    # Each review is new and allowed.
    if len(set(pairs)) < len(pairs):
        _fail("a review is listed twice")
    for j, i in pairs:
        name = f"reviewer {table.reviewers[j]!r} and item {table.items[i]!r}"
        if j * table.n_items + i in closed:
            _fail(f"{name} are in conflict")
        if i in table.items_of(j):
            _fail(f"{name} are an existing review")
    # Loads, limits, fixed pairs and the budget hold for all of them together.
    for (who, count), limit in (((j, n), rules.spare[j]) for j, n in Counter(j for j, _ in pairs).items()):
        if count > limit:
            _fail(f"reviewer {table.reviewers[who]!r} gets {counted(count, 'review')}, and the spare load is {limit}")
    for (what, count), limit in (((i, n), rules.room[i]) for i, n in Counter(i for _, i in pairs).items()):
        if count > limit:
            _fail(f"item {table.items[what]!r} gets {counted(count, 'review')}, and {limit} are allowed")
    # So do the floor and the limits on panels.
    floor = rules.cost.floor
    panels = dict[str, list[str]]()
    for reviewer, item in {*case.rules.table.score, *_names(plan.pairs)}:
        panels.setdefault(item, []).append(reviewer)
    for reviewer, item in _new(plan):
        name = f"reviewer {table.reviewers[int(reviewer)]!r} and item {table.items[int(item)]!r}"
        if floor is not None and case.rules.value.get((reviewer, item), -np.inf) < floor:
            _fail(f"{name} have no affinity of {floor:g} or more")
        for rule in case.rules.panels:
            held = sum(rule.held([reviewer]).values()) and rule.held(panels[item]).get(rule.wanted, 0)
            if rule.option == PanelRule.at_most and held > rule.number:
                _fail(f"{name}: {held} of the kind {rule.text}, and at most {rule.number:g} are allowed")
    missing = {(int(j), int(i)) for j, i in rules.fixed} - set(pairs)
    if missing and plan.status != PlanStatus.INFEASIBLE:
        _fail(f"{len(missing)} fixed reviews are not in the plan")
    if plan.max_reviews is not None and plan.count > plan.max_reviews:
        _fail(f"{plan.count} reviews, and the budget allows {plan.max_reviews}")


def _check_target(plan: Plan, case: Case) -> None:
    """Replay the merges if the level has such a certificate; otherwise test the level; count the reviews."""
    short = len(case.rules.lacks(_new(plan)))
    if short:
        _fail(f"{short} items are short of reviews, or of panel members")
    if plan.target != DOUBLE.name:
        if not _reached(plan, case, _new(plan)):
            _fail(f"the level {plan.target} is not reached")
        return
    wrong, covered = case.replayed((*case.rules.fixed, *_new(plan)), plan.merges.tolist())
    if wrong >= 0:
        _fail(f"merges: row {wrong} does not join two components by two items that both cover")
    if len(covered) < len(case.rules.table.items):
        _fail("the merges do not give a component that covers all items")


def _check_bounds(plan: Plan, case: Case) -> None:
    """Recompute every bound."""
    largest = max((bound.value for bound in plan.bounds if bound.kind in MADE_OF_PARTS), default=0)
    for bound in plan.bounds:
        if not case.knows(bound.kind):
            _fail(f"unknown kind {bound.kind!r} of bound for the target {case.target}")
        if bound.kind in MADE_OF_PARTS and bound.value < largest:
            continue
        wrong = _wrong_bound(case, bound)
        if wrong is not None:
            _fail(f"a bound {wrong}")


def _wrong_bound(case: Case, bound: Bound) -> str | None:
    """Return what is wrong with a bound, by the certificate that it carries if it is of such a kind."""
    if bound.kind in MADE_OF_PARTS or bound.parts:
        return wrong_parts(case.covers(), len(case.base.items), bound.value, bound.parts, len(case.rules.fixed))
    claimed = bound.value - len(case.rules.fixed)
    if bound.kind == "flow" and claimed > 0:
        proved = flow_proves(case.covers(), len(case.base.items), claimed, bound.weights)
        return None if proved else f"claims {bound.value} (flow), and that many are not needed by it"
    wrong, _ = case.check_bound(bound.value, bound.kind)
    return wrong


def _check_certificates(plan: Plan, case: Case) -> None:
    """Check prices and shortages, which are defined for the level *recoverable* alone."""
    if (plan.prices is not None or plan.short is not None) and plan.target != RECOVERABLE.name:
        _fail(f"prices and shortages prove nothing for the target {plan.target}")
    wrong = None
    if plan.prices is not None:
        wrong = wrong_prices(
            case,
            _new(plan),
            {str(code): price for code, price in enumerate(plan.prices.tolist())},
            lambda pair: _whole(plan, [pair]),
        )
    if wrong is None and plan.short is not None:
        wrong = wrong_shortage(case, map(str, plan.short.tolist()))
        if plan.status != PlanStatus.INFEASIBLE:
            wrong = f"status {plan.status}, with a proof that there is no plan"
    if wrong is not None:
        _fail(wrong)


def _check_there_is_none(plan: Plan, case: Case) -> None:
    """Search for a plan although none is claimed to exist."""
    rules = case.rules
    beyond = plan.max_reviews is not None and len(rules.fixed) > plan.max_reviews
    if plan.short is not None or beyond or rules.exceeded(rules.fixed) is not None:
        return
    try:
        if _reached(plan, case, case.pairs) and next(case.plans(TRIED_UP_TO), None) is not None:
            _fail("status infeasible, but there is a plan")
    except TooLarge:
        return


def _check_cheapest(plan: Plan, case: Case) -> None:
    """Search for a cheaper plan of the same length."""
    new = _new(plan)
    if len(new) > TRIED_UP_TO:
        return
    try:
        cheapest = min((_whole(plan, pairs) for pairs in case.plans(len(new))), default=None)
    except TooLarge:
        return
    if cheapest is not None and cheapest < _whole(plan, new):
        cost = cheapest * plan.constraints.cost.unit
        _fail(f"status optimal, but a plan of cost {cost:g} besides the fixed reviews exists")


def _check_load(plan: Plan, case: Case) -> None:
    """Test, if there are no costs, whether a smaller largest load than the claimed minimum is feasible."""
    least = plan.largest_load_lower_bound or 0
    if least > plan.largest_load:
        _fail(f"the lower bound on the largest load is {least}, and the largest load is {plan.largest_load}")
    if least > 1 and not plan.constraints.cost and case.why_no_smaller_load(_names(plan.pairs), least) == "":
        _fail(f"the lower bound on the largest load is {least}, but {least - 1} suffices for the needs of papers")


def _whole(plan: Plan, pairs: Iterable[Pair]) -> int:
    """Cost of some pairs in the whole units in which plans are proved cheapest."""
    return sum(plan.constraints.whole_cost_of(int(j), int(i)) for j, i in pairs)


def _new(plan: Plan) -> list[Pair]:
    fixed = set(_names(plan.constraints.fixed))
    return [pair for pair in _names(plan.pairs) if pair not in fixed]


def _fail(reason: str) -> NoReturn:
    message = f"plan: {reason}"
    raise InvalidPlan(message)
