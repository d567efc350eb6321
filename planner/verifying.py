"""What independent code finds of plans and assignments; see :func:`reviewgraph._verify`.

Their constraints become sets and dictionaries of names here, once for results of Python and answers of the commands.
The searches, their proofs and their targets are not imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner._assign.inputs import Constraints, build, scored_pairs
from planner._plans.constraints import constrain
from planner._plans.outcome import PlanStatus
from planner.rules import NO_MOST, OTHER, SAME, AtLeast, AtMost, Ruled, asked_rules
from reviewgraph._base import BoolArray, InputError, IntArray, Result, counted, plain
from reviewgraph._verify import (
    Answer,
    Findings,
    Market,
    PanelRule,
    PlainRules,
    expecting_keys,
    names_of,
    table_of,
    verify_assignment,
)
from reviewgraph._verify import verify_plan as verify_answer
from reviewgraph.graph import ALL_NAMES
from reviewgraph.io import AssignmentRules, PlanRules, Rules
from reviewgraph.table import Reviews, as_reviews

if TYPE_CHECKING:
    from planner._assign.assignment import Assignment
    from planner._plans import constraints as plans
    from planner._plans.plan import Plan

    Pair = tuple[str, str]

#: Sums of gains agree to this.
ROUNDING = 1e-6


# Plans.


def of_plan(plan: Plan, reviews: Any, rules: Rules) -> Findings:
    """Return the findings on a plan under some rules, and whether it was made from these reviews."""
    findings = findings_of(plan, rules if rules.stated else None)
    ours = set(table_of(as_reviews(reviews)).score)
    theirs = set(table_of(plan.constraints.reviews).score)
    # Reviews by people who are gone are left out.
    same = theirs <= ours if rules.gone is not None else theirs == ours
    findings.expect(same, f"reviews: made from {len(theirs)} reviews, which are not the {len(ours)} that were passed")
    return findings


def verify_plan(plan: Plan, rules: Rules | None = None) -> None:
    """Raise InputError if a plan is wrong, as :func:`reviewgraph.verify` did under its name in the last release."""
    findings = findings_of(plan, rules)
    if findings.wrong:
        raise InputError(f"plan: {findings.wrong[0]}")


def findings_of(plan: Plan, rules: Rules | None = None) -> Findings:
    """Return what does not hold of a plan, what was checked and what was not, under its own rules or other ones."""
    if plan.target not in ALL_NAMES or plan.status not in list(PlanStatus):
        raise InputError(f"plan: there is no level {plan.target!r}, or no status {plan.status!r}")
    constraints = plan.constraints
    table = constraints.reviews
    if len(plan.added) != len(plan.pairs):
        claims = f"added: lists {counted(len(plan.added), 'review')}, and pairs {len(plan.pairs)}"
        return Findings(Answer("plan", "plan", {}), wrong=[claims])
    if rules is not None:
        # The prices are those of the plan.
        stated = constrain(table, asked_rules("verify", rules, {}, PlanRules.__annotations__))
        if stated.reviews.n_reviews != table.n_reviews:
            return Findings(Answer("plan", "plan", {}), wrong=["made of reviews by people who are gone"])
        constraints = replace(stated, cost=constraints.cost)
    answer = Answer("plan", "plan", _named(plan.to_dict(), table))
    target = None if plan.status == PlanStatus.CHOSEN else plan.target
    findings = verify_answer(answer, plain_rules(constraints, plan.max_reviews), target)
    # Labels are for people, proofs use codes: both must name the same reviews.
    codes = [(table.reviewer_code.get(review.reviewer), table.item_code.get(review.item)) for review in plan.added]
    findings.expect(codes == [tuple(pair) for pair in plan.pairs.tolist()], "labels and codes name different reviews")
    if plan.purchase is not None:
        gained = sum(review.gain for review in plan.added if review.gain is not None)
        whole = plan.purchase.before - plan.purchase.after
        findings.expect(abs(gained - whole) <= ROUNDING, "the gains of the reviews do not sum to the gain of the plan")
    return findings


def of_planned(answer: Answer, reviews: Any, request: Mapping[str, Any], target: str | None) -> Findings:
    """Return the findings on what ``plan`` printed for a request, its arguments by name; see :func:`verify_answer`."""
    asked = dict(request)
    prices = [asked.pop(name, None) for name in ("cost", "affinity", "min_affinity")]
    most = asked.pop("n", None)
    stated = asked_rules("verify", asked.pop("rules", None), asked, PlanRules.__annotations__)
    return verify_answer(answer, plain_rules(constrain(reviews, stated, *prices), most), target)


def plain_rules(constraints: plans.Constraints, most: int | None = None) -> PlainRules:
    """Return the constraints of a plan, and the most reviews it may have, by name."""
    table = table_of(constraints.reviews)
    prices = constraints.cost
    value = dict(zip(_pairs_of(prices.code, table.reviewers, table.items), prices.value.tolist(), strict=True))
    floor = prices.floor
    # Pairs below the floor, which may be many, are those that are not allowed.
    conflicts = constraints.conflicts[~prices.falls_short(constraints.conflicts)]
    return PlainRules(
        table,
        spare=dict(zip(table.reviewers, constraints.spare.tolist(), strict=True)),
        barred=frozenset(_pairs_of(conflicts, table.reviewers, table.items)),
        fixed=tuple(_pairs_of(constraints.codes(constraints.fixed), table.reviewers, table.items)),
        allowed=None if floor is None else frozenset(pair for pair, price in value.items() if price >= floor),
        panels=tuple(plain_panels(constraints.people.ruled, table.reviewers, table.items)),
        min_reviews=constraints.people.min_reviews,
        max_per_item=int(constraints.room.min()) if constraints.room.size else None,
        max_reviews=most,
        value=value,
        default=prices.default,
        best=prices.best,
    )


def plain_panels(ruled: Ruled, reviewers: tuple[str, ...], items: tuple[str, ...]) -> Iterable[PanelRule]:
    """Yield the rules on panels: limits that are the same for several groups as one, and each minimum."""
    panels = ruled.panels
    groups = np.split(panels.group, panels.start[1:-1]) if panels.n_groups else []

    def by_item(numbers: IntArray, there: BoolArray) -> dict[str, int]:
        return {items[item]: int(numbers[item]) for item in np.flatnonzero(there).tolist()}

    def holders(chosen: Collection[int]) -> dict[str, tuple[int, ...]]:
        """Return the groups of each reviewer among those chosen."""
        return {
            reviewer: tuple(group for group in held.tolist() if group in chosen)
            for reviewer, held in zip(reviewers, groups, strict=False)
        }

    def text(option: str, name: str, chosen: Iterable[int] = ()) -> str:
        """Return the rules on an attribute, and on the values of some groups of it, as they were stated."""
        meant = {None, SAME, OTHER, *(ruled.groups[group][0].values[ruled.groups[group][1]] for group in chosen)}
        rules = [rule for rule in ruled.rules if (rule.option, rule.attribute) == (option, name)]
        return " and ".join(rule.text for rule in rules if rule.value in meant)

    for attribute, name in enumerate(ruled.names):
        own_groups = np.flatnonzero(panels.attribute == attribute).tolist()
        alike: dict[bytes, list[int]] = {}
        for group in own_groups:
            alike.setdefault(panels.most[:, group].tobytes(), []).append(group)
        for limited in alike.values():
            numbers = panels.most[:, limited[0]]
            if most := by_item(numbers, numbers < NO_MOST):
                values = holders(frozenset(limited))
                yield PanelRule(text(AtMost.option, name, limited), f"most {limited[0]}", values, most=most)
        mine = holders(frozenset(own_groups))
        for group in own_groups:
            numbers = panels.least[:, group]
            least = by_item(numbers, numbers > 0)
            sharing = [(has, wanted) for number, has, wanted in panels.shared if number == group]
            for has, wanted in sharing:
                values, own = (
                    {label: tuple(np.flatnonzero(row).tolist()) for label, row in zip(labels, rows, strict=False)}
                    for labels, rows in ((reviewers, has), (items, wanted))
                )
                yield PanelRule(text(AtLeast.option, name, [group]), f"same {group}", values, least=least, own=own)
            if least and not sharing:
                yield PanelRule(text(AtLeast.option, name, [group]), str(attribute), mine, least=least, wanted=group)


# Assignments.


def of_assignment(assignment: Assignment, affinity: Any, rules: Rules, **beside: Any) -> Findings:
    """Return the findings on an assignment under some rules and ``beside`` them, from the affinities."""
    if isinstance(affinity, Result):
        raise InputError(
            f"reviews: expected the affinities that the assignment was made from, found a {type(affinity).__name__}; "
            "pass what was passed to assign"
        )
    if assignment.usual_load is None and rules.load is None:
        message = "load: expected the load that was passed to assign, found none; pass load=, and demand= where it was"
        raise InputError(message)
    answer = Answer("assignment", "assign", _named(assignment.to_dict(), assignment.reviews))
    request = {"affinity": affinity, "rules": rules, **beside}
    request |= {"target": assignment.target, "max_probability": assignment.randomised}
    return of_assigned(answer, request, assignment.changes is None)


@expecting_keys
def of_assigned(answer: Answer, request: Mapping[str, Any], sums_alone: bool = True, named: bool = True) -> Findings:
    """Return the findings on what ``assign`` printed for a request, its arguments by name.

    ``sums_alone`` and ``named`` are those of :class:`reviewgraph._verify.rules.Market`.
    """
    scored = scored_pairs(*(request.get(name) for name in ("affinity", "reviewers", "items", "merge")))
    heeded = ("demand", "load", *AssignmentRules.__annotations__)
    given = {name: request[name] for name in heeded if name in request}
    stated = asked_rules("verify", request["rules"], given, heeded)
    stated = stated._with_shared(scored.reviewers, scored.items, scored.spellings)
    floor = request.get("floor")
    first = request.get("phase_one")
    constraints = Constraints(
        stated, () if first is None else first, request.get("allow_unscored", False), request.get("previous"), floor
    )
    # Without a load the usual one is that of the answer.
    usual = answer.get("usual_load.load")
    problem = build(scored, constraints if usual is None else constraints._replace(usual_load=usual))

    reviewers = names_of(problem.reviewers)
    items = names_of(problem.items)
    names = [(reviewers[j], items[i]) for j, i in zip(problem.reviewer.tolist(), problem.item.tolist(), strict=True)]
    kept = np.flatnonzero(problem.given & ~problem.old).tolist()
    # Demands and loads without the reviews of a first phase, which are no part of the assignment.
    demand = problem.demand - np.bincount(problem.item[problem.old], minlength=problem.n_items)
    written = np.bincount(problem.reviewer[problem.old], minlength=problem.n_reviewers)
    least = problem.least - np.where(problem.least > 0, written, 0)
    loads = zip(least.tolist(), (problem.load - written).tolist(), strict=True)
    market = Market(
        demand={items[item]: int(demand[item]) for item in np.flatnonzero(problem.required).tolist()},
        loads=dict(zip(reviewers, loads, strict=True)),
        affinity={names[pair]: float(problem.affinity[pair]) for pair in np.flatnonzero(~problem.old).tolist()},
        fixed=tuple(names[pair] for pair in kept),
        phase_one=frozenset(names[pair] for pair in np.flatnonzero(problem.old).tolist()),
        floor=floor,
        target=request["target"],
        panels=tuple(plain_panels(problem.ruled, reviewers, items)),
        plain=request["max_probability"] is None,
        sums_alone=sums_alone,
        named=named,
    )
    return verify_assignment(answer, market)


# Names.


def _pairs_of(codes: IntArray, reviewers: tuple[str, ...], items: tuple[str, ...]) -> list[Pair]:
    """Return the names of pairs ``reviewer * N + item``."""
    return [(reviewers[code // len(items)], items[code % len(items)]) for code in codes.tolist()]


def _named(content: dict[str, Any], table: Reviews) -> dict[str, Any]:
    """Return the content of a result of Python with names for labels, as the commands print them."""
    reviewers = dict(zip(table.reviewers, names_of(table.reviewers), strict=True))
    items = dict(zip(table.items, names_of(table.items), strict=True))
    for review in content["reviews"]:
        reviewer = review["reviewer"]
        review.update(reviewer=reviewers.get(reviewer, reviewer), item=items.get(review["item"], review["item"]))
    for lacking in content["short"] or ():
        lacking["item"] = items.get(lacking["item"], lacking["item"])
    answer: dict[str, Any] = plain(content)
    return answer
