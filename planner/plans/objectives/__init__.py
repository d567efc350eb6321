"""What extra reviews are for: a level of connection, decisions, or precision; and how to choose them."""

from __future__ import annotations

from planner.plans.objectives.decision import Decision
from planner.plans.objectives.level import Level
from planner.plans.objectives.objective import Objective
from planner.plans.objectives.precision import Precision
from reviewgraph.naming import named

#: The register: add an objective here.
OBJECTIVES: tuple[Objective, ...] = (Level(), Precision(), Decision())


def objective_named(name: str) -> Objective:
    """Return the objective of a name.

    Raises
    ------
    InputError
        If none bears it.

    Examples
    --------
    >>> objective_named("decision")
    <Objective: decision, after scores, fewest wrong among the papers of --select>
    """
    return named(OBJECTIVES, name, "objective")
