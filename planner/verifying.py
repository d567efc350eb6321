"""What independent code finds of plans and assignments; see :func:`reviewgraph._verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner._assign.inputs import Constraints, build, scored_pairs
from planner._plans.check import findings_of, plain_panels
from planner.rules import asked_rules
from reviewgraph._base import InputError, Result
from reviewgraph._verify import Answer, Findings, Market, table_of, verify_assignment
from reviewgraph.io import AssignmentRules
from reviewgraph.table import as_reviews

if TYPE_CHECKING:
    from planner._assign.assignment import Assignment
    from planner._plans.plan import Plan
    from reviewgraph.io import Pairs, Rules


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
        message = f"plan: {findings.wrong[0]}"
        raise InputError(message)


def of_assignment(
    assignment: Assignment, affinity: Any, rules: Rules, *, phase_one: Pairs = (), floor: float | None = None
) -> Findings:
    """Return the findings on an assignment under some rules, from the affinities; codes serve as names."""
    if isinstance(affinity, Result):
        message = (
            f"reviews: expected the affinities that the assignment was made from, found a {type(affinity).__name__}; "
            "pass what was passed to assign"
        )
        raise InputError(message)
    scored = scored_pairs(affinity, None, None, None)
    stated = asked_rules("verify", rules, {}, ("demand", "load", *AssignmentRules.__annotations__))
    stated = stated._in_order(scored.order)._with_shared(scored.reviewers, scored.items, scored.spellings)
    if assignment.usual_load is None and stated.load is None:
        message = "load: expected the load that was passed to assign, found none; pass load=, and demand= where it was"
        raise InputError(message)
    constraints = Constraints(stated, phase_one, floor=floor)
    if assignment.usual_load is not None:
        constraints = constraints._replace(usual_load=assignment.usual_load.load)
    problem = build(scored, constraints)

    names = [(str(j), str(i)) for j, i in zip(problem.reviewer.tolist(), problem.item.tolist(), strict=True)]
    kept = np.flatnonzero(problem.given & ~problem.old).tolist()
    # Demands and loads without the reviews of a first phase, which are no part of the assignment.
    demand = problem.demand - np.bincount(problem.item[problem.old], minlength=problem.n_items)
    written = np.bincount(problem.reviewer[problem.old], minlength=problem.n_reviewers)
    least = problem.least - np.where(problem.least > 0, written, 0)
    loads = zip(least.tolist(), (problem.load - written).tolist(), strict=True)
    new = [(names[pair], float(problem.affinity[pair])) for pair in np.flatnonzero(~problem.old).tolist()]
    market = Market(
        demand={str(item): int(demand[item]) for item in np.flatnonzero(problem.required).tolist()},
        loads={str(reviewer): limits for reviewer, limits in enumerate(loads)},
        affinity=dict(new),
        any_pair=False,
        fixed=tuple(names[pair] for pair in kept),
        phase_one=frozenset(names[pair] for pair in np.flatnonzero(problem.old).tolist()),
        floor=floor,
        target=assignment.target,
        panels=tuple(plain_panels(problem)),
        plain=assignment.randomised is None,
        named=True,
    )
    content = assignment.to_dict()
    reviewer = {label: str(code) for code, label in enumerate(problem.reviewers)}
    item = {label: str(code) for code, label in enumerate(problem.items)}
    for review in content["reviews"]:
        review.update(reviewer=reviewer[review["reviewer"]], item=item[review["item"]])
    for lacking in content["short"] or ():
        lacking["item"] = item[lacking["item"]]
    return verify_assignment(Answer("assignment", "assign", content), market)
