"""How the groups of a table become fewer as the reviews of a plan arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.targets import target_named

if TYPE_CHECKING:
    from planner.plans.plan import Plan


def groups_left(found: Plan) -> list[int]:
    """Return how many groups there are at the level of the target, before the plan and after each of its reviews."""
    groups = target_named(found.target).groups(found.constraints.reviews, use_scores=found.use_scores)
    return [sum(cover.size > 0 for cover in groups.covers), *(review.groups for review in found.reviews)]
