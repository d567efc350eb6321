"""``--for``: a level, an objective, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from planner.plans.objectives import OBJECTIVES
from planner.plans.objectives.level import Level
from reviewgraph.cli.command import is_given
from reviewgraph.cli.output import say
from reviewgraph.levels import ALL_NAMES

#: What ``--for`` is for, and what it takes through this release: levels are for ``--target``.
BESIDE = tuple(objective.name for objective in OBJECTIVES if objective.name != Level.name)
CHOICES = (*BESIDE, Level.name, *ALL_NAMES)


class Aims(NamedTuple):
    """The target, None where no level was asked for, and the objective."""

    target: str | None
    objective: str


def read_aims(ctx: click.Context, given: Sequence[str], target: str) -> Aims:
    """Bring ``--for`` and ``--target`` together: at most one level, and at most one objective beside it.

    Raises
    ------
    click.BadParameter
        If there are more.
    """
    for name in given:
        if name not in BESIDE:
            level = target if name == Level.name else name
            say(f"--for {name} goes away with the next release; write --target {level}")
    named = is_given(ctx, "target", unless="goals")
    levels = list(dict.fromkeys([*([target] if named else []), *(name for name in given if name in ALL_NAMES)]))
    beside = list(dict.fromkeys(name for name in given if name not in ALL_NAMES and name != Level.name))
    for found, what in ((levels, "level"), (beside, "objective beside it")):
        if len(found) > 1:
            message = f"expected one {what}, found {' and '.join(found)}"
            raise click.BadParameter(message, ctx, param_hint="--for")
    first = levels[0] if levels else target if Level.name in given or not beside else None
    return Aims(first, beside[0] if beside else Level.name)
