"""What is said of the rules that an authors' file makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.words.why_none import papers, people
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.assignment import Assignment
    from planner.assignments.findings.authored import Authored
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


def too_few_strangers(problem: Problem) -> str:
    """Name a paper whose candidates share papers with each other so much that too few of them may come together.

    One of each circle in which everybody shares a paper with everybody may come, so circles that cover all candidates
    bound their number. Circles are built greedily, candidate by candidate.
    """
    open_pairs = problem.load[problem.reviewer] > 0
    for item in np.flatnonzero(problem.required & (problem.open_demand() > 0)).tolist():
        pairs = np.flatnonzero(open_pairs & (problem.item == item))
        if problem.old[pairs].any():
            continue
        circles = _circles(problem, pairs.tolist())
        if len(circles) < problem.demand[item]:
            return (
                f"{papers(np.array([item]))} needs {problem.demand[item]} reviewers no two of whom share a "
                f"paper, and those who may take it, {people(problem.reviewer[pairs])}, fall into "
                f"{counted(len(circles), 'circle')} of co-authors, of each of which one may come. Score more pairs, "
                "lower the demand, or allow co-authors."
            )
    return ""


def _circles(problem: Problem, pairs: list[int]) -> list[set[int]]:
    """Cover pairs of one item by circles of rivals, greedily."""
    start, rival = problem.rivals.start, problem.rivals.rival
    circles: list[set[int]] = []
    for pair in pairs:
        near = set(rival[start[pair] : start[pair + 1]].tolist())
        home = next((circle for circle in circles if circle <= near), None)
        if home is None:
            circles.append({pair})
        else:
            home.add(pair)
    return circles


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
    circles = counted(found.cycles_of_three, "circle of three reviews", "circles of three review")
    return [
        f"Authors: {which}.",
        *_cost(assignment, found),
        f"  {circles} each other's papers in turn.",
    ]


def _cost(assignment: Assignment, found: Authored) -> list[str]:
    """Say how often affinity alone breaks the rules, and how far the assignment is from the most within all rules."""
    if not found.rivals or not math.isfinite(found.bound) or assignment.randomised is not None:
        return []
    short = 100 * max(found.bound - assignment.affinity, 0.0) / abs(found.bound) if found.bound else 0.0
    return [
        f"  The most affinity alone breaks this {counted(found.rivals, 'time')}; no assignment within all rules has "
        f"more than {found.bound:.6g}, and this one is {round(short, 4):g} % below."
    ]
