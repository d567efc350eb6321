"""What papers are short of, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.plans.model.people import Needs, People
    from reviewgraph.reviews import BoolArray


def what_is_missing(people: People, needs: Needs, among: BoolArray) -> list[tuple[int, str]]:
    """Count some papers by what rules ask for and they lack: how many there are, and what they have instead."""
    panels, found = people.panels, []
    for group, least in enumerate(panels.least.tolist()):
        missing = int((needs.members[among, group] > 0).sum())
        found.append((missing, fewer(people, group, least)))
    for number, name in enumerate(people.attribute_names):
        said = f"reviewers of fewer than {panels.different[number]} different values of {name}"
        found.append((int((needs.different[among, number] > 0).sum()), said))
    return [(count, said) for count, said in found if count]


def fewer(people: People, group: int, least: int) -> str:
    """Say that there are fewer than so many of a panel group: no senior reviewer, fewer than 2 senior reviewers."""
    kind = people.ruled.kind(group, least)
    return f"no {kind}" if least == 1 else f"fewer than {least} {kind}"
