"""An assignment on one page: what a chair can check by eye."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.assignment import AssignmentStatus
from planner.assignments.model.levels import aim_named
from planner.assignments.words.alternates import alternate_lines
from planner.assignments.words.authors import authors_lines
from planner.assignments.words.changes import concerned, concerns
from planner.assignments.words.fair import fair_lines, why_below
from planner.assignments.words.lots import lot_lines
from planner.assignments.words.rules import rule_lines
from reviewgraph.clock import TIMED_OUT
from reviewgraph.words import counted, noun, ranging

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
    charts = [
        *_chart("Reviews per paper", _counts(assignment.reviews.reviews_per_item)),
        *_chart("Reviews per reviewer", _counts(assignment.loads)),
        *_chart("Affinity of the reviews", _histogram(assignment.affinities)),
    ]
    lines = [
        f"{headline(assignment)}: {sizes(assignment)}",
        *shortage_lines(assignment),
        *opening(assignment),
        *(["", *charts] if charts else []),
        *(["", *rest] if (rest := sentences(assignment)) else []),
    ]
    return "\n".join(lines)


def headline(assignment: Assignment) -> str:
    """Return whether papers have what was asked for, in a few words."""
    if assignment.status is AssignmentStatus.INFEASIBLE or not assignment.reviews.n_reviews:
        return "No assignment"
    if assignment.shortage is not None:
        return "A part of what was asked for"
    if assignment.status.reached:
        return "Every paper has its reviewers"
    if _only_floor(assignment):
        return "Some papers stay below their floor"
    return "Not all that was asked for" if aim_named(assignment.target).level is None else "The level is missed"


def sizes(assignment: Assignment) -> str:
    """Return how many papers, reviewers and reviews there are, and how the search ended."""
    reviews = assignment.reviews
    return (
        f"{counted(reviews.n_items, 'paper')}, {counted(reviews.n_reviewers, 'reviewer')}, "
        f"{counted(reviews.n_reviews, 'review')} ({assignment.status})."
    )


def opening(assignment: Assignment) -> list[str]:
    """Return the loads, the level, and the affinity that it cost, a line each."""
    per_paper, loads = assignment.reviews.reviews_per_item, assignment.loads
    return [
        f"Reviews per paper: {_spread(per_paper)}; per reviewer: {_spread(loads)}.",
        f"Level: {_level(assignment)}.",
        *figures(assignment)[:2],
    ]


def _spread(numbers: IntArray) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return f"{ranging(least, most)}, median {np.median(numbers):g}" if least < most else f"{most}"


def sentences(assignment: Assignment) -> list[str]:
    """Return what is said below the bars, a line each."""
    return [
        *rule_lines(assignment),
        *authors_lines(assignment),
        *fair_lines(assignment.fairness),
        *_exchanges(assignment),
        *concerns(assignment),
        *_critical(assignment),
        *alternate_lines(assignment.alternates),
        *lot_lines(assignment.randomised, assignment.target),
        *([f"{TIMED_OUT}."] if assignment.timed_out else []),
    ]


def shortage_lines(assignment: Assignment) -> list[str]:
    """Return what is missing of the demands, why, and whom to recruit."""
    gaps = assignment.shortage
    return [] if gaps is None else [" ".join(gaps.sentences()), f"Why: {gaps.why}"]


def figures(assignment: Assignment) -> list[str]:
    """Return what is said without naming anybody: affinities, their price, and errors to expect."""
    return [
        f"Affinity: total {assignment.affinity:.6g}, mean {assignment.mean_affinity:.4g}, "
        f"least {assignment.minimum_affinity:.4g}.",
        f"Best total by demands, loads and conflicts alone: {assignment.affinity_unconstrained:.6g}; all else costs "
        f"{assignment.price:.3f} %{_parts(assignment)}.",
        *_exchanges(assignment),
    ]


def _parts(assignment: Assignment) -> str:
    """Return what the price is for: what comes before affinity, rules, the level, and smaller errors."""
    least, for_errors, first = assignment.least_price, assignment.price_of_exchanges, assignment.price_of_concerns
    bound = f", and at least {least:.2g} % is what the level must cost" if least else ""
    fair = assignment.price_of_fairness
    # What is left is rounding where errors are all that costs anything; it has no sign then.
    rest = round(assignment.price - for_errors - first - assignment.price_of_rules - fair, 3) + 0.0
    parts = [f"{first:.3f} % {' and '.join(concerned(assignment))}"] if first else []
    parts += [f"{assignment.price_of_rules:.3f} % the rules"] if assignment.kept or assignment.authors else []
    parts += [f"{fair:.3f} % fairness"] if fair else []
    last = "the level" if assignment.randomised is None else "the lottery and the level"
    parts += [f"{rest:.3f} % {last}"] if parts or for_errors else []
    parts += [f"{for_errors:.3f} % smaller errors"] if for_errors else []
    forced = f"({counted(assignment.forced, 'pair')} forced in for the level)"
    return f"{': ' if parts else ''}{', '.join(parts)}{bound} {forced}"


def _exchanges(assignment: Assignment) -> list[str]:
    found = assignment.exchanges
    if found is None:
        why = assignment.not_exchanged
        return [f"Exchanges for smaller errors were not looked for: {why}."] if why else []
    (error, less), (right, more), given = found.error, found.right, found.assumptions
    unit = "of the spread of qualities" if given.spread == 1.0 else "points"
    was, so = (f" ({error:.4g} before exchanges for that)", f" ({right:.2%})") if less != error else ("", "")
    end = (
        "with --conditioning 0 no affinity is given up"
        if was
        else "no exchanges were found that lower the error enough to give up affinity"
    )
    return [
        f"Expected error of a paper once scores are in: {less:.4g} {unit}{was}; "
        f"expected to be right among the best 10%: {more:.2%}{so}, "
        f"assuming noise {given.noise:.2g}, severity {given.severity:.2g}, stretch {given.stretch:.2g} of that "
        f"spread; {end}.",
    ]


def _level(assignment: Assignment) -> str:
    aim = aim_named(assignment.target)
    missed = assignment.status is AssignmentStatus.LEVEL_MISSED or (
        assignment.status is AssignmentStatus.BEST_EFFORT and bool(assignment.explanation)
    )
    if missed and not _only_floor(assignment):
        return f"{aim.name} missed. {assignment.explanation}".rstrip(".")
    return aim.words if aim.level is None else f"all papers are {aim.words}"


def _only_floor(assignment: Assignment) -> bool:
    """Whether a floor is all that is missed."""
    fairness = assignment.fairness
    return fairness is not None and bool(fairness.below) and assignment.explanation == why_below(fairness)


def _critical(assignment: Assignment) -> list[str]:
    if assignment.critical is None:
        return []
    if not assignment.critical:
        return ["The level holds after any one reviewer drops out."]
    named = ", ".join(str(label) for label in assignment.critical[:NAMED])
    more = ", ..." if len(assignment.critical) > NAMED else ""
    who = counted(len(assignment.critical), "reviewer is", "reviewers are")
    without = noun(len(assignment.critical), "without this one", "without any one of them")
    return [f"{who} critical: {without} the level would not hold ({named}{more})."]


def _chart(title: str, bars: list[str]) -> list[str]:
    """Return bars below their title; nothing of a single one, which shows nothing."""
    return [title, *bars] if len(bars) > 1 else []


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
