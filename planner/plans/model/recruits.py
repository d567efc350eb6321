"""Further reviewers, who have no conflicts and no reviews yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.recruiting import usual_load
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.constraints import Constraints
    from reviewgraph.labels import IntArray


class Recruits(NamedTuple):
    """How many further reviewers are enough, what each writes at most, and the items of their reviews, shape (R,)."""

    number: int
    load: int
    items: IntArray


def recruits_load(rules: Constraints) -> int:
    """Return what a recruit is taken to write: as much as half of the reviewers have written, or will."""
    return usual_load(rules.reviews.loads.tolist())


def with_recruits(rules: Constraints, count: int, load: int) -> Constraints:
    """Return the same with further reviewers, the last ones, under numbers in place of labels."""
    table, people = rules.reviews, rules.people
    panels = people.panels
    start = np.append(panels.start, np.full(count, panels.start[-1]))
    return replace(
        rules,
        reviews=Reviews.from_codes(
            table.reviewer, table.item, reviewers=table.n_reviewers + count, items=table.n_items
        ),
        spare=np.append(rules.spare, np.full(count, load)),
        people=replace(people, ruled=people.ruled._replace(panels=panels._replace(start=start))),
    )
