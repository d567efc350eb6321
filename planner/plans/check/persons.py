"""What a plan owes the people and the papers beside the level, counted pair by pair from the constraints alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plans.model.constraints import Constraints
    from reviewgraph.reviews import Reviews

    Pair = tuple[int, int]


def wrong_pairs(rules: Constraints, new: Iterable[Pair], everything: Iterable[Pair]) -> str | None:
    """Say which new pair is below the floor, or has too many like its reviewer on the paper; None if none does.

    ``new`` are the reviews that are not fixed, ``everything`` those of the plan.
    """
    table, floor = rules.reviews, rules.cost.floor
    known = set(rules.cost.code[rules.cost.value >= floor].tolist()) if floor is not None else set()
    beside = [(int(j), int(i)) for j, i in everything]
    for j, i in new:
        name = f"reviewer {table.reviewers[j]!r} and item {table.items[i]!r}"
        if floor is not None and j * table.n_items + i not in known:
            return f"{name} have no affinity of {floor:g} or more"
        who = {*table.reviewers_of(i).tolist(), *(k for k, thing in beside if thing == i)}
        count = held(rules, i, who)
        for group in groups_of(rules, j):
            most = int(rules.people.panels.most[group])
            if count[group] > most:
                return f"{name}: {count[group]} of the kind {rules.people.ruled.kind(group)}, and {most} may be"
    return None


def groups_of(rules: Constraints, reviewer: int) -> list[int]:
    """Panel groups of a reviewer."""
    panels = rules.people.panels
    if not panels.n_groups:
        return []
    return [int(group) for group in panels.group[panels.start[reviewer] : panels.start[reviewer + 1]]]


def held(rules: Constraints, item: int, who: Iterable[int]) -> Counter[int]:
    """Count some reviewers of an item, and those who were lost, by panel group."""
    lost = rules.people.lost
    count = Counter(group for j in who for group in groups_of(rules, j))
    if lost is not None:
        count.update({group: int(number) for group, number in enumerate(lost[item])})
    return count


def shortest(rules: Constraints, table: Reviews) -> list[int]:
    """Reviews that each item of a table lacks at least: to the least number, or for one of the attributes."""
    people = rules.people
    homes = [groups_of(rules, j) for j in range(table.n_reviewers)]
    return [
        max(
            people.min_reviews - table.reviewers_of(i).size,
            *(_lacking(rules, [homes[j] for j in table.reviewers_of(i).tolist()], homes, a)
              for a in range(len(people.panels.different))),
            0,
        )
        for i in range(table.n_items)
    ]  # fmt: skip


def _lacking(rules: Constraints, there: list[list[int]], homes: list[list[int]], attribute: int) -> int:
    """Reviewers that an item lacks at least for one attribute, from the panel groups of its reviewers and of all."""
    panels = rules.people.panels
    groups = [group for group in range(panels.n_groups) if panels.attribute[group] == attribute]
    count = Counter(group for one in there for group in one)
    several = max((len([group for group in one if group in groups]) for one in homes), default=0)
    missing = [max(int(panels.least[group]) - count[group], 0) for group in groups]
    values = int(panels.different[attribute]) - sum(count[group] > 0 for group in groups)
    return max(max(missing, default=0) if several > 1 else sum(missing), -(-values // max(several, 1)))
