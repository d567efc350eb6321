"""What extra reviews are for: a level of connection, decisions, or precision; and how to choose them."""

from __future__ import annotations

from planner.plans.objectives.decision import Decision
from planner.plans.objectives.level import OnlyLevel
from planner.plans.objectives.objective import Objective
from planner.plans.objectives.precision import Precision
from reviewgraph.naming import named

#: The register: add an objective here. Of the first none is ever made, so that it lacks what the others are asked.
OBJECTIVES: list[type[Objective]] = [OnlyLevel, Precision, Decision]  # type: ignore[type-abstract]


def objective_named(name: str) -> type[Objective]:
    """Return the objective of a name.

    Raises
    ------
    InputError
        If none bears it.

    Examples
    --------
    >>> objective_named("decision").words
    'after scores, fewest wrong among the papers of --select'
    """
    return named(OBJECTIVES, name, "objective")
