"""How planning ended."""

from __future__ import annotations

from reviewgraph.results import Status


class PlanStatus(Status):
    """What a plan is, by name; :attr:`text` says it to people.

    >>> PlanStatus("feasible").text
    'This plan does it; whether fewer would do is open.'
    """

    OPTIMAL = "optimal", "This is proved to be the smallest plan."
    FEASIBLE = "feasible", "This plan does it; whether fewer would do is open."
    INFEASIBLE = "infeasible", "There is no such plan."
    BUDGET_EXHAUSTED = "budget_exhausted", "This is a part of the way only."
    LEVEL_MISSED = "level_missed", "This is a part of the way only."

    BEST_EFFORT = "best_effort", "What was asked for cannot be had: this is the most of it that was found."

    EXTENDED = "extended", "The target is reached; the reviews beyond it went, one by one, where they gain most."
    CHOSEN = "chosen", "Each review is the one that gains most after those before it."

    @property
    def may_grow(self) -> bool:
        """Whether more reviews may be added: what was asked of a level is there, and budget left perhaps."""
        return self is not PlanStatus.INFEASIBLE and not self.is_partial

    @property
    def is_partial(self) -> bool:
        """Whether such a plan goes a part of the way only."""
        return self in (PlanStatus.BUDGET_EXHAUSTED, PlanStatus.LEVEL_MISSED, PlanStatus.BEST_EFFORT)

    @property
    def reaches(self) -> bool:
        """Whether such a plan reaches its target."""
        return self in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE, PlanStatus.EXTENDED)
