"""Which reviews to add, and which to assign, so that scores can be compared. Imports reviewgraph only.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.assigning import assign as assign
    from planner.assignment import Assignment as Assignment
    from planner.errors import InvalidPlan as InvalidPlan
    from planner.extra import Progress as Progress
    from planner.extra import plan_extra_reviews as plan_extra_reviews
    from planner.plan import Plan as Plan
    from planner.plan import PlannedReview as PlannedReview
    from planner.verify import verify_plan as verify_plan

_HOME = {
    "Assignment": "assignment",
    "InvalidPlan": "errors",
    "Plan": "plan",
    "PlannedReview": "plan",
    "Progress": "extra",
    "assign": "assigning",
    "plan_extra_reviews": "extra",
    "verify_plan": "verify",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
