"""What is said of the rules that an authors' file makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.assignment import Assignment
    from planner.assignments.model.problem import Problem


def rules_on_authors(problem: Problem) -> list[str]:
    """Say which pairs may not be together, for lists of what is asked of an assignment."""
    if problem.wrote is None:
        return []
    asked = problem.wrote.asked
    return [
        *([] if asked.allow_cycles else ["no two who review a paper of each other"]),
        *([] if asked.allow_coauthors else ["no two co-authors"]),
    ]


def authors_lines(assignment: Assignment) -> list[str]:
    """Say which rules of the authors' file hold, what they cost at most, and how many circles of three are left."""
    found = assignment.authors
    if found is None:
        return []
    own = "nobody reviews a paper of her own" + (" or of a co-author" if found.author_distance else "")
    rules = [
        own,
        *([] if found.cycles_of_two else ["no two review a paper of each other"]),
        *([] if found.coauthors else ["no two co-authors review the same paper"]),
    ]
    which = f"{', '.join(rules[:-1])}, and {rules[-1]}" if len(rules) > 1 else rules[0]
    met = counted(found.rivals, "time", "times")
    broke = f"; the most affinity alone breaks this {met}" if found.rivals else ""
    circles = counted(found.cycles_of_three, "circle of three reviews", "circles of three review")
    return [
        f"Authors: {which}{broke}. {circles} each other's papers in turn.",
        *_bound(assignment, found.bound),
    ]


def _bound(assignment: Assignment, bound: float) -> list[str]:
    if not assignment.authors or not assignment.authors.rivals:
        return []
    short = 100 * (bound - assignment.affinity) / abs(bound) if bound else 0.0
    return [f"  No assignment within all rules has more affinity than {bound:.6g}; this one is {short:.2g} % below."]
