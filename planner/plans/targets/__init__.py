"""How to plan to each level: one target a level, and this list of them.

Importing fails where a level of :mod:`reviewgraph.levels` has no target, or a target lacks a part.
"""

from __future__ import annotations

from planner.plans.model.target import Target, unfinished_parts
from planner.plans.targets.connected import ConnectedTarget
from planner.plans.targets.double import DoubleTarget
from planner.plans.targets.recoverable import RecoverableTarget
from planner.plans.targets.robust import SurvivesReviewerTarget, SurvivesReviewTarget
from reviewgraph.levels import ALL, Level
from reviewgraph.naming import named

#: The register: add a level's target here.
REGISTER: tuple[type[Target], ...] = (
    SurvivesReviewerTarget,
    SurvivesReviewTarget,
    DoubleTarget,
    RecoverableTarget,
    ConnectedTarget,
)


def by_level(register: tuple[type[Target], ...], levels: tuple[Level, ...]) -> dict[str, Target]:
    """Return the target of each level, by name and in the order of the levels.

    Raises
    ------
    ImportError
        If a target lacks a part, a level has none or two, or a target is for a level that is not listed.
    """
    found: dict[str, Target] = {}
    for kind in register:
        lacking = unfinished_parts(kind)
        if lacking:
            message = f"planner.plans.targets: {kind.__name__} lacks {', '.join(lacking)}"
            raise ImportError(message)
        target = kind()
        if target.name in found or target.level not in levels:
            message = f"planner.plans.targets: {kind.__name__} is for {target.name}, which is taken or no listed level"
            raise ImportError(message)
        found[target.name] = target
    missing = [level.name for level in levels if level.name not in found]
    if missing:
        message = f"planner.plans.targets: no target for the level {', '.join(missing)}; add one to REGISTER"
        raise ImportError(message)
    return {level.name: found[level.name] for level in levels}


TARGETS: dict[str, Target] = by_level(REGISTER, ALL)


def target_named(name: str) -> Target:
    """Return the target of a level.

    Raises
    ------
    InputError
        If no target bears the name.

    Examples
    --------
    >>> target_named("double")
    <Target: double>
    """
    return named(TARGETS.values(), name, "target")
