"""The arguments of assigning: what each may be, and which go together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planner.assignments.model.levels import aims
from reviewgraph.arguments import check_magnitude
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim


def check_level(aim: Aim, survive: int) -> None:
    """Refuse to survive more than one loss, and at a level that cannot be asked to.

    Raises
    ------
    InputError
        If ``survive`` is neither 0 nor 1, or 1 at such a level.
    """
    if survive not in (0, 1):
        message = f"survive: expected 0 or 1, found {survive!r}"
        raise InputError(message)
    if survive and not aim.may_survive:
        able = " or ".join(repr(other.name) for other in aims() if other.may_survive)
        message = f"survive: expected target {able} with it, found {aim.name!r}"
        raise InputError(message)


def check_numbers(
    conditioning: float,
    alternates: int,
    floor: float | None,
    floor_best: float | None,
    min_affinity: float | None,
    per_change: float | None,
) -> None:
    """Refuse numbers out of range.

    Raises
    ------
    InputError
        If ``conditioning`` is no part of one, ``alternates`` no whole number, or negative, a floor or a threshold not
        finite, or ``per_change`` negative or not finite.
    """
    if not 0 <= conditioning <= 1:
        message = f"conditioning: expected a part of the affinity from 0 to 1, found {conditioning!r}"
        raise InputError(message)
    if not isinstance(alternates, int) or alternates < 0:
        message = f"alternates: expected a whole number, 0 or more, found {alternates!r}"
        raise InputError(message)
    for name, value in (("floor", floor), ("floor_best", floor_best), ("min_affinity", min_affinity)):
        if value is not None and not math.isfinite(value):
            message = f"{name}: expected a finite number, found {value!r}"
            raise InputError(message)
        check_magnitude(name, math.nan if value is None else value)
    if per_change is not None and not 0 <= per_change < math.inf:
        message = f"per_change: expected a finite number, 0 or more, found {per_change!r}"
        raise InputError(message)
    check_magnitude("per_change", per_change or 0.0)


def check_together(change: dict[str, bool], lots: dict[str, bool], fair: dict[str, bool]) -> None:
    """Refuse arguments that would be passed over in silence.

    Parameters
    ----------
    change
        Arguments by whether they lack the previous assignment that they are about.
    lots
        Arguments by whether they were given beside a lottery, which does not know them.
    fair
        Arguments by whether they were given beside ``fair``; both put something else before affinity.

    Raises
    ------
    InputError
        If one of them is.
    """
    for name in (name for name, lacking in change.items() if lacking):
        message = f"{name}: expected previous with it, the assignment to change; found none"
        raise InputError(message)
    for name in (name for name, given in lots.items() if given):
        message = f"{name}: expected neither max_probability nor perturbation beside it, found one; drop one of the two"
        raise InputError(message)
    for name in (name for name, given in fair.items() if given):
        message = (
            f"{name}: expected no fair beside it, found one; each puts other pairs before affinity, and only one can "
            "come first; drop one, or ask for a floor instead of fair"
        )
        raise InputError(message)
