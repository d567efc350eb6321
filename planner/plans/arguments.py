"""The arguments of planning: which of them go together. Each check names the argument and what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.panels.rules import Reward
from planner.plans.objectives import OBJECTIVES
from planner.plans.objectives.level import OnlyLevel
from reviewgraph.errors import InputError
from reviewgraph.levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.panels.rules import Rule
    from planner.plans.model.target import Target
    from planner.plans.objectives.objective import Objective


def check_limits(max_reviews: int | None, time_limit: float | None) -> None:
    """Refuse a budget that is no whole number, and a time that is none.

    Raises
    ------
    InputError
        If the budget is negative or not whole, or the time is negative or NaN.
    """
    if max_reviews is not None and (not isinstance(max_reviews, int | np.integer) or max_reviews < 0):
        message = f"max_reviews: expected a whole number, 0 or more, found {max_reviews!r}"
        raise InputError(message)
    if time_limit is not None and not time_limit >= 0:
        message = f"time_limit: expected seconds, 0 or more, found {time_limit!r}"
        raise InputError(message)


def check_target(target: Target, *, use_scores: bool) -> None:
    """Refuse scores beside a level to which they do not matter.

    Raises
    ------
    InputError
        If scores are to be used and the level does not heed ties.
    """
    if use_scores and not target.level.heeds_ties:
        heeding = " or ".join(repr(level.name) for level in LEVELS if level.heeds_ties)
        message = (
            f"use_scores: expected target {heeding}, found {target.name!r}; scores do not matter to the other levels"
        )
        raise InputError(message)


def check_objective(goal: type[Objective], select: int | None, *, needs: bool, asked: bool) -> None:
    """Refuse what an objective would pass over in silence.

    Parameters
    ----------
    goal, select
        The objective, and how many papers are to be selected.
    needs, asked
        Whether papers must have reviews or seniors, and whether a target was named or is needed.

    Raises
    ------
    InputError
        If a number to select stands beside an objective that selects nothing, or needs without a target.
    """
    if select is not None and not goal.selects:
        selecting = " or ".join(repr(other.name) for other in OBJECTIVES if other.selects)
        message = f"select: expected objective {selecting} with it, found {goal.name!r}; drop select, or name that"
        raise InputError(message)
    if needs and not asked:
        message = (
            f"min_reviews, senior, rules: expected a target that they go with beside objective {goal.name!r}, found "
            "none"
        )
        raise InputError(message)


def check_rules(rules: Sequence[Rule]) -> None:
    """Refuse rewards, which say nothing of who must, or may not, review a paper.

    Raises
    ------
    InputError
        If one of the rules is a reward.
    """
    for rule in rules:
        if isinstance(rule, Reward):
            message = f"rules: expected AtMost and AtLeast objects, found a reward ({rule.text}); give it to assign"
            raise InputError(message)


def check_missing(target: Target, goal: type[Objective], missing: float, keep: float, *, use_scores: bool) -> None:
    """Refuse probabilities that are none, and levels and objectives for which losses are not drawn.

    Raises
    ------
    InputError
        If ``missing`` or ``keep`` is not between 0 and 1, or the objective goes beyond a level, or the level heeds
        losses or scores.
    """
    for name, value in (("missing", missing), ("keep", keep)):
        if not 0 < value < 1:
            message = f"{name}: expected a probability between 0 and 1, found {value!r}"
            raise InputError(message)
    if not goal.needs_level:
        message = f"missing: expected objective {OnlyLevel.name!r}, found {goal.name!r}; drop one"
        raise InputError(message)
    if target.losses is not None or use_scores:
        found = f"target {target.name!r}" if target.losses is not None else "use_scores"
        message = f"missing: expected a level of the table as it stands, scores left aside, found {found}; drop one"
        raise InputError(message)
