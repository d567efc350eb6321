"""What a plan owes the people and the papers beside the level, counted pair by pair from the constraints alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plans.model.constraints import Constraints
    from reviewgraph.reviews import Reviews

    Pair = tuple[int, int]


def wrong_pairs(rules: Constraints, new: Iterable[Pair], everything: Iterable[Pair]) -> str | None:
    """Say which new pair is below the floor, or meets a colleague on its paper; None if none does.

    ``new`` are the reviews that are not fixed, ``everything`` those of the plan.
    """
    table, floor = rules.reviews, rules.cost.floor
    known = set(rules.cost.code[rules.cost.value >= floor].tolist()) if floor is not None else set()
    beside = [(int(j), int(i)) for j, i in everything]
    for j, i in new:
        name = f"reviewer {table.reviewers[j]!r} and item {table.items[i]!r}"
        if floor is not None and j * table.n_items + i not in known:
            return f"{name} have no affinity of {floor:g} or more"
        home = institution_of(rules, j)
        others = [*table.reviewers_of(i).tolist(), *(k for k, thing in beside if thing == i and k != j)]
        if home >= 0 and any(institution_of(rules, k) == home for k in others):
            return f"{name}: somebody of the same institution reviews the item"
    return None


def institution_of(rules: Constraints, reviewer: int) -> int:
    """Institution of a reviewer, -1 for none."""
    return int(rules.people.institution[reviewer]) if rules.people.institution.size else -1


def shortest(rules: Constraints, table: Reviews) -> list[int]:
    """Reviews that each item of a table lacks at least: to the least number, or the senior one."""
    senior = rules.people.senior
    found = []
    for i in range(table.n_items):
        who = table.reviewers_of(i).tolist()
        bare = senior is not None and not any(senior[j] for j in who)
        found.append(max(rules.people.min_reviews - len(who), int(bare)))
    return found
