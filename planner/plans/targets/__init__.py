"""How to plan to each level: by the target that it names, or where it names none by its own test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.targets.general import target_by_test
from reviewgraph.levels import level_named

if TYPE_CHECKING:
    from planner.plans.model.target import Target


def target_named(name: str) -> Target:
    """Return the target of a level.

    Raises
    ------
    InputError
        If no level bears the name.

    Examples
    --------
    >>> target_named("double")
    <Target: double>
    """
    level = level_named(name, "target")
    found: Target = (level.part("target") or target_by_test(level))()
    return found
