"""An assignment on one page: what a chair can check by eye."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import AssignmentStatus
from planner.assignments.model.levels import aim_named
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.assignment import Assignment
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Columns of the longest bar, and bins of the histogram.
WIDTH, BINS = 40, 10

#: Critical reviewers listed before the rest is only counted.
NAMED = 10


def page(assignment: Assignment) -> str:
    """Return the loads, demands, affinities and the level of an assignment as text."""
    # What there is none of has no figures, only a reason.
    if assignment.status is AssignmentStatus.INFEASIBLE or not assignment.reviews.n_reviews:
        return f"No assignment ({assignment.status}). {assignment.explanation}"
    reviews = assignment.reviews
    lines = [
        f"{reviews.n_items} papers, {reviews.n_reviewers} reviewers, {reviews.n_reviews} reviews ({assignment.status})",
        "",
        "Reviews a paper",
        *_counts(reviews.reviews_per_item),
        "Reviews a reviewer",
        *_counts(assignment.loads),
        "Affinity of the reviews",
        *_histogram(assignment.affinities),
        "",
        f"Affinity: total {assignment.affinity:.6g}, mean {assignment.mean_affinity:.4g}, "
        f"least {assignment.minimum_affinity:.4g}.",
        f"Best total by demands, loads and conflicts alone: {assignment.affinity_unconstrained:.6g}; all else costs "
        f"{assignment.price:.3f} %{_least(assignment)} ({_forced(assignment)}).",
        f"Level: {_level(assignment)}.",
    ]
    if assignment.standard_error:
        before, after = assignment.standard_error
        lines.append(
            f"Expected standard error of a paper: {after:.3g} times the noise in a score ({before:.3g} before "
            "exchanges for that)."
        )
    return "\n".join([*lines, *_critical(assignment)])


def _forced(assignment: Assignment) -> str:
    return f"{counted(assignment.forced, 'pair')} forced in for the level"


def _least(assignment: Assignment) -> str:
    least = assignment.least_price
    return f", and at least {least:.2g} % is what the level must cost" if least else ""


def _level(assignment: Assignment) -> str:
    aim = aim_named(assignment.target)
    if assignment.status is AssignmentStatus.LEVEL_MISSED:
        return f"{aim.name} missed. {assignment.explanation}".rstrip(".")
    return aim.words if aim.level is None else f"all papers are {aim.words}"


def _critical(assignment: Assignment) -> list[str]:
    if assignment.critical is None:
        return []
    if not assignment.critical:
        return ["The level holds after any one reviewer drops out."]
    named = ", ".join(str(label) for label in assignment.critical[:NAMED])
    more = ", ..." if len(assignment.critical) > NAMED else ""
    who = counted(len(assignment.critical), "reviewer is", "reviewers are")
    return [f"{who} critical: without one of them the level would not hold ({named}{more})."]


def _counts(numbers: IntArray) -> list[str]:
    value, count = np.unique(numbers, return_counts=True)
    return [_bar(f"{v}", c, int(count.max())) for v, c in zip(value.tolist(), count.tolist(), strict=True)]


def _histogram(affinities: FloatArray) -> list[str]:
    if affinities.min() == affinities.max():
        return [_bar(f"{affinities.min():.3g}", affinities.size, affinities.size)]
    count, edge = np.histogram(affinities, bins=BINS)
    names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edge)]
    return [_bar(name, c, int(count.max())) for name, c in zip(names, count.tolist(), strict=True)]


def _bar(name: str, count: int, largest: int) -> str:
    length = -(-WIDTH * count // max(largest, 1))
    return f"  {name:>18}  {'#' * length} {count}"
