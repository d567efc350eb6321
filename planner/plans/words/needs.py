"""What a review of a plan gives its paper beside the level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.tables import no_pairs
from planner.plans.words.effects import Joined

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray


def filled(task: Task, pairs: IntArray, joined: list[Joined]) -> list[Joined]:
    """Add to what each review joins, in turn, what its paper was short of."""
    people, table = task.constraints.people, task.table(no_pairs())
    needs = people.needs(table)
    count, bare = table.reviews_per_item.tolist(), set(needs.senior.nonzero()[0].tolist())
    said = []
    for (j, i), (words, short) in zip(pairs.tolist(), joined, strict=True):
        count[i] += 1
        if count[i] <= people.min_reviews:
            words += f"; review {count[i]} of {people.min_reviews} that the paper must have"
            short += f"; review {count[i]} of {people.min_reviews}"
        if i in bare and people.senior is not None and people.senior[j]:
            bare.remove(i)
            words += "; the senior reviewer of the paper"
            short += "; senior"
        said.append(Joined(words, short))
    return said
