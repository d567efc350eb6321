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
    count, missing = table.reviews_per_item.tolist(), needs.members.copy()
    place, group = people.groups_of(pairs[:, 0])
    said = []
    for k, ((_, i), (words, short)) in enumerate(zip(pairs.tolist(), joined, strict=True)):
        count[i] += 1
        if count[i] <= people.min_reviews:
            words += f"; review {count[i]} of {people.min_reviews} that the paper must have"
            short += f"; review {count[i]} of {people.min_reviews}"
        for one in group[place == k].tolist():
            if missing[i, one] > 0:
                missing[i, one] -= 1
                kind = people.ruled.kind(one)
                words += f"; {'the' if people.panels.least[one] == 1 else 'a'} {kind} of the paper"
                short += f"; {kind.removesuffix(' reviewer').removeprefix('reviewer of ')}"
        said.append(Joined(words, short))
    return said
