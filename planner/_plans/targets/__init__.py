"""Planning to each level, by its target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph._base import InputError
from reviewgraph.graph import ALL_NAMES, level_named

if TYPE_CHECKING:
    from planner._plans.target import Target


def target_named(name: str) -> Target:
    """Return the target of a level, or raise InputError.

    >>> target_named("double")
    <Target: double>
    """
    target: type[Target] | None = level_named(name, "target").part("target")
    if target is None:
        able = ", ".join(other for other in ALL_NAMES if level_named(other).part("target") is not None)
        message = f"target: expected a level that plans are made for ({able}), found {name!r}"
        raise InputError(message)
    return target()
