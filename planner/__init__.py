"""Which reviews to add, and which to assign, so that scores can be compared. Imports reviewgraph only.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner._assign.assignment import Assignment as Assignment
    from planner._assign.inputs import merge_affinities as merge_affinities
    from planner._plans.check import verify_plan as verify_plan
    from planner._plans.plan import Plan as Plan
    from planner._plans.plan import PlannedReview as PlannedReview
    from planner._plans.target import PlanProgress as PlanProgress
    from planner.assigning import assign as assign
    from planner.errors import InvalidPlan as InvalidPlan
    from planner.planning import plan_extra_reviews as plan_extra_reviews
    from planner.rules import AtLeast as AtLeast
    from planner.rules import AtMost as AtMost
    from planner.rules import Reward as Reward

_HOME = {
    "Assignment": "_assign.assignment",
    "AtLeast": "rules",
    "AtMost": "rules",
    "InvalidPlan": "errors",
    "Plan": "_plans.plan",
    "PlannedReview": "_plans.plan",
    "PlanProgress": "_plans.target",
    "Reward": "rules",
    "assign": "assigning",
    "merge_affinities": "_assign.inputs",
    "plan_extra_reviews": "planning",
    "verify_plan": "_plans.check",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
