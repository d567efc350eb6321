"""Checks of a plan that share no code with the search that made it: those of :mod:`reviewgraph._verify`.

The plan is read as the answer that ``plan --json`` prints, with codes for labels, and its constraints as plain sets and
dictionaries. The search, its proofs and its targets are not imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner._plans.constraints import HEEDED, constrain
from planner._plans.outcome import PlanStatus
from planner.rules import NO_MOST, asked_rules
from reviewgraph._base import InputError, counted
from reviewgraph._verify import Answer, Findings, PanelRule, PlainRules, check_rules, table_of
from reviewgraph._verify import verify_plan as verify_answer
from reviewgraph.graph import ALL_NAMES
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner._plans.plan import Plan
    from reviewgraph._base import IntArray
    from reviewgraph.io import Rules

    Pair = tuple[str, str]


#: Sums of gains agree to this.
ROUNDING = 1e-6


def findings_of(plan: Plan, rules: Rules | None = None) -> Findings:
    """Return what does not hold of a plan, what was checked and what was not."""
    if plan.target not in ALL_NAMES or plan.status not in list(PlanStatus):
        message = f"plan: there is no level {plan.target!r}, or no status {plan.status!r}"
        raise InputError(message)
    table = plan.constraints.reviews
    if len(plan.added) != len(plan.pairs):
        claims = f"added: lists {counted(len(plan.added), 'review')}, and pairs {len(plan.pairs)}"
        return Findings(Answer("plan", "plan", {}), wrong=[claims])
    # Labels are for people, proofs use codes: both must name the same reviews.
    codes = [(table.reviewer_code.get(review.reviewer), table.item_code.get(review.item)) for review in plan.added]
    answer = _answer(plan)
    findings = verify_answer(answer, rules_of(plan), None if plan.status == PlanStatus.CHOSEN else plan.target)
    findings.expect(codes == [tuple(pair) for pair in plan.pairs.tolist()], "labels and codes name different reviews")
    if plan.purchase is not None:
        gained = sum(review.gain for review in plan.added if review.gain is not None)
        whole = plan.purchase.before - plan.purchase.after
        findings.expect(abs(gained - whole) <= ROUNDING, "the gains of the reviews do not sum to the gain of the plan")
    if rules is not None:
        under = _under(plan, rules)
        if under is None:
            findings.expect(False, "made of reviews by people who are gone")
        else:
            check_rules(findings, rules_of(under), answer.pairs)
    return findings


def _answer(plan: Plan) -> Answer:
    """Return the answer that ``plan --json`` prints, with codes for labels."""
    content = plan.to_dict()
    for review, (j, i) in zip(content["reviews"], plan.pairs.tolist(), strict=True):
        review.update(reviewer=str(j), item=str(i))
    for lacking in content["short"] or ():
        lacking["item"] = str(plan.constraints.reviews.item_code[lacking["item"]])
    content["merges"] = plan.merges.tolist()
    return Answer("plan", "plan", content)


def _under(plan: Plan, rules: Rules) -> Plan | None:
    """Return a plan as if it had been made under other rules, at the same prices; None without some of its reviews."""
    constraints = plan.constraints
    stated = constrain(constraints.reviews, asked_rules("verify", rules, {}, HEEDED))
    if stated.reviews.n_reviews != constraints.reviews.n_reviews:
        return None
    return replace(plan, constraints=replace(stated, cost=constraints.cost))


def rules_of(plan: Plan) -> PlainRules:
    """Return the constraints of a plan as plain sets and dictionaries; codes serve as names."""
    constraints = plan.constraints
    table = plan.constraints.reviews
    N = max(table.n_items, 1)
    codes = Reviews.from_codes(table.reviewer, table.item, reviewers=table.n_reviewers, items=table.n_items)
    prices = constraints.cost
    value = {
        (str(code // N), str(code % N)): price
        for code, price in zip(prices.code.tolist(), prices.value.tolist(), strict=True)
    }
    floor = prices.floor
    return PlainRules(
        table_of(codes),
        spare={str(code): load for code, load in enumerate(constraints.spare.tolist())},
        barred=frozenset((str(code // N), str(code % N)) for code in constraints.conflicts.tolist()),
        fixed=tuple(_names(constraints.fixed)),
        allowed=None if floor is None else frozenset(pair for pair, price in value.items() if price >= floor),
        panels=tuple(plain_panels(constraints.people)),
        min_reviews=constraints.people.min_reviews,
        max_per_item=int(constraints.room.min()) if constraints.room.size else None,
        max_reviews=plan.max_reviews,
        value=value,
        default=prices.default,
        best=prices.best,
    )


def plain_panels(people: Any) -> Iterable[PanelRule]:
    """Yield one rule for each limit on a panel group, and for each number of groups that items need."""
    panels = people.panels
    groups = np.split(panels.group, panels.start[1:-1]) if panels.n_groups else []
    for attribute in range(panels.n_attributes):
        mine = {
            str(j): tuple(g for g in held.tolist() if panels.attribute[g] == attribute) for j, held in enumerate(groups)
        }
        for group in np.flatnonzero(panels.attribute == attribute).tolist():
            least = {str(item): number for item, number in enumerate(panels.least[:, group].tolist()) if number}
            most = {str(item): number for item, number in enumerate(panels.most[:, group].tolist()) if number < NO_MOST}
            sharing = [(has, wanted) for number, has, wanted in panels.shared if number == group]
            for has, wanted in sharing:
                values, own = (
                    {str(code): tuple(np.flatnonzero(row).tolist()) for code, row in enumerate(rows)}
                    for rows in (has, wanted)
                )
                text = people.ruled.kind(group)
                yield PanelRule(PanelRule.at_least, text, f"same {group}", values, least, "same", own)
            if least and not sharing:
                yield PanelRule(PanelRule.at_least, people.ruled.kind(group), str(attribute), mine, least, group)
            if most:
                groups_of = {name: (group,) for name, held in mine.items() if group in held}
                yield PanelRule(PanelRule.at_most, people.ruled.kind(group), f"most {group}", groups_of, most, group)


def _names(pairs: Iterable[Iterable[int]] | IntArray) -> list[Pair]:
    return [(str(j), str(i)) for j, i in pairs]
