"""Plans checked as ``reviewgraph.verify`` does; a claim that does not hold is an error of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner import verifying
from reviewgraph import InputError

if TYPE_CHECKING:
    from planner import Plan
    from reviewgraph import Rules


class InvalidPlan(Exception):
    """A plan that breaks a constraint, misses its target or claims a bound it does not have."""


def verify_plan(plan: Plan, rules: Rules | None = None) -> None:
    """Check a plan of any status against its constraints and its claims, without the search."""
    try:
        verifying.verify_plan(plan, rules)
    except InputError as error:
        if str(error).startswith("plan: "):
            raise InvalidPlan(str(error)) from error
        raise
