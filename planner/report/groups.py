"""How the groups of a table become fewer as the reviews of a plan arrive."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from planner.plans.model.task import new_task
from planner.plans.targets import target_named

if TYPE_CHECKING:
    from planner.plans.plan import Plan


def groups_left(found: Plan) -> list[int]:
    """Return how many groups there are at the level of the target, before the plan and after each of its reviews."""
    rules, target = found.constraints, target_named(found.target)
    task = new_task(rules.without_fixed(), found.count + 1, use_scores=found.use_scores)
    before = sum(cover.size > 0 for cover in target.groups(rules.reviews, use_scores=found.use_scores).covers)
    # Who reviewed nothing so far makes a group with the first review.
    idle, moves = set((rules.reviews.loads == 0).nonzero()[0].tolist()), []
    for (reviewer, _), others in zip(found.pairs.tolist(), target.merges(task, found.pairs), strict=True):
        moves.append(int(reviewer in idle) - len(others))
        idle.discard(reviewer)
    return list(accumulate(moves, initial=before))
