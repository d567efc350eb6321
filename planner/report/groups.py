"""How the groups of a table become fewer, and the largest of them larger, as the reviews of a plan arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.plans.targets import target_named

if TYPE_CHECKING:
    from planner.plans.plan import Plan


class Growth(NamedTuple):
    """Papers in the largest group, and groups, before a plan and after each of its reviews."""

    largest: list[int]
    left: list[int]


def growth(found: Plan) -> Growth:
    """Return how groups grow and become fewer at the level of the target."""
    groups = target_named(found.target).groups(found.constraints.reviews, use_scores=found.use_scores)
    sizes = [int(cover.size) for cover in groups.covers]
    return Growth(
        [max(sizes, default=0), *(review.covers for review in found.reviews)],
        [sum(size > 0 for size in sizes), *(review.groups for review in found.reviews)],
    )
