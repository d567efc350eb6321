"""What changed against a previous assignment, and what lies below a threshold, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.assignments.findings.changed import Reason
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.assignments.assignment import Assignment
    from planner.assignments.findings.changed import Below, Changes, Dropped, Pair

#: Pairs named before the rest is only counted.
NAMED = 5


def concerns(assignment: Assignment) -> list[str]:
    """Return lines on the changes of a previous assignment and on reviews below a threshold; none without either."""
    changes, below = assignment.changes, assignment.below
    return [*(_changes(changes) if changes else []), *(_below(below) if below else [])]


def concerned(assignment: Assignment) -> list[str]:
    """Say what affinity was given up for before any level."""
    asked = (assignment.changes, "fewer changes"), (assignment.below, "the threshold")
    return [words for found, words in asked if found is not None]


def _changes(changes: Changes) -> list[str]:
    new = len(changes.new)
    why = [
        f"{number} {reason.text}"
        for reason in Reason
        if (number := sum(pair.reason is reason for pair in changes.dropped))
    ]
    stay = counted(
        len(changes.kept), "review of the previous assignment stays", "reviews of the previous assignment stay"
    )
    dropped = f", {_are(len(changes.dropped))} dropped ({', '.join(why)})" if why else ""
    return [
        f"Changes: {stay}{dropped}, {_are(new)} new{_proof(new, changes.fewest)}.",
        *_named("  new: ", changes.new),
    ]


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def _below(below: Below) -> list[str]:
    count = len(below.pairs)
    if not count:
        return [f"No review has an affinity below {below.min_affinity:g}."]
    has = counted(count, "review has", "reviews have")
    return [
        f"{has} an affinity below {below.min_affinity:g}{_proof(count, below.fewest)}.",
        *_named("  ", below.pairs),
    ]


def _proof(count: int, fewest: int | None) -> str:
    if fewest is None or not count:
        return ""
    if count == fewest:
        return ", proved to be the fewest"
    return f"; {fewest} or more there must be, whatever the level"


def _named(start: str, pairs: Sequence[Pair | Dropped]) -> list[str]:
    if not pairs:
        return []
    named = ", ".join(f"{pair.reviewer} for {pair.item}" for pair in pairs[:NAMED])
    return [start + named + (", ..." if len(pairs) > NAMED else "")]
