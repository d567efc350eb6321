"""What a review of a plan gives its paper beside the level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.tables import no_pairs

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray


def filled(task: Task, pairs: IntArray) -> list[str]:
    """Say, for each review in turn, what its paper was short of; empty words where it was short of nothing."""
    people, table = task.constraints.people, task.table(no_pairs())
    needs = people.needs(table)
    count, bare = table.reviews_per_item.tolist(), set(needs.senior.nonzero()[0].tolist())
    said = []
    for j, i in pairs.tolist():
        count[i] += 1
        words = f"; review {count[i]} of {people.min_reviews} that the paper must have" * (
            count[i] <= people.min_reviews
        )
        if i in bare and people.senior is not None and people.senior[j]:
            bare.remove(i)
            words += "; the senior reviewer of the paper"
        said.append(words)
    return said
