"""What fairness reached, in words, and why a floor cannot be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.fair.lifting import reach_of
from planner.assignments.fair.matching import too_few_good, too_few_places
from planner.assignments.fair.ways import way_named
from planner.assignments.wishes.floors import unit_of
from planner.assignments.words.why_none import each, papers, people
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.assignments.fair.serving import Fair
    from planner.assignments.findings.fairness import Fairness
    from planner.assignments.model.problem import Problem

#: Papers named before the rest is only counted.
NAMED = 6

_REMEDY = "Lower the floor, score more pairs, allow unscored ones, or lift conflicts."


def fair_lines(fairness: Fairness | None) -> list[str]:
    """Return what fairness reached, for the page.

    >>> fair_lines(None)
    []
    """
    if fairness is None:
        return []
    (before, after), (worst, better) = fairness.smallest, fairness.worst_tenth
    sought = f" ({fairness.way}: {way_named(fairness.way).words})" if fairness.way else ""
    lines = [
        f"Smallest sum of affinities of a paper: {after:.4g}{sought}; by affinity alone {before:.4g}"
        f"{_at_most(fairness)}.",
        f"  Mean of the worst-served tenth: {better:.4g} ({worst:.4g} by affinity alone).",
    ]
    asked = fairness.floors
    if asked.total is not None:
        lines.append(f"  {why_below(fairness)}" if fairness.below else f"  Every paper has {asked.total:g} or more.")
    if asked.best is not None:
        lines.append(f"  Every paper has a reviewer of affinity {asked.best:g} or more.")
    return lines


def _at_most(fairness: Fairness) -> str:
    """Say how near the smallest score is to what it can be."""
    if fairness.at_most is None:
        return ""
    # Figures that look the same on the page are the same to its reader.
    if f"{fairness.at_most:.4g}" == f"{fairness.smallest[1]:.4g}":
        return "; proved the most there can be"
    return f"; {fairness.at_most:.4g} at most, the level aside"


def why_below(fairness: Fairness) -> str:
    """Say which papers are below the floor although nothing proves that they have to be."""
    named = ", ".join(str(label) for label in fairness.below[:NAMED])
    more = ", ..." if len(fairness.below) > NAMED else ""
    is_below, it = noun(len(fairness.below), "is", "are"), noun(len(fairness.below), "it", "them")
    return (
        f"{counted(len(fairness.below), 'paper')} ({named}{more}) {is_below} below the floor of "
        f"{fairness.floors.total:g} still; the search found no way to lift {it} beside what else is asked for, and no "
        "proof that there is none. Lower the floor, raise loads, or ask for a lower level."
    )


def why_no_floor(problem: Problem, fair: Fair) -> str:
    """Explain a floor that is proved out of reach: by papers alone, or by papers that share their reviewers."""
    floor = f"the floor of {problem.floors.total:g}"
    if fair.cannot:
        codes = np.array(fair.cannot)
        most = unit_of(problem.affinity) * reach_of(problem.network(problem.given), problem.demand)[codes]
        can = f"{most.min():.4g}" if codes.size == 1 else f"{most.min():.4g} to {most.max():.4g}"
        return (
            f"{papers(codes)} can have {can} at most, the sum of the best affinities of those who may review "
            f"{noun(codes.size, 'it', 'them')}, below {floor}. {_REMEDY}"
        )
    bound = fair.bound
    if bound is not None and problem.floors.total is not None and bound.value < problem.floors.total:
        return (
            f"Of {papers(bound.items)} one has {bound.value:.4g} at most, below {floor}, because they share "
            f"reviewers whose loads are limited (a bound by linear programming). {_REMEDY} Or raise loads."
        )
    return (
        f"No assignment gives every paper {floor} (proved over all papers, by two solvers). {_REMEDY} Or raise loads."
    )


def why_no_good(problem: Problem) -> str:
    """Explain why not every paper can have a good reviewer, by counting."""
    least = f"of affinity {problem.floors.best:g} or more"
    load, _ = problem.open_loads()
    found = too_few_good(problem)
    if found is not None and not found.reviewers.size:
        has, it = noun(found.items.size, "has", "have"), noun(found.items.size, "it", "them")
        return f"{papers(found.items)} {has} no reviewer {least} who may take {it}. {_REMEDY}"
    if found is not None:
        rest = f", and others have {counted(found.pairs, 'such pair')} with them" if found.pairs else ""
        fit = noun(found.reviewers.size, "fits", "fit")
        return (
            f"{papers(found.items)} {noun(found.items.size, 'needs', 'need')} a reviewer {least} each = "
            f"{counted(found.needed, 'review')}; "
            f"{people(found.reviewers)} who {fit} with {each(load[found.reviewers], 'load', of='of')} can "
            f"give {found.supply}{rest}: {found.needed} > {found.supply + found.pairs}. {_REMEDY} Or raise loads."
        )
    places = too_few_places(problem)
    if places is None:
        return f"Not every paper can have a reviewer {least} within everybody's min_load (proved by a flow). {_REMEDY}"
    rest = f", and there are {places.pairs} further allowed pairs" if places.pairs else ""
    return (
        f"{papers(places.good)} need a reviewer {least} each, and {papers(places.rest)} their other "
        f"reviews, {places.needed} reviews together; {people(places.reviewers)} can give "
        f"{places.supply}{rest}: {places.needed} > {places.supply + places.pairs}. {_REMEDY} Or raise loads."
    )
