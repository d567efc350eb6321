"""Which reviews to add, and which to assign, so that scores can be compared. Imports reviewgraph only.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.assignments.assigning import assign as assign
    from planner.assignments.assignment import Assignment as Assignment
    from planner.assignments.wishes.merging import merge_affinities as merge_affinities
    from planner.errors import InvalidPlan as InvalidPlan
    from planner.panels.rules import AtLeast as AtLeast
    from planner.panels.rules import AtMost as AtMost
    from planner.panels.rules import Reward as Reward
    from planner.plans.check import verify_plan as verify_plan
    from planner.plans.model.ledger import PlanProgress as PlanProgress
    from planner.plans.plan import Plan as Plan
    from planner.plans.plan import PlannedReview as PlannedReview
    from planner.plans.planning import plan_extra_reviews as plan_extra_reviews

_HOME = {
    "Assignment": "assignments.assignment",
    "AtLeast": "panels.rules",
    "AtMost": "panels.rules",
    "InvalidPlan": "errors",
    "Plan": "plans.plan",
    "PlannedReview": "plans.plan",
    "PlanProgress": "plans.model.ledger",
    "Reward": "panels.rules",
    "assign": "assignments.assigning",
    "merge_affinities": "assignments.wishes.merging",
    "plan_extra_reviews": "plans.planning",
    "verify_plan": "plans.check",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
