"""What is claimed of the largest extra load: with a smaller one there are too few reviews, or papers lack some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.verify.flows import can_be_met

if TYPE_CHECKING:
    from planner.plans.check.case import Case
    from planner.plans.plan import Plan

#: Pairs up to which smaller loads are tried.
PAIRS = 100_000


def wrong_load(plan: Plan, case: Case) -> str | None:
    """Say what is wrong with the claim of a plan, if no costs are in play; None if nothing is."""
    least, fixed = plan.largest_load_lower_bound or 0, [0] * len(case.spare)
    if least > plan.largest_load:
        return f"the largest load is said to be {least} at least, and it is {plan.largest_load}"
    for j, _ in case.rules.fixed.tolist():
        fixed[j] += 1
    loads = {j: max(min(left, least - 1 - fixed[j]), 0) for j, left in enumerate(case.spare)}
    if least <= 1 or max(fixed, default=0) >= least or sum(loads.values()) < plan.count - sum(fixed):
        return None
    needs = {i: need for i, need in enumerate(case.short) if need}
    if case.rules.cost or len(needs) * len(loads) > PAIRS:
        return None
    pairs = [(str(j), str(i)) for j, i in case.pairs if i in needs]
    bounds = {str(j): (0, load) for j, load in loads.items()}
    if can_be_met({str(i): need for i, need in needs.items()}, pairs, bounds):
        return f"the largest load is said to be {least} at least, and {least - 1} would do for what papers need"
    return None
